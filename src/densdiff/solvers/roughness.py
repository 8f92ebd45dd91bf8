"""Where f is rougher than a model can follow: finer models beside it, from rows drawn of both samples.

A finer model has narrower kernels, in one column or in all of them. Bands, which ask for it, are in `uncertainty`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from densdiff.core import radial
from densdiff.core.kernel import needs_direct_differences, radius, squared_distances
from densdiff.core.scaling import FloatArray
from densdiff.solvers.base import FilterKernel, Model
from densdiff.solvers.drawn_rows import spacing_of
from densdiff.solvers.prepared import LEVEL_ROWS, Prepared, Subsample, subsample

# how often sigma is halved: of a single column, of several together, and of each of several columns alone, where the
# sigma of all together may be far too wide
_HALVINGS, _JOINT_HALVINGS, _COLUMN_HALVINGS = 3, 2, 5
_CHANCE = 0.13  # of the points that the first halving widens where f is smooth: 1.5 standard errors in one column
_FALSE, _PLACES = 0.4, 10  # places that each further halving widens where f is smooth, of ten at the model itself
_SURE = 0.01  # chance of a note where f is smooth


class Curve(NamedTuple):
    """An estimate of f at points and its standard error, (k,) each, times the scale of the model's sigma."""

    center: FloatArray
    error: FloatArray


@dataclass(frozen=True)
class Evidence:
    """Rows drawn of both samples, and the model that finer ones are compared with."""

    x: Subsample
    y: Subsample
    filters: FilterKernel
    model: Model

    @classmethod
    def of(cls, data: Prepared, filters: FilterKernel, model: Model) -> "Evidence":
        """At most `LEVEL_ROWS` rows of each sample, drawn by number; errors are those of these rows."""
        x, y = (subsample(sample, data.seed, LEVEL_ROWS) for sample in (data.x, data.y))
        x, y = (replace(drawn, stand_in=replace(drawn.stand_in, share=1.0)) for drawn in (x, y))
        return cls(x, y, filters, model)

    @property
    def spacings(self) -> FloatArray:
        """The step of each column of numbers that is rounded, 0 for others, (d,)."""
        pooled = np.concatenate([self.x.points, self.y.points])
        return np.array([spacing_of(values) for values in pooled.T[: self.filters.d]])

    def column(self, j: int) -> "Evidence":
        """One column of numbers alone: integrated over the others, f is smoothed by the same sigma and lam."""
        x, y = (replace(drawn, points=np.ascontiguousarray(drawn.points[:, [j]])) for drawn in (self.x, self.y))
        return Evidence(x, y, FilterKernel(1), self.model._replace(smoothing=0))

    def curve_at(self, points: FloatArray, narrower: FloatArray) -> Curve:
        """f at points by kernels so many times narrower in each column of numbers, (d,)."""
        sigma = np.array([self.model.sigma])
        (kernels,) = self._kernels(points, sigma, narrower)
        volume = float(np.prod(narrower))
        return self._curve([volume * kernel for kernel in kernels], volume * self._one_row(points, self.model.sigma))

    def narrowing_at(self, points: FloatArray, halvings: int, chance: float, tests: float) -> tuple[FloatArray, bool]:
        """How many times narrower kernels must be to show what the model hides, 1 where it hides nothing, (k,).

        It is the finest halving of sigma at which f changes by more than ``chance`` explains; from the second one on,
        by more than all places together explain: what widens a band most must not come from noise. The second answer
        is whether even the last halving changes f, beyond what all places, ``tests`` of them at the model itself,
        explain.
        """
        narrower, is_too_rough = np.ones(len(points)), False
        sigmas = self.model.sigma / 2.0 ** np.arange(halvings + 1)
        sigmas = sigmas[(sigmas >= self.spacings.max()) | (sigmas == self.model.sigma)]
        kernels = self._kernels(points, sigmas, np.ones(self.filters.d))
        first = before = next(kernels)
        for k, finer in enumerate(kernels, 1):
            one_row, places = self._one_row(points, float(sigmas[k])), 2.0 ** (self.filters.d * k)
            change = self._curve([a - b for a, b in zip(finer, first, strict=True)], one_row)
            least = -ndtri(0.5 * (chance if k == 1 else _FALSE / (_PLACES * places)))
            narrower[np.abs(change.center) > least * change.error] = 2.0**k
            if k == halvings:
                step = self._curve([a - b for a, b in zip(finer, before, strict=True)], one_row)
                least = -ndtri(0.5 * _SURE / (tests * places))
                is_too_rough = bool((np.abs(step.center) > least * step.error).any())
            before = finer
        return narrower, is_too_rough

    def _kernels(self, points: FloatArray, sigmas: FloatArray, narrower: FloatArray) -> Iterator[list[FloatArray]]:
        """2F - F^2 between points and the rows of X, and of Y, for each sigma, (k, n) and (k, m), times the scale of
        the model's sigma.

        Columns of numbers are drawn out first, as many times as kernels are to be ``narrower``, (d,).
        """
        stretch = np.concatenate([narrower, np.ones(points.shape[1] - self.filters.d)])
        with np.errstate(over="ignore"):  # points far away
            a, b, c = (rows * stretch for rows in (points, self.x.points, self.y.points))
        read = self._plain_kernels if len(self.filters.levels) else self._tabulated_kernels
        for sigma, kernels in zip(sigmas, read(a, (b, c), sigmas), strict=True):
            yield [self._height(float(sigma)) * kernel for kernel in kernels]

    def _plain_kernels(
        self, points: FloatArray, samples: tuple[FloatArray, FloatArray], sigmas: FloatArray
    ) -> Iterator[list[FloatArray]]:
        """Kernels of every sigma as the solver has them, times its scale."""
        for sigma in sigmas:
            model = self.model._replace(sigma=float(sigma))
            yield [self.filters.kernel(model, points, rows) for rows in samples]

    def _tabulated_kernels(
        self, points: FloatArray, samples: tuple[FloatArray, FloatArray], sigmas: FloatArray
    ) -> Iterator[list[FloatArray]]:
        """The same without categories, from distances taken once and the nearest node of the kernel's table: right
        to 3e-3 of its peak, at a fifth of the time.
        """
        table = radial.radial_table(self.filters.d, np.array([self.model.lam]))
        values = 2.0 * table.plain[0] - table.squared[0]
        farthest = max(radius(points), *map(radius, samples))
        direct = needs_direct_differences(farthest, float(sigmas.min()), self.filters.d)
        distances = [np.sqrt(squared_distances(points, rows, direct)) for rows in samples]
        for sigma in sigmas:
            step = float(sigma) * table.step
            yield [values[np.minimum(r / step + 0.5, len(values) - 1).astype(np.int32)] for r in distances]

    def _one_row(self, points: FloatArray, sigma: float) -> FloatArray:
        """What a row of each sample at the point itself would contribute to f, (k,)."""
        peaks = self._height(sigma) * self.filters.peaks(self.model._replace(sigma=sigma), points)
        return np.asarray(one_row_weight(self.x, self.y, points.shape[1]) * peaks)

    def _height(self, sigma: float) -> float:
        """How many times higher kernels of a sigma are than those of the model."""
        return float((self.model.sigma / sigma) ** self.filters.d)

    def _curve(self, kernels: list[FloatArray], one_row: FloatArray) -> Curve:
        """The mean of one kernel over X less that of another over Y, and its error, that of independent rows (E10)."""
        means, variances = [], []
        for kernel, drawn in zip(kernels, (self.x, self.y), strict=True):
            rows = drawn.stand_in
            squares, mean = np.square(rows.omega), kernel @ rows.omega
            spread = np.square(kernel) @ squares - 2.0 * mean * (kernel @ squares) + np.square(mean) * rows.squares
            means.append(mean)
            variances.append(np.maximum(spread, 0.0) / rows.deficit)
        return Curve(means[0] - means[1], np.sqrt(variances[0] + variances[1] + np.square(one_row)))


