"""The columns of a profile: the cells of numbers and the levels of categories, fixed by the first table.

They hold no row: cells and levels of few rows are put together, and what features need are shares of cells.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from densdiff.core.dyadic_cells import SIZE, DyadicCells, merge_small
from densdiff.core.scaling import FloatArray
from densdiff.core.tails import COARSE
from densdiff.data.categories import MISSING_LEVEL, HashedLevels, hash_of_level

LEAST_ROWS = 5  # of a cell or a level: smaller ones are put together
OTHER_LEVELS = "(other levels)"
_MOST_LEVELS = 200  # that are named
# Levels that a count of them may have put on either side: of fewer than so many times the least rows, at most so many.
_RARE, _FEW_RARE = 4, 3
_ROWS_A_GROUP, _MOST_GROUPS, _SALTS = 20.0, 6, 100  # of levels; the second is a power of two; hashes that are tried
_KNOTS = 64  # shares of a column's rows that its features are made of
_FAR = 1e6  # deviations beyond which values are all alike to waves, which are of single precision
_SPIKE = 10.0  # times the rows of the usual cell: a value that stands out
_ALONE = 4  # empty cells on either side of a value that stands alone, as marks of missing values do

CountArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class NumberFrame:
    """A column of numbers: its cells, which of them stand for others, its scale, and what its features are made of."""

    name: str
    cells: DyadicCells
    scale: float
    has_missing: bool
    merged: npt.NDArray[np.intp]  # (k, 2) a cell, and the one that it is counted in
    knots: FloatArray  # ascending
    knot_rows: CountArray

    @classmethod
    def of(cls, name: str, cells: DyadicCells, counts: CountArray, has_missing: bool) -> "NumberFrame":
        """From the rows in each cell, (SIZE,)."""
        target = merge_small(counts, LEAST_ROWS)
        moved = np.flatnonzero(target != np.arange(SIZE))
        merged = np.bincount(target, counts, minlength=SIZE).astype(np.int64)
        occupied = np.flatnonzero(merged)
        values, rows = cells.middles(occupied), merged[occupied]
        share = rows / rows.sum()
        apart = values - share @ values
        far = float(np.abs(apart).max()) or 1.0  # squares of huge numbers would be endless
        scale = far * float(np.sqrt(share @ np.square(apart / far)))
        return cls(
            name, cells, scale or 1.0, has_missing, np.column_stack([moved, target[moved]]), *_knots(values, rows)
        )

    def count(self, values: FloatArray) -> CountArray:
        """Rows in each cell, (SIZE,), of values that are not missing."""
        counts = np.bincount(self.cells.index(values), minlength=SIZE)
        np.add.at(counts, self.merged[:, 1], counts[self.merged[:, 0]])
        counts[self.merged[:, 0]] = 0
        return np.asarray(counts, dtype=np.int64)

    def values_anew(
        self, counts: CountArray, stands_out: npt.NDArray[np.bool_], random: np.random.Generator
    ) -> FloatArray:
        """Values with these counts in the cells: of a discrete column, and in a cell that stands out, the one that
        stands for the cell; else any within the cells that it was put together of."""
        occupied = np.flatnonzero(counts)
        if self.cells.is_discrete:
            return np.repeat(self.cells.middles(occupied), counts[occupied])
        spikes, others = occupied[stands_out[occupied]], occupied[~stands_out[occupied]]
        low, high = self._ranges
        cells = np.repeat(others, counts[others])
        cells = random.integers(low[cells], high[cells], endpoint=True)
        return np.concatenate([np.repeat(self.cells.middles(spikes), counts[spikes]), self.cells.spread(cells, random)])

    def find_spikes(self, counts: CountArray) -> npt.NDArray[np.bool_]:
        """Cells with far more rows than others of their size, or with none near them, (SIZE,).

        Of tables that are compared, from the counts of both: values of one table must not be told apart by being
        drawn in another way.
        """
        low, high = self._ranges
        sizes, occupied = high - low + 1, np.flatnonzero(counts)
        usual = float(np.median(counts[occupied] / sizes[occupied])) if len(occupied) else 0.0
        is_used = counts > 0
        is_used[self.merged.ravel()] = True
        near = np.convolve(is_used, np.ones(2 * _ALONE + 1, dtype=np.intp), mode="same")
        return np.asarray(((near == 1) | (counts > _SPIKE * usual * sizes)) & (counts >= _SPIKE))

    @cached_property
    def _ranges(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The first and the last cell that each cell was put together of, (SIZE,) each."""
        low, high = np.arange(SIZE), np.arange(SIZE)
        np.minimum.at(low, self.merged[:, 1], self.merged[:, 0])
        np.maximum.at(high, self.merged[:, 1], self.merged[:, 0])
        return low, high

    def coarse(self, values: FloatArray) -> npt.NDArray[np.intp]:
        """The quarter of the first table's rows that each value is in, 0 where it is missing, (k,)."""
        below = np.cumsum(self.knot_rows)
        edges = self.knots[np.searchsorted(below, below[-1] * np.arange(1, COARSE) / COARSE)]
        return np.where(np.isnan(values), 0, np.searchsorted(edges, values))

    def inner(self, values: FloatArray) -> FloatArray:
        """Values in deviations from the center, 0 where they are missing.

        So are all of a column that was constant: it has no scale, and would tell tables apart by itself.
        """
        if len(self.knots) < 2:
            return np.zeros(len(values))
        with np.errstate(over="ignore"):
            inner = (values - self.cells.center) / self.scale
        return np.clip(np.nan_to_num(inner), -_FAR, _FAR)


