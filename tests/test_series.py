"""A series as the user has it: its clock is never data, disorder is named, windows are samples or durations."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import densdiff as dd
from densdiff import DensDiffWarning, InputError, checks, detect_changes
from densdiff.core import selection
from densdiff.estimators.centers import CenterKernel
from densdiff.estimators.series import KEPT, MOST_FEATURES, series_features

T = 60
SECOND = datetime.timedelta(seconds=1)
MONDAY = datetime.datetime(2024, 1, 1)
ROWS = np.random.default_rng(0).normal(size=T)
ORDER = np.arange(T)


def frame(**columns):
    return {"t": ORDER / 10, "a": ROWS, "b": ROWS[::-1], **columns}


# --- the clock


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_a_clock_named_among_the_columns_is_no_data(library):
    found = checks.series(library(frame()), "t")
    assert found.names == ("a", "b")
    np.testing.assert_array_equal(found.rows, np.column_stack([ROWS, ROWS[::-1]]))
    np.testing.assert_array_equal(found.times, ORDER / 10)
    assert found.step == pytest.approx(0.1)
    assert found.notes == ()


def test_a_clock_is_not_scored():
    data = pd.DataFrame(frame()).assign(t=ORDER**3)
    with_clock = detect_changes(data, time="t", random_state=0)
    without = detect_changes(data[["a", "b"]], random_state=0)
    np.testing.assert_array_equal(with_clock.scores, without.scores)
    assert with_clock.names == without.names == ("a", "b")


def dates(**step):
    return [MONDAY + i * datetime.timedelta(**step) for i in range(T)]


CLOCKS = {
    "numbers": (0.5 * ORDER, 0.5),
    "list": (list(range(T)), 1.0),
    "one column": (ORDER[:, None] * 2, 2.0),
    "pandas index": (pd.date_range("2024-01-01", periods=T, freq="250ms"), 0.25),
    "pandas series": (pd.Series(pd.date_range("2024-01-01", periods=T, freq="min")), 60.0),
    "polars series": (pl.Series(dates(seconds=3)), 3.0),
    "numpy days": (np.datetime64("2024-01-01") + ORDER, 86400.0),
    "numpy durations": (ORDER.astype("m8[ms]"), 0.001),
    "datetime objects": (dates(seconds=2), 2.0),
    "date objects": ([day.date() for day in dates(days=1)], 86400.0),
    "polars durations": (pl.Series([i * SECOND for i in range(T)]), 1.0),
    "pandas durations": (pd.to_timedelta(ORDER, unit="s"), 1.0),
    "decimals of unix time": (1.7e9 + ORDER * 0.01, 0.01),
}


@pytest.mark.parametrize("kind", CLOCKS)
def test_a_clock_may_hold_numbers_dates_or_durations(kind):
    clock, step = CLOCKS[kind]
    found = checks.series(ROWS, clock)
    assert found.step == pytest.approx(step, rel=1e-4)
    assert len(found.times) == T
    assert found.notes == ()


BROKEN = {
    "durations as objects": ([i * SECOND for i in range(T)], 1.0, "cannot be read as times"),
    "dates with a zone": (
        pd.date_range("2024-01-01", periods=T, freq="s", tz="Europe/Berlin"),
        1.0,
        "300 UserWarnings",
    ),
    "datetime objects with a zone": (
        [day.replace(tzinfo=datetime.UTC) for day in dates(seconds=1)],
        1.0,
        "a UserWarning for each",
    ),
    "years beyond nanoseconds": (np.datetime64("1660", "Y") + 10 * ORDER, 3.2e8, "wraps around and goes back"),
    "nanoseconds as integers": (1_704_067_200_000_000_000 + 10 * ORDER, 10.0, "rounded to floats, which repeat"),
}


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=pytest.mark.xfail(strict=True, reason=BROKEN[k][2])) for k in BROKEN]
)
def test_a_clock_of_a_less_common_kind_is_read_too(kind):
    clock, step, _ = BROKEN[kind]
    found = checks.series(ROWS, clock)
    assert found.step == pytest.approx(step, rel=0.02)
    assert found.notes == ()


@pytest.mark.parametrize(
    ("time", "words"),
    [
        ([f"2024-01-{i}" for i in range(T)], "time holds text, first '2024-01-0'; pass numbers or dates"),
        (ORDER + 0j, "time holds complex numbers"),
        (ORDER[:-1], f"time has {T - 1} values, but series has {T} samples"),
        (np.column_stack([ORDER, ORDER]), r"time has shape \(60, 2\)"),
        (np.where(ORDER == 7, np.nan, ORDER), "first at row 7"),
        (np.where(ORDER == 7, np.inf, ORDER), "first at row 7"),
        (pd.Series(pd.date_range("2024-01-01", periods=T)).where(ORDER != 5), "first at row 5"),
        (np.where(ORDER == 40, 0, ORDER), "time goes back at row 40, from 39 to 0; sort first"),
        (ORDER[::-1].astype(np.uint8), "time goes back at row 1, from 59 to 58"),
        (pd.date_range("2024-01-01", periods=T)[::-1], "time goes back at row 1, from 2024-02-29"),
        (3, "time must be"),
        ("t", "names a column, but series has none with names"),
    ],
    ids=str,
)
def test_a_clock_that_cannot_be_used_is_refused(time, words):
    with pytest.raises(InputError, match=words) as caught:
        detect_changes(ROWS, time=time)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("time", "words"),
    [
        ("tt", r"time must be a column of series \('t', 'a', 'b'\); got 'tt' \(did you mean 't'\?\)"),
        ("", "time must be a column of series"),
    ],
)
def test_a_clock_that_is_no_column_is_refused(time, words):
    with pytest.raises(InputError, match=words):
        checks.series(pd.DataFrame(frame()), time)


def test_a_series_of_nothing_but_its_clock_is_refused():
    with pytest.raises(InputError, match="series has no column but 't', which is its time"):
        checks.series(pd.DataFrame({"t": ORDER}), "t")


def test_repeated_times_are_warned_of_with_the_first_row():
    with pytest.warns(DensDiffWarning, match=r"time repeats at row 40 \(39\); samples are taken in the order given"):
        found = checks.series(ROWS, np.where(ORDER == 40, 39, ORDER))
    assert any("row 40" in note for note in found.notes)
    with pytest.warns(DensDiffWarning, match=r"time repeats at row 1 \(0\) and 29 times more"):
        checks.series(ROWS, ORDER // 2)


def test_irregular_times_are_noted_with_the_first_row():
    found = detect_changes(ROWS, time=np.where(ORDER > 20, ORDER + 1000, ORDER), random_state=0)
    assert any("from 1 to 1001 about 1, first odd one at row 21" in note for note in found.warnings)
    assert "note: time steps run" in str(found)


def test_jitter_and_rounding_of_a_clock_are_not_irregular():
    jitter = np.random.default_rng(0).uniform(-0.1, 0.1, T)
    assert checks.series(ROWS, ORDER + jitter).notes == ()
    assert checks.series(ROWS, 1.7e9 + ORDER / 3).notes == ()


def test_a_clock_that_stands_still_runs_no_duration():
    with (
        pytest.warns(DensDiffWarning, match="time repeats"),
        pytest.raises(InputError, match="no time that runs"),
    ):
        detect_changes(ROWS, time=np.zeros(T), window="4s")


def test_one_sample_with_a_clock():
    assert checks.series([1.0], [5.0]).step == 0.0


# --- the columns


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "series has 0 samples"),
        (np.empty((0, 2)), "series has 0 samples"),
        (np.empty((5, 0)), "series has no columns"),
        ("abc", "series must be an array, a list of rows or a data frame; got 'abc'"),
        (None, "got None"),
        (np.zeros((2, 2, 2)), r"series has shape \(2, 2, 2\)"),
        (np.float64(1), r"series has shape \(\)"),
        ([[1, 2], [3]], "rows differ in length, 2 in row 0 and 1 in row 1"),
        (np.where(ORDER == 17, np.nan, ROWS), "1 missing value, at row 17"),
        (np.where(ORDER == 17, -np.inf, ROWS), "1 infinite value, -inf at row 17"),
        (
            pd.DataFrame(frame(b=np.where(ORDER > 50, np.nan, 1.0))),
            "column 'b' of series: 9 missing values, first at row 51",
        ),
        (pd.DataFrame(frame(b=["1.5"] * T)), "column 'b' of series holds numbers stored as text"),
        (pd.DataFrame(frame(b=["1.5"] * (T - 1) + ["x"])), "'x' at row 59 is not a number"),
        (pd.DataFrame(frame(b=dates(days=1))), "column 'b' of series holds dates"),
        (pl.DataFrame(frame(b=[[1]] * T)), "column 'b' of series holds nested values"),
        (ROWS + 1j, "complex numbers"),
        (pd.DataFrame(np.zeros((5, 2)), columns=["a", "a"]), "more than one column named 'a'"),
        (pl.LazyFrame(frame()), "series is lazy"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:20],
)
def test_a_series_that_cannot_be_used_is_refused(data, words):
    with pytest.raises(InputError, match=words) as caught:
        detect_changes(data)
    assert "\n" not in str(caught.value)


def test_names_with_control_characters_are_shown_harmlessly():
    with pytest.raises(InputError) as caught:
        checks.series(pd.DataFrame({"a\x1b[31m\n": np.where(ORDER == 3, np.nan, ROWS)}))
    assert str(caught.value).isprintable()


def test_integers_beyond_floats_are_warned_of():
    with pytest.warns(DensDiffWarning, match="precision lost in column"):
        found = checks.series(2**60 + ORDER)
    assert any("2\\*\\*53" in note or "2**53" in note for note in found.notes)


# --- windows


@pytest.mark.parametrize(
    ("value", "step", "samples"),
    [
        ("4s", 0.1, 40),
        ("500ms", 0.1, 5),
        (" 0.5 s ", 0.01, 50),
        ("2min", 1.0, 120),
        ("1h", 60.0, 60),
        ("3d", 86400.0, 3),
        ("1e3us", 1e-5, 100),
        (".5s", 0.1, 5),
        (7, None, 7),
        (np.int32(7), 0.1, 7),
        ("auto", None, None),
    ],
)
def test_a_window_is_samples_or_a_duration(value, step, samples):
    assert checks.window(value, step) == samples


@pytest.mark.parametrize(
    ("value", "step", "words"),
    [
        ("4s", None, "window='4s' is a duration, but there is no time that runs; pass time= or samples"),
        ("4s", 0.0, "no time that runs"),
        ("4sec", 0.1, "units us, ms, s, min, h, d; got '4sec'"),
        ("4", 0.1, "got '4'"),
        ("-4s", 0.1, "got '-4s'"),
        ("s", 0.1, "got 's'"),
        ("", 0.1, "got ''"),
        ("1..2s", 0.1, "got '1..2s'"),
        ("1e999s", 0.1, "got '1e999s'"),
        ("nans", 0.1, "got 'nans'"),
        ("Auto", None, r"did you mean 'auto'\?"),
        ("100ms", 0.1, "holds 1 samples? at a step of 0.1; at least 2 are needed"),
        (1, None, "at least 2; got 1"),
        (2.0, None, "got 2.0"),
        (True, None, "got True"),
        (None, None, "got None"),
    ],
)
def test_a_window_of_another_kind_is_refused(value, step, words):
    with pytest.raises(InputError, match=words):
        checks.window(value, step)


def test_a_duration_means_the_same_for_seconds_and_dates():
    by_number = detect_changes(ROWS, time=ORDER * 0.5, window="4s", random_state=0)
    by_date = detect_changes(
        ROWS, time=pd.date_range("2024-01-01", periods=T, freq="500ms"), window="4s", random_state=0
    )
    assert by_number.window == by_date.window == 8
    np.testing.assert_array_equal(by_number.scores, by_date.scores)


def test_a_duration_longer_than_half_the_series_is_refused():
    with pytest.raises(InputError, match="window='1min' takes 600 samples on each side, but series has only 60 in all"):
        detect_changes(ROWS, time=ORDER / 10, window="1min")


# --- features


@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 3))
def test_squared_mean_differences_of_features_are_the_distance_of_the_kernel(seed, lag, d):
    """E6 of two stretches is |R'(mean psi - mean psi)|^2; turned axes keep KEPT of it, or all if none is left out."""
    rows = np.random.default_rng(seed).normal(size=(50, d))
    found = series_features(rows, lag, dd.LSDD(solver="centers", n_centers=12), seed)
    centers = found.vectors[selection.draw_rows(seed, len(found.vectors), 12)]
    unit = np.sqrt(np.square(found.vectors).sum(axis=1).max())
    every = CenterKernel(centers, unit, _inner(found, centers)).features(
        _inner(found, centers), found.lam, found.vectors
    )
    whole = np.square(every[:20].mean(axis=0) - every[25:].mean(axis=0)).sum()
    turned = np.square(found.values[:20].mean(axis=0) - found.values[25:].mean(axis=0)).sum()
    assert turned <= whole * (1 + 1e-8)
    spread = (every - every.mean(axis=0)).var(axis=0).sum()
    assert found.values.var(axis=0).sum() >= (KEPT if found.values.shape[1] < MOST_FEATURES else 0.5) * spread * (
        1 - 1e-8
    )


