"""Tables and labels of every kind for the class balance, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import densdiff as dd
from tests.classes import FRAMES, NAMES, classes, fitted

# --- tables and labels of every kind ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FRAMES)
def test_columns_of_new_rows_are_matched_by_name(kind):
    X, y, new = classes(28)
    balance, frame = fitted(FRAMES[kind](X), y), FRAMES[kind](new)
    turned = frame.select(NAMES[::-1]) if kind != "pandas" else frame[NAMES[::-1]]
    np.testing.assert_array_equal(balance.predict(turned), balance.predict(new))


def test_missing_columns_are_refused_and_further_ones_left_out_aloud():
    X, y, new = classes(29)
    balance, frame = fitted(FRAMES["pandas"](X), y), FRAMES["pandas"](new)
    with pytest.raises(dd.InputError, match=r"X_new lacks columns .*'weight'"):
        balance.predict(frame[["height"]])
    with pytest.warns(dd.DensDiffWarning, match="columns of X_new left out .*'age'"):
        found = balance.predict(frame.assign(age=1.0))
    np.testing.assert_array_equal(found, balance.predict(new))


def test_warnings_about_new_rows_are_in_the_result():
    X, y, new = classes(30)
    balance = fitted(FRAMES["pandas"](X), y)
    with pytest.warns(dd.DensDiffWarning, match="left out"):
        found = balance.estimate(FRAMES["pandas"](new).assign(age=1.0))
    assert any("left out" in note for note in found.warnings)


@pytest.mark.parametrize("column", [np.asarray, list, pd.Series, pl.Series, pa.array])
def test_one_column_may_be_one_dimensional(column):
    X, y, new = classes(31, d=1)
    expected = fitted(X, y).predict(new)
    np.testing.assert_array_equal(fitted(column(X[:, 0]), y).predict(column(new[:, 0])), expected)


LABELS = {
    "list": list,
    "tuple": tuple,
    "objects": lambda y: np.array(y, dtype=object),
    "a column": lambda y: np.array(y)[:, None],
    "pandas": pd.Series,
    "pandas shuffled index": lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
    "pandas string": lambda y: pd.Series(y, dtype="string"),
    "pandas category": lambda y: pd.Series(pd.Categorical(y, categories=["well", "ill", "absent"])),
    "polars": pl.Series,
    "polars category": lambda y: pl.Series(y).cast(pl.Categorical),
    "pyarrow": pa.array,
    "pyarrow chunks": lambda y: pa.chunked_array([y[:3], y[3:]]),
    "pyarrow dictionary": lambda y: pa.array(y).dictionary_encode(),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_may_be_any_sequence(kind):
    X, y, new = classes(32)
    names = np.array(["ill", "well"])[y].tolist()
    balance = fitted(X, LABELS[kind](names))
    assert balance.classes_.tolist() == ["ill", "well"]
    np.testing.assert_array_equal(balance.predict(new), fitted(X, y).predict(new))


@pytest.mark.parametrize(
    "names",
    [[False, True], [0, 1], [-1.0, 1.0], ["", " "], ["a\nb", "\x1b[31m"], ["é", "😀"], [np.int8(1), np.int8(2)]],
)
def test_labels_come_back_as_plain_values(names):
    X, y, new = classes(33)
    balance = fitted(X, np.array(names)[y])
    found = balance.estimate(new)
    assert found.classes == tuple(sorted(np.array(names).tolist()))
    assert found.to_dict()["classes"] == list(found.classes)
    assert set(balance.class_weight(new)) == set(found.classes)
    text = str(found)
    assert all(c.isprintable() or c == "\n" for c in text)
    assert len(text.splitlines()) == 6


def _lacking(kind):
    y = ["ill", "well"] * 20
    return {
        "None": [None, *y[1:]],
        "NaN among objects": np.array([np.nan, *y[1:]], dtype=object),
        "NaN among numbers": [np.nan, *[0.0, 1.0] * 19, 0.0],
        "pandas None": pd.Series([None, *y[1:]]),
        "pandas category": pd.Series([None, *y[1:]], dtype="category"),
        "pandas Int64": pd.Series([pd.NA, *[0, 1] * 19, 0], dtype="Int64"),
        "polars": pl.Series([None, *y[1:]]),
        "polars bool": pl.Series([None, *[True, False] * 19, True]),
        "pyarrow": pa.array([None, *y[1:]]),
        "NaN in a list of strings": [np.nan, *y[1:]],
        "pandas NA among objects": pd.Series([pd.NA, *y[1:]], dtype=object),
        "pandas string": pd.Series([pd.NA, *y[1:]], dtype="string"),
        "pandas boolean": pd.Series([pd.NA, *[True, False] * 19, True], dtype="boolean"),
        "masked": np.ma.masked_array([0, 1] * 20, mask=np.arange(40) == 0),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "None",
        "NaN among objects",
        "NaN among numbers",
        "pandas None",
        "pandas category",
        "pandas Int64",
        "polars",
        "polars bool",
        "pyarrow",
        "NaN in a list of strings",
        "pandas NA among objects",
        "pandas string",
        "pandas boolean",
        "masked",
    ],
)
def test_missing_labels_are_counted_and_located(kind):
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(dd.InputError, match=r"y has 1 missing label, .*row 0; drop those rows"):
        fitted(X, _lacking(kind))


def test_labels_of_two_kinds_in_a_list_are_refused():
    X, y, _ = classes(34)
    with pytest.raises(dd.InputError, match="labels of one kind"):
        fitted(X, [1 if code else "a" for code in y])


def test_labels_of_two_kinds_among_objects_are_refused():
    X, y, _ = classes(34)
    with pytest.raises(dd.InputError, match="labels of one kind"):
        fitted(X, np.array([1 if code else "a" for code in y], dtype=object))


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.repeat("ill", 40)}, "y holds 1 class, 'ill'; at least 2 are needed"),
        ({"y": None}, "y is None; one label for each row of X is needed"),
        ({"y": np.zeros(39)}, "y has 39 labels, but X has 40 rows"),
        ({"y": "ill"}, r"y must be 1-D, one label for each row; got shape \(\)"),
        ({"y": np.eye(2)[np.arange(40) % 2]}, r"y must be 1-D, one label for each row; got shape \(40, 2\)"),
        ({"y": np.arange(40) / 7}, "Unknown label type: y holds 40 distinct numbers in 40 rows"),
        ({"y": np.array(["odd", *["a", "b"] * 19, "a"])}, "class 'odd' has 1 row in X; each class needs at least 2$"),
        ({"X": None}, "X must be an array, a list of rows or a data frame; got None"),
        (
            {"X": np.where(np.arange(80).reshape(40, 2) == 7, np.nan, 0.0)},
            "column 'x1' of X: 1 missing value, at row 3",
        ),
        ({"X": np.where(np.arange(80).reshape(40, 2) == 7, np.inf, 0.0)}, "column 'x1' of X: 1 infinite value, inf at"),
        (
            {"X": pd.DataFrame({"u": range(40), "v": ["1", "2"] * 20})},
            "column 'v' of X holds numbers stored as text, first '1' at row 0",
        ),
        (
            {"X": pd.DataFrame({"u": range(40), "v": ["x"] * 40}), "model": dd.KDEDifference()},
            "column 'v' of X holds text, first 'x' at row 0",
        ),
        ({"weights": -np.ones(40)}, "sample_weight must not be negative; got -1.0 at row 0"),
        ({"weights": np.ones(3)}, "sample_weight has 3 weights, but X has 40 rows"),
        ({"weights": (np.arange(40) < 20) * 1.0}, "class 1 has 0 rows of positive weight in X"),
        ({"model": "lsdd"}, "model must be None, an LSDD or a KDEDifference object; got str"),
        ({"model": dd.LSDD}, "model must be .*; got the class LSDD"),
        ({"model": dd.KLIEP()}, "model must be .*; got KLIEP"),
        ({"random_state": "x"}, "random_state must be None"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_one_sentence(change, message):
    X, y, _ = classes(35)
    with pytest.raises(dd.InputError, match=message):
        fitted(**({"X": X, "y": y} | change))


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (np.zeros((1, 2)), "X_new has 1 row; at least 2 are needed"),
        (np.zeros((0, 2)), "X_new has 0 rows; at least 2 are needed"),
        (np.zeros((5, 3)), r"X_new has shape \(5, 3\), but 2 columns are needed"),
        (np.full((5, 2), np.nan), "column 'x0' of X_new: 5 missing values, first at row 0"),
        (None, "X_new must be an array"),
    ],
)
def test_new_rows_that_cannot_be_used_are_refused_in_one_sentence(new, message):
    X, y, _ = classes(36)
    balance = fitted(X, y)
    for method in ("predict", "estimate", "class_weight"):
        with pytest.raises(dd.InputError, match=message):
            getattr(balance, method)(new)


@pytest.mark.parametrize("level", [0, 1, 95, -0.1, "x", None, np.nan, True])
def test_a_level_out_of_range_is_refused(level):
    X, y, new = classes(37)
    with pytest.raises(dd.InputError, match="level must lie strictly between 0 and 1; got"):
        fitted(X, y).estimate(new, level)


def test_before_fit_there_is_nothing_to_ask():
    for method in ("predict", "estimate", "class_weight"):
        with pytest.raises(dd.NotFittedError, match="call fit"):
            getattr(dd.ClassBalance(), method)([[0.0], [1.0]])


@pytest.mark.hostile(14)
def test_more_columns_than_rows_are_warned_of():
    random = np.random.default_rng(0)
    with pytest.warns(dd.DensDiffWarning, match="rows and columns swapped"):
        fitted(random.normal(size=(6, 200)), list("ababab")).predict(random.normal(size=(5, 200)))


@pytest.mark.hostile(9)
def test_copied_rows_are_warned_of():
    X, y, new = classes(39)
    with pytest.warns(dd.DensDiffWarning, match="every row of X occurs 10 times"):
        balance = fitted(np.repeat(X, 10, axis=0), np.repeat(y, 10))
    with pytest.warns(dd.DensDiffWarning, match="every row of X_new occurs 10 times"):
        found = balance.estimate(np.repeat(new, 10, axis=0))
    np.testing.assert_allclose(found.intervals, fitted(X, y).estimate(new).intervals, atol=1e-12)
