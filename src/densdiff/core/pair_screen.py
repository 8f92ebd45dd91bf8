"""Which of very many pairs of columns are worth a full look: those that seem to have changed, and the related ones.

The features of a column are polynomials of its ranks, or its levels one by one; products of matrices tell the mean
products of all features of all columns. What is left out here counts as a pair that was tested without success, so the
level of all tests together holds whatever this screen says.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Features = npt.NDArray[np.float32]
_BLOCK = 512  # features whose products with all others are held at a time
_RELATED = 0.3  # correlation of two features in both samples from which their columns may stand for one another


def promising_pairs(samples: Sequence[Sequence[Features]], most: int) -> list[tuple[int, int]]:
    """The ``most`` pairs whose mean products differ most for their noise, and as many that are most related, in order.

    ``samples`` has the features of each column, (n, q_j), for each of two samples.
    """
    d = len(samples[0])
    widths = [features.shape[1] for features in samples[0]]
    starts = np.cumsum([0, *widths])
    both = [_standardized(columns) for columns in samples]
    changed, related = np.zeros((d, d), dtype=np.float32), np.zeros((d, d), dtype=np.float32)
    first = 0
    while first < d:
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + _BLOCK, side="right")) - 1)
        rows = slice(starts[first], starts[last])
        moments = [_mean_products(features, rows) for features in both]
        noise = sum(spread / len(features) for (_, spread), features in zip(moments, both, strict=True))
        (a, _), (b, _) = moments
        ratio = np.square(a - b) / np.maximum(noise, 1e-12)
        agreeing = np.where(a * b > 0, np.minimum(np.abs(a), np.abs(b)), 0.0)
        own = starts[first:last] - starts[first]
        for found, table in ((changed, ratio), (related, agreeing)):
            found[first:last, first:] = _largest(table, own, starts[first:d] - starts[first])
        first = last
    upper = np.triu_indices(d, 1)
    kept = set(_strongest(changed[upper], most, 0.0)) | set(_strongest(related[upper], most, _RELATED))
    return [(int(upper[0][k]), int(upper[1][k])) for k in sorted(kept)]


def _standardized(columns: Sequence[Features]) -> Features:
    """All features side by side, with mean 0 and variance 1; constant ones are 0."""
    features = np.hstack(columns)
    features -= features.mean(axis=0, dtype=np.float64).astype(np.float32)
    deviation = np.sqrt(np.square(features).mean(axis=0, dtype=np.float64)).astype(np.float32)
    features /= np.where(deviation > 1e-6, deviation, np.inf)
    return features


def _mean_products(features: Features, rows: slice) -> tuple[Features, Features]:
    """Means of products of some features with these and all later ones, and their variances."""
    n, own, others = len(features), features[:, rows], features[:, rows.start :]
    means = (own.T @ others) / n
    squares = (np.square(own).T @ np.square(others)) / n
    return means.astype(np.float32), np.maximum(squares - np.square(means), 0.0).astype(np.float32)


def _largest(table: Any, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> Features:
    """The largest entry of each block of a table, whose blocks start at these rows and columns."""
    return np.asarray(np.maximum.reduceat(np.maximum.reduceat(table, rows, axis=0), columns, axis=1))


def _strongest(values: Features, most: int, least: float) -> list[int]:
    """Places of the largest values, at most so many, that are above ``least``."""
    places = np.argpartition(-values, most)[:most] if len(values) > most else np.arange(len(values))
    return [int(k) for k in places if values[k] > least]
