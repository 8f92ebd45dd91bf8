"""p-values of the columns of two tables, one by one and adjusted for the number of columns.

A column is a set of cells, those of a grid or its levels; a statistic depends on how many rows of each table are in
each. Columns share the relabellings of their rows, or of units of rows where there are many; the largest statistic of
all adjusts p-values (Westfall and Young), or Holm's rule. Where one table is much the larger, columns draw counts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack

from densdiff.core import resample
from densdiff.core.grid import Line, places_of
from densdiff.core.resample import BoolArray
from densdiff.core.scaling import FloatArray
from densdiff.solvers.column import LevelColumn, NumberColumn
from densdiff.sources.sample import Sample, all_at_once, totals
from densdiff.testing.cell_forms import CellForms, GridForms, share_forms
from densdiff.testing.cell_statistics import CellStatistics
from densdiff.testing.units import UnitNumbers, Units
from densdiff.testing.widths import MEDIAN_ROWS, STRONG, sigmas_of

WESTFALL_YOUNG, HOLM = "Westfall-Young", "Holm"
_ROWS, _UNITS = 2500, 1000  # rows of both tables that are relabelled one by one, and units of more rows than that
_LABELS = 1 << 22  # that are multiplied at a time
_COUNTED_CELLS = 1 << 16  # of all units that are counted at once, however few the rows
_DENSE = 0.1  # of the cells of all units are occupied: from then on a full matrix is faster than a sparse one
# Ratio of sizes up to which step-down holds though the dependence of columns may have changed: docs/math.md, Comparing
# tables
_EVEN = 1.1
_MOST = 50_000  # relabellings of one column
_SPIKE_ROWS, _SPIKE_SHARE, _SPIKE_TIMES = 10, 0.002, 10.0  # of a value that stands out, at least
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: Fibonacci hashing
_HOPELESS = 4.0  # a first look at that many alphas or more is not followed by a closer one


@dataclass(frozen=True)
class ColumnCells:
    """Statistics of rows in cells, and how to find the cell of each row, -1 if none."""

    forms: CellForms | GridForms
    samples: tuple[Sample, Sample]  # of one column
    find: Callable[[FloatArray], npt.NDArray[np.intp]]  # the cells of values (k,)


class ColumnTest(NamedTuple):
    """The p-value of a column, and its statistic for the data and every shared relabelling, (1 + k,), if they count."""

    pvalue: float
    values: FloatArray


class ColumnTester:
    """Tests columns one after the other; they share their relabellings, so that the order does not matter.

    Parameters
    ----------
    sizes : tuple of int
        Rows of A and of B.
    shares_rows : bool
        Whether a row is the same one in all columns, so that the largest statistic of all adjusts p-values.
    n_tests : int
        How many tests there are at most, for Holm's rule.
    """

    def __init__(
        self, sizes: tuple[int, int], shares_rows: bool, n_tests: int, *, permutations: int, alpha: float, seed: int
    ) -> None:
        self.alpha, self.seed = alpha, seed
        self.units = column_units(*sizes, seed)
        is_even = max(sizes) <= _EVEN * min(sizes)
        self.adjustment = WESTFALL_YOUNG if is_even and shares_rows and self.units is not None else HOLM
        # with fewer, no column could ever reach alpha by Holm's rule
        closer = max(permutations, min(int(np.ceil(4.0 * n_tests / alpha)), _MOST))
        self.few, self.many = permutations, permutations if self.adjustment == WESTFALL_YOUNG else closer

    @property
    def smallest_pvalue(self) -> float:
        """The smallest p-value that a column can have."""
        return 1.0 / (1 + self.many)

    def test(self, cells: ColumnCells, place: int) -> ColumnTest:
        """The p-value from few relabellings, or if that is small from many others: at most u with probability u.

        Below the limit only the second counts, which is valid by itself; above it, to be at most u the first must be
        too. ``place`` numbers the tests, for counts that are drawn.
        """
        looks = self._drawn(cells, place) if self.units is None else self._relabelled(cells, self.units)
        values = next(looks)
        if self.few < self.many and _pvalue(values) <= _HOPELESS * self.alpha:
            values = next(looks)
        return ColumnTest(_pvalue(values), values)

    def adjusted(self, tests: Sequence[ColumnTest]) -> FloatArray:
        """p-values adjusted for the number of tests, (d,)."""
        if self.adjustment == HOLM:
            return resample.holm(np.array([test.pvalue for test in tests]))
        return resample.step_down(np.column_stack([test.values for test in tests]))

    def _drawn(self, cells: ColumnCells, place: int) -> Iterator[FloatArray]:
        """Statistics from few draws of counts as relabellings of rows give them, then from many others."""
        random = np.random.default_rng([self.seed, 21, place])
        for count in (self.few, self.many):
            table = resample.permuted_statistics(cells.forms.counts, cells.forms.of_counts, count, random)
            yield resample.largest_standardized(table)

    def _relabelled(self, cells: ColumnCells, units: Units) -> Iterator[FloatArray]:
        """Statistics of few relabellings of units, then of many others."""
        in_units = _rows_by_unit(cells, units)
        yield _relabelled_statistics(cells, in_units, self._few)
        yield _relabelled_statistics(cells, in_units, self._many)

    @cached_property
    def _few(self) -> BoolArray:
        return self._relabellings(self.few, 21)

    @cached_property
    def _many(self) -> BoolArray:
        return self._relabellings(self.many, 22)

    def _relabellings(self, count: int, stream: int) -> BoolArray:
        """The labels of the data and of random relabellings, (1 + count, units)."""
        assert self.units is not None
        labels = self.units.labels
        random = np.random.default_rng([self.seed, stream])
        return np.vstack([labels.is_x[None], *resample.relabellings(labels.is_x, labels.groups, count, random)])


def _pvalue(values: FloatArray) -> float:
    return resample.pvalue(float(values[0]), values[1:])


def column_units(n: int, m: int, seed: int) -> Units | None:
    """The units that columns relabel: rows while there are few; None if one table is so much larger than the other
    that units which hold all rows would be too many."""
    if n + m <= _ROWS:
        return Units.of_rows(n, m)
    units = Units.put_together(n, m, seed, _UNITS)
    return units if units.sizes == (n, m) else None


def _rows_by_unit(cells: ColumnCells, units: Units) -> Any:
    """Rows of each unit in each cell, (cells, units), sparse or full."""
    n_cells, (x, y) = cells.forms.counts.shape[1], (units.x, units.y)
    tasks = [_UnitCells(cells.find, n_cells, own) for own in (x, y)]
    of_x, of_y = totals(cells.samples, tasks)
    table = hstack([of_x[:, : x.n_units], of_y[:, : y.n_units]], format="csr")
    return table.toarray() if table.nnz > _DENSE * table.shape[0] * table.shape[1] else table


@dataclass(frozen=True)
class _UnitCells:
    """Rows of each unit in each cell, (cells, units), of a block of rows."""

    find: Callable[[FloatArray], npt.NDArray[np.intp]]
    n_cells: int
    units: UnitNumbers

    def __call__(self, rows: FloatArray, start: int) -> Any:
        index, units = self.find(rows[:, 0]), self.units.part(start, len(rows))
        if index.min(initial=0) < 0:
            index, units = index[is_on_grid := index >= 0], units[is_on_grid]
        shape = self.n_cells, self.units.n_groups
        if shape[0] * shape[1] <= _COUNTED_CELLS + 4 * len(rows):  # a full table costs less than sorting the rows
            counts = np.bincount(index * shape[1] + units, minlength=shape[0] * shape[1]).reshape(shape)
            return csr_array(counts.astype(np.float32))  # whole numbers are exact there up to 2^24
        return csr_array((np.ones(len(index), dtype=np.float32), (index, units)), shape=shape)


def _relabelled_statistics(cells: ColumnCells, in_units: Any, labels: BoolArray) -> FloatArray:
    """The largest standardized statistic for each relabelling of units, (k,)."""
    step = max(1, _LABELS // max(in_units.shape))
    tables = [cells.forms.of_units(in_units, labels[first : first + step]) for first in range(0, len(labels), step)]
    return resample.largest_standardized(np.vstack(tables))


def number_cells(column: NumberColumn) -> ColumnCells | None:
    """Rows of a column of numbers in cells of a grid; None if it is one and the same constant."""
    if column.is_constant:
        return None
    data = column.data
    models = [(float(sigma), STRONG) for sigma in sigmas_of(data.some_pooled(MEDIAN_ROWS))]
    statistics = CellStatistics(data, models)
    cells = statistics.cells  # all that is kept of them: the rows may be many
    numbers = np.full(cells.shape[0], -1)
    numbers[cells.occupied] = np.arange(len(cells.occupied))
    find = partial(_occupied_cell, numbers, statistics.axes, cells.spacing)
    return ColumnCells(GridForms.of(cells, models), (data.x.rows, data.y.rows), find)


def _occupied_cell(
    numbers: npt.NDArray[np.intp], axes: Sequence[Line], spacing: float, values: FloatArray
) -> npt.NDArray[np.intp]:
    """The number of the occupied cell of each value, -1 off the grid, (k,); ``numbers`` are those of all its cells."""
    nodes = np.rint(places_of(values[None], axes)[:, 0] / spacing)
    is_off = (nodes < 0) | (nodes >= len(numbers))
    nodes[is_off] = 0
    index = numbers[nodes.astype(np.intp)]
    index[is_off] = -1
    return np.asarray(index)


def _among(known: npt.NDArray[Any], values: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Places of values among known ascending ones, -1 for others, (k,)."""
    index = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[index] == values, index, -1)


