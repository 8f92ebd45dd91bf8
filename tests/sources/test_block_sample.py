"""Samples that are not in memory give the answers of those that are: any cut into blocks, any kind of file, Dask."""

import gzip
import json
import pickle
import shutil
from functools import reduce

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st

import densdiff as dd
from densdiff.data import imputation
from densdiff.io import files
from densdiff.io.files import File, read
from tests.command_line import silently
from tests.large import Blocks, cuts, tables

N, M = 700, 500
SMALL = 120  # rows of a comparison, which costs most
few, fewer = settings(max_examples=4), settings(max_examples=3)
close = {"rtol": 1e-10, "atol": 1e-12}


@pytest.fixture(scope="module")
def samples():
    random = np.random.default_rng(0)
    return random.normal(size=(N, 4)), 0.8 * random.normal(size=(M, 4)) + 0.4


def centers():
    return dd.LSDD(solver="centers", n_centers=40, random_state=3)


def spectral():
    return dd.LSDD(solver="spectral", random_state=3)


def answers(model, points):
    """Everything that a fitted model is asked for, as one array."""
    distance, band = model.l2_distance(), model.confidence_band(points)
    parts = [model.predict(points), *model.densities(points), band.lower, band.upper, [model.sigma_, model.lam_]]
    numbers = [distance.squared, distance.normalized, *distance.interval, *distance.normalized_interval]
    estimates = [value for value in distance.estimates.values() if value is not None]
    return np.concatenate([*parts, numbers, estimates])


def same_test(found, expected):
    assert (found.null, found.solver, found.tuning) == (expected.null, expected.solver, expected.tuning)
    np.testing.assert_allclose(found.statistic, expected.statistic, **close)
    np.testing.assert_allclose(found.pvalue, expected.pvalue, **close)
    np.testing.assert_allclose(found.null_distribution, expected.null_distribution, rtol=1e-9, atol=1e-12)


@few
@given(of_x=cuts(N), of_y=cuts(M), data=st.data())
@pytest.mark.parametrize(("make", "d"), [(centers, 4), (spectral, 1), (spectral, 2)])
def test_blocks_of_any_size_give_the_answers_of_arrays(samples, make, d, of_x, of_y, data):
    x, y = (rows[:, :d] for rows in samples)
    one_in_memory = data.draw(st.booleans())
    model = make().fit(x if one_in_memory else Blocks(x, of_x), Blocks(y, of_y))
    expected = make().fit(x, y)
    np.testing.assert_allclose(answers(model, x[:9]), answers(expected, x[:9]), **close)
    np.testing.assert_array_equal([row for row in model.samples_[0] if row not in x], [])
    assert model.l2_distance().warnings == expected.l2_distance().warnings


@few
@given(of_x=cuts(N), of_y=cuts(M))
def test_blocks_of_frames_with_categories_give_the_answers_of_frames(of_x, of_y):
    x, y = tables(N, M)
    made = {"n_centers": 30, "random_state": 3}
    found, expected = dd.LSDD(**made).fit(Blocks(x, of_x), Blocks(y, of_y)), dd.LSDD(**made).fit(x, y)
    np.testing.assert_allclose(answers(found, x[:9]), answers(expected, x[:9]), **close)
    assert found.feature_names_ == expected.feature_names_


@few
@given(of_x=cuts(N), of_y=cuts(M))
def test_the_limit_of_a_test_does_not_depend_on_blocks(samples, of_x, of_y):
    x, y = samples
    asked = {"model": centers(), "null": "asymptotic", "n_permutations": 50}
    same_test(dd.two_sample_test(Blocks(x, of_x), Blocks(y, of_y), **asked), dd.two_sample_test(x, y, **asked))


def test_mixed_columns_are_tested_by_their_limit():
    x, y = tables(N, M)
    asked = {"model": centers(), "null": "asymptotic", "n_permutations": 50}
    same_test(dd.two_sample_test(Blocks(x, [99]), Blocks(y, [99]), **asked), dd.two_sample_test(x, y, **asked))


