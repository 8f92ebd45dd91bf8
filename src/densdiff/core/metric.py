"""Metrics learned from labels: linear maps after which distances count what separates the classes.

Rows are in standardized columns with weights that sum to 1; a map L is applied as ``rows @ L``.
"""

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray

IntArray = npt.NDArray[np.integer]
_FLOOR = 0.05  # of the mean variance: a column without spread inside the classes must not count without limit
_LEAST = 1e-6  # a variance in standardized columns that counts as none


def column_metric(rows: FloatArray, labels: IntArray, weights: FloatArray) -> FloatArray:
    """The map that multiplies each column by sqrt(1 + sqrt(F)), F its variance between over within classes, (d, d)."""
    means, within = _split(rows, labels, weights)
    spread = np.diag(_scatter(within, weights, labels))
    return np.diag(np.sqrt(1.0 + np.sqrt(_ratio(np.square(means), spread, labels))))


def direction_metric(rows: FloatArray, labels: IntArray, weights: FloatArray) -> FloatArray:
    """The map that whitens within the classes, then scales each axis of the class means by sqrt(1 + F), (d, d).

    The covariance within classes is shrunk to a multiple of the identity as Ledoit and Wolf (2004) do.
    """
    _, within = _split(rows, labels, weights)
    values, vectors = np.linalg.eigh(_shrunk(within, weights, labels))
    white = vectors / np.sqrt(values)
    means, within = _split(rows @ white, labels, weights)
    _, axes = np.linalg.eigh(means.T @ means)
    spread = np.diag(axes.T @ _scatter(within, weights, labels) @ axes)
    return np.asarray(white @ axes * np.sqrt(1.0 + _ratio(np.square(means @ axes), spread, labels)))


def _split(rows: FloatArray, labels: IntArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Class means less their own mean, (K, d), and rows less their class's mean, (n, d)."""
    totals = np.bincount(labels, weights)
    indicator = np.equal.outer(np.arange(len(totals)), labels) * weights  # (K, n)
    means = indicator @ rows / totals[:, None]
    return means - means.mean(axis=0), rows - means[labels]


def _scatter(within: FloatArray, weights: FloatArray, labels: IntArray) -> FloatArray:
    """Covariance within classes, (d, d), unbiased for equal weights."""
    return np.asarray((within * weights[:, None]).T @ within * (len(labels) / _freedom(labels)))


def _freedom(labels: IntArray) -> int:
    return max(1, len(labels) - int(labels.max()) - 1)


def _ratio(squares: FloatArray, spread: FloatArray, labels: IntArray) -> FloatArray:
    """F of each column from squared class means (K, d) and variances within (d,): about 1 if classes are alike."""
    classes = len(squares)
    floor = max(_FLOOR * float(spread.mean()), _LEAST)
    return np.asarray(squares.sum(axis=0) / (classes - 1) * (len(labels) / classes) / (spread + floor))


def _shrunk(within: FloatArray, weights: FloatArray, labels: IntArray) -> FloatArray:
    n, d = within.shape
    scatter = _scatter(within, weights, labels)
    level = float(np.trace(scatter)) / d
    if level <= _LEAST:
        return np.eye(d)
    squared_norms = np.square(within).sum(axis=1)
    # sum_i w_i |r_i r_i' - S|^2 without a d x d matrix per row
    mixed = ((within @ scatter) * within).sum(axis=1)
    spread = float(weights @ (squared_norms**2 - 2.0 * mixed + np.square(scatter).sum()))
    away = float(np.square(scatter - level * np.eye(d)).sum())
    share = min(1.0, n * spread / _freedom(labels) ** 2 / away) if away > 0 else 1.0
    return np.asarray((1.0 - share) * scatter + max(share, _LEAST) * level * np.eye(d))
