"""Each column of two tables by itself: how far apart it is, and p-values adjusted for the number of columns.

A column is a set of cells, those of a grid or its levels; a statistic depends on how many rows of each table are in
each. One relabelling of rows serves all columns (Westfall and Young), or each column draws counts of its own (Holm).
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from densdiff.core import resample
from densdiff.core.grid import places_of
from densdiff.core.resample import BoolArray, CountArray
from densdiff.core.scaling import FloatArray
from densdiff.data.pair import Pair
from densdiff.estimators.lsdd import LSDD
from densdiff.solvers.prepared import Prepared, prepare
from densdiff.testing.cell_statistics import CellStatistics
from densdiff.testing.widths import MEDIAN_ROWS, STRONG, sigmas_of

WESTFALL_YOUNG, HOLM = "Westfall-Young", "Holm"
_SHARED = 5e7  # labels, relabellings times rows, that one draw for all columns may take
_EVEN = 1.1  # ratio of sizes up to which step-down holds though the dependence of columns may have changed
_MOST = 50_000  # relabellings of one column
_WORKERS = 4
_HOPELESS = 4.0  # a first look at that many alphas or more is not followed by a closer one


@dataclass(frozen=True)
class ColumnCells:
    """The cell of each pooled row, -1 where it is off the grid, and statistics (k, M) of counts of A, (k, cells)."""

    index: npt.NDArray[np.intp]  # empty if each column draws counts of its own: at 10^6 rows it is 16 MB
    counts: CountArray  # (2, cells)
    statistics: Callable[[CountArray], FloatArray]


@dataclass(frozen=True)
class ColumnDistance:
    """The normalized distance (E9) of one column, and its interval."""

    normalized: float
    interval: tuple[float, float]


def choose_adjustment(n: int, m: int, permutations: int, by_rows: bool = True) -> str:
    """How p-values of columns are adjusted; ``by_rows`` if all rows can be relabelled."""
    even = max(n, m) <= _EVEN * min(n, m)
    return WESTFALL_YOUNG if by_rows and even and permutations * (n + m) <= _SHARED else HOLM


def column_pvalues(
    columns: list[ColumnCells], sizes: tuple[int, int], adjustment: str, permutations: int, alpha: float, seed: int
) -> tuple[FloatArray, FloatArray]:
    """p-values of all columns and adjusted ones, (d,) each; ``adjustment`` is what `choose_adjustment` said."""
    random = np.random.default_rng([seed, 21])
    if adjustment == HOLM:
        least = int(np.ceil(4.0 * len(columns) / alpha))  # else no column could ever reach alpha
        count = max(permutations, min(least, _MOST))
        streams = random.spawn(len(columns))

        def task(column: ColumnCells, random: np.random.Generator) -> float:
            return _two_stage_pvalue(column, random, permutations, count, alpha)

        with ThreadPoolExecutor(_WORKERS) as pool:  # the answer does not depend on how many
            pvalues = np.array(list(pool.map(task, columns, streams)))
        return pvalues, resample.holm(pvalues)
    is_a = np.repeat([True, False], sizes)
    labels = np.vstack([is_a[None], *resample.relabellings(is_a, None, permutations, random)])
    values = np.column_stack([_largest(column.statistics(_counts_of_a(column, labels))) for column in columns])
    return np.array([_pvalue(column_values) for column_values in values.T]), resample.step_down(values)


def _two_stage_pvalue(column: ColumnCells, random: np.random.Generator, few: int, many: int, alpha: float) -> float:
    """The p-value from few relabellings, or if that is small from many others: at most u with probability u.

    Below the limit only the second counts, which is valid by itself; above it, to be at most u the first must be too.
    """
    if few < many and (first := _pvalue(_relabelled(column, few, random))) > _HOPELESS * alpha:
        return first
    return _pvalue(_relabelled(column, many, random))


def _relabelled(column: ColumnCells, count: int, random: np.random.Generator) -> FloatArray:
    """The statistic of the data and of counts drawn for this column alone, (1 + count,)."""
    return _largest(resample.permuted_statistics(column.counts, column.statistics, count, random))


def _largest(table: FloatArray) -> FloatArray:
    """The largest standardized statistic of each relabelling, (k,)."""
    return resample.largest_standardized(table)[0]


def _pvalue(values: FloatArray) -> float:
    return resample.pvalue(float(values[0]), values[1:])


def _counts_of_a(column: ColumnCells, labels: BoolArray) -> CountArray:
    """Rows of A in each cell for each relabelling, (k, cells)."""
    order = np.argsort(column.index, kind="stable")
    order = order[np.searchsorted(column.index[order], 0) :]
    starts = np.searchsorted(column.index[order], np.arange(column.counts.shape[1]))
    return np.asarray(np.add.reduceat(labels[:, order], starts, axis=1, dtype=np.int64))


def number_cells(pair: Pair, seed: int, adjustment: str) -> ColumnCells | None:
    """A column of numbers; None if it is one and the same constant."""
    if not pair.varying[0]:
        return None
    data = prepare(pair, standardize=True, folds=2, random_state=seed)
    models = [(float(sigma), STRONG) for sigma in sigmas_of(data.some_pooled(MEDIAN_ROWS))]
    statistics = CellStatistics(data, models)
    index = np.empty(0, dtype=np.intp) if adjustment == HOLM else _cell_of_each_row(data, statistics)
    cells = statistics.cells  # all that is kept: the column's rows are let go
    return ColumnCells(index, cells.counts, lambda counts: resample.cell_statistics(cells, counts, models))


def _cell_of_each_row(data: Prepared, statistics: CellStatistics) -> npt.NDArray[np.intp]:
    """The number of each pooled row's cell among the occupied ones, (N,), -1 where it is off the grid."""
    cells = statistics.cells
    nodes = np.rint(places_of(data.pooled_rows.T, statistics.axes)[:, 0] / cells.spacing).astype(np.intp)
    index = np.minimum(np.searchsorted(cells.occupied, nodes), len(cells.occupied) - 1)
    index[cells.occupied[index] != nodes] = -1
    return np.asarray(index)


