"""Files held in memory by columns that take little room: the same table as one that is read whole."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st

import densdiff as dd
from densdiff.data import holding
from densdiff.data.holding import hold, stack_tables
from densdiff.data.inputs import source_of
from densdiff.data.table import Column, code_values, coded_values, missing_values, table_of
from densdiff.io import memory
from densdiff.io.arrow import array_of
from densdiff.sources.blocks import BlockSource
from densdiff.sources.source import ArraySource

TEXTS = st.one_of(st.none(), st.sampled_from(["a", "b", "", "1", "ä", "long text"]))
KINDS = {
    "text": (TEXTS, pa.string()),
    "large": (TEXTS, pa.large_string()),
    "numbers": (st.one_of(st.none(), st.floats(allow_nan=False, width=32)), pa.float64()),
    "single": (st.one_of(st.none(), st.floats(allow_nan=False, width=32)), pa.float32()),
    "whole": (st.one_of(st.none(), st.integers(-(2**40), 2**40)), pa.int64()),
    "bytes": (st.one_of(st.none(), st.integers(0, 255)), pa.uint8()),
    "flags": (st.one_of(st.none(), st.booleans()), pa.bool_()),
}


@st.composite
def arrow_tables(draw):
    n = draw(st.integers(1, 30))
    names = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4))
    columns = [draw(st.lists(KINDS[name][0], min_size=n, max_size=n)) for name in names]
    labels = [f"{name} {j}" for j, name in enumerate(names)]
    arrays = [pa.array(values, KINDS[name][1]) for name, values in zip(names, columns, strict=True)]
    return pa.table(arrays, names=labels)


def in_blocks(path, where="A"):
    """The source of a file that does not fit whole."""
    with sklearn.config_context(working_memory=1e-6):
        source = source_of(path, where)
    assert isinstance(source, BlockSource)
    return source


def same_column(a: Column, b: Column):
    assert a.kind == b.kind
    assert np.array_equal(missing_values(a), missing_values(b))
    if a.kind == "numbers":
        assert a.largest >= b.largest  # of whole numbers with gaps only blocks without any know it
    elif a.kind != "booleans":  # whose row nobody asks for
        assert a.row == b.row
    known = ~missing_values(a)
    assert a.values[known].tolist() == b.values[known].tolist()


@settings(max_examples=60, deadline=None)
@given(arrow_tables(), st.integers(1, 7))
def test_what_is_held_is_the_table_that_is_read_whole(tmp_path_factory, table, group):
    path = tmp_path_factory.mktemp("held") / "a.parquet"
    pq.write_table(table, path, row_group_size=group)
    held, whole = hold(in_blocks(path), None, memory.room()), table_of(pq.read_table(path), "A")
    if isinstance(held, BlockSource):  # a column is of no one kind: some blocks of booleans have no value
        assert any(name.startswith("flags") for name in table.column_names)
        return
    assert held.block.names == whole.names
    assert len(held.block) == len(whole)
    for mine, theirs in zip(held.block.columns, whole.columns, strict=True):
        same_column(mine, theirs)
        if theirs.kind == "text":
            assert coded_values(mine).distinct.tolist() == coded_values(theirs).distinct.tolist()
            assert coded_values(mine).places.tolist() == code_values(theirs.values).places.tolist()


@settings(max_examples=60, deadline=None)
@given(arrow_tables(), st.integers(0, 5), st.integers(1, 9))
def test_numbers_of_arrow_are_those_that_arrow_itself_gives(table, start, size):
    for column in table.columns:
        cut = pa.chunked_array([column.chunk(0).slice(start, size), column.chunk(0)], column.type)
        mine, theirs = array_of(cut), cut.to_numpy()
        assert mine.dtype == theirs.dtype
        assert [repr(v) for v in mine.tolist()] == [repr(v) for v in theirs.tolist()]


def test_pandas_is_not_loaded_to_read_numbers(tmp_path):
    paths = [tmp_path / f"{name}.parquet" for name in "ab"]
    for path in paths:
        pq.write_table(pa.table({"x": [1.0, None, 3.0] * 20, "word": ["u", "v", None] * 20}), path)
    program = "import sys, densdiff as dd; dd.compare(*sys.argv[1:], random_state=0); print('pandas' in sys.modules)"
    command = [sys.executable, "-W", "ignore", "-c", program, *map(str, paths)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == ["False"]


def mixed(seed, n):
    random = np.random.default_rng(seed)
    words = np.array(["red", "green", "blue"], dtype=object)[random.integers(0, 3, n)]
    words[random.random(n) < 0.1] = None
    numbers = np.where(random.random(n) < 0.1, np.nan, random.normal(size=n) + seed)
    return pa.table({"word": pa.array(words), "number": pa.array(numbers), "count": random.integers(0, 9, n)})


def test_a_comparison_of_held_files_is_that_of_the_tables(tmp_path, monkeypatch):
    tables = [mixed(seed, 400) for seed in (0, 1)]
    paths = [tmp_path / f"{name}.parquet" for name in "ab"]
    for table, path in zip(tables, paths, strict=True):
        pq.write_table(table, path, row_group_size=90)
    how = {"n_permutations": 99, "random_state": 0, "names": ("A", "B")}
    expected = dd.compare(*tables, **how)
    monkeypatch.setattr("densdiff.io.files.File.fits", False)
    held = []
    monkeypatch.setattr("densdiff.data.inputs.hold", lambda *given: held.append(hold(*given)) or held[-1])
    found = dd.compare(*paths, **how)
    assert all(isinstance(source, ArraySource) for source in held)
    assert found.to_dict() == expected.to_dict()


def test_what_does_not_fit_stays_in_blocks(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pq.write_table(mixed(0, 400), path, row_group_size=90)
    source = in_blocks(path)
    for room in (100.0, 8000.0):  # known before reading, and found while reading
        assert hold(source, None, room) is source
    assert isinstance(hold(source, None, 1e6), ArraySource)
    monkeypatch.setattr(holding, "MOST_LEVELS", 2)
    assert hold(source, None, 1e6) is source


def test_only_the_columns_that_are_asked_for_are_held(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(mixed(0, 50), path)
    assert hold(in_blocks(path), ["count", "word"], memory.room()).block.names == ("count", "word")


def test_a_part_without_any_text_does_not_keep_a_column_from_being_one():
    parts = [table_of(pa.table({"a": pa.array(values, pa.string())}), "A") for values in ([None, None], ["x", None])]
    (column,) = stack_tables(parts).columns
    assert column.kind == "text"
    assert column.row == 2
    assert column.values.tolist() == [None, None, "x", None]


def test_columns_of_different_kinds_are_not_stacked():
    parts = [table_of(pa.table({"a": values}), "A") for values in ([1.0, 2.0], ["x", "y"])]
    assert stack_tables(parts) is None


@pytest.mark.parametrize("values", [[True, False, True], [False, False], [True], []])
def test_booleans_are_coded_in_the_order_in_which_they_come(values):
    mine, plain = code_values(np.array(values, dtype=bool)), code_values(np.array(values, dtype=object))
    assert mine.places.tolist() == plain.places.tolist()
    assert mine.distinct.tolist() == plain.distinct.tolist()
