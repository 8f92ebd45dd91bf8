"""What a user gave, as samples: arrays in memory as they are, everything else as `Rows` after one look through it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from densdiff import checks, files
from densdiff.checks.samples import matched, tie_notes
from densdiff.checks.summaries import Columns, Reading, Summary, columns_of, kind_of_source, reading, refuse_missing
from densdiff.checks.tables import table_of
from densdiff.core.scaling import FloatArray, Moments
from densdiff.core.selection import IntArray
from densdiff.engines.clusters import DaskSource
from densdiff.engines.rows import Kept, Rows, picked, stacked
from densdiff.engines.sources import BlockSource, Source
from densdiff.errors import InputError
from densdiff.files.blocks import FileBlocks, opened

Wanted = Callable[[int, int], tuple[IntArray, IntArray]]  # numbers of rows to have at hand, from both sizes
_TIE_ROWS = 5000


def source_of(value: Any, where: str) -> Source | None:
    """A source of blocks, or None for what is in memory; paths must have been `read` before."""
    if isinstance(value, FileBlocks):
        return BlockSource(where, value, value.rows)
    kind = kind_of_source(value, where)
    if kind == "dask":
        return DaskSource(where, value)
    return BlockSource(where, value) if kind else None


def read(value: Any) -> Any:
    """A path as a table or blocks; anything else as it is."""
    return opened(value) if files.is_path(value) else value


def pair(
    X: Any, Y: Any, weights_x: Any = None, weights_y: Any = None, *, categories: bool = False, wanted: Wanted
) -> checks.Pair:
    """Two samples with the same columns; `checks.pair` for what is in memory."""
    X, Y = read(X), read(Y)
    sources = source_of(X, "X"), source_of(Y, "Y")
    if sources == (None, None):
        return checks.pair(X, Y, weights_x, weights_y, categories=categories)
    if weights_x is not None or weights_y is not None:
        raise InputError("weights are for samples in memory; blocks, files that are read in pieces and Dask have none")
    notes: list[str] = []
    both = looked_through(X, Y, sources, notes, categories, wanted)
    refuse_missing(both.summaries, "drop or fill those rows first")
    return both.pair(notes)


@dataclass(frozen=True)
class Looked:
    """Two sources after a look through both."""

    sources: tuple[Source, Source]
    readings: tuple[Reading, Reading]
    summaries: tuple[Summary, Summary]
    columns: Columns
    kept: tuple[Kept, Kept]
    same: bool  # whether both are one and the same object

    @property
    def sizes(self) -> tuple[int, int]:
        return self.summaries[0].rows, self.summaries[1].rows

    def rows(self, k: int) -> Rows:
        """One of the samples."""
        moments, counts = self._moments(k), self._counts(k)
        return Rows(self.sources[k], self.readings[k], self.columns.places, moments, self.kept[k], counts)

    def _counts(self, k: int) -> tuple[IntArray | None, ...]:
        """Rows of each pooled level in one of the samples."""
        parts = [self.summaries[k].columns[j].levels or {} for j in self.columns.places]
        return tuple(
            None if of is None else np.array([part.get(level, 0) for level in of])
            for of, part in zip(self.columns.levels, parts, strict=False)
        )

    def _moments(self, k: int) -> Moments:
        """Of the columns that are used; of codes only the ends."""
        parts = [self.summaries[k].columns[j] for j in self.columns.places]
        counts = [0 if of is None else len(of) for of in self.columns.levels] or [0] * len(parts)
        number = np.array(counts) == 0
        shift = np.array([self.readings[k].shift[j] for j in self.columns.places])

        def of(values: Sequence[float], else_: Any = 0.0) -> FloatArray:
            return np.where(number, np.array(values, dtype=np.float64), else_)

        return Moments(
            n=self.summaries[k].rows,
            low=of([part.low for part in parts], self._code_ends(k, 0)),
            high=of([part.high for part in parts], self._code_ends(k, -1)),
            shift=np.where(number, shift, 0.0),
            exponent=np.where(number, [part.exponent for part in parts], 0).astype(np.intc),
            mean=of([part.mean for part in parts]),
            variance=of([part.squares / max(part.count, 1) for part in parts]),
        )

    def _code_ends(self, k: int, end: int) -> FloatArray:
        """The lowest or the highest code of each column of categories that occurs in a sample."""
        found = np.zeros(len(self.columns.places))
        for i, (j, of) in enumerate(zip(self.columns.places, self.columns.levels, strict=False)):
            if of is not None:
                codes = [of.index(level) for level in self.summaries[k].columns[j].levels or ()]
                found[i] = sorted(codes or [0])[end]
        return found

    def pair(self, notes: list[str], ties: bool = True) -> checks.Pair:
        """Both as a pair whose samples are `Rows`."""
        x, y = self.rows(0), self.rows(1)
        (n, d), m = x.shape, len(y)
        for rows, about in zip((x, y), self.summaries, strict=True):
            if len(rows) < 2:
                raise InputError(f"{about.where} has 1 row; each sample needs at least 2 rows")
        if d > n + m:
            checks.warn(f"{d} columns but only {n} + {m} rows: are rows and columns swapped?", notes)
        where = self.summaries[0].where, self.summaries[1].where
        if self.same:
            notes.append(f"{where[0]} and {where[1]} hold the same rows: is a sample compared with itself?")
        low, high = np.minimum(x.moments.low, y.moments.low), np.maximum(x.moments.high, y.moments.high)
        if ties:
            of_x, of_y = (rows[:: -(-len(rows) // _TIE_ROWS)] for rows in (x, y))
            notes += tie_notes(of_x, of_y, self.columns.names, 1, self.columns.levels)
        return checks.Pair(
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
    categories: bool,
    wanted: Wanted,
    where: tuple[str, str] = ("X", "Y"),
    *,
    chosen: Sequence[str] | None = None,
    unmatched: list[tuple[str, str]] | None = None,
) -> Looked:
    """Both sources matched by their first blocks, then read to the end; wanted rows are at hand then.

    ``chosen`` columns only, if given; columns that one of them lacks, and why they are left out, go to ``unmatched``.
    """
    x, y = (
        BlockSource(name, [value]) if source is None else source
        for source, value, name in zip(sources, (X, Y), where, strict=True)
    )
    heads = x.head(), y.head()
    tables = [table_of(head, name) for head, name in zip(heads, where, strict=True)]
    if chosen is not None:
        tables = [checks.chosen_columns(table, chosen) for table in tables]
    names, *_ = matched(tables[0], tables[1], notes)
    if unmatched is not None and len(names) < max(len(table.columns) for table in tables):
        unmatched += [
            (name, f"only in {table.where}") for table in tables for name in table.names or () if name not in names
        ]
    readings = [_matched(reading(head, name), names) for head, name in zip(heads, where, strict=True)]
    plain = all(column.kind == "numbers" for table in tables for column in table.columns)
    kept = Kept(), Kept()
    early: list[IntArray | None] = [None, None]
    if plain and x.rows is not None and y.rows is not None:  # then one pass does both
        early = list(wanted(x.rows, y.rows))
    summaries = [
        _summed(source, each, index, keep)
        for source, each, index, keep in zip((x, y), readings, early, kept, strict=True)
    ]
    columns = columns_of(summaries, names, categories, notes)
    levels: list[Any] = [None] * len(names)
    for j, of in zip(columns.places, columns.levels, strict=False):
        levels[j] = of
    if columns.levels:
        readings = [replace(each, levels=tuple(levels)) for each in readings]
    found = Looked((x, y), (readings[0], readings[1]), (summaries[0], summaries[1]), columns, kept, X is Y)
    if early[0] is None and not any(part.missing for each in summaries for part in each.columns):
        for k, index in enumerate(wanted(*found.sizes)):
            found.rows(k).fetch(index)
    return found


def _matched(of: Reading, names: tuple[str, ...]) -> Reading:
    """The reading of columns in common, by name if it has names."""
    if not of.named:
        return replace(of, names=names)
    place = [of.names.index(name) for name in names] if set(names) <= set(of.names) else range(len(names))
    return replace(of, names=tuple(of.names[k] for k in place), shift=tuple(of.shift[k] for k in place))


def _summed(source: Source, of: Reading, index: IntArray | None, kept: Kept) -> Summary:
    """One pass: the summary, and the rows of sorted numbers if any are asked for."""
    columns = list(of.names) if of.named else None
    if index is None or not len(index):
        return source.run(of.summary, Summary.merged, columns)
    index = np.unique(index)
    found, rows = source.run(partial(_both, of, index), _merged, columns)
    kept.add(index, rows)
    return found


def _both(of: Reading, index: IntArray, block: Any, start: int) -> tuple[Summary, FloatArray]:
    return of.summary(block, start), picked(of, index, block, start)


def _merged(a: tuple[Summary, FloatArray], b: tuple[Summary, FloatArray]) -> tuple[Summary, FloatArray]:
    return a[0].merged(b[0]), stacked(a[1], b[1])
