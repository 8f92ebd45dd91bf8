"""Sums of features: waves by plain loops, distances by all pairs of rows, the null by relabelled rows."""

import numpy as np
import pytest
from scipy.stats import binom

from densdiff.solvers.base import FilterKernel, Model
from densdiff.testing.feature_layout import Layout
from densdiff.testing.feature_sums import FeatureSums, Waves, blurred_distances, sums_test

WIDTHS = (1.0, 0.5)


def rows_of(seed, n, shift=0.0):
    """Two numbers and two codes."""
    random = np.random.default_rng([seed, n])
    return random.normal(shift, 1.0, (n, 2)), random.integers(0, [3, 2], (n, 2))


def plain_waves(waves, numbers, codes):
    """The waves of each row, one by one, (n, size)."""
    found = []
    for row, levels in zip(numbers, codes, strict=True):
        angles = row @ waves.frequencies
        signs = np.prod([own[level] for own, level in zip(waves.signs, levels, strict=True)], axis=0)
        found.append(np.concatenate([np.cos(angles) * signs, np.sin(angles) * signs]))
    return np.array(found, dtype=np.float64)


def low_orders(numbers):
    """Features of two columns, five forms and one product, enough for the layout."""
    forms = (np.square(numbers[:, 0]) + k * numbers[:, 1] for k in range(5))
    return np.column_stack([numbers, *forms, numbers.prod(axis=1)])


def features_of(waves, numbers, codes):
    return np.hstack([waves(numbers, codes), low_orders(numbers)])


def sums_of(features):
    return FeatureSums(len(features), features.sum(axis=0), np.square(features).sum(axis=0))


@pytest.fixture
def waves():
    return Waves.drawn(0, 2, [3, 2], WIDTHS, 40)


def test_waves_are_those_of_a_plain_loop(waves):
    numbers, codes = rows_of(1, 300)
    expected = plain_waves(waves, numbers, codes)
    np.testing.assert_allclose(waves(numbers, codes), expected, atol=1e-6)  # of single precision
    np.testing.assert_allclose(waves(1e6 * numbers, codes), plain_waves(waves, 1e6 * numbers, codes), atol=1e-6)


def test_products_of_waves_of_a_filter_are_its_kernel():
    """The kernel of 2F - F^2 that the two-sample test of rows has at the same sigma and lam."""
    sigma, lam, count = 0.7, 0.05, 20_000
    waves = Waves.drawn(3, 2, [], (1.0, sigma), count, 1, lam)
    rows = np.array([[0.0, 0.0], [0.2, 0.1], [0.5, -0.6], [2.0, 1.0]])
    of_rows = waves(rows, np.empty((4, 0), dtype=np.intp)).reshape(4, 2, 2, count)[:, :, 1].astype(np.float64)
    products = np.einsum("ihm,jhm->ij", of_rows, of_rows) / count
    kernel = FilterKernel(2).kernel(Model(sigma, lam), rows, rows)
    np.testing.assert_allclose(products, kernel / kernel[0, 0], atol=4.0 / np.sqrt(count))


def test_products_of_waves_are_gaussian_kernels_times_agreement_of_levels():
    count = 20_000
    waves = Waves.drawn(3, 2, [3, 2], WIDTHS, count)
    numbers, codes = np.array([[0.0, 0.0], [0.4, -0.3], [0.4, -0.3]]), np.array([[0, 1], [0, 1], [2, 1]])
    of_rows = plain_waves(waves, numbers, codes)
    squared = 0.4**2 + 0.3**2
    for j in (1, 2):
        product = (
            waves.by_width(of_rows[0] + of_rows[j]) - waves.by_width(of_rows[0]) - waves.by_width(of_rows[j])
        ) / 2
        kernel = np.exp(-0.5 * squared / np.square(WIDTHS))
        share = 1.0 if j == 1 else 0.5  # of two columns each takes part in half of the waves
        np.testing.assert_allclose(product, kernel * share, atol=5 / np.sqrt(count))


