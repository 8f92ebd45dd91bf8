"""Which pairs of columns depend on each other differently in two samples, beyond what their single columns do.

Every column becomes a few cells, every pair and sample one small table of counts, and all that follows is computed
from tables: numbers become `_BINS` bins of equal share of their own sample, categories their most frequent levels.
`pair_changes` says what of the tables is compared; in which words a change is told is found in `dependence_words`, and
which pairs need not be told in `pair_choice`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, fdtrc, xlogy

from densdiff.core.pair_screen import promising_pairs
from densdiff.core.ranks import average_ranks
from densdiff.core.resample import holm
from densdiff.core.scaling import FloatArray

IntArray = npt.NDArray[np.integer]
CodeArray = npt.NDArray[np.int16]
_BINS = 32
_TINY = float(np.finfo(np.float64).tiny)
_LEVELS = 6
_LEAST_ROWS = 20  # of a level in each sample: variances within levels are estimated
_HEAVY = 0.25  # share of one value from which mid-ranks depend on the ties: such a number is treated as levels
_RIDGE = 0.01  # of the variance under independence: a functional relation has none of its own
_MOST_PAIRS = 5000  # beyond which only the promising ones are looked at: all pairs of 100 columns are fewer
_ROUNDS, _SETTLED = 500, 1e-9  # of the iterative fit of two tables; settled is relative to the number of rows


@dataclass(frozen=True)
class PairCells:
    """Counts of two columns that take part in their comparison, and what the cells are."""

    tables: tuple[FloatArray, FloatArray]  # of each sample, (K, L); cells of numbers in their order
    levels: tuple[IntArray | None, IntArray | None]  # the level of each cell of a category; None for numbers
    share: float  # of the rows that take part, in the sample where it is smaller


@dataclass(frozen=True)
class PairChange:
    """How the dependence of two columns differs.

    ``measure`` says what the two dependences are: "Spearman's rho", "correlation ratio of ranks" (a number in the
    levels of a category) or "Cramer's V". For the last two all levels that take no part count as one.
    """

    first: int
    second: int
    pvalue: float
    pvalue_adjusted: float  # Holm over all pairs
    dependence_a: float
    dependence_b: float
    measure: str
    cells: PairCells = field(repr=False)


@dataclass(frozen=True)
class _Column:
    """One column of both samples as cells 0..cells-1; the code ``cells`` marks rows that are left out."""

    codes: tuple[CodeArray, CodeArray]
    cells: int
    binned: bool  # bins of ranks rather than levels
    levels: IntArray  # (cells,) which level, or which part of the range of a number, a cell is


def pair_changes(a: FloatArray, b: FloatArray, n_levels: IntArray) -> list[PairChange]:
    """Pairs of columns with their p-values, strongest evidence first: all, or of very many the promising ones.

    p-values are adjusted for all pairs; see `promising_pairs` for which those are.

    ``a`` is (n, d), ``b`` (m, d); categories are codes 0..K-1 with ``n_levels`` = K, numbers have 0. A pair that
    cannot be compared (a constant column, fewer than two levels with enough rows in both samples) has p = 1.

    What is compared is free of the single columns. Two numbers: moments of ranks (the copula). A number in the levels
    of a category: mean scores of ranks within the levels, at level shares common to both samples. Two categories: odds
    ratios. Rows of other levels are left out of a pair rather than merged, because a merged level's inner shares may
    change; leaving out levels changes neither odds ratios nor the laws within the levels that stay. Numbers with few or
    heavy values count as levels. Where such levels are cut from something continuous and the cuts move, odds ratios
    move a little too: from some thousands of rows on that is a change.
    """
    numbers = np.asarray(n_levels) == 0
    ranks = [_standard_ranks(rows) for rows in (a, b)]
    columns = [_column(a[:, j], b[:, j], int(n_levels[j])) for j in range(a.shape[1])]
    spearman = [np.clip(z.T @ z / len(z), -1.0, 1.0) for z in ranks]
    ratios = [_correlation_ratios([column.codes[s] for column in columns], ranks[s], ~numbers) for s in (0, 1)]
    pairs, n_pairs = [], len(columns) * (len(columns) - 1) // 2
    chosen: Iterable[tuple[int, int]] = combinations(range(len(columns)), 2)
    if n_pairs > _MOST_PAIRS:
        chosen = promising_pairs([[_features(column, s) for column in columns] for s in (0, 1)], _MOST_PAIRS)
    for i, j in chosen:
        tables = _tables(columns[i], columns[j])
        if numbers[i] and numbers[j]:
            measure, sizes = "Spearman's rho", [float(rho[i, j]) for rho in spearman]
        elif numbers[i] or numbers[j]:
            measure, sizes = "correlation ratio of ranks", [float(max(r[i, j], r[j, i])) for r in ratios]
        else:
            measure, sizes = "Cramer's V", [_cramer(table) for table in tables]
        cells = _pair_cells(tables, (columns[i], columns[j]), (bool(numbers[i]), bool(numbers[j])))
        p = _pvalue(tables, columns[i].binned, columns[j].binned)
        pairs.append(PairChange(i, j, p, 1.0, sizes[0], sizes[1], measure, cells))
    pairs.sort(key=lambda pair: (pair.pvalue, -abs(pair.dependence_a - pair.dependence_b)))
    adjusted = holm(np.array([pair.pvalue for pair in pairs]), n_pairs)
    return [replace(pair, pvalue_adjusted=float(p)) for pair, p in zip(pairs, adjusted, strict=True)]


def _pair_cells(tables: list[FloatArray], columns: tuple[_Column, _Column], numbers: tuple[bool, bool]) -> PairCells:
    """The tables without the rows that are left out, cells of numbers in the order of their values."""
    rows, cols = (np.argsort(column.levels, kind="stable") for column in columns)
    levels = [None if is_number else np.sort(column.levels) for column, is_number in zip(columns, numbers, strict=True)]
    first, second = (table[:-1, :-1][np.ix_(rows, cols)] for table in tables)
    share = min(float(table[:-1, :-1].sum() / table.sum()) for table in tables)
    return PairCells((first, second), (levels[0], levels[1]), share)


def _standard_ranks(rows: FloatArray) -> FloatArray:
    """Mid-ranks with mean 0 and variance 1, those of a constant column 0, (n, d)."""
    ranks = np.empty(rows.shape)
    for j, values in enumerate(rows.T):
        centered = average_ranks(values) - 0.5 * (len(rows) + 1)
        ranks[:, j] = centered / max(float(np.sqrt(np.mean(centered**2))), 0.1)  # .5 at least if two values differ
    return ranks


def _column(a: FloatArray, b: FloatArray, n_levels: int) -> _Column:
    if n_levels == 0:
        cuts = _cuts(a, b)
        if cuts is None:
            codes = [((average_ranks(x) - 0.5) / len(x) * _BINS).astype(np.int16) for x in (a, b)]
            return _Column((codes[0], codes[1]), _BINS, True, np.arange(_BINS))
        levels = [np.searchsorted(cuts, x) for x in (a, b)]
        n_levels = len(cuts) + 1
    else:
        levels = [x.astype(np.intp) for x in (a, b)]
    counts = np.array([np.bincount(x, minlength=n_levels) for x in levels])  # (2, K)
    order = np.argsort(-counts.sum(axis=0), kind="stable")
    frequent = order[counts.min(axis=0)[order] >= _LEAST_ROWS][:_LEVELS]
    cell = np.full(n_levels, len(frequent), dtype=np.int16)
    cell[frequent] = np.arange(len(frequent))
    return _Column((cell[levels[0]], cell[levels[1]]), len(frequent), False, frequent)


def _cuts(a: FloatArray, b: FloatArray) -> FloatArray | None:
    """Upper ends of the levels of a number with few or heavy values, such a value being its own level; else None."""
    pooled = np.concatenate([a, b])
    values, index = np.unique(pooled, return_inverse=True)
    if len(values) <= _LEVELS:
        return values
    shares = [np.bincount(codes, minlength=len(values)) / len(codes) for codes in (index[: len(a)], index[len(a) :])]
    heavy = np.flatnonzero(np.maximum(*shares) >= _HEAVY)
    if len(heavy) == 0:
        return None
    quantiles = np.quantile(pooled, np.arange(1, _LEVELS) / _LEVELS, method="lower")
    return np.unique(np.concatenate([quantiles, values[heavy], values[np.maximum(heavy - 1, 0)]]))


def _features(column: _Column, sample: int) -> npt.NDArray[np.float32]:
    """Of a column in one sample: two polynomials of its ranks, or its levels one by one, (n, q)."""
    codes = column.codes[sample]
    if not column.binned:
        return np.equal.outer(codes, np.arange(max(column.cells, 1))).astype(np.float32)
    shares = np.bincount(codes, minlength=column.cells) / len(codes)
    return _scores(shares)[0].astype(np.float32)[codes]


def _tables(first: _Column, second: _Column) -> list[FloatArray]:
    """Counts of each sample, rows left out in the last row and column, (cells + 1, cells + 1)."""
    shape = (first.cells + 1, second.cells + 1)
    return [
        np.bincount(x.astype(np.intp) * shape[1] + y, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
        for x, y in zip(first.codes, second.codes, strict=True)
    ]


def _correlation_ratios(codes: list[CodeArray], ranks: FloatArray, categories: npt.NDArray[np.bool_]) -> FloatArray:
    """Root of the share of each column's rank variance that is between the levels of each category, (d, d)."""
    ratios = np.zeros((len(codes), len(codes)))
    for j in np.flatnonzero(categories):
        levels = np.equal.outer(np.arange(_LEVELS + 1), codes[j]).astype(np.float64)  # (K, n)
        sums, counts = levels @ ranks, np.maximum(levels.sum(axis=1), 1.0)
        ratios[j] = np.where(
            categories, 0.0, np.sqrt(np.minimum((sums**2 / counts[:, None]).sum(axis=0) / len(ranks), 1.0))
        )
    return ratios


