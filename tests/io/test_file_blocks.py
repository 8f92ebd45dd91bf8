"""A file read whole is its blocks put together, however small these are, and errors say where they were met."""

import csv
import datetime
import gzip
import io
import json
import os
import pickle
import threading
from collections import deque

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from densdiff.errors import DensDiffError, InputError, MissingExtraError
from densdiff.io import memory, parquet_turns
from densdiff.io.csv_form import CsvForm
from densdiff.io.files import File, open_file, read, table
from densdiff.not_fitted import NotFittedError

per_example = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
# Words begin with a letter: a column whose first block holds numbers is one of numbers in a large CSV file.
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8).map("w".__add__)
POOLS = []  # of pyarrow, which outlive what they have allocated
DAYS = st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))
KINDS = {
    "whole": st.integers(-(2**53), 2**53),
    "number": st.floats(allow_nan=False, allow_infinity=False, width=32),
    "word": WORDS,
    "quoted": st.sampled_from(['w "x" y', "w\ny", 'w""', "w,;\r\nx", "wäß€\U0001f600"]),
    "day": DAYS,
    "truth": st.booleans(),
}


@st.composite
def columns(draw, kinds=tuple(KINDS)):
    """Columns of one kind each, with values that are missing; the first has none, so that no line is empty."""
    rows = draw(st.integers(1, 12))
    chosen = ["whole", *draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4))]
    gaps = [st.just(False), *[st.booleans()] * len(chosen)]
    return {
        f"{kind} {j}": [None if draw(gap) else draw(KINDS[kind]) for _ in range(rows)]
        for j, (kind, gap) in enumerate(zip(chosen, gaps, strict=False))
    }


def as_csv(values, sep, end):
    def shown(value):
        return str(value).lower() if isinstance(value, bool) else "" if value is None else value

    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=sep, lineterminator=end, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerows([list(values), *([shown(value) for value in row] for row in zip(*values.values(), strict=True))])
    return buffer.getvalue().encode()


def refused(call):
    with pytest.raises(InputError) as caught:
        call()
    return caught.value


def same_in_blocks(path, monkeypatch, size, **options):
    """The table, after a look at its blocks and at those of each column."""
    whole = table(path, **options)
    with monkeypatch.context() as patch:
        patch.setattr(memory, "TEXT_BLOCK", size)
        patch.setattr(memory, "VALUES", size)
        file = open_file(path, **options)
        for _ in range(2):  # begins anew
            assert joined(file).equals(whole)
        assert file.names == whole.column_names
        assert joined(file.blocks(whole.column_names[-1:])).equals(whole.select(whole.column_names[-1:]))
    return whole


def joined(blocks):
    return pa.concat_tables(block for block in blocks if len(block))


@pytest.mark.parametrize("packed", [False, True])
@given(
    values=columns(),
    size=st.sampled_from([400, 700, 1500]),
    sep=st.sampled_from(",;\t"),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
)
@per_example
def test_a_csv_file_is_its_blocks(values, size, sep, end, packed, put, monkeypatch):
    values = {name: of * 20 for name, of in values.items()}
    data = as_csv(values, sep, end)
    path = put(gzip.compress(data) if packed else data, "B.csv.gz" if packed else "B.csv")
    whole = same_in_blocks(path, monkeypatch, size, sep=sep)
    assert whole.num_rows == len(next(iter(values.values())))
    for name, of in values.items():
        if name.startswith(("word", "quoted")) and any(value is not None for value in of):
            assert whole[name].to_pylist() == of


@given(values=columns(), size=st.sampled_from([300, 1000]), packed=st.booleans())
@per_example
def test_json_lines_are_their_blocks(values, size, packed, put, monkeypatch):
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)] * 20
    data = "".join(json.dumps(row, default=str, ensure_ascii=False) + "\n" for row in rows).encode()
    path = put(gzip.compress(data) if packed else data, "B.jsonl.gz" if packed else "B.jsonl")
    whole = same_in_blocks(path, monkeypatch, size * len(values))
    assert whole.num_rows == len(rows)


@given(values=columns(), group=st.integers(1, 3000), coded=st.booleans(), parts=st.integers(1, 3))
@settings(per_example, max_examples=15)  # thousands of rows each
def test_parquet_files_are_their_blocks(values, group, coded, parts, tmp_path_factory, monkeypatch):
    rows = pa.table({name: pa.array(of * 250) for name, of in values.items()})
    if coded:  # numbers and words
        rows = rows.set_column(0, rows.column_names[0], rows.column(0).dictionary_encode())
        rows = rows.set_column(1, rows.column_names[1], rows.column(1).cast(pa.string()).dictionary_encode())
    folder = tmp_path_factory.mktemp("parts")
    for part in range(parts):
        pq.write_table(rows, folder / f"{part}.parquet", row_group_size=group)
    whole = table(folder)
    with monkeypatch.context() as patch:
        patch.setattr(memory, "VALUES", 1)
        file = open_file(folder)
        blocks = list(file)
    assert file.rows == whole.num_rows == parts * rows.num_rows
    assert file.names == whole.column_names == rows.column_names
    assert {len(block) for block in blocks} <= set(range(1, 1025))
    assert [block.schema.types for block in blocks] == [whole.schema.types] * len(blocks)
    for name in rows.column_names:
        assert [x for block in blocks for x in block[name].to_pylist()] == whole[name].to_pylist()
        assert whole[name].to_pylist() == rows[name].to_pylist() * parts


