"""Weighted row sums of kernel features by the compiled ladder of `fused_tiles`: blocks, threads, and adding up.

Blocks of a fixed number of rows of one group, added in their order: the bits do not depend on the number of threads.
The threads are our own, because those of numba may not be entered from several threads (Dask workers, pools).
"""

import numba
import numpy as np
import numpy.typing as npt

from densdiff.core.kernel import squarings
from densdiff.core.scaling import FloatArray
from densdiff.engines import fused_tiles
from densdiff.threads import cores, map_in_order

BLOCK_ROWS = 4096  # with 10 columns the packed rows and the centers stay in the second cache

Task = tuple[int, npt.NDArray[np.intp]]


def group_sums(
    rows: FloatArray,
    weights: FloatArray,
    groups: npt.NDArray[np.integer],
    centers: FloatArray,
    sigmas: FloatArray,
    *,
    direct: bool,
    threads: int | None = None,
) -> FloatArray:
    """Sum of w_i psi(x_i) over the rows of each group, for each sigma (widest first): (S, groups, b)."""
    n_groups = int(groups.max()) + 1
    short = groups.astype(np.int16) if n_groups < 1 << 15 else groups  # NumPy has a linear sort for 16 bits alone
    order = np.argsort(short, kind="stable")
    bounds = np.append(0, np.cumsum(np.bincount(groups)))  # of groups in the order, (groups + 1,)
    tasks = [
        (g, order[start : min(start + BLOCK_ROWS, bounds[g + 1])])
        for g in range(n_groups)
        for start in range(bounds[g], bounds[g + 1], BLOCK_ROWS)
    ]
    tiles = pack_centers(np.ascontiguousarray(centers), direct)
    scales = -0.5 / np.log(2.0) / np.square(sigmas)
    plan = np.array(squarings(sigmas))

    def work(task: Task) -> FloatArray:
        # copies, because numba would compile once more for arrays of another layout or that may not be written
        index = task[1]
        block_rows = rows.take(index, axis=0) if rows.flags.c_contiguous else np.ascontiguousarray(rows[index])
        block_weights = weights[index]  # a take would first copy all of one broadcast number
        return np.asarray(fused_tiles.block_sums(block_rows, block_weights, tiles, scales, plan, direct))

    sums = np.zeros((len(sigmas), n_groups, len(centers)))
    for (g, _), block in zip(tasks, map_in_order(work, tasks, threads or _threads()), strict=True):
        sums[:, g] += block[:, : len(centers)]
    return sums


def pack_centers(centers: FloatArray, direct: bool) -> FloatArray:
    """Tiles of 64 centers, column after column: (t, q * 64). Centers that fill the last tile are ignored."""
    b, d = centers.shape
    step = fused_tiles.COLUMNS_DIRECT if direct else fused_tiles.COLUMNS
    columns = -(-(d if direct else d + 2) // step) * step
    packed = np.zeros((-(-b // fused_tiles.TILE) * fused_tiles.TILE, columns))
    if direct:
        packed[:b, :d] = centers
    else:  # times (x, |x|^2, 1): the squared distance
        packed[:b, :d] = -2.0 * centers
        packed[:b, d] = 1.0
        packed[:b, d + 1] = np.einsum("ij,ij->i", centers, centers)
    tiles = packed.reshape(-1, fused_tiles.TILE, packed.shape[1]).transpose(0, 2, 1)
    return np.ascontiguousarray(tiles).reshape(len(tiles), -1)


def _threads() -> int:
    """The number of cores, or what numba allows if that is less."""
    return max(1, min(cores(), int(vars(numba.config)["NUMBA_NUM_THREADS"])))
