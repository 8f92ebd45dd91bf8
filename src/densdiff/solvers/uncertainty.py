"""Bands of a curve, from a solver's kernel between rows.

They are for f itself: their centre is a rougher estimate with the bias of its filter taken off once more (2F - F^2),
and finer ones, which are in `roughness`, widen them. Constants are those of docs/calibration.md. Intervals of distances
are made in `overlap`.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from densdiff.core import noise
from densdiff.core.scaling import FloatArray, from_log
from densdiff.solvers.base import (
    DENSITY_X,
    DENSITY_Y,
    DIFFERENCE,
    DISTANCE_STEPS,
    LAM_STEP,
    FilterKernel,
    Model,
    Side,
    Solver,
)
from densdiff.solvers.drawn_rows import spacing_of
from densdiff.solvers.fit import Fit, NamedSolver, Settings, find_fit
from densdiff.solvers.prepared import LEVEL_ROWS, PAIRS_ROWS, Prepared, subsample
from densdiff.solvers.roughness import Evidence, narrow_curve, narrowings, one_row_weight

_BAND_ROWS = 1000
_RESAMPLES = 1000
_BLOCK = 1 << 21  # kernel values at a time
_MOST_COLUMNS = 3  # of numbers: in more, kernels are too wide for limits between neighbours to mean anything
_HIGHEST = 6.0  # times: what narrowing the columns one by one may add to the height of kernels
_REACH = 0.6  # of sigma: so far from a jump the centre is again what it would be without it
_AUTOMATIC = Settings(None, None, "auto", 300, None, standardize=True)
_TOO_ROUGH = (
    "f is rougher at some of the points than the band can follow: it has narrow peaks, or values that repeat, and may "
    "leave the limits there"
)


def narrowing(d: int) -> float:
    """How many times narrower than the chosen sigma the rough models are; their kernels stay 6 times higher at most."""
    return 2.0 if d == 1 else float(2.0 ** min(0.5, 2.5 / d))


def band_model(fit: Fit) -> Model:
    """The model of the band: rougher than that of f, and no smoother than p and q are."""
    solver, d = fit.solver, fit.data.x.rows.shape[1]
    own = solver.rougher_model(fit.choice.model, narrowing(d), LAM_STEP**solver.band_steps)
    widest = fit.densities.model(LAM_STEP**DISTANCE_STEPS)
    smoothing = min(own.smoothing, widest.smoothing)
    if own.sigma <= widest.sigma:
        return own._replace(smoothing=smoothing)
    return Model(widest.sigma, min(own.lam, widest.lam), smoothing)


def column_narrowing(fit: Fit, model: Model) -> FloatArray:
    """How many times narrower the kernels of a model must be in each column to smooth it no more than suits p and q in
    that column alone, (d,); 1 for categories, for centers and in more than three columns of numbers.

    One width for all columns follows the roughest of them only if that one is rough enough to be seen among the others.
    """
    columns = fit.data.x.rows.shape[1]
    factors, d = np.ones(columns), columns - len(fit.data.levels)
    if not 1 < d <= _MOST_COLUMNS or not isinstance(fit.solver, FilterKernel):
        return factors
    data = fit.used.thinned(PAIRS_ROWS)
    for j in range(d):
        column = data.column(j)
        densities = find_fit(column, _AUTOMATIC).densities
        widest = filter_width(densities.model(LAM_STEP**DISTANCE_STEPS))
        finest = model.sigma / max(spacing_of(column.pooled_rows[:, 0]), np.finfo(float).tiny)
        factors[j] = max(1.0, min(filter_width(model) / widest, finest))
    higher = float(factors.prod())
    return factors if higher <= _HIGHEST else np.asarray(factors ** (np.log(_HIGHEST) / np.log(higher)))


def filter_width(model: Model) -> float:
    """One over the frequency at which the filter of a model falls to a half; of large lam, as if it were exp(-1)."""
    return model.sigma / float(np.sqrt(2.0 * max(1.0, -np.log(model.lam))))


def normal_quantile(level: float) -> float:
    """How many standard errors a two-sided interval of this level reaches to either side."""
    return float(ndtri(0.5 + 0.5 * level))


class Limits(NamedTuple):
    """f at points and limits below and above it, in the user's units, (k,) each; a note where they may not hold it."""

    estimate: FloatArray
    lower: FloatArray
    upper: FloatArray
    note: str | None


