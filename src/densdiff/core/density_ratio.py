"""KLIEP: the density ratio r = p/q as a nonnegative sum of Gaussian features, by maximum likelihood.

With gamma_l = alpha_l mean_Y psi_l the weights gamma lie on the simplex, and the problem is that of the weights of a
mixture: convex, EM climbs, and max_l g_l - gamma'g (g the gradient) bounds what is left to gain. `solve` runs
accelerated EM on many problems at once; `maximize` takes one problem to full accuracy by an interior-point method.
"""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from densdiff.core import kernel
from densdiff.core.scaling import FloatArray

# psi, weights, means, start, tol, most cycles -> alpha, gaps: see `climb`
Climb = Callable[[FloatArray, FloatArray, FloatArray, FloatArray, float, int], tuple[FloatArray, FloatArray]]

FOLD_GAP = 1e-3  # accuracy of a log-likelihood that is only compared with others
FINAL_GAP = 1e-6
MOST_CYCLES = 2000

# Of a kernel's peak. A center that no row of Y comes near has mean_Y psi = 0 and could raise the ratio without bound:
# its mean counts as this much, so no log ratio leaves +-log(1e100). Smaller features count as 0, so that no product
# below is a denormal number, which would slow a matrix product a hundredfold.
LEAST = 1e-100
FIRST_LENGTH, LEAST_LENGTH = 4.0, 1.5
LEAST_SHARE = 0.1  # of the second EM step, which the extrapolation of a square root must keep
_JITTER = 1e-14  # of the interior-point matrix, whose trace is at most about 1
_TO_BOUNDARY = 0.995
_MOST_STEPS = 60
_BLOCK_ROWS = 4096
_BATCH_ENTRIES = 1 << 16  # entries of one array over a batch: half a dozen of them stay in cache


def feature_ladder(squared: FloatArray, sigmas: FloatArray) -> Iterator[FloatArray]:
    """Features psi for each sigma, widest first, without negligible entries; each yield overwrites the one before."""
    for psi in kernel.features(squared, sigmas):
        psi[psi < LEAST] = 0.0
        yield psi


def log_ratios(psi: FloatArray, alpha: FloatArray) -> FloatArray:
    """log r at the rows of psi, (N,) or (N, B), finite where r is 0."""
    return np.asarray(np.log(np.maximum(psi @ alpha, LEAST)))


def solve(
    psi: FloatArray, weights_x: FloatArray, weights_y: FloatArray, start: FloatArray, tol: float, max_cycles: int
) -> tuple[FloatArray, FloatArray]:
    """Coefficients alpha (b, B) of B problems over the same features psi (N, b), and the gap each is left with, (B,).

    Column c of ``weights_x`` and ``weights_y`` (N, B) holds the rows of each sample of problem c, with sum 1; column c
    of ``start`` (b, B) sums to 1, and a center that starts at 0 takes no part in problem c.
    """
    return climb(psi, weights_x, psi.T @ weights_y, start, tol, max_cycles)


