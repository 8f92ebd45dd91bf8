"""Inputs as people have them: frames, lists, small types, ties, constants, few rows, and impossible ones."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import densdiff as dd
from tests.lsdd_solvers import SOLVERS, columns, each_solver

NAMES = ("height", "weight")
FRAMES = {
    "pandas": lambda rows: pd.DataFrame(rows, columns=list(NAMES)),
    "polars": lambda rows: pl.DataFrame(rows, schema=list(NAMES)),
    "pyarrow": lambda rows: pa.table({name: rows[:, j] for j, name in enumerate(NAMES)}),
}


LSDDS = [dd.LSDD(solver=solver, random_state=0) for solver in SOLVERS]
each_estimator = pytest.mark.parametrize("model", [*LSDDS, dd.KDEDifference(random_state=0)], ids=[*SOLVERS, "kde"])


def fit(x, y, **parameters):
    return dd.LSDD(**{"random_state": 0, **parameters}).fit(x, y)


@pytest.mark.parametrize(
    "column", [np.asarray, list, tuple, pd.Series, pl.Series, pa.array, lambda v: np.reshape(v, (-1, 1))]
)
def test_one_column_may_be_one_dimensional(draw, column):
    x, y = draw(1, d=1)
    expected = fit(x, y)
    found = fit(column(x[:, 0]), column(y[:, 0]))
    np.testing.assert_array_equal(found.predict(column(y[:, 0])), expected.predict(y))
    assert found.n_features_in_ == 1


def test_columns_are_matched_by_name(draw):
    x, y = draw(2)
    frame = FRAMES["pandas"]
    swapped = frame(y)[["weight", "height"]]
    model = fit(frame(x), swapped)
    assert model.feature_names_ == NAMES
    np.testing.assert_array_equal(model.predict(swapped), fit(x, y).predict(y))


def test_given_centers_and_points_are_never_changed(draw):
    x, y = draw(3)
    centers, points = x[:5].copy(), y.copy()
    for array in (centers, points):
        array.flags.writeable = False
    model = dd.LSDD(solver="centers", centers=centers, random_state=0).fit(x, y)
    model.predict(points)
    model.l2_distance()
    np.testing.assert_array_equal(centers, x[:5])
    np.testing.assert_array_equal(points, y)


def test_fitted_model_keeps_the_centers_that_were_given(draw):
    x, y = draw(4)
    centers = x[:6].copy()
    model = fit(x, y, solver="centers", centers=centers)
    f, distance = model.predict(np.zeros((1, 2))), model.l2_distance()
    centers[:] = 2.0
    np.testing.assert_array_equal(model.predict(np.zeros((1, 2))), f)
    assert model.l2_distance() == distance


def test_decimals_become_floats(draw):
    x, y = draw(6, d=1)
    decimals = [[Decimal(float(value)) for value in row] for row in x]
    np.testing.assert_array_equal(fit(decimals, y).predict(x), fit(x, y).predict(x))


def test_integers_beyond_two_to_the_53_warn_of_lost_precision():
    x = pd.DataFrame({"id": 2**60 + np.arange(20) ** 2})
    with pytest.warns(dd.DensDiffWarning, match="precision lost in column 'id'"):
        model = fit(x, x + 1000)
    assert any("precision lost" in note for note in model.l2_distance().warnings)


@pytest.mark.parametrize(
    ("model", "copy"),
    [
        *[(model, lambda rows: rows) for model in LSDDS],
        (dd.KDEDifference(random_state=0), lambda rows: rows),
        *[(model, np.copy) for model in LSDDS],
        (dd.KDEDifference(random_state=0), np.copy),
        *[(model, lambda rows: rows[::-1]) for model in LSDDS],  # KDE widths depend on the folds, so on row order
    ],
)
@pytest.mark.hostile(10)
def test_a_sample_compared_with_itself_has_distance_zero_and_a_note(draw, model, copy):
    x, _ = draw(7)
    result = clone(model).fit(x, copy(x)).l2_distance()
    assert result.squared == pytest.approx(0.0, abs=1e-12)
    assert result.normalized == pytest.approx(0.0, abs=1e-12)
    assert any("same rows" in note for note in result.warnings)


@each_solver
def test_the_same_object_has_distance_exactly_zero(draw, solver):
    x, _ = draw(7)
    result = dd.l2_distance(x, x, model=dd.LSDD(solver=solver, random_state=0))
    assert (result.squared, result.normalized, result.log_squared) == (0.0, 0.0, None)


@each_estimator
def test_a_constant_column_contributes_nothing_and_is_noted(draw, model):
    x, y = draw(8)
    wide_x, wide_y = (np.insert(rows, 1, 7.5, axis=1) for rows in (x, y))
    expected, found = clone(model).fit(x, y), clone(model).fit(wide_x, wide_y)
    np.testing.assert_allclose(found.predict(wide_y), expected.predict(y), rtol=1e-12)
    result = found.l2_distance()
    assert result.squared == pytest.approx(expected.l2_distance().squared, rel=1e-12)
    assert any("'x1' is constant" in note for note in result.warnings)


@each_estimator
@pytest.mark.parametrize("rest", [0, 2])
def test_different_constants_are_found_different(draw, model, rest):
    rest = rest and columns(getattr(model, "solver", None), 3) - 1  # one more column varies between the samples
    x, y = draw(9, d=max(rest, 1))
    x, y = (np.insert(rows[:, :rest], 0, value, axis=1) for rows, value in ((x, 3.0), (y, 4.0)))
    result = clone(model).fit(x, y).l2_distance()
    assert np.isfinite(result.squared)
    assert result.squared > 0
    assert 0 < result.normalized <= 1
    assert any("point masses have no density" in note for note in result.warnings)


@each_estimator
@pytest.mark.parametrize("value", [0.0, -3.0, 1e200])
def test_nothing_but_one_constant_is_distance_zero(model, value):
    result = clone(model).fit(np.full((7, 2), value), np.full((5, 2), value)).l2_distance()
    assert (result.squared, result.normalized) == pytest.approx((0.0, 0.0), abs=1e-12)


@each_estimator
def test_a_column_constant_in_one_sample_only_is_ordinary(draw, model):
    x, y = draw(10)
    x[:, 0] = 0.25
    fitted = clone(model).fit(x, y)
    result = fitted.l2_distance()
    assert result.squared > 0
    assert 0 < result.normalized <= 1
    assert np.isfinite(fitted.predict(np.concatenate([x, y]))).all()


@each_estimator
def test_heavy_ties_give_finite_numbers_and_a_note(model):
    random = np.random.default_rng(11)
    small = [
        random.choice(4, size=(size, 1), p=p) for size, p in ((80, [0.4, 0.3, 0.2, 0.1]), (60, [0.1, 0.2, 0.3, 0.4]))
    ]
    mostly_zero = [np.where(random.random((size, 1)) < 0.95, 0.0, random.normal(size=(size, 1))) for size in (80, 60)]
    for x, y in (small, mostly_zero):
        result = clone(model).fit(x, y).l2_distance()
        assert np.isfinite(result.squared)
        assert 0 <= result.normalized <= 1
        assert any("distinct values" in note for note in result.warnings)


@each_estimator
def test_one_row_is_an_error_that_states_the_minimum(draw, model):
    x, y = draw(12)
    for pair in ((x[:1], y), (x, y[:1]), (x[:0], y)):
        with pytest.raises(dd.InputError, match="at least 2 rows"):
            clone(model).fit(*pair)


@each_estimator
@pytest.mark.parametrize(("n", "m", "left"), [(2, 2, 2), (3, 40, 3), (40, 4, 4)])
def test_fewer_rows_than_folds_reduce_the_folds_with_a_warning(draw, model, n, m, left):
    x, y = draw(13, n, m)
    with pytest.warns(dd.DensDiffWarning, match=f"from 5 to {left}"):
        fitted = clone(model).fit(x, y)
    result = fitted.l2_distance()
    assert np.isfinite(result.squared)
    assert 0 <= result.normalized <= 1
    assert any(f"from 5 to {left}" in note for note in result.warnings)
    assert np.isfinite(fitted.predict(x)).all()


@pytest.mark.hostile(14)
def test_more_columns_than_rows_ask_whether_they_are_swapped(draw):
    x, y = draw(14, 6, 5, 200)
    with pytest.warns(dd.DensDiffWarning, match="rows and columns swapped"):
        model = fit(x, y)
    assert np.isfinite(model.predict(y)).all()
    assert any("swapped" in note for note in model.fit_.data.notes)


def damaged(value, row=17, name="age"):
    frame = pd.DataFrame({"size": np.arange(30.0), name: np.arange(30.0) % 7})
    if value is not None:
        frame[name] = frame[name].astype(object)
    for offset in range(3):
        frame.loc[row + offset, name] = value
    return frame


@pytest.mark.parametrize("value", [None, np.nan, pd.NA])
def test_missing_values_are_counted_and_located(value):
    good = pd.DataFrame({"size": np.arange(30.0), "age": np.arange(30.0)})
    for pair in ((damaged(value), good), (good, damaged(value))):
        with pytest.raises(dd.InputError, match=r"'age'.*3 missing values, first at row 17"):
            fit(*pair)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_named_and_located(value):
    good = pd.DataFrame({"size": np.arange(30.0), "age": np.arange(30.0)})
    with pytest.raises(dd.InputError, match=rf"'age'.*{value}.*row 17"):
        fit(good, damaged(value))


@each_solver
def test_missing_values_at_points_are_errors(draw, solver):
    with pytest.raises(dd.InputError, match=r"points.*row 1"):
        fit(*draw(15), solver=solver).predict([[0.0, 0.0], [np.nan, 0.0]])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.date_range("2024-01-01", periods=12)),
        pd.Series(np.arange(12) + 1j),
        pd.Series([[1, 2]] * 12),
        pd.Series([{"a": 1}] * 12),
    ],
    ids=["dates", "complex", "lists", "dicts"],
)
def test_columns_that_are_no_numbers_are_named(column):
    frame = pd.DataFrame({"fine": np.arange(12.0), "odd": column})
    with pytest.raises(dd.InputError, match="'odd'"):
        fit(frame, frame)


def test_duplicate_column_names_are_listed():
    frame = pd.DataFrame(np.arange(36.0).reshape(12, 3), columns=["a", "b", "a"])
    with pytest.raises(dd.InputError, match="'a'"):
        fit(frame, frame)


@pytest.mark.parametrize("value", [0, 0.0, -1.0, np.nan, np.inf, [], [1.0, 0.0], [1.0, np.nan], "auto", None, [[1.0]]])
@pytest.mark.parametrize("name", ["sigma", "lam"])
@pytest.mark.hostile(35)
def test_impossible_widths_and_penalties_are_named(draw, name, value):
    with pytest.raises(dd.InputError, match=name):
        fit(*draw(16), **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("folds", 1),
        ("folds", 2.5),
        ("folds", True),
        ("n_centers", 0),
        ("n_centers", "all"),
        ("solver", "centres"),
        ("solver", None),
        ("random_state", -1),
        ("random_state", "seed"),
        ("centers", [[0.0, 1.0, 2.0]]),
        ("centers", [[np.nan, 1.0]]),
        ("centers", np.empty((0, 2))),
    ],
)
def test_impossible_parameters_are_named(draw, name, value):
    with pytest.raises(dd.InputError, match=name):
        fit(*draw(16), **{name: value})


@pytest.mark.parametrize("value", [0, 1, -0.5, 95, np.nan, "0.95", None])
def test_level_lies_between_0_and_1(draw, value):
    x, y = draw(16)
    with pytest.raises(dd.InputError, match="level"):
        fit(x, y).l2_distance(level=value)
    with pytest.raises(dd.InputError, match="level"):
        dd.l2_distance(x, y, level=value)


@pytest.mark.parametrize("weights", [[-1.0] * 40, [1.0] * 39, [0.0] * 40, [np.nan] * 40, np.ones((40, 2))])
def test_impossible_weights_are_named(draw, weights):
    x, y = draw(17, 40, 27)
    with pytest.raises(dd.InputError, match="weights_x"):
        dd.LSDD().fit(x, y, weights_x=weights)
    with pytest.raises(dd.InputError, match="weights_y"):
        dd.LSDD().fit(y, x, weights_y=weights)


@pytest.mark.parametrize("points", [[[0.0]], [0.0, 1.0, 2.0], [[0.0, 1.0, 2.0]], pd.DataFrame({"a": [0.0]})])
def test_points_need_the_columns_of_the_samples(draw, points):
    with pytest.raises(dd.InputError, match="points"):
        fit(*draw(18)).predict(points)


@each_solver
@pytest.mark.parametrize("d", [1, 2])
def test_no_points_give_no_values(draw, d, solver):
    assert fit(*draw(18, d=d), solver=solver).predict(np.empty((0, d))).shape == (0,)
