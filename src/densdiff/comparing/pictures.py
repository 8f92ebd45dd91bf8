"""What a picture of a column, or of two, needs: densities, shares and their difference on a few points, no rows."""

import numpy as np

from densdiff.core.bars import ValueCounts, choose_bins, drawn_range, find_spikes, is_rounded, needs_bars
from densdiff.core.resample import CountArray
from densdiff.core.scaling import FloatArray
from densdiff.core.selection import IntArray
from densdiff.core.separation import newcombe_interval
from densdiff.data.pair import Pair
from densdiff.estimators.difference import DensityDifference
from densdiff.results import Bars, Curve, Map, Shares
from densdiff.solvers.column import LevelColumn, NumberColumn, level_counts, picture_rows
from densdiff.solvers.fit import Fit
from densdiff.solvers.uncertainty import common_model, density_band, filter_width
from densdiff.sources.sample import all_at_once

_POINTS, _SIDE = 121, 41
_MAP_ROWS = 1000  # of a table that a map is made of
_LEVELS = 12  # at most drawn
_COUNTED_ROWS = 100_000  # of a table in memory
_TAIL, _PAD = 0.002, 0.06  # left out at each end of a range, and added to it


def number_picture(column: NumberColumn, level: float) -> Curve | Bars:
    """A column of numbers: bars where its values are few, rounded or repeated, else curves."""
    pair = _drawn_rows(column)
    a, b = (rows[:][:, 0] for rows in (pair.x, pair.y))
    largest = max(np.abs(a).max(), np.abs(b).max(), np.finfo(float).tiny)
    unit = float(2.0 ** np.floor(np.log2(largest)))  # squares of values in this unit are finite
    counts = ValueCounts.of(a / unit, b / unit)
    if needs_bars(counts):
        return _bars(counts, unit, level, _drawn_note(column.pair, pair))
    fit = column.picture_fit()
    if is_rounded(counts, filter_width(common_model(fit)) * fit.data.scaling.sigma_unit / unit):
        return _bars(counts, unit, level, _drawn_note(column.pair, pair))
    return _curve(fit, counts, unit, level)


def _drawn_rows(column: NumberColumn) -> Pair:
    """All rows of a column, or enough of them for a picture."""
    pair = column.pair
    if not all_at_once(pair.x, pair.y):
        return picture_rows(pair, column.seed)
    return pair if max(len(pair.x), len(pair.y)) <= _COUNTED_ROWS else picture_rows(pair, column.seed, _COUNTED_ROWS)


def _drawn_note(pair: Pair, drawn: Pair) -> tuple[str, ...]:
    """That a picture is of some rows only."""
    if len(drawn.x) == len(pair.x) and len(drawn.y) == len(pair.y):
        return ()
    return (f"drawn from {len(drawn.x)} and {len(drawn.y)} rows",)


def _curve(fit: Fit, counts: ValueCounts, unit: float, level: float) -> Curve:
    """Both densities and their difference with a simultaneous band of this level, all with one bandwidth."""
    low, high = drawn_range(counts)
    pad = _PAD * (high - low)
    points = np.linspace(low - pad, high + pad, _POINTS)
    is_outside = (counts.values < points[0]) | (counts.values > points[-1])
    outside_a, outside_b = counts.shares[:, is_outside].sum(axis=1).tolist()
    points = unit * points
    drawn = density_band(fit, fit.data.scaling.apply(points[:, None]), level)
    notes = (drawn.note,) if drawn.note else ()
    a, b = drawn.p, drawn.q
    return Curve(points, a, b, b - a, -drawn.upper, -drawn.lower, (outside_a, outside_b), notes)


def _bars(counts: ValueCounts, unit: float, level: float, notes: tuple[str, ...]) -> Bars:
    """Shares in bars with limits that hold all at once with this level, and the spikes between them."""
    is_spike, sizes = find_spikes(counts), counts.counts.sum(axis=1)
    others = counts.without(is_spike)
    bins = choose_bins(others)
    in_bars = bins.count(others)
    a, b = in_bars / sizes[:, None]
    outside_a, outside_b = ((others.counts.sum(axis=1) - in_bars.sum(axis=1)) / sizes).tolist()
    each = 1.0 - (1.0 - level) / len(a)
    limits = np.array([newcombe_interval(q, p, sizes[1], sizes[0], each) for p, q in zip(a, b, strict=True)])  # (k, 2)
    spikes = None
    if is_spike.any():
        names = tuple(f"exactly {value:.6g}" for value in (unit * counts.values[is_spike]).tolist())
        spikes = Shares(names, *counts.shares[:, is_spike])
    return Bars(
        values=unit * bins.values,
        width=unit * bins.width,
        a=a,
        b=b,
        difference=b - a,
        lower=limits[:, 0],
        upper=limits[:, 1],
        is_exact=bins.is_exact,
        spikes=spikes,
        outside=(outside_a, outside_b),
        notes=notes,
    )


def shares(column: LevelColumn) -> Shares:
    """The levels of a column of categories whose shares of the tables differ most, those first; others are pooled."""
    counts = column.counts
    a, b = counts / counts.sum(axis=1, keepdims=True)
    order = np.argsort(-np.abs(b - a).round(12), kind="stable")  # of two levels both change by the same
    shown = order if len(order) <= _LEVELS else order[: _LEVELS - 1]
    return Shares(tuple(column.levels[k] for k in shown), a[shown], b[shown], len(order) - len(shown))


def map_of(pair: Pair, seed: int) -> Map:
    """The difference of two columns at the points of a grid."""
    pair = picture_rows(pair, seed, _MAP_ROWS)
    (x, labels_x), (y, labels_y) = (_axis(pair, j) for j in (0, 1))
    rows = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    if all(pair.levels) and pair.levels:
        a, b = (np.array([(table == row).all(axis=1).mean() for row in rows]) for table in (pair.x[:], pair.y[:]))
        difference = b - a
    else:
        difference = -DensityDifference(random_state=seed).fit_pair(pair).difference_at(rows)
    return Map(labels_x, labels_y, difference.reshape(len(y), len(x)))


def _points(pair: Pair, j: int, count: int) -> FloatArray:
    """Evenly spaced values over the range of a column of numbers but for its tails, (count,)."""
    values = np.concatenate([pair.x[:][:, j], pair.y[:][:, j]])
    low, high = np.quantile(values, [_TAIL, 1.0 - _TAIL])
    pad = _PAD * (high - low) or 0.5 * abs(high) or 0.5
    return np.linspace(low - pad, high + pad, count)


def _axis(pair: Pair, j: int) -> tuple[FloatArray, FloatArray | tuple[str, ...]]:
    """Values at which a column is drawn, and what they are called: themselves, or the names of levels."""
    levels = pair.levels[j] if pair.levels else None
    if levels is None:
        points = _points(pair, j, _SIDE)
        return points, points
    frequent = _most_frequent(level_counts(pair, j))
    return frequent.astype(np.float64), tuple(levels[k] for k in frequent)


def _most_frequent(counts: CountArray) -> IntArray:
    """Numbers of the levels that are drawn, in their order, from counts (2, K)."""
    return np.sort(np.argsort(-counts.sum(axis=0), kind="stable")[:_LEVELS])
