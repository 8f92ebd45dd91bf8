"""(G + lam I)^-1 for a whole path of lam, its hold-out scores, and the quadratic forms E4 to E8.

One tridiagonalization G = Q T Q' serves every lam: in rotated coordinates each solve costs O(b).
All values here leave out the factor 1/s of E3 to E8; it is applied last, in logs.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from densdiff.core.scaling import FloatArray
from densdiff.errors import NumericalError
from densdiff.threads import one_thread


def eigen(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues, none below 0, and eigenvectors of a symmetric G.

    On one thread, as all small factorizations here: several gain little, give other last digits, and on a busy
    machine wait for each other a hundred times longer than they work.
    """
    with one_thread:
        values, vectors = np.linalg.eigh(gram)
    return np.maximum(values, 0.0), vectors


@dataclass(frozen=True)
class Ridge:
    """The tridiagonal form of one G; vectors are columns of (b, k) arrays."""

    reflectors: FloatArray  # (b - 1, b - 1) as LAPACK's sytrd leaves them below the diagonal
    tau: FloatArray  # (b - 1,)
    diagonal: FloatArray  # (b,)
    off_diagonal: FloatArray  # (b - 1,)

    @classmethod
    def of(cls, gram: FloatArray) -> "Ridge":
        """Factorize a symmetric G, (b, b)."""
        b = len(gram)
        if b == 1:
            return cls(np.empty((0, 0)), np.empty(0), gram[0].copy(), np.empty(0))
        # the transpose of a C-ordered symmetric matrix is the same matrix in LAPACK's order: no copy is turned round
        with one_thread:
            reflectors, diagonal, off_diagonal, tau, info = lapack.dsytrd(gram.T, lower=1, lwork=16 * b)
        if info != 0:
            raise NumericalError(f"the kernel matrix of {b} centers could not be reduced (LAPACK sytrd: {info})")
        return cls(np.asfortranarray(reflectors[1:, :-1]), tau, diagonal, off_diagonal)

    def rotate(self, vectors: FloatArray) -> FloatArray:
        """Vectors V in the coordinates of the tridiagonal form, Q'V."""
        rotated = np.array(vectors, dtype=np.float64, order="F")  # (b, k)
        if len(self.diagonal) > 1:
            lwork = 64 * max(1, rotated.shape[1])
            rotated[1:], _, _ = lapack.dormqr("L", "T", self.reflectors, self.tau, rotated[1:], lwork)
        return rotated

    def solve(self, lam: float, rotated: FloatArray) -> FloatArray:
        """(T + lam I)^-1 V for rotated vectors V."""
        if len(self.diagonal) == 1:
            return np.asarray(rotated / (self.diagonal[0] + lam))
        _, _, solution, info = lapack.dptsv(self.diagonal + lam, self.off_diagonal, rotated)
        if info != 0:
            raise _not_definite(lam)
        return np.asarray(solution)


def _not_definite(lam: float) -> NumericalError:
    return NumericalError(
        f"the kernel matrix plus lam = {lam:g} is not positive definite in double precision; "
        "use a larger lam or fewer centers"
    )


def coefficients(gram: FloatArray, lam: float, h: FloatArray) -> FloatArray:
    """theta times s (E3) for a single model, by Cholesky, (b,)."""
    matrix = gram.copy()
    matrix.flat[:: len(matrix) + 1] += lam
    _, theta, info = lapack.dposv(matrix.T, h, lower=1)
    if info != 0:
        raise _not_definite(lam)
    return np.asarray(theta)


def holdout_scores(ridge: Ridge, lams: FloatArray, train: FloatArray, holdout: FloatArray) -> FloatArray:
    """theta'H theta - 2 theta'h_holdout for every lam and fold, (L, k); train and holdout are (b, k), unrotated."""
    k = train.shape[1]
    rotated = ridge.rotate(np.hstack([train, train - 2.0 * holdout]))
    scores = np.empty((len(lams), k))
    for i, lam in enumerate(lams):
        theta = ridge.solve(lam, rotated[:, :k])
        scores[i] = np.einsum("bk,bk->k", theta, rotated[:, k:] - lam * theta)
    return scores


def mean_holdout_scores(values: FloatArray, lams: FloatArray, squares: FloatArray, products: FloatArray) -> FloatArray:
    """Mean over the folds of theta'H theta - 2 theta'h_holdout, (L, k), from k cross-validations in G's eigenbasis.

    There theta is h_train / (value + lam), so that all a mean over folds needs is those of h_train^2, ``squares``
    (b, k), and of h_train h_holdout, ``products`` (b, k).
    """
    inverse = 1.0 / (values + np.asarray(lams)[:, None])  # (L, b)
    return np.asarray((values * np.square(inverse)) @ squares - (2.0 * inverse) @ products)


def check_definite(gram: FloatArray, lam: float) -> None:
    """Refuse a lam with which G + lam I cannot be told from a singular matrix."""
    matrix = gram.copy()
    matrix.flat[:: len(matrix) + 1] += lam
    if lapack.dpotrf(matrix.T, lower=1, overwrite_a=True)[1] != 0:
        raise _not_definite(lam)


@dataclass(frozen=True)
class Forms:
    """One model's quadratic forms: E4 = plain, E5 = plain - lam_term, E6 = plain + lam_term, E7 = E6 - correction."""

    plain: float
    lam_term: float
    correction: float


@dataclass(frozen=True)
class Spectrum:
    """One sigma in the eigenbasis of G, where the forms of every lam and every curve x p + y q are weighted sums."""

    values: FloatArray  # (b,) eigenvalues of G
    mean_x: FloatArray  # (b,) mean features of X
    mean_y: FloatArray
    spread_x: FloatArray  # (b,) variances of mean_x: the diagonal of S_X / n of E7
    spread_y: FloatArray
    shrink_x: float  # 1 - sum omega^2: turns ddof 1 into ddof 0
    shrink_y: float

    def forms(self, x: float, y: float, lam: float) -> Forms:
        """E4 to E7 of the curve at one lam."""
        a = 1.0 / (self.values + lam)  # (b,)
        squared = np.square(x * self.mean_x + y * self.mean_y)
        spread = x**2 * self.spread_x + y**2 * self.spread_y
        return Forms(float(squared @ a), float(lam * squared @ a**2), float(spread @ (a + lam * a**2)))

    def unregularized_correction(self) -> float:
        """tr(G^-1 (V_X/n + V_Y/m)) of E8; directions in which G vanishes in double precision are left out."""
        usable = self.values > len(self.values) * np.finfo(np.float64).eps * self.values.max()
        spread = self.shrink_x * self.spread_x + self.shrink_y * self.spread_y
        return float((spread[usable] / self.values[usable]).sum())


def spread_of_mean(features: FloatArray, squares: FloatArray, mean: FloatArray) -> FloatArray:
    """Variance of each weighted mean feature, (b,), from rows (k, b) and squared weights that sum to sum omega^2.

    Without weights it is the ddof-1 variance over n. With weights it makes E7 the weighted U-statistic:
    the terms i = j are left out and the others divided by 1 - sum omega^2.
    """
    total = squares.sum()
    return np.asarray((squares @ np.square(features) - total * np.square(mean)) / (1.0 - total))
