"""Dask arrays and data frames: the answers of arrays, on threads and on worker processes, one of which is killed."""

import contextlib
import os
import signal
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import densdiff as dd
from densdiff.sources import clusters
from tests.command_line import refusal, run, silently
from tests.large import tables

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask.array is not installed")
df = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

N, M = 700, 500
close = {"rtol": 1e-10, "atol": 1e-12}
# a worker that is killed leaves sockets and processes that nobody closes
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index"),  # within Dask's own reader
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def samples():
    random = np.random.default_rng(0)
    return random.normal(size=(N, 4)), 0.8 * random.normal(size=(M, 4)) + 0.4


def model():
    return dd.LSDD(solver="centers", n_centers=30, random_state=3)


def numbers(fitted, points):
    distance = fitted.l2_distance()
    return np.concatenate([fitted.predict(points), [distance.squared, *distance.interval, fitted.sigma_, fitted.lam_]])


def chunks(n):
    """Sizes of blocks of n rows, some of them empty."""
    return st.lists(st.integers(0, n), max_size=5).map(lambda at: tuple(np.diff([0, *sorted(at), n]).tolist()))


@settings(max_examples=4)
@given(of_x=chunks(N), of_y=chunks(M), across=st.booleans())
def test_arrays_of_any_chunks_give_the_answers_of_arrays(samples, of_x, of_y, across):
    x, y = samples
    columns = (2, 2) if across else (4,)
    found = model().fit(da.from_array(x, chunks=(of_x, columns)), da.from_array(y, chunks=(of_y, columns)))
    np.testing.assert_allclose(numbers(found, x[:9]), numbers(model().fit(x, y), x[:9]), **close)


def test_chunks_of_unknown_size_series_and_one_column(samples):
    x, y = samples
    some = [da.from_array(each, chunks=(99, -1)) for each in (x, y)]
    unknown = [each[each[:, 0] > -0.5] for each in some]
    assert np.isnan(unknown[0].shape[0])
    expected = model().fit(*(each[each[:, 0] > -0.5] for each in (x, y)))
    np.testing.assert_allclose(numbers(model().fit(*unknown), x[:9]), numbers(expected, x[:9]), **close)
    expected = dd.LSDD(solver="spectral", random_state=0).fit(x[:, 0], y[:, 0]).l2_distance().squared
    for given_x, given_y in (
        (some[0][:, 0], some[1][:, 0]),
        (df.from_dask_array(some[0][:, 0]), y[:, 0]),
        (df.from_dask_array(some[0])[0], df.from_dask_array(some[1])[0]),
    ):
        found = dd.LSDD(solver="spectral", random_state=0).fit(given_x, given_y).l2_distance().squared
        np.testing.assert_allclose(found, expected, **close)


def test_other_collections_are_refused(samples):
    bag = pytest.importorskip("dask.bag").from_sequence([1.0, 2.0])
    with pytest.raises(dd.InputError, match=r"^X is a Dask Bag; pass a Dask array or data frame$"):
        dd.LSDD().fit(bag, samples[1])


@pytest.fixture
def stored(tmp_path):
    """Two Parquet data sets of several files, and the frames that they hold."""
    frames = dict(zip(("big_a", "big_b"), tables(110, 100), strict=True))
    for name, frame in frames.items():
        (tmp_path / name).mkdir()
        for part, start in enumerate(range(0, len(frame), 30)):
            frame.iloc[start : start + 30].to_parquet(tmp_path / name / f"{part}.parquet", index=False)
    return tmp_path, *frames.values()


def same_columns(found, expected):
    by_name = {column.name: column for column in expected.columns}
    assert by_name.keys() == {column.name for column in found.columns}
    for column in found.columns:
        np.testing.assert_allclose(column.normalized, by_name[column.name].normalized, **close)


def test_lazily_read_parquet_with_categories_is_compared_as_frames(stored):
    folder, a, b = stored
    asked = {"n_permutations": 39, "random_state": 0}
    lazy = [df.read_parquet(folder / name) for name in ("big_a", "big_b")]
    same_columns(dd.compare(*lazy, **asked), dd.compare(a, b, **asked))
    holes = [each.copy() for each in (a, b)]
    for each in holes:
        each.loc[each.index[3::7], "city"] = None
    lazy = [df.from_pandas(each, npartitions=3) for each in holes]
    for missing in ("drop", "level"):
        asked |= {"missing": missing, "columns": ["city", "paid"]}
        found, expected = (silently(dd.compare, *pair, **asked) for pair in (lazy, holes))
        same_columns(found, expected)
    with pytest.raises(dd.InputError, match=r"^column 'city' of A: 16 missing values, first at row 3; use missing="):
        dd.compare(*lazy, missing="error")


