"""compare takes the tables people have at the first try; row numbers as in test_hostile.py."""

import datetime
import json
import uuid
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn

import densdiff as dd
from densdiff.data.judging import IDENTIFIER
from densdiff.data.tables import Request, match_tables
from densdiff.io import files

TABLES = Path(__file__).parents[3] / "shared" / "data" / "tables"
PAIRS = {
    "flights": ("flights_january.csv.gz", "flights_july.csv.gz"),
    "penguins": ("penguins_adelie.csv", "penguins_chinstrap.csv"),
    "seattle": ("seattle_2012.csv", "seattle_2015.csv"),
    "fair": ("fair_none.csv", "fair_some.csv"),
}


def quietly(a, b, **settings):
    """The result, whatever is warned of; it is in `warnings` too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        return dd.compare(a, b, **{"n_permutations": 39, "random_state": 0, **settings})


def matched(a, b, **request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        return match_tables(a, b, Request(**request))


def refusal(a, b, **settings):
    with pytest.raises(dd.InputError) as caught:
        dd.compare(a, b, n_permutations=39, random_state=0, **settings)
    assert str(caught.value).isprintable()
    return caught.value


def numbers(seed, n=120):
    return np.random.default_rng(seed).normal(size=n)


def kinds(tables):
    return {
        name: "number" if levels is None else "category"
        for name, levels in zip(tables.names, tables.levels, strict=True)
    }


def messy(seed, n=120):
    """A table with a column of each kind that is no plain number or category."""
    random = np.random.default_rng(seed)
    start = datetime.datetime(2024, 1 + seed, 1)
    return {
        "row": np.arange(1000 * seed, 1000 * seed + n),
        "day": [(start + datetime.timedelta(days=int(k))).date() for k in random.integers(28, size=n)],
        "stamp": [start + datetime.timedelta(seconds=int(k)) for k in random.integers(10**6, size=n)],
        "at": [datetime.time(int(k)) for k in random.integers(24, size=n)],
        "written": [f"2024-0{1 + seed}-{k:02d} 10:00" for k in random.integers(1, 28, size=n)],
        "user": [f"u{seed}-{k}" for k in range(n)],
        "remark": [f"the parcel number {k // 2} came {k % 2} days late" for k in range(n)],
        "zip": random.choice(["01234", "90210", "10001"], size=n).tolist(),
        "flight": random.choice([15, 16, 700], size=n),
        "spend": np.where(random.random(n) < 0.1, np.nan, random.normal(size=n)),
        "one": np.ones(n),
    }


LEFT_OUT = {
    "row": "row numbers",
    "day": "dates or times",
    "stamp": "dates or times",
    "at": "dates or times",
    "written": "dates or times",
    "user": "almost every row has a level of its own",
    "remark": "free text",
}


def write_csv(table, path):
    table.to_pandas().to_csv(path, index=False)


def write_jsonl(table, path):
    rows = ({name: None if value != value else value for name, value in row.items()} for row in table.to_pylist())
    path.write_text("".join(f"{json.dumps(row, default=str)}\n" for row in rows))


FORMS = {
    "pandas": pa.Table.to_pandas,
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table,
    "csv": write_csv,
    "parquet": pq.write_table,
    "jsonl": write_jsonl,
}


@pytest.fixture
def made(tmp_path):
    """A function that gives a table of pyarrow in one of the forms."""

    def make(form, table, name):
        if form in ("pandas", "polars", "pyarrow"):
            return FORMS[form](table)
        path = tmp_path / f"{name}.{form}"
        FORMS[form](table, path)
        return path

    return make


@pytest.mark.parametrize("form", FORMS)
def test_row_43_a_messy_table_is_compared_at_the_first_try(form, made):
    a, b = (made(form, pa.table(messy(seed)), "AB"[seed]) for seed in (0, 1))
    with pytest.warns(dd.DensDiffWarning) as caught:
        found = dd.compare(a, b, n_permutations=39, random_state=0, names=("A", "B"))
    assert dict(found.left_out) == LEFT_OUT
    assert {column.name: column.kind for column in found.columns} == {
        "zip": "category",
        "flight": "number",
        "spend": "number",
        "one": "number",
    }
    texts = [str(warning.message) for warning in caught]
    starts = (
        "columns left out because they hold dates or times: 'day', 'stamp', 'at', 'written'; to compare one, give "
        'kinds={"day": "number"} (days since 1970-01-01, seconds of times) or kinds={"day": "category"}',
        "columns left out because almost every row has a level of its own, as in an identifier: 'user'; ",
        "columns left out because they hold free text: 'remark'; ",
        'columns left out because they number the rows: \'row\'; to compare one, give kinds={"row": "number"}',
        "columns taken as categories because they hold codes with leading zeros: 'zip'; to take one as numbers, give "
        'kinds={"zip": "number"}',
    )
    for start in starts:
        assert sum(text.startswith(start) for text in texts) == 1
    assert set(texts) <= set(found.warnings)
    assert sum("missing values are a level of their column" in note for note in found.warnings) == 1
    assert "column 'one' is constant and equal in both; it contributes nothing" in found.warnings


@pytest.mark.parametrize("form", FORMS)
def test_rows_23_and_44_kinds_take_columns_in(form, made):
    a, b = (made(form, pa.table(messy(seed)), "AB"[seed]) for seed in (0, 1))
    given = {"zip": "number", "flight": "category", "st*": "number", "day": "category", "row": "number", "at": "number"}
    tables = matched(a, b, kinds=given | {"user": "category", "written": "number"}, exclude=["spend", "remark", "one"])
    assert tables.left_out == ()
    assert kinds(tables) == {
        "row": "number",
        "day": "category",
        "stamp": "number",
        "at": "number",
        "written": "number",
        "user": "category",
        "zip": "number",
        "flight": "category",
    }
    rows = messy(0)
    stamps = tables.a[:][:, tables.names.index("stamp")]
    expected = [(stamp - datetime.datetime(1970, 1, 1)).total_seconds() / 86400 for stamp in rows["stamp"]]
    np.testing.assert_allclose(stamps, expected, rtol=1e-14)
    assert tables.a[:][:, tables.names.index("zip")].tolist() == [float(code) for code in rows["zip"]]
    assert tables.a[:][:, tables.names.index("at")].tolist() == [3600.0 * time.hour for time in rows["at"]]
    assert tables.levels[tables.names.index("flight")] == ("15", "16", "700")
    assert "2024-01-01" in tables.levels[tables.names.index("day")]


def test_row_23_periods_blanks_and_other_objects():
    months = pd.period_range("2024-01", periods=120, freq="M")
    other = pd.DataFrame({"p": months, "b": ["2024-01-01", ""] * 60, "x": numbers(1)})
    table = other.assign(u=[uuid.UUID(int=k) for k in range(120)], x=numbers(0))
    found = matched(table, other.assign(u=table["u"]))
    assert dict(found.left_out) == {"p": "dates or times", "b": "dates or times", "u": IDENTIFIER}
    days = matched(table, other, kinds={"p": "number"}, columns=["p", "x"]).a[:][:, 0]
    assert days[:2].tolist() == [19723.0, 19754.0]
    assert matched(table, other, kinds={"p": "category"}, columns="p").levels[0][:2] == ("2024-01-01", "2024-02-01")


def test_rows_by_name_are_numbered_too():
    a, b = ([{"n": k, "x": float(x)} for k, x in enumerate(numbers(seed))] for seed in (0, 1))
    assert matched(a, b).left_out == (("n", "row numbers"),)


@pytest.mark.parametrize("memory", [1024, 1e-3])
def test_row_44_codes_late_in_one_file_make_categories_of_both(memory, tmp_path):
    a, b = tmp_path / "A.csv", tmp_path / "B.csv"
    a.write_text("zip,x\n" + "".join(f"{90000 + k % 7},{k % 11}.5\n" for k in range(3000)) + "01234,1.5\n")
    b.write_text("zip,x\n" + "".join(f"{90000 + k % 7},{k % 11}.5\n" for k in range(3000)))
    with sklearn.config_context(working_memory=memory):
        tables = matched(a, b)
        assert kinds(tables) == {"zip": "category", "x": "number"}
        assert tables.levels[0] == ("01234", *(str(90000 + k) for k in range(7)))
        assert any("codes with leading zeros: 'zip'" in note for note in tables.notes)
        assert kinds(matched(a, b, kinds={"zip": "number"})) == {"zip": "number", "x": "number"}
    assert kinds(matched(b, b)) == {"zip": "number", "x": "number"}
    assert kinds(matched(b, b, kinds={"z*": "category"})) == {"zip": "category", "x": "number"}


def test_row_44_other_questions_take_codes_as_numbers_and_refuse_dates(tmp_path):
    path = tmp_path / "A.csv"
    path.write_text("code\n" + "".join(f"{k % 12:02d}\n" for k in range(40)))
    assert dd.l2_distance(path, np.arange(40.0) % 12, random_state=0).squared == 0
    dated = pd.DataFrame({"day": [datetime.datetime(2024, 1, 1 + k % 9) for k in range(40)]})
    with pytest.raises(dd.InputError, match=r"holds dates or durations, first .* turn them into numbers first"):
        dd.l2_distance(dated, dated)


def test_row_43_everything_wrong_comes_in_one_message():
    bad = {
        "t": [str(k) for k in range(30)],
        "u": [*(str(k) for k in range(29)), "n/a"],
        "i": [*numbers(0, 29), np.inf],
        "n": [{"a": 1}] * 30,
        "c": np.ones(30, dtype=complex) * 1j,
        "x": numbers(1, 30),
    }
    bad["n"] = np.array(bad["n"], dtype=object)
    error = refusal(bad, bad)
    text = str(error)
    assert error.column == "t"
    assert text.count(". Also: ") == 4
    for part in (
        "column 't' of A holds numbers stored as text, first '0' at row 0; ",
        "column 'u' of A: 'n/a' at row 29 is not a number, but 29 of 30 values are; ",
        "column 'n' of A holds nested values, first {'a': 1} at row 0; ",
        "column 'c' of A holds complex numbers, first 1j at row 0; ",
        "column 'i' of A: 1 infinite value, inf at row 29; ",
    ):
        assert part in text
    assert text.endswith(". Or leave these columns out with exclude=")
    found = quietly(bad, bad, exclude=["t", "u", "i", "n", "c"])
    assert [column.name for column in found.columns] == ["x"]


def test_row_43_many_flaws_are_counted():
    bad = {f"t{k}": [str(j) for j in range(30)] for k in range(20)}
    text = str(refusal(bad, bad))
    assert text.count(". Also: ") == 5
    assert ". Also: 15 more columns. Or" in text
    assert len(text) < 1500


def test_row_43_flaws_that_kinds_cannot_cure_are_named():
    a = {"t": ["1", "2", "three", "four"] * 5, "n": np.array([[1], [2]] * 10 + [None], dtype=object)[:20]}
    error = refusal(a, a, kinds={"t": "number"}, exclude="n")
    assert str(error) == (
        "column 't' of A: 'three' at row 2 is not a number, but kinds={\"t\": \"number\"} was given; correct it, or "
        "leave it empty"
    )
    assert (error.column, error.row) == ("t", 2)


def test_row_47_a_column_of_another_kind_is_a_finding():
    a = {"q": numbers(0), "day": [datetime.date(2024, 1, 1 + k % 9) for k in range(120)], "x": numbers(1)}
    b = {"q": ["low", "high"] * 60, "day": numbers(2), "x": numbers(3)}
    found = quietly(a, b)
    assert found.schema_changes.other_kind == (("q", "number", "text"), ("day", "dates or times", "number"))
    assert [column.name for column in found.columns] == ["x"]
    text = {"q": [str(value) for value in a["q"]], "x": a["x"]}  # the same numbers, stored in another way
    assert quietly({"q": a["q"], "x": a["x"]}, text).schema_changes.other_kind == (("q", "number", "text"),)


def test_row_04_a_column_that_lost_all_values_is_found_different():
    a, b = ({"x": numbers(seed), "k": ["u", "v"] * 60, "gone": numbers(seed)} for seed in (0, 1))
    b["gone"] = np.full(120, np.nan)
    found = quietly(a, b)
    assert found.differ
    assert found.reasons == ["column gone has no values in B"]
    assert found.missing[0].differs
    text = {**a, "gone": ["u", "v"] * 60}
    assert quietly(text, b).reasons == ["column gone has no values in B"]
    rare = {**a, "gone": np.where(np.arange(120) == 5, 1.0, np.nan)}  # one value more or less tells nothing
    assert not quietly(rare, b).differ


def test_row_01_missing_numbers_do_not_move_what_is_told_of_the_others():
    """Filled numbers are of both tables, so they would dilute a shift."""
    a, b = numbers(0, 400), 3 + numbers(1, 400)
    a[::2] = np.nan
    found = quietly({"x": a}, {"x": b})
    moved = next(column for column in found.columns if column.name == "x")
    assert f"mean {np.nanmean(a):.4g} -> {b.mean():.4g}" in moved.direction


@pytest.mark.parametrize(
    ("values", "is_left_out"),
    [
        (np.arange(120), True),
        (np.arange(500, 620), True),
        (np.cumsum(1 + np.arange(120) % 3), True),
        (np.arange(120.0), False),
        (np.arange(120)[::-1], False),
        (np.arange(120) // 2, False),
        (np.random.default_rng(0).permutation(120), False),
        (np.sort(np.random.default_rng(0).integers(0, 100, 120)), False),
    ],
    ids=["from 0", "from 500", "gaps", "floats", "falling", "ties", "shuffled", "sorted ages"],
)
def test_row_numbers_are_left_out_and_measurements_are_not(values, is_left_out):
    a, b = {"n": values, "x": numbers(0)}, {"n": values + 7, "x": numbers(1)}
    assert ("n" in dict(matched(a, b).left_out)) == is_left_out
    frame = pd.DataFrame(a)
    parts = [frame[:50], frame[50:]]
    assert ("n" in dict(matched(parts, b).left_out)) == is_left_out
    assert "n" in matched(a, b, kinds={"n": "number"}).names


def test_row_numbers_that_are_all_there_is_are_compared():
    a, b = {"n": np.arange(50)}, {"n": np.arange(30, 90)}
    assert matched(a, b).names == ("n",)
    few = {"n": np.arange(60), "x": numbers(0, 60)}, {"n": np.cumsum(1 + np.arange(60) % 3), "x": numbers(1, 60)}
    assert matched(*few).names == ("n", "x")  # gaps in few rows may be a sorted measurement


def test_sentences_and_short_texts():
    remarks = [f"came {k // 3} days too late, sorry" for k in range(120)]
    names = [f"town {k // 3}" for k in range(120)]
    tables = matched({"r": remarks, "t": names, "x": numbers(0)}, {"r": remarks, "t": names, "x": numbers(1)})
    assert tables.names == ("r", "t", "x")  # a third of the rows: levels that recur
    answers = ["I agree with it all", "I do not agree at all", "I do not know it"] * 2
    few = {"r": answers[:5], "x": numbers(0, 5)}, {"r": answers[1:], "x": numbers(1, 5)}
    assert matched(*few).names == ("r", "x")
    unlike = [f"came {k} days too late, sorry" if k % 3 else "came in time" for k in range(120)]
    assert matched({"r": unlike, "x": numbers(0)}, {"r": unlike, "x": numbers(1)}).left_out == (("r", "free text"),)


def test_row_61_rows_that_stand_twice_are_counted():
    a, b = ({"x": numbers(seed), "z": numbers(seed + 5)} for seed in (0, 1))
    a = {name: np.concatenate([values, values[:10], b[name][:7]]) for name, values in a.items()}
    note = "equal rows: of A 20 and of B 0 are there more than once, and 7 of A are in B too"
    assert note in quietly(a, b).warnings
    tied = {"x": np.arange(120.0) % 5, "k": ["u", "v"] * 60}
    assert not any("equal rows" in text for text in quietly(tied, {"x": tied["x"], "k": ["u"] * 120}).warnings)


def test_dask_and_blocks_are_judged_as_tables_are():
    dask = pytest.importorskip("dask.dataframe")
    frames = [pd.DataFrame(messy(seed)) for seed in (0, 1)]
    expected = matched(*frames)
    blocks = [[frame[:50], frame[50:]] for frame in frames]
    lazy = [dask.from_pandas(frame, npartitions=3, sort=False) for frame in frames]
    for a, b in (blocks, lazy):
        tables = matched(a, b)
        assert (tables.names, tables.levels) == (expected.names, expected.levels)
        assert (tables.left_out, tables.missing) == (expected.left_out, expected.missing)
        everything = np.arange(120)
        np.testing.assert_array_equal(tables.a[everything], expected.a[:])
    chosen = {"kinds": {"stamp": "number", "flight": "category"}, "columns": ["s*", "flight"]}
    expected = matched(*frames, **chosen)
    for a, b in (blocks, lazy):
        tables = matched(a, b, **chosen)
        assert kinds(tables) == kinds(expected)
        np.testing.assert_array_equal(tables.b[np.arange(120)], expected.b[:])


@pytest.mark.parametrize("pair", PAIRS)
def test_real_tables_have_the_same_kinds_and_numbers_in_every_form(pair, made):
    if not TABLES.exists():
        pytest.skip(f"the real tables are not there: {TABLES}")
    paths = [TABLES / name for name in PAIRS[pair]]
    tables = [files.table(path, keep_text=True) for path in paths]
    expected = matched(*tables)
    forms = {form: [made(form, table, "AB"[k]) for k, table in enumerate(tables)] for form in FORMS}
    forms |= {"as they are": paths, "pandas.read_csv": [pd.read_csv(path) for path in paths]}
    for a, b in forms.values():
        found = matched(a, b)
        assert (found.names, found.levels) == (expected.names, expected.levels)
        assert (found.left_out, found.missing) == (expected.left_out, expected.missing)
        for sample, other in ((found.a, expected.a), (found.b, expected.b)):
            np.testing.assert_array_equal(sample[:], other[:])


@pytest.mark.parametrize("pair", ["penguins", "seattle"])
def test_real_tables_have_the_same_answer_in_every_form(pair, made):
    if not TABLES.exists():
        pytest.skip(f"the real tables are not there: {TABLES}")
    tables = [files.table(TABLES / name, keep_text=True) for name in PAIRS[pair]]
    answers = [
        quietly(*(made(form, table, "AB"[k]) for k, table in enumerate(tables)), names=("A", "B")).to_json()
        for form in FORMS
    ]
    assert len(set(answers)) == 1