@given(
    values=columns(),
    more=st.integers(1, 9),
    group=st.sampled_from([1500, 5000]),
    kept=st.sampled_from([[], ["number"], ["word"], ["number", "truth", "word"]]),
    at_once=st.sampled_from([1, 20, 200]),
    coded=st.booleans(),
)
@settings(per_example, max_examples=25)
def test_columns_read_in_turns_give_the_blocks_of_columns_read_together(
    values, more, group, kept, at_once, coded, tmp_path_factory, monkeypatch
):
    rows = pa.table({name: pa.array((of * 6000)[:6000]) for name, of in values.items()})
    for j in range(more):
        rows = rows.append_column(f"number {j} more", pa.array(np.random.default_rng(j).random(len(rows))))
    if coded:
        rows = rows.set_column(0, rows.column_names[0], rows.column(0).dictionary_encode())
    chosen = [name for name in reversed(rows.column_names) if not kept or name.startswith(tuple(kept))]
    path = tmp_path_factory.mktemp("turns") / "A.parquet"
    pq.write_table(rows, path, row_group_size=group)

    def blocks(reader, open_bytes):
        monkeypatch.setattr(parquet_turns, "_OPEN", open_bytes)
        return list(reader.blocks(chosen))

    with monkeypatch.context() as patch:
        patch.setattr(memory, "VALUES", 1024)
        patch.setattr(parquet_turns, "_BLOCKS", at_once)  # blocks of a single column
        patch.setattr(parquet_turns, "_TURN", 30_000)  # a few columns
        patch.setattr(parquet_turns, "_ROUNDS", 1 << 20)
        file = open_file(path)
        for reader in (file, file.coded()):
            together, in_turns = blocks(reader, 1 << 40), blocks(reader, -1)
            assert [len(block) for block in in_turns] == [len(block) for block in together]
            assert all(a.equals(b, check_metadata=True) for a, b in zip(in_turns, together, strict=True))
            assert joined(in_turns).num_rows == rows.num_rows


def test_many_columns_of_a_row_group_are_not_open_at_once(tmp_path, monkeypatch):
    random, rows, width = np.random.default_rng(0), 20_000, 200
    path = tmp_path / "A.parquet"
    pq.write_table(pa.table({f"c{j}": random.random(rows) for j in range(width)}), path)
    monkeypatch.setattr(memory, "VALUES", 1 << 14)
    monkeypatch.setattr(parquet_turns, "_TURN", 1 << 21)

    def most_bytes(open_bytes):
        """What pyarrow had allocated at most in a pass whose first and last block are kept."""
        monkeypatch.setattr(parquet_turns, "_OPEN", open_bytes)
        pool, usual = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
        POOLS.append(pool)
        pa.set_memory_pool(pool)
        try:
            blocks = iter(open_file(path))
            kept = [next(blocks)]
            kept += deque(blocks, maxlen=1)
        finally:
            pa.set_memory_pool(usual)
        assert [len(block) for block in kept] == [1024, rows % 1024]
        assert sum(block.nbytes for block in kept) <= pool.bytes_allocated() < 1.5 * sum(block.nbytes for block in kept)
        return pool.max_memory()

    stretch = 8 * parquet_turns._BLOCKS * memory.VALUES
    assert most_bytes(1 << 40) > 8 * rows * width  # the dictionary of every column
    assert most_bytes(1 << 21) < 2 * stretch + 4 * parquet_turns._TURN


def test_a_row_group_that_would_be_decoded_many_times_is_read_together(tmp_path, monkeypatch):
    pq.write_table(pa.table({f"c{j}": np.zeros(5000) for j in range(4)}), path := tmp_path / "A.parquet")
    monkeypatch.setattr(parquet_turns, "_OPEN", -1)
    monkeypatch.setattr(memory, "VALUES", 1024)
    monkeypatch.setattr(parquet_turns, "_BLOCKS", 4)
    with pq.ParquetFile(path) as file:
        for rounds, is_read_in_turns in ((4, False), (5, True)):
            monkeypatch.setattr(parquet_turns, "_ROUNDS", rounds)
            assert bool(parquet_turns.turns_of(file, 0, file.schema_arrow.names)) == is_read_in_turns


