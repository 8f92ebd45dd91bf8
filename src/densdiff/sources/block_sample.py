"""A sample that is read block by block; rows asked for by number are kept.

Samples in memory live in `array_sample`; how passes are run and shared is in `passes`.
"""

import operator
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from densdiff.core.scaling import FloatArray, Moments, Scaling
from densdiff.core.selection import IntArray
from densdiff.errors import InputError
from densdiff.io import memory
from densdiff.sources.array_sample import ArraySample
from densdiff.sources.blocks import BlockSource
from densdiff.sources.passes import map_sharing_passes, run_pass
from densdiff.sources.sample import RowTask, Sample
from densdiff.sources.source import Merge, Pass, Source

S = TypeVar("S")
T = TypeVar("T")
_THREADS_SHARING_PASSES = 16
_AT_HAND = 1 << 28  # bytes of rows that are kept; of wider rows only the columns that are asked for are had


class RowReader(Protocol):
    """How blocks of a source become rows of numbers."""

    @property
    def where(self) -> str:
        """What messages call the source."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def named(self) -> bool:
        """Whether blocks carry the names of their columns."""

    def rows(self, block: Any, start: int, columns: Sequence[int] | None = None) -> FloatArray:
        """Some columns of a block whose first row has the number ``start``, (k, d)."""

    def columns(self, block: Any, start: int) -> list[FloatArray]:
        """All columns of a block whose first row has the number ``start``, (k,) each, not copied where possible."""

    def summary(self, block: Any, start: int) -> Any:
        """What a block holds whose first row has the number ``start``; two summaries of neighbouring blocks are
        joined by their method ``merged``."""


_adding = threading.Lock()  # one for all caches: a cache is copied along with its sample, a lock cannot be


@dataclass
class RowCache:
    """Rows fetched before, by number, in all columns of the reader; shared by threads that each work on one
    column."""

    entries: tuple[IntArray, FloatArray] = field(default_factory=lambda: (np.empty(0, np.int64), np.empty((0, 0))))

    def lacking(self, index: IntArray) -> IntArray:
        """Which of sorted numbers name rows that are not stored."""
        numbers = self.entries[0]
        if not len(numbers):
            return index
        return np.asarray(index[numbers[np.minimum(np.searchsorted(numbers, index), len(numbers) - 1)] != index])

    def add(self, index: IntArray, rows: FloatArray) -> None:
        """Rows by their numbers; what another thread has added stays."""
        with _adding:
            if len(self.entries[0]):
                index, rows = np.concatenate([self.entries[0], index]), np.concatenate([self.entries[1], rows])
            index, first = np.unique(index, return_index=True)
            self.entries = index, rows[first]

    def at(self, index: IntArray, columns: Sequence[int]) -> FloatArray:
        """Rows by numbers that `lacking` does not name, of some of the columns."""
        numbers, rows = self.entries
        places = np.searchsorted(numbers, index)
        return np.asarray(rows[places[:, None], np.asarray(columns, dtype=np.intp)])

    def only(self, places: Sequence[int]) -> "RowCache":
        """A cache of some of the columns."""
        index, rows = self.entries
        return RowCache((index, rows[:, list(places)])) if len(index) else RowCache()


@dataclass(frozen=True)
class BlockSample:
    """Rows of a source that is read block by block; those asked for by number are kept."""

    source: Source
    reader: RowReader
    columns: tuple[int, ...]  # of the reader
    all_moments: Moments  # of all columns of the reader
    cache: RowCache
    counts: tuple[IntArray | None, ...] = ()  # rows of each level of all columns, None for numbers
    scaling: Scaling | None = None
    inner_threads = 1  # blocks have threads of their own already
    rows_at_once = 0  # none are in memory

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.columns) if self.scaling is None else len(self.scaling.keep)

    @property
    def moments(self) -> Moments:
        return self.all_moments.only(self.columns)

    def __len__(self) -> int:
        return self.all_moments.n

    def __getitem__(self, index: Any) -> FloatArray:
        """Rows by their numbers, or by a slice, (k, d)."""
        numbers = np.arange(*index.indices(len(self))) if isinstance(index, slice) else np.asarray(index)
        self.prefetch(numbers)
        if not len(numbers):
            rows = np.empty((0, len(self.columns)))
        elif len(self.cache.lacking(distinct := sorted_unique(numbers))):  # too many in all columns
            rows = self._pick(distinct, self.columns)[np.searchsorted(distinct, numbers)]
        else:
            rows = self.cache.at(numbers, self.columns)
        return rows if self.scaling is None else self.scaling.apply(rows)

    def spaced(self, most: int) -> FloatArray:
        """At most so many evenly spaced rows."""
        return self[:: -(-len(self) // most)]

    def at_hand(self) -> tuple[IntArray, FloatArray]:
        """Numbers and rows that were fetched before, in all columns of the reader."""
        return self.cache.entries

    def prefetch(self, index: IntArray) -> None:
        """Have these rows at hand, in one pass, if they are not yet and all of their columns fit into memory."""
        lacking, columns = self.cache.lacking(sorted_unique(index)), range(len(self.reader.names))
        if len(lacking) and may_be_at_hand(len(lacking), len(columns)):
            self.cache.add(lacking, self._pick(lacking, columns))

    def _pick(self, index: IntArray, columns: Sequence[int]) -> FloatArray:
        """Rows by sorted numbers, of some columns of the reader, from one pass."""
        names = [self.reader.names[j] for j in columns] if self.reader.named else None
        task = PickRows(partial(self.reader.rows, columns=list(columns)), index)
        return np.concatenate(run_pass(self.source, task, operator.add, names))

    def only(self, columns: Sequence[int]) -> "BlockSample":
        """The sample with some of its columns, not scaled."""
        return replace(self, columns=tuple(self.columns[j] for j in columns), scaling=None)

    def loaded(self, columns: Sequence[int]) -> Sample:
        """The sample with some of its columns, in memory if they are read here and fit there."""
        chosen = self.only(columns)
        if not isinstance(self.source, BlockSource) or 8 * len(self) * len(columns) > memory.room():
            return chosen
        values = np.empty((len(columns), len(self)))

        def fill(rows: FloatArray, start: int) -> None:
            if start + len(rows) <= len(self):  # a source with more rows than before tells so when it has ended
                values[:, start : start + len(rows)] = rows.T

        run_pass(*chosen.make_pass(fill, _no_answer))
        return ArraySample(columns=list(values))

    def aside(self) -> "BlockSample":
        """The same sample; what rows it fetches from now on it keeps for itself."""
        return replace(self, cache=RowCache(self.cache.entries))

    def scaled(self, scaling: Scaling) -> "BlockSample":
        """The sample with its rows in the scaled units that solvers work in."""
        return replace(self, scaling=scaling)

    def make_pass(self, task: RowTask[Any], merge: Merge) -> Pass:
        """The pass of a task over every block, the answers merged in the order of the blocks."""
        names = [self.reader.names[j] for j in self.columns] if self.reader.named else None
        return Pass(self.source, partial(_run_on_rows, self.reader, self.columns, self.scaling, task), merge, names)

    def ends(self) -> FloatArray:
        """The lowest and the highest value of each column, (2, d)."""
        ends = np.array([self.moments.low, self.moments.high])
        return ends if self.scaling is None else self.scaling.apply(ends)

    def reach(self, d: int) -> float:
        """A bound on the distance of any row from the origin in its first d columns, from their ends."""
        return float(np.sqrt(np.square(np.abs(self.ends())[:, :d].max(axis=0)).sum()))

    def level_counts(self, j: int, levels: int) -> IntArray:
        """Rows of each level of a column of codes, (levels,)."""
        place = self.columns[j if self.scaling is None else int(self.scaling.keep[j])]
        counts = self.counts[place]
        if counts is None:
            raise TypeError(f"column {j} holds numbers, which have no levels")
        return counts

    def map(self, function: Callable[[S], T], items: Sequence[S]) -> list[T]:
        """The function of each item, in threads that share their passes, some at a time."""
        if len(items) == 1:
            return [function(items[0])]
        batches = [items[k : k + _THREADS_SHARING_PASSES] for k in range(0, len(items), _THREADS_SHARING_PASSES)]
        return [result for batch in batches for result in map_sharing_passes(function, batch)]


def _run_on_rows(
    reader: RowReader, columns: tuple[int, ...], scaling: Scaling | None, task: RowTask[T], block: Any, start: int
) -> T:
    """The answer of a task to the rows of a block, scaled if there is a scaling."""
    rows = reader.rows(block, start, columns)
    if not np.isfinite(rows).all():  # the first scan found no missing and no infinite value
        raise InputError(
            f"{reader.where} returned different values the second time; it must return the same rows each time"
        )
    return task(rows if scaling is None else scaling.apply(rows), start)


def _no_answer(a: None, b: None) -> None:
    """Blocks that leave nothing to merge."""


def sorted_unique(numbers: IntArray) -> IntArray:
    """Each number once, in order: `numpy.unique`, ten times faster for some thousand integers."""
    ordered = np.sort(numbers)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def may_be_at_hand(rows: int, columns: int) -> bool:
    """Whether so many rows are kept in all of their columns."""
    return 8 * rows * columns <= _AT_HAND


def pick_rows(read: Callable[[Any, int], FloatArray], index: IntArray, block: Any, start: int) -> FloatArray:
    """The rows of a block among sorted numbers, as ``read`` makes them, (k, d)."""
    rows = read(block, start)
    low, high = np.searchsorted(index, [start, start + len(rows)])
    return np.ascontiguousarray(rows[index[low:high] - start])


@dataclass(frozen=True)
class PickRows:
    """The rows of a block among sorted numbers, in a list that is stacked once: block by block, the first rows would be
    copied every time.
    """

    read: Callable[[Any, int], FloatArray]
    index: IntArray

    def __call__(self, block: Any, start: int) -> list[FloatArray]:
        return [pick_rows(self.read, self.index, block, start)]

    def of_block(self, start: int, rows: int) -> "PickRows":
        """The task with the numbers of one block's rows."""
        low, high = np.searchsorted(self.index, [start, start + rows])
        return replace(self, index=self.index[low:high])


def stack_rows(a: FloatArray, b: FloatArray) -> FloatArray:
    """Rows of two neighbouring blocks."""
    return np.concatenate([a, b])
