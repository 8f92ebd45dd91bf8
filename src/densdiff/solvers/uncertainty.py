"""Bands of a curve, from a solver's kernel between rows.

They are for f itself: their centre is a rougher estimate with the bias of its filter taken off once more (2F - F^2).
Constants are those of docs/calibration.md. Intervals of distances are made in `overlap`.
"""

import numpy as np
from scipy.special import ndtri

from densdiff.core import noise
from densdiff.core.scaling import FloatArray, from_log
from densdiff.solvers.base import DIFFERENCE, DISTANCE_STEPS, LAM_STEP, Model, Solver
from densdiff.solvers.fit import Fit
from densdiff.solvers.prepared import Prepared, subsample

_BAND_ROWS = 1000
_RESAMPLES = 1000
_BLOCK = 1 << 21  # kernel values at a time


def narrowing(d: int) -> float:
    """How many times narrower than the chosen sigma the rough models are; their kernels stay 6 times higher at most."""
    return float(2.0 ** min(0.5, 2.5 / d))


def band_model(fit: Fit) -> Model:
    """The model of the band: rougher than that of f, and no smoother than p and q are."""
    solver, d = fit.solver, fit.data.x.rows.shape[1]
    own = solver.rougher_model(fit.choice.model, narrowing(d), LAM_STEP**solver.band_steps)
    widest = fit.densities.model(LAM_STEP**DISTANCE_STEPS)
    smoothing = min(own.smoothing, widest.smoothing)
    if own.sigma <= widest.sigma:
        return own._replace(smoothing=smoothing)
    return Model(widest.sigma, min(own.lam, widest.lam), smoothing)


def normal_quantile(level: float) -> float:
    """How many standard errors a two-sided interval of this level reaches to either side."""
    return float(ndtri(0.5 + 0.5 * level))


def band(fit: Fit, points: FloatArray, level: float, simultaneous: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """f at points in inner units, and limits below and above it, in the user's units, (k,) each."""
    (named,) = fit.single_models([band_model(fit)])
    rough = named.solver
    # the finer grid of a rougher model may not reach all rows, and pairs of drawn ones take its place
    center, half = rough_band(rough, named.data, points, level, simultaneous)
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
    model = solver.rougher_model((0, 0), 1.0, 1.0)  # its only one, as it is
    subsamples = [subsample(sample, data.seed, _BAND_ROWS) for sample in (data.x, data.y)]
    x, y = (sample.stand_in for sample in subsamples)
    multipliers = _multipliers(len(x.omega), len(y.omega), data.seed)
    # a row's weight; in more columns rows are less often as near as the point itself
    one_row = 2.0 ** (0.25 * (1 - points.shape[1])) * np.hypot(x.share * x.squares, y.share * y.squares)
    errors, largest = np.empty(len(points)), np.zeros(_RESAMPLES)
    step = max(1, _BLOCK // len(multipliers))
    for start in range(0, len(points), step):
        block = points[start : start + step]
        kernel_x, kernel_y = (solver.kernel(model, block, sample.points) for sample in subsamples)
        spreads = noise.curve_noise(kernel_x, kernel_y, x, y)
        spread = np.sqrt(np.square(spreads).sum(axis=1))
        errors[start : start + step] = np.hypot(spread, one_row * solver.peaks(model, block))
        if simultaneous:
            spreads /= np.where(spread > 0, spread, 1.0)[:, None]
            np.maximum(largest, np.abs(spreads @ multipliers).max(axis=0), out=largest)
    factor = normal_quantile(level)
    if simultaneous:
        factor = max(factor, float(np.quantile(largest, level)))
    center = solver.unbiased(DIFFERENCE, (0, 0), points) * np.exp(solver.log_scale(model.sigma) - solver.log_scales[0])
    return center, factor * errors


def _multipliers(n: int, m: int, seed: int) -> FloatArray:
    """Normal factors for the rows of X and Y, (n + m, resamples); swapping the samples only changes their order."""
    one, two = np.random.default_rng([seed, 3]).standard_normal((2, max(n, m), _RESAMPLES // 2))
    return np.vstack([np.hstack([one[:n], two[:n]]), np.hstack([two[:m], one[:m]])])