@given(rows=st.integers(1, 3000), width=st.integers(0, 3), order=st.sampled_from("CF"), chosen=st.booleans())
@per_example
def test_an_array_file_is_its_blocks(rows, width, order, chosen, tmp_path, monkeypatch):
    shape = (rows, width) if width else (rows,)
    array = np.asarray(np.random.default_rng(0).normal(size=shape), order=order)
    np.save(tmp_path / "A.npy", array)
    names = [f"x{j}" for j in reversed(range(max(width, 1)))] if chosen else None
    whole = table(tmp_path / "A.npy", columns=names)
    np.testing.assert_array_equal(whole, array[:, ::-1] if chosen and width else array)
    monkeypatch.setattr(memory, "VALUES", 1)
    file = open_file(tmp_path / "A.npy", columns=names)
    blocks = [np.column_stack(list(block.values())) if chosen else block for block in file]
    assert (file.rows, file.names, len(blocks)) == (rows, names, -(-rows // 1024))
    np.testing.assert_array_equal(np.concatenate(blocks), whole.reshape(rows, -1))


@given(text=st.text('ab,"\n\r', max_size=40), alone=st.booleans())
@example(text='5" a,b\n6,"x\n', alone=False)
@example(text='a,""",\n"\nb', alone=False)
@example(text="a\r\n\r\nb\r", alone=True)
@per_example
def test_rows_end_where_a_slow_reader_says(text, alone):
    """Letter by letter: a quote opens a field only at its beginning, and closes it unless it is doubled."""
    data = text.encode()
    form = CsvForm(",", ".", ["x"] if alone else ["x", "y"], True, False)
    state, ends, at = "start", [], 0
    while at < len(text):
        letter = text[at]
        if state == "quoted":
            if letter == '"':
                at, state = (at + 1, "quoted") if text[at + 1 : at + 2] == '"' else (at, "field")
        elif letter == '"' and state == "start":
            state = "quoted"
        else:
            state = "start" if letter in ",\r\n" else "field"
            if letter in "\r\n" and text[at : at + 2] != "\r\n":
                ends.append(at + 1)
        at += 1
    assert (form.open_quote(data) >= 0) == (state == "quoted")
    feeds = [end for end in ends if text[end - 1] == "\n"]
    expected = max(feeds or [end for end in ends if end < len(text)], default=0)
    if alone:  # empty lines stay with what follows
        filled = len(text[:expected].rstrip("\r\n"))
        expected = min(end for end in ends if end > filled) if filled else 0
    assert form.row_end(data) == expected


def test_a_pipe_is_read_once_and_kept(tmp_path):
    lines = b"a,b\n" + b"1.5,u\n" * 300_000  # more than is looked at when a file is opened
    os.mkfifo(tmp_path / "pipe.csv")
    writer = threading.Thread(target=(tmp_path / "pipe.csv").write_bytes, args=(lines,))
    writer.start()
    found = read(tmp_path / "pipe.csv")
    writer.join()
    assert found.num_rows == 300_000


def test_a_file_that_fits_is_read_whole_and_another_gives_itself(put):
    path = put("a,b\n" + "1.5,u\n" * 100)
    assert open_file(path).fits
    assert read(path).num_rows == 100
    with sklearn.config_context(working_memory=4 * 603 / 2**20):
        assert not open_file(path).fits
        assert isinstance(read(path), File)
    with sklearn.config_context(working_memory=4 * 604 / 2**20):
        assert open_file(path).fits


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a,b\n1,2\n3\n", (None, 1)),
        ("a,b\n" + "1.5,2\n" * 20 + "oops,3\n", ("a", 20)),
        ("a,a\n1,2\n", ("a", None)),
        ("a,b\n1,2\n\x00\n", (None, None)),
    ],
)
def test_an_error_says_file_column_and_row(text, where, put):
    error = refused(lambda: table(put(text)))
    assert (error.file, error.column, error.row) == ("B.csv", *where)
    error = refused(lambda: table(put('{"a": 1}\n{"a": "u"}\n', "B.jsonl")))
    assert (error.file, error.column, error.row, error.argument) == ("B.jsonl", "a", 1, None)
    error = refused(lambda: table(put("a,b\n1,2\n"), columns=["c"]))
    assert (error.file, error.column, error.argument) == ("B.csv", "c", "columns")


@pytest.mark.parametrize("kind", [DensDiffError, InputError, MissingExtraError, NotFittedError])
def test_where_an_error_was_met_survives_pickling(kind):
    error = kind("what came", file="B.csv", argument="columns", column="a", row=7)
    error.add_note("on a worker")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.args, copy.__dict__) == (kind, "what came", ("what came",), error.__dict__)
    assert (copy.file, copy.argument, copy.column, copy.row) == ("B.csv", "columns", "a", 7)
    plain = pickle.loads(pickle.dumps(kind("what came")))
    assert (plain.file, plain.argument, plain.column, plain.row) == (None, None, None, None)
