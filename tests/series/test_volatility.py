"""Clusters of volatility and long memory: recognized, and no reason for changes without a word."""

import numpy as np
import pytest

from densdiff import detect_changes
from densdiff.series.volatility import (
    Clusters,
    has_clusters,
    has_long_memory,
    segment_residuals,
    spread_pvalue,
    whitened,
)

NONE = np.empty(0, np.intp)


def garch(seed, length):
    return Clusters(0.1, 0.98).simulate(1, length, np.random.default_rng(seed))[0]


def test_clusters_are_recognized_and_noise_is_not():
    random = np.random.default_rng(0)
    assert has_clusters(garch(0, 2000)[:, None])
    assert not has_clusters(random.standard_normal((2000, 3)))
    assert not has_clusters(random.standard_t(3, (2000, 1)))
    assert not has_clusters(np.zeros((100, 1)))


def test_one_change_of_spread_is_no_cluster_once_it_is_known():
    rows = np.random.default_rng(1).standard_normal((1000, 1))
    rows[500:] *= 3
    assert has_clusters(segment_residuals(rows, NONE))
    assert not has_clusters(segment_residuals(rows, np.array([500])))


def test_the_fit_finds_reaction_and_persistence():
    fit = Clusters.fit(garch(2, 10_000))
    assert fit.reaction == pytest.approx(0.1, abs=0.05)
    assert fit.persistence == pytest.approx(0.98, abs=0.02)


def test_the_variance_follows_its_recursion():
    clusters, shocks = Clusters(0.1, 0.9), np.array([1.0, -1.0, 2.0, 0.0])
    squares = np.square(shocks) / 1.5
    slow = [1.0]
    for square in squares[:-1]:
        slow.append(0.1 + 0.1 * square + 0.8 * slow[-1])
    np.testing.assert_allclose(clusters.variances(shocks), slow)


def test_a_change_of_spread_beyond_clusters_has_a_small_p_value():
    shocks = garch(3, 4000)
    random = np.random.default_rng(0)
    assert spread_pvalue(shocks, Clusters(0.1, 0.98), random) > 0.05
    shocks[2000:] *= 4
    assert spread_pvalue(shocks, Clusters(0.1, 0.98), random) < 0.05


def test_an_autoregression_is_whitened():
    random = np.random.default_rng(4)
    shocks = random.standard_normal(3000)
    rows = np.empty(3000)
    rows[0] = 0.0
    for t in range(1, 3000):
        rows[t] = 0.7 * rows[t - 1] + shocks[t]
    left = whitened(rows)
    assert abs(np.corrcoef(left[1:], left[:-1])[0, 1]) < 0.05


def test_long_memory_is_recognized_and_noise_is_not():
    random = np.random.default_rng(5)
    k = np.arange(1, 4000)
    weights = np.append(1.0, np.cumprod((k - 0.6) / k))
    rows = np.convolve(random.standard_normal(4000), weights)[2000:4000]
    assert has_long_memory(rows[:, None], None)
    assert not has_long_memory(random.standard_normal((2000, 1)), None)


@pytest.mark.parametrize(("factor", "is_noted"), [(2.0, True), (6.0, False)])
def test_a_short_change_of_spread_is_doubted_if_clusters_could_have_made_it(factor, is_noted):
    rows = np.random.default_rng(1).normal(size=400)
    rows[200:] *= factor
    result = detect_changes(rows, random_state=0)
    assert len(result.changes) == 1
    assert any("clusters of volatility" in note for note in result.warnings) == is_noted


def test_a_new_level_is_not_doubted_for_clusters():
    rows = np.random.default_rng(2).normal(size=400)
    rows[200:] += 2.0
    result = detect_changes(rows, random_state=0)
    assert result.kinds[0].what == "level"
    assert not any("clusters" in note for note in result.warnings)


def test_clusters_of_volatility_are_no_changes():
    """Before, three of four such series had a report."""
    found = [detect_changes(garch(seed, 2000), random_state=seed) for seed in range(3)]
    assert sum(len(result.changes) > 0 for result in found) <= 1
