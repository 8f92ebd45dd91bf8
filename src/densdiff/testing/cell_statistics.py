"""Statistics of rows counted in the cells of a grid, for one or two columns of any number of rows."""

from collections.abc import Sequence
from copy import copy
from functools import cached_property

import numpy as np

from densdiff.core import cell_power, resample
from densdiff.core.cell_power import frequency_at
from densdiff.core.grid import Line, places_of
from densdiff.core.resample import BoolArray, CountArray
from densdiff.core.scaling import FloatArray
from densdiff.engines.grids import occupied_cells, plan, plan_line
from densdiff.solvers.base import DIFFERENCE, FilterKernel
from densdiff.solvers.prepared import Prepared
from densdiff.solvers.spectral import SpectralSolver
from densdiff.testing.cell_forms import GridForms
from densdiff.testing.combining import Part
from densdiff.testing.kernel_statistics import kernel_limits
from densdiff.testing.limits import LIMIT_ROWS, Limit
from densdiff.testing.low_order import LowOrder
from densdiff.testing.statistics import BaseStatistics, ExactStatistic, Labels, Model, Relabelled
from densdiff.testing.widths import MEDIAN_ROWS

_CELL = 0.43  # radians across a cell at the frequency where a filter has half its power; see CellStatistics
_FAR = "values far from the middle are compared on a logarithmic scale"
_BEYOND = 1e-3  # of the rows: far tails off the grid, which tests in cells leave out
_MOST_CELLS = 1 << 16  # of two columns: each relabelling draws a count for every occupied one


class CellStatistics(BaseStatistics):
    """Rows in cells of a grid: a relabelling costs the occupied cells, whatever the number of rows.

    Moving rows to the middle of their cells changes statistics near the null by some percent; the data's own is
    therefore reported from the rows as they are, by `exact`. A grid is ``narrow`` that leaves out rows far away.
    """

    low_order: LowOrder | None = None

    def __init__(self, data: Prepared, models: list[Model], *, has_suited: bool = False) -> None:
        self.data, self.models, self.log_scales, self.has_suited = data, models, np.zeros(len(models)), has_suited
        sigmas = np.array([sigma for sigma, _ in models])
        samples = [data.x.rows, data.y.rows]
        width, lam = cell_width(models), min(lam for _, lam in models)
        self.axes: Sequence[Line]
        if data.x.rows.shape[1] == 1:
            self.axes = [plan_line(samples, sigmas, lam, width, float(np.median(data.some_pooled(MEDIAN_ROWS))))]
        else:
            self.axes, _ = plan(samples, sigmas, lam, 2)
        self.cells = occupied_cells(samples, self.axes, cell_spacing(self.axes, width))
        self.narrow = bool(self.cells.counts.sum() < (1.0 - _BEYOND) * sum(map(len, samples)))

    def with_low_order(self) -> "CellStatistics":
        """The same with statistics of columns and their pair, from the middles of the cells."""
        found = copy(self)
        found.low_order = LowOrder.of_cells(self.data, resample.cell_middles(self.cells, self.axes), self.cells.pooled)
        return found

    @property
    def further_parts(self) -> list[Part]:
        """Columns, their pair and quadratic forms, if they are there."""
        return self.low_order.parts if self.low_order else []

    def table(self, labels: BoolArray) -> FloatArray:
        """The data's own statistics, (1, M), whatever the labels; others come from `relabelled`."""
        return self._table_of_counts(self.cells.counts[:1])

    def _table_of_counts(self, counts: CountArray) -> FloatArray:
        """(k, M) for counts of X in the occupied cells, (k, c)."""
        if len(self.axes) == 1:
            return self._forms.of_counts(counts)
        return cell_power.cell_statistics(self.cells, counts, self.models)

    @cached_property
    def _forms(self) -> GridForms:
        return GridForms.of(self.cells, self.models)

    def _joined_of_counts(self, counts: CountArray) -> FloatArray:
        """(k, M or more) for counts of X in the occupied cells, (k, c), those of low order last."""
        if self.low_order is None:
            return self._table_of_counts(counts)
        (n, m), pooled = self.cells.counts.sum(axis=1), self.cells.pooled
        return np.hstack([self._table_of_counts(counts), self.low_order.table(counts / n - (pooled - counts) / m)])

    def relabelled(self, labels: Labels, count: int, random: np.random.Generator) -> Relabelled:
        """Counts of relabelled rows are drawn without the rows; their labels are not looked at."""
        table = resample.permuted_statistics(self.cells.counts, self._joined_of_counts, count, random)
        return Relabelled(table, "permutation")

    def limits(self, seed: int, factor: float) -> list[Limit]:
        """From the kernel between some of the rows, on the scale of cells, which is that of inner units."""
        kernel = FilterKernel(self.data.x.rows.shape[1])
        places = places_of(self.data.some_pooled(LIMIT_ROWS).T, self.axes)
        scaled = kernel_limits(places, self.models, kernel, factor)
        return [
            Limit(limit.root * np.exp(-0.5 * kernel.log_scale(sigma)), factor)
            for limit, (sigma, _) in zip(scaled, self.models, strict=True)
        ]

    def exact(self, index: int, draws: int) -> ExactStatistic:
        """E12 of one model from the rows as they are, or with its tails as they are compared."""
        note = f"rows were relabelled by cell, because {draws} relabellings of single rows would take too long"
        if not all(axis.keeps_distances for axis in self.axes):
            value = float(self.table(np.empty((0, 0), dtype=bool))[0, index])
            return ExactStatistic(value, f"{note}; {_FAR}")
        sigma, lam = self.models[index]
        solver = SpectralSolver(self.data.x, self.data.y, self.data.folds, np.array([sigma]), np.array([lam]))
        form = solver.forms(DIFFERENCE, [(0, 0)])[0]
        return ExactStatistic(form.plain + form.lam_term, note)


def cell_width(models: list[Model]) -> float:
    """How wide cells may be for all models: a share of the waves that their filters still let pass."""
    return _CELL / max(frequency_at(model, 0.5) for model in models)


def cell_spacing(axes: Sequence[Line], width: float) -> float:
    """How wide cells are; of two columns they are as many as a relabelling can afford."""
    area = float(np.prod([axis.length for axis in axes]))
    return max(width, float(np.sqrt(area / _MOST_CELLS))) if len(axes) > 1 else width
