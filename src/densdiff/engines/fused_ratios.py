"""Accelerated EM of `core.density_ratio`, compiled by numba: one problem after the other, on its own rows and centers.

The products of many problems at once need the features of all rows that any of them uses; those of one problem alone
are a sixth of these where it has 80 of 200 rows and centers. No loop sums across lanes but short ones.
"""

import numpy as np

from densdiff.core.density_ratio import FIRST_LENGTH, LEAST, LEAST_LENGTH, LEAST_SHARE
from densdiff.core.scaling import FloatArray
from densdiff.engines.compiling import compiled, compiled_on_disk, prefer_wide_vectors

_SMALL, _LARGE = 1e-100, 1e100  # a factor of 1e-200 to 1e200 more is still a number


def climb(
    psi: FloatArray, weights: FloatArray, means: FloatArray, start: FloatArray, tol: float, max_cycles: int
) -> tuple[FloatArray, FloatArray]:
    """Coefficients alpha (b, B) and gaps (B,), by the same steps as `density_ratio.climb`."""
    psi = np.array(psi, dtype=np.float64, order="C")  # copies, so that numba compiles for one layout only
    rows = (np.array(columns.T, dtype=np.float64, order="C") for columns in (weights, means, start))
    alpha, gap = _climb_all(psi, *rows, float(tol), int(max_cycles))
    return np.asarray(alpha.T), np.asarray(gap)


@compiled_on_disk
def _climb_all(
    psi: FloatArray, weights: FloatArray, means: FloatArray, start: FloatArray, tol: float, max_cycles: int
) -> tuple[FloatArray, FloatArray]:
    alpha, gap = np.zeros_like(start), np.empty(len(start))  # (B, b), (B,)
    for c in range(len(start)):
        own, basis = np.flatnonzero(weights[c]), np.flatnonzero(start[c])
        scale = 1.0 / np.maximum(means[c][basis], LEAST)
        phi, turned = np.empty((len(own), len(basis))), np.empty((len(basis), len(own)))
        for i, row in enumerate(own):
            for k, center in enumerate(basis):
                phi[i, k] = turned[k, i] = psi[row, center] * scale[k]
        gamma = start[c][basis]
        gap[c] = _climb_one(phi, turned, weights[c][own], gamma, tol, max_cycles)
        alpha[c][basis] = gamma * scale
    return alpha, gap


@compiled
def _climb_one(
    phi: FloatArray, turned: FloatArray, weights: FloatArray, gamma: FloatArray, tol: float, max_cycles: int
) -> float:
    """The gap left; gamma (b,) is overwritten. ``turned`` is the transpose of phi (n, b)."""
    n, b = phi.shape
    ratio, ratio_1, pull = np.empty(n), np.empty(n), np.empty(n)
    gradient, gradient_1, first, second, far = np.empty(b), np.empty(b), np.empty(b), np.empty(b), np.empty(b)
    roots = np.empty((3, b))
    longest, is_even = FIRST_LENGTH, weights.min() == weights.max()
    _gradient(phi, turned, weights, gamma, ratio, pull, gradient)
    for _ in range(max_cycles):
        mass = _dot(gamma, gradient)
        if gradient.max() - mass <= tol:
            break
        for k in range(b):
            first[k] = gamma[k] * gradient[k] / mass
        _gradient(phi, turned, weights, first, ratio_1, pull, gradient_1)
        for k in range(b):
            second[k] = first[k] * gradient_1[k]
        length = _extrapolate(gamma, first, second, roots, longest, far)
        _gradient(phi, turned, weights, far, ratio, pull, gradient)
        if _log_gain(weights, ratio, ratio_1, is_even) >= 0:
            gamma[:] = far
            longest = longest if length < longest else 4.0 * longest
        else:
            _normalize(second, gamma)
            longest = max(0.5 * longest, LEAST_LENGTH)
            _gradient(phi, turned, weights, gamma, ratio, pull, gradient)
    return float(gradient.max() - _dot(gamma, gradient))


