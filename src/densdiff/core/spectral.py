"""E11 to E14: the paper's RKHS estimator as a filter on a grid of frequencies, for one to three columns.

Rows are spread over grid nodes by cubic B-splines, once; coarser grids for wider kernels follow exactly from the
splines' two-scale relation. The splines' transfer function is divided out of every transform, and what the spreading
does to the terms i = j is known exactly, so debiasing stays right.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy.fft import next_fast_len, rfftn

from densdiff.core.pairs import decay_rate
from densdiff.core.ridge import Forms
from densdiff.core.scaling import FloatArray

ComplexArray = npt.NDArray[np.complexfloating]

# By the number of columns: more columns have fewer rows at opposite ends, and less memory for frequencies.
_WRAP_TOLERANCE = {1: 1e-5, 2: 1e-4, 3: 1e-3}  # of a kernel's peak, at the distance at which a periodic grid closes
_FILTER_TOLERANCE = {1: 1e-8, 2: 1e-7, 3: 1e-5}  # frequencies at which every filter is below this are left out
_SPACING = {1: 0.25, 2: 0.25, 3: 0.3}  # of the grid in sigmas, by the number of columns
_ORDER = 4  # of the splines: a row touches this many nodes in each column
_CUBICS = np.array([[1, -3, 3, -1], [4, 0, -6, 3], [1, 3, 3, -3], [0, 0, 0, 1]]) / 6  # weights by powers of r
_TWO_SCALE = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 8
_FINE_CELLS = 1 << 16  # up to this many of all groups the grid of one column is refined: it costs nothing
_MOST_CELLS = 1 << 24  # of all groups: 128 MiB
_AT_ONCE = 1 << 20  # cells of one call of the fast Fourier transform
_BLOCK_ROWS = 1 << 15
_CACHED_NODES = 1 << 16
_CELLS_PER_GAP = 16


def reach(sigma: float, lam: float, d: int) -> float:
    """Distance beyond which the kernel of F is negligible."""
    return sigma * float(np.log(1.0 / _WRAP_TOLERANCE[d])) / decay_rate(lam)


def spline_weights(r: FloatArray) -> list[FloatArray]:
    """Weights of a row at r between nodes 0 and 1 for the nodes -1, 0, 1 and 2."""
    return [((a3 * r + a2) * r + a1) * r + a0 for a0, a1, a2, a3 in _CUBICS]


@dataclass(frozen=True)
class Axis:
    """One column's map to the grid: empty stretches longer than ``gap`` are shortened to it, far tails may be cut.

    ``starts`` and ``stops`` bound the occupied stretches in inner units, ``places`` is where each start goes.
    """

    starts: FloatArray
    stops: FloatArray
    places: FloatArray
    gap: float
    cut: bool = False

    @property
    def length(self) -> float:
        return float(self.places[-1] + self.stops[-1] - self.starts[-1])

    def apply(self, values: FloatArray) -> FloatArray:
        """Places on the grid; between two stretches a place is half a gap from either at most."""
        if len(self.starts) == 1:
            return np.asarray(values - self.starts[0])
        k = np.clip(np.searchsorted(self.starts, values, side="right") - 1, 0, None)
        inner = k < len(self.starts) - 1
        allowed = self.stops[k] - self.starts[k] + np.where(inner, self.gap / 2, np.inf)
        place = self.places[k] + np.minimum(values - self.starts[k], allowed)
        after = np.minimum(k + 1, len(self.starts) - 1)
        back = self.starts[after] - values  # just before a stretch: measured back from its start
        return np.where((back > 0) & (back < self.gap / 2), self.places[after] - back, place)


def make_axis(samples: list[FloatArray], gap: float, longest: float) -> Axis:
    """The map of one column; at most ``longest`` long, cut around the median if it must be."""
    low, high = min(float(values.min()) for values in samples), max(float(values.max()) for values in samples)
    starts, stops = np.array([low]), np.array([high])
    if high - low > 8 * gap:
        cell = gap / _CELLS_PER_GAP
        cells = np.unique(np.floor((np.concatenate(samples) - low) / cell))
        breaks = np.flatnonzero(np.diff(cells) > _CELLS_PER_GAP + 1)
        starts = low + cell * cells[np.append(0, breaks + 1)]
        stops = low + cell * (cells[np.append(breaks, len(cells) - 1)] + 1)
    axis = Axis(starts, stops, np.append(0.0, np.cumsum(stops - starts + gap)[:-1]), gap)
    if axis.length <= longest:
        return axis
    middle = float(np.median(np.concatenate(samples)))
    return Axis(np.array([middle - longest / 2]), np.array([middle + longest / 2]), np.zeros(1), gap, cut=True)


@dataclass(frozen=True)
class Grid:
    """Nodes at (start + k) * spacing in each column, in places of the axes; values of each group on them."""

    spacing: float
    start: tuple[int, ...]
    counts: FloatArray  # (G, n_1, .., n_d)


def plan(samples: list[FloatArray], sigmas: FloatArray, lam: float, n_groups: int) -> tuple[list[Axis], float]:
    """The map of each column and the spacing of the finest grid, within the memory that all groups may take."""
    d = samples[0].shape[1]
    spacing = _SPACING[d] * float(sigmas.min())
    longest = spacing * ((_MOST_CELLS / n_groups) ** (1 / d) - _ORDER)
    axes = [make_axis([rows[:, a] for rows in samples], reach(float(sigmas.max()), lam, d), longest) for a in range(d)]
    while d == 1 and 2 * n_groups * axes[0].length / spacing <= _FINE_CELLS and spacing > 0.01 * sigmas.min():
        spacing /= 2
    return axes, spacing


def places_of(columns: Iterable[FloatArray], axes: list[Axis]) -> FloatArray:
    """Columns of rows or points as places on the axes, (k, d)."""
    return np.array([axis.apply(column) for column, axis in zip(columns, axes, strict=True)]).T


def within(places: FloatArray, axes: list[Axis], margin: float) -> npt.NDArray[np.bool_]:
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

    Those are left out: so far out they meet no other row. The nodes of all groups are filled at once if they stay in
    cache, else group by group.
    """
    shape = tuple(int(axis.length / spacing) + _ORDER for axis in axes)
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
            part = np.array(groups[chosen] if together else np.zeros(len(places)), dtype=np.int32)
            weights = None if weigh is None else weigh[chosen]
            if any(axis.cut for axis in axes):
                kept = within(places, axes, 0.0)
                outside += int(np.count_nonzero(~kept))
                places, part, weights = places[kept], part[kept], None if weights is None else weights[kept]
            _add_to_nodes(counts[task], places, part, weights, spacing, shape)
    return counts.reshape(n_groups, *shape) * (omega[0] if weigh is None else 1.0), outside


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
    for offsets in product(range(_ORDER), repeat=len(lead)):
        weight = omega
        for of_axis, o in zip(lead, offsets, strict=True):
            weight = of_axis[o] if weight is None else weight * of_axis[o]
        sums = np.array([np.bincount(cell, _product(weight, power), minlength=total.size) for power in powers])
        shift = sum(o * s for o, s in zip(offsets, strides[:-1], strict=True))
        for o, values in enumerate(_CUBICS @ sums):
            total[shift + o :] += values[: total.size - shift - o]


