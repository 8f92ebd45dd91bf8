"""Blocks of rows from files, and from anything that can be iterated again and again.

A pass over a source runs a task on every block and merges the answers in the order of the blocks, so that the answer
depends neither on the number of threads nor on the order in which blocks are done.
"""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from densdiff.errors import InputError, plain
from densdiff.io.files import File
from densdiff.sources.source import (
    ALL_DROPPED,
    EMPTY,
    Change,
    Merge,
    Task,
    as_it_is,
    chained,
    length,
    needed_columns,
    rows_at,
)
from densdiff.threads import cores

_PATIENCE = 1.0  # seconds before a pass says how far it is


@dataclass
class BlockSource:
    """Blocks of a file, or of any object whose iteration can begin anew; ``change`` makes others of them."""

    where: str
    blocks: File | Iterable[Any]
    rows: int | None = None
    as_table: Callable[[Any], Any] = as_it_is
    change: Change | None = None
    changed_columns: list[str] | None = None  # the ones that ``change`` needs, None for all
    fingerprints: list[int] = field(default_factory=list)  # of the ends of the blocks of the first pass
    rows_at_once = 0

    def head(self) -> Any:
        """The first block that has rows."""
        first = next((block for block in self._iterate(None) if self._length(block)), None)
        if first is None:
            raise InputError(f"{self.where} {ALL_DROPPED if self.change else EMPTY}")
        own_fingerprints: list[int] = []
        self._recognize(first, own_fingerprints)
        self.fingerprints = self.fingerprints or own_fingerprints
        return first

    def run(self, task: Task, merge: Merge, columns: list[str] | None) -> Any:
        """The task of every block on all cores, at most a few blocks at a time, the answers merged."""
        pending: deque[Any] = deque()
        answer: Any = None
        empty = True
        with ThreadPoolExecutor(cores()) as pool:
            for start, block in self.in_order(columns):
                pending.append(pool.submit(task, block, start))
                if len(pending) > cores():
                    answer, empty = _merge_into(answer, pending.popleft().result(), merge, empty), False
            while pending:
                answer, empty = _merge_into(answer, pending.popleft().result(), merge, empty), False
        return answer

    def in_order(self, columns: list[str] | None) -> Iterator[tuple[int, Any]]:
        """Every block that has rows, after the number of its first one."""
        start, own_fingerprints = 0, list[int]()
        with Progress(plain(self.where), self.rows) as progress:
            for block in self._iterate(columns):
                if not (rows := self._length(block)):
                    continue
                self._recognize(block, own_fingerprints)
                yield start, block
                start += rows
                progress.at(start)
        if self.rows is not None and start != self.rows:
            counts = f"{self.rows} rows the first time and {start} the second time"
            raise InputError(f"{self.where} returned {counts}; it must return the same rows each time")
        if not start:
            raise InputError(f"{self.where} {ALL_DROPPED if self.change else EMPTY}")
        self.rows, self.fingerprints = start, own_fingerprints

    def _recognize(self, block: Any, own_fingerprints: list[int]) -> None:
        """Refuse an iterable that shuffles its rows or draws others: the ends of each block tell."""
        if isinstance(self.blocks, File) or self.change is not None:
            return
        ends = [self.as_table(rows_at(block, at)) for at in (slice(1), slice(self._length(block) - 1, None))]
        own_fingerprints.append(hash(repr([column.values.tolist() for end in ends for column in end.columns])))
        if self.fingerprints[len(own_fingerprints) - 1 : len(own_fingerprints)] not in ([], own_fingerprints[-1:]):
            raise InputError(
                f"{self.where} returned different rows the second time; it must return the same rows each time"
            )

    def converted(self) -> "BlockSource":
        """This source: blocks are converted when they are read."""
        return self

    def changed(self, change: Change, columns: list[str] | None = None) -> "BlockSource":
        """A source of blocks that ``change`` makes of each block and the number of its first row; it may drop rows."""
        needed = needed_columns(self.changed_columns, columns)
        return BlockSource(self.where, self.blocks, None, self.as_table, chained(self.change, change), needed)

    def _length(self, block: Any) -> int:
        return length(block, self.as_table)

    def _changed_blocks(self, change: Change) -> Iterator[Any]:
        start = 0
        for block in self._raw_blocks(self.changed_columns):
            yield change(block, start)
            start += self._length(block)

    def _iterate(self, columns: list[str] | None) -> Iterator[Any]:
        return self._raw_blocks(columns) if self.change is None else self._changed_blocks(self.change)

    def _raw_blocks(self, columns: list[str] | None) -> Iterator[Any]:
        if isinstance(self.blocks, File):
            return self.blocks.blocks(columns)
        return iter(self.blocks) if isinstance(self.blocks, list | tuple) else map(_own_copy, self.blocks)


def _merge_into(answer: Any, more: Any, merge: Callable[[Any, Any], Any], empty: bool) -> Any:
    return more if empty else merge(answer, more)


def _own_copy(block: Any) -> Any:
    """A copy of what the next step of an iteration may write over: blocks wait for threads while it goes on."""
    if isinstance(block, Mapping):
        return {name: _own_copy(values) for name, values in block.items()}
    return block.copy() if isinstance(block, np.ndarray) or hasattr(block, "iloc") else block


class Progress:
    """How far a pass is, on standard error, if that is a terminal and it takes long."""

    def __init__(self, what: str, rows: int | None) -> None:
        self.what, self.rows, self.last, self.has_printed = what, rows, time.monotonic(), False

    def __enter__(self) -> "Progress":
        return self

    def at(self, done: int) -> None:
        """Print how many rows are done, every second."""
        now = time.monotonic()
        if now - self.last < _PATIENCE or not (sys.stderr and sys.stderr.isatty()):  # without a console there is none
            return
        self.last, self.has_printed = now, True
        part = f"{100 * done // self.rows} %" if self.rows else f"{done} rows"
        sys.stderr.write(f"\r\x1b[K{self.what}: {part}")
        sys.stderr.flush()

    def __exit__(self, *_: object) -> None:
        if self.has_printed:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
