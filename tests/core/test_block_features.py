"""Features of blocks: what they must not see, and what they must."""

import numpy as np
import pytest

from densdiff.core.block_features import describe_blocks

ONES = np.ones(1)


def blocks(n=6, length=32, d=1, seed=0):
    return np.random.default_rng(seed).normal(size=(n, length, d))


@pytest.mark.parametrize("d", [1, 3, 7])
def test_each_block_is_described_by_itself(d):
    rows = blocks(d=d)
    variance = rows.var(axis=1).mean(axis=0)
    alone = np.vstack([describe_blocks(block[None], variance) for block in rows])
    np.testing.assert_allclose(describe_blocks(rows, variance), alone, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 4, 6])
def test_time_has_no_direction(d):
    rows = blocks(d=d, length=33)
    np.testing.assert_allclose(
        describe_blocks(rows, np.ones(d)), describe_blocks(rows[:, ::-1], np.ones(d)), rtol=1e-9, atol=1e-9
    )


def test_a_shift_moves_the_mean_alone():
    change = describe_blocks(blocks() + 2.0, ONES) - describe_blocks(blocks(), ONES)
    np.testing.assert_allclose(change[:, 0], 2.0)
    np.testing.assert_allclose(change[:, 1:], 0.0, atol=1e-9)


def test_a_faster_wave_moves_the_bands_and_neither_mean_nor_spread():
    time = np.arange(96.0)
    slow, fast = (np.sin(2 * np.pi * time / period)[None, :, None] for period in (24, 12))
    change = (describe_blocks(fast, ONES) - describe_blocks(slow, ONES))[0]
    np.testing.assert_allclose(change[:2], 0.0, atol=1e-9)
    assert np.abs(change[2:]).max() > 1.0


def test_a_correlation_is_seen_among_few_columns_and_among_many():
    for d, n_correlations in ((2, 1), (8, 8)):
        rows = blocks(40, 64, d)
        mixed = rows.copy()
        mixed[:, :, 1] = 0.8 * rows[:, :, 0] + 0.6 * rows[:, :, 1]
        change = (describe_blocks(mixed, np.ones(d)) - describe_blocks(rows, np.ones(d))).mean(axis=0)
        assert change[-n_correlations:].max() > 0.2


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_short_and_constant_blocks_have_finite_features(length):
    assert np.isfinite(describe_blocks(np.zeros((3, length, 2)), np.zeros(2))).all()
    assert np.isfinite(describe_blocks(blocks(3, length, 6), np.ones(6))).all()
