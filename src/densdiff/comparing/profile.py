"""A profile stands for a table without its rows: counts of cells and levels, and sums of features over all rows.

It is made in `profile_making`; what profiles share is in `profile_frame`, their file in `profile_file`, and comparisons
with them in `profile_comparison`.
"""

from dataclasses import dataclass, field, replace
from os import PathLike

import numpy as np

from densdiff import messages
from densdiff.comparing.profile_columns import CountArray
from densdiff.comparing.profile_frame import Frame
from densdiff.data.match import SchemaChanges
from densdiff.errors import InputError
from densdiff.results import table_html
from densdiff.testing.feature_sums import FeatureSums


@dataclass(frozen=True)
class Profile:
    """A table without its rows, to be compared with tables and profiles that come later.

    Make it with `profile`. It holds how many rows there are, for each column how many have each level or are in each
    cell, for each pair of columns how many are in each of 16 coarse cells, and for all columns together sums of
    features over all rows. No row is in it: cells and levels of less than five rows of the first table are put
    together, and of all but small tables the sums are fewer than a quarter of the numbers in the rows.

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
    pairs: CountArray  # (4 d, 4 d) rows in each coarse cell of each pair of columns
    sums: FeatureSums
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
        occupied = sum(int(np.count_nonzero(own)) for own in self.cells)
        return int(16 * (self.sums.sums.size + occupied) + 2 * self.pairs.size + 8 * sum(map(np.size, self.levels)))

    def __repr__(self) -> str:
        return f"Profile of {self.n} rows: {len(self.frame.numbers)} numbers, {len(self.frame.categories)} categories"

    def _repr_html_(self) -> str:
        """What a notebook shows: the columns, how often each is missing, and the levels or cells that it has."""
        numbers = [
            (messages.quote_name(own.name), "number", str(missing), f"{np.count_nonzero(cells)} cells")
            for own, missing, cells in zip(self.frame.numbers, self.missing, self.cells, strict=True)
        ]
        categories = [
            (messages.quote_name(own.name), "category", str(counts[-2]), f"{np.count_nonzero(counts[:-2])} levels")
            for own, counts in zip(self.frame.categories, self.levels, strict=True)
        ]
        more = f"left out: {', '.join(name for name, _ in self.left_out)}" if self.left_out else ""
        return table_html(repr(self), ("column", "kind", "missing", "has"), [*numbers, *categories], more)

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
            pairs=self.pairs + other.pairs,
            sums=self.sums.merged(other.sums),
            left_out=tuple(dict.fromkeys(self.left_out + other.left_out)),
            schema_changes=changes,
            notes=tuple(dict.fromkeys(self.notes + other.notes)),
        )

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
