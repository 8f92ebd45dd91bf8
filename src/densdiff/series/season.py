"""Seasons: means of each phase, taken off where a window is too short to average over them; slow waves that may be one.

The period comes from `period`; changes of the season itself are found in `rhythm`.
"""

from dataclasses import dataclass

import numpy as np

from densdiff.core.contrasts import IntArray
from densdiff.core.scaling import FloatArray
from densdiff.series.period import find_period

_CYCLES = 4.0  # of a season in the series, at least: fewer do not tell a season from changes
_HELD = 3.0  # periods in a window, from which on a season averages out
_STRONG = 0.4  # autocorrelation one period away
_STRONG_TOO = 0.15  # of a second season, once there is a first
_LASTING = 0.7  # of it, several periods away: a season does not lose its phase
_SEASONS = 3  # day, week and year
_BETTER = 0.95  # of what steps leave over, at most, is left by a wave that is as simple
_WORTH = 2  # steps that are as simple as a wave
_SAME = 0.1  # of a period: one that was taken off already
_WAVES = np.linspace(0.25, _CYCLES, 31)  # cycles in a series
_ROUNDING = 1e-9  # of the range of a column
_SMALL = 0.1  # of the mean size, added to sizes before their logarithm
_BEND = 0.5  # cycles: what is less is a bend and no wave


@dataclass(frozen=True)
class Deseasoned:
    """A series without its seasons, and their periods in samples."""

    rows: FloatArray  # (T, d)
    periods: tuple[float, ...]


def remove_seasons(rows: FloatArray, window: int, correlation: FloatArray | None = None) -> Deseasoned:
    """Rows without the phase means of their periods, if a window holds fewer than three of the longest.

    ``correlation`` is the autocorrelation of the rows, if it is known.
    """
    left = rows
    periods: list[float] = []
    while len(periods) < _SEASONS:
        period = find_period(left, len(rows) / _CYCLES, None if periods else correlation)
        strong = _STRONG_TOO if periods else _STRONG
        if period is None or period.strength < strong or period.lasting < _LASTING * period.strength:
            break
        if any(abs(period.samples - other) < _SAME * other for other in periods):
            break
        samples, means = _best_phase_means(left, period.samples)
        if not (np.ptp(left - means, axis=0) > _ROUNDING * np.ptp(rows, axis=0)).any():  # but rounding
            return Deseasoned(rows, ())
        left = left - means
        periods.append(samples)
    if _HELD * max(periods, default=0.0) <= window:
        return Deseasoned(rows, ())
    return Deseasoned(left, tuple(periods))


def _best_phase_means(rows: FloatArray, period: float) -> tuple[float, FloatArray]:
    """The period or the whole number next to it, whichever explains more, and its phase means."""
    candidates = [(samples, phase_means(rows, samples)) for samples in (float(round(period)), period)]
    return max(candidates, key=lambda candidate: float(np.square(candidate[1]).sum()))


def phase_means(rows: FloatArray, period: float) -> FloatArray:
    """The mean of all samples at the same phase, around the mean of all, one row a sample, (T, d)."""
    n_phases = max(2, round(period))
    phases = np.floor(np.arange(len(rows)) % period * (n_phases / period)).astype(np.intp) % n_phases
    counts = np.bincount(phases, minlength=n_phases)
    centred = rows - rows.mean(axis=0)
    means = np.stack([np.bincount(phases, column, n_phases) for column in centred.T], axis=1)
    return np.asarray((means / np.maximum(counts, 1)[:, None])[phases])


@dataclass(frozen=True)
class SlowWave:
    """Columns whose level follows a slow wave around a straight line better than it follows steps."""

    columns: IntArray
    values: FloatArray  # (n, columns), around their mean
    cycles: float  # of the wave that explains most


