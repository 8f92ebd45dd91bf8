"""One number for the odds that single features changed and for sums of many features that forget.

Both are in units of what they seldom exceed; these units and the threshold are found in `run_length`.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from densdiff.core.change_odds import Floats, Hypotheses
from densdiff.core.forgetting_sums import Bank
from densdiff.core.scaling import FloatArray


@dataclass(frozen=True)
class Score:
    """The evidence of single features or the largest sum of squares, in units of what each seldom exceeds."""

    bank: Bank
    hypotheses: Hypotheses
    evidence: float  # that is seldom exceeded
    heights: FloatArray  # of the sums of squares, (K, G)

    def parts(self, sums: Floats, odds: Floats) -> tuple[Floats, Floats]:
        """Evidence and the largest sum of squares, of sums (k, K, r) and odds (k, H): (k,) each."""
        evidence = self.hypotheses.evidence(odds)
        evidence *= odds.dtype.type(1.0 / self.evidence)
        squares = (sums * sums).reshape(len(sums), -1)
        return evidence, (squares @ self._units.astype(sums.dtype, copy=False)).max(axis=1)

    @cached_property
    def _units(self) -> FloatArray:
        """What makes squares of all sums multiples of the heights of their groups and paces, (K r, K G)."""
        (paces, width), (_, groups) = self.bank.units.shape, self.heights.shape
        group = np.searchsorted(self.bank.groups.starts, np.arange(width), side="right") - 1
        units = np.zeros((paces, width, paces, groups))
        for pace in range(paces):
            units[pace, np.arange(width), pace, group] = self.bank.units[pace] / self.heights[pace, group]
        return units.reshape(paces * width, paces * groups)

    def of_rows(self, sums: FloatArray, odds: FloatArray) -> list[float]:
        """The larger of the two parts, of sums (k, K, r) and odds (k, H): k scores.

        Each row is multiplied by itself: in a product of more rows the last bit may depend on their number.
        """
        units, weight, factor = self._units, self.hypotheses.weight, 1.0 / self.evidence
        squares = (sums * sums).reshape(len(sums), -1)
        return [
            max(math.log1p(own_odds.dot(weight)) * factor, *own_squares.dot(units).tolist())
            for own_squares, own_odds in zip(list(squares), list(odds), strict=True)
        ]

    def __call__(self, sums: Floats, odds: Floats) -> Floats:
        """Of sums (k, K, r) and odds (k, H): (k,)."""
        return np.maximum(*self.parts(sums, odds))
