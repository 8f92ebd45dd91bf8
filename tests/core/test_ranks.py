"""Ranks as SciPy has them, with ties and without."""

import numpy as np
import pytest
from scipy.stats import rankdata

from densdiff.core.ranks import average_ranks


@pytest.mark.parametrize("digits", [0, 1, 15])
@pytest.mark.parametrize("n", [0, 1, 2, 57])
def test_ranks_are_those_of_scipy(n, digits):
    rows = np.random.default_rng(n).normal(size=(n, 2)).round(digits)
    for column in rows.T:  # strided
        np.testing.assert_array_equal(average_ranks(column), rankdata(column))