def _product(a: FloatArray | None, b: FloatArray | None) -> FloatArray | None:
    return b if a is None else a if b is None else a * b


def finest(counts: FloatArray, spacing: float) -> Grid:
    """The grid of ``spread`` counts: a row's first node is the one before the node it stands behind."""
    return Grid(spacing, (-1,) * (counts.ndim - 1), counts)


def coarsen(grid: Grid) -> Grid:
    """The same rows on nodes twice as far apart, exactly, by the two-scale relation of B-splines."""
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


@dataclass(frozen=True)
class Transform:
    """Characteristic functions of all groups at the frequencies one octave of sigmas needs."""

    frequencies: tuple[FloatArray, ...]  # per axis, the last one non-negative
    squared: FloatArray  # (m,) |w|^2 of the box of frequencies
    measure: FloatArray  # (m,) weights of the integral, (2 pi)^-d dw, doubled where only one of +-w is kept
    values: ComplexArray  # (G, m)
    origin: FloatArray  # (d,) place of the first node
    spacing: float
    pad: float
    axes: list[Axis]

    def filters(self, sigma: float, lams: FloatArray) -> FloatArray:
        """F of E11, (L, m)."""
        return np.asarray(1.0 / (1.0 + np.multiply.outer(lams, np.exp(0.5 * sigma**2 * self.squared))))

    def transfer(self) -> FloatArray:
        """The splines' own transform at the frequencies, (m,)."""
        return _box([np.sinc(w * self.spacing / (2 * np.pi)) ** _ORDER for w in self.frequencies])


