"""Where a change may be: an interval of samples around each, from what tells its two sides apart.

The log ratio of the densities after and before the change, fitted to both sides (`core.discriminant`), is summed
along the series; the sum is the likelihood of each place, tempered by the dependence of its terms (`core.long_run`).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from densdiff.core.contrasts import IntArray
from densdiff.core.discriminant import cross_fitted_log_ratio
from densdiff.core.long_run import long_run_variances
from densdiff.core.scaling import FloatArray
from densdiff.series.features import own_scaling
from densdiff.series.kinds import ChangeKind

LEVEL = 0.95
_BLOCK = 2.0  # periods
_MASS = 0.97  # of the weights of places: more than LEVEL, since what tells the sides apart is estimated
_REACH = 1000  # samples on each side that are looked at first
_ENTRIES = 2_000_000  # of their features
_FARTHEST = 256_000
_EDGE = 1e-3  # weight in the outer tenth that makes the reach longer
_FITTED = 8000  # rows that a fit uses
_FOLDS, _PIECES = 5, 5  # a fold is every fifth of 25 stretches, or of more if one side is short
_RIDGE = 1.0
_MOST = 8  # features that are kept
_PER_FEATURE = 15  # rows
_CLEAR = 4.0  # squared t of a feature that is kept beside the clearest
_TEMPER = (0.02, 3.0)  # least and most that the log ratio is multiplied with
_ESTIMATED = 4.0  # independent samples that weigh as much as not knowing drift and variance
_CLIPPED = 6.0  # deviations
_BUMPS = (-1.3, -0.5, 0.5, 1.3)  # deviations, where the shape of a column is looked at
_BUMP_WIDTH = 0.6
_PAIRED = 5  # columns up to which all products of two are features
_LAGS = (1, 2, 4)
_TINY = 1e-12


def place_intervals(rows: FloatArray, changes: IntArray, resolution: npt.ArrayLike = 0) -> IntArray:
    """First and last sample at which each new regime may begin, both included, at `LEVEL`, (k, 2).

    Parameters
    ----------
    rows : array of shape (T, d)
    changes : array of shape (k,)
        Increasing, each from 1 to T - 1.
    resolution : int or array of shape (k,)
        Samples on each side that belong to the interval in any case, such as the block of features that showed it.
    """
    ends = np.concatenate([[0], changes, [len(rows)]]).astype(np.intp)
    least = np.broadcast_to(np.asarray(resolution, dtype=np.intp), changes.shape)
    intervals = np.empty((len(changes), 2), dtype=np.intp)
    for j, change in enumerate(changes.tolist()):
        low, high = int(ends[j]), int(ends[j + 2])
        first, weights = _place_weights(rows, low, change, high, int(least[j]))
        start, stop = _shortest(weights)
        intervals[j] = min(first + start, change - least[j]), max(first + stop, change + least[j])
        intervals[j] = np.clip(intervals[j], low + 1, high - 1)
    return intervals


def block_lengths(kinds: Sequence[ChangeKind], count: int) -> IntArray:
    """The resolution of each of ``count`` changes: two periods for a change of rhythm, which blocks of them showed."""
    lengths = np.zeros(count, dtype=np.intp)
    for j, kind in enumerate(kinds):
        if kind.what == "rhythm":
            lengths[j] = round(_BLOCK * max(kind.period_before or 0.0, kind.period_after or 0.0))
    return lengths


def _place_weights(rows: FloatArray, low: int, change: int, high: int, resolution: int) -> tuple[int, FloatArray]:
    """The first place that is weighed, and weights that sum to 1 of it and the following ones."""
    width = rows.shape[1] * (2 + len(_BUMPS) + len(_LAGS) + _PAIRED / 2)
    reach = int(np.clip(_ENTRIES / (2 * width), _REACH // 4, _REACH))
    while True:
        start, stop = max(low, change - reach), min(high, change + reach)
        weights = _weigh(rows[start:stop], change - start, resolution)
        tenth = max(1, reach // 10)
        is_open = (start > low and weights[:tenth].sum() > _EDGE) or (stop < high and weights[-tenth:].sum() > _EDGE)
        if not is_open or reach >= _FARTHEST:
            return start + 1, weights
        reach *= 4


def _weigh(rows: FloatArray, change: int, resolution: int) -> FloatArray:
    """Weight of each place 1, .., n - 1 between the two sides of a stretch of n rows, (n - 1,)."""
    n = len(rows)
    if n < 3:
        return np.full(n - 1, 1.0 / (n - 1))
    features = _telling_features(_sample_features(own_scaling(rows, True)[1], resolution), change)
    stretch = max(1, min(n // (_FOLDS * _PIECES), min(change, n - change) // _FOLDS))
    folds = np.arange(n) // stretch % _FOLDS
    is_after = (np.arange(n) >= change).astype(np.float64)
    ratios = cross_fitted_log_ratio(features, is_after, folds, -(-n // _FITTED), _RIDGE)
    before, after = _temper(-ratios[:change]), _temper(ratios[change:])
    middle = (before + after) / 2
    tempered = ratios * np.where(is_after > 0, min(after, middle), min(before, middle))
    likelihood = -np.cumsum(tempered)[:-1]  # of a change before sample 1, .., n - 1: each passed sample leaves q for p
    weights = np.exp(likelihood - likelihood.max())
    return np.asarray(weights / weights.sum())


def _temper(ratios: FloatArray) -> float:
    """What to multiply log ratios of the right sign with, so that their sums weigh places as a likelihood does.

    The maximum of a random walk with drift -m and long-run variance v has a tail of exp(-2 m / v x), and exp(-x) if
    its steps are independent and log ratios of the true densities. Of few samples drift and variance are known badly,
    which makes sums less telling.
    """
    if len(ratios) < 2:
        return _TEMPER[0]
    variance = max(float(long_run_variances(ratios[:, None])[0]), _TINY)
    n_independent = len(ratios) * float(ratios.var(ddof=1)) / variance
    shrinkage = n_independent / (n_independent + _ESTIMATED) if n_independent else 1.0
    return float(np.clip(shrinkage * 2.0 * ratios.mean() / variance, *_TEMPER))


def _shortest(weights: FloatArray) -> tuple[int, int]:
    """First and last index of the shortest run that has `_MASS` of the weights; the first of equally short ones."""
    sums = np.cumsum(weights)
    before = sums - weights
    last = np.searchsorted(sums, before + _MASS - _TINY)
    starts = np.flatnonzero(last < len(weights))
    start = int(starts[np.argmin(last[starts] - starts)])
    return start, int(last[start])


def _sample_features(rows: FloatArray, resolution: int) -> FloatArray:
    """What a sample shows of level, spread, shape, correlation and rhythm, each of one deviation, (n, p)."""
    rows = np.clip(rows, -_CLIPPED, _CLIPPED)
    d = rows.shape[1]
    features = [rows, np.square(rows)]
    if 1 < d <= _PAIRED:
        first, second = np.triu_indices(d, 1)
        features.append(rows[:, first] * rows[:, second])
    elif d > 1:
        features.append(rows * ((rows.sum(axis=1, keepdims=True) - rows) / (d - 1)))
    features += [np.exp(-0.5 * np.square((rows - bump) / _BUMP_WIDTH)) for bump in _BUMPS]
    lags = [*_LAGS, *(2**k for k in range(3, 16) if 2 ** (k + 1) <= resolution)]
    for lag in [lag for lag in lags if 2 * lag <= len(rows)]:
        products = np.empty_like(rows)
        products[lag:] = rows[lag:] * rows[:-lag]
        products[:lag] = products[lag : 2 * lag]
        features.append(products)
    values = np.hstack(features)
    values -= values.mean(axis=0)
    deviation = values.std(axis=0)
    return np.asarray(values / np.where(deviation > _TINY, deviation, 1.0))


def _telling_features(features: FloatArray, change: int) -> FloatArray:
    """The features whose means differ most between the two sides, in units of their noise, (n, at most `_MOST`)."""
    before, after = features[:change], features[change:]
    noise = long_run_variances(before) / len(before) + long_run_variances(after) / len(after)
    t_squared = np.square(after.mean(axis=0) - before.mean(axis=0)) / np.maximum(noise, _TINY)
    most = int(np.clip(len(features) // _PER_FEATURE, 1, _MOST))
    chosen = np.argsort(-t_squared, kind="stable")[:most]
    return features[:, chosen[t_squared[chosen] >= min(_CLEAR, float(t_squared.max()))]]
