"""Stacked class scores: against a general optimizer, and what weights and biases must do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from densdiff.core import calibration
from densdiff.core.calibration import StackedScores, softmax

seeds = st.integers(0, 2**32 - 1)


def problem(seed, n=60, k=3, parts=2, signal=1.0):
    """Scores of some classifiers that point to the class, with noise, indicators, and weights that sum to n."""
    random = np.random.default_rng([seed, n, k, parts])
    codes = np.arange(n) % k
    targets = np.eye(k)[codes]
    scores = signal * targets + random.normal(size=(parts, n, k))
    weights = random.uniform(0.5, 1.5, size=n)
    return scores, targets, weights * n / weights.sum()


def loss(stacked, scores, targets, weights):
    """The penalized negative log-likelihood, as it is written."""
    probabilities = stacked.probabilities(scores)
    parts = len(scores)
    likelihood = weights @ np.log((probabilities * targets).sum(axis=1))
    return (
        -likelihood
        + 0.5 * calibration._WEIGHT_PENALTY * np.square(stacked.weights - 1 / parts).sum()
        + 0.5 * calibration._BIAS_PENALTY * np.square(stacked.biases).sum()
    )


@given(seeds, st.integers(2, 4), st.integers(1, 3))
def test_no_other_weights_and_biases_are_better(seed, k, parts):
    scores, targets, weights = problem(seed, k=k, parts=parts, signal=2.0)
    found = StackedScores(scores, targets, weights)
    least = loss(found, scores, targets, weights)

    def at(values):
        other = StackedScores.__new__(StackedScores)
        other.weights, other.biases = values[:parts], values[parts:]
        return loss(other, scores, targets, weights)

    start = np.append(found.weights, found.biases)
    bounds = [(0, None)] * parts + [(None, None)] * k
    assert least <= minimize(at, start, bounds=bounds).fun + 1e-6
    assert least <= minimize(at, np.append(np.full(parts, 0.5), np.zeros(k)), bounds=bounds).fun + 1e-4


@given(seeds)
def test_scores_that_mislead_get_no_weight(seed):
    scores, targets, weights = problem(seed, n=300, signal=2.0)
    found = StackedScores(np.array([scores[0], -3.0 * scores[1]]), targets, weights)
    assert found.weights[1] == 0.0
    assert found.weights[0] > 0.0
    nothing = StackedScores(-3.0 * scores, targets, weights)
    assert nothing.weights.tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(nothing.probabilities(scores), np.full((300, 3), 1 / 3))


@given(seeds, st.floats(-50, 50))
def test_a_constant_of_each_row_changes_nothing(seed, constant):
    scores, targets, weights = problem(seed)
    moved = scores + constant * np.arange(scores.shape[1])[:, None] / scores.shape[1]
    expected = StackedScores(scores, targets, weights).probabilities(scores)
    np.testing.assert_allclose(StackedScores(moved, targets, weights).probabilities(moved), expected, atol=1e-6)


def test_many_rows_find_the_temperature_of_an_overconfident_classifier():
    """Of classes one unit apart the true log-odds are known; three times as much is too certain."""
    random = np.random.default_rng(0)
    codes = np.arange(20_000) % 2
    x = random.normal(size=20_000) + codes
    odds = x - 0.5
    scores = np.stack([np.zeros_like(odds), 3.0 * odds], axis=1)[None]
    found = StackedScores(scores, np.eye(2)[codes], np.ones(20_000))
    assert found.weights[0] == pytest.approx(1 / 3, abs=0.02)
    np.testing.assert_allclose(found.probabilities(scores)[:, 1], 1 / (1 + np.exp(-odds)), atol=0.02)


def test_softmax_of_great_scores_is_finite():
    np.testing.assert_allclose(softmax(np.array([[1e4, 1e4 - 1.0], [-1e300, 0.0]])).sum(axis=1), 1)
