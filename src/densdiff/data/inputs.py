"""What a user gave, as samples: arrays in memory as they are, everything else as `Rows` after one look through it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from densdiff import messages
from densdiff.core.scaling import FloatArray, Moments
from densdiff.core.selection import IntArray
from densdiff.data.compared import chosen_columns
from densdiff.data.pair import Pair, matched, tie_notes
from densdiff.data.pair import pair as memory_pair
from densdiff.data.sample import Kept, Rows, distinct, picked, stacked
from densdiff.data.summary import Columns, Reading, Summary, columns_of, kind_of_source, reading, refuse_missing
from densdiff.data.table import Table, table_of
from densdiff.errors import InputError
from densdiff.io import files
from densdiff.io.blocks import FileBlocks, opened
from densdiff.sources.blocks import BlockSource, Pass, Source
from densdiff.sources.clusters import DaskSource
from densdiff.sources.passes import ask_all

Wanted = Callable[[int, int], tuple[IntArray, IntArray]]  # numbers of rows to have at hand, from both sizes
_TIE_ROWS = 5000


def source_of(value: Any, where: str) -> Source | None:
    """A source of blocks, or None for what is in memory; paths must have been `read` before."""
    if isinstance(value, FileBlocks):
        return BlockSource(where, value, value.rows)
    kind = kind_of_source(value, where)
    if kind == "dask":
        array = isinstance(getattr(value, "chunks", None), tuple)  # a Delayed has any attribute one asks for
        if (not array and not isinstance(getattr(value, "npartitions", None), int)) or not hasattr(value, "ndim"):
            raise InputError(f"{where} is a Dask {type(value).__name__}; pass a Dask array or data frame")
        if array and value.ndim == 0:
            table_of(np.zeros(()), where)  # refused
        return DaskSource(where, value)
    return BlockSource(where, value) if kind else None


def read(value: Any) -> Any:
    """A path as a table or blocks; anything else as it is."""
    return opened(value) if files.is_path(value) else value


def pair(
    X: Any, Y: Any, weights_x: Any = None, weights_y: Any = None, *, categories: bool = False, wanted: Wanted
) -> Pair:
    """Two samples with the same columns; `memory_pair` for what is in memory."""
    X, Y = read(X), read(Y)
    sources = source_of(X, "X"), source_of(Y, "Y")
    if sources == (None, None):
        return memory_pair(X, Y, weights_x, weights_y, categories=categories)
    if weights_x is not None or weights_y is not None:
        raise InputError("weights are for samples in memory; blocks, files that are read in pieces and Dask have none")
    notes: list[str] = []
    both = looked_through(X, Y, sources, notes, wanted).settled(categories, notes)
    refuse_missing(both.summaries, "drop or fill those rows first")
    both.fetch(wanted)
    return both.pair(notes)


@dataclass(frozen=True)
class Seen:
    """Two sources after a look through both; columns are matched, their kinds not yet compared."""

    sources: tuple[Source, Source]
    readings: tuple[Reading, Reading]
    summaries: tuple[Summary, Summary]
    kept: tuple[Kept, Kept]

    @property
    def names(self) -> tuple[str, ...]:
        return self.readings[0].names

    def only(self, places: Sequence[int]) -> "Seen":
        """With some of the columns."""
        x, y = (of.only(places) for of in self.readings)
        about_x, about_y = (about.only(places) for about in self.summaries)
        kept_x, kept_y = (kept.only(places) for kept in self.kept)
        return Seen(self.sources, (x, y), (about_x, about_y), (kept_x, kept_y))

    def settled(self, categories: bool, notes: list[str]) -> "Looked":
        """With the columns that both can be compared in, and their pooled levels."""
        columns = columns_of(self.summaries, self.names, categories, notes)
        rest = self.only(columns.places)
        x, y = (replace(of, levels=columns.levels) for of in rest.readings)
        return Looked(rest.sources, (x, y), rest.summaries, columns, rest.kept)


@dataclass(frozen=True)
class Looked:
    """Two sources whose columns are known."""

    sources: tuple[Source, Source]
    readings: tuple[Reading, Reading]
    summaries: tuple[Summary, Summary]
    columns: Columns
    kept: tuple[Kept, Kept]

    @property
    def sizes(self) -> tuple[int, int]:
        return self.summaries[0].rows, self.summaries[1].rows

    @property
    def same(self) -> bool:
        """Whether both hold the same rows: all that is known of them is equal to the last bit."""
        x, y = self.summaries
        if x.rows != y.rows or x.columns != y.columns:
            return False
        common = np.intersect1d(self.kept[0].found[0], self.kept[1].found[0])
        return not len(common) or np.array_equal(self.kept[0].at(common), self.kept[1].at(common))

    def fetch(self, wanted: Wanted) -> None:
        """Have rows at hand that will be asked for."""
        for k, index in enumerate(wanted(*self.sizes)):
            self.rows(k).fetch(index)

    def rows(self, k: int) -> Rows:
        """One of the samples."""
        every = tuple(range(len(self.columns.names)))
        return Rows(self.sources[k], self.readings[k], every, self._moments(k), self.kept[k], self._counts(k))

    def _counts(self, k: int) -> tuple[IntArray | None, ...]:
        """Rows of each pooled level in one of the samples."""
        return tuple(
            None if of is None else np.array([(part.levels or {}).get(level, 0) for level in of])
            for of, part in zip(self.columns.levels, self.summaries[k].columns, strict=False)
        )

    def _moments(self, k: int) -> Moments:
        """Of numbers; of codes only the ends."""
        parts = self.summaries[k].columns
        number = np.array([of is None for of in self.columns.levels or (None,) * len(parts)])

        def of(values: Sequence[float], else_: Any = 0.0) -> FloatArray:
            return np.where(number, np.array(values, dtype=np.float64), else_)

        return Moments(
            n=self.summaries[k].rows,
            low=of([part.low for part in parts], self._code_ends(k, 0)),
            high=of([part.high for part in parts], self._code_ends(k, -1)),
            shift=of(self.readings[k].shift),
            exponent=np.where(number, [part.exponent for part in parts], 0).astype(np.intc),
            mean=of([part.mean for part in parts]),
            variance=of([part.squares / max(part.count, 1) for part in parts]),
        )

    def _code_ends(self, k: int, end: int) -> FloatArray:
        """The lowest or the highest code of each column of categories that occurs in a sample."""
        found = np.zeros(len(self.columns.names))
        for j, (of, part) in enumerate(zip(self.columns.levels, self.summaries[k].columns, strict=False)):
            if of is not None:
                codes = [of.index(level) for level in part.levels or ()]
                found[j] = sorted(codes or [0])[end]
        return found

    def pair(self, notes: list[str], ties: bool = True) -> Pair:
        """Both as a pair whose samples are `Rows`."""
        x, y = self.rows(0), self.rows(1)
        (n, d), m = x.shape, len(y)
        for rows, about in zip((x, y), self.summaries, strict=True):
            if len(rows) < 2:
                raise InputError(f"{about.where} has 1 row; each sample needs at least 2 rows")
        if d > n + m:
            messages.warn(f"{d} columns but only {n} + {m} rows: are rows and columns swapped?", notes)
        where = self.summaries[0].where, self.summaries[1].where
        if self.same:
            notes.append(f"{where[0]} and {where[1]} hold the same rows: is a sample compared with itself?")
        low, high = np.minimum(x.moments.low, y.moments.low), np.maximum(x.moments.high, y.moments.high)
        if ties:
            of_x, of_y = (rows[:: -(-len(rows) // _TIE_ROWS)] for rows in (x, y))
            still = (x.moments.low == x.moments.high) & (y.moments.low == y.moments.high)
            notes += tie_notes(of_x, of_y, self.columns.names, 1, self.columns.levels, still)
        return Pair(
            x=cast(FloatArray, x),
            y=cast(FloatArray, y),
            weights_x=np.broadcast_to(1.0, n),
            weights_y=np.broadcast_to(1.0, m),
            names=self.columns.names,
            notes=tuple(notes),
            varying=high > low,
            levels=self.columns.levels,
        )


def looked_through(
    X: Any,
    Y: Any,
    sources: tuple[Source | None, Source | None],
    notes: list[str],
    wanted: Wanted,
    where: tuple[str, str] = ("X", "Y"),
    *,
    chosen: Sequence[str] | None = None,
    unmatched: list[tuple[str, str]] | None = None,
) -> Seen:
    """Both sources matched by their first blocks, then read to the end, along with wanted rows if these are known.

    ``chosen`` columns only, if given; columns that one of them lacks, and why they are left out, go to ``unmatched``.
    """
    x, y = (
        BlockSource(name, [value]) if source is None else source
        for source, value, name in zip(sources, (X, Y), where, strict=True)
    )
    heads = x.head(), y.head()
    tables = [table_of(head, name) for head, name in zip(heads, where, strict=True)]
    if chosen is not None:
        tables = [chosen_columns(table, chosen) for table in tables]
    names, *_ = matched(tables[0], tables[1], notes)
    if unmatched is not None and len(names) < max(len(table.columns) for table in tables):
        unmatched += [
            (name, f"only in {table.where}") for table in tables for name in table.names or () if name not in names
        ]
    of_x, of_y = (_matched(reading(head, of.where), of, names) for head, of in zip(heads, tables, strict=True))
    plain = all(column.kind == "numbers" for table in tables for column in table.columns)
    kept = Kept(), Kept()
    early: list[IntArray | None] = [None, None]
    if plain and x.rows is not None and y.rows is not None:  # then one pass does both
        early = list(wanted(x.rows, y.rows))
    about_x, about_y = _summed((x, y), (of_x, of_y), early, kept)
    return Seen((x, y), (of_x, of_y), (about_x, about_y), kept)


def _matched(of: Reading, table: Table, names: tuple[str, ...]) -> Reading:
    """The reading of columns in common: by name if the table has names, else by position."""
    by_name = set(names) <= set(table.names or ())
    found = of.only([of.names.index(name) for name in names] if by_name else range(len(names)))
    return found if of.named else replace(found, names=names)


def _summed(
    sources: Sequence[Source],
    readings: Sequence[Reading],
    wanted: Sequence[IntArray | None],
    kept: Sequence[Kept],
) -> list[Summary]:
    """One pass over each: the summary, and rows by number if any are asked for."""
    none = np.empty(0, dtype=np.int64)
    numbers = [none if index is None else distinct(index) for index in wanted]
    found = ask_all(
        [
            Pass(source, partial(_both, of, index), _merged, list(of.names) if of.named else None)
            for source, of, index in zip(sources, readings, numbers, strict=True)
        ]
    )
    for keep, index, (_, rows) in zip(kept, numbers, found, strict=True):
        if len(index):
            keep.add(index, rows)
    return [summary for summary, _ in found]


def _both(of: Reading, index: IntArray, block: Any, start: int) -> tuple[Summary, FloatArray]:
    rows = picked(of, index, block, start) if len(index) else np.empty((0, len(of.names)))
    return of.summary(block, start), rows


def _merged(a: tuple[Summary, FloatArray], b: tuple[Summary, FloatArray]) -> tuple[Summary, FloatArray]:
    return a[0].merged(b[0]), stacked(a[1], b[1])
