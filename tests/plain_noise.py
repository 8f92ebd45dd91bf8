"""Noise of a distance by plain loops over rows, for tests."""

import numpy as np


def shares(random, n, weighted):
    """Weights that sum to 1."""
    raw = random.random(n) + 0.2 if weighted else np.ones(n)
    return raw / raw.sum()


def plain_witness(kernel, omega):
    """The density of a sample at each of its rows from all others."""
    found = np.zeros(len(omega))
    for i in range(len(omega)):
        for j in range(len(omega)):
            if i != j:
                found[i] += omega[j] * kernel[i, j] / (1 - omega[i])
    return found


def plain_variance_of_mean(values, omega):
    mean = sum(w * v for w, v in zip(omega, values, strict=True))
    # E sum w^2 (v - mean)^2 = var * (sum w^2 - 2 sum w^3 + (sum w^2)^2)
    squares, cubes = sum(w**2 for w in omega), sum(w**3 for w in omega)
    raw = sum(w**2 * (v - mean) ** 2 for w, v in zip(omega, values, strict=True))
    return raw * squares / (squares - 2 * cubes + squares**2)


def plain_pairs(kernel, left, right, own):
    """Sum over pairs of squared weights times the squared kernel less its mean by row and column."""
    by_row = [sum(right[j] * kernel[i, j] for j in range(len(right))) for i in range(len(left))]
    by_column = [sum(left[i] * kernel[i, j] for i in range(len(left))) for j in range(len(right))]
    mean = sum(w * v for w, v in zip(left, by_row, strict=True))
    total = 0.0
    for i in range(len(left)):
        for j in range(len(right)):
            if not (own and i == j):
                total += (left[i] * right[j] * (kernel[i, j] - by_row[i] - by_column[j] + mean)) ** 2
    return total / ((1 - sum(left**2)) * (1 - sum(right**2))) if own else total


def plain_parts(xx, xy, yy, x, y, a):
    """The linear and the degenerate part of the variance of a |p|^2 + a |q|^2 - 2 <p, q> from double loops."""
    within_x, within_y = plain_pairs(xx, x.omega, x.omega, True), plain_pairs(yy, y.omega, y.omega, True)
    across = plain_pairs(xy, x.omega, y.omega, False)
    witness_x = a * plain_witness(xx, x.omega) - np.array([sum(y.omega * row) for row in xy])
    witness_y = a * plain_witness(yy, y.omega) - np.array([sum(x.omega * column) for column in xy.T])
    # estimated witness values hold noise of their own: that of the pairs within and of the pairs across
    linear_x = plain_variance_of_mean(witness_x, x.omega) - a**2 * x.share * within_x - y.share * across
    linear_y = plain_variance_of_mean(witness_y, y.omega) - a**2 * y.share * within_y - x.share * across
    linear = 4 * (x.share * max(0.0, linear_x) + y.share * max(0.0, linear_y))
    own = a**2 * (x.share**2 * within_x + y.share**2 * within_y)
    return linear, 2 * own + 4 * x.share * y.share * across
