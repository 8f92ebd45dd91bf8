"""Weights of rows, and the variance of a weighted mean by plain sums, for tests."""

import numpy as np


def shares(random, n, weighted):
    """Weights that sum to 1."""
    raw = random.random(n) + 0.2 if weighted else np.ones(n)
    return raw / raw.sum()


def plain_variance_of_mean(values, omega):
    mean = sum(w * v for w, v in zip(omega, values, strict=True))
    # E sum w^2 (v - mean)^2 = var * (sum w^2 - 2 sum w^3 + (sum w^2)^2)
    squares, cubes = sum(w**2 for w in omega), sum(w**3 for w in omega)
    raw = sum(w**2 * (v - mean) ** 2 for w, v in zip(omega, values, strict=True))
    return raw * squares / (squares - 2 * cubes + squares**2)
