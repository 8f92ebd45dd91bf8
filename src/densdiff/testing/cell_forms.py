"""Statistics of rows in cells as weighted squares of linear functions of their counts.

Relabelled units of rows then need no counts: the functions of each unit are summed by one product of matrices.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from densdiff.core import cell_power
from densdiff.core.resample import BoolArray, Cells, CountArray
from densdiff.core.scaling import FloatArray
from densdiff.testing.statistics import Model


@dataclass(frozen=True)
class CellForms:
    """M statistics: sums over linear functions of the difference of shares in the cells, squared and weighted."""

    counts: CountArray  # (2, c) rows of A and of B in the cells
    functions: FloatArray | None  # (c, F); None for the shares of the cells themselves
    weights: FloatArray  # (F, M)

    def of_counts(self, counts: CountArray) -> FloatArray:
        """The statistics for counts of A in the cells, (k, c); (k, M)."""
        n, m = self.counts.sum(axis=1)
        kind = np.float64 if self.functions is None else cell_power.float_kind(len(self.functions))
        # whole numbers less what they are on average: in single precision too a difference keeps its digits
        shares = np.subtract(counts, self.counts.sum(axis=0) * (n / (n + m)), dtype=kind)
        shares *= kind(1.0 / n + 1.0 / m)
        return self._squared(shares if self.functions is None else shares @ self.functions.astype(kind, copy=False))

    def of_units(self, in_units: Any, labels: BoolArray) -> FloatArray:
        """The statistics for labels of units (k, u), True for A, that have rows in the cells, (c, u); (k, M).

        Through the counts where these are soon had: from a sparse matrix, or if functions are no fewer than cells.
        """
        if self.functions is None or issparse(in_units) or len(self.functions) < self.functions.shape[1]:
            return self.of_counts(counts_of_units(in_units, labels))
        n, m = self.counts.sum(axis=1)
        kind = cell_power.float_kind(len(self.functions))
        by_unit = in_units.T.astype(kind, copy=False) @ self.functions.astype(kind, copy=False)  # (u, F)
        by_unit *= kind(1.0 / n + 1.0 / m)
        mean = (self.counts.sum(axis=0) / m) @ self.functions / labels[0].sum()  # of the units that are A
        by_unit -= mean.astype(kind)
        return self._squared(labels.astype(kind) @ by_unit)

    def _squared(self, values: npt.NDArray[np.floating[Any]]) -> FloatArray:
        """Squares in the precision of the values, weighted; weights of any unit are at most 1 in it."""
        unit = np.maximum(self.weights.max(axis=0), np.finfo(np.float64).tiny)
        weighted = np.square(values, out=values) @ (self.weights / unit).astype(values.dtype)
        return np.asarray(weighted * unit)


@dataclass(frozen=True)
class GridForms:
    """E12 of each model (sigma, lam) for one column of numbers in the cells of a grid.

    Models whose frequencies are few for their grid are forms; others are left to fast Fourier transforms of counts.
    """

    cells: Cells
    forms: CellForms
    is_form: BoolArray  # (M,) which models are
    others: list[Model]

    @classmethod
    def of(cls, cells: Cells, models: list[Model]) -> "GridForms":
        """The forms of all models that are cheaper so."""
        is_form = np.zeros(len(models), dtype=bool)
        for run in cell_power.share_grids(cells, models):
            is_form[run] = cell_power.has_few_frequencies(cells, models[run])
        waves, weights = cell_power.line_waves(
            cells, [model for model, few in zip(models, is_form, strict=True) if few]
        )
        others = [model for model, few in zip(models, is_form, strict=True) if not few]
        return cls(cells, CellForms(cells.counts, waves, weights), is_form, others)

    @property
    def counts(self) -> CountArray:
        """Rows of A and of B in the cells, (2, c)."""
        return self.cells.counts

    def of_counts(self, counts: CountArray) -> FloatArray:
        """The statistics for counts of A in the cells, (k, c); (k, M)."""
        table = np.empty((len(counts), len(self.is_form)))
        if self.is_form.any():
            table[:, self.is_form] = self.forms.of_counts(counts)
        if self.others:
            table[:, ~self.is_form] = cell_power.cell_statistics(self.cells, counts, self.others)
        return table

    def of_units(self, in_units: Any, labels: BoolArray) -> FloatArray:
        """The statistics for labels of units (k, u), True for A, that have rows in the cells, (c, u); (k, M)."""
        if self.others:
            return self.of_counts(counts_of_units(in_units, labels))
        return self.forms.of_units(in_units, labels)


def counts_of_units(in_units: Any, labels: BoolArray) -> CountArray:
    """Rows of A in each cell, (k, c), for labels of units (k, u) that have rows in the cells, (c, u)."""
    return np.asarray((in_units @ labels.T.astype(np.float32)).T)  # whole numbers are exact in it up to 2^24


def share_forms(counts: CountArray) -> CellForms:
    """Sums of squared differences of shares, as they are and in units of their noise, from counts (2, K)."""
    pooled = counts.sum(axis=0)
    weights = np.column_stack([np.ones(len(pooled)), 1.0 / np.maximum(pooled, 1)])
    return CellForms(counts, None, weights)
