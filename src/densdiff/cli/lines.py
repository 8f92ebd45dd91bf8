"""Lines of standard input as they come: a wait that timers and signals end, and no more read than is worked on.

What stands in a line is read in `rows`.
"""

import io
import os
import select
import time
from collections import deque
from collections.abc import Callable
from typing import Any, BinaryIO

from densdiff.cli.signals import Stopped, StopSignals

LONGEST = 1 << 24  # bytes of a line that are kept
_PART = 1 << 16  # bytes read in one go
_GRACE = 1.0  # seconds that the rest of an unfinished line may take to come after a signal
_LONGEST_WAIT = 3600.0  # seconds; more than a day does not fit into a wait of the system


class LineInput:
    """Lines of a stream of bytes, one at a time.

    While no line comes, ``tick`` is called when it asked to be: it returns the seconds until the next time, or None.
    After a signal the lines that were read before are still given, and no others are read.
    """

    def __init__(
        self,
        stream: BinaryIO,
        signals: StopSignals | None = None,
        tick: Callable[[], float | None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.is_cut = False  # whether a row was begun whose end did not come after a signal
        self._stream, self._signals, self._tick, self._clock = stream, signals or StopSignals(), tick, clock
        self._lines: deque[bytes] = deque()
        self._pieces: list[bytes] = []  # of a line whose end has not come
        self._kept = 0  # bytes in them
        self._is_at_end = False
        self._last_moment: float | None = None
        self._file = _file_number(stream)
        self._poll = None if self._file is None else _poll_of(self._file, self._signals.waking_end)

    def next_line(self, *, is_within_row: bool = False) -> bytes | None:
        """The next line with its end, cut to `LONGEST` bytes; None at the end of the stream or after a signal."""
        while not self._lines and not self._is_at_end:
            if self._signals.received is None:
                self._read_part()
            else:
                self._finish_line(is_within_row)
        return self._lines.popleft() if self._lines else None

    def _read_part(self) -> None:
        if self._poll is None or self._file is None:
            self._tick()
            try:
                with self._signals.held(False):  # this wait hears of nothing else
                    data = self._stream.read1(_PART)  # type: ignore[attr-defined]
            except (Stopped, KeyboardInterrupt):
                return
            self._add(data)
            return
        while self._signals.received is None:
            wait = self._tick()
            milliseconds = None if wait is None else max(0.0, 1000.0 * min(wait, _LONGEST_WAIT)) + 1.0
            ready = self._poll.poll(milliseconds)
            if self._signals.received is None and any(file == self._file for file, _ in ready):
                self._add_from_file(_PART)
                return
            self._signals.forget_wakeups()

    def _add_from_file(self, most: int) -> None:
        try:
            data = os.read(self._file or 0, most)
        except BlockingIOError:  # another process made it so, and was quicker
            return
        self._add(data)

    def _finish_line(self, is_within_row: bool) -> None:
        """Wait a moment for the rest of a line that was begun, byte by byte, so that the next one stays unread."""
        if self._last_moment is None:
            self._last_moment = self._clock() + _GRACE
        wait = self._last_moment - self._clock()
        if (self._kept or is_within_row) and self._file is not None and wait > 0:
            if _poll_of(self._file).poll(1000.0 * wait):
                self._add_from_file(1)
            return
        self.is_cut, self._is_at_end = is_within_row or self._kept > 0, True

    def _add(self, data: bytes) -> None:
        if not data:
            self._is_at_end = True
            if self._kept:
                self._end_line(b"")
            return
        first, *others = data.split(b"\n")
        if not others:
            self._keep(first)
            return
        self._keep(first)
        self._end_line(b"\n")
        *whole, last = others
        self._lines.extend(line + b"\n" for line in whole)
        self._keep(last)

    def _keep(self, piece: bytes) -> None:
        if piece := piece[: LONGEST - self._kept]:
            self._pieces.append(piece)
            self._kept += len(piece)

    def _end_line(self, end: bytes) -> None:
        self._keep(end)
        self._lines.append(b"".join(self._pieces))
        self._pieces, self._kept = [], 0


def _file_number(stream: BinaryIO) -> int | None:
    """By which the system knows a stream; None of one in memory."""
    try:
        return stream.fileno() if hasattr(select, "poll") else None
    except (OSError, io.UnsupportedOperation):
        return None


def _poll_of(*files: int | None) -> Any:
    poll = select.poll()
    for file in files:
        if file is not None:
            poll.register(file, select.POLLIN)
    return poll
