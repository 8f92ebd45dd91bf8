"""A source of blocks as stretches of consecutive rows that overlap, or as rows drawn from all of it."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.checks.summaries import Reading, Summary, reading, refuse_missing
from densdiff.core import selection
from densdiff.core.selection import IntArray
from densdiff.engines.sources import Source, length
from densdiff.files.blocks import room

Columns = dict[str, npt.NDArray[Any]]


def most_rows(width: int) -> int:
    """How many rows of so many columns fit."""
    return max(1000, int(room() / (8 * width)))


def counted(source: Source) -> int:
    """Rows of a source, by a pass if nothing else tells."""
    return source.run(_count, int.__add__, None) if source.rows is None else source.rows


def _count(block: Any, start: int) -> int:
    return length(block)


def stretches(source: Source, where: str, size: int, overlap: int) -> Iterator[tuple[int, Any]]:
    """Columns by name of ``size`` rows at a time, each beginning ``overlap`` rows before the end of the one before."""
    total, start = counted(source), 0
    of = reading(source.head(), where)
    while True:
        stop = min(total, start + size)
        yield start, _between(source, of, start, stop)
        if stop == total:
            return
        start = stop - overlap


def _between(source: Source, of: Reading, low: int, high: int) -> Any:
    return _taken(source, of, np.arange(low, high))


def _taken(source: Source, of: Reading, index: IntArray) -> Any:
    """Rows of sorted numbers as columns by name; as an array if columns have no names of their own."""
    found = source.run(partial(_of_block, of, index), _joined, None)
    return found if of.named else np.column_stack(list(found.values()))


def _of_block(of: Reading, index: IntArray, block: Any, start: int) -> Columns:
    table = of.table(block)
    low, high = np.searchsorted(index, [start, start + table.shape[0]])
    rows = index[low:high] - start
    return {name: column.values[rows] for name, column in zip(of.names, table.columns, strict=True)}


def _joined(a: Columns, b: Columns) -> Columns:
    return {name: np.concatenate([values, b[name]]) for name, values in a.items()}


def drawn(source: Source, where: str, seed: int, most: int) -> tuple[Any, int]:
    """At most so many rows drawn at random, as columns by name, and how many there are; all values are looked at."""
    of = reading(source.head(), where)
    about = source.run(of.summary, Summary.merged, None)
    refuse_missing([about], "drop or fill those rows")
    index = np.sort(selection.draw_rows(seed, about.rows, most))
    return _taken(source, of, index), about.rows
