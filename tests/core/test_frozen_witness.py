"""Sets that the reference fixes: shares by plain counting, the same for a big batch as for a small one, intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core.frozen_witness import Shares, column_shares, largest_shift

COUNTS = st.lists(st.integers(0, 40), min_size=1, max_size=40).filter(any)


@given(COUNTS, st.data(), st.booleans(), st.integers(2, 50))
def test_a_batch_of_more_equal_rows_has_the_same_shares(reference, data, is_ordered, times):
    batch = data.draw(st.lists(st.integers(0, 40), min_size=len(reference), max_size=len(reference)).filter(any))
    small, big = (column_shares(reference, np.multiply(factor, batch), is_ordered) for factor in (1, times))
    np.testing.assert_allclose(small.batch, big.batch)
    np.testing.assert_array_equal(small.reference, big.reference)


def test_shares_of_numbers_are_those_of_rows_up_to_a_sixteenth():
    values = np.arange(160)
    moved = np.minimum(values + 40, 159)
    shares = column_shares(np.bincount(values), np.bincount(moved, minlength=160), is_ordered=True)
    np.testing.assert_allclose(shares.reference, np.arange(1, 16) / 16)
    edges = [values[10 * k - 1] for k in range(1, 16)]
    np.testing.assert_allclose(shares.batch, [(moved <= edge).mean() for edge in edges])
    assert largest_shift([shares], 160, 160, 0.95).value == pytest.approx(0.25)


@given(COUNTS, st.booleans())
def test_the_reference_itself_has_not_moved(reference, is_ordered):
    found = largest_shift([column_shares(reference, reference, is_ordered)], sum(reference), sum(reference), 0.95)
    assert found.value == pytest.approx(0.0, abs=1e-12)
    assert found.interval[0] == 0.0


def test_the_lower_end_of_equal_populations_is_seldom_above_zero():
    random, runs, sets = np.random.default_rng(0), 1000, 30
    above = 0
    for _ in range(runs):
        p, q = (random.binomial(size, 0.3, sets) / size for size in (500, 200))
        above += largest_shift([Shares(p, q)], 500, 200, 0.95).interval[0] > 0
    assert above <= 0.05 * runs + 3 * np.sqrt(0.05 * runs)


def test_no_columns_have_not_moved():
    assert largest_shift([], 10, 10, 0.95) == (0.0, (0.0, 1.0))
