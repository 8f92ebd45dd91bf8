"""Two matched tables without missing values: rows dropped, or "missing" a level of its column."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from densdiff.core.scaling import FloatArray
from densdiff.data import imputation
from densdiff.data.categories import MISSING_LEVEL
from densdiff.data.floats import refuse_missing, refuse_unusable
from densdiff.data.kinds import are_words, refuse_nearly_numbers
from densdiff.data.match import MatchedSources, Prefetch, match_sources
from densdiff.data.reading import Reading
from densdiff.data.summary import NUMBERS, ColumnSummary, Summary, summarize_column
from densdiff.data.table import Column, Table, missing_values
from densdiff.errors import InputError
from densdiff.messages import argument, shown, warn
from densdiff.sources.passes import ask_all
from densdiff.sources.source import Pass

CHOICES = ("error", "drop", "level")


def without_missing(matched: MatchedSources, missing: str, prefetch: Prefetch, notes: list[str]) -> MatchedSources:
    """Both tables without missing values, looked through once more; ``missing`` is "error", "drop" or "level"."""
    if missing == "error":
        for about in matched.summaries:
            refuse_missing(about, f"use {argument('missing', 'drop')} or {argument('missing', 'level')}")
    if missing == "drop":
        return _dropped(matched, prefetch, notes)
    fills = _fills(matched)
    return _changed(matched, [partial(_filled, of, fills) for of in matched.readings], prefetch)


def _changed(matched: MatchedSources, changes: Sequence[Any], prefetch: Prefetch) -> MatchedSources:
    x, y = (source.changed(change) for source, change in zip(matched.sources, changes, strict=True))
    return replace(match_sources((x, y), [], prefetch), only_in=matched.only_in)


def _dropped(matched: MatchedSources, prefetch: Prefetch, notes: list[str]) -> MatchedSources:
    _refuse_uncured(matched)
    found = _changed(matched, [partial(_complete_rows, of) for of in matched.readings], prefetch)
    for about in found.summaries:
        if about.rows < 2:
            cure = f"try {argument('missing', 'level')}"
            raise InputError(f"{about.where} has {about.rows} rows without missing values; {cure}", argument="missing")
    parts = zip(matched.summaries, found.summaries, strict=True)
    gone = [f"{before.rows - after.rows} of {before.where}" for before, after in parts]
    warn(f"rows with missing values were dropped: {' and '.join(gone)}", notes)
    return found


def _refuse_uncured(matched: MatchedSources) -> None:
    """Refuse what dropping rows does not cure while rows still have the numbers that they came with."""
    x, y = matched.summaries
    for about, other in ((x, y), (y, x)):
        levels = []
        for j, (part, twin) in enumerate(zip(about.columns, other.columns, strict=True)):
            words = are_words([part, twin])
            if words:
                refuse_nearly_numbers(part, about.label(j), about.names[j])
            levels.append(("",) if words else None)
        # precision is told once, later
        there = tuple(replace(part, missing=0, infinite=0, largest=0) for part in about.columns)
        refuse_unusable(replace(about, columns=there), [], other, levels)


def _complete_rows(of: Reading, block: Any, start: int) -> Table:
    """The columns of a block by name, without the rows that lack a value in any of them.

    An infinite value in the others is refused here, while rows have the numbers that they came with.
    """
    table = of.named_table(block)
    gone = np.logical_or.reduce([missing_values(column) for column in table.columns])
    for name, column in zip(of.names, table.columns, strict=True):
        if column.kind in NUMBERS and column.values.dtype.kind == "f":
            kept = Column(np.where(gone, 0.0, column.values))
            refuse_unusable(Summary(of.where, (name,), len(table), (summarize_column(kept, start, None),)), [])
    return table.some(~gone)


def _fills(matched: MatchedSources) -> dict[str, FloatArray | str]:
    """For each column that lacks values: sorted ones of its own to fill it with, or the kind of its words."""
    found: dict[str, FloatArray | str] = {}
    numbers: list[int] = []
    for j, (name, *parts) in enumerate(zip(matched.names, *(of.columns for of in matched.summaries), strict=True)):
        if not any(part.missing for part in parts):
            continue
        if are_words(parts):
            found[name] = _kind_of_words(name, parts)
        elif all(part.kind in NUMBERS for part in parts):  # else it is refused later, by what it holds
            numbers.append(j)
    if twice := [name for name in matched.names if name in {f"{matched.names[j]} is missing" for j in numbers}]:
        raise InputError(f"a column is already named {shown(twice[0])}; rename it", column=twice[0])
    if numbers:
        passes = [
            Pass(source, partial(_donors, of.only(numbers)), _fewer, None)
            for source, of in zip(matched.sources, matched.readings, strict=True)
        ]
        for j, *both in zip(numbers, *ask_all(passes), strict=True):
            found[matched.names[j]] = imputation.pool_donors(*both)
    return found


def _kind_of_words(name: str, parts: Sequence[ColumnSummary]) -> str:
    if any(MISSING_LEVEL in (part.levels or ()) for part in parts):
        text = f"column {shown(name)} has a level {MISSING_LEVEL!r} beside missing values; rename it"
        raise InputError(text, column=name)
    return "text" if "text" in {part.kind for part in parts} else "categories"


def _donors(of: Reading, block: Any, start: int) -> list[imputation.Donors]:
    columns = of.table(block).columns
    return [imputation.draw_donors(np.asarray(column.values, dtype=np.float64), start) for column in columns]


def _fewer(a: list[imputation.Donors], b: list[imputation.Donors]) -> list[imputation.Donors]:
    return list(map(imputation.merge_donors, a, b))


def _filled(of: Reading, fills: dict[str, FloatArray | str], block: Any, start: int) -> Table:
    """Words with a level for what is missing, numbers with others of theirs and a column that says so."""
    table = of.named_table(block)
    found: dict[str, Column] = {}
    for name, column in zip(of.names, table.columns, strict=True):
        fill = fills.get(name)
        if fill is None:
            found[name] = column
            continue
        lost = missing_values(column)
        if isinstance(fill, str):
            values = column.values.astype(object)
            if column.kind == "booleans":
                values[~lost] = [str(bool(value)) for value in values[~lost]]
            values[lost] = MISSING_LEVEL
            found[name] = Column(values, fill)
        else:
            numbers = imputation.impute(column.values, start, fill)
            found |= {name: Column(numbers), f"{name} is missing": Column(lost, "booleans")}
    return replace(table, names=tuple(found), columns=list(found.values()), shape=(len(table), len(found)))
