"""Cells of a line whose widths are powers of two: all alike around a center, wider and wider beyond.

They stand for the values of a column without showing them; the cells of a column are fixed once, so counts of
different rows add up.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray

CORE = 512  # cells of one width on either side of the center
_A_DOUBLING, _DOUBLINGS = 16, 64  # cells beyond the core while the distance doubles, and how often it does
_OUTER = _A_DOUBLING * _DOUBLINGS
SIZE = 2 * (CORE + _OUTER) + 1
_A_SCALE = 128.0  # cells in a typical deviation
_ENDS = 4  # cells to whose multiples the outermost ranges of small cells are rounded
_LEAST_POWER = -1000  # of two, of a width
_COARSER = 8.0  # times as wide as others may be the cells of values on a grid, so that more of them are in the core
_NORMAL = 1.349  # quartiles of a normal density are as many deviations apart


@dataclass(frozen=True)
class DyadicCells:
    """The cells of one column; ``is_discrete`` if all values of the core are middles of cells."""

    center: float
    width: float
    is_discrete: bool = False

    @classmethod
    def of(cls, values: FloatArray) -> "DyadicCells":
        """Cells that suit some values: about 128 to a deviation, and for whole numbers, halves, quarters ... fewer.

        Then they still are at least 16 to a deviation, since values that come later may lie between the known ones.
        """
        median = float(np.median(values))
        width = float(2.0 ** max(np.floor(np.log2(_scale(values)) - np.log2(_A_SCALE)), _LEAST_POWER))
        step = _dyadic_step(values, width)
        if values.min() < values.max():
            width = max(width, min(step, _COARSER * width))
        return cls(float(np.rint(median / width) * width), width, bool(step))

    def index(self, values: FloatArray) -> npt.NDArray[np.intp]:
        """The cell of each value, 0 <= index < SIZE."""
        with np.errstate(over="ignore"):
            places = np.rint((values - self.center) / self.width)
        distance = np.abs(places)
        outer = np.ceil(_A_DOUBLING * np.log2(np.maximum(distance, CORE) / CORE))
        steps = np.where(distance <= CORE, distance, CORE + np.minimum(outer, _OUTER))
        return (CORE + _OUTER + np.sign(places) * steps).astype(np.intp)

    def middles(self, index: npt.NDArray[np.intp]) -> FloatArray:
        """The value that stands for each cell."""
        steps = index - (CORE + _OUTER)
        distance = np.abs(steps).astype(np.float64)
        outer = CORE * 2.0 ** ((distance - CORE - 0.5) / _A_DOUBLING)
        places = np.where(distance <= CORE, distance, outer)
        return np.asarray(self.center + np.sign(steps) * places * self.width)

    def spread(self, index: npt.NDArray[np.intp], random: np.random.Generator) -> FloatArray:
        """A value at random within each of some cells."""
        places = np.abs(index - (CORE + _OUTER)) <= CORE
        middles = self.middles(index)
        jitter = random.uniform(-0.5, 0.5, len(index))
        inside = middles + jitter * self.width
        return np.where(places, inside, self.center + (middles - self.center) * 2.0 ** (jitter / _A_DOUBLING))


def merge_small(counts: npt.NDArray[np.int64], least: int) -> npt.NDArray[np.intp]:
    """The cell that stands for each cell, (SIZE,): ranges of cells that hold few rows are put together.

    Seen from either end towards the middle row, cells join the next occupied one until they hold ``least`` rows, with
    the empty cells between them: else these would tell where a single row is. For the same reason the outermost ranges
    end at a multiple of four cells, a fifth of the distance beyond the core. Other empty cells stay as they are: they
    tell of no row, and rows that come later may be there.
    """
    target = np.arange(len(counts))
    ranges = _ranges(counts, least)
    for k, cells in enumerate(ranges):
        low, high, is_one = min(cells), max(cells), len(cells) == 1
        if k == 0 and not is_one:
            low -= low % _ENDS
        if k == len(ranges) - 1 and not is_one:
            high += _ENDS - 1 - high % _ENDS
        target[low : high + 1] = cells[-1]
    return target


def _ranges(counts: npt.NDArray[np.int64], least: int) -> list[list[int]]:
    """Occupied cells in ascending lists that hold ``least`` rows each; the last of a list is next to the middle."""
    occupied = np.flatnonzero(counts)
    if not len(occupied):
        return []
    below = np.cumsum(counts[occupied])
    middle = int(np.searchsorted(below, below[-1] / 2))
    lower, rest = _collect(occupied[:middle].tolist(), counts, least)
    upper, more = _collect(occupied[:middle:-1].tolist(), counts, least)
    within = [*rest, *more, int(occupied[middle])]
    if counts[within].sum() < least and (lower or upper):
        within = [*(lower.pop() if lower else upper.pop()), *within]
    return [*lower, within, *upper[::-1]]


def _collect(line: list[int], counts: npt.NDArray[np.int64], least: int) -> tuple[list[list[int]], list[int]]:
    """Cells of a line in lists of ``least`` rows, and those that are left over."""
    lists: list[list[int]] = []
    group: list[int] = []
    for cell in line:
        group.append(cell)
        if counts[group].sum() >= least:
            lists.append(group)
            group = []
    return lists, group


def _scale(values: FloatArray) -> float:
    """A typical deviation that a few far values do not change; 1 for a constant."""
    low, high = np.quantile(values, [0.25, 0.75])
    with np.errstate(over="ignore", invalid="ignore"):
        scales = (high - low) / _NORMAL, float(np.std(values)), abs(float(values[0]))
    for scale in scales:
        if np.isfinite(scale) and scale > 0:
            return float(scale)
    return 1.0


def _dyadic_step(values: FloatArray, width: float) -> float:
    """The largest power of two, at least ``width``, of which all values are multiples; 0 if there is none."""
    step = width
    if not _are_multiples(values, step):
        return 0.0
    while _are_multiples(values, 2.0 * step) and 2.0 * step <= np.abs(values).max(initial=0.0):
        step *= 2.0
    return step


def _are_multiples(values: FloatArray, step: float) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        places = values / step
    return bool(np.isfinite(places).all() and (places == np.rint(places)).all())
