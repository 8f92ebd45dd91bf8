"""The plain formula as a baseline: distances, one exp per sigma, one solve per sigma, lambda and fold.

``plain_fit`` is what a direct reading of the paper gives; ``authors_model`` is f with the grid of the authors' script
(absolute sigma and lambda, data as they are, 300 random centers, 5 folds), ``authors_distance`` its E6.
"""

from typing import NamedTuple

import numpy as np

AUTHORS_SIGMAS = (0.25, 0.5, 0.75, 1, 1.2, 1.5, 2, 2.5, 2.2, 3, 5)
AUTHORS_LAMBDAS = np.logspace(-3, 1, 9)


def squared_distances(a, b):
    return np.square(a).sum(1)[:, None] + np.square(b).sum(1) - 2 * a @ b.T


def plain_fit(x, y, sigmas, lambdas, n_centers=300, folds=5, seed=0):
    """(score, sigma, lambda) of the best model, by the loop of the paper."""
    rng = np.random.default_rng(seed)
    pooled = np.vstack([x, y])
    centers = pooled[rng.permutation(len(pooled))[:n_centers]]
    b, d = centers.shape
    to_x, to_y = squared_distances(x, centers), squared_distances(y, centers)
    between = squared_distances(centers, centers)
    fold_x, fold_y = rng.permutation(len(x)) % folds, rng.permutation(len(y)) % folds
    best = (np.inf, 0.0, 0.0)
    for sigma in sigmas:
        H = (np.pi * sigma**2) ** (d / 2) * np.exp(-between / (4 * sigma**2))
        psi_x, psi_y = np.exp(-to_x / (2 * sigma**2)), np.exp(-to_y / (2 * sigma**2))
        train = [psi_x[fold_x != t].mean(0) - psi_y[fold_y != t].mean(0) for t in range(folds)]
        held = [psi_x[fold_x == t].mean(0) - psi_y[fold_y == t].mean(0) for t in range(folds)]
        for lam in lambdas:
            score = 0.0
            for t in range(folds):
                theta = np.linalg.solve(H + lam * np.eye(b), train[t])
                score += (theta @ H @ theta - 2 * theta @ held[t]) / folds
            best = min(best, (score, sigma, lam))
    return best


class AuthorsModel(NamedTuple):
    """The model chosen on the authors' grid: f is the sum of theta_l exp(-|z - c_l|^2 / (2 sigma^2))."""

    centers: np.ndarray  # (b, d)
    sigma: float
    lam: float
    theta: np.ndarray  # (b,)
    squared: float  # the distance, E6

    def predict(self, points):
        """f at each row of `points`."""
        return np.exp(-squared_distances(points, self.centers) / (2 * self.sigma**2)) @ self.theta


def authors_model(x, y, seed=0):
    """The best model of the authors' grid; one eigendecomposition per sigma, so that tables are quick."""
    rng = np.random.default_rng(seed)
    folds, pooled = 5, np.vstack([x, y])
    centers = pooled[rng.permutation(len(pooled))[:300]]
    d = centers.shape[1]
    to_x, to_y = squared_distances(x, centers), squared_distances(y, centers)
    between = squared_distances(centers, centers)
    fold_x, fold_y = rng.permutation(len(x)) % folds, rng.permutation(len(y)) % folds
    best_score, best = np.inf, None
    for sigma in AUTHORS_SIGMAS:
        values, vectors = np.linalg.eigh((np.pi * sigma**2) ** (d / 2) * np.exp(-between / (4 * sigma**2)))
        psi_x, psi_y = np.exp(-to_x / (2 * sigma**2)) @ vectors, np.exp(-to_y / (2 * sigma**2)) @ vectors
        h = psi_x.mean(0) - psi_y.mean(0)
        train = np.array([psi_x[fold_x != t].mean(0) - psi_y[fold_y != t].mean(0) for t in range(folds)])
        held = np.array([psi_x[fold_x == t].mean(0) - psi_y[fold_y == t].mean(0) for t in range(folds)])
        for lam in AUTHORS_LAMBDAS:
            a = 1 / (np.maximum(values, 0) + lam)
            score = ((values * (train * a) ** 2).sum(1) - 2 * (train * a * held).sum(1)).mean()
            if score < best_score:
                squared = float((2 * h * h * a - values * (h * a) ** 2).sum())
                best_score, best = score, AuthorsModel(centers, sigma, lam, vectors @ (h * a), squared)
    return best


def authors_distance(x, y, seed=0):
    """E6 at the model chosen on the authors' grid."""
    return authors_model(x, y, seed).squared
