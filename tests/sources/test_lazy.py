"""Lazy tables give the answer of their rows, whatever library they come from and whether they fit into memory."""

import subprocess
import sys
from decimal import Decimal

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

import densdiff as dd
from densdiff.data.table import table_of
from densdiff.io.streams import TableStream
from densdiff.sources.blocks import BlockSource
from densdiff.sources.lazy import LazyTable, stream_of
from densdiff.sources.opening import source_of
from densdiff.sources.source import ArraySource
from tests.command_line import silently
from tests.lazy_forms import LAZY_FORMS, of_dataset

N = 5000
each_form = pytest.mark.parametrize("lazily", LAZY_FORMS.values(), ids=LAZY_FORMS)


def mixed(n=N, shift=0.0):
    """Numbers, text, categories, booleans, missing values."""
    random = np.random.default_rng([n, int(10 * shift)])
    words = pa.array(np.where(random.random(n) < 0.3, "u", "v").tolist())
    gaps = pa.array(random.normal(size=n), mask=random.random(n) < 0.1)
    columns = {"x": random.normal(size=n) + shift, "gaps": gaps, "word": words, "level": words.dictionary_encode()}
    return pa.table(columns | {"flag": random.random(n) < 0.4, "whole": random.integers(0, 9, n)})


def opened(value):
    return source_of(value, "X", table_of)


@pytest.fixture
def little_memory(monkeypatch):
    """No table fits into memory, and blocks have 1024 rows."""
    monkeypatch.setattr("densdiff.io.memory.room", lambda: 1000.0)
    monkeypatch.setattr("densdiff.io.memory.VALUES", 6000)


def columns_of(source):
    blocks = [table_of(block, "X") for _, block in source.in_order(None)]
    kinds = [{block.columns[j].kind for block in blocks} for j in range(len(blocks[0].columns))]
    values = [np.concatenate([block.columns[j].values for block in blocks]) for j in range(len(kinds))]
    return blocks[0].names, [sorted(kind) for kind in kinds], [pd.Series(column).tolist() for column in values]


@each_form
def test_a_lazy_table_that_fits_is_the_table(lazily):
    table = mixed(300)
    source = opened(lazily(table))
    assert isinstance(source, ArraySource)
    assert source.notes == ()
    names, kinds, values = columns_of(source)
    expected = columns_of(ArraySource("X", table))
    assert names == expected[0]
    assert [["text"] if kind == ["categories"] else kind for kind in kinds] == [  # DuckDB and ibis know no categories
        ["text"] if kind == ["categories"] else kind for kind in expected[1]
    ]
    np.testing.assert_equal(values, expected[2])


@each_form
def test_a_lazy_table_that_does_not_fit_is_the_same_rows_in_blocks(lazily, little_memory):
    table = mixed()
    source = opened(lazily(table))
    assert isinstance(source, BlockSource)
    sizes = [len(block) for _, block in source.in_order(None)]
    assert sum(sizes) == N
    assert len(sizes) >= 5
    assert max(sizes) <= 1024
    names, kinds, values = columns_of(source)
    expected = columns_of(ArraySource("X", table))
    assert names == expected[0]
    assert [kind[-1:] for kind in kinds] in (expected[1], [["text"] if k == ["categories"] else k for k in expected[1]])
    np.testing.assert_equal(values, expected[2])
    some = [block for _, block in source.in_order(["whole", "x"])]
    assert pa.concat_tables(some).to_pydict() == table.select(["whole", "x"]).to_pydict()


