"""What a picture of a column, or of two, needs: densities, shares and their difference on a few points, no rows."""

import numpy as np

from densdiff.core.resample import CountArray
from densdiff.core.scaling import FloatArray
from densdiff.core.selection import IntArray
from densdiff.data.pair import Pair
from densdiff.estimators.lsdd import LSDD
from densdiff.results import Curve, Map, Shares
from densdiff.solvers.column import LevelColumn, NumberColumn, level_counts, picture_rows
from densdiff.solvers.uncertainty import band
from densdiff.sources.sample import all_at_once

_POINTS, _SIDE = 121, 41
_LEVELS = 12  # the most frequent ones are drawn
_TAIL, _PAD = 0.002, 0.06  # left out at each end of a range, and added to it


def curve(column: NumberColumn, level: float) -> Curve:
    """Both densities of a column of numbers, and their difference with a simultaneous band of this level."""
    fit = column.picture_fit()
    pair = column.pair if all_at_once(column.pair.x, column.pair.y) else fit.data.checked
    points = _points(pair, 0, _POINTS)  # (k,)
    inner = fit.data.scaling.apply(points[:, None])  # (k, 1)
    limits = band(fit, inner, level, simultaneous=True)
    a, b = fit.density_values(inner)
    return Curve(points, a, b, -limits.estimate, -limits.upper, -limits.lower)


def shares(column: LevelColumn) -> Shares:
    """The most frequent levels of a column of categories and their shares of each table."""
    counts = column.counts
    frequent = _most_frequent(counts)
    a, b = counts[:, frequent] / counts.sum(axis=1, keepdims=True)
    return Shares(tuple(column.levels[k] for k in frequent), a, b)


def map_of(pair: Pair, seed: int) -> Map:
    """The difference of two columns at the points of a grid."""
    pair = picture_rows(pair, seed)
    (x, labels_x), (y, labels_y) = (_axis(pair, j) for j in (0, 1))
    rows = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    if all(pair.levels) and pair.levels:
        a, b = (np.array([(table == row).all(axis=1).mean() for row in rows]) for table in (pair.x[:], pair.y[:]))
        difference = b - a
    else:
        difference = -LSDD(random_state=seed).fit_pair(pair).difference_at(rows)
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
