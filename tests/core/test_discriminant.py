"""Log ratios by logistic regression: the same as scikit-learn's, and honest where they are cross-fitted."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from densdiff.core.discriminant import cross_fitted_log_ratio, fit_log_ratio


def two_sides(n_before=120, n_after=60, shift=1.0, p=3):
    random = np.random.default_rng(0)
    is_after = np.repeat([0.0, 1.0], [n_before, n_after])
    rows = random.normal(size=(n_before + n_after, p))
    rows[:, 0] += shift * is_after
    return rows, is_after


@pytest.mark.parametrize("ridge", [0.3, 1.0, 20.0])
def test_slopes_are_those_of_scikit_learn(ridge):
    rows, is_after = two_sides()
    weights = np.where(is_after > 0, 180 / 120, 180 / 240)
    twin = LogisticRegression(C=1.0 / ridge, tol=1e-10, max_iter=500).fit(rows, is_after, sample_weight=weights)
    slopes = fit_log_ratio(rows, is_after, ridge)
    np.testing.assert_allclose(slopes[1:], twin.coef_[0], rtol=1e-4, atol=1e-6)
    assert slopes[0] == pytest.approx(twin.intercept_[0], abs=1e-4)  # a trace of ridge is on it, too


def test_swapping_the_sides_flips_the_sign():
    rows, is_after = two_sides()
    np.testing.assert_allclose(fit_log_ratio(rows, is_after, 1.0), -fit_log_ratio(rows, 1.0 - is_after, 1.0), atol=1e-9)


def test_each_fold_is_judged_by_the_others():
    rows, is_after = two_sides()
    folds = np.arange(180) // 12 % 3
    ratios = cross_fitted_log_ratio(rows, is_after, folds, 1, 1.0)
    for fold in range(3):
        held = folds == fold
        slopes = fit_log_ratio(rows[~held], is_after[~held], 1.0)
        np.testing.assert_allclose(ratios[held], slopes[0] + rows[held] @ slopes[1:])


def test_noise_alone_is_not_told_apart_once_it_is_cross_fitted():
    """Fitted to themselves, 8 features of 80 rows separate any two sides."""
    gaps = []
    for seed in range(20):
        rows = np.random.default_rng(seed).normal(size=(80, 8))
        is_after = np.repeat([0.0, 1.0], 40)
        ratios = cross_fitted_log_ratio(rows, is_after, np.arange(80) // 4 % 5, 1, 1.0)
        gaps.append(ratios[40:].mean() - ratios[:40].mean())
    assert np.mean(gaps) < 0.1


def test_sides_far_apart_have_finite_ratios():
    rows, is_after = two_sides(shift=1e3)
    assert np.isfinite(cross_fitted_log_ratio(rows, is_after, np.arange(180) % 5, 2, 1.0)).all()