def test_categories_stay_categories_on_disk(little_memory):
    table = mixed()
    for k, batch in enumerate(batches := table.to_batches(max_chunksize=500)):  # each with levels of its own
        coded = pa.array([f"{k}", None, "u", "v"]).dictionary_encode().take(np.arange(len(batch)) % 4)
        batches[k] = batch.set_column(3, "level", coded)
    source = opened(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    _, kinds, values = columns_of(source)
    assert kinds[3] == ["categories"]
    expected = pd.Series(pa.Table.from_batches(batches)["level"].to_pylist())
    pd.testing.assert_series_equal(pd.Series(values[3]), expected)


# only the columns that are needed


class Watched:
    """A stream that remembers which columns it was asked for."""

    is_repeatable = False

    def __init__(self, table):
        self.table, self.asked = table, []

    @property
    def names(self):
        return self.table.column_names

    def batches(self, columns):
        self.asked.append(columns)
        return iter(self.table.select(columns).to_batches(max_chunksize=100))


@pytest.mark.parametrize("memory", ["much", "little"])
def test_only_chosen_columns_that_both_have_are_read_and_the_others_are_named(memory, request):
    if memory == "little":
        request.getfixturevalue("little_memory")
    a, b = Watched(mixed(400)), Watched(mixed(300, 0.2).drop_columns(["flag"]))
    chosen = {"columns": ["w*", "x", "fl*"], "exclude": "word", "n_permutations": 49, "random_state": 0}
    found = silently(dd.compare, a, b, **chosen)
    expected = silently(dd.compare, a.table, b.table, **chosen)
    assert a.asked == b.asked == [["whole", "x"]]
    assert found.schema_changes == expected.schema_changes
    assert found.left_out == expected.left_out
    assert {column.name for column in found.columns} == {"whole", "x"}
    assert found.distance.squared == pytest.approx(expected.distance.squared, rel=1e-9)


def test_of_groups_only_chosen_columns_and_those_of_the_groups_are_read_once(little_memory):
    a, b = Watched(mixed(400)), Watched(mixed(300, 0.2))
    options = {"columns": ["x", "whole"], "n_permutations": 49, "random_state": 0}
    found = silently(dd.compare_by, a, b, "word", **options)
    assert a.asked == b.asked == [["x", "word", "whole"]]
    expected = silently(dd.compare_by, a.table, b.table, "word", **options)
    for group, other in zip(found.groups, expected.groups, strict=True):
        assert group.comparison.distance.squared == pytest.approx(other.comparison.distance.squared, rel=1e-9)
    assert [note[:9] for note in found.warnings if "temporary file" in note] == ["A is lazy", "B is lazy"]


def test_columns_that_a_question_does_not_need_are_not_read_of_the_other_sample():
    stream = Watched(mixed())
    silently(dd.l2_distance, stream, pd.DataFrame({"whole": np.arange(9.0), "x": np.arange(9.0)}))
    assert stream.asked == [["x", "whole"]]


def test_names_that_do_not_exist_are_refused_before_rows_are_read():
    stream = Watched(mixed())
    with pytest.raises(dd.InputError, match=r"^A has no column 'wort' \(did you mean 'word'\?\); it has "):
        dd.compare(stream, stream, columns=["wort"])
    assert stream.asked == []


# who is lazy


def test_streams_narwhals_frames_and_scanners_are_taken():
    table, rows = mixed(50), np.arange(50.0)
    assert isinstance(stream_of(Watched(table), "X"), TableStream)
    scanner = pa.dataset.dataset(table).scanner(columns=["x"])
    for value in (nw.from_native(pl.from_arrow(table).lazy()), scanner, Watched(table)):
        values = columns_of(opened(value))[2]
        np.testing.assert_array_equal(values[0], table["x"])
    for eager in (rows, pd.DataFrame({"a": rows}), pl.DataFrame({"a": rows}), table, table["x"], pl.Series(rows)):
        assert stream_of(eager, "X") is None
    assert stream_of(nw.from_native(table), "X") is None
    assert stream_of(table.to_batches()[0], "X") is None


def test_a_record_batch_is_a_table():
    table, other = mixed(60), mixed(50, 0.3)
    found = silently(dd.compare, table.to_batches()[0], other, random_state=0)
    assert silently(dd.compare, table, other, random_state=0).to_dict() == found.to_dict()


def test_names_that_are_patterns_or_hold_quotes_are_names():
    table = pa.table({"^a.*$": [1.0, 2.0], 'say "a"': [3.0, 4.0], "*": [5.0, 6.0], "ab": [7.0, 8.0]})
    for lazily in LAZY_FORMS.values():
        for names in (["*", "ab"], ["^a.*$"], ['say "a"']):
            (batch,) = stream_of(lazily(table), "X").batches(names)
            assert batch.to_pydict() == table.select(names).to_pydict()


def test_missing_values_of_a_dictionary_are_missing():
    values = pa.array(["u", None, "v", None]).dictionary_encode()
    assert table_of(pa.table({"a": values}), "X").columns[0].values.tolist() == ["u", None, "v", None]
    numbers = pa.array([3, None, 4]).dictionary_encode()
    np.testing.assert_array_equal(table_of(pa.table({"a": numbers}), "X").columns[0].values, [3, np.nan, 4])


# what cannot be read, and what is no number


def refusal(value, other=None):
    with pytest.raises(dd.InputError) as caught:
        silently(dd.compare, value, other if other is not None else pa.table({"x": [1.0, 2.0, 3.0]}))
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("name", LAZY_FORMS)
def test_lazy_tables_without_rows_are_refused(name):
    text = str(refusal(LAZY_FORMS[name](pa.table({"x": pa.array([], pa.float64())}))))
    if name in ("RecordBatchReader", "Arrow stream"):
        end = "has 0 data rows; a RecordBatchReader gives its rows only once, so make a new one for each question"
        assert text == f"A {end}".replace("RecordBatchReader", {"Arrow stream": "ArrowStream"}.get(name, name))
    else:
        assert text == "A has 0 data rows; each table needs at least 2"


@pytest.mark.hostile(49)
def test_a_reader_that_was_read_before_says_that_it_can_be_read_once():
    reader = mixed(100).to_reader()
    silently(dd.compare, reader, mixed(90))
    assert "A has 0 data rows; a RecordBatchReader gives its rows only once" in str(refusal(reader, mixed(90)))


def test_no_columns_and_repeated_names_are_refused():
    assert str(refusal(pa.table({}).to_reader())) == "A has no columns; at least 1 is needed"
    twice = pa.Table.from_arrays([pa.array([1.0, 2.0])] * 2, names=["x", "x"])
    error = refusal(twice.to_reader())
    assert str(error) == "A has more than one column named 'x'; rename or drop the others"
    assert error.column == "x"


def test_a_list_of_lazy_tables_is_no_table():
    with pytest.raises(dd.InputError, match=r"^column 'x0' of X holds LazyFrame objects [^\n]*$"):
        dd.l2_distance([pl.LazyFrame({"x": [1.0, 2.0]})] * 3, np.arange(9.0))


def test_what_a_query_raises_is_one_sentence():
    failing = pl.LazyFrame({"x": ["1", "zwei"]}).with_columns(pl.col("x").cast(pl.Float64))
    assert str(refusal(failing)).startswith("A cannot be read: ")
    assert str(refusal(pl.LazyFrame({"x": [1.0]}).select("y"))).startswith("A cannot be read: ")
    relation = duckdb.connect().sql("select cast(a as double) as x from (values ('1'), ('zwei')) t(a)")
    assert "A cannot be read: Conversion Error" in str(refusal(relation))


@pytest.mark.hostile(60)
@pytest.mark.parametrize("memory", ["much", "little"])
def test_a_type_that_changes_between_batches_is_named_with_column_and_row(memory, request):
    if memory == "little":
        request.getfixturevalue("little_memory")
    parts = [pa.table({"x": np.arange(4000.0), "y": values}) for values in (range(4000), ["a"] * 4000)]
    error = refusal(LazyTable(["x", "y"], lambda columns: parts), mixed().rename_columns(["x", "y", *"abcd"]))
    assert str(error) == "column 'y' of A is int64 up to row 3999 and string from row 4000; give it one type"
    assert (error.column, error.row) == ("y", 4000)


@pytest.mark.hostile(60)
@pytest.mark.parametrize("memory", ["much", "little"])
def test_decimal_numbers_are_floats(memory, request):
    if memory == "little":
        request.getfixturevalue("little_memory")
    values = [None, *(Decimal(k).scaleb(-2) for k in range(1, N))]
    for kind in (pa.decimal128(12, 2), pa.decimal256(60, 2)):
        (column,) = columns_of(opened(pa.table({"x": pa.array(values, kind)}).to_reader()))[2]
        np.testing.assert_array_equal(column, [np.nan, *map(float, values[1:])])


KINDS = {
    "large_string": pa.array(["u", None, "v"], pa.large_string()),
    "binary": pa.array([b"u", None, b"v"]),
    "null": pa.nulls(3),
    "date": pa.array([1, None, 2], pa.date32()),
    "timestamp": pa.array([1, None, 2], pa.timestamp("us", "UTC")),
    "time": pa.array([1, None, 2], pa.time64("us")),
    "duration": pa.array([1, None, 2], pa.duration("s")),
    "list": pa.array([[1], None, []]),
    "struct": pa.array([{"a": 1}, None, {"a": 2}]),
    "list of categories": pa.array([["u"], None, ["v"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    "categories of numbers": pa.array([3, None, 4]).dictionary_encode(),
    "half": pa.array([np.float16(1), None, np.float16(2)]),
    "large integer": pa.array([2**63, None, 2], pa.uint64()),
    "boolean": pa.array([True, None, False]),
    "run ends": pa.RunEndEncodedArray.from_arrays([1, 3], pa.array([1.5, 2.5])),
}
if hasattr(pa, "uuid"):  # since pyarrow 18; before, there is no way from views to values
    storage = pa.array([b"u" * 16, None, b"v" * 16], pa.binary(16))
    KINDS |= {
        "string_view": pa.array(["u", None, "v"], pa.string_view()),
        "binary_view": pa.array([b"u", None, b"v"], pa.binary_view()),
        "categories of views": pa.DictionaryArray.from_arrays([0, None, 1], pa.array(["u", "v"], pa.string_view())),
        "uuid": pa.ExtensionArray.from_storage(pa.uuid(), storage),
    }


@pytest.mark.parametrize("memory", ["much", "little"])
@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_every_type_are_what_they_are_in_a_table(kind, memory, request):
    if memory == "little":
        request.getfixturevalue("little_memory")
    table = pa.table({"x": np.arange(3.0), "column": KINDS[kind]})
    table = pa.concat_tables([table] * 2000)
    expected = table_of(table, "X").columns[1]
    blocks = [table_of(block, "X").columns[1] for _, block in opened(table.to_reader(max_chunksize=99)).in_order(None)]
    assert (len(blocks) > 1) == (memory == "little")
    assert {block.kind for block in blocks} == {expected.kind}
    found = [value for block in blocks for value in block.values.tolist()]
    assert repr(found) == repr(expected.values.tolist())


# without packages


def test_without_pyarrow_the_exact_command_is_named():
    script = """
import sys
sys.modules["pyarrow"] = None
import polars as pl
import densdiff as dd
try:
    dd.l2_distance(pl.LazyFrame({"a": [1.0, 2.0]}), [1.0, 2.0])
except dd.MissingExtraError as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert found == 'X is a LazyFrame, which needs pyarrow: pip install "densdiff[cli]"\n'


def test_a_polars_that_gives_no_batches_is_refused(monkeypatch):
    monkeypatch.delattr(pl.LazyFrame, "collect_batches")
    text = "A is lazy, and this version of polars gives no batches; update polars, or collect it"
    assert str(refusal(pl.LazyFrame({"x": [1.0, 2.0]}))) == text


def test_a_dataset_of_files_is_read_again_rather_than_kept(tmp_path, little_memory):
    table = mixed()
    source = opened(of_dataset(table, tmp_path))
    assert source.notes == ()
    np.testing.assert_equal(columns_of(source), columns_of(source))
    np.testing.assert_array_equal(columns_of(source)[2][0], table["x"])
