"""Two tables of any columns, matched, with missing values treated as asked and categories as codes.

The steps live in `match`, `missing`, `kinds` and `floats`; here they are put in order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from densdiff.data.categories import Levels
from densdiff.data.floats import refuse_unusable
from densdiff.data.kinds import Columns, resolve_columns
from densdiff.data.match import MatchedSources, Prefetch, SchemaChanges, match_sources, no_rows, source_of
from densdiff.data.missing import CHOICES, without_missing
from densdiff.data.pair import Pair, unweighted_pair
from densdiff.data.parameters import choice
from densdiff.data.summary import ColumnSummary
from densdiff.errors import InputError
from densdiff.messages import capped, shown
from densdiff.sources.array_sample import ArraySample
from densdiff.sources.sample import Sample
from densdiff.sources.scan import same_rows


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
        names, levels = tuple(self.names[j] for j in places), tuple(self.levels[j] for j in places)
        return replace(self, names=names, levels=levels, a=self.a.only(places), b=self.b.only(places))

    def column(self, j: int) -> Pair:
        """One column of both tables."""
        a, b = self.a.only([j]), self.b.only([j])
        levels = () if self.levels[j] is None else (self.levels[j],)
        return Pair.of(a, b, (self.names[j],), levels)


def match_tables(
    A: Any,
    B: Any,
    columns: Sequence[str] | None = None,
    missing: str = "error",
    where: tuple[str, str] = ("A", "B"),
    prefetch: Prefetch = no_rows,
) -> MatchedTables:
    """The tables of a comparison; ``missing`` is "error", "drop" or "level"."""
    choice(missing, "missing", CHOICES)
    notes: list[str] = []
    sources = source_of(A, where[0]), source_of(B, where[1])
    for source in sources:
        _refuse_few(source.where, source.rows)
    matched = match_sources(sources, notes, prefetch, columns)
    for summary in matched.summaries:
        _refuse_few(summary.where, summary.rows)
    emptied = _emptied_columns(matched)
    matched, left_out = _drop_empty_columns(matched)
    sizes = matched.sizes
    missing_counts = tuple(
        (name, a.missing, b.missing)
        for name, a, b in zip(matched.names, *(summary.columns for summary in matched.summaries), strict=True)
        if a.missing or b.missing
    )
    if missing_counts:
        matched = without_missing(matched, missing, prefetch, notes)
    resolved = resolve_columns(matched.summaries, notes)
    left_out += [(name, "almost every row has a level of its own") for name in resolved.identifiers]
    x, y = (summary.only(resolved.places) for summary in matched.summaries)
    for summary, other in ((x, y), (y, x)):
        refuse_unusable(summary, notes, other, resolved.levels)
    a, b = matched.samples(resolved, prefetch)
    notes += _constant_notes(matched, resolved)
    return MatchedTables(
        names=resolved.names,
        levels=resolved.levels,
        a=a,
        b=b,
        where=where,
        same=matched.summaries_equal and same_rows(a, b),
        left_out=tuple(left_out),
        schema_changes=matched.schema_changes,
        missing=missing_counts + emptied,
        sizes=sizes,
        notes=tuple(notes),
    )


def _refuse_few(where: str, rows: int | None) -> None:
    """An error if a table is known to have less than two rows."""
    if rows is not None and rows < 2:
        raise InputError(f"{where} has {rows} data row{'s' * (not rows)}; each table needs at least 2")


def _emptied_columns(matched: MatchedSources) -> tuple[tuple[str, int, int], ...]:
    """Names and missing values of the columns that have no value in one table but some in the other."""
    summaries = (summary.columns for summary in matched.summaries)
    return tuple(
        (name, a.missing, b.missing)
        for name, a, b in zip(matched.names, *summaries, strict=True)
        if bool(a.kind) != bool(b.kind)
    )


def _drop_empty_columns(matched: MatchedSources) -> tuple[MatchedSources, list[tuple[str, str]]]:
    """The sources without the columns that have no value in one of them; what is left out, and why."""
    changes, (where_a, where_b) = matched.schema_changes, (summary.where for summary in matched.summaries)
    left_out = [(name, f"only in {where_a}") for name in changes.missing]
    left_out += [(name, f"only in {where_b}") for name in changes.added]
    usable = []
    summaries = (summary.columns for summary in matched.summaries)
    for j, (name, *columns) in enumerate(zip(matched.names, *summaries, strict=True)):
        empty = [summary.where for summary, column in zip(matched.summaries, columns, strict=True) if not column.kind]
        if empty:
            left_out.append((name, f"all values are missing in {' and '.join(empty)}"))
        else:
            usable.append(j)
    if not usable:
        raise InputError(
            f"no column is left to compare: {'; '.join(f'{shown(name)}, {why}' for name, why in left_out[:5])}"
        )
    return matched.only(usable), left_out


def _constant_notes(matched: MatchedSources, columns: Columns) -> list[str]:
    """Notes on columns that are constant in each of the tables."""
    x, y = (summary.only(columns.places) for summary in matched.summaries)
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
