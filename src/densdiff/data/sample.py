"""Rows that are not in memory all at once, and what is asked of any rows: sums over blocks, and some rows by number.

`Rows` stands in for an array of shape (n, d): it has a shape and a length, and an index gives those rows as an array.
Everything else is a sum over blocks, `total`, of the same functions that work on whole arrays.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from densdiff.core.kernel import radius
from densdiff.core.scaling import FloatArray, Moments, Scaling
from densdiff.core.selection import Dealt, IntArray
from densdiff.data.summary import Reading
from densdiff.errors import InputError
from densdiff.sources.blocks import Pass, Source
from densdiff.sources.passes import ask, ask_all

T = TypeVar("T")
Task = Callable[[FloatArray, int], T]  # rows (k, d) and the number of the first


_adding = threading.Lock()


@dataclass
class Kept:
    """Rows fetched before, by number, in all columns of the reading; threads that look at one column each share it."""

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

    def only(self, places: Sequence[int]) -> "Kept":
        """With some of the columns."""
        index, rows = self.found
        return Kept((index, rows[:, list(places)])) if len(index) else Kept()


@dataclass(frozen=True)
class Rows:
    """n rows of a source, read as numbers, some of their columns, perhaps scaled."""

    source: Source
    reading: Reading
    columns: tuple[int, ...]  # of the reading
    moments: Moments  # of these columns
    kept: Kept
    counts: tuple[IntArray | None, ...] = ()  # rows of each level of these columns; empty without categories
    scaling: Scaling | None = None

    @property
    def n(self) -> int:
        return self.moments.n

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, len(self.columns) if self.scaling is None else len(self.scaling.keep)

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: Any) -> FloatArray:
        """Rows by their numbers, or by a slice, (k, d)."""
        wanted = np.arange(*index.indices(self.n)) if isinstance(index, slice) else np.asarray(index)
        self.fetch(wanted)
        found = self.kept.at(wanted)[:, list(self.columns)] if len(wanted) else np.empty((0, len(self.columns)))
        return found if self.scaling is None else self.scaling.apply(found)

    def fetch(self, index: IntArray) -> None:
        """Have these rows at hand, in one pass, if they are not yet."""
        lacking = self.kept.lacking(distinct(index))
        if not len(lacking):
            return
        names = list(self.reading.names) if self.reading.named else None
        found = ask(self.source, partial(picked, self.reading, lacking), stacked, names)
        self.kept.add(lacking, found)

    def summing(self, task: Task[Any], merge: Callable[[Any, Any], Any]) -> Pass:
        """A task on every block, and the answers merged in the order of the blocks."""
        names = [self.reading.names[j] for j in self.columns] if self.reading.named else None
        return Pass(self.source, partial(_converted, self.reading, self.columns, self.scaling, task), merge, names)

    def scaled(self, scaling: Scaling) -> "Rows":
        """The same rows in inner units."""
        return replace(self, scaling=scaling)

    def column(self, j: int) -> "Rows":
        """One column, not scaled."""
        counts = self.counts[j : j + 1] if self.counts and self.counts[j] is not None else ()
        return replace(self, columns=(self.columns[j],), moments=self.moments.column(j), counts=counts, scaling=None)

    def level_counts(self) -> list[IntArray]:
        """Of the columns of categories that vary, in the order of the scaled columns."""
        order = range(len(self.counts)) if self.scaling is None else self.scaling.keep
        found = [self.counts[j] for j in order] if self.counts else []
        return [counts for counts in found if counts is not None]


def _converted(
    reading: Reading, columns: tuple[int, ...], scaling: Scaling | None, task: Task[T], block: Any, start: int
) -> T:
    rows = reading.rows(block, start, columns)
    if not np.isfinite(rows).all():  # what was looked through before had neither
        raise InputError(f"{reading.where} gave other values than before; it must give the same rows each time")
    return task(rows if scaling is None else scaling.apply(rows), start)


def distinct(numbers: IntArray) -> IntArray:
    """Each number once, in order: `numpy.unique`, ten times faster for some thousand integers."""
    found = np.sort(numbers)
    return found[np.append(True, found[1:] != found[:-1])] if len(found) else found


def picked(reading: Reading, index: IntArray, block: Any, start: int) -> FloatArray:
    rows = reading.rows(block, start)
    low, high = np.searchsorted(index, [start, start + len(rows)])
    return np.ascontiguousarray(rows[index[low:high] - start])


def stacked(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.concatenate([a, b])


def added(a: Any, b: Any) -> Any:
    """Sums, arrays or tuples of them, of two stretches of rows."""
    return tuple(map(added, a, b)) if isinstance(a, tuple) else a + b


def total(rows: FloatArray | Rows, task: Task[T], merge: Callable[[T, T], T] = added) -> T:
    """A task on all rows, whether they are in memory or not."""
    return totals([rows], [task], merge)[0]


def totals(
    samples: Sequence[FloatArray | Rows], tasks: Sequence[Task[T]], merge: Callable[[T, T], T] = added
) -> list[T]:
    """`total` of a task for each sample; of those that are not in memory, in one go."""
    pairs = list(zip(samples, tasks, strict=True))
    found = iter(ask_all([rows.summing(task, merge) for rows, task in pairs if isinstance(rows, Rows)]))
    return [next(found) if isinstance(rows, Rows) else task(rows, 0) for rows, task in pairs]


def sent_weights(omega: FloatArray) -> FloatArray | float:
    """Weights as a task takes them along: one number if it is broadcast."""
    return float(omega[0]) if omega.strides == (0,) else omega


def weights_at(omega: FloatArray | float, start: int, count: int) -> FloatArray:
    """Of consecutive rows, from `sent_weights`, (count,)."""
    return np.broadcast_to(omega, count) if isinstance(omega, float) else omega[start : start + count]


def sum_of_squares(omega: FloatArray) -> float:
    """Of weights, without an array of n numbers where one number is broadcast."""
    even = omega.strides == (0,) or bool((omega == omega[0]).all())  # a pickled model has no broadcast number
    return float(len(omega) * omega[0] ** 2) if even else float(np.square(omega).sum())


def groups_at(groups: IntArray | Dealt, start: int, count: int) -> IntArray:
    """Groups of consecutive rows, (count,)."""
    return groups.part(start, count) if isinstance(groups, Dealt) else groups[start : start + count]


def mass_of(groups: IntArray | Dealt, omega: FloatArray) -> FloatArray:
    """Sum of the weights of each group, (groups,)."""
    if isinstance(groups, Dealt):
        return np.asarray(groups.counts() * omega[0])
    if omega.strides == (0,):  # one number for all
        return np.asarray(np.bincount(groups) * omega[0])
    return np.bincount(groups, omega).astype(np.float64)


def reach_of(rows: FloatArray | Rows, d: int) -> float:
    """The largest distance of any row from the origin in its first d columns; of `Rows` a bound from their ends."""
    if isinstance(rows, Rows):
        return float(np.sqrt(np.square(np.abs(ends_of(rows))[:, :d].max(axis=0)).sum()))
    return radius(rows[:, :d])


def ends_of(rows: FloatArray | Rows) -> FloatArray:
    """The lowest and the highest value of each column, (2, d)."""
    if isinstance(rows, Rows):
        ends = np.array([rows.moments.low, rows.moments.high])
        return ends if rows.scaling is None else rows.scaling.apply(ends)
    return np.array([rows.min(axis=0), rows.max(axis=0)])
