"""A source of blocks as stretches of consecutive rows that overlap, or as rows drawn from all of it."""

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


def most_rows(width: int) -> int:
    """How many rows of so many columns fit."""
    return max(1000, int(room() / (8 * width)))


def counted(source: Source) -> int:
    """Rows of a source, by a pass if nothing else tells."""
    return int(source.run(partial(_count, source), int.__add__, None)) if source.rows is None else source.rows


def _count(source: Source, block: Any, start: int) -> int:
    return length(block, source.as_table)


def stretches(source: Source, where: str, size: int, overlap: int) -> Iterator[tuple[int, Any]]:
    """Columns by name of ``size`` rows at a time, each beginning ``overlap`` rows before the end of the one before.

    All in one reading.
    """
    total = counted(source)
    head = source.head()
    of, levels = reading(head, where), _categories(head, where)
    first = range(0, max(1, total - overlap), size - overlap)
    spans = [(start, min(total, start + size)) for start in first]
    return zip(first, (_as_given(of, levels, part) for part in _in_turn(source, of, spans)), strict=True)


def _in_turn(source: Source, of: Reading, spans: list[tuple[int, int]]) -> Iterator[Columns]:
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
        yield {
            name: np.concatenate([part[name][max(low - start, 0) : high - start] for start, part in held])
            for name in of.names
        }
    deque(blocks, maxlen=0)  # to its end, where it says whether the rows were those of before


def _rows(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _taken(source: Source, of: Reading, index: IntArray) -> Columns:
    """Rows of sorted numbers."""
    found: Columns = source.run(partial(_of_block, of, index), _joined, list(of.names) if of.named else None)
    return found


def _categories(head: Any, where: str) -> list[str]:
    """Columns that the first rows declare to be categories, which their values alone may not tell."""
    table = table_of(head, where)
    return [name for name, column in zip(table.names or (), table.columns, strict=False) if column.kind == "categories"]


def _as_given(of: Reading, categories: list[str], columns: Columns) -> Table:
    """Columns as the table that they would be in memory."""
    table = table_of(columns, of.where)
    kinds = [
        replace(column, kind="categories") if name in categories else column
        for name, column in zip(of.names, table.columns, strict=True)
    ]
    own = of.named or any(name != f"x{j}" for j, name in enumerate(of.names))
    return replace(table, columns=kinds, names=of.names if own else None)


def _of_block(of: Reading, index: IntArray, block: Any, start: int) -> Columns:
    table, given = of.table(block), table_of(block, of.where).names if of.named else None
    low, high = np.searchsorted(index, [start, start + table.shape[0]])
    rows, found = index[low:high] - start, {}
    for name, column in zip(of.names, table.columns, strict=True):
        values = column.values
        if given is not None and column.kind == "dates or durations":
            values = clock_of(block, given.index(name), values)
        found[name] = values[rows]
    return found


def _joined(a: Columns, b: Columns) -> Columns:
    return {name: np.concatenate([values, b[name]]) for name, values in a.items()}


def drawn(source: Source, where: str, seed: int, most: int, needed: Sequence[str]) -> tuple[Any, list[str], int]:
    """At most so many rows drawn at random, the names of columns left out, and how many rows there are.

    Rows that can be had at once are all given. Of a source that has the needed columns by name the others are not
    looked at; of those, all values are.
    """
    if source.rows_at_once:
        return source.head(), [], source.rows_at_once
    head = source.head()
    of, levels = reading(head, where), _categories(head, where)
    extra: list[str] = []
    if of.named and set(needed) <= set(of.names):
        extra = [name for name in of.names if name not in needed]
        of = of.only([of.names.index(name) for name in needed])
    about = source.run(of.summary, Summary.merged, list(of.names) if of.named else None)
    refuse_missing(about, ROWS)
    index = np.sort(selection.draw_rows(seed, about.rows, most))
    return _as_given(of, levels, _taken(source, of, index)), extra, about.rows
