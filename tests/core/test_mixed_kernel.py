"""Kernels on numbers x levels against a sum over all subsets of columns (E16)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import agreement, mixed_kernel, radial
from densdiff.engines.pair_distances import kernel_block, kernel_matrix, radial_sums
from tests import oracle

RATIO = 10 ** (-1 / 3)


def mixed_rows(seed, n, d, levels):
    random = np.random.default_rng([seed, n, d])
    return np.hstack([random.normal(size=(n, d)), *(random.integers(0, min(k, 4), (n, 1)) for k in levels)])


def kernels_of(d, levels, steps, lam, make=mixed_kernel.mixed_plain_and_squared):
    """The kernels of one lam and one smoothing, as a solver makes them."""
    last = agreement.last_step(lam, RATIO)
    polynomial = agreement.agreement_polynomials(np.array(levels, int), [np.array(steps, int)], RATIO, last)[0]
    lams, (rows,) = agreement.stepped_lams(np.array([lam]), [polynomial])
    return make(radial.radial_table(d, lams), rows[0], polynomial)


def in_units_of_density(values, sigma, d):
    return np.asarray(values) * np.exp(-radial.log_scale(sigma, d))


columns = st.lists(st.tuples(st.sampled_from([2, 3, 7, 400]), st.integers(0, 9)), min_size=1, max_size=4)
lams = st.sampled_from([1e-5, 1e-2, 0.7, 3.0, 50.0, 1e14])


@given(columns=columns, d=st.integers(0, 4), lam=lams, sigma=st.sampled_from([0.4, 1.0, 3.0]), seed=st.integers(0, 99))
def test_kernels_equal_a_sum_over_subsets_of_columns(columns, d, lam, sigma, seed):
    levels, steps = zip(*columns, strict=True)
    a, b = mixed_rows(seed, 5, d, levels), mixed_rows(seed + 1, 7, d, levels)
    b[0] = a[0]
    expected = oracle.mixed_kernels(a, b, levels, steps, RATIO, sigma, lam)
    own = oracle.mixed_kernels(a[:1], a[:1], levels, steps, RATIO, sigma, lam)
    with pytest.MonkeyPatch.context() as patch:
        for most in (mixed_kernel.MOST_CLASSES, 0):  # a table for each class, and one for each step
            patch.setattr(mixed_kernel, "MOST_CLASSES", most)
            patch.setattr(mixed_kernel, "MOST_ENTRIES", 0)
            kernels = kernels_of(d, levels, steps, lam)
            found = in_units_of_density(kernel_block(a, b, kernels, sigma, direct=True), sigma, d)
            for kind in range(2):
                # beyond lam = 1e12 F^2 has no digits of its own, and is below 1e-12 of F
                size = own[0][0, 0] if lam > 1e12 else own[kind][0, 0]
                np.testing.assert_allclose(found[kind], expected[kind], rtol=0, atol=1e-11 * size)
                peak = in_units_of_density(kernels.of_equal_rows[kind], sigma, d)
                assert peak == pytest.approx(own[kind][0, 0], rel=0, abs=1e-11 * size)


def test_statistic_kernel_is_twice_one_kernel_minus_the_other():
    levels, steps = [3, 5], [1, 4]
    a, b = mixed_rows(1, 30, 2, levels), mixed_rows(2, 20, 2, levels)
    plain, squared = kernel_block(a, b, kernels_of(2, levels, steps, 0.01), 0.8, direct=True)
    statistic = kernels_of(2, levels, steps, 0.01, mixed_kernel.mixed_statistic_kernel)
    np.testing.assert_allclose(
        kernel_matrix(a, b, statistic, 0.8, direct=True), 2 * plain - squared, rtol=1e-12, atol=1e-14
    )


def test_sums_at_points_are_products_with_the_kernel(monkeypatch):
    levels, steps = [3, 5], [1, 4]
    a, b = mixed_rows(3, 30, 2, levels), mixed_rows(4, 20, 2, levels)
    weights = np.random.default_rng(5).normal(size=(20, 2))
    kernels = kernels_of(2, levels, steps, 0.01)
    blocks = kernel_block(a, b, kernels, 0.8, direct=True)
    monkeypatch.setattr("densdiff.engines.pair_distances._TILE", 50)
    for found, block in zip(radial_sums(a, b, weights, kernels, 0.8, direct=True), blocks, strict=True):
        np.testing.assert_allclose(found, block @ weights, rtol=1e-12, atol=1e-14)


@given(d=st.integers(0, 3), lam=lams, seed=st.integers(0, 99))
def test_without_steps_rows_must_agree_and_numbers_decide_the_rest(d, lam, seed):
    levels = [2, 3]
    a, b = mixed_rows(seed, 6, d, levels), mixed_rows(seed + 1, 6, d, levels)
    found = kernel_block(a, b, kernels_of(d, levels, [0, 0], lam), 0.9, direct=True)
    numbers = radial.plain_and_squared(radial.radial_table(d, np.array([lam])), 0)
    equal = (a[:, None, d:] == b[:, d:]).all(axis=2)
    for mixed, plain in zip(found, kernel_block(a[:, :d], b[:, :d], numbers, 0.9, direct=True), strict=True):
        np.testing.assert_array_equal(mixed, equal * plain)


@pytest.mark.parametrize("most", [128, 0])
def test_without_categories_nothing_changes_by_a_bit(monkeypatch, most):
    monkeypatch.setattr(mixed_kernel, "MOST_CLASSES", most)
    monkeypatch.setattr(mixed_kernel, "MOST_ENTRIES", 0)
    a, b = mixed_rows(1, 30, 3, []), mixed_rows(2, 20, 3, [])
    numbers = radial.plain_and_squared(radial.radial_table(3, np.array([0.02])), 0)
    expected = kernel_block(a, b, numbers, 0.7, direct=True)
    found = kernel_block(a, b, kernels_of(3, [], [], 0.02), 0.7, direct=True)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(expected, radial.interpolate(numbers, oracle.distances(a, b) / 0.7))


@given(order=st.permutations(range(4)), seed=st.integers(0, 99))
def test_order_of_columns_and_names_of_levels_change_nothing(order, seed):
    levels, steps, d = np.array([2, 3, 3, 6]), np.array([0, 2, 2, 5]), 1
    a, b = mixed_rows(seed, 9, d, levels), mixed_rows(seed + 1, 8, d, levels)
    expected = kernel_block(a, b, kernels_of(d, levels, steps, 0.01), 0.8, direct=True)
    other_order = [0, *(d + np.array(order))]
    moved = kernels_of(d, levels[order], steps[order], 0.01)
    found = kernel_block(a[:, other_order], b[:, other_order], moved, 0.8, direct=True)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    names = np.random.default_rng(seed).permutation(100)
    for rows in (a, b):
        rows[:, d:] = names[rows[:, d:].astype(int)]
    relabelled = kernel_block(a, b, kernels_of(d, levels, steps, 0.01), 0.8, direct=True)
    np.testing.assert_array_equal(relabelled, expected)


def test_sum_over_steps_picks_the_lams_of_each_step():
    random = np.random.default_rng(0)
    kernels, rows, sums = random.normal(size=(6, 11)), random.integers(0, 6, (4, 3)), random.normal(size=(3, 11, 2))
    expected = np.einsum("ltn,tnk->lk", kernels[rows], sums)
    np.testing.assert_allclose(mixed_kernel.sum_over_steps(kernels, rows, sums), expected, rtol=1e-12)
