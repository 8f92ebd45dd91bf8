"""Two-sample tests of others, from their papers: test(x, y, seed) is a p-value.

MMDAgg (Schrab et al. 2023) and MMD-FUSE (Biggs, Schrab and Gretton 2023) combine Laplace and Gaussian kernels of ten
bandwidths each; all relabellings of a kernel are one product of matrices. Columns are taken in the units they have.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.special import logsumexp

Array = npt.NDArray[np.floating[Any]]

BANDWIDTHS = 10
FUSE_PERMUTATIONS = 399  # the authors take 2000
AGG_QUANTILES, AGG_LEVELS = 500, 500  # bootstraps for p-values of kernels, and for the level of all; theirs: 2000


def mmdagg(x: Array, y: Array, seed: int) -> float:
    """MMDAgg with uniform weights and the wild bootstrap: rejects at any level where its bisection does."""
    if len(x) != len(y):
        raise ValueError("the wild bootstrap needs samples of equal size")
    random, n = np.random.default_rng(seed), len(x)
    signs = random.choice(np.array([-1, 1], np.float32), (n, 1 + AGG_QUANTILES + AGG_LEVELS))
    signs[:, 0] = 1
    least = np.full(1 + AGG_LEVELS, np.inf)  # of the p-values of all kernels, in ranks
    for kernel in agg_kernels(x, y):
        differences = kernel[:n, :n] + kernel[n:, n:] - kernel[:n, n:] - kernel[n:, :n]  # (n, n)
        np.fill_diagonal(differences, 0)
        statistics = quadratic_forms(differences, signs)
        reference = np.sort(statistics[: 1 + AGG_QUANTILES])
        others = np.concatenate([statistics[:1], statistics[1 + AGG_QUANTILES :]])
        least = np.minimum(least, len(reference) - np.searchsorted(reference, others))
    # The largest corrected level that the bisection looks for, in closed form: P_u at u = the least p-value.
    return float(np.mean(least[1:] <= least[0]))


def agg_kernels(x: Array, y: Array) -> Iterator[Array]:
    """Kernel matrices of both samples together, (n + m, n + m), at bandwidths from half the least distance to twice
    the largest."""
    rows = np.vstack([x, y])
    for metric, power in (("cityblock", 1), ("euclidean", 2)):
        between = cdist(x, y, metric)
        between[between == 0] = np.median(between)
        # In units of the data, as the authors have it.
        low = between.min() if between.min() >= 0.1 else max(np.quantile(between, 0.05), 0.1)
        distances = cdist(rows, rows, metric)
        for bandwidth in np.geomspace(low / 2, 2 * max(between.max(), 0.3), BANDWIDTHS):
            yield np.exp(-((distances / bandwidth).astype(np.float32) ** power))


def mmdfuse(x: Array, y: Array, seed: int) -> float:
    """MMD-FUSE: a soft maximum of unbiased MMDs over kernels, each in units of its kernel's size, permuted."""
    random, n, m = np.random.default_rng(seed), len(x), len(y)
    labels = np.repeat(np.array([1, -1], np.float32), [n, m])
    signs = np.column_stack([labels, *(random.permutation(labels) for _ in range(FUSE_PERMUTATIONS))])  # (n + m, 1 + B)
    smaller = min(n, m)
    sharpness = (smaller * (smaller - 1)) ** 1.5  # of the soft maximum, as the authors' code has it
    normalized = []
    for kernel in fuse_kernels(x, y):
        np.fill_diagonal(kernel, 0)
        normalized.append(unbiased_mmd(kernel, signs, n, m) / np.linalg.norm(kernel))
    statistics = logsumexp(sharpness * np.array(normalized), axis=0)
    return float(np.mean(statistics >= statistics[0]))


def fuse_kernels(x: Array, y: Array) -> Iterator[Array]:
    """Kernel matrices of both samples together, (n + m, n + m), at evenly spaced bandwidths around most distances."""
    rows = np.vstack([x, y])
    for metric, power, factor in (("cityblock", 1, np.sqrt(2)), ("euclidean", 2, 0.5)):
        distances = pdist(rows, metric)
        positive = np.where(distances == 0, np.median(distances), distances)
        low, high = np.quantile(positive, [0.05, 0.95])
        square = squareform(distances)
        for bandwidth in np.linspace(low / 2, 2 * high, BANDWIDTHS):
            yield np.exp(-factor * (square / bandwidth).astype(np.float32) ** power)


def unbiased_mmd(kernel: Array, signs: Array, n: int, m: int) -> Array:
    """Unbiased squared MMD of each column of signs, 1 for n rows and -1 for m; the kernel's diagonal is 0."""
    row_sums = kernel.sum(axis=1, dtype=np.float64)
    total, balance = row_sums.sum(), row_sums @ signs
    contrast = quadratic_forms(kernel, signs)
    within_x, within_y = (total + 2 * balance + contrast) / 4, (total - 2 * balance + contrast) / 4
    statistics: Array = within_x / (n * (n - 1)) + within_y / (m * (m - 1)) - (total - contrast) / (2 * n * m)
    return statistics


def quadratic_forms(matrix: Array, columns: Array) -> Array:
    """v'Av for each column v."""
    forms: Array = (columns * (matrix @ columns)).sum(axis=0, dtype=np.float64)
    return forms
