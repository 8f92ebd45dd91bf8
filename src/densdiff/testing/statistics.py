"""Two-sample statistics of many relabellings of the same pooled rows at once, for several models (sigma, lam).

Each is quadratic in the labels: with w = (1/n + 1/m)(label - n/N), T = w'Kw. Nothing here sees which rows are X but
through the relabellings it is given, so a permutation test of any of these is exact.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.spatial.distance import pdist

from densdiff.core import resample, selection
from densdiff.core.grid import Axis
from densdiff.core.kernel import Categories
from densdiff.core.resample import BoolArray
from densdiff.core.scaling import FloatArray
from densdiff.engines.grids import occupied_cells, plan
from densdiff.engines.kernel_sums import means_at
from densdiff.solvers.base import DIFFERENCE, FilterKernel
from densdiff.solvers.centers import CenterKernel
from densdiff.solvers.prepared import Prepared
from densdiff.solvers.spectral import SpectralSolver

Model = tuple[float, float]  # sigma in inner units, lam
SPREAD = 2.0 ** np.arange(2, -5, -1)  # of the median distance
_NEAR = 0.01  # the quantile of distances below which a kernel sees too few pairs
STRONG = 1.0  # their lam: E12 is then close to an MMD with a Gaussian kernel of width sigma
MEDIAN_ROWS = 500
LIMIT_ROWS = 1000  # rows that tell the eigenvalues of the limit
_TILE = 1 << 21  # kernel values at a time
_ROUNDING = 1e-12  # of the kernel's peak times 1/n + 1/m: a statistic below is 0


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


def spread_sigmas(rows: FloatArray, seed: int, categories: Categories | None = None) -> FloatArray:
    """The sigmas that "aggregate" combines, widest first: none so narrow that hardly any row has another one near."""
    return sigmas_of(rows[selection.draw_rows(seed, len(rows), MEDIAN_ROWS)], categories)


def sigmas_of(some: FloatArray, categories: Categories | None = None) -> FloatArray:
    """The same from a few hundred rows."""
    distances = pdist(some if categories is None else categories.embedded(some))
    positive = distances[distances > 0]
    if len(positive) == 0:
        return np.ones(1)
    near, median = np.quantile(positive, [_NEAR, 0.5])
    sigmas = SPREAD * float(median)
    return np.asarray(sigmas[sigmas >= min(0.6 * float(near), float(median))])


def _centered(labels: BoolArray) -> tuple[FloatArray, float]:
    """w of each relabelling, (N, k), and 1/n + 1/m."""
    total, n = labels.shape[1], int(labels[0].sum())
    factor = 1.0 / n + 1.0 / (total - n)
    return np.asarray(np.ascontiguousarray((labels - n / total).T) * factor), factor


@dataclass(frozen=True)
class Limit:
    """The limit of one model's null, from the centered kernel between some rows.

    Relabelling leaves the terms i = j almost as they are, so they count with their mean, and only pairs of different
    rows vary. With few rows near each other the terms i = j are most of the kernel's trace, and chi-squares that let
    them vary spread too far.
    """

    root: FloatArray  # (s, r): root root' is the centered kernel
    factor: float  # 1/n + 1/m

    @property
    def _unit(self) -> float:
        return self.factor / (len(self.root) - 1)

    @property
    def _diagonal(self) -> FloatArray:
        return np.asarray(np.square(self.root).sum(axis=1))

    @property
    def mean(self) -> float:
        return self._unit * float(self._diagonal.sum())

    def draws(self, multipliers: FloatArray) -> FloatArray:
        """(k,) from normal factors of the rows, (s, k)."""
        varying = np.square(self.root.T @ multipliers).sum(axis=0) - self._diagonal @ np.square(multipliers)
        return np.asarray(self.mean + self._unit * varying)

    def tail(self, value: float) -> float:
        """Probability of a statistic at least as large; certain for 0, though the limit may fall a little below."""
        if value <= 0:
            return 1.0
        pairs = self.root @ self.root.T
        np.fill_diagonal(pairs, 0.0)
        return resample.mixture_tail(
            value - self.mean, np.asarray(self._unit * np.linalg.eigvalsh(pairs), dtype=np.float64)
        )


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
        w, factor = _centered(labels)
        found = np.zeros((len(labels), len(self.models)))
        step = max(1, _TILE // len(self.rows))
        for start in range(0, len(self.rows), step):  # a kernel is symmetric: the part before the diagonal is not made
            block, part, after = self.rows[start : start + step], w[start : start + step], w[start + step :]
            for k, (sigma, lam) in enumerate(self.models):
                kernel = self.kernel.kernel(sigma, lam, block, self.rows[start:])
                products = kernel[:, : len(part)] @ part + 2.0 * (kernel[:, len(part) :] @ after)
                found[:, k] += np.einsum("nb,nb->b", part, products)
        for k, (sigma, lam) in enumerate(self.models):
            peak = float(self.kernel.kernel(sigma, lam, self.rows[:1], self.rows[:1])[0, 0])
            found[np.abs(found[:, k]) <= _ROUNDING * factor * peak, k] = 0.0
        return found

    def limits(self, seed: int, factor: float) -> list[Limit]:
        """Of each model."""
        chosen = self.rows[selection.draw_rows(seed, len(self.rows), LIMIT_ROWS)]
        return kernel_limits(chosen, self.models, self.kernel, factor)


def kernel_limits(chosen: FloatArray, models: list[Model], kernel: PairKernel, factor: float) -> list[Limit]:
    """Of each model, from some of the pooled rows."""
    return [Limit(_root(kernel.kernel(sigma, lam, chosen, chosen)), factor) for sigma, lam in models]


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
        w, factor = _centered(labels)
        found = np.empty((len(labels), len(self.models)))
        step = max(1, _TILE // len(self.kernel.centers))
        for k, (sigma, lam) in enumerate(self.models):
            total = np.zeros((len(self.kernel.centers), len(labels)))
            for start in range(0, len(self.rows), step):
                total += self.kernel.features(sigma, lam, self.rows[start : start + step]).T @ w[start : start + step]
            found[:, k] = rounded(np.square(total).sum(axis=0), self.kernel, (sigma, lam), factor)
        return found

    def limits(self, seed: int, factor: float) -> list[Limit]:
        """Of each model."""
        return center_limits(
            self.rows[selection.draw_rows(seed, len(self.rows), LIMIT_ROWS)], self.models, self.kernel, factor
        )


def center_limits(chosen: FloatArray, models: list[Model], kernel: CenterKernel, factor: float) -> list[Limit]:
    """Of each model, from some of the pooled rows."""
    roots = (kernel.features(sigma, lam, chosen) for sigma, lam in models)
    return [Limit(root - root.mean(axis=0), factor) for root in roots]


def rounded(statistics: FloatArray, kernel: CenterKernel, model: Model, factor: float) -> FloatArray:
    """Statistics of centers, 0 where they are no more than rounding."""
    peak = float(kernel.kernel(*model, kernel.centers[:1], kernel.centers[:1])[0, 0])
    return np.where(statistics <= _ROUNDING * factor * peak, 0.0, statistics)


class SummedStatistics:
    """E6 of rows that are not in memory, from mean features at centers, and the limit of its null."""

    def __init__(self, data: Prepared, models: list[Model], kernel: CenterKernel) -> None:
        self.data, self.models, self.kernel = data, models, kernel
        sigmas = np.array([sigma for sigma, _ in models])
        self.log_scales = np.array([kernel.log_scale(sigma) for sigma in sigmas])
        samples = data.x.rows, data.y.rows
        self._means = means_at(samples, kernel.centers, sigmas, direct=kernel.direct, categories=kernel.categories)

    def of(self, labels: BoolArray) -> FloatArray:
        """The data's own statistics, (1, M); there are no others."""
        factor = 1.0 / len(self.data.x.rows) + 1.0 / len(self.data.y.rows)
        found = [
            rounded(np.square(difference @ self.kernel.root(*model)).sum(), self.kernel, model, factor)
            for difference, model in zip(self._means[0] - self._means[1], self.models, strict=True)
        ]
        return np.array([found])

    def limits(self, seed: int, factor: float) -> list[Limit]:
        """Of each model."""
        return center_limits(self.data.some_pooled(LIMIT_ROWS), self.models, self.kernel, factor)


