"""p-values of the columns of two tables, one by one and adjusted for the number of columns.

A column is a set of cells, those of a grid or its levels; a statistic depends on how many rows of each table are in
each. One relabelling of rows serves all columns (Westfall and Young), or each column draws counts of its own (Holm).
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.core import resample
from densdiff.core.grid import places_of
from densdiff.core.resample import BoolArray, CountArray
from densdiff.core.scaling import FloatArray
from densdiff.solvers.column import LevelColumn, NumberColumn
from densdiff.solvers.prepared import Prepared
from densdiff.sources.sample import all_at_once
from densdiff.testing.cell_statistics import CellStatistics
from densdiff.testing.widths import MEDIAN_ROWS, STRONG, sigmas_of

WESTFALL_YOUNG, HOLM = "Westfall-Young", "Holm"
_SHARED = 5e7  # labels, relabellings times rows, that one draw for all columns may take
# Ratio of sizes up to which step-down holds though the dependence of columns may have changed: docs/math.md, Comparing
# tables
_EVEN = 1.1
_MOST = 50_000  # relabellings of one column
_WORKERS = 4
_SPIKE_ROWS, _SPIKE_SHARE, _SPIKE_TIMES = 10, 0.002, 10.0  # of a value that stands out, at least
_HOPELESS = 4.0  # a first look at that many alphas or more is not followed by a closer one


@dataclass(frozen=True)
class ColumnCells:
    """The cell of each pooled row, -1 where it is off the grid, and statistics (k, M) of counts of A, (k, cells)."""

    index: npt.NDArray[np.intp]  # empty if each column draws counts of its own: at 10^6 rows it is 16 MB
    counts: CountArray  # (2, cells)
    statistics: Callable[[CountArray], FloatArray]


def choose_adjustment(n: int, m: int, permutations: int, by_rows: bool = True) -> str:
    """How p-values of columns are adjusted; ``by_rows`` if all rows can be relabelled."""
    even = max(n, m) <= _EVEN * min(n, m)
    return WESTFALL_YOUNG if by_rows and even and permutations * (n + m) <= _SHARED else HOLM


def smallest_pvalue(d: int, adjustment: str, permutations: int, alpha: float) -> float:
    """The smallest p-value that one of d columns can have."""
    return 1.0 / (1 + (permutations if adjustment == WESTFALL_YOUNG else _most_relabellings(d, permutations, alpha)))


def _most_relabellings(d: int, permutations: int, alpha: float) -> int:
    """Relabellings of one of d columns for Holm's rule: with fewer no column could ever reach alpha."""
    return max(permutations, min(int(np.ceil(4.0 * d / alpha)), _MOST))


def column_pvalues(
    columns: list[ColumnCells], sizes: tuple[int, int], adjustment: str, *, permutations: int, alpha: float, seed: int
) -> tuple[FloatArray, FloatArray]:
    """p-values of all columns and adjusted ones, (d,) each; ``adjustment`` as by `choose_adjustment`."""
    random = np.random.default_rng([seed, 21])
    if adjustment == HOLM:
        count = _most_relabellings(len(columns), permutations, alpha)
        streams = random.spawn(len(columns))

        def task(column: ColumnCells, random: np.random.Generator) -> float:
            return _column_pvalue(column, random, permutations, count, alpha)

        with ThreadPoolExecutor(_WORKERS) as pool:  # the answer does not depend on how many
            pvalues = np.array(list(pool.map(task, columns, streams)))
        return pvalues, resample.holm(pvalues)
    is_a = np.repeat([True, False], sizes)
    labels = np.vstack([is_a[None], *resample.relabellings(is_a, None, permutations, random)])
    values = np.column_stack([_largest(column.statistics(_relabelled_counts(column, labels))) for column in columns])
    return np.array([_pvalue(column_values) for column_values in values.T]), resample.step_down(values)


def _column_pvalue(column: ColumnCells, random: np.random.Generator, few: int, many: int, alpha: float) -> float:
    """The p-value from few relabellings, or if that is small from many others: at most u with probability u.

    Below the limit only the second counts, which is valid by itself; above it, to be at most u the first must be too.
    """
    if few < many and (first := _pvalue(_permuted(column, few, random))) > _HOPELESS * alpha:
        return first
    return _pvalue(_permuted(column, many, random))


