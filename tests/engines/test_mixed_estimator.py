"""E16 is the minimum of the penalized least-squares problem on numbers x levels; its forms are its integrals."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import agreement, mixed_kernel, radial
from densdiff.engines.pair_distances import kernel_block, radial_sums

RATIO = 10 ** (-1 / 3)


def library_kernels(d, levels, steps, lam):
    last = agreement.last_step(lam, RATIO)
    polynomial = agreement.agreement_polynomials(np.array(levels, int), [np.array(steps, int)], RATIO, last)[0]
    lams, (rows,) = agreement.stepped_lams(np.array([lam]), [polynomial])
    return mixed_kernel.mixed_plain_and_squared(radial.radial_table(d, lams), rows[0], polynomial)


def curve(points, rows, weights, kernels, sigma):
    """f at the points, in units of density."""
    d = rows.shape[1] - kernels.n_codes
    sums = radial_sums(points, rows, weights[:, None], kernels, sigma, direct=True)[0][:, 0]
    return sums * np.exp(-radial.log_scale(sigma, d))


def quadratic_forms(a, b, weights_a, weights_b, kernels, sigma):
    """Double sums of both kernels, in units of density."""
    d = a.shape[1] - kernels.n_codes
    blocks = kernel_block(a, b, kernels, sigma, direct=True)
    return [weights_a @ block @ weights_b * np.exp(-radial.log_scale(sigma, d)) for block in blocks]


def level_kernels(levels, steps):
    """The kernel matrix between all combinations of levels, 1 on equal and r_j on other levels, and lam's divisor."""
    kernel, divisor = np.ones((1, 1)), 1.0
    for k, step in zip(levels, steps, strict=True):
        rho = RATIO**step
        r = (1 - rho) / (1 + (k - 1) * rho)
        kernel = np.kron(kernel, np.where(np.eye(k) == 1, 1.0, r))
        divisor *= 1 + (k - 1) * r
    return kernel, divisor


def cells(grid, levels):
    """All points of grid x levels: the numbers, then the codes, the last code running fastest."""
    return np.array([[*x, *codes] for x in grid for codes in product(*map(range, levels))], dtype=float)


def brute_minimum(grid, spacing, period, levels, steps, sigma, lam, weights):
    """argmin |g|^2 - 2 sum w g + lambda |g|^2_RKHS at all cells, weights being those of the cells.

    With g = K alpha the normal equations are (measure K + lambda I) alpha = w. The circle is long enough for the
    kernel to vanish on its far side, and the grid fine enough for sums over it to be integrals.
    """
    among_levels, divisor = level_kernels(levels, steps)
    numbers, measure, lam_divisor = np.ones((1, 1)), 1.0, divisor
    if spacing is not None:
        gaps = np.abs(np.subtract.outer(grid[:, 0], grid[:, 0]))
        numbers = np.exp(-(np.minimum(gaps, period - gaps) ** 2) / (2 * sigma**2))
        measure, lam_divisor = spacing, divisor * np.sqrt(2 * np.pi) * sigma
    kernel = np.kron(numbers, among_levels)
    alpha = np.linalg.solve(measure * kernel + lam * lam_divisor * np.eye(len(kernel)), weights)
    return kernel @ alpha


