"""Scores of neighbouring windows by models fitted at every position, as in the paper (4.2.2): LSDD, KDE and KLIEP.

``vectors`` are the subsequences of a series in inner units; the score at t compares the ``window`` subsequences before
t with those from t on. All scores are (N,), nan where a window does not fit.
"""

import numpy as np

from densdiff.core import density_ratio, kernel, ridge, selection
from densdiff.core.scaling import FloatArray, log_kernel_volume
from densdiff.progress import tell
from densdiff.solvers.centers import LAM_GRID, CenterKernel
from densdiff.solvers.likelihood_width import cross_validated_width
from densdiff.solvers.prepared import WeightedSample

FOLDS = 5
CENTERS = 100
_POSITIONS = 4096  # rows of a block of positions, so that features stay in memory
_LIKELY_ROWS = 500
_BATCH = 32  # KLIEP problems solved at once
_PER_WINDOW = 25  # KLIEP positions in a window; the score between them is interpolated


def _draw_rows(vectors: FloatArray, seed: int, count: int) -> FloatArray:
    return vectors[np.sort(selection.draw_rows(seed, len(vectors), count))]


def _pad_with_nan(scores: FloatArray, n: int, window: int) -> FloatArray:
    """Scores at the positions where both windows fit, nan elsewhere, (n,)."""
    padded = np.full(n, np.nan)
    padded[window : window + len(scores)] = scores
    return padded


def lsdd_scores(
    vectors: FloatArray, window: int, sigmas: FloatArray | None, lams: FloatArray | None, seed: int
) -> FloatArray:
    """E6 at every position, sigma and lam cross-validated there: fold sums of all windows are running sums.

    In the eigenbasis of G every hold-out score and every E6 is a product of squared sums with a table of lams.
    """
    centers = np.unique(_draw_rows(vectors, seed, CENTERS), axis=0)
    sigmas = kernel.sigma_ladder(centers) if sigmas is None else np.sort(sigmas)[::-1]
    center_kernel = CenterKernel(centers, kernel.radius(vectors), float(sigmas[-1]))
    n, count = len(vectors), len(vectors) - 2 * window + 1
    best, distances = np.full(count, np.inf), np.empty(count)
    folds = np.arange(n) % FOLDS  # by position, so that a fold moves along with the window
    for sigma in tell("fitting every position", map(float, sigmas), len(sigmas)):
        values, axes = ridge.eigen(next(kernel.gram(centers, np.array([sigma]), center_kernel.direct)))
        grid = (LAM_GRID * center_kernel.mean_row_sum(sigma) if lams is None else lams)[:, None]
        a = 1.0 / (values + grid)  # (L, b)
        scale = np.exp(-log_kernel_volume(sigma, vectors.shape[1]))
        for start in range(0, count, _POSITIONS):
            positions = slice(start, min(start + _POSITIONS, count))
            rows = slice(start, positions.stop + 2 * window - 1)
            psi = center_kernel.plain_features(sigma, vectors[rows]) @ axes  # (rows, b)
            score, distance = _best_over_lams(psi, folds[rows], window, values, a, grid)
            score, distance = score * scale, distance * scale
            better = score < best[positions]
            best[positions] = np.where(better, score, best[positions])
            distances[positions] = np.where(better, distance, distances[positions])
    return _pad_with_nan(distances, n, window)


