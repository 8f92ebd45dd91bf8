"""Are neighbouring rows of a sample alike, is there a season, does it drift? What resampling must keep together.

Series are features of rows in the order in which they came; simulated streams are drawn in `run_length`.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from densdiff.core.scaling import FloatArray

_LAGS = 30  # at which dependence is looked for
_RARE = 1e-3  # chance that independent rows are called dependent, or have a season
_CALM_LAGS = 5  # lags in a row without correlation, after which there is none
_BLOCK = 4.0  # blocks are this times the cube root of the effective size, in units of the correlation time
_CYCLES = 4  # of a season that can be told from a drift
_SHORTEST = 3  # rows of a season
_DRIFT = 4.5  # standard errors of a slope
_AWAY = 0.25  # deviations from the first row to the last that a drift must make
_NEIGHBOURS = 15  # frequencies on both sides that tell what is ordinary
_MOST = 1 << 17  # rows that are looked at


@dataclass(frozen=True)
class SerialDependence:
    """What was seen in the order of the rows."""

    times: tuple[float, ...] = ()  # rows of each series that tell as much as one independent row; none: one row
    block: int = 1  # rows to keep together
    period: float = 0.0  # of a season, 0 for none
    drifting: int | None = None  # number of the series that drifts most
    drift: float = 0.0  # its slope, in deviations a row

    @property
    def time(self) -> float:
        """Rows that tell as much as one independent row, of the series that wanders most."""
        return max(self.times, default=1.0)

    @property
    def is_dependent(self) -> bool:
        return self.block > 1 or self.period > 0


def serial_dependence(series: FloatArray) -> SerialDependence:
    """Of series (n, m) of which each varies."""
    series = series[-_MOST:]
    n = len(series)
    values = (series - series.mean(axis=0)) / np.maximum(series.std(axis=0), np.finfo(float).tiny)
    clock = np.arange(n) - 0.5 * (n - 1)
    slopes = clock @ values / (clock @ clock)
    without = values - np.outer(clock, slopes)
    period = _period(without)
    if period:
        without = without - _seasonal(without, period)
    correlations = _autocorrelations(without, max(_LAGS, n // 4))
    times, reach = _correlation_times(correlations, n)
    errors = np.sqrt(times * without.var(axis=0) / (clock @ clock))
    evidence = np.abs(slopes) / np.maximum(errors, np.finfo(float).tiny)
    worst = int(np.argmax(evidence))
    drifts = evidence[worst] > _DRIFT and abs(slopes[worst]) * n > _AWAY
    alike, block = (), 1
    if _are_alike(correlations, n):
        alike = tuple(times.tolist())
        spread = float(reach.max())
        block = int(np.clip(np.ceil(_BLOCK * spread * np.cbrt(n / spread)), 2, max(2, n // 4)))
    return SerialDependence(alike, block, period, worst if drifts else None, float(slopes[worst]) if drifts else 0.0)


def _autocorrelations(values: FloatArray, lags: int) -> FloatArray:
    """At lags 0, 1, .., (lags, m)."""
    n = len(values)
    size = 1 << int(np.ceil(np.log2(2 * n)))
    found = np.empty((min(lags, n), values.shape[1]))
    for j, column in enumerate(values.T):
        power = np.abs(np.fft.rfft(column - column.mean(), size)) ** 2
        covariance = np.fft.irfft(power, size)[: len(found)]
        found[:, j] = covariance / max(covariance[0], np.finfo(float).tiny)
    return found


def _are_alike(correlations: FloatArray, n: int) -> bool:
    near = correlations[1 : _LAGS + 1]
    return bool(np.abs(near).max(initial=0.0) * np.sqrt(n) > -ndtri(_RARE / (2 * max(near.size, 1))))


def _correlation_times(correlations: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """One and twice the sum of correlations, and of their sizes, until several in a row are noise, (m,) each."""
    is_noise = np.abs(correlations[1:]) < 2.5 / np.sqrt(n)
    times = np.ones((2, correlations.shape[1]))
    for j, calm in enumerate(is_noise.T):
        runs = np.convolve(calm, np.ones(_CALM_LAGS), "valid") == _CALM_LAGS
        end = int(runs.argmax()) if runs.any() else len(calm)
        kept = correlations[1 : end + 1, j]
        times[:, j] = 1.0 + 2.0 * kept.sum(), 1.0 + 2.0 * np.abs(kept).sum()
    return np.maximum(times[0], 1.0), times[1]


def _period(values: FloatArray) -> float:
    """The period of a season that all series may share, 0 for none: a frequency that stands out among its neighbours.

    Slow drifts stand out at low frequencies; a season is known by rows one period apart that are more alike than those
    half a period apart.
    """
    n = len(values)
    powers = np.abs(np.fft.rfft(values, axis=0)) ** 2
    first, last = _CYCLES, n // _SHORTEST
    if last - first < 4 * _NEIGHBOURS:
        return 0.0
    padded = np.pad(powers[first:last], ((_NEIGHBOURS, _NEIGHBOURS), (0, 0)), mode="reflect")
    around = np.lib.stride_tricks.sliding_window_view(padded, 2 * _NEIGHBOURS + 1, axis=0)
    ratio = powers[first:last] / np.maximum(np.median(around, axis=-1), np.finfo(float).tiny)
    place, j = np.unravel_index(int(ratio.argmax()), ratio.shape)
    if ratio[place, j] * np.log(2.0) < np.log(ratio.size / _RARE):
        return 0.0
    period = _refined(values[:, j], first + int(place))
    correlations = _autocorrelations(values[:, [j]], n)[:, 0]
    least = 3.0 / np.sqrt(n)
    longer = [m * period for m in range(1, 9) if m * period * _CYCLES <= n] or [n / _CYCLES]
    height = [_near(correlations, length) for length in longer]
    best = int(np.argmax(height))
    best = best if height[best] > height[0] + 2.0 * least else 0  # a harmonic may be louder than the season
    is_season = height[best] > _near(correlations, 0.5 * longer[0], least=True) + least and height[best] > least
    return longer[best] if is_season else 0.0


def _refined(column: FloatArray, place: int) -> float:
    """The period near a frequency of the Fourier transform at which the power is largest; whole if it nearly is."""
    n = len(column)
    frequencies = (place + np.linspace(-1.0, 1.0, 81)) / n
    clock = np.arange(n)
    power = [abs(np.exp(-2j * np.pi * f * clock) @ column) for f in frequencies]
    period = 1.0 / float(frequencies[int(np.argmax(power))])
    return float(round(period)) if abs(period - round(period)) < 0.25 * period**2 / n else period


def _near(correlations: FloatArray, lag: float, *, least: bool = False) -> float:
    part = correlations[max(1, round(lag) - 1) : round(lag) + 2]
    return float(part.min() if least else part.max())


def _seasonal(values: FloatArray, period: float) -> FloatArray:
    """Means of each phase, in place of the rows."""
    phases = (np.arange(len(values)) % period).astype(np.intp)
    counts = np.maximum(np.bincount(phases), 1)
    means = np.stack([np.bincount(phases, column) / counts for column in values.T], axis=1)
    return np.asarray(means[phases])
