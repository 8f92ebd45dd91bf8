"""One model for a whole series: every subsequence as a few features whose mean differences are the distance E6.

What is done with the features lives in `scan`; those of a stream are made in `stream`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from densdiff.core import kernel, selection
from densdiff.core.scaling import FloatArray, Scaling, pooled_scaling
from densdiff.estimators.lsdd import LSDD
from densdiff.progress import tell
from densdiff.solvers.centers import CenterKernel

CENTERS = 150
STRENGTH = 0.1  # lam in units of G's mean row sum
MOST_FEATURES = 12
KEPT = 0.98  # of the variance of the features
_PART = 2000  # rows that tell the principal axes
_BLOCK = 4096
_EXTREME = 300  # a power of two


@dataclass(frozen=True)
class SeriesFeatures:
    """Features of the subsequences y(t), .., y(t + lag - 1), centred, and the model they come from."""

    values: FloatArray  # (T - lag + 1, p)
    n_own: int  # of subsequences; the others are of single samples
    vectors: FloatArray  # (T - lag + 1, d lag), in inner units
    sigma: float
    lam: float
    n_centers: int
    unit: float  # a user's sigma is one in inner units times this


def subsequences(rows: FloatArray, lag: int, spacing: int = 1) -> FloatArray:
    """The vectors [y(t), y(t + spacing), .., y(t + (lag - 1) spacing)], one for each t at which it ends, (N, d lag)."""
    if lag == 1:
        return rows
    span = (lag - 1) * spacing + 1
    windows = np.lib.stride_tricks.sliding_window_view(rows, span, axis=0)[..., ::spacing]
    return windows.reshape(len(rows) - span + 1, -1)


def moderate_units(rows: FloatArray) -> tuple[FloatArray, npt.NDArray[np.intc]]:
    """Rows in units in which squares and their sums neither overflow nor vanish, and the powers of two that do it.

    Only columns with extreme units are touched.
    """
    exponent = np.frexp(np.abs(rows).max(axis=0))[1]
    exponent = np.where(np.abs(exponent) < _EXTREME, 0, exponent).astype(np.intc)
    return (np.ldexp(rows, -exponent) if exponent.any() else rows), exponent


def own_scaling(rows: FloatArray, standardize: bool) -> tuple[Scaling, FloatArray]:
    """Scaling of one sample by itself, and its rows scaled."""
    even = np.broadcast_to(1.0 / len(rows), len(rows))
    scaling, inner, _ = pooled_scaling(rows, rows, even, even, standardize)
    return scaling, inner


def own_sigma(centers: FloatArray, model: LSDD, unit: float) -> float:
    """Sigma in inner units: the model's, where it is a number, else the median distance of the centers."""
    sigmas = model.settings().sigmas
    return kernel.median_distance(centers) if sigmas is None else float(np.median(sigmas)) / unit


def own_lam(center_kernel: CenterKernel, sigma: float, model: LSDD) -> float:
    """Lam: the model's, where it is a number, else a share of G's mean row sum."""
    lams = model.settings().lams
    return STRENGTH * center_kernel.mean_row_sum(sigma) if lams is None else float(np.median(lams))


def principal_axes(features: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Variances (b,) and axes (b, b) of features (k, b), the widest first."""
    spread, axes = np.linalg.eigh(np.cov(features.T).reshape(features.shape[1], -1))
    return np.maximum(spread[::-1], 0.0), axes[:, ::-1]


def series_features(rows: FloatArray, lag: int, model: LSDD, seed: int) -> SeriesFeatures:
    """Kernels on some subsequences, turned so that squared mean differences are E6, the leading axes kept.

    With a lag, features of single samples stand beside them, of the same variance in all: what changes in the columns
    of one sample is hard to see among so many more.
    """
    scaling, inner = own_scaling(rows, model.standardize)
    vectors = subsequences(inner, lag)
    values, sigma, lam, n_centers = _features(vectors, model, scaling.sigma_unit, seed, MOST_FEATURES)
    n_own = values.shape[1]
    if lag > 1:
        of_samples = _features(inner, model, scaling.sigma_unit * np.sqrt(lag), seed, MOST_FEATURES // 2)[0]
        of_samples = of_samples[(lag - 1) // 2 :][: len(values)]  # the middle of each subsequence
        size = values.var(axis=0).sum() / max(of_samples.var(axis=0).sum(), np.finfo(float).tiny)
        values = np.hstack([values, of_samples * np.sqrt(size)])
    unit = scaling.sigma_unit
    return SeriesFeatures(values - values.mean(axis=0), n_own, vectors, sigma * unit, lam, n_centers, unit)


def _features(
    vectors: FloatArray, model: LSDD, unit: float, seed: int, most: int
) -> tuple[FloatArray, float, float, int]:
    """The values (N, p) of at most ``most`` features, sigma in inner units, lam and the number of centers."""
    centers = vectors[selection.draw_rows(seed, len(vectors), model.n_centers)]
    sigma = own_sigma(centers, model, unit)
    center_kernel = CenterKernel(centers, kernel.radius(vectors), sigma)
    lam = own_lam(center_kernel, sigma, model)
    drawn = vectors[selection.draw_rows(seed, len(vectors), _PART)]
    spread, axes = principal_axes(center_kernel.features(sigma, lam, drawn))
    share = np.cumsum(spread) / max(float(spread.sum()), np.finfo(float).tiny)
    n_axes = min(most, int(np.searchsorted(share, KEPT)) + 1, len(spread))
    values = np.empty((len(vectors), n_axes))
    starts = range(0, len(vectors), _BLOCK)
    for start in tell("features of the series", starts, len(starts)):
        block = slice(start, start + _BLOCK)
        values[block] = center_kernel.rotated_features(sigma, lam, vectors[block], axes[:, :n_axes])
    return values, sigma, lam, len(centers)
