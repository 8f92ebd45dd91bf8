"""Sums of features that forget exponentially, each at its own pace, and how far they are from a reference.

The sums of all values and of all kernels are squared in units of their noise and added up: such a statistic sees many
features move a little, in whatever direction. Single features are watched in `change_odds`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray

SHORTEST = 2.0  # rows over which the quickest sum forgets: 1 / (1 - decay)
LONGEST = 1.8  # windows over which the slowest sum forgets
_RATIO = 2.6  # between neighbours


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
        """The features of each group that has any."""
        ends = np.cumsum([0, self.levels, self.spreads, self.pairs, self.kernels]).tolist()
        names = ("levels", "spreads", "pairs", "kernels")
        return {name: slice(ends[j], ends[j + 1]) for j, name in enumerate(names) if ends[j + 1] > ends[j]}

    @cached_property
    def summed(self) -> dict[str, slice]:
        """Groups whose sums are squared and added up: kernels, and values if there are several."""
        names = ("levels", "kernels") if self.levels > 1 else ("kernels",)
        return {name: self.slices[name] for name in names}

    @cached_property
    def places(self) -> npt.NDArray[np.intp]:
        """Numbers of the features that are summed, (r,)."""
        return np.concatenate([np.arange(part.start, part.stop) for part in self.summed.values()])

    @cached_property
    def starts(self) -> npt.NDArray[np.intp]:
        """Where each of these groups begins among them, (G,)."""
        return np.cumsum([0, *(part.stop - part.start for part in self.summed.values())])[:-1]


@dataclass(frozen=True)
class Bank:
    """Sums that are kept of the features of rows."""

    groups: FeatureGroups
    decay: FloatArray  # (K,)
    precision: FloatArray  # one over the variance of each feature in the reference, (p,)

    @cached_property
    def units(self) -> FloatArray:
        """What makes squares of sums those of standard deviations, of independent rows, (K, r)."""
        return np.multiply.outer(1.0 - self.decay**2, self.precision[self.groups.places])

    @cached_property
    def _decays(self) -> FloatArray:
        """That of each sum, (K, r): without broadcasting a step takes half the time."""
        return np.tile(self.decay[:, None], self.units.shape[1])

    @cached_property
    def _places(self) -> npt.NDArray[np.intp]:
        """The feature of each sum, (K, r)."""
        return np.tile(self.groups.places, (len(self.decay), 1))

    def sums(self, before: FloatArray, gaps: FloatArray) -> FloatArray:
        """The sums after each row, from features less their means (k, p) and sums before (K, r): (k, K, r).

        One after the other, so that the bits do not depend on how rows are cut.
        """
        sums = gaps.take(self._places, axis=1)
        decays = self._decays
        for after in list(sums):
            after += before * decays
            before = after
        return sums

    def statistics(self, sums: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
        """Sums of squares of each group, from sums (k, K, r): (k, K, G)."""
        squares = sums * sums
        squares *= self.units.astype(sums.dtype, copy=False)
        return np.add.reduceat(squares, self.groups.starts, axis=-1)
