"""Ranks as SciPy has them, with ties and without, and distinct values as NumPy has them."""

import numpy as np
import pytest
from scipy.stats import rankdata

from densdiff.core.ranks import ascending, average_ranks, distinct_of_sorted


@pytest.mark.parametrize("digits", [0, 1, 15])
@pytest.mark.parametrize("n", [0, 1, 2, 57])
def test_ranks_are_those_of_scipy(n, digits):
    rows = np.random.default_rng(n).normal(size=(n, 2)).round(digits)
    for column in rows.T:  # strided
        np.testing.assert_array_equal(average_ranks(column), rankdata(column))


@pytest.mark.parametrize("digits", [0, 1, 15])
@pytest.mark.parametrize("n", [0, 1, 2, 57])
def test_distinct_values_are_those_of_numpy(n, digits):
    values = np.random.default_rng(n).normal(size=n).round(digits)
    for column in (values, np.sort(values), np.sort(values)[::-1]):
        ordered = ascending(column)
        np.testing.assert_array_equal(ordered, np.sort(column))
        for found, expected in zip(distinct_of_sorted(ordered), np.unique(column, return_counts=True), strict=True):
            np.testing.assert_array_equal(found, expected)
