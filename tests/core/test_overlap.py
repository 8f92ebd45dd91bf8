"""Overlap of densities: means over pairs against explicit U-statistics, and formulas against integrals of normals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import overlap as formulas


def normal_integrals(shift, a, b):
    """Of p^2, q^2 and p q for p = N(0, a^2) and q = N(shift, b^2)."""

    def product(u, v, gap):
        return np.exp(-0.5 * gap**2 / (u**2 + v**2)) / np.sqrt(2 * np.pi * (u**2 + v**2))

    return product(a, a, 0.0), product(b, b, 0.0), product(a, b, shift)


def overlap_of_integrals(*integrals):
    """As of kernels that are densities, all rows and no group, one rung."""
    return formulas.overlap_of(np.array(integrals)[None, :, None], np.zeros(1))[0]


NORMALS = st.tuples(st.floats(-3, 3), st.floats(0.1, 5), st.floats(0.1, 5))


@given(normals=NORMALS, log_volume=st.floats(-50, 50))
def test_distances_are_those_of_the_integrals(normals, log_volume):
    pp, qq, pq = normal_integrals(*normals)
    volume = np.exp(log_volume)
    overlap = formulas.overlap_of(volume * np.array([pp, qq, pq])[None, :, None], np.array([log_volume]))[0]
    assert overlap.log_total[0] == pytest.approx(np.log(pp + qq), abs=1e-12 * (1 + abs(log_volume)))
    # E9; differences of numbers near 1
    assert overlap.normalized[0] == pytest.approx((pp + qq - 2 * pq) / (pp + qq), abs=1e-12)
    assert overlap.squared(0.5)[0] == pytest.approx((pp + qq - 2 * pq) * np.exp(-0.5), abs=1e-11 * (pp + qq))


@given(first=NORMALS, second=NORMALS, exponent=st.floats(0, 1))
def test_independent_columns_multiply(first, second, exponent):
    one, two = (overlap_of_integrals(*normal_integrals(*normals)) for normals in (first, second))
    products = np.multiply(normal_integrals(*first), normal_integrals(*second))
    together, expected = one.times(two), overlap_of_integrals(*products)
    powers = overlap_of_integrals(*np.power(normal_integrals(*first), exponent))
    for found, wanted in ((together, expected), (one.power(exponent), powers)):
        for name in ("log_norm", "log_ratio", "affinity"):
            np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-11, atol=1e-12)
    if two.affinity[0] > 0.3:
        back = together.over(two)
        np.testing.assert_allclose(back.normalized, one.normalized, atol=1e-10)
        np.testing.assert_allclose(back.log_norm, one.log_norm, atol=1e-12)


def test_many_columns_of_any_noise_stay_finite():
    """A sample without two rows within reach has no norm, and cosh of a sum of such logarithms no double."""
    noisy = overlap_of_integrals(0.0, 1.0, 0.5)
    product = noisy
    for _ in range(2000):
        product = product.times(noisy)
    assert noisy.normalized[0] == pytest.approx(1.0)
    assert product.normalized[0] == pytest.approx(1.0)
    assert np.isfinite(product.log_total).all()
    equal = overlap_of_integrals(1.0, 1.0, 4.0)
    for _ in range(20):
        equal = equal.times(equal)
    assert np.isfinite(equal.normalized).all()


def test_what_has_no_overlap_has_no_change_of_it():
    nothing = overlap_of_integrals(1.0, 1.0, 0.0)
    assert nothing.over(nothing).affinity[0] == 1.0
    assert nothing.normalized[0] == 1.0
    assert 1.0 < overlap_of_integrals(1.0, 1.0, 0.3).over(nothing).affinity[0] <= 4.0  # more would be noise


@st.composite
def grouped_pairs(draw):
    """A kernel matrix of pooled rows, weights, X's groups from 0 and Y's from G; every group has two rows."""
    n_groups = draw(st.integers(2, 5))
    n, m = (draw(st.integers(2 * n_groups, 15)) for _ in range(2))
    random = np.random.default_rng([draw(st.integers(0, 10_000)), n, m])
    values = random.normal(size=n + m)
    kernel = np.exp(-np.square(np.subtract.outer(values, values)))
    groups = np.concatenate([np.arange(n) % n_groups, n_groups + np.arange(m) % n_groups])
    return kernel, random.random(n + m) + 0.1, groups, n_groups


def group_sums(kernel, omega, groups, n_groups):
    members = (groups == np.arange(2 * n_groups)[:, None]) * omega  # (2G, N)
    own = np.diag(members**2 @ np.diag(kernel))
    return members @ kernel @ members.T - own, members.sum(axis=1), np.square(members).sum(axis=1)


@given(grouped_pairs())
def test_pair_means_are_u_statistics_without_each_group(case):
    kernel, omega, groups, n_groups = case
    sums, masses, squares = group_sums(*case)
    found = formulas.pair_means(sums[None], masses, squares)
    assert found.shape == (1, 3, 1 + n_groups)
    for left_out in range(-1, n_groups):
        rows = [np.flatnonzero((groups // n_groups == side) & (groups % n_groups != left_out)) for side in (0, 1)]
        for k, (a, b) in enumerate(((0, 0), (1, 1), (0, 1))):
            pairs = [(i, j) for i in rows[a] for j in rows[b] if i != j]
            weight = np.array([omega[i] * omega[j] for i, j in pairs])
            expected = weight @ np.array([kernel[i, j] for i, j in pairs]) / weight.sum()
            assert found[0, k, 1 + left_out] == pytest.approx(expected, rel=1e-10)


def test_a_mean_over_no_pair_is_nan_without_a_warning():
    found = formulas.pair_means(np.ones((1, 2, 2)), np.ones(2), np.ones(2))  # one row each
    assert np.isnan(found[0, :2, 0]).all()
    assert found[0, 2, 0] == 1.0
    assert np.isnan(found[0, :, 1]).all()
    overlaps = formulas.overlap_of(found, np.zeros(1))
    assert np.isnan(overlaps.log_total).all()


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=20))
def test_jackknife_error_is_that_of_its_formula(values):
    left = values[1:]
    mean = sum(left) / len(left)
    expected = ((len(left) - 1) / len(left) * sum((value - mean) ** 2 for value in left)) ** 0.5
    assert formulas.jackknife_error(np.array(values)) == pytest.approx(expected, abs=1e-10)


def test_jackknife_error_of_a_mean_is_its_standard_error():
    rows = np.random.default_rng(0).normal(size=12)
    values = np.array([rows.mean()] + [np.delete(rows, i).mean() for i in range(12)])
    assert formulas.jackknife_error(values) == pytest.approx(rows.std(ddof=1) / 12**0.5, rel=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_jackknife_error_of_what_cannot_be_left_out_is_infinite(bad):
    assert formulas.jackknife_error(np.array([1.0, 1.0, bad, -bad, 1.0])) == np.inf


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.integers(0, 4))
def test_finest_rung_is_the_last_before_the_first_unresolved(resolved, least):
    count = 0
    while count < len(resolved) and resolved[count]:
        count += 1
    assert formulas.finest_rung(np.array(resolved), least) == max(least, count - 1)


def test_the_first_of_values_that_differ_by_rounding_is_least():
    assert formulas.first_least([0.3, 0.1 + 1e-12, 0.1, 0.2]) == 1
    assert formulas.first_least([np.inf, np.inf]) == 0
    assert formulas.first_least([0.3, 0.2, 0.1]) == 2


@given(seed=st.integers(0, 1000), n=st.integers(3, 30), m=st.integers(3, 30))
def test_degenerate_noise_takes_squares_of_kernels_from_the_next_rung(seed, n, m):
    random = np.random.default_rng([seed, n, m])
    x, y = random.normal(size=n), random.normal(size=m)
    widths = 2.0 * 2.0 ** (-0.5 * np.arange(3))
    means, expected = np.empty((3, 3, 1)), np.empty((2, 3))
    for k, width in enumerate(widths):
        kernels = [np.exp(-0.5 * np.square(np.subtract.outer(a, b) / width)) for a, b in ((x, x), (y, y), (x, y))]
        off = [~np.eye(n, dtype=bool), ~np.eye(m, dtype=bool), np.ones((n, m), dtype=bool)]
        means[k, :, 0] = [kernel[chosen].mean() for kernel, chosen in zip(kernels, off, strict=True)]
        if k < 2:
            squares = [np.square(kernel[chosen]).mean() for kernel, chosen in zip(kernels, off, strict=True)]
            within_x, within_y = means[k, :2, 0]
            expected[k] = [
                (2 * squares[0]) ** 0.5 / n / within_x,
                (2 * squares[1]) ** 0.5 / m / within_y,
                (squares[2] / (n * m * within_x * within_y)) ** 0.5,
            ]
    np.testing.assert_allclose(formulas.degenerate_noise(means, (n, m)), expected, rtol=1e-9)


@given(spacing=st.floats(0.01, 10), width=st.floats(0.01, 10))
def test_the_volume_on_a_lattice_is_the_sum_of_the_kernel_over_it(spacing, width):
    steps = np.arange(-12_000, 12_001)
    expected = np.log(spacing * np.exp(-0.5 * np.square(spacing * steps / width)).sum())
    assert formulas.log_volume(np.array([width]), spacing)[0] == pytest.approx(expected, abs=1e-8)
    assert formulas.log_volume(np.array([width]), 0.0)[0] == pytest.approx(
        np.log(width * np.sqrt(2 * np.pi)), abs=1e-12
    )


def test_noise_without_pairs_within_reach_is_infinite():
    assert np.isinf(formulas.degenerate_noise(np.zeros((2, 3, 1)), (10.0, 10.0))).all()


def test_collision_scale_of_a_normal_sample_is_its_deviation():
    rows = np.random.default_rng(1).normal(size=(5000, 2)) * [1.0, 30.0] + [0.0, 1e4]
    np.testing.assert_allclose(formulas.collision_scales(rows), [1.0, 30.0], rtol=0.06)


def test_outliers_and_heavy_tails_hardly_change_a_collision_scale():
    random = np.random.default_rng(2)
    rows = random.normal(size=(5000, 1))
    clean = formulas.collision_scales(rows)[0]
    rows[:50] *= 1e6
    # a hundredth of the rows gone: the density of the others is a hundredth less, its mean over rows another
    assert formulas.collision_scales(rows)[0] == pytest.approx(clean / 0.99**2, rel=0.02)
    cauchy = formulas.collision_scales(random.standard_cauchy((5000, 1)))[0]
    assert cauchy == pytest.approx(np.sqrt(np.pi), rel=0.06)  # the integral of its square is 1 / (2 pi)


@given(seed=st.integers(0, 1000), n=st.integers(3, 60), scale=st.sampled_from([1e-200, 1e-3, 7.0, 1e200]))
def test_collision_scales_follow_the_unit(seed, n, scale):
    rows = np.random.default_rng([seed, n]).normal(size=(n, 1))
    np.testing.assert_allclose(
        formulas.collision_scales(scale * rows), scale * formulas.collision_scales(rows), rtol=1e-9
    )


def test_collision_scales_where_rows_are_tied():
    mostly = np.concatenate([np.zeros(90), np.arange(20.0)])[:, None]
    assert np.isnan(formulas.collision_scales(mostly)[0])
    shares = np.array([0.2, 0.5, 0.3])
    few = 7.0 * np.repeat([0.0, 1.0, 2.0], [200, 500, 300])[:, None]
    # the integral of a squared density is a sum of squared shares over the step; pairs i = i are not counted
    assert formulas.collision_scales(few)[0] == pytest.approx(7.0 / (2 * np.sqrt(np.pi) * shares @ shares), rel=0.01)
    assert np.isnan(formulas.collision_scales(np.ones((2, 1)))[0])
    random = np.random.default_rng(3)
    rounded = np.round(random.normal(size=(5000, 1)), 2)
    assert formulas.collision_scales(rounded)[0] == pytest.approx(1.0, rel=0.1)


def blurred_norm(deviation, width):
    """The integral of a squared normal density blurred by a kernel between two rows."""
    return 1 / np.sqrt(2 * np.pi * (2 * deviation**2 + width**2))


@given(
    deviation=st.floats(0.05, 50), narrow=st.floats(0.1, 1), ratio=st.floats(1.2, 3), unit=st.sampled_from([1e-9, 1, 7])
)
def test_the_width_of_the_blurs_of_a_normal_density_is_its_deviation(deviation, narrow, ratio, unit):
    wide = narrow * ratio
    means = unit * np.array([blurred_norm(deviation, wide), blurred_norm(deviation, narrow)])
    # differences of squares: of the two blurs where the density is narrow, of 1 and nearly 1 where it is wide
    cancelled = 1 + (wide / deviation) ** 2 + (deviation / narrow) ** 2 / (ratio - 1)
    assert formulas.width_of_blurs(means, (wide, narrow)) == pytest.approx(deviation, rel=1e-14 * cancelled)


def test_two_modes_far_apart_have_the_blurs_of_one():
    means = 0.5 * np.array([blurred_norm(0.8, 0.5), blurred_norm(0.8, 0.3)])
    assert formulas.width_of_blurs(means, (0.5, 0.3)) == pytest.approx(0.8, rel=1e-13)


@pytest.mark.parametrize("means", [[0.0, 0.0], [1.0, 1.0], [2.0, 1.0], [np.nan, np.nan], [1.0, np.nan]])
def test_blurs_that_do_not_differ_are_those_of_an_infinite_width(means):
    assert formulas.width_of_blurs(np.array(means), (0.5, 0.3)) == np.inf


def test_the_blurs_of_a_point_and_sharper_ones_have_no_width():
    assert formulas.width_of_blurs(np.array([1 / 0.5, 1 / 0.3]), (0.5, 0.3)) == pytest.approx(0.0, abs=1e-7)
    assert formulas.width_of_blurs(np.array([1.0, 9.0]), (0.5, 0.3)) == 0.0
    assert formulas.width_of_blurs(np.array([0.0, 1.0]), (0.5, 0.3)) == 0.0
