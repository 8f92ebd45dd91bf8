"""Columns of text, categories and booleans as codes of their levels, or the reason why not."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.data.table import Column, Table, absent, missing_values, nearly_numbers, refusal
from densdiff.errors import InputError
from densdiff.messages import listed, lost, shown, warn

Levels = tuple[str, ...] | None  # of a column, sorted; None for numbers
MISSING_LEVEL = "(missing)"
DISTINCT = 0.9  # levels for each row from which on a column names its rows
_CATEGORICAL = ("text", "categories", "booleans")


def is_category(columns: Sequence[Column]) -> bool:
    """Whether all of these are categories; booleans beside numbers are numbers."""
    return all(column.kind in _CATEGORICAL for column in columns)


def coded(
    tables: Sequence[Table], names: Sequence[str], notes: list[str]
) -> tuple[tuple[str, ...], list[Table], tuple[Levels, ...]]:
    """Tables with the same columns, categories replaced by codes of their pooled levels; names that tell rows go.

    A column that names its rows, almost every level once, is left out with a warning.
    """
    kept, levels, telling = [], [], []
    columns: list[list[Column]] = [[] for _ in tables]
    for j, name in enumerate(names):
        parts = [table.columns[j] for table in tables]
        found: Levels = None
        if is_category(parts):
            for table, part in zip(tables, parts, strict=True):
                _check(part, f"column {shown(name)} of {table.where}")
            found = pooled_levels(parts)
            # of all rows, or within each table: the same customers in both have two rows a name
            many = len(found) > DISTINCT * max(len(part.values) for part in parts)  # needed by both, and quick
            if many and (_names_rows(parts) or all(_names_rows([part]) for part in parts)):
                telling.append(name)
                continue
            parts = [replace(part, values=codes_of(part.values, found), kind="numbers") for part in parts]
        kept.append(name)
        levels.append(found)
        for into, part in zip(columns, parts, strict=True):
            into.append(part)
    tell_names(telling, bool(kept), notes)
    found_tables = [
        replace(table, columns=part, names=tuple(kept) if table.names else None)
        for table, part in zip(tables, columns, strict=True)
    ]
    return tuple(kept), found_tables, tuple(levels)


def tell_names(telling: Sequence[str], others: bool, notes: list[str]) -> None:
    """Warn of columns that name their rows and are left out; an error if there are no others."""
    if telling:
        what = f"almost every row has a level of its own, which says nothing about others: {listed(telling)}"
        if not others:
            raise InputError(f"no column is left; {what}")
        warn(f"left out because {what}", notes)


def truths(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Booleans that came as floats, because some are missing, as True, False and None."""
    found = values.astype(bool).astype(object)
    found[np.isnan(values)] = None
    return found


def _names_rows(columns: Sequence[Column]) -> bool:
    return len(pooled_levels(columns)) > max(2.0, DISTINCT * sum(len(column.values) for column in columns))


def pooled_levels(columns: Sequence[Column]) -> tuple[str, ...]:
    """The distinct values of all columns as sorted texts, missing ones left out."""
    # by text before columns are pooled: 1 and 1.0 are equal, and only one of them would be left
    values = (value for column in columns for value in dict.fromkeys(column.values.tolist()))
    return tuple(sorted({text_of(value) for value in values if not absent(value)}))


def text_of(value: Any) -> str:
    """A level by name; a whole number is the same level as a float."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def codes_of(values: npt.NDArray[Any], levels: Sequence[str]) -> npt.NDArray[np.float64]:
    """The number of each value's level, NaN where it is missing or no level of these."""
    number = {level: float(k) for k, level in enumerate(levels)}
    given = values.tolist()
    table = {value: np.nan if absent(value) else number.get(text_of(value), np.nan) for value in dict.fromkeys(given)}
    # a missing value that is not equal to itself is not found again unless it is the same object
    return np.fromiter((table.get(value, np.nan) for value in given), np.float64, len(given))


def _check(column: Column, label: str) -> None:
    """Refuse missing values, and text that is nearly all numbers."""
    refuse_nearly_numbers(column, label)
    missing_refused(column, label)


def refuse_nearly_numbers(column: Column, label: str) -> None:
    """An error if a column of text is nearly all numbers."""
    if column.kind == "text" and nearly_numbers(column.values):
        raise InputError(refusal(column, label, ""))


def missing_refused(column: Column, label: str) -> None:
    """An error that tells how many values are missing, if any are."""
    missing = missing_values(column)
    if missing.any():
        what = lost(int(missing.sum()), int(missing.argmax()))
        raise InputError(f"{label}: {what}; drop or fill those rows")
