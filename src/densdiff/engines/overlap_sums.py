"""Sums of Gaussian kernels between groups of rows for a ladder of widths, on a grid in one column, by pairs in more.

Formulas that use them are in `core.overlap`.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.fft import next_fast_len, rfft

from densdiff.core.kernel import far_columns, radius
from densdiff.core.radial import make_bins
from densdiff.core.scaling import FloatArray
from densdiff.engines.pair_distances import FarColumns, LevelDistances, MoreColumns, pair_histograms

_REACH = 8.5  # widths at which a Gaussian is nothing
_RUN = 4  # rungs of the ladder that share a grid, or more while it has no more than so many nodes a row
_NODES_A_ROW = 1 / 32
_NODES_A_WIDTH = 4
_MOST_NODES = 1 << 18
_BAND = 6.5  # frequencies, in units of 1 / width, beyond which a Gaussian has no power


def column_sums(
    values: FloatArray, omega: FloatArray, groups: npt.NDArray[np.intp], n_groups: int, widths: FloatArray
) -> Iterator[FloatArray]:
    """Yield sums of omega_i omega_j exp(-(x_i - x_j)^2 / (2 s^2)) over pairs i != j by groups, (rungs, groups, groups).

    ``widths`` fall; a few of them share a grid and come together. A row belongs to the two nodes beside it, the nearer
    the more, which blurs it by a known factor at each frequency; a mirrored column has mirrored nodes. Empty stretches
    are shortened to where kernels end, and rows that no kernel reaches are left out. It ends early where a grid would
    be too long.
    """
    order = np.argsort(values, kind="stable")
    ordered, weights, group = values[order], omega[order], groups[order]
    first = 0
    while first < len(widths):
        reach = _REACH * float(widths[first])
        near, from_first = _near_rows(ordered, reach)
        run = _rungs_of_a_grid(widths[first:], float(from_first[-1]) + reach, _NODES_A_ROW * len(values))
        spacing = float(run[-1]) / _NODES_A_WIDTH
        places = _grid_places(from_first, spacing)
        nodes = next_fast_len(int(places[-1] + reach / spacing) + 2, real=True)
        if nodes > _MOST_NODES:
            if first > 0:
                return
            near, places = _central_rows(near, places)
            nodes = next_fast_len(int(places[-1] + reach / spacing) + 2, real=True)
        first += len(run)
        below = np.floor(places).astype(np.intp)
        upper = places - below
        own, omegas = group[near], weights[near]
        index = own * nodes + below
        above = np.bincount(index, omegas * upper, minlength=n_groups * nodes)
        counts = np.bincount(index, omegas, minlength=n_groups * nodes) - above
        counts[1:] += above[:-1]  # the last node of a group is out of reach of its rows
        counts = counts.reshape(n_groups, nodes)
        # how much of a row's kernel with itself joins its two nodes, and how much stays on one
        joined = np.bincount(own, np.square(omegas) * 2.0 * upper * (1.0 - upper), minlength=n_groups)
        squares = np.bincount(own, np.square(omegas), minlength=n_groups).astype(np.float64)
        step = 2.0 * np.pi / (nodes * spacing)
        kept = min(int(_BAND / (step * float(run[-1]))) + 1, nodes // 2 + 1)
        spectra, frequency = rfft(counts, axis=1)[:, :kept].view(np.float64), step * np.arange(kept)
        itself = np.column_stack([squares - joined, joined])
        yield np.array([_grid_sums(spectra, frequency, (nodes, spacing), float(width), itself) for width in run])


def _near_rows(ordered: FloatArray, reach: float) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """Rows that have another one within reach, the first if none has, and how far they are from the first of them."""
    steps = np.diff(ordered)
    is_near = steps < reach
    near = np.flatnonzero(np.append(is_near, False) | np.append(False, is_near))
    if not len(near):
        near = np.arange(1)
    between = steps if len(near) == len(ordered) else np.diff(ordered[near])
    return near, np.append(0.0, np.cumsum(np.minimum(between, reach)))


def _rungs_of_a_grid(widths: FloatArray, extent: float, most_nodes: float) -> FloatArray:
    """The widths, some of the first, that share a grid: every grid is a pass over all rows."""
    count = _RUN
    while count < len(widths) and extent * _NODES_A_WIDTH <= most_nodes * float(widths[: count + _RUN][-1]):
        count += _RUN
    return widths[:count]


def _grid_places(from_first: FloatArray, spacing: float) -> FloatArray:
    """Places of rows in units of the spacing, with nodes as far from the last row as from the first."""
    places = from_first / spacing
    places += 0.5 * (np.ceil(places[-1]) - places[-1])
    return places


def _central_rows(near: npt.NDArray[np.intp], places: FloatArray) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """The rows around the median that a grid can hold: those beyond count as out of reach of one another."""
    from_middle = places - np.median(places)
    central = np.abs(from_middle) <= 0.4 * _MOST_NODES
    return near[central], places[central] - places[central][0]


def _grid_sums(
    spectra: FloatArray,
    frequency: FloatArray,
    grid: tuple[int, float],
    width: float,
    itself: FloatArray,
) -> FloatArray:
    """The sums at one width from the transforms of the groups' counts, (groups, groups).

    ``spectra``, (groups, 2 K), are real and imaginary parts in turn; ``grid`` has so many nodes of one spacing;
    ``itself``, (groups, 2), are squared weights on one node and on both.
    """
    nodes, spacing = grid
    used = int(np.searchsorted(frequency, _BAND / width))
    own = frequency[:used]
    power = np.exp(-0.5 * np.square(width * own)) * (width * np.sqrt(2.0 * np.pi) / (nodes * spacing))
    power /= np.sinc(own * spacing / (2.0 * np.pi)) ** 4  # two nodes for a row blur either row of a pair
    power[1:] *= 2.0  # of the two signs of a frequency one is kept
    weighted = spectra[:, : 2 * used] * np.repeat(np.sqrt(power), 2)
    sums = weighted @ weighted.T  # of a matrix with itself, which is half of the work
    sums[np.diag_indices(len(sums))] -= itself @ [power.sum(), power @ np.cos(own * spacing)]
    return np.asarray(sums)


def level_sums(
    codes: npt.NDArray[np.intp], omega: FloatArray, groups: npt.NDArray[np.intp], n_groups: int, ratios: FloatArray
) -> FloatArray:
    """Sums as of `column_sums` for categories, whose kernel is 1 on equal and r on other levels."""
    levels = int(codes.max()) + 1
    counts = np.bincount(groups * levels + codes, omega, minlength=n_groups * levels).reshape(n_groups, levels)
    equal, mass = counts @ counts.T, counts.sum(axis=1)
    own = np.diag(np.bincount(groups, np.square(omega), minlength=n_groups))
    r = ratios[:, None, None]
    return np.asarray(r * np.outer(mass, mass) + (1.0 - r) * equal - own)


def pair_sums(
    rows: FloatArray,
    omega: FloatArray,
    groups: npt.NDArray[np.intp],
    n_groups: int,
    widths: FloatArray,
    levels: LevelDistances | None = None,
) -> FloatArray:
    """Sums as of `column_sums` for rows of any number of columns, from histograms of distances.

    ``levels`` are columns of categories beside those of the rows.
    """
    order = np.argsort(groups, kind="stable")
    narrowest, extent = float(widths[-1]), radius(rows)
    is_far = far_columns(rows, narrowest)
    direct, more, near = bool(is_far.all()), list[MoreColumns](), rows[order]
    if is_far.any() and not direct:
        near, more = np.ascontiguousarray(near[:, ~is_far]), [FarColumns(near[:, is_far])]
    if levels is not None:
        extent += 0.5 * float(np.sqrt(levels.apart.sum()))  # distances are bounded by twice the radius
        more.append(replace(levels, codes=np.asfortranarray(levels.codes[order])))
    bins = make_bins(widths, extent, _REACH)
    histograms = pair_histograms(near, omega[order], groups[order], bins, direct=direct, more=more)
    kernels = np.exp(-0.5 * np.square(np.divide.outer(bins.nodes, widths)))  # (bins, S)
    # linear weights between nodes err by a twelfth of the second difference on average over a bin
    kernels[1:-1] -= (kernels[:-2] - 2.0 * kernels[1:-1] + kernels[2:]) / 12.0
    kernels[-1] = 0.0
    return np.moveaxis(histograms.reshape(n_groups, n_groups, -1) @ kernels, 2, 0)
