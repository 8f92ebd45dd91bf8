"""Standard errors and intervals of a distance, and bands of a curve, from a solver's kernel between rows.

Smoothing only ever takes away from a distance, so its lower limit needs no more than its standard error; the upper
limit leans on rougher models, whose noise outweighs what smoothing hides. Bands are for f itself: their centre is a
rougher estimate with the bias of its filter taken off once more (2F - F^2). Constants are those of docs/calibration.md.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from densdiff.core import noise, selection
from densdiff.core.scaling import FloatArray, from_log
from densdiff.core.weights import sum_of_squares
from densdiff.solvers.base import DENSITY_X, DENSITY_Y, DIFFERENCE, DISTANCE_STEPS, LAM_STEP, Solver
from densdiff.solvers.fit import Fit
from densdiff.solvers.prepared import Prepared, WeightedSample

_DISTANCE_ROWS = 500  # of each sample tell the variance of a distance well enough
_BAND_ROWS = 1000
_RESAMPLES = 1000
_BLOCK = 1 << 21  # kernel values at a time
_ROUGH_DEGENERATE = 1.5  # weight of the degenerate part above the estimate, for what the choice of a model adds


def narrowing(d: int) -> float:
    """How many times narrower than the chosen sigma the rough models are; their kernels stay 6 times higher at most."""
    return float(2.0 ** min(0.5, 2.5 / d))


@dataclass(frozen=True)
class Spreads:
    """Noise of a distance at the model it is taken at and at rougher ones, each with the logarithm of its factor."""

    own: tuple[noise.DistanceNoise, float]
    rough: list[tuple[noise.DistanceNoise, float]]

    def error(self, a: float, log_factor: float) -> float:
        """The standard error in units of exp(log_factor)."""
        linear, degenerate = _variance_parts(*self.own, a, log_factor)
        return float(np.sqrt(linear + degenerate))

    def above(self, a: float, log_factor: float, value: float, z: float) -> float:
        """How far above ``value``, in the same units, the upper limit lies.

        The linear part of the variance grows in proportion to the distance, so where the estimate is low by chance
        its variance is low too: as in Wilson's interval, the limit is raised by z^2 / 2 of what it adds to each unit.
        """
        heights = [z * self.error(a, log_factor)]
        for rough_noise in self.rough:
            linear, degenerate = _variance_parts(*rough_noise, a, log_factor)
            spread = z * float(np.sqrt(linear + _ROUGH_DEGENERATE * degenerate))
            heights.append(spread + 0.5 * z**2 * linear / max(value, spread) if spread > 0 else 0.0)
        return max(heights)


def _variance_parts(noise: noise.DistanceNoise, log_noise: float, a: float, log_factor: float) -> tuple[float, float]:
    """The linear and the degenerate part of the variance in units of exp(2 log_factor)."""
    factor = float(np.exp(min(2.0 * (log_noise - log_factor), 300.0)))
    linear, degenerate = noise.variance_parts(a)
    return linear * factor, degenerate * factor


def distance_spreads(fit: Fit) -> Spreads:
    """The noise of the distance at the models that the interval rests on."""
    solver, choice, data = fit.solver, fit.choice, fit.data
    own = solver.rougher_model(choice.model, 1.0, LAM_STEP**solver.distance_steps)
    rough = solver.rougher_model(choice.model, narrowing(data.x.rows.shape[1]), 1.0)
    x, y = (subsample(sample, data.seed, _DISTANCE_ROWS) for sample in (data.x, data.y))
    models = own, rough, fit.densities.model(LAM_STEP**DISTANCE_STEPS)
    # a part of the rows tells a variance, but only all of them tell a small witness
    is_subsampled = x.stand_in.share < 1 or y.stand_in.share < 1
    full_solvers = fit.single_models(models) if is_subsampled else [None] * len(models)
    first, *others = (_noise(full, solver, *model, x, y) for full, model in zip(full_solvers, models, strict=True))
    return Spreads(first, others)


def band_model(fit: Fit) -> tuple[float, float]:
    """Sigma and lam of the band."""
    solver, d = fit.solver, fit.data.x.rows.shape[1]
    sigma, lam = solver.rougher_model(fit.choice.model, narrowing(d), LAM_STEP**solver.band_steps)
    widest, strongest = fit.densities.model(LAM_STEP**DISTANCE_STEPS)
    return (sigma, lam) if sigma <= widest else (widest, min(lam, strongest))


@dataclass(frozen=True)
class Subsample:
    """Rows that stand for a sample, and their weights in it."""

    points: FloatArray  # (k, d)
    omega: FloatArray  # (k,)
    stand_in: noise.RowWeights


def subsample(sample: WeightedSample, seed: int, most: int) -> Subsample:
    """Rows that stand for a sample, at most so many, drawn if it has more."""
    n = len(sample.rows)
    if n <= most:
        omega = np.ascontiguousarray(sample.omega)
        return Subsample(sample.rows[:], omega, noise.RowWeights(omega))
    chosen = np.sort(selection.draw_rows(seed, n, most))
    omega = sample.omega[chosen]
    among = omega / omega.sum()
    share = sum_of_squares(sample.omega) / float(np.square(among).sum())
    return Subsample(sample.rows[chosen], omega, noise.RowWeights(among, share))


def _noise(
    full_solver: Solver | None, solver: Solver, sigma: float, lam: float, x: Subsample, y: Subsample
) -> tuple[noise.DistanceNoise, float]:
    xx, xy, yy = (solver.kernel(sigma, lam, a.points, b.points) for a, b in ((x, x), (x, y), (y, y)))
    log_scale, densities = solver.log_scale(sigma), None
    if full_solver is not None:
        scale = np.exp(log_scale - full_solver.log_scales[0])
        p_x, q_x, q_y, p_y = (
            scale * full_solver.unbiased(side, (0, 0), sample.points)
            for side, sample in ((DENSITY_X, x), (DENSITY_Y, x), (DENSITY_Y, y), (DENSITY_X, y))
        )
        own_x, own_y = (
            (values - np.diag(kernel) * sample.omega) / (1.0 - sample.omega)
            for values, kernel, sample in ((p_x, xx, x), (q_y, yy, y))
        )
        densities = own_x, q_x, own_y, p_y
    return noise.distance_noise(xx, xy, yy, x.stand_in, y.stand_in, densities), -log_scale


def normal_quantile(level: float) -> float:
    """How many standard errors a two-sided interval of this level reaches to either side."""
    return float(ndtri(0.5 + 0.5 * level))


def band(fit: Fit, points: FloatArray, level: float, simultaneous: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """f at points in inner units, and limits below and above it, in the user's units, (k,) each."""
    (rough,) = fit.single_models([band_model(fit)])
    center, half = rough_band(rough, fit.data, points, level, simultaneous)
    log_factor = -rough.log_scale(float(rough.sigmas[0])) - fit.data.scaling.log_volume
    estimate = fit.difference(points)
    lower, upper = from_log(center - half, log_factor), from_log(center + half, log_factor)
    return estimate, np.minimum(estimate, lower), np.maximum(estimate, upper)


