"""Noise of a distance and of a curve: against double loops, simulated variance and golden values."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import noise as core
from densdiff.core.scaling import pooled_scaling
from tests import oracle
from tests.plain_noise import (
    plain_parts,
    shares,
)

GOLDEN = json.loads(Path(__file__).parents[1].joinpath("golden", "golden.json").read_text(encoding="utf-8"))


def gaussian(a, b, width=1.0):
    return np.exp(-np.square(a[..., :, None] - b[..., None, :]) / (2 * width**2))


@pytest.mark.parametrize("weighted", [False, True])
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 9),
    m=st.integers(2, 9),
    a=st.floats(0, 1),
    gap=st.sampled_from([0.0, 3.0]),
)
def test_distance_noise_equals_double_loops_over_rows(weighted, seed, n, m, a, gap):
    random = np.random.default_rng(seed)
    u, v = random.normal(size=n), random.normal(size=m) + gap
    x = core.RowWeights(shares(random, n, weighted), share=0.3)
    y = core.RowWeights(shares(random, m, weighted), share=0.7)
    kernels = gaussian(u, u), gaussian(u, v), gaussian(v, v)
    for factor in (1.0, a):
        found = core.distance_noise(*kernels, x, y).variance_parts(factor)
        expected = plain_parts(*kernels, x, y, factor)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


def test_linear_part_of_a_clear_difference_is_not_cut_off():
    random = np.random.default_rng(0)
    u, v = random.normal(size=12), random.normal(size=9) + 2.0
    x, y = (core.RowWeights(shares(random, n, False), 1.0) for n in (12, 9))
    linear, degenerate = core.distance_noise(gaussian(u, u), gaussian(u, v), gaussian(v, v), x, y).variance_parts(1.0)
    assert linear > 0
    assert degenerate > 0


def test_rows_are_the_whole_sample_unless_a_share_is_given():
    random = np.random.default_rng(0)
    u, v = random.normal(size=12), random.normal(size=9)
    kernels, omegas = (gaussian(u, u), gaussian(u, v), gaussian(v, v)), [shares(random, n, True) for n in (12, 9)]
    without, whole, part = (
        core.distance_noise(*kernels, *(core.RowWeights(omega, *given) for omega in omegas)).variance_parts(1.0)
        for given in ((), (1.0,), (0.5,))
    )
    assert without == whole != part


def u_statistic(xx, xy, yy, a):
    """a |p|^2 + a |q|^2 - 2 <p, q> without the pairs i = i, for many samples at once."""
    parts = []
    for kernel in (xx, yy):
        n = kernel.shape[-1]
        parts.append((kernel.sum(axis=(-2, -1)) - np.einsum("...ii->...", kernel)) / (n * (n - 1)))
    return a * (parts[0] + parts[1]) - 2 * xy.mean(axis=(-2, -1))


def simulated(gap, a, n=25, m=18, blocks=20, runs=1000):
    """Variance of the U-statistic over blocks * runs samples, and both parts as estimated from the first block."""
    random = np.random.default_rng(1)
    x, y = core.RowWeights(np.full(n, 1 / n), 1.0), core.RowWeights(np.full(m, 1 / m), 1.0)
    values, parts = [], []
    for block in range(blocks):
        u, v = random.normal(size=(runs, n)), random.normal(size=(runs, m)) + gap
        kernels = gaussian(u, u), gaussian(u, v), gaussian(v, v)
        values.append(u_statistic(*kernels, a))
        if block == 0:
            parts = [core.distance_noise(*each, x, y).variance_parts(a) for each in zip(*kernels, strict=True)]
    return np.var(np.concatenate(values), ddof=1), *np.mean(parts, axis=0)


# 20,000 values: the variance of a mixture of chi-squares (kurtosis below 20) is then known to 3 %
@pytest.mark.parametrize("a", [1.0, 0.6])
@pytest.mark.parametrize("gap", [0.5, 1.5])
def test_estimated_variance_is_the_variance_over_samples(gap, a):
    variance, linear, degenerate = simulated(gap, a)
    assert linear + degenerate == pytest.approx(variance, rel=0.15)


def test_variance_at_equal_densities_is_that_of_the_degenerate_part():
    variance, linear, degenerate = simulated(0.0, 1.0)
    assert degenerate == pytest.approx(variance, rel=0.15)
    # what is left of a linear part that is 0 is cut off below 0, so on average it errs to the safe side
    assert variance < linear + degenerate < 2 * variance
    _, linear_far, degenerate_far = simulated(1.5, 1.0, blocks=1)
    assert linear_far > 10 * degenerate_far


def test_own_noise_of_the_witness_is_taken_off_its_variance():
    random = np.random.default_rng(2)
    x, y = core.RowWeights(np.full(40, 1 / 40), 1.0), core.RowWeights(np.full(30, 1 / 30), 1.0)
    found = []
    for _ in range(3000):
        u, v = random.normal(size=40), random.normal(size=30)
        noise = core.distance_noise(gaussian(u, u), gaussian(u, v), gaussian(v, v), x, y)
        raw = x.variance_of_mean(noise.own_x - noise.cross_x) + y.variance_of_mean(noise.own_y - noise.cross_y)
        found.append((4 * raw, noise.variance_parts(1.0)[1]))
    raw, degenerate = np.mean(found, axis=0)
    assert raw == pytest.approx(2 * degenerate, rel=0.15)  # at equal densities nothing else is in it


@pytest.mark.parametrize("weighted", [False, True])
def test_variance_of_a_mean_is_unbiased_for_independent_values(weighted):
    rows = core.RowWeights(shares(np.random.default_rng(0), 6, weighted) ** (3 if weighted else 1), 1.0)
    rows = core.RowWeights(rows.omega / rows.omega.sum(), 1.0)
    # a quadratic form of independent values with variance 1 has the sum of its diagonal as its mean
    units = np.eye(6)
    assert sum(rows.variance_of_mean(unit) for unit in units) == pytest.approx(rows.squares, rel=1e-12)
    noise = core.curve_noise(units, np.zeros((6, 2)), rows, core.RowWeights(np.full(2, 0.5), 1.0))
    assert np.square(noise).sum() == pytest.approx(rows.squares, rel=1e-12)


def center_curve(points, rows, centers, sigma, lam):
    """Kernel of f with centers: psi(point)' A psi(row) / s, (points, rows)."""
    A = np.linalg.inv(oracle.gram(centers, sigma) + lam * np.eye(len(centers)))
    kernel = oracle.psi(points, centers, sigma) @ A @ oracle.psi(rows, centers, sigma).T
    return kernel / oracle.volume(sigma, rows.shape[1])