def _cramer(table: FloatArray) -> float:
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    if min(table.shape) < 2:
        return 0.0
    excess = (table**2 / np.outer(table.sum(axis=1), table.sum(axis=0))).sum() - 1.0  # chi-square over n
    return float(np.sqrt(np.clip(excess / (min(table.shape) - 1), 0.0, 1.0)))


def _pvalue(tables: list[FloatArray], binned_rows: bool, binned_columns: bool) -> float:
    tables = [table[:-1, :-1] for table in tables]
    if min(tables[0].shape) < 2 or min(table.sum() for table in tables) == 0:
        return 1.0
    if binned_rows and binned_columns:
        return _equal_moments(tables)
    if binned_rows or binned_columns:
        return _equal_scores([table.T for table in tables] if binned_rows else tables)
    return _equal_odds(np.array(tables))


def _scores(shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Legendre polynomials of degree 1 and 2 of the mid-ranks of cells, and their slopes, (cells, 2) each.

    Centered and scaled to variance 1 under the shares, which they are already but for the width of the cells.
    """
    x = 2.0 * _middles(shares) - 1.0
    values = np.stack([x, 1.5 * x**2 - 0.5], axis=1)
    values -= shares @ values
    scale = np.sqrt(np.maximum(shares @ values**2, 1e-3))
    return values / scale, np.stack([np.full_like(x, 2.0), 6.0 * x], axis=1) / scale


def _middles(shares: FloatArray) -> FloatArray:
    return np.asarray(np.cumsum(shares) - 0.5 * shares)


def _above(terms: FloatArray) -> FloatArray:
    """Sum of the terms in all later cells plus half the own, along axis 0: how a row moves the ranks of others."""
    return np.asarray(terms.sum(axis=0) - np.cumsum(terms, axis=0) + 0.5 * terms)


def _equal_moments(tables: list[FloatArray]) -> float:
    """P-value of equal mean products of the rank scores of two numbers, tables being bins x bins."""
    means = [mean_products(table / table.sum())[0] for table in tables]
    influence = mean_products(np.sum(tables, axis=0) / np.sum(tables))[1]
    scatter = np.sum([_scatter(influence, table.ravel()) for table in tables], axis=0, keepdims=True)
    return _wald(means[0] - means[1], scatter, np.array([[t.sum()] for t in tables]), np.ones((1, 4)))


def mean_products(joint: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means of products of scores, (4,), and the influence on them of a row in each cell, (cells, 4).

    Ranks are estimated: a row also moves the ranks of the rows above it, which matters where there is dependence.
    """
    (rows, of_rows), (columns, of_columns) = (_scores(joint.sum(axis=axis)) for axis in (1, 0))
    by_row, by_column = joint @ columns, joint.T @ rows  # sums over one side, (bins, 2)
    influence = np.einsum("ia,jb->ijab", rows, columns)
    influence += _above(np.einsum("ia,ib->iab", of_rows, by_row))[:, None]
    influence += _above(np.einsum("jb,ja->jab", of_columns, by_column))
    return (rows.T @ by_row).ravel(), influence.reshape(-1, 4)


def _equal_scores(tables: list[FloatArray]) -> float:
    """P-value of equal mean rank scores in every level of a category, tables being levels x bins.

    Ranks are those of a mixture in which the levels have the same shares in both samples. Bins of the two samples are
    then not the same, but sorted by rank they make one table.
    """
    sizes = np.array([table.sum(axis=1) for table in tables])  # (2, K)
    shares, laws, level_means = level_scores(tables)
    means = [scores[1:].ravel() for scores in level_means]  # the first level's follow from the others
    middles = np.array([_middles(shares @ law) for law in laws]).round(12)  # equal ones are one cell
    cells, index = np.unique(middles, return_inverse=True)
    split = np.zeros((2, len(shares), len(cells)))
    for counts, table, places in zip(split, tables, index.reshape(middles.shape), strict=True):
        counts[:, places] = table  # within a sample only empty bins have the same place
    pooled = split.sum(axis=0) / sizes.sum(axis=0)[:, None]
    scores, slopes = _scores(shares @ pooled)
    moved = np.stack([_above(slopes * law[:, None]) for law in pooled[1:]], axis=1)  # (bins of both, K - 1, 2)
    scatter = []
    for level, share in enumerate(shares):
        influence = share * moved
        if level:
            influence[:, level - 1] += scores
        flat = influence.reshape(len(cells), -1)
        scatter.append(_scatter(flat, split[0, level]) + _scatter(flat, split[1, level]))
    return _wald(means[0] - means[1], np.array(scatter), sizes, np.repeat(np.eye(len(shares))[:, 1:], 2, axis=1))


def level_scores(tables: Sequence[FloatArray]) -> tuple[FloatArray, list[FloatArray], list[FloatArray]]:
    """From tables of levels x bins: shares of the levels common to both, laws within levels, and their mean scores.

    The scores, (K, 2) for each sample, are those of ranks in the mixture in which the levels have the common shares.
    """
    sizes = [table.sum(axis=1) for table in tables]
    shares = np.mean([size / size.sum() for size in sizes], axis=0)
    laws = [table / size[:, None] for table, size in zip(tables, sizes, strict=True)]
    return shares, laws, [law @ _scores(shares @ law)[0] for law in laws]


def _scatter(values: FloatArray, counts: FloatArray) -> FloatArray:
    """Sums of squares and products about the mean of cells' values (cells, q) that occur so many times (cells,)."""
    used = counts > 0
    values, counts = values[used], counts[used]
    values = values - counts @ values / counts.sum()
    return np.asarray((values * counts[:, None]).T @ values)


def _wald(difference: FloatArray, scatter: FloatArray, sizes: FloatArray, own: FloatArray) -> float:
    """P-value of a difference of means, (q,): Hotelling's F with Yao's degrees of freedom.

    Rows come in groups with their own scatter, (groups, q, q), and sizes, (2, groups); ``own`` (groups, q) is 1 where
    a mean is one of this group. Equal dependence means equal influence of a row, so that the scatter is that within
    both samples, computed where they are pooled: from each sample alone, false alarms were up to five times as many.
    """
    q, freedoms = len(difference), np.maximum(sizes.sum(axis=0) - 2.0, 1.0)
    covariances = scatter / freedoms[:, None, None] + _RIDGE * own[:, None] * np.eye(q)
    covariances *= (1.0 / sizes).sum(axis=0)[:, None, None]
    direction = np.linalg.solve(covariances.sum(axis=0), difference)
    statistic = float(difference @ direction)
    if statistic <= 0:
        return 1.0
    freedom = 1.0 / float((np.square((covariances @ direction) @ direction / statistic) / freedoms).sum())
    if freedom <= q:
        return 1.0
    p = float(fdtrc(q, freedom - q + 1.0, statistic * (freedom - q + 1.0) / (freedom * q)))
    return max(p, _TINY)


def _equal_odds(tables: FloatArray) -> float:
    """P-value of equal odds ratios in two tables, (2, K, L): the smaller of Pearson's and the likelihood statistic.

    Each of the two is too large for some kinds of sparse tables. Cells empty in both samples take no part.
    """
    pooled, rows, columns = tables.sum(axis=0), tables.sum(axis=2), tables.sum(axis=1)
    occupied = pooled > 0
    ends = np.argwhere(occupied)
    design = np.hstack([np.eye(size)[end] for size, end in zip(pooled.shape, ends.T, strict=True)])
    freedom = len(ends) - int(np.linalg.matrix_rank(design))
    if freedom == 0:
        return 1.0
    fitted = np.ones_like(tables) * occupied
    for _ in range(_ROUNDS):
        before = fitted
        fitted = fitted * _ratio(rows, fitted.sum(axis=2))[:, :, None]
        fitted = fitted * _ratio(columns, fitted.sum(axis=1))[:, None, :]
        fitted = fitted * _ratio(pooled, fitted.sum(axis=0))
        if np.abs(fitted - before).max() <= _SETTLED * pooled.sum():
            break
    pearson = (_ratio(np.square(tables - fitted), fitted)).sum()
    likelihood = 2.0 * xlogy(tables, np.where(tables > 0, _ratio(tables, fitted), 1.0)).sum()
    return max(float(chdtrc(freedom, max(0.0, min(pearson, likelihood)))), _TINY)


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Quotient, 0 where the divisor is."""
    return np.asarray(np.divide(above, below, out=np.zeros_like(above), where=below > 0))