def _permuted(column: ColumnCells, count: int, random: np.random.Generator) -> FloatArray:
    """The largest standardized statistic of the data, then of relabellings, (1 + count,)."""
    return _largest(resample.permuted_statistics(column.counts, column.statistics, count, random))


def _largest(table: FloatArray) -> FloatArray:
    return resample.largest_standardized(table)


def _pvalue(values: FloatArray) -> float:
    return resample.pvalue(float(values[0]), values[1:])


def _relabelled_counts(column: ColumnCells, labels: BoolArray) -> CountArray:
    """Rows of A in each cell for each relabelling, (k, cells)."""
    order = np.argsort(column.index, kind="stable")
    order = order[np.searchsorted(column.index[order], 0) :]
    starts = np.searchsorted(column.index[order], np.arange(column.counts.shape[1]))
    return np.asarray(np.add.reduceat(labels[:, order], starts, axis=1, dtype=np.int64))


def number_cells(column: NumberColumn, adjustment: str) -> ColumnCells | None:
    """Rows of a column of numbers in cells of a grid; None if it is one and the same constant."""
    if column.is_constant:
        return None
    models = [(float(sigma), STRONG) for sigma in sigmas_of(column.data.some_pooled(MEDIAN_ROWS))]
    statistics = CellStatistics(column.data, models)
    cells = statistics.cells  # all that is kept of them: the rows may be many
    index = np.empty(0, dtype=np.intp) if adjustment == HOLM else _cell_of_rows(column.data, statistics)
    return ColumnCells(index, cells.counts, lambda counts: resample.cell_statistics(cells, counts, models))


def _cell_of_rows(data: Prepared, statistics: CellStatistics) -> npt.NDArray[np.intp]:
    """The occupied cell of each pooled row, -1 off the grid, (N,)."""
    cells = statistics.cells
    nodes = np.rint(places_of(data.pooled_rows.T, statistics.axes)[:, 0] / cells.spacing).astype(np.intp)
    index = np.minimum(np.searchsorted(cells.occupied, nodes), len(cells.occupied) - 1)
    index[cells.occupied[index] != nodes] = -1
    return np.asarray(index)


def spike_cells(column: NumberColumn, adjustment: str) -> ColumnCells | None:
    """The values of a column of numbers that stand out by their rows, and all others; None if no value does.

    A grid smooths them away, and does not reach those that lie far off, as marks of missing values do.
    """
    pair = column.pair
    if column.is_constant or not all_at_once(pair.x, pair.y):
        return None
    halves = [rows[:][:, 0] for rows in (pair.x, pair.y)]
    values, codes, counts = np.unique(np.concatenate(halves), return_inverse=True, return_counts=True)
    least = max(_SPIKE_ROWS, _SPIKE_SHARE * len(codes), _SPIKE_TIMES * float(np.median(counts)))
    is_spike = counts >= least
    if not is_spike.any() or len(values) == is_spike.sum():
        return None
    places = np.where(is_spike, np.cumsum(is_spike), 0)[codes]
    by_table = np.array(
        [np.bincount(part, minlength=is_spike.sum() + 1) for part in np.split(places, [len(halves[0])])]
    )
    return _share_cells(by_table, places if adjustment != HOLM else np.empty(0))


def level_cells(column: LevelColumn, adjustment: str) -> ColumnCells | None:
    """A column of categories: the sum of squared differences of shares, as they are and in units of their noise."""
    if column.is_constant:
        return None
    pair = column.pair
    codes = np.empty(0) if adjustment == HOLM else np.concatenate([pair.x[:][:, 0], pair.y[:][:, 0]])
    return _share_cells(column.counts, codes)


def _share_cells(counts: CountArray, codes: npt.NDArray[Any]) -> ColumnCells:
    """Cells whose shares are compared, from their counts (2, K) and the cell of each pooled row, if it is needed."""
    sizes, pooled = counts.sum(axis=1), counts.sum(axis=0)

    def statistics(counts_a: CountArray) -> FloatArray:
        squared = np.square(counts_a / sizes[0] - (pooled - counts_a) / sizes[1])
        return np.column_stack([squared.sum(axis=1), (squared / np.maximum(pooled, 1)).sum(axis=1)])

    return ColumnCells(codes.astype(np.intp), counts, statistics)
