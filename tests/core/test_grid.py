"""Grids: axes that close empty stretches, rows spread on nodes with their mass and mean, coarser from finer ones."""

import numpy as np
import pytest

from densdiff.core import grid as grids
from tests.grids import finest_grid


def test_places_between_stretches_stay_within_half_a_gap_and_beyond_the_ends_none_is_held_back():
    axis = grids.Axis(np.array([0.0, 10.0, 20.0]), np.array([1.0, 11.0, 21.0]), np.array([0.0, 3.0, 6.0]), 2.0)
    values = np.array([-3.0, 0.5, 1.5, 5.0, 9.5, 10.0, 10.5, 15.0, 19.25, 20.5, 25.0])
    places = np.array([-3.0, 0.5, 1.5, 2.0, 2.5, 3.0, 3.5, 5.0, 5.25, 6.5, 11.0])
    np.testing.assert_array_equal(axis.apply(values), places)
    assert axis.length == 7.0
    assert not axis.cut
    near = np.abs(values - 5.0) > 0.1  # 5 is between two stretches: any value there goes to the same place
    np.testing.assert_array_equal(axis.values_at(places[near & (values != 15.0)]), values[near & (values != 15.0)])


def test_an_axis_that_is_cut_keeps_its_middle():
    axis = grids.make_axis(0.0, 100.0, 50.0, 10.0, lambda width: np.arange(3.0), lambda: 40.0)
    assert axis.cut
    assert axis.length == 10.0
    np.testing.assert_array_equal(axis.apply(np.array([40.0, 35.0])), [5.0, 0.0])


def test_coarsening_is_spreading_on_the_coarse_nodes_and_reaches_no_further_than_it_must():
    counts = np.random.default_rng(0).random((2, 7))
    found = grids.coarsen(grids.Grid(0.5, (-3,), counts))
    half = len(grids._TWO_SCALE) // 2
    nodes = range(-20, 20)
    fine = {-3 + j: counts[:, j] for j in range(7)}
    plain = {k: sum(w * fine.get(2 * k + j - half, 0.0) for j, w in enumerate(grids._TWO_SCALE)) for k in nodes}
    reached = [k for k in nodes if np.any(plain[k])]
    assert found.start == (reached[0],)
    assert found.counts.shape == (2, len(reached))
    np.testing.assert_allclose(found.counts, np.column_stack([plain[k] for k in reached]), rtol=1e-14)
    assert found.spacing == 1.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_spreading_conserves_the_mass_of_every_group(monkeypatch, d, together, weighted):
    monkeypatch.setattr(grids, "_CACHED_NODES", 1 << 30 if together else 0)
    _, omega, labels, _, grid = finest_grid(d, weighted=weighted)
    totals = grid.counts.reshape(3, -1).sum(axis=1)
    np.testing.assert_allclose(totals, np.bincount(labels, omega), rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_spreading_keeps_first_moments(d):
    rows, omega, labels, axes, grid = finest_grid(d)
    places = grids.places_of(rows.T, axes)
    for a in range(d):
        line = grid.spacing * (grid.start[a] + np.arange(grid.counts.shape[a + 1]))
        others = tuple(b + 1 for b in range(d) if b != a)
        found = grid.counts.sum(axis=others) @ line
        np.testing.assert_allclose(found, np.bincount(labels, omega * places[:, a]), rtol=1e-11)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_coarsening_equals_spreading_on_the_coarse_grid(d):
    rows, omega, labels, axes, fine = finest_grid(d)
    coarse = grids.coarsen(fine)
    direct = grids.finest_grid(grids.spread(rows, omega, labels, 3, axes, 2 * fine.spacing)[0], 2 * fine.spacing)
    assert coarse.spacing == direct.spacing
    nodes = {}
    for name, grid in (("coarse", coarse), ("direct", direct)):
        nodes[name] = {
            (g, *(np.array(index) + grid.start)): grid.counts[g][index]
            for g in range(3)
            for index in np.ndindex(grid.counts.shape[1:])
        }
    for key in nodes["coarse"] | nodes["direct"]:
        assert nodes["coarse"].get(key, 0.0) == pytest.approx(nodes["direct"].get(key, 0.0), abs=1e-12)


@pytest.mark.parametrize(("empty", "stretches"), [(16, 1), (17, 2)])
def test_an_empty_stretch_is_shortened_if_it_is_longer_than_the_gap(empty, stretches):
    """Cells are a sixteenth of the gap: sixteen empty ones are as long as it."""
    axis = grids.make_axis(0.0, 10.0, 1.0, np.inf, lambda width: np.array([0, empty + 1, 159]), lambda: 5.0)
    assert len(axis.starts) == 1 + stretches  # the last one is far from both


def test_an_axis_of_the_length_that_is_allowed_is_not_cut():
    axis = grids.make_axis(0.0, 4.0, 1.0, 4.0, None, lambda: 3.0)
    assert (axis.offset, axis.limit, axis.length) == (0.0, np.inf, 4.0)
    assert not axis.cut
