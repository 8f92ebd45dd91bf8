"""Two tables that are not in memory, matched and treated as `checks.compared` treats those that are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from densdiff import checks
from densdiff.checks.categories import Levels
from densdiff.checks.compared import MISSING
from densdiff.checks.summaries import MISSING_LEVEL, Reading, refuse_missing
from densdiff.checks.tables import missing_values
from densdiff.core.scaling import FloatArray
from densdiff.engines.inputs import Looked, Wanted, looked_through
from densdiff.engines.rows import Rows
from densdiff.engines.sources import Source
from densdiff.errors import InputError

_KNOWN = 5000  # values of a column that stand for all when missing ones are filled


@dataclass(frozen=True)
class LargeTables:
    """Both tables with the same columns; the counterpart of `checks.Compared`."""

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

    def pair(self, rows_a: Any = None, rows_b: Any = None) -> checks.Pair:
        """Some rows of both as matrices, by their numbers; all, not in memory, by default."""
        found = self.looked.pair(list(self.notes), ties=False)
        if rows_a is None or rows_b is None:
            return found
        x, y = found.x[rows_a], found.y[rows_b]
        return replace(found, x=x, y=y, weights_x=np.broadcast_to(1.0, len(x)), weights_y=np.broadcast_to(1.0, len(y)))

    def single(self, j: int) -> checks.Pair:
        """One column as a pair."""
        whole = self.looked.pair([], ties=False)
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
    checks.choice(missing, "missing", MISSING)
    notes: list[str] = []
    left_out: list[tuple[str, str]] = []
    looked = looked_through(A, B, sources, notes, True, wanted, where, chosen=columns, unmatched=left_out)
    empty = _empty(looked)
    left_out += [(name, why) for name, why in empty.items()]
    kept = [name for name in looked.summaries[0].names if name not in empty]
    if not kept:
        raise InputError(f"no column is left: {'; '.join(f'{name!r}, {why}' for name, why in left_out[:5])}")
    if empty:
        looked = looked_through(A, B, looked.sources, notes, True, wanted, where, chosen=kept)
    sizes = looked.sizes
    lost = [
        (name, a.missing, b.missing)
        for name, a, b in zip(looked.summaries[0].names, *(each.columns for each in looked.summaries), strict=True)
        if a.missing or b.missing
    ]
    if lost and missing == "error":
        refuse_missing(looked.summaries, 'use missing="drop" or missing="level"')
    if lost:
        looked = _treated(A, B, looked, missing, notes, wanted, where)
        if missing == "drop":
            parts = zip(sizes, looked.sizes, where, strict=True)
            gone = [f"{before - after} of {name}" for before, after, name in parts]
            checks.warn(f"rows with missing values were dropped: {' and '.join(gone)}", notes)
    left_out += [(name, "almost every row has a level of its own") for name in looked.columns.left_out]
    return LargeTables(looked, tuple(left_out), tuple(lost), sizes, tuple(dict.fromkeys(notes)))


def _empty(looked: Looked) -> dict[str, str]:
    """Columns without a value in one of the tables, and which."""
    found = {}
    names = looked.summaries[0].names
    for name, *both in zip(names, *(each.columns for each in looked.summaries), strict=True):
        of = [each.where for each, part in zip(looked.summaries, both, strict=True) if not part.kind]
        if of:
            found[name] = f"all values are missing in {' and '.join(of)}"
    return found


def _treated(
    A: Any, B: Any, looked: Looked, missing: str, notes: list[str], wanted: Wanted, where: tuple[str, str]
) -> Looked:
    """The same tables without missing values, looked through once more."""
    changes: list[Any] = [partial(_whole_rows, of) for of in looked.readings]
    if missing == "level":
        fills = _fills(looked)
        changes = [partial(_filled, of, fills) for of in looked.readings]
    x, y = (source.changed(change) for source, change in zip(looked.sources, changes, strict=True))
    found = looked_through(A, B, (x, y), notes, True, wanted, where)
    for size, about in zip(found.sizes, found.summaries, strict=True):
        if size < 2:
            raise InputError(f'{about.where} has {size} rows without missing values; try missing="level"')
    return found


def _whole_rows(of: Reading, block: Any, start: int) -> dict[str, npt.NDArray[Any]]:
    return of.whole_rows(block)


def _fills(looked: Looked) -> dict[str, FloatArray | None]:
    """For each column that lacks values: sorted ones of its own to fill it with, None for words."""
    found: dict[str, FloatArray | None] = {}
    words = [each.columns for each in looked.summaries]
    for j, name in enumerate(looked.summaries[0].names):
        if not any(columns[j].missing for columns in words):
            continue
        if any(columns[j].kind in ("text", "categories", "booleans") for columns in words):
            found[name] = None
            continue
        parts = [
            source.run(partial(_known, of, j), _fewer, None)
            for source, of in zip(looked.sources, looked.readings, strict=True)
        ]
        found[name] = np.sort(np.concatenate(parts))
    return found


def _known(of: Reading, j: int, block: Any, start: int) -> FloatArray:
    values = np.asarray(of.table(block).columns[j].values, dtype=np.float64)
    values = values[~np.isnan(values)]
    return values[:: max(1, -(-len(values) // _KNOWN))]


def _fewer(a: FloatArray, b: FloatArray) -> FloatArray:
    both = np.concatenate([a, b])
    return both[:: -(-len(both) // _KNOWN)] if len(both) > 2 * _KNOWN else both


def _filled(of: Reading, fills: dict[str, FloatArray | None], block: Any, start: int) -> dict[str, npt.NDArray[Any]]:
    """Columns by name: words with a level for what is missing, numbers with others of theirs and a column that says so.

    Which number fills a hole depends on the number of its row alone, so blocks of any size give the same.
    """
    found: dict[str, npt.NDArray[Any]] = {}
    for name, column in zip(of.names, of.table(block).columns, strict=True):
        values = column.values
        if name not in fills:
            found[name] = values
            continue
        lost, known = missing_values(column), fills[name]
        if known is None:
            values = values.astype(object)
            if column.kind == "booleans":
                values[~lost] = [str(bool(value)) for value in values[~lost]]
            values[lost] = MISSING_LEVEL
            found[name] = values
        else:
            values = np.array(values, dtype=np.float64)
            values[lost] = known[_scattered(start + np.flatnonzero(lost)) % len(known)]
            found |= {name: values, f"{name} is missing": lost}
    return found


def _scattered(number: npt.NDArray[np.integer]) -> npt.NDArray[np.intp]:
    """Row numbers as numbers without any order: Weyl's sequence, its high bits."""
    return ((number.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)).astype(np.intp)
