"""Two sources with the same columns: matched by their first blocks, scanned once, then rows of numbers.

Kinds of columns are compared in `kinds`, missing values treated in `missing`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from densdiff.core.scaling import FloatArray, Moments
from densdiff.core.selection import IntArray
from densdiff.data.choosing import default_names, names_of
from densdiff.data.kinds import Columns
from densdiff.data.reading import Reading, reading
from densdiff.data.summary import Summary
from densdiff.data.table import Column, Table, table_of
from densdiff.errors import InputError
from densdiff.messages import listed, shown, warn
from densdiff.sources.block_sample import RowCache
from densdiff.sources.sample import Sample
from densdiff.sources.scan import sample_of, scan
from densdiff.sources.source import Source

# Chooses, from the sizes of both samples, the numbers of the rows that will be asked for.
Prefetch = Callable[[int, int], tuple[IntArray, IntArray]]


def no_rows(n: int, m: int) -> tuple[IntArray, IntArray]:
    """A `Prefetch` of no rows."""
    return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class SchemaChanges:
    """Columns that only A has, that only B has, and that are of another kind in B, with both kinds."""

    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    other_kind: tuple[tuple[str, str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.added or self.other_kind)


@dataclass(frozen=True)
class MatchedSources:
    """Two sources after a look through both; columns are matched, their kinds not yet compared."""

    sources: tuple[Source, Source]
    readings: tuple[Reading, Reading]
    summaries: tuple[Summary, Summary]
    caches: tuple[RowCache, RowCache]
    schema_changes: SchemaChanges = SchemaChanges()

    @property
    def names(self) -> tuple[str, ...]:
        return self.readings[0].names

    @property
    def sizes(self) -> tuple[int, int]:
        return self.summaries[0].rows, self.summaries[1].rows

    def only(self, places: Sequence[int]) -> "MatchedSources":
        """Both sources with some of the columns, by their places."""
        if list(places) == list(range(len(self.names))):
            return self
        x, y = (reader.only(places) for reader in self.readings)
        summary_x, summary_y = (summary.only(places) for summary in self.summaries)
        cache_x, cache_y = (cache.only(places) for cache in self.caches)
        return replace(self, readings=(x, y), summaries=(summary_x, summary_y), caches=(cache_x, cache_y))

    def samples(self, columns: Columns, prefetch: Prefetch) -> tuple[Sample, Sample]:
        """Both sources as rows of numbers, with codes for the levels of columns of categories."""
        matched = self.only(columns.places)
        x, y = (
            sample_of(
                source,
                replace(reader, levels=columns.coded) if columns.coded else reader,
                cache,
                _ends(summary, columns),
                partial(_moments, summary, reader.shifts, columns),
                _level_counts(summary, columns),
            )
            for source, reader, summary, cache in zip(
                matched.sources, matched.readings, matched.summaries, matched.caches, strict=True
            )
        )
        if x.rows_at_once < len(x) or y.rows_at_once < len(y):
            for sample, index in zip((x, y), prefetch(len(x), len(y)), strict=True):
                sample.prefetch(index)
        return x, y

    @property
    def summaries_equal(self) -> bool:
        """Whether the summaries are equal to the last bit, as they must be if both hold the same rows."""
        x, y = self.summaries
        return x.rows == y.rows and x.columns == y.columns


def match_sources(
    sources: tuple[Source, Source],
    notes: list[str],
    prefetch: Prefetch,
    headers: Sequence[Table] | None = None,
) -> MatchedSources:
    """Both sources matched by their first blocks, then read to the end; ``headers`` have the columns to use of each.

    What a user should know is appended to ``notes``.
    """
    notes += [note for source in sources for note in source.notes]
    heads = [table_of(source.head(), source.where) for source in sources]
    tables = heads if headers is None else headers
    names, *_ = match_columns(tables[0], tables[1], notes)
    changes = SchemaChanges()
    if len(names) < max(len(table.columns) for table in tables):  # two series are compared whatever their names
        missing, added = (tuple(name for name in table.names or () if name not in names) for table in tables)
        changes = SchemaChanges(missing, added)
    x, y = (
        _common_columns(reading(head, source.where, moments=not source.rows_at_once), table, names)
        for source, head, table in zip(sources, heads, tables, strict=True)
    )
    # codes of levels are known after the scan only, so rows of categories are fetched later
    all_numbers = all(column.kind == "numbers" for head in heads for column in _used_columns(head, names))
    (summary_x, cache_x), (summary_y, cache_y) = scan(sources, (x, y), prefetch if all_numbers else None)
    return MatchedSources(sources, (x, y), (summary_x, summary_y), (cache_x, cache_y), changes)


def _used_columns(head: Table, names: tuple[str, ...]) -> list[Column]:
    """The columns of a block by these names, or all of them if they have other names."""
    named = replace(head, names=names_of(head))
    return named.select(names).columns if set(names) <= set(named.names or ()) else head.columns


def _common_columns(reader: Reading, table: Table, names: tuple[str, ...]) -> Reading:
    """The reading of columns in common: by name if the table has all the names, else by position."""
    by_name = set(names) <= set(table.names or ())
    common = reader.only([reader.names.index(name) for name in names] if by_name else range(len(names)))
    return common if reader.named else replace(common, names=names)


def match_columns(x: Table, y: Table, notes: list[str]) -> tuple[tuple[str, ...], Table, Table]:
    """Both tables with the same columns in X's order: by name if both have names, else by position."""
    # two Series are compared because the user picked them, whatever their names are
    if x.names and y.names and not len(x.shape) == len(y.shape) == 1:
        names_y = set(y.names)
        common = [name for name in x.names if name in names_y]
        in_both = set(common)
        extra = [(t.where, [name for name in t.names or () if name not in in_both]) for t in (x, y)]
        if not common:
            sides = "; ".join(f"{where} has {listed(names)}" for where, names in extra)
            tables = f"{x.where} and {y.where}"
            raise InputError(f"{tables} have no column in common: {sides}; rename the columns to match")
        if any(names for _, names in extra):
            sides = ", ".join(f"{listed(names)} only in {where}" for where, names in extra if names)
            warn(f"columns left out: {sides}; compared: {listed(common)}", notes)
        return tuple(common), x.select(common), y.select(common)
    if len(x.columns) != len(y.columns):
        shapes = f"{x.where} has shape {x.shape} and {y.where} has shape {y.shape}"
        raise InputError(f"{shapes}; both need the same number of columns")
    if x.names and y.names and x.names != y.names:
        notes.append(f"{shown(x.names[0])} of {x.where} is compared with {shown(y.names[0])} of {y.where}")
    return x.names or y.names or default_names(len(x.columns)), x, y


