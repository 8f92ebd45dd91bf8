"""Shares of a mixture: quadratic forms and likelihoods on the simplex, and what noise makes of moment equations.

Features of rows, and the classes they stand for, are made in `balance`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.optimize import nnls

from densdiff.core.scaling import FloatArray

_PULL = 0.05  # log(p + pull) is the prior: finite at p = 0, so that shares of 0 and 1 can be reached
_FLAT = 1e-12
_REGULAR = 1e6  # condition up to which a linear system is as good as the active-set solver
_STEPS, _FIRST_STEPS = 60, 5
_GRID, _FINER = 201, 21  # points of the grid on which an interval is sought, and of each finer one at its ends
_NO_SPREAD = 1e-9  # of the squared distance between classes: a variance of rows that are all alike


def quadratic_minimum(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """The p that minimizes p'Ap - 2 b'p over the simplex, (K,); A is positive semidefinite up to rounding.

    Where the form is flat, the nearest to equal shares.
    """
    return np.asarray(quadratic_minima(matrix, vector[None])[0])


def quadratic_minima(matrix: FloatArray, vectors: FloatArray) -> FloatArray:
    """The p that minimizes p'Ap - 2 b'p over the simplex for each row b of ``vectors`` (N, K), (N, K).

    The minimum on the plane of shares that sum to 1, where none is negative. Else the form is |G p|^2 + const with
    G = R - t 1' and A = R'R. The shortest G p over the simplex is the solution of min |G y|^2 + (1'y - 1)^2 over
    y >= 0, divided by its sum: one call of an active-set solver, no penalty to choose.
    """
    size, k = float(np.abs(matrix).max()) or 1.0, len(matrix)
    matrix, vectors = matrix / size, vectors / size
    tangent = _tangent(k)
    on_plane = tangent.T @ matrix @ tangent  # (K - 1, K - 1)
    if k > 1 and np.linalg.cond(on_plane) < _REGULAR and float(np.trace(on_plane)) > _FLAT * _REGULAR:
        slopes = (vectors - matrix.mean(axis=0)) @ tangent  # at equal shares
        minima = 1.0 / k + np.linalg.solve(on_plane, slopes.T).T @ tangent.T  # (N, K)
        if k == 2:
            first = np.clip(minima[:, :1], 0.0, 1.0)
            return np.hstack([first, 1.0 - first])
    else:
        minima = np.full(vectors.shape, -1.0)
    outside = np.flatnonzero(minima.min(axis=1) < 0.0)
    if len(outside):
        values, basis = np.linalg.eigh(matrix)
        root = np.sqrt(np.maximum(values, 0.0) + _FLAT)
        targets = (vectors[outside] + _FLAT / k) @ basis / root  # (.., K)
        for number, target in zip(outside, targets, strict=True):
            minima[number] = _shortest((basis * root).T - target[:, None])
    return np.asarray(minima / minima.sum(axis=1, keepdims=True))


def _shortest(columns: FloatArray) -> FloatArray:
    """The y >= 0 whose direction is that of the shortest vector in the hull of the columns (K, K)."""
    columns = columns / (float(np.abs(columns).max()) or 1.0)
    right = np.zeros(len(columns) + 1)
    right[-1] = 1.0
    return np.asarray(nnls(np.vstack([columns, np.ones(columns.shape[1])]), right)[0])


def likeliest_shares(ratios: FloatArray, weights: FloatArray, prior: float) -> FloatArray:
    """The p that maximizes sum_i w_i log(r_i'p) + prior sum_c log(p_c + 0.05) over the simplex, (K,).

    ``ratios`` (m, K) are densities of the classes at each row up to a factor of the row. Newton's method, each step
    a quadratic minimum on the simplex, halved until the objective rises; the objective is concave. The first steps
    are of expectation and maximization: from equal shares, densities near 0 would send Newton's astray.
    """
    ratios = ratios / ratios.max(axis=1, keepdims=True)
    p = np.full(ratios.shape[1], 1.0 / ratios.shape[1])
    for _ in range(_FIRST_STEPS):
        p = p * (weights @ (ratios / (ratios @ p)[:, None])) / weights.sum()

    def objective(p: FloatArray) -> float:
        return float(weights @ np.log(ratios @ p) + prior * np.log(p + _PULL).sum())

    height = objective(p)
    for _ in range(_STEPS):
        slopes = ratios / (ratios @ p)[:, None]  # (m, K)
        gradient = weights @ slopes + prior / (p + _PULL)
        curvature = (slopes * weights[:, None]).T @ slopes + np.diag(prior / (p + _PULL) ** 2)
        step = quadratic_minimum(curvature, gradient + curvature @ p) - p
        length = 1.0
        while length > 1e-6 and objective(p + length * step) < height:
            length /= 2.0
        p = np.maximum(p + length * step, 0.0)
        p /= p.sum()
        height = objective(p)
        if float(np.abs(length * step).max()) < 1e-9:
            break
    return p


@dataclass(frozen=True)
class Moments:
    """Equations A p = b that the shares of a mixture solve, and the noise of their two sides.

    Column c of A holds the mean features of class c, b those of the new rows; rows whose features were learned
    without them, so that both sides are unbiased.
    """

    matrix: FloatArray  # (K, K)
    target: FloatArray  # (K,)
    of_classes: FloatArray  # (K, K, K): covariance of each column of A
    of_target: FloatArray  # (K, K)
    of_rows: FloatArray | None = None  # (K, K, K): covariance of one row of each class
    n_new: int = 1  # rows that b is the mean of, if ``of_rows`` is given
    n_labelled: FloatArray | None = None  # (K,) rows that each column of A is the mean of, if ``of_rows`` is given

    @property
    def tangent(self) -> FloatArray:
        return _tangent(len(self.target))

    def noise(self, p: FloatArray) -> FloatArray:
        """Covariance of A p - b along the tangent for shares (.., K), (.., K - 1, K - 1).

        Where the covariance of the rows of each class is known, b has in every direction the larger noise of what the
        new rows show and of a mixture with these very shares: of a rare class there may be no new row, of rare rows
        no labelled one. New rows that show more than the mixture speak for rare rows, which the columns of A lack too.
        """
        tangent = self.tangent
        along = tangent.T @ self.of_target @ tangent
        if self.of_rows is not None:
            mean = p @ self.matrix.T  # (.., K)
            squares = self.of_rows + np.einsum("ic,jc->cij", self.matrix, self.matrix)
            mixed = (np.tensordot(p, squares, axes=1) - mean[..., :, None] * mean[..., None, :]) / self.n_new
            values, vectors = np.linalg.eigh(tangent.T @ mixed @ tangent - along)
            excess = self.n_new * np.maximum(-values, 0.0)
            more = np.maximum(values, 0.0) + self._unseen_noise(p, tangent @ vectors, excess)
            along = along + (vectors * more[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        along = along + tangent.T @ np.tensordot(np.square(p), self.of_classes, axes=1) @ tangent
        rounding = 1e-20 * float(np.square(self.matrix).max())  # features that are constant have no noise, nor a slope
        floor = 1e-12 * np.maximum(np.trace(along, axis1=-2, axis2=-1), max(rounding, 1e-300))
        return np.asarray(along + floor[..., None, None] * np.eye(along.shape[-1]))

    def with_class_noise(self, of_rows: FloatArray) -> "Moments":
        """With columns of A as noisy as rows of these covariances (K, K, K) make them, where that is more."""
        if self.n_labelled is None:
            return self
        more = _positive_part(of_rows / self.n_labelled[:, None, None] - self.of_classes)
        return replace(self, of_classes=self.of_classes + more)

    def _unseen_noise(self, p: FloatArray, directions: FloatArray, excess: FloatArray) -> FloatArray:
        """Noise of A p from rows so rare that no labelled one is like them, along directions (.., K, r), (.., r).

        ``excess`` (.., r) is by how much the variance of the new rows exceeds that of a mixture with shares p. Each
        class has of it what it has of the mixture's variance, as far as new rows outweigh its labelled ones. The
        labelled rows speak against more than one further row of theirs at the mean of another class would add.
        """
        if self.of_rows is None or self.n_labelled is None:
            return np.zeros_like(excess)
        turn, counts = np.swapaxes(directions, -1, -2), self.n_labelled
        means = turn @ self.matrix  # (.., r, K)
        by_class = turn[..., None, :, :]  # (.., 1, r, K)
        spreads = np.swapaxes(((by_class @ self.of_rows) * by_class).sum(axis=-1), -1, -2)  # (.., r, K)
        shares = p[..., None, :]  # (.., 1, K)
        mean = (means * shares).sum(axis=-1, keepdims=True)
        mixed = ((spreads + np.square(means - mean)) * shares).sum(axis=-1, keepdims=True)  # (.., r, 1)
        low, high = means.min(axis=-1, keepdims=True), means.max(axis=-1, keepdims=True)
        least = _NO_SPREAD * np.square(high - low) + 1e-300
        own = excess[..., None] * (spreads + least) / (mixed + least) * (self.n_new * shares)
        own = own / (counts + self.n_new * shares) / counts
        most = np.square(np.maximum(high - means, means - low)) * counts / (counts + 1.0) ** 3
        return np.asarray((np.square(shares) * np.minimum(own, most)).sum(axis=-1))

    def separation(self) -> float:
        """How many standard errors the direction of the shares that is known worst is worth, at equal shares."""
        even = np.full(len(self.target), 1.0 / len(self.target))
        scale = np.linalg.cholesky(replace(self, of_rows=None).noise(even))  # few new rows make no classes alike
        slope = np.linalg.solve(scale, self.tangent.T @ self.matrix @ self.tangent)
        return float(np.linalg.svd(slope, compute_uv=False)[-1])

    def standard_errors(self, p: FloatArray) -> FloatArray:
        """Standard error of each share, (K,); at most the spread of the uniform law on the simplex."""
        k, tangent = len(p), self.tangent
        slope = tangent.T @ self.matrix @ tangent
        information = slope.T @ np.linalg.solve(self.noise(p), slope) + k * (k + 1) * np.eye(k - 1)
        covariance = tangent @ np.linalg.solve(information, tangent.T)
        return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0.0)))

    def interval(self, c: int, p: FloatArray, quantile: float) -> tuple[float, float]:
        """Shares of class c that the equations do not refute: Fieller's inversion, the others left free.

        The other shares are those that fit best given p_c = v, a line in v; the misfit on it is divided by the noise
        at that very point, which is what makes the set wide, or all of [0, 1], when classes can hardly be told apart.
        """
        k, tangent = len(p), self.tangent
        others = np.delete(np.arange(k), c)
        corner, others_even = np.eye(k)[c], (1.0 - np.eye(k)[c]) / (k - 1)
        free = np.zeros((k, k - 2))  # directions of the other shares among themselves
        free[others] = _tangent(k - 1)
        scale = np.linalg.cholesky(self.noise(p))
        design = np.linalg.solve(scale, tangent.T @ self.matrix)  # (K - 1, K)
        target = np.linalg.solve(scale, tangent.T @ self.target)
        line = np.column_stack([others_even, corner - others_even])  # p = line @ (1, v) + free @ (what fits best)
        fit = np.linalg.lstsq(design @ free, np.column_stack([target, np.zeros(k - 1)]) - design @ line, rcond=1e-10)[0]
        line = line + free @ fit

        def misfit(v: FloatArray) -> FloatArray:
            shares = line[:, 0] + np.multiply.outer(v, line[:, 1])  # (.., K)
            left = (shares @ self.matrix.T - self.target) @ tangent  # (.., K - 1)
            inside = np.maximum(shares, 0.0)
            noise = self.noise(inside / inside.sum(axis=-1, keepdims=True))
            return np.asarray((left * np.linalg.solve(noise, left[..., None])[..., 0]).sum(axis=-1))

        return _accepted_interval(misfit, quantile**2)


def _positive_part(matrices: FloatArray) -> FloatArray:
    """What symmetric matrices (.., K, K) have along directions in which they are positive."""
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray((vectors * np.maximum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2))


@cache
def _tangent(k: int) -> FloatArray:
    """An orthonormal basis of the directions whose entries sum to 0, (k, k - 1)."""
    return np.asarray(np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, : k - 1]]))[0][:, 1:])


def _accepted_interval(misfit: Callable[[FloatArray], FloatArray], limit: float) -> tuple[float, float]:
    """The ends of {v in [0, 1]: misfit(v) <= limit + the least misfit there}, each found on ever finer grids."""
    grid = np.linspace(0.0, 1.0, _GRID)
    values = misfit(grid)
    limit += float(values.min())
    inside = np.flatnonzero(values <= limit)

    def end(outside: int, within: int) -> float:
        if not 0 <= outside < _GRID:
            return float(grid[within])
        low, high = grid[outside], grid[within]
        for _ in range(6):
            finer = np.linspace(low, high, _FINER)
            first = int(np.argmax(misfit(finer) <= limit))
            low, high = finer[max(first - 1, 0)], finer[first]
        return float(high)

    return end(inside[0] - 1, inside[0]), end(inside[-1] + 1, inside[-1])
