"""Sums of features that forget exponentially, each at its own pace, and how far they are from a reference.

Every sum is squared in units of its noise and gathered by group: the largest square of a group sees one feature move,
the sum of squares sees many move a little. The threshold of all these numbers is found in `run_length`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray

SHORTEST = 2.0  # rows over which the quickest sum forgets: 1 / (1 - decay)
LONGEST = 1.8  # windows over which the slowest sum forgets
_RATIO = 2.6  # between neighbours
_PENALTY = {"levels": 1.0, "all levels": 1.08, "spreads": 1.06, "pairs": 1.06, "kernels": 1.16}  # of squares


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

    @property
    def width(self) -> int:
        return self.levels + self.spreads + self.pairs + self.kernels

    @property
    def single(self) -> int:
        """How many features belong to one column or pair: all but the kernels."""
        return self.levels + self.spreads + self.pairs

    @cached_property
    def slices(self) -> dict[str, slice]:
        """The features of each statistic, in the order of `statistics`."""
        ends = np.cumsum([0, self.levels, self.spreads, self.pairs, self.kernels]).tolist()
        names = ("levels", "spreads", "pairs", "kernels")
        found = {name: slice(*ends[j : j + 2]) for j, name in enumerate(names)}
        largest = {name: found[name] for name in names[:3] if ends[names.index(name) + 1] > found[name].start}
        return largest | {"all levels": found["levels"], "kernels": found["kernels"]}

    @cached_property
    def penalties(self) -> FloatArray:
        """By which heights are raised: the more a statistic is a matter of many features, the rarer its alarms."""
        return np.array([_PENALTY[name] for name in self.slices])

    @cached_property
    def _starts(self) -> npt.NDArray[np.intp]:
        return np.array([part.start for part in list(self.slices.values())[:-2]])

    def statistics(self, squares: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
        """From squares (..., K, p): the largest of each group of single features, and two sums, (..., K, G)."""
        largest = np.maximum.reduceat(squares[..., : self.single], self._starts, axis=-1)
        sums = np.add.reduceat(squares, (0, self.levels, self.single), axis=-1)[..., ::2]
        return np.concatenate([largest, sums], axis=-1)


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
        found = np.empty((len(gaps), *before.shape))
        for after, gap in zip(found, gaps, strict=True):
            np.multiply(before, self._column, out=after)
            after += gap
            before = after
        return found

    def squares(self, sums: FloatArray) -> FloatArray:
        """Sums squared in units of their noise."""
        found = sums * sums
        found *= self.units
        return found

    def statistics(self, sums: FloatArray) -> FloatArray:
        """Of sums (k, K, p): (k, K, G)."""
        return np.asarray(self.groups.statistics(self.squares(sums)))
