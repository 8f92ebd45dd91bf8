"""Statistics of single columns and of pairs of columns, to stand beside those of all columns together.

A kernel of all columns sees a change of one or two of many only faintly. Here each column has a few features of its
pooled ranks or levels, a pair of columns their products, and a statistic is the squared difference of mean features:
of a column, of a pair, summed over all of them, and the largest. Every relabelling is treated as the data are, so a
permutation test of them is exact.
"""

from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from densdiff.core import selection
from densdiff.core.resample import BoolArray
from densdiff.core.scaling import FloatArray

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
            (_of_levels(column) if k else _of_numbers(column))[self.chosen].astype(np.float32)
            for column, k in zip(rows.T, counts, strict=True)
        ]
        self.pairs = list(combinations(range(len(self.features)), 2))

    def of(self, labels: BoolArray) -> FloatArray:
        """Squared lengths of the differences of mean features, (k, d + pairs), for labels (k, N) of all pooled rows."""
        part = labels[:, self.chosen].astype(np.float32)
        n = np.maximum(part.sum(axis=1, keepdims=True), 1.0)
        w = part / n - (1.0 - part) / np.maximum(part.shape[1] - n, 1.0)
        found = [np.square(w @ of).sum(axis=1) for of in self.features]
        narrow = [of[:, :1] if len(self.features) > _WIDE else of for of in self.features]
        step = max(1, _AT_ONCE // (len(self.chosen) * max(of.shape[1] for of in narrow) ** 2))
        for first in range(0, len(self.pairs), step):
            products = [_products(narrow[i], narrow[j]) for i, j in self.pairs[first : first + step]]
            squares = np.square(w @ np.hstack(products))
            edges = np.cumsum([0] + [each.shape[1] for each in products[:-1]])
            found += list(np.add.reduceat(squares, edges, axis=1).T)
        return np.column_stack(found).astype(np.float64)

    def combined(self, table: FloatArray) -> FloatArray:
        """Sums and largest standardized values over columns and over pairs, (k, 4), of a table of all relabellings."""
        d = len(self.features)
        parts = table[:, :d], table[:, d:]
        return np.column_stack([of(part) for part in parts for of in (_sum, _largest)])


def _products(a: npt.NDArray[np.float32], b: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return np.asarray((a[:, :, None] * b[:, None, :]).reshape(len(a), -1))


def _sum(part: FloatArray) -> FloatArray:
    return np.asarray(part.sum(axis=1))


def _largest(part: FloatArray) -> FloatArray:
    """Cube roots have tails alike."""
    roots = np.cbrt(part)
    deviation = roots.std(axis=0)
    return np.asarray(((roots - roots.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)).max(axis=1))


def _of_numbers(column: FloatArray) -> FloatArray:
    """The first three Legendre polynomials of the ranks, centered, of unit variance and weighted, (N, <= 3)."""
    u = 2.0 * (rankdata(column) - 0.5) / len(column) - 1.0
    found = _standardized(np.column_stack([u, 1.5 * u**2 - 0.5, 2.5 * u**3 - 1.5 * u]))
    return np.asarray(found * _WEIGHTS[: found.shape[1]])


def _of_levels(column: FloatArray) -> FloatArray:
    """Indicators of the levels, centered and of unit variance, (N, <= 7)."""
    codes = column.astype(np.intp)
    order = np.argsort(-np.bincount(codes), kind="stable")
    rank = np.minimum(np.argsort(order)[codes], _LEVELS)
    return _standardized((rank[:, None] == np.arange(rank.max() + 1)).astype(np.float64))


def _standardized(features: FloatArray) -> FloatArray:
    """Those that vary, or a column of zeros."""
    spread = features.std(axis=0)
    if not spread.any():
        return np.zeros((len(features), 1))
    return np.asarray((features - features.mean(axis=0))[:, spread > 0] / spread[spread > 0])
