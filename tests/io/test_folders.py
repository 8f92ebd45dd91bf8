"""Compressed text and folders of it: one table in the order of the names, whatever the packing."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn

from densdiff.errors import InputError
from densdiff.io import files

ROWS = [{"a": i if i % 5 else i + 0.5, "w": f"0{i % 9}"} for i in range(40)]


def zst(data):
    return pa.compress(data, codec="zstd", asbytes=True)


def as_text(rows, is_csv):
    if is_csv:
        return "".join(["a,w\n", *(f"{row['a']},{row['w']}\n" for row in rows)]).encode()
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def refusal(path, **options):
    with pytest.raises(InputError) as caught:
        files.table(path, **options)
    assert str(caught.value).isprintable()
    return str(caught.value)


@pytest.mark.hostile(52)
@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
@pytest.mark.parametrize("keep_text", [False, True])
def test_row_52_a_folder_of_packed_files_is_one_table(tmp_path, ending, keep_text):
    folder, one = tmp_path / "parts", tmp_path / f"one{ending}"
    folder.mkdir()
    is_csv = ending == ".csv"
    one.write_bytes(as_text(ROWS, is_csv))
    parts = (("1", b"", ROWS[:10]), ("2.gz", gzip, ROWS[10:11]), ("3.zst", zst, ROWS[11:]))
    for part, pack, rows in parts:
        text = as_text(rows, is_csv)
        packed = pack.compress(text) if pack is gzip else pack(text) if pack else text
        (folder / f"{part[0]}{ending}{part[1:]}").write_bytes(packed)
    (folder / "_SUCCESS").touch()
    expected = files.table(one, keep_text=keep_text)
    assert files.table(folder, keep_text=keep_text).equals(expected)
    assert files.read(folder, columns=["w"], keep_text=keep_text).equals(expected.select(["w"]))
    file = files.open_file(folder, keep_text=keep_text)
    assert (file.names, len(file.reader.places)) == (["a", "w"], 3)
    assert pa.concat_tables(file.blocks(["w", "a"])).equals(expected.select(["w", "a"]))


@pytest.mark.hostile(52)
def test_a_folder_of_files_that_do_not_go_together_is_refused_by_name(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "1.csv").write_text("a,b\n1,x\n")
    (folder / "2.csv.gz").write_bytes(gzip.compress(b"a,c\n1,x\n"))
    columns = "2.csv.gz and 1.csv have different columns: only one of them has 'b', 'c'"
    assert refusal(folder) == f"{columns}; all files of a folder need the same columns"
    (folder / "2.csv.gz").write_bytes(gzip.compress(b"b,a\ny,word\n"))
    kinds = "column 'a' is int64 in 1.csv and string in 2.csv.gz"
    assert refusal(folder) == f"{kinds}; all files of a folder need the same kinds of columns"
    assert files.table(folder, keep_text=True).to_pydict() == {"a": ["1", "word"], "b": ["x", "y"]}
    (folder / "2.csv.gz").write_bytes(gzip.compress(b"b,a\ny,2.5\n"))
    assert files.table(folder).to_pydict() == {"a": [1.0, 2.5], "b": ["x", "y"]}
    (folder / "3.jsonl").write_text('{"a": 1, "b": "z"}\n')
    assert refusal(folder) == "the folder parts holds CSV files and what is none: '3.jsonl'; move it elsewhere"
    pq.write_table(pa.table({"a": [1]}), folder / "4.parquet")
    assert refusal(folder).startswith("the folder parts also holds what is not a Parquet file: '1.csv', '2.csv.gz'")


def test_packed_text_is_read_like_the_text_itself(put):
    text = as_text(ROWS, True)
    expected = files.table(put(text, "B.csv"))
    assert files.table(put(zst(text), "B.csv.zst")).equals(expected)
    assert files.table(put(zst(text[:200]) + zst(text[200:]), "B.csv.zst")).equals(expected)  # two frames
    assert files.table(put(zst(as_text(ROWS, False)), "B.jsonl.zst"))["a"].equals(expected["a"])
    large = b"a,b\n" + b"1,2\n" * 3_000_000
    path = put(zst(large), "B.csv.zst")
    with sklearn.config_context(working_memory=4):
        file = files.read(path)
        assert isinstance(file, files.File)
        assert sum(len(block) for block in file) == 3_000_000
        assert "needs more than" in refusal(path)


def test_packed_text_that_is_damaged_is_refused(put):
    packed = zst(as_text(ROWS * 500, True))
    assert refusal(put(packed[:-9], "B.csv.zst")) == "B.csv.zst cannot be read: Truncated compressed stream"
    assert refusal(put(packed + b"more", "B.csv.zst")).startswith("B.csv.zst cannot be read: ZSTD decompress failed")
    assert refusal(put(b"", "B.csv.zst")) == "B.csv.zst is empty"
    assert refusal(put(packed, "B.csv")) == "B.csv is compressed; rename it to end in .zst"
    assert refusal(put(b"\n<!DOCTYPE HTML><p>", "B.csv")) == (
        "B.csv is a web page, not a table; was it a login page that was saved?"
    )
