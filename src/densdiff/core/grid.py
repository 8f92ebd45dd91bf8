"""Rows on a regular grid: the map of each column, spreading by cubic B-splines, exact coarsening.

Rows are spread over the nodes once; grids twice as coarse follow exactly from the splines' two-scale relation.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Protocol

import numpy as np
import numpy.typing as npt

from densdiff.core.radial import decay_rate
from densdiff.core.scaling import FloatArray

ORDER = 4  # of the splines: a row touches this many nodes in each column
# By the number of columns: more columns have fewer rows at opposite ends, and less memory to spare.
WRAP_TOLERANCE = {1: 1e-10, 2: 1e-4, 3: 1e-3}  # of a kernel's peak, at the distance at which a periodic grid closes
_SPACING = {1: 0.25, 2: 0.25, 3: 0.3}  # of the grid in sigmas
_CUBICS = np.array([[1, -3, 3, -1], [4, 0, -6, 3], [1, 3, 3, -3], [0, 0, 0, 1]]) / 6  # weights by powers of r
_TWO_SCALE = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 8
_FINE_CELLS = 1 << 16  # up to this many of all groups the grid of one column is refined: it costs nothing
_MOST_CELLS = {1: 1 << 22, 2: 1 << 22, 3: 1 << 24}  # of all groups: 32 and 128 MiB
_BLOCK_ROWS = 1 << 15
_CACHED_NODES = 1 << 16
_CELLS_PER_GAP = 16


def reach(sigma: float, lam: float, tolerance: float) -> float:
    """Distance beyond which the kernel of F is below so much of its peak."""
    return sigma * float(np.log(1.0 / tolerance)) / decay_rate(lam)


def spline_weights(r: FloatArray) -> list[FloatArray]:
    """Weights of a row at r between nodes 0 and 1 for the nodes -1, 0, 1 and 2."""
    return [((a3 * r + a2) * r + a1) * r + a0 for a0, a1, a2, a3 in _CUBICS]


class Line(Protocol):
    """One column's map to a line that starts at 0: an `Axis`, or a `LogAxis` where cells are all that is asked for."""

    @property
    def length(self) -> float: ...

    @property
    def keeps_distances(self) -> bool:
        """Whether rows are as far apart on the line as they are, but for those out of reach of a kernel."""

    def apply(self, values: FloatArray) -> FloatArray:
        """Places on the line."""

    def values_at(self, places: FloatArray) -> FloatArray:
        """Values that go to these places."""


@dataclass(frozen=True)
class Axis:
    """One column's map to the grid: empty stretches longer than ``gap`` are shortened to it, far tails may be cut.

    ``starts`` and ``stops`` bound the occupied stretches in inner units, ``places`` is where each start goes.
    """

    starts: FloatArray
    stops: FloatArray
    places: FloatArray
    gap: float
    offset: float = 0.0  # of the part that stays
    limit: float = np.inf  # its length

    @property
    def keeps_distances(self) -> bool:
        return True

    @property
    def length(self) -> float:
        return min(float(self.places[-1] + self.stops[-1] - self.starts[-1]), self.limit)

    @property
    def cut(self) -> bool:
        return bool(np.isfinite(self.limit))

    def apply(self, values: FloatArray) -> FloatArray:
        """Places on the grid; between two stretches a place is half a gap from either at most."""
        if len(self.starts) == 1:
            return np.asarray(values - (self.starts[0] + self.offset))
        k = np.clip(np.searchsorted(self.starts, values, side="right") - 1, 0, None)
        inner = k < len(self.starts) - 1
        allowed = self.stops[k] - self.starts[k] + np.where(inner, self.gap / 2, np.inf)
        place = self.places[k] + np.minimum(values - self.starts[k], allowed)
        after = np.minimum(k + 1, len(self.starts) - 1)
        back = self.starts[after] - values  # just before a stretch: measured back from its start
        return np.where((back > 0) & (back < self.gap / 2), self.places[after] - back, place) - self.offset

    def values_at(self, places: FloatArray) -> FloatArray:
        """Values that go to these places, which lie on a stretch or at most half a gap off it."""
        moved = places + self.offset
        k = np.clip(np.searchsorted(self.places - self.gap / 2, moved, side="right") - 1, 0, None)
        return np.asarray(self.starts[k] + (moved - self.places[k]))


