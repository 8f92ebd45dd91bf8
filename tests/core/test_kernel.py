"""Distances and features: the fast forms equal the plain ones, and the ladder follows the data's scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import kernel
from densdiff.core.kernel import Categories
from tests import oracle
from tests.categories import (
    all_levels,
    categories,
    codes_of,
    slow_factor,
    slow_ratios,
)

ROOT = np.sqrt(2.0)


def plain_squared(rows, centers):
    return np.square(rows[:, None, :] - centers[None, :, :]).sum(axis=2)


@pytest.mark.parametrize("d", [2, 7])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_kernel_between_two_sets_of_rows_is_the_plain_one(d, offset):
    random = np.random.default_rng(d)
    a, b = (np.round(random.normal(size=(n, d)) * 2.0**20) / 2.0**20 for n in (31, 17))  # exact at the offset too
    found = kernel.gaussian(a + offset, b + offset, 0.9)
    np.testing.assert_allclose(found, oracle.psi(a, b, 0.9), rtol=1e-10)


@given(seed=st.integers(0, 1000), d=st.integers(1, 4))
def test_no_rung_is_wider_or_narrower_than_the_quantiles_of_distances_allow(seed, d):
    rows = np.random.default_rng(seed).normal(size=(40, d))
    distances = np.sqrt(plain_squared(rows, rows)[np.triu_indices(40, 1)])
    narrowest, widest = np.quantile(distances, [0.01, 0.5]) * [0.6, ROOT]
    found = kernel.sigma_ladder(rows)
    assert found[0] == pytest.approx(widest, rel=1e-12)
    assert found[-1] >= narrowest * (1 - 1e-12)


def test_a_ratio_of_sigmas_counts_as_a_power_of_two_within_1e_12():
    for off, squared in ((4e-13, 1), (6e-13, 0)):  # of a sigma: twice as much of its square
        assert kernel.squarings(np.array([ROOT * (1 + off), 1.0])) == [0, squared]


def test_the_median_distance_of_many_rows_is_that_of_every_kth_from_the_first():
    rows = np.array([[0.0], [0.0], [1.0], [5.0]] * 500)  # every second row is 0 or 1
    assert kernel.median_distance(rows) == 1.0


@pytest.mark.parametrize("d", [1, 2, 7, 40])
def test_both_forms_of_squared_distances_equal_the_plain_one(d):
    random = np.random.default_rng(d)
    rows, centers = random.normal(size=(31, d)), random.normal(size=(17, d))
    expected = plain_squared(rows, centers)
    np.testing.assert_allclose(kernel.squared_distances(rows, centers, True), expected, rtol=1e-13)
    expanded = kernel.squared_distances(rows, centers, False)
    np.testing.assert_allclose(expanded, expected, rtol=0, atol=1e-14 * 4 * d * 16)  # radius^2 is below 16 d
    assert (expanded >= 0).all()


def test_direct_differences_are_asked_for_when_the_expansion_loses_digits():
    assert not kernel.needs_direct_differences(radius=10.0, sigma=1.0, d=10)
    assert kernel.needs_direct_differences(radius=1e9, sigma=1.0, d=10)
    assert kernel.needs_direct_differences(radius=np.inf, sigma=1.0, d=10)


@pytest.mark.parametrize(
    "sigmas",
    [
        3.0 * ROOT ** -np.arange(30.0),
        3.0 * 2.0 ** -np.arange(12.0),
        np.array([5.0, 3.0, 2.5, 1.2, 0.3]),
        np.array([4.0, 4.0 / ROOT, 2.5, 2.5 / ROOT, 1.25, 0.2]),
        np.array([0.7]),
        np.array([1e3, 1e3 / ROOT, 1e-3, 1e-3 / ROOT]),
    ],
    ids=["ratio sqrt2", "ratio 2", "no ladder", "mixed", "single", "far apart"],
)
def test_ladder_features_equal_exp_of_each_sigma(sigmas):
    squared = np.square(np.linspace(0, 6, 400)).reshape(20, 20)
    found = [psi.copy() for psi in kernel.features(squared.copy(), sigmas)]
    assert len(found) == len(sigmas)
    for psi, sigma in zip(found, sigmas, strict=True):
        exponent = squared / (2 * sigma**2)
        expected = np.exp(-exponent)
        # exp of an exponent e has relative error eps * e; 12 squarings at most multiply 1 ulp by 2^12
        np.testing.assert_allclose(psi, expected, rtol=5e-12, atol=1e-290)


def test_features_keep_the_distances():
    squared = np.arange(12.0).reshape(3, 4)
    before = squared.copy()
    for _ in kernel.features(squared, np.array([2.0, ROOT, 1.0])):
        pass
    np.testing.assert_array_equal(squared, before)


@pytest.mark.parametrize("direct", [True, False])
def test_gram_is_e2_with_a_unit_diagonal(direct):
    centers = np.random.default_rng(3).normal(size=(25, 5))
    sigmas = 2.0 * ROOT ** -np.arange(6.0)
    for found, sigma in zip(kernel.gram(centers, sigmas, direct), sigmas, strict=True):
        np.testing.assert_allclose(found, oracle.gram(centers, sigma), rtol=1e-11)
        np.testing.assert_array_equal(np.diag(found), 1.0)


def test_gram_is_the_integral_of_two_features():
    sigma, centers = 0.4, np.array([[-0.3], [0.5], [0.9]])
    line, step = np.linspace(-8, 8, 4001, retstep=True)
    psi = oracle.psi(line[:, None], centers, sigma)
    found = next(kernel.gram(centers, np.array([sigma]), True))
    np.testing.assert_allclose(oracle.volume(sigma, 1) * found, step * psi.T @ psi, rtol=1e-12)


@given(seed=st.integers(0, 2**20), d=st.integers(1, 6), exponent=st.integers(-300, 300))
def test_ladder_has_ratio_sqrt2_and_scales_with_the_data(seed, d, exponent):
    rows = np.random.default_rng(seed).normal(size=(60, d))
    ladder = kernel.sigma_ladder(rows)
    powers = 2 * np.log2(ladder[0] / ladder)
    np.testing.assert_allclose(powers, np.round(powers), atol=1e-9)
    assert (np.diff(ladder) < 0).all()
    scaled = kernel.sigma_ladder(np.ldexp(rows, exponent // 2))
    np.testing.assert_allclose(scaled, np.ldexp(ladder, exponent // 2), rtol=1e-12)


def test_ladder_spans_from_close_neighbours_to_the_median_distance():
    rows = np.random.default_rng(0).normal(size=(200, 2))
    distances = np.sqrt(plain_squared(rows, rows))[np.triu_indices(200, 1)]
    ladder = kernel.sigma_ladder(rows)
    assert ladder[0] >= np.median(distances)
    assert ladder[-1] <= np.quantile(distances, 0.01)


@pytest.mark.parametrize("rows", [np.zeros((5, 2)), np.zeros((1, 1)), np.array([[0.0], [0.0], [0.0], [1.0]])])
def test_ladder_of_tied_rows_is_positive(rows):
    ladder = kernel.sigma_ladder(rows)
    assert ladder.size
    assert np.isfinite(ladder).all()
    assert (ladder > 0).all()


def test_ladder_covers_the_width_of_clusters_and_their_gap():
    random = np.random.default_rng(1)
    rows = np.concatenate([random.normal(size=(50, 1)), random.normal(size=(50, 1)) + 1e9])
    ladder = kernel.sigma_ladder(rows)
    assert np.abs(np.log2(ladder / 1.0)).min() < 0.5
    assert np.abs(np.log2(ladder / 1e9)).min() < 1.5
    assert len(ladder) < 40


def test_with_few_columns_the_expansion_gains_nothing():
    assert kernel.needs_direct_differences(radius=10.0, sigma=1.0, d=3)
    assert not kernel.needs_direct_differences(radius=10.0, sigma=1.0, d=4)


def test_the_radius_is_the_largest_distance_from_the_origin():
    assert kernel.radius(np.array([[3.0, 4.0]]), np.array([[1.0, 1.0], [0.0, -2.0]])) == 5.0
    assert kernel.radius(np.empty((0, 2))) == 0.0
    assert kernel.radius(np.array([[1e200, 0.0]])) == np.inf


def test_one_exp_serves_a_ladder_until_squaring_would_lose_digits():
    assert kernel.squarings(3.0 * ROOT ** -np.arange(15.0)) == [0, *[1] * 12, 0, 1]
    assert kernel.squarings(np.array([4.0, 2.0, 1.9, 1.9 / ROOT])) == [0, 2, 0, 1]


def test_the_median_distance_is_over_all_pairs_of_rows_that_differ():
    assert kernel.median_distance(np.array([[0.0], [1.0], [3.0]])) == 2.0
    assert kernel.median_distance(np.array([[0.0], [0.0], [0.0], [4.0]])) == 4.0
    assert kernel.median_distance(np.zeros((3, 2))) == 1.0


def test_a_run_of_sigmas_spans_a_factor_of_256_from_its_first():
    found = [run.tolist() for run in kernel.sigma_runs(np.array([512.0, 2.0, 1.0, 0.5, 1e-9]))]
    assert found == [[0, 1], [2, 3], [4]]


def test_levels_are_one_apart_unless_something_else_is_said():
    rows = np.array([[0.0, 1.0, 2.0], [3.0, 1.0, 0.0], [0.0, 0.0, 2.0]])  # one number, two codes
    for apart, weights in ((None, [1.0, 1.0]), (np.array([0.5, 4.0]), [0.5, 4.0])):
        embedded = kernel.Categories(np.array([2, 3]), apart=apart).embedded(rows)
        unequal = (rows[:, None, 1:] != rows[:, 1:]) @ np.array(weights)
        expected = np.square(rows[:, None, 0] - rows[:, 0]) + unequal
        np.testing.assert_allclose(plain_squared(embedded, embedded), expected, atol=1e-14)


@given(categories(), st.integers(0, 2**32 - 1))
def test_factors_are_products_and_sums_over_levels(drawn, seed):
    of, sigma = drawn
    random = np.random.default_rng(seed)
    a, b = codes_of(random, of.levels, 6), codes_of(random, of.levels, 4)
    ratios = slow_ratios(of, sigma)
    np.testing.assert_allclose(of.factor(sigma, a, b), slow_factor(a, b, ratios), rtol=1e-13, atol=0)
    at_levels = slow_factor(a, all_levels(of.levels), ratios)  # (6, product of K)
    sums = at_levels @ at_levels.T
    scale = np.exp(of.log_scale(sigma))
    np.testing.assert_allclose(np.diag(sums), scale, rtol=1e-12)
    wide, own = of.gram_factors(np.array([2 * sigma, sigma]), a)
    np.testing.assert_allclose(scale * own, sums, rtol=1e-12)
    wider = slow_factor(a, all_levels(of.levels), slow_ratios(of, 2 * sigma))
    np.testing.assert_allclose(np.exp(of.log_scale(2 * sigma)) * wide, wider @ wider.T, rtol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_embedded_rows_are_apart_as_the_kernel_says(seed):
    random = np.random.default_rng(seed)
    of = Categories(np.array([2, 4]), apart=np.array([1.5, 3.0]))
    rows = np.hstack([random.normal(size=(8, 2)), codes_of(random, of.levels, 8)])
    placed = of.embedded(rows)
    squared = np.square(placed[:, None] - placed).sum(axis=2)
    own = np.square(rows[:, None, :2] - rows[:, :2]).sum(axis=2)
    expected = own + (rows[:, None, 2:] != rows[:, 2:]) @ of.apart
    np.testing.assert_allclose(squared, expected, atol=1e-12)


def test_columns_are_far_if_the_expansion_of_them_and_all_nearer_ones_would_lose_digits():
    rows = np.ones((3, 6)) * [1.0, 1e9, 2.0, 1e3, 3.0, 4.0]
    np.testing.assert_array_equal(kernel.far_columns(rows, 1e3), [False, True, False, False, False, False])
    np.testing.assert_array_equal(kernel.far_columns(rows, 1.0), [False, True, False, True, False, False])
    assert not kernel.far_columns(rows, 1e9).any()
    assert kernel.far_columns(rows, 1e-9).all()
    assert kernel.far_columns(rows[:, :3], 1.0).all()  # with few columns a product gains nothing
    rows[:, 1] = 1e200  # whose square is infinite
    np.testing.assert_array_equal(kernel.far_columns(rows, 1e3), [False, True, False, False, False, False])


def test_no_column_is_far_if_no_row_is():
    rows = 100.0 * np.eye(200)  # each column has a value that the others would make far
    assert not kernel.far_columns(rows, 1.0).any()
    assert kernel.far_columns(rows, 0.5).any()