def plain_f_variance(points, x, y, centers, sigma, lam):
    """E10 as the design writes it."""
    A = np.linalg.inv(oracle.gram(centers, sigma) + lam * np.eye(len(centers)))
    S = sum(np.cov(oracle.psi(rows, centers, sigma).T) / len(rows) for rows in (x, y))
    return [psi @ A @ S @ A @ psi / oracle.volume(sigma, x.shape[1]) ** 2 for psi in oracle.psi(points, centers, sigma)]


@given(seed=st.integers(0, 10_000), d=st.integers(1, 4), sigma=st.floats(0.3, 3.0), lam=st.floats(0.01, 2.0))
def test_curve_noise_adds_up_to_e10(draw, seed, d, sigma, lam):
    x, y = draw(seed, 17, 11, d)
    centers, points = np.concatenate([x[:4], y[:3]]), y[:6] + 0.3
    kernels = [center_curve(points, rows, centers, sigma, lam) for rows in (x, y)]
    noise = core.curve_noise(
        *kernels, core.RowWeights(np.full(17, 1 / 17), 1.0), core.RowWeights(np.full(11, 1 / 11), 1.0)
    )
    assert noise.shape == (6, 28)
    expected = plain_f_variance(points, x, y, centers, sigma, lam)
    np.testing.assert_allclose(np.square(noise).sum(axis=1), expected, rtol=1e-8, atol=1e-10 * max(expected))
    np.testing.assert_allclose(noise[:, :17].sum(axis=1), 0.0, atol=1e-12 * np.abs(noise).max())


def test_curve_noise_of_a_subsample_scales_to_the_whole():
    random = np.random.default_rng(0)
    kernels = random.random((3, 5)), random.random((3, 4))
    whole = [core.RowWeights(shares(random, n, True), 1.0) for n in (5, 4)]
    part = [core.RowWeights(rows.omega, 0.25) for rows in whole]
    np.testing.assert_allclose(core.curve_noise(*kernels, *part), 0.5 * core.curve_noise(*kernels, *whole), rtol=1e-14)


# with weights the golden variance may be negative, which a sum of squares never is: both are unbiased, not equal
@pytest.mark.parametrize(
    "case", [case for case in GOLDEN["cases"] if case["weights_x"] is None], ids=lambda case: case["name"]
)
def test_curve_noise_adds_up_to_the_golden_variance_of_f(case):
    x, y, centers, points = (np.array(case[key]) for key in ("X", "Y", "centers", "points"))
    omega = [np.full(len(rows), 1 / len(rows)) for rows in (x, y)]
    scaling, *samples = pooled_scaling(x, y, *omega, case["standardize"])
    for model in case["models"]:
        sigma = model["sigma"] / scaling.sigma_unit
        inner_points, inner_centers = scaling.apply(points), scaling.apply(centers)
        kernels = [center_curve(inner_points, rows, inner_centers, sigma, model["lam"]) for rows in samples]
        noise = core.curve_noise(*kernels, *(core.RowWeights(o, 1.0) for o in omega))
        found = np.square(noise).sum(axis=1) * np.exp(-2 * scaling.log_volume)
        golden = np.array(model["f_variance"], dtype=np.float64)
        np.testing.assert_allclose(found, golden, rtol=1e-10, atol=1e-10 * golden.max())
