"""What the profiles of a table and of all tables like it have in common: cells, levels, features and waves.

A frame is made of the first table. It holds no row: cells and levels of few rows are put together, and what features
need are shares of cells and quantiles.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from densdiff.core.dyadic_cells import SIZE, DyadicCells, merge_small
from densdiff.core.kernel import median_distance
from densdiff.core.scaling import FloatArray
from densdiff.data.categories import MISSING_LEVEL, HashedLevels, hash_of_level
from densdiff.data.missing import mark_name
from densdiff.testing.block_sums import HashedBlocks, Waves
from densdiff.testing.low_order import Layout, make_layout
from densdiff.testing.row_features import (
    LevelFeatures,
    NumberFeatures,
    QuadraticForms,
    RowFeatures,
    leading_features,
)

LEAST_ROWS = 5  # of a cell, a level or a block: smaller ones are put together
BLOCKS = 128
OTHER_LEVELS = "(other levels)"
_MOST_LEVELS = 200  # that are named
_RARE, _FEW_RARE = (
    4,
    3,
)  # times the least rows: levels that a count of them may have put on either side, at most so many
_ROWS_A_GROUP, _MOST_GROUPS, _SALTS = 20.0, 6, 100  # of levels; the second is a power of two; hashes that are tried
_KNOTS = 64  # shares of a column's rows that its features are made of
_WAVES = 256  # frequencies of each width
_WIDTHS = (1.0, 0.5, 0.25)  # of the median distance between rows

_FAR = 1e6  # deviations beyond which values are all alike to waves, which are of single precision
_SPIKE = 10.0  # times the rows of the usual cell: a value that stands out
_ALONE = 4  # empty cells on either side of a value that stands alone, as marks of missing values do
_MARKS = np.array([1, 1])  # a mark and its absence count alike

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

    def values_anew(self, counts: CountArray, random: np.random.Generator) -> FloatArray:
        """Values with these counts in the cells: of a discrete column, and in a cell with far more rows than others or
        with none near it, the one that stands for the cell; else any within the cells that it was put together of."""
        occupied = np.flatnonzero(counts)
        if self.cells.is_discrete:
            return np.repeat(self.cells.middles(occupied), counts[occupied])
        low, high = np.arange(SIZE), np.arange(SIZE)
        np.minimum.at(low, self.merged[:, 1], self.merged[:, 0])
        np.maximum.at(high, self.merged[:, 1], self.merged[:, 0])
        is_spike = self._stand_out(counts, high - low + 1)
        spikes, others = np.flatnonzero(is_spike), np.flatnonzero((counts > 0) & ~is_spike)
        cells = np.repeat(others, counts[others])
        cells = random.integers(low[cells], high[cells], endpoint=True)
        return np.concatenate([np.repeat(self.cells.middles(spikes), counts[spikes]), self.cells.spread(cells, random)])

    def _stand_out(self, counts: CountArray, sizes: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Cells with far more rows than others of their size, or with none near them, (SIZE,)."""
        occupied = np.flatnonzero(counts)
        usual = float(np.median(counts[occupied] / sizes[occupied])) if len(occupied) else 0.0
        is_used = counts > 0
        is_used[self.merged.ravel()] = True
        near = np.convolve(is_used, np.ones(2 * _ALONE + 1, dtype=np.intp), mode="same")
        return np.asarray(((near == 1) | (counts > _SPIKE * usual * sizes)) & (counts >= _SPIKE))

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