@pytest.mark.parametrize("d", [1, 2])
def test_one_or_two_columns_are_relabelled_exactly_in_cells(d):
    random = np.random.default_rng(1)
    x, y = random.normal(size=(4500, d)), random.normal(size=(2500, d)) + 0.05
    asked = {"n_permutations": 199, "random_state": 1}
    found, expected = (
        dd.two_sample_test(*pair, **asked) for pair in ((Blocks(x, [5, 1400]), Blocks(y, [700])), (x, y))
    )
    assert "cells" in expected.warnings[-1]
    same_test(found, expected)


@fewer
@given(of_a=cuts(SMALL), of_b=cuts(SMALL))
def test_columns_of_compared_blocks_are_those_of_tables(of_a, of_b):
    a, b = tables(SMALL, SMALL)
    asked = {"n_permutations": 19, "random_state": 0}
    same_columns(dd.compare(Blocks(a, of_a), Blocks(b, of_b), **asked), dd.compare(a, b, **asked))


def same_columns(found, expected):
    by_name = {column.name: column for column in expected.columns}
    assert by_name.keys() == {column.name for column in found.columns}
    for column in found.columns:
        other = by_name[column.name]
        np.testing.assert_allclose([column.normalized, *column.interval], [other.normalized, *other.interval], **close)
        assert column.kind == other.kind
    np.testing.assert_allclose(found.distance.squared, expected.distance.squared, **close)
    assert (found.n_x, found.n_y, found.left_out) == (expected.n_x, expected.n_y, expected.left_out)
    assert [(each.name, each.share_a, each.pvalue_adjusted) for each in found.missing] == [
        (each.name, each.share_a, each.pvalue_adjusted) for each in expected.missing
    ]


def with_holes(table):
    table = table.copy()
    table.loc[table.index[3::17], "size"] = np.nan
    table.loc[table.index[5::19], "city"] = None
    table["paid"] = table["paid"].astype("boolean")
    table.loc[table.index[8::23], "paid"] = pd.NA
    return table


def test_missing_values_are_refused_with_the_number_of_their_row():
    a, b = tables(N, M)
    b.loc[312, "age"] = np.nan
    b.loc[400, "age"] = np.nan
    for left, right in ((a, b), (Blocks(a, [300]), Blocks(b, [100, 311]))):
        with pytest.raises(dd.InputError) as caught:
            dd.compare(left, right)
        assert str(caught.value) == (
            'column \'age\' of B: 2 missing values, first at row 312; use missing="drop" or missing="level"'
        )
    with pytest.raises(dd.InputError, match="column 'age' of Y: 2 missing values, first at row 312; drop or fill"):
        dd.LSDD().fit(Blocks(a, [300]), Blocks(b, [100]))


@fewer
@given(of_a=cuts(SMALL), of_b=cuts(SMALL))
def test_dropped_rows_are_those_dropped_in_memory_and_kinds_survive(of_a, of_b):
    a, b = map(with_holes, tables(SMALL, SMALL))
    asked = {"n_permutations": 19, "random_state": 0, "missing": "drop"}
    found = silently(dd.compare, Blocks(a, of_a), Blocks(b, of_b), **asked)
    expected = silently(dd.compare, a, b, **asked)
    same_columns(found, expected)
    dropped = [[text for text in each.warnings if "dropped" in text] for each in (found, expected)]
    assert dropped[0] == dropped[1] != []


@few
@given(of_a=cuts(SMALL), of_b=cuts(SMALL))
def test_holes_are_filled_as_in_memory_in_any_blocks(of_a, of_b):
    a, b = map(with_holes, tables(SMALL, SMALL))
    asked = {"n_permutations": 19, "random_state": 0, "missing": "level"}
    expected = dd.compare(a, b, **asked)
    assert {column.name for column in expected.columns} == {*a.columns, "size is missing"}
    same_columns(dd.compare(Blocks(a, of_a), Blocks(b, of_b), **asked), expected)