def test_nothing_of_the_size_of_the_samples_comes_to_the_driver(monkeypatch):
    random = da.random.default_rng(0)
    x, y = (random.normal(size=(200_000, 3), chunks=(20_000, 3)) for _ in range(2))
    largest = []
    compute = dask.compute

    def weighed(*parts, **options):
        found = compute(*parts, **options)
        largest.append(max(map(weight, found)))
        return found

    monkeypatch.setattr(dask, "compute", weighed)
    fitted = dd.LSDD(solver="centers", n_centers=20, sigma=1.0, random_state=0).fit(x, y)
    fitted.l2_distance()
    dd.two_sample_test(x[:, 0], y[:, 0], n_permutations=19, random_state=0)
    assert len(largest) > 4
    # bytes: 100,000 rows of three columns, which is the most that an overlap takes, and some 12,000 others
    assert max(largest) < 2_700_000
    with pytest.raises(AssertionError):  # the guard would see a sample come
        assert weight(compute(x)[0]) < 2_700_000


def weight(value):
    """Bytes of all arrays within a result, roughly."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, (list, tuple)):
        return sum(map(weight, value))
    return sum(map(weight, vars(value).values())) if hasattr(value, "__dict__") else sys.getsizeof(value)


# a cluster of processes


@pytest.fixture(scope="module")
def cluster():
    settings = {
        "distributed.worker.daemon": True,
        "distributed.scheduler.allowed-failures": 3,
        "distributed.logging.distributed": "critical",
    }
    with dask.config.set(settings):
        try:
            local = distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, memory_limit="1GiB", dashboard_address="127.0.0.1:0", silence_logs=50
            )
        except (OSError, RuntimeError) as error:  # no sockets or no processes may be opened here
            pytest.skip(f"no local Dask cluster can be started: {error}")
        with local, distributed.Client(local) as client:
            yield client


@pytest.mark.service
def test_worker_processes_give_the_answers_of_threads_though_one_is_killed(cluster, samples, tmp_path):
    x, y = samples
    lazy = [da.from_array(each, chunks=(50, 4)) for each in (x, y)]
    expected = model().fit(x, y).predict(x[:9])
    np.testing.assert_allclose(model().fit(*lazy).predict(x[:9]), expected, **close)
    mark = tmp_path / "killed"
    fatal = lazy[0].map_blocks(_dies_once, str(mark), meta=np.empty((0, 0)))  # or this process tries it
    np.testing.assert_allclose(model().fit(fatal, lazy[1]).predict(x[:9]), expected, **close)
    assert mark.exists()  # a worker did die


def _dies_once(block, mark):
    """The worker that comes to this for the twentieth time of all is killed while the other goes on."""
    with open(f"{mark}.calls", "ab") as calls:
        calls.write(b"x")
    if os.stat(f"{mark}.calls").st_size >= 20:  # a head and a look before it: amid the sums
        with contextlib.suppress(FileExistsError):
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            os.kill(os.getpid(), signal.SIGKILL)
    return block


def _out_of_memory(block):
    raise MemoryError("no room")


@pytest.mark.service
def test_workers_out_of_memory_are_one_sentence_with_advice(cluster, samples, monkeypatch):
    lazy = [da.from_array(each, chunks=(250, 4)) for each in samples]
    sentence = (
        "Dask workers died while they read X, most likely out of memory: a block has up to 250 rows of 4 columns, "
        "0.008 MB; use smaller blocks (rechunk an array, repartition a data frame) or give the workers more memory"
    )
    with pytest.raises(dd.NumericalError) as caught:
        model().fit(lazy[0].map_blocks(_out_of_memory, meta=np.empty((0, 0))), lazy[1])
    assert str(caught.value) == sentence

    def killed(*parts, **options):
        raise distributed.scheduler.KilledWorker("task", None, 3)

    monkeypatch.setattr(dask, "compute", killed)
    with pytest.raises(dd.NumericalError) as caught:
        model().fit(*lazy)
    assert str(caught.value) == sentence


@pytest.mark.service
def test_the_command_compares_parquet_folders_on_a_cluster(cluster, stored):
    folder, a, b = stored
    address = cluster.scheduler.address
    quick = ("--permutations", "39", "--seed", "0")
    code, out, err = run("compare", folder / "big_a", folder / "big_b", "--scheduler", address, *quick)
    expected = dd.compare(a, b, names=("big_a", "big_b"), n_permutations=39, random_state=0)
    assert (code, err) == (0, "")
    assert f"{expected.n_x} of big_a, {expected.n_y} of big_b" in out
    assert str(expected).splitlines()[0] == out.splitlines()[0]
    chosen = run("compare", folder / "big_a", folder / "big_b", "--scheduler", address, *quick, "--columns", "size")
    assert "0 of 1 differ" in chosen[1] or "1 of 1 differ" in chosen[1]
    away = folder / "none"
    assert refusal("compare", away, folder / "big_b", "--scheduler", address).startswith(
        "none does not exist in the fo"
    )
    text = folder / "A.csv"
    a.to_csv(text)
    assert refusal("compare", text, folder / "big_b", "--scheduler", address) == (
        "A.csv is not a Parquet file; a cluster reads Parquet files and folders of them"
    )


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense", "ftp://127.0.0.1:80"])
def test_an_address_where_nobody_answers_is_one_line(stored, address, monkeypatch):
    monkeypatch.setattr(clusters, "_PATIENCE", 0.3)
    if address != "tcp://127.0.0.1:1":
        monkeypatch.setattr(distributed, "Client", None)  # not asked: it would wait, and complain when it is deleted
    before = dask.config.get("scheduler", None)
    message = refusal("compare", stored[0] / "big_a", stored[0] / "big_b", "--scheduler", address)
    assert message.startswith(f"no Dask scheduler answers at '{address}': ")
    assert message.endswith("; give the address it prints when it starts, such as tcp://127.0.0.1:8786")
    assert dask.config.get("scheduler", None) == before  # who cannot connect leaves nothing behind
    assert da.ones(3).sum().compute() == 3


def test_the_first_row_that_is_wrong_is_named_whichever_block_ends_first():
    rows = np.random.default_rng(0).normal(size=(300_000, 1))
    rows[[5, -1]] = np.inf
    large_first = da.from_array(rows, chunks=((280_000, 10_000, 10_000), (1,)))
    for _ in range(3):
        with pytest.raises(dd.InputError, match="inf at row 5;"):
            dd.l2_distance(large_first, rows[10:100])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda: da.zeros(()), r"X has shape \(\); pass rows by columns"),
        (lambda: dask.delayed(np.zeros(5)), "X is a Dask Delayed"),
    ],
)
def test_dask_objects_without_rows_are_refused(value, message):
    with pytest.raises(dd.InputError, match=message):
        dd.l2_distance(value(), np.zeros((5, 1)))


def test_where_dask_is_absent_the_command_says_what_to_install(stored, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert refusal("compare", stored[0] / "big_a", stored[0] / "big_b", "--scheduler", "tcp://127.0.0.1:1") == (
        'Dask collections need distributed: pip install "densdiff[dask]"'
    )


def test_changed_blocks_without_rows_are_refused():
    holes = pd.DataFrame({"a": [np.nan, 1.0, np.nan], "b": [1.0, np.nan, 2.0]})
    whole = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 3.0, 2.0]})
    for held in (lambda table: [table], lambda table: df.from_pandas(table, npartitions=2)):
        with pytest.raises(dd.InputError, match=r"A has 0 rows without missing values; try missing=\"level\""):
            dd.compare(held(holes), held(whole), missing="drop")


def test_frames_without_rows_are_refused(samples):
    empty = df.from_pandas(pd.DataFrame({"a": np.empty(0)}), npartitions=1)
    with pytest.raises(dd.InputError, match=r"^X has 0 data rows$"):
        dd.LSDD().fit(empty, samples[1][:, :1])


def test_an_index_without_a_name_is_no_column_on_a_cluster_either(tmp_path):
    path = tmp_path / "A.parquet"
    pd.DataFrame({"x": np.arange(9.0)}, index=list(range(9))).to_parquet(path)
    assert list(clusters.lazy_parquet(path).columns) == ["x"]
    with pytest.raises(
        dd.InputError,
        match=r"'__index_level_0__' of A\.parquet is an index without a name, which Dask does not read as a column",
    ):
        clusters.lazy_parquet(path, ["__index_level_0__"])
