"""How blocks of one source become columns, summaries and rows of numbers.

Where the blocks come from is the matter of `sources`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from densdiff.core.scaling import FloatArray, stack_columns
from densdiff.data.categories import MISSING_LEVEL, Levels, codes_of, level_codes, nullable_booleans
from densdiff.data.floats import refusal
from densdiff.data.summary import MOST_LEVELS, NUMBERS, Summary, summarize_column
from densdiff.data.table import Column, Table, coded_values, missing_values, table_of
from densdiff.errors import InputError
from densdiff.messages import listed, shown


@dataclass(frozen=True)
class Reading:
    """Which columns of the blocks of a source are read; ``levels`` says which of them become codes."""

    where: str
    names: tuple[str, ...]
    named: bool  # whether blocks have names of their own
    shifts: tuple[float | None, ...] = ()  # near the numbers of each column, for their moments
    levels: tuple[Levels, ...] = ()
    places: tuple[int, ...] = ()  # of the columns in blocks without names
    width: int = 0  # of such blocks

    def table(self, block: Any) -> Table:
        """The columns of a block, in the order of ``names``."""
        table = table_of(block, self.where)
        if self.named:
            if table.names == self.names:
                return table
            if lacking := [name for name in self.names if name not in (table.names or ())]:
                raise InputError(f"a block of {self.where} lacks {listed(lacking)}; all blocks need the same columns")
            return table.select(self.names)
        if len(table.columns) != self.width:
            widths = f"{self.width} columns and a later one {len(table.columns)}"
            raise InputError(f"the first block of {self.where} has {widths}; all blocks need the same columns")
        if table.names is None and self.places == tuple(range(self.width)):
            return table
        return replace(table, columns=[table.columns[k] for k in self.places], names=None)

    def named_table(self, block: Any) -> Table:
        """The columns of a block by name, whether blocks have names or not."""
        table = self.table(block)
        return replace(table, names=self.names, shape=(len(table), len(self.names)))

    def summary(self, block: Any, start: int) -> Summary:
        """What a block holds whose first row has the number ``start``."""
        if type(block) is np.ndarray and block.dtype.kind == "f":  # columns in one piece: half of the time
            block = np.asfortranarray(block)
        table = self.table(block)
        shifts = self.shifts or (None,) * len(self.names)
        columns = (summarize_column(column, start, shift) for column, shift in zip(table.columns, shifts, strict=True))
        if self.shifts:  # a table in memory may have as many levels as it likes
            columns = (
                replace(column, levels=None) if len(column.levels or ()) > MOST_LEVELS else column for column in columns
            )
        return Summary(self.where, self.names, table.shape[0], tuple(columns))

    def columns(self, block: Any, start: int) -> list[FloatArray]:
        """Numbers, and codes of levels, of a block whose first row has the number ``start``, (k,) each.

        A column that holds float64 already is given as it is.
        """
        table = self.table(block)
        levels = self.levels or (None,) * len(self.names)
        columns = []
        for column, name, column_levels in zip(table.columns, self.names, levels, strict=True):
            if column_levels is None and column.kind not in NUMBERS:
                raise InputError(
                    refusal(summarize_column(column, start, None), f"column {shown(name)} of {self.where}")
                )
            columns.append(_codes(column, column_levels) if column_levels is not None else column.floats())
        return columns

    def rows(self, block: Any, start: int, columns: Sequence[int] | None = None) -> FloatArray:
        """Numbers, and codes of levels, of a block as a matrix, of some columns if they are given, (k, d)."""
        return stack_columns((self if columns is None else self.only(columns)).columns(block, start))

    def only(self, columns: Sequence[int]) -> "Reading":
        """A reading of some of the columns, by their places."""
        if list(columns) == list(range(len(self.names))):
            return self
        fields: dict[str, Any] = {}
        for name in ("names", "levels", "shifts", "places"):
            values = getattr(self, name)
            fields[name] = tuple(values[k] for k in columns) if values else ()
        return replace(self, **fields)


def reading(first: Any, where: str, *, moments: bool = True) -> Reading:
    """How to read a source whose first block is this one; ``moments`` of its columns are summed only where asked."""
    table = table_of(first, where)
    names = table.names or tuple(f"x{j}" for j in range(len(table.columns)))
    named = bool(table.names) and len(table.shape) == 2
    width = 0 if named else len(names)
    shifts = tuple(_middle(column) for column in table.columns) if moments else ()
    return Reading(where, names, named, shifts, places=tuple(range(width)), width=width)


def _middle(column: Column) -> float:
    """A number amid the finite ones of a column, 0 if it has none."""
    if column.kind not in NUMBERS:
        return 0.0
    values = np.asarray(column.values, dtype=np.float64)
    values = values[np.isfinite(values)]
    return float(values.min() / 2 + values.max() / 2) if len(values) else 0.0


def _codes(column: Column, levels: Sequence[str]) -> FloatArray:
    if column.kind == "booleans":
        values = column.values
        codes = codes_of(values.astype(bool) if values.dtype.kind != "f" else nullable_booleans(values), levels)
    else:
        codes = level_codes(coded_values(column), levels)
    if MISSING_LEVEL in levels:
        codes[missing_values(column)] = levels.index(MISSING_LEVEL)
    return codes
