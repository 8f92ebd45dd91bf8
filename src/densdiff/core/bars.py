"""Bars for columns of numbers: whether rows share values so often that a density would mislead, and which bars to draw.

Everything is computed from the distinct values of a column and how many rows of each table have them. Squares of
values must be finite.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray
from densdiff.core.selection import IntArray

BoolArray = npt.NDArray[np.bool_]

_FEW = 30  # distinct values: each gets a bar
_MOST_BARS, _FEWEST_BARS = 60, 12
_CROWDED = 1 / 60  # of the range: values closer than this would get bars too thin to see
_SPIKE, _STEEP = 0.02, 5.0  # share of a table, times the share of any other value
_SPIKE_ROWS = 10  # fewer may have one value by chance
_MOST_SPIKES, _FEWEST_OTHERS = 3, 8
_TAIL, _REACH = 0.002, 4.0  # of the rows; quartile distances beyond the quartiles
_ON_GRID = 0.12  # of a step: values as close to its multiples lie on the grid, as degrees that were converted do
_SAME = 0.25  # of the pairs of rows that are close
_QUARTILES, _HALVED = 1.349, 1.177  # quartile distance of a normal density; frequency that its bandwidth halves


@dataclass(frozen=True)
class ValueCounts:
    """The distinct values of a column, sorted, (k,), and how many rows of each table have them, (2, k)."""

    values: FloatArray
    counts: IntArray

    @classmethod
    def of(cls, a: FloatArray, b: FloatArray) -> "ValueCounts":
        """From the rows of both tables."""
        values, index = np.unique(np.concatenate([a, b]), return_inverse=True)
        counts = [np.bincount(part, minlength=len(values)) for part in np.split(index, [len(a)])]
        return cls(values, np.array(counts))

    @property
    def shares(self) -> FloatArray:
        """Share of the rows of each table that has any, (2 or 1, k)."""
        totals = self.counts.sum(axis=1, keepdims=True)
        return np.asarray(self.counts[totals[:, 0] > 0] / totals[totals[:, 0] > 0])

    @property
    def fewest(self) -> int:
        """The number of rows of the smaller table that has any."""
        totals = self.counts.sum(axis=1)
        return int(totals[totals > 0].min())

    def without(self, is_left_out: BoolArray) -> "ValueCounts":
        return ValueCounts(self.values[~is_left_out], self.counts[:, ~is_left_out])

    def quantiles(self, levels: list[float]) -> FloatArray:
        """Of each table that has rows, (2 or 1, len(levels)): the smallest value with at least this share of the rows
        at or below it.
        """
        places = [np.searchsorted(np.cumsum(row), np.asarray(levels) - 1e-12) for row in self.shares]
        return self.values[np.minimum(places, len(self.values) - 1)]


def drawn_range(column: ValueCounts) -> tuple[float, float]:
    """The range to draw: all but two thousandths of each table at each end, and nothing that lies more than four
    quartile distances beyond the quartiles of both, which a heavy tail would squash.
    """
    low, q25, q75, high = column.quantiles([_TAIL, 0.25, 0.75, 1.0 - _TAIL]).T  # (2,) each
    reach = _REACH * (q75 - q25)
    reach[reach == 0.0] = np.inf
    return float(np.maximum(low, q25 - reach).min()), float(np.minimum(high, q75 + reach).max())


def robust_spread(column: ValueCounts) -> float:
    """The smaller one of both tables' standard deviations, or of their quartile distances if these say less; 0 if each
    table is constant.
    """
    q25, q75 = column.quantiles([0.25, 0.75]).T
    deviations = [float(np.sqrt(row @ (column.values - row @ column.values) ** 2)) for row in column.shares]
    quartiles = ((q75 - q25) / _QUARTILES).tolist()
    spreads = [min(pair) if pair[1] > 0 else pair[0] for pair in zip(deviations, quartiles, strict=True)]
    return min((spread for spread in spreads if spread > 0), default=0.0)


def needs_bars(column: ValueCounts) -> bool:
    """Whether values are few, have spikes, or are rounded to steps that the usual bandwidth would not hide."""
    if len(column.values) <= _FEW or find_spikes(column).any():
        return True
    return is_rounded(column, 0.9 * robust_spread(column) * column.fewest**-0.2 / _HALVED)  # Silverman's rule


def is_rounded(column: ValueCounts, width: float) -> bool:
    """Whether of two rows of a table that lie within two widths of each other more than a quarter have the same value.

    Then a curve that is smoothed with this width, one over the frequency that it halves, shows the steps of rounding.
    """
    values, counts = column.values, column.counts.astype(np.float64)
    totals = counts.sum(axis=1)
    same = np.square(counts).sum(axis=1) - totals  # ordered pairs of rows, (2,)
    if not same.any():
        return False
    low = np.searchsorted(values, values - 2.0 * width)
    high = np.searchsorted(values, values + 2.0 * width, side="right")
    below = np.column_stack([np.zeros(2), np.cumsum(counts, axis=1)])  # (2, k + 1)
    near = (counts * (below[:, high] - below[:, low])).sum(axis=1) - totals
    return bool((same > _SAME * near).any())


def find_spikes(column: ValueCounts) -> BoolArray:
    """Which values hold at least a fiftieth of the rows of a table and stand out, (k,): at most three that hold five
    times as many rows as any other, or that lie far from all others; none if few others are left.
    """
    values, k = column.values, len(column.values)
    is_spike = np.zeros(k, dtype=bool)
    if k < _FEWEST_OTHERS:
        return is_spike
    low, high = drawn_range(column)
    is_far = (values < low) | (values > high)
    for row in column.counts:
        is_frequent = row >= max(_SPIKE * row.sum(), _SPIKE_ROWS)
        order = np.argsort(-row, kind="stable")[: _MOST_SPIKES + 1]
        steep = np.flatnonzero((row[order[:-1]] >= _STEEP * row[order[1:]]) & is_frequent[order[:-1]])
        is_spike[order[: steep.max(initial=-1) + 1]] = True
        is_spike |= is_far & is_frequent
    count = int(is_spike.sum())
    return is_spike if count <= _MOST_SPIKES and k - count >= _FEWEST_OTHERS else np.zeros(k, dtype=bool)


def grid_step(values: FloatArray) -> float:
    """The step of the grid that sorted distinct values lie on, 0 if there is none."""
    gaps = np.diff(values)
    if not len(gaps) or not gaps.min() > 0.0:
        return 0.0
    with np.errstate(over="ignore"):
        places = np.concatenate([[0.0], np.cumsum(np.rint(gaps / gaps.min()))])
    if not np.isfinite(places[-1]):
        return 0.0
    steps, heights = places - places.mean(), values - values.mean()
    step = float(steps @ heights / (steps @ steps))
    return step if np.abs(heights - step * steps).max() <= _ON_GRID * step else 0.0


@dataclass(frozen=True)
class Bins:
    """Bars in their order: one for each of some values, or side by side over a range."""

    values: FloatArray  # (k,) the middle of each
    width: float  # 0 if their distances say nothing
    is_exact: bool  # whether a bar counts the rows of its very value

    def count(self, column: ValueCounts) -> IntArray:
        """Rows of each table in each bar, (2, k)."""
        if self.is_exact:
            places = np.minimum(np.searchsorted(self.values, column.values), len(self.values) - 1)
            is_inside = self.values[places] == column.values
        else:
            steps = np.floor((column.values - self.values[0]) / self.width + 0.5)
            places = np.clip(steps, -1, len(self.values)).astype(np.intp)  # far values have no whole number
            is_inside = (places >= 0) & (places < len(self.values))
        counts = [np.bincount(places[is_inside], row[is_inside], len(self.values)) for row in column.counts]
        return np.array(counts).astype(np.intp)


def choose_bins(column: ValueCounts) -> Bins:
    """A bar for each of few values, else bars of one width, a multiple of the step of values that lie on a grid."""
    low, high = drawn_range(column)
    inside = column.values[(column.values >= low) & (column.values <= high)]
    if len(inside) > _FEW:
        return _equal_bins(column, inside)
    least = float(np.diff(inside).min()) if len(inside) > 1 else 0.0
    return Bins(inside, least if least >= _CROWDED * (high - low) else 0.0, is_exact=True)


def _equal_bins(column: ValueCounts, inside: FloatArray) -> Bins:
    """Bars of one width over the range of some values, by the rule of Freedman and Diaconis for the smaller table."""
    low, high = float(inside[0]), float(inside[-1])
    rule = 2.0 * _QUARTILES * robust_spread(column) * column.fewest ** (-1.0 / 3.0)
    width = min(max(rule, (high - low) / _MOST_BARS), (high - low) / _FEWEST_BARS)
    if step := grid_step(inside):
        width = step * max(1.0, round(width / step), np.ceil((high - low) / step / _MOST_BARS))
        first = low - 0.5 * step
    else:
        power = 10.0 ** np.floor(np.log10(width))
        width = power * next(size for size in (1.0, 2.0, 2.5, 5.0, 10.0) if size * power >= (1.0 - 1e-9) * width)
        first = width * np.floor(low / width)
    count = int(np.floor((high - first) / width)) + 1
    return Bins(first + width * (np.arange(count) + 0.5), float(width), is_exact=False)
