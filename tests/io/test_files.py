"""Files in and out: what is read is what was written, by slow twins; what is written is whole or not there."""

import csv
import errno
import gzip
import io
import json
import math
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import sklearn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from densdiff.errors import DensDiffError, InputError
from densdiff.io import files
from densdiff.io.files import File, read

RNG = np.random.default_rng(3)
SMALL = pa.table({"a": [1.5, None, -3.0], "n": [1, 2, 3], "w": ["red", None, "blue"], "t": [True, False, None]})
ENDINGS = ["B.csv", "B.txt", "B", "B.jsonl", "B.json", "B.parquet", "B.npy", "B.csv.gz"]
per_example = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def as_npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def refusal(*args, **options):
    with pytest.raises(InputError) as caught:
        files.table(*args, **options)
    text = str(caught.value)
    assert text.isprintable()
    return text


def outcome(path, **options):
    """The table as lists, or the message."""
    try:
        return files.table(path, **options).to_pydict()
    except DensDiffError as error:
        return str(error)


def test_a_path_is_a_string_or_a_path():
    given = ["A.csv", Path("A.csv"), b"A.csv", None, [1.0], np.zeros(2), SMALL]
    assert [files.is_path(value) for value in given] == [True, True, False, False, False, False, False]


def test_numpy_files_are_read_without_pyarrow_and_others_say_what_is_missing(put):
    array, text = put(as_npy(np.arange(6.0).reshape(3, 2)), "A.npy"), put("a\n1\n")
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from densdiff.io import files\n"
        "from densdiff.errors import MissingExtraError\n"
        f"print(files.table({str(array)!r}).sum())\n"
        f"try: files.table({str(text)!r})\n"
        "except MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == '15.0\nreading CSV files needs pyarrow: pip install "densdiff[cli]"\n'


def test_every_format_gives_the_same_table(put, tmp_path):
    lines = "".join(json.dumps(row) + "\n" for row in SMALL.to_pylist())
    text = "a,n,w,t\n1.5,1,red,true\n,2,,false\n-3,3,blue,\n"
    pq.write_table(SMALL, tmp_path / "B.parquet")
    (tmp_path / "parts").mkdir()
    pq.write_table(SMALL.slice(0, 1), tmp_path / "parts" / "0.parquet")
    pq.write_table(SMALL.slice(1).select(["t", "n", "w", "a"]), tmp_path / "parts" / "1.pq")
    (tmp_path / "parts" / "_SUCCESS").touch()
    (tmp_path / "parts" / ".0.parquet.crc").touch()
    paths = [
        put(text),
        put(text.replace("\n", "\r\n").removesuffix("\r\n"), "windows.csv"),
        put(text.replace(",", "\t"), "B.tsv"),
        put(gzip.compress(text.encode()), "B.csv.gz"),
        put(lines, "B.jsonl"),
        put(lines, "B.ndjson"),
        put(lines, "B.json"),
        put(lines, "unnamed"),
        tmp_path / "B.parquet",
        tmp_path / "parts",
    ]
    for path in paths:
        for form in (Path, str):
            found = files.table(form(path))
            assert found.to_pydict() == SMALL.to_pydict(), path
            assert found.schema.types == SMALL.schema.types, path
        assert files.table(path, columns=["w", "a"]).to_pydict() == SMALL.select(["w", "a"]).to_pydict(), path


def test_coded_and_plain_text_in_one_folder_are_one_column(tmp_path):
    words = pa.chunked_array([["u", None, "v"]])
    kinds = [
        pa.dictionary(pa.int8(), pa.string()),
        pa.string(),
        pa.dictionary(pa.int32(), pa.large_string()),
        pa.null(),
    ]
    for count, kind in enumerate(kinds):
        values = pa.nulls(3) if kind == pa.null() else words.cast(kind)
        pq.write_table(pa.table({"x": [1.0, 2.0, 3.0], "w": values}), tmp_path / f"{count}.parquet")
    expected = [*["u", None, "v"] * 3, None, None, None]
    found = files.table(tmp_path)
    assert found["w"].to_pylist() == expected
    assert found["x"].to_pylist() == [1.0, 2.0, 3.0] * 4
    with sklearn.config_context(working_memory=1e-4):
        assert [value for block in read(tmp_path) for value in block["w"].to_pylist()] == expected


