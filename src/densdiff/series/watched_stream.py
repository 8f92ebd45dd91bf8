"""How far a stream has come: its sums, its last rows, and the alarm that lasts.

The sums are those of `core.forgetting_sums`, the features those of `stream`.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from densdiff.core.forgetting_sums import SUMMED, Bank, Score
from densdiff.core.scaling import FloatArray
from densdiff.series.stream import StreamModel

KEPT = 4  # windows of last rows, in which the beginning of a change is looked for
_ENTRIES = 50_000  # of sums that are looked at in one go, so that memory stays the same
_ORDINARY = 0.3  # of its height: a feature below that takes no blame


class Finding(NamedTuple):
    """What one row made of the score; nothing before the window is full."""

    score: float | None = None
    since: int | None = None  # of an alarm
    shares: FloatArray | None = None  # of an alarm, of the kept columns of the model


@dataclass(frozen=True)
class Detector:
    """All that is fixed while a stream is watched."""

    model: StreamModel
    bank: Bank
    heights: FloatArray  # (K, G)
    threshold: float
    window: int

    @cached_property
    def score(self) -> Score:
        """Of sums."""
        return Score.of(self.bank, self.heights)

    def loudest(self, sums: FloatArray) -> tuple[int, str]:
        """The pace and the statistic that stand out most, from sums (K, p)."""
        ratios = self.bank.groups.statistics(self.bank.squares(sums)) / self.heights
        pace, statistic = np.unravel_index(int(ratios.argmax()), ratios.shape)
        return int(pace), list(self.bank.groups.slices)[int(statistic)]

    def shares(self, sums: FloatArray) -> FloatArray:
        """What each kept column has to do with an alarm, (d',), with sum 1."""
        groups, (pace, _) = self.bank.groups, self.loudest(sums)
        squares = self.bank.squares(sums)[pace, : groups.single]
        names = list(groups.slices)
        heights = np.concatenate(
            [
                np.full(part.stop - part.start, self.heights[pace, names.index(name)])
                for name, part in groups.slices.items()
                if name not in SUMMED
            ]
        )
        blame = np.maximum(squares / heights - _ORDINARY * self.threshold, 0.0) @ self.model.owners
        if not blame.any():  # all moved a little
            blame = squares @ self.model.owners
        return np.asarray(blame / blame.sum()) if blame.any() else np.full(len(blame), 1.0 / len(blame))

    def rows_since(self, sums: FloatArray, rows: FloatArray) -> int:
        """How many of the last rows seem to come after the change: the likeliest number if a mean jumped."""
        pace, name = self.loudest(sums)
        part, gaps = self.bank.groups.slices[name], self.model.features(rows) - self.bank.mean
        direction = sums[pace, part] * self.bank.precision[part]
        if name not in SUMMED:
            single = np.zeros_like(direction)
            place = int(np.argmax(self.bank.squares(sums)[pace, part]))
            single[place] = direction[place]
            direction = single
        along = np.einsum("ij,j->i", gaps[::-1, part], direction)
        gain = np.maximum(np.cumsum(along), 0.0) ** 2 / np.arange(1, len(rows) + 1)
        return int(gain.argmax()) + 1


@dataclass
class StreamPosition:
    """How far a stream has come."""

    sums: FloatArray  # (K, p)
    recent: FloatArray  # the last rows, each in the place of its index modulo their number
    seen: int = 0
    fresh: int = 0  # rows since the sums were empty
    since: int | None = None  # of the alarm that lasts
    new_levels: dict[str, list[str]] = field(default_factory=dict)  # that the stream has brought so far

    @classmethod
    def start(cls, detector: Detector, width: int) -> "StreamPosition":
        """Before the first row of ``width`` numbers."""
        return cls(np.zeros(detector.bank.units.shape), np.zeros((KEPT * detector.window, width)))

    def push(self, detector: Detector, rows: FloatArray, restarts: bool) -> list[Finding]:
        """Take rows of numbers (k, q), one after the other; the sums begin anew after an alarm if it restarts."""
        found: list[Finding] = []
        size = max(1, _ENTRIES // detector.bank.units.size)
        for first in range(0, len(rows), size):
            part = rows[first : first + size]
            features = detector.model.features(part)
            done = 0
            while done < len(part):
                done += self._advance(detector, part[done:], features[done:], found, restarts)
        return found

    def push_one(self, detector: Detector, row: FloatArray, restarts: bool) -> Finding:
        """Take one row of numbers, (1, q), without detours while there is no alarm."""
        features = detector.model.features(row)
        sums = detector.bank.sums(self.sums, features)
        score = detector.score(sums).item() if self.fresh >= detector.window - 1 else None
        if score is not None and score > detector.threshold:
            found: list[Finding] = []
            self._advance(detector, row, features, found, restarts)
            return found[0]
        self.sums, self.since = sums[0], None
        self.recent[self.seen % len(self.recent)] = row[0]
        self.seen += 1
        self.fresh += 1
        return Finding(score)

    def _advance(
        self, detector: Detector, rows: FloatArray, features: FloatArray, found: list[Finding], restarts: bool
    ) -> int:
        """Take rows up to the end, or to an alarm after which the sums begin anew; how many were taken."""
        sums, kept = detector.bank.sums(self.sums, features), 0
        scores = detector.score(sums).tolist()
        silent = detector.window - 1 - self.fresh
        for i, score in enumerate(scores):
            if i < silent:
                self.since = None
                found.append(Finding())
            elif not score > detector.threshold:
                self.since = None
                found.append(Finding(score))
            else:
                if self.since is None:
                    self._keep(rows[kept : i + 1])
                    kept = i + 1
                    self.since = self.seen - detector.rows_since(sums[i], self._last_rows())
                found.append(Finding(score, self.since, detector.shares(sums[i])))
                if restarts:
                    self.sums, self.fresh = np.zeros_like(self.sums), 0
                    return i + 1
        self._keep(rows[kept:])
        self.sums = sums[0] if len(sums) == 1 else sums[-1].copy()
        return len(rows)

    def _keep(self, rows: FloatArray) -> None:
        places = len(self.recent)
        last = rows[-places:]
        self.recent[(self.seen + len(rows) - len(last) + np.arange(len(last))) % places] = last
        self.seen += len(rows)
        self.fresh += len(rows)

    def _last_rows(self) -> FloatArray:
        """The last rows since the sums were empty, in their order."""
        count = min(self.fresh, len(self.recent))
        return self.recent[(self.seen - count + np.arange(count)) % len(self.recent)]
