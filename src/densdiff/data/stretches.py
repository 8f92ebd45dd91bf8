"""A source of blocks as stretches of consecutive rows that overlap, or as rows drawn from all of it.

Stretches hold what a table in memory would hold; they are checked by whoever asked for them.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.core import selection
from densdiff.core.selection import IntArray
from densdiff.data.floats import ROWS, refuse_missing
from densdiff.data.reading import Reading, reading
from densdiff.data.series import clock_of
from densdiff.data.summary import Summary
from densdiff.data.table import Table, table_of
from densdiff.io.memory import room
from densdiff.sources.source import Source, length

Columns = dict[str, npt.NDArray[Any]]


def rows_that_fit(width: int) -> int:
    """How many rows of ``width`` numbers fit into memory."""
    return max(1000, int(room() / (8 * width)))


def count_rows(source: Source) -> int:
    """Rows of a source, by a pass if nothing else tells."""
    return int(source.run(partial(_block_length, source), int.__add__, None)) if source.rows is None else source.rows


def _block_length(source: Source, block: Any, start: int) -> int:
    return length(block, source.as_table)


def stretches(source: Source, where: str, size: int, overlap: int) -> Iterator[tuple[int, Any]]:
    """Columns by name of ``size`` rows at a time, each beginning ``overlap`` rows before the end of the one before.

    The source is read once.
    """
    total = count_rows(source)
    head = source.head()
    reader, levels = reading(head, where), _categories(head, where)
    first = range(0, max(1, total - overlap), size - overlap)
    spans = [(start, min(total, start + size)) for start in first]
    return zip(
        first, (_as_table(reader, levels, columns) for columns in _iterate_spans(source, reader, spans)), strict=True
    )


def _iterate_spans(source: Source, reader: Reading, spans: list[tuple[int, int]]) -> Iterator[Columns]:
    """Columns by name of the rows of each span, from its first row up to but without its end."""
    held: deque[tuple[int, Columns]] = (
        deque()
    )  # blocks that the next stretch needs, and the numbers of their first rows
    blocks = source.in_order(None)
    stop = 0
    for low, high in spans:
        while stop < high:
            start, block = next(blocks)
            held.append((start, _block_columns(reader, np.arange(start, start + length(block)), block, start)))
            stop = start + length(block)
        while held[0][0] + _n_rows(held[0][1]) <= low:
            held.popleft()
        yield {
            name: np.concatenate([columns[name][max(low - start, 0) : high - start] for start, columns in held])
            for name in reader.names
        }
    deque(blocks, maxlen=0)  # to its end, where it says whether the rows were those of before


def _n_rows(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _take_rows(source: Source, reader: Reading, index: IntArray) -> Columns:
    """Columns by name of the rows with these sorted numbers."""
    columns: Columns = source.run(
        partial(_block_columns, reader, index), _concatenate, list(reader.names) if reader.named else None
    )
    return columns


def _categories(head: Any, where: str) -> list[str]:
    """Columns that the first rows declare to be categories, which their values alone may not tell."""
    table = table_of(head, where)
    return [name for name, column in zip(table.names or (), table.columns, strict=False) if column.kind == "categories"]


def _as_table(reader: Reading, categories: list[str], columns: Columns) -> Table:
    """Columns as the table that they would be in memory."""
    table = table_of(columns, reader.where)
    typed = [
        replace(column, kind="categories") if name in categories else column
        for name, column in zip(reader.names, table.columns, strict=True)
    ]
    has_names = reader.named or any(name != f"x{j}" for j, name in enumerate(reader.names))
    return replace(table, columns=typed, names=reader.names if has_names else None)


def _block_columns(reader: Reading, index: IntArray, block: Any, start: int) -> Columns:
    """Columns by name of the rows of a block that are among sorted numbers."""
    table, names = reader.table(block), table_of(block, reader.where).names if reader.named else None
    low, high = np.searchsorted(index, [start, start + table.shape[0]])
    rows, columns = index[low:high] - start, {}
    for name, column in zip(reader.names, table.columns, strict=True):
        values = column.values
        if names is not None and column.kind == "dates or durations":
            values = clock_of(block, names.index(name), values)
        columns[name] = values[rows]
    return columns


def _concatenate(a: Columns, b: Columns) -> Columns:
    return {name: np.concatenate([values, b[name]]) for name, values in a.items()}


def draw_table(source: Source, where: str, seed: int, most: int, needed: Sequence[str]) -> tuple[Any, list[str], int]:
    """At most so many rows drawn at random, the names of columns left out, and how many rows there are.

    Rows that can be had at once are all given. Of a source that has the needed columns by name the others are not
    looked at; of those, all values are.
    """
    if source.rows_at_once:
        return source.head(), [], source.rows_at_once
    head = source.head()
    reader, levels = reading(head, where), _categories(head, where)
    extra: list[str] = []
    if reader.named and set(needed) <= set(reader.names):
        extra = [name for name in reader.names if name not in needed]
        reader = reader.only([reader.names.index(name) for name in needed])
    summary = source.run(reader.summary, Summary.merged, list(reader.names) if reader.named else None)
    refuse_missing(summary, ROWS)
    index = np.sort(selection.draw_rows(seed, summary.rows, most))
    return _as_table(reader, levels, _take_rows(source, reader, index)), extra, summary.rows
