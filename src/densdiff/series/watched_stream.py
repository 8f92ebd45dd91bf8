"""How far a stream has come: its odds and sums, its last rows, and the alarm that lasts.

The odds are those of `core.change_odds`, the sums those of `core.forgetting_sums`, the features those of `stream`.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from densdiff.core.change_score import Score
from densdiff.core.scaling import FloatArray
from densdiff.series.stream import StreamModel

KEPT = 4  # windows of last rows, in which the beginning of a change is looked for
_ENTRIES = 50_000  # of sums that are looked at in one go, so that memory stays the same
_ORDINARY = 0.3  # of the threshold: a feature below that takes no blame


class Finding(NamedTuple):
    """What one row made of the score; nothing before the window is full."""

    score: float | None = None
    since: int | None = None  # of an alarm
    shares: FloatArray | None = None  # of an alarm, of the kept columns of the model


@dataclass(frozen=True)
class Detector:
    """All that is fixed while a stream is watched."""

    model: StreamModel
    mean: FloatArray  # of the features in the reference, (p,)
    score: Score
    threshold: float  # above which an alarm begins
    release: float  # at which it ends
    window: int

    @cached_property
    def size(self) -> int:
        """Numbers that are kept of a stream, without its last rows."""
        return self.score.bank.units.size + len(self.score.hypotheses.feature)

    @cached_property
    def _ceiling(self) -> FloatArray:
        return self.score.hypotheses.ceiling(self.score.evidence * self.threshold, self.window)

    def gaps(self, rows: FloatArray) -> FloatArray:
        """Features of rows less their means in the reference, (k, p)."""
        gaps = self.model.features(rows)
        gaps -= self._means
        return gaps

    @cached_property
    def _means(self) -> FloatArray:
        return self.mean[None]

    def advance(self, sums: FloatArray, odds: FloatArray, gaps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums (k, K, r) and odds (k, H) after each row, from those before."""
        return self.score.bank.sums(sums, gaps), self.score.hypotheses.odds(odds, gaps, self._ceiling)

    def evidence(self, odds: FloatArray) -> FloatArray:
        """What each single feature alone would make of the score, from odds (H,): (single,)."""
        hypotheses = self.score.hypotheses
        weighted = np.bincount(hypotheses.feature, odds * hypotheses.weight, minlength=self.model.groups.single)
        return np.asarray(np.log1p(weighted) / self.score.evidence)

    def shares(self, odds: FloatArray) -> FloatArray:
        """What each kept column has to do with an alarm, (d',), with sum 1."""
        evidence = self.evidence(odds)
        blame = np.maximum(evidence - _ORDINARY * self.threshold, 0.0) @ self.model.owners
        if not blame.any():  # all moved a little
            blame = evidence @ self.model.owners
        return np.asarray(blame / blame.sum()) if blame.any() else np.full(len(blame), 1.0 / len(blame))

    def rows_since(self, sums: FloatArray, odds: FloatArray, rows: FloatArray) -> int:
        """How many of the last rows seem to come after the change: the likeliest number if a mean jumped."""
        part, direction = self._direction(sums, odds)
        along = np.einsum("ij,j->i", self.gaps(rows)[::-1, part], direction)
        gain = np.maximum(np.cumsum(along), 0.0) ** 2 / np.arange(1, len(rows) + 1)
        return int(gain.argmax()) + 1

    def _direction(self, sums: FloatArray, odds: FloatArray) -> tuple[slice, FloatArray]:
        """Features that stand out most, and where they go."""
        score, bank, hypotheses = self.score, self.score.bank, self.score.hypotheses
        evidence, squares = score.parts(sums[None], odds[None])
        if evidence[0] >= squares[0]:
            likeliest = int(np.argmax(odds * hypotheses.weight))
            feature = int(hypotheses.feature[likeliest])
            return slice(feature, feature + 1), np.sign(hypotheses.slope[likeliest : likeliest + 1])
        ratios = bank.statistics(sums[None])[0] / score.heights
        pace, group = np.unravel_index(int(ratios.argmax()), ratios.shape)
        part, start = list(bank.groups.summed.values())[int(group)], int(bank.groups.starts[group])
        return part, sums[pace, start : start + part.stop - part.start] * bank.precision[part]


