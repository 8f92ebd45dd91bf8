"""Odds of changes: likelihood ratios of tilted laws, sums over all times of the change, weights of families."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import norm

from densdiff.core import change_odds
from densdiff.core.change_odds import FARTHEST, families
from densdiff.core.forgetting_sums import FeatureGroups

GROUPS = FeatureGroups(levels=2, spreads=3, pairs=1, kernels=2)


def families_of(seed=0, n=300, groups=GROUPS, times=1.0, window=50):
    gaps = np.random.default_rng(seed).normal(size=(n, groups.width))
    gaps -= gaps.mean(axis=0)
    return families(groups, gaps, np.full(groups.single, times), window), gaps


@given(window=st.integers(2, 5000))
def test_sizes_go_from_what_a_window_can_see_to_the_largest_in_steps(window):
    for changes in change_odds._RANGES:
        sizes = changes.sizes(window)
        assert len(sizes) >= (1 if changes.group == "pairs" else 2)
        assert sizes[-1] == pytest.approx(changes.largest)
        assert (sizes[1:] > sizes[:-1]).all()
        assert (sizes[1:] / sizes[:-1] <= 2.1 + 1e-9).all()
        assert sizes[0] <= changes.limit + 1e-12
    shifts = change_odds._RANGES[0].sizes(window)
    assert shifts[0] == pytest.approx(min(1.77 / np.sqrt(window), 1.0))


@given(seed=st.integers(0, 99))
def test_likelihood_ratios_have_mean_one_in_the_reference(seed):
    found, gaps = families_of(seed)
    np.testing.assert_allclose(found.hypotheses.ratios(gaps).mean(axis=0), 1.0, rtol=1e-10)


def test_of_a_normal_column_they_are_those_of_a_shift_and_of_another_spread():
    z = ndtri((np.arange(20_000) + 0.5) / 20_000)
    gaps = np.column_stack([z, z**2 - np.mean(z**2), z])
    hypotheses = families(FeatureGroups(1, 1, 0, 1), gaps, np.ones(2), 50).hypotheses
    rows = np.linspace(-3.0, 3.0, 7)
    found = hypotheses.ratios(np.column_stack([rows, rows**2 - 1.0, rows]))
    for feature, slope, ratios in zip(hypotheses.feature, hypotheses.slope, found.T, strict=True):
        if feature == 1 and slope > 0.25:  # tails decide, which quantiles do not have
            continue
        if feature == 0:
            exact = norm.pdf(rows, loc=slope) / norm.pdf(rows)
        else:
            exact = norm.pdf(rows, scale=(1.0 - 2.0 * slope) ** -0.5) / norm.pdf(rows)
        np.testing.assert_allclose(ratios, exact, rtol=0.01)  # of a sum over 20,000 quantiles instead of an integral


@given(seed=st.integers(0, 99), length=st.integers(1, 12), cut=st.integers(0, 12))
def test_odds_are_sums_over_all_times_of_the_change(seed, length, cut):
    families, gaps = families_of(seed)
    hypotheses, rows = families.hypotheses, gaps[:length]
    none, free = np.zeros(len(hypotheses.feature)), np.full(len(hypotheses.feature), np.inf)
    found = hypotheses.odds(none, rows, free)
    steps = rows[:, hypotheses.feature] * hypotheses.slope - hypotheses.cost
    for t in range(length):
        slow = sum(np.exp(steps[first : t + 1].sum(axis=0)) for first in range(t + 1))
        np.testing.assert_allclose(found[t], slow, rtol=1e-10)
    parts = [part for part in np.split(rows, [min(cut, length)]) if len(part)]
    again, odds = [], none
    for part in parts:
        again.append(hypotheses.odds(odds, part, free))
        odds = again[-1][-1]
    np.testing.assert_array_equal(np.concatenate(again), found)


def test_calm_rows_bring_odds_from_their_ceiling_to_the_threshold_in_a_window():
    families, _ = families_of()
    hypotheses = families.weighted(np.zeros(len(families.starts)))
    ceiling = hypotheses.ceiling(7.0, 20)
    far = hypotheses.odds(np.zeros(len(ceiling)), np.full((3000, GROUPS.width), 2.0), ceiling)[-1]
    up = hypotheses.slope > 0
    np.testing.assert_array_equal(far[up], ceiling[up])
    calm = hypotheses.odds(ceiling, np.zeros((20, GROUPS.width)), ceiling)[-1]
    start = np.exp(7.0) / hypotheses.weight
    assert (calm >= start * (1.0 - 1e-9)).all()
    later = sum(np.exp(-k * hypotheses.cost) for k in range(1, 21))  # of changes that began among the calm rows
    np.testing.assert_allclose(calm, start + later, rtol=1e-9)


def test_ceilings_are_numbers_for_the_longest_windows():
    families, _ = families_of(window=5000)
    assert np.isfinite(families.hypotheses.ceiling(30.0, 5000)).all()


def test_weights_balance_what_families_reach_without_change():
    families, _ = families_of()
    heights = np.random.default_rng(1).normal(7.0, 1.0, len(families.starts))
    weighted = families.weighted(heights)
    of_family = np.add.reduceat(weighted.weight, families.starts)
    share = of_family * np.exp(heights)
    np.testing.assert_allclose(share / share.sum(), families.shares, rtol=1e-12)
    level = families.weighted(np.full(len(heights), 7.0))
    assert level.weight.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(weighted.feature, families.hypotheses.feature)


def test_families_that_wander_far_without_change_take_no_part():
    families, _ = families_of()
    heights = np.full(len(families.starts), 7.0)
    heights[0] = FARTHEST + 1.0
    kept = families.weighted(heights)
    first = families.starts[1]
    np.testing.assert_array_equal(kept.slope, families.hypotheses.slope[first:])
    assert kept.weight.sum() == pytest.approx(1.0)
    all_far = np.full(len(families.starts), FARTHEST + 1.0)
    all_far[2] -= 0.5
    nearest = families.weighted(all_far)
    part = slice(families.starts[2], families.starts[3])
    np.testing.assert_array_equal(nearest.slope, families.hypotheses.slope[part])
    assert np.isfinite(nearest.weight).all()


def test_evidence_is_the_logarithm_of_one_and_the_weighted_sum():
    families, gaps = families_of()
    hypotheses = families.hypotheses
    odds = np.random.default_rng(0).exponential(size=(5, len(hypotheses.feature)))
    found = hypotheses.evidence(odds)
    np.testing.assert_allclose(found, np.log(1.0 + (odds * hypotheses.weight).sum(axis=1)), rtol=1e-12)
    single = hypotheses.evidence(odds.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, found, rtol=1e-5)
    ratios = hypotheses.ratios(gaps.astype(np.float32))
    assert ratios.dtype == np.float32
    np.testing.assert_allclose(ratios, hypotheses.ratios(gaps), rtol=1e-4)


def test_features_that_do_not_vary_have_no_hypotheses():
    gaps = np.random.default_rng(0).normal(size=(100, GROUPS.width))
    gaps[:, [1, 2]] = 0.0
    found = families(GROUPS, gaps, np.ones(GROUPS.single), 50)
    assert set(found.hypotheses.feature) == {0, 3, 4, 5}
    assert found.shares.sum() == pytest.approx(1.0)
    sums = np.add.reduceat(found.hypotheses.weight, found.starts)
    np.testing.assert_allclose(sums, 1.0)


def test_rows_that_count_as_one_are_measured_by_their_sums_in_the_long_run():
    plain, gaps = families_of()
    alike, _ = families_of(times=9.0)
    np.testing.assert_allclose(alike.hypotheses.slope, plain.hypotheses.slope / 3.0, rtol=1e-12)
    exponents = gaps[:, alike.hypotheses.feature] * alike.hypotheses.slope
    np.testing.assert_allclose(alike.hypotheses.cost, 9.0 * np.log(np.exp(exponents).mean(axis=0)), rtol=1e-9)


def test_many_rows_tell_costs_in_blocks(monkeypatch):
    whole, _ = families_of(n=100)
    monkeypatch.setattr(change_odds, "_BLOCK", 7)
    np.testing.assert_allclose(families_of(n=100)[0].hypotheses.cost, whole.hypotheses.cost, rtol=1e-12)


def test_of_very_many_rows_some_tell_costs(monkeypatch):
    whole, gaps = families_of(n=3000)
    monkeypatch.setattr(change_odds, "_FEWEST", 1000)
    monkeypatch.setattr(change_odds, "_COUNTED", 0)
    some, _ = families_of(n=3000)
    rows = gaps[np.linspace(0, 2999, 1000).astype(int)]
    exponents = rows[:, some.hypotheses.feature] * some.hypotheses.slope
    np.testing.assert_allclose(some.hypotheses.cost, np.log(np.exp(exponents).mean(axis=0)), rtol=1e-9)
    assert (some.hypotheses.cost != whole.hypotheses.cost).any()
