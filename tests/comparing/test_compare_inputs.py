"""compare on tables and files that nobody should have written; row numbers as in test_hostile.py."""

import datetime
import io
import warnings
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn

import densdiff as dd
from densdiff.comparing.findings import RegionDifference
from densdiff.comparing.wording import condition_text
from densdiff.core.rules import Condition
from densdiff.io import files

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"quoted\" 'twice'",
    "{{ 7 * 7 }}{% raw %}",
    "\u202etfel ot thgir",
    "two\nlines",
    "\x1b[31mred\x1b[2J",
    "\x00nul",
    "$\\frac{1}{2}$",
    "n" * 10_000,
    "",
]


def compared(a, b, **settings):
    return dd.compare(a, b, **{"n_permutations": 39, "random_state": 0, **settings})


def quietly(a, b, **settings):
    """The result, whatever is warned of; it is in `warnings` too."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", dd.DensDiffWarning)
        found = compared(a, b, **settings)
    assert {str(each.message) for each in caught} <= set(found.warnings)
    return found


def refusal(a, b, **settings):
    with pytest.raises(dd.InputError) as caught:
        compared(a, b, **settings)
    assert str(caught.value).isprintable()
    return str(caught.value)


def numbers(seed, n=30, shift=0.0):
    return np.random.default_rng(seed).normal(size=n) + shift


def words(seed, n=30, p=0.5):
    return np.where(np.random.default_rng(seed).random(n) < p, "u", "v").astype(object)


def lines(rows):
    return pd.DataFrame(rows).to_json(orient="records", lines=True, double_precision=15)


FRAMES = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": lambda rows: pa.table(rows)}
FILES = {
    "csv": lambda rows, path: pd.DataFrame(rows).to_csv(path, index=False),
    "parquet": lambda rows, path: pd.DataFrame(rows).to_parquet(path),
    "jsonl": lambda rows, path: path.write_text(lines(rows)),
}
NAMED = [*FRAMES, *FILES]  # forms of a table with names


@pytest.fixture
def made(tmp_path):
    """A function that makes a table of columns in one of the forms, and the name it goes by in messages."""

    def make(form, rows, name="A"):
        if form in FRAMES:
            return FRAMES[form](rows), name
        path = tmp_path / f"{name}.{form}"
        if form == "npy":
            np.save(path, np.column_stack(list(rows.values())))
        else:
            FILES[form](rows, path)
        return path, path.name

    return make


def as_parquet(table):
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def good(put, name="A.csv"):
    return put("x\n1.5\n2.5\n0.5\n", name)


@pytest.mark.parametrize("form", NAMED)
def test_row_01_missing_values_are_refused_with_count_place_and_way_out(form, made):
    age = numbers(0)
    age[[17, 20, 25]] = np.nan
    a, where = made(form, {"age": age})
    b, _ = made(form, {"age": numbers(1)}, "B")
    assert refusal(a, b, missing="error") == (
        f'column \'age\' of {where}: 3 missing values, first at row 17; use missing="drop" or missing="level"'
    )
    found = compared(a, b)
    note = f"missing values are a level of their column; how often, in {where} and "
    assert found.warnings[0].startswith(note)
    assert found.warnings[0].endswith(": 'age' 10.0 % and 0.0 %")
    assert [(rate.share_a, rate.share_b) for rate in found.missing] == [(0.1, 0.0)]
    assert found.to_dict() == compared(a, b, missing="level").to_dict()
    age[[17, 20]] = 0.0
    a, where = made(form, {"age": age})
    assert refusal(a, b, missing="error") == (
        f'column \'age\' of {where}: 1 missing value, at row 25; use missing="drop" or missing="level"'
    )


def test_row_01_arrays(made):
    a = np.column_stack([numbers(0), numbers(1)])
    a[[4, 9], 1] = np.nan
    path, _ = made("npy", {"x0": a[:, 0], "x1": a[:, 1]})
    rest = '2 missing values, first at row 4; use missing="drop" or missing="level"'
    assert refusal(a, a[::-1], missing="error") == f"column 'x1' of A: {rest}"
    assert refusal(path, a, missing="error") == f"column 'x1' of A.npy: {rest}"
    masked = np.ma.masked_invalid(a)
    assert refusal(masked, a, missing="error") == f"column 'x1' of A: {rest}"


@pytest.mark.parametrize("form", NAMED)
def test_row_01_rows_dropped_are_told_for_each_table(form, made):
    a, b = {"x": numbers(0), "k": words(2)}, {"x": numbers(1), "k": words(3)}
    a["x"][[1, 5]] = np.nan
    a["k"][5:8] = None
    b["k"][0] = None
    (left, of_a), (right, of_b) = made(form, a), made(form, b, "B")
    found = quietly(left, right, missing="drop")
    assert f"rows with missing values were dropped: 4 of {of_a} and 1 of {of_b}" in found.warnings
    whole_a, whole_b = (pd.DataFrame(rows).dropna() for rows in (a, b))
    expected = compared(whole_a, whole_b)
    assert found.distance.normalized == pytest.approx(expected.distance.normalized, rel=1e-9)
    assert found.test.pvalue == expected.test.pvalue
    assert (found.n_x, found.n_y) == (30, 30)


@pytest.mark.parametrize("form", NAMED)
def test_row_02_missing_in_one_table_only_is_a_finding(form, made):
    a, b = {"k": words(2, 60)}, {"k": words(3, 60)}
    b["k"][:20] = None
    (left, _), (right, where) = made(form, a), made(form, b, "B")
    message = refusal(left, right, missing="error")
    assert message.startswith(f"column 'k' of {where}: 20 missing values, first at row 0; use missing=")
    found = compared(left, right)
    (rate,) = found.missing
    assert (rate.name, rate.share_a, rate.share_b, rate.differs) == ("k", 0.0, 1 / 3, True)
    assert found.columns[0].direction.startswith("missing 0.0 % -> 33.3 %, ")
    dropped = quietly(left, right, missing="drop")
    assert dropped.missing == found.missing
    assert dropped.columns[0].direction == "missing 0.0 % -> 33.3 %"  # its words are those of the rows that have any
    for each in (found, dropped):
        assert each.differ
        assert each.columns[0].differs
        assert each.total_variation.value >= each.columns[0].total_variation >= 1 / 3


@pytest.mark.parametrize("frame", ["pandas", "polars", "pyarrow", "dict", "rows"])
def test_row_02_missing_booleans_stay_booleans(frame):
    values = [True, None, *[False] * 20, *[True] * 18]
    a = {
        "pandas": pd.DataFrame({"k": pd.array(values, dtype="boolean")}),
        "polars": pl.DataFrame({"k": values}),
        "pyarrow": pa.table({"k": values}),
        "dict": {"k": values},
        "rows": [{} if value is None else {"k": value} for value in values],
    }[frame]
    b = {"k": [True, False] * 20}
    found = compared(a, b, missing="level")
    assert [(column.name, column.kind) for column in found.columns] == [("k", "category")]
    assert set(found.columns[0].picture.levels) == {"(missing)", "False", "True"}
    assert quietly(a, b, missing="drop").columns[0].picture.levels == ("False", "True")


@pytest.mark.parametrize("missing", ["error", "drop", "level"])
@pytest.mark.parametrize("form", [*FRAMES, "csv", "parquet"])
def test_row_03_infinite_values_are_named(form, missing, made):
    x = numbers(0)
    x[[3, 7]] = -np.inf, np.inf
    a, where = made(form, {"x": x, "y": numbers(1)})
    message = f"column 'x' of {where}: 2 infinite values, first -inf at row 3; drop or correct those rows first"
    assert refusal(a, {"x": numbers(2), "y": numbers(3)}, missing=missing) == message


def test_row_03_numbers_too_large_for_a_float_in_files(put):
    assert refusal(put("x\n1\n1e999\n2\n", "A.csv"), good(put, "B.csv")) == (
        "column 'x' of A.csv: 1 infinite value, inf at row 1; drop or correct those rows first"
    )
    assert refusal(put('{"x": 1}\n{"x": 1e999}\n', "A.jsonl"), good(put, "B.csv")).startswith(
        "column 'x' of A.jsonl: inf at row 1 is infinite"
    )
    assert "column 'x0' of A: 1 infinite value, inf at row 1" in refusal([1, 10**400, 2], [1.0, 2.0])


@pytest.mark.parametrize("form", NAMED)
def test_row_04_a_column_without_values_is_left_out(form, made):
    empty = np.full(30, None, dtype=object) if form in ("polars", "pyarrow", "jsonl") else np.full(30, np.nan)
    a, of_a = made(form, {"gone": empty, "x": numbers(0)})
    b, _ = made(form, {"gone": numbers(1), "x": numbers(2)}, "B")
    found = compared(a, b)
    assert found.left_out == [("gone", f"all values are missing in {of_a}")]
    second = "B" if form in FRAMES else of_a
    assert compared(b, a).left_out == [("gone", f"all values are missing in {second}")]
    assert [column.name for column in found.columns] == ["x"]
    assert [column.name for column in compared(a, b, missing="drop").columns] == ["x"]
    assert f"gone: all values are missing in {of_a}" in str(found)
    assert [(rate.name, rate.share_a, rate.share_b, rate.differs) for rate in found.missing] == [("gone", 1, 0, True)]
    assert found.differ
    assert found.reasons == [f"column gone has no values in {found.names[0]}"]
    assert found.answer.startswith(f"Column gone has no values in {found.names[0]}; no other difference was found ")
    b, of_b = made(form, {"gone": empty, "x": numbers(2)}, "B")
    neither = compared(a, b)
    assert neither.left_out == [("gone", f"all values are missing in {of_a} and {of_b}")]
    assert neither.missing == []
    assert [column.name for column in neither.columns] == ["x"]
    a, of_a = made(form, {"gone": empty})
    message = f"no column is left to compare: 'gone', all values are missing in {of_a}"
    assert refusal(a, {"gone": numbers(1)}) == message


@pytest.mark.parametrize("values", [np.ones(30), np.full(30, "a"), np.ones(30, dtype=bool)], ids=["1", "a", "True"])
def test_row_05_a_constant_column_contributes_nothing_and_is_noted(values):
    x, y = numbers(0), numbers(1, shift=0.5)
    alone = compared({"x": x}, {"x": y})
    found = compared({"c": values, "x": x}, {"c": values, "x": y})
    assert "column 'c' is constant and equal in both; it contributes nothing" in found.warnings
    column = next(each for each in found.columns if each.name == "c")
    assert (column.normalized, column.interval[0], column.pvalue_adjusted, column.differs) == (0.0, 0.0, 1.0, False)
    other = next(each for each in found.columns if each.name == "x")
    assert other.normalized == alone.columns[0].normalized
    assert other.pvalue_adjusted == alone.columns[0].pvalue_adjusted
    nothing = compared({"c": values}, {"c": values})
    assert (nothing.distance.normalized, nothing.test.pvalue, nothing.differ) == (0.0, 1.0, False)
    assert nothing.to_dict()["columns"][0]["pvalue"] == 1.0


def test_row_05_many_constant_columns_are_counted():
    rows = {f"c{j}": np.ones(5) for j in range(9)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        found = compared(rows, rows)
    notes = [note for note in found.warnings if "constant" in note]
    assert len(notes) == 6
    assert notes[-1] == "4 more columns are constant and equal"


def test_row_06_two_constants_are_different_and_have_no_density():
    found = compared({"c": np.ones(30)}, {"c": np.zeros(30)})
    assert found.differ
    assert found.test.pvalue == found.columns[0].pvalue == 1 / 40
    assert found.effect == "very large"
    assert "column 'c' is 1 in all of A and 0 in all of B; point masses have no density" in found.warnings
    assert found.columns[0].direction == "1 -> 0 in every row"
    assert found.to_json()
    levels = compared({"c": ["a"] * 30}, {"c": ["b"] * 30})
    assert levels.columns[0].normalized == levels.distance.normalized == 1.0
    assert levels.columns[0].direction == "a -> b in every row"


def test_row_07_a_column_constant_in_one_table_only():
    found = compared({"c": np.ones(30)}, {"c": numbers(0)})
    assert 0 < found.distance.normalized <= 1
    assert found.columns[0].differs
    assert found.to_json()
    levels = compared({"c": ["a"] * 30}, {"c": ["a", "b"] * 15})
    assert levels.columns[0].differs
    assert levels.columns[0].direction in (
        "a 100.0 % -> 50.0 %, b 0.0 % -> 50.0 %",
        "b 0.0 % -> 50.0 %, a 100.0 % -> 50.0 %",
    )


def test_row_08_ties_are_ordinary():
    random = np.random.default_rng(0)
    rows = random.integers(0, 4, size=(400, 1)).astype(float)
    rows[:200, 0] = np.where(random.random(200) < 0.95, 0.0, rows[:200, 0])
    pvalues = []
    for k in range(12):
        order = random.permutation(200)
        found = compared(rows[order[:100]], rows[order[100:]], random_state=k)
        assert found.to_json()
        pvalues.append(found.columns[0].pvalue)
    assert 0.2 < np.mean(pvalues) < 0.85
    assert sum(p <= 0.05 for p in pvalues) <= 2
    assert compared(rows[:200], rows[200:]).differ


@pytest.mark.parametrize("form", ["dict", "pandas", "csv", "parquet"])
def test_row_09_copies_of_rows_are_warned_of_and_make_nothing_more_significant(form, made):
    a, b = ({"x": numbers(seed), "z": numbers(seed + 1), "k": words(seed)} for seed in (0, 10))
    plain = compared(a, b)
    assert not plain.differ
    copies = [
        made(form, {name: np.repeat(of, 10) for name, of in rows.items()}, where)[0]
        for rows, where in ((a, "A"), (b, "B"))
    ]
    with pytest.warns(dd.DensDiffWarning, match="every row occurs 10 times and is counted once"):
        found = compared(*copies)
    assert any("copies are not independent, so" in note for note in found.warnings)
    assert found.test.pvalue == plain.test.pvalue
    assert [(c.name, c.pvalue_adjusted) for c in found.columns] == [(c.name, c.pvalue_adjusted) for c in plain.columns]
    assert [c.normalized for c in found.columns] == [c.normalized for c in plain.columns]
    assert found.pairs == plain.pairs == []
    assert found.regions == plain.regions == []
    assert (found.n_x, found.n_y) == (300, 300)


@pytest.mark.parametrize("form", NAMED)
def test_row_10_a_table_compared_with_itself(form, made):
    rows = {"x": numbers(0), "k": words(1)}
    table, where = made(form, rows)
    found = compared(table, table)
    assert (found.distance.normalized, found.test.pvalue, found.differ) == (0.0, 1.0, False)
    assert all(column.pvalue == 1.0 and column.normalized == 0.0 for column in found.columns)
    assert f"{where} and {where if where != 'A' else 'B'} hold the same rows: is a sample compared with itself?" in (
        found.warnings
    )
    assert found.regions == found.pairs == []


def test_row_10_arrays():
    rows = np.column_stack([numbers(0), numbers(1)])
    found = compared(rows, rows)
    assert (found.distance.normalized, found.test.pvalue) == (0.0, 1.0)


def test_row_11_one_row_is_too_few(put):
    assert refusal({"x": [1.0]}, {"x": [1.0, 2.0]}) == "A has 1 data row; each table needs at least 2"
    assert refusal({"x": [1.0, 2.0]}, {"x": []}) == "B has 0 data rows; each table needs at least 2"
    assert refusal(good(put), put("x\n1\n")) == "B.csv has 1 data row; each table needs at least 2"


def test_row_13_files_without_rows(put):
    a = good(put)
    assert refusal(a, put("x\n")) == "B.csv has 0 data rows"
    assert refusal(a, put("")) == "B.csv is empty"
    assert refusal(put("", "E.jsonl"), a) == "E.jsonl is empty"
    empty = as_parquet(pa.table({"x": pa.array([], pa.float64())}))
    assert refusal(a, put(empty, "B.parquet")) == "B.parquet has 0 data rows"
    for frame in (pd.DataFrame({"x": []}), pl.DataFrame({"x": []}), pa.table({"x": pa.array([], pa.float64())})):
        assert refusal(a, frame) == "B has 0 data rows; each table needs at least 2"
    assert refusal(pd.DataFrame(), a).startswith("A has ")


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "uint8", "int64", "bool"])
def test_row_19_narrow_numbers_have_the_answer_of_wide_ones(dtype):
    random = np.random.default_rng(0)
    high = 2 if dtype == "bool" else 9
    a, b = (random.integers(0, high, size=(30, 1)).astype(dtype) for _ in range(2))
    assert compared(a, b).to_dict() == compared(a.astype(float), b.astype(float)).to_dict()


def test_row_19_narrow_numbers_of_frames():
    values = [numbers(seed).astype(np.float32) for seed in (0, 1)]
    expected = compared(*({"x": of.astype(float)} for of in values)).to_dict()
    for frame in (pd.DataFrame, pl.DataFrame, pa.table):
        assert compared(*(frame({"x": of}) for of in values)).to_dict() == expected


@pytest.mark.parametrize("form", [*FRAMES, "csv", "parquet"])
def test_row_20_whole_numbers_beyond_floats_are_warned_of_once_for_each_table(form, made):
    a, of_a = made(form, {"id": 2**60 + 1000 * np.arange(30), "x": numbers(0)})
    b, of_b = made(form, {"id": 2**60 + 1000 * np.arange(30), "x": numbers(1)}, "B")
    with pytest.warns(dd.DensDiffWarning) as caught:
        found = compared(a, b)
    messages = [str(each.message) for each in caught]
    assert len(messages) == 2
    for message, where in zip(messages, (of_a, of_b), strict=True):
        assert message.startswith(f"precision lost in column 'id' of {where}: integers up to ")
        assert message in found.warnings


@pytest.mark.parametrize("form", [*FRAMES, "parquet"])
def test_row_21_numbers_stored_as_text(form, made):
    a, where = made(form, {"x": np.array([str(i) for i in range(30)], dtype=object)})
    b, _ = made(form, {"x": np.array([str(i) for i in range(30)], dtype=object)}, "B")
    for missing in ("error", "drop", "level"):
        assert refusal(a, b, missing=missing) == (
            f"column 'x' of {where} holds numbers stored as text, first '0' at row 0; numeric columns are needed: cast "
            'it to numbers (pandas: .astype(float), polars: .cast(float)), or give kinds={"x": "number"}'
        )
    nearly = np.array([*(str(i) for i in range(29)), "n/k"], dtype=object)
    a, where = made(form, {"x": nearly})
    message = f"column 'x' of {where}: 'n/k' at row 29 is not a number, but 29 of 30 values are; "
    assert refusal(a, b).startswith(message)


@pytest.mark.parametrize("form", NAMED)
def test_row_22_text_and_booleans_take_part(form, made):
    a = {"k": words(0), "t": words(1) == "u"}
    b = {"k": words(2, p=0.05), "t": words(3) == "u"}
    found = compared(made(form, a)[0], made(form, b, "B")[0], names=("A", "B"))
    assert found.to_dict() == compared(a, b).to_dict()
    assert {column.name: column.kind for column in found.columns} == {"k": "category", "t": "category"}
    assert found.columns[0].name == "k"
    assert found.columns[0].differs


@pytest.mark.parametrize("form", NAMED)
def test_row_22_a_column_that_names_its_rows_is_left_out(form, made):
    rows = [
        {"id": np.array([f"{part}{i}" for i in range(30)], dtype=object), "k": words(i)} for i, part in enumerate("ab")
    ]
    a, b = (made(form, of, where)[0] for of, where in zip(rows, "AB", strict=True))
    found = quietly(a, b)
    assert found.left_out == [("id", "almost every row has a level of its own")]
    assert any(
        note.startswith("columns left out because almost every row has a level of its own") for note in found.warnings
    )
    only = [made(form, {"id": of["id"]}, where)[0] for of, where in zip(rows, "AB", strict=True)]
    assert refusal(*only).startswith("no column is left to compare: 'id', almost every row has a level of its own; ")


def test_row_22_names_of_rows_that_both_tables_hold_are_left_out_too():
    """The same customers in both months: each name twice in all, once in each table."""
    names = [f"u{i}" for i in range(30)]
    a, b = ({"id": names, "x": numbers(seed)} for seed in (0, 1))
    found = quietly(a, b)
    assert found.left_out == [("id", "almost every row has a level of its own")]
    alone = compared({"x": a["x"]}, {"x": b["x"]})
    assert (found.distance.squared, found.test.pvalue) == (alone.distance.squared, alone.test.pvalue)
    several = quietly(a | {"id": names}, b | {"id": names[:10] * 3})  # in one table they name no rows
    assert several.left_out == []


def test_rows_by_name_are_the_columns_they_make():
    columns = {"x": numbers(0), "k": words(0), "n": np.arange(30) % 7, "t": np.arange(30) % 2 == 0}
    other = pd.DataFrame({name: values[::-1] for name, values in columns.items()} | {"x": numbers(1)})
    rows = pd.DataFrame(columns)[["n", "k", "t", "x"]].to_dict("records")
    assert compared(other, rows).to_dict() == compared(other, columns).to_dict()
    nested = [{"x": 1.0, "k": [1]}, {"x": 2.0, "k": [2]}]
    assert refusal(nested, nested).startswith("column 'k' of A holds nested values, first [1] at row 0; ")
    objects = {"x": [{"u": 1}, {"u": 2}]}
    assert refusal(objects, objects).startswith("column 'x' of A holds nested values, first {'u': 1} at row 0; ")


def test_equal_numbers_among_levels_are_one_level_whatever_their_type():
    ints, floats = (pd.DataFrame({"k": pd.Categorical(np.tile([1, 2, 3], 10).astype(of))}) for of in (int, float))
    found = quietly(ints, floats)
    assert found.columns[0].normalized == 0
    assert found.to_dict() == quietly(ints, ints).to_dict()
    mixed = [{"k": np.array([one, 2.5, "u"] * 10, dtype=object)} for one in (1, 1.0)]
    assert quietly(*mixed).columns[0].normalized == 0


def test_names_and_levels_that_cannot_be_seen_are_quoted():
    a, b = {"": ["", "u"] * 20}, {"": ["u", "u "] * 20}
    found = compared(a, b)
    assert "'' 50.0 % -> 0.0 %" in found.columns[0].direction
    assert "'u ' 0.0 % -> 50.0 %" in found.columns[0].direction
    assert condition_text(Condition(0, levels=(0,)), [""], [("", "u", "u ")]) == "'' = ''"
    assert condition_text(Condition(0, levels=(0, 1)), [""], [("", "u", "u ")]) == "'' != 'u '"


@pytest.mark.parametrize(
    ("column", "other", "message"),
    [
        ([None, *numbers(0), np.inf], numbers(1), "column 'x' of A: 1 infinite value, inf at row 31; "),
        ([None, *"123456789", "w"] * 3, numbers(1), "column 'x' of A: 'w' at row 10 is not a number, but 27 of 30 "),
        ([None] * 9 + ["1", "2"] * 2, ["u", "v"], "column 'x' of A holds numbers stored as text, first '1' at row 9; "),
    ],
    ids=["infinite", "a word", "numbers as text"],
)
def test_rows_keep_their_numbers_when_others_would_be_dropped(column, other, message):
    given = {"x": np.array(column, dtype=object)}
    assert refusal(given, {"x": other}, missing="drop").startswith(message)


def test_an_infinite_value_in_a_dropped_row_goes_with_it():
    a = {"x": np.r_[numbers(0), np.inf], "y": np.r_[numbers(1), np.nan]}
    found = quietly(a, {"x": numbers(2), "y": numbers(3)}, missing="drop")
    assert "rows with missing values were dropped: 1 of A and 0 of B" in found.warnings


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([0], "columns must be a list of names as strings, such as '0'; got 0"),
        ([None], "columns must be a list of names as strings; got None"),
        (3, "columns must be a list of names; got 3"),
    ],
)
def test_columns_that_are_no_texts_are_named(columns, message):
    table = pd.DataFrame({0: numbers(0), 1: numbers(1)})
    assert refusal(table, table, columns=columns) == message


def test_values_missing_at_random_do_not_move_the_column():
    """A fill by one value would be a point mass, and the largest difference of all."""
    a = numbers(0, 300)
    a[::7] = np.nan
    found = {column.name: column for column in quietly({"x": a}, {"x": numbers(1, 300)}, missing="level").columns}
    alone = compared({"x": a[~np.isnan(a)]}, {"x": numbers(1, 300)}).columns[0]
    assert found["x"].normalized == pytest.approx(alone.normalized, abs=0.01)
    assert found["x"].pvalue > 0.05
    assert found["x"].direction == "missing 14.3 % -> 0.0 %"  # but how often it is missing differs
    assert list(found) == ["x"]


def test_notes_call_the_tables_a_and_b():
    assert any(
        "(A (3, 8), B (3, 8))" in note for note in quietly(*np.random.default_rng(0).normal(size=(2, 3, 8))).warnings
    )
    found = compared(pd.Series(numbers(0), name="u"), pd.Series(numbers(1), name="v"))
    assert found.warnings == ("'u' of A is compared with 'v' of B",)


def test_row_22_categories_with_levels_that_no_row_has():
    a = pd.DataFrame({"k": pd.Categorical(words(0), categories=["u", "v", "w"])})
    b = pl.DataFrame({"k": words(1)}).with_columns(pl.col("k").cast(pl.Categorical))
    found = compared(a, b)
    assert found.to_dict() == compared({"k": words(0)}, {"k": words(1)}).to_dict()
    assert found.columns[0].picture.levels == ("u", "v")
    whole = compared(*(pd.DataFrame({"k": pd.Categorical([3, 10] * 15)}) for _ in range(2)))
    assert whole.columns[0].kind == "category"
    assert whole.columns[0].picture.levels == ("10", "3")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [datetime.date(2020, 1, 1)] * 3,
            "no column is left to compare: 'q', dates or times; to compare one all the same, give "
            'kinds={"q": "number"}',
        ),
        (
            np.array([1, 2, 3], dtype="m8[s]"),
            "no column is left to compare: 'q', dates or times; to compare one all the same, give "
            'kinds={"q": "number"}',
        ),
        (
            np.array([1j, 2, 3]),
            "column 'q' of A holds complex numbers, first 1j at row 0; pass the real and the imaginary part as two "
            "columns",
        ),
        (
            np.array([{"a": 1}] * 3, dtype=object),
            "column 'q' of A holds nested values, first {'a': 1} at row 0; give each entry a column of its own",
        ),
        ([[1, 2]] * 3, "column 'q' of A has shape (3, 2); one value for each row is needed"),
    ],
    ids=["date", "duration", "complex", "nested", "lists"],
)
@pytest.mark.parametrize("missing", ["error", "level"])
def test_row_23_other_values_are_refused_with_a_hint(values, message, missing):
    assert refusal({"q": values}, {"q": values}, missing=missing) == message


def test_row_23_frames_and_files(put):
    day = datetime.datetime(2020, 1, 1)
    tables = {
        "no column is left to compare: 'q', dates or times": [
            pd.DataFrame({"q": [day] * 3}),
            pl.DataFrame({"q": [day] * 3}),
            pa.table({"q": [day] * 3}),
        ],
        "column 'q' of A holds nested values, first ": [
            pl.DataFrame({"q": [{"a": 1}] * 3}),
            pa.table({"q": [[1, 2]] * 3}),
            pd.DataFrame({"q": [[1]] * 3}),
        ],
    }
    for message, given in tables.items():
        for table in given:
            assert refusal(table, table).startswith(message)
    dated = put("q\n2020-01-01\n2020-01-02\n2020-01-03\n")
    assert refusal(dated, dated).startswith("no column is left to compare: 'q', dates or times")
    nested = put('{"q": [1]}\n{"q": [2]}\n', "B.jsonl")
    assert "nested" in refusal(nested, nested)


def test_row_23_decimals_are_numbers():
    a, b = ([Decimal(str(round(value, 3))) for value in numbers(seed)] for seed in (0, 1))
    expected = compared(*({"x": [float(value) for value in of]} for of in (a, b))).to_dict()
    for frame in (dict, pd.DataFrame, pl.DataFrame, pa.table):
        assert compared(frame({"x": a}), frame({"x": b})).to_dict() == expected


@pytest.mark.parametrize("form", NAMED)
def test_row_24_columns_are_matched_by_name_and_others_listed(form, made):
    k, other = words(0), words(1, p=0.1)
    a, of_a = made(form, {"gone": numbers(0), "k": k, "t": k})
    b, of_b = made(form, {"t": other, "new": numbers(1), "k": other}, "B")
    found = quietly(a, b)
    assert found.left_out == [("gone", f"only in {of_a}"), ("new", f"only in {of_b}")]
    assert f"columns left out: 'gone' only in {of_a}, 'new' only in {of_b}; compared: 'k', 't'" in found.warnings
    assert sorted(column.name for column in found.columns) == ["k", "t"]
    a, _ = made(form, {"u": numbers(0)})
    b, _ = made(form, {"v": numbers(0)}, "B")
    assert refusal(a, b) == (
        f"{of_a} and {of_b} have no column in common: {of_a} has 'u'; {of_b} has 'v'; rename the columns to match"
    )


def test_row_24_arrays_of_different_widths():
    message = "A has shape (4, 2) and B has shape (4, 3); both need the same number of columns"
    assert refusal(np.ones((4, 2)), np.ones((4, 3))) == message


def test_row_25_duplicate_columns_are_listed(put):
    good_frame = pd.DataFrame({"a": numbers(0)})
    twice = pd.DataFrame(np.ones((3, 4)), columns=["a", "b", "a", "b"])
    assert refusal(twice, good_frame) == "A has more than one column named 'a', 'b'; rename or drop the others"
    arrow = pa.table([[1.0], [2.0]], names=["a", "a"])
    assert refusal(good_frame, arrow) == "B has more than one column named 'a'; rename or drop the others"
    assert refusal(good_frame, put("a,a\n1,2\n")).startswith("B.csv has more than one column named 'a'; rename them")
    assert refusal(good_frame, put(as_parquet(arrow), "B.parquet")).startswith("B.parquet has more than one column")
    assert (
        refusal({1: [1.0, 2.0], "1": [1.0, 2.0]}, good_frame) == "A has keys that read the same: '1', '1'; rename one"
    )


@pytest.mark.parametrize("form", NAMED)
def test_row_26_numbers_in_one_table_and_text_in_the_other(form, made):
    number, of_number = made(form, {"q": numbers(0)}, "A")
    text, of_text = made(form, {"q": words(0)}, "B")
    message = f"no column is left to compare: 'q', numbers in {of_number} and text in {of_text}"
    assert refusal(number, text) == message
    if form in FRAMES:
        of_number, of_text = of_text, of_number
    assert refusal(text, number) == f"no column is left to compare: 'q', text in {of_text} and numbers in {of_number}"
    number, of_number = made(form, {"q": numbers(0), "x": numbers(1)}, "A")
    text, of_text = made(form, {"q": words(0), "x": numbers(2)}, "B")
    found = quietly(number, text)
    assert found.schema_changes.other_kind == (("q", "number", "text"),)
    assert found.left_out == [("q", f"numbers in {of_number} and text in {of_text}")]
    note = f"columns left out because their kind differs: 'q', numbers in {of_number} and text in {of_text}"
    assert f'{note}; to compare one, give kinds={{"q": "category"}}' in found.warnings
    assert [column.name for column in found.columns] == ["x"]


def test_row_26_booleans_beside_numbers_are_numbers():
    found = compared({"q": [True, False] * 15}, {"q": [1, 0] * 15})
    assert found.columns[0].kind == "number"
    assert found.columns[0].normalized == 0.0


def test_row_27_semicolons_and_decimal_commas(put):
    values = [1.5, -2.25, 0.5, 3.75, 10.5]
    commas = put("x;k\n" + "".join(f"{str(v).replace('.', ',')};u\n" for v in values), "A.csv")
    points = put("x,k\n" + "".join(f"{v},u\n" for v in values))
    found = quietly(commas, points)
    assert (found.distance.normalized, found.test.pvalue) == (0.0, 1.0)
    thousands = put("a;b\n1,500;2\n12,000;3\n")
    assert "give decimal=',' if it is a decimal comma" in refusal(thousands, points)


def test_row_28_ragged_rows(put):
    assert (
        refusal(good(put), put("x,y\n1,2\n3\n")) == "line 3 of B.csv has 1 field, but the first line has 2; correct it"
    )
    assert "rows differ in length, 2 in row 0 and 1 in row 1" in refusal([[1, 2], [3]], [[1, 2], [3, 4]])
    assert refusal({"x": [1.0, 2.0], "y": [1.0]}, {"x": [1.0, 2.0]}) == (
        "columns of A differ in length: 'x' has 2 values, 'y' has 1"
    )


def test_row_29_one_bad_value_far_down(put):
    values = ["1.25"] * 30_002
    values[30_001] = "bad"
    text = "x\n" + "\n".join(values) + "\n"
    assert refusal(good(put), put(text)).startswith("column 'x' of B.csv: 'bad' at row 30001 is not a number, but ")
    column = np.array(values, dtype=object)
    column[:30_001] = np.arange(30_001).astype(str)
    for frame in (dict, pd.DataFrame, pl.DataFrame, pa.table):
        message = refusal({"x": [1.0, 2.0]}, frame({"x": column}))
        assert message.startswith(
            "column 'x' of B: 'bad' at row 30001 is not a number, but 30001 of 30002 values are; "
        )


def test_row_30_encodings(put):
    marked = put("\ufeffx\n1.5\n2.5\n0.5\n")
    assert quietly(good(put), marked).columns[0].name == "x"
    assert refusal(good(put), put("x\n1\n2\n".encode("utf-16"))) == "B.csv is encoded as UTF-16; save it as UTF-8"
    assert refusal(good(put), put("é\n1\n".encode("latin-1"))).startswith("B.csv is not UTF-8: byte 0xe9 in line 1")
    assert refusal(good(put), put("x\n1\n\x002\n")).startswith("B.csv has a NUL byte in line 3")


def test_row_31_files_that_cannot_be_read(put, tmp_path):
    whole = as_parquet(pa.table({"x": [1.0, 2.0]}))
    a = good(put)
    assert refusal(a, put(whole[:-5], "B.parquet")).startswith("B.parquet is incomplete")
    assert refusal(a, put(whole, "C.csv")) == "C.csv is a Parquet file; rename it to end in .parquet"
    assert refusal(a, tmp_path / "gone.csv").startswith("gone.csv does not exist in the folder ")
    (tmp_path / "folder").mkdir()
    assert refusal(a, tmp_path / "folder").startswith("the folder folder has no table in it")
    assert refusal(3, a) == "A must be an array, a list of rows or a data frame; got 3"
    assert refusal(a, None) == "B must be an array, a list of rows or a data frame; got None"


def test_row_31_a_folder_of_parquet_files_is_a_table(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    x = numbers(0)
    for k, part in enumerate((x[:10], x[10:])):
        pq.write_table(pa.table({"x": part}), folder / f"{k}.parquet")
    found = compared(folder, {"x": numbers(1)})
    assert found.distance.normalized == compared({"x": x}, {"x": numbers(1)}).distance.normalized


def test_row_32_a_small_file_of_many_rows_is_never_read_whole(put):
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_000_000, dtype=np.int32)), pa.array([1.5]))
    packed = as_parquet(pa.table({"x": column.cast(pa.float64())}))
    assert len(packed) < 100_000
    path = put(packed, "B.parquet")
    with sklearn.config_context(working_memory=4):
        with pytest.raises(dd.InputError, match=r"B.parquet needs \d+ MiB of memory, the limit is 4 MiB"):
            files.table(path)
        found = quietly({"x": numbers(0)}, path)
    assert (found.n_x, found.n_y, found.columns[0].differs) == (30, 1_000_000, True)


class Elements(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.add((tag, *(name for name, _ in attrs)))


@pytest.mark.parametrize("form", ["dict", "pandas", "polars", "pyarrow"])
def test_row_33_hostile_names_and_levels_are_text_everywhere(form, made):
    random = np.random.default_rng(0)
    a, b = ({}, {})
    for j, name in enumerate(HOSTILE):
        a[name] = random.choice([HOSTILE[j], "other"], 40, p=[0.9, 0.1]).astype(object)
        b[name] = random.choice([HOSTILE[j], "other"], 40, p=[0.1, 0.9]).astype(object)
    a[HOSTILE[6] + "only"] = a[HOSTILE[0]]
    found = quietly(made(form, a)[0], made(form, b, "B")[0])
    rules = [condition_text(Condition(j, levels=(0,)), HOSTILE, [(name,) for name in HOSTILE]) for j in range(3)]
    found = replace(found, regions=[RegionDifference(rule, (), 0.1, 0.2, (0.0, 0.2), 0.01, 1, 2) for rule in rules])
    assert sorted(column.name for column in found.columns) == sorted(HOSTILE)
    assert all(column.differs for column in found.columns)
    for text in (str(found), found.answer, *map(str, found.regions), *found.warnings):
        assert all(line.isprintable() for line in text.split("\n"))
    assert max(map(len, str(found).split("\n"))) < 600
    page = found._repr_html_()
    tags = {(tag,) for tag in ("p", "b", "table", "tr", "th", "td", "ul", "li")}
    assert Elements(page).found == tags | {("img", "alt", "src")}
    assert all(line.isprintable() for line in page.split("\n"))
    kept = {column["name"] for column in found.to_dict()["columns"]}
    assert kept == set(HOSTILE)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_row_33_hostile_names_in_files(ending, made):
    names = [name for name in HOSTILE if name and "\x00" not in name]
    rows = [{name: words(seed + j) for j, name in enumerate(names)} for seed in (0, 20)]
    found = compared(*(made(ending, of, where)[0] for of, where in zip(rows, "AB", strict=True)))
    assert sorted(column.name for column in found.columns) == sorted(names)
    assert all(line.isprintable() for line in str(found).split("\n"))


def test_row_33_hostile_names_in_messages():
    for name in HOSTILE:
        values = numbers(0)
        values[4] = np.nan
        message = refusal({name: values}, {name: numbers(1)}, missing="error")
        assert "1 missing value, at row 4" in message
        assert len(message) < 250
        assert refusal({"x": values}, {"x": values}, columns=[name]).startswith("A has no column ")


def test_row_42_many_rows_with_a_tiny_shift_lead_with_the_size(put):
    random = np.random.default_rng(0)
    a, b = ({"k": random.random(100_000) < share} for share in (0.5, 0.49))
    found = compared(a, b)
    assert found.test.pvalue <= 0.05
    assert found.columns[0].differs
    low, high = found.distance.normalized_interval
    assert found.answer == "A and B differ, but in too few rows to say in how many; most in k (p <= 0.025)"
    size = f"L2 distance {found.distance.normalized:.3g} [{low:.3g}, {high:.3g}] out of 1"
    assert str(found).split("\n")[1].startswith("  effect      negligible: total variation 0.0")
    assert str(found).split("\n")[1].endswith(size)


@pytest.mark.hostile(9)
def test_row_09_more_copies_than_rows_of_the_distance_are_recognized():
    a, b = ({"x": numbers(seed, 1500), "y": numbers(seed + 7, 1500), "z": numbers(seed + 9, 1500)} for seed in (0, 1))
    single, double = (
        quietly(*({name: np.tile(values, times) for name, values in table.items()} for table in (a, b)))
        for times in (1, 2)
    )
    assert [column.pvalue for column in double.columns] == [column.pvalue for column in single.columns]
    assert double.distance.squared == single.distance.squared
    assert any("every row occurs" in note for note in double.warnings)
