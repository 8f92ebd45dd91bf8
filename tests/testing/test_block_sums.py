"""Sums over blocks of rows: waves against plain loops, distances against all pairs of rows, the test against rows."""

import numpy as np
import pytest
from scipy.stats import binom

from densdiff.testing.block_sums import BlockSums, HashedBlocks, Waves, block_test, blurred_distances
from densdiff.testing.low_order import Layout

WIDTHS = (1.0, 0.5)
BLOCKS = 8


def rows_of(seed, n, shift=0.0):
    """Two numbers and two codes."""
    random = np.random.default_rng([seed, n])
    return random.normal(shift, 1.0, (n, 2)), random.integers(0, [3, 2], (n, 2))


def plain_waves(waves, numbers, codes):
    """The waves of each row, one by one, (n, size)."""
    found = []
    for row, levels in zip(numbers, codes, strict=True):
        angles = row.astype(np.float32) @ waves.frequencies
        signs = np.prod([own[level] for own, level in zip(waves.signs, levels, strict=True)], axis=0)
        found.append(np.concatenate([np.cos(angles) * signs, np.sin(angles) * signs]))
    return np.array(found, dtype=np.float64)


def sums_of(waves, numbers, codes, seed=0):
    blocks = HashedBlocks(seed, BLOCKS).part(0, len(numbers))
    low_order = np.zeros((BLOCKS, 2))
    np.add.at(low_order, blocks, numbers)
    rows = np.bincount(blocks, minlength=BLOCKS).astype(np.int64)
    return BlockSums(rows, waves.sums(numbers, codes, blocks, BLOCKS), low_order), blocks


@pytest.fixture
def waves():
    return Waves.drawn(0, 2, [3, 2], WIDTHS, 40)


def test_waves_are_summed_as_by_a_plain_loop(waves):
    numbers, codes = rows_of(1, 700)
    sums, blocks = sums_of(waves, numbers, codes)
    expected = np.zeros((BLOCKS, waves.size))
    np.add.at(expected, blocks, plain_waves(waves, numbers, codes))
    np.testing.assert_allclose(sums.waves, expected, atol=700 * 1e-6)  # cosines in single precision
    assert sums.n == 700


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


def test_distances_and_their_errors_are_those_of_all_pairs_of_rows(waves):
    (numbers_x, codes_x), (numbers_y, codes_y) = rows_of(1, 120), rows_of(2, 90, 0.5)
    (a, blocks_a), (b, blocks_b) = sums_of(waves, numbers_x, codes_x), sums_of(waves, numbers_y, codes_y)
    x, y = plain_waves(waves, numbers_x, codes_x), plain_waves(waves, numbers_y, codes_y)
    for r, found in enumerate(blurred_distances(a, b, waves)):
        assert found.width == WIDTHS[r]
        assert found.normalized == pytest.approx(plain_ratio(x, y, waves, r), abs=1e-4)
        assert found.norms == pytest.approx(kernel_means(x, x, waves, r) + kernel_means(y, y, waves, r), abs=1e-5)
        without_a = [plain_ratio(x[blocks_a != k], y, waves, r) for k in range(BLOCKS)]
        without_b = [plain_ratio(x, y[blocks_b != k], waves, r) for k in range(BLOCKS)]
        jackknife = np.sqrt(
            sum((BLOCKS - 1) / BLOCKS * np.square(v - np.mean(v)).sum() for v in (without_a, without_b))
        )
        assert found.error == pytest.approx(jackknife, rel=1e-3)


LAYOUT = Layout((1, 1), 5, [(0, 1)], (1, 1))


def with_low_order(sums, numbers, blocks):
    """Features of two columns, five forms and one product, enough for the layout."""
    features = np.column_stack(
        [numbers, *(np.square(numbers[:, 0]) + k * numbers[:, 1] for k in range(5)), numbers.prod(1)]
    )
    low_order = np.zeros((BLOCKS, features.shape[1]))
    np.add.at(low_order, blocks, features)
    return BlockSums(sums.rows, sums.waves, low_order), features


def blocks_tested(waves, one, other, count, seed):
    both, features = [], []
    for numbers, codes in (one, other):
        sums, blocks = sums_of(waves, numbers, codes, seed)
        found, own = with_low_order(sums, numbers, blocks)
        both.append(found)
        features.append(own)
    return block_test(tuple(both), waves, ["u", "v"], LAYOUT, count, np.random.default_rng(seed)), features


def test_statistics_of_the_data_are_differences_of_means(waves):
    one, other = rows_of(1, 300), rows_of(2, 200, 0.3)
    test, (x, y) = blocks_tested(waves, one, other, 20, 0)
    difference = plain_waves(waves, *one).mean(axis=0) - plain_waves(waves, *other).mean(axis=0)
    np.testing.assert_allclose(test.table[0, : len(WIDTHS)], waves.by_width(difference), rtol=1e-3, atol=1e-6)
    squares = np.square(x.mean(axis=0) - y.mean(axis=0))
    np.testing.assert_allclose(test.table[0, len(WIDTHS) : len(WIDTHS) + 2], squares[:2], rtol=1e-4)


def test_the_level_holds_with_few_blocks_and_a_shift_is_found():
    waves, runs = Waves.drawn(0, 2, [3, 2], WIDTHS, 20), 200
    pvalues = [
        blocks_tested(waves, rows_of(2 * k, 60), rows_of(2 * k + 1, 40), 39, k)[0].found.pvalue for k in range(runs)
    ]
    assert np.sum(np.array(pvalues) <= 0.1) <= binom.isf(1e-4, runs, 0.1)
    assert min(pvalues) < 0.3 < max(pvalues)
    test, _ = blocks_tested(waves, rows_of(1, 300), rows_of(2, 200, 1.0), 199, 0)
    assert test.found.pvalue <= 0.02


def test_sums_of_two_parts_are_those_of_the_whole(waves):
    numbers, codes = rows_of(1, 500)
    whole, blocks = sums_of(waves, numbers, codes)
    parts = []
    for rows in (slice(None, 200), slice(200, None)):
        low_order = np.zeros((BLOCKS, 2))
        np.add.at(low_order, blocks[rows], numbers[rows])
        counted = np.bincount(blocks[rows], minlength=BLOCKS)
        parts.append(BlockSums(counted, waves.sums(numbers[rows], codes[rows], blocks[rows], BLOCKS), low_order))
    merged = parts[0].merged(parts[1])
    np.testing.assert_array_equal(merged.rows, whole.rows)
    np.testing.assert_allclose(merged.waves, whole.waves, atol=1e-4)
    np.testing.assert_allclose(merged.low_order, whole.low_order, atol=1e-9)


def test_blocks_of_rows_do_not_depend_on_where_a_table_is_cut():
    blocks = HashedBlocks(7, 128)
    whole = blocks.part(0, 1000)
    np.testing.assert_array_equal(np.concatenate([blocks.part(0, 301), blocks.part(301, 699)]), whole)
    counts = np.bincount(HashedBlocks(7, 16).part(0, 16_000), minlength=16)
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)
