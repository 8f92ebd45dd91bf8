"""Rows to a monitor: alarms and heartbeats out as they happen, bad rows counted, the state saved on the way.

What an alarm is lives in `series.monitor`; lines become rows in `rows`; all is put together in `service`.
"""

import datetime
import json
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from densdiff.cli.failures import emit, remark
from densdiff.cli.rows import INPUT, BadRow, Row
from densdiff.cli.signals import StopSignals
from densdiff.errors import InputError
from densdiff.series.stream_progress import StreamProgress

_EVERY = 1000  # rows after which the state is saved if no time is given
_RECENT = 100  # last lines of which most may be bad
_CHANGE = ("index", "score", "threshold", "strength", "since", "columns")  # of a step, in an alarm
_NAMED = 5  # bad rows that are named one by one; then only their number is told, ever more rarely


class _Unheard(Exception):
    """Nobody reads standard output any more."""


@dataclass(frozen=True)
class WatchOptions:
    """How a stream is watched."""

    time: str | None = None  # the column that holds it
    save_every: float | None = None  # seconds
    heartbeat: float | None = None  # seconds
    skips_bad_rows: bool = False


@dataclass
class WatchCounts:
    """Counts of this run; an alarm counts once, however long it lasts."""

    rows: int = 0
    alarms: int = 0
    alarm_rows: int = 0
    bad: int = 0
    bad_alarms: int = 0

    def __str__(self) -> str:
        bad = f", {count_text(self.bad, 'bad row')} skipped" if self.bad else ""
        return (
            f"{count_text(self.rows, 'row')}, {count_text(self.alarms, 'alarm')}, "
            f"{count_text(self.alarm_rows, 'row')} of alarm{bad}"
        )


