"""Pairs of rows counted once by distance, agreement and groups: scores of models for any set of the groups (E17a)."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from densdiff.core import agreement, kernel, mixed_kernel, radial, selection
from densdiff.core.scaling import FloatArray
from densdiff.core.selection import CURVE_LAMS, CURVE_RATIO
from densdiff.engines.mixed_pairs import MixedHistograms, mixed_histograms
from densdiff.solvers.drawn_rows import Rows

_SMOOTHINGS = (0, 1, 2, 3, 4, 6)  # of categories, in steps of lam
_MOST_NOISE = 0.1  # of the norms of p and q as seen
_AT_EDGE = 0.5  # of the weight on the outermost sigma


class Models(NamedTuple):
    """Scores of a table of models and the noise in their curves, (S, L) each, over exp(log_unit)."""

    sigmas: FloatArray  # (S,) widest first
    scores: FloatArray
    noise: FloatArray
    log_unit: float

    @property
    def weights(self) -> FloatArray:
        """How much each model counts, (S, L)."""
        return selection.curve_weights(self.scores, self.noise)

    @property
    def least(self) -> float:
        """The least score with its penalty, over exp(log_unit)."""
        return float(selection.penalized(self.scores, self.noise).min())

    def note(self) -> str | None:
        """What to say when the best width may lie beyond those that were searched."""
        by_sigma = self.weights.sum(axis=1)
        if len(by_sigma) > 1 and by_sigma[-1] > _AT_EDGE:
            return "f may have finer structure than the narrowest kernels that were tried"
        if len(by_sigma) > 1 and by_sigma[0] > _AT_EDGE:
            return "the widest kernels that were tried fit f best: these rows show no structure in it"
        return None


class _Counts(NamedTuple):
    """The pairs of a block of rows by groups that have rows, with sums of the weights and of their squares."""

    histograms: MixedHistograms
    groups: npt.NDArray[np.intp]  # (G,) their numbers
    is_x: npt.NDArray[np.bool_]  # (G,)
    masses: FloatArray  # (G,)
    squares: FloatArray  # (G,)

    def means(self, is_used: npt.NDArray[np.bool_], sizes: tuple[float, float]) -> Iterator[FloatArray]:
        """Mean e_t of each smoothing over pairs of the groups that are used, at every node, (T, bins, 3): X with X less
        twice X with Y plus Y with Y; what of that is within the samples; and that over the sizes of the samples.
        """
        used, tiny = is_used[self.groups], float(np.finfo(np.float64).tiny)
        x, y = (own / (own @ self.masses) for own in (1.0 * (used & self.is_x), 1.0 * (used & ~self.is_x)))
        of_x, of_y = (np.outer(own, own) / max(1.0 - float(np.square(own) @ self.squares), tiny) for own in (x, y))
        between = np.outer(x, y) + np.outer(y, x)
        weights = np.array([of_x + of_y - between, of_x + of_y, of_x / sizes[0] + of_y / sizes[1]])
        return self.histograms.every_sum(weights.reshape(3, -1))


class _Run(NamedTuple):
    """Sigmas that one histogram serves, their kernels at its nodes, and the counts of all blocks."""

    levels: npt.NDArray[np.intp]  # their numbers
    kernels: list[tuple[FloatArray, FloatArray]]  # of F and F^2, (M, nodes), for each sigma
    blocks: list[_Counts]


class PairCounts:
    """Counts of the pairs within blocks of rows, which stand for all pairs."""

    def __init__(self, sigmas: FloatArray, blocks: list[Rows]) -> None:
        levels, self.d = blocks[0].levels, blocks[0].numbers.shape[1]
        smoothings = _SMOOTHINGS if len(levels) else (0,)
        steps = [agreement.agreement_steps(levels, smoothing, CURVE_RATIO) for smoothing in smoothings]
        last = agreement.last_step(float(CURVE_LAMS[-1]), CURVE_RATIO)
        self.sigmas, self._n_groups = sigmas, blocks[0].n_groups
        self.polynomials = agreement.agreement_polynomials(levels, steps, CURVE_RATIO, last)
        lams, self.places = agreement.stepped_lams(CURVE_LAMS, self.polynomials)
        self.table = radial.radial_table(self.d, lams)
        radius = max(kernel.radius(block.numbers - block.numbers.mean(axis=0)) for block in blocks)
        self._runs = []
        for run in kernel.sigma_runs(sigmas):
            bins = radial.make_bins(sigmas[run], radius, self.table.reach)
            kernels = [radial.binned_kernels(self.table, bins, float(sigma)) for sigma in sigmas[run]]
            self._runs.append(_Run(run, kernels, [self._counted(block, bins) for block in blocks]))

    def _counted(self, block: Rows, bins: radial.Bins) -> _Counts:
        order, numbers = np.argsort(block.groups, kind="stable"), block.numbers - block.numbers.mean(axis=0)
        present, groups = np.unique(block.groups[order], return_inverse=True)
        direct = kernel.needs_direct_differences(kernel.radius(numbers), float(self.sigmas[-1]), self.d)
        rows, omega = np.hstack([numbers, block.codes])[order], block.omega[order]
        histograms = mixed_histograms(rows, omega, groups, bins, self.polynomials, direct=direct)
        masses, squares = (np.bincount(groups, weights).astype(np.float64) for weights in (omega, np.square(omega)))
        return _Counts(histograms, present, present < block.n_groups, masses, squares)

    def models(self, sizes: tuple[float, float], is_used: npt.NDArray[np.bool_] | None = None) -> list[Models]:
        """E17a's score of every model for each smoothing of categories, from the groups that are used, by default all.

        ``sizes`` are the effective sizes of the samples. Where only some groups are used they are folds: sigmas with
        too much noise in fits without two folds are left out of every curve: curves of more folds are chosen by those.
        """
        most_noise = _MOST_NOISE
        if is_used is None:
            is_used = np.ones(2 * self._n_groups, dtype=bool)
        else:
            most_noise *= max(1, self._n_groups - 2) / (0.5 * is_used.sum())
        shape = len(self.polynomials), len(self.sigmas), len(CURVE_LAMS)
        of_f, of_densities, noise = np.zeros((3, *shape))  # without their scale
        norms, per_row = np.zeros(shape[:2]), sum(1.0 / size for size in sizes)
        for run in self._runs:
            means = zip(*(block.means(is_used, sizes) for block in run.blocks), strict=True)
            for a, (polynomial, places, of_blocks) in enumerate(zip(self.polynomials, self.places, means, strict=True)):
                pairs = np.mean(of_blocks, axis=0)  # (T, bins, 3)
                own = polynomial.of_equal_rows @ self.table.squared[places, 0].T  # (L,)
                for level, (plain, squared) in zip(run.levels, run.kernels, strict=True):
                    signals = mixed_kernel.sum_over_steps(plain, places, pairs).T  # (3, L)
                    squares = mixed_kernel.sum_over_steps(squared, places, pairs).T
                    noise[a, level] = own * per_row - squares[2]
                    norms[a, level] = squares[1, 0]
                    of_f[a, level], of_densities[a, level] = squares[:2] - 2.0 * signals[:2] + noise[a, level]
        scores = of_f + selection.share_of_densities(*sizes) * of_densities
        is_noisy = np.asarray((noise[:, :, 0] > most_noise * norms).all(axis=0))
        return self._without_noisy(scores, noise, is_noisy)

    def _without_noisy(self, scores: FloatArray, noise: FloatArray, is_noisy: npt.NDArray[np.bool_]) -> list[Models]:
        """The models of all sigmas but the narrowest, (S,), where few rows are within reach of each other."""
        kept = max(1, int(np.argmax(is_noisy))) if is_noisy.any() else len(self.sigmas)
        log_scales = np.array([radial.log_scale(float(sigma), self.d) for sigma in self.sigmas[:kept]])
        with np.errstate(under="ignore"):
            scales = np.exp(log_scales[-1] - log_scales)[:, None]
        found = zip(scores[:, :kept] * scales, noise[:, :kept] * scales, strict=True)
        return [Models(self.sigmas[:kept], score, curve_noise, -float(log_scales[-1])) for score, curve_noise in found]
