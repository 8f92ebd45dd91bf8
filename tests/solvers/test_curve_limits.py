"""f averaged over models where widths, rows or their order are extreme."""

import numpy as np
import pytest

from densdiff.solvers import curve as curves
from densdiff.solvers import drawn_rows
from tests.curves import prepared, rows_in_widths


def normal(seed, n, d=1):
    return np.random.default_rng([seed, n, d]).normal(size=(n, d))


def f_at(points, x, y):
    data = prepared(x, y)
    return curves.find_curve(data).at(data.scaling.apply(points))


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize(
    "gap",
    [
        30.0,
        1e5,
        1e9,
    ],
)
def test_two_modes_far_apart_have_the_f_of_each(gap, d):
    """Modes with shares of .3 and .7 in X and the other way round in Y: f is .4 of a density at each."""
    x, y = normal(1, 400, d), normal(2, 300, d)
    x[:120, 0] += gap
    y[:210, 0] += gap
    middles = np.zeros((2, d))
    middles[1, 0] = gap
    true = 0.4 / (2 * np.pi) ** (d / 2)
    np.testing.assert_allclose(f_at(middles, x, y), [true, -true], rtol=0.5)


@pytest.mark.parametrize("d", [5, 8])
def test_swapping_samples_of_more_rows_flips_the_sign(d):
    x, y = normal(1, 151, d), normal(2, 150, d) + 0.5
    points = normal(3, 20, d)
    f = f_at(points, x, y)
    np.testing.assert_allclose(f_at(points, y, x), -f, rtol=0, atol=1e-9 * np.abs(f).max())


def test_blocks_of_sorted_rows_stand_for_all_rows(monkeypatch):
    monkeypatch.setattr(drawn_rows, "BLOCK_ROWS", 200)
    rows = rows_in_widths(prepared(np.sort(normal(1, 1000), axis=0), np.sort(normal(2, 900), axis=0)))
    blocks = rows.blocks()
    assert len(blocks) > 2
    for block in blocks:  # means of 400 rows with a deviation of about 1
        assert abs(block.numbers.mean() - rows.numbers.mean()) < 5 / np.sqrt(400)


def test_sorting_many_rows_hardly_changes_f(monkeypatch):
    monkeypatch.setattr(drawn_rows, "BLOCK_ROWS", 400)
    x, y = normal(1, 1600, 3), normal(2, 1300, 3) + 0.4
    points = normal(3, 100, 3)
    expected = f_at(points, x, y)
    found = f_at(points, x[np.argsort(x[:, 0])], y[np.argsort(y[:, 0])])
    assert np.square(found - expected).sum() < 0.05 * np.square(expected).sum()


@pytest.mark.parametrize(
    ("far", "d"),
    [(1e6, 1), (1e6, 2), (1e15, 1), (1e15, 2), (1e15, 3), (1e25, 1), (1e25, 2), (1e25, 3)],
)
def test_two_outliers_leave_f_of_the_others(far, d):
    """As far to either side, so that the mean and with it the digits of the others stay."""
    x, y = normal(1, 402, d), normal(2, 400, d) + 0.7
    points = normal(3, 20, d)
    clean = f_at(points, x[2:], y)
    x[:2, 0] = far, -far
    assert np.square(f_at(points, x, y) - clean).sum() < 0.1 * np.square(clean).sum()