def test_an_index_without_a_name_is_no_column_of_a_parquet_file_unless_asked_for(tmp_path):
    frame = pd.DataFrame({"x": [1.5, 2.5, 3.5] * 900, "w": ["u", "v", "w"] * 900}).sample(frac=1, random_state=0)
    (parts := tmp_path / "parts").mkdir()
    frame.to_parquet(parts / "0.parquet")
    frame.reset_index(drop=True).to_parquet(parts / "1.parquet")
    frame.rename_axis("id").to_parquet(tmp_path / "named.parquet")
    frame[[]].to_parquet(tmp_path / "alone.parquet")
    level = "__index_level_0__"
    for memory in (1024, 0.01):
        with sklearn.config_context(working_memory=memory):
            for path, columns, expected in (
                (parts / "0.parquet", None, ["x", "w"]),
                (parts, None, ["x", "w"]),
                (parts / "0.parquet", [level, "x"], [level, "x"]),
                (tmp_path / "named.parquet", None, ["x", "w", "id"]),
                (tmp_path / "alone.parquet", None, [level]),
            ):
                found = read(path, columns=columns)
                block = next(iter(found)) if isinstance(found, File) else found
                assert block.column_names == expected
                assert isinstance(found, File) == (memory < 1)


@pytest.mark.parametrize(("content", "values"), [(b"a;b\n1;2\n", [1]), (b' \n{"a": 1}\n{"a": 2}\n', [1, 2])])
def test_standard_input_is_told_by_its_first_character(content, values, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert files.table("-").to_pydict()["a"] == values
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    assert refusal("-") == "standard input is empty"


def test_a_numpy_file_is_an_array_and_its_columns_are_numbered(put):
    array = RNG.normal(size=(5, 3))
    path = put(as_npy(array), "A.npy")
    np.testing.assert_array_equal(files.table(path), array)
    np.testing.assert_array_equal(files.table(path, columns=["x2", "x0"]), array[:, [2, 0]])
    assert refusal(path, columns=["x3"]) == "A.npy has no column 'x3'; it has 'x0', 'x1', 'x2'"
    np.testing.assert_array_equal(files.table(put(as_npy(array[:, 0]), "line.npy"), columns=["x0"]), array[:, 0])


CELLS = st.one_of(
    st.none(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**53), 2**53),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
)


