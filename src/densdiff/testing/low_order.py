"""Statistics of single columns and of pairs of columns, to stand beside those of all columns together.

A kernel of all columns sees a change of one or two of many only faintly. Here each column has a few features of its
pooled ranks or levels, a pair of columns their products, and a statistic is the squared difference of mean features:
of a column, of a pair, summed over all of them, and the largest. Every relabelling is treated as the data are, so a
permutation test of them is exact.
"""

from collections.abc import Iterable
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from densdiff.core import selection
from densdiff.core.resample import BoolArray
from densdiff.core.scaling import FloatArray
from densdiff.testing.limits import Limit
from densdiff.testing.statistics import BaseStatistics, ReportedModel, Statistics

_ROWS = 3000  # pooled rows that are looked at
_LEVELS = 6  # the most frequent ones; the others are one
_WEIGHTS = np.array([1.0, 1.0 / 2.0, 1.0 / 3.0])  # of the polynomials: a changed trend is likelier than a changed wave
_WIDE = 40  # columns beyond which pairs have one feature of each column
_AT_ONCE = 1 << 24  # products of features held at a time


class LowOrderStatistics:
    """For any labels: each column, each pair of columns; `combined` makes four statistics of them."""

    def __init__(self, rows: FloatArray, levels: npt.NDArray[np.intp], seed: int) -> None:
        self.chosen = selection.draw_rows(seed, len(rows), _ROWS)
        counts = np.concatenate([np.zeros(rows.shape[1] - len(levels), dtype=np.intp), levels])
        self.features = [
            (_level_features(column) if k else _number_features(column))[self.chosen].astype(np.float32)
            for column, k in zip(rows.T, counts, strict=True)
        ]
        self.pairs = list(combinations(range(len(self.features)), 2))

    def table(self, labels: BoolArray) -> FloatArray:
        """Squared lengths of the differences of mean features, (k, d + pairs), for labels (k, N) of all pooled rows."""
        is_x = labels[:, self.chosen].astype(np.float32)
        n = np.maximum(is_x.sum(axis=1, keepdims=True), 1.0)
        w = is_x / n - (1.0 - is_x) / np.maximum(is_x.shape[1] - n, 1.0)
        lengths = [np.square(w @ features).sum(axis=1) for features in self.features]
        narrow = [features[:, :1] if len(self.features) > _WIDE else features for features in self.features]
        step = max(1, _AT_ONCE // (len(self.chosen) * max(features.shape[1] for features in narrow) ** 2))
        for first in range(0, len(self.pairs), step):
            products = [_products(narrow[i], narrow[j]) for i, j in self.pairs[first : first + step]]
            squares = np.square(w @ np.hstack(products))
            edges = np.cumsum([0] + [product.shape[1] for product in products[:-1]])
            lengths += list(np.add.reduceat(squares, edges, axis=1).T)
        return np.column_stack(lengths).astype(np.float64)

    def combined(self, table: FloatArray) -> FloatArray:
        """Sums and largest standardized values over columns and over pairs, (k, 4), of a table of all relabellings."""
        d = len(self.features)
        parts = table[:, :d], table[:, d:]
        return np.column_stack([combine(part) for part in parts for combine in (_sum, _largest)])


class StatisticsWithLowOrder(BaseStatistics):
    """Statistics of all columns together, and beside them in the joined table those of low order."""

    def __init__(self, joint: Statistics, low_order: LowOrderStatistics) -> None:
        self.joint, self.low_order = joint, low_order
        self.models, self.log_scales, self.in_logs = joint.models, joint.log_scales, joint.in_logs

    def table(self, labels: BoolArray) -> FloatArray:
        """Those of all columns together, (k, M): the others are standardized over all relabellings."""
        return self.joint.table(labels)

    def joined_table(self, chunks: Iterable[BoolArray]) -> FloatArray:
        """Statistics of all relabellings, (k, M + 4), those of low order last."""
        tables = [(self.joint.table(labels), self.low_order.table(labels)) for labels in chunks]
        joint, low_order = (np.concatenate(part) for part in zip(*tables, strict=True))
        return np.hstack([joint, self.low_order.combined(low_order)])

    def limits(self, seed: int, factor: float) -> list[Limit] | None:
        """The limits of the statistics of all columns together; none is known for those of low order."""
        return self.joint.limits(seed, factor)

    def reported_model(self, index: int, sigma_unit: float) -> ReportedModel:
        """As the statistics of all columns together report it."""
        return self.joint.reported_model(index, sigma_unit)

    def log_factor(self, index: int, log_volume: float) -> float:
        """The factor of the statistics of all columns together."""
        return self.joint.log_factor(index, log_volume)


def _products(a: npt.NDArray[np.float32], b: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Each feature of one column times each of another, (N, p q)."""
    return np.asarray((a[:, :, None] * b[:, None, :]).reshape(len(a), -1))


def _sum(part: FloatArray) -> FloatArray:
    """Sum over the columns of a table, (k,)."""
    return np.asarray(part.sum(axis=1))


def _largest(part: FloatArray) -> FloatArray:
    """The largest standardized cube root of each relabelling, (k,): cube roots have tails alike."""
    roots = np.cbrt(part)
    deviation = roots.std(axis=0)
    return np.asarray(((roots - roots.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)).max(axis=1))


def _number_features(column: FloatArray) -> FloatArray:
    """The first three Legendre polynomials of the ranks, centered, of unit variance and weighted, (N, <= 3)."""
    u = 2.0 * (rankdata(column) - 0.5) / len(column) - 1.0
    polynomials = _standardized(np.column_stack([u, 1.5 * u**2 - 0.5, 2.5 * u**3 - 1.5 * u]))
    return np.asarray(polynomials * _WEIGHTS[: polynomials.shape[1]])


def _level_features(column: FloatArray) -> FloatArray:
    """Indicators of the levels, centered and of unit variance, (N, <= 7)."""
    codes = column.astype(np.intp)
    order = np.argsort(-np.bincount(codes), kind="stable")
    rank = np.minimum(np.argsort(order)[codes], _LEVELS)
    return _standardized((rank[:, None] == np.arange(rank.max() + 1)).astype(np.float64))


def _standardized(features: FloatArray) -> FloatArray:
    """The features that vary, centered and of unit variance, or a column of zeros."""
    spread = features.std(axis=0)
    if not spread.any():
        return np.zeros((len(features), 1))
    return np.asarray((features - features.mean(axis=0))[:, spread > 0] / spread[spread > 0])
