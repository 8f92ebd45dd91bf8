"""Weighted regularized least squares in the space of a kernel, with an intercept, for a path of lam.

The kernel is given between all rows, or by features of the rows. Kernels come from `kernel`; sigma and lam are chosen
by those who call.
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


class FeatureRidge:
    """The same as `KernelRidge` for the kernel <phi(x), phi(x')> of features (n, r), from an r x r matrix."""

    def __init__(self, features: FloatArray, targets: FloatArray, weights: FloatArray, lams: FloatArray) -> None:
        middle, mean = weights @ features, weights @ targets  # (r,), (K,)
        weighted = features * weights[:, None]
        scatter = weighted.T @ features - np.outer(middle, middle)
        values, vectors = np.linalg.eigh(scatter)
        values = np.maximum(values, 0.0)
        loads = vectors.T @ (weighted.T @ targets - np.outer(middle, mean))  # (r, K)
        unit = float(values.sum()) / len(features)
        if unit <= _ROUNDING * float(weights @ np.square(features).sum(axis=1)):
            unit, loads = 1.0, np.zeros_like(loads)
        self.slopes = vectors @ (loads / (values + unit * lams[:, None])[:, :, None])  # (L, r, K)
        self.offset = mean - middle @ self.slopes  # (L, K)

    def scores(self, features: FloatArray, lam: int | None = None) -> FloatArray:
        """Values at rows with these features (m, r), (L, m, K); at one lam by its number, (m, K)."""
        if lam is not None:
            return np.asarray(features @ self.slopes[lam] + self.offset[lam])
        return np.asarray(features @ self.slopes + self.offset[:, None])


def landmark_features(gram: FloatArray) -> FloatArray:
    """The map (l, r) that turns kernels to landmarks into features whose products are the kernel between landmarks.

    ``gram`` (l, l) is the kernel between the landmarks, positive semidefinite up to a constant of each row, which the
    map removes: products of features are then the kernel with the landmarks' mean as its origin.
    """
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    values, vectors = np.linalg.eigh(centred)
    kept = values > _ROUNDING * len(gram) * max(float(values[-1]), 0.0)
    if not kept.any():
        return np.zeros((len(gram), 1))
    turn = vectors[:, kept] / np.sqrt(values[kept])  # columns sum to 0: constants of a row vanish
    return np.asarray(turn - turn.mean(axis=0))


def row_slices(rows: FloatArray, columns: int) -> Iterator[slice]:
    """Slices of the rows whose kernel with so many columns is one block."""
    step = max(1, _BLOCK // columns)
    return (slice(start, start + step) for start in range(0, len(rows), step))
