"""A source of blocks as stretches of consecutive rows that overlap, or as rows drawn from all of it."""

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.checks.summaries import Reading, Summary, reading, refuse_missing
from densdiff.core import selection
from densdiff.core.selection import IntArray
from densdiff.engines.sources import BlockSource, Source, length
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
    """Columns by name of ``size`` rows at a time, each beginning ``overlap`` rows before the end of the one before.

    In one reading; of a Dask collection each stretch comes from the workers when it is its turn.
    """
    total = counted(source)
    of = reading(source.head(), where)
    first = range(0, max(1, total - overlap), size - overlap)
    spans = [(start, min(total, start + size)) for start in first]
    if isinstance(source, BlockSource):
        parts = _in_turn(source, of, spans)
    else:
        parts = (_taken(source, of, np.arange(*span)) for span in spans)
    return zip(first, parts, strict=True)


def _in_turn(source: BlockSource, of: Reading, spans: list[tuple[int, int]]) -> Iterator[Any]:
    held: deque[tuple[int, Columns]] = (
        deque()
    )  # blocks that the next stretch needs, and the numbers of their first rows
    blocks = source.in_order(None)
    stop = 0
    for low, high in spans:
        while stop < high:
            start, block = next(blocks)
            held.append((start, _of_block(of, np.arange(start, start + length(block)), block, start)))
            stop = start + length(block)
        while held[0][0] + _rows(held[0][1]) <= low:
            held.popleft()
        found = {
            name: np.concatenate([part[name][max(low - start, 0) : high - start] for start, part in held])
            for name in of.names
        }
        yield _as_given(of, found)
    deque(blocks, maxlen=0)  # to its end, where it says whether the rows were those of before


def _rows(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _taken(source: Source, of: Reading, index: IntArray) -> Any:
    """Rows of sorted numbers."""
    return _as_given(of, source.run(partial(_of_block, of, index), _joined, None))


def _as_given(of: Reading, columns: Columns) -> Any:
    """Columns by name; as an array if they have no names of their own."""
    return columns if of.named else np.column_stack(list(columns.values()))


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
