"""Profiles made of tables, in one pass over their rows; the first one fixes the frame in two passes more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff import messages
from densdiff.comparing.profile import Profile
from densdiff.comparing.profile_columns import LevelFrame, NumberFrame
from densdiff.comparing.profile_frame import Frame
from densdiff.core.dyadic_cells import SIZE, DyadicCells
from densdiff.core.scaling import FloatArray, stack_columns
from densdiff.core.selection import IntArray, draw_rows
from densdiff.data import parameters
from densdiff.data.kinds import are_categories
from densdiff.data.match import SchemaChanges
from densdiff.data.reading import Reading
from densdiff.data.tables import OneTable, Request, read_table
from densdiff.errors import InputError, plain
from densdiff.progress import long_work
from densdiff.sources.block_sample import pick_rows, stack_rows
from densdiff.sources.passes import run_pass
from densdiff.sources.sample import add_sums
from densdiff.testing.feature_sums import FeatureSums
from densdiff.threads import cores, on_one_thread

FEWEST_ROWS = 50  # of a table that a frame is made of
_DRAWN_ROWS = 5000  # that tell the cells and scales of a frame


@long_work("counting rows")
@on_one_thread
def profile(
    table: Any,
    *,
    columns: Sequence[str] | str | None = None,
    exclude: Sequence[str] | str | None = None,
    kinds: Mapping[str, str] | None = None,
    like: Profile | None = None,
    random_state: Any = None,
) -> Profile:
    """The profile of a table: what `compare` needs of it later, without its rows.

    Parameters
    ----------
    table : data frame, array, mapping of columns, path, lazy table, Dask collection or iterable of blocks
    columns, exclude, kinds
        As in `compare`. With ``like`` the columns are those of that profile.
    like : Profile, optional
        A profile made before. Profiles that are to be compared or merged must be made like one of them.
    random_state : None, int, Generator or RandomState
        Of the frequencies; with ``like`` those of that profile.

    Returns
    -------
    Profile

    Examples
    --------
    >>> import densdiff as dd
    >>> tables = dd.datasets.mixed_tables(400, random_state=0)
    >>> reference = dd.profile(tables.a, random_state=0)
    >>> result = dd.compare(reference, tables.b, n_permutations=199, random_state=0)
    >>> result.differ, result.columns[0].name
    (True, 'spend')
    """
    where = messages.name_of("table")
    if like is None:
        seed = parameters.seed(random_state)
        found = read_table(table, Request((where, where), columns, exclude, kinds))
        return _count(found, _make_frame(found, seed))[0]
    if not isinstance(like, Profile):
        raise InputError(f"like must be a Profile; got {messages.describe_value(like)}", argument="like")
    if any(given is not None for given in (columns, exclude, kinds)):
        text = "columns, exclude and kinds are those of the profile given as like; leave them out"
        raise InputError(text, argument="like")
    return profile_like(table, like, where)[0]


def profile_like(table: Any, like: Profile, where: str, n_rows: int = 0) -> tuple[Profile, FloatArray]:
    """The profile of a table with the frame of another, and at most so many of its rows, as rows of the frame."""
    found = read_table(table, Request((where, where)), like.kinds)
    present = set(found.summary.names)
    if not present & set(like.names):
        text = f"{where} has none of the columns of the profile that it can be compared in"
        raise InputError(f"{text}, {messages.listed(list(like.names))}; it has {messages.listed(sorted(present))}")
    known = present | {name for name, *_ in found.other_kind} | set(found.empty)
    left_out_before = {name for name, _ in like.left_out}
    changes = SchemaChanges(
        missing=tuple(name for name in like.names if name not in known),
        added=tuple(name for name in found.summary.names if name not in like.kinds and name not in left_out_before),
        other_kind=found.other_kind,
    )
    made, rows = _count(found, like.frame, n_rows)
    return replace(made, schema_changes=changes), rows


def _make_frame(table: OneTable, seed: int) -> Frame:
    """The frame of a first table, from its summary, some rows, and the counts of their cells."""
    n = table.summary.rows
    if n < FEWEST_ROWS:
        text = f"{table.summary.where} has {n} rows; a profile of so few would show them"
        raise InputError(f"{text}: at least {FEWEST_ROWS} are needed")
    summaries = dict(zip(table.summary.names, table.summary.columns, strict=True))
    categories = [
        LevelFrame.of(name, column.levels or {}, column.missing)
        for name, column in summaries.items()
        if are_categories([column])
    ]
    numbers = [name for name, column in summaries.items() if not are_categories([column])]
    reader = _Columns.of(table, numbers, categories)
    drawn = np.sort(draw_rows(seed, n, min(n, _DRAWN_ROWS)))
    rows = run_pass(table.source, partial(pick_rows, reader.rows, drawn), stack_rows, reader.needed)
    cells = [DyadicCells.of(column[~np.isnan(column)]) for column in rows.T[: len(numbers)]]
    counts = run_pass(table.source, partial(_cell_counts, reader, cells), add_sums, reader.needed)
    frames = [
        NumberFrame.of(name, own, counted, bool(summaries[name].missing))
        for name, own, counted in zip(numbers, cells, counts, strict=True)
    ]
    return Frame.of(frames, categories, rows, seed)


@dataclass(frozen=True)
class _Columns:
    """Blocks of a table as rows of a frame: numbers and codes; a column that the table lacks is missing in all rows."""

    reading: Reading
    needed: list[str] | None  # columns to read, None for all
    places: tuple[int | None, ...]  # in the reading, of each column of the frame
    categories: tuple[LevelFrame, ...]

    @classmethod
    def of(cls, table: OneTable, numbers: Sequence[str], categories: Sequence[LevelFrame]) -> "_Columns":
        names = [*numbers, *(column.name for column in categories)]
        own = [name for name in table.reading.names if name in names]
        coded = {column.name: column.coded for column in categories}
        reading = table.reading.only([table.reading.names.index(name) for name in own])
        reading = replace(reading, levels=tuple(coded.get(name) for name in own))
        places = tuple(own.index(name) if name in own else None for name in names)
        return cls(reading, own if reading.named else None, places, tuple(categories))

    def rows(self, block: Any, start: int) -> FloatArray:
        """Numbers, NaN where they are missing, and codes, (k, d)."""
        columns = self.reading.columns(block, start)
        k = len(columns[0])
        found = [np.full(k, np.nan) if place is None else columns[place] for place in self.places]
        first = len(found) - len(self.categories)
        for j, column in enumerate(self.categories):
            lacks = self.places[first + j] is None
            found[first + j] = np.full(k, len(column.levels)) if lacks else column.codes(found[first + j])
        return stack_columns([np.asarray(column, dtype=np.float64) for column in found])


def _cell_counts(
    reader: _Columns, cells: Sequence[DyadicCells], block: Any, start: int
) -> tuple[npt.NDArray[np.int64], ...]:
    """Rows of a block in each cell of each column of numbers, (SIZE,) each."""
    rows = reader.rows(block, start)
    return tuple(
        np.bincount(own.index(column[~np.isnan(column)]), minlength=SIZE)
        for own, column in zip(cells, rows.T, strict=False)
    )


def _count(table: OneTable, frame: Frame, n_rows: int = 0) -> tuple[Profile, FloatArray]:
    """The profile of a table in a frame and some of its rows, by one pass over its rows."""
    reader = _Columns.of(table, [column.name for column in frame.numbers], frame.categories)
    n = table.summary.rows
    drawn = np.sort(draw_rows(frame.seed, n, min(n, n_rows)))
    threads = cores() if table.source.rows_at_once else 1  # blocks have threads of their own
    (cells, missing, levels, pairs, sums), rows = run_pass(
        table.source, partial(_count_block, reader, frame, drawn, threads), _add_counts, reader.needed
    )
    left_out = tuple((name, plain(why)) for name, why in table.left_out)
    notes = tuple(map(plain, table.notes))
    of_features = FeatureSums(n, *sums)
    return Profile(frame, n, cells, tuple(map(int, missing)), levels, pairs, of_features, left_out, notes=notes), rows


def _add_counts(one: tuple[Any, FloatArray], other: tuple[Any, FloatArray]) -> tuple[Any, FloatArray]:
    """What was counted in two neighbouring blocks, and their rows."""
    return add_sums(one[0], other[0]), stack_rows(one[1], other[1])


def _count_block(
    reader: _Columns, frame: Frame, drawn: IntArray, threads: int, block: Any, start: int
) -> tuple[tuple[Any, ...], FloatArray]:
    """All that a profile holds of a block, in parts that add up, and those of its rows that were drawn."""
    rows = frame.with_marks(reader.rows(block, start))
    d = len(frame.numbers)
    known = [column[~np.isnan(column)] for column in rows.T[:d]]
    cells = tuple(own.count(values) for own, values in zip(frame.numbers, known, strict=True))
    missing = np.array([len(rows) - len(values) for values in known], dtype=np.int64)
    codes = rows[:, d:].astype(np.intp)
    levels = tuple(
        np.bincount(codes[:, j], minlength=len(column.rows)).astype(np.int64)
        for j, column in enumerate(frame.categories)
    )
    low, high = np.searchsorted(drawn, [start, start + len(rows)])
    counted = cells, missing, levels, *frame.totals(rows, threads)
    return counted, rows[drawn[low:high] - start]
