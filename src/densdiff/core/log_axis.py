"""The map of a heavy-tailed column to a short line: as it is around the middle, by logarithms beyond."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from densdiff.core.scaling import FloatArray

_UNIT = 0.25  # of the core on either side: beyond it a distance that grows by a factor e adds so much
_LONGEST = 5.0  # cores that a tail may take, or 7 % more: one of hundreds of decades has a smaller unit


@dataclass(frozen=True)
class LogAxis:
    """Values from ``low`` to ``high`` as places from 0 on; slopes are equal where the core ends.

    Like every map of the pooled values that does not look at labels, it keeps a test by relabelling exact. Values far
    out, which no kernel of the core's widths would bring together, are compared in proportion to their distance.
    """

    low: float
    high: float
    middle: float
    core: float  # how far the part that stays as it is reaches on either side of the middle

    @property
    def keeps_distances(self) -> bool:
        return False

    @property
    def length(self) -> float:
        return float(self.apply(np.array([self.high]))[0])

    @cached_property
    def _unit(self) -> float:
        """What a distance that grows by a factor e adds far out."""
        farthest = max(self.high - self.middle, self.middle - self.low)
        return self.core * min(_UNIT, _LONGEST / float(np.log1p(farthest / self.core)))

    @cached_property
    def _start(self) -> float:
        return float(self._warp(np.array([self.low]))[0])

    def apply(self, values: FloatArray) -> FloatArray:
        """Places of values."""
        return self._warp(values) - self._start

    def values_at(self, places: FloatArray) -> FloatArray:
        """Values that go to these places."""
        signed, unit = places + self._start, self._unit
        distance = np.abs(signed)
        beyond = unit * np.expm1(np.maximum(distance - self.core, 0.0) / unit)
        return np.asarray(self.middle + np.sign(signed) * (np.minimum(distance, self.core) + beyond))

    def _warp(self, values: FloatArray) -> FloatArray:
        """Signed distances from the middle, with logarithms of what is beyond the core."""
        signed, unit = values - self.middle, self._unit
        distance = np.abs(signed)
        beyond = unit * np.log1p(np.maximum(distance - self.core, 0.0) / unit)
        return np.asarray(np.sign(signed) * (np.minimum(distance, self.core) + beyond))
