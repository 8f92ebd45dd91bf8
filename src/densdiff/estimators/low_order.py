"""Statistics of single columns and of pairs of columns, to stand beside those of all columns together.

A kernel of all columns sees a change of one or two of many only faintly. Here each column has a few features of its
pooled ranks or levels; the kernels are sums over columns, and over pairs of columns, of their inner products (an ANOVA
decomposition). They are quadratic in the labels as all others, so a permutation test of them is exact.
"""

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from densdiff.core import selection
from densdiff.core.resample import BoolArray
from densdiff.core.scaling import FloatArray

_ROWS = 3000  # pooled rows whose pairs are looked at
_LEVELS = 6  # the most frequent ones; the others are one
COUNT = 2  # statistics


class LowOrderStatistics:
    """Both kernels between some of the pooled rows."""

    def __init__(self, rows: FloatArray, levels: npt.NDArray[np.intp], seed: int) -> None:
        self.chosen = selection.draw_rows(seed, len(rows), _ROWS)
        d = rows.shape[1]
        counts = np.concatenate([np.zeros(d - len(levels), dtype=np.intp), levels])
        singles = np.zeros((len(self.chosen), len(self.chosen)), dtype=np.float32)
        squares = np.zeros_like(singles)
        for column, k in zip(rows.T, counts, strict=True):
            features = (_of_levels(column) if k else _of_numbers(column))[self.chosen].astype(np.float32)
            kernel = features @ features.T
            singles += kernel
            squares += kernel * kernel
        self.kernels = [singles, (singles * singles - squares) / 2]

    def of(self, labels: BoolArray) -> FloatArray:
        """(k, 2) for labels (k, N) of all pooled rows."""
        part = labels[:, self.chosen].T.astype(np.float32)
        n = np.maximum(part.sum(axis=0), 1.0)
        w = part / n - (1.0 - part) / np.maximum(len(part) - n, 1.0)
        return np.column_stack([np.einsum("ij,ij->j", w, kernel @ w) for kernel in self.kernels]).astype(np.float64)


def _of_numbers(column: FloatArray) -> FloatArray:
    """The first three Legendre polynomials of the ranks, centered and of unit variance, (N, 3)."""
    u = 2.0 * (rankdata(column) - 0.5) / len(column) - 1.0
    return _standardized(np.column_stack([u, 1.5 * u**2 - 0.5, 2.5 * u**3 - 1.5 * u]))


def _of_levels(column: FloatArray) -> FloatArray:
    """Indicators of the levels, centered and of unit variance, (N, <= 7)."""
    codes = column.astype(np.intp)
    order = np.argsort(-np.bincount(codes), kind="stable")
    rank = np.minimum(np.argsort(order)[codes], _LEVELS)
    return _standardized((rank[:, None] == np.arange(rank.max() + 1)).astype(np.float64))


def _standardized(features: FloatArray) -> FloatArray:
    spread = features.std(axis=0)
    return np.asarray((features - features.mean(axis=0))[:, spread > 0] / spread[spread > 0])
