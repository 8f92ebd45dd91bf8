"""Normal witnesses: log ratios of plain normal densities, and a covariance shrunk by its own noise."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf

from densdiff.core import gaussian_witness


def samples(seed=0, n=60, m=45, d=3):
    random = np.random.default_rng([seed, n, m, d])
    mix = random.normal(size=(d, d))
    x, y = random.normal(size=(n, d)) @ mix, 0.7 * random.normal(size=(m, d)) + 0.5
    return x, y, (random.uniform(0.5, 2.0, n), random.uniform(0.5, 2.0, m)), random.normal(size=(20, d))


def log_density(points, rows, omega, covariance):
    return multivariate_normal(np.average(rows, axis=0, weights=omega), covariance).logpdf(points)


def test_the_quadratic_witness_is_a_difference_of_normal_log_densities():
    x, y, omega, points = samples()
    expected = 0.0
    for sign, rows, w in ((1, x, omega[0]), (-1, y, omega[1])):
        centred = rows - np.average(rows, axis=0, weights=w)
        covariance = gaussian_witness.shrunk_covariance(centred, w)
        expected = expected + sign * log_density(points, rows, w, covariance)
    # _safe adds 1e-9 of the mean variance
    np.testing.assert_allclose(gaussian_witness.quadratic_witness(x, y, omega, points), expected, 1e-6, 1e-6)


def test_the_linear_witness_is_that_of_one_common_covariance():
    x, y, omega, points = samples()
    means = [np.average(rows, axis=0, weights=w) for rows, w in zip((x, y), omega, strict=True)]
    weights = np.concatenate([w / w.sum() for w in omega])
    covariance = gaussian_witness.shrunk_covariance(np.vstack([x - means[0], y - means[1]]), weights)
    expected = log_density(points, x, omega[0], covariance) - log_density(points, y, omega[1], covariance)
    np.testing.assert_allclose(gaussian_witness.linear_witness(x, y, omega, points), expected, 1e-6, 1e-6)


@pytest.mark.parametrize("witness", [gaussian_witness.linear_witness, gaussian_witness.quadratic_witness])
def test_swapping_the_samples_flips_the_sign(witness):
    x, y, omega, points = samples()
    np.testing.assert_allclose(witness(x, y, omega, points), -witness(y, x, omega[::-1], points), 1e-9, 1e-9)


@pytest.mark.parametrize(("n", "d"), [(40, 10), (200, 5), (15, 30)])
def test_even_weights_shrink_as_ledoit_and_wolf_do(n, d):
    """Their noise subtracts the square of the covariance once a row, as ours does with even weights: no difference."""
    rows = np.random.default_rng(n).normal(size=(n, d)) * np.linspace(0.5, 2.0, d)
    rows -= rows.mean(axis=0)
    expected, share = ledoit_wolf(rows, assume_centered=True)
    assert 0 < share < 1
    np.testing.assert_allclose(gaussian_witness.shrunk_covariance(rows, np.ones(n)), expected, 1e-9, 1e-12)


def test_weights_count_rows():
    x, *_ = samples()
    x = x - x.mean(axis=0)
    scaled = gaussian_witness.shrunk_covariance(x, np.full(len(x), 7.0))
    np.testing.assert_allclose(scaled, gaussian_witness.shrunk_covariance(x, np.ones(len(x))), 1e-12)


@pytest.mark.parametrize("witness", [gaussian_witness.linear_witness, gaussian_witness.quadratic_witness])
def test_point_masses_are_told_apart_without_overflow(witness):
    x, y = np.full((5, 2), -0.7), np.full((4, 2), 0.7)
    values = witness(x, y, (np.ones(5), np.ones(4)), np.concatenate([x, y]))
    assert np.isfinite(values).all()
    assert (np.sign(values) == np.repeat([1, -1], [5, 4])).all()


def test_the_pair_whose_correlation_changed_is_found_beside_a_constant_column():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 200, 5))
    x[:, 3] = x[:, 1] + 0.3 * x[:, 3]
    x[:, 0] = 2.0
    assert gaussian_witness.most_changed_pair(x, y) == (1, 3)