def climb(
    psi: FloatArray, weights: FloatArray, means: FloatArray, start: FloatArray, tol: float, max_cycles: int
) -> tuple[FloatArray, FloatArray]:
    """Coefficients alpha (b, B) and gaps (B,) of `solve` from psi at rows of X alone and mean_Y psi (b, B)."""
    alpha, gap = np.empty_like(start), np.empty(start.shape[1])
    size = max(16, _BATCH_ENTRIES // max(psi.shape))
    for first in range(0, start.shape[1], size):
        batch = slice(first, first + size)
        scale = (start[:, batch] > 0) / np.maximum(means[:, batch], LEAST)  # (b, B), 0 bars a center
        gamma, gap[batch] = _squarem(psi, weights[:, batch], scale, start[:, batch], tol, max_cycles)
        alpha[:, batch] = gamma * scale
    return alpha, gap


def _squarem(
    psi: FloatArray, weights: FloatArray, scale: FloatArray, start: FloatArray, tol: float, max_cycles: int
) -> tuple[FloatArray, FloatArray]:
    """EM with squared extrapolation (Varadhan and Roland 2008, scheme S3); gamma (b, B) and its gap.

    A cycle takes one EM step, a second, and extrapolates the square roots of gamma, which lie on a sphere; where that
    comes out below the first step the second is kept, so the likelihood never falls. Columns within ``tol`` leave.
    """
    solutions, gap = start.copy(), np.full(start.shape[1], np.inf)
    active = np.arange(start.shape[1])
    gamma, longest = start, np.full(start.shape[1], FIRST_LENGTH)
    gradient, _ = _gradient(psi, weights, scale, gamma)
    for _ in range(max_cycles):
        mass = np.einsum("lc,lc->c", gamma, gradient)
        gap[active] = left = gradient.max(axis=0) - mass
        stay = left > tol
        if not stay.all():
            solutions[:, active[~stay]] = gamma[:, ~stay]
            active, longest, mass = active[stay], longest[stay], mass[stay]
            weights, scale, gamma, gradient = (a[:, stay] for a in (weights, scale, gamma, gradient))
        if not active.size:
            return solutions, gap
        first = gamma * gradient
        first /= mass
        gradient_1, ratio_1 = _gradient(psi, weights, scale, first)
        second = first * gradient_1
        far, length = _extrapolated(gamma, first, second, scale, longest)
        gradient, ratio = _gradient(psi, weights, scale, far)
        ratio /= ratio_1
        fell = ~(np.einsum("ic,ic->c", weights, np.log(ratio, out=ratio)) >= 0)
        longest = np.where(
            fell, np.maximum(0.5 * longest, LEAST_LENGTH), np.where(length < longest, longest, 4.0 * longest)
        )
        if fell.any():
            far[:, fell] = _normalized(second[:, fell], scale[:, fell])
            gradient[:, fell], _ = _gradient(psi, weights[:, fell], scale[:, fell], far[:, fell])
        gamma = far
    solutions[:, active] = gamma
    gap[active] = gradient.max(axis=0) - np.einsum("lc,lc->c", gamma, gradient)
    return solutions, gap


def _gradient(
    psi: FloatArray, weights: FloatArray, scale: FloatArray, gamma: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """g_l = mean_X(phi_l / r), (b, B), and r at all rows, (N, B): the two matrix products of an EM step."""
    ratio = psi @ (gamma * scale)
    np.maximum(ratio, LEAST, out=ratio)
    gradient = psi.T @ (weights / ratio)
    gradient *= scale
    return gradient, ratio


def _extrapolated(
    gamma: FloatArray, first: FloatArray, second: FloatArray, scale: FloatArray, longest: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The parabola through the square roots of three iterates, (b, B), and how far along it each column went."""
    root, step, end = np.sqrt(gamma), np.sqrt(first), np.sqrt(second)
    bend = end - step
    step -= root
    bend -= step
    above, below = np.einsum("lc,lc->c", step, step), np.einsum("lc,lc->c", bend, bend)
    length = np.clip(np.sqrt(np.divide(above, below, out=np.ones_like(above), where=below > 0)), 1.0, longest)
    bend *= length
    bend += 2.0 * step
    bend *= length
    bend += root
    end *= LEAST_SHARE
    np.maximum(bend, end, out=bend)
    bend *= bend
    return _normalized(bend, scale), length


def _normalized(gamma: FloatArray, scale: FloatArray) -> FloatArray:
    """Columns with sum 1; a weight that fell below the least stays there, so that it can come back."""
    gamma = np.maximum(gamma, LEAST * (scale > 0))
    gamma /= gamma.sum(axis=0)
    return gamma


def maximize(
    psi: FloatArray, weights: FloatArray, means: FloatArray, tol: float = FINAL_GAP
) -> tuple[FloatArray, float]:
    """Coefficients alpha (b,) of one problem and its gap; psi (n, b) at rows of X, ``weights`` (n,), ``means`` (b,).

    Newton steps reach a gap that would take EM thousands, for a cost of n b^2 each: right for one last fit, too much
    for every fold. EM takes over should rounding stop them.
    """
    scale = 1.0 / np.maximum(means, LEAST)
    gamma, gap = _interior(psi, weights, scale, tol)
    if gap > tol:
        start = (0.999 * gamma + 0.001 / len(gamma))[:, None]
        alpha, left = climb(psi, weights[:, None], means[:, None], start, tol, MOST_CYCLES)
        if left[0] < gap:
            return alpha[:, 0], float(left[0])
    return gamma * scale, gap


def _interior(psi: FloatArray, weights: FloatArray, scale: FloatArray, tol: float) -> tuple[FloatArray, float]:
    """Primal-dual interior point for max mean_X log r - sum gamma, gamma >= 0, whose solution has sum 1.

    With slacks z >= 0 of 1 - g and u = dgamma / gamma, Newton's system for gamma z = mu is
    (R'WR + diag(gamma z)) u = gamma (g - 1) + mu, R the share of each center in r at each row: all of it lies in
    [0, 1] however far apart the samples are.
    """
    b = psi.shape[1]
    gamma, slack = np.full(b, 1.0 / b), np.full(b, 0.5)
    best, least = gamma, np.inf
    for _ in range(_MOST_STEPS):
        mass, normal = _shares(psi, weights, gamma * scale)
        gradient = mass / gamma
        total = gamma.sum()
        gap = float(gradient.max() * total - mass.sum())  # of gamma / total
        if gap < least:
            best, least = gamma / total, gap
        if gap <= tol:
            break
        normal.flat[:: b + 1] += gamma * slack + _JITTER
        try:
            factor = cho_factor(normal, overwrite_a=True, check_finite=False)
        except LinAlgError:
            break
        # Mehrotra: how far the step towards mu = 0 would come says how small a mu to aim for, and bends the step
        change = cho_solve(factor, mass - gamma, check_finite=False)
        turn = -slack * (1.0 + change)
        now = float(gamma @ slack)
        then = float((gamma * (1.0 + _step_length(change) * change)) @ (slack + _step_length(turn / slack) * turn))
        aim = (then / now) ** 3 * now / b - gamma * change * turn  # (b,)
        change = cho_solve(factor, mass - gamma + aim, check_finite=False)
        turn = aim / gamma - slack * (1.0 + change)
        gamma = gamma * (1.0 + _step_length(change) * change)
        slack = slack + _step_length(turn / slack) * turn
        if not (np.isfinite(gamma).all() and gamma.min() > 0 and slack.min() > 0):
            break
    return best, least


def _step_length(relative: FloatArray) -> float:
    """The longest step, at most 1, that keeps 1 + step * relative positive."""
    return min(1.0, _TO_BOUNDARY / max(-float(relative.min()), _TO_BOUNDARY))


def _shares(psi: FloatArray, weights: FloatArray, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """gamma g, (b,), and R'WR, (b, b), summed over blocks of rows."""
    mass, normal = np.zeros(len(alpha)), np.zeros((len(alpha), len(alpha)))
    for first in range(0, len(psi), _BLOCK_ROWS):
        block = slice(first, first + _BLOCK_ROWS)
        root = np.sqrt(weights[block])
        share = psi[block] * alpha  # (k, b)
        share *= (root / np.maximum(share.sum(axis=1), LEAST))[:, None]
        mass += root @ share
        normal += share.T @ share
    return mass, normal


def hold_out_scores(
    psi: FloatArray,
    rows_x: tuple[FloatArray, FloatArray],
    means_y: tuple[FloatArray, FloatArray],
    allowed: npt.NDArray[np.bool_],
    climb: Climb = climb,
) -> FloatArray:
    """Hold-out mean_X log r - mean_Y r + 1 of B problems, (B,): expected to be at most KL(p || q), where r = p/q is.

    Each pair is first of the rows fitted, then of the rows held out: ``rows_x`` weights (N, B), ``means_y`` mean_Y psi
    (b, B). The likelihood mean_X log r alone, the published criterion, knows of Y only the rows fitted and rewards
    a ratio without bound wherever these are absent: on the paper's Gaussians (mu = .5, true KL 1.57) it takes the
    narrowest sigma and a KL of 30 to 40. Centers are those ``allowed`` (b, B), not held rows: before EM has converged
    such a center would still be credited with its own row.
    """
    allowed = allowed | ~allowed.any(axis=0)
    alpha, _ = climb(psi, rows_x[0], means_y[0], allowed / allowed.sum(axis=0), FOLD_GAP, MOST_CYCLES)
    excess = np.einsum("lc,lc->c", means_y[1], alpha) - 1.0
    return np.asarray(np.einsum("ic,ic->c", rows_x[1], log_ratios(psi, alpha)) - excess)


def permuted_divergences(
    squared: FloatArray,
    sigmas: FloatArray,
    members: npt.NDArray[np.bool_],
    folds: npt.NDArray[np.integer] | None = None,
    centers: npt.NDArray[np.bool_] | None = None,
    climb: Climb = climb,
) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """KL(p || q) of each relabelling of the pooled rows, (B,), and the index of the sigma it used, (B,).

    ``squared`` (N, N) are squared distances, ``sigmas`` run widest first, ``members`` (B, N) says which rows are X,
    ``centers`` (B, N) which of those are centers (all, if None). With more than one sigma each relabelling chooses
    its own by `hold_out_scores`, ``folds`` (B, N) the fold of each row in each relabelling.
    """
    centers = members if centers is None else centers
    level = np.zeros(len(members), dtype=np.intp)
    if len(sigmas) > 1:
        if folds is None:
            raise ValueError("a choice among sigmas needs folds")
        level = _best_levels(squared, sigmas, members, folds, centers, climb)
    divergences = np.empty(len(members))
    used = np.unique(level)
    for i, psi in zip(used, feature_ladder(squared, sigmas[used]), strict=True):
        for c in np.flatnonzero(level == i):
            own, basis = np.flatnonzero(members[c]), np.flatnonzero(centers[c])
            features = np.ascontiguousarray(psi[np.ix_(own, basis)])
            means = ~members[c] @ psi[:, basis] / (len(psi) - len(own))
            alpha, _ = maximize(features, np.full(len(own), 1.0 / len(own)), means)
            divergences[c] = log_ratios(features, alpha).mean()
    return divergences, level


def _best_levels(
    squared: FloatArray,
    sigmas: FloatArray,
    members: npt.NDArray[np.bool_],
    folds: npt.NDArray[np.integer],
    centers: npt.NDArray[np.bool_],
    climb: Climb,
) -> npt.NDArray[np.intp]:
    """The sigma of highest hold-out score of each relabelling, the wider between equals; (B,).

    All folds of a batch of relabellings are one call, so that matrix products stay large.
    """
    count = int(folds.max()) + 1
    scores = np.empty((len(sigmas), len(members)))
    size = max(1, 4 * _BATCH_ENTRIES // (count * squared.shape[1]))
    for i, psi in enumerate(feature_ladder(squared, sigmas)):
        for first in range(0, len(members), size):
            batch = slice(first, first + size)
            out = folds[batch, :, None] == np.arange(count)  # (B, N, folds)
            of_x, basis = members[batch, :, None], centers[batch, :, None]
            rows_x, rows_y = ((_equal_weights(side & ~out), _equal_weights(side & out)) for side in (of_x, ~of_x))
            means_y = psi.T @ rows_y[0], psi.T @ rows_y[1]
            allowed = np.concatenate(list(basis & ~out), axis=1)
            fold_scores = hold_out_scores(psi, rows_x, means_y, allowed, climb)
            scores[i, batch] = fold_scores.reshape(-1, count).mean(axis=1)
    return np.asarray(scores.argmax(axis=0))


def _equal_weights(chosen: npt.NDArray[np.bool_]) -> FloatArray:
    """Equal weights of the chosen rows of each problem: from (B, N, folds) to (N, B * folds), columns with sum 1."""
    side_by_side = np.concatenate(list(chosen), axis=1)
    return np.asarray(side_by_side / side_by_side.sum(axis=0))
