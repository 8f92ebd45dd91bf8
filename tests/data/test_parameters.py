"""Parameters: what is taken, and the sentence for what is not, with its name and range."""

import math

import numpy as np
import pandas as pd
import pytest

from densdiff.data import parameters
from densdiff.data.pair import Pair
from tests.data.test_pair import refusal


def test_positive_grid_takes_cv_a_number_or_a_sequence():
    assert parameters.positive_grid("cv", "sigma") is None
    for value, expected in [
        (2, [2.0]),
        (np.float32(0.5), [0.5]),
        ((1, 2), [1.0, 2.0]),
        (pd.Series([3, 4]), [3, 4]),
    ]:
        found = parameters.positive_grid(value, "sigma")
        assert found.dtype == np.float64
        assert found.tolist() == expected


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (-1.0, "sigma must be positive and finite; got -1.0"),
        (0, "sigma must be positive and finite; got 0.0"),
        (math.nan, "got nan"),
        (math.inf, "got inf"),
        ([1, 2, -3], "got -3.0 at position 2"),
        ([], "got shape (0,)"),
        ([[1, 2]], "got shape (1, 2)"),
        ([1, [2]], "sigma must be 'cv'"),
        (True, "got True"),
        (None, "got None"),
        (["a"], "sigma must be 'cv'"),
        ("CV", "got 'CV' (did you mean 'cv'?)"),
    ],
)
def test_row_35_positive_grid_names_parameter_and_range(value, said):
    text = refusal(parameters.positive_grid, value, "sigma")
    assert text.startswith("sigma must be ")
    assert said in text


@pytest.mark.parametrize("value", [1, 0, -3, 2.0, True, np.True_, "5", None, math.nan])
def test_row_35_whole_refuses_all_but_integers_in_range(value):
    assert "folds must be a whole number, at least 2; got" in refusal(parameters.whole, value, "folds", 2)


def test_whole_takes_numpy_integers():
    assert type(parameters.whole(np.uint8(2), "folds", 2)) is int


@pytest.mark.parametrize("value", [0, 1, -0.1, math.nan, True, "0.5", None])
def test_row_35_fraction_is_strictly_inside(value):
    assert "level must lie strictly between 0 and 1; got" in refusal(parameters.fraction, value, "level")


def test_fraction_understands_percent():
    assert parameters.fraction(np.float32(0.5), "level") == 0.5
    assert refusal(parameters.fraction, 95, "level").endswith("got 95 (did you mean 0.95?)")


def test_choice_suggests_the_nearest_option():
    options = ("auto", "centers")
    assert parameters.choice("centers", "solver", options) == "centers"
    text = refusal(parameters.choice, "center", "solver", options)
    assert text == "solver must be one of 'auto', 'centers'; got 'center' (did you mean 'centers'?)"
    assert refusal(parameters.choice, 3, "solver", options).endswith("got 3")


def test_seed_is_drawn_once_and_repeats():
    assert parameters.seed(5) == parameters.seed(np.int64(5)) == 5
    for make in (np.random.default_rng, np.random.RandomState):
        source = make(3)
        first, second = parameters.seed(source), parameters.seed(source)
        assert first == parameters.seed(make(3)) != second
        assert 0 <= first < 2**32
    assert parameters.seed(None) != parameters.seed(None)


@pytest.mark.parametrize("value", [-1, True, 1.0, "3"])
def test_seed_refuses_what_cannot_repeat(value):
    assert "random_state must be" in refusal(parameters.seed, value)


def test_estimator_is_an_object_with_the_method():
    assert "got the class Pair, pass Pair()" in refusal(parameters.estimator, Pair, "l2_distance")
    assert "methods fit and l2_distance" in refusal(parameters.estimator, "LSDD", "l2_distance")
