"""What every source of rows answers, and the source whose rows are all at hand.

A task gets a block of consecutive rows and the number of the first of them; the answers of all blocks are merged in the
order of the blocks, so that the answer depends neither on threads nor on which block is done first.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeVar

from densdiff.messages import argument

T = TypeVar("T")
Task = Callable[[Any, int], Any]  # a block of rows, and the number of its first one
Merge = Callable[[Any, Any], Any]
Change = Callable[[Any, int], Any]
EMPTY = "has 0 data rows"
ALL_DROPPED = f"has 0 rows without missing values; try {argument('missing', 'level')}"


class Source(Protocol):
    """Blocks of consecutive rows; ``rows`` is None while only a pass can tell their number."""

    @property
    def where(self) -> str:
        """What messages call the source."""

    @property
    def as_table(self) -> Callable[[Any], Any]:
        """What makes columns of a block, whatever it came as."""

    @property
    def rows(self) -> int | None: ...

    @property
    def rows_at_once(self) -> int:
        """How many rows can be had in one piece: all of an array, none of what is read block by block."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about how the rows are had."""

    def head(self) -> Any:
        """The first block that has rows, or a part of it."""

    def run(self, task: Task, merge: Merge, columns: list[str] | None) -> Any:
        """The task of every block, merged; ``columns`` are the ones it needs, None for all."""

    def in_order(self, columns: list[str] | None) -> Iterator[tuple[int, Any]]:
        """Every block that has rows, after the number of its first one."""

    def changed(self, change: Change, columns: list[str] | None = None) -> Any:
        """A source of blocks that ``change`` makes of each block and the number of its first row; it may drop rows.

        ``columns`` are the ones it needs, None for all. Of several changes only the last may rename columns; one that
        follows a change that drops rows gets the number that the first row had before, and no block without rows.
        """

    def converted(self) -> Any:
        """This source with all that is at hand as one table, converted once."""


class Pass(NamedTuple):
    """What a run over a source needs."""

    source: Any
    task: Task
    merge: Merge
    columns: list[str] | None  # the ones it needs, None for all


def task_of_block(task: Task, start: int, rows: int) -> Task:
    """A task as it is sent to where one block is: if it holds numbers of rows, with those of the block only."""
    of_block = getattr(task, "of_block", None)
    return task if of_block is None else of_block(start, rows)


def as_it_is(block: Any) -> Any:
    """A block that needs no conversion."""
    return block


@dataclass(frozen=True)
class ArraySource:
    """All rows in one block."""

    where: str
    block: Any
    as_table: Callable[[Any], Any] = as_it_is
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return length(self.block, self.as_table)

    @property
    def rows_at_once(self) -> int:
        return self.rows

    def head(self) -> Any:
        """The one block."""
        return self.block

    def run(self, task: Task, merge: Merge, columns: list[str] | None) -> Any:
        """The task of the one block."""
        return task(self.block, 0)

    def in_order(self, columns: list[str] | None) -> Iterator[tuple[int, Any]]:
        """The one block."""
        yield 0, self.block

    def changed(self, change: Change, columns: list[str] | None = None) -> "ArraySource":
        """A source of the block that ``change`` makes of this one."""
        return replace(self, block=change(self.block, 0))

    def converted(self) -> "ArraySource":
        """The source of the block as a table."""
        return replace(self, block=self.as_table(self.block), as_table=as_it_is)


def chained(first: Change | None, second: Change) -> Change:
    """A change of blocks after another."""
    if first is None:
        return second
    return _Chain(first, second)


def needed_columns(first: list[str] | None, second: list[str] | None) -> list[str] | None:
    """The columns that two changes need together; one that names none takes what the other needs, None is all."""
    return list(dict.fromkeys([*(first or ()), *(second or ())])) or None


@dataclass(frozen=True)
class _Chain:
    """Two changes one after the other; a function within a function could not be sent to the workers of Dask."""

    first: Change
    second: Change

    def __call__(self, block: Any, start: int) -> Any:
        kept = self.first(block, start)
        return self.second(kept, start) if length(kept) else kept


def length(block: Any, as_table: Callable[[Any], Any] = as_it_is) -> int:
    """How many rows; a mapping has columns, each as long as the block."""
    if isinstance(block, Mapping):
        return len(next(iter(block.values()), ()))
    try:
        return len(block)
    except TypeError:  # a sparse matrix, a lazy frame: the conversion says what to do
        return len(as_table(block))


def rows_at(block: Any, at: slice) -> Any:
    """Some rows of a block."""
    if isinstance(block, Mapping):
        return {name: values[at] for name, values in block.items()}
    if hasattr(block, "iloc"):
        return block.iloc[at]
    return block.some(at) if hasattr(block, "some") else block[at]
