"""Thresholds from simulated streams: rows in blocks and in step with a season, mean runs, long ones continued."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from densdiff.core import run_length
from densdiff.core.change_odds import families
from densdiff.core.change_score import Score
from densdiff.core.forgetting_sums import Bank, FeatureGroups, decays
from densdiff.core.run_length import RowDraws, Simulation, mean_run, release_level, run_length_threshold

GROUPS = FeatureGroups(levels=2, spreads=2, pairs=1, kernels=3)


def bank_of(features, groups=GROUPS, window=5):
    return Bank(groups, decays(window), 1.0 / features.var(axis=0))


def simulation_of(features, groups=GROUPS, window=5, draws=None):
    gaps = (features - features.mean(axis=0)).astype(np.float32)
    found = families(groups, gaps, np.ones(groups.single), window)
    return Simulation(bank_of(features, groups, window), found, gaps, draws or RowDraws(len(gaps)), window)


def simulation(rows=500):
    return simulation_of(np.random.default_rng(0).normal(size=(rows, GROUPS.width)))


@given(st.integers(2, 2000))
def test_paces_go_from_two_rows_to_almost_two_windows(window):
    found = 1.0 / (1.0 - decays(window))
    assert found[0] == pytest.approx(2.0)
    assert found[-1] == pytest.approx(1.8 * window)
    assert len(found) >= 2
    assert (np.diff(found) > 0).all()


@given(seed=st.integers(0, 99), levels=st.integers(1, 4), spreads=st.integers(0, 3), pairs=st.integers(0, 3))
def test_a_score_is_the_largest_part_over_what_it_seldom_exceeds(seed, levels, spreads, pairs):
    random = np.random.default_rng(seed)
    groups = FeatureGroups(levels, spreads, pairs, 2)
    study = simulation_of(random.normal(size=(50, groups.width)), groups)
    hypotheses = study.families.hypotheses
    summed = {"levels": range(levels)} if levels > 1 else {}
    summed["kernels"] = range(groups.single, groups.width)
    places = [j for features in summed.values() for j in features]
    sums = random.normal(size=(7, len(study.bank.decay), len(places)))
    odds = random.exponential(9.0, size=(7, len(hypotheses.feature)))
    heights = random.uniform(1.0, 2.0, (len(study.bank.decay), len(summed)))
    found = Score(study.bank, hypotheses, 1.5, heights)(sums, odds)
    for row in range(7):
        parts = [np.log(1.0 + sum(odds[row] * hypotheses.weight)) / 1.5]
        for pace, decay in enumerate(study.bank.decay):
            for group, features in enumerate(summed.values()):
                squares = [
                    sums[row, pace, places.index(j)] ** 2 * study.bank.precision[j] * (1.0 - decay**2) for j in features
                ]
                parts.append(sum(squares) / heights[pace, group])
        assert found[row] == pytest.approx(max(parts), rel=1e-12)


def test_sums_forget_at_their_pace():
    features = np.random.default_rng(0).normal(size=(40, GROUPS.width))
    bank, gaps = bank_of(features), features - features.mean(axis=0)
    found = bank.sums(np.zeros(bank.units.shape), gaps)
    for pace, decay in enumerate(bank.decay):
        weights = decay ** np.arange(40)[::-1]
        np.testing.assert_allclose(found[-1, pace], weights @ gaps[:, [0, 1, 5, 6, 7]], atol=1e-12)


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
    found = drawn_means(RowDraws(2000), rows, random)
    np.testing.assert_allclose(found.std(axis=0), rows.std(axis=0) / np.sqrt(2000), rtol=0.15)
    repeated = np.repeat(rows[:200], 10, axis=0)
    found = drawn_means(RowDraws(2000, block=40), repeated, random)
    np.testing.assert_allclose(found.std(axis=0), rows[:200].std(axis=0) / np.sqrt(200), rtol=0.35)


def drawn_means(draws, rows, random):
    """Means of 4000 references drawn anew, by the weights of their parts."""
    return draws.weights(4000, random) @ np.stack([rows[part].mean(axis=0) for part in draws.parts()])


@pytest.mark.parametrize("time", [1.0, 4.0])
def test_references_drawn_anew_have_means_and_costs_of_their_own(time):
    features = np.random.default_rng(0).normal(size=(60, GROUPS.width)) ** 2
    gaps = (features - features.mean(axis=0)).astype(np.float32)
    found = families(GROUPS, gaps, np.full(GROUPS.single, time), 5)
    study = Simulation(bank_of(features), found, gaps, RowDraws(60, block=7), 5)
    hypotheses = found.hypotheses
    errors, costs = study.references(hypotheses, 3, np.random.default_rng(1))
    weights = study.draws.weights(3, np.random.default_rng(1))
    for own_weights, own_errors, own_costs in zip(weights, errors, costs, strict=True):
        of_rows = np.concatenate(
            [
                np.full(part.stop - part.start, weight / (part.stop - part.start))
                for part, weight in zip(study.draws.parts(), own_weights, strict=True)
            ]
        )
        mean = of_rows @ gaps
        np.testing.assert_allclose(own_errors, mean, atol=1e-6)
        tilts = np.exp((gaps - mean)[:, hypotheses.feature] * hypotheses.slope)
        exponents = (gaps - mean)[:, hypotheses.feature] * hypotheses.slope - time * np.log(of_rows @ tilts)
        np.testing.assert_allclose(
            gaps[:, hypotheses.feature] * hypotheses.slope - own_costs, exponents, atol=2e-5
        )  # single precision


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
    highest = np.maximum.accumulate(study.scores(found.score, 800, 6 * asked, random), axis=1)
    assert mean_run(highest, found.threshold, 5) == pytest.approx(asked, rel=0.2)


def begun(scores, threshold, release):
    """Alarms after the first of each stream (streams, steps) that begin, row by row, and the rows in which they may."""
    count = rows = 0
    for stream in scores:
        lasts, before = False, 0
        for score in stream:
            rows += before > 0
            begins = score > threshold and not lasts
            count += begins and before > 0
            before += begins
            lasts = score > (release if lasts else threshold)
    return count, rows


@given(
    scores=arrays(np.float32, (3, 12), elements=st.integers(0, 6).map(lambda k: k / 2)),
    run=st.floats(1.5, 30.0),
    lowest=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_an_alarm_ends_where_alarms_begin_a_run_apart(scores, run, lowest):
    release = release_level(scores, 2.0, run, lowest)
    assert lowest <= release <= 2.0
    count, rows = begun(scores, 2.0, release)
    below = begun(scores, 2.0, release - 0.1)[0]
    wanted = int(rows / run)
    if release == 2.0:  # even if every return counts they are hardly too many, or no lower level has fewer
        assert count <= wanted or below < wanted or not count
    elif release > lowest:
        assert below < wanted <= count  # with ties, the level that has at least as many


def test_alarms_that_last_begin_as_far_apart_as_was_asked_for():
    study, random = simulation(), np.random.default_rng(5)
    found = run_length_threshold(study, 60, random)
    assert 0 < found.release < found.threshold
    count, rows = begun(study.scores(found.score, 40, 1500, random), found.threshold, found.release)
    every, _ = begun(study.scores(found.score, 40, 1500, random), found.threshold, found.threshold)
    assert rows / count == pytest.approx(60, rel=0.25)
    assert rows / every < 45  # without it an excursion is several alarms


def test_long_run_lengths_are_continued_along_the_logarithm(monkeypatch):
    monkeypatch.setattr(run_length, "MOST_STEPS", 150)
    runs = (60.0, 1e3, 1e6, 1e12)
    found = [run_length_threshold(simulation(), run, np.random.default_rng(0)) for run in runs]
    heights = [one.threshold for one in found]
    assert [one.is_extrapolated for one in found] == [False, True, True, True]
    assert (np.diff(heights) > 0).all()
    slope = (heights[2] - heights[1]) / np.log(1e3)
    assert heights[3] - heights[2] == pytest.approx(slope * np.log(1e6), rel=1e-6)


def test_features_that_never_move_have_a_threshold():
    features = np.random.default_rng(0).normal(size=(100, GROUPS.width)) * np.array([1.0, *np.zeros(GROUPS.width - 1)])
    gaps = (features - features.mean(axis=0)).astype(np.float32)
    bank = Bank(GROUPS, decays(5), np.array([1.0, *np.zeros(GROUPS.width - 1)]))
    study = Simulation(bank, families(GROUPS, gaps, np.ones(GROUPS.single), 5), gaps, RowDraws(100), 5)
    found = run_length_threshold(study, 50, np.random.default_rng(0))
    assert np.isfinite(found.threshold)
    assert (found.score.heights > 0).all()
    assert set(found.score.hypotheses.feature) == {0}


def test_evidence_and_sums_of_squares_have_their_shares_of_the_false_alarms():
    study, random = simulation(), np.random.default_rng(3)
    found = run_length_threshold(study, 60, random)
    parts = study.parts(found.score, 800, 360, random)
    runs = [mean_run(np.maximum.accumulate(part, axis=1), found.threshold, 5) for part in parts]
    share = (1.0 / runs[1]) / (1.0 / runs[0] + 1.0 / runs[1])
    assert share == pytest.approx(2 * run_length._SQUARES, rel=0.5)


def test_each_family_is_as_often_far_without_change_as_its_share_says():
    study, random = simulation(), np.random.default_rng(4)
    score = study.pilot(300, random)
    weights = [score.hypotheses.weight[start] for start in study.families.starts]
    counts = np.diff(np.append(study.families.starts, len(score.hypotheses.feature)))
    highest = np.zeros((400, len(counts)), np.float32)
    for _, odds in study._streams(study.families.hypotheses, 400, 300, random):
        np.maximum(highest, study.families.means(odds), out=highest)
    usual = np.exp(np.log(highest).mean(axis=0, dtype=float))
    share = np.array(weights) * counts * usual
    np.testing.assert_allclose(share / share.sum(), study.families.shares, rtol=0.5)
