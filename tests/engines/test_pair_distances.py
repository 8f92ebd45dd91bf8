"""Histograms of distances against double loops, for any tiles, groups and threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import radial
from densdiff.engines import pair_distances as engine
from densdiff.solvers.base import FILTER_LAMS


def brute_histograms(rows, omega, groups, bins):
    """One pair at a time."""
    counts = np.zeros((groups[-1] + 1, groups[-1] + 1, bins.count))
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            if i == j:
                continue
            position = min(np.sqrt(np.sqrt(np.square(a - b).sum())) * bins.per_root, bins.count - 1)
            cell = int(position)
            weight = omega[i] * omega[j]
            counts[groups[i], groups[j], cell] += weight * (1 - (position - cell))
            if cell + 1 < bins.count:
                counts[groups[i], groups[j], cell + 1] += weight * (position - cell)
    return counts


def histogram_case(seed, sizes, weighted, ties, d=2):
    random = np.random.default_rng([seed, *sizes])
    rows = random.normal(size=(sum(sizes), d))
    if ties:
        rows = np.round(rows)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    omega = random.random(len(rows)) + 0.1 if weighted else np.repeat(random.random(len(sizes)) + 0.1, sizes)
    return rows, omega, groups


BINS = radial.make_bins(np.array([1.0, 0.5]), 4.0, 30.0)


@given(
    seed=st.integers(0, 1000),
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=6),
    tile=st.integers(1, 200),
    weighted=st.booleans(),
    ties=st.booleans(),
    direct=st.booleans(),
    products=st.integers(1, 400),
)
def test_histograms_equal_a_double_loop_for_any_tiles_and_groups(seed, sizes, tile, weighted, ties, direct, products):
    case = histogram_case(seed, sizes, weighted, ties)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_TILE", tile)
        patch.setattr(engine, "_WIDE", 2)  # one product for several tiles, or for less than one
        patch.setattr(engine, "_PRODUCTS", products)
        found = engine.pair_histograms(*case, BINS, direct=direct)
    expected = brute_histograms(*case, BINS)
    # weights of a node are continuous in the distance; without direct differences a distance of 0 comes out as 1e-8
    node_width = 1e-8**0.5 * BINS.per_root
    atol = 1e-11 if direct else 1.01 * node_width * len(case[0]) ** 2
    np.testing.assert_allclose(found[:, :, :-1], expected[:, :, :-1], rtol=0, atol=atol)
    np.testing.assert_array_equal(found, found.transpose(1, 0, 2))


def test_distances_beyond_the_last_node_never_count():
    rows = np.array([[0.0], [1.0], [1e9], [1e200]])
    bins = radial.make_bins(np.array([1.0]), 1e200, 10.0)
    found = engine.pair_histograms(rows, np.ones(4), np.zeros(4, dtype=int), bins, direct=True)
    assert found[0, 0, :-1].sum() == pytest.approx(2.0)  # the pair at distance 1, twice


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_change_no_bit(monkeypatch, weighted):
    case = histogram_case(1, [30, 41, 9, 50], weighted, ties=False)
    one = engine.pair_histograms(*case, BINS, direct=True)
    monkeypatch.setattr(engine, "_PARALLEL_ROWS", 2)
    np.testing.assert_array_equal(engine.pair_histograms(*case, BINS, direct=True), one)


def test_radial_sums_in_tiles_are_one_product(monkeypatch):
    random = np.random.default_rng(3)
    points, rows, weights = random.normal(size=(23, 3)), random.normal(size=(17, 3)), random.normal(size=(17, 2))
    table = radial.radial_table(3, FILTER_LAMS)
    kernels = radial.plain_and_squared(table, 4)
    blocks = engine.kernel_block(points, rows, kernels, 0.7, direct=True)
    monkeypatch.setattr(engine, "_TILE", 40)
    monkeypatch.setattr(radial, "_INTERPOLATED", 20)
    found = engine.radial_sums(points, rows, weights, kernels, 0.7, direct=True)
    for sums, block in zip(found, blocks, strict=True):
        np.testing.assert_allclose(sums, block @ weights, rtol=1e-12, atol=1e-14)
    statistic = engine.kernel_matrix(points, rows, radial.statistic_kernel(table, 4), 0.7, direct=True)
    np.testing.assert_allclose(statistic, 2 * blocks[0] - blocks[1], rtol=1e-12, atol=1e-14)