class RoughBand(NamedTuple):
    """Centre and standard error at points, (k,) each, times the scale of the solver's only sigma; how many errors the
    band reaches to either side.
    """

    center: FloatArray
    error: FloatArray
    factor: float


def band(fit: Fit, points: FloatArray, level: float, simultaneous: bool) -> Limits:
    """f at points in inner units, and limits for f itself: of all points at once, or of each.

    The band of one rough model, widened by what the model smears, and where finer models show more than it does by
    their limits.
    """
    estimate, model = fit.difference(points), band_model(fit)
    factors = column_narrowing(fit, model)
    if (factors > 1.0).any():
        named = fit.drawn_out_model(model, factors)
        with np.errstate(over="ignore"):  # points far away
            points = points * factors
    else:
        (named,) = fit.single_models([model])
    lower, upper, is_too_rough = _limits(named, model, points, level, simultaneous)
    note = _TOO_ROUGH if is_too_rough else None
    return Limits(estimate, np.minimum(estimate, lower), np.maximum(estimate, upper), note)


class DensityBand(NamedTuple):
    """p and q at points, limits below and above p - q, in the user's units, (k,) each; a note as in `Limits`."""

    p: FloatArray
    q: FloatArray
    lower: FloatArray
    upper: FloatArray
    note: str | None


def common_model(fit: Fit) -> Model:
    """One model for p, q and f: that of the rougher one of the two densities."""
    densities = fit.densities
    return min((densities.solver.rougher_model(own.model, 1.0, 1.0) for own in densities.choices), key=filter_width)


def density_band(fit: Fit, points: FloatArray, level: float) -> DensityBand:
    """p, q and simultaneous limits of their difference at points in inner units of one column, all with one bandwidth.

    For pictures: p - q is the centre of the limits, which widen as those of `band` where f is steep or finer models
    show more. Densities may fall below 0 by a little.
    """
    model = common_model(fit)
    (named,) = fit.single_models([model])
    lower, upper, is_too_rough = _limits(named, model, points, level, simultaneous=True)
    log_factor = _log_factor(named, model)
    p, q = (from_log(_centers(named.solver, points, side), log_factor) for side in (DENSITY_X, DENSITY_Y))
    return DensityBand(p, q, lower, upper, _TOO_ROUGH if is_too_rough else None)


def _log_factor(named: NamedSolver, model: Model) -> float:
    """Logarithm of what turns values of the only model of a solver into the user's units."""
    return -named.solver.log_scale(model.sigma) - named.data.scaling.log_volume


def _limits(
    named: NamedSolver, model: Model, points: FloatArray, level: float, simultaneous: bool
) -> tuple[FloatArray, FloatArray, bool]:
    """Limits around the only model of a solver at points in its inner units, in the user's, (k,) each; whether f is
    rougher than they can follow.
    """
    solver, d = named.solver, points.shape[1] - len(named.data.levels)
    # the finer grid of a rougher model may not reach all rows, and pairs of drawn ones take its place
    rough = rough_band(solver, named.data, points, level, simultaneous)
    lower, upper = rough.center - rough.factor * rough.error, rough.center + rough.factor * rough.error
    is_too_rough = False
    if d <= _MOST_COLUMNS and len(points):
        # a jump is at few of the points: about two errors are enough there, and none if each point counts by itself
        margin = max(0.0, 2.0 * (rough.factor - 2.0)) * rough.error
        least, largest = _range_near(solver, points, _REACH * model.sigma, d)
        lower, upper = np.minimum(lower, least - margin), np.maximum(upper, largest + margin)
        if isinstance(solver, FilterKernel) and d > 0:
            evidence = Evidence.of(named.data, solver, model)
            lower, upper, is_too_rough = _widened(evidence, points, (lower, upper), rough.factor, level)
    log_factor = _log_factor(named, model)
    return from_log(lower, log_factor), from_log(upper, log_factor), is_too_rough