def _level_counts(summary: Summary, columns: Columns) -> tuple[IntArray | None, ...]:
    """Rows of each level, of the levels of both samples, in each column of categories; None for numbers."""
    return tuple(
        None if levels is None else np.array([(column.levels or {}).get(level, 0) for level in levels])
        for levels, column in zip(columns.levels, summary.columns, strict=True)
    )


def _moments(summary: Summary, shifts: tuple[float | None, ...], columns: Columns) -> Moments:
    """The moments of all columns; those of codes are 0 but for the ends."""
    is_number = np.array([levels is None for levels in columns.levels])
    numbers = [column.numbers for column in summary.columns]

    def zero_for_codes(values: Sequence[Any]) -> FloatArray:
        return np.where(is_number, np.array(values, dtype=np.float64), 0.0)

    low, high = _ends(summary, columns)
    return Moments(
        n=summary.rows,
        low=low,
        high=high,
        shift=zero_for_codes(shifts),
        exponent=np.where(is_number, [column.exponent for column in numbers], 0).astype(np.intc),
        mean=zero_for_codes([column.mean for column in numbers]),
        variance=zero_for_codes([column.squares / max(column.count, 1) for column in numbers]),
    )


def _ends(summary: Summary, columns: Columns) -> FloatArray:
    """The lowest and the highest number, or code of a level that occurs, of each column, (2, d)."""
    ends = np.empty((2, len(columns.names)))
    for j, (levels, column) in enumerate(zip(columns.levels, summary.columns, strict=True)):
        if levels is None:
            ends[:, j] = column.numbers.low, column.numbers.high
        else:
            code = {level: k for k, level in enumerate(levels)}
            codes = [code[level] for level in column.levels or ()] or [0]
            ends[:, j] = min(codes), max(codes)
    return ends
