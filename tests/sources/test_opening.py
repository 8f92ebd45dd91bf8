"""Files that are read in blocks give the answers of their rows: every kind of file, late kinds, chosen columns."""

import gzip
import json
import pickle
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import sklearn

import densdiff as dd
from densdiff.io import files
from densdiff.io.files import File, read
from tests.block_answers import SMALL, M, N, answers, centers, close, same_columns
from tests.command_line import silently
from tests.large import Blocks


@pytest.fixture(scope="module")
def samples():
    random = np.random.default_rng(0)
    return random.normal(size=(N, 4)), 0.8 * random.normal(size=(M, 4)) + 0.4


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
    asked = {"n_permutations": 39, "random_state": 0}
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
