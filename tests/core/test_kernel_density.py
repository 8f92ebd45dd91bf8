"""Densities for the eye have one bandwidth and unit area."""

import numpy as np
import pytest
from scipy.stats import norm

from densdiff.core import kernel_density
from densdiff.core.kernel_density import common_bandwidth, density_at


def test_a_density_is_the_mean_of_normal_ones(monkeypatch):
    values, points = np.random.default_rng(0).normal(size=57), np.linspace(-4.0, 4.0, 31)
    expected = np.mean([norm.pdf(points, value, 0.3) for value in values], axis=0)
    np.testing.assert_allclose(density_at(points, values, 0.3), expected, rtol=1e-12)
    monkeypatch.setattr(kernel_density, "_BLOCK", 100)
    np.testing.assert_allclose(density_at(points, values, 0.3), expected, rtol=1e-12)


def test_a_bandwidth_scales_with_the_samples_and_lies_between_theirs():
    random = np.random.default_rng(1)
    narrow, wide = random.normal(0.0, 0.1, 200), random.normal(0.0, 2.0, 200)
    both = common_bandwidth([narrow, wide])
    assert common_bandwidth([narrow]) < both < common_bandwidth([wide])
    assert common_bandwidth([10 * narrow, 10 * wide]) == pytest.approx(10 * both)
    assert common_bandwidth([np.ones(9), wide]) == common_bandwidth([wide])
    assert common_bandwidth([np.ones(9)]) == 0.0
