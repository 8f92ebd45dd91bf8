"""Pair distances in tiles that stay in cache, counted into histograms or put through a radial kernel.

Never an N x N array. Tiles of one group of rows belong to one task; tasks run on all cores and are added in order, so
the answer does not depend on how many there are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from densdiff.core.kernel import add_unequal, squared_distances
from densdiff.core.radial import Bins, PairKernel
from densdiff.core.scaling import FloatArray
from densdiff.threads import cores, map_in_order

_PARALLEL_PAIRS = 1 << 22
_FEW_ROWS = 1000  # whose pairs take little memory
_TILE = 1 << 17  # distances at a time: a megabyte
_WIDE, _PRODUCTS = 32, 1 << 20  # columns from which on products are made for several tiles, and how many at a time
_PARALLEL_ROWS = 2000


class MoreColumns(Protocol):
    """Columns of the rows that have their own way to add to squared distances."""

    def add(self, squared: FloatArray, start: int, stop: int) -> None:
        """Add to the squared distances of rows start .. stop and all rows from start on, (stop - start, N - start)."""


@dataclass(frozen=True)
class FarColumns:
    """Columns of numbers with values so far out that only differences are right."""

    numbers: FloatArray  # (N, J)

    def add(self, squared: FloatArray, start: int, stop: int) -> None:
        """Add squared differences."""
        with np.errstate(over="ignore"):
            squared += cdist(self.numbers[start:stop], self.numbers[start:], "sqeuclidean")


@dataclass(frozen=True)
class LevelDistances:
    """Columns of categories, whose unequal levels are so far apart."""

    codes: npt.NDArray[np.integer]  # (N, J)
    apart: FloatArray  # (J,)

    def add(self, squared: FloatArray, start: int, stop: int) -> None:
        """Add the squared distance of unequal levels."""
        add_unequal(squared, self.codes[start:stop], self.codes[start:], self.apart)


class TileRows:
    """Rows, (N, d), whose squared distances are made tile by tile: by one matrix product each, or by differences.

    Two more columns, |x|^2 and 1 against 1 and |x|^2, make the product the whole distance.
    """

    def __init__(self, rows: FloatArray, direct: bool) -> None:
        self._rows, self._is_plain = rows, direct or rows.shape[1] == 0
        if not self._is_plain:
            lengths, ones = np.einsum("ij,ij->i", rows, rows)[:, None], np.ones((len(rows), 1))
            self._first, self._second = np.hstack([-2.0 * rows, lengths, ones]), np.hstack([rows, ones, lengths])

    def __len__(self) -> int:
        return len(self._rows)

    def in_tiles(self, members: range, tile: int) -> Iterator[tuple[int, int, FloatArray]]:
        """Squared distances of rows start .. stop and all rows from start on, (stop - start, N - start), in turns.

        Of many columns one product serves several tiles: a product of few rows takes as long as all others are read.
        """
        first, products = 0, np.empty((0, 0))
        for start, stop in _spans(members, len(self), tile):
            if self._is_plain:
                yield start, stop, squared_distances(self._rows[start:stop], self._rows[start:], True)
                continue
            if stop > first + len(products):
                count = _PRODUCTS // (len(self) - start) if self._rows.shape[1] >= _WIDE else 0
                end = max(stop, min(members.stop, start + count))
                first, products = start, self._first[start:end] @ self._second[start:].T
            squared = products[start - first : stop - first, start - first :]
            yield start, stop, np.maximum(squared, 0.0)


def pair_histograms(
    rows: FloatArray,
    omega: FloatArray,
    groups: npt.NDArray[np.intp],
    bins: Bins,
    *,
    direct: bool,
    more: Sequence[MoreColumns] = (),
) -> FloatArray:
    """Sum of omega_i omega_j over ordered pairs i != j by groups and distance, (G, G, bins), linear weights in a bin.

    ``groups`` must be sorted.
    """
    n_groups = int(groups[-1]) + 1
    bounds = np.searchsorted(groups, np.arange(n_groups + 1))
    starts = np.repeat(omega[bounds[:-1]], np.diff(bounds))
    even = bool(np.all(omega == starts))  # one weight per group: count first, weigh once
    tiled = TileRows(rows, direct)

    def task(g: int) -> FloatArray:
        counts = np.zeros(n_groups * (bins.count + 1))
        members = range(bounds[g], bounds[g + 1])
        for start, stop, cell, fraction in tiles(tiled, groups, bins, members, _TILE, more):
            add_counts(counts, cell, fraction, None if even else np.multiply.outer(omega[start:stop], omega[start:]))
        return counts.reshape(n_groups, -1)[:, :-1]  # of the pairs i < j with i in one group, by the group of j

    upper = np.array(list(map_in_order(task, range(n_groups), 1 if len(rows) < _PARALLEL_ROWS else cores())))
    if even:
        upper *= np.outer(omega[bounds[:-1]], omega[bounds[:-1]])[:, :, None]
    return np.asarray(upper + upper.transpose(1, 0, 2))


def tiles(
    rows: TileRows,
    groups: npt.NDArray[np.intp],
    bins: Bins,
    members: range,
    tile: int,
    more: Sequence[MoreColumns] = (),
) -> Iterator[tuple[int, int, npt.NDArray[np.int32], FloatArray]]:
    """Places of the pairs of rows start .. stop with all rows from start on: a cell, and the share of the next one.

    Cells are numbered by group of the second row, then distance, one more for each group than there are nodes; a pair
    j <= i has the last node, which never counts. Yields start, stop and two arrays (stop - start, N - start).
    """
    offsets = (groups * (bins.count + 1)).astype(np.int32)
    for start, stop, squared in rows.in_tiles(members, tile):
        for columns in more:
            columns.add(squared, start, stop)
        squared[np.tril_indices(stop - start)] = np.inf
        position = np.sqrt(np.sqrt(squared, out=squared), out=squared)
        position *= bins.per_root
        np.minimum(position, bins.count - 1, out=position)
        cell = position.astype(np.int32)
        position -= cell  # now the fraction that goes to the next node
        cell += offsets[start:]
        yield start, stop, cell, position


def add_counts(
    counts: FloatArray, cell: npt.NDArray[np.int32], fraction: FloatArray, weights: FloatArray | None
) -> None:
    """Add to counts, in place, pairs of some weight, or 1 each, shared between a cell and the next one."""
    flat, share = cell.ravel(), fraction.ravel()
    if weights is not None:
        weights = weights.ravel()
        share = share * weights
    whole = np.bincount(flat, weights, minlength=counts.size)
    upper = np.bincount(flat, share, minlength=counts.size)
    counts += whole - upper
    counts[1:] += upper[:-1]


@dataclass(frozen=True)
class PairPlaces:
    """The node nearest to the distance of each pair i < j, for histograms of many groupings of the same rows."""

    i: npt.NDArray[np.signedinteger]  # (P,)
    j: npt.NDArray[np.signedinteger]
    node: npt.NDArray[np.signedinteger]
    count: int

    def histograms(self, groups: npt.NDArray[np.intp], classes: npt.NDArray[np.intp]) -> FloatArray:
        """Number of pairs by class and distance, (C, bins); ``classes`` (G, G) tells the class of two groups."""
        n_classes = int(classes.max()) + 1
        kind = self.node.dtype
        group_pair = (groups * len(classes)).astype(kind).take(self.i)
        group_pair += groups.astype(kind).take(self.j)
        place = (classes.ravel() * self.count).astype(kind).take(group_pair)
        place += self.node
        return np.bincount(place, minlength=n_classes * self.count).reshape(n_classes, -1).astype(np.float64)


def pair_places(rows: FloatArray, bins: Bins, *, direct: bool) -> PairPlaces:
    """The places of all pairs of a few thousand rows at most."""
    # NumPy's own integers are faster places, and half as many fit into the same memory.
    kind: Any = np.intp if len(rows) <= _FEW_ROWS else np.int32
    i, j = (index.astype(kind) for index in np.triu_indices(len(rows), 1))
    position = np.sqrt(np.sqrt(squared_distances(rows, rows, direct)[i, j])) * bins.per_root
    return PairPlaces(i, j, np.rint(np.minimum(position, bins.count - 1)).astype(kind), bins.count)


def _spans(members: range, n: int, tile: int) -> Iterator[tuple[int, int]]:
    """Runs of rows whose tile against all later rows has about ``tile`` entries."""
    start = members.start
    while start < members.stop:
        stop = min(members.stop, start + max(1, tile // (n - start)))
        yield start, stop
        start = stop


def radial_sums(
    points: FloatArray, rows: FloatArray, weights: FloatArray, kernels: PairKernel, sigma: float, *, direct: bool
) -> list[FloatArray]:
    """Sums over rows of weight times each kernel at each point, (k, c) each for weights (N, c)."""
    sums = [np.empty((len(points), weights.shape[1])) for _ in kernels.values]
    step = max(1, _TILE // len(rows))

    def fill(start: int) -> None:
        blocks = kernel_block(points[start : start + step], rows, kernels, sigma, direct=direct)
        for values, block in zip(sums, blocks, strict=True):
            values[start : start + step] = block @ weights

    threads = 1 if len(points) * len(rows) < _PARALLEL_PAIRS else cores()
    for _ in map_in_order(fill, range(0, len(points), step), threads):
        pass
    return sums


def kernel_matrix(
    points: FloatArray, rows: FloatArray, kernels: PairKernel, sigma: float, *, direct: bool
) -> FloatArray:
    """A single kernel between points and rows, (k, N), in tiles."""
    matrix = np.empty((len(points), len(rows)))
    step = max(1, _TILE // len(rows))
    for start in range(0, len(points), step):
        matrix[start : start + step] = kernel_block(points[start : start + step], rows, kernels, sigma, direct=direct)[
            0
        ]
    return matrix


def kernel_matrices(
    points: FloatArray, rows: FloatArray, kernels: Sequence[tuple[PairKernel, float]], *, direct: bool
) -> Iterator[FloatArray]:
    """Single kernels, each at its sigma, between points and rows, (k, N) each, from distances that are made once."""
    distances = _distances(points, rows, kernels[0][0].n_codes, direct)
    for kernel, sigma in kernels:
        yield _kernels_at(distances / sigma, points, rows, kernel)[0]


def kernel_block(
    points: FloatArray, rows: FloatArray, kernels: PairKernel, sigma: float, *, direct: bool
) -> list[FloatArray]:
    """Each kernel between points and rows, numbers first and codes last, (k, N), at sigma but without its scale."""
    distances = _distances(points, rows, kernels.n_codes, direct)
    distances /= sigma
    return _kernels_at(distances, points, rows, kernels)


def _distances(points: FloatArray, rows: FloatArray, n_codes: int, direct: bool) -> FloatArray:
    d = rows.shape[1] - n_codes
    squared = squared_distances(points[:, :d], rows[:, :d], direct)
    return np.asarray(np.sqrt(squared, out=squared))


def _kernels_at(distances: FloatArray, points: FloatArray, rows: FloatArray, kernels: PairKernel) -> list[FloatArray]:
    """Each kernel at distances (k, N) in sigmas."""
    d = rows.shape[1] - kernels.n_codes
    return kernels.at(distances, *_smallest_integers(points[:, d:], rows[:, d:]))


def _smallest_integers(*codes: FloatArray) -> list[npt.NDArray[np.signedinteger]]:
    """Codes, -1 among them where a level is unknown, as the smallest integers, which compare fastest."""
    kind = np.min_scalar_type(-1 - int(max(each.max(initial=0.0) for each in codes)))
    return [np.asfortranarray(each.astype(kind)) for each in codes]
