"""What changed at each change of a series: level, spread, correlation or rhythm, with a p-value each."""

import warnings
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import stats

from densdiff import messages
from densdiff.core.contrasts import IntArray
from densdiff.core.scaling import FloatArray
from densdiff.series.features import moderate_units
from densdiff.series.period import find_period

KINDS = ("level", "spread", "correlation", "rhythm")
_CYCLES = 3.0  # of a period in a segment
_CALM = 0.01  # of the spread of the noisier side
_CLEAR = 0.01
_MOST_COLUMNS = 20  # whose pairs are compared
_BLOCKS = 6
_SHARES = (0.125, 0.25, 0.5, 1.0)  # of a period: lags at which autocorrelations are compared


@dataclass(frozen=True)
class ChangeKind:
    """What changed at one change.

    Attributes
    ----------
    what : str
        The clearest of "level", "spread", "correlation" and "rhythm"; "distribution" if none of them is clear.
    pvalue : float
        Of ``what``, given the place of the change; of the change itself for "distribution".
    pvalues : dict of str to float
        Of every kind that this series can show: a series of one column has no correlation.
    period_before, period_after : float or None
        Samples in a period of the segment before the change and of the one after it; None without a clear period.
    text : str
        All kinds that are clear, in words: "rhythm from period 24 to 12; spread x 1.5".
    """

    what: str
    pvalue: float
    pvalues: dict[str, float]
    period_before: float | None
    period_after: float | None
    text: str


def describe_changes(
    rows: FloatArray, names: tuple[str, ...], changes: IntArray, pvalues: FloatArray, window: int
) -> tuple[ChangeKind, ...]:
    """What changed at each change of rows (T, d), between the segment before it and the one after it."""
    rows, exponents = moderate_units(rows)
    segments = [rows[low:high] for low, high in pairwise([0, *changes.tolist(), len(rows)])]
    periods = [find_period(segment, len(segment) / _CYCLES) for segment in segments]
    samples = [None if period is None else period.samples for period in periods]
    kinds = []
    for k, pvalue in enumerate(pvalues):
        contrast = _Contrast(segments[k], segments[k + 1], samples[k], samples[k + 1], names, exponents, window)
        kinds.append(contrast.kind(float(pvalue)))
    return tuple(kinds)


@dataclass(frozen=True)
class _Contrast:
    """Two neighbouring segments, compared by means of blocks that are long enough to be nearly independent."""

    before: FloatArray
    after: FloatArray
    period_before: float | None
    period_after: float | None
    names: tuple[str, ...]
    exponents: npt.NDArray[np.intc]  # powers of two that columns were divided by
    window: int

    def kind(self, pvalue: float) -> ChangeKind:
        tests = {"level": self._level(), "spread": self._spread(), "rhythm": self._rhythm()}
        if 1 < self.before.shape[1] <= _MOST_COLUMNS:
            tests["correlation"] = self._correlation()
        pvalues = {what: tests[what][0] for what in KINDS if what in tests}
        clear = sorted((p, what) for what, p in pvalues.items() if p <= _CLEAR)
        text = "; ".join(tests[what][1] for _, what in clear) or "distribution"
        p, what = clear[0] if clear else (pvalue, "distribution")
        return ChangeKind(what, p, pvalues, self.period_before, self.period_after, text)

    def _level(self) -> tuple[float, str]:
        p, j = self._smallest(self.before, self.after)
        low, high = (np.ldexp(side[:, j].mean(), self.exponents[j]) for side in (self.before, self.after))
        return p, f"level of {messages.shown(self.names[j])} from {low:.3g} to {high:.3g}"

    def _spread(self) -> tuple[float, str]:
        sides = [np.abs(side - side.mean(axis=0)) for side in (self.before, self.after)]
        p, j = self._smallest(*sides)
        before, after = (float(side[:, j].mean()) for side in sides)
        if min(before, after) < _CALM * max(before, after):  # a ratio says nothing of what hardly moves
            ends = (np.ldexp(side[:, j].std(), self.exponents[j]) for side in (self.before, self.after))
            return p, f"standard deviation of {messages.shown(self.names[j])} from {next(ends):.3g} to {next(ends):.3g}"
        return p, f"spread of {messages.shown(self.names[j])} times {after / max(before, np.finfo(float).tiny):.3g}"

    def _correlation(self) -> tuple[float, str]:
        first, second = np.triu_indices(self.before.shape[1], 1)
        sides = [side[:, first] * side[:, second] for side in self._standardized()]
        p, j = self._smallest(*sides)
        which = " and ".join(messages.shown(self.names[i]) for i in (first[j], second[j]))
        return p, f"correlation of {which} from {sides[0][:, j].mean():.2f} to {sides[1][:, j].mean():.2f}"

    def _rhythm(self) -> tuple[float, str]:
        lags = {1, 2}
        for period in (self.period_before, self.period_after):
            lags |= {round(period * share) for share in _SHARES} if period is not None else {5, 10}
        longest = (min(len(self.before), len(self.after)) - 1) // 2
        usable = sorted(lag for lag in lags if 1 <= lag <= longest)
        if not usable:
            return 1.0, ""
        best = (1.0, 0, 0, 0.0, 0.0)
        for lag in usable:
            sides = [side[lag:] * side[:-lag] for side in self._standardized()]
            p, j = self._smallest(*sides)
            best = min(best, (p, lag, j, float(sides[0][:, j].mean()), float(sides[1][:, j].mean())))
        p, lag, j, low, high = best
        shown = [None if period is None else f"{period:.3g}" for period in (self.period_before, self.period_after)]
        if shown[0] != shown[1]:
            text = f"rhythm from {' to '.join('no period' if s is None else f'period {s}' for s in shown)}"
        else:
            text = f"rhythm, autocorrelation at lag {lag} from {low:.2f} to {high:.2f}"
        return min(1.0, p * len(usable)), text

    def _standardized(self) -> list[FloatArray]:
        """Both segments around their means in units of their deviations."""
        sides = []
        for side in (self.before, self.after):
            deviation = side.std(axis=0)
            sides.append((side - side.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))
        return sides

    def _smallest(self, before: FloatArray, after: FloatArray) -> tuple[float, int]:
        """The smallest p-value of equal means over all columns, times their number, and its column."""
        sides = [self._block_means(side) for side in (before, after)]
        if min(map(len, sides)) < 2:
            return 1.0, 0
        with warnings.catch_warnings():  # blocks that are all equal
            warnings.simplefilter("ignore", RuntimeWarning)
            pvalues = np.asarray(stats.ttest_ind(*sides, equal_var=False).pvalue)
        pvalues = np.where(np.isnan(pvalues), np.where((sides[0][0] == sides[1][0]), 1.0, 0.0), pvalues)
        j = int(pvalues.argmin())
        return min(1.0, float(pvalues[j]) * len(pvalues)), j

    def _block_means(self, values: FloatArray) -> FloatArray:
        """Means of blocks of two periods or half a window, at least six of them where there is room, (n, k)."""
        periods = [period for period in (self.period_before, self.period_after) if period is not None]
        length = max(self.window / 2, 2.0 * max(periods, default=0.0))
        length = max(1, min(round(length), len(values) // _BLOCKS))
        n = len(values) // length
        return np.asarray(values[: n * length].reshape(n, length, -1).mean(axis=1))
