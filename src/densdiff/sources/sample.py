"""Rows of numbers, wherever they are: sizes, rows by number, ends and moments, totals of a function over blocks.

Above this room nobody asks where the rows are. A sample that is too large to be had in one piece says so by
``rows_at_once``; everything else is a total over blocks of the same functions that work on whole arrays.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from densdiff.core.kernel import radius
from densdiff.core.scaling import (
    BoolArray,
    FloatArray,
    Moments,
    Scaling,
    moments_of,
    pooled_scaling,
    scaling_of_moments,
)
from densdiff.core.selection import IntArray
from densdiff.errors import InputError
from densdiff.sources.passes import ask, ask_all, side_by_side
from densdiff.sources.source import ArraySource, Merge, Pass, Source

S = TypeVar("S")
T = TypeVar("T")
RowTask = Callable[[FloatArray, int], T]  # rows (k, d) and the number of the first
_AT_ONCE = 16  # computations that share their passes


class RowReader(Protocol):
    """How blocks of a source become rows of numbers."""

    @property
    def where(self) -> str:
        """What messages call the source."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def named(self) -> bool:
        """Whether blocks have names of their own."""

    def rows(self, block: Any, start: int, columns: Sequence[int] | None = None) -> FloatArray:
        """Some columns of a block whose first row has the number ``start``, (k, d)."""

    def columns(self, block: Any, start: int) -> list[FloatArray]:
        """All columns of such a block, (k,) each, not copied where that can be helped."""

    def summary(self, block: Any, start: int) -> Any:
        """What such a block holds; summaries of neighbours are `merged`."""


class Sample(Protocol):
    """n rows of d numbers or codes of levels."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def rows_at_once(self) -> int:
        """How many rows can be had in one piece."""

    @property
    def inner_threads(self) -> int | None:
        """Threads that a task on a block may start: None for all, 1 where blocks have threads of their own."""

    @property
    def moments(self) -> Moments:
        """Ends, means and variances of the columns, before scaling."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any) -> FloatArray:
        """Rows by their numbers, or by a slice, (k, d)."""

    def spaced(self, most: int) -> FloatArray:
        """All rows if they can be had in one piece, else about so many evenly spaced ones."""

    def at_hand(self) -> tuple[IntArray, FloatArray]:
        """Numbers and rows that cost no pass."""

    def prefetch(self, index: IntArray) -> None:
        """Have rows at hand that will be asked for."""

    def only(self, columns: Sequence[int]) -> "Sample":
        """Some columns, not scaled."""

    def scaled(self, scaling: Scaling) -> "Sample":
        """The same rows in inner units."""

    def passing(self, task: RowTask[Any], merge: Merge) -> Pass:
        """A task on all blocks of rows."""

    def ends(self) -> FloatArray:
        """The lowest and the highest value of each column, (2, d)."""

    def reach(self, d: int) -> float:
        """The largest distance of any row from the origin in its first d columns, or a bound of it."""

    def level_counts(self, j: int, levels: int) -> IntArray:
        """Rows of each level of a column of codes, (levels,)."""

    def each(self, function: Callable[[S], T], items: Sequence[S]) -> list[T]:
        """The function of each item, sharing the passes over these rows where any are needed."""


