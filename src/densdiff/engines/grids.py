"""Rows on grids, wherever they are: the axes, spline counts of groups, and counts in cells.

What a block of rows contributes is computed in `core.grid` and `core.resample`.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from densdiff.core import grid, resample
from densdiff.core.grid import Axis
from densdiff.core.resample import CellCounts, Cells
from densdiff.core.scaling import FloatArray
from densdiff.core.selection import GroupPattern
from densdiff.core.weights import compact_weights, weights_at
from densdiff.errors import NumericalError
from densdiff.sources.sample import Sample, totals

_MEDIAN_ROWS = 4096  # of a sample, evenly spaced, tell where the middle of a long axis is


def plan(samples: Sequence[Sample], sigmas: FloatArray, lam: float, n_groups: int) -> tuple[list[Axis], float]:
    """The map of each column and the spacing of the finest grid, within the memory that all groups may take."""
    d = samples[0].shape[1]
    spacing, longest = grid.finest_spacing(sigmas, d, n_groups)
    gap = grid.reach(float(sigmas.max()), lam, grid.WRAP_TOLERANCE[d])
    ends = [rows.ends() for rows in samples]
    low, high = np.min([first for first, _ in ends], axis=0), np.max([last for _, last in ends], axis=0)
    if not (np.finfo(np.float64).eps * (high - low) <= spacing).all():
        raise NumericalError(
            "the data range too widely for a grid as fine as the smallest sigma needs: its places are beyond the "
            "precision of float64; use solver='pairs' or larger sigmas"
        )
    axes = [
        grid.make_axis(
            float(low[a]),
            float(high[a]),
            gap,
            longest,
            partial(_occupied_cells, samples, a, float(low[a])),
            partial(_median, samples, a),
        )
        for a in range(d)
    ]
    return axes, grid.refined_spacing(spacing, axes, sigmas, n_groups)


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


def occupied_cells(samples: Sequence[Sample], axes: list[Axis], spacing: float) -> Cells:
    """Both samples as counts in cells."""
    x, y = totals(samples, [partial(_count_block, axes, spacing)] * 2, CellCounts.merged)
    return resample.occupied_cells(x, y, axes, spacing)


def _count_block(axes: list[Axis], spacing: float, rows: FloatArray, start: int) -> CellCounts:
    size = int(np.prod(resample.cells_shape(axes, spacing)))
    return CellCounts.of(resample.cells_of(rows, axes, spacing), size)
