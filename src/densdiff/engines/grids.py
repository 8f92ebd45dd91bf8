"""Rows on grids, wherever they are: the axes, spline counts of groups, and counts in cells.

What a block of rows contributes is computed in `core.grid` and `core.resample`.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from densdiff.core import grid, resample
from densdiff.core.grid import Axis, Line
from densdiff.core.log_axis import LogAxis
from densdiff.core.resample import CellCounts, Cells
from densdiff.core.scaling import FloatArray
from densdiff.core.selection import GroupPattern
from densdiff.core.weights import compact_weights, weights_at
from densdiff.errors import NumericalError
from densdiff.sources.sample import Sample, totals

_MEDIAN_ROWS = 4096  # of a sample, evenly spaced, tell where the middle of a long axis is
_LINE_TOLERANCE = 1e-3  # of a kernel's peak: what is farther apart is put as near as that on a line of cells
_LONGEST = 4096  # cells of one column on a linear scale
_CORE = 0.25  # of them on either side of the middle stay on one where the tails do not


def plan(samples: Sequence[Sample], sigmas: FloatArray, lam: float, n_groups: int) -> tuple[list[Axis], float]:
    """The map of each column and the spacing of the finest grid, within the memory that all groups may take."""
    d = samples[0].shape[1]
    spacing, longest = grid.finest_spacing(sigmas, d, n_groups)
    low, high = _ends(samples)
    if not (np.finfo(np.float64).eps * (high - low) <= spacing).all():
        raise NumericalError(
            "the data range too widely for a grid as fine as the smallest sigma needs: its places are beyond the "
            "precision of float64; use solver='pairs' or larger sigmas"
        )
    axes = [_axis(samples, a, grid.reach(float(sigmas.max()), lam, grid.WRAP_TOLERANCE[d]), longest) for a in range(d)]
    return axes, grid.refined_spacing(spacing, axes, sigmas, n_groups)


def plan_line(samples: Sequence[Sample], sigmas: FloatArray, lam: float, width: float, middle: float) -> Line:
    """The map of the only column for cells of a width; with too many of them, what is far from the middle goes to a
    logarithmic scale.
    """
    low, high = (float(end[0]) for end in _ends(samples))
    longest = _LONGEST * width
    if np.finfo(np.float64).eps * (high - low) <= width:
        axis = _axis(samples, 0, grid.reach(float(sigmas.max()), lam, _LINE_TOLERANCE), np.inf)
        if axis.length <= longest:
            return axis
    return LogAxis(low, high, middle, _CORE * longest)


def _ends(samples: Sequence[Sample]) -> tuple[FloatArray, FloatArray]:
    """The lowest and the highest value of each column in all samples, (d,) each."""
    ends = [rows.ends() for rows in samples]
    return np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)


def _axis(samples: Sequence[Sample], column: int, gap: float, longest: float) -> Axis:
    low, high = (float(end[column]) for end in _ends(samples))
    occupied = partial(_occupied_cells, samples, column, low)
    return grid.make_axis(low, high, gap, longest, occupied, partial(_median, samples, column))


def _occupied_cells(samples: Sequence[Sample], column: int, low: float, cell: float) -> FloatArray:
    return np.unique(
        np.concatenate(totals(samples, [partial(_cells_of_block, column, low, cell)] * len(samples), np.union1d))
    )


def _cells_of_block(column: int, low: float, cell: float, rows: FloatArray, start: int) -> FloatArray:
    return np.unique(np.floor((rows[:, column] - low) / cell))


def _median(samples: Sequence[Sample], column: int) -> float:
    """The median of a column of all samples, from rows evenly spaced; a sample counts with its number of rows."""
    steps = [-(-len(rows) // _MEDIAN_ROWS) for rows in samples]
    drawn = [rows[::step][:, column] for rows, step in zip(samples, steps, strict=True)]
    values, weights = np.concatenate(drawn), np.repeat(steps, [len(sample) for sample in drawn])
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(below, below[-1] / 2)])


def spread(
    samples: Sequence[tuple[Sample, FloatArray, GroupPattern]],
    n_groups: int,
    axes: list[Axis],
    spacing: float,
) -> list[tuple[FloatArray, int]]:
    """Counts of the groups of each sample on the nodes, (n_groups, n_1, .., n_d), and the number of rows too far out.

    A sample comes as its rows, weights and groups.
    """
    tasks = [
        partial(_spread_block, compact_weights(omega), groups, n_groups, axes, spacing) for _, omega, groups in samples
    ]
    return totals([rows for rows, *_ in samples], tasks)


def _spread_block(
    omega: FloatArray | float,
    groups: GroupPattern,
    n_groups: int,
    axes: list[Axis],
    spacing: float,
    rows: FloatArray,
    start: int,
) -> tuple[FloatArray, int]:
    k = len(rows)
    return grid.spread(rows, weights_at(omega, start, k), groups.part(start, k), n_groups, axes, spacing)


def occupied_cells(samples: Sequence[Sample], axes: Sequence[Line], spacing: float) -> Cells:
    """Both samples as counts in cells."""
    x, y = totals(samples, [partial(_count_block, axes, spacing)] * 2, CellCounts.merged)
    return resample.occupied_cells(x, y, axes, spacing)


def _count_block(axes: Sequence[Line], spacing: float, rows: FloatArray, start: int) -> CellCounts:
    size = int(np.prod(resample.cells_shape(axes, spacing)))
    return CellCounts.of(resample.cells_of(rows, axes, spacing), size)
