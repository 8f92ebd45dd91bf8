"""Where the features of columns, quadratic forms and pairs of columns stand in a row of them, and their sums over rows.

What the features are is in `row_features`, the statistics made of their sums in `low_order`.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray
from densdiff.core.selection import IntArray
from densdiff.progress import tell
from densdiff.testing.row_features import Features, QuadraticForms, RowFeatures
from densdiff.testing.units import UnitNumbers
from densdiff.threads import cores, map_in_order

_WIDE = 30  # columns beyond which a pair has one product only
_OF_A_PAIR = 3  # features of each column that are multiplied
_MOST_PAIRS = 3000  # that are looked at, the most correlated ones
_AT_ONCE = 1 << 19  # features held at a time: they stay in the cache, and fresh memory costs more than they do
_PARALLEL_ROWS, _STRETCHES = 4000, 16  # rows from which on several cores are worth it, and into how many pieces they go
_FULL_PRODUCTS = 8  # times the products that are needed: as many are as cheap in a product of matrices


@dataclass(frozen=True)
class Layout:
    """Where the features of each column, quadratic form and pair start in a row of all features."""

    widths: tuple[int, ...]  # features of each column
    forms: int  # quadratic forms, of one feature each
    pairs: Sequence[tuple[int, int]]
    multiplied: tuple[int, ...]  # features of each column that pairs multiply

    @property
    def of_pairs(self) -> tuple[int, ...]:
        """Products of each pair."""
        return tuple(self.multiplied[i] * self.multiplied[j] for i, j in self.pairs)

    @property
    def size_of_columns(self) -> int:
        """Features of columns and quadratic forms, which stand before those of pairs."""
        return sum(self.widths) + self.forms

    @property
    def size(self) -> int:
        return self.size_of_columns + sum(self.of_pairs)

    @property
    def multiplies_all(self) -> bool:
        """Whether a product of matrices is worth it, though it multiplies pairs of columns that nobody asks for."""
        return sum(self.multiplied) ** 2 <= _FULL_PRODUCTS * sum(self.of_pairs)

    @cached_property
    def places_of_products(self) -> npt.NDArray[np.intp]:
        """Where the products of each pair are in the flat matrix of all products of multiplied features."""
        starts, width = np.cumsum((0, *self.multiplied)), sum(self.multiplied)
        return np.concatenate(
            [
                np.add.outer(width * np.arange(starts[i], starts[i + 1]), np.arange(starts[j], starts[j + 1])).ravel()
                for i, j in self.pairs
            ]
        )


def make_layout(columns: Sequence[Features]) -> Layout:
    """The layout of features of columns of some pooled rows, (k, q) each."""
    widths = tuple(each.shape[1] for each in columns)
    multiplied = tuple(1 if len(widths) > _WIDE else min(width, _OF_A_PAIR) for width in widths)
    forms = len(QuadraticForms.names) + 1 if len(widths) > 1 else 0
    return Layout(widths, forms, _chosen_pairs(columns), multiplied)


def _chosen_pairs(columns: Sequence[Features]) -> list[tuple[int, int]]:
    """All pairs of columns, or those whose first features are most correlated in pooled rows, whatever their labels.

    A dependence that one sample has and the other lacks leaves half of itself there.
    """
    d = len(columns)
    if d * (d - 1) // 2 <= _MOST_PAIRS:
        return list(itertools.combinations(range(d), 2))
    leading = np.column_stack([each[:, 0] for each in columns])
    first, second = np.triu_indices(d, 1)
    strength = np.abs(leading.T @ leading)[first, second]
    chosen = np.sort(np.argpartition(-strength, _MOST_PAIRS)[:_MOST_PAIRS])
    return list(zip(first[chosen].tolist(), second[chosen].tolist(), strict=True))


def all_features(features: RowFeatures, layout: Layout, rows: FloatArray) -> Features:
    """Of each column, each quadratic form and each pair of columns, (k, size)."""
    columns = features.columns(rows)
    values = np.empty((len(rows), layout.size), dtype=np.float32)
    start = layout.size_of_columns
    values[:, :start] = _unpaired(features, layout, columns)
    for (i, j), size in zip(layout.pairs, layout.of_pairs, strict=True):
        a, b = columns[i][:, : layout.multiplied[i]], columns[j][:, : layout.multiplied[j]]
        products = values[:, start : start + size].reshape(len(rows), a.shape[1], b.shape[1])
        np.multiply(a[:, :, None], b[:, None, :], out=products)
        start += size
    return values


def feature_sums(features: RowFeatures, layout: Layout, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sums over rows of all features and of their squares, (size,) each; those of pairs are products of matrices."""
    if layout.pairs and not layout.multiplies_all:
        return sums_and_squares(all_features(features, layout, rows))
    columns = features.columns(rows)
    sums, squares = sums_and_squares(_unpaired(features, layout, columns))
    if not layout.pairs:
        return sums, squares
    multiplied = _multiplied(layout, columns)
    products, their_squares = (
        (powers.T @ powers).ravel()[layout.places_of_products] for powers in (multiplied, np.square(multiplied))
    )
    return np.concatenate([sums, products]), np.concatenate([squares, their_squares])


