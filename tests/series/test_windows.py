"""Scores fitted at every position against one fit at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import densdiff as dd
from densdiff.core import density_ratio, kernel, selection
from densdiff.series.features import series_features, subsequences
from densdiff.series.windows import CENTERS, FOLDS, kde_scores, kliep_scores, lsdd_scores
from densdiff.solvers.centers import CenterKernel

seeds = st.integers(0, 10_000)


def series(seed, n=60, d=2):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, d))
    rows[n // 2 :] += 1.0
    return rows


def centers_of(vectors, seed):
    return np.unique(vectors[np.sort(selection.draw_rows(seed, len(vectors), CENTERS))], axis=0)


def test_subsequences_hold_consecutive_samples():
    rows = np.arange(12.0).reshape(6, 2)
    found = subsequences(rows, 3)
    assert found.shape == (4, 6)
    for t in range(4):
        assert sorted(found[t]) == sorted(rows[t : t + 3].ravel())
    assert subsequences(rows, 1) is rows


@settings(max_examples=10)
@given(seeds, st.integers(5, 12))
def test_lsdd_scores_at_one_model_are_those_of_fits(seed, window):
    rows, sigma, lam = series(seed), 1.3, 0.7
    found = lsdd_scores(rows, window, np.array([sigma]), np.array([lam]), seed)
    assert np.isnan(found[:window]).all()
    assert np.isnan(found[len(rows) - window + 1 :]).all()
    model = dd.LSDD(sigma, lam, centers=centers_of(rows, seed), standardize=False, random_state=0)
    for t in (window, len(rows) // 2, len(rows) - window):
        fitted = model.fit(rows[t : t + window], rows[t - window : t])
        expected = fitted.l2_distance().estimates["regularization_corrected"]
        np.testing.assert_allclose(found[t], expected, rtol=1e-8)


@pytest.mark.parametrize("lams", [None, np.array([0.3, 3.0])])
def test_lsdd_scores_choose_the_model_that_a_search_by_hand_does(lams):
    seed, window, rows, sigmas = 3, 11, series(3), np.array([2.0, 1.0, 0.5])
    found = lsdd_scores(rows, window, sigmas, lams, seed)
    centers = centers_of(rows, seed)
    of = CenterKernel(centers, kernel.radius(rows), 0.5)
    for t in (window, 30, len(rows) - window):
        left, right = np.arange(t - window, t), np.arange(t, t + window)
        best = (np.inf, 0.0)
        for sigma in sigmas:
            grid = lams
            if grid is None:
                from densdiff.solvers.centers import LAM_GRID

                grid = LAM_GRID * of.mean_row_sum(sigma)
            psi, scale = of.plain_features(sigma, rows), (np.pi * sigma**2) ** (rows.shape[1] / 2)
            gram = next(kernel.gram(centers, np.array([sigma]), True))

            def mean(which, psi=psi):
                return psi[which].mean(axis=0)

            for lam in grid:
                inverse = np.linalg.inv(gram + lam * np.eye(len(gram)))
                score = 0.0
                for fold in range(FOLDS):
                    keep = [part[part % FOLDS != fold] for part in (right, left)]
                    held = [part[part % FOLDS == fold] for part in (right, left)]
                    theta = inverse @ (mean(keep[0]) - mean(keep[1]))
                    score += theta @ gram @ theta - 2 * theta @ (mean(held[0]) - mean(held[1]))
                h = mean(right) - mean(left)
                theta = inverse @ h
                distance = (2 * h @ theta - theta @ gram @ theta) / scale
                best = min(best, (score / scale, distance))
        np.testing.assert_allclose(found[t], best[1], rtol=1e-7)


@settings(max_examples=10)
@given(seeds, st.integers(5, 12))
def test_kde_scores_are_distances_of_density_estimates_but_for_the_scale(seed, window):
    rows, sigma = series(seed, d=1), 0.6
    found = kde_scores(rows, window, np.array([sigma]), seed)
    for t in (window, 30, len(rows) - window):
        model = dd.KDEDifference(sigma, standardize=False, random_state=0).fit(
            rows[t : t + window], rows[t - window : t]
        )
        np.testing.assert_allclose(found[t] / np.sqrt(4 * np.pi * sigma**2), model.l2_distance().squared, rtol=1e-8)


def test_kliep_scores_are_divergences_of_single_fits():
    seed, window, rows, sigma = 1, 20, series(1, n=120), 1.1
    found = kliep_scores(rows, window, np.array([sigma]), seed)
    centers = rows[np.sort(selection.draw_rows(seed, len(rows), CENTERS))]
    psi = np.exp(-kernel.squared_distances(rows, centers, True) / (2 * sigma**2))
    for t in (window, 60, len(rows) - window):
        x, y = psi[t : t + window], psi[t - window : t]
        both = np.vstack([x, y])
        first, second = np.zeros((2, 2 * window, 1))
        first[:window], second[window:] = 1 / window, 1 / window
        start = np.full((len(centers), 1), 1 / len(centers))
        alpha, _ = density_ratio.solve(both, first, second, start, 1e-7, 5000)
        expected = np.log(x @ alpha[:, 0]).mean()
        np.testing.assert_allclose(found[t], expected, atol=2 * density_ratio.FOLD_GAP)


def test_series_features_keep_the_distance_of_window_means():
    rows = series(0, n=200)
    found = series_features(rows, 3, dd.LSDD(solver="centers", n_centers=20), 0)
    assert found.values.shape[0] == 198
    assert found.n_centers == 20
    np.testing.assert_allclose(found.values.mean(axis=0), 0, atol=1e-12)
