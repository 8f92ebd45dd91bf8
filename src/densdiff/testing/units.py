"""Rows put together into units that share a label, so that a relabelling costs units and not rows.

A test whose statistics are made of sums over rows needs the sums of each unit only. Units of one size are exchangeable
if the rows are, so relabelling them is as exact as relabelling rows, and the statistic is that of all rows.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from densdiff.core.selection import IntArray
from densdiff.core.shuffling import shuffled_places
from densdiff.testing.statistics import Labels

_UNITS, _EACH = 2500, 100  # units of both samples together, but no fewer than that of the smaller one
_MOST, _FEWEST = 10_000, 10  # where one sample is much the larger: units that can be held, and again of the smaller one


@dataclass(frozen=True)
class UnitNumbers:
    """The unit of each row of a sample: so many full ones, the rows left over alone, and those left out in the last."""

    n: int
    rows_each: int
    full: int
    alone: int
    seed: int

    @property
    def n_groups(self) -> int:
        """Units, and one more for the rows that are left out if there are any."""
        return self.n_units + (self.n_rows < self.n)

    @property
    def n_units(self) -> int:
        return self.full + self.alone

    @property
    def n_rows(self) -> int:
        """Rows that are in units."""
        return self.full * self.rows_each + self.alone

    @lru_cache(maxsize=8)  # noqa: B019  of a few numbers; the columns of a block ask one after the other
    def part(self, start: int, count: int) -> IntArray:
        """The units of some consecutive rows, (count,)."""
        units = np.arange(start, start + count)
        if self.rows_each > 1 or self.n_units < self.n:
            places = shuffled_places(units, self.n, self.seed)
            in_full = self.full * self.rows_each
            alone = self.full + np.minimum(places - in_full, self.alone)
            units = np.where(places < in_full, places // self.rows_each, alone)
        units.flags.writeable = False  # others get the same array
        return units


@dataclass(frozen=True)
class Units:
    """The units of two samples, X's first."""

    x: UnitNumbers
    y: UnitNumbers
    groups: npt.NDArray[np.intp] | None = None  # of the rows, within which the user lets labels be exchanged

    @classmethod
    def of_rows(cls, n: int, m: int, groups: npt.NDArray[np.intp] | None = None) -> "Units":
        """Each row by itself."""
        return cls(UnitNumbers(n, 1, n, 0, 0), UnitNumbers(m, 1, m, 0, 0), groups)

    @classmethod
    def put_together(cls, n: int, m: int, seed: int, wanted: int | None = None) -> "Units":
        """So many rows in a unit that there are about as many units as wanted, and enough of the smaller sample.

        Of a sample much the larger, some rows are left out.
        """
        size = min(-(-(n + m) // (wanted or _UNITS)), max(1, min(n, m) // _EACH))
        if n + m > size * _MOST:
            size = min(-(-(n + m) // _MOST), max(1, min(n, m) // _FEWEST))
        x, y = (_units_of(sample, min(sample, size * _MOST), size, seed) for sample in (n, m))
        return cls(x, y)

    @property
    def sizes(self) -> tuple[int, int]:
        """Rows of each sample that are in units."""
        return self.x.n_rows, self.y.n_rows

    @property
    def labels(self) -> Labels:
        """Which units are X, and groups of units that hold as many rows as each other."""
        is_x = np.repeat([True, False], [self.x.n_units, self.y.n_units])
        if self.x.rows_each == 1:
            return Labels(is_x, self.groups)
        alone = np.concatenate([np.arange(part.n_units) >= part.full for part in (self.x, self.y)])
        return Labels(is_x, alone.astype(np.intp) if alone.any() else None)

    def weights(self, labels: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        """What each unit's sum counts in the difference of the means of X and Y, (k, units), for labels (k, units)."""
        n, m = self.sizes
        return np.where(labels, 1.0 / n, -1.0 / m)


def _units_of(n: int, used: int, size: int, seed: int) -> UnitNumbers:
    full = used // size
    return UnitNumbers(n, size, full, (used - full * size) if used == n else 0, seed)