def sums_and_squares(values: Features) -> tuple[FloatArray, FloatArray]:
    """Sums over rows and sums of squares, in double precision, (q,) each."""
    return values.sum(axis=0, dtype=np.float64), np.einsum("ij,ij->j", values, values, dtype=np.float64)


def _unpaired(features: RowFeatures, layout: Layout, columns: Sequence[Features]) -> Features:
    """The features of columns and of quadratic forms, which stand before those of pairs, (k, size_of_columns)."""
    return np.hstack([*columns, features.together(columns)] if layout.forms else columns)


def _multiplied(layout: Layout, columns: Sequence[Features]) -> FloatArray:
    """The features of columns that pairs multiply, (k, p)."""
    leading = [own[:, :k] for own, k in zip(columns, layout.multiplied, strict=True)]
    return np.hstack(leading).astype(np.float64)


@dataclass(frozen=True)
class UnitSums:
    """Sums of all features over the rows of each unit, of a block of rows; rows that are in no unit are passed over.

    Each piece of work has units of its own, so the sums do not depend on how many threads there are.
    """

    features: RowFeatures
    layout: Layout
    units: UnitNumbers
    threads: int | None  # 1 for blocks, which have threads of their own; None for all cores

    def __call__(self, rows: FloatArray, start: int) -> FloatArray:
        layout, numbers = self.layout, self.units.part(start, len(rows))
        sums = np.zeros((self.units.n_units, layout.size))
        if layout.multiplies_all:
            add, pieces = self._add_by_products, self._equal_units(numbers)
        else:
            add, pieces = self._add_features, self._stretches(numbers)
        threads = 1 if len(rows) < _PARALLEL_ROWS else self.threads or cores()
        done = map_in_order(partial(add, sums, rows, numbers), pieces, threads)
        for _ in tell("features of rows", done, len(pieces)):
            pass
        return sums

    def _stretches(self, numbers: IntArray) -> list[IntArray]:
        """Rows of neighbouring units, in order."""
        count = max(1, min(_STRETCHES, len(numbers) // _PARALLEL_ROWS))
        bounds = np.linspace(0, self.units.n_units, count + 1).astype(np.intp)
        return [np.flatnonzero((numbers >= low) & (numbers < high)) for low, high in itertools.pairwise(bounds)]

    def _add_features(self, sums: FloatArray, rows: FloatArray, numbers: IntArray, places: IntArray) -> None:
        """Add the features of rows at some places to the sums of their units."""
        step = max(64, _AT_ONCE // self.layout.size)
        for first in range(0, len(places), step):
            some = places[first : first + step]
            add_by_unit(sums, all_features(self.features, self.layout, rows[some]), numbers[some])

    def _equal_units(self, numbers: IntArray) -> list[IntArray]:
        """Places of the rows of some units that have equally many, (u, size) each."""
        layout, n_units = self.layout, self.units.n_units
        sizes = np.bincount(numbers, minlength=n_units)[:n_units]
        order, starts = np.argsort(numbers, kind="stable"), np.cumsum(sizes) - sizes
        pieces = []
        for size in np.unique(sizes[sizes > 0]):
            units = np.flatnonzero(sizes == size)
            step = max(1, _AT_ONCE // max(size * layout.size_of_columns, sum(layout.multiplied) ** 2))
            some = (starts[units[first : first + step]] for first in range(0, len(units), step))
            pieces += [order[first[:, None] + np.arange(size)] for first in some]
        return pieces

    def _add_by_products(self, sums: FloatArray, rows: FloatArray, numbers: IntArray, places: IntArray) -> None:
        """Add the features of the rows of each unit: the sums of products of columns are a product of matrices."""
        layout, (count, size) = self.layout, places.shape
        columns = self.features.columns(rows[places.ravel()])
        units, of_pairs = numbers[places[:, 0]], sums[:, layout.size_of_columns :]
        single = _unpaired(self.features, layout, columns).reshape(count, size, -1)
        sums[units, : layout.size_of_columns] = single.sum(axis=1, dtype=np.float64)
        multiplied = _multiplied(layout, columns).reshape(count, size, -1)
        products = multiplied.transpose(0, 2, 1) @ multiplied  # (u, p, p)
        of_pairs[units] = products.reshape(count, -1)[:, layout.places_of_products]


def add_by_unit(sums: FloatArray, features: Features, numbers: IntArray) -> None:
    """Add the features of each row to those of its unit, in place."""
    if len(numbers) and numbers[-1] - numbers[0] == len(numbers) - 1 and (np.diff(numbers) == 1).all():  # rows alone
        sums[numbers[0] : numbers[-1] + 1] += features
        return
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    sums[ordered[first]] += np.add.reduceat(features[order], first, axis=0)
