"""One number for the odds that single features changed and for sums of many features that forget.

Both are in units of what they seldom exceed; these units and the threshold are found in `run_length`.
"""

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
        squares = sums * sums
        squares *= self._units if sums.dtype == np.float64 else self._single_units
        ratios = np.add.reduceat(squares, self.bank.groups.starts, axis=-1)
        return evidence, ratios.reshape(len(sums), -1).max(axis=1)

    @cached_property
    def _units(self) -> FloatArray:
        """What makes the sum of squares of a group a multiple of its height, (K, r)."""
        starts = self.bank.groups.starts
        counts = np.diff(np.append(starts, self.bank.units.shape[1]))
        return np.asarray(self.bank.units / np.repeat(self.heights, counts, axis=1))

    @cached_property
    def _single_units(self) -> Floats:
        return self._units.astype(np.float32)

    def __call__(self, sums: Floats, odds: Floats) -> Floats:
        """Of sums (k, K, r) and odds (k, H): (k,)."""
        return np.maximum(*self.parts(sums, odds))