@given(
    columns=st.lists(st.tuples(st.integers(2, 3), st.integers(0, 7)), min_size=1, max_size=2),
    lam=st.sampled_from([0.01, 0.3, 2.0, 40.0]),
    with_numbers=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_curve_is_the_minimum_of_the_penalized_problem(columns, lam, with_numbers, seed):
    levels, steps = zip(*columns, strict=True)
    random = np.random.default_rng(seed)
    sigma, spacing, count = 1.0, 0.35, 115
    grid = spacing * np.arange(count)[:, None] if with_numbers else np.empty((1, 0))
    everywhere = cells(grid, levels)
    n_levels = int(np.prod(levels))
    middle = np.arange(50 * n_levels, 65 * n_levels) if with_numbers else np.arange(n_levels)
    chosen = random.choice(middle, 9)
    weights = np.array([1 / 5] * 5 + [-1 / 4] * 4)
    of_cells = np.bincount(chosen, weights, len(everywhere))
    spacing_of = spacing if with_numbers else None
    expected = brute_minimum(grid, spacing_of, spacing * count, levels, steps, sigma, lam, of_cells)
    kernels = library_kernels(grid.shape[1], levels, steps, lam)
    found = curve(everywhere[middle], everywhere[chosen], weights, kernels, sigma)
    size = max(np.abs(expected).max(), abs(kernels.of_equal_rows[0]) * 0.1)
    np.testing.assert_allclose(found, expected[middle], rtol=0, atol=1e-10 * size)


integral_cases = given(
    columns=st.lists(st.tuples(st.sampled_from([2, 3]), st.integers(0, 6)), min_size=1, max_size=2),
    lam=st.sampled_from([0.01, 0.5, 30.0]),
    sigma=st.sampled_from([0.5, 1.0]),
    seed=st.integers(0, 1000),
)


def random_rows(seed, n, levels):
    random = np.random.default_rng([seed, n])
    return np.hstack([random.normal(size=(n, 1)), *(random.integers(0, k, (n, 1)) for k in levels)])


def integral_of_square(rows, weights, kernels, levels, sigma):
    """The integral of f^2 over the numbers, summed over the levels; the trapezoid rule is exact for such f."""
    spacing = 0.15 * sigma
    grid = np.arange(-40 * sigma, 40 * sigma, spacing)[:, None]
    return np.square(curve(cells(grid, levels), rows, weights, kernels, sigma)).sum() * spacing


@integral_cases
def test_forms_are_integrals_over_numbers_and_sums_over_levels(columns, lam, sigma, seed):
    levels, steps = zip(*columns, strict=True)
    rows, weights = random_rows(seed, 9, levels), np.array([1 / 5] * 5 + [-1 / 4] * 4)
    kernels = library_kernels(1, levels, steps, lam)
    plain, squared = quadratic_forms(rows, rows, weights, weights, kernels, sigma)
    h_theta = weights @ curve(rows, rows, weights, kernels, sigma)  # E4
    theta_H_theta = integral_of_square(rows, weights, kernels, levels, sigma)  # E5
    assert plain == pytest.approx(h_theta, rel=1e-12)
    assert squared == pytest.approx(theta_H_theta, rel=1e-10, abs=1e-12 * plain)
    assert 2 * plain - squared >= plain >= squared - 1e-12 * plain  # E6 >= E4 >= E5


@integral_cases
def test_hold_out_score_is_the_squared_error_up_to_a_constant(columns, lam, sigma, seed):
    levels, steps = zip(*columns, strict=True)
    train, held = random_rows(seed, 9, levels), random_rows(seed + 1, 5, levels)
    weights, held_weights = np.array([1 / 5] * 5 + [-1 / 4] * 4), np.array([1 / 2] * 2 + [-1 / 3] * 3)
    kernels = library_kernels(1, levels, steps, lam)
    within = quadratic_forms(train, train, weights, weights, kernels, sigma)[1]
    across = quadratic_forms(train, held, weights, held_weights, kernels, sigma)[0]
    at_held = held_weights @ curve(held, train, weights, kernels, sigma)
    expected = integral_of_square(train, weights, kernels, levels, sigma) - 2 * at_held  # E14
    assert within - 2 * across == pytest.approx(expected, rel=0, abs=1e-10 * (within + 2 * abs(across)))


def test_a_column_of_many_levels_tends_to_be_dropped():
    levels, d = [5000], 2
    random = np.random.default_rng(0)
    rows = np.hstack([random.normal(size=(8, d)), random.integers(0, 5000, (8, 1))])
    weights = np.array([1 / 4] * 4 + [-1 / 4] * 4)
    numbers = radial.Radial(*radial.plain_and_squared(radial.radial_table(d, np.array([0.05])), 0))
    expected = radial_sums(rows[:, :d], rows[:, :d], weights[:, None], numbers, 0.9, direct=True)[0][:, 0]
    kernels = library_kernels(d, levels, agreement.agreement_steps(np.array(levels), 12, RATIO), 0.05)
    found = radial_sums(rows, rows, weights[:, None], kernels, 0.9, direct=True)[0][:, 0]
    np.testing.assert_allclose(found * 5000, expected, rtol=0, atol=0.01 * np.abs(expected).max())
