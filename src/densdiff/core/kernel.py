"""Gaussian features: squared distances, the sigma ladder that squares instead of calling exp, its range; categories.

Sums of features over many rows are made in `engines`.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist, pdist

from densdiff.core.scaling import FloatArray

_SQUARINGS_PER_EXP = 12  # k squarings multiply a relative error by 2^k: 12 keep 1e-12
_EXPANSION_TOLERANCE = 1e-11
_FEW_COLUMNS = 3  # whose differences cost no more than a matrix product
_QUANTILES = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5)
_RUN_RATIO = 256.0
_MEDIAN_ROWS = 1000
_SAME = 1e-20  # a squared distance in inner units that is rounding
_MOST_ALIKE = 0.9  # r of two levels: at 1 a column would not be seen at all
_TOP, _BOTTOM = np.sqrt(2.0), 0.6  # of the largest and the smallest quantile


def needs_direct_differences(radius: float, sigma: float, d: int) -> bool:
    """Whether |x|^2 + |c|^2 - 2xc would lose digits that matter at this sigma; with few columns it gains nothing."""
    return d <= _FEW_COLUMNS or not 4 * np.finfo(np.float64).eps * radius**2 <= _EXPANSION_TOLERANCE * sigma**2


def far_columns(rows: FloatArray, sigma: float) -> npt.NDArray[np.bool_]:
    """The columns (d,) that need direct differences at this sigma, the farthest ones; all others do not together."""
    if not needs_direct_differences(radius(rows), sigma, rows.shape[1]):
        return np.zeros(rows.shape[1], dtype=bool)
    with np.errstate(over="ignore"):
        farthest = np.square(np.abs(rows).max(axis=0, initial=0.0))  # (d,)
        order = np.argsort(farthest, kind="stable")
        near = [needs_direct_differences(far, sigma, 4) for far in np.sqrt(np.cumsum(farthest[order]))]
    is_far = np.zeros(rows.shape[1], dtype=bool)
    is_far[order] = near if near.count(False) > _FEW_COLUMNS else True
    return is_far


def radius(*samples: FloatArray) -> float:
    """The largest distance of any row from the origin, infinite if its square is."""
    with np.errstate(over="ignore"):
        return float(max(np.einsum("ij,ij->i", rows, rows).max(initial=0.0) for rows in samples) ** 0.5)


def squared_distances(rows: FloatArray, centers: FloatArray, direct: bool) -> FloatArray:
    """|x_i - c_l|^2, (k, b), by direct differences or by one matrix product on centered data."""
    if rows.shape[1] == 0:  # categories alone
        return np.zeros((len(rows), len(centers)))
    if direct:
        with np.errstate(over="ignore"):
            return np.asarray(cdist(rows, centers, "sqeuclidean"))
    # of tiles the rows are few; a power of two changes no other bit
    squared = (-2.0 * rows) @ centers.T if len(rows) < len(centers) else rows @ (-2.0 * centers.T)  # (k, b)
    squared += np.einsum("ij,ij->i", rows, rows)[:, None]
    squared += np.einsum("ij,ij->i", centers, centers)
    return np.maximum(squared, 0.0, out=squared)


def squarings(sigmas: FloatArray) -> list[int]:
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
        for sigma, k in zip(sigmas, squarings(sigmas), strict=True):
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
    """Median distance between rows that differ, from a thousand of them at most; 1 if all are equal."""
    subset = rows[:: -(-len(rows) // _MEDIAN_ROWS)]
    with np.errstate(over="ignore"):
        squared = pdist(subset, "sqeuclidean")
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
    if rows.shape[1] == 0:
        return np.ones(1)
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


def sigma_runs(sigmas: FloatArray, ratio: float = _RUN_RATIO) -> list[npt.NDArray[np.intp]]:
    """Indices of sigmas, widest first, in runs that one grid or one histogram can serve, within a ratio.

    Clusters far apart have sigmas of their widths and of their gap: no resolution suits both.
    """
    run = np.zeros(len(sigmas), dtype=np.intp)
    first = 0
    for i in range(1, len(sigmas)):
        if sigmas[first] > ratio * sigmas[i]:
            first = i
        run[i] = run[i - 1] + (first == i)
    return [np.flatnonzero(run == r) for r in range(run[-1] + 1)]


@dataclass(frozen=True)
class Categories:
    """Columns of codes, the last ones of the rows, with a kernel of 1 on equal levels and r on different ones.

    Times a Gaussian of the numeric columns it keeps H in closed form: integrals over categories are sums over levels
    (docs/math, Categories).
    """

    levels: npt.NDArray[np.intp]  # (c,) K, pooled levels of each column
    smoothing: float = 0.0  # t: r = t / ((1 - t)(K - 1)), at most 0.9
    apart: FloatArray | None = (
        None  # (c,) in place of t: squared distance between levels, r = exp(-apart / (2 sigma^2))
    )

    def ratios(self, sigma: float) -> FloatArray:
        """r of each column, (c,)."""
        if self.apart is not None:
            return np.asarray(np.exp(-0.5 * self.apart / sigma**2))
        return np.asarray(np.minimum(_MOST_ALIKE, self.smoothing / ((1.0 - self.smoothing) * (self.levels - 1.0))))

    def split(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The numeric columns, and the codes."""
        d = rows.shape[1] - len(self.levels)
        return rows[:, :d], rows[:, d:]

    def factor(self, sigma: float, a: FloatArray, b: FloatArray) -> FloatArray:
        """The product of the kernels between two sets of codes, (k, l)."""
        return _unequal_product(a, b, self.ratios(sigma))

    def add_apart(self, squared: FloatArray, a: FloatArray, b: FloatArray) -> None:
        """Add to squared distances (k, l), in place, ``apart`` for each unequal level of two sets of codes."""
        if self.apart is not None:
            kind = np.min_scalar_type(-1 - int(self.levels.max(initial=0)))  # small integers compare fastest
            add_unequal(squared, a.astype(kind), b.astype(kind), self.apart)

    def gram_factors(self, sigmas: FloatArray, codes: FloatArray) -> Iterator[FloatArray]:
        """The factor of G for each sigma: sums over levels of a product of kernels over that of `log_scale`, (b, b)."""
        last, factor = np.empty(0), np.empty((0, 0))
        more = self.levels - 1.0
        for r in map(self.ratios, sigmas):
            if not np.array_equal(r, last):
                last, factor = r, _unequal_product(codes, codes, (2.0 * r + (more - 1.0) * r**2) / (1.0 + more * r**2))
            yield factor

    def log_scale(self, sigma: float) -> float:
        """Logarithm of the factor of s: the sum over levels of a squared kernel."""
        return float(np.log1p((self.levels - 1.0) * self.ratios(sigma) ** 2).sum())

    def embedded(self, rows: FloatArray) -> FloatArray:
        """Rows whose squared distances are those of the numeric columns plus ``apart`` for each unequal level."""
        numeric, codes = self.split(rows)
        apart = np.ones(len(self.levels)) if self.apart is None else self.apart
        indicators = [
            (column[:, None] == np.unique(column)) * np.sqrt(0.5 * weight)
            for column, weight in zip(codes.T, apart, strict=True)
        ]
        return np.hstack([numeric, *indicators])


def add_unequal(squared: FloatArray, a: npt.NDArray[np.integer], b: npt.NDArray[np.integer], apart: FloatArray) -> None:
    """Add to squared distances (k, l), in place, ``apart`` (J,) for each unequal code of rows (k, J) and (l, J)."""
    for codes_a, codes_b, distance in zip(a.T, b.T, apart, strict=True):
        seen, place = np.unique(codes_a, return_inverse=True)  # rows with the same code share a line of a table
        squared += (distance * (seen[:, None] != codes_b)).take(place, axis=0)


def _unequal_product(a: FloatArray, b: FloatArray, ratios: FloatArray) -> FloatArray:
    product = np.ones((len(a), len(b)))
    for codes_a, codes_b, ratio in zip(a.T, b.T, ratios, strict=True):
        product *= (codes_a[:, None] == codes_b) * (1.0 - ratio) + ratio
    return product