def rough_band(
    solver: Solver, data: Prepared, points: FloatArray, level: float, simultaneous: bool
) -> tuple[FloatArray, FloatArray]:
    """Centre and half width at points in inner units, (k,) each, times the scale of the solver's only sigma.

    The simultaneous band multiplies every standard error by a quantile of the largest studentized error over all
    points, resampled by giving each row's contribution a normal factor. A row of each sample at the point itself is
    added to the variance, so that few or no rows near do not pass for certainty.
    """
    sigma, lam = float(solver.sigmas[0]), float(solver.lams[0, 0])
    subsamples = [subsample(sample, data.seed, _BAND_ROWS) for sample in (data.x, data.y)]
    x, y = (sample.stand_in for sample in subsamples)
    multipliers = _multipliers(len(x.omega), len(y.omega), data.seed)
    # a row's weight; in more columns rows are less often as near as the point itself
    one_row = 2.0 ** (0.25 * (1 - points.shape[1])) * np.hypot(x.share * x.squares, y.share * y.squares)
    errors, largest = np.empty(len(points)), np.zeros(_RESAMPLES)
    step = max(1, _BLOCK // len(multipliers))
    for start in range(0, len(points), step):
        block = points[start : start + step]
        kernel_x, kernel_y = (solver.kernel(sigma, lam, block, sample.points) for sample in subsamples)
        spreads = noise.curve_noise(kernel_x, kernel_y, x, y)
        spread = np.sqrt(np.square(spreads).sum(axis=1))
        errors[start : start + step] = np.hypot(spread, one_row * solver.peaks(sigma, lam, block))
        if simultaneous:
            spreads /= np.where(spread > 0, spread, 1.0)[:, None]
            np.maximum(largest, np.abs(spreads @ multipliers).max(axis=0), out=largest)
    factor = normal_quantile(level)
    if simultaneous:
        factor = max(factor, float(np.quantile(largest, level)))
    center = solver.unbiased(DIFFERENCE, (0, 0), points) * np.exp(solver.log_scale(sigma) - solver.log_scales[0])
    return center, factor * errors


def _multipliers(n: int, m: int, seed: int) -> FloatArray:
    """Normal factors for the rows of X and Y, (n + m, resamples); swapping the samples only changes their order."""
    one, two = np.random.default_rng([seed, 3]).standard_normal((2, max(n, m), _RESAMPLES // 2))
    return np.vstack([np.hstack([one[:n], two[:n]]), np.hstack([two[:m], one[:m]])])
