"""Gaussian features: squared distances, the sigma ladder that squares instead of calling exp, and its range."""

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist, pdist

from densdiff.core.scaling import FloatArray

_SQUARINGS_PER_EXP = 12  # k squarings multiply a relative error by 2^k: 12 keep 1e-12
_EXPANSION_TOLERANCE = 1e-11
_QUANTILES = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5)
_RUN_RATIO = 256.0
_MEDIAN_ROWS = 1000
_SAME = 1e-20  # a squared distance in inner units that is rounding
_TOP, _BOTTOM = np.sqrt(2.0), 0.6  # of the largest and the smallest quantile


def needs_direct_differences(radius: float, sigma: float, d: int) -> bool:
    """Whether |x|^2 + |c|^2 - 2xc would lose digits that matter at this sigma; with few columns it gains nothing."""
    return d <= 3 or not 4 * np.finfo(np.float64).eps * radius**2 <= _EXPANSION_TOLERANCE * sigma**2


def radius(*parts: FloatArray) -> float:
    """The largest distance of any row from the origin, infinite if its square is."""
    with np.errstate(over="ignore"):
        return float(max(np.square(rows).sum(axis=1).max(initial=0.0) for rows in parts) ** 0.5)


def squared_distances(rows: FloatArray, centers: FloatArray, direct: bool) -> FloatArray:
    """|x_i - c_l|^2, (k, b), by direct differences or by one matrix product on centered data."""
    if direct:
        with np.errstate(over="ignore"):
            return np.asarray(cdist(rows, centers, "sqeuclidean"))
    squared = rows @ (-2.0 * centers.T)  # (k, b)
    squared += np.einsum("ij,ij->i", rows, rows)[:, None]
    squared += np.einsum("ij,ij->i", centers, centers)
    return np.maximum(squared, 0.0, out=squared)


def _squarings(sigmas: FloatArray) -> list[int]:
    """For each sigma, widest first: how many squarings of the previous features give it; 0 means a new exp."""
    plan, since = [0], 0
    for wide, narrow in itertools.pairwise(sigmas):
        ratio = (wide / narrow) ** 2
        k = round(np.log2(ratio))
        reachable = k >= 1 and since + k <= _SQUARINGS_PER_EXP and abs(ratio / 2.0**k - 1) < 1e-12
        plan.append(k if reachable else 0)
        since = since + k if reachable else 0
    return plan


def features(squared: FloatArray, sigmas: FloatArray) -> Iterator[FloatArray]:
    """Yield psi = exp(-squared / (2 sigma^2)) for each sigma, widest first; each yield overwrites the one before.

    Where two neighbours differ by a power of sqrt(2) the narrower is a square of the wider: one exp serves a ladder.
    """
    psi = np.empty_like(squared)
    with np.errstate(under="ignore"):
        for sigma, k in zip(sigmas, _squarings(sigmas), strict=True):
            if k == 0:
                np.multiply(squared, -0.5 / sigma**2, out=psi)
                np.exp(psi, out=psi)
            for _ in range(k):
                np.multiply(psi, psi, out=psi)
            yield psi


def gaussian(a: FloatArray, b: FloatArray, sigma: float) -> FloatArray:
    """psi between two sets of rows at one sigma, (k, l)."""
    direct = needs_direct_differences(radius(a, b), sigma, a.shape[1])
    return next(features(squared_distances(a, b, direct), np.array([sigma])))


def median_distance(rows: FloatArray) -> float:
    """Of rows that differ, from a thousand of them at most; 1 if all are equal."""
    some = rows[:: -(-len(rows) // _MEDIAN_ROWS)]
    squared = squared_distances(some, some, True)[np.triu_indices(len(some), 1)]
    squared = squared[squared > _SAME]
    return float(np.sqrt(np.median(squared))) if squared.size else 1.0


def gram(centers: FloatArray, sigmas: FloatArray, direct: bool) -> Iterator[FloatArray]:
    """Yield G (E2) for each sigma: the features of the centers at themselves, sqrt(2) wider."""
    squared = squared_distances(centers, centers, direct)
    np.fill_diagonal(squared, 0.0)
    return features(squared, sigmas * np.sqrt(2.0))


def sigma_ladder(rows: FloatArray) -> FloatArray:
    """Sigmas with ratio sqrt(2), widest first, around the quantiles of the positive pair distances of the rows.

    A rung stays only if some quantile lies within a factor of 2, so two clusters far apart get the rungs of their
    own widths and of their gap, and none in between.
    """
    with np.errstate(over="ignore"):
        distances = pdist(rows)
    distances = distances[distances > 0]
    if distances.size == 0:
        return np.ones(1)
    quantiles = np.quantile(distances, _QUANTILES)
    top, bottom = _TOP * quantiles[-1], _BOTTOM * quantiles[0]
    rungs = top * 2.0 ** (-0.5 * np.arange(int(2 * np.log2(top / bottom)) + 1))
    near = np.abs(np.log2(rungs[:, None] / quantiles)).min(axis=1) <= 1.0
    return np.asarray(rungs[near])


def runs_of(sigmas: FloatArray) -> list[npt.NDArray[np.intp]]:
    """Indices of sigmas, widest first, in runs that one grid or one histogram can serve.

    Clusters far apart have sigmas of their widths and of their gap: no resolution suits both.
    """
    run = np.zeros(len(sigmas), dtype=np.intp)
    first = 0
    for i in range(1, len(sigmas)):
        if sigmas[first] > _RUN_RATIO * sigmas[i]:
            first = i
        run[i] = run[i - 1] + (first == i)
    return [np.flatnonzero(run == r) for r in range(run[-1] + 1)]
