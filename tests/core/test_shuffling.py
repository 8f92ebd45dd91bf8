"""A random order that is never written down: each row has a place of its own, wherever its block starts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core.shuffling import shuffled_places

AT_POWERS = sorted({max(1, 4**k + step) for k in range(8) for step in (-1, 0, 1)})
sizes = st.sampled_from([1, 2, 3, *AT_POWERS]) | st.integers(1, 5000)
seeds = st.integers(0, 2**63 - 1)


@given(sizes, seeds)
def test_no_two_rows_have_one_place_and_none_is_free(n, seed):
    assert np.sort(shuffled_places(np.arange(n), n, seed)).tolist() == list(range(n))


@pytest.mark.parametrize("n", [1, 2, 3, *AT_POWERS])
def test_each_power_of_four_and_its_neighbours_are_shuffled(n):
    assert np.sort(shuffled_places(np.arange(n), n, 0)).tolist() == list(range(n))


@given(sizes, seeds, st.data())
def test_rows_in_any_blocks_and_order_have_the_places_of_all(n, seed, data):
    whole = shuffled_places(np.arange(n), n, seed)
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=4)))
    blocks = np.split(np.arange(n), cuts)
    np.testing.assert_array_equal(np.concatenate([shuffled_places(block, n, seed) for block in blocks]), whole)
    chosen = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=9)), dtype=np.int32)
    np.testing.assert_array_equal(shuffled_places(chosen, n, seed), whole[chosen])


def test_numbers_of_rows_are_left_as_they_are():
    numbers = np.arange(100, dtype=np.uint64)
    shuffled_places(numbers, 100, 0)
    assert numbers.tolist() == list(range(100))


def test_each_seed_has_an_order_of_its_own():
    orders = {tuple(shuffled_places(np.arange(40), 40, seed).tolist()) for seed in range(200)}
    assert len(orders) == 200


@pytest.mark.parametrize("n", [1000, 4**6, 4**6 + 1, 20_000])
def test_the_place_says_nothing_about_the_number(n):
    """Correlations of independent orders have deviation 1/sqrt(n - 1); of 20 seeds none is beyond 4.5 of them."""
    numbers = np.arange(n)
    for seed in range(20):
        places = shuffled_places(numbers, n, seed)
        for a, b in ((numbers, places), (numbers[:-1], np.abs(np.diff(places))), (places[:-1], places[1:])):
            assert abs(np.corrcoef(a, b)[0, 1]) < 4.5 * np.sqrt(1.0 / (n - 2))


def test_every_row_is_as_often_in_every_place():
    n, runs = 5, 1500
    counts = np.zeros((n, n))
    for seed in range(runs):
        counts[np.arange(n), shuffled_places(np.arange(n), n, seed)] += 1
    share = 1.0 / n
    assert (np.abs(counts / runs - share) < 4.5 * np.sqrt(share * (1 - share) / runs)).all()


def test_rows_of_one_stretch_are_spread_over_all_units():
    """A file that is sorted must not give units that are: each tenth of the rows is in every tenth of the places."""
    n = 100_000
    places = shuffled_places(np.arange(n), n, 3)
    counts = np.histogram2d(np.arange(n), places, bins=10)[0]
    expected = n / 100
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()
