"""Points and centers: matched by name or by position, and the columns that they need."""

import numpy as np
import pandas as pd
import pytest

from densdiff.data.points import check_centers, check_points
from densdiff.errors import DensDiffWarning
from tests.data.test_pair import LINE, A, every_frame, refusal, table


@every_frame
def test_points_of_a_frame_are_matched_by_name(frame):
    np.testing.assert_array_equal(check_points(table(frame, A[:, ::-1], ("b", "a")), ("a", "b")), A)


def test_points_by_position_for_arrays_and_for_models_fitted_on_arrays():
    np.testing.assert_array_equal(check_points(A, ("a", "b")), A)
    np.testing.assert_array_equal(check_points(pd.DataFrame(A, columns=["p", "q"]), ("x0", "x1")), A)
    assert check_points(np.empty((0, 2)), ("a", "b")).shape == (0, 2)
    assert check_points([1, 2, 3], ("a",)).shape == (3, 1)


def test_points_with_other_columns():
    frame = pd.DataFrame({"b": LINE, "c": LINE})
    assert "points lacks columns that the model was fitted on: 'a'" in refusal(check_points, frame, ("a", "b"))
    with pytest.warns(DensDiffWarning, match="columns of points left out .*: 'c'"):
        assert check_points(frame, ("b",)).shape == (40, 1)
    assert "for one row pass shape (1, 2)" in refusal(check_points, [1.0, 2.0], ("a", "b"))
    assert "points has shape (40,), but 2 columns are needed" in refusal(check_points, LINE, ("a", "b"))
    assert "column 'b' of points: 1 missing value" in refusal(check_points, [[0, None]], ("a", "b"))


def test_centers_need_a_row():
    np.testing.assert_array_equal(check_centers([[1, 2]], ("a", "b")), [[1.0, 2.0]])
    assert "centers has 0 rows" in refusal(check_centers, np.empty((0, 2)), ("a", "b"))