def _range_near(solver: Solver, points: FloatArray, reach: float, d: int) -> tuple[FloatArray, FloatArray]:
    """The least and the largest centre at points and their neighbours along each column of numbers, (k,) each."""
    steps = np.zeros((2 * d + 1, points.shape[1]))
    for j in range(d):
        steps[2 * j : 2 * j + 2, j] = -reach, reach
    with np.errstate(over="ignore"):  # points far away
        near = (points + steps[:, None]).reshape(-1, points.shape[1])
    centers = _centers(solver, near).reshape(len(steps), -1)  # (2 d + 1, k)
    return centers.min(axis=0), centers.max(axis=0)


def _widened(
    evidence: Evidence, points: FloatArray, limits: tuple[FloatArray, FloatArray], factor: float, level: float
) -> tuple[FloatArray, FloatArray, bool]:
    """Limits that hold those of finer models too, where these show more; and whether still finer ones would.

    Narrower kernels have more places to be wrong at, and their limits take more errors, as if each place were tested.
    """
    lower, upper = (limit.copy() for limit in limits)
    miss, is_too_rough = float(ndtr(-factor)), False
    tests = max(1.0, 0.5 * (1.0 - level) / max(miss, np.finfo(float).tiny))
    step = max(1, _BLOCK // (2 * LEVEL_ROWS))
    for start in range(0, len(points), step):
        narrower, too_rough = narrowings(evidence, points[start : start + step], tests)
        is_too_rough |= too_rough
        finer = np.flatnonzero((narrower > 1.0).any(axis=1))
        center, error = narrow_curve(evidence, points[start + finer], narrower[finer])
        half = -ndtri(miss / narrower[finer].prod(axis=1)) * error
        lower[start + finer] = np.minimum(lower[start + finer], center - half)
        upper[start + finer] = np.maximum(upper[start + finer], center + half)
    return lower, upper, is_too_rough


def rough_band(solver: Solver, data: Prepared, points: FloatArray, level: float, simultaneous: bool) -> RoughBand:
    """The band of the solver's only model at points in inner units.

    The simultaneous band multiplies every standard error by a quantile of the largest studentized error over all
    points, resampled by giving each row's contribution a normal factor. A row of each sample at the point itself is
    added to the variance, so that few or no rows near do not pass for certainty.
    """
    model = solver.rougher_model((0, 0), 1.0, 1.0)  # its only one, as it is
    subsamples = [subsample(sample, data.seed, _BAND_ROWS) for sample in (data.x, data.y)]
    x, y = (sample.stand_in for sample in subsamples)
    multipliers = _multipliers(len(x.omega), len(y.omega), data.seed)
    one_row = one_row_weight(subsamples[0], subsamples[1], points.shape[1])
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
    return RoughBand(_centers(solver, points), errors, factor)


def _centers(solver: Solver, points: FloatArray, side: Side = DIFFERENCE) -> FloatArray:
    """f, or another curve, at points by the solver's only model, times the scale of its sigma, (k,)."""
    scale = np.exp(solver.log_scale(float(solver.sigmas[0])) - solver.log_scales[0])
    return np.asarray(solver.unbiased(side, (0, 0), points) * scale)


def _multipliers(n: int, m: int, seed: int) -> FloatArray:
    """Normal factors for the rows of X and Y, (n + m, resamples); swapping the samples only changes their order."""
    one, two = np.random.default_rng([seed, 3]).standard_normal((2, max(n, m), _RESAMPLES // 2))
    return np.vstack([np.hstack([one[:n], two[:n]]), np.hstack([two[:m], one[:m]])])
