"""The centers solver: the paper's practical estimator (E1 to E8) for a table of sigmas and lams.

Values leave out the factor 1/s of their sigma; ``log_scales`` holds log s.
"""

from collections.abc import Iterator

import numpy as np

from densdiff.core import kernel, radial, ridge, selection
from densdiff.core.scaling import FloatArray, log_kernel_volume
from densdiff.core.weights import group_masses, sum_of_squares
from densdiff.engines.kernel_sums import CenterFeatures, evaluate, psi, sample_sums
from densdiff.solvers.base import Model, Side
from densdiff.solvers.prepared import WeightedSample
from densdiff.threads import cores, map_in_order

LAM_GRID = np.array([3.0, 1.0, 0.3, 0.1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4])  # of G's mean row sum
_KEPT_SPECTRA = 16
_TRACE_ROWS = 4096  # the correction of E7 is O(1/n): this many rows of a sample tell it well enough


class CenterKernel:
    """What depends on centers alone: features, G, and the kernel psi'M psi of E6."""

    def __init__(
        self, centers: FloatArray, radius: float, smallest: float, categories: kernel.Categories | None = None
    ) -> None:
        self.centers, self.categories = centers, categories
        self._numbers, self._codes = (centers, centers[:, :0]) if categories is None else categories.split(centers)
        self.direct = kernel.needs_direct_differences(radius, smallest, self._numbers.shape[1])
        self._gram_eigens: dict[float, tuple[FloatArray, FloatArray]] = {}

    def with_categories(self, categories: kernel.Categories) -> "CenterKernel":
        """These centers with another kernel between levels."""
        other = CenterKernel(self.centers, 0.0, 1.0, categories)
        other.direct = self.direct
        return other

    def ladder(self, sigmas: FloatArray, rows: FloatArray) -> Iterator[FloatArray]:
        """psi of all rows for each sigma, (N, b); a yield may overwrite the one before."""
        if self.categories is None:
            return kernel.features(kernel.squared_distances(rows, self.centers, self.direct), sigmas)
        if self.categories.apart is None:
            return (self.plain_features(float(sigma), rows) for sigma in sigmas)
        numbers, codes = self.categories.split(rows)
        squared = kernel.squared_distances(numbers, self._numbers, self.direct)
        self.categories.add_apart(squared, codes, self._codes)
        return kernel.features(squared, sigmas)

    def grams(self, sigmas: FloatArray) -> Iterator[FloatArray]:
        """G (E2) for each sigma, (b, b)."""
        plain = kernel.gram(self._numbers, sigmas, self.direct)
        if self.categories is None:
            return plain
        factors = self.categories.gram_factors(sigmas, self._codes)
        return (gram * factor for gram, factor in zip(plain, factors, strict=True))

    def mean_row_sum(self, sigma: float) -> float:
        """Mean row sum of G, the unit in which lam means the same filter for any number of centers."""
        return float(next(self.grams(np.array([sigma]))).sum() / len(self.centers))

    def kernel(self, model: Model, a: FloatArray, b: FloatArray) -> FloatArray:
        """psi'M psi, M = A + lam A^2, between two sets of rows, times s, (k, l)."""
        left = self.features(model.sigma, model.lam, a)
        return np.asarray(left @ (left if a is b else self.features(model.sigma, model.lam, b)).T)

    def features(self, sigma: float, lam: float, rows: FloatArray) -> FloatArray:
        """psi R with RR' = M: their inner products are the kernel, (k, b)."""
        return np.asarray(self.plain_features(sigma, rows) @ self.root(sigma, lam))

    def rotated_features(self, sigma: float, lam: float, rows: FloatArray, axes: FloatArray) -> FloatArray:
        """The features along some axes (b, p), at the cost of p instead of b, (k, p); exp in single precision."""
        squared = kernel.squared_distances(rows, self.centers, self._direct(sigma, rows))
        exponents = (squared * (-0.5 / sigma**2)).astype(np.float32)
        with np.errstate(under="ignore"):
            features = np.exp(exponents, out=exponents)
        return np.asarray(features @ (self.root(sigma, lam) @ axes).astype(np.float32))

    def peaks(self, model: Model, points: FloatArray) -> FloatArray:
        """The peak of the filter that centers stand for, times s, (k,): far from all centers psi'M psi is blind."""
        d, sigma, weak = self._numbers.shape[1], model.sigma, model.lam / self.mean_row_sum(model.sigma)
        if d == 0:
            return np.full(len(points), (1.0 + 2.0 * weak) / (1.0 + weak) ** 2)
        table = radial.radial_table(d, np.array([weak]))
        peak = 2.0 * table.plain[0, 0] - table.squared[0, 0]
        # exp(sigma^2 |w|^2) in the filter of centers is that of E11 at sigma sqrt(2)
        scale = log_kernel_volume(sigma, d) - radial.log_scale(np.sqrt(2.0) * sigma, d)
        return np.full(len(points), peak * np.exp(scale))

    def root(self, sigma: float, lam: float) -> FloatArray:
        """A matrix R with RR' = M, (b, b)."""
        values, vectors = self.gram_eigen(sigma)
        a = 1.0 / (values + lam)
        return np.asarray(vectors * np.sqrt(a + lam * a**2))

    def gram_eigen(self, sigma: float) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues (b,) and eigenvectors (b, b) of G; those of the last few sigmas are kept, for other lams."""
        spectrum = self._gram_eigens.get(sigma)
        if spectrum is None:
            spectrum = ridge.eigen(next(self.grams(np.array([sigma]))))
            if len(self._gram_eigens) >= _KEPT_SPECTRA:
                self._gram_eigens.pop(next(iter(self._gram_eigens)), None)
            self._gram_eigens[sigma] = spectrum
        return spectrum

    def plain_features(self, sigma: float, rows: FloatArray) -> FloatArray:
        """The features psi of rows, (k, b)."""
        return psi(rows, self.centers, sigma, direct=self._direct(sigma, rows), categories=self.categories)

    def _direct(self, sigma: float, rows: FloatArray) -> bool:
        d = self._numbers.shape[1]
        return self.direct or kernel.needs_direct_differences(kernel.radius(rows[:, :d]), sigma, d)

    def log_scale(self, sigma: float) -> float:
        """Logarithm of the scale s of a sigma."""
        log_levels = 0.0 if self.categories is None else self.categories.log_scale(sigma)
        return log_kernel_volume(sigma, self._numbers.shape[1]) + log_levels


class CentersSolver(CenterKernel):
    """Fold sums of the features of every sigma, made once; scores and estimates of any curve from them."""

    band_steps = 1

    def __init__(
        self,
        x: WeightedSample,
        y: WeightedSample,
        centers: FloatArray,
        folds: selection.Folds,
        sigmas: FloatArray,
        lams: FloatArray | None,
        categories: kernel.Categories | None = None,
    ) -> None:
        d = centers.shape[1] - (0 if categories is None else len(categories.levels))
        radius = max(x.rows.reach(d), y.rows.reach(d), kernel.radius(centers[:, :d]))
        super().__init__(centers, radius, float(sigmas[-1]), categories)
        self.x, self.y, self.folds = x, y, folds
        self.sigmas = sigmas
        self.smoothings: selection.IntArray = np.zeros(len(sigmas), dtype=np.intp)  # `categories` has its own
        self.notes: tuple[str, ...] = ()
        self.distance_steps = 0
        self._spectra: dict[int, ridge.Spectrum] = {}
        self.log_scales = np.array([self.log_scale(sigma) for sigma in sigmas])
        samples = [(x.rows, x.omega, folds.groups_x), (y.rows, y.omega, folds.groups_y)]
        # two of (S, groups, b)
        self._sums = sample_sums(samples, CenterFeatures(centers, sigmas, self.direct, categories))
        self._mass = [group_masses(groups, omega) for _, omega, groups in samples]
        if lams is None:
            row_sums = [G.sum() / len(G) for G in self.grams(sigmas)]
            self.lams = np.outer(row_sums, LAM_GRID)  # (S, L)
        else:
            self.lams = np.tile(lams, (len(sigmas), 1))

    def _h(self, side: Side, level: int) -> FloatArray:
        """h (E1) of a curve at one sigma, (b,)."""
        return np.asarray(side.x * self._sums[0][level].sum(axis=0) + side.y * self._sums[1][level].sum(axis=0))

    def scores(self, side: Side) -> FloatArray:
        """Hold-out scores times s, (S, L, folds * repeats); sigmas on all cores."""

        def of_level(level: int) -> FloatArray:
            splits = [
                selection.split_means(sums[level], mass, self.folds.members)
                for sums, mass in zip(self._sums, self._mass, strict=True)
            ]
            train, holdout = (side.x * mean_x + side.y * mean_y for mean_x, mean_y in zip(*splits, strict=True))
            gram = next(self.grams(self.sigmas[level : level + 1]))
            return ridge.holdout_scores(ridge.Ridge.of(gram), self.lams[level], train, holdout)

        return np.array(list(map_in_order(of_level, range(len(self.sigmas)), cores())))

    def forms(self, side: Side, models: list[tuple[int, int]]) -> list[ridge.Forms]:
        """E4 to E7 of the models (level of sigma, index of lam), times s."""
        return [self.spectrum(level).forms(side.x, side.y, self.lams[level, i]) for level, i in models]

    def spectrum(self, level: int) -> ridge.Spectrum:
        """The eigenbasis of one sigma's G with the means and spreads of both samples; cached."""
        if level not in self._spectra:
            sigma = self.sigmas[level : level + 1]
            values, vectors = ridge.eigen(next(self.grams(sigma)))
            means = [sums[level].sum(axis=0) @ vectors for sums in self._sums]
            samples = [self._features(sample, sigma) for sample in (self.x, self.y)]
            spreads = [
                ridge.spread_of_mean(features @ vectors, squares, mean)
                for (features, squares), mean in zip(samples, means, strict=True)
            ]
            shrinks = [1.0 - float(squares.sum()) for _, squares in samples]
            self._spectra[level] = ridge.Spectrum(values, *means, *spreads, *shrinks)
        return self._spectra[level]

    def _features(self, sample: WeightedSample, sigma: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Features (k, b) of evenly spaced rows and squared weights (k,) scaled to the whole sample's sum."""
        step = -(-len(sample.rows) // _TRACE_ROWS)
        squares = np.square(sample.omega[::step])
        features = psi(
            sample.rows[::step], self.centers, float(sigma[0]), direct=self.direct, categories=self.categories
        )
        return features, squares * (sum_of_squares(sample.omega) / squares.sum())

    def coefficients(self, side: Side, model: tuple[int, int]) -> FloatArray:
        """theta times s, (b,) (E3)."""
        level, i = model
        gram = next(self.grams(self.sigmas[level : level + 1]))
        return ridge.coefficients(gram, self.lams[level, i], self._h(side, level))

    def evaluate(self, side: Side, model: tuple[int, int], points: FloatArray) -> FloatArray:
        """The curve at points in inner units, times s, (k,)."""
        return self._expand(model, self.coefficients(side, model), points)

    def unbiased(self, side: Side, model: tuple[int, int], points: FloatArray) -> FloatArray:
        """The curve with A + lam A^2 in place of A, times s, (k,)."""
        level, i = model
        theta = self.coefficients(side, model)
        gram, lam = next(self.grams(self.sigmas[level : level + 1])), float(self.lams[level, i])
        return self._expand(model, theta + lam * ridge.coefficients(gram, lam, theta), points)

    def _expand(self, model: tuple[int, int], theta: FloatArray, points: FloatArray) -> FloatArray:
        sigma = float(self.sigmas[model[0]])
        direct = self._direct(sigma, points)
        return evaluate(points, self.centers, theta, sigma, direct=direct, categories=self.categories)

    def rougher_model(self, model: tuple[int, int], narrower: float, weaker: float) -> Model:
        """A model made rougher; lam follows G's mean row sum, so that it means the same filter."""
        level, i = model
        sigma = float(self.sigmas[level])
        ratio = self.mean_row_sum(sigma / narrower) / self.mean_row_sum(sigma)
        return Model(sigma / narrower, float(self.lams[level, i]) * ratio / weaker)