def kernel_means(x, y, waves, r):
    """Mean kernel values of pairs of rows by the kernel of the waves of one width, without a row and itself."""
    count = waves.size // 2 // len(waves.widths)
    columns = np.r_[r * count : (r + 1) * count, waves.size // 2 + r * count : waves.size // 2 + (r + 1) * count]
    kernel = x[:, columns] @ y[:, columns].T / count
    if x is not y:
        return kernel.mean()
    return (kernel.sum() - np.trace(kernel)) / (len(x) * (len(x) - 1))


def plain_ratio(x, y, waves, r):
    own = kernel_means(x, x, waves, r) + kernel_means(y, y, waves, r)
    return 1.0 - 2.0 * kernel_means(x, y, waves, r) / own


def test_distances_are_those_of_all_pairs_of_rows(waves):
    x, y = (features_of(waves, *rows_of(*what)) for what in ((1, 120), (2, 90, 0.5)))
    found = blurred_distances((sums_of(x), sums_of(y)), (x, y), waves, np.zeros(2))
    for r, own in enumerate(found):
        assert own.width == WIDTHS[r]
        assert own.normalized == pytest.approx(plain_ratio(x[:, : waves.size], y[:, : waves.size], waves, r), abs=1e-9)
        norms = kernel_means(x, x, waves, r) + kernel_means(y, y, waves, r)
        assert own.norms == pytest.approx(norms, abs=1e-9)


def test_the_error_of_a_distance_is_how_much_it_scatters():
    """Both tables differ much, so that the first order rules; the waves are the same in all runs."""
    waves, runs = Waves.drawn(0, 2, [3, 2], WIDTHS, 20), 200
    pairs = [[features_of(waves, *rows_of(10 * k + side, 150, side)) for side in (0, 1)] for k in range(runs)]
    found = [blurred_distances((sums_of(x), sums_of(y)), (x, y), waves, np.zeros(2)) for x, y in pairs]
    for r in range(2):
        values = np.array([own[r].normalized for own in found])
        errors = np.array([own[r].error for own in found])
        assert values.std() <= 1.15 * np.median(errors)


LAYOUT = Layout((1, 1), 5, [(0, 1)], (1, 1))


def compare_sums(waves, one, other, count, seed):
    x, y = (features_of(waves, *rows) for rows in (one, other))
    random = np.random.default_rng(seed)
    test = sums_test((sums_of(x), sums_of(y)), y.astype(np.float32), waves, ["u", "v"], LAYOUT, count, random)
    return test, x, y


def test_statistics_of_the_data_are_differences_of_means(waves):
    test, x, y = compare_sums(waves, rows_of(1, 300), rows_of(2, 200, 0.3), 20, 0)
    difference = x.mean(axis=0) - y.mean(axis=0)
    np.testing.assert_allclose(test.table[0, :2], waves.by_width(difference[: waves.size]), rtol=1e-4)
    np.testing.assert_allclose(test.table[0, 3:5], np.square(difference[waves.size :][:2]), rtol=1e-4)


def test_draws_of_the_null_vary_as_relabelled_rows_of_both_tables_do(waves):
    """Though only rows of the narrower one are relabelled: each mean difference has the variance of pooled rows."""
    (numbers, codes), narrow = rows_of(1, 400), rows_of(2, 300)
    test, x, y = compare_sums(waves, (3.0 * numbers, codes), narrow, 2000, 0)
    pooled = np.vstack([x, y]).var(axis=0, ddof=1) * (1 / 400 + 1 / 300)
    np.testing.assert_allclose(test.table[1:, 3:5].mean(axis=0), pooled[waves.size :][:2], rtol=0.15)
    np.testing.assert_allclose(test.table[1:, :2].mean(axis=0), waves.by_width(np.sqrt(pooled[: waves.size])), rtol=0.1)


def test_the_level_holds_and_a_shift_is_found():
    waves, runs = Waves.drawn(0, 2, [3, 2], WIDTHS, 20), 200
    pvalues = [
        compare_sums(waves, rows_of(2 * k, 90), rows_of(2 * k + 1, 60), 39, k)[0].found.pvalue for k in range(runs)
    ]
    assert np.sum(np.array(pvalues) <= 0.1) <= binom.isf(1e-4, runs, 0.1)
    assert min(pvalues) < 0.3 < max(pvalues)
    assert compare_sums(waves, rows_of(1, 300), rows_of(2, 200, 1.0), 199, 0)[0].found.pvalue <= 0.02


def test_what_varies_in_one_table_only_is_no_division_by_zero(waves):
    numbers, codes = rows_of(1, 300)
    test, *_ = compare_sums(waves, (numbers, codes), (np.full((200, 2), 0.5), np.zeros((200, 2), dtype=int)), 99, 0)
    assert np.isfinite(test.table).all()
    assert test.found.pvalue <= 0.02


def test_sums_of_two_parts_are_those_of_the_whole(waves):
    features = features_of(waves, *rows_of(1, 500))
    merged, whole = sums_of(features[:200]).merged(sums_of(features[200:])), sums_of(features)
    assert merged.n == whole.n
    np.testing.assert_allclose(merged.sums, whole.sums, atol=1e-9)
    np.testing.assert_allclose(merged.variances(), features.var(axis=0, ddof=1), atol=1e-9)


def test_a_feature_that_one_row_has_is_no_difference(waves):
    """Three rows of one table and one of the other: relabelling a single row, its size would never vary."""
    random = np.random.default_rng(0)
    (numbers, codes), (others, other_codes) = rows_of(1, 200), rows_of(2, 200)
    rare = [np.r_[np.ones(k), np.zeros(200 - k)] for k in (3, 1)]
    x, y = features_of(waves, numbers, codes), features_of(waves, others, other_codes)
    x[:, waves.size], y[:, waves.size] = rare
    test = sums_test((sums_of(x), sums_of(y)), y.astype(np.float32), waves, ["u", "v"], LAYOUT, 199, random)
    assert np.mean(test.table[1:, 3] >= test.table[0, 3]) > 0.1
