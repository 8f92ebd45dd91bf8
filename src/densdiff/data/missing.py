"""Two matched tables without missing values: rows dropped, or "missing" a level of its column.

What fills a missing number is chosen in `imputation`.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from densdiff.core.scaling import FloatArray
from densdiff.data import imputation
from densdiff.data.categories import MISSING_LEVEL
from densdiff.data.floats import refuse_unusable
from densdiff.data.kinds import are_categories
from densdiff.data.match import MatchedSources, Prefetch, match_sources
from densdiff.data.reading import Reading
from densdiff.data.summary import NUMBERS, ColumnSummary, Summary, summarize_column
from densdiff.data.table import Column, Table, missing_values
from densdiff.errors import InputError, NothingLeftError
from densdiff.messages import argument, shown, warn
from densdiff.sources.passes import run_passes
from densdiff.sources.source import Pass

CHOICES = ("error", "drop", "level")
Fill = FloatArray | str


def mark_name(name: str) -> str:
    """What the column is called that says where another is missing."""
    return f"{name} is missing"


def without_missing(matched: MatchedSources, missing: str, prefetch: Prefetch, notes: list[str]) -> MatchedSources:
    """Both tables without missing values, scanned once more; ``missing`` is "drop" or "level"."""
    if missing == "drop":
        return _drop_rows(matched, prefetch, notes)
    fills = _fill_values(matched)
    return _rematch(matched, [partial(_fill_block, reader, fills) for reader in matched.readings], prefetch)


def _rematch(matched: MatchedSources, changes: Sequence[Any], prefetch: Prefetch) -> MatchedSources:
    """Both sources matched and scanned again, after a change of the blocks of each."""
    x, y = (
        source.changed(change, list(reader.names) if reader.named else None)
        for source, change, reader in zip(matched.sources, changes, matched.readings, strict=True)
    )
    return replace(match_sources((x, y), [], prefetch), schema_changes=matched.schema_changes)


def _drop_rows(matched: MatchedSources, prefetch: Prefetch, notes: list[str]) -> MatchedSources:
    """Both sources without the rows that lack a value; how many that are is warned of."""
    complete = _rematch(matched, [partial(_complete_rows, reader) for reader in matched.readings], prefetch)
    for summary in complete.summaries:
        if summary.rows < 2:
            rows = f"{summary.rows} row{'s' * (summary.rows != 1)} without missing values"
            text = f"{summary.where} has {rows}; at least 2 are needed: try {argument('missing', 'level')}"
            raise NothingLeftError(text, argument="missing")
    pairs = zip(matched.summaries, complete.summaries, strict=True)
    dropped = [f"{before.rows - after.rows} of {before.where}" for before, after in pairs]
    warn(f"rows with missing values were dropped: {' and '.join(dropped)}", notes)
    return complete


def _complete_rows(reader: Reading, block: Any, start: int) -> Table:
    """The columns of a block by name, without the rows that lack a value in any of them.

    An infinite value in the others is refused here, while rows have the numbers that they came with.
    """
    table = reader.named_table(block)
    incomplete = np.logical_or.reduce([missing_values(column) for column in table.columns])
    for name, column in zip(reader.names, table.columns, strict=True):
        if column.kind in NUMBERS and column.values.dtype.kind == "f":
            present = Column(np.where(incomplete, 0.0, column.values))
            refuse_unusable(Summary(reader.where, (name,), len(table), (summarize_column(present, start, None),)), [])
    return table.some(~incomplete)


def _fill_values(matched: MatchedSources) -> dict[str, Fill]:
    """By the name of each column that lacks values: its known numbers, sorted, to fill it with, or its kind."""
    fills: dict[str, Fill] = {}
    numbers: list[int] = []
    summaries = (summary.columns for summary in matched.summaries)
    for j, (name, *columns) in enumerate(zip(matched.names, *summaries, strict=True)):
        if not any(column.missing for column in columns):
            continue
        if are_categories(columns):
            fills[name] = _kind_of_categories(name, columns)
        else:
            numbers.append(j)
    marks = {mark_name(matched.names[j]) for j in numbers}
    if twice := [name for name in matched.names if name in marks]:
        text = f"column {shown(twice[0])} has the name under which missing values are counted; rename it"
        raise InputError(text, column=twice[0])
    if numbers:
        passes = [
            Pass(source, partial(_draw_donors, summary.only(numbers)), _merge_donors, None)
            for source, summary in zip(matched.sources, matched.readings, strict=True)
        ]
        for j, *donors in zip(numbers, *run_passes(passes), strict=True):
            fills[matched.names[j]] = imputation.pool_donors(*donors)
    return fills


def _kind_of_categories(name: str, columns: Sequence[ColumnSummary]) -> str:
    if any(MISSING_LEVEL in (column.levels or ()) for column in columns):
        text = f"column {shown(name)} has missing values and also a level named {MISSING_LEVEL!r}; rename that level"
        raise InputError(text, column=name)
    return "text" if "text" in {column.kind for column in columns} else "categories"


def _draw_donors(reader: Reading, block: Any, start: int) -> list[imputation.Donors]:
    columns = reader.table(block).columns
    return [imputation.draw_donors(np.asarray(column.values, dtype=np.float64), start) for column in columns]


def _merge_donors(a: list[imputation.Donors], b: list[imputation.Donors]) -> list[imputation.Donors]:
    return list(map(imputation.merge_donors, a, b))


def _fill_block(reader: Reading, fills: dict[str, Fill], block: Any, start: int) -> Table:
    """A block without missing values: words get a level for them, numbers a known value and a column of marks."""
    table = reader.named_table(block)
    columns: dict[str, Column] = {}
    for name, column in zip(reader.names, table.columns, strict=True):
        if name not in fills:
            columns[name] = column
            continue
        fill, missing = fills[name], missing_values(column)
        mark = Column(missing, "booleans")
        if isinstance(fill, str) and column.coded is not None:
            columns[name] = Column(column.coded.filled(MISSING_LEVEL), fill)
        elif isinstance(fill, str):
            values = column.values.astype(object)
            if column.kind == "booleans":
                values[~missing] = [str(bool(value)) for value in values[~missing]]
            values[missing] = MISSING_LEVEL
            columns[name] = Column(values, fill)
        else:
            numbers = imputation.impute(column.values, start, fill)
            columns |= {name: Column(numbers), mark_name(name): mark}
    return replace(table, names=tuple(columns), columns=list(columns.values()), shape=(len(table), len(columns)))
