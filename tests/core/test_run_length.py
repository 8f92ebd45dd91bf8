"""Thresholds from simulated streams: rows in blocks and in step with a season, mean runs, long ones continued."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import run_length
from densdiff.core.forgetting_sums import Bank, FeatureGroups, Score, decays
from densdiff.core.run_length import RowDraws, Simulation, mean_run, run_length_threshold

GROUPS = FeatureGroups(levels=2, spreads=2, pairs=1, kernels=3)


def bank_of(features, groups=GROUPS, window=5):
    return Bank(groups, decays(window), features.mean(axis=0), 1.0 / features.var(axis=0))


def simulation(rows=500, window=5, draws=None, seed=0):
    features = np.random.default_rng(seed).normal(size=(rows, GROUPS.width))
    return Simulation(bank_of(features, window=window), features.astype(np.float32), draws or RowDraws(rows), window)


@given(st.integers(2, 2000))
def test_paces_go_from_two_rows_to_almost_two_windows(window):
    found = 1.0 / (1.0 - decays(window))
    assert found[0] == pytest.approx(2.0)
    assert found[-1] == pytest.approx(1.8 * window)
    assert len(found) >= 2
    assert (np.diff(found) > 0).all()


@given(seed=st.integers(0, 99), levels=st.integers(1, 4), spreads=st.integers(0, 3), pairs=st.integers(0, 3))
def test_a_score_is_the_largest_statistic_over_its_height(seed, levels, spreads, pairs):
    random = np.random.default_rng(seed)
    groups = FeatureGroups(levels, spreads, pairs, 2)
    bank = bank_of(random.normal(size=(50, groups.width)), groups)
    sums = random.normal(size=(7, len(bank.decay), groups.width))
    heights = random.uniform(1.0, 2.0, (len(bank.decay), len(groups.slices)))
    slow = (groups.statistics(bank.squares(sums)) / heights).max(axis=(1, 2))
    np.testing.assert_allclose(Score.of(bank, heights)(sums), slow, rtol=1e-12)


def test_sums_forget_at_their_pace():
    features = np.random.default_rng(0).normal(size=(40, GROUPS.width))
    bank = bank_of(features)
    found = bank.sums(np.zeros(bank.units.shape), features)
    for pace, decay in enumerate(bank.decay):
        weights = decay ** np.arange(40)[::-1]
        np.testing.assert_allclose(found[-1, pace], weights @ (features - bank.mean), atol=1e-12)


def test_independent_rows_are_drawn_one_by_one_and_others_in_blocks():
    random = np.random.default_rng(0)
    single = RowDraws(50).draw(20, 100, random)
    assert single.shape == (20, 100)
    assert set(np.unique(single)) == set(range(50))
    blocks = RowDraws(50, block=10).draw(20, 95, random)
    assert blocks.shape == (20, 95)
    assert ((np.diff(blocks, axis=1) == 1).sum(axis=1) >= 95 - 10).all()
    assert blocks.min() >= 0
    assert blocks.max() < 50


def test_rows_of_a_season_keep_nearly_their_phase():
    found = RowDraws(1000, block=5, period=100.0).draw(30, 400, np.random.default_rng(0))
    phase = (found - found[:, :1] - np.arange(400)) % 100
    off = np.minimum(phase, 100 - phase)
    assert off.max() <= 2 * 100 * run_length._LEEWAY + 2
    assert len(np.unique(found)) > 900


def test_the_errors_of_means_have_the_spread_of_a_mean():
    random = np.random.default_rng(0)
    rows = random.normal(size=(2000, 3)).astype(np.float32)
    found = RowDraws(2000).mean_errors(rows, 4000, random)
    np.testing.assert_allclose(found.std(axis=0), rows.std(axis=0) / np.sqrt(2000), rtol=0.15)
    repeated = np.repeat(rows[:200], 10, axis=0)
    found = RowDraws(2000, block=40).mean_errors(repeated, 4000, random)
    np.testing.assert_allclose(found.std(axis=0), rows[:200].std(axis=0) / np.sqrt(200), rtol=0.35)


def test_mean_runs_count_streams_that_were_cut_off():
    scores = np.array([[0.0, 2.0, 1.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]], np.float32)
    highest = np.maximum.accumulate(scores, axis=1)
    assert mean_run(highest, 1.5, window=4) == (5 + 6 + 4) / 2
    assert mean_run(highest, 9.0, window=4) == np.inf


@pytest.mark.parametrize("asked", [20, 60])
def test_a_threshold_gives_the_mean_run_that_was_asked_for(asked):
    study, random = simulation(), np.random.default_rng(1)
    found = run_length_threshold(study, asked, random)
    assert not found.is_extrapolated
    highest = np.maximum.accumulate(study.scores(found.heights, 800, 6 * asked, random), axis=1)
    assert mean_run(highest, found.threshold, 5) == pytest.approx(asked, rel=0.2)


def test_long_run_lengths_are_continued_along_the_logarithm(monkeypatch):
    monkeypatch.setattr(run_length, "MOST_STEPS", 150)
    runs = (60.0, 1e3, 1e6, 1e12)
    found = [run_length_threshold(simulation(), run, np.random.default_rng(0)) for run in runs]
    heights = [one.threshold for one in found]
    assert [one.is_extrapolated for one in found] == [False, True, True, True]
    assert (np.diff(heights) > 0).all()
    slope = (heights[2] - heights[1]) / np.log(1e3)
    assert heights[3] - heights[2] == pytest.approx(slope * np.log(1e6), rel=1e-6)


def test_constant_features_have_a_threshold():
    features = np.ones((100, GROUPS.width))
    bank = Bank(GROUPS, decays(5), features.mean(axis=0), np.zeros(GROUPS.width))
    found = run_length_threshold(
        Simulation(bank, features.astype(np.float32), RowDraws(100), 5), 50, np.random.default_rng(0)
    )
    assert np.isfinite(found.threshold)
    assert (found.heights > 0).all()
