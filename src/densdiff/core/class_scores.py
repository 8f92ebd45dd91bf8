"""Weighted regularized least squares in the space of a kernel, with an intercept, for a path of lam.

The kernel is given between all rows, or by features of the rows. Kernels come from `kernel`; sigma and lam are chosen
by those who call.
"""

from collections.abc import Callable, Iterator, Sized

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dtrtri

from densdiff.core.scaling import FloatArray

LEAST_SCORE = 0.01  # a class no row is denied: least squares scores may be negative
_BLOCK = 1 << 20  # entries of a kernel block
_JITTER = 1e-9  # of the mean diagonal, added to it: landmarks may be equal
_ROUNDING = 1e-12  # of the mean diagonal: a centred gram below it is that of equal rows


class KernelRidge:
    """f + c that minimizes sum_i w_i |y_i - c - f(x_i)|^2 + lam t |f|^2, for several lam from one factorization.

    ``gram`` (n, n) is the kernel between the training rows; the weights sum to 1, and t, the mean eigenvalue of the
    centred gram, makes lam free of units.
    """

    def __init__(self, gram: FloatArray, targets: FloatArray, weights: FloatArray, lams: FloatArray) -> None:
        means = gram @ weights  # (n,)
        root = np.sqrt(weights)
        centred = (gram - means - means[:, None] + float(weights @ means)) * root * root[:, None]
        values, vectors = np.linalg.eigh(centred)
        values = np.maximum(values, 0.0)
        middle = weights @ targets  # (K,)
        loads = (vectors.T * root) @ (targets - middle)  # (n, K)
        unit = float(values.mean())
        if unit <= _ROUNDING * float(np.diag(gram) @ weights):  # equal rows have nothing to learn from
            unit, loads = 1.0, np.zeros_like(loads)
        shrunk = loads / (values + unit * lams[:, None])[:, :, None]  # (L, n, K)
        dual = (vectors * root[:, None]) @ shrunk  # (L, n, K)
        # columns sum to 0, so that the kernel needs no centring: here to the last digit
        self.dual = dual - weights[:, None] * dual.sum(axis=1, keepdims=True)
        self.offset = middle - means @ self.dual  # (L, K)

    def scores(self, cross: FloatArray) -> FloatArray:
        """Values at rows whose kernel to the training rows is ``cross`` (m, n), (L, m, K)."""
        return np.asarray(cross @ self.dual + self.offset[:, None])


class FeatureRidge:
    """The same as `KernelRidge` for the kernel <phi(x), phi(x')> of features (n, r), from an r x r matrix."""

    def __init__(self, features: FloatArray, targets: FloatArray, weights: FloatArray) -> None:
        self._middle, self._mean = weights @ features, weights @ targets  # (r,), (K,)
        root = np.sqrt(weights)[:, None]
        weighted = root * features
        scatter = weighted.T @ weighted  # (r, r)
        size = float(np.trace(scatter))
        self._scatter = scatter - np.outer(self._middle, self._middle)
        self._loads = weighted.T @ (root * targets) - np.outer(self._middle, self._mean)  # (r, K)
        self._unit = float(np.trace(self._scatter)) / len(features)
        if self._unit <= _ROUNDING * size:
            self._unit, self._loads = 1.0, np.zeros_like(self._loads)  # equal rows have nothing to learn from

    def slopes(self, lam: float) -> tuple[FloatArray, FloatArray]:
        """The map (r, K) and the offset (K,) that give scores to features."""
        matrix = self._scatter.copy()
        matrix.flat[:: len(matrix) + 1] += self._unit * lam
        factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
        slopes = cho_solve(factor, self._loads, check_finite=False)
        return slopes, self._mean - self._middle @ slopes


def downhill(error: Callable[[int], float], count: int) -> int:
    """The place of the least error among 0, .., count - 1, if errors fall and then rise; sought from the middle on."""
    best = count // 2
    for step in (-1, 1):
        while 0 <= best + step < count and error(best + step) < error(best):
            best += step
    return best


def landmark_map(gram: FloatArray) -> FloatArray:
    """The map (l, l), upper triangular, that turns kernels to landmarks into features whose products are the kernel.

    ``gram`` (l, l) is the kernel between the landmarks, positive semidefinite; equal landmarks are no harm.
    """
    size = float(np.trace(gram)) / len(gram) or 1.0
    root = np.linalg.cholesky(gram + _JITTER * size * np.eye(len(gram)))
    return np.asarray(dtrtri(root.T, lower=0)[0])


def turned(kernels: FloatArray, turn: FloatArray) -> FloatArray:
    """The product of kernels (m, l) and a map that is upper triangular, (m, l), in half the time of any other map."""
    return np.asarray(dtrmm(1.0, turn.T, kernels.T, lower=1).T)


def row_slices(rows: Sized, columns: int, entries: int = _BLOCK) -> Iterator[slice]:
    """Slices of the rows whose kernel with so many columns is one block."""
    step = max(1, entries // columns)
    return (slice(start, start + step) for start in range(0, len(rows), step))