def _best_over_lams(
    psi: FloatArray, folds: selection.IntArray, window: int, values: FloatArray, a: FloatArray, grid: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The best hold-out score over lams at every position of a block, and E6 there, two (positions,)."""
    sums = []  # of right less left window by fold, and how many rows each side has, (positions, b) each
    for fold in range(FOLDS):
        own = folds == fold
        running = np.vstack([np.zeros(psi.shape[1]), np.cumsum(psi * own[:, None], axis=0)])
        running_counts = np.append(0, np.cumsum(own))
        middle = slice(window, len(running) - window)
        right, left = running[2 * window :] - running[middle], running[middle] - running[: -2 * window]
        n_right = running_counts[2 * window :] - running_counts[middle]
        n_left = running_counts[middle] - running_counts[: -2 * window]
        sums.append((right, left, n_right, n_left))
    right, left = sum(s[0] for s in sums), sum(s[1] for s in sums)
    scores = np.zeros((len(right), len(a)))
    for held_right, held_left, n_right, n_left in sums:
        held = held_right / np.maximum(n_right, 1)[:, None] - held_left / np.maximum(n_left, 1)[:, None]
        train = (right - held_right) / (window - n_right)[:, None] - (left - held_left) / (window - n_left)[:, None]
        scores += np.square(train) @ (values * a**2).T - 2.0 * (train * held) @ a.T
    h = (right - left) / window
    distances = np.square(h) @ (a + grid * a**2).T  # E6
    chosen = scores.argmin(axis=1)[:, None]
    pick = np.take_along_axis
    return pick(scores, chosen, 1)[:, 0] / FOLDS, pick(distances, chosen, 1)[:, 0]


def kde_scores(vectors: FloatArray, window: int, sigmas: FloatArray | None, seed: int) -> FloatArray:
    """L2 distance of two kernel density estimates of one width, the series' own by likelihood cross-validation.

    Sums over pairs of rows of two windows come from an integral image of the kernel of a stretch of the series.
    """
    drawn = _draw_rows(vectors, seed, _LIKELY_ROWS)
    ladder = kernel.sigma_ladder(drawn) if sigmas is None else np.sort(sigmas)[::-1]
    sigma = cross_validated_width(WeightedSample.of(drawn), seed, FOLDS, ladder)
    wide = np.array([np.sqrt(2.0) * sigma])
    direct = kernel.needs_direct_differences(kernel.radius(vectors), float(wide[0]), vectors.shape[1])
    n, count = len(vectors), len(vectors) - 2 * window + 1
    distances, step = np.empty(count), 2 * window
    starts = range(0, count, step)
    for start in tell("distances of windows", starts, len(starts)):
        rows = vectors[start : min(start + step, count) + 2 * window - 1]
        psi = next(kernel.features(kernel.squared_distances(rows, rows, direct), wide))
        image = np.zeros((len(rows) + 1, len(rows) + 1))
        image[1:, 1:] = psi.cumsum(axis=0).cumsum(axis=1)
        t = np.arange(min(step, count - start))

        def block(i: int, j: int, image: FloatArray = image, t: selection.IntArray = t) -> FloatArray:
            a, b, c, d = t + i * window, t + (i + 1) * window, t + j * window, t + (j + 1) * window
            return np.asarray(image[b, d] - image[a, d] - image[b, c] + image[a, c])

        distances[start : start + step] = (block(0, 0) - 2.0 * block(0, 1) + block(1, 1)) / window**2
    return _pad_with_nan(np.maximum(distances, 0.0), n, window)


def kliep_scores(vectors: FloatArray, window: int, sigmas: FloatArray | None, seed: int) -> FloatArray:
    """KL divergence of the window from t on from the one before, by KLIEP with centers and one sigma for the series."""
    centers = _draw_rows(vectors, seed, CENTERS)
    sigma = float(np.median(sigmas)) if sigmas is not None else kernel.median_distance(centers)
    direct = kernel.needs_direct_differences(kernel.radius(vectors), sigma, vectors.shape[1])
    n, count = len(vectors), len(vectors) - 2 * window + 1
    stride = max(1, window // _PER_WINDOW)
    places = np.append(np.arange(0, count - 1, stride), count - 1)  # the first row of the window before
    divergences = np.empty(len(places))
    starts = range(0, len(places), _BATCH)
    for first in tell("fitting every position", starts, len(starts)):
        batch = places[first : first + _BATCH]
        rows = vectors[batch[0] : batch[-1] + 2 * window]
        psi = next(density_ratio.feature_ladder(kernel.squared_distances(rows, centers, direct), np.array([sigma])))
        at = np.arange(len(rows))[:, None] - (batch - batch[0])
        before, after = ((at >= low) & (at < low + window) for low in (0, window))
        start = np.full((len(centers), len(batch)), 1.0 / len(centers))
        alpha, _ = density_ratio.solve(
            psi, after / window, before / window, start, density_ratio.FOLD_GAP, density_ratio.MOST_CYCLES
        )
        divergences[first : first + _BATCH] = (density_ratio.log_ratios(psi, alpha) * after).sum(axis=0) / window
    return _pad_with_nan(np.interp(np.arange(count), places, np.maximum(divergences, 0.0)), n, window)
