"""States: equal segments are joined, different ones kept apart, and labels come in order."""

import dataclasses

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

import densdiff as dd
from densdiff.series import states
from densdiff.series.kinds import ChangeKind
from densdiff.series.states import describe_states, in_order, segment_states


def noise(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def autoregression(seed, n, phi, d=1):
    return lfilter([np.sqrt(1 - phi**2)], [1.0, -phi], noise(seed, n + 200, d), axis=0)[200:]


def labels(rows, changes, differ=True):
    changes = np.array(changes, dtype=np.intp)
    return segment_states(rows, changes, np.full(len(changes), differ)).tolist()


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.8])
def test_a_state_that_comes_back_is_the_same_state(phi):
    """At 95 % fewer than 34 of 40 come once in 300 tables."""
    joined = 0
    for seed in range(40):
        rows = autoregression(seed, 450, phi)
        rows[150:300] += 3.0
        joined += labels(rows, [150, 300]) == [0, 1, 0]
    assert joined >= 34


@pytest.mark.parametrize("kind", ["level", "spread", "rhythm", "correlation", "shape"])
def test_a_third_segment_that_differs_is_a_state_of_its_own(kind):
    apart = 0
    for seed in range(10):
        rows = noise(seed, 1200, 2)
        rows[400:800] += 3.0
        third = rows[800:]
        if kind == "level":
            third += 1.0
        elif kind == "spread":
            third *= 1.7
        elif kind == "rhythm":
            third[:] = autoregression(seed + 100, 400, 0.7, 2)
        elif kind == "correlation":
            third[:, 1] = 0.8 * third[:, 0] + 0.6 * third[:, 1]
        else:
            third[:] = np.random.default_rng(seed).exponential(1.0, (400, 2)) - 1.0
        apart += labels(rows, [400, 800]) == [0, 1, 2]
    assert apart >= 9


def test_walk_rest_walk_rest_is_two_states():
    time = np.arange(2000)
    walk = np.sin(2 * np.pi * time / 40)[:, None] + 0.3 * noise(0, 2000, 1)
    rows = np.where(((time // 500) % 2 == 0)[:, None], walk, 0.05 * noise(1, 2000, 1))
    assert labels(rows, [500, 1000, 1500]) == [0, 1, 0, 1]


def test_neighbours_known_to_differ_are_never_joined():
    rows = noise(0, 600, 1)
    assert labels(rows, [200, 400], differ=False) == [0, 0, 0]
    assert labels(rows, [200, 400]) == [0, 1, 0]
    assert labels(rows, [300]) == [0, 1]
    assert labels(rows, []) == [0]


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    changes=st.sets(st.integers(1, 239), max_size=8),
    d=st.integers(1, 6),
)
def test_labels_number_states_in_order_of_appearance(seed, changes, d):
    found = np.array(labels(noise(seed, 240, d), sorted(changes)))
    assert len(found) == len(changes) + 1
    assert found[0] == 0
    assert (found <= np.append(0, np.maximum.accumulate(found)[:-1] + 1)).all()
    assert (np.diff(found) != 0).all()  # neighbours differ


def test_columns_units_and_direction_of_time_do_not_matter():
    rows = noise(0, 1200, 3)
    rows[300:600, 1] += 2.0
    rows[900:, 2] *= 3.0
    expected = labels(rows, [300, 600, 900])
    assert expected == [0, 1, 0, 2]
    assert labels(rows[:, [2, 0, 1]] * [2.0**400, 1.0, 2.0**-400] + 5.0, [300, 600, 900]) == expected
    assert labels(rows[::-1], [300, 600, 900]) == in_order(np.array(expected[::-1])).tolist()
    assert labels(np.column_stack([rows, np.full(1200, 7.0)]), [300, 600, 900]) == expected


def test_pairs_compared_in_parts_are_the_same_pairs(monkeypatch):
    rows, ends = noise(0, 600, 2), np.arange(0, 601, 60)
    first, second = np.triu_indices(10, 1)
    expected = states._Segments.of(rows, ends).pvalues(first, second)
    monkeypatch.setattr(states, "_ENTRIES", 100)
    np.testing.assert_array_equal(states._Segments.of(rows, ends).pvalues(first, second), expected)


def test_too_many_segments_are_not_compared(monkeypatch):
    monkeypatch.setattr(states, "MOST_SEGMENTS", 3)
    assert labels(noise(0, 400, 1), [100, 200, 300]) == [0, 1, 2, 3]


@pytest.mark.parametrize("rows", [np.zeros((90, 2)), np.repeat([0.0, 1.0, 0.0], 30)[:, None]], ids=["constant", "step"])
def test_segments_without_noise_are_compared_too(rows):
    assert labels(rows, [30, 60]) == [0, 1, 0]


def test_a_difference_without_noise_is_a_difference():
    assert labels(np.repeat([0.0, 1.0, 0.5], 30)[:, None], [30, 60]) == [0, 1, 2]


def test_largest_doubles_are_ordinary_samples():
    rows = np.tile([1.7e308, -1.7e308], 150)[:, None]
    assert labels(rows, [100, 200], differ=False) == [0, 0, 0]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([0], "1 state: no two segments are alike"),
        ([0, 1], "2 states: no two segments are alike"),
        ([0, 1, 0], "2 states: segments 1, 3 alike"),
        ([0, 1, 0, 1, 2], "3 states: segments 1, 3 alike; 2, 4 alike"),
        ([0, 0], "1 state: segments 1, 2 alike"),
        ([0, 1] * 3 + [0] * 4, "2 states: segments 1, 3, 5, 7, 8, 9, 10 alike; 2, 4, 6 alike"),
        ([0, 1] + [0] * 9, "2 states: segments 1, 3, 4, 5, 6, 7, 8, 9 and 2 more alike"),
    ],
)
def test_states_in_words(found, words):
    assert describe_states(np.array(found)) == words