@given(st.integers(1, 12_000), st.lists(st.integers(0, 12_000), max_size=4), st.integers(0, 3))
def test_known_values_of_any_stretches_are_those_of_the_column(n, cuts_of, seed):
    column = np.random.default_rng([n, seed]).normal(size=n)
    column[seed::3] = np.nan
    parts = np.split(column, sorted(min(cut, n) for cut in cuts_of))
    starts = np.cumsum([0, *map(len, parts)])[:-1]
    found = reduce(imputation.merge_donors, map(imputation.draw_donors, parts, starts))
    whole = imputation.draw_donors(column)
    for part, expected in zip(found, whole, strict=True):
        np.testing.assert_array_equal(part, expected)
    there = column[~np.isnan(column)]
    assert len(whole[1]) == min(len(there), 5000)
    assert np.isin(whole[1], there).all()
    if len(there):
        fill = imputation.pool_donors(whole, whole)
        found = [imputation.impute(part, start, fill) for part, start in zip(parts, starts, strict=True)]
        np.testing.assert_array_equal(np.concatenate(found), imputation.impute(column, 0, fill))


def test_holes_are_filled_evenly():
    column = np.full(3000, np.nan)
    fill = np.linspace(0.0, 1.0, 1000)
    for step in (1, 2, 5, 7):
        found = np.sort(imputation.impute(column, 17, fill)[::step])
        assert np.abs(found - (np.arange(len(found)) + 0.5) / len(found)).max() < 8 / len(found)


def test_columns_without_values_and_columns_that_name_rows_are_left_out():
    a, b = tables(SMALL, SMALL)
    a["id"], b["id"] = ([f"n{i}" for i in range(len(each))] for each in (a, b))
    a["none"], b["none"] = np.nan, 1.0
    a["more"] = 1.0
    asked = {"n_permutations": 19, "random_state": 0}
    found = silently(dd.compare, Blocks(a, [3, 90]), Blocks(b, [50]), **asked)
    expected = silently(dd.compare, a, b, **asked)
    same_columns(found, expected)
    assert dict(found.left_out).keys() == {"id", "none", "more"}


def test_columns_of_arrays_are_chosen_by_number(samples):
    x, y = (rows[:SMALL] for rows in samples)
    asked = {"n_permutations": 19, "random_state": 0, "columns": ["x3", "x1"]}
    same_columns(dd.compare(Blocks(x, [50]), Blocks(y, [60]), **asked), dd.compare(x, y, **asked))


def test_blocks_without_names_take_those_of_the_other_sample_by_position(samples):
    x, y = samples
    named = pd.DataFrame(y, columns=["x1", "x0", "x3", "x2"])
    found, expected = centers().fit(Blocks(x, [50]), named), centers().fit(x, named)
    assert found.feature_names_ == expected.feature_names_ == ("x1", "x0", "x3", "x2")
    np.testing.assert_allclose(found.predict(x[:5]), expected.predict(x[:5]), **close)


def test_constant_columns_are_noted_and_rarely_varying_ones_are_not():
    a, b = ({"c": np.full(n, 2.0), "r": np.zeros(n), "x": np.arange(float(n))} for n in (12_000, 11_000))
    a["r"][7] = 1.0  # between the rows that are looked at for ties
    a, b = pd.DataFrame(a), pd.DataFrame(b)
    found = silently(dd.LSDD(solver="centers", n_centers=5, sigma=1.0, random_state=0).fit, Blocks(a, [99]), b)
    notes = [note for note in found.l2_distance().warnings if "constant" in note]
    assert notes == ["column 'c' is constant and equal in both samples; it contributes nothing"]
    found = silently(dd.compare, Blocks(a, [99]), Blocks(b, []), columns=["c", "x"], n_permutations=19, random_state=0)
    assert "column 'c' is constant and equal in both; it contributes nothing" in found.warnings


@pytest.mark.parametrize(("factor", "offset"), [(1.0, 1e8), (1e200, 0.0), (1e-200, 0.0), (1e300, 0.0)])
@pytest.mark.parametrize("make", [centers, spectral])
def test_offsets_and_extreme_values_are_ordinary_in_blocks(make, factor, offset, draw):
    x, y = (factor * rows + offset for rows in draw(5, n=300, m=200))
    x[:20] = x[0]  # a first block of one value, near which the others are not
    found, expected = (silently(make().fit, *pair) for pair in ((Blocks(x, [20, 90]), Blocks(y, [55])), (x, y)))
    for each in zip(*(silently(model.l2_distance).to_dict().items() for model in (found, expected)), strict=True):
        (name, value), (_, other) = each
        if name in ("normalized", "log_squared", "normalized_interval", "sigma", "lam"):
            np.testing.assert_allclose(value, other, rtol=1e-9, err_msg=name)


