"""A profile stands for a table without its rows: counts of cells and levels, and sums of features over blocks of rows.

What profiles share is in `profile_frame`, their file in `profile_file`, and comparisons with them in
`profile_comparison`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff import messages
from densdiff.comparing.profile_frame import BLOCKS, LEAST_ROWS, CountArray, Frame, LevelFrame, NumberFrame
from densdiff.core.dyadic_cells import SIZE, DyadicCells
from densdiff.core.scaling import FloatArray, stack_columns
from densdiff.core.selection import draw_rows
from densdiff.data import parameters
from densdiff.data.kinds import are_categories
from densdiff.data.match import SchemaChanges
from densdiff.data.reading import Reading
from densdiff.data.tables import OneTable, Request, read_table
from densdiff.errors import InputError, plain
from densdiff.sources.block_sample import pick_rows, stack_rows
from densdiff.sources.passes import run_pass
from densdiff.sources.sample import add_sums
from densdiff.testing.block_sums import BlockSums
from densdiff.testing.low_order import UnitSums
from densdiff.threads import on_one_thread

PROFILE_ENDING = ".profile"
FEWEST_ROWS = 50  # of a table that a frame is made of
_DRAWN_ROWS = 5000  # that tell the cells and scales of a frame


@dataclass(frozen=True)
class Profile:
    """A table without its rows, to be compared with tables and profiles that come later.

    Make it with `profile`. It holds how many rows there are, for each column how many have each level or are in each
    cell, and for all columns together sums of features over some hundred blocks of rows. No row is in it: cells,
    levels and blocks of less than five rows of the first table are put together. Yet rows of small blocks can be
    computed from their sums: guard it as you guard the table.

    Attributes
    ----------
    n : int
        Rows of the table.
    names : tuple of str
        Of its columns: numbers, then categories.
    kinds : dict of str to {"number", "category"}
    left_out : tuple of (str, str)
        Columns that are not in the profile, and why.
    schema_changes : SchemaChanges
        Columns that are missing, added or of another kind beside the table that it was made like.
    notes : tuple of str
        What was adjusted when it was made.

    Examples
    --------
    >>> import densdiff as dd
    >>> tables = dd.datasets.mixed_tables(100, random_state=0)
    >>> reference = dd.profile(tables.a, columns=["spend", "plan"], random_state=0)
    >>> reference.n, reference.kinds
    (100, {'spend': 'number', 'plan': 'category'})
    """

    frame: Frame
    n: int
    cells: tuple[CountArray, ...]  # (SIZE,) for each column of numbers
    missing: tuple[int, ...]  # of each column of numbers
    levels: tuple[CountArray, ...]  # (K + 2,) for each column of categories: named, missing, others
    sums: BlockSums
    left_out: tuple[tuple[str, str], ...] = ()
    schema_changes: SchemaChanges = field(default_factory=SchemaChanges)
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return self.frame.names

    @property
    def kinds(self) -> dict[str, str]:
        return self.frame.kinds

    @property
    def nbytes(self) -> int:
        """About how many bytes a saved profile has."""
        return int(4 * (self.sums.waves.size + self.sums.low_order.size) + 8 * sum(map(np.size, self.levels)))

    def __repr__(self) -> str:
        return f"Profile of {self.n} rows: {len(self.frame.numbers)} numbers, {len(self.frame.categories)} categories"

    def is_like(self, other: "Profile") -> bool:
        """Whether both were made like one another, so that they can be compared and merged."""
        return self.frame.identity == other.frame.identity

    def merge(self, other: "Profile") -> "Profile":
        """The profile of the rows of both, which must have been made like one another.

        Examples
        --------
        >>> import densdiff as dd
        >>> tables = dd.datasets.mixed_tables(200, random_state=0)
        >>> first = dd.profile(tables.a, random_state=0)
        >>> first.merge(dd.profile(tables.b, like=first)).n
        400
        """
        if not isinstance(other, Profile):
            raise InputError(f"other must be a Profile; got {messages.describe_value(other)}", argument="other")
        refuse_unlike(self, other)
        one, two = self.folded(len(other.sums.rows)), other.folded(len(self.sums.rows))
        changes = SchemaChanges(
            tuple(dict.fromkeys(self.schema_changes.missing + other.schema_changes.missing)),
            tuple(dict.fromkeys(self.schema_changes.added + other.schema_changes.added)),
            tuple(dict.fromkeys(self.schema_changes.other_kind + other.schema_changes.other_kind)),
        )
        return replace(
            self,
            n=self.n + other.n,
            cells=tuple(map(np.add, self.cells, other.cells)),
            missing=tuple(a + b for a, b in zip(self.missing, other.missing, strict=True)),
            levels=tuple(map(np.add, self.levels, other.levels)),
            sums=one.sums.merged(two.sums),
            left_out=tuple(dict.fromkeys(self.left_out + other.left_out)),
            schema_changes=changes,
            notes=tuple(dict.fromkeys(self.notes + other.notes)),
        )

    def folded(self, blocks: int) -> "Profile":
        """The profile with at most so many blocks, a power of two, by adding blocks up."""
        sums = self.sums
        while len(sums.rows) > blocks:
            half = len(sums.rows) // 2
            first, second = (
                BlockSums(sums.rows[part], sums.waves[part], sums.low_order[part])
                for part in (slice(None, half), slice(half, None))
            )
            sums = first.merged(second)
        return replace(self, sums=sums)

    def without_small_blocks(self) -> "Profile":
        """The profile with blocks so few that each holds at least five rows."""
        found = self
        while len(found.sums.rows) > 1 and found.sums.rows.min() < LEAST_ROWS:
            found = found.folded(len(found.sums.rows) // 2)
        return found

    def save(self, path: str | PathLike[str]) -> None:
        """Write to exactly that path, all or nothing."""
        from densdiff.comparing.profile_file import save_profile

        save_profile(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Profile":
        """Read what `save` wrote; anything else is an InputError, and no code runs."""
        from densdiff.comparing.profile_file import load_profile

        return load_profile(path)


def refuse_unlike(one: Profile, other: Profile) -> None:
    """An error if two profiles have different cells or features."""
    if not one.is_like(other):
        text = "the two profiles were not made like one another"
        raise InputError(f"{text}; make the second with dd.profile(table, like=first)", argument="like")


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
        Of the frequencies and blocks; with ``like`` those of that profile.

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
        return _count(found, _make_frame(found, seed))
    if not isinstance(like, Profile):
        raise InputError(f"like must be a Profile; got {messages.describe_value(like)}", argument="like")
    if any(given is not None for given in (columns, exclude, kinds)):
        text = "columns, exclude and kinds are those of the profile given as like; leave them out"
        raise InputError(text, argument="like")
    return profile_like(table, like, where)


def profile_like(table: Any, like: Profile, where: str) -> Profile:
    """The profile of a table with the frame of another."""
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
    return replace(_count(found, like.frame), schema_changes=changes)


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
    rows = run_pass(table.source, partial(pick_rows, reader, drawn), stack_rows, reader.needed)
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


def _count(table: OneTable, frame: Frame) -> Profile:
    """The profile of a table in a frame, by one pass over its rows."""
    reader = _Columns.of(table, [column.name for column in frame.numbers], frame.categories)
    cells, missing, levels, rows, waves, low_order = run_pass(
        table.source, partial(_count_block, reader, frame), add_sums, reader.needed
    )
    sums = BlockSums(rows, waves, low_order)
    left_out = tuple((name, plain(why)) for name, why in table.left_out)
    notes = tuple(map(plain, table.notes))
    return Profile(frame, sums.n, cells, tuple(map(int, missing)), levels, sums, left_out, notes=notes)


def _count_block(reader: _Columns, frame: Frame, block: Any, start: int) -> tuple[Any, ...]:
    """All that a profile holds of a block, in parts that add up."""
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
    blocks = frame.blocks.part(start, len(rows))
    counted = np.bincount(blocks, minlength=BLOCKS).astype(np.int64)
    waves = frame.waves.sums(frame.inner(rows), codes, blocks, BLOCKS)
    low_order = UnitSums(frame.features, frame.layout, frame.blocks)(rows, start)
    return cells, missing, levels, counted, waves, low_order
