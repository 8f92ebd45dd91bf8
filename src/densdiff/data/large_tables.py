"""Two tables that are not in memory, matched and treated as `memory_tables` treats those that are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from densdiff import messages
from densdiff.core.scaling import FloatArray
from densdiff.data import imputation, parameters
from densdiff.data.categories import MISSING_LEVEL, Levels
from densdiff.data.compared import MISSING, Constant, constant_notes
from densdiff.data.inputs import Looked, Seen, Wanted, looked_through
from densdiff.data.pair import Pair
from densdiff.data.sample import Rows
from densdiff.data.summary import Reading, are_words, refuse_missing
from densdiff.data.table import Column, Table, missing_values
from densdiff.errors import InputError
from densdiff.sources.blocks import Pass, Source
from densdiff.sources.passes import ask_all


@dataclass(frozen=True)
class LargeTables:
    """Both tables with the same columns; the counterpart of `Compared`."""

    looked: Looked
    left_out: tuple[tuple[str, str], ...]  # name and why
    missing: tuple[tuple[str, int, int], ...]  # name, missing values in A and in B
    sizes: tuple[int, int]  # rows given
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.looked.columns.names

    @property
    def levels(self) -> tuple[Levels, ...]:
        return self.looked.columns.levels or (None,) * len(self.names)

    @property
    def rows(self) -> tuple[int, int]:
        """Rows that are compared."""
        return self.looked.sizes

    @cached_property
    def _whole(self) -> Pair:
        """All rows and columns, with notes on them alone."""
        return self.looked.pair([], ties=False)

    def pair(self, rows_a: Any = None, rows_b: Any = None) -> Pair:
        """Some rows of both as matrices, by their numbers; all, not in memory, by default."""
        found = replace(self._whole, notes=(*self.notes, *self._whole.notes))
        if rows_a is None or rows_b is None:
            return found
        x, y = found.x[rows_a], found.y[rows_b]
        return replace(found, x=x, y=y, weights_x=np.broadcast_to(1.0, len(x)), weights_y=np.broadcast_to(1.0, len(y)))

    def single(self, j: int) -> Pair:
        """One column as a pair."""
        whole = self._whole
        x, y = (cast(FloatArray, cast(Rows, rows).column(j)) for rows in (whole.x, whole.y))
        levels = (self.levels[j],) if self.levels[j] is not None else ()
        return replace(whole, x=x, y=y, names=(self.names[j],), varying=whole.varying[[j]], levels=levels, notes=())


def compared(
    A: Any,
    B: Any,
    sources: tuple[Source | None, Source | None],
    columns: Sequence[str] | None,
    missing: str,
    where: tuple[str, str],
    wanted: Wanted,
) -> LargeTables:
    """The tables of a comparison; ``missing`` is "error", "drop" or "level"."""
    parameters.choice(missing, "missing", MISSING)
    notes: list[str] = []
    left_out: list[tuple[str, str]] = []
    seen = looked_through(A, B, sources, notes, wanted, where, chosen=columns, unmatched=left_out)
    empty = _empty(seen)
    left_out += empty.items()
    kept = [j for j, name in enumerate(seen.names) if name not in empty]
    if not kept:
        raise InputError(f"no column is left: {'; '.join(f'{name!r}, {why}' for name, why in left_out[:5])}")
    seen, sizes = seen.only(kept), (seen.summaries[0].rows, seen.summaries[1].rows)
    lost = [
        (name, a.missing, b.missing)
        for name, a, b in zip(seen.names, *(each.columns for each in seen.summaries), strict=True)
        if a.missing or b.missing
    ]
    if lost and missing == "error":
        refuse_missing(seen.summaries, 'use missing="drop" or missing="level"')
    if lost:
        seen = _treated(A, B, seen, missing, wanted, where)
    if lost and missing == "drop":
        parts = zip(sizes, seen.summaries, where, strict=True)
        gone = [f"{before - after.rows} of {name}" for before, after, name in parts]
        messages.warn(f"rows with missing values were dropped: {' and '.join(gone)}", notes)
    looked = seen.settled(True, notes)
    looked.fetch(wanted)
    left_out += [(name, "almost every row has a level of its own") for name in looked.columns.left_out]
    notes += _constants(looked)
    return LargeTables(looked, tuple(left_out), tuple(lost), sizes, tuple(dict.fromkeys(notes)))


def _empty(seen: Seen) -> dict[str, str]:
    """Columns without a value in one of the tables, and which."""
    found = {}
    for name, *both in zip(seen.names, *(each.columns for each in seen.summaries), strict=True):
        of = [each.where for each, part in zip(seen.summaries, both, strict=True) if not part.kind]
        if of:
            found[name] = f"all values are missing in {' and '.join(of)}"
    return found


def _constants(looked: Looked) -> list[str]:
    """Notes on columns that are constant in both tables."""
    found: list[Constant] = []
    levels = looked.columns.levels or (None,) * len(looked.columns.names)
    for name, of, *both in zip(looked.columns.names, levels, *(each.columns for each in looked.summaries), strict=True):
        if of is not None:
            ends = [[sorted(part.levels or ())[k] for k in (0, -1)] for part in both]
        else:
            ends = [[part.low, part.high] for part in both]
        if all(low == high for low, high in ends):
            found.append((name, of is None, ends[0][0], ends[1][0]))
    return constant_notes(found, looked.summaries[0].where, looked.summaries[1].where)


def _treated(A: Any, B: Any, seen: Seen, missing: str, wanted: Wanted, where: tuple[str, str]) -> Seen:
    """The same tables without missing values, looked through once more."""
    changes: list[Any] = [partial(_whole_rows, of) for of in seen.readings]
    if missing == "level":
        fills = _fills(seen)
        changes = [partial(_filled, of, fills) for of in seen.readings]
    x, y = (source.changed(change) for source, change in zip(seen.sources, changes, strict=True))
    found = looked_through(A, B, (x, y), [], wanted, where)
    for about in found.summaries:
        if about.rows < 2:  # without any, the source says so
            raise InputError(f'{about.where} has 1 rows without missing values; try missing="level"')
    return found


def _whole_rows(of: Reading, block: Any, start: int) -> Table:
    return of.whole_rows(block)


def _fills(seen: Seen) -> dict[str, FloatArray | str]:
    """For each column that lacks values: sorted ones of its own to fill it with, or the kind of its words."""
    found: dict[str, FloatArray | str] = {}
    numbers: list[int] = []
    for j, (name, *parts) in enumerate(zip(seen.names, *(each.columns for each in seen.summaries), strict=True)):
        if not any(part.missing for part in parts):
            continue
        if not are_words(parts, [f"column {messages.shown(name)} of {each.where}" for each in seen.summaries]):
            numbers.append(j)
            continue
        if any(MISSING_LEVEL in (part.levels or ()) for part in parts):
            raise InputError(
                f"column {messages.shown(name)} has a level {MISSING_LEVEL!r} beside missing values; rename it"
            )
        found[name] = "text" if "text" in {part.kind for part in parts} else "categories"
    if twice := [name for name in seen.names if name in {f"{seen.names[j]} is missing" for j in numbers}]:
        raise InputError(f"a column is already named {messages.shown(twice[0])}; rename it")
    if numbers:
        passes = [
            Pass(source, partial(_known, of.only(numbers)), _fewer, None)
            for source, of in zip(seen.sources, seen.readings, strict=True)
        ]
        for j, *both in zip(numbers, *ask_all(passes), strict=True):
            found[seen.names[j]] = imputation.pool_donors(*both)
    return found


def _known(of: Reading, block: Any, start: int) -> list[imputation.Donors]:
    return [
        imputation.draw_donors(np.asarray(column.values, dtype=np.float64), start) for column in of.table(block).columns
    ]


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
