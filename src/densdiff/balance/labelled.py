"""Labelled rows in inner units, and the moment equations that shares of a mixture solve.

How rows get their features is decided in `scores` and `mixture`.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray, pooled_scaling
from densdiff.core.simplex import Moments

IntArray = npt.NDArray[np.intp]
_CONSTANT = 1e-12  # a variance of shares that is rounding


@dataclass(frozen=True)
class LabelledSample:
    """Labelled rows in inner units; ``omega`` sums to 1 within each class."""

    rows: FloatArray  # (n, d)
    codes: IntArray  # (n,) from 0 to K - 1
    omega: FloatArray  # (n,)

    @property
    def n_classes(self) -> int:
        return int(self.codes.max()) + 1

    @property
    def targets(self) -> FloatArray:
        """1 in the column of each row's class, else 0, (n, K)."""
        return np.eye(self.n_classes)[self.codes]

    @property
    def indicator(self) -> FloatArray:
        """Weights of the rows in each class's mean, (n, K)."""
        return np.asarray(self.targets * self.omega[:, None])

    @property
    def balanced(self) -> FloatArray:
        """Weights that sum to 1, as much for each class, (n,)."""
        return np.asarray(self.omega / self.n_classes)

    def fold_weights(self, groups: IntArray) -> FloatArray:
        """Balanced weights without the rows of each fold in turn, and last of all rows, (folds + 1, n)."""
        weights = np.empty((int(groups.max()) + 2, len(self.codes)))
        for fold, of_fold in enumerate(weights):
            kept = np.where(groups == fold, 0.0, self.omega)
            of_fold[:] = kept / np.bincount(self.codes, kept)[self.codes] / self.n_classes
        return weights

    def select(self, chosen: npt.NDArray[np.bool_] | IntArray) -> "LabelledSample":
        """The chosen rows, their weights scaled to sum to 1 within each class again."""
        codes, omega = self.codes[chosen], self.omega[chosen]
        return LabelledSample(self.rows[chosen], codes, omega / np.bincount(codes, omega)[codes])

    def draw(self, count: int, seed: int) -> IntArray:
        """Numbers of at most so many rows, drawn evenly from the classes, in order; all if there are no more."""
        if len(self.codes) <= count:
            return np.arange(len(self.codes))
        order = np.random.default_rng([seed, 8]).permutation(len(self.codes))
        by_class = order[np.argsort(self.codes[order], kind="stable")]
        starts = np.searchsorted(self.codes[by_class], np.arange(self.n_classes))
        turn = np.arange(len(by_class)) - starts[self.codes[by_class]]  # each row's place within its class
        return np.sort(by_class[np.argsort(turn, kind="stable")[:count]])


def moment_equations(features: FloatArray, labelled: LabelledSample, new: FloatArray) -> Moments:
    """Means and noise of features (n, K) of labelled rows by class and (m, K) of new rows."""
    indicator = labelled.indicator
    means = indicator.T @ features  # (K classes, K features)
    residuals = features - means[labelled.codes]
    squared_weights = np.square(indicator).sum(axis=0)  # (K,) sum of squared weights in each class, below 1
    scaled = residuals * (labelled.omega / np.sqrt(1.0 - squared_weights[labelled.codes]))[:, None]
    of_classes = np.array(
        [scaled[labelled.codes == c].T @ scaled[labelled.codes == c] for c in range(len(squared_weights))]
    )
    around = new - new.mean(axis=0)
    of_target = around.T @ around / (len(new) * max(1, len(new) - 1))
    of_rows = of_classes / squared_weights[:, None, None]
    return Moments(means.T, new.mean(axis=0), of_classes, of_target, of_rows, len(new), 1.0 / squared_weights)


def variance_of_shares(features: FloatArray, labelled: LabelledSample, new: FloatArray, shares: FloatArray) -> float:
    """Sum of the variances of shares from moment equations, about the shares that the new rows themselves have.

    How many rows of each class a sample happens to hold is no error of an estimate: the noise of the new rows is that
    within the classes. ``shares`` (K,) are about the true ones.
    """
    moments = moment_equations(features, labelled, new)
    within = np.tensordot(shares, np.asarray(moments.of_rows), axes=1) / len(new)
    inside = replace(moments, of_target=within, of_rows=None)
    return float(np.square(inside.standard_errors(shares)).sum())


def encode_columns(rows: FloatArray, new: FloatArray, omega: FloatArray, levels: list[int]) -> FloatArray:
    """Rows, then new ones, with a column for each level of a category, (n + m, d').

    ``levels`` says how many each column has, 0 for numbers. The columns of one category have a variance of 1 together,
    as a standardized column of numbers has. ``omega`` sums to 1; a code of -1 is no level, zeros in all columns.
    """
    codes = np.array(levels) > 0
    numbers = np.concatenate([rows, new])[:, ~codes]
    if not codes.all():
        even = np.broadcast_to(1.0 / len(new), len(new))
        numbers = np.concatenate(pooled_scaling(rows[:, ~codes], new[:, ~codes], omega, even, True)[1:])
    weights = np.concatenate([len(rows) * omega, np.ones(len(new))]) / len(numbers)
    blocks = [numbers]
    for column, count in zip(np.concatenate([rows, new]).T, levels, strict=True):
        indicators = np.equal.outer(column, np.arange(count)).astype(np.float64)
        shares = weights @ indicators
        variance = float(shares @ (1.0 - shares))
        if variance > _CONSTANT:
            blocks.append(indicators / np.sqrt(variance))
    inner = np.hstack(blocks)
    return inner if inner.shape[1] else np.zeros((len(inner), 1))
