"""Series and unlabelled rows that are not in memory: in stretches that overlap, and drawn."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st

import densdiff as dd
from densdiff.balance import class_balance
from densdiff.data.stretches import stretches
from densdiff.data.table import table_of
from densdiff.sources.blocks import BlockSource, IteratedBlocks
from densdiff.sources.clusters import DaskSource
from tests.large import Blocks, cuts

da, df = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
CHANGES = (1500, 3300)
AS_TABLE = partial(table_of, where="series")


@pytest.fixture(scope="module")
def series():
    rows = np.random.default_rng(0).normal(size=5000)
    rows[CHANGES[0] :] += 3.0
    rows[CHANGES[1] :] -= 4.0
    return rows


@pytest.fixture(scope="module")
def balance():
    random = np.random.default_rng(1)
    labels = np.arange(60) % 2
    new = random.normal(size=(400, 2))
    new[:100] += 2.0
    model = dd.ClassBalance(random_state=0).fit(random.normal(size=(60, 2)) + 2.0 * labels[:, None], labels)
    return model, new


def test_a_series_in_blocks_that_fits_has_the_bits_of_the_array(series):
    expected = dd.detect_changes(series, window=100, random_state=0)
    for form in (Blocks(series, [700, 700, 3001]), da.from_array(series, chunks=999)):
        found = dd.detect_changes(form, window=100, random_state=0)
        np.testing.assert_array_equal(found.scores, expected.scores)
        np.testing.assert_array_equal(found.changes, expected.changes)


def test_a_series_beyond_the_ceiling_is_searched_in_stretches_that_share_alpha(series):
    frame = pd.DataFrame({"clock": np.arange(5000.0), "level": series})
    with sklearn.config_context(working_memory=0.12):  # a quarter of it holds 1966 samples of two columns
        found = dd.detect_changes(Blocks(frame, [1999]), time="clock", window=60, random_state=0)
    assert [min(abs(found.changes - change)) <= 3 for change in CHANGES] == [True, True]
    assert len(found.changes) == 2
    assert len(found.scores) == len(found.series) == len(found.times) == found.n_x == 5000
    np.testing.assert_array_equal(found.times, frame["clock"])
    np.testing.assert_allclose(found.series[:, 0], series, rtol=1e-6)
    assert found.alpha == 0.05
    assert "searched in 4 overlapping stretches, each at alpha / 4" in found.warnings[-1]
    assert (found.pvalues >= 4 / 1000).all()  # four times what a stretch can reach


@given(n=st.integers(1, 60), data=st.data())
def test_stretches_are_slices_read_in_one_go(n, data):
    size = data.draw(st.integers(2, 70))
    overlap = data.draw(st.integers(0, size - 1))
    table = pd.DataFrame({"a": np.arange(n), "b": -np.arange(n) / 2})
    blocks = Blocks(table, data.draw(cuts(n)))
    source = BlockSource("series", IteratedBlocks("series", blocks, AS_TABLE), n, AS_TABLE)
    found = list(stretches(source, "series", size, overlap))
    assert blocks.passes == 1
    of_dask = list(
        stretches(DaskSource("series", df.from_pandas(table, npartitions=2), AS_TABLE), "series", size, overlap)
    )
    assert [start for start, _ in found] == [start for start, _ in of_dask]
    stops = [start + len(part) for start, part in found]
    assert stops[-1] == n
    for (start, part), (_, other), stop in zip(found, of_dask, stops, strict=True):
        assert part.names == other.names == ("a", "b")
        for name, column, another in zip(part.names, part.columns, other.columns, strict=True):
            np.testing.assert_array_equal(column.values, table[name][start:stop])
            np.testing.assert_array_equal(another.values, table[name][start:stop])
    for (start, _), stop in zip(found[1:], stops, strict=False):
        assert stop - start == overlap


def test_a_series_that_gives_fewer_rows_the_second_time_is_refused():
    blocks = IteratedBlocks("series", [np.zeros((5, 1)), np.ones((4, 1))], AS_TABLE)
    source = BlockSource("series", blocks, 12, AS_TABLE)
    with pytest.raises(
        dd.InputError,
        match="series returned 12 rows the first time and 9 the second time; it must return the same rows each time",
    ):
        list(stretches(source, "series", 4, 1))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_changes": 2, "window": 60}, "n_changes needs a series that fits in memory, but only"),
        ({"time": np.arange(5000), "window": 60}, "time as an array needs a series that fits"),
        ({"window": 900}, "windows of 900 samples are too long where 1966 samples fit in memory"),
    ],
)
def test_what_stretches_cannot_do_is_refused(series, options, words):
    rows = np.column_stack([series, series])
    with sklearn.config_context(working_memory=0.12), pytest.raises(dd.InputError, match=words):
        dd.detect_changes(Blocks(rows, [1000]), random_state=0, **options)


def test_shares_of_blocks_are_those_of_the_array(balance):
    model, new = balance
    expected = model.estimate(new)
    for form in (Blocks(new, [10, 333]), da.from_array(new, chunks=(90, 1))):
        found = model.estimate(form)
        np.testing.assert_array_equal(found.priors, expected.priors)
        np.testing.assert_array_equal(found.intervals, expected.intervals)


def test_shares_of_many_rows_are_of_a_draw_and_say_so(balance, monkeypatch):
    model, new = balance
    monkeypatch.setattr(class_balance, "_MOST_NEW", 150)
    found = model.estimate(Blocks(new, [100]))
    assert found.n_y == 150
    assert "shares are estimated from 150 of the 400 new rows, drawn at random" in found.warnings


def test_a_missing_value_among_rows_that_are_not_drawn_is_refused(balance, monkeypatch):
    model, new = balance
    monkeypatch.setattr(class_balance, "_MOST_NEW", 10)
    spoilt = new.copy()
    spoilt[[123, 200], 1] = np.nan
    with pytest.raises(dd.InputError, match="column 'x1' of X_new: 2 missing values, first at row 123"):
        model.estimate(Blocks(spoilt, [100]))


def in_all_forms(table):
    return table, [table[:99], table[99:]], df.from_pandas(table, npartitions=3)


@pytest.mark.filterwarnings("ignore:columns of X_new left out")
@pytest.mark.parametrize("extra", [[None] * 300 + ["a"] * 300, pd.Timestamp("2020-01-01")])
def test_columns_that_the_fit_does_not_use_are_no_obstacle(extra):
    random = np.random.default_rng(0)
    labels = np.arange(600) % 2
    table = pd.DataFrame({"x": random.normal(size=600) + 1.5 * labels})
    model = dd.ClassBalance(random_state=0).fit(table, labels)
    expected, *others = (model.estimate(each) for each in in_all_forms(table.assign(more=extra)))
    assert "'more'" in expected.warnings[0]
    for found in others:
        np.testing.assert_allclose(found.priors, expected.priors, rtol=1e-12)
        assert found.warnings == expected.warnings


def test_categories_of_numbers_are_categories_in_all_forms():
    random = np.random.default_rng(0)
    labels = np.arange(600) % 2
    table = pd.DataFrame({"x": random.normal(size=600) + labels, "c": pd.Categorical(np.where(labels, 1, 2))})
    model = dd.ClassBalance(random_state=0).fit(table, labels)
    expected, *others = (model.estimate(each) for each in in_all_forms(table))
    for found in others:
        np.testing.assert_allclose(found.priors, expected.priors, rtol=1e-12)
    for each in in_all_forms(table):
        with pytest.raises(dd.InputError, match="'c' of series holds numbers stored as categories"):
            dd.detect_changes(each, random_state=0)


def test_clocks_keep_their_zone_and_series_their_name():
    random = np.random.default_rng(0)
    values = np.r_[random.normal(size=400), random.normal(size=400) + 3]
    table = pd.DataFrame({"v": values, "t": pd.date_range("2024-01-01", periods=800, freq="s", tz="Europe/Berlin")})
    expected, *others = (dd.detect_changes(each, time="t", random_state=0) for each in in_all_forms(table))
    assert expected.times[0] == table.t[0]
    for found in others:
        np.testing.assert_array_equal(found.changes, expected.changes)
        np.testing.assert_array_equal(found.times, expected.times)
        assert str(found.times[0].tzinfo) == "Europe/Berlin"
    assert dd.detect_changes(df.from_pandas(table, npartitions=3).v, random_state=0).names == ("v",)