@dataclass(frozen=True)
class Frame:
    """Everything that tables must share for their profiles to be compared and merged.

    Rows are numbers, NaN where they are missing, then codes of categories, then marks of missing numbers.
    """

    numbers: tuple[NumberFrame, ...]
    categories: tuple[LevelFrame, ...]
    seed: int
    widths: tuple[float, ...]  # of the kernels of all columns together
    pairs: npt.NDArray[np.intp]  # (p, 2) of columns
    form_quantiles: FloatArray  # (forms, knots) means of neighbours among the values of the quadratic forms

    @classmethod
    def of(
        cls, numbers: Sequence[NumberFrame], categories: Sequence[LevelFrame], rows: FloatArray, seed: int
    ) -> "Frame":
        """From the frames of the columns and some rows, whose marks are still lacking."""
        no_pairs = np.empty((0, 2), dtype=np.intp)
        frame = cls(tuple(numbers), tuple(categories), seed, (), no_pairs, np.empty((0, 0)))
        rows = frame.with_marks(rows)
        columns = [each(column) for each, column in zip(frame._of_columns, rows.T, strict=True)]
        leading = leading_features(columns)
        forms = QuadraticForms.of_equal_columns(len(columns))
        parts = np.array_split(np.sort(forms(leading), axis=0), min(_KNOTS, max(1, len(rows) // LEAST_ROWS)))
        quantiles = np.array([part.mean(axis=0) for part in parts]).T
        apart = median_distance(np.hstack([frame.inner(rows), *columns[len(numbers) :]]))
        widths = tuple(float(width * apart) for width in _WIDTHS)
        pairs = np.array(make_layout(columns).pairs, dtype=np.intp).reshape(-1, 2)
        return cls(frame.numbers, frame.categories, seed, widths, pairs, quantiles)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns of numbers, then of categories."""
        return (*(column.name for column in self.numbers), *(column.name for column in self.categories))

    @property
    def kinds(self) -> dict[str, str]:
        """What each column is, as `compare` calls it."""
        return {column.name: "number" for column in self.numbers} | {c.name: "category" for c in self.categories}

    @cached_property
    def marked(self) -> list[int]:
        """Places of the numbers whose missing values have a column of marks."""
        return [j for j, column in enumerate(self.numbers) if column.has_missing]

    @property
    def all_names(self) -> list[str]:
        """Of all columns of the rows, marks last."""
        return [*self.names, *(mark_name(self.numbers[j].name) for j in self.marked)]

    def with_marks(self, rows: FloatArray) -> FloatArray:
        """Rows with their marks of missing numbers."""
        return np.hstack([rows, np.isnan(rows[:, self.marked])])

    def inner(self, rows: FloatArray) -> FloatArray:
        """The numbers of rows in deviations, (k, d)."""
        columns = [column.inner(values) for column, values in zip(self.numbers, rows.T, strict=False)]
        return np.column_stack(columns) if columns else np.empty((len(rows), 0))

    @cached_property
    def _of_columns(self) -> list[NumberFeatures | LevelFeatures]:
        numbers = [NumberFeatures(column.knots, column.knot_rows) for column in self.numbers]
        return [
            *numbers,
            *(LevelFeatures(c.rows) for c in self.categories),
            *(LevelFeatures(_MARKS) for _ in self.marked),
        ]

    @cached_property
    def features(self) -> RowFeatures:
        """The features of low order."""
        of_forms = [NumberFeatures.of(values) for values in self.form_quantiles]
        return RowFeatures(self._of_columns, QuadraticForms.of_equal_columns(len(self._of_columns)), of_forms)

    @cached_property
    def layout(self) -> Layout:
        """Where the features of low order stand."""
        one = self.with_marks(np.zeros((1, len(self.names))))
        layout = make_layout(self.features.columns(one))
        return replace(layout, pairs=[(int(i), int(j)) for i, j in self.pairs])

    @cached_property
    def waves(self) -> Waves:
        """The waves of all columns together."""
        levels = [len(column.rows) for column in self.categories] + [2] * len(self.marked)
        return Waves.drawn(self.seed, len(self.numbers), levels, self.widths, _WAVES)

    @property
    def blocks(self) -> HashedBlocks:
        """The block of each row."""
        return HashedBlocks(self.seed, BLOCKS)

    @cached_property
    def identity(self) -> str:
        """A text that frames share only if they are the same."""
        digest = sha256(repr((self.kinds, self.seed, self.widths)).encode())
        for column in self.numbers:
            digest.update(repr((column.cells, column.scale, column.has_missing)).encode())
            digest.update(column.merged.tobytes() + column.knots.tobytes() + column.knot_rows.tobytes())
        for level in self.categories:
            digest.update(repr((level.levels, level.salt)).encode() + level.rows.tobytes())
        digest.update(self.pairs.tobytes() + self.form_quantiles.tobytes())
        return digest.hexdigest()[:16]
