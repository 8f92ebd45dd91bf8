"""Blocks of rows from files, lazy tables, and anything that can be iterated again and again.

A pass over a source runs a task on every block and merges the answers in the order of the blocks, so that the answer
depends neither on the number of threads nor on the order in which blocks are done.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from densdiff.errors import InputError, plain
from densdiff.progress import Progress
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


class Blocks(Protocol):
    """Blocks of the same rows in the same order, each time they are asked for."""

    def blocks(self, columns: list[str] | None) -> Iterator[Any]:
        """Blocks with these columns, or all; where columns cannot be read alone, always all."""


@dataclass(frozen=True)
class IteratedBlocks:
    """Blocks of any object whose iteration can begin anew; one that shuffles its rows or draws others is refused."""

    where: str
    values: Iterable[Any]
    as_table: Callable[[Any], Any] = as_it_is
    fingerprints: list[int] = field(default_factory=list)  # of the ends of the blocks of the first pass

    def blocks(self, columns: list[str] | None) -> Iterator[Any]:
        """All blocks that have rows, with all columns."""
        place = 0
        for block in self.values if isinstance(self.values, list | tuple) else map(_own_copy, self.values):
            if length(block, self.as_table):
                self._recognize(block, place)
                place += 1
                yield block

    def _recognize(self, block: Any, place: int) -> None:
        """Refuse a block whose ends are not those of the block that was at this place the first time."""
        ends = [self.as_table(rows_at(block, at)) for at in (slice(1), slice(length(block, self.as_table) - 1, None))]
        fingerprint = hash(repr([column.values.tolist() for end in ends for column in end.columns]))
        if place >= len(self.fingerprints):
            self.fingerprints.append(fingerprint)
        if self.fingerprints[place] != fingerprint:
            raise InputError(
                f"{self.where} returned different rows the second time; it must return the same rows each time"
            )


@dataclass
class BlockSource:
    """Blocks that can be had again and again; ``change`` makes others of them."""

    where: str
    blocks: Blocks
    rows: int | None = None
    as_table: Callable[[Any], Any] = as_it_is
    notes: tuple[str, ...] = ()
    change: Change | None = None
    changed_columns: list[str] | None = None  # the ones that ``change`` needs, None for all
    rows_at_once = 0

    def head(self) -> Any:
        """The first block that has rows."""
        first = next((block for block in self._iterate(None) if self._length(block)), None)
        if first is None:
            raise InputError(f"{self.where} {ALL_DROPPED if self.change else EMPTY}")
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
        start = 0
        with Progress(plain(self.where), self.rows, is_step=True) as progress:
            for block in self._iterate(columns):
                if not (rows := self._length(block)):
                    continue
                yield start, block
                start += rows
                progress.at(start)
        if self.rows is not None and start != self.rows:
            counts = f"{self.rows} rows the first time and {start} the second time"
            raise InputError(f"{self.where} returned {counts}; it must return the same rows each time")
        if not start:
            raise InputError(f"{self.where} {ALL_DROPPED if self.change else EMPTY}")
        self.rows = start

    def converted(self) -> "BlockSource":
        """This source: blocks are converted when they are read."""
        return self

    def changed(self, change: Change, columns: list[str] | None = None) -> "BlockSource":
        """A source of blocks that ``change`` makes of each block and the number of its first row; it may drop rows."""
        needed = needed_columns(self.changed_columns, columns)
        return replace(self, rows=None, change=chained(self.change, change), changed_columns=needed)

    def _length(self, block: Any) -> int:
        return length(block, self.as_table)

    def _changed_blocks(self, change: Change) -> Iterator[Any]:
        start = 0
        for block in self.blocks.blocks(self.changed_columns):
            yield change(block, start)
            start += self._length(block)

    def _iterate(self, columns: list[str] | None) -> Iterator[Any]:
        return self.blocks.blocks(columns) if self.change is None else self._changed_blocks(self.change)


def _merge_into(answer: Any, more: Any, merge: Callable[[Any, Any], Any], empty: bool) -> Any:
    return more if empty else merge(answer, more)


def _own_copy(block: Any) -> Any:
    """A copy of what the next step of an iteration may write over: blocks wait for threads while it goes on."""
    if isinstance(block, Mapping):
        return {name: _own_copy(values) for name, values in block.items()}
    return block.copy() if isinstance(block, np.ndarray) or hasattr(block, "iloc") else block
