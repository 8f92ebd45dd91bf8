"""The period of a series, from the autocorrelation of its columns.

What is done with it lives in `rhythm` (blocks of two periods) and in `season` (means of each phase).
"""

from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from densdiff.core import contrasts
from densdiff.core.contrasts import IntArray
from densdiff.core.scaling import FloatArray

_CLEAR = 0.1  # autocorrelation one period away; white noise of 1000 samples rarely has it
_ERRORS = 4.0  # standard errors of the autocorrelation of white noise, for short series
_FIRST = 0.6  # of the highest peak: the first peak as high as that is the period, the higher ones its multiples
_CHANCE = 4.0  # standard errors that noise of this dependence may reach
_LASTING = 0.5  # of the autocorrelation one period away, several periods away
_SHORTEST = 3  # samples
_MULTIPLES = 8  # of a period, over which a season must last
_MOST_MULTIPLES = 64
_CYCLES = 8  # of a period in a series whose slow parts are taken off, at least
_LONG = 50  # samples: running means over fewer leave too much of what is slow
_LATE = 0.25  # of the longest period: a wave falls below 0 after a quarter of its own


@dataclass(frozen=True)
class Period:
    """A period in samples, and the autocorrelation one period away, and on average several periods away."""

    samples: float
    strength: float
    lasting: float


def find_period(rows: FloatArray, longest: float, correlation: FloatArray | None = None) -> Period | None:
    """The first high peak of the mean autocorrelation of all columns (T, d), beyond its first fall; None if not clear.

    Peaks later than ``longest`` samples do not count. Where the fall is late, something slower hides the peaks before
    it, as a year does with those of a week, and is taken off; then a period must be seen eight times. ``correlation``
    is the autocorrelation of the rows, if it is known.
    """
    whole = autocorrelation(rows) if correlation is None else correlation
    correlation = whole[: max(0, int(longest) + 2)]
    below = np.flatnonzero(correlation < 0)
    within = min(longest, len(rows) / _CYCLES)
    if within >= _LONG and (not len(below) or below[0] > _LATE * longest):
        whole = autocorrelation(_without_slow_parts(rows, int(within / 2)))
        correlation = whole[: int(within) + 2]
        below = np.flatnonzero(correlation < 0)
    start = int(below[0]) if len(below) else int(correlation.argmin()) if len(correlation) else 0
    peaks = start + _local_maxima(correlation[start:])
    peaks = peaks[peaks >= _SHORTEST]
    if not len(peaks):
        return None
    highest = float(correlation[peaks].max())
    if highest < max(_CLEAR, _ERRORS / np.sqrt(len(rows) * rows.shape[1])):
        return None
    first = int(peaks[correlation[peaks] >= _FIRST * highest][0])
    samples = float(_refined(whole, _peak_place(correlation, first)))
    period = Period(samples, float(correlation[first]), _lasting(whole, samples))
    # by Bartlett's formula with the correlations before the first fall: slow noise has chance peaks, which do not last
    error = np.sqrt((1.0 + 2.0 * np.square(correlation[1:start]).sum()) / len(rows))
    is_chance = highest < _CHANCE * error and period.lasting < _LASTING * period.strength
    return None if is_chance else period


def _without_slow_parts(rows: FloatArray, reach: int) -> FloatArray:
    """Rows (T, d) without their running means over so many samples on either side, fewer at the ends."""
    length = len(rows)
    centred = rows - rows.mean(axis=0)
    centred = centred - contrasts.fitted_lines(centred)
    sums = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(centred, axis=0)])
    place = np.arange(length)
    reach_there = np.minimum(reach, np.minimum(place, length - 1 - place))  # as many on both sides: lines stay lines
    first, last = place - reach_there, place + reach_there + 1
    return np.asarray(centred - (sums[last] - sums[first]) / (last - first)[:, None])


def _refined(correlation: FloatArray, period: float) -> float:
    """The period from the peaks at its multiples, as far as they stay in place: far ones tell it most exactly."""
    multiple, reach = 2, max(1, int(period / 4))
    while multiple * period + reach + 1 < len(correlation) / 2 and multiple <= _MOST_MULTIPLES:
        low = round(multiple * period) - reach
        nearby = low + _local_maxima(correlation[low : low + 2 * reach + 1])
        if not len(nearby):
            break
        period = _peak_place(correlation, int(nearby[correlation[nearby].argmax()])) / multiple
        multiple *= 2
    return period


def _lasting(correlation: FloatArray, period: float) -> float:
    """Mean autocorrelation at two to eight periods, up to half of the series."""
    multiples = np.round(period * np.arange(2, _MULTIPLES + 1)).astype(np.intp)
    multiples = multiples[multiples <= len(correlation) / 2]
    return float(correlation[multiples].mean()) if len(multiples) else 0.0


def autocorrelation(rows: FloatArray) -> FloatArray:
    """Mean over the columns (T, d) without their straight lines, at lags 0, .., T - 1, each divided by its count."""
    length = len(rows)
    scaled = rows / np.maximum(np.abs(rows).max(axis=0), np.finfo(float).tiny)
    left = scaled - scaled.mean(axis=0) - contrasts.fitted_lines(scaled)
    padded = next_fast_len(2 * length, real=True)
    total, used = np.zeros(length), 0
    for column in left.T:
        products = irfft(np.square(np.abs(rfft(column, padded))), padded)[:length]
        if products[0] > 0:
            total += products / products[0]
            used += 1
    return np.asarray(total / max(used, 1) * (length / (length - np.arange(length))))


def _local_maxima(values: FloatArray) -> IntArray:
    """Places that are higher than the next and not lower than the one before."""
    inner = values[1:-1]
    return np.flatnonzero((inner >= values[:-2]) & (inner > values[2:])) + 1


def _peak_place(values: FloatArray, place: int) -> float:
    """The top of the parabola through a peak and its neighbours."""
    before, peak, after = values[place - 1 : place + 2]
    curvature = before - 2.0 * peak + after
    return place + (0.5 * (before - after) / curvature if curvature < 0 else 0.0)
