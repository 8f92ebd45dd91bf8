"""Tables of a stream as numbers: categories as codes and marks, missing values as levels, new levels by name.

What is computed from the numbers lives in `stream`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray, stack_columns
from densdiff.data.categories import MISSING_LEVEL, Levels, codes_of
from densdiff.data.choosing import default_names
from densdiff.data.floats import float_matrix, refuse_unusable
from densdiff.data.kinds import resolve_columns
from densdiff.data.points import match_columns
from densdiff.data.reading import reading
from densdiff.data.summary import NUMBERS, WORDS
from densdiff.data.table import EXACT, Column, Table, is_missing, missing_values, table_of, text_of
from densdiff.errors import InputError
from densdiff.messages import listed, shown

UNSEEN = -1.0  # code of a level that the reference does not have
_MOST_MARKS = 20  # levels of a column with marks of their own, the most frequent
_SHOWN = 5  # columns with missing values in a note
_LEAST_ROWS = 5  # of a level with a mark of its own
NewLevels = dict[int, dict[str, str]]  # by row and column


@dataclass(frozen=True)
class StreamColumns:
    """What the columns of a reference are, and how rows become numbers."""

    names: tuple[str, ...]
    levels: tuple[Levels, ...]  # None for numbers
    fills: FloatArray  # in place of missing numbers, (d,); NaN where none may be missing
    marked: tuple[tuple[int, ...], ...]  # codes of each column that have a mark of their own

    @cached_property
    def is_plain(self) -> bool:
        """Whether rows are numbers and nothing else."""
        return not any(level is not None for level in self.levels) and bool(np.isnan(self.fills).all())

    @cached_property
    def plain_shape(self) -> tuple[int] | None:
        """Of an array that is a row of numbers, and None where rows have categories or missing values."""
        return (len(self.names),) if self.is_plain else None

    @cached_property
    def owners(self) -> npt.NDArray[np.intp]:
        """Which column each of the numbers tells of."""
        numbers = [j for j, levels in enumerate(self.levels) if levels is None]
        fillable = [j for j in numbers if not math.isnan(self.fills[j])]
        return np.array(
            [*numbers, *fillable, *(j for j, codes in enumerate(self.marked) for _ in codes)], dtype=np.intp
        )

    def numbers(self, rows: FloatArray) -> FloatArray:
        """Numbers, marks of the missing ones and marks of levels, from rows (k, d) of values and codes."""
        if self.is_plain:
            return rows
        columns: list[npt.NDArray[np.generic]] = []
        for j, levels in enumerate(self.levels):
            if levels is None:
                columns.append(np.where(np.isnan(rows[:, j]), self.fills[j], rows[:, j]))
        for j, fill in enumerate(self.fills):
            if self.levels[j] is None and not math.isnan(fill):
                columns.append(np.isnan(rows[:, j]))
        for j, codes in enumerate(self.marked):
            columns += [rows[:, j] == code for code in codes]
        return stack_columns(columns)

    @cached_property
    def _codes(self) -> list[dict[str, float] | None]:
        return [None if levels is None else {text: float(k) for k, text in enumerate(levels)} for levels in self.levels]

    def row(self, values: Sequence[Any]) -> tuple[FloatArray, NewLevels] | None:
        """One row of plain values, (1, d), and its new levels; None if a value needs a closer look."""
        found = np.empty((1, len(values)))
        new: dict[str, str] = {}
        for j, (value, codes) in enumerate(zip(values, self._codes, strict=True)):
            if codes is None:
                is_number = type(value) is float or (type(value) is int and abs(value) < EXACT)
                if is_number and math.isfinite(value):
                    found[0, j] = value
                elif is_missing(value) and not math.isnan(self.fills[j]):
                    found[0, j] = math.nan
                else:
                    return None
            elif type(value) is str or is_missing(value):
                text = value if type(value) is str else MISSING_LEVEL
                found[0, j] = codes.get(text, UNSEEN)
                if found[0, j] == UNSEEN:
                    new[self.names[j]] = text
            else:
                return None
        return found, {0: new} if new else {}

    def rows(self, data: Any, where: str) -> tuple[FloatArray, NewLevels]:
        """Rows (k, d) of values and codes, NaN for missing numbers, and the levels that the reference does not have."""
        notes: list[str] = []
        table = match_columns(data, self.names, where, notes)
        if self.is_plain:
            return float_matrix(table, self.names, notes), {}
        columns, new = list(table.columns), NewLevels()
        gaps: dict[int, npt.NDArray[np.bool_]] = {}
        for j, (name, levels) in enumerate(zip(self.names, self.levels, strict=True)):
            column = columns[j]
            if levels is not None:
                columns[j] = _coded(column, name, levels, table.where, new)
            elif not math.isnan(self.fills[j]) and column.kind in NUMBERS and (gap := missing_values(column)).any():
                gaps[j] = gap
                columns[j] = replace(column, held=np.where(gap, self.fills[j], column.floats()))
        found = float_matrix(replace(table, columns=columns), self.names, notes)
        for j, gap in gaps.items():
            found[gap, j] = np.nan
        return found, new


def _coded(column: Column, name: str, levels: Sequence[str], where: str, new: NewLevels) -> Column:
    """A column of categories as codes; its new levels are added to ``new``."""
    if column.kind not in (*NUMBERS, *WORDS):
        got = f"holds {column.kind}, first {shown(column.values[column.row])} at row {column.row}"
        text = f"column {shown(name)} of {where} {got}; in the reference it is one of {listed(levels)}"
        raise InputError(text, column=name, row=column.row)
    values = column.values.astype(object)
    if column.kind == "booleans":
        values = np.array([value if is_missing(value) else str(bool(value)) for value in values], dtype=object)
    values[missing_values(replace(column, held=values))] = MISSING_LEVEL
    codes = codes_of(values, levels)
    for row in np.flatnonzero(np.isnan(codes)).tolist():
        new.setdefault(row, {})[name] = text_of(values[row])
    return Column(np.where(np.isnan(codes), UNSEEN, codes))


def learn_columns(data: Any, where: str) -> tuple[StreamColumns, FloatArray, list[str]]:
    """What the columns of a reference are, its rows (n, d) as `StreamColumns.rows` gives them, and notes."""
    notes: list[str] = []
    table = table_of(data, where)
    names = table.names or default_names(len(table.columns))
    is_mixed = any(column.kind in ("text", "categories") or missing_values(column).any() for column in table.columns)
    if not is_mixed or not len(table):
        rows = float_matrix(table, names, notes)
        return StreamColumns(names, (None,) * len(names), np.full(len(names), np.nan), ((),) * len(names)), rows, notes
    return _learn_mixed(replace(table, names=tuple(names), shape=(len(table), len(names))), notes)


def _learn_mixed(table: Table, notes: list[str]) -> tuple[StreamColumns, FloatArray, list[str]]:
    summary = reading(table, table.where, moments=False).summary(table, 0)
    for name, column in zip(summary.names, summary.columns, strict=True):
        if not column.kind:
            text = f"column {shown(name)} of {table.where} has no value; leave it out"
            raise InputError(text, column=name)
    usable = resolve_columns([summary], notes)
    summary, table = summary.only(usable.places), table.select(usable.names)
    levels: list[Levels] = []
    fills, missing = np.full(len(usable.names), np.nan), []
    for j, column in enumerate(summary.columns):
        if column.kind in ("text", "categories"):
            if column.missing and MISSING_LEVEL in (column.levels or ()):
                text = f"column {shown(usable.names[j])} of {table.where} has missing values and also a level named"
                raise InputError(f"{text} {MISSING_LEVEL!r}; rename that level", column=usable.names[j])
            levels.append((*(usable.levels[j] or ()), *([MISSING_LEVEL] if column.missing else [])))
        else:
            levels.append(None)
            if column.missing:
                fills[j] = float(np.nanmean(_halved(table.columns[j])) * 2.0)
        if column.missing:
            missing.append(f"{shown(usable.names[j])} {100 * column.missing / len(table):.1f} %")
    complete = replace(summary, columns=tuple(replace(column, missing=0) for column in summary.columns))
    refuse_unusable(complete, notes, levels=levels)
    if missing:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        notes.append(f"missing values are a level of their column; how often: {', '.join(missing[:_SHOWN])}{more}")
    columns = StreamColumns(usable.names, tuple(levels), fills, ((),) * len(levels))
    rows, _ = columns.rows(table, table.where)
    return replace(columns, marked=tuple(map(_frequent, rows.T, levels))), rows, notes


def _halved(column: Column) -> FloatArray:
    """Numbers whose sum does not overflow."""
    return np.asarray(column.floats() * 0.5)


def _frequent(codes: FloatArray, levels: Levels) -> tuple[int, ...]:
    """Codes of the levels that get a mark of their own; of two levels one mark says all."""
    if levels is None:
        return ()
    counts = np.bincount(codes.astype(np.intp), minlength=len(levels))
    order = np.argsort(-counts, kind="stable")[:_MOST_MARKS]
    return tuple(sorted(int(code) for code in order if counts[code] >= _LEAST_ROWS))


def by_name(x: Mapping[Any, Any], names: Sequence[str]) -> list[Any]:
    """The values of a row in the order of the columns."""
    named = {str(name): value for name, value in x.items()}
    if lacking := [name for name in names if name not in named]:
        has = f"it has {', '.join(map(shown, list(named)[:10]))}" if named else "it is empty"
        raise InputError(f"x lacks {', '.join(map(shown, lacking[:10]))}; {has}", argument="x", column=lacking[0])
    if len(named) < len(x):
        twice = sorted({text for text in map(str, x) if list(map(str, x)).count(text) > 1})
        text = f"x has two keys that both read {listed(twice)}; rename one"
        raise InputError(text, argument="x", column=twice[0])
    return [named[name] for name in names]
