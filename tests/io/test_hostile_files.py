"""Files that nobody should have written, and the one line a user sees; row numbers as in test_hostile.py."""

import gzip
import io
import math
import os
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn

from densdiff.data.points import check_sample
from densdiff.errors import InputError
from densdiff.io import files

ESCAPES = '"\x1b[31mred\nline\u202e"'


def refusal(path, **options):
    with pytest.raises(InputError) as caught:
        files.table(path, **options)
    assert str(caught.value).isprintable()
    return str(caught.value)


def as_parquet(table):
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def as_npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_row_03_a_number_too_large_arrives_as_infinite_and_is_named_by_the_later_check(put):
    found = files.table(put("a,b\n1,2\n3,1e999\n5,-1e999\n"))
    assert found.to_pydict() == {"a": [1, 3, 5], "b": [2.0, math.inf, -math.inf]}
    with pytest.raises(InputError, match=r"column 'b' of B: 2 infinite values, first inf at row 1;"):
        check_sample(found, "B")
    text = '{"a": 1}\n\n{"a": -1e999}\n'
    message = "column 'a' of B.jsonl: -inf at row 1 is infinite; drop or correct that row first"
    assert refusal(put(text, "B.jsonl")) == message


def test_row_13_header_only_and_empty_files(put, tmp_path):
    for text in ("a,b\n", "a,b", "a\n\n\n", "a", "\ufeffa,b\r\n"):
        assert refusal(put(text)) == "B.csv has 0 data rows", text
    for text in ("", "\n\n", "\ufeff", " \r\n"):
        assert refusal(put(text)) == "B.csv is empty", text
        assert refusal(put(text, "B.jsonl")) == "B.jsonl is empty", text
    assert refusal(put(gzip.compress(b""), "B.csv.gz")) == "B.csv.gz is empty"
    assert refusal(put("", "B.parquet")) == "B.parquet is empty"
    assert refusal(put(as_parquet(pa.table({"a": pa.array([], pa.float64())})), "B.parquet")) == (
        "B.parquet has 0 data rows"
    )
    assert refusal(put("", "B.npy")) == "B.npy is empty"
    assert refusal(put(as_npy(np.zeros((0, 3))), "B.npy")) == "B.npy has 0 data rows"
    assert refusal(put("{}\n{}\n", "B.jsonl")) == "B.jsonl has no columns"


def test_row_21_words_are_text_and_numbers_with_a_flaw_are_named(put):
    assert files.table(put("city,n\nBonn,1\n7,2\nUlm,3\n")).to_pydict()["city"] == ["Bonn", "7", "Ulm"]
    column = ["1.5"] * 9
    start = "column 'a' of B.csv: '?' at row 9 is not a number, but 9 of 10 values are; "
    cure = "correct it, leave it empty, or leave the column out with columns="
    assert refusal(put("\n".join(["a", *column, "?"]))) == start + cure
    below = files.table(put("\n".join(["a", *column, "?", "!"])))  # 9 of 11 is less than 90 %
    assert below.to_pydict()["a"] == [*column, "?", "!"]
    missing = files.table(put("\n".join(["a", *column[:8], "NA", "?"])))  # 8 of the 9 that are there
    assert missing.to_pydict()["a"] == [*column[:8], None, "?"]
    numbers = files.table(put(as_parquet(pa.table({"a": ["1", "2"]})), "B.parquet"))
    with pytest.raises(InputError, match="column 'a' of B holds numbers stored as text"):
        check_sample(numbers, "B")


def test_row_25_duplicate_columns_are_listed(put):
    cure = "rename them, or give header=False if the file has no column names"
    assert refusal(put("a,b,a,b,c\n1,2,3,4,5\n")) == f"B.csv has more than one column named 'a', 'b'; {cure}"
    line = '{"a": 1, "a": 2}\n'
    assert refusal(put('{"a": 1}\n' + line, "B.jsonl")) == (
        "line 2 of B.jsonl has more than one column named 'a'; rename the others"
    )
    twice = pa.table([[1.0], [2.0]], names=["a", "a"])
    assert refusal(put(as_parquet(twice), "B.parquet")) == (
        "B.parquet has more than one column named 'a'; rename or drop the others"
    )


