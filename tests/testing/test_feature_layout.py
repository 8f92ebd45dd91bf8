"""Sums of features over rows and over the rows of units: those of all features, in any pieces and by any threads."""

import numpy as np
import pytest

from densdiff.testing import feature_layout, units
from densdiff.testing.row_features import RowFeatures
from tests.testing.test_low_order import numbers, single, tables


@pytest.mark.parametrize("most", [0, 10**9])
def test_sums_of_units_do_not_depend_on_the_number_of_threads(monkeypatch, most):
    monkeypatch.setattr(feature_layout, "_FULL_PRODUCTS", most)  # features of rows, or products of matrices
    monkeypatch.setattr(feature_layout, "_PARALLEL_ROWS", 10)
    monkeypatch.setattr(feature_layout, "_AT_ONCE", 64 * 30)
    data = numbers(n=500, m=300)
    rows, of_x = data.x.rows[:], units.UnitNumbers(500, 7, 60, 0, 3)  # 80 rows are in no unit
    features, columns = RowFeatures.of(data.pooled_rows, data.levels)
    layout = feature_layout.make_layout(columns)
    one, four = (feature_layout.UnitSums(features, layout, of_x, threads)(rows, 0) for threads in (1, 4))
    np.testing.assert_array_equal(one, four)
    expected, own = np.zeros((61, layout.size)), of_x.part(0, 500)
    np.add.at(expected, own, feature_layout.all_features(features, layout, rows))
    np.testing.assert_allclose(one, expected[:60], **single)


@pytest.mark.parametrize("most", [0, 10**9])
@pytest.mark.parametrize("make", [numbers, tables])
def test_sums_and_squares_are_those_of_all_features(monkeypatch, make, most):
    monkeypatch.setattr(feature_layout, "_FULL_PRODUCTS", most)
    data = make()
    features, columns = RowFeatures.of(data.pooled_rows, data.levels)
    layout = feature_layout.make_layout(columns)
    values = feature_layout.all_features(features, layout, data.pooled_rows).astype(np.float64)
    sums, squares = feature_layout.feature_sums(features, layout, data.pooled_rows)
    np.testing.assert_allclose(sums, values.sum(axis=0), atol=1e-5 * np.sqrt(np.square(values).sum()))
    np.testing.assert_allclose(squares, np.square(values).sum(axis=0), rtol=1e-5)
