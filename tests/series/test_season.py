"""Seasons and slow waves are told from changes."""

import numpy as np
import pytest

from densdiff import detect_changes
from densdiff.series import season
from densdiff.series.season import find_slow_wave, phase_means, remove_seasons


def counts(seed, length, gain=1.0, is_weekly=True):
    random = np.random.default_rng(seed)
    hour = np.arange(length)
    rate = 20 * (1 + 0.6 * np.sin(2 * np.pi * hour / 24)) * np.where(is_weekly & (hour // 24 % 7 >= 5), 0.6, 1.0)
    return random.poisson(np.where(hour >= length // 2, gain, 1.0) * rate).astype(float)


def test_phase_means_are_the_means_of_each_phase():
    rows = np.random.default_rng(0).standard_normal((40, 2))
    centred = rows - rows.mean(axis=0)
    slow = np.array([centred[t % 7 :: 7].mean(axis=0) for t in range(40)])
    np.testing.assert_allclose(phase_means(rows, 7.0), slow, atol=1e-12)


def test_day_and_week_are_taken_off_together():
    season = remove_seasons(counts(0, 1000)[:, None], 33)
    assert season.periods == pytest.approx((24, 168), rel=0.01)


def test_a_season_that_a_window_holds_three_times_stays():
    rows = counts(0, 1000, is_weekly=False)[:, None]
    assert remove_seasons(rows, 75).rows is rows
    assert remove_seasons(rows, 60).periods == pytest.approx((24,), rel=0.01)


def test_a_change_under_a_season_is_found():
    for seed in range(3):
        found = detect_changes(counts(seed, 1000, 1.5), random_state=seed)
        assert np.abs(found.changes - 500).min() <= 24


def test_a_week_without_change_is_no_change():
    assert sum(len(detect_changes(counts(s, 1000), random_state=s).changes) > 0 for s in range(4)) <= 1


def test_a_season_seen_less_than_three_times_is_a_note_and_no_changes():
    random = np.random.default_rng(0)
    rows = random.poisson(50 * (1 + 0.5 * np.sin(2 * np.pi * np.arange(1000) / 365)))
    found = detect_changes(rows, random_state=0)
    assert found.changes.tolist() == []
    assert "follows a slow wave, seen 2.8 times" in found.warnings[-1]


@pytest.mark.parametrize("seed", range(4))
def test_a_season_and_a_half_is_a_note_and_no_changes(seed):
    """Eight steps follow a wave closely, but need three times as many numbers."""
    random = np.random.default_rng([seed, 5])
    rows = 2.0 * np.sin(2 * np.pi * (np.arange(600) / 400 + random.random())) + random.standard_normal(600)
    found = detect_changes(rows, random_state=seed)
    assert found.changes.tolist() == []
    assert "follows a slow wave, seen 1.5 times" in found.warnings[-1]


def test_a_wave_beside_a_step_is_found_without_the_step():
    time = np.linspace(0, 1, 200)
    wave, step = np.sin(2 * np.pi * 3 * time), 2.0 * (np.arange(200) >= 110)
    level = (wave + step + 0.1 * np.random.default_rng(0).standard_normal(200))[:, None]
    borders = np.array([20, 50, 85, 110, 150, 180])
    found = find_slow_wave(level, borders)
    assert found.cycles == pytest.approx(3.0, abs=0.07)
    left = level[:, 0] - found.values[:, 0]
    assert left[110:].mean() - left[:110].mean() == pytest.approx(2.0, abs=0.15)
    assert np.std(np.r_[left[:110] - left[:110].mean(), left[110:] - left[110:].mean()]) < 0.15


def test_the_best_wave_beside_a_step_is_that_of_least_squares():
    """The slow way: every wave with every step, all coefficients at once."""
    random = np.random.default_rng(2)
    centred = random.standard_normal((60, 2)).cumsum(axis=0)
    centred -= centred.mean(axis=0)
    steps = (np.arange(60)[:, None] >= [15, 33, 50]).astype(float)
    found = season._by_wave(centred, steps)
    for j in range(2):
        best = -np.inf
        for count in season._WAVES:
            for step in steps.T:
                design = np.column_stack([season._wave_basis(60, count), step])
                fit = design @ np.linalg.lstsq(design, centred[:, j], rcond=None)[0]
                best = max(best, float(np.square(centred[:, j]).sum() - np.square(centred[:, j] - fit).sum()))
        assert found.explained[j] == pytest.approx(best, rel=1e-9)


def test_a_level_that_rises_within_a_year_is_found_beside_the_year():
    random = np.random.default_rng([2, 6])
    day = np.arange(1095) + random.integers(365)
    rate = 100 * (1 + 0.3 * np.sin(2 * np.pi * day / 365)) * np.where(day % 7 >= 5, 0.6, 1.0)
    found = detect_changes(random.poisson(rate + 30 * (np.arange(1095) >= 600)), random_state=2)
    assert np.abs(found.changes - 600).min() <= 7
    assert len(found.changes) <= 3
    assert any("follows a slow wave, seen 3.0 times" in note for note in found.warnings)


def test_steps_are_no_wave():
    level = np.repeat([0.0, 1.0, 0.0, 1.0], 25)[:, None] + 0.1 * np.random.default_rng(1).standard_normal((100, 1))
    assert find_slow_wave(level, np.array([25, 50, 75])) is None
    wave = np.sin(np.linspace(0, 4 * np.pi, 100))[:, None]
    found = find_slow_wave(wave, np.array([25, 50, 75]))
    assert found.cycles == pytest.approx(2.0, abs=0.13)
    assert found.columns.tolist() == [0]


@pytest.mark.parametrize(("length", "period"), [(400, 20.0), (400, 7.0), (500, 33.3)])
def test_a_rhythm_without_any_noise_does_not_change(length, period):
    """What is left of it is rounding, and of blocks hardly more."""
    wave = np.sin(2 * np.pi * np.arange(length) / period)
    assert len(detect_changes(wave, random_state=0).changes) == 0
