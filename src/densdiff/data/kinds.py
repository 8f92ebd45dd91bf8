"""What the columns of one or two samples are, from summaries of all their rows: numbers, or categories with levels.

The codes of categories are made in `categories`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from densdiff.data.categories import DISTINCT, Levels, warn_of_identifiers
from densdiff.data.floats import refusal
from densdiff.data.summary import WORDS, ColumnSummary, Summary
from densdiff.data.table import are_nearly_numbers
from densdiff.errors import InputError
from densdiff.messages import missing_text


@dataclass(frozen=True)
class Columns:
    """The columns that can be used, in the order of the summaries."""

    names: tuple[str, ...]
    levels: tuple[Levels, ...]  # None for numbers
    places: tuple[int, ...]  # in the summaries
    identifiers: tuple[str, ...]  # left out: they tell rows and nothing else

    @classmethod
    def of_numbers(cls, names: tuple[str, ...]) -> "Columns":
        """Columns that are all numbers."""
        return cls(names, (None,) * len(names), tuple(range(len(names))), ())

    @property
    def coded(self) -> tuple[Levels, ...]:
        """The levels, or nothing if all columns are numbers."""
        return self.levels if any(self.levels) else ()


def resolve_columns(summaries: Sequence[Summary], notes: list[str], cure: str = "") -> Columns:
    """Which columns are categories, and their pooled levels; a column that names its rows is left out with a warning.

    Text that is nearly all numbers is an error; so are missing categories if a ``cure`` for them is given.
    """
    usable: list[tuple[str, Levels, int]] = []
    identifiers = []
    for j, name in enumerate(summaries[0].names):
        columns = [summary.columns[j] for summary in summaries]
        if not are_categories(columns):
            usable.append((name, None, j))
            continue
        for summary, column in zip(summaries, columns, strict=True):
            refuse_nearly_numbers(column, summary.label(j), name)
            if column.missing and cure:
                text = f"{summary.label(j)}: {missing_text(column.missing, column.first_missing)}; {cure}"
                raise InputError(text, column=name, row=column.first_missing)
        # of all rows, or within each table: the same customers in both have two rows a name
        too_many = any(column.levels is None for column in columns)
        if too_many or _identifies_rows(columns) or all(_identifies_rows([column]) for column in columns):
            identifiers.append(name)
        else:
            usable.append((name, _pooled_levels(columns), j))
    warn_of_identifiers(identifiers, bool(usable), notes)
    names, levels, places = zip(*usable, strict=True)
    return Columns(tuple(names), tuple(levels), tuple(places), tuple(identifiers))


def judged_columns(summaries: Sequence[Summary]) -> Columns:
    """All columns, which are known to be usable: numbers, or categories with their pooled levels."""
    pooled: list[Levels] = []
    for columns in zip(*(summary.columns for summary in summaries), strict=True):
        pooled.append(_pooled_levels(columns) if are_categories(columns) else None)
    names = summaries[0].names
    return Columns(names, tuple(pooled), tuple(range(len(names))), ())


def _pooled_levels(columns: Sequence[ColumnSummary]) -> tuple[str, ...]:
    return tuple(sorted(set().union(*(column.levels or () for column in columns))))


def are_categories(columns: Sequence[ColumnSummary]) -> bool:
    """Whether a column is one of categories in all samples; booleans beside numbers are numbers."""
    kinds = {column.kind for column in columns if column.kind}
    return bool(kinds) and kinds <= set(WORDS)


def refuse_nearly_numbers(column: ColumnSummary, label: str, name: str) -> None:
    """An error if a column of text is nearly all numbers."""
    if column.kind == "text" and are_nearly_numbers(np.array(list(column.levels or ()), dtype=object)):
        row = column.word.row if column.word.row >= 0 else column.first.row
        raise InputError(refusal(column, label), column=name, row=row)


def _identifies_rows(columns: Sequence[ColumnSummary]) -> bool:
    levels: set[str] = set().union(*(column.levels or () for column in columns))
    return len(levels) > max(2.0, DISTINCT * sum(sum((column.levels or {}).values()) for column in columns))