def test_a_sentence_names_eight_states_of_several_segments():
    assert describe_states(np.tile(np.arange(10), 2)).endswith("; 8, 18 alike; 2 more states of several")


# --- in a result


@pytest.fixture(scope="module")
def there_and_back():
    rows = noise(0, 900)
    rows[300:600] += 2.0
    return dd.detect_changes(rows, random_state=0)


def test_a_result_has_an_interval_for_each_change_and_a_state_for_each_segment(there_and_back):
    assert there_and_back.states.tolist() == [0, 1, 0]
    assert there_and_back.level == 0.95
    assert there_and_back.intervals.shape == (2, 2)
    for (first, last), change, truth in zip(there_and_back.intervals, there_and_back.changes, (300, 600), strict=True):
        assert first <= min(change, truth)
        assert max(change, truth) <= last
    text = str(there_and_back)
    first, last = there_and_back.intervals[1]
    assert f"between {first} and {last}" in text
    assert "2 states: segments 1, 3 alike" in text


def test_a_series_without_change_is_one_state_without_intervals():
    for rows in (noise(1, 300), np.ones(50)):
        found = dd.detect_changes(rows, random_state=0)
        assert found.intervals.shape == (0, 2)
        assert found.states.tolist() == [0]
        assert "state" not in str(found)


def test_changes_that_were_asked_for_but_are_not_there_join_their_segments():
    """Neighbours are kept apart by a significant change only."""
    found = dd.detect_changes(noise(0, 300), n_changes=2, random_state=0)
    assert (found.pvalues > found.alpha).all()
    assert found.states.tolist() == [0, 0, 0]


def test_kinds_and_period_are_told_and_plain_json(there_and_back):
    kind = ChangeKind("rhythm", 0.01, {"level": 0.4, "rhythm": 0.01}, 24.0, None, "rhythm from period 24")
    told = dataclasses.replace(there_and_back, kinds=(kind, kind), period=24.0)
    assert str(told).count("rhythm from period 24\n") == 2
    assert "  period      24 samples" in str(told)
    plain = told.to_dict()
    assert plain["kinds"] == [dataclasses.asdict(kind)] * 2
    assert plain["period"] == 24.0
    assert plain["states"] == [0, 1, 0]
    assert plain["intervals"] == there_and_back.intervals.tolist()


def test_stretches_larger_than_memory_give_states_of_the_whole_series(tmp_path):
    rows = noise(0, 2400)
    rows[800:1600] += 3.0
    path = tmp_path / "long.csv"
    np.savetxt(path, rows, header="x", comments="")
    with sklearn.config_context(working_memory=0.001):
        found = dd.detect_changes(str(path), window=30, random_state=0)
    assert any("overlapping stretches" in note for note in found.warnings)
    np.testing.assert_allclose(found.changes, [800, 1600], atol=5)
    assert found.states.tolist() == [0, 1, 0]
    assert ((found.intervals[:, 0] <= found.changes) & (found.changes <= found.intervals[:, 1])).all()
