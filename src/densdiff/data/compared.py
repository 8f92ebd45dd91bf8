"""Two tables of any columns, matched, with missing values treated as asked and categories as codes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.data import imputation
from densdiff.data.categories import MISSING_LEVEL, Levels, coded, is_category, refuse_nearly_numbers, truths
from densdiff.data.pair import Pair, matched, paired
from densdiff.data.parameters import choice
from densdiff.data.table import Column, Table, floats, missing_values, table_of
from densdiff.errors import InputError
from densdiff.messages import came, capped, listed, lost, shown, warn

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Constant = tuple[str, bool, Any, Any]  # a column's name, whether it holds numbers, its value in A and in B
MISSING = ("error", "drop", "level")


@dataclass(frozen=True)
class Compared:
    """Both tables with the same columns, all values finite, codes where ``levels`` is not None."""

    names: tuple[str, ...]
    levels: tuple[Levels, ...]
    a: Table
    b: Table
    left_out: tuple[tuple[str, str], ...]  # name and why
    missing: tuple[tuple[str, int, int], ...]  # name, missing values in A and in B
    sizes: tuple[int, int]  # rows given
    notes: tuple[str, ...]

    @property
    def rows(self) -> tuple[int, int]:
        """Rows that are compared."""
        return self.a.shape[0], self.b.shape[0]

    def column(self, j: int) -> tuple[FloatArray, FloatArray]:
        """One column of both tables."""
        x, y = (np.asarray(table.columns[j].values, dtype=np.float64) for table in (self.a, self.b))
        return x, y

    def pair(self, rows_a: Any = slice(None), rows_b: Any = slice(None)) -> Pair:
        """Some rows of both as matrices."""
        a, b = self.a.some(rows_a), self.b.some(rows_b)
        return paired(self.names, a, b, self.levels if any(self.levels) else (), list(self.notes), ties=False)

    def some(self, rows_a: Any, rows_b: Any) -> "Compared":
        """The same with these rows only."""
        return replace(self, a=self.a.some(rows_a), b=self.b.some(rows_b))

    def single(self, j: int) -> Pair:
        """One column as a pair."""
        levels = (self.levels[j],) if self.levels[j] is not None else ()
        x, y = (replace(table, columns=[table.columns[j]], shape=(table.shape[0], 1)) for table in (self.a, self.b))
        return paired((self.names[j],), x, y, levels, [], ties=False)


def compared(
    A: Any, B: Any, columns: Sequence[str] | None, missing: str, where: tuple[str, str] = ("A", "B")
) -> Compared:
    """The tables of a comparison; ``missing`` is "error", "drop" or "level"."""
    choice(missing, "missing", MISSING)
    notes: list[str] = []
    given = table_of(A, where[0]), table_of(B, where[1])
    for table in given:
        if table.shape[0] < 2:
            rows = f"{table.shape[0]} data row{'s' * (not table.shape[0])}"
            raise InputError(f"{table.where} has {rows}; each table needs at least 2")
    if columns is not None:
        given = chosen_columns(given[0], columns), chosen_columns(given[1], columns)
    names, a, b = matched(*given, notes)
    a, b = _with_truths(a), _with_truths(b)
    left_out = (
        [(name, f"only in {table.where}") for table in given for name in table.names or () if name not in names]
        if len(names) < max(len(table.columns) for table in given)
        else []
    )
    masks = [[missing_values(column) for column in table.columns] for table in (a, b)]
    empty = [[mask.all() for mask in of] for of in masks]
    for name, *both in zip(names, *empty, strict=True):
        if any(both):
            which = " and ".join(table.where for table, all_missing in zip((a, b), both, strict=True) if all_missing)
            left_out.append((name, f"all values are missing in {which}"))
    kept = [j for j in range(len(names)) if not (empty[0][j] or empty[1][j])]
    if not kept:
        raise InputError(f"no column is left: {'; '.join(f'{shown(name)}, {why}' for name, why in left_out[:5])}")
    if len(kept) < len(names):
        names, a, b = tuple(names[j] for j in kept), _columns(a, kept), _columns(b, kept)
        masks = [[of[j] for j in kept] for of in masks]
    sizes = a.shape[0], b.shape[0]
    counts = [(name, int(x.sum()), int(y.sum())) for name, x, y in zip(names, *masks, strict=True)]
    found = tuple(each for each in counts if each[1] or each[2])
    if found:
        names, a, b = _treated(names, a, b, masks, missing, notes)
    known = names
    names, (a, b), levels = coded([a, b], names, notes)
    left_out += [(name, "almost every row has a level of its own") for name in known if name not in names]
    a, b = _numbers(a, b, names, notes), _numbers(b, a, names, notes)
    notes += _constants(a, b, names, levels)
    return Compared(names, levels, a, b, tuple(left_out), found, sizes, tuple(notes))


def chosen_columns(table: Table, columns: Sequence[str]) -> Table:
    if isinstance(columns, (str, bytes)) or not isinstance(columns, Iterable):
        raise InputError(f"columns must be a list of names; got {came(columns)}")
    columns = list(columns)
    if others := [name for name in columns if not isinstance(name, str)]:
        cure = f", such as {str(others[0])!r}" if isinstance(others[0], (int, tuple)) else ""
        raise InputError(f"columns must be a list of names as text{cure}; got {shown(others[0])}")
    if not columns:
        raise InputError("columns is an empty list; name at least one column, or leave it out")
    table = table if table.names else replace(table, names=tuple(f"x{j}" for j in range(len(table.columns))))
    if lacking := [name for name in columns if name not in (table.names or ())]:
        raise InputError(f"{table.where} has no column {listed(lacking)}; it has {listed(table.names or ())}")
    return table.select(tuple(dict.fromkeys(columns)))


def _with_truths(table: Table) -> Table:
    """Booleans that came as floats, because some are missing, as True, False and None."""
    columns = []
    for column in table.columns:
        if column.kind == "booleans" and column.values.dtype.kind == "f":
            column = replace(column, values=truths(column.values))
        columns.append(column)
    return replace(table, columns=columns)


def _columns(table: Table, kept: Sequence[int]) -> Table:
    names = tuple(table.names[j] for j in kept) if table.names else None
    return replace(table, columns=[table.columns[j] for j in kept], names=names)


def _treated(
    names: tuple[str, ...], a: Table, b: Table, masks: list[list[BoolArray]], missing: str, notes: list[str]
) -> tuple[tuple[str, ...], Table, Table]:
    """Both tables without missing values."""
    if missing == "error":
        table, of = next((table, of) for table, of in zip((a, b), masks, strict=True) if any(map(np.any, of)))
        j = next(j for j, mask in enumerate(of) if mask.any())
        what = lost(int(of[j].sum()), int(of[j].argmax()))
        raise InputError(f'column {shown(names[j])} of {table.where}: {what}; use missing="drop" or missing="level"')
    if missing == "drop":
        parts = []
        for table, of in zip((a, b), masks, strict=True):
            whole = ~np.logical_or.reduce(of)
            if whole.sum() < 2:
                raise InputError(f'{table.where} has {whole.sum()} rows without missing values; try missing="level"')
            parts.append(table.some(whole))
        _refuse_before_drop(names, a, b, masks)
        gone = [f"{table.shape[0] - part.shape[0]} of {table.where}" for table, part in zip((a, b), parts, strict=True)]
        warn(f"rows with missing values were dropped: {' and '.join(gone)}", notes)
        return names, parts[0], parts[1]
    pools: list[list[Column]] = [[], []]
    found: list[str] = []
    for j, name in enumerate(names):
        both = [a.columns[j], b.columns[j]]
        of = [masks[0][j], masks[1][j]]
        if not (of[0].any() or of[1].any()):
            new = [(name, both)]
        elif is_category(both):
            if any(MISSING_LEVEL in column.values.tolist() for column in both):
                raise InputError(f"column {shown(name)} has a level {MISSING_LEVEL!r} beside missing values; rename it")
            filled = [_filled(column, mask, MISSING_LEVEL) for column, mask in zip(both, of, strict=True)]
            new = [(name, filled)]
        else:
            new = [(name, _spread_filled(both)), (f"{name} is missing", [Column(m, "booleans") for m in of])]
        for label, columns in new:
            found.append(label)
            for pool, column in zip(pools, columns, strict=True):
                pool.append(column)
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise InputError(f"a column is already named {shown(twice)}; rename it")
    parts = [
        replace(table, columns=pool, names=tuple(found), shape=(table.shape[0], len(pool)))
        for table, pool in zip((a, b), pools, strict=True)
    ]
    return tuple(found), parts[0], parts[1]


def _refuse_before_drop(names: tuple[str, ...], a: Table, b: Table, masks: list[list[BoolArray]]) -> None:
    """Refuse what dropping rows does not cure while rows still have the numbers that they came with."""
    for table, other, of in ((a, b, masks[0]), (b, a, masks[1])):
        gone = np.logical_or.reduce(of)
        for j, name in enumerate(names):
            column, twin = table.columns[j], other.columns[j]
            if is_category([column, twin]):
                refuse_nearly_numbers(column, f"column {shown(name)} of {table.where}")
                continue
            if column.kind in ("numbers", "booleans"):
                values = np.where(gone, 0.0, np.asarray(column.values, dtype=np.float64))
                column = replace(column, values=values, largest=0)  # precision is told once, later
            single, beside = replace(table, columns=[column]), replace(other, columns=[twin])
            floats(single, (name,), [], beside)


def _filled(column: Column, mask: BoolArray, value: Any) -> Column:
    values = column.values.astype(object)
    values[mask] = value
    return replace(column, values=values)


def _spread_filled(both: list[Column]) -> list[Column]:
    """Numbers with pooled ones in place of missing ones."""
    if any(column.kind not in ("numbers", "booleans") for column in both):
        return both  # refused later, by what it holds
    a, b = (np.asarray(column.values, dtype=np.float64) for column in both)
    fill = imputation.pool_donors(imputation.draw_donors(a), imputation.draw_donors(b))
    parts = imputation.impute(a, 0, fill), imputation.impute(b, 0, fill)
    return [replace(column, values=part) for column, part in zip(both, parts, strict=True)]


def _numbers(table: Table, other: Table, names: tuple[str, ...], notes: list[str]) -> Table:
    """Every column as finite float64, or the first that is not as an error."""
    columns = []
    for j, (column, name) in enumerate(zip(table.columns, names, strict=True)):
        plain = column.kind == "numbers" and column.values.dtype == np.float64 and np.isfinite(column.values).all()
        if not plain:  # else no copy is made
            single, twin = (replace(each, columns=[each.columns[j]]) for each in (table, other))
            values = floats(single, (name,), notes, twin)[:, 0]
            column = Column(values)
        columns.append(column)
    return replace(table, columns=columns)


def _constants(a: Table, b: Table, names: tuple[str, ...], levels: tuple[Levels, ...]) -> list[str]:
    """Notes on columns that are constant in both tables."""
    found: list[Constant] = []
    for name, of, x, y in zip(names, levels, *([c.values for c in table.columns] for table in (a, b)), strict=True):
        if x[0] != x[-1] or y[0] != y[-1] or not ((x == x[0]).all() and (y == y[0]).all()):
            continue
        found.append((name, of is None, x[0], y[0]))
    return constant_notes(found, a.where, b.where)


def constant_notes(constants: Iterable[Constant], where_a: str, where_b: str) -> list[str]:
    """Notes on columns that are constant in each of two tables."""
    equal, masses = [], []
    for name, number, x, y in constants:
        if x == y:
            equal.append(f"column {shown(name)} is constant and equal in both; it contributes nothing")
        elif number:
            values = f"{x:.10g} in all of {where_a} and {y:.10g} in all of {where_b}"
            masses.append(f"column {shown(name)} is {values}; point masses have no density")
    return capped(equal, "columns are constant and equal") + capped(masses, "columns are constant")
