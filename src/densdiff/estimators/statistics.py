"""Two-sample statistics of many relabellings of the same pooled rows at once, for several models (sigma, lam).

Each is quadratic in the labels: with w = (1/n + 1/m)(label - n/N), T = w'Kw. Nothing here sees which rows are X but
through the relabellings it is given, so a permutation test of any of these is exact.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.spatial.distance import pdist

from densdiff.core import grid, resample, selection
from densdiff.core.resample import BoolArray
from densdiff.core.scaling import FloatArray
from densdiff.estimators.centers import CenterKernel

Model = tuple[float, float]  # sigma in inner units, lam
SPREAD = 2.0 ** np.arange(2, -5, -1)  # of the median distance: the sigmas that "aggregate" combines
STRONG = 1.0  # their lam: E12 is then close to an MMD with a Gaussian kernel of width sigma
_MEDIAN_ROWS = 500
_LIMIT_ROWS = 1000  # rows that tell the eigenvalues of the limit
_TILE = 1 << 21  # kernel values at a time


class PairKernel(Protocol):
    """A kernel between rows: `FilterKernel`, `CenterKernel`, or the Gaussian of a kernel density estimate."""

    def kernel(self, sigma: float, lam: float, a: FloatArray, b: FloatArray) -> FloatArray:
        """(k, l), times exp(log_scale)."""

    def log_scale(self, sigma: float) -> float:
        """Logarithm of the factor that values carry."""


class Statistics(Protocol):
    """Statistics of all models for any relabellings; values times exp(-log_scales) are in inner units."""

    @property
    def models(self) -> list[Model]: ...

    @property
    def log_scales(self) -> FloatArray:
        """(M,)."""

    def of(self, labels: BoolArray) -> FloatArray:
        """(k, M) for labels (k, N)."""


def median_distance(rows: FloatArray, seed: int) -> float:
    """Median of the positive distances between some pooled rows; 1 if there are none."""
    distances = pdist(rows[selection.draw_rows(seed, len(rows), _MEDIAN_ROWS)])
    positive = distances[distances > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def _centered(labels: BoolArray, n: int) -> FloatArray:
    """w of each relabelling, (N, k)."""
    total = labels.shape[1]
    return np.asarray(np.ascontiguousarray((labels - n / total).T) * (1.0 / n + 1.0 / (total - n)))


@dataclass(frozen=True)
class KernelStatistics:
    """From the kernel between all rows, in tiles, never an N x N array: for up to a few thousand rows."""

    rows: FloatArray  # (N, d)
    models: list[Model]
    kernel: PairKernel

    @property
    def log_scales(self) -> FloatArray:
        return np.array([self.kernel.log_scale(sigma) for sigma, _ in self.models])

    def of(self, labels: BoolArray) -> FloatArray:
        w = _centered(labels, int(labels[0].sum()))  # (N, k)
        found = np.zeros((len(labels), len(self.models)))
        step = max(1, _TILE // len(self.rows))
        for start in range(0, len(self.rows), step):
            block, part = self.rows[start : start + step], w[start : start + step]
            for k, (sigma, lam) in enumerate(self.models):
                found[:, k] += np.einsum("nb,nb->b", part, self.kernel.kernel(sigma, lam, block, self.rows) @ w)
        return found

    def limit(self, seed: int) -> list[FloatArray]:
        """Roots R of each centered kernel between some rows: R R' (1/n + 1/m) / (rows - 1) has the limit's weights."""
        chosen = self.rows[selection.draw_rows(seed, len(self.rows), _LIMIT_ROWS)]
        return [_root(self.kernel.kernel(sigma, lam, chosen, chosen)) for sigma, lam in self.models]


def _root(kernel: FloatArray) -> FloatArray:
    """A root of the doubly centered kernel, (s, r)."""
    centered = kernel - kernel.mean(axis=0)
    centered -= centered.mean(axis=1)[:, None]
    values, vectors = np.linalg.eigh(centered)
    kept = values > 1e-10 * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


@dataclass(frozen=True)
class CenterStatistics:
    """From features at centers: T is the squared length of a mean, so the cost is N times the number of centers."""

    rows: FloatArray
    models: list[Model]
    kernel: CenterKernel

    @property
    def log_scales(self) -> FloatArray:
        return np.array([self.kernel.log_scale(sigma) for sigma, _ in self.models])

    def of(self, labels: BoolArray) -> FloatArray:
        w = _centered(labels, int(labels[0].sum()))
        found = np.empty((len(labels), len(self.models)))
        step = max(1, _TILE // len(self.kernel.centers))
        for k, (sigma, lam) in enumerate(self.models):
            total = np.zeros((len(self.kernel.centers), len(labels)))
            for start in range(0, len(self.rows), step):
                total += self.kernel.features(sigma, lam, self.rows[start : start + step]).T @ w[start : start + step]
            found[:, k] = np.square(total).sum(axis=0)
        return found

    def limit(self, seed: int) -> list[FloatArray]:
        """Roots R of each centered kernel between some rows: R R' (1/n + 1/m) / (rows - 1) has the limit's weights."""
        chosen = self.rows[selection.draw_rows(seed, len(self.rows), _LIMIT_ROWS)]
        roots = (self.kernel.features(sigma, lam, chosen) for sigma, lam in self.models)
        return [root - root.mean(axis=0) for root in roots]


class CellStatistics:
    """One column in cells of a grid: a relabelling costs its occupied cells, whatever the number of rows."""

    models: list[Model]
    log_scales: FloatArray

    def __init__(self, x: FloatArray, y: FloatArray, models: list[Model]) -> None:
        self.models, self.log_scales = models, np.zeros(len(models))
        sigmas = np.array([sigma for sigma, _ in models])
        axes, _ = grid.plan([x, y], sigmas, min(lam for _, lam in models), 2)
        self.cells = resample.occupied_cells([x, y], axes, _CELL * float(sigmas.min()))

    def observed_and_permuted(self, permutations: int, random: np.random.Generator) -> FloatArray:
        """(1 + permutations, M), the data first."""
        n = int(self.cells.counts[0].sum())
        permuted = resample.permuted_counts(self.cells.pooled, n, permutations, random)
        return resample.cell_statistics(self.cells, np.vstack([self.cells.counts[:1], permuted]), self.models)


_CELL = 0.125  # of the smallest sigma: E12 of rows in cells is then right to 3e-3 there and better at wider ones


def statistics_of(statistics: Statistics, chunks: Iterable[BoolArray]) -> FloatArray:
    """All chunks of relabellings, (k, M)."""
    return np.concatenate([statistics.of(labels) for labels in chunks])


def limit_draws(roots: list[FloatArray], factor: float, count: int, random: np.random.Generator) -> FloatArray:
    """Draws from the limit of the null jointly for all models, (count, M): normal multipliers on the rows."""
    rows = len(roots[0])
    multipliers = random.standard_normal((rows, count))
    return np.column_stack([factor / (rows - 1) * np.square(root.T @ multipliers).sum(axis=0) for root in roots])


def limit_weights(root: FloatArray, factor: float) -> FloatArray:
    """Weights of the chi-squares in the limit of one model's null."""
    return np.asarray(factor / (len(root) - 1) * np.square(np.linalg.svd(root, compute_uv=False)))
