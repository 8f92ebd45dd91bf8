"""Changes of rhythm: found at their place, whatever the units, and not invented."""

import numpy as np
import pytest

from densdiff import detect_changes
from densdiff.core.contrasts import running_sums
from densdiff.series.kernel_blocks import KernelRows, block_features, kernel_rows, standardized
from densdiff.series.rhythm import RhythmScan, _resample


def rhythm(periods, length=1000, noise=0.5, seed=0):
    """A wave whose period changes at even distances."""
    random = np.random.default_rng(seed)
    period = np.repeat(periods, length // len(periods))
    return np.sqrt(2.0) * np.sin(2 * np.pi * np.cumsum(1.0 / period)) + noise * random.standard_normal(len(period))


@pytest.mark.parametrize("periods", [(24, 12), (24, 18), (12, 24)])
def test_a_change_of_period_is_found_near_its_place(periods):
    for seed in range(2):
        found = detect_changes(rhythm(periods, seed=seed), random_state=seed)
        assert len(found.changes) == 1
        assert abs(found.changes[0] - 500) <= 24
        assert found.kinds[0].what == "rhythm"
        assert found.kinds[0].period_before == pytest.approx(periods[0], rel=0.03)
        assert found.kinds[0].period_after == pytest.approx(periods[1], rel=0.03)
        assert found.period is not None


def test_dependence_that_appears_without_more_variance_is_found():
    random = np.random.default_rng(0)
    rows = random.standard_normal(1000)
    for t in range(501, 1000):
        rows[t] = 0.6 * rows[t - 1] + 0.8 * rows[t]
    found = detect_changes(rows, random_state=0)
    assert len(found.changes) == 1
    assert abs(found.changes[0] - 500) < 40


def test_a_column_beside_it_does_not_hide_a_change_of_rhythm():
    rows = np.stack([rhythm((24, 12)), np.random.default_rng(1).standard_normal(1000)], axis=1)
    found = detect_changes(rows, random_state=0)
    assert np.abs(found.changes - 500).min() <= 24


def test_a_steady_rhythm_has_few_false_alarms():
    """At 5 %, three and more of 10 series come once in 80 tables."""
    assert sum(len(detect_changes(rhythm((24,), 600, seed=s), random_state=s).changes) > 0 for s in range(10)) <= 2


def test_units_and_offsets_do_not_matter():
    rows = rhythm((20, 10), 600)[:, None]
    scan = RhythmScan.of(rows, 20.0, 20, 99, 0)
    other = RhythmScan.of(1000.0 * rows + 5.0, 20.0, 20, 99, 0)
    np.testing.assert_allclose(other.contrasts(), scan.contrasts(), rtol=1e-6)


def test_a_series_shorter_than_its_windows_has_no_scan():
    assert RhythmScan.of(rhythm((4,), 40)[:, None], 4.0, 20, 99, 0) is None
    assert RhythmScan.of(np.tile([0.0, 1.0, 2.0], 200)[:, None], 3.0, 20, 99, 0) is None


def test_blocks_are_means_of_their_rows():
    random = np.random.default_rng(3)
    rows = KernelRows(random.random((30, 4)), 2, 5.0)
    blocks = block_features(rows, 5, 3, 4)
    means = np.array([rows.values[i : i + 5].mean(axis=0) for i in range(0, 26, 3)])
    slow = np.square(means[:, None] - means).sum(axis=2)
    np.testing.assert_allclose(np.square(blocks.values[:, None] - blocks.values).sum(axis=2), slow, atol=1e-12)
    assert blocks.middle == 5.0 + 2 * 2
    assert blocks.samples == 6


def test_long_series_are_described_by_whole_periods():
    random = np.random.default_rng(4)
    rows = kernel_rows(random.standard_normal((900_000, 1)), 20.0, 0)
    assert len(rows.values) <= 50_000
    assert rows.samples % 20 == 0


def test_blocks_in_units_of_their_noise_do_not_depend_on_axes():
    random = np.random.default_rng(5)
    blocks = random.standard_normal((2, 200, 3))
    scaled = standardized(blocks * np.array([1.0, 2.0, 0.5]), 2)
    np.testing.assert_allclose(scaled, standardized(blocks, 2), rtol=1e-3, atol=1e-3)
    assert np.abs(scaled).max() < np.sqrt(3.0)  # lengths are bounded


def test_resampled_series_are_made_of_stretches_of_their_own():
    left = np.arange(24.0).reshape(2, 12, 1)
    drawn = _resample(left, 3, 4, np.random.default_rng(0))
    assert drawn.shape == (6, 12, 1)
    stretches = drawn.reshape(6, 3, 4)
    np.testing.assert_array_equal(np.diff(stretches, axis=2), 1.0)
    assert (drawn[:3] < 12).all()
    assert (drawn[3:] >= 12).all()
    assert running_sums(drawn).shape == (6, 13, 1)


def test_two_borders_that_move_to_one_change_are_one():
    scan = RhythmScan.of(rhythm((24, 12), 3000)[:, None], 24.0, 60, 99, 0)
    border = int(np.abs(scan.blocks.samples_at(np.arange(len(scan.sums))) - 1500).argmin())
    both = np.array([border - 1, border + 2])
    places, remaining = scan._places(both, True)
    assert len(places) == len(remaining) == 1
    assert abs(places[0] - 1500) <= 24
    assert len(scan._places(both, False)[0]) == 2


def test_no_change_is_reported_between_changes_of_rhythm_and_of_level():
    """Binary segmentation splits first where the halves differ most, which may be in the middle of a calm stretch."""
    for seed in range(3):
        rows = rhythm((24, 12, 24, 24, 24), 2000, seed=seed)
        rows[1200:1600] += 3.0
        places, _ = RhythmScan.of(rows[:, None], 24.0, 67, 199, seed).segment(0.025, None)
        np.testing.assert_allclose(places, [400, 800, 1200, 1600], atol=24)


def test_a_change_that_both_searches_find_is_reported_once():
    """In one of these series the search for levels puts the change at 800 more than a window away from it."""
    for seed in (0, 2):
        rows = rhythm((24, 12, 24, 24, 24), 2000, seed=seed)
        rows[1200:1600] += 3.0
        assert len(detect_changes(rows, random_state=seed).changes) == 4
