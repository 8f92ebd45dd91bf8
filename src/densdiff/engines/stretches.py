"""A source of blocks as stretches of consecutive rows that overlap, or as rows drawn from all of it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config

from densdiff.checks.summaries import Reading, Summary, reading, refuse_missing
from densdiff.core import selection
from densdiff.core.selection import IntArray
from densdiff.engines.sources import Source, length

Columns = dict[str, npt.NDArray[Any]]
_SHARE = 0.25  # of the memory ceiling, for the rows at hand


def room() -> float:
    """Bytes that rows at hand may take."""
    return float(_SHARE * get_config()["working_memory"] * 2**20)


def most_rows(width: int) -> int:
    """How many rows of so many columns fit."""
    return max(1000, int(room() / (8 * width)))


def counted(source: Source) -> int:
    """Rows of a source, by a pass if nothing else tells."""
    return source.run(_count, int.__add__, None) if source.rows is None else source.rows


def _count(block: Any, start: int) -> int:
    return length(block)


def stretches(source: Source, where: str, size: int, overlap: int) -> Iterator[tuple[int, Any]]:
    """Columns by name of ``size`` rows at a time, each beginning ``overlap`` rows before the end of the one before."""
    total, start = counted(source), 0
    of = reading(source.head(), where)
    while True:
        stop = min(total, start + size)
        yield start, _between(source, of, start, stop)
        if stop == total:
            return
        start = stop - overlap


def _between(source: Source, of: Reading, low: int, high: int) -> Any:
    found: Columns = source.run(_Between(of, low, high), _joined, None)
    return found if of.named else _unnamed(found)


def _unnamed(columns: Columns) -> Any:
    """Columns without names of their own, as an array."""
    return np.column_stack(list(columns.values()))


class _Between:
    """The rows of a block from one number to another."""

    def __init__(self, of: Reading, low: int, high: int) -> None:
        self.of, self.low, self.high = of, low, high

    def __call__(self, block: Any, start: int) -> Columns:
        table = self.of.table(block)
        part = slice(max(0, self.low - start), max(0, self.high - start))
        return {name: column.values[part] for name, column in zip(self.of.names, table.columns, strict=True)}


def _joined(a: Columns, b: Columns) -> Columns:
    return {name: np.concatenate([values, b[name]]) for name, values in a.items()}


def drawn(source: Source, where: str, seed: int, most: int) -> tuple[Any, int]:
    """At most so many rows drawn at random, as columns by name, and how many there are; all values are looked at."""
    of = reading(source.head(), where)
    about = source.run(of.summary, Summary.merged, None)
    refuse_missing([about], "drop or fill those rows")
    index = np.sort(selection.draw_rows(seed, about.rows, most))
    found: Columns = source.run(_Drawn(of, index), _joined, None)
    return found if of.named else _unnamed(found), about.rows


class _Drawn:
    """The rows of a block that have one of some sorted numbers."""

    def __init__(self, of: Reading, index: IntArray) -> None:
        self.of, self.index = of, index

    def __call__(self, block: Any, start: int) -> Columns:
        table = self.of.table(block)
        low, high = np.searchsorted(self.index, [start, start + table.shape[0]])
        rows = self.index[low:high] - start
        return {name: column.values[rows] for name, column in zip(self.of.names, table.columns, strict=True)}
