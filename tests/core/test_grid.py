"""Axes that close empty stretches: inside a stretch nothing moves, between two a place is near one of them."""

import numpy as np

from densdiff.core import grid


def test_places_between_stretches_stay_within_half_a_gap_and_beyond_the_ends_none_is_held_back():
    axis = grid.Axis(np.array([0.0, 10.0, 20.0]), np.array([1.0, 11.0, 21.0]), np.array([0.0, 3.0, 6.0]), 2.0)
    values = np.array([-3.0, 0.5, 1.5, 5.0, 9.5, 10.0, 10.5, 15.0, 19.25, 20.5, 25.0])
    places = np.array([-3.0, 0.5, 1.5, 2.0, 2.5, 3.0, 3.5, 5.0, 5.25, 6.5, 11.0])
    np.testing.assert_array_equal(axis.apply(values), places)
    assert axis.length == 7.0
    assert not axis.cut


def test_an_axis_that_is_cut_keeps_its_middle():
    axis = grid.make_axis(0.0, 100.0, 50.0, 10.0, lambda width: np.arange(3.0), lambda: 40.0)
    assert axis.cut
    assert axis.length == 10.0
    np.testing.assert_array_equal(axis.apply(np.array([40.0, 35.0])), [5.0, 0.0])


def test_coarsening_is_spreading_on_the_coarse_nodes_and_reaches_no_further_than_it_must():
    counts = np.random.default_rng(0).random((2, 7))
    found = grid.coarsen(grid.Grid(0.5, (-3,), counts))
    half = len(grid._TWO_SCALE) // 2
    nodes = range(-20, 20)
    fine = {-3 + j: counts[:, j] for j in range(7)}
    plain = {k: sum(w * fine.get(2 * k + j - half, 0.0) for j, w in enumerate(grid._TWO_SCALE)) for k in nodes}
    reached = [k for k in nodes if np.any(plain[k])]
    assert found.start == (reached[0],)
    assert found.counts.shape == (2, len(reached))
    np.testing.assert_allclose(found.counts, np.column_stack([plain[k] for k in reached]), rtol=1e-14)
    assert found.spacing == 1.0
