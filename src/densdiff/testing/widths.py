"""Kernel widths that suit the pooled rows, found without a look at their labels."""

import numpy as np
from scipy.spatial.distance import pdist

from densdiff.core import selection
from densdiff.core.kernel import Categories
from densdiff.core.scaling import FloatArray
from densdiff.solvers.likelihood_width import cross_validated_width
from densdiff.solvers.prepared import Prepared, WeightedSample

SPREAD = 2.0 ** np.arange(2, -5, -1)  # of the median distance
STRONG = 1.0  # the lam of these widths: E12 is then close to an MMD with a Gaussian kernel of width sigma
MEDIAN_ROWS = 500
NARROWER = 2.0 ** np.arange(1, 5)  # times narrower than the narrowest sigma may be the one that suits the density
_NEAR = 0.01  # the quantile of distances below which a kernel sees too few pairs


def spread_sigmas(rows: FloatArray, seed: int, categories: Categories | None = None) -> FloatArray:
    """The sigmas that "aggregate" combines, widest first, from a few hundred of the rows."""
    return sigmas_of(rows[selection.draw_rows(seed, len(rows), MEDIAN_ROWS)], categories)


def sigmas_of(some_rows: FloatArray, categories: Categories | None = None) -> FloatArray:
    """The sigmas that suit these rows, widest first: none so narrow that most rows have no other row within reach."""
    distances = pdist(some_rows if categories is None else categories.embedded(some_rows))
    positive = distances[distances > 0]
    if len(positive) == 0:
        return np.ones(1)
    near, median = np.quantile(positive, [_NEAR, 0.5])
    sigmas = SPREAD * float(median)
    return np.asarray(sigmas[sigmas >= min(0.6 * float(near), float(median))])


def pooled_width(data: Prepared, rows: FloatArray, ladder: FloatArray) -> float:
    """The width that suits the density of the pooled rows, by likelihood cross-validation with folds by position."""
    return cross_validated_width(WeightedSample.of(rows), data.seed, data.n_folds, ladder)


def suited_width(some_rows: FloatArray, sigmas: FloatArray) -> float:
    """The kernel width that suits the density of these rows (k, d), of the sigmas or narrower, by least-squares
    cross-validation.

    The kernel of width sigma compares densities smoothed by sigma / sqrt(2). Equal rows do not count: of rounded
    values the narrowest kernel would else seem the best.
    """
    squared, k, d = np.square(pdist(some_rows)), *some_rows.shape
    squared = squared[squared > 0]
    candidates = np.concatenate([sigmas, sigmas[-1] / NARROWER])
    scores = []
    for sigma in map(float, candidates):
        both, one = (np.exp(-squared / (2.0 * width**2)).sum() for width in (sigma, sigma / np.sqrt(2.0)))
        overlap = (1.0 + 2.0 * both / k) / k
        scores.append((overlap - 2.0 * 2.0 ** (0.5 * d) * 2.0 * one / (k * (k - 1.0))) * (sigmas[0] / sigma) ** d)
    return float(candidates[np.argmin(scores)])
