"""Normal witnesses: log ratios of plain normal densities, and a covariance shrunk by its own noise."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf

from densdiff.core import gaussian_witness
from densdiff.core.gaussian_witness import FoldMoments, Moments


def samples(seed=0, n=60, m=45, d=3):
    random = np.random.default_rng([seed, n, m, d])
    mix = random.normal(size=(d, d))
    x, y = random.normal(size=(n, d)) @ mix, 0.7 * random.normal(size=(m, d)) + 0.5
    return x, y, (random.uniform(0.5, 2.0, n), random.uniform(0.5, 2.0, m)), random.normal(size=(20, d))


def shrunk(rows, omega):
    """The shrunk covariance of centred rows."""
    omega = omega / omega.sum()
    return gaussian_witness.shrunk_covariance((rows.T * omega) @ rows, np.square(rows).sum(axis=1), omega)


def witness_of(kind, x, y, omega, points):
    return kind(Moments.of(x, omega[0]), Moments.of(y, omega[1]), points)


def log_density(points, rows, omega, covariance):
    return multivariate_normal(np.average(rows, axis=0, weights=omega), covariance).logpdf(points)


def test_the_quadratic_witness_is_a_difference_of_normal_log_densities():
    x, y, omega, points = samples()
    expected = 0.0
    for sign, rows, w in ((1, x, omega[0]), (-1, y, omega[1])):
        centred = rows - np.average(rows, axis=0, weights=w)
        covariance = shrunk(centred, w)
        expected = expected + sign * log_density(points, rows, w, covariance)
    # _safe adds 1e-9 of the mean variance
    found = witness_of(gaussian_witness.quadratic_witness, x, y, omega, points)
    np.testing.assert_allclose(found, expected, 1e-6, 1e-6)


def test_the_linear_witness_is_that_of_one_common_covariance():
    x, y, omega, points = samples()
    means = [np.average(rows, axis=0, weights=w) for rows, w in zip((x, y), omega, strict=True)]
    weights = np.concatenate([w / w.sum() for w in omega])
    covariance = shrunk(np.vstack([x - means[0], y - means[1]]), weights)
    expected = log_density(points, x, omega[0], covariance) - log_density(points, y, omega[1], covariance)
    found = witness_of(gaussian_witness.linear_witness, x, y, omega, points)
    np.testing.assert_allclose(found, expected, 1e-6, 1e-6)


@pytest.mark.parametrize("witness", [gaussian_witness.linear_witness, gaussian_witness.quadratic_witness])
def test_swapping_the_samples_flips_the_sign(witness):
    x, y, omega, points = samples()
    there, back = witness_of(witness, x, y, omega, points), witness_of(witness, y, x, omega[::-1], points)
    np.testing.assert_allclose(there, -back, 1e-9, 1e-9)


@pytest.mark.parametrize(("n", "d"), [(40, 10), (200, 5), (15, 30)])
def test_even_weights_shrink_as_ledoit_and_wolf_do(n, d):
    """Their noise subtracts the square of the covariance once a row, as ours does with even weights: no difference."""
    rows = np.random.default_rng(n).normal(size=(n, d)) * np.linspace(0.5, 2.0, d)
    rows -= rows.mean(axis=0)
    expected, share = ledoit_wolf(rows, assume_centered=True)
    assert 0 < share < 1
    np.testing.assert_allclose(shrunk(rows, np.ones(n)), expected, 1e-9, 1e-12)


def test_weights_count_rows():
    x, *_ = samples()
    x = x - x.mean(axis=0)
    np.testing.assert_allclose(shrunk(x, np.full(len(x), 7.0)), shrunk(x, np.ones(len(x))), 1e-12)


@pytest.mark.parametrize("witness", [gaussian_witness.linear_witness, gaussian_witness.quadratic_witness])
def test_point_masses_are_told_apart_without_overflow(witness):
    x, y = np.full((5, 2), -0.7), np.full((4, 2), 0.7)
    values = witness_of(witness, x, y, (np.ones(5), np.ones(4)), np.concatenate([x, y]))
    assert np.isfinite(values).all()
    assert (np.sign(values) == np.repeat([1, -1], [5, 4])).all()


def test_the_pair_whose_correlation_changed_is_found_beside_a_constant_column():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 200, 5))
    x[:, 3] = x[:, 1] + 0.3 * x[:, 3]
    x[:, 0] = 2.0
    even = np.ones(200)
    assert gaussian_witness.most_changed_pair(Moments.of(x, even), Moments.of(y, even)) == (1, 3)


@pytest.mark.parametrize("most_products", [1 << 24, 0])
def test_moments_of_any_folds_are_those_of_their_rows_alone(monkeypatch, most_products):
    monkeypatch.setattr(gaussian_witness, "_MOST_PRODUCTS", most_products)
    rows, _, (omega, _), _ = samples(d=4)
    rows[:, 2] = 0.7
    folds = np.arange(len(rows)) % 3
    moments = FoldMoments(rows, omega, folds, 3)
    for used in ([0], [1, 2], [0, 1, 2]):
        is_used, own = np.isin(np.arange(3), used), np.isin(folds, used)
        expected = Moments.of(rows[own], omega[own])
        for found, moment in zip(moments.of(is_used), expected, strict=True):
            np.testing.assert_allclose(found, moment, rtol=1e-12, atol=1e-13)
        pair, expected = [3, 1], Moments.of(rows[own][:, [3, 1]], omega[own])
        for found, moment in zip(moments.of_columns(is_used, pair), expected, strict=True):
            np.testing.assert_allclose(found, moment, rtol=1e-12, atol=1e-13)


def test_a_column_that_sums_leave_nearly_constant_has_no_correlation():
    random = np.random.default_rng(0)
    rows = np.column_stack([np.full(90, 0.7), random.normal(size=(90, 2))])
    moments = FoldMoments(rows, np.full(90, 1 / 90), np.arange(90) % 3, 3).of(np.ones(3, dtype=bool))
    other = Moments.of(random.normal(size=(90, 3)), np.ones(90))
    assert gaussian_witness.most_changed_pair(moments, other) in {(0, 1), (0, 2), (1, 2)}
    assert not gaussian_witness._correlation(moments.covariance)[0].any()
