"""Signals that end a monitor: noted while it works, so that no row is left half-way, and heard while it waits.

What is done about them is decided in `stream`.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import current_thread, main_thread
from types import FrameType, TracebackType
from typing import Any

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # the last does not exist everywhere


class Stopped(BaseException):
    """A signal came that asks to end: no failure, so nothing that handles failures may catch it."""


class StopSignals:
    """The last signal that asked to end; raised at once, unless they are held: then it is only noted."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self.is_held = False
        self._usual: dict[signal.Signals, Any] = {}
        self._ends: tuple[int, int] | None = None
        self._usual_wakeup = -1

    def __enter__(self) -> "StopSignals":
        if current_thread() is not main_thread():  # only that one may handle signals
            return self
        self._ends = os.pipe()
        for end in self._ends:
            os.set_blocking(end, False)
        # a handler alone might run just before a wait begins, which would not notice it
        self._usual_wakeup = signal.set_wakeup_fd(self._ends[1], warn_on_full_buffer=False)
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup asks to ignore
                self._usual[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, usual in self._usual.items():
            signal.signal(number, usual)
        if self._ends is not None:
            signal.set_wakeup_fd(self._usual_wakeup)
            for end in self._ends:
                os.close(end)

    @property
    def waking_end(self) -> int | None:
        """What becomes readable when a signal comes."""
        return None if self._ends is None else self._ends[0]

    def forget_wakeups(self) -> None:
        """Empty what woke a wait, or a signal of another kind would wake every wait from then on."""
        if self._ends is not None:
            with suppress(BlockingIOError):
                os.read(self._ends[0], 4096)

    @property
    def is_interrupt(self) -> bool:
        """Whether the signal is that of Ctrl-C."""
        return self.received == signal.SIGINT

    @contextmanager
    def held(self, is_held: bool = True) -> Iterator[None]:
        """Let signals wait, or not, within a part of the work."""
        usual, self.is_held = self.is_held, is_held
        try:
            yield
        finally:
            self.is_held = usual

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number)
        if not self.is_held:
            self.is_held = True  # one is enough to end
            raise KeyboardInterrupt if self.is_interrupt else Stopped
