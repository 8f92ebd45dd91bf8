"""What a user sees for input that is refused, repaired or noted; row numbers as in test_hostile.py."""

import datetime
import math
import subprocess
import sys
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from densdiff.data.pair import check_arrays
from densdiff.errors import DensDiffWarning, InputError

RNG = np.random.default_rng(7)
A, B = RNG.normal(size=(60, 2)), RNG.normal(size=(50, 2))
LINE = RNG.normal(size=40)
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
every_frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())


def table(frame, array, names=("a", "b")):
    return frame({name: array[:, j] for j, name in enumerate(names)})


def refusal(call, *args):
    with pytest.raises(InputError) as caught:
        call(*args)
    text = str(caught.value)
    assert "\n" not in text
    return text


@every_frame
def test_frames_equal_arrays(frame):
    from_arrays = check_arrays(A, B)
    both = check_arrays(table(frame, A), table(frame, B))
    np.testing.assert_array_equal(both.x[:], from_arrays.x[:])
    np.testing.assert_array_equal(both.y[:], from_arrays.y[:])
    assert both.names == ("a", "b")
    assert from_arrays.names == ("x0", "x1")
    assert both.notes == from_arrays.notes == ()


@pytest.mark.parametrize("left", FRAMES.values(), ids=FRAMES.keys())
@pytest.mark.parametrize("right", FRAMES.values(), ids=FRAMES.keys())
def test_libraries_mix_and_columns_are_reordered_by_name(left, right):
    both = check_arrays(table(left, A), table(right, B[:, ::-1], ("b", "a")))
    np.testing.assert_array_equal(both.y[:], B)
    assert both.notes == ()


@every_frame
def test_a_frame_lends_its_names_to_an_array(frame):
    assert check_arrays(table(frame, A), B).names == check_arrays(A, table(frame, B)).names == ("a", "b")


@pytest.mark.parametrize(
    "vector", [LINE, LINE.tolist(), pd.Series(LINE), pl.Series(LINE), pa.chunked_array([LINE]), LINE[:, None]]
)
def test_one_dimension_means_one_column(vector):
    np.testing.assert_array_equal(check_arrays(vector, vector[::-1]).x[:], LINE[:, None])


def test_two_series_are_compared_whatever_their_names():
    both = check_arrays(pd.Series(LINE, name="before"), pl.Series("after", LINE + 1))
    assert both.names == ("before",)
    assert both.notes == ("'before' of X is compared with 'after' of Y",)


def test_whole_number_column_names_become_text():
    assert check_arrays(pd.DataFrame(A), pd.DataFrame(B)).names == ("0", "1")


def test_inputs_are_copied_and_never_changed():
    x, y, w = A.copy(), np.asfortranarray(B), np.r_[0.0, np.ones(59)]
    both = check_arrays(x, y, w)
    for mine, theirs in [(both.x[:], x), (both.y[:], y), (both.weights_x, w)]:
        assert not np.shares_memory(mine, theirs)
        assert mine.flags.f_contiguous  # solvers go through the rows column by column
    np.testing.assert_array_equal(x, A)
    np.testing.assert_array_equal(y, B)


@given(
    hnp.arrays(
        st.sampled_from(["f2", "f4", "f8", "i1", "u1", "i4", "?"]),
        st.tuples(st.integers(2, 8), st.integers(1, 3)),
        elements={"allow_nan": False, "allow_infinity": False},
    ),
    st.sampled_from(["array", "fortran", "list", "object", "masked", *FRAMES]),
)
def test_row_19_every_dtype_in_every_container_is_the_float64_answer(array, container):
    names = [f"x{j}" for j in range(array.shape[1])]
    wrap = {
        "array": np.asarray,
        "fortran": np.asfortranarray,
        "list": lambda a: a.tolist(),
        "object": lambda a: a.astype(object),
        "masked": np.ma.masked_array,
    }.get(container, lambda a: table(FRAMES[container], a, names))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DensDiffWarning)  # small samples may have more columns than rows
        both, plain = check_arrays(wrap(array), array), check_arrays(array.astype(float), array.astype(float))
    assert both.x[:].dtype == np.float64
    np.testing.assert_array_equal(both.x[:], array.astype(np.float64))
    assert both.names == plain.names
    assert both.notes == plain.notes
    np.testing.assert_array_equal(both.varying, plain.varying)


