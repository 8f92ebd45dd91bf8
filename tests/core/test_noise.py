"""Noise of a curve: against its formula, unbiased variances and golden values."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import noise as core
from densdiff.core.scaling import pooled_scaling
from tests import oracle
from tests.plain_noise import shares

GOLDEN = json.loads(Path(__file__).parents[1].joinpath("golden", "golden.json").read_text(encoding="utf-8"))


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
