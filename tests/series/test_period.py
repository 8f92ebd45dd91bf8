"""The period of a series: found, refined, and not invented."""

import numpy as np
import pytest

from densdiff.core.contrasts import fitted_lines
from densdiff.series.period import _without_slow_parts, autocorrelation, find_period


def wave(period, length, noise=0.5, seed=0):
    random = np.random.default_rng(seed)
    phase = np.arange(length) / period + random.random()
    return (np.sqrt(2.0) * np.sin(2 * np.pi * phase) + noise * random.standard_normal(length))[:, None]


@pytest.mark.parametrize("period", [5.0, 7.0, 12.3, 24.0, 60.0])
def test_a_period_is_found_to_a_hundredth(period):
    found = find_period(wave(period, 1000), 125)
    assert found.samples == pytest.approx(period, rel=0.01)
    assert found.lasting > 0.8 * found.strength


def test_noise_has_no_period():
    random = np.random.default_rng(0)
    assert [find_period(random.standard_normal((1000, 2)), 125) for _ in range(10)] == [None] * 10


def test_the_period_is_not_one_of_its_multiples():
    pulses = np.zeros((600, 1))
    pulses[::30] = 1.0
    assert find_period(pulses, 150).samples == pytest.approx(30.0, abs=0.05)


def test_a_mixture_of_two_rhythms_does_not_give_their_common_multiple():
    rows = np.concatenate([wave(24, 500), wave(18, 500)])
    assert find_period(rows, 125).samples < 30


def test_a_year_does_not_hide_the_week():
    day = np.arange(1095)
    random = np.random.default_rng(0)
    rate = 100 * (1 + 0.3 * np.sin(2 * np.pi * day / 365)) * np.where(day % 7 >= 5, 0.6, 1.0)
    found = find_period(random.poisson(rate).astype(float)[:, None], len(day) / 8)
    assert found.samples == pytest.approx(7.0, abs=0.01)


def test_slow_parts_are_running_means_around_a_line():
    random = np.random.default_rng(3)
    rows, reach = random.standard_normal((40, 2)) + np.linspace(0, 5, 40)[:, None], 6
    flat = rows - rows.mean(axis=0)
    flat = flat - fitted_lines(flat)
    expected = np.empty_like(flat)
    for t in range(40):
        near = min(reach, t, 39 - t)
        expected[t] = flat[t] - flat[t - near : t + near + 1].mean(axis=0)
    np.testing.assert_allclose(_without_slow_parts(rows, reach), expected, atol=1e-12)


def test_a_column_of_noise_does_not_hide_the_period_of_another():
    rows = np.hstack([wave(20, 800), np.random.default_rng(1).standard_normal((800, 1))])
    assert find_period(rows, 100).samples == pytest.approx(20, rel=0.01)


@pytest.mark.parametrize("length", [1, 2, 3, 5, 9])
def test_short_and_constant_series_have_no_period(length):
    assert find_period(np.arange(length, dtype=float)[:, None], length / 8) is None
    assert find_period(np.zeros((length, 2)), length) is None


def test_theautocorrelation_is_that_of_its_definition():
    rows = np.random.default_rng(2).standard_normal((50, 2))
    left = rows - rows.mean(axis=0) - fitted_lines(rows)
    energy = np.square(left).sum(axis=0)
    slow = [((left[k:] * left[: 50 - k]).sum(axis=0) / energy).mean() * 50 / (50 - k) for k in range(50)]
    np.testing.assert_allclose(autocorrelation(rows), slow, atol=1e-12)
