"""Intervals for the places of changes: they hold the place, are short where it is clear, and wide where it is not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from densdiff.core.discriminant import cross_fitted_log_ratio
from densdiff.core.long_run import long_run_variances
from densdiff.series import places
from densdiff.series.features import own_scaling
from densdiff.series.kinds import ChangeKind
from densdiff.series.places import block_lengths, place_intervals


def noise(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def shifted(seed, n=300, at=140, size=1.5, d=1):
    rows = noise(seed, n, d)
    rows[at:, 0] += size
    return rows


def best_split(column):
    """The place of a shift by least squares, as a detector might report it."""
    t = np.arange(1, len(column))
    sums = np.cumsum(column)[:-1]
    gaps = (column.sum() - sums) / (len(column) - t) - sums / t
    return int(t[np.argmax(gaps**2 * t * (len(column) - t))])


def test_the_truth_is_covered_as_often_as_promised():
    """Of 200 shifts; at 95 % fewer than 181 come once in 400 tables."""
    held = 0
    for seed in range(200):
        rows = shifted(seed, size=1.0)
        first, last = place_intervals(rows, np.array([best_split(rows[:, 0])]))[0]
        held += first <= 140 <= last
    assert held >= 181


def test_dependence_makes_intervals_wider():
    """Noise that is its own neighbours' copy has a quarter of the samples that it seems to have."""
    widths = []
    for repeats in (1, 4):
        lengths = []
        for seed in range(10):
            rows = np.repeat(noise(seed, 400 // repeats, 1), repeats, axis=0)
            rows[200:] += 1.0
            lengths.append(np.diff(place_intervals(rows, np.array([200])))[0, 0])
        widths.append(np.median(lengths))
    assert widths[1] > 1.5 * widths[0]


@pytest.mark.parametrize("size", [0.0, 1e-9, 0.02])
def test_a_clear_step_is_placed_exactly(size):
    rows = np.repeat([0.0, 1.0, 0.0], 80)[:, None] + size * noise(0, 240, 1)
    np.testing.assert_array_equal(place_intervals(rows, np.array([80, 160])), [[80, 80], [160, 160]])


def test_a_place_that_cannot_be_told_gets_a_wide_interval():
    first, last = place_intervals(noise(0, 400, 1), np.array([200]))[0]
    assert last - first > 60


def test_places_of_every_kind_of_change_are_found_within_their_interval():
    rows = noise(0, 1200, 2)
    rows[300:, 0] *= 3
    rows[600:, 1] = 0.95 * rows[600:, 0] / 3 + np.sqrt(1 - 0.95**2) * rows[600:, 1]
    rows[900:, 0] = np.sin(np.arange(300)) * 4
    intervals = place_intervals(rows, np.array([310, 590, 905]))
    for (first, last), truth in zip(intervals, (300, 600, 900), strict=True):
        assert first <= truth <= last
        assert last - first <= 60


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    changes=st.sets(st.integers(1, 119), min_size=1, max_size=6),
    resolution=st.integers(0, 30),
    d=st.integers(1, 7),
)
def test_an_interval_holds_its_change_and_no_other(seed, changes, resolution, d):
    """Whatever is reported, as far as the resolution reaches and no farther than the neighbours."""
    changes = np.array(sorted(changes))
    intervals = place_intervals(noise(seed, 120, d), changes, resolution)
    ends = np.array([0, *changes, 120])
    low, high = ends[:-2] + 1, ends[2:] - 1
    assert (intervals[:, 0] <= np.maximum(changes - resolution, low)).all()
    assert (intervals[:, 1] >= np.minimum(changes + resolution, high)).all()
    assert (intervals[:, 0] >= low).all()
    assert (intervals[:, 1] <= high).all()


def test_each_change_may_have_a_resolution_of_its_own():
    rows = np.repeat([0.0, 1.0, 0.0], 80)[:, None]
    intervals = place_intervals(rows, np.array([80, 160]), np.array([0, 12]))
    np.testing.assert_array_equal(intervals, [[80, 80], [148, 172]])


def test_a_change_of_rhythm_is_known_to_two_periods():
    kinds = [
        ChangeKind("rhythm", 0.01, {}, 24.0, 12.0, ""),
        ChangeKind("level", 0.01, {}, 24.0, 24.0, ""),
        ChangeKind("rhythm", 0.01, {}, None, 15.2, ""),
    ]
    assert block_lengths(kinds, 3).tolist() == [48, 0, 30]
    assert block_lengths((), 2).tolist() == [0, 0]


@pytest.mark.parametrize("factor", [2.0**-700, 2.0**30, 2.0**900])
def test_units_and_offsets_do_not_matter(factor):
    rows = np.round(shifted(0, d=2) * 2.0**20) / 2.0**20
    expected = place_intervals(rows, np.array([143]))
    np.testing.assert_array_equal(place_intervals(factor * rows, np.array([143])), expected)
    np.testing.assert_array_equal(place_intervals(rows + np.array([0.0, 2.0**10]), np.array([143])), expected)


def test_no_change_has_no_interval():
    assert place_intervals(noise(0, 50, 1), np.empty(0, np.intp)).shape == (0, 2)


def test_a_place_far_from_clear_is_looked_for_farther_away(monkeypatch):
    """The first reach of 250 samples ends before the weights do."""
    rows = shifted(0, 40_000, 20_000, 0.1)
    expected = place_intervals(rows, np.array([20_100]))
    monkeypatch.setattr(places, "_REACH", 250)
    found = place_intervals(rows, np.array([20_100]))
    assert np.diff(found)[0, 0] > 400
    assert (np.abs(found - expected) <= 0.5 * np.diff(expected)).all()


def test_weights_of_places_are_those_of_the_slow_sum():
    """Every place by itself: the tempered log ratio of all samples, those from the place on counted as after it."""
    rows, change = shifted(1, 60, 25, 2.0), 27
    features = places._telling_features(places._sample_features(own_scaling(rows, True)[1], 0), change)
    is_after = (np.arange(60) >= change).astype(float)
    ratios = cross_fitted_log_ratio(features, is_after, np.arange(60) // 2 % 5, 1, 1.0)
    tempers = []
    for side in (-ratios[:change], ratios[change:]):
        variance = long_run_variances(side[:, None])[0]
        n_independent = len(side) * side.var(ddof=1) / variance
        tempers.append(np.clip(2 * side.mean() / variance * n_independent / (n_independent + 4), 0.02, 3.0))
    factors = [min(temper, sum(tempers) / 2) for temper in tempers]
    likelihood = [
        sum(ratios[t] * factors[t >= change] * (1 if t >= place else 0) for t in range(60)) for place in range(1, 60)
    ]
    expected = np.exp(likelihood - np.max(likelihood))
    np.testing.assert_allclose(places._weigh(rows, change, 0), expected / expected.sum(), rtol=1e-8, atol=1e-12)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30).filter(lambda weights: sum(weights) > 0.1))
def test_no_shorter_run_of_places_weighs_enough(weights):
    weights = np.array(weights) / sum(weights)
    start, stop = places._shortest(weights)
    assert weights[start : stop + 1].sum() >= 0.97 - 1e-9
    for length in range(1, stop - start + 1):
        sums = np.convolve(weights, np.ones(length), "valid")
        assert sums.max() < 0.97 + 1e-9
