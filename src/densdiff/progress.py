"""How far long work is, on standard error if that is a terminal: what is done, how much, and about how long still.

Short work says nothing, and the line is wiped away at the end. Of work within work the outer one speaks.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import TypeVar

T = TypeVar("T")
_PATIENCE = 1.0  # seconds before work says how far it is, and between one time and the next
_KNOWN = 0.05  # share of the work from which on the time that is left is told


class _Running:
    """How much work is running now that says how far it is."""

    def __init__(self) -> None:
        self.count, self._lock = 0, Lock()

    def add(self, more: int) -> None:
        with self._lock:
            self.count += more


_running = _Running()


class Progress:
    """Work of a known or unknown total, done in parts by any number of threads.

    Examples
    --------
    >>> with Progress("reading", 4) as progress:  # prints nothing here: it is short, and this is no terminal
    ...     progress.at(1)
    ...     progress.add(3)
    """

    def __init__(self, what: str, total: float | None) -> None:
        self.what, self.total, self.done = what, total, 0.0
        self._began = self._last = time.monotonic()
        self._has_printed, self._lock = False, Lock()

    def __enter__(self) -> "Progress":
        _running.add(1)
        return self

    def at(self, done: float) -> None:
        """So much is done in all; it is printed every second."""
        with self._lock:
            self._show(done)

    def add(self, more: float) -> None:
        """So much more is done."""
        with self._lock:
            self._show(self.done + more)

    def after(self, task: Callable[[], T], share: float) -> Callable[[], T]:
        """The task, which adds its share when it is done."""

        def run() -> T:
            answer = task()
            self.add(share)
            return answer

        return run

    def _show(self, done: float) -> None:
        self.done, now = done, time.monotonic()
        if now - self._last < _PATIENCE or not (sys.stderr and sys.stderr.isatty()):  # without a console there is none
            return
        self._last, self._has_printed = now, True
        part = f"{100 * done // self.total:.0f} %{self._left(now)}" if self.total else f"{done:.0f} rows"
        sys.stderr.write(f"\r\x1b[K{self.what}: {part}")
        sys.stderr.flush()

    def _left(self, now: float) -> str:
        """About how long the rest will take if it goes on as it went."""
        if not self.total or self.done < _KNOWN * self.total:
            return ""
        seconds = (now - self._began) * max(0.0, self.total - self.done) / self.done
        if seconds < 1.0:
            return ""
        return f", about {seconds:.0f} s left" if seconds < 90.0 else f", about {seconds / 60.0:.0f} min left"

    def __exit__(self, *_: object) -> None:
        _running.add(-1)
        if self._has_printed:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _one(_: object) -> float:
    return 1.0


def tell(what: str, items: Iterable[T], total: float, size: Callable[[T], float] = _one) -> Iterator[T]:
    """Yield the items, and say after each how much of the total is done, unless this is a part of work that does so.

    Examples
    --------
    >>> sum(tell("adding", [1, 2, 3], 3))
    6
    """
    if _running.count:
        yield from items
        return
    with Progress(what, total) as progress:
        for item in items:
            yield item
            progress.add(size(item))
