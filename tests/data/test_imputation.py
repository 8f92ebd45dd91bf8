"""Holes are filled alike in any blocks, and evenly."""

from functools import reduce

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from densdiff.data import imputation


@given(st.integers(1, 12_000), st.lists(st.integers(0, 12_000), max_size=4), st.integers(0, 3))
def test_known_values_of_any_stretches_are_those_of_the_column(n, cuts_of, seed):
    column = np.random.default_rng([n, seed]).normal(size=n)
    column[seed::3] = np.nan
    parts = np.split(column, sorted(min(cut, n) for cut in cuts_of))
    starts = np.cumsum([0, *map(len, parts)])[:-1]
    found = reduce(imputation.merge_donors, map(imputation.draw_donors, parts, starts))
    whole = imputation.draw_donors(column)
    for part, expected in zip(found, whole, strict=True):
        np.testing.assert_array_equal(part, expected)
    there = column[~np.isnan(column)]
    assert len(whole[1]) == min(len(there), 5000)
    assert np.isin(whole[1], there).all()
    if len(there):
        fill = imputation.pool_donors(whole, whole)
        found = [imputation.impute(part, start, fill) for part, start in zip(parts, starts, strict=True)]
        np.testing.assert_array_equal(np.concatenate(found), imputation.impute(column, 0, fill))


def test_holes_are_filled_evenly():
    column = np.full(3000, np.nan)
    fill = np.linspace(0.0, 1.0, 1000)
    for step in (1, 2, 5, 7):
        found = np.sort(imputation.impute(column, 17, fill)[::step])
        assert np.abs(found - (np.arange(len(found)) + 0.5) / len(found)).max() < 8 / len(found)