@dataclass
class StreamPosition:
    """How far a stream has come."""

    sums: FloatArray  # (K, r)
    odds: FloatArray  # (H,)
    recent: FloatArray  # the last rows, each in the place of its index modulo their number
    seen: int = 0
    fresh: int = 0  # rows since sums and odds were zero
    since: int | None = None  # of the alarm that lasts
    new_levels: dict[str, list[str]] = field(default_factory=dict)  # that the stream has brought so far

    @classmethod
    def start(cls, detector: Detector, width: int) -> "StreamPosition":
        """Before the first row of ``width`` numbers."""
        sums, odds = np.zeros(detector.score.bank.units.shape), np.zeros(len(detector.score.hypotheses.feature))
        return cls(sums, odds, np.zeros((KEPT * detector.window, width)))

    def push(self, detector: Detector, rows: FloatArray, restarts: bool) -> list[Finding]:
        """Take rows of numbers (k, q), one after the other; all begins anew after an alarm if it restarts."""
        found: list[Finding] = []
        size = max(1, _ENTRIES // detector.size)
        for first in range(0, len(rows), size):
            part = rows[first : first + size]
            gaps = detector.gaps(part)
            done = 0
            while done < len(part):
                done += self._advance(detector, part[done:], gaps[done:], found, restarts)
        return found

    def push_one(self, detector: Detector, row: FloatArray, restarts: bool) -> Finding:
        """Take one row of numbers, (1, q), like `push` and without its detours."""
        sums, odds = detector.advance(self.sums, self.odds, detector.gaps(row))
        self.sums, self.odds = sums[0], odds[0]
        self.recent[self.seen % len(self.recent)] = row[0]
        self.seen += 1
        self.fresh += 1
        if self.fresh < detector.window:
            self.since = None
            return Finding()
        score = detector.score.of_rows(sums, odds)[0]
        if self._is_alarm(detector, score):
            found = self._alarm(detector, score, self.sums, self.odds)
            if restarts:
                self._restart()
            return found
        self.since = None
        return Finding(score)

    def _advance(
        self, detector: Detector, rows: FloatArray, gaps: FloatArray, found: list[Finding], restarts: bool
    ) -> int:
        """Take rows up to the end, or to an alarm after which all begins anew; how many were taken."""
        (sums, odds), kept = detector.advance(self.sums, self.odds, gaps), 0
        scores = detector.score.of_rows(sums, odds)
        silent = detector.window - 1 - self.fresh
        for i, score in enumerate(scores):
            if i < silent:
                self.since = None
                found.append(Finding())
            elif not self._is_alarm(detector, score):
                self.since = None
                found.append(Finding(score))
            else:
                self._keep(rows[kept : i + 1])
                kept = i + 1
                found.append(self._alarm(detector, score, sums[i], odds[i]))
                if restarts:
                    self._restart()
                    return i + 1
        self._keep(rows[kept:])
        self.sums, self.odds = sums[-1].copy(), odds[-1].copy()
        return len(rows)

    def _is_alarm(self, detector: Detector, score: float) -> bool:
        return score > (detector.threshold if self.since is None else detector.release)

    def _alarm(self, detector: Detector, score: float, sums: FloatArray, odds: FloatArray) -> Finding:
        """An alarm after the last row that was kept, one that begins or one that lasts."""
        if self.since is None:
            self.since = self.seen - detector.rows_since(sums, odds, self._last_rows())
        return Finding(score, self.since, detector.shares(odds))

    def _restart(self) -> None:
        self.sums, self.odds, self.fresh = np.zeros_like(self.sums), np.zeros_like(self.odds), 0

    def _keep(self, rows: FloatArray) -> None:
        places = len(self.recent)
        last = rows[-places:]
        self.recent[(self.seen + len(rows) - len(last) + np.arange(len(last))) % places] = last
        self.seen += len(rows)
        self.fresh += len(rows)

    def _last_rows(self) -> FloatArray:
        """The last rows since sums and odds were zero, in their order."""
        count = min(self.fresh, len(self.recent))
        return self.recent[(self.seen - count + np.arange(count)) % len(self.recent)]
