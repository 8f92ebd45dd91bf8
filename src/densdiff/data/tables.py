"""Two tables of any columns, matched, with missing values treated as asked and categories as codes.

The steps live in `choosing`, `match`, `judging`, `missing` and `kinds`; here they are put in order.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from densdiff.data.categories import Levels
from densdiff.data.choosing import choose_kinds, choose_names, names_of
from densdiff.data.converting import convert_block
from densdiff.data.floats import refuse_unusable
from densdiff.data.inputs import Input, input_of, open_pair
from densdiff.data.judging import DATES, Judgement, column_kind, judge_columns, kinds_text
from densdiff.data.kinds import Columns, are_categories, judged_columns
from densdiff.data.match import MatchedSources, Prefetch, SchemaChanges, match_sources, no_rows
from densdiff.data.missing import CHOICES, without_missing
from densdiff.data.pair import Pair, repeated_rows_notes, unweighted_pair
from densdiff.data.parameters import choice
from densdiff.data.reading import Reading
from densdiff.data.summary import ColumnSummary, Summary
from densdiff.data.table import Table, header_of
from densdiff.errors import InputError, NothingLeftError
from densdiff.io import memory
from densdiff.messages import capped, shown
from densdiff.sources.array_sample import ArraySample
from densdiff.sources.sample import Sample
from densdiff.sources.scan import same_rows
from densdiff.sources.source import Source

_SHOWN = 5  # columns with missing values in a note


@dataclass(frozen=True)
class Request:
    """How a user wants two tables to be taken: what they are called, which columns, of which kind, missing values."""

    where: tuple[str, str] = ("A", "B")
    columns: Iterable[str] | str | None = None
    exclude: Iterable[str] | str | None = None
    kinds: Mapping[str, str] | None = None
    missing: str = "level"


@dataclass(frozen=True)
class MatchedTables:
    """Both tables with the same columns, all values finite, codes where ``levels`` is not None."""

    names: tuple[str, ...]
    levels: tuple[Levels, ...]
    a: Sample
    b: Sample
    where: tuple[str, str]
    same: bool  # whether both are known to hold the same rows
    left_out: tuple[tuple[str, str], ...]  # name and why
    schema_changes: SchemaChanges
    missing: tuple[tuple[str, int, int], ...]  # name, missing values in A and in B; with columns that one lacks whole
    sizes: tuple[int, int]  # rows given
    notes: tuple[str, ...]

    @property
    def rows(self) -> tuple[int, int]:
        """Rows that are compared."""
        return len(self.a), len(self.b)

    def pair(self) -> Pair:
        """All rows of both tables, without weights."""
        coded = self.levels if any(self.levels) else ()
        return unweighted_pair(self.names, self.a, self.b, coded, self.notes, self.where, self.same)

    def some(self, rows_a: Any, rows_b: Any) -> "MatchedTables":
        """Both tables with some of their rows, by their numbers, in memory."""
        return replace(self, a=ArraySample(self.a[rows_a]), b=ArraySample(self.b[rows_b]))

    def only(self, places: Sequence[int]) -> "MatchedTables":
        """Both tables with some of their columns, by their places."""
        return self._with(places, self.a.only(places), self.b.only(places))

    def loaded(self, places: Sequence[int]) -> "MatchedTables":
        """Both tables with some of their columns, in memory if they fit there."""
        return self._with(places, self.a.loaded(places), self.b.loaded(places))

    def _with(self, places: Sequence[int], a: Sample, b: Sample) -> "MatchedTables":
        names, levels = tuple(self.names[j] for j in places), tuple(self.levels[j] for j in places)
        return replace(self, names=names, levels=levels, a=a, b=b)

    def column(self, j: int) -> Pair:
        """One column of both tables."""
        a, b = self.a.only([j]), self.b.only([j])
        levels = () if self.levels[j] is None else (self.levels[j],)
        return Pair.of(a, b, (self.names[j],), levels)


def match_tables(A: Any, B: Any, request: Request | None = None, prefetch: Prefetch = no_rows) -> MatchedTables:
    """The tables of a comparison, as asked for."""
    request = request or Request()
    choice(request.missing, "missing", CHOICES)
    notes: list[str] = []
    where = request.where
    inputs = input_of(A, where[0], keep_text=True), input_of(B, where[1], keep_text=True)
    chosen, kinds = _resolve(inputs, request)
    sources, headers = open_pair(inputs, chosen)
    for source in sources:
        _refuse_few(source.where, source.rows)
    matched = match_sources(_converted(sources, kinds), notes, prefetch, headers)
    for summary in matched.summaries:
        _refuse_few(summary.where, summary.rows)
    judgement = judge_columns(matched, kinds, request.missing, notes)
    sizes, missing_counts = matched.sizes, _missing_counts(matched)
    changes = replace(matched.schema_changes, other_kind=tuple(judgement.other_kind))
    left_out = _left_out(judgement, changes, matched)
    matched = _usable(matched, judgement, request.missing, prefetch, notes)
    columns = judged_columns(matched.summaries)
    for summary, other in (matched.summaries, matched.summaries[::-1]):
        refuse_unusable(summary, notes, other, columns.levels)
    a, b = matched.samples(columns, prefetch)
    notes += _constant_notes(matched, columns)
    same = matched.summaries_equal and same_rows(a, b)
    if not same:
        notes += repeated_rows_notes(a, b, where, columns.coded)
    return MatchedTables(
        names=columns.names,
        levels=columns.levels,
        a=a,
        b=b,
        where=where,
        same=same,
        left_out=left_out,
        schema_changes=changes,
        missing=missing_counts,
        sizes=sizes,
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class OneTable:
    """One table whose columns were judged: numbers and categories, which may have missing values."""

    source: Source
    reading: Reading
    summary: Summary
    other_kind: tuple[tuple[str, str, str], ...]  # name, the kind that it was to have, and the one it has
    empty: tuple[str, ...]  # columns without any value
    left_out: tuple[tuple[str, str], ...]  # name and why
    notes: tuple[str, ...]


def read_table(value: Any, request: Request, forced: Mapping[str, str] | None = None) -> OneTable:
    """A table by itself, as one of a comparison would be judged.

    ``forced`` are kinds that columns are known to have: such a column is never left out unless it is of another kind.
    """
    table = input_of(value, request.where[0], keep_text=True)
    chosen, kinds = _resolve((table, table), request)
    header = chosen[0] if chosen else table.header() if table.is_unread else None
    source = table.source([] if header is None else list(header.names or ()), memory.room())
    _refuse_few(source.where, source.rows)
    if kinds:
        source = source.changed(partial(convert_block, kinds, source.where))
    notes: list[str] = []
    matched = match_sources((source, source), notes, no_rows, None if header is None else [header, header])
    _refuse_few(matched.summaries[0].where, matched.summaries[0].rows)
    known, summaries = forced or {}, zip(matched.names, matched.summaries[0].columns, strict=True)
    actual = {name: _kind_alone(column) for name, column in summaries if column.kind}
    other_kind = [(name, known[name], kind) for name, kind in actual.items() if known.get(name, kind) != kind]
    others = {name for name, *_ in other_kind}
    if others and len(others) == len(matched.names):
        kinds_now = "; ".join(f"{shown(name)}, {new} and not {old}" for name, old, new in other_kind[:_SHOWN])
        raise NothingLeftError(f"no column of {source.where} is of the kind that it was: {kinds_now}")
    matched = matched.only([j for j, name in enumerate(matched.names) if name not in others])
    judgement = judge_columns(matched, kinds | {n: known[n] for n in matched.names if n in known}, "level", notes)
    left_out = _left_out(judgement, SchemaChanges(), matched)
    matched = matched.only(judgement.places)
    if judgement.numbers_as_codes:
        source = source.changed(
            partial(convert_block, dict.fromkeys(judgement.numbers_as_codes, "category"), source.where)
        )
        used = header_of(matched.names, source.where)
        matched = match_sources((source, source), [], no_rows, [used, used])
    empty = tuple(name for name, _ in judgement.empty)
    reading, summary = matched.readings[0], matched.summaries[0]
    return OneTable(source, reading, summary, tuple(other_kind), empty, left_out, tuple(dict.fromkeys(notes)))


def _kind_alone(column: ColumnSummary) -> str:
    """The kind of a column of one table: "number", "category", or what else it holds."""
    kind = column_kind(column)
    return "category" if are_categories([column]) and kind != DATES else kind


def _resolve(inputs: tuple[Input, Input], request: Request) -> tuple[list[Table] | None, dict[str, str]]:
    """Of each table the columns to use, None for all, and the kinds of columns that were given by name."""
    if request.columns is None and request.exclude is None and request.kinds is None:
        return None, {}
    headers = [table.header() for table in inputs]
    chosen = choose_names(headers, request.columns, request.exclude)
    kinds = {} if request.kinds is None else choose_kinds(headers, request.kinds)
    headers = [replace(header, names=names_of(header)) for header in headers]
    return [header.select(names) for header, names in zip(headers, chosen, strict=True)], kinds


def _converted(sources: tuple[Source, Source], kinds: dict[str, str]) -> tuple[Source, Source]:
    """Both sources with some columns of another kind."""
    if not kinds:
        return sources
    x, y = (source.changed(partial(convert_block, kinds, source.where)) for source in sources)
    return x, y


def _usable(
    matched: MatchedSources, judgement: Judgement, missing: str, prefetch: Prefetch, notes: list[str]
) -> MatchedSources:
    """Both sources with the columns to compare, missing values treated as asked."""
    matched = matched.only(judgement.places)
    if judgement.numbers_as_codes:
        x, y = _converted(matched.sources, dict.fromkeys(judgement.numbers_as_codes, "category"))
        matched = match_sources((x, y), [], prefetch, [header_of(matched.names, source.where) for source in (x, y)])
    if any(column.missing for summary in matched.summaries for column in summary.columns):
        if missing == "level":
            notes += _missing_notes(matched)
        matched = without_missing(matched, missing, prefetch, notes)
    return matched


def _missing_counts(matched: MatchedSources) -> tuple[tuple[str, int, int], ...]:
    """Name, and missing values in A and in B, of each column that has any; one without values in both tells nothing."""
    columns = zip(matched.names, *(summary.columns for summary in matched.summaries), strict=True)
    return tuple((name, a.missing, b.missing) for name, a, b in columns if (a.missing or b.missing) and a.kind + b.kind)


def _missing_notes(matched: MatchedSources) -> list[str]:
    """One note that names the columns with missing values and how often they are missing in each table."""
    (n, m), (where_a, where_b) = matched.sizes, (summary.where for summary in matched.summaries)
    rates = [f"{shown(name)} {100 * a / n:.1f} % and {100 * b / m:.1f} %" for name, a, b in _missing_counts(matched)]
    more = f" and {len(rates) - _SHOWN} more" if len(rates) > _SHOWN else ""
    tables = f"in {where_a} and {where_b}"
    return [f"missing values are a level of their column; how often, {tables}: {', '.join(rates[:_SHOWN])}{more}"]


def _left_out(judgement: Judgement, changes: SchemaChanges, matched: MatchedSources) -> tuple[tuple[str, str], ...]:
    """Names of the columns that are not compared, and why."""
    where_a, where_b = (summary.where for summary in matched.summaries)
    left_out = [(name, f"only in {where_a}") for name in changes.missing]
    left_out += [(name, f"only in {where_b}") for name in changes.added]
    left_out += judgement.empty
    left_out += [(name, kinds_text(a, where_a, b, where_b)) for name, a, b in changes.other_kind]
    left_out += [(name, why) for why, names in judgement.left_out.items() for name in names]
    return tuple(left_out)


def _refuse_few(where: str, rows: int | None) -> None:
    """An error if a table is known to have less than two rows."""
    if rows is not None and rows < 2:
        raise InputError(f"{where} has {rows} data row{'s' * (not rows)}; each table needs at least 2")


def _constant_notes(matched: MatchedSources, columns: Columns) -> list[str]:
    """Notes on columns that are constant in each of the tables."""
    x, y = matched.summaries
    equal, masses = [], []
    for name, levels, a, b in zip(columns.names, columns.levels, x.columns, y.columns, strict=True):
        (low_a, high_a), (low_b, high_b) = (_ends(column, levels is not None) for column in (a, b))
        if low_a != high_a or low_b != high_b:
            continue
        if low_a == low_b:
            equal.append(f"column {shown(name)} is constant and equal in both; it contributes nothing")
        elif levels is None:
            values = f"{low_a:.10g} in all of {x.where} and {low_b:.10g} in all of {y.where}"
            masses.append(f"column {shown(name)} is {values}; point masses have no density")
    return capped(equal, "columns are constant and equal") + capped(masses, "columns are constant")


def _ends(column: ColumnSummary, is_category: bool) -> tuple[Any, Any]:
    if not is_category:
        return column.numbers.low, column.numbers.high
    levels = sorted(column.levels or ())
    return levels[0], levels[-1]
