"""Sums of features that forget exponentially, each at its own pace, and how far they are from a reference.

Every sum is squared in units of its noise and gathered by group: the largest square of a group sees one feature move,
the sum of squares sees many move a little. The threshold of all these numbers is found in `run_length`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray

SHORTEST = 2.0  # rows over which the quickest sum forgets: 1 / (1 - decay)
LONGEST = 1.8  # windows over which the slowest sum forgets
_RATIO = 2.6  # between neighbours
SUMMED = ("kernels", "all levels")  # statistics that are sums of squares; others are the largest square
# By which heights are raised, for the quickest and for the slowest sum: small shifts of one column are what slow sums
# are for, and the more a statistic is a matter of many features, the fewer of the false alarms are its share.
_PENALTY = {
    "levels": (1.04, 0.94),
    "all levels": (1.08, 1.0),
    "spreads": (1.0, 1.3),
    "pairs": (1.02, 1.2),
    "kernels": (1.06, 1.3),
}


def decays(window: int) -> FloatArray:
    """By how much each sum shrinks from row to row, the quickest first, (K,)."""
    most = LONGEST * window
    count = max(2, 1 + round(np.log(most / SHORTEST) / np.log(_RATIO)))
    return np.asarray(1.0 - 1.0 / np.geomspace(SHORTEST, most, count))


@dataclass(frozen=True)
class FeatureGroups:
    """Features stand in this order: values of columns, their squares, products of pairs, kernels."""

    levels: int
    spreads: int
    pairs: int
    kernels: int

    @cached_property
    def width(self) -> int:
        return self.levels + self.spreads + self.pairs + self.kernels

    @cached_property
    def single(self) -> int:
        """How many features belong to one column or pair: all but the kernels."""
        return self.levels + self.spreads + self.pairs

    @cached_property
    def slices(self) -> dict[str, slice]:
        """The features of each statistic, in the order of `statistics`: largest squares, then sums of squares."""
        ends = np.cumsum([0, self.levels, self.spreads, self.pairs, self.kernels]).tolist()
        names = ("levels", "spreads", "pairs", "kernels")
        parts = {name: slice(ends[j], ends[j + 1]) for j, name in enumerate(names) if ends[j + 1] > ends[j]}
        sums = {"kernels": parts.pop("kernels")} | ({"all levels": parts["levels"]} if self.levels > 1 else {})
        return parts | sums

    def penalties(self, paces: int) -> FloatArray:
        """By which the heights of statistics are raised, (K, G)."""
        first, last = np.array([_PENALTY[name] for name in self.slices]).T
        return np.asarray(np.geomspace(first, last, paces))

    def statistics(self, squares: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
        """From squares (..., K, p): the largest of each group of single features, and sums of squares, (..., K, G)."""
        found = [
            squares[..., part].sum(axis=-1) if name in SUMMED else squares[..., part].max(axis=-1)
            for name, part in self.slices.items()
        ]
        return np.stack(found, axis=-1)


@dataclass(frozen=True)
class Bank:
    """What is done with the features of each row."""

    groups: FeatureGroups
    decay: FloatArray  # (K,)
    mean: FloatArray  # of the features in the reference, (p,)
    precision: FloatArray  # one over the variance of each feature in the reference, (p,)

    @cached_property
    def units(self) -> FloatArray:
        """What makes squares of sums those of standard deviations, of independent rows, (K, p)."""
        return np.multiply.outer(1.0 - self.decay**2, self.precision)

    @cached_property
    def _column(self) -> FloatArray:
        return self.decay[:, None]

    def sums(self, before: FloatArray, features: FloatArray) -> FloatArray:
        """The sums after each row of features (k, p), from those before, (K, p): (k, K, p).

        One after the other, so that the bits do not depend on how rows are cut.
        """
        gaps = features - self.mean
        if len(gaps) == 1:  # without the detour over arrays
            after = before * self._column
            after += gaps
            return after[None]
        found = np.empty((len(gaps), *before.shape))
        for after, gap in zip(found, gaps, strict=True):
            np.multiply(before, self._column, out=after)
            after += gap
            before = after
        return found

    def squares(self, sums: FloatArray) -> FloatArray:
        """Sums squared in units of their noise."""
        return sums * sums * self.units


@dataclass(frozen=True)
class Score:
    """The largest statistic of a bank in units of its height."""

    single: int  # features
    units: npt.NDArray[np.floating]  # of squares, over the height of the largest of a group or of the kernels, (K, p)
    starts: npt.NDArray[np.intp]  # of levels, other single features and kernels, which are summed
    summed: npt.NDArray[np.floating]  # what makes these sums multiples of their heights, (K, 3)

    @classmethod
    def of(cls, bank: Bank, heights: FloatArray, dtype: Any = np.float64) -> "Score":
        """With heights (K, G) of the statistics of a bank."""
        groups, units = bank.groups, bank.units.copy()
        by_name = dict(zip(groups.slices, heights.T, strict=True))
        for name in by_name.keys() - {"all levels"}:
            units[:, groups.slices[name]] /= by_name[name][:, None]
        summed = np.zeros((len(units), 3))
        summed[:, 2] = 1.0
        if "all levels" in by_name:
            summed[:, 0] = by_name["levels"] / by_name["all levels"]
        starts = np.array([0, groups.levels, groups.single])
        return cls(groups.single, units.astype(dtype), starts, summed.astype(dtype))

    def __call__(self, sums: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
        """Of sums (k, K, p): (k,)."""
        squares = sums * sums
        squares *= self.units
        summed = np.add.reduceat(squares, self.starts, axis=-1)
        summed *= self.summed
        largest = np.maximum.reduce(squares[..., : self.single], axis=(1, 2))
        return np.asarray(np.maximum(largest, np.maximum.reduce(summed, axis=(1, 2)), out=largest))