def test_row_27_semicolons_and_decimal_commas_are_read_or_asked_for(put):
    for text in ("a;b\n1,5;-2\n,25;3e2\n", '"a";"b"\n"1,5";-2\n"0,25";300\n', "a\tb\n1,5\t-2\n0,25\t300\n"):
        assert files.table(put(text)).to_pydict() == {"a": [1.5, 0.25], "b": [-2, 300]}
    assert files.table(put("1,5;2,5\n3,5;4,5\n"), header=False).to_pydict() == {"x0": [1.5, 3.5], "x1": [2.5, 4.5]}
    assert refusal(put("x\n1,5\n2,5\n")) == (
        "line 2 of B.csv has 2 fields, but the first line has 1; if it uses a decimal comma, give sep=';', decimal=','"
    )
    assert files.table(put("x\n1,5\n2,5\n"), sep=";", decimal=",").to_pydict() == {"x": [1.5, 2.5]}
    thousands = put("a;b\n1,500;2\n12,000;3\n")
    assert refusal(thousands) == (
        "B.csv: the comma in '1,500' may mark decimals or thousands; give decimal=',' if it is a decimal comma, else "
        "remove the thousands separators"
    )
    assert files.table(thousands, decimal=",").to_pydict() == {"a": [1.5, 12.0], "b": [2, 3]}
    assert refusal(put("a;b\n1,5;1.5\n2,5;2.5\n")) == (
        "column 'a' of B.csv: '1,5' at row 0 is not a number; if ',' is the decimal mark, give decimal=','"
    )
    assert refusal(put('a,b\n"1,5",1\n')) == (
        "column 'a' of B.csv: '1,5' at row 0 is not a number; if ',' is the decimal mark, give decimal=','"
    )
    assert refusal(put("a;b\n1.234,5;1\n1.334,5;2\n")) == (
        "column 'a' of B.csv: '1.234,5' at row 0 is not a number; remove the thousands separators"
    )
    assert refusal(put("a;b\n1,5;1\n1.5;2\n"), decimal=",") == (
        "column 'a' of B.csv: '1.5' at row 1 is not a number; if '.' is the decimal mark, give decimal='.'"
    )
    assert refusal(put("a|b;c|d\n1|2;3|4\n")) == "B.csv could be separated by ';' or '|'; say which with sep="
    late = "a;b\n" + "1;2\n" * 30_000 + "1,5;2\n"  # far behind the lines that are looked at for a decimal mark
    assert refusal(put(late)) == (
        "column 'a' of B.csv: '1,5' at row 30000 is not a number; if ',' is the decimal mark, give decimal=','"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", "line 3 of B.csv has 1 field, but the first line has 2; correct it"),
        (
            "a,b\n1,2,3\n",
            "line 2 of B.csv has 3 fields, but the first line has 2; correct it, or quote fields that contain ','",
        ),
        (
            'a,b\n"x\ny",1\n\n1,2,3\n',
            "line 5 of B.csv has 3 fields, but the first line has 2; correct it, or quote fields that contain ','",
        ),
        ("a;b;c\r\n1;2;3\r\n4;5\r\n", "line 3 of B.csv has 2 fields, but the first line has 3; correct it"),
        ("a,b\n" + "1,2\n" * 200_000 + "3\n", "line 200002 of B.csv has 1 field, but the first line has 2; correct it"),
        ('a,b\n1,2\n3,"x\n4,5\n', "line 3 of B.csv opens a quote that is never closed; close or remove it"),
        (
            "# made today\na,b\n1,2\n",
            "line 2 of B.csv has 2 fields, but the first line has 1; the first line begins with '#': remove it if it "
            "is a comment",
        ),
    ],
)
def test_row_28_ragged_rows_are_found_by_line(text, message, put):
    assert refusal(put(text)) == message


def test_row_29_one_bad_value_far_down_is_named(put):
    rows = 300_000  # more than one block of pyarrow
    cure = "correct it, leave it empty, or leave the column out with columns="
    for bad, row in (("bad", 30_001), ("1.2.3", rows - 1), ("\x1b[2J", 0)):
        values = ["1.25"] * rows
        values[row] = bad
        path = put("a,b\n" + "".join(f"{value},1\n" for value in values))
        assert refusal(path) == (
            f"column 'a' of B.csv: {bad!r} at row {row} is not a number, but {rows - 1} of {rows} values are; {cure}"
        )
        assert files.table(path, columns=["b"]).num_rows == rows
    text = '{"a": 1}\n' * 200_000 + '{"a": "bad"}\n'
    assert refusal(put(text, "B.jsonl")) == (
        "column 'a' of B.jsonl: 'bad' at row 200000 is text, but earlier rows hold a number; "
        "a column must hold one kind of value"
    )


