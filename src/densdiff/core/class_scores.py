"""Weighted regularized least squares in the space of a kernel, with an intercept, for a path of lam.

Kernels between rows come from `kernel`; the choice of sigma and lam is made by those who call.
"""

from collections.abc import Iterator

import numpy as np

from densdiff.core.scaling import FloatArray

LEAST_SCORE = 0.01  # a class no row is denied: least squares scores may be negative
_BLOCK = 1 << 20  # entries of a kernel block
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


def row_slices(rows: FloatArray, columns: int) -> Iterator[slice]:
    """Slices of the rows whose kernel with so many columns is one block."""
    step = max(1, _BLOCK // columns)
    return (slice(start, start + step) for start in range(0, len(rows), step))
