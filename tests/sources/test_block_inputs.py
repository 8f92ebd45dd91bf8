"""What stands in the way of samples that are not in memory: one sentence, with the column, the row and the value."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse
import sklearn

import densdiff as dd
from densdiff import progress
from densdiff.io import files
from densdiff.io.files import read
from tests.command_line import refusal, run, silently
from tests.large import Blocks

BAD = 30_001
ROWS = 30_100


def refused(function, *given, **options):
    with pytest.raises(dd.InputError) as caught:
        silently(function, *given, **options)
    return str(caught.value)


def fit(x, y):
    return refused(dd.LSDD(random_state=0).fit, x, y)


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    return random.normal(size=(60, 2)), random.normal(size=(50, 2))


def test_what_can_be_read_once_is_refused_with_the_way_out(rows):
    cure = "which can be read only once; pass a list of blocks, or an object whose __iter__ starts over each time"
    x, y = rows
    assert fit((block for block in [x]), y) == f"X is a generator, {cure}"
    assert fit(x, map(np.array, [y])) == f"Y is a map, {cure}"
    assert refused(dd.compare, x, iter([y])) == f"B is a list_iterator, {cure}"


def test_an_iterable_that_is_used_up_is_refused(rows):
    class Once:
        def __init__(self, table):
            self.left = iter(np.array_split(table, 3))

        def __iter__(self):
            yield from self.left

    assert (
        fit(Once(rows[0]), rows[1])
        == "X returned different rows the second time; it must return the same rows each time"
    )


def test_a_source_that_gives_other_rows_is_refused(rows):
    x, y = rows

    class Shuffled(Blocks):
        def __iter__(self):
            self.table = np.random.default_rng(self.passes).permutation(self.table)
            return super().__iter__()

    class Growing(Blocks):
        def __iter__(self):
            yield from super().__iter__()
            if self.passes > 1:
                yield self.table[:3]

    assert (
        fit(Shuffled(x, [20]), y) == "X returned different rows the second time; it must return the same rows each time"
    )
    assert (
        fit(Growing(x, [20]), y)
        == "X returned 60 rows the first time and 63 the second time; it must return the same rows each time"
    )


def test_a_source_that_gives_missing_values_later_is_refused(rows):
    class Decaying(Blocks):
        def __iter__(self):
            for block in super().__iter__():
                block = block.copy()
                block[3] = np.nan if self.passes > 1 else block[3]
                yield block

    message = fit(Decaying(rows[0], [30]), rows[1])
    assert message == "X returned different values the second time; it must return the same rows each time"


def test_what_needs_all_rows_in_memory_is_refused(rows):
    x, y = (Blocks(each, [20]) for each in rows)
    assert "weights need both samples in memory" in refused(dd.LSDD().fit, x, y, np.ones(60))
    rest = "needs all rows in memory; leave it out, or test a random sample of the rows"
    assert refused(dd.two_sample_test, x, y, tuning="refit") == f"tuning='refit' {rest}"
    assert refused(dd.two_sample_test, x, y, blocks=np.zeros(110)) == f"blocks= {rest}"
    assert refused(dd.two_sample_test, x, y, model=dd.LSDD(solver="pairs")) == f"solver='pairs' {rest}"
    wide = [Blocks(np.hstack([each, each**2]), [20]) for each in rows]
    assert dd.two_sample_test(*wide, n_permutations=19, random_state=0).null == "permutation"  # in units of rows
    for model in (dd.KDEDifference(), dd.KLIEP()):
        name = type(model).__name__
        assert (
            refused(dd.two_sample_test, x, y, model=model)
            == f"{name} needs all rows in memory; use LSDD, or test a random sample of the rows"
        )


def test_blocks_that_are_no_table_or_have_other_columns_are_refused(rows):
    x, y = rows
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1]})
    message = fit([frame, frame[["a"]]], frame)
    assert message == "a block of X lacks 'b'; all blocks need the same columns"
    message = fit([x, x[:, :1]], y)
    assert message == "the first block of X has 2 columns and a later one 1; all blocks need the same columns"
    assert "sparse matrix of shape (60, 2)" in fit([scipy.sparse.csr_matrix(x)], y)


def test_lazy_frames_in_blocks_are_refused_and_not_skipped(rows):
    class Lazy:
        def __iter__(self):
            yield pl.DataFrame({"a": rows[0][:, 0], "b": rows[0][:, 1]}).lazy()

    assert "is lazy (LazyFrame); collect it first" in fit(Lazy(), rows[1])


def test_empty_blocks_are_no_obstacle_and_empty_sources_are(rows):
    x, y = rows
    found = dd.LSDD(random_state=0).fit([x[:0], x[:9], x[:0], x[9:]], [y, y[:0]])
    np.testing.assert_allclose(
        found.predict(x[:3]), dd.LSDD(solver="spectral", random_state=0).fit(x, y).predict(x[:3])
    )
    assert fit([x[:0], x[:0]], y) == "X has 0 data rows"
    assert fit(Blocks(x[:1], []), y) == "X has 1 row; each sample needs at least 2 rows"


def test_columns_of_two_kinds_are_told_by_their_rows():
    a = [pd.DataFrame({"v": np.arange(50.0)}), pd.DataFrame({"v": ["u", "w"] * 25})]
    b = pd.DataFrame({"v": np.arange(60.0)})
    assert refused(dd.compare, a, b) == (
        "column 'v' of A holds numbers, first 0.0 at row 0, and text, 'u' at row 50; a column must hold one kind of "
        "value"
    )
    words = pd.DataFrame({"v": ["u", "w"] * 25})
    message = "no column is left to compare: 'v', text in A and numbers in B"
    assert refused(dd.compare, [words, words], Blocks(b, [9])) == message
    assert refused(dd.l2_distance, [words, words], Blocks(b, [9])) == (
        "column 'v' of X holds text (in Y: numbers), first 'u' at row 0; numeric columns are needed: "
        "encode it as numbers or leave it out"
    )


@pytest.fixture
def good():
    return {"a": np.round(np.random.default_rng(0).normal(size=ROWS), 3), "b": np.arange(float(ROWS))}


def as_parquet(path, columns):
    pq.write_table(pa.table(columns), path)


def as_csv(path, columns):
    pa.csv.write_csv(pa.table({name: pa.array(values).cast(pa.string()) for name, values in columns.items()}), path)


@pytest.mark.parametrize(("ending", "write"), [("csv", as_csv), ("parquet", as_parquet)])
@pytest.mark.parametrize(
    ("bad", "what"),
    [
        (np.inf, "column 'a' of B.{}: 1 infinite value, inf at row 30001; drop or correct those rows first"),
        (-np.inf, "column 'a' of B.{}: 1 infinite value, -inf at row 30001; drop or correct those rows first"),
        (None, 'column \'a\' of B.{}: 1 missing value, at row 30001; use missing="drop" or missing="level"'),
    ],
)
def test_a_bad_value_far_into_a_file_is_named(tmp_path, good, ending, write, bad, what, monkeypatch):
    monkeypatch.setattr("densdiff.io.memory.TEXT_BLOCK", 1 << 16)
    monkeypatch.setattr("densdiff.io.memory.VALUES", 1 << 12)
    write(tmp_path / f"A.{ending}", good)
    values = good["a"].tolist()
    values[BAD] = bad
    write(tmp_path / f"B.{ending}", good | {"a": values})
    with sklearn.config_context(working_memory=0.1):
        paths = tmp_path / f"A.{ending}", tmp_path / f"B.{ending}"
        assert refused(dd.compare, *paths, missing="error") == what.format(ending)


@pytest.mark.parametrize("row", [3, BAD])
def test_text_among_numbers_of_a_file_is_named(tmp_path, good, row, monkeypatch):
    monkeypatch.setattr("densdiff.io.memory.TEXT_BLOCK", 1 << 16)
    monkeypatch.setattr("densdiff.io.memory.VALUES", 1 << 12)
    values = [str(value) for value in good["a"]]
    values[row] = "oops"
    for ending, write in (("csv", as_csv), ("parquet", as_parquet)):
        write(tmp_path / f"A.{ending}", good)
        write(tmp_path / f"B.{ending}", good | {"a": values})
    with sklearn.config_context(working_memory=0.1):
        message = refused(dd.compare, tmp_path / "A.csv", tmp_path / "B.csv")
        assert message.startswith(f"column 'a' of B.csv: 'oops' at row {row} is not a number")
        message = refused(dd.compare, tmp_path / "B.parquet", tmp_path / "B.parquet")
        assert message.startswith(f"column 'a' of B.parquet: 'oops' at row {row} is not a number, but 30099 of 30100 ")


def test_flaws_of_large_text_files_are_named_by_row(tmp_path, good, monkeypatch):
    monkeypatch.setattr("densdiff.io.memory.TEXT_BLOCK", 1 << 16)
    as_csv(tmp_path / "A.csv", good)
    lines = (tmp_path / "A.csv").read_text().splitlines()
    ragged, quoted = list(lines), ["a,b", *(f"{number}.5,1" for number in range(ROWS))]
    ragged[BAD + 1] += ",7"
    true = ["a,b", *(f"{number},true" for number in range(ROWS))]
    true[BAD + 1] = "1.5,maybe"
    quoted[40] = '"1.5,2'
    late = ["a,w", *(f"{number},u" for number in range(ROWS))]
    late[BAD + 1] = '1.5,"u'
    nested = ['{"a": 1.5}'] * ROWS
    changed = list(nested)
    changed[BAD] = '{"a": "u"}'
    cut = list(nested)
    cut[BAD] = '{"a": 1'
    mixed = ['{"a": [1]}'] * BAD + ['{"a": ["u"]}'] * 3000
    nested[BAD] = '{"a": ' + "[" * 200 + "]" * 200 + "}"
    found = {}
    with sklearn.config_context(working_memory=0.1):
        for name, content in (
            ("ragged.csv", ragged),
            ("true.csv", true),
            ("quoted.csv", quoted),
            ("late.csv", late),
            ("nested.jsonl", nested),
            ("changed.jsonl", changed),
            ("cut.jsonl", cut),
            ("mixed.jsonl", mixed),
        ):
            (tmp_path / name).write_text("\n".join(content) + "\n")
            found[name] = refused(dd.compare, tmp_path / "A.csv", tmp_path / name)
    cure = "correct it, or quote fields that contain ','"
    assert found["ragged.csv"] == f"line 30003 of ragged.csv has 3 fields, but the first line has 2; {cure}"
    assert found["true.csv"].startswith("column 'b' of true.csv: 'maybe' at row 30001 is not true or false")
    never = "never closed, or a row longer than 65536 bytes; close the quote or shorten the row"
    assert found["quoted.csv"] == f"line 41 of quoted.csv opens a quote that is {never}"
    assert found["late.csv"] == "line 30003 of late.csv opens a quote that is never closed; close or remove it"
    assert found["nested.jsonl"].startswith("nested.jsonl nests values more than 100 deep")
    kinds = "is text, but earlier rows hold a number; a column must hold one kind of value"
    assert found["changed.jsonl"] == f"column 'a' of changed.jsonl: 'u' at row 30001 {kinds}"
    assert found["cut.jsonl"] == "line 30002 of cut.jsonl is not valid JSON; write one object per line"
    assert found["mixed.jsonl"].startswith("mixed.jsonl cannot be read after row ")
    assert found["mixed.jsonl"].endswith("save it as Parquet")


@pytest.mark.parametrize(("bad", "what"), [(b"\xe4", "is not UTF-8: byte 0xe4"), (b"u\0", "has a NUL byte")])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_bytes_that_are_no_text_are_refused_however_late(tmp_path, ending, bad, what):
    line, head = (b"1.5,%b\n", b"a,w\n") if ending == "csv" else (b'{"a": 1.5, "w": "%b"}\n', b"")
    path, good = tmp_path / f"B.{ending}", line % "\u00e4\u20ac\U0001f600".encode()
    path.write_bytes(head + 8000 * good + line % bad)
    whole = refused(files.table, path)
    assert what in whole
    with sklearn.config_context(working_memory=0.1):
        assert refused(lambda: list(read(path))) == whole


def test_the_command_reads_large_files_in_blocks(tmp_path, rows):
    table = {"a": rows[0][:, 0], "b": [None, *rows[0][1:, 1]]}
    for name in ("A", "B"):
        as_csv(tmp_path / f"{name}.csv", table)
    paths, quick = (tmp_path / "A.csv", tmp_path / "B.csv"), ("--permutations", "39", "--seed", "0")
    with sklearn.config_context(working_memory=0.001):
        with pytest.raises(dd.InputError, match="the limit is"):
            files.table(paths[0])
        code, out, _ = run("compare", *paths, *quick, "--columns", "a")
        assert code == 0
        assert "60 of A.csv, 60 of B.csv" in out
        assert refusal("compare", *paths, "--missing", "error") == (
            "column 'b' of A.csv: 1 missing value, at row 0; use --missing drop or --missing level"
        )


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_the_command_searches_a_large_series_in_stretches(tmp_path, ending):
    level = np.random.default_rng(0).normal(size=5000)
    level[2500:] += 3.0
    table = pd.DataFrame({"x0": pd.date_range("2026-01-01", periods=5000, freq="min"), "x1": level})
    path = tmp_path / f"series.{ending}"
    if ending == "csv":
        table.to_csv(path, index=False)
    elif ending == "parquet":
        table.to_parquet(path)
    else:
        np.save(path, np.column_stack([np.arange(5000.0), level]))
    asked = ("--time", "x0", "--columns", "x1", "--window", "60", "--seed", "0", "--json")
    with sklearn.config_context(working_memory=0.12):
        code, out, _ = run("changes", path, *asked)
        found = json.loads(out)
        assert code == 0
        assert [abs(change - 2500) <= 3 for change in found["changes"]] == [True]
        assert "searched in 4 overlapping stretches" in found["warnings"][-1]
        assert len(found["times"]) == 1
        assert "has no column" in refusal("changes", path, "--time", "none", "--columns", "x1")
        if ending != "npy":
            assert refusal("changes", path, "--time", "none") == (
                f"series.{ending} has no column 'none'; it has 'x0', 'x1'"
            )
            assert refusal("changes", path).startswith(f"column 'x0' of series.{ending} holds dates or times; give")


@pytest.mark.parametrize("labelled", [True, False])
def test_the_command_balances_a_large_file(tmp_path, labelled):
    random = np.random.default_rng(0)
    labels = np.arange(80) % 2
    old, new = random.normal(size=(80, 2)) + 2.0 * labels[:, None], random.normal(size=(3000, 2))
    pd.DataFrame(old, columns=["a", "b"]).assign(y=labels).to_csv(tmp_path / "old.csv", index=False)
    fresh = pd.DataFrame(new, columns=["a", "b"])
    (fresh.assign(y=1) if labelled else fresh).to_csv(tmp_path / "new.csv", index=False)
    asked = ("balance", tmp_path / "old.csv", tmp_path / "new.csv", "--label", "y", "--seed", "0", "--json")
    expected = run(*asked)
    with sklearn.config_context(working_memory=0.1):
        with pytest.raises(dd.InputError, match="the limit is"):
            files.table(tmp_path / "new.csv")
        assert run(*asked) == expected
    assert json.loads(expected[1])["n_y"] == 3000


def test_dates_in_a_late_block_are_recognized():
    early = pd.DataFrame({"t": [None] * 40, "v": np.arange(40.0)})
    late = pd.DataFrame({"t": pd.to_datetime(["2024-05-01"] * 40), "v": np.arange(40.0)})
    with pytest.warns(dd.DensDiffWarning, match="left out because they hold dates or times: 't'"):
        assert dd.compare([early, late], late, n_permutations=39).left_out == [("t", "dates or times")]
    message = refused(dd.l2_distance, [early, late], late)
    assert message.startswith("column 't' of X holds dates or durations, first 2024-05-01")
    assert " at row 40; turn them into numbers first" in message


def test_levels_called_missing_and_columns_called_is_missing_are_refused():
    table = pd.DataFrame({"v": ["u", "(missing)", None] * 20, "w": [1.0, 2.0, np.nan] * 20})
    assert refused(dd.compare, [table, table], table, missing="level") == (
        "column 'v' has missing values and also a level named '(missing)'; rename that level"
    )
    table = pd.DataFrame({"w": [1.0, 2.0, np.nan] * 20, "w is missing": np.arange(60.0)})
    assert refused(dd.compare, [table, table], table, missing="level") == (
        "column 'w is missing' has the name under which missing values are counted; rename it"
    )
    table = pd.DataFrame({"v": [1.0, np.nan] * 20, "w": [np.nan, 1.0] * 20})
    assert refused(dd.compare, [table, table], table, missing="drop") == (
        'A has 0 rows without missing values; try missing="level"'
    )


class Refilled:
    """Blocks of one buffer that is written over for the next: as views, as frames or as columns by name."""

    def __init__(self, rows, made):
        self.rows, self.made = rows, made

    def __iter__(self):
        buffer = np.empty((500, self.rows.shape[1]))
        for start in range(0, len(self.rows), 500):
            buffer[:] = self.rows[start : start + 500]
            yield self.made(buffer)


@pytest.mark.parametrize(
    "made",
    [
        np.asarray,
        lambda rows: pd.DataFrame(rows, columns=["a", "b"], copy=False),
        lambda rows: {"a": rows[:, 0], "b": rows[:, 1]},
    ],
)
def test_blocks_may_be_views_of_a_buffer_that_is_filled_again(made):
    random = np.random.default_rng(0)
    x, y = random.normal(size=(5000, 2)), random.normal(size=(5000, 2)) + 0.3
    model = dd.LSDD(solver="centers", n_centers=50, random_state=0)
    found = model.fit(Refilled(x, made), Refilled(y, made)).l2_distance().squared
    assert found == pytest.approx(model.fit(x, y).l2_distance().squared, rel=1e-9)


def test_an_iterable_whose_blocks_begin_alike_but_end_otherwise_is_refused():
    class Noisy:
        def __iter__(self):
            for k in range(4):
                rows = np.random.default_rng().normal(size=(500, 2))
                rows[0] = k
                yield rows

    with pytest.raises(dd.InputError, match="returned different rows the second time"):
        dd.l2_distance(Noisy(), Noisy(), random_state=0)


def test_equal_columns_in_other_rows_are_not_the_same_rows():
    random = np.random.default_rng(0)
    u = random.choice(["p", "q"], 2000)
    v = np.append(u[:1], random.permutation(u[1:]))
    a, b = pd.DataFrame({"u": u, "v": u}), pd.DataFrame({"u": u, "v": v})
    assert not dd.two_sample_test([a[:500], a[500:]], [b[:500], b[500:]], n_permutations=49, random_state=0).warnings
    (note,) = dd.two_sample_test([a[:500], a[500:]], [a[:700], a[700:]], n_permutations=49, random_state=0).warnings
    assert "hold the same rows" in note


def test_masked_values_of_blocks_are_missing_as_in_memory():
    random = np.random.default_rng(0)
    x, y = np.ma.masked_greater(random.normal(size=(900, 2)), 1.5), random.normal(size=(800, 2))
    with pytest.warns(dd.DensDiffWarning, match="dropped"):
        found, expected = (
            dd.compare(*pair, missing="drop", n_permutations=49, random_state=0)
            for pair in (([x[:500], x[500:]], [y]), (x, y))
        )
    assert found.distance.normalized == pytest.approx(expected.distance.normalized, rel=1e-9)


def test_a_process_without_standard_error_reads_blocks(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    monkeypatch.setattr("sys.stderr", None)
    rows = np.random.default_rng(0).normal(size=(400, 2))
    assert dd.l2_distance([rows[:100], rows[100:]], [rows[:200] + 1.0], random_state=0).squared > 0


def test_a_list_of_record_batches_is_a_list_of_blocks():
    rows = pa.table({"a": np.arange(9.0)})
    expected = dd.l2_distance(rows, np.arange(5.0), random_state=0)
    found = dd.l2_distance(rows.to_batches(max_chunksize=4), np.arange(5.0), random_state=0)
    assert found.squared == pytest.approx(expected.squared, rel=1e-9)


@pytest.mark.parametrize("how", ["written", "deleted"])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_file_that_changes_after_it_was_opened_is_refused(tmp_path, ending, how):
    random = np.random.default_rng(0)
    places = [tmp_path / f"{name}.{ending}" for name in "xy"]

    def write(place):
        table = pa.table({"a": random.normal(size=3000), "b": random.normal(size=3000)})
        (pq.write_table if ending == "parquet" else pyarrow.csv.write_csv)(table, place)

    for place in places:
        write(place)
    with sklearn.config_context(working_memory=0.1):
        model = dd.LSDD(solver="centers", n_centers=30, random_state=0).fit(*places)
        places[0].unlink()
        if how == "written":
            write(places[0])
        with pytest.raises(
            dd.InputError, match=f"^x.{ending} changed after it was opened; do not change it while it is in use"
        ):
            model.confidence_band([[0.0, 0.0]])