def one_row_weight(x: Subsample, y: Subsample, columns: int) -> float:
    """The weight of a row of each sample; in more columns rows are less often as near as the point itself."""
    of_x, of_y = (drawn.stand_in.share * drawn.stand_in.squares for drawn in (x, y))
    return float(2.0 ** (0.25 * (1 - columns)) * np.hypot(of_x, of_y))


def narrowings(evidence: Evidence, points: FloatArray, tests: float) -> tuple[FloatArray, bool]:
    """How many times narrower kernels must be in each column of numbers, (k, d), and whether that is not enough.

    Several columns are looked at together and each alone: a spike in one of them may be lost among the others.
    """
    d = evidence.filters.d
    if d == 1:
        narrower, is_too_rough = evidence.narrowing_at(points, _HALVINGS, _CHANCE, tests)
        return narrower[:, None], is_too_rough
    chance = _CHANCE / (1 + d)
    together, is_too_rough = evidence.narrowing_at(points, _JOINT_HALVINGS, chance, tests)
    columns = [evidence.column(j).narrowing_at(points[:, [j]], _COLUMN_HALVINGS, chance, tests) for j in range(d)]
    halved = np.log2(np.column_stack([np.maximum(together, alone) for alone, _ in columns]))  # (k, d)
    # kernels at most 32 times higher: beyond, all they show is single rows
    total = np.maximum(halved.sum(axis=1, keepdims=True), _COLUMN_HALVINGS)
    narrower = 2.0 ** np.ceil(halved * (_COLUMN_HALVINGS / total) - 1e-9)
    return narrower, is_too_rough or any(rough for _, rough in columns)


def narrow_curve(evidence: Evidence, points: FloatArray, narrower: FloatArray) -> Curve:
    """f by the kernels that each point needs, (k, d) times narrower."""
    center, error = np.zeros((2, len(points)))
    vectors, group = np.unique(narrower, axis=0, return_inverse=True)
    for g, vector in enumerate(vectors):
        chosen = np.flatnonzero(group.ravel() == g)  # NumPy 2.0.0 gives it two axes
        center[chosen], error[chosen] = evidence.curve_at(points[chosen], vector)
    return Curve(center, error)
