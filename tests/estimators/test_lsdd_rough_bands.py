"""Bands where f is rough: jumps, spikes in one of several columns, rounded values, and their slow twin.

How often they hold f is simulated in `tests/calibration`.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import norm, uniform
from sklearn.base import clone

import densdiff as dd
from densdiff.solvers import uncertainty
from densdiff.solvers.base import FilterKernel, Model
from densdiff.solvers.prepared import WeightedSample, subsample
from densdiff.solvers.roughness import Evidence
from tests import oracle
from tests.large import Blocks
from tests.plain_noise import plain_variance_of_mean, shares

NOTE = "f is rougher"
SPIKE = 0.5, 0.02  # a tenth of the rows of X


def spiked(n, d, seed=0):
    """Normal columns; a tenth of the rows of X have nearly one value in the first column."""
    random = np.random.default_rng(seed)
    x, y = random.normal(size=(2, n, d))
    x[: n // 10, 0] = random.normal(*SPIKE, size=n // 10)
    return x, y


def spike_difference(points):
    """f of `spiked`."""
    first = 0.1 * (norm.pdf(points[:, 0], *SPIKE) - norm.pdf(points[:, 0]))
    return first * np.prod(norm.pdf(points[:, 1:]), axis=1)


def is_noted(band):
    return any(NOTE in note for note in band.warnings)


def holds(band, f):
    return bool(((band.lower <= f) & (f <= band.upper)).all())


def points_of(x, y):
    """Rows of both samples, every tenth of them."""
    return np.concatenate([x, y])[::10]


@pytest.mark.parametrize(("n", "d"), [(1000, 1), (1000, 2), (1500, 3)])
def test_a_spike_in_one_column_is_held_or_noted(n, d):
    results = []
    for seed in range(5):
        x, y = spiked(n, d, seed)
        points = points_of(x, y)
        band = dd.LSDD(random_state=0).fit(x, y).confidence_band(points)
        results.append(holds(band, spike_difference(points)) or is_noted(band))
    assert sum(results) >= 4  # of 5; none by the band of one model in several columns


def test_a_jump_is_held_by_limits_between_neighbours(monkeypatch):
    points = np.linspace(-0.1, 1.5, 300)[:, None]
    f = (uniform(0, 1).pdf(points) - uniform(0.2, 1.2).pdf(points))[:, 0]
    random, models = np.random.default_rng(1), []
    for _ in range(8):
        x, y = random.uniform(0, 1, (300, 1)), random.uniform(0.2, 1.4, (300, 1))
        models.append(dd.LSDD(random_state=0).fit(x, y))
    assert sum(holds(model.confidence_band(points), f) for model in models) >= 7
    monkeypatch.setattr(uncertainty, "_REACH", 0.0)
    assert sum(holds(model.confidence_band(points), f) for model in models) <= 5


def test_only_the_strip_of_the_spike_is_much_wider(monkeypatch):
    x, y = spiked(1000, 2)
    model, points = dd.LSDD(random_state=0).fit(x, y), points_of(x, y)
    wide = model.confidence_band(points)
    monkeypatch.setattr(uncertainty, "narrowings", lambda evidence, at, tests: (np.ones((len(at), 2)), False))
    narrow = model.confidence_band(points)
    ratio = (wide.upper - wide.lower) / (narrow.upper - narrow.lower)
    in_spike = np.abs(points[:, 0] - SPIKE[0]) < SPIKE[1]
    assert (ratio >= 1 - 1e-12).all()
    assert np.median(ratio[in_spike]) > 2
    assert np.median(ratio[np.abs(points[:, 0] - SPIKE[0]) > 1]) < 1.2


@pytest.mark.parametrize("d", [1, 2])
def test_swapping_samples_flips_a_widened_band(d):
    x, y = spiked(300, d, 3)
    model, points = dd.LSDD(solver="pairs", random_state=0), points_of(x, y)
    here = clone(model).fit(x, y).confidence_band(points)
    there = clone(model).fit(y, x).confidence_band(points)
    np.testing.assert_allclose(there.lower, -here.upper, rtol=1e-9)
    np.testing.assert_allclose(there.upper, -here.lower, rtol=1e-9)
    assert is_noted(here) == is_noted(there)


@pytest.mark.parametrize("digits", [0, 1])
@pytest.mark.parametrize("d", [1, 2])
def test_no_finer_model_sees_the_rounding(monkeypatch, digits, d):
    random = np.random.default_rng(5)
    x, y = random.normal(size=(2, 800, d)).round(digits)
    points = np.concatenate([x[:40], random.normal(size=(40, d))])
    model = dd.LSDD(random_state=0).fit(x, y)
    band = model.confidence_band(points)
    assert not is_noted(band)
    monkeypatch.setattr(uncertainty, "narrowings", lambda evidence, at, tests: (np.ones((len(at), d)), False))
    single = model.confidence_band(points)
    assert (band.upper - band.lower).mean() < 1.3 * (single.upper - single.lower).mean()


def test_a_value_that_a_third_of_the_rows_share_is_noted():
    random = np.random.default_rng(6)
    x, y = random.normal(size=(2, 900, 1))
    x[:300] = 0.25
    model = dd.LSDD(random_state=0).fit(x, y)
    assert is_noted(model.confidence_band([[0.25], [1.0]]))
    assert not is_noted(model.confidence_band([[-1.5], [-2.0]]))


def test_blocks_have_the_same_widened_band():
    x, y = spiked(2500, 1)
    points = points_of(x, y)[::5]
    whole = dd.LSDD(random_state=0).fit(x, y).confidence_band(points)
    read = dd.LSDD(random_state=0).fit(Blocks(x, [400, 1700]), Blocks(y, [900])).confidence_band(points)
    for name in ("lower", "upper"):
        np.testing.assert_allclose(getattr(read, name), getattr(whole, name), rtol=1e-6)
    assert is_noted(read) == is_noted(whole)


def test_categories_are_left_as_they_are_beside_a_spike():
    x, y = spiked(400, 1, 4)
    random = np.random.default_rng(7)
    frames = [pd.DataFrame({"a": rows[:, 0], "b": random.choice(["u", "v"], len(rows))}) for rows in (x, y)]
    band = dd.LSDD(random_state=0).fit(*frames).confidence_band(frames[0][::10])
    assert np.isfinite([band.lower, band.upper]).all()
    assert (band.lower <= band.estimate).all()
    assert (band.estimate <= band.upper).all()


def plain_kernel(a, b, sigma, lam):
    """2 K_F - K_FF in units of density."""
    plain, squared = oracle.filter_kernels(oracle.distances(a, b), sigma, lam, a.shape[1])
    return 2 * plain - squared


def plain_curve(kernel, point, samples, one_row):
    """A mean over X less one over Y and its error; ``kernel`` is of a point and rows."""
    (x, omega_x), (y, omega_y) = samples
    values_x, values_y = kernel(point, x), kernel(point, y)
    variance = plain_variance_of_mean(values_x, omega_x) + plain_variance_of_mean(values_y, omega_y)
    return omega_x @ values_x - omega_y @ values_y, np.sqrt(variance + one_row**2)


@given(seed=st.integers(0, 1000), d=st.integers(1, 2), weighted=st.booleans())
def test_narrowing_equals_a_loop_over_points_and_halvings(seed, d, weighted):
    random = np.random.default_rng(seed)
    x, y = random.normal(size=(25, d)), random.normal(size=(18, d))
    x[:6, 0] = 0.3 + 0.01 * random.normal(size=6)
    omega = [shares(random, len(rows), weighted) for rows in (x, y)]
    drawn = [subsample(WeightedSample.of(rows, w), 0, 100) for rows, w in zip((x, y), omega, strict=True)]
    sigma, lam, chance = 1.0, 1e-2, 0.2
    found, _ = Evidence(*drawn, FilterKernel(d), Model(sigma, lam)).narrowing_at(x[:8], 3, chance, 1.0)
    weight = 2.0 ** (0.25 * (1 - d)) * np.hypot(*(np.square(w).sum() for w in omega))
    samples = list(zip((x, y), omega, strict=True))
    for point, narrower in zip(x[:8], found, strict=True):
        expected, is_close = 1.0, False
        for k in (1, 2, 3):

            def change(a, b, finer=sigma / 2**k):
                return (plain_kernel(a[None], b, finer, lam) - plain_kernel(a[None], b, sigma, lam))[0]

            peak = plain_kernel(point[None], point[None], sigma / 2**k, lam)[0, 0]
            center, error = plain_curve(change, point, samples, weight * peak)
            least = -ndtri(0.5 * (chance if k == 1 else 0.4 / (10 * 2.0 ** (d * k))))
            expected = 2.0**k if abs(center) > least * error else expected
            is_close |= abs(abs(center) / error - least) < 0.02  # the table's nearest node
        assert narrower == expected or is_close


def test_finer_limits_take_more_errors_for_more_places(draw):
    x, y = draw(3, 60, 60, 1)
    drawn = [subsample(WeightedSample.of(rows), 0, 100) for rows in (x, y)]
    evidence = Evidence(*drawn, FilterKernel(1), Model(0.8, 1e-2))
    curve = evidence.curve_at(x[:5], np.array([4.0]))
    for k, point in enumerate(x[:5]):
        center = plain_kernel(point[None], x, 0.2, 1e-2).mean() - plain_kernel(point[None], y, 0.2, 1e-2).mean()
        scale = np.sqrt(2 * np.pi) * 0.8
        assert curve.center[k] == pytest.approx(scale * center, abs=0.02 * curve.error[k])
    factor = 3.0
    assert -ndtri(ndtr(-factor) / 4.0) == pytest.approx(3.4, abs=0.05)


def test_kernels_are_narrowed_in_the_column_that_is_rough_alone():
    random = np.random.default_rng(8)
    x, y = random.normal(size=(2, 600, 2))
    peaks = random.integers(0, 5, 300) / 2 - 1
    x[:300, 0] = peaks + 0.05 * random.normal(size=300)
    fit = dd.LSDD(random_state=0).fit(x, y).fit_
    factors = uncertainty.column_narrowing(fit, Model(1.0, 1e-2))
    assert factors[0] > 2 * factors[1]
    x[:, 0], y[:, 0] = np.round(2 * x[:, 0]) / 2, np.round(2 * y[:, 0]) / 2
    rounded = dd.LSDD(random_state=0).fit(x, y).fit_
    step = 0.5 / np.exp(rounded.data.column(0).scaling.log_volume)
    assert uncertainty.column_narrowing(rounded, Model(1.0, 1e-2))[0] <= max(1.0, 1.0 / step) * (1 + 1e-9)


@pytest.mark.parametrize("solver", ["centers", "pairs"])
def test_one_column_four_columns_and_centers_keep_round_kernels(draw, solver):
    for d in (1, 4) if solver == "pairs" else (2,):
        x, y = draw(2, 60, 50, d)
        fit = dd.LSDD(solver=solver, random_state=0).fit(x, y).fit_
        np.testing.assert_array_equal(uncertainty.column_narrowing(fit, Model(9.0, 1e-2)), np.ones(d))


def test_drawn_out_rows_are_the_rows_times_their_factors(draw):
    x, y = draw(4, 40, 30, 2)
    data = dd.LSDD(random_state=0).fit(x, y).fit_.data
    factors = np.array([3.0, 1.0])
    drawn_out = data.drawn_out(factors)
    np.testing.assert_allclose(drawn_out.x.rows[:], data.x.rows[:] * factors, rtol=1e-12)
    assert drawn_out.scaling.log_volume == pytest.approx(data.scaling.log_volume - np.log(3.0))
    np.testing.assert_array_equal(data.column(1).y.rows[:], data.y.rows[:][:, 1:])
    np.testing.assert_array_equal(data.column(1).scaling.apply(y), data.y.rows[:][:, 1:])