def _inner(found, centers):
    """Sigma as the features use it: the median distance of centers that differ."""
    squared = np.square(centers[:, None] - centers[None]).sum(axis=2)[np.triu_indices(len(centers), 1)]
    return float(np.sqrt(np.median(squared[squared > 0])))


def test_features_are_centred_and_few():
    rows = np.random.default_rng(0).normal(size=(3000, 2))
    found = series_features(rows, 3, dd.LSDD(solver="centers", n_centers=150), 0)
    assert found.values.shape[0] == 2998
    assert 1 <= found.values.shape[1] <= MOST_FEATURES
    np.testing.assert_allclose(found.values.mean(axis=0), 0, atol=1e-12)
    assert found.n_centers == 150


def test_features_of_many_blocks_are_those_of_one(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(300, 2))
    model = dd.LSDD(solver="centers", n_centers=20)
    whole = series_features(rows, 2, model, 0).values
    monkeypatch.setattr("densdiff.estimators.series._BLOCK", 37)
    np.testing.assert_allclose(series_features(rows, 2, model, 0).values, whole, rtol=1e-9, atol=1e-12)


def test_sigma_is_told_in_standardized_units_and_follows_them():
    """As LSDD does: with standardize=True sigma has no unit, without it that of the data."""
    rows = np.random.default_rng(0).normal(size=(200, 1)) * 2.0**10
    model = dd.LSDD(solver="centers", n_centers=30)
    plain = dd.LSDD(solver="centers", n_centers=30, standardize=False)
    assert series_features(rows, 1, model, 0).sigma == pytest.approx(series_features(rows / 2**10, 1, model, 0).sigma)
    assert series_features(rows, 1, plain, 0).sigma == pytest.approx(
        2**10 * series_features(rows / 2**10, 1, plain, 0).sigma
    )


def test_no_warning_but_ours_comes_from_a_short_or_flat_series():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DensDiffWarning)
        for rows in (np.zeros((30, 2)), np.eye(30), np.arange(12.0), np.r_[np.zeros(29), 1.0]):
            detect_changes(rows, random_state=0)
