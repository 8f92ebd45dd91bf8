"""A sample whose rows are all in memory.

Samples that are read block by block live in `block_sample`; what every sample answers is in `sample`.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from densdiff.core.kernel import radius
from densdiff.core.scaling import FloatArray, Moments, Scaling, moments_of, stack_columns
from densdiff.core.selection import IntArray
from densdiff.sources.sample import RowTask
from densdiff.sources.source import ArraySource, Merge, Pass
from densdiff.sources.together import map_together
from densdiff.threads import cores

S = TypeVar("S")
T = TypeVar("T")
_PARALLEL_ROWS = 1000


class ArraySample:
    """All rows in memory, as one matrix or as columns that become one when it is asked for."""

    inner_threads = None

    def __init__(
        self, rows: FloatArray | None = None, columns: Sequence[FloatArray] = (), ends: FloatArray | None = None
    ) -> None:
        self._matrix, self._columns = rows, tuple(columns)
        self._ends = ends  # (2, d); kept once they are known, as moments are
        self._moments: Moments | None = None

    @property
    def _rows(self) -> FloatArray:
        """A matrix of our own, columns contiguous, (n, d)."""
        if self._matrix is None:
            self._matrix, self._columns = stack_columns(self._columns), ()
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
        if self._moments is None:
            self._moments = moments_of(self._rows)
        return self._moments

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> FloatArray:
        if isinstance(index, slice) and index == slice(None):
            return self._rows
        if self._matrix is None:
            return stack_columns([column[index] for column in self._columns])
        return np.asarray(self._matrix[index])

    def spaced(self, most: int) -> FloatArray:
        """All rows, whatever ``most``."""
        return self._rows

    def at_hand(self) -> tuple[IntArray, FloatArray]:
        """The numbers of all rows, and all rows."""
        return np.arange(len(self)), self._rows

    def prefetch(self, index: IntArray) -> None:
        """Rows in memory need no preparation."""

    def aside(self) -> "ArraySample":
        """The sample itself: it fetches nothing."""
        return self

    def only(self, columns: Sequence[int]) -> "ArraySample":
        """The sample with some of its columns."""
        if self._matrix is None:
            return ArraySample(columns=[self._columns[j] for j in columns])
        return ArraySample(np.asfortranarray(self._matrix[:, list(columns)]))

    def loaded(self, columns: Sequence[int]) -> "ArraySample":
        """The sample with some of its columns."""
        return self.only(columns)

    def scaled(self, scaling: Scaling) -> "ArraySample":
        """The rows in inner units."""
        return ArraySample(scaling.apply(self._rows))

    def make_pass(self, task: RowTask[Any], merge: Merge) -> Pass:
        """The pass of a task over all rows at once."""
        return Pass(ArraySource("", self._rows), task, merge, None)

    def ends(self) -> FloatArray:
        """The lowest and the highest value of each column, (2, d); kept once they are known."""
        if self._ends is None:
            columns = self._columns if self._matrix is None else self._matrix.T
            self._ends = np.array([[column.min() for column in columns], [column.max() for column in columns]])
        return self._ends

    def reach(self, d: int) -> float:
        """The largest distance of any row from the origin in its first d columns."""
        return radius(self._rows[:, :d])

    def level_counts(self, j: int, levels: int) -> IntArray:
        """Rows of each level of a column of codes, (levels,)."""
        return np.bincount(self.column(j).astype(np.intp), minlength=levels)

    def column(self, j: int) -> FloatArray:
        """One column, (n,)."""
        return self._columns[j] if self._matrix is None else self._matrix[:, j]

    def map(self, function: Callable[[S], T], items: Sequence[S]) -> list[T]:
        """The function of each item, on all cores if the rows are many; warnings come in the order of the items."""
        return map_together(function, items, cores() if len(self) >= _PARALLEL_ROWS else 1)
