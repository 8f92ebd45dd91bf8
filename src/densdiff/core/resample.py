"""Resampling under the null: relabellings of rows or of counts in cells, p-values, and the limit of the null.

A relabelling is a row of booleans that says which pooled rows are X. Statistics here are quadratic in the labels.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb, prod
from typing import Literal

import numpy as np
import numpy.typing as npt

from densdiff.core.grid import Line
from densdiff.core.scaling import FloatArray
from densdiff.progress import tell
from densdiff.threads import cores, map_in_order

CountArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
_LEAST_TAIL = 1e-9
_TIE = 1e-9  # relative: two sums of the same terms in another order are the same number
_AT_ONCE = 1 << 25  # labels drawn at a time
_FEW_BLOCKS = 8  # that are shuffled one by one
_COUNTS = 1 << 21  # counts in cells drawn at a time: 16 MiB
_ROWS_A_CELL = 12  # on average, up to which rows are drawn rather than counts: a row takes 6 ns, a cell 100


@dataclass(frozen=True)
class Cells:
    """Occupied cells of a grid, each row in the one whose middle is nearest: what a permutation by counts needs."""

    shape: tuple[int, ...]
    spacing: float
    occupied: npt.NDArray[np.intp]  # (c,) flat indices
    counts: CountArray  # (2, c) rows of X and of Y

    @property
    def pooled(self) -> CountArray:
        return np.asarray(self.counts.sum(axis=0))


def cells_shape(axes: Sequence[Line], spacing: float) -> tuple[int, ...]:
    """How many cells each axis has."""
    return tuple(int(axis.length / spacing) + 2 for axis in axes)


def cells_of(rows: FloatArray, axes: Sequence[Line], spacing: float) -> npt.NDArray[np.intp]:
    """The flat number of each row's cell, rows off the axes left out; a permutation moves whole rows, not shares."""
    shape = cells_shape(axes, spacing)
    nodes = [np.rint(axis.apply(column) / spacing).astype(np.intp) for column, axis in zip(rows.T, axes, strict=True)]
    is_inside = np.logical_and.reduce([(node >= 0) & (node < size) for node, size in zip(nodes, shape, strict=True)])
    if not is_inside.all():
        nodes = [node[is_inside] for node in nodes]
    return nodes[0] if len(nodes) == 1 else np.asarray(np.ravel_multi_index(tuple(nodes), shape))


@dataclass(frozen=True)
class CellCounts:
    """How many rows are in each cell that has any, by its flat number."""

    cells: npt.NDArray[np.intp]
    counts: CountArray

    @classmethod
    def of(cls, flat: npt.NDArray[np.intp], size: int) -> "CellCounts":
        if size <= 4 * len(flat):
            counts = np.bincount(flat, minlength=size)
            cells = np.flatnonzero(counts)
            return cls(cells, counts[cells])
        return cls(*np.unique(flat, return_counts=True))

    def merged(self, other: "CellCounts") -> "CellCounts":
        """Counts of these rows and of others together."""
        cells, place = np.unique(np.concatenate([self.cells, other.cells]), return_inverse=True)
        return CellCounts(cells, _sum_by_place(place, np.concatenate([self.counts, other.counts]), len(cells)))


def _sum_by_place(place: npt.NDArray[np.intp], counts: CountArray, size: int) -> CountArray:
    """Sum of the counts that go to each place, (size,)."""
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, place, counts)
    return sums


def occupied_cells(x: CellCounts, y: CellCounts, axes: Sequence[Line], spacing: float) -> Cells:
    """Both samples as counts in the cells that either occupies."""
    occupied = np.union1d(x.cells, y.cells)
    counts = np.array(
        [_sum_by_place(np.searchsorted(occupied, sample.cells), sample.counts, len(occupied)) for sample in (x, y)]
    )
    return Cells(cells_shape(axes, spacing), spacing, occupied, counts)


def cell_middles(cells: Cells, axes: Sequence[Line]) -> FloatArray:
    """The middles of the occupied cells in the units of the rows, (c, d)."""
    nodes = np.unravel_index(cells.occupied, cells.shape)
    places = [cells.spacing * node.astype(np.float64) for node in nodes]
    return np.column_stack([axis.values_at(place) for axis, place in zip(axes, places, strict=True)])


def permuted_counts(pooled: CountArray, n: int, permutations: int, random: np.random.Generator) -> CountArray:
    """Counts of X in each cell for random relabellings of the pooled rows, (permutations, cells).

    When each row stands in one cell, relabelling rows at random makes X's counts multivariate hypergeometric: the
    exact permutation distribution at a cost that depends on the occupied cells and not on the rows. Where cells hold
    few rows each, drawing rows costs less.
    """
    method: Literal["count", "marginals"] = "count" if pooled.sum() <= _ROWS_A_CELL * len(pooled) else "marginals"
    return random.multivariate_hypergeometric(pooled, n, size=permutations, method=method)


