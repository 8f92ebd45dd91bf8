"""What a picture of a column, or of two, needs: densities, shares and their difference on a few points, no rows."""

from dataclasses import replace

import numpy as np

from densdiff.core import selection
from densdiff.core.scaling import FloatArray
from densdiff.data.pair import Pair
from densdiff.estimators.lsdd import LSDD
from densdiff.results import Curve, Map, Shares
from densdiff.sources.array_sample import ArraySample
from densdiff.sources.sample import all_at_once
from densdiff.testing.columns import level_counts

ROWS = 5000  # of a table that a picture is made of
_POINTS, _SIDE = 121, 41
_LEVELS = 12  # the most frequent ones are drawn
_TAIL, _PAD = 0.002, 0.06  # left out at each end of a range, and added to it


def fewer(pair: Pair, seed: int) -> Pair:
    """At most `ROWS` rows of each table."""
    x, y = (
        ArraySample(rows[np.sort(selection.draw_rows(seed, len(rows), min(len(rows), ROWS)))])
        for rows in (pair.x, pair.y)
    )
    return replace(Pair.of(x, y, pair.names, pair.levels, pair.notes), varying=pair.varying)


def curve(pair: Pair, level: float, seed: int) -> Curve:
    """Of one column of numbers."""
    few = fewer(pair, seed)
    model = LSDD(random_state=seed).fit_pair(few)
    points = _points(pair if all_at_once(pair.x, pair.y) else few, 0, _POINTS)
    band = model.confidence_band(points, level)
    p, q = model.densities(points)
    return Curve(points, p, q, -band.estimate, -band.upper, -band.lower)


def shares(pair: Pair) -> Shares:
    """Of one column of categories."""
    levels, counts = _frequent(pair, 0)
    return Shares(levels, counts[0], counts[1])


def map_of(pair: Pair, seed: int) -> Map:
    """Of two columns."""
    pair = fewer(pair, seed)
    axes = [_axis(pair, j) for j in (0, 1)]
    x, y = (grid for grid, _ in axes)
    labels = [names if names is not None else grid for grid, names in axes]
    rows = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    if all(pair.levels) and pair.levels:
        values = [np.array([(part == row).all(axis=1).mean() for row in rows]) for part in (pair.x[:], pair.y[:])]
        return Map(labels[0], labels[1], (values[1] - values[0]).reshape(len(y), len(x)))
    model = LSDD(random_state=seed).fit_pair(pair)
    return Map(labels[0], labels[1], -model.difference_at(rows).reshape(len(y), len(x)))


def _points(pair: Pair, j: int, count: int) -> FloatArray:
    values = np.concatenate([pair.x[:][:, j], pair.y[:][:, j]])
    low, high = np.quantile(values, [_TAIL, 1.0 - _TAIL])
    pad = _PAD * (high - low) or 0.5 * abs(high) or 0.5
    return np.linspace(low - pad, high + pad, count)


def _axis(pair: Pair, j: int) -> tuple[FloatArray, tuple[str, ...] | None]:
    """Values at which a column is drawn, and the names of its levels."""
    of = pair.levels[j] if pair.levels else None
    if of is None:
        return _points(pair, j, _SIDE), None
    names, _ = _frequent(pair, j)
    return np.array([float(of.index(name)) for name in names]), names


def _frequent(pair: Pair, j: int) -> tuple[tuple[str, ...], FloatArray]:
    of = pair.levels[j] or ()
    counts = level_counts(pair, j)
    kept = np.sort(np.argsort(-counts.sum(axis=0), kind="stable")[:_LEVELS])
    return tuple(of[k] for k in kept), counts[:, kept] / counts.sum(axis=1, keepdims=True)
