"""Features of rows that are blind to labels: of each column, and of all columns together.

A column of numbers has its normal score and three polynomials, a column of levels its indicators; the quadratic forms
of all columns see a change of covariance that no kernel sees in many columns. They are made of some pooled rows and
can then be had of any rows; a test compares their means in X and in Y.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from densdiff.core.scaling import FloatArray

Features = npt.NDArray[np.float32]  # (k, q)

_WEIGHTS = 1.0 / np.arange(1.0, 5.0)  # of the features of a number: a changed mean is likelier than a changed wave
_LEVELS = 6  # the most frequent ones; the others are one
_SHRINKAGES = (0.1, 1.0)  # of the pooled covariance, in mean eigenvalues
_MOST_AXES = 1000  # of the pooled covariance


class NumberFeatures:
    """Of a column of numbers, by its pooled ranks: normal score, its square, the third and fourth Legendre polynomial.

    Each has mean 0, and the deviations fall as `_WEIGHTS` do. Features that do not vary are left out.
    """

    def __init__(self, knots: FloatArray, counts: npt.NDArray[np.int64]) -> None:
        """From ascending values and how many rows have each."""
        self._knots, n = knots, counts.sum()
        below = np.cumsum(counts) - counts
        self._shares = (below + 0.5 * counts) / n
        raw = _of_shares(self._shares)  # (knots, 4)
        self._mean = counts @ raw / n
        deviation = np.sqrt(counts @ np.square(raw - self._mean) / n)
        self._kept = deviation > 1e-9
        self._factor = (_WEIGHTS / np.where(self._kept, deviation, 1.0))[self._kept]

    @classmethod
    def of(cls, values: FloatArray) -> "NumberFeatures":
        """From the values of some rows."""
        return cls(*np.unique(values, return_counts=True))

    def __call__(self, values: FloatArray) -> Features:
        """The features of any values, (k, <= 4); one of zeros if none varies. A missing value has their mean, 0."""
        if not self._kept.any():
            return np.zeros((len(values), 1), dtype=np.float32)
        raw = _of_shares(np.interp(values, self._knots, self._shares))
        features = np.asarray(((raw - self._mean)[:, self._kept] * self._factor), dtype=np.float32)
        return np.nan_to_num(features, copy=False)


def _of_shares(shares: FloatArray) -> FloatArray:
    """The features of values by the share of pooled rows below them, not yet scaled, (k, 4)."""
    u, score = 2.0 * shares - 1.0, ndtri(shares)
    squared = np.square(u)
    third, fourth = (2.5 * squared - 1.5) * u, (4.375 * squared - 3.75) * squared + 0.375
    return np.column_stack([score, np.square(score), third, fourth])


class LevelFeatures:
    """Of a column of codes: indicators of the most frequent levels and of all others, centered and of unit variance."""

    def __init__(self, counts: npt.NDArray[np.int64]) -> None:
        """From how many rows have each level."""
        order = np.argsort(-counts, kind="stable")
        self._rank = np.minimum(np.argsort(order, kind="stable"), _LEVELS)
        shares = np.bincount(self._rank, counts) / counts.sum()
        self._kept = np.flatnonzero((shares > 0) & (shares < 1))
        self._shares = shares[self._kept]
        self._deviations = np.sqrt(self._shares * (1.0 - self._shares))

    @classmethod
    def of(cls, codes: FloatArray, levels: int) -> "LevelFeatures":
        """From the codes of some rows."""
        return cls(np.bincount(codes.astype(np.intp), minlength=levels))

    def __call__(self, values: FloatArray) -> Features:
        """The indicators of any codes, (k, <= 7); one of zeros if there is one level only."""
        if not len(self._kept):
            return np.zeros((len(values), 1), dtype=np.float32)
        indicators = self._rank[values.astype(np.intp)][:, None] == self._kept
        return np.asarray((indicators - self._shares) / self._deviations, dtype=np.float32)


class QuadraticForms:
    """Quadratic forms z'Mz of the first feature of each column, with M of the pooled covariance S of z.

    M is 1, S, and 1 / (S + l) for two l: the length of a row, how far it lies along what columns have in common, and
    how far off it.
    """

    names = (
        "lengths of rows",
        "covariance of all columns",
        "distances of rows from the covariance of all columns",
        "distances of rows from the covariance of all columns",
    )
    squared = "spread of the lengths of rows"  # by the square of the first form's score

    def __init__(self, values: FloatArray, axes: FloatArray) -> None:
        """From the eigenvalues of S, the largest first, (r,), and their axes, (d, r)."""
        self.values, self.axes = values, axes
        shrinkages = [share * float(values.mean()) if len(values) else 1.0 for share in _SHRINKAGES]
        self._along = np.column_stack([values, *(1.0 / (values + more) for more in shrinkages)])  # (r, 3)
        self._off = np.array([0.0, *(1.0 / more for more in shrinkages)])

    @classmethod
    def of(cls, z: Features) -> "QuadraticForms":
        """From the first features of some rows, (n, d)."""
        n, d = z.shape
        z = z.astype(np.float64)
        values, vectors = np.linalg.eigh(z.T @ z / n if d <= n else z @ z.T / n)
        values, vectors = values[::-1][:_MOST_AXES], vectors[:, ::-1][:, :_MOST_AXES]
        kept = values > 1e-9 * values[0] if values[0] > 0 else np.zeros(len(values), dtype=bool)
        values, axes = values[kept], vectors[:, kept]
        return cls(values, axes if d <= n else (z.T @ axes) / np.sqrt(n * values))

    @classmethod
    def of_equal_columns(cls, d: int) -> "QuadraticForms":
        """As if all columns had one correlation, whatever the rows.

        A covariance of the rows of one sample fits these better than any others, which a test would take for a
        difference.
        """
        return cls(np.ones(1), np.full((d, 1), d**-0.5))

    def __call__(self, z: Features) -> FloatArray:
        """The values of the forms at rows, (k, 4)."""
        lengths = np.square(z).sum(axis=1, dtype=np.float64)
        squares = np.square(z @ self.axes)
        off = np.maximum(lengths - squares.sum(axis=1), 0.0)
        return np.column_stack([lengths, squares @ self._along + off[:, None] * self._off])


@dataclass(frozen=True)
class RowFeatures:
    """All features of rows of numbers and codes, codes last."""

    of_columns: Sequence[NumberFeatures | LevelFeatures]
    forms: QuadraticForms
    of_forms: Sequence[NumberFeatures]

    @classmethod
    def of(cls, rows: FloatArray, levels: npt.NDArray[np.intp]) -> tuple["RowFeatures", list[Features]]:
        """Made of some pooled rows, whatever their labels; and the features of these rows' columns."""
        first = rows.shape[1] - len(levels)
        of_columns: list[NumberFeatures | LevelFeatures] = [NumberFeatures.of(column) for column in rows.T[:first]]
        of_columns += [LevelFeatures.of(column, k) for column, k in zip(rows.T[first:], levels, strict=True)]
        columns = [each(column) for each, column in zip(of_columns, rows.T, strict=True)]
        leading = leading_features(columns)
        forms = QuadraticForms.of(leading)
        return cls(of_columns, forms, [NumberFeatures.of(values) for values in forms(leading).T]), columns

    def columns(self, rows: FloatArray) -> list[Features]:
        """The features of each column, (k, q) each."""
        return [each(column) for each, column in zip(self.of_columns, rows.T, strict=True)]

    def together(self, columns: Sequence[Features]) -> Features:
        """The normal score of each quadratic form and the square of the first, (k, 5), from the columns' features."""
        values = self.forms(leading_features(columns))
        scores = [each(column) for each, column in zip(self.of_forms, values.T, strict=True)]
        lengths = scores[0]
        squared = lengths[:, 1] if lengths.shape[1] > 1 else np.zeros(len(lengths), dtype=np.float32)
        return np.column_stack([*(each[:, 0] for each in scores), squared])


def leading_features(columns: Sequence[Features]) -> Features:
    """The first feature of each column, (k, d)."""
    return np.column_stack([each[:, 0] for each in columns])
