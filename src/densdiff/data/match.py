"""Two samples from wherever they are: the same columns in both, looked through once, then rows of numbers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from densdiff.core.scaling import FloatArray, Moments
from densdiff.core.selection import IntArray
from densdiff.data.kinds import Columns
from densdiff.data.reading import Reading, reading
from densdiff.data.summary import Summary
from densdiff.data.table import Table, table_of
from densdiff.errors import InputError
from densdiff.messages import argument, describe_value, listed, shown, warn
from densdiff.sources import opening
from densdiff.sources.block_sample import RowCache
from densdiff.sources.sample import Sample
from densdiff.sources.scan import sample_of, scan
from densdiff.sources.source import ArraySource, Source

Prefetch = Callable[[int, int], tuple[IntArray, IntArray]]  # numbers of rows to have at hand, from both sizes


def no_rows(n: int, m: int) -> tuple[IntArray, IntArray]:
    """None worth having at hand."""
    return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)


def source_of(value: Any, where: str) -> Source:
    """What a user handed over as a source of rows, a table in memory as one block."""
    found: Source = opening.source_of(value, where, table_of).converted()
    return found


def array_source(value: Any, where: str) -> ArraySource:
    """A table in memory, and nothing else."""
    return ArraySource(where, table_of(value, where))


@dataclass(frozen=True)
class MatchedSources:
    """Two sources after a look through both; columns are matched, their kinds not yet compared."""

    sources: tuple[Source, Source]
    readings: tuple[Reading, Reading]
    summaries: tuple[Summary, Summary]
    caches: tuple[RowCache, RowCache]
    only_in: tuple[tuple[str, str], ...] = ()  # columns that one of them lacks, and why they are left out

    @property
    def names(self) -> tuple[str, ...]:
        return self.readings[0].names

    @property
    def sizes(self) -> tuple[int, int]:
        return self.summaries[0].rows, self.summaries[1].rows

    def only(self, places: Sequence[int]) -> "MatchedSources":
        """With some of the columns."""
        if list(places) == list(range(len(self.names))):
            return self
        x, y = (of.only(places) for of in self.readings)
        about_x, about_y = (about.only(places) for about in self.summaries)
        cache_x, cache_y = (cache.only(places) for cache in self.caches)
        return replace(self, readings=(x, y), summaries=(about_x, about_y), caches=(cache_x, cache_y))

    def samples(self, columns: Columns, prefetch: Prefetch) -> tuple[Sample, Sample]:
        """Both as rows of numbers, and codes of the levels of these columns."""
        rest = self.only(columns.places)
        x, y = (
            sample_of(
                source,
                replace(of, levels=columns.coded) if columns.coded else of,
                cache,
                _ends(about, columns),
                partial(_moments, about, of.shifts, columns),
                _level_counts(about, columns),
            )
            for source, of, about, cache in zip(rest.sources, rest.readings, rest.summaries, rest.caches, strict=True)
        )
        if x.rows_at_once < len(x) or y.rows_at_once < len(y):
            for sample, index in zip((x, y), prefetch(len(x), len(y)), strict=True):
                sample.prefetch(index)
        return x, y

    @property
    def alike(self) -> bool:
        """Whether all that the summaries say is equal to the last bit."""
        x, y = self.summaries
        return x.rows == y.rows and x.columns == y.columns


def match_sources(
    sources: tuple[Source, Source], notes: list[str], prefetch: Prefetch, chosen: Sequence[str] | None = None
) -> MatchedSources:
    """Both sources matched by their first blocks, then read to the end; ``chosen`` columns only, if given."""
    heads = [table_of(source.head(), source.where) for source in sources]
    tables = heads if chosen is None else [choose_columns(table, chosen) for table in heads]
    names, *_ = match_columns(tables[0], tables[1], notes)
    left_out = (
        [(name, f"only in {table.where}") for table in tables for name in table.names or () if name not in names]
        if len(names) < max(len(table.columns) for table in tables)
        else []
    )
    x, y = (
        _matched_reading(reading(head, source.where, moments=not source.rows_at_once), table, names)
        for source, head, table in zip(sources, heads, tables, strict=True)
    )
    plain = all(column.kind == "numbers" for table in tables for column in table.columns)
    (about_x, cache_x), (about_y, cache_y) = scan(sources, (x, y), prefetch if plain else None)
    return MatchedSources(sources, (x, y), (about_x, about_y), (cache_x, cache_y), tuple(left_out))


def _matched_reading(of: Reading, table: Table, names: tuple[str, ...]) -> Reading:
    """The reading of columns in common: by name if the table has names, else by position."""
    by_name = set(names) <= set(table.names or ())
    found = of.only([of.names.index(name) for name in names] if by_name else range(len(names)))
    return found if of.named else replace(found, names=names)


def match_columns(x: Table, y: Table, notes: list[str]) -> tuple[tuple[str, ...], Table, Table]:
    """Both tables with the same columns in X's order: by name if both have names, else by position."""
    # two Series are compared because the user picked them, whatever their names are
    if x.names and y.names and not len(x.shape) == len(y.shape) == 1:
        of_y = set(y.names)
        common = [name for name in x.names if name in of_y]
        both = set(common)
        only = [(t.where, [name for name in t.names or () if name not in both]) for t in (x, y)]
        if not common:
            sides = "; ".join(f"{where} has {listed(names)}" for where, names in only)
            both_of = f"{x.where} and {y.where}"
            raise InputError(f"{both_of} have no column in common: {sides}; rename the columns to match")
        if any(names for _, names in only):
            sides = ", ".join(f"{listed(names)} only in {where}" for where, names in only if names)
            warn(f"columns left out: {sides}; compared: {listed(common)}", notes)
        return tuple(common), x.select(common), y.select(common)
    if len(x.columns) != len(y.columns):
        shapes = f"{x.where} has shape {x.shape} and {y.where} has shape {y.shape}"
        raise InputError(f"{shapes}; both need the same number of columns")
    if x.names and y.names and x.names != y.names:
        notes.append(f"{shown(x.names[0])} of {x.where} is compared with {shown(y.names[0])} of {y.where}")
    return x.names or y.names or numbered(len(x.columns)), x, y