def make_axis(
    low: float,
    high: float,
    gap: float,
    longest: float,
    occupied: Callable[[float], FloatArray],
    middle: Callable[[], float],
) -> Axis:
    """The map of a column that runs from low to high; at most ``longest`` long, cut around the middle if it must be.

    ``occupied`` tells which cells of a width, counted from low, hold any row, sorted; ``middle`` tells the median.
    """
    starts, stops = np.array([low]), np.array([high])
    if high - low > 8 * gap:
        cell = gap / _CELLS_PER_GAP
        cells = occupied(cell)
        breaks = np.flatnonzero(np.diff(cells) > _CELLS_PER_GAP + 1)
        starts = low + cell * cells[np.append(0, breaks + 1)]
        stops = low + cell * (cells[np.append(breaks, len(cells) - 1)] + 1)
    axis = Axis(starts, stops, np.append(0.0, np.cumsum(stops - starts + gap)[:-1]), gap)
    if axis.length <= longest:
        return axis
    place = float(axis.apply(np.array([middle()]))[0])
    return replace(axis, offset=place - longest / 2, limit=longest)


@dataclass(frozen=True)
class Grid:
    """Nodes at (start + k) * spacing in each column, in places of the axes; values of each group on them."""

    spacing: float
    start: tuple[int, ...]
    counts: FloatArray  # (G, n_1, .., n_d)


def finest_spacing(sigmas: FloatArray, d: int, n_groups: int) -> tuple[float, float]:
    """Spacing of the finest grid, and how long an axis may be within the memory that all groups may take."""
    spacing = _SPACING[d] * float(sigmas.min())
    return spacing, spacing * ((_MOST_CELLS[d] / n_groups) ** (1 / d) - ORDER)


def refined_spacing(spacing: float, axes: list[Axis], sigmas: FloatArray, n_groups: int) -> float:
    """The spacing of the finest grid, halved where there is one column and finer nodes cost nothing."""
    while len(axes) == 1 and 2 * n_groups * axes[0].length / spacing <= _FINE_CELLS and spacing > 0.01 * sigmas.min():
        spacing /= 2
    return spacing


def places_of(columns: Iterable[FloatArray], axes: Sequence[Line]) -> FloatArray:
    """Columns of rows or points as places on the axes, (k, d)."""
    return np.array([axis.apply(column) for column, axis in zip(columns, axes, strict=True)]).T


def is_within(places: FloatArray, axes: list[Axis], margin: float) -> npt.NDArray[np.bool_]:
    """Which places lie on the axes or at most ``margin`` off their ends, (k,)."""
    lengths = np.array([axis.length for axis in axes])
    return np.asarray(((places >= -margin) & (places <= lengths + margin)).all(axis=1))


