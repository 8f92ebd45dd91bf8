"""How far long work is, on standard error if that is a terminal: what is done, how much, and about how long still.

Short work says nothing, and the line is wiped away at the end. There is one line for all that runs: of work within
work the outermost that knows its total speaks, or else whatever runs says for how long. A thread paints the line, so it
moves while a part takes long.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import wraps
from threading import RLock, Thread, get_ident
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
_PATIENCE = 1.0  # seconds before work says how far it is, and between one time and the next
_REPAINT, _IDLE = 0.25, 40  # seconds between looks of the thread that paints, and looks in vain after which it ends
_KNOWN = 0.05  # share of the work from which on the time that is left is told


class _Line:
    """The line on the terminal, and the work that runs, in the order in which it began."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Nothing runs, and no thread paints: so it is in the child of a fork, where no thread gives the lock back."""
        self._lock = RLock()
        self._running: list[Progress] = []
        self._painter: Thread | None = None
        self._painted = 0.0
        self._has_printed = False

    def begin(self, work: "Progress") -> None:
        """Work that runs from now on."""
        with self._lock:
            if self._painter is None and _is_watched():
                self._painter = Thread(target=self._keep_painting, name="densdiff progress", daemon=True)
                with suppress(RuntimeError):  # the interpreter is about to end, and starts no more threads
                    self._painter.start()
            if not self._running:
                self._painted = work.began
            self._running.append(work)

    def end(self, work: "Progress") -> None:
        """Work that runs no longer, nor what its thread began later: a generator may have been left half-way.

        The line is wiped away with the last of all work.
        """
        with self._lock:
            if work not in self._running:  # after a fork it is the parent's, and what was left half-way has ended
                return
            place = self._running.index(work)
            self._running[place:] = [other for other in self._running[place + 1 :] if other.thread != work.thread]
            if not self._running and self._has_printed:
                self._has_printed = False
                _write("\r\x1b[K")

    def paint(self) -> None:
        """Write the line anew, if that is a while ago."""
        with self._lock:
            now, running = time.monotonic(), list(self._running)
            if not running or now - self._painted < _PATIENCE or not _is_watched():
                return
            self._painted, self._has_printed = now, True
            _write(f"\r\x1b[K{_text(running, now)[: _width() - 1]}")

    def _keep_painting(self) -> None:
        """Paint as long as there is work; a thread for each piece of it would cost short work more than itself."""
        idle = 0
        while True:
            time.sleep(_REPAINT)
            self.paint()
            with self._lock:
                idle = 0 if self._running else idle + 1
                if idle >= _IDLE:
                    self._painter = None
                    return


def _text(running: Sequence["Progress"], now: float) -> str:
    """What the first work says, or what is known of work within it that is not over at once."""
    first, *within = running
    long = [work for work in within if now - work.began >= _PATIENCE]  # shorter ones follow each other too fast
    known = [work for work in long if work.total] or [work for work in long if work.done]
    work = first if first.total or not known else known[0]
    return work.text(now, is_part=work is not first)


def _is_watched() -> bool:
    """Whether standard error is a terminal: there may be none, it may be closed, or an object that can only write."""
    with suppress(AttributeError, OSError, ValueError):
        return bool(sys.stderr.isatty())
    return False


def _width() -> int:
    """Columns of the terminal that standard error is, or of what the environment says."""
    with suppress(AttributeError, OSError, ValueError):
        if columns := os.get_terminal_size(sys.stderr.fileno()).columns:
            return columns
    return shutil.get_terminal_size().columns


def _write(text: str) -> None:
    with suppress(AttributeError, OSError, ValueError):  # the terminal is gone, which is no reason to lose an answer
        sys.stderr.write(text)
        sys.stderr.flush()


_line = _Line()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_line.forget)


class Progress:
    """Work of a known or unknown total, done in parts by any number of threads.

    Examples
    --------
    >>> with Progress("reading", 4) as progress:  # prints nothing here: it is short, and this is no terminal
    ...     progress.at(1)
    ...     progress.add(3)
    """

    def __init__(self, what: str, total: float | None, *, is_step: bool = False) -> None:
        self.what, self.total, self.done = what, total, 0.0
        self._begun = 0.0  # what is being done, of parts that say so
        self._is_step = is_step  # other steps follow, whose time is not known
        self.began = self._last = time.monotonic()
        self.thread = get_ident()
        self._lock = RLock()

    def __enter__(self) -> "Progress":
        _line.begin(self)
        return self

    def at(self, done: float) -> None:
        """So much is done in all; it is printed every second."""
        with self._lock:
            self.done, self._last = done, time.monotonic()
        _line.paint()

    def add(self, more: float) -> None:
        """So much more is done."""
        with self._lock:
            self.at(self.done + more)

    def after(self, task: Callable[[], T], share: float) -> Callable[[], T]:
        """The task, which adds its share when it is done."""

        def run() -> T:
            with self._lock:
                self._begun += share
            answer = task()
            with self._lock:
                self._begun -= share
                self.add(share)
            return answer

        return run

    def text(self, now: float, *, is_part: bool = False) -> str:
        """What is done, how much of it, and about how long the rest will take if it goes on as it went."""
        if self.total:
            step = " in this step" if is_part and self._is_step else ""
            percent = int(100.0 * self.done / self.total + 1e-6)  # a sum of shares may fall short by its rounding
            return f"{self.what}: {percent} %{self._left(now, step)}"
        return f"{self.what}: {self.done:.0f} rows" if self.done else f"{self.what}: {now - self.began:.0f} s so far"

    def _left(self, now: float, step: str) -> str:
        if not self.total or self.done < _KNOWN * self.total:
            return ""
        done = min(self.total, self.done + 0.5 * self._begun)  # what was begun is half done, on average
        seconds = (self._last - self.began) * (self.total - done) / done - (now - self._last)
        if seconds < 1.0:
            return ""
        return (
            f", about {seconds:.0f} s left{step}" if seconds < 90.0 else f", about {seconds / 60.0:.0f} min left{step}"
        )

    def __exit__(self, *_: object) -> None:
        _line.end(self)


def long_work(what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Wrap a function whose steps say how far they are, or else for how long it has been running.

    Examples
    --------
    >>> @long_work("adding")
    ... def add(a, b):
    ...     return a + b
    >>> add(1, 2)
    3
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def told(*args: P.args, **kwargs: P.kwargs) -> R:
            with Progress(what, None):
                return function(*args, **kwargs)

        return told

    return wrap


def _one(_: object) -> float:
    return 1.0


def tell(what: str, items: Iterable[T], total: float, size: Callable[[T], float] = _one) -> Iterator[T]:
    """Yield the items of one step of some work, and say how much of the total is done.

    Examples
    --------
    >>> sum(tell("adding", [1, 2, 3], 3))
    6
    """
    with Progress(what, total, is_step=True) as progress:
        for item in items:
            yield item
            progress.add(size(item))
