"""Weighted row sums of kernel features, in row blocks that stay in cache: the one sum everything is made of.

Features themselves are in `core.kernel`; where rows lie is known to `sources`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import numpy as np
import numpy.typing as npt

from densdiff.core.kernel import Categories, squared_distances
from densdiff.core.kernel import features as feature_ladder
from densdiff.core.level_tables import LevelTables
from densdiff.core.scaling import FloatArray
from densdiff.core.selection import Groups
from densdiff.core.weights import compact_weights, weights_at
from densdiff.sources.sample import Sample, totals

BLOCK_BYTES = 1 << 19  # two such arrays (distances, features) fit a core's L2 cache

# NumPy takes 0.48 ns for each row, center and (sigma + 8), the compiled sum 1.1 ns and 0.06 for each sigma. Its start
# costs 0.3 s once in a process, as much as NumPy takes for 6e8, and 6 s more where nothing is stored on disk yet.
_FUSED_WORK = 6e8
_FUSED_CENTERS, _FUSED_ROWS = 32, 64  # at least, the rows in each group: tiles are padded to 64 centers and 16 rows


def fused_pays(rows: int, groups: int, centers: int, sigmas: int) -> bool:
    """Whether the compiled sum is worth its start, whatever this process did before: equal calls give equal bits."""
    enough = centers >= _FUSED_CENTERS and rows >= _FUSED_ROWS * groups
    return enough and rows * centers * (sigmas + 8.0) >= _FUSED_WORK


@cache
def _fused() -> ModuleType | None:
    """The compiled sum, or None where numba is absent or does not fit the NumPy that is installed."""
    try:
        from densdiff.engines import fused
    except ImportError:
        return None
    return fused


@dataclass(frozen=True)
class CenterFeatures:
    """The features psi at some centers, for each of several sigmas.

    Categories are the last columns of rows and centers. Levels are as far apart as they say, or their factor is the
    same for every sigma.
    """

    centers: FloatArray  # (b, d)
    sigmas: FloatArray  # (S,), widest first
    direct: bool  # whether distances are made of differences, see `squared_distances`
    categories: Categories | None = None


def group_sums(
    rows: FloatArray,
    weights: FloatArray,
    groups: npt.NDArray[np.integer],
    features: CenterFeatures,
    *,
    fused: bool | None = None,
    threads: int | None = None,
) -> FloatArray:
    """Sum of w_i psi(x_i) over the rows of each group, for each sigma: (S, groups, b).

    With categories the sum is NumPy's. Otherwise the compiled sum is taken where numba is installed and `fused_pays`;
    who calls for many parts of the same data says so by ``fused``, from the size of the whole.
    """
    centers, sigmas = features.centers, features.sigmas
    if fused is None:
        fused = fused_pays(len(rows), int(groups.max()) + 1, len(centers), len(sigmas))
    if fused and features.categories is None and rows.shape[1] > 0 and (compiled := _fused()) is not None:
        sums = compiled.group_sums(rows, weights, groups, centers, sigmas, direct=features.direct, threads=threads)
        return np.asarray(sums)
    return numpy_group_sums(rows, weights, groups, features)


def numpy_group_sums(
    rows: FloatArray,
    weights: FloatArray,
    groups: npt.NDArray[np.integer],
    features: CenterFeatures,
    block_rows: int | None = None,
) -> FloatArray:
    """`group_sums` by NumPy: group by group, so that a block is summed by a few products of contiguous slices."""
    centers, sigmas, categories = features.centers, features.sigmas, features.categories
    row_codes = center_codes = np.empty((0, 0))
    tables = None
    if categories is not None:
        (rows, row_codes), (centers, center_codes) = categories.split(rows), categories.split(centers)
        if categories.apart is not None:
            tables = LevelTables.of(center_codes, categories.levels, categories.apart, len(rows))
    if block_rows is None:
        block_rows = max(16, BLOCK_BYTES // (8 * len(centers)))
    n_groups, widest = int(groups.max()) + 1, float(sigmas[0])
    sums = np.zeros((len(sigmas), n_groups, len(centers)))
    order = np.argsort(groups, kind="stable")
    bounds = np.searchsorted(groups[order], np.arange(n_groups + 1))
    for start in range(0, len(rows), block_rows):
        chosen = order[start : start + block_rows]
        stop = start + len(chosen)
        block_weights = weights[chosen]
        squared = squared_distances(rows[chosen], centers, features.direct)  # (k, b)
        if tables is not None:
            tables.add(squared, row_codes[chosen])
        first, last = int(groups[chosen[0]]), int(groups[chosen[-1]])
        cuts = [(g, max(bounds[g], start) - start, min(bounds[g + 1], stop) - start) for g in range(first, last + 1)]
        factor = None
        if categories is not None and categories.apart is None:
            factor = categories.factor(widest, row_codes[chosen], center_codes)
        for level, plain in enumerate(feature_ladder(squared, sigmas)):
            psi = plain if factor is None else plain * factor
            for g, low, high in cuts:
                sums[level, g] += block_weights[low:high] @ psi[low:high]
    return sums


@dataclass(frozen=True)
class GroupSums:
    """The task of `sample_sums` on a block of rows."""

    omega: FloatArray | float
    groups: Groups
    n_groups: int
    features: CenterFeatures
    fused: bool  # decided by the size of all samples
    threads: int | None  # 1 for blocks, which have threads of their own

    def __call__(self, rows: FloatArray, start: int) -> FloatArray:
        k = len(rows)
        weights, groups = weights_at(self.omega, start, k), self.groups.part(start, k)
        sums = group_sums(rows, weights, groups, self.features, fused=self.fused, threads=self.threads)
        lacking = self.n_groups - sums.shape[1]  # groups of which a small block has no row
        return np.pad(sums, ((0, 0), (0, lacking), (0, 0))) if lacking else sums


def sample_sums(samples: Sequence[tuple[Sample, FloatArray, Groups]], features: CenterFeatures) -> list[FloatArray]:
    """`group_sums` of the rows, weights and groups of each sample, (S, groups, b)."""

    group_counts = [groups.n_groups for *_, groups in samples]
    all_rows = [rows for rows, *_ in samples]
    fused = fused_pays(sum(map(len, all_rows)), sum(group_counts), len(features.centers), len(features.sigmas))
    tasks = [
        GroupSums(compact_weights(omega), groups, k, features, fused, rows.inner_threads)
        for (rows, omega, groups), k in zip(samples, group_counts, strict=True)
    ]
    return totals(all_rows, tasks)


def evaluate(
    points: FloatArray,
    centers: FloatArray,
    coefficients: FloatArray,
    sigma: float,
    *,
    direct: bool,
    categories: Categories | None = None,
) -> FloatArray:
    """sum_l c_l psi_l(x) at each point, (k,) or (k, c) for coefficients (b,) or (b, c)."""
    block_rows = max(16, BLOCK_BYTES // (8 * len(centers)))
    coefficients = np.ascontiguousarray(coefficients)  # a broadcast number would be summed in another order
    values = np.empty((len(points), *coefficients.shape[1:]))
    for start in range(0, len(points), block_rows):
        block = slice(start, start + block_rows)
        values[block] = psi(points[block], centers, sigma, direct=direct, categories=categories) @ coefficients
    return values


def psi(
    rows: FloatArray, centers: FloatArray, sigma: float, *, direct: bool, categories: Categories | None = None
) -> FloatArray:
    """The features of some rows at one sigma, (k, b)."""
    if categories is None:
        return next(feature_ladder(squared_distances(rows, centers, direct), np.array([sigma])))
    (numbers, codes), (center_numbers, center_codes) = categories.split(rows), categories.split(centers)
    values = next(feature_ladder(squared_distances(numbers, center_numbers, direct), np.array([sigma])))
    values *= categories.factor(sigma, codes, center_codes)
    return values