def level_cells(pair: Pair, adjustment: str) -> ColumnCells | None:
    """A column of categories: the sum of squared differences of shares, as they are and in units of their noise."""
    if not pair.varying[0]:
        return None
    counts = level_counts(pair)
    sizes, pooled = counts.sum(axis=1), counts.sum(axis=0)

    def statistics(counts_of_a: CountArray) -> FloatArray:
        squared = np.square(counts_of_a / sizes[0] - (pooled - counts_of_a) / sizes[1])
        return np.column_stack([squared.sum(axis=1), (squared / np.maximum(pooled, 1)).sum(axis=1)])

    codes = np.empty(0) if adjustment == HOLM else np.concatenate([pair.x[:][:, 0], pair.y[:][:, 0]])
    return ColumnCells(codes.astype(np.intp), counts, statistics)


def level_counts(pair: Pair, j: int = 0) -> CountArray:
    """Rows of each level of a column in both tables, (2, K)."""
    k = len(pair.levels[j] or ())
    return np.array([rows.level_counts(j, k) for rows in (pair.x, pair.y)])


def number_distance(pair: Pair, level: float, seed: int) -> ColumnDistance:
    """The distance of a column of numbers, smoothed as `LSDD` does."""
    if not pair.varying[0]:
        return ColumnDistance(0.0, (0.0, 0.0))
    distance = LSDD(random_state=seed).fit_pair(pair).l2_distance(level)
    return ColumnDistance(distance.normalized, distance.normalized_interval or (0.0, 1.0))


def level_distance(pair: Pair, level: float) -> ColumnDistance:
    """The distance of a column of categories, unsmoothed: unbiased squared shares, and the noise of their ratio."""
    (a, b), (n, m) = level_counts(pair), (len(pair.x), len(pair.y))
    p, q = a / n, b / m
    norms = (n * np.square(p).sum() - 1.0) / (n - 1), (m * np.square(q).sum() - 1.0) / (m - 1)
    total, cross = float(sum(norms)), float(p @ q)
    if total <= 0.0:  # hardly any level occurs twice in a table
        return ColumnDistance(0.0, (0.0, 1.0))
    ratio = float(np.clip(1.0 - 2.0 * cross / total, 0.0, 1.0))
    # the slope of the distance less ratio times the norms, at each level; and the part that is quadratic in the noise
    slope_a, slope_b = (1.0 - ratio) * p - q, (1.0 - ratio) * q - p
    linear = 4.0 * ((p @ slope_a**2 - (p @ slope_a) ** 2) / n + (q @ slope_b**2 - (q @ slope_b) ** 2) / m)
    noise = np.square(p).sum() / n**2 + np.square(q).sum() / m**2 + 2.0 * cross / (n * m)
    error = float(np.sqrt(max(linear, 0.0) + 2.0 * noise)) / total
    reach = float(ndtri(0.5 + 0.5 * level)) * error
    return ColumnDistance(ratio, (max(0.0, ratio - reach), min(1.0, ratio + reach)))