class ArraySample:
    """All rows in memory, as one matrix or as columns that become one when it is asked for."""

    inner_threads = None

    def __init__(self, rows: FloatArray | None = None, columns: Sequence[FloatArray] = ()) -> None:
        self._matrix, self._columns = rows, tuple(columns)

    @property
    def _rows(self) -> FloatArray:
        """A matrix of our own, columns contiguous, (n, d)."""
        if self._matrix is None:
            self._matrix, self._columns = _stacked(self._columns), ()
        return self._matrix

    @property
    def shape(self) -> tuple[int, int]:
        if self._matrix is not None:
            return self._matrix.shape[0], self._matrix.shape[1]
        return len(self._columns[0]), len(self._columns)

    @property
    def rows_at_once(self) -> int:
        return len(self)

    @property
    def moments(self) -> Moments:
        return moments_of(self._rows)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> FloatArray:
        if isinstance(index, slice) and index == slice(None):
            return self._rows
        if self._matrix is None:
            return _stacked([column[index] for column in self._columns])
        return np.asarray(self._matrix[index])

    def spaced(self, most: int) -> FloatArray:
        """All rows."""
        return self._rows

    def at_hand(self) -> tuple[IntArray, FloatArray]:
        """All of them."""
        return np.arange(len(self)), self._rows

    def prefetch(self, index: IntArray) -> None:
        """Nothing to do."""

    def only(self, columns: Sequence[int]) -> "ArraySample":
        """Some columns."""
        if self._matrix is None:
            return ArraySample(columns=[self._columns[j] for j in columns])
        return ArraySample(np.asfortranarray(self._matrix[:, list(columns)]))

    def scaled(self, scaling: Scaling) -> "ArraySample":
        """The same rows in inner units."""
        return ArraySample(scaling.apply(self._rows))

    def passing(self, task: RowTask[Any], merge: Merge) -> Pass:
        """The task on all rows at once."""
        return Pass(ArraySource("", self._rows), task, merge, None)

    def ends(self) -> FloatArray:
        """The lowest and the highest value of each column, (2, d)."""
        if self._matrix is None:
            return np.array([[column.min() for column in self._columns], [column.max() for column in self._columns]])
        return np.array([self._matrix.min(axis=0), self._matrix.max(axis=0)])

    def reach(self, d: int) -> float:
        """The largest distance of any row from the origin in its first d columns."""
        return radius(self._rows[:, :d])

    def level_counts(self, j: int, levels: int) -> IntArray:
        """Rows of each level of a column of codes, (levels,)."""
        return np.bincount(self.column(j).astype(np.intp), minlength=levels)

    def column(self, j: int) -> FloatArray:
        """One column, (n,)."""
        return self._columns[j] if self._matrix is None else self._matrix[:, j]

    def each(self, function: Callable[[S], T], items: Sequence[S]) -> list[T]:
        """One after the other."""
        return [function(item) for item in items]


def _stacked(columns: Sequence[FloatArray]) -> FloatArray:
    """Columns as a matrix, each contiguous, (n, d)."""
    found = np.empty((len(columns[0]), len(columns)), order="F")
    for j, column in enumerate(columns):
        found[:, j] = column
    return found


_adding = threading.Lock()


@dataclass
class RowCache:
    """Rows fetched before, by number, in all columns of the reader; threads that look at one column each share it."""

    found: tuple[IntArray, FloatArray] = field(default_factory=lambda: (np.empty(0, np.int64), np.empty((0, 0))))

    def lacking(self, index: IntArray) -> IntArray:
        """Those of sorted numbers whose rows are not here."""
        known = self.found[0]
        if not len(known):
            return index
        return np.asarray(index[known[np.minimum(np.searchsorted(known, index), len(known) - 1)] != index])

    def add(self, index: IntArray, rows: FloatArray) -> None:
        """Rows by their numbers; what another thread has added stays."""
        with _adding:
            if len(self.found[0]):
                index, rows = np.concatenate([self.found[0], index]), np.concatenate([self.found[1], rows])
            index, first = np.unique(index, return_index=True)
            self.found = index, rows[first]

    def at(self, index: IntArray) -> FloatArray:
        """Rows that are there."""
        known, rows = self.found
        return np.asarray(rows[np.searchsorted(known, index)])

    def only(self, places: Sequence[int]) -> "RowCache":
        """With some of the columns."""
        index, rows = self.found
        return RowCache((index, rows[:, list(places)])) if len(index) else RowCache()