def spread(
    rows: FloatArray,
    omega: FloatArray,
    groups: npt.NDArray[np.integer],
    n_groups: int,
    axes: list[Axis],
    spacing: float,
) -> tuple[FloatArray, int]:
    """Rows to nodes by B-spline weights, (n_groups, n_1, .., n_d), and the number of rows too far out for the axes.

    Rows too far out are left out: they meet no other row. The nodes of all groups are filled at once if they stay in
    cache, else group by group.
    """
    shape = tuple(int(axis.length / spacing) + ORDER for axis in axes)
    size = int(np.prod(shape))
    together = n_groups * size <= _CACHED_NODES
    order = np.arange(len(groups)) if together else np.argsort(groups, kind="stable")
    ends = [len(groups)] if together else np.cumsum(np.bincount(groups, minlength=n_groups)).tolist()
    counts = np.zeros((len(ends), n_groups * size if together else size))
    weigh = None if np.all(omega == omega[0]) else omega
    block = max(_BLOCK_ROWS, 4 * counts.shape[1])
    outside = 0
    for task, (first, last) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        for start in range(first, last, block):
            chosen: slice | npt.NDArray[np.intp] = slice(start, min(start + block, last))
            chosen = chosen if together else order[chosen]
            places = places_of([rows[:, a][chosen] for a in range(len(axes))], axes)
            labels = np.array(groups[chosen] if together else np.zeros(len(places)), dtype=np.int32)
            weights = None if weigh is None else weigh[chosen]
            if any(axis.cut for axis in axes):
                inside = is_within(places, axes, 0.0)
                outside += int(np.count_nonzero(~inside))
                places, labels, weights = (
                    places[inside],
                    labels[inside],
                    None if weights is None else weights[inside],
                )
            _add_to_nodes(counts[task], places, labels, weights, spacing, shape)
    if weigh is None:
        counts *= omega[0]
    return counts.reshape(n_groups, *shape), outside


def _add_to_nodes(
    total: FloatArray,
    places: FloatArray,
    cell: npt.NDArray[np.int32],
    omega: FloatArray | None,
    spacing: float,
    shape: tuple[int, ...],
) -> None:
    """Add the rows' spline weights to the flat nodes; ``cell`` comes as each row's grid and goes as its first node.

    Along the last column the weights are cubics in the position r between nodes, so sums of r^0 .. r^3 are gathered
    and turned into weights once for all rows of a node.
    """
    lead: list[list[FloatArray]] = []
    for a, length in enumerate(shape):
        r = places[:, a] / spacing
        node = r.astype(np.int32)
        r -= node
        if a < len(shape) - 1:
            lead.append(spline_weights(r))
        cell *= length
        cell += node
    squared = r * r
    powers = [None, r, squared, squared * r]
    strides = [int(np.prod(shape[a + 1 :])) for a in range(len(shape))]
    for offsets in product(range(ORDER), repeat=len(lead)):
        weight = omega
        for axis_weights, o in zip(lead, offsets, strict=True):
            weight = axis_weights[o] if weight is None else weight * axis_weights[o]
        sums = np.array([np.bincount(cell, _product(weight, power), minlength=total.size) for power in powers])
        shift = sum(o * s for o, s in zip(offsets, strides[:-1], strict=True))
        for o, values in enumerate(_CUBICS @ sums):
            total[shift + o :] += values[: total.size - shift - o]


def _product(a: FloatArray | None, b: FloatArray | None) -> FloatArray | None:
    return b if a is None else a if b is None else a * b


def finest_grid(counts: FloatArray, spacing: float) -> Grid:
    """The grid of ``spread`` counts: a row's first node is the one before the node it stands behind."""
    return Grid(spacing, (-1,) * (counts.ndim - 1), counts)


def coarsen(grid: Grid) -> Grid:
    """A grid with nodes twice as far apart, exactly, by the two-scale relation of B-splines."""
    half = len(_TWO_SCALE) // 2
    counts, starts = grid.counts, []
    for a, start in enumerate(grid.start, start=1):
        first, last = start - half, start + counts.shape[a] - 1 + half
        low, high = -(-first // 2), last // 2  # coarse nodes that any fine node reaches
        padding = [(0, 0)] * counts.ndim
        before = start - (2 * low - half)
        padding[a] = (before, 2 * high + half - (start + counts.shape[a] - 1))
        padded = np.moveaxis(np.pad(counts, padding), a, -1)
        n = high - low + 1
        coarse = sum(w * padded[..., j : j + 2 * n - 1 : 2] for j, w in enumerate(_TWO_SCALE))
        counts = np.moveaxis(np.asarray(coarse), -1, a)
        starts.append(low)
    return Grid(2 * grid.spacing, tuple(starts), counts)
