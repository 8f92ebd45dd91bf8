"""Witnesses of all columns of numbers together that need no kernel: likelihood ratios of two normal densities."""

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray

_LEAST_VARIANCE = 1e-9  # of columns whose pooled deviation is about 1
_MOST_PRODUCTS = 1 << 24  # kept by fold, 128 MiB


class Moments(NamedTuple):
    """Mean and covariance of weighted rows, and how far the rows are from the mean, which tells the noise in both."""

    mean: FloatArray  # (d,)
    covariance: FloatArray  # (d, d)
    squared: FloatArray  # (n,) squared distances of the rows from the mean
    omega: FloatArray  # (n,) summing to 1

    @classmethod
    def of(cls, rows: FloatArray, omega: FloatArray) -> Self:
        """The moments of rows (n, d)."""
        omega = omega / omega.sum()
        mean = omega @ rows
        centred = rows - mean
        return cls(mean, (centred.T * omega) @ centred, np.square(centred).sum(axis=1), omega)


class FoldMoments:
    """Moments of any folds of a sample, from sums over each fold that are made once."""

    def __init__(self, rows: FloatArray, omega: FloatArray, folds: npt.NDArray[np.intp], n_folds: int) -> None:
        self._rows, self._omega, self._folds = rows, omega, folds
        self._norms = np.square(rows).sum(axis=1)
        d, members = rows.shape[1], [folds == k for k in range(n_folds)]
        self._products = None
        if n_folds * d**2 <= _MOST_PRODUCTS:
            self._products = np.array([(rows[own].T * omega[own]) @ rows[own] for own in members])  # (K, d, d)

    def of(self, is_used: npt.NDArray[np.bool_]) -> Moments:
        """The moments of the folds that are used, (K,)."""
        own = is_used[self._folds]
        rows, omega = self._rows[own], self._omega[own]
        if self._products is None:
            return Moments.of(rows, omega)
        total, omega = omega.sum(), omega / omega.sum()
        mean = omega @ rows
        covariance = self._products[is_used].sum(axis=0) / total
        covariance -= np.multiply.outer(mean, mean)
        squared = self._norms[own] - 2.0 * (rows @ mean) + mean @ mean
        return Moments(mean, covariance, np.maximum(squared, 0.0), omega)

    def of_columns(self, is_used: npt.NDArray[np.bool_], columns: list[int]) -> Moments:
        """The moments of a few columns."""
        own = is_used[self._folds]
        return Moments.of(self._rows[own][:, columns], self._omega[own])


def shrunk_covariance(covariance: FloatArray, squared: FloatArray, omega: FloatArray) -> FloatArray:
    """A covariance drawn towards a multiple of the identity as far as its noise suggests.

    That is the noise of its entries over their distance from the multiple (Ledoit and Wolf); ``squared`` (n,) are the
    squared distances of the rows from their mean, whose weights sum to 1.
    """
    d, power = len(covariance), float(np.vdot(covariance, covariance))
    mean = float(np.trace(covariance)) / d
    apart = power - d * mean**2  # of the covariance from the multiple of the identity
    noise = float(np.square(omega * squared).sum() - np.square(omega).sum() * power)
    share = min(1.0, max(0.0, noise / apart)) if apart > 0 else 1.0
    shrunk = (1.0 - share) * covariance
    shrunk.flat[:: d + 1] += share * mean
    return shrunk


def linear_witness(x: Moments, y: Moments, points: FloatArray) -> FloatArray:
    """Log ratio of two normal densities with a common covariance at points, (k,)."""
    omega, squared = (0.5 * np.concatenate([x.omega, y.omega]), np.concatenate([x.squared, y.squared]))
    common = shrunk_covariance(0.5 * (x.covariance + y.covariance), squared, omega)
    slope = np.linalg.solve(_safe(common), x.mean - y.mean)
    return np.asarray((points - 0.5 * (x.mean + y.mean)) @ slope)


def quadratic_witness(x: Moments, y: Moments, points: FloatArray) -> FloatArray:
    """Log ratio of two normal densities, each with a covariance of its own, at points, (k,)."""
    logs = []
    for mean, covariance, squared, omega in (x, y):
        root = np.linalg.cholesky(_safe(shrunk_covariance(covariance, squared, omega)))
        scaled = np.linalg.solve(root, (points - mean).T)  # (d, k)
        logs.append(-0.5 * np.square(scaled).sum(axis=0) - np.log(np.diag(root)).sum())
    return np.asarray(logs[0] - logs[1])


def _safe(covariance: FloatArray) -> FloatArray:
    """A covariance that can be inverted."""
    return covariance + _LEAST_VARIANCE * np.eye(len(covariance))


def most_changed_pair(x: Moments, y: Moments) -> tuple[int, int]:
    """The two columns of normal scores whose correlation differs most between the samples."""
    change = np.abs(_correlation(x.covariance) - _correlation(y.covariance))
    a, b = np.unravel_index(int(np.argmax(np.triu(change, 1))), change.shape)
    return int(a), int(b)


def _correlation(covariance: FloatArray) -> FloatArray:
    """Correlations, 0 of constant columns."""
    variance = np.diag(covariance)
    factors = np.where(variance > _LEAST_VARIANCE, 1.0 / np.sqrt(np.maximum(variance, _LEAST_VARIANCE)), 0.0)
    return np.asarray(covariance * factors * factors[:, None])
