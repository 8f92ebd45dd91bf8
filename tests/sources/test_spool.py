"""Rows that can be read once are kept in a file that nobody finds, and are read from it as from any other."""

import gc
import itertools
import os
import pickle
import tempfile
import threading
import weakref
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import densdiff as dd
from densdiff.data.table import table_of
from densdiff.sources import spool
from densdiff.sources.batches import reblocked
from densdiff.sources.lazy import LazyTable
from densdiff.sources.opening import source_of
from tests.command_line import silently

N = 5_000
NOTE = "is lazy and larger than memory allows; it was read once into a temporary file: "


def numbers(n=N, shift=0.0):
    random = np.random.default_rng([n, int(10 * shift)])
    return pa.table({name: random.normal(size=n) + shift for name in "ab"})


def opened(value):
    return source_of(value, "X", table_of)


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    """80 kB do not fit, and are three blocks."""
    monkeypatch.setattr("densdiff.io.memory.VALUES", 4096)
    monkeypatch.setattr("densdiff.io.memory.room", lambda: 20_000.0)


@given(
    sizes=st.lists(st.integers(0, 6000), max_size=12),
    long_text=st.booleans(),
)
def test_blocks_hold_the_rows_of_the_batches_and_are_neither_tiny_nor_large(sizes, long_text):
    table = pa.table({"a": np.arange(sum(sizes)), "t": [("long " * 40 if long_text else "x")] * sum(sizes)})
    edges = [0, *itertools.accumulate(sizes)]
    batches = [b for low, high in itertools.pairwise(edges) for b in table[low:high].to_batches() if b.num_rows]
    blocks = list(reblocked(iter(batches), 2))
    rows = pa.concat_tables(blocks).to_pydict() if blocks else {"a": [], "t": []}
    assert rows == table.to_pydict()
    assert all(block.num_rows <= 2048 and block.nbytes <= 1.1 * 8 * 4096 for block in blocks)
    assert all(a.num_rows + b.num_rows > 2048 or a.nbytes + b.nbytes > 8 * 4096 for a, b in itertools.pairwise(blocks))


@pytest.mark.hostile(49)
def test_every_question_says_how_many_rows_were_kept():
    n = 1300
    x, y = numbers(n), numbers(1000, 0.2)
    answers = {
        "X": dd.l2_distance(x.to_reader(), y, random_state=0),
        "A": silently(dd.compare, x.to_reader(), y, n_permutations=19, random_state=0),
        "series": dd.detect_changes(x.to_reader(), window=30, random_state=0),
        "X_new": silently(
            dd.ClassBalance(random_state=0).fit(y[:400], y["a"].to_numpy()[:400] > 0).estimate, x.to_reader()
        ),
    }
    for name, answer in answers.items():
        assert [note for note in answer.warnings if "lazy" in note] == [f"{name} {NOTE}{n} rows, 0.0208 MB"]


@pytest.mark.hostile(49)
def test_rows_in_another_order_each_time_are_read_once():
    class Shuffled:
        names, is_repeatable, readings = ["a", "b"], False, 0

        def batches(self, columns):
            self.readings += 1
            order = np.random.default_rng(self.readings).permutation(N)
            return iter(numbers().take(order).select(columns).to_batches(max_chunksize=1000))

    stream, other = Shuffled(), numbers(4_000, 0.2)
    found = dd.l2_distance(stream, other, random_state=0)
    assert stream.readings == 1
    first = numbers().take(np.random.default_rng(1).permutation(N))
    assert found.squared == pytest.approx(dd.l2_distance(first, other, random_state=0).squared, rel=1e-9)


# the file


def temporary_files():
    return {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("densdiff")}


def test_the_file_has_no_name_and_is_closed_with_its_source(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # others write to the usual folder at the same time
    source = opened(numbers().to_reader())
    assert temporary_files() == set()
    file = source.blocks._file
    assert not file.closed
    gone = weakref.ref(source.blocks)
    del source
    gc.collect()
    assert gone() is None
    assert file.closed


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_the_file_is_closed_after_an_error(error, monkeypatch):
    files = [tempfile.TemporaryFile()]  # noqa: SIM115
    monkeypatch.setattr(spool.tempfile, "TemporaryFile", lambda **options: files[0])

    def read(columns):
        yield from numbers().to_batches(max_chunksize=1000)
        raise error("enough")

    expected = dd.InputError if error is ValueError else error
    with pytest.raises(expected, match="^X cannot be read: enough$" if error is ValueError else "enough"):
        opened(LazyTable(["a", "b"], read))
    gc.collect()
    assert [file.closed for file in files] == [True]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk_is_one_sentence(monkeypatch):
    def always_full(**options):
        return Path("/dev/full").open("w+b")

    monkeypatch.setattr(spool.tempfile, "TemporaryFile", always_full)
    with pytest.raises(dd.InputError) as caught:
        opened(numbers().to_reader(max_chunksize=1000))
    assert str(caught.value) == (
        f"X is larger than memory allows and cannot be kept in {tempfile.gettempdir()}: no space left on device; "
        "make room there, or set TMPDIR to another folder"
    )


def test_a_folder_that_is_not_there_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(
        dd.InputError, match=r"^X is larger than memory allows and cannot be kept in .*gone: no such file"
    ):
        opened(numbers().to_reader())


def test_threads_read_one_file_at_the_same_time():
    blocks, table = opened(numbers().to_reader()).blocks, numbers()
    found = {}

    def read(name):
        found[name] = [pa.concat_tables(blocks.blocks([name])) for _ in range(5)]

    threads = [threading.Thread(target=read, args=(name,)) for name in "abab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, tables in found.items():
        assert all(each.equals(table.select([name])) for each in tables)


def test_a_fitted_model_can_be_pickled_and_predicts_without_the_rows():
    model = dd.LSDD(random_state=0).fit(numbers().to_reader(), numbers(4_000, 0.2))
    copy = pickle.loads(pickle.dumps(model))
    points = np.zeros((3, 2))
    np.testing.assert_array_equal(copy.predict(points), model.predict(points))
    source = opened(numbers().to_reader())
    with pytest.raises(dd.InputError, match=r"^the rows of X were in a temporary file that is gone; ask again$"):
        list(pickle.loads(pickle.dumps(source.blocks)).blocks(None))


def test_weights_of_a_lazy_table_need_it_in_memory():
    frame, weights = pl.from_arrow(numbers(300)).lazy(), np.arange(1.0, 301.0)
    found = dd.LSDD(random_state=0).fit(frame, numbers(200, 0.1), weights_x=weights)
    expected = dd.LSDD(random_state=0).fit(numbers(300), numbers(200, 0.1), weights_x=weights)
    assert found.l2_distance().squared == expected.l2_distance().squared
    with pytest.raises(dd.InputError, match="weights need both samples in memory"):
        dd.LSDD().fit(numbers().to_reader(), numbers(), weights_x=np.ones(N))
