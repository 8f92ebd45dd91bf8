"""Rows that come in blocks, held in memory as one table where their columns take little room.

Numbers take what they take in an array, text a number for each row and its distinct values once. What is held is read
once only, however many passes there will be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from densdiff.data.summary import MOST_LEVELS
from densdiff.data.table import Coded, Column, Table, coded_column, missing_values
from densdiff.io.files import File
from densdiff.sources.blocks import BlockSource, IteratedBlocks
from densdiff.sources.source import ArraySource, Source

_OBJECT = 64  # bytes of a Python object that is no number, about


class _TooLargeError(Exception):
    """Columns that do not fit."""


@dataclass(frozen=True)
class _Held:
    """Tables of neighbouring blocks and the bytes that they take."""

    tables: list[Table]
    size: int


def hold(source: Source, columns: list[str] | None, room: float) -> Source:
    """The source with these columns, or all, in memory if they take no more than ``room`` bytes; else as it is."""
    if not isinstance(source, BlockSource) or isinstance(source.blocks, IteratedBlocks):
        return source
    head = _chosen(source.as_table(source.head()), columns)
    if source.rows is not None and source.rows * sum(map(_width, head.columns)) > room:
        return source
    blocks = source.blocks.coded() if isinstance(source.blocks, File) else source.blocks
    try:
        held = replace(source, blocks=blocks).run(
            partial(_held_block, source.as_table, columns, room), partial(_join, room), columns
        )
    except _TooLargeError:
        return source
    whole = stack_tables(held.tables)
    return source if whole is None else ArraySource(source.where, whole, notes=source.notes)


def stack_tables(tables: Sequence[Table]) -> Table | None:
    """One table of several that follow each other; None if a column is not of one kind, as where one is all missing."""
    columns = [_stack_columns(parts) for parts in zip(*(table.columns for table in tables), strict=True)]
    whole = [column for column in columns if column is not None]
    if len(whole) < len(columns):
        return None
    return replace(tables[0], columns=whole, shape=(sum(map(len, tables)), *tables[0].shape[1:]))


def _held_block(as_table: Any, columns: list[str] | None, room: float, block: Any, start: int) -> _Held:
    """A block as a table that holds on to nothing else."""
    table = _chosen(as_table(block), columns)
    table = replace(table, columns=[replace(column, held=_own(column.held)) for column in table.columns])
    return _fitting([table], sum(map(_size, table.columns)), room)


def _chosen(table: Table, columns: list[str] | None) -> Table:
    """A table with these columns, or as it is."""
    return table if columns is None or table.names is None else table.select(columns)


def _own(held: Any) -> Any:
    """Values in memory of their own: those of a block may be a view of all that was read with it."""
    return held if isinstance(held, Coded) else held.copy()


def _join(room: float, a: _Held, b: _Held) -> _Held:
    a.tables.extend(b.tables)
    return _fitting(a.tables, a.size + b.size, room)


def _fitting(tables: list[Table], size: int, room: float) -> _Held:
    if size > room:
        raise _TooLargeError
    return _Held(tables, size)


def _width(column: Column) -> int:
    """Bytes that each row of a column takes at least."""
    return (column.held.places if isinstance(column.held, Coded) else column.held).itemsize


def _size(column: Column) -> int:
    """Bytes that a column takes; of text that the next blocks will hold too, more than they will together."""
    if isinstance(column.held, Coded):
        return int(column.held.places.nbytes) + sum(_OBJECT + len(text) for text in column.held.distinct[:-1])
    return column.held.nbytes + _OBJECT * len(column) * (column.held.dtype == object)


def _stack_columns(parts: Sequence[Column]) -> Column | None:
    """One column of several that follow each other; None if they are not of one kind."""
    if (text := next((part for part in parts if part.coded is not None), None)) is not None:
        parts = [_all_missing(part, text.kind) if part.coded is None else part for part in parts]
    if len({part.kind for part in parts}) > 1:
        return None
    kind = parts[0].kind
    if all(part.coded is not None for part in parts):
        coded = _stack_codes([part.coded for part in parts if part.coded is not None])
        return None if coded is None else coded_column(coded, kind)
    column = Column(np.concatenate([part.values for part in parts]), kind, largest=max(part.largest for part in parts))
    return column if kind == "numbers" else replace(column, row=int((~missing_values(column)).argmax()))


def _all_missing(part: Column, kind: str) -> Column:
    """A column without any value as one of missing text; any other as it is."""
    if part.kind != "numbers" or not missing_values(part).all():
        return part
    return Column(Coded(np.full(len(part), -1, dtype=np.int32), np.array([None], dtype=object)), kind)


def _stack_codes(parts: Sequence[Coded]) -> Coded | None:
    """Values of several stretches by their distinct ones; None if there are more than are counted block by block."""
    place_of: dict[Any, int] = {}
    places = []
    for part in parts:
        own = [place_of.setdefault(value, len(place_of)) for value in part.distinct[:-1]]
        places.append(np.array([*own, -1], dtype=np.int32)[part.places])
        if len(place_of) > MOST_LEVELS:
            return None
    distinct = np.fromiter([*place_of, None], dtype=object, count=len(place_of) + 1)
    return Coded(np.concatenate(places), distinct)
