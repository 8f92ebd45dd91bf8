"""Scores of found changes agree with slow and obvious twins, and keep what their definitions promise."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from densdiff.errors import InputError
from densdiff.metrics import (
    ChangeMatch,
    annotated_covering,
    annotated_f1,
    change_f1,
    covering,
    detection_delay,
    match_changes,
)

LENGTH = 30


def lists(most=6, first=0):
    """Strictly increasing changes below LENGTH, as a user would give them."""
    return st.lists(st.integers(first, LENGTH - 1), max_size=most, unique=True).map(sorted)


def most_pairs(true, found, margin):
    """Largest pairing by trying, for each true change, every found one and none at all."""
    if not true:
        return 0
    best = most_pairs(true[1:], found, margin)
    for partner in found:
        if abs(partner - true[0]) <= margin:
            rest = [other for other in found if other != partner]
            best = max(best, 1 + most_pairs(true[1:], rest, margin))
    return best


def segments(changes, n):
    """The samples of each segment, as sets."""
    cuts = sorted({0, n, *changes})
    return [set(range(a, b)) for a, b in itertools.pairwise(cuts)]


def slow_covering(true, found, n):
    best = [max(len(a & b) / len(a | b) for b in segments(found, n)) for a in segments(true, n)]
    return sum(len(a) * overlap for a, overlap in zip(segments(true, n), best, strict=True)) / n


def slow_delay(true, found):
    """Walks through the samples one by one, as a detector would."""
    delays, since = [], None
    for t in range(1, LENGTH):
        since = t if t in true else since
        if since is not None and t in found:
            delays.append(t - since)
            since = None
    return np.mean(delays) if delays else math.nan


def slow_annotated_f1(annotations, found, margin):
    marks = [sorted({0, *marked}) for marked in annotations]
    guess = sorted({0, *found})
    precision = most_pairs(sorted(set().union(*marks)), guess, margin) / len(guess)
    recall = np.mean([most_pairs(marked, guess, margin) / len(marked) for marked in marks])
    return 2 / (1 / precision + 1 / recall)


@settings(max_examples=100)
@given(true=lists(), found=lists(), margin=st.integers(0, 12))
def test_as_many_pairs_as_any_pairing_has(true, found, margin):
    inner, guess = [t for t in true if t], [t for t in found if t]
    pairs = most_pairs(inner, guess, margin)
    match = match_changes(true, found, margin)
    assert match == ChangeMatch(matched=pairs, missed=len(inner) - pairs, false_alarms=len(guess) - pairs)


@settings(max_examples=100)
@given(true=lists(), found=lists(), margin=st.integers(0, 12))
def test_f1_is_the_harmonic_mean_and_does_not_know_which_side_is_true(true, found, margin):
    match = match_changes(true, found, margin)
    value = change_f1(true, found, margin)
    assert value == change_f1(found, true, margin) == match.f1
    both = match.precision + match.recall
    expected = 2 * match.precision * match.recall / both if both else 0.0
    assert value == pytest.approx(expected, abs=1e-15)


@given(true=lists(), found=lists(), margin=st.integers(0, 12))
def test_a_wider_margin_never_lowers_f1_and_a_fraction_of_a_sample_changes_nothing(true, found, margin):
    value = change_f1(true, found, margin)
    assert value <= change_f1(true, found, margin + 1)
    assert value == change_f1(true, found, margin + 0.9)


def test_one_found_change_counts_for_one_true_change_only():
    assert match_changes([10, 14], [12], 5) == ChangeMatch(matched=1, missed=1, false_alarms=0)
    assert match_changes([12], [10, 14], 5) == ChangeMatch(matched=1, missed=0, false_alarms=1)


def test_pairing_with_the_nearest_would_miss_a_pair():
    # 10 is nearest to 11; only if it takes 6 instead does 15 get a partner.
    assert match_changes([10, 15], [6, 11], 4).matched == 2


def test_index_zero_is_no_change():
    assert change_f1([0, 50], [50], 5) == change_f1([50], [0, 50], 5) == 1.0
    assert change_f1([3], [0], 5) == 0.0


def test_nothing_to_find_and_nothing_found_is_perfect():
    assert change_f1([], [], 5) == covering([], [], 100) == annotated_f1([[]], []) == 1.0
    nothing_found, nothing_there = match_changes([5], [], 1), match_changes([], [5], 1)
    assert (nothing_found.precision, nothing_found.recall, nothing_found.f1) == (1.0, 0.0, 0.0)
    assert (nothing_there.precision, nothing_there.recall, nothing_there.f1) == (0.0, 1.0, 0.0)


@settings(max_examples=100)
@given(true=lists(12), found=lists(12))
def test_covering_agrees_with_sets_of_samples(true, found):
    assert covering(true, found, LENGTH) == pytest.approx(slow_covering(true, found, LENGTH), rel=1e-14)


@given(true=lists(12, first=1), found=lists(12, first=1))
def test_covering_is_one_exactly_when_the_changes_agree(true, found):
    assert covering(true, true, LENGTH) == 1.0
    assert (covering(true, found, LENGTH) > 1 - 0.5 / LENGTH**2) == (true == found)


@given(true=lists(12), found=lists(12), factor=st.integers(2, 1000))
def test_covering_does_not_depend_on_the_sampling_rate(true, found, factor):
    fine = covering(np.array(true, int) * factor, np.array(found, int) * factor, LENGTH * factor)
    assert fine == pytest.approx(covering(true, found, LENGTH), rel=1e-14)


def test_covering_without_changes_is_the_weighted_share_of_each_segment():
    assert covering([20], [], 100) == pytest.approx(0.2 * 0.2 + 0.8 * 0.8, rel=1e-15)
    assert covering([], [20], 100) == pytest.approx(0.8, rel=1e-15)


@settings(max_examples=100)
@given(true=lists(), found=lists(12))
def test_delay_agrees_with_a_walk_through_the_samples(true, found):
    expected = slow_delay([t for t in true if t], found)
    np.testing.assert_allclose(detection_delay(true, found), expected, rtol=1e-14)


def test_changes_never_detected_do_not_enter_the_delay():
    assert detection_delay([100, 200, 300], [104, 302]) == 3.0
    assert math.isnan(detection_delay([100, 200], [99]))
    assert math.isnan(detection_delay([], [5]))
    assert detection_delay([100], [100]) == 0.0


@settings(max_examples=60)
@given(marks=st.lists(lists(4), min_size=1, max_size=4), found=lists(5), margin=st.integers(0, 8))
def test_scores_against_annotators_agree_with_their_definitions(marks, found, margin):
    mean = np.mean([slow_covering(marked, found, LENGTH) for marked in marks])
    assert annotated_covering(marks, found, LENGTH) == pytest.approx(mean, rel=1e-14)
    assert annotated_f1(marks, found, margin) == pytest.approx(slow_annotated_f1(marks, found, margin), rel=1e-14)


@given(marks=lists(), found=lists())
def test_one_annotator_and_the_truth_give_the_same_covering(marks, found):
    assert annotated_covering([marks], found, LENGTH) == covering(marks, found, LENGTH)


def test_annotators_may_be_named():
    named = {"6": [30, 60], "7": []}
    assert annotated_f1(named, [31]) == annotated_f1([[30, 60], []], [31])
    assert annotated_covering(named, [31], 90) == annotated_covering([[30, 60], []], [31], 90)


def test_no_change_at_all_scores_what_the_benchmark_published():
    # centralia of the Turing series: 15 samples, five annotators; the benchmark publishes these two scores of "zero".
    marks = [[3, 12], [], [12], [4, 8, 12], []]
    assert annotated_f1(marks, []) == pytest.approx(0.762887, abs=5e-7)
    assert annotated_covering(marks, [], 15) == pytest.approx(0.674667, abs=5e-7)


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.int64])
def test_any_integer_array_will_do(kind):
    assert match_changes(np.array([250, 3], kind)[::-1], (5, 249), 2).matched == 2


REFUSED = {
    "a float": ([1.0, 2.5], r"float64 .*1\.0.*round"),
    "booleans": ([True, False], "bool"),
    "text": (["3"], "<U1"),
    "a number": (7, r"got 7: pass a flat list"),
    "a table": ([[1, 2], [3, 4]], r"shape \(2, 2\)"),
    "uneven lists": ([[1, 2], [3]], "different lengths"),
    "negative": ([-3, 4], "-3 at position 0"),
    "unsorted": ([4, 9, 7], r"7 after 9 at position 2.*numpy\.unique"),
    "twice": ([4, 4], r"4 after 4 at position 1.*numpy\.unique"),
}


@pytest.mark.parametrize(("values", "words"), REFUSED.values(), ids=REFUSED)
def test_lists_that_are_no_changes_are_named_and_refused(values, words):
    for call in (
        lambda: change_f1(values, [1], 5),
        lambda: covering(values, [1], 100),
        lambda: detection_delay(values, [1]),
    ):
        with pytest.raises(InputError, match=rf"^true must.*{words}"):
            call()
    with pytest.raises(InputError, match=rf"^found must.*{words}"):
        change_f1([1], values, 5)
    with pytest.raises(InputError, match=rf"^annotations\['b'\] must.*{words}"):
        annotated_f1({"a": [1], "b": values}, [1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: covering([5], [10], 10), "found must lie below n = 10.*got 10: drop it if it marks the end"),
        (lambda: covering([50], [5], 10), "true must lie below n = 10.*got 50"),
        (lambda: annotated_covering([[5], [12]], [5], 10), r"annotations\[1\] must lie below n = 10"),
        (lambda: covering([], [], 0), "n must be .*at least 1; got 0"),
        (lambda: covering([], [], 10.0), r"n must be a whole number.*10\.0"),
        (lambda: change_f1([], [], -1), "margin must .*at least 0; got -1"),
        (lambda: change_f1([], [], math.nan), "margin must .*nan"),
        (lambda: change_f1([], [], math.inf), "margin must .*inf"),
        (lambda: change_f1([], [], "5"), "margin must .*'5'"),
        (lambda: annotated_f1([], [3]), "annotations must hold one list.*got none"),
        (lambda: annotated_f1({}, [3]), "annotations must hold one list.*got none"),
        (lambda: annotated_f1([3, 5], [3]), r"annotations\[0\] must be a 1-D list.*got 3"),
        (lambda: annotated_f1(3, [3]), "annotations must hold one list.*type int"),
    ],
)
def test_impossible_arguments_are_named_and_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()
