"""Logistic regressions that are fitted together: against scikit-learn's, one at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from densdiff.core import logistic
from densdiff.core.calibration import softmax
from densdiff.core.logistic import logistic_fits

seeds = st.integers(0, 2**32 - 1)


def problem(seed, k=3, n=40, d=3, sets=3):
    """Rows, classes that overlap, and sets of weights of which the first leaves rows out."""
    random = np.random.default_rng([seed, k, n, d])
    codes = random.permutation(np.arange(n) % k)
    weights = random.uniform(0.5, 2.0, size=(sets, n))
    weights[0, random.choice(n, n // 4, replace=False)] = 0.0
    return random.normal(size=(n, d)) + random.normal(size=(k, d))[codes], codes, weights


def probabilities(at, rows):
    return softmax(rows @ at[:, :-1].T + at[:, -1])


@given(seeds, st.integers(2, 4))
def test_fits_are_those_of_scikit_learn(seed, k):
    """The slope is at most 1e-6 and the curvature at least 1 / n in every direction that is penalized."""
    rows, codes, weights = problem(seed, k)
    found = logistic_fits(rows, codes, weights, 1e-6)
    assert found.shape == (3, k, 4)
    for at, own in zip(found, weights, strict=True):
        used = own > 0
        scaled = own[used] * used.sum() / own.sum()
        twin = LogisticRegression(tol=1e-8, max_iter=5000).fit(rows[used], codes[used], scaled)
        np.testing.assert_allclose(probabilities(at, rows), twin.predict_proba(rows), atol=1e-3)


@given(seeds)
def test_the_unit_of_weights_is_free_and_rows_without_weight_are_none(seed):
    rows, codes, weights = problem(seed)
    expected = logistic_fits(rows, codes, weights[:1], 1e-6)
    np.testing.assert_allclose(logistic_fits(rows, codes, 1000 * weights[:1], 1e-6), expected, atol=1e-9)
    rows[weights[0] == 0] = 1e3
    np.testing.assert_allclose(logistic_fits(rows, codes, weights[:1], 1e-6), expected, atol=1e-9)


@pytest.mark.parametrize("entries", [1, 300])
def test_sets_of_weights_may_be_fitted_one_by_one(monkeypatch, entries):
    rows, codes, weights = problem(1)
    together = logistic_fits(rows, codes, weights, 1e-7)
    monkeypatch.setattr(logistic, "_ENTRIES", entries)
    np.testing.assert_allclose(logistic_fits(rows, codes, weights, 1e-7), together, atol=1e-4)


def test_classes_far_apart_have_finite_scores():
    rows = np.repeat([[-1e3], [1e3]], 10, axis=0)
    (at,) = logistic_fits(rows, np.repeat([0, 1], 10), np.ones((1, 20)))
    assert np.isfinite(at).all()
    assert probabilities(at, rows)[np.arange(20), np.repeat([0, 1], 10)].min() > 0.99