def test_checks_works_without_any_frame_library():
    code = """
import sys
sys.modules.update(pandas=None, polars=None, pyarrow=None)  # importing one of them now fails
from densdiff.data.pair import check_arrays
print(check_arrays([1.0, 2.0], [3.0, 4.0]).names)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "('x0',)"


HOLED = [None if row in (17, 20, 24) else float(row) for row in range(25)]
HOLES = {
    "numpy": np.array(HOLED, dtype=float),
    "objects": np.array(HOLED, dtype=object),
    "list": HOLED,
    "masked": np.ma.masked_array(np.arange(25), np.isin(np.arange(25), [17, 20, 24])),
    "pandas": pd.DataFrame({"x0": HOLED}),
    "pandas nullable": pd.DataFrame({"x0": pd.array(HOLED, dtype="Int64")}),
    "pandas NA": pd.DataFrame({"x0": [pd.NA if v is None else v for v in HOLED]}, dtype=object),
    "polars": pl.DataFrame({"x0": HOLED}),
    "polars decimal": pl.DataFrame({"x0": [None if v is None else Decimal(v) for v in HOLED]}),
    "pyarrow": pa.table({"x0": HOLED}),
    "pyarrow boolean": pa.table({"x0": [None if v is None else v > 3 for v in HOLED]}),
}


@pytest.mark.parametrize("data", HOLES.values(), ids=HOLES.keys())
def test_row_01_missing_values_are_counted_and_located(data):
    expected = "3 missing values, first at row 17; drop or fill those rows first"
    assert refusal(check_arrays, data, LINE) == f"column 'x0' of X: {expected}"
    assert refusal(check_arrays, LINE, data) == f"column 'x0' of Y: {expected}"


@pytest.mark.parametrize("dtype", [pl.Null, pl.String, pl.Date])
def test_row_01_a_column_without_any_value_is_missing_whatever_its_type(dtype):
    empty = pl.DataFrame({"a": pl.Series([None] * 4, dtype=dtype)})
    assert "4 missing values, first at row 0" in refusal(check_arrays, empty, LINE)


def test_row_01_further_columns_with_missing_values_are_counted():
    x = np.full((5, 3), 1.0)
    x[2, 1:] = np.nan
    assert "column 'x1' of X: 1 missing value, at row 2, and more in 1 other column;" in refusal(check_arrays, x, x)


@pytest.mark.parametrize("make", [np.asarray, *[lambda a, f=f: table(f, a, ("x0", "x1")) for f in FRAMES.values()]])
@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_row_03_infinite_values_are_named(make, value):
    x = A.copy()
    x[9, 1] = value
    assert f"column 'x1' of Y: 1 infinite value, {value} at row 9;" in refusal(check_arrays, A, make(x))


@pytest.mark.parametrize("value", [Decimal("1e999"), 10**400, 10**5000], ids=["decimal", "int", "int that has no text"])
def test_row_03_numbers_beyond_float64_are_infinite(value):
    assert "infinite value, inf at row 1" in refusal(check_arrays, [1.0, value], LINE)


def test_row_03_long_doubles_are_fine_until_they_exceed_float64():
    x = LINE.astype(np.longdouble)
    np.testing.assert_array_equal(check_arrays(x, LINE + 1).x[:][:, 0], LINE)
    x[4] = np.finfo(np.longdouble).max
    if np.finfo(np.longdouble).max > np.finfo(np.float64).max:
        assert "1 infinite value, inf at row 4" in refusal(check_arrays, x, LINE)


def test_row_05_a_column_constant_and_equal_in_both_is_noted_and_marked():
    both = check_arrays(np.c_[A, np.full(60, 3.0)], np.c_[B, np.full(50, 3.0)])
    assert both.notes == ("column 'x2' is constant and equal in both samples; it contributes nothing",)
    assert both.varying.tolist() == [True, True, False]


def test_row_06_constants_of_different_value_are_point_masses():
    both = check_arrays(np.full(20, 1.0), np.full(30, 2.0))
    assert both.varying.all()
    assert "column 'x0' is 1.0 in all of X and 2.0 in all of Y; point masses have no density" in both.notes[0]


def test_row_07_constant_in_one_sample_still_varies():
    assert check_arrays(np.ones(40), LINE).varying.all()


def test_row_08_heavy_ties_are_noted_with_their_count():
    both = check_arrays(np.arange(200) % 4, np.arange(200) % 3)
    (note,) = both.notes
    assert note.startswith("column 'x0': 4 distinct values in 400 rows; tied values have no density")
    assert note.endswith("rely on the normalized distance")
    assert both.copies == 1


def test_row_08_ties_in_large_samples_are_counted_on_some_rows():
    (note,) = check_arrays(np.arange(30_000) % 7, np.arange(10_000) % 7 + 0.5).notes
    assert "14 distinct values in 10000 rows" in note


def test_row_08_many_tied_columns_do_not_flood_the_notes():
    x = RNG.integers(0, 3, size=(100, 30))
    notes = check_arrays(x, x[:90] + 1).notes
    assert len(notes) == 6
    assert notes[-1] == "25 more columns are heavily tied"


def test_row_09_copied_rows_are_counted():
    x = np.repeat(A, 10, axis=0)
    with pytest.warns(
        DensDiffWarning, match="every row occurs 10 times and is counted once: copies are not independent"
    ) as caught:
        both = check_arrays(RNG.permutation(x), np.repeat(B, 10, axis=0))
    assert both.copies == 10
    assert both.notes == (str(caught[0].message),)


def test_row_09_negative_zero_is_a_copy_of_zero():
    x = np.repeat(np.arange(20.0), 2)
    x[1] = -0.0
    with pytest.warns(DensDiffWarning, match="every row occurs 2 times"):
        assert check_arrays(x, np.repeat(LINE, 2)).copies == 2


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.repeat(np.arange(4.0), 10), np.repeat(np.arange(4.0), 10)),  # ties, not copies
        (np.repeat(A, 2, axis=0), B),
        (np.repeat(A, 2, axis=0), np.repeat(B, 3, axis=0)),
        (np.repeat(A, 2, axis=0)[:-1], np.repeat(B, 2, axis=0)),
        (np.c_[np.repeat(LINE, 2), np.arange(80)], B),  # one column repeats, the rows do not
    ],
)
def test_row_09_is_silent_unless_every_row_occurs_equally_often(x, y):
    assert check_arrays(x, y).copies == 1


@pytest.mark.parametrize("y", [A, A[::-1], pd.DataFrame(A)])
def test_row_10_the_same_rows_twice_are_noted(y):
    assert check_arrays(A, y).notes == ("X and Y hold the same rows: is a sample compared with itself?",)


@pytest.mark.parametrize(("rows", "said"), [(0, "0 rows"), (1, "1 row")])
@pytest.mark.parametrize("make", [np.asarray, *[lambda a, f=f: table(f, a) for f in FRAMES.values()]])
def test_row_11_too_few_rows_state_the_minimum(make, rows, said):
    assert refusal(check_arrays, A, make(B[:rows])) == f"Y has {said}; each sample needs at least 2 rows"


def test_row_11_an_empty_list_has_no_rows():
    assert "X has 0 rows" in refusal(check_arrays, [], LINE)


def test_row_14_more_columns_than_rows_asks_whether_they_are_swapped():
    x = RNG.normal(size=(5, 200))
    with pytest.warns(DensDiffWarning, match=r"X \(5, 200\), Y \(4, 200\)\): are rows and columns swapped\?"):
        both = check_arrays(x, x[:4] + 1)
    assert "200 columns but only 5 + 4 rows" in both.notes[0]


def test_row_18_extreme_scales_pass_unchanged():
    x = A * [1e-200, 1e200]
    np.testing.assert_array_equal(check_arrays(x, B).x[:], x)


BIG = 2**60 + 1


@pytest.mark.parametrize(
    "ids",
    [
        np.array([BIG, 1, 2]),
        np.array([-BIG, 1, 2]),
        np.array([BIG, 1, 2], dtype=np.uint64),
        np.array([BIG, 1, 2], dtype=object),
        [[BIG], [0.5], [2.0]],
        *[frame({"x0": [BIG, 1, 2]}) for frame in FRAMES.values()],
        pl.DataFrame({"x0": pl.Series([BIG, 1, 2], dtype=pl.Int128)}),
    ],
    ids=lambda ids: type(ids).__name__,
)
def test_row_20_integers_beyond_2_53_lose_precision(ids):
    with pytest.warns(DensDiffWarning, match=rf"precision lost in column 'x0' of X: integers up to {BIG} "):
        both = check_arrays(ids, LINE)
    assert "precision lost" in both.notes[0]


def test_row_20_large_floats_and_2_53_itself_are_fine():
    assert check_arrays([[1e200], [2.0]], LINE).notes == ()
    assert check_arrays(np.array([2**53, 0]), LINE).notes == ()


@every_frame
def test_row_21_numbers_stored_as_text(frame):
    text = refusal(check_arrays, frame({"age": ["12", "13"]}), LINE)
    assert "column 'age' of X holds numbers stored as text (in Y: numbers), first '12' at row 0" in text
    assert ".astype(float)" in text
    text = refusal(check_arrays, frame({"age": ["12", None, "n/a", "-"]}), frame({"age": ["1", "2", "3", "4"]}))
    assert "column 'age' of X holds text: 'n/a' at row 2 is not a number (2 of 3 values are not)" in text


@every_frame
def test_row_22_text_is_refused_with_its_first_value(frame):
    text = refusal(check_arrays, LINE, frame({"city": ["Oslo", "Rome"]}))
    assert "column 'city' of Y holds text (in X: numbers), first 'Oslo' at row 0; numeric columns are needed" in text


def test_row_22_a_list_that_mixes_numbers_and_text_names_the_right_column():
    assert "column 'x1' of X holds text" in refusal(check_arrays, [[1, "a"], [2, "b"]], B)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pd.Categorical(["u", "v"]), "holds categories (in Y: numbers), first 'u' at row 0"),
        (pd.Categorical([5, 6]), "holds numbers stored as categories (in Y: numbers), first 5 at row 0"),
        (pl.Series(["u", "v"], dtype=pl.Categorical), "holds categories (in Y: numbers), first 'u'"),
        (pa.array(["u", "v"]).dictionary_encode(), "holds categories (in Y: numbers), first 'u'"),
    ],
)
def test_row_22_categories_are_refused_even_if_they_look_like_numbers(column, said):
    frame = {"Categorical": pd.DataFrame, "Series": pl.DataFrame}.get(type(column).__name__, pa.table)
    assert f"column 'c' of X {said}" in refusal(check_arrays, frame({"c": column}), LINE)


DAY = datetime.datetime(2024, 5, 1)


@pytest.mark.parametrize("values", [[None, DAY], [None, DAY.date()], [None, datetime.timedelta(3)]])
@pytest.mark.parametrize("make", [lambda v: v, *[lambda v, f=f: f({"x0": v}) for f in FRAMES.values()]])
def test_row_23_dates_and_durations_are_refused_with_a_hint(make, values):
    text = refusal(check_arrays, make(values), LINE)
    assert "column 'x0' of X holds dates or durations" in text
    assert "at row 1; turn them into numbers" in text


def test_row_23_numpy_dates_are_refused():
    assert "first 2024-05-01 at row 1" in refusal(check_arrays, np.array(["NaT", "2024-05-01"], dtype="M8[D]"), LINE)


@pytest.mark.parametrize("data", [[1j, 2], np.array([1j, 2]), pd.DataFrame({"z": [1j, 2]})])
def test_row_23_complex_numbers_are_refused_with_a_hint(data):
    text = refusal(check_arrays, data, LINE)
    assert "holds complex numbers" in text
    assert "the real and the imaginary part as two columns" in text


@pytest.mark.parametrize("make", [np.array, list, *[lambda v, f=f: f({"x0": v}) for f in FRAMES.values()]])
def test_row_23_decimals_become_floats(make):
    both = check_arrays(make([Decimal("1.25"), Decimal("-3.50")]), LINE)
    np.testing.assert_array_equal(both.x[:][:, 0], [1.25, -3.5])


@every_frame
@pytest.mark.parametrize("values", [[[1], [2]], [{"k": 1}, {"k": 2}]])
def test_row_23_nested_columns_are_named(frame, values):
    assert "column 'n' of X holds nested values" in refusal(check_arrays, frame({"n": values}), LINE)


@every_frame
def test_row_24_columns_on_one_side_only_are_listed_and_left_out(frame):
    x, y = (
        frame({"a": LINE, "b": LINE, "c": LINE}),
        frame({"d": ["text"] * 30, "b": LINE[:30], "a": LINE[10:]}),
    )
    expected = "columns left out: 'c' only in X, 'd' only in Y; compared: 'a', 'b'"
    with pytest.warns(DensDiffWarning, match=f"^{expected}$"):
        both = check_arrays(x, y)
    assert both.names == ("a", "b")
    np.testing.assert_array_equal(both.y[:], np.c_[LINE[10:], LINE[:30]])


@every_frame
def test_row_24_no_common_column_lists_both_sides(frame):
    text = refusal(check_arrays, frame({"a": LINE}), frame({"b": LINE, "c": LINE}))
    assert "no column in common: X has 'a'; Y has 'b', 'c'" in text


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (pd.DataFrame(A, columns=["k", "k"]), "k"),
        (pd.DataFrame(A, columns=[1, 1]), "1"),
        (pd.DataFrame(A, columns=[1, "1"]), "1"),
        (pa.table([LINE, LINE], names=["k", "k"]), "k"),
    ],
)
def test_row_25_duplicate_names_are_listed(data, name):
    assert f"Y has more than one column named '{name}'" in refusal(check_arrays, A, data)


@every_frame
def test_row_26_a_column_numeric_in_one_and_text_in_the_other_names_both_kinds(frame):
    text = refusal(check_arrays, frame({"age": [1, 2, 3]}), frame({"age": ["1", "x", "3"]}))
    assert "column 'age' of Y holds text (in X: numbers): 'x' at row 1 is not a number" in text


@pytest.mark.parametrize("name", ["red\x1b[31m", "two\nlines", "\u202eevil", "n" * 10_000, "<b>{{7*7}}</b>"])
def test_row_33_hostile_names_are_kept_but_shown_harmless(name):
    assert check_arrays(pd.DataFrame({name: LINE}), LINE[:9]).names == (name,)
    text = refusal(check_arrays, pd.DataFrame({name: [*LINE, None]}), LINE)
    assert text.isprintable()
    assert len(text) < 200


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "got None"),
        ("data.csv", "got 'data.csv'"),
        (3.5, "got 3.5"),
        ({1, 2}, "got an object of type set"),
        ({"a": [1, 2], "b": [1]}, "columns of X differ in length: 'a' has 2 values, 'b' has 1"),
        ((i for i in range(3)), "got an object of type generator"),
        (np.array(3.0), "X has shape ()"),
        (np.zeros((2, 3, 4)), "X has shape (2, 3, 4)"),
        (np.zeros((4, 0)), "X has no columns (shape (4, 0))"),
        (pd.DataFrame(), "X has no columns (shape (0, 0))"),
        ([[1, 2], [3, 4], [5]], "rows differ in length, 2 in row 0 and 1 in row 2"),
        ([1, [2]], "mixes single values and sequences"),
        (sparse.csr_array(A), "X is a sparse matrix of shape (60, 2); pass X.toarray()"),
        (np.zeros(3, dtype=[("a", float)]), "structured array"),
        (pl.LazyFrame({"a": [1.0]}), "X is lazy (LazyFrame); collect it first"),
        (pa.RecordBatch.from_pydict({"b": LINE}), "X has shape (40, 1) and Y has shape (50, 2)"),
        (A[:, :1], "X has shape (60, 1) and Y has shape (50, 2); both need the same number of columns"),
    ],
    ids=lambda case: case if isinstance(case, str) else type(case).__name__,
)
def test_what_is_no_sample_is_refused_by_what_came(data, said):
    assert said in refusal(check_arrays, data, B)


def test_missing_weights_are_ones_and_zero_weights_remove_rows():
    w = np.ones(60)
    w[[3, 7]] = 0
    both = check_arrays(A, B, w)
    np.testing.assert_array_equal(both.x[:], np.delete(A, [3, 7], axis=0))
    np.testing.assert_array_equal(both.weights_x, np.ones(58))
    np.testing.assert_array_equal(both.weights_y, np.ones(50))


@pytest.mark.parametrize("make", [list, pd.Series, pl.Series, pa.array])
def test_weights_come_in_any_vector(make):
    np.testing.assert_array_equal(check_arrays(A, B, None, make(np.arange(1, 51))).weights_y, np.arange(1, 51))


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.ones(3), "weights_x has 3 weights, but X has 60 rows"),
        (np.ones((60, 1)), "weights_x has shape (60, 1); pass it 1-D"),
        (np.r_[1, -2, np.ones(58)], "weights_x must not be negative; got -2.0 at row 1"),
        (np.r_[np.nan, np.ones(59)], "weights_x: 1 missing value, at row 0"),
        (np.r_[np.ones(59), np.inf], "weights_x: 1 infinite value, inf at row 59"),
        (np.eye(60)[0], "weights_x needs at least 2 positive weights; got 1"),
        (["heavy"] * 60, "weights_x holds text"),
        (np.full(60, 1e308), "outside the range that float64 can handle"),
        (2.0, "got 2.0"),
    ],
)
def test_unusable_weights_are_refused(weights, said):
    assert said in refusal(check_arrays, A, B, weights)


def test_warnings_point_at_the_line_of_the_caller():
    with pytest.warns(DensDiffWarning) as caught:
        check_arrays(np.array([BIG, 1, 2]), LINE)
    assert caught[0].filename == __file__


@pytest.mark.hostile(1)
def test_a_list_of_masked_rows_has_missing_values():
    rows = [np.ma.masked_array([1.0, 2.0], [True, False]), [3.0, 4.0], [5.0, 6.0]]
    text = refusal(check_arrays, rows, [[1.0, 2.0], [2.0, 1.0]])
    assert text.startswith("column 'x0' of X: 1 missing value, at row 0;")