# files


@pytest.fixture
def stored(tmp_path):
    """The same two samples as CSV, compressed CSV, JSON Lines, Parquet (a file, a folder) and .npy."""
    random = np.random.default_rng(2)
    found = {}
    for name, shift in (("A", 0.0), ("B", 0.3)):
        rows = np.round(random.normal(size=(3000, 3)) + shift, 6)
        table = pa.table({f"x{j}": rows[:, j] for j in range(3)})
        found[name] = rows
        pa.csv.write_csv(table, tmp_path / f"{name}.csv")
        with pa.CompressedOutputStream(str(tmp_path / f"{name}.csv.gz"), "gzip") as stream:
            pa.csv.write_csv(table, stream)
        shutil.copy(tmp_path / f"{name}.csv.gz", tmp_path / f"{name}.packed.csv.GZ")
        table.to_pandas().to_json(tmp_path / f"{name}.jsonl", orient="records", lines=True, double_precision=15)
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=700)
        (tmp_path / f"{name}.parts").mkdir()
        for part, start in enumerate(range(0, 3000, 1300)):
            pq.write_table(table.slice(start, 1300), tmp_path / f"{name}.parts" / f"{part}.parquet")
        np.save(tmp_path / f"{name}.npy", rows)
    return tmp_path, found


ENDINGS = ("csv", "csv.gz", "packed.csv.GZ", "jsonl", "parquet", "parts", "npy")


def test_files_of_every_kind_give_the_answers_of_their_rows(stored, monkeypatch):
    folder, rows = stored
    monkeypatch.setattr("densdiff.io.memory.TEXT_BLOCK", 1 << 14)
    monkeypatch.setattr("densdiff.io.memory.VALUES", 1 << 11)
    expected = answers(centers().fit(rows["A"], rows["B"]), rows["A"][:5])
    with sklearn.config_context(working_memory=0.05):
        for ending in ENDINGS:
            paths = folder / f"A.{ending}", folder / f"B.{ending}"
            blocks = list(read(paths[0]))
            assert len(blocks) > 2, ending
            assert sum(map(len, blocks)) == 3000
            model = centers().fit(*paths)
            np.testing.assert_allclose(answers(model, rows["A"][:5]), expected, err_msg=ending, **close)
        mixed = centers().fit(folder / "A.csv", folder / "B.parquet")
        np.testing.assert_allclose(answers(mixed, rows["A"][:5]), expected, **close)


def test_long_text_that_is_stored_once_counts_as_often_as_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("densdiff.io.memory.VALUES", 1 << 15)
    words = np.array([letter * 4000 for letter in "uvw"])
    table = pa.table({"t": words[np.arange(6000) % 3], "x": np.arange(6000.0), "empty": [""] * 6000})
    path = tmp_path / "A.parquet"
    pq.write_table(table, path, row_group_size=2000)
    assert path.stat().st_size < 200_000
    with sklearn.config_context(working_memory=8):
        assert read(path, columns=["x", "empty"]).num_rows == 6000
        for columns in (["t"], None):
            found = read(path, columns=columns)
            assert isinstance(found, File)
            blocks = list(found)
            assert max(block.nbytes for block in blocks) < 300_000  # 8 << 15, and the numbers
            assert pa.concat_tables(blocks).equals(table.select(columns or table.column_names))
        assert [len(block) for block in found.blocks(["x"])] == [len(block) for block in blocks]
        with pytest.raises(dd.InputError, match="needs 24 MiB of memory, the limit is 8 MiB"):
            files.table(path)