@compiled
def _extrapolate(
    gamma: FloatArray, first: FloatArray, second: FloatArray, roots: FloatArray, longest: float, far: FloatArray
) -> float:
    """How far along the parabola through three square roots ``far`` (b,) is; it and ``roots`` are overwritten."""
    prefer_wide_vectors()
    root, step, bend = roots[0], roots[1], roots[2]
    for k in range(len(far)):
        root[k] = np.sqrt(gamma[k])
    for k in range(len(far)):
        step[k] = np.sqrt(first[k])
    for k in range(len(far)):
        bend[k] = np.sqrt(second[k])
    for k in range(len(far)):
        bend[k] -= step[k]
        step[k] -= root[k]
        bend[k] -= step[k]
    above, below = _dot(step, step), _dot(bend, bend)
    length = min(max(np.sqrt(above / below), 1.0), longest) if below > 0 else 1.0
    for k in range(len(far)):
        end = root[k] + 2.0 * step[k] + bend[k]
        place = max(root[k] + length * (2.0 * step[k] + length * bend[k]), LEAST_SHARE * end)
        far[k] = place * place
    _normalize(far, far)
    return float(length)


@compiled
def _normalize(weights: FloatArray, normalized: FloatArray) -> None:
    """Overwrites weights with sum 1; one that fell below the least stays there, so that it can come back."""
    total = 0.0
    for k in range(len(weights)):
        normalized[k] = max(weights[k], LEAST)
        total += normalized[k]
    for k in range(len(weights)):
        normalized[k] /= total


@compiled
def _log_gain(weights: FloatArray, ratio: FloatArray, ratio_1: FloatArray, is_even: bool) -> float:
    """The sum of weight times log(ratio / ratio_1), of even weights from few logarithms of products."""
    total, product = 0.0, 1.0
    for i in range(len(weights)):
        if not is_even:
            total += weights[i] * np.log(ratio[i] / ratio_1[i])
            continue
        product *= ratio[i] / ratio_1[i]
        if not _SMALL < product < _LARGE:
            total += weights[i] * np.log(product)
            product = 1.0
    return float(total + weights[0] * np.log(product))


@compiled
def _gradient(
    phi: FloatArray,
    turned: FloatArray,
    weights: FloatArray,
    gamma: FloatArray,
    ratio: FloatArray,
    pull: FloatArray,
    gradient: FloatArray,
) -> None:
    """Overwrites r at the rows, (n,), each weight over r, (n,), and g_l = mean_X(phi_l / r), (b,)."""
    _weighted_sum(turned, gamma, ratio)
    for i in range(len(ratio)):
        ratio[i] = max(ratio[i], LEAST)
        pull[i] = weights[i] / ratio[i]
    _weighted_sum(phi, pull, gradient)


@compiled
def _weighted_sum(rows: FloatArray, weights: FloatArray, total: FloatArray) -> None:
    """Overwrites the sum of rows times weights; eight rows at once, because each pass loads and stores the total."""
    prefer_wide_vectors()
    total[:] = 0.0
    whole = len(rows) // 8 * 8
    for i in range(0, whole, 8):
        a, b, c, d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        e, f, g, h = weights[i + 4], weights[i + 5], weights[i + 6], weights[i + 7]
        for k in range(len(total)):
            upper = (a * rows[i, k] + b * rows[i + 1, k]) + (c * rows[i + 2, k] + d * rows[i + 3, k])
            lower = (e * rows[i + 4, k] + f * rows[i + 5, k]) + (g * rows[i + 6, k] + h * rows[i + 7, k])
            total[k] += upper + lower
    for i in range(whole, len(rows)):
        for k in range(len(total)):
            total[k] += weights[i] * rows[i, k]


@compiled
def _dot(a: FloatArray, b: FloatArray) -> float:
    """The inner product, in four sums that do not wait for each other."""
    p, q, r, s = 0.0, 0.0, 0.0, 0.0
    whole = len(a) // 4 * 4
    for k in range(0, whole, 4):
        p += a[k] * b[k]
        q += a[k + 1] * b[k + 1]
        r += a[k + 2] * b[k + 2]
        s += a[k + 3] * b[k + 3]
    for k in range(whole, len(a)):
        p += a[k] * b[k]
    return (p + q) + (r + s)
