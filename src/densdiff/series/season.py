"""Seasons: means of each phase, taken off where a window is too short to average over them; slow waves that may be one.

The period comes from `period`; changes of the season itself are found in `rhythm`.
"""

from dataclasses import dataclass

import numpy as np

from densdiff.core import contrasts
from densdiff.core.contrasts import IntArray
from densdiff.core.scaling import FloatArray
from densdiff.series.period import find_period

_CYCLES = 4.0  # of a season in the series, at least: fewer do not tell a season from changes
_HELD = 3.0  # periods in a window, from which on a season averages out
_STRONG = 0.2  # autocorrelation one period away
_SEASONS = 3  # day, week and year


@dataclass(frozen=True)
class Deseasoned:
    """A series without its seasons, and their periods in samples."""

    rows: FloatArray  # (T, d)
    periods: tuple[float, ...]


def remove_seasons(rows: FloatArray, window: int) -> Deseasoned:
    """Rows without the phase means of every period that is clear and of which a window holds fewer than three."""
    left, periods = rows, []
    for _ in range(_SEASONS):
        period = find_period(left, len(rows) / _CYCLES)
        if period is None or period.strength < _STRONG or _HELD * period.samples <= window:
            break
        left = left - phase_means(left, period.samples)
        periods.append(period.samples)
    return Deseasoned(left, tuple(periods))


def phase_means(rows: FloatArray, period: float) -> FloatArray:
    """The mean of all samples at the same phase, around the mean of all, one row a sample, (T, d)."""
    n_phases = max(2, round(period))
    phases = np.floor(np.arange(len(rows)) % period * (n_phases / period)).astype(np.intp) % n_phases
    counts = np.bincount(phases, minlength=n_phases)
    centred = rows - rows.mean(axis=0)
    means = np.stack([np.bincount(phases, column, n_phases) for column in centred.T], axis=1)
    return np.asarray((means / np.maximum(counts, 1)[:, None])[phases])
