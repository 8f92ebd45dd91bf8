"""Rows of a stream in all forms that people have them in, and bad ones, which must leave no trace."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from densdiff import DensDiffWarning, InputError
from tests.monitors import (
    FRAMED,
    LIBRARIES,
    PLAIN,
    REFERENCE,
    ROWS,
    SINGLE,
    STEPS,
    W,
    first_alarm,
    made,
    named,
    renewed,
    saving,
)

plain = renewed(PLAIN)
framed = renewed(FRAMED)
single = renewed(SINGLE)
state = pytest.fixture(saving)


# --- frames and rows of all sorts


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_frames_are_matched_by_name_in_any_order(library, order):
    monitor = made(named(REFERENCE, LIBRARIES[library]))
    assert monitor.names_ == ("a", "b")
    rows = named(ROWS, LIBRARIES[library], order)
    assert monitor.update_many(rows) == STEPS
    assert [monitor.reset().update(rows[:1])] == STEPS[:1]


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_array_reference_takes_frames_and_a_frame_reference_takes_arrays(library, plain, framed):
    assert plain.update_many(named(ROWS, LIBRARIES[library])) == STEPS
    assert framed.update_many(ROWS) == STEPS


ONE_ROW = {
    "list": lambda a, b: [a, b],
    "tuple": lambda a, b: (a, b),
    "list of one row": lambda a, b: [[a, b]],
    "array": lambda a, b: np.array([a, b]),
    "array of one row": lambda a, b: np.array([[a, b]]),
    "numpy scalars": lambda a, b: [np.float64(a), np.float64(b)],
    "decimals": lambda a, b: [Decimal(a), Decimal(b)],
    "fractions": lambda a, b: (Fraction(a), Fraction(b)),
    "dict": lambda a, b: {"a": a, "b": b},
    "dict in another order": lambda a, b: {"b": b, "a": a},
    "dict with more": lambda a, b: {"b": b, "noise": "x", "a": a},
    "row of a pandas frame": lambda a, b: pd.DataFrame({"a": [a], "b": [b]}).iloc[0],
    "row in another order": lambda a, b: pd.DataFrame({"b": [b], "a": [a]}).iloc[0],
    "named row of polars": lambda a, b: pl.DataFrame({"b": [b], "a": [a]}).row(0, named=True),
    "named tuple in another order": lambda a, b: next(pd.DataFrame({"b": [b], "a": [a]}).itertuples()),
    "named tuple of other names": lambda a, b: next(pd.DataFrame({"u": [a], "v": [b]}).itertuples(index=False)),
    "row of polars": lambda a, b: pl.DataFrame({"a": [a], "b": [b]}).row(0),
}


@pytest.mark.parametrize("kind", ONE_ROW)
def test_one_row_may_come_in_many_forms(kind, framed):
    assert [framed.update(ONE_ROW[kind](a, b)) for a, b in ROWS[:12].tolist()] == STEPS[:12]


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_many_rows_may_be_mappings_or_named_tuples(order, framed):
    rows = named(ROWS, order=order)
    assert framed.update_many(rows.to_dict("records")) == STEPS
    assert framed.reset().update_many(list(rows.itertuples(index=False))) == STEPS
    assert made(named(REFERENCE, order=order).to_dict("records")).names_ == order


def test_a_row_of_mixed_columns_is_that_of_its_numbers(framed):
    frame = named(ROWS[:12], order=("b", "a"), noise=["x"] * 12)
    with pytest.warns(DensDiffWarning, match="columns of x left out because the model was not fitted on them: 'noise'"):
        assert [framed.update(row) for _, row in frame.iterrows()] == STEPS[:12]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.hostile(24)
def test_columns_that_the_reference_lacks_are_left_out_with_a_warning(library, framed):
    rows = named(ROWS, LIBRARIES[library], noise=np.arange(len(ROWS)))
    with pytest.warns(DensDiffWarning, match="columns of X left out because the model was not fitted on them: 'noise'"):
        assert framed.update_many(rows) == STEPS


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_missing_column_is_named(library, framed):
    rows = LIBRARIES[library]({"a": ROWS[:, 0]})
    lacking = "X lacks columns that the model was fitted on: 'b'; add or rename them"
    with pytest.raises(InputError, match=f"{lacking}; no row was taken; row 0 would be row 0"):
        framed.update_many(rows)
    with pytest.raises(InputError, match=r"row 0 of the stream was refused and changed nothing: .*'b'"):
        framed.update(rows[:1])
    assert framed.n_seen_ == 0


@pytest.mark.parametrize(
    "cast",
    [float, lambda x: [x], lambda x: [[x]], np.array, np.float64, lambda x: {"x0": x}, lambda x: pl.Series([x])],
    ids=["float", "list", "nested", "0-d", "scalar", "dict", "polars series"],
)
def test_one_column_needs_no_brackets(cast, single):
    steps = single.update_many(ROWS[:12, 0])
    assert single.reset().update_many(ROWS[:12, :1]) == steps
    single.reset()
    assert [single.update(cast(x)) for x in ROWS[:12, 0].tolist()] == steps


@pytest.mark.parametrize("library", [pd.Series, pl.Series, pa.array, list], ids=["pandas", "polars", "pyarrow", "list"])
def test_one_column_may_be_a_series(library, single):
    steps = single.update_many(ROWS[:, 0])
    monitor = made(library(REFERENCE[:, 0].tolist()))
    assert monitor.threshold_ == single.threshold_
    assert monitor.update_many(library(ROWS[:, 0].tolist())) == steps


@pytest.mark.parametrize("kind", [int, np.int8, np.uint16, np.float32, bool, np.bool_])
def test_integers_and_booleans_are_numbers(kind):
    random = np.random.default_rng(0)
    reference, rows = random.integers(0, 2, 300), random.integers(0, 2, 20)
    monitor = made(reference.astype(kind))
    steps = monitor.update_many(rows.astype(kind))
    twin = made(reference.astype(float))
    assert twin.update_many(rows.astype(float)) == steps
    monitor.reset()
    assert [monitor.update(kind(x)) for x in rows] == steps


@pytest.mark.parametrize("row", [pd.Series([1.0, 2.0]), {0: 1.0, 1: 2.0}], ids=["row of the frame", "dict"])
def test_columns_with_integer_names_are_found_in_a_row(row):
    monitor = made(pd.DataFrame(REFERENCE))
    steps = monitor.update_many(pd.DataFrame([[1.0, 2.0]]))
    assert [monitor.reset().update(row)] == steps


def test_a_row_of_a_frame_goes_by_position_if_the_frame_does(plain):
    frame = named(ROWS)
    assert plain.update_many(frame) == STEPS
    plain.reset()
    assert [plain.update(row) for _, row in frame.iterrows()] == STEPS


# --- bad rows

BAD_ROWS = {
    "nan": ([np.nan, 1.0], "column 'a' is nan"),
    "nan in an array": (np.array([1.0, np.nan]), "column 'b' is nan"),
    "none": ((None, 1.0), "column 'a' of x: 1 missing value"),
    "pandas NA": (pd.Series({"a": pd.NA, "b": 1}), "column 'a' of x: 1 missing value"),
    "nan in a frame": (pd.DataFrame({"a": [1.0], "b": [np.nan]}), "column 'b' of x: 1 missing value"),
    "null in polars": (pl.DataFrame({"a": [1.0], "b": [None]}), "column 'b' of x: 1 missing value"),
    "infinite": ([1.0, -np.inf], "column 'b' is -inf"),
    "beyond float64": ([10**400, 1.0], "column 'a' of x: 1 infinite value, inf"),
    "too narrow": ([1.0], "x has shape (1, 1), but 2 columns are needed"),
    "too wide": (np.ones(3), "x has shape (1, 3), but 2 columns are needed"),
    "a number": (1.0, "x has shape (1, 1), but 2 columns are needed"),
    "nothing": ([], "x has no columns (shape (1, 0)); at least 1 is needed"),
    "two rows": (np.ones((2, 2)), "x has 2 rows; update takes one, update_many takes many"),
    "a cube": (np.ones((1, 1, 2)), "x has shape (1, 1, 2); pass rows by columns (2-D)"),
    "frame of two rows": (named(ROWS[:2]), "x has 2 rows; update takes one, update_many takes many"),
    "frame of no rows": (named(ROWS[:0]), "x has 0 rows; update takes one, update_many takes many"),
    "text": (["hot", 1.0], "column 'a' of x holds text, first 'hot'"),
    "text in a dict": ({"a": 1.0, "b": "hot"}, "column 'b' of x holds text, first 'hot'"),
    "number as text": (["1", 1.0], "column 'a' of x holds numbers stored as text"),
    "one string": ("ab", "x must be an array, a list of rows or a data frame; got 'ab'"),
    "bytes": (b"ab", "x must be an array, a list of rows or a data frame; got b'ab'"),
    "None": (None, "x must be an array, a list of rows or a data frame; got None"),
    "set": ({1.0, 2.0}, "got an object of type set"),
    "generator": ((x for x in (1.0, 2.0)), "got an object of type generator"),
    "complex": ([1j, 1.0], "column 'a' of x holds complex numbers"),
    "dates": (np.array(["2024-01-01", "2024-01-02"], "M8[D]"), "column 'a' of x holds dates or durations"),
    "key missing": ({"a": 1.0, "c": 2.0}, "x lacks 'b'; it has 'a', 'c'"),
    "label missing": (pd.Series({"a": 1.0}), "x lacks columns that the model was fitted on: 'b'; add or rename them"),
    "column missing": (pd.DataFrame({"a": [1.0]}), "x lacks columns that the model was fitted on: 'b'"),
    "lazy frame": (pl.LazyFrame({"a": [1.0], "b": [1.0]}), "x is lazy (LazyFrame); collect it first"),
    "ragged list": ([1.0, [2.0, 3.0]], "changed nothing: "),
    "nested value": ({"a": [1, 2], "b": 1.0}, "changed nothing: "),
    "masked value": (np.ma.array([1.0, 2.0], mask=[True, False]), "x has a masked value, which counts as missing"),
    "column for a row": (np.ones((2, 1)), "x has shape (2, 1), but 2 columns are needed"),
    "label twice": (pd.Series([1.0, 2.0, 3.0], index=["a", "b", "a"]), "x has more than one column named 'a'"),
}


@pytest.mark.parametrize(
    ("x", "message"),
    [case if hasattr(case, "marks") else pytest.param(*case) for case in BAD_ROWS.values()],
    ids=list(BAD_ROWS),
)
@pytest.mark.hostile(38)
def test_a_bad_row_is_refused_with_its_index_and_changes_nothing(x, message, framed, state):
    assert framed.update_many(ROWS[:13]) == STEPS[:13]
    before = state(framed)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        framed.update(x)
    assert str(caught.value).startswith("row 13 of the stream was refused and changed nothing: ")
    assert state(framed) == before
    assert framed.update_many(ROWS[13:]) == STEPS[13:]


BAD_ONES = {
    "nan": float("nan"),
    "infinite": np.inf,
    "None": None,
    "text": "1",
    "NA": pd.NA,
    "complex": 1j,
    "date": np.datetime64("2024-01-01"),
    "two": [1.0, 2.0],
    "masked": np.ma.masked,
}


@pytest.mark.parametrize("x", BAD_ONES.values(), ids=list(BAD_ONES))
@pytest.mark.hostile(38)
def test_a_bad_number_is_refused_with_its_index_and_changes_nothing(x, single, state):
    single.update_many(ROWS[:13, 0])
    before = state(single)
    with pytest.raises(InputError, match=r"^row 13 of the stream was refused and changed nothing: "):
        single.update(x)
    assert state(single) == before


@pytest.mark.parametrize("x", [[1.0, [2.0, 3.0]], [[1.0, 2.0], [3.0]], {"a": [1, 2], "b": 1.0}])
def test_a_ragged_row_is_refused_in_words_of_the_library(x, framed):
    with pytest.raises(InputError) as caught:
        framed.update(x)
    assert "inhomogeneous" not in str(caught.value)


@pytest.mark.parametrize("x", [np.ma.masked, np.ma.array(3.0, mask=True)], ids=["masked", "masked array"])
def test_a_masked_number_is_called_missing(x, single):
    with pytest.raises(InputError, match=r"missing|masked|nan"):
        single.update(x)


def test_one_column_is_not_called_columns(single):
    with pytest.raises(InputError) as caught:
        single.update([[1.0, 2.0]])
    assert "1 columns" not in str(caught.value)


@pytest.mark.parametrize("x", [[2**60 + 1, 1.0], {"a": 2**60 + 1, "b": 1.0}], ids=["list", "dict"])
def test_precision_lost_beside_a_float_is_a_warning(x, framed):
    with pytest.warns(DensDiffWarning, match="precision lost in column 'a' of x"):
        framed.update(x)


def test_a_row_without_any_key_is_refused_in_a_whole_sentence(framed):
    with pytest.raises(InputError, match="x lacks 'a', 'b'") as caught:
        framed.update({})
    assert not str(caught.value).endswith(" ")


def test_two_keys_of_the_same_text_are_refused():
    with pytest.raises(InputError, match="'0'"):
        made(pd.DataFrame(REFERENCE)).update({0: 1.0, 1: 2.0, "0": 3.0})


BAD_MANY = {
    "nan": (np.where(np.arange(40)[:, None] == 31, np.nan, ROWS[:40]), "column 'a' of X: 1 missing value, at row 31"),
    "infinite": (
        np.where(np.isin(ROWS[:40], ROWS[7]), np.inf, ROWS[:40]),
        "column 'a' of X: 1 infinite value, inf at row 7",
    ),
    "masked": (np.ma.array(ROWS, mask=np.isin(ROWS, ROWS[7])), "column 'a' of X: 1 missing value, at row 7"),
    "text": ([[1.0, 2.0], ["hot", 1.0]], "column 'a' of X holds text: 'hot' at row 1 is not a number"),
    "ragged": ([[1.0, 2.0], [3.0]], "rows differ in length, 2 in row 0 and 1 in row 1"),
    "too wide": (np.ones((4, 3)), "X has shape (4, 3), but 2 columns are needed"),
    "one row": ([1.0, 2.0], "X has shape (2,), but 2 columns are needed; for one row pass shape (1, 2)"),
    "a number": (1.0, "X must be an array, a list of rows or a data frame; got 1.0"),
    "None": (None, "X must be an array, a list of rows or a data frame; got None"),
    "mappings, one without a key": ([{"a": 1.0, "b": 2.0}, {"b": 1.0}], "column 'a' of X: 1 missing value, at row 1"),
    "mappings with a typo": ([{"a": 1.0, "bb": 2.0}] * 2, "X lacks columns that the model was fitted on: 'b'"),
    "mappings and a list": ([{"a": 1.0, "b": 2.0}, [1.0, 2.0]], "row 0 of X has names, but row 1 has none"),
    "two keys of one text": (
        [{"a": 1.0, "b": 2.0, 0: 1, "0": 2}],
        "row 0 of X has two keys that both read '0'; rename one",
    ),
    "generator": (iter([[1.0, 2.0]]), "X must be an array, a list of rows or a data frame"),
    "same name twice": (
        pd.DataFrame(np.ones((2, 3)), columns=["a", "b", "a"]),
        "X has more than one column named 'a'; rename or drop the others",
    ),
}


@pytest.mark.parametrize(("rows", "message"), BAD_MANY.values(), ids=list(BAD_MANY))
def test_of_many_rows_with_a_bad_one_none_is_taken(rows, message, framed, state):
    framed.update_many(ROWS[:13])
    before = state(framed)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        framed.update_many(rows)
    assert str(caught.value).endswith("; no row was taken; row 0 would be row 13 of the stream")
    assert state(framed) == before
    assert framed.update_many(ROWS[13:]) == STEPS[13:]


def test_a_warning_made_an_error_changes_nothing(framed, state):
    before = state(framed)
    with pytest.raises(DensDiffWarning, match="'noise'"):
        framed.update_many(named(ROWS, noise=ROWS[:, 0]))
    assert state(framed) == before


@pytest.mark.parametrize("update", ["update_many", "update"])
@pytest.mark.hostile(20)
def test_precision_lost_in_a_row_is_a_warning(update, plain):
    with pytest.warns(DensDiffWarning, match=r"precision lost in column 'x0' of ."):
        getattr(plain, update)([[2**60 + 1, 1]])


def test_values_far_beyond_the_reference_have_a_score():
    monitor = made(REFERENCE)
    with np.errstate(all="raise"):
        steps = monitor.update_many(np.array([[1e300, -1e300], [1.7e308, 0.0]] * W))
    assert first_alarm(steps) == W - 1
    assert all(np.isfinite(step.score) for step in steps[W - 1 :])