def find_slow_wave(level: FloatArray, borders: IntArray) -> SlowWave | None:
    """The wave that tells more of block means (n, d) than steps at some borders do, or tells it more simply.

    A season that is seen less than four times has no phase means worth the name. A wave may stand beside one of the
    steps, which then is no part of it. By Schwarz's criterion each number that a story needs costs a factor of
    n^(1/n) of what it leaves over: a step has a place and a height, and a wave counts as two steps. None if no wave is
    better.
    """
    n, d = level.shape
    centred = level - level.mean(axis=0)
    total, price = np.square(centred).sum(axis=0), n ** (1.0 / n)
    steps = (np.arange(n)[:, None] >= borders).astype(np.float64)  # (n, k)
    stories = [_by_wave(centred, np.zeros((n, 0)))]
    if len(borders) > _WORTH:
        stories.append(_by_wave(centred, steps))
    left = np.array([total - story.explained for story in stories])  # (stories, d)
    left *= price ** (2.0 * np.arange(len(stories)))[:, None]  # one more step
    with_steps = np.column_stack([np.ones(n), steps])
    by_steps = np.square(np.linalg.qr(with_steps)[0].T @ centred).sum(axis=0)
    allowed = _BETTER * price ** (2.0 * (len(borders) - _WORTH)) * (total - by_steps)
    best = left.argmin(axis=0)
    cycles, fitted = np.empty(d), np.empty((n, d))
    for j, story in enumerate(best):
        cycles[j], fitted[:, j] = stories[story].cycles[j], stories[story].fitted[:, j]
    columns = np.flatnonzero((left.min(axis=0) < allowed) & (cycles >= _BEND))
    if not len(columns):
        return None
    clearest = columns[(total - left.min(axis=0))[columns].argmax()]
    return SlowWave(columns, fitted[:, columns], float(cycles[clearest]))


@dataclass(frozen=True)
class _WaveFit:
    """Of each column: what the best wave explains, with a step beside it if there are any; the wave, and its cycles."""

    explained: FloatArray  # (d,)
    fitted: FloatArray  # (n, d)
    cycles: FloatArray  # (d,)


def _by_wave(centred: FloatArray, steps: FloatArray) -> _WaveFit:
    """The best of all waves for each column of (n, d), beside the best of some steps (n, k) if k > 0."""
    n, d = centred.shape
    found = _WaveFit(np.full(d, -np.inf), np.zeros((n, d)), np.zeros(d))
    for count in _WAVES:
        basis = _wave_basis(n, count)
        coefficients = basis.T @ centred
        explained, wave = np.square(coefficients).sum(axis=0), basis @ coefficients
        if steps.shape[1]:
            beyond = steps - basis @ (basis.T @ steps)  # (n, k)
            lengths = np.maximum(np.square(beyond).sum(axis=0), np.finfo(float).tiny)
            heights = (beyond.T @ centred) / lengths[:, None]  # (k, d)
            gains = np.square(heights) * lengths[:, None]
            step, own = gains.argmax(axis=0), np.arange(d)
            explained = explained + gains[step, own]
            wave = basis @ (basis.T @ (centred - steps[:, step] * heights[step, own]))
        better = explained > found.explained
        found.explained[better], found.cycles[better] = explained[better], count
        found.fitted[:, better] = wave[:, better]
    return found


def even_spread(values: FloatArray, cycles: float) -> FloatArray:
    """Values (T,) divided by a spread that follows a wave of so many cycles."""
    sizes = np.abs(values)
    logs = np.log(sizes + _SMALL * max(float(sizes.mean()), np.finfo(float).tiny))
    basis = _wave_basis(len(values), cycles)
    return np.asarray(values / np.exp(basis @ (basis.T @ (logs - logs.mean()))))


def _wave_basis(n: int, cycles: float) -> FloatArray:
    """Orthonormal columns that span a constant, a line and a wave, (n, 4)."""
    time = np.linspace(-1.0, 1.0, n)
    angle = np.pi * cycles * time
    return np.asarray(np.linalg.qr(np.stack([np.ones(n), time, np.cos(angle), np.sin(angle)], axis=1))[0])
