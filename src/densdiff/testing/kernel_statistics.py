"""Statistics that are quadratic in the labels: with w = (1/n + 1/m)(label - n/N), T = w'Kw for a kernel K.

From the kernel between all rows, or from features at centers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from densdiff.core import selection
from densdiff.core.resample import BoolArray
from densdiff.core.scaling import FloatArray
from densdiff.engines.kernel_sums import CenterFeatures, sample_sums
from densdiff.solvers import base
from densdiff.solvers.centers import CenterKernel
from densdiff.solvers.prepared import Prepared
from densdiff.testing.limits import LIMIT_ROWS, Limit, centered_root
from densdiff.testing.statistics import BaseStatistics, Model, ReportedModel, sigma_and_lam
from densdiff.testing.units import Units

_TILE = 1 << 21  # kernel values at a time
_ROUNDING = 1e-12  # of the kernel's peak times 1/n + 1/m: a statistic below is 0


class PairKernel(Protocol):
    """A kernel between rows: `FilterKernel`, or the Gaussian of a kernel density estimate."""

    def kernel(self, model: base.Model, a: FloatArray, b: FloatArray) -> FloatArray:
        """The kernel between rows a and b, (k, l), times exp(log_scale)."""

    def kernels(self, models: Sequence[base.Model], a: FloatArray, b: FloatArray) -> Iterator[FloatArray]:
        """The kernels of several models between rows a and b, (k, l) each, times exp(log_scale)."""

    def log_scale(self, sigma: float) -> float:
        """Logarithm of the factor that values carry."""


def width_of_each_density(model: Model, sigma_unit: float) -> ReportedModel:
    """A model of two kernel density estimates as it is reported: the width of either, and no lam."""
    sigma, _ = model
    return (sigma * sigma_unit, sigma * sigma_unit), None


class _KernelScales:
    """Values of a model carry the scale that the kernel has at its sigma."""

    models: list[Model]
    kernel: PairKernel | CenterKernel

    @property
    def log_scales(self) -> FloatArray:
        return np.array([self.kernel.log_scale(sigma) for sigma, _ in self.models])


@dataclass(frozen=True)
class KernelStatistics(_KernelScales, BaseStatistics):
    """From the kernel between all rows, in tiles, never an N x N array: for up to a few thousand rows."""

    rows: FloatArray  # (N, d)
    models: list[Model]
    kernel: PairKernel
    report: Callable[[Model, float], ReportedModel] = sigma_and_lam
    has_suited: bool = False

    def table(self, labels: BoolArray) -> FloatArray:
        """Statistics of all models, (k, M), for labels (k, N)."""
        w, factor = _centered(labels)
        values, models = np.zeros((len(labels), len(self.models))), [base.Model(*model) for model in self.models]
        step = max(1, _TILE // len(self.rows))
        for start in range(0, len(self.rows), step):  # a kernel is symmetric: the part before the diagonal is not made
            block, part, after = self.rows[start : start + step], w[start : start + step], w[start + step :]
            for k, kernel in enumerate(self.kernel.kernels(models, block, self.rows[start:])):
                products = kernel[:, : len(part)] @ part + 2.0 * (kernel[:, len(part) :] @ after)
                values[:, k] += np.einsum("nb,nb->b", part, products)
        for k, model in enumerate(models):
            peak = float(self.kernel.kernel(model, self.rows[:1], self.rows[:1])[0, 0])
            values[np.abs(values[:, k]) <= _ROUNDING * factor * peak, k] = 0.0
        return values

    def limits(self, seed: int, factor: float) -> list[Limit]:
        """The limit of each model, from the kernel between some of the rows."""
        some_rows = self.rows[selection.draw_rows(seed, len(self.rows), LIMIT_ROWS)]
        return kernel_limits(some_rows, self.models, self.kernel, factor)

    def reported_model(self, index: int, sigma_unit: float) -> ReportedModel:
        """As the kernel's estimator reports it."""
        return self.report(self.models[index], sigma_unit)


def _centered(labels: BoolArray) -> tuple[FloatArray, float]:
    """w of each relabelling, (N, k), and 1/n + 1/m."""
    total, n = labels.shape[1], int(labels[0].sum())
    factor = 1.0 / n + 1.0 / (total - n)
    return np.asarray(np.ascontiguousarray((labels - n / total).T) * factor), factor


def kernel_limits(some_rows: FloatArray, models: list[Model], kernel: PairKernel, factor: float) -> list[Limit]:
    """The limit of each model, from the kernel between some of the pooled rows."""
    return [Limit(centered_root(kernel.kernel(base.Model(*model), some_rows, some_rows)), factor) for model in models]


class CenterStatistics(_KernelScales, BaseStatistics):
    """From features at centers, summed over the rows of each unit: T is the squared length of a difference of means.

    A pass over the rows, wherever they are; a relabelling then costs the units times the centers.
    """

    kernel: CenterKernel

    def __init__(self, data: Prepared, models: list[Model], kernel: CenterKernel, units: Units) -> None:
        self.data, self.models, self.kernel, self.units = data, models, kernel, units
        self._sigmas = sorted({sigma for sigma, _ in models}, reverse=True)
        features = CenterFeatures(kernel.centers, np.array(self._sigmas), kernel.direct, kernel.categories)
        samples = (data.x.rows, units.x), (data.y.rows, units.y)
        sums = sample_sums([(rows, np.ones(len(rows)), numbers) for rows, numbers in samples], features)
        used = [total[:, : numbers.n_units] for total, (_, numbers) in zip(sums, samples, strict=True)]
        self._sums = np.concatenate(used, axis=1)  # (S, units, b)

    def table(self, labels: BoolArray) -> FloatArray:
        """Statistics of all models, (k, M), for labels (k, units)."""
        w, values = self.units.weights(labels), np.empty((len(labels), len(self.models)))
        factor = float(sum(1.0 / n for n in self.units.sizes))
        for level, sigma in enumerate(self._sigmas):
            differences = w @ self._sums[level]  # (k, b)
            for k, model in enumerate(self.models):
                if model[0] == sigma:
                    lengths = np.square(differences @ self.kernel.root(*model)).sum(axis=1)
                    values[:, k] = _rounded(lengths, self.kernel, model, factor)
        return values

    def limits(self, seed: int, factor: float) -> list[Limit]:
        """The limit of each model, from the features of some of the rows."""
        some_rows = self.data.some_pooled(LIMIT_ROWS)
        roots = (self.kernel.features(sigma, lam, some_rows) for sigma, lam in self.models)
        return [Limit(root - root.mean(axis=0), factor) for root in roots]


def _rounded(statistics: FloatArray, kernel: CenterKernel, model: Model, factor: float) -> FloatArray:
    """Statistics of centers, 0 where they are no more than rounding."""
    peak = float(kernel.kernel(base.Model(*model), kernel.centers[:1], kernel.centers[:1])[0, 0])
    return np.where(statistics <= _ROUNDING * factor * peak, 0.0, statistics)
