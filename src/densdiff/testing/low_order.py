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

from densdiff.core import selection
from densdiff.core.ranks import average_ranks
from densdiff.core.resample import BoolArray
from densdiff.core.scaling import FloatArray
from densdiff.testing.limits import Limit
from densdiff.testing.statistics import BaseStatistics, ReportedModel, Statistics

_ROWS = 3000  # pooled rows that are looked at
_LEVELS = 6  # the most frequent ones; the others are one
_WEIGHTS = np.array([1.0, 1.0 / 2.0, 1.0 / 3.0])  # of the polynomials: a changed trend is likelier than a changed wave
_WIDE = 40  # columns beyond which pairs have one feature of each column
_MOST_PAIRS = 5000  # of more than `_WIDE` columns that are looked at one by one; the others count in the sum alone
_AT_ONCE = 1 << 22  # products of features held at a time
_TILE = 500  # rows of the kernel of all pairs at a time


class LowOrderStatistics:
    """For any labels: each column, each pair of columns; `combined` makes four statistics of them."""

    def __init__(self, rows: FloatArray, levels: npt.NDArray[np.intp], seed: int) -> None:
        self.chosen = selection.draw_rows(seed, len(rows), _ROWS)
        counts = np.concatenate([np.zeros(rows.shape[1] - len(levels), dtype=np.intp), levels])
        self.features = [
            (_level_features(column) if k else _number_features(column))[self.chosen].astype(np.float32)
            for column, k in zip(rows.T, counts, strict=True)
        ]
        self.narrow = [each[:, :1] if len(self.features) > _WIDE else each for each in self.features]
        self.pairs = list(combinations(range(len(self.features)), 2))
        self.has_all_pairs = len(self.pairs) <= _MOST_PAIRS
        if not self.has_all_pairs:
            self.pairs = _most_correlated(np.hstack(self.narrow), _MOST_PAIRS)

    def table(self, labels: BoolArray) -> FloatArray:
        """Squared lengths of the differences of mean features, (k, d + pairs), for labels (k, N) of all pooled rows.

        Where not all pairs are looked at, the sum over all of them comes last.
        """
        is_x = labels[:, self.chosen].astype(np.float32)
        n = np.maximum(is_x.sum(axis=1, keepdims=True), 1.0)
        w = is_x / n - (1.0 - is_x) / np.maximum(is_x.shape[1] - n, 1.0)
        step = max(1, _AT_ONCE // (len(self.chosen) * max(features.shape[1] for features in self.narrow) ** 2))
        lengths = [_squared_lengths(w, self.features)]
        for first in range(0, len(self.pairs), step):
            some_pairs = self.pairs[first : first + step]
            lengths.append(_squared_lengths(w, [_products(self.narrow[i], self.narrow[j]) for i, j in some_pairs]))
        return np.column_stack(lengths if self.has_all_pairs else [*lengths, self._sum_over_pairs(w)])

    def _sum_over_pairs(self, w: npt.NDArray[np.float32]) -> FloatArray:
        """The sum over all pairs of single features, (k,): w'Kw, K of rows f and g the sum of f_i f_j g_i g_j, i < j.

        That is half of (sum f_i g_i)^2 - sum (f_i g_i)^2: as dear as pairs of rows, not of columns.
        """
        f, total = np.hstack(self.narrow), np.zeros(len(w))
        for start in range(0, len(f), _TILE):  # symmetric: the part before the diagonal is not made
            part, squares = f[start : start + _TILE], np.square(f[start:])
            kernel = np.square(part @ f[start:].T)
            kernel -= squares[: len(part)] @ squares.T
            kernel[:, : len(part)] *= 0.5  # pairs of rows after the tile stand for both orders, and K is half of this
            total += np.einsum("kb,kb->k", w[:, start : start + _TILE] @ kernel, w[:, start:], dtype=np.float64)
        return total

    def combined(self, table: FloatArray) -> FloatArray:
        """Sums and largest standardized values over columns and over pairs, (k, 4), of a table of all relabellings."""
        columns, pairs, total = np.split(table, np.cumsum([len(self.features), len(self.pairs)]), axis=1)
        of_pairs = (pairs if self.has_all_pairs else total).sum(axis=1)
        return np.column_stack([columns.sum(axis=1), _largest(columns), of_pairs, _largest(pairs)])


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


def _squared_lengths(w: npt.NDArray[np.float32], features: list[npt.NDArray[np.float32]]) -> FloatArray:
    """Squared length of w times the features of each, (k, len(features))."""
    squares = np.square(w @ np.hstack(features))
    edges = np.cumsum([0] + [each.shape[1] for each in features[:-1]])
    return np.add.reduceat(squares, edges, axis=1).astype(np.float64)


def _most_correlated(features: npt.NDArray[np.float32], count: int) -> list[tuple[int, int]]:
    """The pairs of features that are most correlated in the pooled rows, whatever their labels.

    A dependence that one sample has and the other lacks leaves half of itself there.
    """
    first, second = np.triu_indices(features.shape[1], 1)
    strength = np.abs(features.T @ features)[first, second]
    chosen = np.sort(np.argpartition(-strength, count)[:count])
    return list(zip(first[chosen].tolist(), second[chosen].tolist(), strict=True))


def _largest(part: FloatArray) -> FloatArray:
    """The largest standardized cube root of each relabelling, (k,): cube roots have tails alike."""
    roots = np.cbrt(part)
    deviation = roots.std(axis=0)
    return np.asarray(((roots - roots.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)).max(axis=1))


def _number_features(column: FloatArray) -> FloatArray:
    """The first three Legendre polynomials of the ranks, centered, of unit variance and weighted, (N, <= 3)."""
    u = 2.0 * (average_ranks(column) - 0.5) / len(column) - 1.0
    squared = np.square(u)
    polynomials = _standardized(np.column_stack([u, 1.5 * squared - 0.5, (2.5 * squared - 1.5) * u]))
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
