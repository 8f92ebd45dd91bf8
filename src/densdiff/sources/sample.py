"""Rows of numbers, wherever they are: sizes, rows by number, ends and moments, totals of a function over blocks.

Above this folder nobody asks where the rows are. A sample that is too large to be had in one piece says so by
``rows_at_once``; everything else is a total over blocks of the same functions that work on whole arrays.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from densdiff.core.scaling import FloatArray, Moments, Scaling
from densdiff.core.selection import IntArray
from densdiff.sources.passes import run_passes
from densdiff.sources.source import Merge, Pass

S = TypeVar("S")
T = TypeVar("T")
RowTask = Callable[[FloatArray, int], T]  # rows (k, d) and the number of the first


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
        """Fetch rows by their numbers, in one pass, before they are asked for."""

    def aside(self) -> "Sample":
        """The same rows; those that are fetched from now on are forgotten with the sample that is returned."""

    def only(self, columns: Sequence[int]) -> "Sample":
        """The sample with some of its columns, not scaled."""

    def loaded(self, columns: Sequence[int]) -> "Sample":
        """The sample with some of its columns, not scaled, in memory if they come from this machine and fit."""

    def scaled(self, scaling: Scaling) -> "Sample":
        """The sample with its rows in inner units."""

    def make_pass(self, task: RowTask[Any], merge: Merge) -> Pass:
        """The pass of a task over all blocks of rows."""

    def ends(self) -> FloatArray:
        """The lowest and the highest value of each column, (2, d)."""

    def reach(self, d: int) -> float:
        """The largest distance of any row from the origin in its first d columns, or a bound of it."""

    def level_counts(self, j: int, levels: int) -> IntArray:
        """Rows of each level of a column of codes, (levels,)."""

    def map(self, function: Callable[[S], T], items: Sequence[S]) -> list[T]:
        """The function of each item, sharing the passes over these rows where any are needed."""


def add_sums(a: Any, b: Any) -> Any:
    """The sums of two stretches of rows together: numbers, arrays, or tuples of them."""
    return tuple(map(add_sums, a, b)) if isinstance(a, tuple) else a + b


def totals(samples: Sequence[Sample], tasks: Sequence[RowTask[T]], merge: Callable[[T, T], T] = add_sums) -> list[T]:
    """A task for each sample on all of its rows; samples that have to be read are read together."""
    return run_passes([sample.make_pass(task, merge) for sample, task in zip(samples, tasks, strict=True)])


def all_at_once(*samples: Sample) -> bool:
    """Whether every row can be had in one piece."""
    return all(sample.rows_at_once >= len(sample) for sample in samples)