def test_row_30_only_utf8_is_read_and_the_place_of_other_bytes_is_named(put):
    assert files.table(put("\ufeffa,é\n1,ü\n")).to_pydict() == {"a": [1], "é": ["ü"]}
    assert files.table(put('\ufeff{"a": 1}\n', "B.jsonl")).to_pydict() == {"a": [1]}
    for name, text in (("B.csv", "a,b\n1,2\n"), ("B.jsonl", '{"a": 1}\n')):
        assert refusal(put(text.encode("utf-16"), name)) == f"{name} is encoded as UTF-16; save it as UTF-8"
        assert refusal(put(text.encode("utf-32"), name)) == f"{name} is encoded as UTF-32; save it as UTF-8"
        for order in ("le", "be"):
            bare = text.encode(f"utf-16-{order}")
            assert refusal(put(bare, name)) == f"{name} seems to be encoded as UTF-16; save it as UTF-8"
    latin = "B.csv is not UTF-8: byte 0xe9 in line {} (byte {}); save it as UTF-8 (is it Latin-1?)"
    assert refusal(put("a,b\n1,café\n".encode("latin-1"))) == latin.format(2, 9)
    assert refusal(put("café,b\n1,2\n".encode("latin-1"))) == latin.format(1, 3)
    far = "a,b\n" + "1,2\n" * 300_000 + "1,é\n"
    assert refusal(put(far.encode("latin-1"))) == latin.format(300_002, 4 + 4 * 300_000 + 2)
    assert refusal(put("a,b\n1,2\n3,\x004\n")) == (
        "B.csv has a NUL byte in line 3 (byte 10); it is damaged or not a text file"
    )


GOOD = as_parquet(pa.table({"a": np.arange(100.0)}))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "B.parquet",
            GOOD[:-7],
            "B.parquet is incomplete: it begins as a Parquet file, but its end is missing; copy it again",
        ),
        ("B.parquet", b"a,b\n1,2\n", "B.parquet is not a Parquet file; if it is CSV, rename it to end in .csv"),
        ("B.csv", GOOD, "B.csv is a Parquet file; rename it to end in .parquet"),
        ("B.jsonl", GOOD, "B.jsonl is a Parquet file; rename it to end in .parquet"),
        ("B.csv", as_npy(np.ones(3)), "B.csv is a NumPy file; rename it to end in .npy"),
        ("B.csv", gzip.compress(b"a\n1\n", mtime=0), "B.csv is compressed; rename it to end in .gz"),
        ("B.xlsx", b"PK\x03\x04rest", "B.xlsx is a zip archive or an Excel workbook; save it as CSV"),
        ("B.csv", b'{"a": 1}\n', "B.csv holds JSON Lines; rename it to end in .jsonl"),
        ("B.jsonl", b"a,b\n1,2\n", "B.jsonl is not JSON Lines, in which each line is an object in braces; is it CSV?"),
        ("B.json", b'[{"a": 1}]', "B.json is one JSON list; write one object per line (JSON Lines)"),
        ("B.jsonl", b'{"a": 1}\n{"a": 2', "line 2 of B.jsonl is not valid JSON; write one object per line"),
        ("B.jsonl", b'{"a": 1}\n[2]\n', "line 2 of B.jsonl is not a JSON object; write one object per line"),
        ("B.npy", GOOD, "B.npy is not a NumPy file; save it with numpy.save"),
        ("B.npy", as_npy(np.ones(9))[:-9], "B.npy is incomplete: it has 63 of 72 bytes; copy it again"),
        ("B.npy", as_npy(np.float64(1)), "B.npy holds a single number; save an array of rows"),
        ("B.npy", pickle.dumps([1]), "B.npy is not a NumPy file; save it with numpy.save"),
        (
            "B.npy",
            as_npy(np.array([{}], dtype=object)),
            "B.npy holds Python objects, which could run code when read; save it as numbers",
        ),
        (
            "B.csv.gz",
            gzip.compress(b"a\n1\n", mtime=0)[:-9],
            "B.csv.gz cannot be read: Compressed file ended before the end-of-stream marker was reached",
        ),
    ],
)
def test_row_31_damaged_and_misnamed_files(name, content, message, put):
    assert refusal(put(content, name)) == message