def choose_columns(table: Table, columns: Sequence[str]) -> Table:
    """The table with these columns only, by name; columns without names are x0, x1, .."""
    if isinstance(columns, (str, bytes)) or not isinstance(columns, Iterable):
        raise InputError(
            f"{argument('columns')} must be a list of names; got {describe_value(columns)}", argument="columns"
        )
    columns = list(columns)
    if others := [name for name in columns if not isinstance(name, str)]:
        cure = f", such as {str(others[0])!r}" if isinstance(others[0], (int, tuple)) else ""
        need = f"{argument('columns')} must be a list of names as text{cure}"
        raise InputError(f"{need}; got {shown(others[0])}", argument="columns")
    if not columns:
        text = f"{argument('columns')} is an empty list; name at least one column, or leave it out"
        raise InputError(text, argument="columns")
    table = table if table.names else replace(table, names=numbered(len(table.columns)))
    if lacking := [name for name in columns if name not in (table.names or ())]:
        text = f"{table.where} has no column {listed(lacking)}; it has {listed(table.names or ())}"
        raise InputError(text, column=lacking[0])
    return table.select(tuple(dict.fromkeys(columns)))


def numbered(d: int) -> tuple[str, ...]:
    """Names of columns that have none."""
    return tuple(f"x{j}" for j in range(d))


def _level_counts(about: Summary, columns: Columns) -> tuple[IntArray | None, ...]:
    """Rows of each pooled level, of columns of categories."""
    return tuple(
        None if of is None else np.array([(part.levels or {}).get(level, 0) for level in of])
        for of, part in zip(columns.levels, about.columns, strict=True)
    )


def _moments(about: Summary, shifts: tuple[float | None, ...], columns: Columns) -> Moments:
    """Of numbers; of codes only the ends."""
    number = np.array([of is None for of in columns.levels])
    parts = [column.numbers for column in about.columns]

    def of(values: Sequence[Any]) -> FloatArray:
        return np.where(number, np.array(values, dtype=np.float64), 0.0)

    low, high = _ends(about, columns)
    return Moments(
        n=about.rows,
        low=low,
        high=high,
        shift=of(shifts),
        exponent=np.where(number, [part.exponent for part in parts], 0).astype(np.intc),
        mean=of([part.mean for part in parts]),
        variance=of([part.squares / max(part.count, 1) for part in parts]),
    )


def _ends(about: Summary, columns: Columns) -> FloatArray:
    """The lowest and the highest number, or code of a level that occurs, of each column, (2, d)."""
    found = np.empty((2, len(columns.names)))
    for j, (levels, part) in enumerate(zip(columns.levels, about.columns, strict=True)):
        if levels is None:
            found[:, j] = part.numbers.low, part.numbers.high
        else:
            code = {level: k for k, level in enumerate(levels)}
            codes = [code[level] for level in part.levels or ()] or [0]
            found[:, j] = min(codes), max(codes)
    return found
