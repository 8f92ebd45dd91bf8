"""Cells of a column: every value lies in its cell, and small cells are put together by the rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from densdiff.core.dyadic_cells import CORE, SIZE, DyadicCells, merge_small

MIDDLE = SIZE // 2
HALF_A_CELL = 2.0 ** (0.5 / 16)  # beyond the core, of the distance from the center
RANDOM = np.random.default_rng(0)
COLUMNS = {
    "normal": RANDOM.normal(size=500),
    "offset": 1e8 + RANDOM.normal(size=500),
    "far values": np.append(RANDOM.normal(size=500), [1e6, -1e9, 999.0]),
    "huge": RANDOM.normal(size=500) * 1e300,
    "one huge": np.append(RANDOM.normal(size=500), [1e300, -1e300]),
    "tiny": RANDOM.normal(size=500) * 1e-200,
    "smallest": np.array([0.0, 5e-324, 1e-323]),
    "log-normal": RANDOM.lognormal(0.0, 2.0, 500),
    "whole": RANDOM.integers(-40, 90, 500).astype(float),
    "halves": RANDOM.integers(-9, 9, 500) / 2,
    "constant": np.full(9, 7.25),
    "constant tenth": np.full(9, 0.1),
    "zero": np.zeros(9),
}


def assert_within(cells: DyadicCells, values: np.ndarray) -> None:
    index = cells.index(values)
    assert index.min() >= 0
    assert index.max() < SIZE
    middles, is_core = cells.middles(index), np.abs(index - MIDDLE) <= CORE
    rounding = 4 * np.finfo(float).eps * np.maximum(np.abs(values), abs(cells.center))
    assert (np.abs(values - middles) <= 0.5 * cells.width + rounding)[is_core].all()
    away, of_middle = (np.abs(each - cells.center)[~is_core] for each in (values, middles))
    slack = 1.0 + 1.0 / CORE  # whole cells are counted, so an end may be half a cell off
    assert (away <= of_middle * HALF_A_CELL * slack).all()
    assert (away >= of_middle / HALF_A_CELL / slack).all()


@pytest.mark.parametrize("name", COLUMNS)
def test_every_value_lies_in_its_cell(name):
    values = COLUMNS[name]
    cells = DyadicCells.of(values)
    assert cells.width > 0
    assert np.log2(cells.width) % 1 == 0
    assert cells.center % cells.width == 0
    if name != "one huge":  # 1e300 deviations are beyond the last cell
        assert_within(cells, values)


@given(
    arrays.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e12, 1e12)),
    arrays.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e15, 1e15)),
)
def test_cells_are_in_the_order_of_values_and_hold_them(first, later):
    cells = DyadicCells.of(first)
    later = np.sort(later)
    index = cells.index(later)
    assert (np.diff(index) >= 0).all()
    inside = np.abs((later - cells.center) / cells.width) < CORE * 2.0**63
    assert_within(cells, later[inside]) if inside.any() else None


def test_about_128_cells_are_in_a_deviation():
    cells = DyadicCells.of(np.random.default_rng(1).normal(5.0, 3.0, 4000))
    assert 128 <= 3.0 / cells.width <= 256 * 1.1
    assert not cells.is_discrete


@pytest.mark.parametrize(("name", "step"), [("whole", 1.0), ("halves", 0.5), ("constant", 0.25)])
def test_values_on_a_grid_are_the_middles_of_their_cells(name, step):
    cells = DyadicCells.of(COLUMNS[name])
    assert cells.is_discrete
    assert step % cells.width == 0
    values = COLUMNS[name][np.abs(COLUMNS[name] - cells.center) <= CORE * cells.width]
    np.testing.assert_array_equal(cells.middles(cells.index(values)), values)


@pytest.mark.parametrize("name", ["normal", "offset", "far values", "log-normal"])
def test_values_at_random_stay_in_their_cells(name):
    cells = DyadicCells.of(COLUMNS[name])
    index = np.repeat(np.unique(cells.index(COLUMNS[name])), 20)
    again = cells.index(cells.spread(index, np.random.default_rng(0)))
    assert np.abs(again - index).max() <= 1  # whole cells are counted beyond the core
    assert (again == index)[np.abs(index - MIDDLE) <= CORE].mean() > 0.99


counts_of_cells = arrays.arrays(np.int64, st.integers(1, 60), elements=st.integers(0, 7) | st.just(0))


@given(counts_of_cells, st.integers(1, 9))
def test_small_cells_are_put_together_until_all_are_large(counts, least):
    target = merge_small(counts, least)
    merged = np.bincount(target, counts, minlength=len(counts)).astype(int)
    assert merged.sum() == counts.sum()
    held = merged[merged > 0]
    assert len(held) == 1 or (held >= least).all()
    assert (target[target] == target).all()  # what stands for others stands for itself
    assert (np.diff(target) >= 0).all()  # neighbours only


@given(counts_of_cells, st.integers(1, 9))
def test_which_empty_cells_join_tells_no_small_cell(counts, least):
    """Cells are put together in whole ranges, so that a lone row shows only as an end, which is rounded outwards."""
    target = merge_small(counts, least)
    alone = target == np.arange(len(counts))
    alone[target[~alone]] = False
    occupied = np.flatnonzero(counts)
    for group in np.unique(target[~alone]):
        members = np.flatnonzero(target == group)
        assert (np.diff(members) == 1).all()
    if len(occupied):
        ends = np.flatnonzero(~alone)
        for end in ends[[0, -1]] if len(ends) else ():
            outside = end < occupied[0] or end > occupied[-1]
            assert not outside or abs(end - occupied).min() < 4


def test_empty_cells_beyond_the_rows_stay_as_they_are():
    counts = np.zeros(SIZE, dtype=np.int64)
    counts[MIDDLE - 3 : MIDDLE + 4] = [1, 9, 20, 40, 20, 9, 1]
    target = merge_small(counts, 5)
    far = np.r_[: MIDDLE - 40, MIDDLE + 40 : SIZE]
    np.testing.assert_array_equal(target[far], far)
    assert (target[MIDDLE - 3], target[MIDDLE + 3]) == (MIDDLE - 2, MIDDLE + 2)
    assert (merge_small(np.zeros(SIZE, dtype=np.int64), 5) == np.arange(SIZE)).all()