def permuted_statistics(
    counts: CountArray,
    statistics: Callable[[CountArray], FloatArray],
    permutations: int,
    random: np.random.Generator,
) -> FloatArray:
    """Statistics of counts (2, c) of X and Y, and after them those of random relabellings, drawn in batches.

    Every batch has random numbers of its own, so that several cores draw the same ones as a single one would.
    """
    pooled, n = counts.sum(axis=0), int(counts[0].sum())
    step = max(1, _COUNTS // len(pooled))
    sizes = [min(step, permutations - first) for first in range(0, permutations, step)]
    batches = list(zip(sizes, random.integers(1 << 63, size=len(sizes)).tolist(), strict=True))

    def relabelled(batch: tuple[int, int]) -> FloatArray:
        size, seed = batch
        return statistics(permuted_counts(pooled, n, size, np.random.default_rng(seed)))

    tables = tell("relabelling rows", map_in_order(relabelled, batches, cores()), len(batches))
    return np.vstack([statistics(counts[:1]), *tables])


def count_partitions(is_x: BoolArray, blocks: npt.NDArray[np.intp] | None) -> int:
    """How many relabellings there are, that of the data included."""
    if blocks is None:
        return comb(len(is_x), int(is_x.sum()))
    totals, of_x = np.bincount(blocks), np.bincount(blocks, is_x).astype(int)
    return prod(comb(int(total), int(chosen)) for total, chosen in zip(totals, of_x, strict=True))


def every_relabelling(is_x: BoolArray, blocks: npt.NDArray[np.intp] | None) -> BoolArray:
    """All relabellings, (partitions, N), that of the data first."""
    groups = [np.arange(len(is_x))] if blocks is None else [np.flatnonzero(blocks == g) for g in np.unique(blocks)]
    choices = [[list(part) for part in combinations(rows, int(is_x[rows].sum()))] for rows in groups]
    labels = np.zeros((prod(map(len, choices)), len(is_x)), dtype=bool)
    for row, choice in zip(labels, product(*choices), strict=True):
        row[[index for part in choice for index in part]] = True
    same = int(np.flatnonzero((labels == is_x).all(axis=1))[0])
    labels[[0, same]] = labels[[same, 0]]
    return labels


def relabellings(
    is_x: BoolArray, blocks: npt.NDArray[np.intp] | None, count: int, random: np.random.Generator
) -> Iterator[BoolArray]:
    """Random relabellings in chunks of rows, (.., N); blocks keep their own number of rows of X."""
    at_once = max(1, _AT_ONCE // len(is_x))
    order = None if blocks is None else np.argsort(blocks, kind="stable")
    few = [] if blocks is None or blocks.max(initial=0) >= _FEW_BLOCKS else [blocks == g for g in np.unique(blocks)]
    streams = random.spawn(len(few))  # of their own, so that it does not matter how many are drawn at a time
    for first in range(0, count, at_once):
        k = min(at_once, count - first)
        if blocks is None or order is None:
            yield random.permuted(np.broadcast_to(is_x, (k, len(is_x))), axis=1)
            continue
        if few:
            labels = np.empty((k, len(is_x)), dtype=bool)
            for block, stream in zip(few, streams, strict=True):
                labels[:, block] = stream.permuted(np.broadcast_to(is_x[block], (k, int(block.sum()))), axis=1)
            yield labels
            continue
        shuffled = np.argsort(blocks + random.random((k, len(is_x))), axis=1)  # within blocks, blocks in order
        labels = np.empty((k, len(is_x)), dtype=bool)
        np.put_along_axis(labels, shuffled, np.broadcast_to(is_x[order], labels.shape), axis=1)
        yield labels


def prepend_data_labels(is_x: BoolArray, chunks: Iterator[BoolArray]) -> Iterator[BoolArray]:
    """Put the data's own labels before the first chunk, in one piece with it, whose kernels then serve both."""
    yield np.concatenate([is_x[None, :], next(chunks)])
    yield from chunks


def pvalue(observed: float, null: FloatArray) -> float:
    """(1 + number of null values at least as large) / (1 + their number)."""
    return float((1 + _at_least(null, observed)) / (1 + len(null)))


def _at_least(null: FloatArray, observed: float) -> int:
    if np.isneginf(observed):
        return len(null)
    largest = float(np.abs(null[np.isfinite(null)]).max(initial=abs(observed)))
    return int((null >= observed - _TIE * largest).sum())


def step_down(values: FloatArray) -> FloatArray:
    """Adjusted p-values of several tests from shared relabellings (Westfall and Young), (d,).

    ``values`` is (k, d), the data first. Cube roots of quadratic statistics are nearly normal, so that standardized
    ones have tails alike and the largest of them is no one's own.
    """
    scores = standardized_roots(values)
    order = np.argsort(-scores[0], kind="stable")
    adjusted, least = np.empty(len(order)), 0.0
    for k, j in enumerate(order):
        highest = scores[:, order[k:]].max(axis=1)
        own = pvalue(float(scores[0, j]), highest[1:])
        adjusted[j] = least = max(least, own)
    return adjusted


def standardized_roots(values: FloatArray, rounding: float = 1e-12) -> FloatArray:
    """Cube roots of statistics (k, d), each in deviations from its mean over all relabellings; -inf if it is flat.

    One is flat if it varies by no more than ``rounding`` of its largest value.
    """
    roots = np.cbrt(values)
    deviation = roots.std(axis=0)
    flat = deviation <= rounding * np.abs(roots).max(axis=0, initial=0.0)
    return np.where(flat, -np.inf, (roots - roots.mean(axis=0)) / np.where(flat, 1.0, deviation))


def holm(pvalues: FloatArray, tests: int | None = None) -> FloatArray:
    """Adjusted p-values that hold whatever the dependence of the tests, (d,); of more ``tests`` the others have 1."""
    order, tests = np.argsort(pvalues, kind="stable"), tests or len(pvalues)
    adjusted, factors = np.empty(len(pvalues)), np.arange(tests, tests - len(pvalues), -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(pvalues[order] * factors))
    return adjusted


def largest_standardized(table: FloatArray) -> FloatArray:
    """The largest of several standardized statistics for each relabelling, (k,), of a table (k, M), the data first.

    Means and deviations are those of all rows together, so the data are treated like every relabelling and ranks stay
    exact. The answer is on the scale of the data's own largest statistic.
    """
    if table.shape[1] == 1:
        return np.asarray(table[:, 0])
    mean, deviation = table.mean(axis=0), table.std(axis=0)
    usable = deviation > 1e-12 * np.abs(table).max(axis=0)
    if not usable.any():
        return np.asarray(table[:, 0])
    scores = np.where(usable, (table - mean) / np.where(usable, deviation, 1.0), -np.inf)
    best = int(scores[0].argmax())
    return np.asarray(table[0, best] + deviation[best] * (scores.max(axis=1) - scores[0].max()))


def mixture_tail(value: float, weights: FloatArray) -> float:
    """P(sum of weight times chi-square with one degree of freedom >= value) by Imhof's inversion; weights of any sign.

    The integrand falls like u^(-1 - k/2) for k weights; the trapezoid rule in log u is right to 1e-8 from five weights
    of one size on, to 3e-6 with two and to 7e-5 with a single one. Never below 1e-9, which is all it can tell.
    """
    weights = weights[np.abs(weights) > 1e-9 * np.abs(weights).max(initial=0.0)]
    if len(weights) == 0:
        return 1.0 if value <= 0 else _LEAST_TAIL
    scale = np.abs(weights).sum()
    weights, value = weights / scale, value / scale
    if _log_tail_bound(value, weights) < np.log(_LEAST_TAIL):
        return _LEAST_TAIL  # there the sine turns faster than the rule steps
    u = np.geomspace(1e-7, _last_frequency(weights), 200_001 if len(weights) < 30 else 20_001)
    angle, log_size = -0.5 * value * u, np.zeros_like(u)
    for weight in weights:
        angle += 0.5 * np.arctan(weight * u)
        log_size += 0.25 * np.log1p(np.square(weight * u))
    integrand = np.sin(angle) * np.exp(-log_size)
    inner = 0.5 * (weights.sum() - value) * u[0]  # the integral below the first u, where the sine is its argument
    total = inner + np.log(u[1] / u[0]) * (integrand.sum() - 0.5 * (integrand[0] + integrand[-1]))
    return float(np.clip(0.5 + total / np.pi, _LEAST_TAIL, 1.0))


def _log_tail_bound(value: float, weights: FloatArray) -> float:
    """Upper bound of the logarithm of the tail (Chernoff), the best of a few exponents."""
    widest = float(weights.max())
    if widest <= 0:
        return -np.inf if value > 0 else 0.0
    exponents = np.array([0.5, 0.8, 0.95]) / (2.0 * widest)
    return float((-0.5 * np.log1p(-2.0 * np.outer(exponents, weights)).sum(axis=1) - exponents * value).min())


def _last_frequency(weights: FloatArray) -> float:
    """The frequency at which the integrand of `mixture_tail` has fallen below 1e-12."""
    low, high = 1.0, 1e7
    while high / low > 1.01:
        middle = np.sqrt(low * high)
        if 0.25 * np.log1p(np.square(weights * middle)).sum() > 28.0:
            high = middle
        else:
            low = middle
    return float(high)
