"""Columns as the kind that a user gave them: numbers, or categories.

A column that cannot be of that kind stays as it is, for `judging` to refuse with all others.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from densdiff.data.choosing import names_of
from densdiff.data.dates import date_numbers, date_texts, parse_dates
from densdiff.data.summary import NUMBERS
from densdiff.data.table import Column, Table, is_missing, missing_values, reads_as_number, table_of, text_of


def convert_block(kinds: Mapping[str, str], where: str, block: Any, start: int) -> Table:
    """A block with some of its columns, by name, as "number" or "category"."""
    table = table_of(block, where)
    columns = [
        _CONVERSIONS[kinds[name]](column) if name in kinds else column
        for name, column in zip(names_of(table), table.columns, strict=True)
    ]
    return replace(table, columns=columns)


def _as_numbers(column: Column) -> Column:
    """Numbers of numbers in text, of booleans and of dates."""
    if column.kind in NUMBERS:
        return replace(column, kind="numbers")
    if column.kind == "dates or durations":
        return Column(date_numbers(column.values))
    if column.kind not in ("text", "categories"):
        return column
    objects = column.values.tolist()
    distinct = [value for value in dict.fromkeys(objects) if not is_missing(value)]
    if all(map(reads_as_number, distinct)):
        numbers = dict(zip(distinct, map(float, distinct), strict=True))
    elif (dates := parse_dates(list(map(str, distinct)))) is not None:
        numbers = dict(zip(distinct, dates.tolist(), strict=True))
    else:
        return column
    return Column(np.array([numbers.get(value, np.nan) for value in objects], dtype=np.float64))


def _as_categories(column: Column) -> Column:
    """Levels of numbers, booleans, text and dates, each by its text."""
    if column.kind in ("text", "categories"):
        return replace(column, kind="categories")
    if column.kind == "dates or durations":
        return Column(date_texts(column.values), "categories", column.row)
    if column.kind not in NUMBERS:
        return column
    missing, objects = missing_values(column), column.values.tolist()
    if missing.all():
        return column
    if column.kind == "booleans":
        objects = [None if absent else bool(value) for value, absent in zip(objects, missing, strict=True)]
    texts = {value: text_of(value) for value in dict.fromkeys(objects)}
    values = np.empty(len(objects), dtype=object)
    values[:] = [None if absent else texts[value] for value, absent in zip(objects, missing, strict=True)]
    return Column(values, "categories", int((~missing).argmax()))


_CONVERSIONS = {"number": _as_numbers, "category": _as_categories}
