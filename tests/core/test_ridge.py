"""One tridiagonal form serves every lam: its solves, scores and quadratic forms equal dense linear algebra."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import ridge
from densdiff.errors import DensDiffError, NumericalError
from tests import oracle

SIZES = [1, 2, 3, 40]
LAMS = np.array([10.0, 1.0, 0.1, 1e-3])


def case(b, d=2, sigma=0.8, n=23, m=31, seed=0):
    """G, features of both samples at b centers."""
    random = np.random.default_rng([seed, b])
    x, y, centers = random.normal(size=(n, d)), random.normal(size=(m, d)) + 0.5, random.normal(size=(b, d))
    return oracle.gram(centers, sigma), oracle.psi(x, centers, sigma), oracle.psi(y, centers, sigma)


@pytest.mark.parametrize("b", SIZES)
def test_rotation_keeps_inner_products(b):
    vectors = np.random.default_rng(1).normal(size=(b, 4))
    rotated = ridge.Ridge.of(case(b)[0]).rotate(vectors)
    np.testing.assert_allclose(rotated.T @ rotated, vectors.T @ vectors, atol=1e-13 * b)


@pytest.mark.parametrize("lam", LAMS)
@pytest.mark.parametrize("b", SIZES)
def test_rotated_solution_of_every_lam_gives_the_dense_quadratic_forms(b, lam):
    G = case(b)[0]
    vectors = np.random.default_rng(2).normal(size=(b, 3))
    factor = ridge.Ridge.of(G)
    rotated = factor.rotate(vectors)
    expected = vectors.T @ np.linalg.solve(G + lam * np.eye(b), vectors)
    condition = (b + lam) / lam  # G has trace b, so no eigenvalue above b
    found = rotated.T @ factor.solve(lam, rotated)
    np.testing.assert_allclose(found, expected, atol=1e-14 * condition * np.abs(expected).max())


@pytest.mark.parametrize("lam", LAMS)
@pytest.mark.parametrize("b", SIZES)
def test_coefficients_of_one_model_equal_a_dense_solve(b, lam):
    G, psi_x, psi_y = case(b)
    before, h = G.copy(), psi_x.mean(axis=0) - psi_y.mean(axis=0)
    expected = np.linalg.solve(G + lam * np.eye(b), h)
    found = ridge.coefficients(G, lam, h)
    np.testing.assert_allclose(found, expected, atol=1e-14 * (b + lam) / lam * np.abs(expected).max())
    np.testing.assert_array_equal(G, before)


def test_factorizing_keeps_its_input():
    G = case(9)[0]
    before, vectors = G.copy(), np.ones((9, 2))
    factor = ridge.Ridge.of(G)
    factor.solve(0.1, factor.rotate(vectors))
    np.testing.assert_array_equal(G, before)
    np.testing.assert_array_equal(vectors, 1.0)


@pytest.mark.parametrize("b", SIZES)
def test_hold_out_scores_equal_one_solve_per_lam_and_fold(b):
    G = case(b)[0]
    random = np.random.default_rng(3)
    train, holdout = random.normal(size=(b, 5)), random.normal(size=(b, 5))
    found = ridge.holdout_scores(ridge.Ridge.of(G), LAMS, train, holdout)
    for i, lam in enumerate(LAMS):
        for k in range(5):
            theta = np.linalg.solve(G + lam * np.eye(b), train[:, k])
            expected = theta @ G @ theta - 2 * theta @ holdout[:, k]
            np.testing.assert_allclose(found[i, k], expected, rtol=1e-9, atol=1e-10 * (theta @ theta))


@given(st.integers(1, 30), st.integers(2, 5), st.floats(0.1, 4.0), st.integers(0, 10**6))
def test_mean_hold_out_scores_in_the_eigenbasis_equal_those_of_single_folds(b, folds, sigma, seed):
    G, psi_x, psi_y = case(b, sigma=sigma, seed=seed)
    features, relabellings = np.concatenate([psi_x, psi_y]), 3
    random = np.random.default_rng(seed)
    weights = random.normal(size=(2, folds, relabellings, len(features)))
    weights -= weights.mean(axis=-1, keepdims=True)
    weights /= np.abs(weights).sum(axis=-1, keepdims=True) / 2  # a difference of two means
    train, holdout = weights @ features  # (folds, k, b)
    columns = [side.reshape(-1, b).T for side in (train, holdout)]
    expected = ridge.holdout_scores(ridge.Ridge.of(G), LAMS, *columns).reshape(len(LAMS), folds, -1).mean(axis=1)
    values, vectors = ridge.eigen(G)
    train, holdout = (side @ vectors for side in (train, holdout))
    means = [np.square(train).mean(axis=0).T, (train * holdout).mean(axis=0).T]
    found = ridge.mean_holdout_scores(values, LAMS, *means)
    # features and eigenvectors are right to about b eps, and h meets a factor of at most 1 / (the smallest lam)
    largest = np.square(features).sum(axis=1).max()
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=64 * b * 2.3e-16 * largest / LAMS.min())


def test_a_lam_that_leaves_g_singular_is_refused():
    G = np.ones((3, 3))
    ridge.check_definite(G, 1e-3)
    with pytest.raises(NumericalError, match="not positive definite"):
        ridge.check_definite(G, 0.0)
    np.testing.assert_array_equal(G, 1.0)


def spectrum_of(G, psi_x, psi_y):
    values, vectors = np.linalg.eigh(G)
    parts = []
    for psi in (psi_x, psi_y):
        squares, mean = np.full(len(psi), len(psi) ** -2.0), psi.mean(axis=0) @ vectors
        parts.append((mean, ridge.spread_of_mean(psi @ vectors, squares, mean), 1 - squares.sum()))
    means, spreads, shrinks = zip(*parts, strict=True)
    return ridge.Spectrum(np.maximum(values, 0.0), *means, *spreads, *shrinks)


@pytest.mark.parametrize("curve", [(1.0, -1.0), (1.0, 0.0), (0.0, 1.0)])
@pytest.mark.parametrize("lam", LAMS)
def test_forms_of_every_curve_equal_e4_to_e7(lam, curve):
    G, psi_x, psi_y = case(20)
    form = spectrum_of(G, psi_x, psi_y).forms(*curve, lam)
    A = np.linalg.inv(G + lam * np.eye(20))
    h = curve[0] * psi_x.mean(axis=0) + curve[1] * psi_y.mean(axis=0)
    S = curve[0] ** 2 * np.cov(psi_x.T) / len(psi_x) + curve[1] ** 2 * np.cov(psi_y.T) / len(psi_y)
    assert form.plain == pytest.approx(h @ A @ h, rel=1e-10)  # E4
    assert form.lam_term == pytest.approx(lam * h @ A @ A @ h, rel=1e-10)  # E5, E6
    assert form.correction == pytest.approx(np.trace((A + lam * A @ A) @ S), rel=1e-10)  # E7


def test_unregularized_correction_equals_e8():
    G, psi_x, psi_y = case(6, sigma=0.3)
    V = np.cov(psi_x.T, ddof=0) / len(psi_x) + np.cov(psi_y.T, ddof=0) / len(psi_y)
    found = spectrum_of(G, psi_x, psi_y).unregularized_correction()
    assert found == pytest.approx(np.trace(np.linalg.solve(G, V)), rel=1e-9)


def test_unregularized_correction_stays_finite_when_g_is_singular():
    G = np.ones((4, 4))
    random = np.random.default_rng(0)
    psi_x, psi_y = (np.repeat(random.random((k, 1)), 4, axis=1) for k in (8, 9))
    # one direction carries everything: 4 times the variance of the single feature, over the eigenvalue 4
    expected = psi_x[:, 0].var() / 8 + psi_y[:, 0].var() / 9
    assert spectrum_of(G, psi_x, psi_y).unregularized_correction() == pytest.approx(expected, rel=1e-10)


def test_directions_that_vanish_are_told_by_the_largest_eigenvalue_in_any_unit():
    """With a hundred centers close together the largest is a hundred, and rounding is a hundred times that of 1."""
    values, rest = np.array([1e-14, 1.0, 100.0]), (np.ones(3), np.ones(3), np.full(3, 0.5), np.full(3, 0.5), 1.0, 1.0)
    for unit in (1e-8, 1.0, 1e8):
        found = ridge.Spectrum(unit * values, *rest).unregularized_correction()
        assert found == pytest.approx((1.0 + 0.01) / unit)


def test_spread_with_weights_is_the_u_statistic():
    random = np.random.default_rng(5)
    psi, omega = random.random((7, 3)), random.random(7)
    omega /= omega.sum()
    mean, squares = omega @ psi, np.square(omega)
    pairs = [(i, j) for i in range(7) for j in range(7) if i != j]
    total = sum(omega[i] * omega[j] for i, j in pairs)
    for column in range(3):
        off_diagonal = sum(omega[i] * omega[j] * psi[i, column] * psi[j, column] for i, j in pairs)
        expected = mean[column] ** 2 - off_diagonal / total
        assert ridge.spread_of_mean(psi, squares, mean)[column] == pytest.approx(expected, rel=1e-11)


def test_an_indefinite_matrix_is_a_numerical_error_that_names_lam():
    indefinite = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # eigenvalue -1
    with pytest.raises(NumericalError, match=r"lam = 0\.5.*larger lam") as caught:
        ridge.Ridge.of(indefinite).solve(0.5, np.ones((3, 1)))
    assert isinstance(caught.value, DensDiffError)
    with pytest.raises(NumericalError, match=r"lam = 0\.5.*larger lam"):
        ridge.coefficients(indefinite, 0.5, np.ones(3))


def test_forms_of_a_curve_are_the_plain_sums_for_any_factors():
    values, mean_x, mean_y, spread_x, spread_y = np.random.default_rng(1).random((5, 4))
    spectrum = ridge.Spectrum(values, mean_x, mean_y, spread_x, spread_y, 0.9, 0.8)
    found = spectrum.forms(2.0, -3.0, 0.5)
    a, mean = 1 / (values + 0.5), 2 * mean_x - 3 * mean_y
    assert found.plain == pytest.approx((a * mean**2).sum())
    assert found.lam_term == pytest.approx(0.5 * (a**2 * mean**2).sum())
    assert found.correction == pytest.approx(((4 * spread_x + 9 * spread_y) * (a + 0.5 * a**2)).sum())
