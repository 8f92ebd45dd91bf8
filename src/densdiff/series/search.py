"""Levels and rhythm searched together: two scans of one series that share alpha, and one list of changes.

The scans live in `scan` and `rhythm`; what may pass for a change is handled in `pretenders`.
"""

from dataclasses import dataclass, replace

import numpy as np

from densdiff.core import contrasts
from densdiff.core.contrasts import BoolArray, IntArray
from densdiff.core.scaling import FloatArray
from densdiff.estimators.lsdd import LSDD
from densdiff.series.period import Period
from densdiff.series.rhythm import RhythmScan
from densdiff.series.scan import Plan, SeriesScan, beyond_lines

_RHYTHM, _NO_RHYTHM = 0.5, 0.2  # of alpha goes to the scan of rhythm, where a period is clear and where none is
_APART = 2.0  # periods between a change of one scan and one of the other, or they are the same


@dataclass(frozen=True)
class Search:
    """Both scans of a series; ``share`` of alpha goes to that of rhythm, the rest to that of levels."""

    level: SeriesScan
    rhythm: RhythmScan | None
    lines: IntArray  # columns that follow a straight line
    least: float  # the p-value of a change of level beyond those lines
    share: float

    @classmethod
    def of(cls, rows: FloatArray, flat: FloatArray, plan: Plan, model: LSDD, period: Period | None) -> "Search":
        """Both scans of rows (T, d); ``flat`` are the rows without seasons, in which levels are compared."""
        share = _NO_RHYTHM if period is None else _RHYTHM
        level = SeriesScan.of(flat, replace(plan, alpha=plan.alpha * (1.0 - share)), model, False)
        lines, least = beyond_lines(flat, level, model)
        if len(lines):
            rows = rows.copy()
            rows[:, lines] -= contrasts.fitted_lines(rows[:, lines])
        samples = None if period is None else period.samples
        rhythm = RhythmScan.of(rows, samples, plan.window, level.plan.n_simulated, plan.seed)
        return cls(level, rhythm, lines, least, 0.0 if rhythm is None else share)

    def segment(self, alpha: float, n_changes: int | None) -> tuple[IntArray, FloatArray]:
        """Changes and their p-values, of both scans together: those up to alpha, or ``n_changes`` of them.

        The scan whose largest contrast is further above its threshold goes first; the other one adds what is not
        near any of its changes.
        """
        level = self._segment_level(n_changes)
        if self.rhythm is None:
            found = [(*level, True)]
        else:
            places, pvalues = self.rhythm.segment(alpha * self.share, n_changes)
            is_rhythm_first = self._rhythm_is_clearer(alpha)
            if is_rhythm_first:
                places = _nearest(places, level[0][level[1] <= alpha], self.level.plan.window)
            found = [(*level, True), (places, np.minimum(1.0, pvalues / self.share), False)]
            if is_rhythm_first:
                found.reverse()
        if n_changes is not None and len(found[0][0]) < n_changes <= len(found[-1][0]):
            found.reverse()  # the first one has no room for so many
        if n_changes is None:
            found = [(changes[pvalues <= alpha], pvalues[pvalues <= alpha], own) for changes, pvalues, own in found]
        changes, pvalues, own = found[0]
        is_level = np.full(len(changes), own)
        for more, p, own in found[1:]:
            new = np.flatnonzero((np.abs(more[:, None] - changes) > self._reach()).all(axis=1))
            if n_changes is not None:
                new = new[: n_changes - len(changes)]
            changes, pvalues = np.append(changes, more[new]), np.append(pvalues, p[new])
            is_level = np.append(is_level, np.full(len(new), own))
        order = np.argsort(changes, kind="stable")
        changes, pvalues, is_level = changes[order], pvalues[order], is_level[order]
        if n_changes is None and is_level.any() and not is_level.all():
            kept = self._clear_beside_others(changes, is_level, alpha)
            changes, pvalues = changes[kept], pvalues[kept]
        return changes, pvalues

    def _clear_beside_others(self, changes: IntArray, is_level: BoolArray, alpha: float) -> IntArray:
        """Numbers of the changes that are significant between their neighbours: what both scans found, but one of them
        far from its place, is left at its place."""
        places = changes.tolist()

        def pvalue(k: int, low: int, high: int) -> float:
            if is_level[k] or self.rhythm is None:
                return max(self.level.pvalue_between(low, places[k], high), self.least) / (1.0 - self.share)
            return self.rhythm.pvalue_between(low, places[k], high) / self.share

        kept = contrasts.clear_places(places, self.level.plan.length, pvalue, lambda p: p <= alpha)
        return np.array(kept, dtype=np.intp)

    def level_changes(self, alpha: float) -> IntArray:
        """The changes that the scan of levels finds by itself."""
        changes, pvalues = self._segment_level(None)
        return changes[pvalues <= alpha]

    def _segment_level(self, n_changes: int | None) -> tuple[IntArray, FloatArray]:
        """Changes of level, and p-values for the share of alpha that they have."""
        changes, pvalues = self.level.segment(n_changes)
        return changes, np.minimum(1.0, np.maximum(pvalues, self.least) / (1.0 - self.share))

    def contrasts_at_samples(self, alpha: float) -> FloatArray:
        """The larger of both contrasts at every sample, that of rhythm in units in which both have one threshold."""
        level = _interpolated(self.level.contrasts(), self.level.borders(), self.level.plan.length)
        if self.rhythm is None:
            return level
        unit = self.threshold(alpha) / self.rhythm.threshold(alpha * self.share)
        borders = np.arange(len(self.rhythm.sums))
        places = self.rhythm.blocks.samples_at(borders)
        rhythm = _interpolated(unit * self.rhythm.contrasts(), places, self.level.plan.length)
        return np.fmax(level, rhythm)

    def threshold(self, alpha: float) -> float:
        """What the contrast at a sample must exceed."""
        return float(np.quantile(self.level.maxima, 1.0 - alpha * (1.0 - self.share), method="higher"))

    def _rhythm_is_clearer(self, alpha: float) -> bool:
        assert self.rhythm is not None
        largest = [float(self.level.contrasts().max()), self.rhythm.largest()]
        own = max(self.level.pvalue(largest[0]), self.least) / (1.0 - self.share)
        pvalues = [own, self.rhythm.pvalue(largest[1]) / self.share]
        if pvalues[0] != pvalues[1]:
            return pvalues[1] < pvalues[0]
        return largest[1] * self.level.threshold > largest[0] * self.rhythm.threshold(alpha * self.share)

    def _reach(self) -> float:
        """Samples within which two changes are one."""
        assert self.rhythm is not None
        return max(self.level.plan.window, _APART * self.rhythm.period)


def _nearest(changes: IntArray, places: IntArray, reach: int) -> IntArray:
    """Each change at the nearest of some places, if that is within reach and nearest to no other change."""
    if not len(changes) or not len(places):
        return changes
    away = np.abs(changes[:, None] - places)  # (changes, places)
    place, change = away.argmin(axis=1), away.argmin(axis=0)
    is_mutual = (change[place] == np.arange(len(changes))) & (away.min(axis=1) <= reach)
    return np.where(is_mutual, places[place], changes)


def _interpolated(values: FloatArray, places: FloatArray | IntArray, length: int) -> FloatArray:
    """Values at every sample, straight between their places, nan where they are infinite or beyond the ends."""
    finite = np.where(np.isfinite(values), values, np.nan)
    return np.interp(np.arange(length), places, finite, left=np.nan, right=np.nan)