def test_row_31_parquet_with_a_damaged_footer_or_page_is_one_line(put):
    footer = bytearray(GOOD)
    footer[-12:-8] = b"\xff" * 4
    page = bytearray(GOOD)
    page[4:60] = b"\xff" * 56
    for content in (footer, page, b"PAR1PAR1", b"PAR1"):
        assert refusal(put(bytes(content), "B.parquet")).startswith("B.parquet is damaged: ")


def test_row_31_folders(put, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    none = "has no table in it; give a file, or a folder of Parquet, CSV or JSON Lines files"
    assert refusal(folder) == f"the folder parts {none}"
    put("a\n1\n", "parts/notes.md")
    assert refusal(folder) == f"the folder parts {none}"
    (folder / "notes.md").rename(folder / "notes.csv")
    assert files.table(folder).to_pydict() == {"a": [1]}
    put(GOOD, "parts/0.parquet")
    assert refusal(folder) == "the folder parts also holds what is not a Parquet file: 'notes.csv'; move it elsewhere"
    (folder / "notes.csv").unlink()
    (folder / "year=2020").mkdir()
    assert refusal(folder) == "the folder parts also holds what is not a Parquet file: 'year=2020'; move it elsewhere"
    (folder / "year=2020").rmdir()
    assert files.table(folder).num_rows == 100
    put(as_parquet(pa.table({"b": [1.0]})), "parts/1.parquet")
    assert refusal(folder) == (
        "1.parquet and 0.parquet have different columns: only one of them has 'a', 'b'; all files of a folder need the "
        "same columns"
    )
    put(as_parquet(pa.table({"a": ["x"]})), "parts/1.parquet")
    assert refusal(folder).startswith("the files in parts store a column as different types: ")
    put(as_parquet(pa.table({"a": [1, 2]})), "parts/1.parquet")
    assert files.table(folder).to_pydict()["a"][-2:] == [1.0, 2.0]
    put(GOOD[:50], "parts/1.parquet")
    assert refusal(folder).startswith("1.parquet is incomplete: ")


def test_row_31_missing_and_unreadable_files(put, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("B.csv", "B.parquet", "B.npy", "B.jsonl", "B.csv.gz", "B"):
        assert refusal(name) == f"{name} does not exist in the folder '.'"
    assert refusal("x/B.csv") == "B.csv does not exist in the folder 'x'"
    assert refusal("a\0b.csv") == r"a\x00b.csv cannot be read: embedded null byte"
    put("a\n1\n", "file.csv")
    assert refusal("file.csv/B.csv") == "B.csv cannot be read: not a directory"

    def denied(self, *args, **options):
        raise PermissionError(13, "ignored", str(self))  # root may read everything

    monkeypatch.setattr(Path, "open", denied)
    for name in ("B.csv", "B.parquet"):
        assert refusal(name) == f"{name} cannot be read: permission denied"


def test_row_32_parquet_that_promises_too_much_is_refused_before_it_is_read(put, monkeypatch):
    rows = 2_000_000
    repeated = pa.table({name: np.zeros(rows) for name in "abc"})
    path = put(as_parquet(repeated), "B.parquet")
    assert os.path.getsize(path) < 200_000
    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", None)  # a call would be another error
    with sklearn.config_context(working_memory=20):
        assert refusal(path) == (
            "B.parquet needs 46 MiB of memory, the limit is 20 MiB; take fewer rows or columns, or raise the limit "
            "with sklearn.set_config(working_memory=46)"
        )
        assert refusal(path, columns=["a"]).startswith("B.parquet is damaged: ")  # 15.3 MiB: it is read
    monkeypatch.undo()
    with sklearn.config_context(working_memory=20):
        assert files.table(path, columns=["a"]).num_rows == rows


def test_row_32_long_strings_count_unless_they_are_left_out(put):
    words = [f"{i}" * 300_000 for i in range(8)]
    path = put(as_parquet(pa.table({"a": np.zeros(8), "w": words})), "B.parquet")
    with sklearn.config_context(working_memory=1.5):
        assert refusal(path).startswith("B.parquet needs 3 MiB of memory, the limit is 1.5 MiB;")
        assert files.table(path, columns=["a"]).num_rows == 8


def test_row_32_text_and_arrays_larger_than_allowed_are_refused(put, monkeypatch):
    text = b"a\n" + b"1\n" * 1_000_000
    cure = "take fewer rows or columns, or raise the limit with sklearn.set_config(working_memory"
    with sklearn.config_context(working_memory=1):
        assert refusal(put(text)) == f"B.csv needs 2 MiB of memory, the limit is 1 MiB; {cure}=2)"
        assert refusal(put(gzip.compress(text), "B.csv.gz")) == (
            f"B.csv.gz needs more than 2 MiB of memory, the limit is 1 MiB; {cure}=...)"
        )
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert refusal("-").startswith("standard input needs more than 2 MiB of memory")
        assert refusal(put(as_npy(np.zeros(250_000)), "B.npy")).startswith("B.npy needs 2 MiB of memory")
    with sklearn.config_context(working_memory=2):
        assert files.table(put(text)).num_rows == 1_000_000
    header = as_npy(np.zeros(1)).replace(b"(1,), }       ", b"(999999999,),}")
    assert refusal(put(header, "B.npy")).startswith("B.npy is incomplete: it has 8 of 7999999992 bytes")


def test_row_33_names_are_kept_in_the_table_and_escaped_in_messages(put):
    path = put(f"{ESCAPES},b\n1,2\n")
    name = ESCAPES.strip('"')
    assert files.table(path).column_names == [name, "b"]
    escaped = r"'\x1b[31mred\nline\u202e'"
    assert refusal(path, columns=["c"]) == f"B.csv has no column 'c'; it has {escaped}, 'b'"
    assert refusal(put(f"{ESCAPES},{ESCAPES}\n1,2\n")).startswith(f"B.csv has more than one column named {escaped};")
    assert refusal(put("", "\x1b[2J.csv")) == r"\x1b[2J.csv is empty"
    assert len(refusal(put(f"{'x' * 10_000},b\n1,2\n"), columns=["c"])) < 200


@pytest.mark.hostile(28)
@pytest.mark.parametrize("before", ["", "1,u\n" * 3])
def test_a_line_longer_than_a_block_is_named_and_not_called_no_row(before, put):
    line = 2 + before.count("\n")
    bytes_read = f"has {20 * 2**20 + 3} bytes, the limit is 8388608"
    assert refusal(put(f"a,b\n{before}2,{'x' * (20 << 20)}\n3,v\n")) == f"line {line} of B.csv {bytes_read}; shorten it"
    path = put(f"a,b\n{before}2,{'x' * (5 << 20)}\n3,v\n")
    assert files.table(path)["b"].to_pylist()[-2:] == ["x" * (5 << 20), "v"]
    with sklearn.config_context(working_memory=1):
        assert [len(text) for block in files.read(path) for text in block["b"].to_pylist()][-2:] == [5 << 20, 1]
        with pytest.raises(InputError) as caught:
            list(files.read(put(f"a,b\n{before}2,{'x' * (20 << 20)}\n3,v\n")))
    assert str(caught.value) == f"line {line} of B.csv is longer than the limit of 8388608 bytes; shorten it"


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz"])
@pytest.mark.parametrize("large", [False, True])
def test_json_that_would_take_the_parser_down_is_refused_before(large, ending, put):
    def said(text):
        data = text.encode()
        path = put(gzip.compress(data) if ending.endswith("gz") else data, f"B{ending}")
        with sklearn.config_context(working_memory=1e-5 if large else 64), pytest.raises(InputError) as caught:
            files.read(path) if large else files.table(path)
        return str(caught.value)

    name = f"B{ending}"
    rows = '{"a": 1}\n' * 3
    assert said(f"{rows} null\n") == f"line 4 of {name} is not a JSON object; write one object per line"
    assert said(f"{rows}\r\rnull{rows}").startswith("line 4")
    assert said(f"\ufeff null\n{rows}").startswith(f"{name} is not JSON Lines")
    assert said(rows + '{"a": ' + 101 * "[" + 101 * "]" + "}\n").startswith(f"{name} nests values more than 100 deep")


def test_a_line_of_json_longer_than_a_block_is_refused(put):
    path = put('{"a": "' + (1 << 24) * "x" + '"}\n', "B.jsonl")
    with sklearn.config_context(working_memory=1), pytest.raises(InputError, match="a line longer than 8 MiB"):
        files.read(path)
