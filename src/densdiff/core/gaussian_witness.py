"""Witnesses of all columns of numbers together that need no kernel: likelihood ratios of two normal densities."""

import numpy as np

from densdiff.core.scaling import FloatArray

_LEAST_VARIANCE = 1e-9


def shrunk_covariance(rows: FloatArray, omega: FloatArray) -> FloatArray:
    """Covariance of centred rows, drawn towards a multiple of the identity as far as its noise suggests.

    That is the noise of its entries over their distance from the multiple (Ledoit and Wolf).
    """
    d = rows.shape[1]
    omega = omega / omega.sum()
    covariance = (rows.T * omega) @ rows
    mean = float(np.trace(covariance)) / d
    apart = float(np.square(covariance - mean * np.eye(d)).sum())
    squares = np.square(rows)
    noise = float(
        ((squares.T * np.square(omega)) @ squares).sum() - np.square(omega).sum() * np.square(covariance).sum()
    )
    share = min(1.0, max(0.0, noise / apart)) if apart > 0 else 1.0
    return np.asarray((1.0 - share) * covariance + share * mean * np.eye(d))


def linear_witness(
    x: FloatArray, y: FloatArray, omega: tuple[FloatArray, FloatArray], points: FloatArray
) -> FloatArray:
    """Log ratio of two normal densities with a common covariance at points, (k,)."""
    means = [np.average(rows, axis=0, weights=w) for rows, w in zip((x, y), omega, strict=True)]
    centred = np.vstack([x - means[0], y - means[1]])
    weights = np.concatenate([w / w.sum() for w in omega])
    slope = np.linalg.solve(_safe(shrunk_covariance(centred, weights)), means[0] - means[1])
    return np.asarray((points - 0.5 * (means[0] + means[1])) @ slope)


def quadratic_witness(
    x: FloatArray, y: FloatArray, omega: tuple[FloatArray, FloatArray], points: FloatArray
) -> FloatArray:
    """Log ratio of two normal densities, each with a covariance of its own, at points, (k,)."""
    logs = []
    for rows, w in zip((x, y), omega, strict=True):
        mean = np.average(rows, axis=0, weights=w)
        root = np.linalg.cholesky(_safe(shrunk_covariance(rows - mean, w)))
        scaled = np.linalg.solve(root, (points - mean).T)  # (d, k)
        logs.append(-0.5 * np.square(scaled).sum(axis=0) - np.log(np.diag(root)).sum())
    return np.asarray(logs[0] - logs[1])


def _safe(covariance: FloatArray) -> FloatArray:
    """A covariance that can be inverted, of columns whose pooled deviation is about 1."""
    return covariance + _LEAST_VARIANCE * np.eye(len(covariance))


def most_changed_pair(x: FloatArray, y: FloatArray) -> tuple[int, int]:
    """The two columns of normal scores whose correlation differs most between the samples."""
    with np.errstate(divide="ignore", invalid="ignore"):  # constant columns
        change = np.abs(np.corrcoef(x.T) - np.corrcoef(y.T))
    change = np.nan_to_num(np.triu(change, 1))
    a, b = np.unravel_index(int(np.argmax(change)), change.shape)
    return int(a), int(b)
