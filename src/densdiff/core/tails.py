"""Evidence that two samples differ whose p-values have no floor, unlike those of permutations.

If the labels of the pooled rows mean nothing, the rows of B in any set of rows that was chosen without them are
hypergeometric. The sets here are ranges and levels of single columns, and their combinations in pairs of columns.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from densdiff.core.scaling import FloatArray

CodeArray = npt.NDArray[np.intp]

CELLS = 16  # ranges of numbers, or levels, of a column by itself
COARSE = 4  # of a column within a pair


def tail_bound(counts_a: npt.ArrayLike, counts_b: npt.ArrayLike, n: int, m: int) -> FloatArray:
    """E21: upper bounds of two-sided p-values of sets that hold so many of the n rows of A and the m rows of B.

    The hypergeometric law is log-concave, so beyond its mode a geometric series bounds its tail; that is closed form,
    exact to a few percent where it matters, and at most 1.
    """
    a, b = (np.asarray(counts, dtype=np.float64) for counts in (counts_a, counts_b))
    return np.minimum(1.0, 2.0 * np.minimum(_upper_tail(b, a + b, m, n + m), _upper_tail(a, a + b, n, n + m)))


def _upper_tail(hits: FloatArray, marked: FloatArray, drawn: int, total: int) -> FloatArray:
    """Bound of the probability of so many hits or more among the rows drawn, of which ``marked`` would be hits."""
    logs = _log_choose(marked, hits) + _log_choose(total - marked, drawn - hits) - _log_choose(total, drawn)
    ratio = (marked - hits) * (drawn - hits) / ((hits + 1.0) * (total - marked - drawn + hits + 1.0))
    is_tail = ratio < 1.0
    bound = np.exp(np.minimum(logs, 0.0)) / np.where(is_tail, 1.0 - ratio, 1.0)
    return np.where(is_tail, np.maximum(np.minimum(bound, 1.0), np.finfo(np.float64).tiny), 1.0)


def _log_choose(total: npt.ArrayLike, chosen: npt.ArrayLike) -> FloatArray:
    rest = np.subtract(total, chosen)
    return np.asarray(gammaln(np.add(total, 1.0)) - gammaln(np.add(chosen, 1.0)) - gammaln(rest + 1.0))


def group_cells(counts: npt.ArrayLike, is_ordered: bool, most: int) -> CodeArray:
    """The group of each cell of a column, (cells,), from the pooled rows in each: ranges of about equal counts if
    cells have an order, else the most frequent cells by themselves and all others together.

    The labels of the rows have no say in it.
    """
    pooled = np.asarray(counts)
    if is_ordered:
        below = np.cumsum(pooled)
        edges = np.unique(np.searchsorted(below, below[-1] * np.arange(1, most) / most))
        return np.searchsorted(edges, np.arange(len(pooled)))
    groups = np.full(len(pooled), most - 1)
    groups[np.argsort(-pooled, kind="stable")[: most - 1]] = np.arange(min(most - 1, len(pooled)))
    return groups


def column_tail(counts_a: npt.ArrayLike, counts_b: npt.ArrayLike, is_ordered: bool) -> float:
    """p-value of a column from the rows of each table in its cells, (cells,) each: of every group of cells and, if they
    have an order, of all up to one."""
    groups = group_cells(np.add(counts_a, counts_b), is_ordered, CELLS)
    a, b = (np.bincount(groups, np.asarray(counts, dtype=np.float64)) for counts in (counts_a, counts_b))
    n, m = int(a.sum()), int(b.sum())
    if is_ordered:
        a, b = (np.concatenate([counts, np.cumsum(counts)[:-1]]) for counts in (a, b))
    return float(min(1.0, len(a) * tail_bound(a, b, n, m).min()))


def pair_tail(codes: CodeArray, n: int) -> float:
    """p-value of all pairs of columns from coarse codes (N, d), the n rows of A first: of the cells of every pair."""
    marks = (codes[:, :, None] == np.arange(COARSE)).reshape(len(codes), -1).astype(np.float32)  # (N, 4d), sums exact
    return pair_counts_tail(marks[:n].T @ marks[:n], marks[n:].T @ marks[n:], n, len(codes) - n)


def pair_counts_tail(counts_a: npt.ArrayLike, counts_b: npt.ArrayLike, n: int, m: int) -> float:
    """p-value of all pairs of columns from the rows of each table in each cell of each pair, (4d, 4d)."""
    a, b = np.asarray(counts_a), np.asarray(counts_b)
    d = len(a) // COARSE
    if d < 2:
        return 1.0
    first, second = np.triu_indices(d, 1)
    is_pair = np.zeros((d, d), dtype=bool)
    is_pair[first, second] = True
    in_pairs = np.repeat(np.repeat(is_pair, COARSE, axis=0), COARSE, axis=1)
    smallest = tail_bound(a[in_pairs], b[in_pairs], n, m).min()
    return float(min(1.0, COARSE**2 * len(first) * smallest))
