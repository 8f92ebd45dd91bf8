"""What the columns of one or two samples are, from summaries of all their rows: numbers, or categories with levels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from densdiff.data.categories import DISTINCT, Levels, warn_of_identifiers
from densdiff.data.floats import refusal
from densdiff.data.summary import WORDS, ColumnSummary, Summary
from densdiff.data.table import nearly_numbers
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
        """All of them numbers."""
        return cls(names, (None,) * len(names), tuple(range(len(names))), ())

    @property
    def coded(self) -> tuple[Levels, ...]:
        """The levels, or nothing if all columns are numbers."""
        return self.levels if any(self.levels) else ()


def resolve_columns(summaries: Sequence[Summary], notes: list[str], cure: str = "") -> Columns:
    """Which columns are categories, and their pooled levels; a column that names its rows is left out with a warning.

    Text that is nearly all numbers is an error; so are missing categories if a ``cure`` for them is given.
    """
    kept: list[tuple[str, Levels, int]] = []
    identifiers = []
    for j, name in enumerate(summaries[0].names):
        parts = [about.columns[j] for about in summaries]
        if not are_words(parts):
            kept.append((name, None, j))
            continue
        for about, part in zip(summaries, parts, strict=True):
            refuse_nearly_numbers(part, about.label(j), name)
            if part.missing and cure:
                text = f"{about.label(j)}: {missing_text(part.missing, part.first_missing)}; {cure}"
                raise InputError(text, column=name, row=part.first_missing)
        # of all rows, or within each table: the same customers in both have two rows a name
        too_many = any(part.levels is None for part in parts)
        if too_many or _names_rows(parts) or all(_names_rows([part]) for part in parts):
            identifiers.append(name)
        else:
            kept.append((name, tuple(sorted(set().union(*(part.levels or () for part in parts)))), j))
    warn_of_identifiers(identifiers, bool(kept), notes)
    names, levels_of, places = zip(*kept, strict=True)
    return Columns(tuple(names), tuple(levels_of), tuple(places), tuple(identifiers))


def are_words(parts: Sequence[ColumnSummary]) -> bool:
    """Whether a column is one of categories in all samples; booleans beside numbers are numbers."""
    kinds = {part.kind for part in parts if part.kind}
    return bool(kinds) and kinds <= set(WORDS)


def refuse_nearly_numbers(part: ColumnSummary, label: str, name: str) -> None:
    """An error if a column of text is nearly all numbers."""
    if part.kind == "text" and nearly_numbers(np.array(list(part.levels or ()), dtype=object)):
        row = part.word.row if part.word.row >= 0 else part.first.row
        raise InputError(refusal(part, label), column=name, row=row)


def _names_rows(parts: Sequence[ColumnSummary]) -> bool:
    levels: set[str] = set().union(*(part.levels or () for part in parts))
    return len(levels) > max(2.0, DISTINCT * sum(sum((part.levels or {}).values()) for part in parts))