def transform(grid: Grid, axes: list[Axis], sigmas: FloatArray, lam: float) -> Transform:
    """Transform all groups on a grid padded so that no kernel of these sigmas (lam the smallest) wraps around."""
    d = grid.counts.ndim - 1
    pad = reach(float(sigmas.max()), lam, d)
    highest = np.sqrt(2.0 * np.log(1.0 / (_FILTER_TOLERANCE[d] * min(lam, 1.0)))) / sigmas.min()
    shape = [
        next_fast_len(n + int(pad / grid.spacing) + 1, real=a == d - 1) for a, n in enumerate(grid.counts.shape[1:])
    ]
    steps = [2 * np.pi / (n * grid.spacing) for n in shape]
    tops = [min(int(highest / step) + 1, (n - 1) // 2) for step, n in zip(steps, shape, strict=True)]
    indices = [np.r_[0 : top + 1, -top:0] for top in tops[:-1]] + [np.arange(tops[-1] + 1)]
    frequencies = tuple(step * index for step, index in zip(steps, indices, strict=True))
    kind = np.complex64 if d == 3 else np.complex128  # three columns need the memory more than the digits
    values = np.empty((len(grid.counts), int(np.prod([len(w) for w in frequencies]))), dtype=kind)
    found = Transform(
        frequencies=frequencies,
        squared=_box([np.square(w) for w in frequencies], np.add),
        measure=_box([np.ones(len(w)) for w in frequencies[:-1]] + [np.where(frequencies[-1] > 0, 2.0, 1.0)])
        / np.prod([n * grid.spacing for n in shape]),
        values=values,
        origin=np.array(grid.start) * grid.spacing,
        spacing=grid.spacing,
        pad=pad,
        axes=axes,
    )
    transfer = found.transfer()
    chosen = np.ix_(*indices)
    at_once = max(1, _AT_ONCE // int(np.prod(shape)))  # groups: few calls on small grids, little memory on large ones
    for first in range(0, len(values), at_once):
        spectra = rfftn(grid.counts[first : first + at_once], s=shape, axes=range(1, d + 1))
        values[first : first + at_once] = spectra[:, *chosen].reshape(-1, values.shape[1]) / transfer
    return found


def _box(parts: list[FloatArray], combine: np.ufunc = np.multiply) -> FloatArray:
    """Outer combination of one array per axis, flattened."""
    result = parts[0]
    for part in parts[1:]:
        result = combine.outer(result, part)
    return np.asarray(result).ravel()


def own_power(places: FloatArray, squares: FloatArray, of: Transform) -> FloatArray:
    """Sum of omega_i^2 |spread row i|^2 over the squared transfer, (m,): it stands for sum omega^2 in E13.

    A row's power is a cosine series in w with the autocorrelation of its spline weights as coefficients.
    """
    correlations = []  # per axis (4, k)
    for a in range(places.shape[1]):
        position = places[:, a] / of.spacing
        weights = spline_weights(position - np.floor(position))
        lags = [sum(weights[j] * weights[j + lag] for j in range(_ORDER - lag)) for lag in range(_ORDER)]
        correlations.append(np.array(lags))
    power = np.zeros(len(of.squared))
    cosines = [
        [np.full(len(w), 1.0) if lag == 0 else 2.0 * np.cos(lag * w * of.spacing) for lag in range(_ORDER)]
        for w in of.frequencies
    ]
    for combination in product(range(_ORDER), repeat=len(correlations)):
        coefficient = squares.copy()
        for a, lag in enumerate(combination):
            coefficient = coefficient * correlations[a][lag]
        power += coefficient.sum() * _box([cosines[a][lag] for a, lag in enumerate(combination)])
    return power / np.square(of.transfer())


def holdout_scores(
    of: Transform, sigma: float, lams: FloatArray, train: ComplexArray, holdout: ComplexArray
) -> FloatArray:
    """E14 for every lam and fold, (L, k); train and holdout are (k, m)."""
    within = (train.real**2 + train.imag**2) * of.measure
    across = (train.real * holdout.real + train.imag * holdout.imag) * of.measure
    filters = of.filters(sigma, lams)  # (L, m)
    return np.asarray(np.square(filters) @ within.T - 2.0 * filters @ across.T)


def quadratic_forms(of: Transform, sigma: float, lam: float, curve: ComplexArray, noise: FloatArray) -> Forms:
    """The twins of E4 to E7 of a curve with transform (m,); ``noise`` (m,) is the power E13 takes off."""
    filters = of.filters(sigma, np.array([lam]))[0]
    power = (curve.real**2 + curve.imag**2) * of.measure
    plain, square = float(filters @ power), float(np.square(filters) @ power)
    return Forms(plain, plain - square, float((2 * filters - filters**2) @ (noise * of.measure)))


def evaluate(of: Transform, sigma: float, lam: float, curve: ComplexArray, places: FloatArray) -> FloatArray:
    """The curve's inverse transform at places on the axes, (k,); one matrix product per axis."""
    coefficients = of.filters(sigma, np.array([lam]))[0] * of.measure * curve
    box = coefficients.reshape([len(w) for w in of.frequencies])
    phases = [np.exp(1j * np.outer(places[:, a] - of.origin[a], w)) for a, w in enumerate(of.frequencies)]
    rest = phases[-1] @ box.reshape(-1, box.shape[-1]).T  # (k, n_1 * .. * n_(d-1))
    for a in range(len(phases) - 2, -1, -1):
        rest = rest.reshape(len(places), -1, box.shape[a])
        rest = np.einsum("kra,ka->kr", rest, phases[a])
    return np.asarray(rest.real.reshape(len(places)))


@dataclass(frozen=True)
class Cells:
    """Occupied cells of a grid, each row in the one whose middle is nearest: what a permutation by counts needs."""

    shape: tuple[int, ...]
    spacing: float
    occupied: npt.NDArray[np.intp]  # (c,) flat indices
    counts: npt.NDArray[np.int64]  # (2, c) rows of X and of Y

    @property
    def pooled(self) -> npt.NDArray[np.int64]:
        return np.asarray(self.counts.sum(axis=0))


def occupied_cells(samples: list[FloatArray], axes: list[Axis], spacing: float) -> Cells:
    """Both samples as counts; splines share a row among nodes, but a permutation moves whole rows."""
    shape = tuple(int(axis.length / spacing) + 2 for axis in axes)
    flat = []
    for rows in samples:
        nodes = np.rint(places_of(rows.T, axes) / spacing).astype(np.intp)
        kept = ((nodes >= 0) & (nodes < np.array(shape))).all(axis=1)
        flat.append(np.ravel_multi_index(tuple(nodes[kept].T), shape))
    occupied, index = np.unique(np.concatenate(flat), return_inverse=True)
    split = len(flat[0])
    counts = [np.bincount(part, minlength=len(occupied)) for part in (index[:split], index[split:])]
    return Cells(shape, spacing, occupied, np.array(counts))


def cell_statistics(cells: Cells, counts: npt.NDArray[np.int64], sigma: float, lam: float) -> FloatArray:
    """E12 for each row of counts of X, (k,): the observed ones or those of ``resample.permuted_counts``."""
    d = len(cells.shape)
    pad = int(reach(sigma, lam, d) / cells.spacing) + 1
    shape = [next_fast_len(n + pad, real=a == d - 1) for a, n in enumerate(cells.shape)]
    steps = [2 * np.pi / (n * cells.spacing) for n in shape]
    lines = [step * np.rint(np.fft.fftfreq(n) * n) for step, n in zip(steps[:-1], shape[:-1], strict=True)]
    lines.append(steps[-1] * np.arange(shape[-1] // 2 + 1))
    filters = 1.0 / (1.0 + lam * np.exp(np.minimum(0.5 * sigma**2 * _box([w**2 for w in lines], np.add), 700.0)))
    twice = np.where((lines[-1] > 0) & (2 * np.arange(len(lines[-1])) != shape[-1]), 2.0, 1.0)
    weight = (2 * filters - filters**2) * _box([np.ones(len(w)) for w in lines[:-1]] + [twice])
    weight /= np.prod([n * cells.spacing for n in shape])
    n, m = cells.counts.sum(axis=1)
    found = np.empty(len(counts))
    at_once = max(1, _AT_ONCE // int(np.prod(shape)))
    for first in range(0, len(counts), at_once):
        part = counts[first : first + at_once]
        grid = np.zeros((len(part), int(np.prod(cells.shape))))
        grid[:, cells.occupied] = part / n - (cells.pooled - part) / m
        spectra = rfftn(grid.reshape(-1, *cells.shape), s=shape, axes=range(1, d + 1)).reshape(len(part), -1)
        found[first : first + at_once] = (spectra.real**2 + spectra.imag**2) @ weight
    return found
