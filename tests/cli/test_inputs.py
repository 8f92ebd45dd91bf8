"""Hostile inputs through the command: exit code, and the one line a user sees; row numbers as in test_hostile.py."""

import errno
import io
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn

import densdiff as dd
from densdiff.io import files
from tests.command_line import ESCAPES, as_csv, refusal, run, shifted

QUICK = ("--permutations", "39", "--seed", "1")


@pytest.fixture
def put(tmp_path, monkeypatch):
    """A function that writes a file into the current folder and gives its name; A.csv is there already."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "A.csv").write_text(as_csv(shifted(0.0)))

    def write(content, name="B.csv"):
        content = as_csv(content) if isinstance(content, dict) else content
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    return write


def as_parquet(columns):
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def with_missing(name="a", rows=(17, 20, 30)):
    table = shifted(0.0, seed=1)
    table[name][list(rows)] = np.nan
    return as_csv(table).replace("nan", "")


def answer(*arguments, **options):
    """The JSON of a comparison that succeeded, and the notes on the way."""
    code, out, err = run("compare", *arguments, *QUICK, "--json", **options)
    assert code == 0, err
    assert all(line.startswith("densdiff: note: ") for line in err.splitlines())
    return json.loads(out), err


def test_row_01_missing_values_are_refused_with_the_option_to_give(put):
    b = put(with_missing())
    message = "column 'a' of B.csv: 3 missing values, first at row 17; use --missing drop or --missing level"
    assert refusal("compare", "A.csv", b, "--missing", "error") == message
    found, err = answer("A.csv", b, "--missing", "drop")
    note = "rows with missing values were dropped: 0 of {} and 3 of {}"
    assert err == f"densdiff: note: {note.format('A.csv', 'B.csv')}\n"
    assert note.format("A.csv", "B.csv") in found["warnings"]
    found, _ = answer("A.csv", b)
    assert {column["name"] for column in found["columns"]} == {"a", "b"}
    assert [rate["name"] for rate in found["missing"]] == ["a"]
    code, _, err = run("changes", b)
    assert (code, err) == (
        2,
        "densdiff: column 'a' of B.csv: 3 missing values, first at row 17; drop or fill those rows first\n",
    )
    code, _, err = run("monitor", b, "--window", 5)  # a level of their own, as in the stream
    assert code == 0
    assert "missing" not in err


def test_row_02_missing_rates_are_a_finding(put):
    b = put(with_missing(rows=range(10, 35)))
    found, _ = answer("A.csv", b, "--missing", "drop")
    (rate,) = found["missing"]
    assert (rate["name"], rate["share_a"], rate["share_b"], rate["differs"]) == ("a", 0.0, 25 / 40, True)
    assert "; missing 0.0 % -> 62.5 %\n" in run("compare", "A.csv", b, "--missing", "drop", *QUICK)[1]


def test_row_03_infinite_values_are_named(put):
    rows = as_csv(shifted(0.0)).splitlines()
    rows[8] = "1e999,0.5"
    assert refusal("compare", "A.csv", put("\n".join(rows))) == (
        "column 'a' of B.csv: 1 infinite value, inf at row 7; drop or correct those rows first"
    )
    assert refusal("compare", "A.csv", put('{"a": 1, "b": 2}\n{"a": -1e999, "b": 2}\n', "B.jsonl")) == (
        "column 'a' of B.jsonl: -inf at row 1 is infinite; drop or correct that row first"
    )


def test_row_04_an_empty_column_is_left_out_and_listed(put):
    b = put(with_missing(rows=range(40)))
    found, _ = answer("A.csv", b)
    assert [column["name"] for column in found["columns"]] == ["b"]
    assert found["left_out"] == [["a", "all values are missing in B.csv"]]
    assert refusal("compare", "A.csv", b, "--columns", "a") == (
        "no column is left to compare: 'a', all values are missing in B.csv"
    )


def test_row_10_a_file_compared_with_itself(put):
    code, out, _ = run("compare", "A.csv", "A.csv", *QUICK, "--fail-on-difference")
    assert code == 0
    assert out.startswith("No difference was found between A and B (p = 1)\n")
    assert "  note: A and B hold the same rows: is a sample compared with itself?\n" in out


def test_row_13_no_rows(put):
    assert refusal("compare", "A.csv", put("a,b\n")) == "B.csv has 0 data rows"
    assert refusal("compare", "A.csv", put("")) == "B.csv is empty"
    assert refusal("changes", put("")) == "B.csv is empty"
    assert refusal("balance", "A.csv", put("a,b\n"), "--label", "a") == "B.csv has 0 data rows"
    assert refusal("monitor", put("a,b\n")) == "B.csv has 0 data rows"
    assert refusal("compare", "A.csv", put("a,b\n1,2\n")) == "B.csv has 1 data row; each table needs at least 2"


def test_row_21_numbers_stored_as_text(put):
    words = as_parquet({"a": [str(k / 7) for k in range(20)], "b": np.arange(20.0)})
    message = refusal("compare", put(words, "A.parquet"), put(words, "B.parquet"))
    assert message.startswith("column 'a' of A.parquet holds numbers stored as text, first '0.0' at row 0; ")
    flawed = as_csv(shifted(0.0)).replace("\n", "\nunknown,1\n", 1)
    assert refusal("compare", "A.csv", put(flawed)) == (
        "column 'a' of B.csv: 'unknown' at row 0 is not a number, but 40 of 41 values are; correct it, leave it empty, "
        "give --category a, or leave the column out with --exclude"
    )
    found, _ = answer("A.csv", "B.csv", "--columns", "b")
    assert [column["name"] for column in found["columns"]] == ["b"]


def test_row_22_text_and_booleans_take_part_and_names_of_rows_do_not(put):
    def of(seed, city):
        return shifted(0.0, seed=seed) | {
            "city": [city] * 20 + ["Ulm"] * 20,
            "new": ["true", "false"] * 20,
            "id": [f"u{k}-{seed}" for k in range(40)],
        }

    put(of(0, "Bonn"), "A.csv")
    found, err = answer("A.csv", put(of(1, "Köln")))
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert kinds == {"a": "number", "b": "number", "city": "category", "new": "category"}
    assert found["left_out"] == [["id", "almost every row has a level of its own"]]
    assert err.endswith("as in an identifier: 'id'; to compare one, give --category id\n")


def test_row_23_dates_are_left_out_with_a_way_in_and_nested_values_refused(put):
    dates = "a,day\n" + "".join(f"{k % 5},2024-01-{k:02d}\n" for k in range(1, 29))
    found, err = answer(put(dates, "A.csv"), put(dates))
    assert found["left_out"] == [["day", "dates or times"]]
    assert err == (
        "densdiff: note: columns left out because they hold dates or times: 'day'; to compare one, give --number day "
        "(days since 1970-01-01, seconds of times) or --category day\n"
    )
    found, err = answer("A.csv", "B.csv", "--number", "day")
    assert {column["name"]: column["kind"] for column in found["columns"]} == {"a": "number", "day": "number"}
    assert err == ""
    nested = '{"a": [1, 2]}\n{"a": [3, 4]}\n'
    assert refusal("compare", put(nested, "A.jsonl"), put(nested, "B.jsonl")).startswith(
        "column 'a' of A.jsonl holds nested values, first "
    )
    decimals = as_parquet({"a": pa.array(range(20), pa.decimal128(5, 2))})
    assert answer(put(decimals, "A.parquet"), put(decimals, "B.parquet"))[0]["columns"][0]["kind"] == "number"
    np.save("A.npy", np.ones((9, 1), dtype=complex))
    assert refusal("compare", "A.npy", "A.npy").startswith("column 'x0' of A.npy holds complex numbers, first ")


def test_row_24_columns_are_matched_by_name(put):
    table = shifted(0.0, seed=1)
    found, err = answer("A.csv", put({"c": table["a"], "b": table["b"]}))
    assert [column["name"] for column in found["columns"]] == ["b"]
    assert found["left_out"] == [["a", "only in A.csv"], ["c", "only in B.csv"]]
    assert err == "densdiff: note: columns left out: 'a' only in A.csv, 'c' only in B.csv; compared: 'b'\n"
    assert refusal("compare", "A.csv", put({"c": table["a"]})) == (
        "A.csv and B.csv have no column in common: A.csv has 'a', 'b'; B.csv has 'c'; rename the columns to match"
    )
    swapped = answer("A.csv", put({"b": table["b"], "a": table["a"]}))
    assert swapped == answer("A.csv", put(table))


def test_row_25_duplicate_columns(put):
    assert refusal("compare", "A.csv", put("a,b,a\n1,2,3\n")) == (
        "B.csv has more than one column named 'a'; rename them, or give --no-header if the file has no column names"
    )


def test_row_26_a_column_of_two_kinds(put):
    table = shifted(0.0, seed=1) | {"a": ["x", "y"] * 20}
    found, err = answer("A.csv", put(table))
    assert found["schema_changes"]["other_kind"] == [["a", "number", "text"]]
    note = "their kind differs: 'a', numbers in A.csv and text in B.csv; to compare one, give --category a\n"
    assert err.endswith(note)


def test_row_27_semicolons_and_decimal_commas(put):
    european = as_csv(shifted(0.0), ";").replace(".", ",")
    assert answer("A.csv", put(european))[0]["distance"]["normalized"] == 0
    assert refusal("compare", "A.csv", put("x\n1,5\n2,5\n")) == (
        "line 2 of B.csv has 2 fields, but the first line has 1; if it uses a decimal comma, give --sep ';', "
        "--decimal ','"
    )
    assert refusal("compare", "A.csv", put("a|b;c|d\n1|2;3|4\n")) == (
        "B.csv could be separated by ';' or '|'; say which with --sep"
    )
    assert refusal("compare", "A.csv", put("a;b\n1,5;1.5\n2,5;2.5\n")).endswith(
        "if ',' is the decimal mark, give --decimal ','"
    )
    assert refusal("compare", "A.csv", "B.csv", "--sep", ";;") == (
        "--sep must be one character such as ',' or ';'; got ';;'"
    )


def test_row_28_ragged_rows(put):
    assert refusal("compare", "A.csv", put("a,b\n1,2\n3\n")) == (
        "line 3 of B.csv has 1 field, but the first line has 2; correct it"
    )


def test_row_29_one_bad_value_far_down(put):
    rows = ["1.25"] * 40_000
    rows[30_001] = "\x1b[2J"
    assert refusal("compare", "A.csv", put("a\n" + "\n".join(rows))) == (
        r"column 'a' of B.csv: '\x1b[2J' at row 30001 is not a number, but 39999 of 40000 values are; correct it, "
        "leave it empty, give --category a, or leave the column out with --exclude"
    )


def test_row_30_encodings(put):
    text = as_csv(shifted(0.0))
    assert answer("A.csv", put("\ufeff" + text))[0]["distance"]["normalized"] == 0
    assert refusal("compare", "A.csv", put(text.encode("utf-16"))) == "B.csv is encoded as UTF-16; save it as UTF-8"
    assert refusal("compare", "A.csv", put("a,b\n1,é\n".encode("latin-1"))) == (
        "B.csv is not UTF-8: byte 0xe9 in line 2 (byte 6); save it as UTF-8 (is it Latin-1?)"
    )
    assert refusal("compare", "A.csv", put("a,b\n1,\0\n")) == (
        "B.csv has a NUL byte in line 2 (byte 6); it is damaged or not a text file"
    )


def test_row_31_damaged_misnamed_and_absent_files(put, tmp_path, monkeypatch):
    whole = as_parquet(shifted(0.0))
    for content, name, message in (
        (whole[:-7], "B.parquet", "is incomplete: it begins as a Parquet file, but its end is missing; copy it again"),
        (whole, "B.csv", "is a Parquet file; rename it to end in .parquet"),
        ("a\n1\n", "B.parquet", "is not a Parquet file; if it is CSV, rename it to end in .csv"),
    ):
        assert refusal("compare", "A.csv", put(content, name)) == f"{name} {message}"
    (tmp_path / "parts").mkdir()
    none = "has no table in it; give a file, or a folder of Parquet, CSV or JSON Lines files"
    assert refusal("compare", "A.csv", "parts") == f"the folder parts {none}"
    for command in (["compare", "A.csv", "C.csv"], ["changes", "C.csv"], ["monitor", "C.csv"]):
        assert refusal(*command) == "C.csv does not exist in the folder '.'"

    def denied(self, *_, **__):
        raise PermissionError(errno.EACCES, "ignored", str(self))  # root may read everything

    monkeypatch.setattr(Path, "open", denied)
    assert refusal("compare", "A.csv", "B.csv") == "A.csv cannot be read: permission denied"


def test_row_32_a_small_file_that_promises_too_much(put, monkeypatch):
    put(as_parquet({name: np.zeros(2_000_000) for name in "abc"}), "B.parquet")
    assert os.path.getsize("B.parquet") < 200_000
    monkeypatch.setattr(pq.ParquetFile, "read", None)  # a call would be another error
    with sklearn.config_context(working_memory=20):
        assert refusal("monitor", "B.parquet") == (
            "B.parquet needs 46 MiB of memory, the limit is 20 MiB; take fewer rows or columns, or raise the limit "
            "with SKLEARN_WORKING_MEMORY=46 in the environment"
        )


HOSTILE = (
    ESCAPES,
    "<script>alert(1)</script>",
    "{{ 7 * 7 }}{% raw %}",
    "'\"[bold]a[/bold]",
    "x" * 10_000,
)


@pytest.mark.parametrize("name", HOSTILE, ids=["escapes", "markup", "braces", "quotes", "long"])
def test_row_33_names_and_levels_are_text_everywhere(name, put, tmp_path):
    def of(by, share):
        many = int(40 * share)
        return {name: shifted(by, seed=int(by))["a"], "c": [name] * many + ["other"] * (40 - many)}

    put(of(0.0, 0.1), "A.csv")
    put(of(3.0, 0.9))
    code, out, err = run("compare", "A.csv", "B.csv", "--permutations", 99, "--seed", 1, "--report", "page.html")
    assert code == 0, err  # `run` looks for control characters in all that is printed
    assert max(map(len, out.splitlines())) < 1000
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "\x1b" not in page
    found, _ = answer("A.csv", "B.csv")
    assert name in {column["name"] for column in found["columns"]}  # as it is, escaped by JSON alone
    assert "has no column 'absent'" in refusal("compare", "A.csv", "B.csv", "--columns", "absent")
    put({name: [1.0, np.nan, 2.0]}, "C.csv")
    assert len(refusal("changes", "C.csv")) < 300


def test_row_33_file_names_are_harmless(put):
    name = put("", "\x1b[31m\n.csv")
    assert refusal("compare", "A.csv", name) == r"\x1b[31m\n.csv is empty"
    put("a\n1\n\n2\n", name)
    message = refusal("compare", "A.csv", name, "--missing", "error")
    assert message.startswith(r"column 'a' of '\x1b[31m\n.csv': 1 missing value, at row 1;")


def page_that(monkeypatch, error):
    """Let a report fail when half of it is written."""

    def to_html(self, path, title):
        with files.atomic_write(path) as aside:
            aside.write_text("half")
            raise error

    monkeypatch.setattr(dd.Comparison, "to_html", to_html)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (OSError(errno.ENOSPC, "ignored"), 2, "densdiff: cannot write 'page.html': no space left on device\n"),
        (OSError(errno.EROFS, "ignored"), 2, "densdiff: cannot write 'page.html': read-only file system\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_row_41_a_report_is_whole_or_not_there(error, code, message, put, tmp_path, monkeypatch):
    before = (tmp_path / "A.csv").read_bytes()
    page_that(monkeypatch, error)
    assert run("compare", "A.csv", "A.csv", *QUICK, "--report", "page.html") == (code, "", message)
    put("old", "page.html")
    assert run("compare", "A.csv", "A.csv", *QUICK, "--report", "page.html") == (code, "", message)
    assert (tmp_path / "page.html").read_text() == "old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["A.csv", "page.html"]
    assert (tmp_path / "A.csv").read_bytes() == before


def test_row_41_an_impossible_report_is_refused_before_the_work(put, tmp_path, monkeypatch):
    monkeypatch.setattr(dd, "compare", None)  # a call would be another error
    put("a\n1\n")
    for target, message in (
        ("no/page.html", "cannot write 'no/page.html': the folder 'no' does not exist"),
        (".", "cannot write '.': it is a folder"),
        ("A.csv", "'A.csv' is an input; write to another file"),
        ("../" + tmp_path.name + "/B.csv", f"'../{tmp_path.name}/B.csv' is an input; write to another file"),
    ):
        assert refusal("compare", "A.csv", "B.csv", "--report", target) == message

    def denied(self, *_, **__):
        raise PermissionError(errno.EACCES, "ignored", str(self))

    monkeypatch.setattr(Path, "touch", denied)
    assert refusal("changes", "B.csv", "--report", "page.html") == "cannot write 'page.html': permission denied"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["A.csv", "B.csv"]


def test_row_41_an_unwritable_folder_of_the_demo(put):
    put("", "taken")
    assert "taken" in refusal("demo", "--out", "taken/x")


def test_row_42_many_rows_with_a_tiny_shift_lead_with_the_size_of_the_effect(put, tmp_path):
    random = np.random.default_rng(0)
    for name, by in (("A.npy", 0.0), ("B.npy", 0.02)):
        np.save(tmp_path / name, random.normal(by, 1.0, 500_000))
    code, out, _ = run("compare", "A.npy", "B.npy", "--seed", 1)
    assert code == 0
    first = out.splitlines()[0]
    assert first.startswith(("At least 0.", "A.npy and B.npy differ, but in too few rows"))
    assert out.splitlines()[1].startswith("  effect      negligible: total variation 0")
    options = ("--seed", 1, "--min-effect", 0.08, "--fail-on-difference")
    code, out, _ = run("compare", "A.npy", "B.npy", *options)
    assert code == 0
    assert ", less than the smallest effect that counts (0.08); most in x0 (p <= 0.001)\n" in out


def test_row_44_options_say_which_columns_and_what_they_are(put):
    def of(seed):
        codes = {"zip": ["01234", "90210"] * 20, "flight": [15, 700] * 20, "day": ["2024-01-01", "2024-01-09"] * 20}
        return shifted(0.0, seed=seed) | codes

    put(of(0), "A.csv")
    b = put(of(1))
    found, err = answer("A.csv", b, "--exclude", "day", "--exclude", "a,b")
    assert {column["name"]: column["kind"] for column in found["columns"]} == {"zip": "category", "flight": "number"}
    assert err.endswith("codes with leading zeros: 'zip'; to take one as numbers, give --number zip\n")
    found, err = answer(
        "A.csv", b, "--columns", "z*,flight", "--columns", "day", "--number", "zip,day", "--category", "f*"
    )
    kinds = {"zip": "number", "flight": "category", "day": "number"}
    assert ({column["name"]: column["kind"] for column in found["columns"]}, err) == (kinds, "")
    assert refusal("compare", "A.csv", b, "--exclude", "zap").startswith(
        "--exclude: neither A.csv nor B.csv has a column 'zap' (did you mean 'zip'?); they have "
    )
    assert refusal("compare", "A.csv", b, "--number", "zap").startswith("--category or --number: neither A.csv nor ")
    assert refusal("compare", "A.csv", b, "--category", "zip", "--number", "zip,day") == (
        "--category and --number both name 'zip'; a column is of one kind"
    )
    assert refusal("compare", "A.csv", b, "--columns", "flite").startswith("A.csv has no column 'flite' (did you ")
    mixed = {"day": ["soon", "late"] * 20} | shifted(0.0)
    assert refusal("compare", "A.csv", put(mixed), "--number", "day").startswith(
        "column 'day' of B.csv: 'soon' at row 0 is not a number, but --number day was given; "
    )