@given(
    rows=st.integers(2, 4).flatmap(lambda d: st.lists(st.lists(CELLS, min_size=d, max_size=d), min_size=1, max_size=8)),
    sep=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
)
@per_example
def test_a_csv_file_with_words_comes_back_as_the_csv_module_reads_it(rows, sep, end, put):
    """Words in each column make it text, so that every field must be the field of the twin."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=sep, lineterminator=end, quoting=csv.QUOTE_NONNUMERIC)
    names = [f"c{j}" for j in range(len(rows[0]))]
    words = [["a word"] * len(names)] * (len(rows) + 1)
    writer.writerows([names, *rows, *words])
    twin = list(csv.reader(io.StringIO(buffer.getvalue(), newline=""), delimiter=sep))
    found = files.table(put(buffer.getvalue()), sep=sep)
    assert found.column_names == twin[0]
    missing = set(pa.csv.ConvertOptions().null_values)
    expected = [[None if field in missing else field for field in row] for row in twin[1:]]
    assert [list(row.values()) for row in found.to_pylist()] == expected


@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=30),
    sep=st.sampled_from(";\t|"),
    decimal=st.sampled_from(".,"),
)
@per_example
def test_numbers_come_back_bit_by_bit_with_either_decimal_mark(values, sep, decimal, put):
    text = f"a{sep}b\n" + "".join(f"{x!r}{sep}{-x!r}\n".replace(".", decimal) for x in values)
    path = put(text)
    assert files.table(path, sep=sep, decimal=decimal).to_pydict() == {"a": values, "b": [-x for x in values]}
    guess = outcome(path)  # without the options it is the same table, or a question: never another table
    assert guess == {"a": values, "b": [-x for x in values]} or "decimal" in guess


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1;2,3;4\n", {"a": ["1;2"], "b": ["3;4"]}),
        ('a,b\n"x;y;z",1\n"x;y;z",2\n', {"a": ["x;y;z"] * 2, "b": [1, 2]}),
        ('a;b\n"x,y";1\n"z,y";2\n', {"a": ["x,y", "z,y"], "b": [1, 2]}),
        ('a,b\n"two\nlines",1\n', {"a": ["two\nlines"], "b": [1]}),
        ('a,b\n5" pipe,1\n6" pipe,2\n', {"a": ['5" pipe', '6" pipe'], "b": [1, 2]}),
        ('a,b\n5" pipe,1\n', {"a": ['5" pipe'], "b": [1]}),
        ("a|b\n1|2\n", {"a": [1], "b": [2]}),
        ("a\n1\n\n3\n\n\n", {"a": [1, None, 3]}),
        ("\n\na\n1\n", {"a": [1]}),
        ("a,b\n\n1,2\n\n", {"a": [1], "b": [2]}),
        ("a,b\n007,1\n", {"a": [7], "b": [1]}),
        ("a,b\r1,2\r3,4\r", {"a": [1, 3], "b": [2, 4]}),
        ("2019,2020\n1,2\n", {"2019": [1], "2020": [2]}),
        (",a\n0,1\n", {"": [0], "a": [1]}),
        ('a;b\n"1,5";"x"\n', {"a": [1.5], "b": ["x"]}),
        ("a;b\n1,5;1.2.2020\n", {"a": [1.5], "b": ["1.2.2020"]}),
        ("{a,b}\n1,2\n", {"{a": [1], "b}": [2]}),
    ],
)
def test_csv_as_people_write_it(text, expected, put):
    assert files.table(put(text)).to_pydict() == expected


def test_line_ends_in_quotes_hold_across_the_blocks_of_the_reader(put):
    text = "a,b\n" + '"two\n\nlines",1\n' * 200_000
    assert files.table(put(text))["a"].unique().to_pylist() == ["two\n\nlines"]


def test_dates_become_dates_and_the_later_check_sees_them(put):
    found = files.table(put("d,s\n2020-01-01,2020-01-01 10:00:00\n"))
    assert [str(kind) for kind in found.schema.types] == ["date32[day]", "timestamp[s]"]


def test_without_a_header_columns_are_numbered(put):
    path = put("1,2\n3,4\n")
    assert files.table(path, header=False).to_pydict() == {"x0": [1, 3], "x1": [2, 4]}
    assert files.table(path, header=False, columns=["x1"]).to_pydict() == {"x1": [2, 4]}
    numbers = put("1.5,2\n3,4\n")
    assert refusal(numbers) == "B.csv has no column names, as it begins with the numbers '1.5', '2'; give header=False"
    assert files.table(put("5\n\n7\n"), header=False).to_pydict() == {"x0": [5, None, 7]}


def test_a_column_that_is_not_there_is_named_with_those_that_are(put):
    path = put(",".join(f"c{j}" for j in range(8)) + "\n" + ",".join("1" * 8) + "\n")
    assert (
        refusal(path, columns=["z", "c1", "y"])
        == "B.csv has no column 'z', 'y'; it has 'c0', 'c1', 'c2', 'c3', 'c4' and 3 more"
    )
    assert refusal(put('{"a": 1}', "B.jsonl"), columns=["b"]) == "B.jsonl has no column 'b'; it has 'a'"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "a"}, "columns must be a list of names; got 'a'"),
        ({"columns": [1]}, "columns must be a list of names; got 1"),
        ({"columns": []}, "columns is empty; name at least 1 column, or leave it out to read all"),
        ({"columns": ["a", "a"]}, "columns names 'a' more than once; name each column once"),
        ({"sep": ";;"}, "sep must be one character such as ',' or ';'; got ';;'"),
        ({"sep": "\n"}, r"sep must be one character such as ',' or ';'; got '\n'"),
        ({"decimal": ";"}, "decimal must be '.' or ','; got ';'"),
    ],
)
def test_options_are_checked(options, message, put):
    assert refusal(put("a,b\n1,2\n"), **options) == message


def test_a_tab_can_be_given_as_on_a_command_line(put):
    assert files.table(put("a\tb\n1\t2\n"), sep=r"\t").num_columns == 2


def test_deeply_nested_json_is_refused_before_it_exhausts_the_stack(put):
    deep = 100_000
    message = "B.jsonl nests values more than 100 deep; give each entry a column of its own"
    for opening, closing in (("[", "]"), ("[\n", "]"), ('{"a":', "}"), ('{"a":\n', "}")):
        text = '{"a":' + opening * deep + "1" + closing * deep + "}"
        assert refusal(put(text, "B.jsonl")) == message
    spoilt = '"\n' + "]" * deep + '\n{"a":' + "[" * deep + "]" * deep + '}\n"'  # the first block is no JSON at all
    assert refusal(put("{" + spoilt, "B.jsonl")) == message
    text = '{"a": "[[[ \\" {{{"}\n' * 400
    assert files.table(put(text, "B.jsonl")).to_pydict() == {"a": ['[[[ " {{{'] * 400}


@pytest.mark.parametrize("name", ENDINGS)
@given(
    head=st.sampled_from([b"", b"PAR1", b"\x93NUMPY\x01\x00", b"{", b"a,b\n", b"\x1f\x8b", b"PK\x03\x04"]),
    body=st.binary(max_size=60),
    foot=st.sampled_from([b"", b"PAR1", b"}\n"]),
)
@per_example
def test_random_bytes_give_a_table_or_one_harmless_line(name, head, body, foot, put):
    path = put(head + body + foot, name)
    try:
        assert len(files.table(path)) > 0
    except DensDiffError as error:
        message = str(error)
    else:
        return
    assert message.isprintable()
    assert path.name in message


@given(text=st.text('ab1.,;|\t"\n\r{}[]: -e', max_size=40))
@per_example
def test_random_csv_keeps_every_row_of_the_twin_or_is_refused(text, put):
    """Whatever is read has as many rows, of the same width, as the csv module finds."""
    try:
        found = files.table(put(text), sep=",", header=False)
    except InputError:
        return
    rows = list(csv.reader(io.StringIO(text, newline="")))
    width = max(map(len, rows))
    if width == 1:
        text = text.strip("\r\n")
        rows = [row or [""] for row in csv.reader(io.StringIO(text, newline=""))]
    assert found.shape == (sum(1 for row in rows if row), width)


# -- writing --------------------------------------------------------------------------------------------------------


@contextmanager
def untouched(folder):
    """Nothing in the folder changes, not even by a file left over."""
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    yield
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def fail_halfway(path, failure):
    with files.atomic_write(path) as aside:
        aside.write_text("half")
        raise failure


def unwritable(path):
    with pytest.raises(InputError) as caught, files.atomic_write(path) as aside:
        aside.write_text("new")
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_a_written_file_takes_the_place_of_the_old_one_only_at_the_end(tmp_path):
    target = tmp_path / "report.html"
    target.write_text("old")
    with files.atomic_write(target) as aside:
        aside.write_text("new")
        assert aside.parent == target.parent
        assert aside.name.startswith(".")
        assert str(os.getpid()) in aside.name
        assert aside.suffix == target.suffix
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["report.html"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, SystemExit, RuntimeError, ValueError])
def test_row_41_no_partial_file_after_a_failure_and_the_failure_goes_on(failure, tmp_path):
    (tmp_path / "report.html").write_text("old")
    with untouched(tmp_path), pytest.raises(failure):
        fail_halfway(tmp_path / "report.html", failure())


def test_row_41_a_full_disk_is_one_line_and_leaves_nothing(tmp_path):
    target = tmp_path / "report.html"
    with untouched(tmp_path), pytest.raises(InputError) as caught:
        fail_halfway(target, OSError(errno.ENOSPC, "ignored", str(target)))
    assert str(caught.value).startswith("cannot write '")
    assert str(caught.value).endswith("port.html': no space left on device")  # a long path is cut


def test_row_41_places_that_cannot_be_written_are_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert unwritable("x/report.html") == "cannot write 'x/report.html': the folder 'x' does not exist"
    assert unwritable("x\x1b[31m/r") == r"cannot write 'x\x1b[31m/r': the folder 'x\x1b[31m' does not exist"
    (tmp_path / "x").mkdir()
    assert unwritable(Path("x")) == "cannot write 'x': it is a folder"
    assert unwritable("") == "cannot write '': it is a folder"
    assert unwritable("x\0y") == r"cannot write 'x\x00y': embedded null byte"
    os.mkfifo("pipe")
    assert unwritable("pipe") == "cannot write 'pipe': it is not a regular file"
    Path("report.html").write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    with untouched(tmp_path):
        assert unwritable("report.html") == "cannot write 'report.html': permission denied"


def test_writing_through_a_link_keeps_the_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "file")
    with files.atomic_write(tmp_path / "link") as aside:
        aside.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "file").read_text() == "new"


def test_infinity_is_read_from_json_constants(put):
    assert files.table(put('{"a": Infinity}\n{"a": 1}', "B.jsonl")).to_pydict() == {"a": [math.inf, 1.0]}


@pytest.mark.parametrize("name", ["y" * 250 + ".html", "\U0001f600" * 62 + ".html"])
def test_a_name_as_long_as_the_system_allows_is_written(name, tmp_path):
    with files.atomic_write(tmp_path / name) as aside:
        aside.write_text("new")
        assert aside.suffix == ".html"
    assert os.listdir(tmp_path) == [name]
