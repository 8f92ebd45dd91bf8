"""Metrics learned from labels: linear maps after which distances count what separates the classes.

Rows are in standardized columns with weights that sum to 1; a map L is applied as ``rows @ L``, weights of columns as
``rows * weights``.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray

IntArray = npt.NDArray[np.integer]
_FLOOR = 0.05  # of the mean variance: a column without spread inside the classes must not count without limit
_LEAST = 1e-6  # a variance in standardized columns that counts as none


@dataclass(frozen=True)
class ClassMoments:
    """What the metrics need of labelled rows: one pass over them serves both."""

    means: FloatArray  # (K, d), less their own mean
    within: FloatArray  # (d, d), covariance inside the classes, unbiased for equal weights
    shrinkage: float  # of that covariance to a multiple of the identity, as Ledoit and Wolf (2004) choose it
    rows_per_class: float

    @classmethod
    def of(cls, rows: FloatArray, labels: IntArray, weights: FloatArray) -> "ClassMoments":
        n, totals = len(rows), np.bincount(labels, weights)
        indicator = np.equal.outer(np.arange(len(totals)), labels) * weights  # (K, n)
        means = indicator @ rows / totals[:, None]
        left = rows - means[labels]
        freedom = max(1, n - len(totals))
        within = np.asarray((left * weights[:, None]).T @ left * (n / freedom))
        # sum_i w_i |r_i r_i' - S|^2 without a d x d matrix per row, the products with S together being |S|^2
        squared_norms = np.einsum("ij,ij->i", left, left)
        size = float(np.square(within).sum())
        spread = float(weights @ squared_norms**2 - 2.0 * size * freedom / n + size)
        away = float(np.square(within - _level(within) * np.eye(len(within))).sum())
        shrinkage = min(1.0, n * spread / freedom**2 / away) if away > 0 else 1.0
        return cls(means - means.mean(axis=0), within, shrinkage, n / len(totals))

    def ratio(self, means: FloatArray, spread: FloatArray) -> FloatArray:
        """F of each column from class means (K, d) and variances within (d,): about 1 if classes are alike."""
        floor = max(_FLOOR * float(spread.mean()), _LEAST)
        between = np.square(means).sum(axis=0) / (len(means) - 1)
        return np.asarray(between * self.rows_per_class / (spread + floor))


def column_metric(moments: ClassMoments) -> FloatArray:
    """Weights sqrt(1 + sqrt(F)) of the columns, F their variance between over within classes, (d,)."""
    return np.sqrt(1.0 + np.sqrt(moments.ratio(moments.means, np.diag(moments.within))))


def direction_metric(moments: ClassMoments) -> FloatArray:
    """The map that whitens within the classes, then scales each axis of the class means by sqrt(1 + F), (d, d)."""
    values, vectors = np.linalg.eigh(_shrunk(moments))
    white = vectors / np.sqrt(values)
    means = moments.means @ white
    _, axes = np.linalg.eigh(means.T @ means)
    turn = white @ axes
    spread = np.einsum("ij,ij->j", turn, moments.within @ turn)
    return np.asarray(turn * np.sqrt(1.0 + moments.ratio(means @ axes, spread)))


def _level(within: FloatArray) -> float:
    return float(np.trace(within)) / len(within)


def _shrunk(moments: ClassMoments) -> FloatArray:
    identity, level = np.eye(len(moments.within)), _level(moments.within)
    if level <= _LEAST:
        return identity
    return np.asarray((1.0 - moments.shrinkage) * moments.within + max(moments.shrinkage, _LEAST) * level * identity)
