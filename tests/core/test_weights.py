"""Weights of rows: one broadcast number stands for an array of equal ones, in every sum and every part."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import weights
from densdiff.core.selection import assign_groups

N = 17
RAW = np.random.default_rng(0).random(N) + 0.1
WEIGHTS = {"one number": np.broadcast_to(1 / N, N), "equal": np.full(N, 1 / N), "unequal": RAW / RAW.sum()}
each_kind = pytest.mark.parametrize("omega", WEIGHTS.values(), ids=WEIGHTS)


@each_kind
@given(start=st.integers(0, N), count=st.integers(0, N))
def test_weights_that_were_sent_are_those_of_the_rows(omega, start, count):
    count = min(count, N - start)
    found = weights.weights_at(weights.compact_weights(omega), start, count)
    np.testing.assert_array_equal(found, np.array(omega)[start : start + count])


def test_one_number_is_sent_as_one():
    assert weights.compact_weights(WEIGHTS["one number"]) == 1 / N
    assert weights.compact_weights(WEIGHTS["equal"]) is WEIGHTS["equal"]


@each_kind
def test_sums_are_those_of_loops(omega):
    groups = assign_groups(3, N, 4)
    mass = np.zeros(4)
    for group, weight in zip(groups.all(), omega, strict=True):
        mass[group] += weight
    np.testing.assert_allclose(weights.group_masses(groups, omega), mass, rtol=1e-14)
    assert weights.sum_of_squares(omega) == pytest.approx(sum(weight**2 for weight in omega), rel=1e-14)


@pytest.mark.parametrize("omega", [np.broadcast_to(0.3, 1), np.array([0.3])], ids=["one number", "equal"])
def test_one_row_has_its_own_weight(omega):
    assert weights.weights_at(weights.compact_weights(omega), 0, 1).tolist() == [0.3]
    assert weights.sum_of_squares(omega) == 0.3**2
    assert weights.group_masses(assign_groups(3, 1, 1), omega).tolist() == [0.3]


def test_a_number_that_is_broadcast_is_multiplied_and_not_added_up():
    """So that a model has the same bits after it was pickled, which makes an array of the number."""
    n = 1000
    one_number, array = np.broadcast_to(1 / n, n), np.full(n, 1 / n)
    assert weights.sum_of_squares(one_number) == weights.sum_of_squares(array) == n * (1 / n) ** 2
    groups = assign_groups(3, n, 4)
    assert np.bincount(groups.all(), array).tolist() != [250 * (1 / n)] * 4  # added up, it is rounded
    assert weights.group_masses(groups, one_number).tolist() == [250 * (1 / n)] * 4


def test_squares_of_a_number_that_is_broadcast_need_no_array():
    omega = np.broadcast_to(1e-6, 10**12)  # as an array it would take 8 TB
    assert weights.sum_of_squares(omega) == pytest.approx(1.0, rel=1e-14)
