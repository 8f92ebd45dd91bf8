"""Statistics of single columns, of pairs of columns and of quadratic forms, beside those of all columns together.

A kernel of all columns sees a change of one or two of many only faintly, and of covariance in hundreds of columns
hardly anything. Here statistics are squared differences of the mean features of `row_features`: of a column, of the
products of two columns, of a quadratic form, and their sums. Each relabelling is treated as the data are.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.core.resample import BoolArray, CountArray
from densdiff.core.scaling import FloatArray
from densdiff.solvers.prepared import Prepared
from densdiff.sources.sample import totals
from densdiff.testing.combining import Part
from densdiff.testing.feature_layout import Layout, UnitSums, all_features, make_layout
from densdiff.testing.limits import Limit
from densdiff.testing.row_features import Features, QuadraticForms, RowFeatures
from densdiff.testing.statistics import BaseStatistics, ReportedModel, Statistics
from densdiff.testing.units import Units

AnyFloats = npt.NDArray[np.floating[Any]]

_ROWS = 3000  # pooled rows that ranks, levels and covariance are taken from
_ROUNDING = 1e-6  # of a feature's mean size: means that differ by less are the same in single precision
# Shares: of d columns together 1.5 / d, at least a fifth and at most 70 %; of quadratic forms of several columns from a
# tenth to a half, the more the columns; columns have 55 % of the rest and pairs 45 %, their sums a third of either.
_ALL_COLUMNS, _LEAST_SHARE, _MOST_SHARE = 1.5, 0.2, 0.7
_FEW_FORMS, _FORMS, _MANY = 0.1, 0.5, 50
_COLUMNS, _SUM = 0.55, 1 / 3


def _plan(data: Prepared) -> tuple[list[str], RowFeatures, Layout]:
    """Names of the columns, their features, and where they stand, from some pooled rows whatever their labels."""
    features, columns = RowFeatures.of(data.some_pooled(_ROWS), data.levels)
    return [data.pair.names[j] for j in data.scaling.keep], features, make_layout(columns)


class LowOrder:
    """Columns, pairs of columns and quadratic forms of all columns, for any weights of some summands.

    A summand is the sum of the features over the rows of a unit, or the features in the middle of a cell; weights make
    a difference of means of the features.
    """

    def __init__(self, names: Sequence[str], layout: Layout, summands: Features, sizes: FloatArray) -> None:
        """``summands`` (units or cells, features), and the mean size of each feature, (features,)."""
        self.names, self.layout, self._summands = list(names), layout, summands
        self._least = np.square(_ROUNDING * sizes)  # (features,)

    @classmethod
    def of_units(cls, data: Prepared, units: Units) -> "LowOrder":
        """The summands are sums over the rows of each unit."""
        names, features, layout = _plan(data)
        samples = (data.x.rows, units.x), (data.y.rows, units.y)
        tasks = [UnitSums(features, layout, numbers, rows.inner_threads) for rows, numbers in samples]
        summands = np.concatenate(totals([rows for rows, _ in samples], tasks)).astype(np.float32)
        return cls(names, layout, summands, np.abs(summands).sum(axis=0, dtype=np.float64) / sum(units.sizes))

    @classmethod
    def of_cells(cls, data: Prepared, middles: FloatArray, counts: CountArray) -> "LowOrder":
        """The summands are features in the middles of cells (c, d) with these many rows (c,)."""
        names, features, layout = _plan(data)
        summands = all_features(features, layout, middles)
        return cls(names, layout, summands, counts @ np.abs(summands) / counts.sum())

    @cached_property
    def parts(self) -> list[Part]:
        """Columns, pairs and quadratic forms, and the sums of the former two, with their shares."""
        layout, d = self.layout, len(self.layout.widths)
        forms = share_of_forms(d)
        rest = 1.0 - share_of_all_columns(d) - forms
        columns = [f"column {name!r}" for name in self.names]
        of_columns = [name for name, width in zip(columns, layout.widths, strict=True) for _ in range(width)]
        if d == 1:
            return [Part(rest, [*of_columns, *columns])]
        pairs = [f"pair {self.names[i]!r}, {self.names[j]!r}" for i, j in layout.pairs]
        return [
            Part((1 - _SUM) * _COLUMNS * rest, [*of_columns, *columns]),
            Part(_SUM * _COLUMNS * rest, ["all columns, one by one"]),
            Part((1 - _SUM) * (1 - _COLUMNS) * rest, [*pairs, *pairs]),
            Part(_SUM * (1 - _COLUMNS) * rest, ["all pairs of columns"]),
            Part(forms, [*QuadraticForms.names, QuadraticForms.squared]),
        ]

    def table(self, weights: AnyFloats) -> FloatArray:
        """Squared differences of mean features and their sums, (k, M), for weights (k, summands), part by part."""
        squares = np.square(weights.astype(np.float32) @ self._summands, dtype=np.float64)
        squares[squares <= self._least] = 0.0  # a product that never varies must not lead by its rounding
        layout = self.layout
        columns, forms, pairs = np.split(squares, np.cumsum([sum(layout.widths), layout.forms]), axis=1)
        of_column = _sums(columns, layout.widths)
        if not layout.pairs:
            return np.column_stack([columns, of_column])
        of_pair, first = _sums(pairs, layout.of_pairs), pairs[:, np.cumsum((0, *layout.of_pairs[:-1]))]
        return np.column_stack([columns, of_column, of_column.sum(axis=1), of_pair, first, first.sum(axis=1), forms])


def share_of_all_columns(d: int) -> float:
    """The share of statistics of all d columns together: the fewer columns, the more they see."""
    return max(_LEAST_SHARE, min(_MOST_SHARE, _ALL_COLUMNS / d))


def share_of_forms(d: int) -> float:
    """The share of quadratic forms of d columns: in many, little else sees a change of covariance."""
    return 0.0 if d == 1 else _FEW_FORMS + (_FORMS - _FEW_FORMS) * d / (d + _MANY)


def _sums(squares: npt.NDArray[np.float64], widths: Sequence[int]) -> FloatArray:
    """Sums over neighbouring columns of a table, so many each, (k, len(widths))."""
    return np.asarray(np.add.reduceat(squares, np.cumsum((0, *widths[:-1])), axis=1))


class StatisticsWithLowOrder(BaseStatistics):
    """Statistics of all columns together, and beside them in the joined table those of low order."""

    def __init__(self, joint: Statistics, low_order: LowOrder, units: Units) -> None:
        self.joint, self.low_order, self.units = joint, low_order, units
        self.models, self.log_scales, self.in_logs = joint.models, joint.log_scales, joint.in_logs
        self.has_suited = joint.has_suited

    @property
    def further_parts(self) -> list[Part]:
        """Columns, pairs and quadratic forms."""
        return self.low_order.parts

    def table(self, labels: BoolArray) -> FloatArray:
        """Those of all columns together, (k, M)."""
        return self.joint.table(labels)

    def joined_table(self, chunks: Iterable[BoolArray]) -> FloatArray:
        """Statistics of all relabellings, those of low order last."""
        return np.vstack(
            [
                np.hstack([self.joint.table(labels), self.low_order.table(self.units.weights(labels))])
                for labels in chunks
            ]
        )

    def limits(self, seed: int, factor: float) -> list[Limit] | None:
        """The limits of the statistics of all columns together; none is known for those of low order."""
        return self.joint.limits(seed, factor)

    def reported_model(self, index: int, sigma_unit: float) -> ReportedModel:
        """As the statistics of all columns together report it."""
        return self.joint.reported_model(index, sigma_unit)

    def log_factor(self, index: int, log_volume: float) -> float:
        """The factor of the statistics of all columns together."""
        return self.joint.log_factor(index, log_volume)


def with_low_order(joint: Statistics, data: Prepared, units: Units) -> StatisticsWithLowOrder:
    """Statistics of all columns together, and beside them those of low order of the same units."""
    return StatisticsWithLowOrder(joint, LowOrder.of_units(data, units), units)