class CellStatistics:
    """Rows in cells of a grid: a relabelling costs the occupied cells, whatever the number of rows.

    Moving rows to the middle of their cells changes statistics near the null by some percent; the data's own is
    therefore reported from the rows as they are, by `exact`. A grid is ``narrow`` that leaves out rows far away.
    """

    def __init__(self, data: Prepared, models: list[Model]) -> None:
        self.data, self.models, self.log_scales = data, models, np.zeros(len(models))
        sigmas = np.array([sigma for sigma, _ in models])
        samples = [data.x.rows, data.y.rows]
        self.axes, _ = plan(samples, sigmas, min(lam for _, lam in models), 2)
        self.cells = occupied_cells(samples, self.axes, cell_spacing(self.axes, float(sigmas.min())))
        self.narrow = bool(self.cells.counts.sum() < (1.0 - _BEYOND) * sum(map(len, samples)))

    def permuted(self, permutations: int, random: np.random.Generator) -> FloatArray:
        """(1 + permutations, M), the data first."""
        return resample.permuted_statistics(self.cells.counts, self._of_counts, permutations, random)

    def _of_counts(self, counts: resample.CountArray) -> FloatArray:
        return resample.cell_statistics(self.cells, counts, self.models)

    def of(self, labels: BoolArray) -> FloatArray:
        """The data's own statistics, (1, M); other labels come from `permuted`."""
        return self._of_counts(self.cells.counts[:1])

    def exact(self, best: int) -> float:
        """E12 of one model from the rows as they are."""
        sigma, lam = self.models[best]
        solver = SpectralSolver(self.data.x, self.data.y, self.data.folds, np.array([sigma]), np.array([lam]))
        form = solver.forms(DIFFERENCE, [(0, 0)])[0]
        return form.plain + form.lam_term

    def limits(self, seed: int, factor: float) -> list[Limit]:
        """Of each model."""
        kernel = FilterKernel(self.data.x.rows.shape[1])
        chosen = kernel_limits(self.data.some_pooled(LIMIT_ROWS), self.models, kernel, factor)
        return [
            Limit(limit.root * np.exp(-0.5 * kernel.log_scale(sigma)), factor)
            for limit, (sigma, _) in zip(chosen, self.models, strict=True)
        ]


_CELL = 0.1  # of the smallest sigma: rows in cells are then close enough for the null; see CellStatistics
_BEYOND = 1e-3  # of the rows: far tails off the grid, which tests in cells leave out
_MOST_CELLS = 1 << 16  # of two columns: each relabelling draws a count for every occupied one


def cell_spacing(axes: list[Axis], smallest: float) -> float:
    """How wide cells are; of two columns they are as many as a relabelling can afford."""
    area = float(np.prod([axis.length for axis in axes]))
    return max(_CELL * smallest, float(np.sqrt(area / _MOST_CELLS))) if len(axes) > 1 else _CELL * smallest