class RecentLines:
    """Whether most of the last lines are bad, with an end that is clearly below the beginning."""

    def __init__(self, marks: str = "", is_alarm: bool = False) -> None:
        self._marks = deque(marks, maxlen=_RECENT)
        self.bad = self._marks.count("1")
        self.is_alarm = is_alarm

    def add(self, is_bad: bool) -> bool:
        """Take a line; True if from this one on most lines are bad."""
        self.bad += is_bad - (len(self._marks) == _RECENT and self._marks[0] == "1")
        self._marks.append("1" if is_bad else "0")
        was_alarm = self.is_alarm
        self.is_alarm = self.bad > (_RECENT // 4 if was_alarm else _RECENT // 2)
        return self.is_alarm and not was_alarm

    def __str__(self) -> str:
        return "".join(self._marks)

    def __len__(self) -> int:
        return len(self._marks)


class Timer:
    """Something to do again and again after a number of seconds."""

    def __init__(self, seconds: float, action: Callable[[], None], clock: Callable[[], float]) -> None:
        self._seconds, self._action, self._clock = seconds, action, clock
        self._due = clock() + seconds

    def tick(self) -> float:
        """Do it if it is due; the seconds until the next time."""
        now = self._clock()
        if now >= self._due:
            self._action()
            self._due = now + self._seconds
        return self._due - now


class Watch:
    """Feeds a monitor, prints its alarms, and saves its state on the way and however it ends."""

    def __init__(
        self,
        monitor: Any,
        state: Path | None,
        options: WatchOptions,
        *,
        progress: StreamProgress | None = None,
        signals: StopSignals | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.counts = WatchCounts()
        self.monitor, self.options, self._state = monitor, options, state
        self._signals = signals or StopSignals()
        before = progress or StreamProgress("", ended=True)
        self._alarms, self._bad_rows = before.alarms, before.bad_rows  # of the runs before
        self._recent = RecentLines(before.recent, before.mostly_bad)
        self._is_alarm = monitor.alarm_
        self._last = Row(0, None), None  # and its score
        self._saved_rows: int | None = None
        self._saved_lines = -1
        self._is_failing = False
        actions = (options.save_every, self._save_if_new), (options.heartbeat, self._print_heartbeat)
        self._timers = [Timer(seconds, action, clock) for seconds, action in actions if seconds is not None]

    def tick(self) -> float | None:
        """Do what is due by now; the seconds until something else is."""
        return min((timer.tick() for timer in self._timers), default=None)

    def run(self, rows: Iterable[Row | BadRow]) -> None:
        """Take rows until they end, a signal comes, or nobody reads the alarms any more."""
        self._save()  # or a run that is killed early would begin anew by another seed
        try:
            for row in rows:
                self._take(row)
                if self._signals.is_interrupt:
                    break
            if self._signals.is_interrupt:
                raise KeyboardInterrupt
        except _Unheard:
            pass
        except BaseException:
            self._try_save(ended=True)  # a failure to save must not hide what happened
            raise
        self._save(ended=True)

    def _take(self, row: Row | BadRow) -> None:
        if isinstance(row, BadRow):
            self._refuse(row)
            return
        try:
            step = self.monitor.update(row.values)
        except InputError as error:
            self._refuse(BadRow(row.line, error.reworded(f"line {row.line} of {INPUT}: {error.marked}")))
            return
        counts, begins = self.counts, step.alarm and not self._is_alarm
        self._is_alarm, self._last = step.alarm, (row, step.score)
        counts.rows, counts.alarms = counts.rows + 1, counts.alarms + begins
        counts.alarm_rows += step.alarm
        if self.options.skips_bad_rows:
            self._recent.add(False)
        for name, level in (step.new_levels or {}).items():
            self._print({"index": step.index, "column": name, "level": level, "kind": "new_level", "time": row.time})
        if begins:
            fields = {name: getattr(step, name) for name in _CHANGE}
            self._print(fields | {"kind": "change", "time": row.time})
        if begins or step.new_levels or (self.options.save_every is None and counts.rows % _EVERY == 0):
            self._try_save()

    def _refuse(self, row: BadRow) -> None:
        if not self.options.skips_bad_rows:
            raise row.error
        self.counts.bad += 1
        count = self.counts.bad
        if count <= _NAMED:
            remark(f"note: skipped: {row.error}")
        elif str(count).rstrip("0") == "1":
            remark(f"note: {count:,} bad rows are skipped by now, the last of them line {row.line:,} of {INPUT}")
        if self._recent.add(True):
            self.counts.bad_alarms += 1
            fields = {"rows": self.monitor.n_seen_, "line": row.line, "bad": self._recent.bad}
            self._print(fields | {"lines": len(self._recent), "kind": "bad_rows", "time": self._last[0].time})
            self._try_save()

    def _print_heartbeat(self) -> None:
        row, score = self._last
        fields = {"rows": self.monitor.n_seen_, "alarms": self._alarms + self.counts.alarms, "score": score}
        fields |= {"threshold": self.monitor.threshold_, "bad_rows": self._bad_rows + self.counts.bad}
        self._print(fields | {"saved_rows": self._saved_rows, "kind": "heartbeat", "time": row.time})

    def _print(self, fields: dict[str, Any]) -> None:
        if not emit(json.dumps(fields | {"seen_at": utc_now()})):
            raise _Unheard

    def _save(self, *, ended: bool = False) -> None:
        if self._state is None:
            return
        from densdiff.series.monitor import save_with_progress  # there already, with the monitor

        progress = StreamProgress(
            utc_now(),
            ended,
            alarms=self._alarms + self.counts.alarms,
            bad_rows=self._bad_rows + self.counts.bad,
            recent=str(self._recent),
            mostly_bad=self._recent.is_alarm,
        )
        save_with_progress(self.monitor, self._state, progress)
        if self._is_failing:
            remark(f"note: the state is saved again, at row {self.monitor.n_seen_:,}")
        self._saved_rows, self._is_failing = self.monitor.n_seen_, False
        self._saved_lines = self.counts.rows + self.counts.bad

    def _try_save(self, *, ended: bool = False) -> None:
        """Save, or say once that it fails: the state of before stays, and the stream is worth more than a new one."""
        try:
            self._save(ended=ended)
        except InputError as error:
            if not self._is_failing:
                kept = "no state is kept" if self._saved_rows is None else f"it stays that of row {self._saved_rows:,}"
                remark(f"note: {error}; {kept} until there is room")
            self._is_failing = True

    def _save_if_new(self) -> None:
        if self.counts.rows + self.counts.bad > self._saved_lines:
            self._try_save()


def utc_now() -> str:
    """The time of the clock on the wall in ISO 8601, in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def count_text(count: int, what: str) -> str:
    """A number of things in words."""
    return f"{count:,} {what}{'s' * (count != 1)}"