def test_compressed_text_is_read_in_blocks_however_well_it_is_compressed(tmp_path):
    path = tmp_path / "A.csv.gz"
    path.write_bytes(gzip.compress(b"x,w\n" + b"1.5,a text of a certain length\n" * 40_000))
    size = len(gzip.decompress(path.read_bytes()))
    assert 100 * path.stat().st_size < size
    for room, large in ((size - 1, True), (size, False), (2000 * size, False)):
        with sklearn.config_context(working_memory=4 * room / 2**20):
            found = read(path)
            assert isinstance(found, File) == large
            assert sum(map(len, found if large else [found])) == 40_000


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n\r\n", "\nNA\n\n", "\n" * 50_000 + "NA"])
def test_empty_lines_around_one_column_are_no_rows(tmp_path, end, monkeypatch):
    monkeypatch.setattr("densdiff.io.memory.TEXT_BLOCK", 1 << 14)
    path = tmp_path / "A.csv"
    path.write_text("\n\nx\n" + "\n".join(["1.5", "", "2.5"] * 8000) + end, newline="")
    expected = files.table(path)["x"].to_pylist()
    assert len(expected) == 24_000 + end.rstrip("\r\n").count("\n")
    with sklearn.config_context(working_memory=0.1):
        found = read(path)
        assert isinstance(found, File)
        assert pa.concat_tables(found)["x"].to_pylist() == expected


@pytest.mark.parametrize(
    "late",
    [
        "7,8",
        "1.5,2.5",
        "-1e3,",
        " 7 ,u",
        '7,"u,""v""\nw"',
        "9223372036854775808,true",
        "7,2026-01-01",
        "7,NA",
        "0x10,+7",
    ],
)
@pytest.mark.parametrize(("sep", "decimal"), [(",", "."), (";", ",")])
def test_kinds_of_a_large_csv_file_are_those_of_all_its_rows(tmp_path, late, sep, decimal, monkeypatch):
    """Whole numbers may be followed by fractions, and nothing by anything."""
    monkeypatch.setattr("densdiff.io.memory.TEXT_BLOCK", 1 << 14)
    late = late.translate(str.maketrans(",.", sep + decimal))
    start = "".join(f"{2**60 + row}{sep}\n" for row in range(3000))
    path = tmp_path / "A.csv"
    path.write_text(f'n{sep}"the ""m"" of it"\n{start}{late}\n{start}')
    options = {"sep": sep, "decimal": decimal}
    expected = files.table(path, **options)
    with sklearn.config_context(working_memory=0.1):
        found = read(path, **options)
        assert len(blocks := list(found)) > 3
        assert pa.concat_tables(blocks).equals(expected)
        for label in expected.column_names:
            assert pa.concat_tables(found.blocks([label])).equals(expected.select([label]))
            assert pa.concat_tables(read(path, columns=[label], **options)).equals(expected.select([label]))


def test_a_clock_of_nanoseconds_in_a_large_csv_file_keeps_its_digits(tmp_path):
    series = {"v": np.repeat([0.0, 5.0], 1500) + np.arange(3000) % 7, "t": 1_700_000_000_000_000_000 + np.arange(3000)}
    pd.DataFrame(series).to_csv(tmp_path / "A.csv", index=False)
    with sklearn.config_context(working_memory=0.2):
        assert isinstance(read(tmp_path / "A.csv"), File)
        found = silently(dd.detect_changes, tmp_path / "A.csv", time="t", window=60, random_state=0)
    assert abs(found.changes - 1500).max() < 5


@pytest.mark.parametrize(
    "late",
    [
        {"n": 1.5, "t": "2026-01-01", "e": 2},
        {"n": 10**20, "t": "u", "e": "u", "late": 1},
        {"t": None, "e": "2026-01-01", "late": {"x": 1}},
        {},
        {"n": None, "e": [1.5], "late": True},
    ],
)
def test_kinds_of_large_json_lines_are_those_of_all_rows(tmp_path, late, monkeypatch):
    """Whole numbers may be followed by fractions, dates by other text, nothing by anything; fields may come late."""
    monkeypatch.setattr("densdiff.io.memory.TEXT_BLOCK", 1 << 14)
    start = [json.dumps({"n": 2**60 + row, "t": "2026-01-01", "e": None}) for row in range(1000)]
    path = tmp_path / "A.jsonl"
    path.write_text("\n".join(["\ufeff" + start[0], *start, "\n" * 50_000, json.dumps(late), *start]))
    expected = files.table(path)
    with sklearn.config_context(working_memory=0.1):
        found = read(path)
        assert len(blocks := list(found)) > 3
        assert pa.concat_tables(blocks).equals(expected)
        for label in expected.column_names:
            assert pa.concat_tables(found.blocks([label])).equals(expected.select([label]))
            assert pa.concat_tables(read(path, columns=[label])).equals(expected.select([label]))