@dataclass(frozen=True)
class BlockSample:
    """Rows of a source that is read block by block; those asked for by number are kept."""

    source: Source
    reader: RowReader
    columns: tuple[int, ...]  # of the reader
    all_moments: Moments  # of all columns of the reader
    cache: RowCache
    counts: tuple[IntArray | None, ...] = ()  # rows of each level of all columns; empty without categories
    scaling: Scaling | None = None
    inner_threads = 1
    rows_at_once = 0

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
        asked = np.arange(*index.indices(len(self))) if isinstance(index, slice) else np.asarray(index)
        self.prefetch(asked)
        found = self.cache.at(asked)[:, list(self.columns)] if len(asked) else np.empty((0, len(self.columns)))
        return found if self.scaling is None else self.scaling.apply(found)

    def spaced(self, most: int) -> FloatArray:
        """About so many evenly spaced rows."""
        return self[:: -(-len(self) // most)]

    def at_hand(self) -> tuple[IntArray, FloatArray]:
        """Those asked for before, in all columns of the reader."""
        return self.cache.found

    def prefetch(self, index: IntArray) -> None:
        """Have these rows at hand, in one pass, if they are not yet."""
        lacking = self.cache.lacking(distinct(index))
        if not len(lacking):
            return
        names = list(self.reader.names) if self.reader.named else None
        found = ask(self.source, partial(picked, self.reader, lacking), stacked, names)
        self.cache.add(lacking, found)

    def only(self, columns: Sequence[int]) -> "BlockSample":
        """Some columns, not scaled."""
        return replace(self, columns=tuple(self.columns[j] for j in columns), scaling=None)

    def scaled(self, scaling: Scaling) -> "BlockSample":
        """The same rows in inner units."""
        return replace(self, scaling=scaling)

    def passing(self, task: RowTask[Any], merge: Merge) -> Pass:
        """A task on every block, and the answers merged in the order of the blocks."""
        names = [self.reader.names[j] for j in self.columns] if self.reader.named else None
        return Pass(self.source, partial(_converted, self.reader, self.columns, self.scaling, task), merge, names)

    def ends(self) -> FloatArray:
        """The lowest and the highest value of each column, (2, d)."""
        ends = np.array([self.moments.low, self.moments.high])
        return ends if self.scaling is None else self.scaling.apply(ends)

    def reach(self, d: int) -> float:
        """A bound from the ends of the columns."""
        return float(np.sqrt(np.square(np.abs(self.ends())[:, :d].max(axis=0)).sum()))

    def level_counts(self, j: int, levels: int) -> IntArray:
        """Rows of each level of a column of codes, (levels,)."""
        place = self.columns[j if self.scaling is None else int(self.scaling.keep[j])]
        found = self.counts[place]
        if found is None:
            raise TypeError(f"column {j} holds numbers, which have no levels")
        return found

    def each(self, function: Callable[[S], T], items: Sequence[S]) -> list[T]:
        """In threads that share their passes, some at a time."""
        if len(items) == 1:
            return [function(items[0])]
        parts = [items[k : k + _AT_ONCE] for k in range(0, len(items), _AT_ONCE)]
        return [found for part in parts for found in side_by_side(function, part)]


def sample_of(
    source: Source,
    reader: RowReader,
    cache: RowCache,
    moments: Callable[[], Moments],
    counts: tuple[IntArray | None, ...],
) -> Sample:
    """The rows of a source that was scanned before, all of whose values are known to be numbers or levels."""
    if isinstance(source, ArraySource):
        return ArraySample(columns=reader.columns(source.block, 0))
    return BlockSample(source, reader, tuple(range(len(reader.names))), moments(), cache, counts)


def scan(
    sources: Sequence[Source], readers: Sequence[RowReader], prefetch: Callable[[int, int], Sequence[IntArray]] | None
) -> list[tuple[Any, RowCache]]:
    """One pass over each source: its summary, and rows by number where they are known before and worth keeping.

    ``prefetch`` gives the numbers of those rows from the sizes of two sources.
    """
    numbers: Sequence[IntArray] = [np.empty(0, dtype=np.int64)] * len(sources)
    sizes = [source.rows for source in sources]
    if prefetch is not None and None not in sizes and not all(isinstance(each, ArraySource) for each in sources):
        numbers = [distinct(index) for index in prefetch(*(size or 0 for size in sizes))]
    caches = [RowCache() for _ in sources]
    passes = [
        Pass(source, partial(_summed, reader, index), _merged, list(reader.names) if reader.named else None)
        for source, reader, index in zip(sources, readers, numbers, strict=True)
    ]
    found = ask_all(passes)
    for cache, index, (_, rows) in zip(caches, numbers, found, strict=True):
        if len(index):
            cache.add(index, rows)
    return [(summary, cache) for (summary, _), cache in zip(found, caches, strict=True)]


def _summed(reader: RowReader, index: IntArray, block: Any, start: int) -> tuple[Any, FloatArray]:
    rows = picked(reader, index, block, start) if len(index) else np.empty((0, len(reader.names)))
    return reader.summary(block, start), rows


def _merged(a: tuple[Any, FloatArray], b: tuple[Any, FloatArray]) -> tuple[Any, FloatArray]:
    return a[0].merged(b[0]), stacked(a[1], b[1])


def _converted(
    reader: RowReader, columns: tuple[int, ...], scaling: Scaling | None, task: RowTask[T], block: Any, start: int
) -> T:
    rows = reader.rows(block, start, columns)
    if not np.isfinite(rows).all():  # what was looked through before had neither
        raise InputError(f"{reader.where} gave other values than before; it must give the same rows each time")
    return task(rows if scaling is None else scaling.apply(rows), start)


def distinct(numbers: IntArray) -> IntArray:
    """Each number once, in order: `numpy.unique`, ten times faster for some thousand integers."""
    found = np.sort(numbers)
    return found[np.append(True, found[1:] != found[:-1])] if len(found) else found


def picked(reader: RowReader, index: IntArray, block: Any, start: int) -> FloatArray:
    """The rows of a block among sorted numbers, in all columns of the reader, (k, d)."""
    rows = reader.rows(block, start)
    low, high = np.searchsorted(index, [start, start + len(rows)])
    return np.ascontiguousarray(rows[index[low:high] - start])


def stacked(a: FloatArray, b: FloatArray) -> FloatArray:
    """Rows of two neighbouring blocks."""
    return np.concatenate([a, b])


def added(a: Any, b: Any) -> Any:
    """Sums, arrays or tuples of them, of two stretches of rows."""
    return tuple(map(added, a, b)) if isinstance(a, tuple) else a + b


def totals(samples: Sequence[Sample], tasks: Sequence[RowTask[T]], merge: Callable[[T, T], T] = added) -> list[T]:
    """A task for each sample on all of its rows; samples that have to be read are read together."""
    return ask_all([sample.passing(task, merge) for sample, task in zip(samples, tasks, strict=True)])


def same_rows(x: Sample, y: Sample) -> bool:
    """Whether two samples of the same size hold the same rows, as far as rows of both are at hand."""
    if isinstance(x, ArraySample) and isinstance(y, ArraySample):
        return x.shape == y.shape and all(np.array_equal(x.column(j), y.column(j)) for j in range(x.shape[1]))
    (known_x, rows_x), (known_y, rows_y) = x.at_hand(), y.at_hand()
    _, of_x, of_y = np.intersect1d(known_x, known_y, assume_unique=True, return_indices=True)
    return np.array_equal(rows_x[of_x], rows_y[of_y])


def all_at_once(*samples: Sample) -> bool:
    """Whether every row can be had in one piece."""
    return all(sample.rows_at_once >= len(sample) for sample in samples)


def pooled(
    x: Sample,
    y: Sample,
    weights: tuple[FloatArray, FloatArray],
    standardize: bool,
    codes: BoolArray | None,
) -> tuple[Scaling, Sample, Sample]:
    """The pooled scaling of two samples, and both in inner units; ``weights`` sum to 1 in each."""
    if isinstance(x, ArraySample) and isinstance(y, ArraySample):
        scaling, inner_x, inner_y = pooled_scaling(x[:], y[:], *weights, standardize, codes)
        return scaling, ArraySample(inner_x), ArraySample(inner_y)
    scaling = scaling_of_moments(x.moments, y.moments, standardize, codes)
    return scaling, x.scaled(scaling), y.scaled(scaling)