def spike_cells(column: NumberColumn) -> ColumnCells | None:
    """The values of a column of numbers that stand out by their rows, and all others; None if no value does.

    A grid smooths them away, and does not reach those that lie far off, as marks of missing values do.
    """
    pair = column.pair
    if column.is_constant or not all_at_once(pair.x, pair.y):
        return None
    halves = [rows[:][:, 0] for rows in (pair.x, pair.y)]
    spikes = _spikes(np.concatenate(halves))
    if not len(spikes):
        return None
    find = partial(_spike_or_other, spikes)
    by_table = np.array([np.bincount(find(part), minlength=len(spikes) + 1) for part in halves])
    return ColumnCells(share_forms(by_table), (pair.x, pair.y), find)


def _spikes(values: FloatArray) -> FloatArray:
    """Values that stand out by their rows, ascending; none if all do.

    Equal values have equal hashes, so that only values of frequent hashes have to be sorted. With more hashes than
    half of the values could have that are frequent enough for the median to count, it does not.
    """
    least = max(float(_SPIKE_ROWS), _SPIKE_SHARE * len(values))
    hashes = _hashes(values)
    rows = np.bincount(hashes)
    if np.count_nonzero(rows) * least > 2.0 * _SPIKE_TIMES * len(values):
        distinct, counts = np.unique(values[(rows >= least)[hashes]], return_counts=True)
        return np.asarray(distinct[counts >= least])
    distinct, counts = np.unique(values, return_counts=True)
    is_spike = counts >= max(least, _SPIKE_TIMES * float(np.median(counts)))
    return np.asarray(distinct[is_spike] if not is_spike.all() else distinct[:0])


def _hashes(values: FloatArray) -> npt.NDArray[np.intp]:
    """Numbers below 2^16 that are equal for equal values, 0 and -0 included, (k,)."""
    bits = (values + 0.0).view(np.uint64)
    return ((bits * _GOLDEN) >> np.uint64(48)).astype(np.intp)


def _spike_or_other(spikes: FloatArray, values: FloatArray) -> npt.NDArray[np.intp]:
    """1, 2, .. for values that stand out, 0 for all others."""
    return _among(spikes, values) + 1


def level_cells(column: LevelColumn) -> ColumnCells | None:
    """A column of categories: the sum of squared differences of shares, as they are and in units of their noise."""
    if column.is_constant:
        return None
    return ColumnCells(share_forms(column.counts), (column.pair.x, column.pair.y), _code)


def _code(values: FloatArray) -> npt.NDArray[np.intp]:
    return values.astype(np.intp)