def test_categories_of_numbers_are_categories_in_a_parquet_file(tmp_path):
    random, frames = np.random.default_rng(0), []
    for name, most in (("A", 0.5), ("B", 0.2)):
        codes, halves = random.choice([7, 8, 30], SMALL, p=[most, 0.3, 0.7 - most]), random.choice([0.5, 1.5], SMALL)
        frames.append(pd.DataFrame({"x": random.normal(size=SMALL), "c": pd.Categorical(codes), "f": halves}))
        frames[-1]["f"] = frames[-1]["f"].astype("category")
        frames[-1].to_parquet(tmp_path / f"{name}.parquet", row_group_size=50)
    paths = tmp_path / "A.parquet", tmp_path / "B.parquet"
    assert [pa.types.is_dictionary(kind) for kind in files.table(paths[0]).schema.types] == [False, True, True]
    cut = [Blocks(frame, [50, 100]) for frame in frames]
    for memory, large, same in ((1024, False, frames), (0.005, True, cut)):
        with sklearn.config_context(working_memory=memory):
            assert isinstance(read(paths[0]), File) == large
            for pair in (paths, (same[0], paths[1])):
                found, expected = (answers(centers().fit(*each), frames[0][:9]) for each in (pair, same))
                np.testing.assert_allclose(found, expected, **close)


def test_numbers_that_are_categories_in_some_files_of_a_folder_are_numbers(tmp_path):
    frame = pd.DataFrame({"c": [7, 8, 30] * 40})
    frame.astype("category").to_parquet(tmp_path / "0.parquet")
    frame.to_parquet(tmp_path / "1.parquet")
    assert files.table(tmp_path).schema.types == [pa.int64()]
    with sklearn.config_context(working_memory=0.001):
        assert [block.schema.types for block in read(tmp_path)] == [[pa.int64()]] * 2


def test_chosen_columns_of_an_array_file_keep_their_names(tmp_path, samples):
    for name, rows in zip("AB", samples, strict=True):
        np.save(tmp_path / f"{name}.npy", rows[:SMALL])
    asked = {"n_permutations": 19, "random_state": 0}
    expected = dd.compare(*(rows[:SMALL] for rows in samples), columns=["x2", "x0"], **asked)
    with sklearn.config_context(working_memory=0.005):
        blocks = [read(tmp_path / f"{name}.npy", columns=["x2", "x0"]) for name in "AB"]
        assert all(isinstance(each, File) for each in blocks)
        same_columns(dd.compare(*blocks, **asked), expected)


def test_a_model_of_files_can_be_pickled(stored):
    folder, _ = stored
    with sklearn.config_context(working_memory=0.05):
        for ending in ("csv", "parquet", "npy", "jsonl"):
            assert isinstance(read(folder / f"A.{ending}"), File)
            model = dd.LSDD(solver="centers", n_centers=5, sigma=1.0, random_state=0)
            model.fit(folder / f"A.{ending}", folder / f"B.{ending}")
            stored_model = pickle.dumps(model)
            assert len(stored_model) < 2_000_000  # rows drawn, not all rows
            assert pickle.loads(stored_model).l2_distance().squared == model.l2_distance().squared


def test_two_names_of_one_file_are_told(stored):
    folder, _ = stored
    with sklearn.config_context(working_memory=0.05):
        found = dd.LSDD(solver="centers", n_centers=5, random_state=0).fit(folder / "A.csv", folder / "A.csv")
    assert "X and Y hold the same rows: is a sample compared with itself?" in found.l2_distance().warnings
