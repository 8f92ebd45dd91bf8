"""The order of rows: independent ones are left alone, correlation, season and drift are seen."""

import numpy as np
import pytest
from scipy.signal import lfilter

from densdiff.core.serial_dependence import serial_dependence

SEEDS = range(5)


def noise(seed, n=2000):
    return np.random.default_rng(seed).normal(size=n)


def autoregressive(seed, phi, n=2000):
    return lfilter([np.sqrt(1 - phi**2)], [1.0, -phi], noise(seed, n + 300))[300:]


def order_of(values):
    return serial_dependence(np.column_stack([values, np.square(values - values.mean())]))


@pytest.mark.parametrize("seed", SEEDS)
def test_independent_rows_are_called_independent(seed):
    for values in (noise(seed), np.exp(noise(seed)), np.round(noise(seed))):
        found = order_of(values)
        assert (found.time, found.block, found.period, found.drifting) == (1.0, 1, 0.0, None)
        assert not found.is_dependent


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("phi", "time"), [(0.5, 3.0), (0.9, 19.0)])
def test_the_correlation_time_is_that_of_the_process(phi, time, seed):
    found = order_of(autoregressive(seed, phi, 20_000))
    assert found.time == pytest.approx(time, rel=0.3)
    assert found.block > 5 * time
    assert (found.period, found.drifting) == (0.0, None)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("period", [7, 24, 200])
def test_a_season_is_found_with_its_period(period, seed):
    clock = np.arange(2000)
    found = order_of(noise(seed) + np.sin(2 * np.pi * clock / period))
    assert found.period == pytest.approx(period, rel=0.02)
    pulses = order_of(noise(seed) + 2.0 * (clock % period < period // 3))
    assert pulses.period / period == pytest.approx(round(pulses.period / period), rel=0.02)
    assert pulses.period > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_drift_is_found_and_a_slow_process_is_no_season(seed):
    drift = order_of(noise(seed) + np.linspace(0.0, 1.0, 2000))
    assert drift.drifting == 0
    assert drift.drift * 2000 == pytest.approx(1.0, rel=0.3)
    assert order_of(noise(seed) - np.linspace(0.0, 1.0, 2000)).drift < 0
    assert order_of(autoregressive(seed, 0.97)).period == 0


def test_volatility_that_comes_in_clusters_is_dependence():
    calm = np.repeat(np.random.default_rng(0).lognormal(0.0, 0.5, 40), 50)
    assert order_of(calm * noise(1)).block > 1


@pytest.mark.parametrize("values", [np.zeros(200), np.arange(200.0), np.arange(200.0) % 2, np.eye(1, 200)[0]])
def test_odd_series_are_no_trouble(values):
    with np.errstate(all="raise"):
        found = serial_dependence(values[:, None])
    assert np.isfinite([found.time, found.period, found.drift]).all()
    assert 1 <= found.block <= 100