@dataclass(frozen=True)
class LevelFrame:
    """A column of categories: its levels, and the rows of each, of missing values and of all other levels.

    Where several levels have few rows, levels are put into groups by a hash of their names, frequent ones too. To name
    the frequent ones would make them look rarer in every later table: they were chosen because they were frequent.
    """

    name: str
    levels: tuple[str, ...]  # or what groups of them are called
    rows: CountArray  # (K + 2,)
    salt: int | None = None  # of the hash, None if each level stands for itself

    @classmethod
    def of(cls, name: str, counts: Mapping[str, int], missing: int) -> "LevelFrame":
        """From the rows of each level; one or a few rare ones are among the other levels."""
        n, few = sum(counts.values()), [level for level, rows in counts.items() if rows < _RARE * LEAST_ROWS]
        if len(counts) <= _MOST_LEVELS and len(few) <= _FEW_RARE:
            levels = tuple(sorted(level for level, rows in counts.items() if rows >= LEAST_ROWS))
            named = [counts[level] for level in levels]
            return cls(name, levels, np.array([*named, missing, n - sum(named)], dtype=np.int64))
        n_groups = 2 ** int(np.clip(np.log2(max(n / _ROWS_A_GROUP, 2.0)), 1, _MOST_GROUPS))
        frequent = sorted(counts, key=lambda level: (-counts[level], level))[: n_groups // 2]
        salt = min(range(_SALTS), key=lambda salt: -len({hash_of_level(level, salt) % n_groups for level in frequent}))
        groups = _hashed(counts, n_groups, salt)
        while len(groups) > 1 and any(0 < sum(counts[level] for level in group) < LEAST_ROWS for group in groups):
            groups = _hashed(counts, len(groups) // 2, salt)
        labels = tuple(_group_label(k, group, counts) for k, group in enumerate(groups))
        rows = [sum(counts[level] for level in group) for group in groups]
        return cls(name, labels, np.array([*rows, missing, 0], dtype=np.int64), salt)

    def coarse(self, codes: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """A group of levels for each code, whatever the rows of the levels, (k,)."""
        return codes % COARSE

    @property
    def coded(self) -> tuple[str, ...]:
        """The levels whose codes a reader gives; others are NaN."""
        return (*self.levels, MISSING_LEVEL) if self.salt is None else HashedLevels.of(self.levels, self.salt)

    def codes(self, raw: FloatArray) -> npt.NDArray[np.intp]:
        """Codes of a reader, NaN for other levels, as codes of this column, (n,)."""
        return np.where(np.isnan(raw), len(self.levels) + 1, raw).astype(np.intp)


def _hashed(counts: Mapping[str, int], n_groups: int, salt: int) -> list[list[str]]:
    """Levels in groups by a hash of their names, the most frequent first."""
    groups: list[list[str]] = [[] for _ in range(n_groups)]
    for level in sorted(counts, key=lambda level: (-counts[level], level)):
        groups[hash_of_level(level, salt) % n_groups].append(level)
    return groups


def _group_label(k: int, group: list[str], counts: Mapping[str, int]) -> str:
    """What a group is called: by its most frequent level, if that has enough rows to be named."""
    if not group or counts[group[0]] < LEAST_ROWS:
        return f"(rare levels {k + 1})"
    return group[0] if len(group) == 1 else f"{group[0]} and others"


def _knots(values: FloatArray, rows: CountArray) -> tuple[FloatArray, CountArray]:
    """Ascending values and their rows, neighbours put together until about so many are left."""
    share = (np.cumsum(rows) - 0.5 * rows) / rows.sum()
    group = np.floor(share * _KNOTS).astype(np.intp) if len(values) > _KNOTS else np.arange(len(values))
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    together = np.add.reduceat(rows, starts)
    return np.add.reduceat(values * rows, starts) / together, together
