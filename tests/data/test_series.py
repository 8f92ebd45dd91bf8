"""A series as the user has it: its clock is never data, disorder is named, windows are samples or durations."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from densdiff import DensDiffWarning, InputError, detect_changes
from densdiff.data.series import check_series, check_window

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
    found = check_series(library(frame()), "t")
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
    found = check_series(ROWS, clock)
    assert found.step == pytest.approx(step, rel=1e-4)
    assert len(found.times) == T
    assert found.notes == ()


ZONE = "Europe/Berlin"
IN_ZONE = pd.date_range("2024-01-01", periods=T, freq="s", tz=ZONE)
NANO = 1_704_067_200_000_000_000
RARE = {
    "durations as objects": ([i * SECOND for i in range(T)], 1.0),
    "durations of pandas as objects": (list(pd.to_timedelta(ORDER, unit="ns")), 1e-9),
    "dates with a zone": (IN_ZONE, 1.0),
    "timestamps with a zone": (list(IN_ZONE), 1.0),
    "datetime objects with a zone": ([day.replace(tzinfo=datetime.UTC) for day in dates(seconds=1)], 1.0),
    "dates and times in one": ([day if day.hour else day.date() for day in dates(hours=12)], 43200.0),
    "years": (np.datetime64("1990", "Y") + ORDER, 3.156e7),
    "years beyond nanoseconds": (np.datetime64("1660", "Y") + 10 * ORDER, 3.156e8),
    "months": (np.datetime64("2020-01", "M") + ORDER, 2.63e6),
    "weeks": (np.datetime64("2020-01-02", "W") + ORDER, 604800.0),
    "durations in years": (ORDER.astype("m8[Y]"), 3.156e7),
    "pairs of minutes": (ORDER.astype("m8[2m]"), 120.0),
    "attoseconds": (ORDER.astype("m8[as]"), 1e-18),
    "nanoseconds of dates": (np.datetime64(NANO, "ns") + ORDER, 1e-9),
    "nanoseconds as integers": (NANO + 10 * ORDER, 10.0),
    "nanoseconds as a list": ((NANO + 10 * ORDER).tolist(), 10.0),
    "integers beyond int64": (np.uint64(2**63) + 10 * ORDER.astype(np.uint64), 10.0),
    "all of int64": (np.linspace(-9.2e18, 9.2e18, T).astype(np.int64), 1.84e19 / (T - 1)),
    "small integers": ((4 * ORDER - 128).astype(np.int8), 4.0),
    "integers of pandas": (pd.Series(NANO + ORDER, dtype="Int64"), 1.0),
}


@pytest.mark.parametrize("kind", RARE)
def test_a_clock_of_a_less_common_kind_is_read_too(kind):
    clock, step = RARE[kind]
    found = check_series(ROWS, clock)
    assert found.step == pytest.approx(step, rel=0.02)
    assert found.notes == ()
    assert len(found.times) == T


NAIVE = [MONDAY + i * datetime.timedelta(seconds=0.5) for i in range(T)]
# Across the hour that Berlin lives through twice
AUTUMN = [datetime.datetime(2024, 10, 27, 0, 59, 45) + i * datetime.timedelta(seconds=0.5) for i in range(T)]
ARROW = pa.array(AUTUMN, pa.timestamp("us", ZONE))
OF_LIBRARIES = {
    "pandas": (pd.Series(NAIVE), pd.Series(AUTUMN).dt.tz_localize("UTC").dt.tz_convert(ZONE)),
    "polars": (pl.Series(NAIVE), pl.Series(AUTUMN).dt.replace_time_zone("UTC").dt.convert_time_zone(ZONE)),
    "pyarrow": (pa.chunked_array([NAIVE]), pa.chunked_array([ARROW])),
    "arrow in pandas": (
        pd.Series(NAIVE, dtype=pd.ArrowDtype(pa.timestamp("us"))),
        pd.Series(ARROW, dtype=pd.ArrowDtype(ARROW.type)),
    ),
    "pyarrow array": (pa.array(NAIVE), ARROW),
    "list": (NAIVE, ARROW.to_pylist()),
    "array": (np.array(NAIVE, dtype="M8[ms]"), np.array(ARROW.to_pylist())),
    "index": (pd.DatetimeIndex(NAIVE), pd.DatetimeIndex(AUTUMN, tz="UTC").tz_convert(ZONE)),
}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table, "arrow in pandas": pd.DataFrame}


@pytest.mark.parametrize("library", OF_LIBRARIES)
@pytest.mark.parametrize("zoned", [False, True], ids=["naive", "zoned"])
def test_every_library_tells_the_same_times(library, zoned):
    clock = OF_LIBRARIES[library][zoned]
    wanted = ARROW.to_pylist() if zoned else NAIVE
    both = [(ROWS, clock)]
    if library in FRAMES:
        both.append((FRAMES[library]({"a": ROWS, "t": clock}), "t"))
    for data, time in both:
        found = check_series(data, time)
        assert found.notes == ()
        assert found.step == pytest.approx(0.5)
        if zoned:
            assert [(at, at.utcoffset()) for at in found.times] == [(at, at.utcoffset()) for at in wanted]
        else:
            np.testing.assert_array_equal(np.asarray(found.times, dtype="M8[us]"), np.array(wanted, dtype="M8[us]"))
        assert detect_changes(data, time=time, window="4s", random_state=0).window == 8


@pytest.mark.parametrize("kind", ["durations as objects", "dates with a zone", "datetime objects with a zone"])
def test_a_duration_may_be_a_window_of_a_less_common_clock(kind):
    assert detect_changes(ROWS, time=RARE[kind][0], window="4s", random_state=0).window == 4


def test_nanoseconds_rounded_as_objects_are_warned_of():
    with (
        pytest.warns(DensDiffWarning, match=r"precision lost in time: whole numbers up to \d+ are beyond 2\*\*53"),
        pytest.warns(DensDiffWarning, match="time repeats"),
    ):
        check_series(ROWS, np.array((NANO + ORDER).tolist(), dtype=object))


@pytest.mark.parametrize(
    ("time", "words"),
    [
        ([f"night {i}" for i in range(T)], "time holds text, first 'night 0'; pass numbers or dates"),
        (
            [f"{i + 1}.01.2026 12:00" for i in range(T)],
            "time holds text, first '1.01.2026 12:00'; write dates as 2026-01-31 or 2026-01-31T12:00:00",
        ),
        (ORDER + 0j, "time holds complex numbers"),
        (ORDER[:-1], f"time has {T - 1} values, but series has {T} samples"),
        (np.column_stack([ORDER, ORDER]), r"time has shape \(60, 2\)"),
        (ORDER[:1], f"time has 1 value, but series has {T} samples"),
        (np.where(ORDER == 7, np.nan, ORDER), "time has 1 missing value, at row 7; correct it first"),
        (np.where(ORDER > 57, np.nan, ORDER), "time has 2 missing values, first at row 58"),
        (np.where(ORDER == 7, np.inf, ORDER), "time has 1 infinite value, at row 7; correct it first"),
        (pd.Series(pd.date_range("2024-01-01", periods=T)).where(ORDER != 5), "1 missing value, at row 5"),
        (pd.Series(IN_ZONE).where(ORDER != 5), "1 missing value, at row 5"),
        ([None, *IN_ZONE[1:]], "1 missing value, at row 0"),
        ([None, *(i * SECOND for i in range(1, T))], "1 missing value, at row 0"),
        ([None] * T, "60 missing values, first at row 0"),
        (
            [*NAIVE[:9], *IN_ZONE[9:]],
            "time mixes dates and dates with a time zone, first 2024-01-01 00:00:09.* at row 9",
        ),
        ([SECOND, *NAIVE[1:]], "time mixes durations and dates, first .* at row 1; pass one kind"),
        ([*NAIVE[:-1], 7], "time mixes dates and int objects, first 7 at row 59"),
        (
            [day.time() for day in NAIVE],
            "time holds times of day without a date, first 00:00:00; pass dates or durations",
        ),
        (ORDER.astype("m8"), r"durations without a unit; give them one, as in time.astype\('m8\[s\]'\)"),
        (IN_ZONE[::-1], r"time goes back at row 1, from 2024-01-01 00:00:59\+01:00 to 2024-01-01 00:00:58\+01:00"),
        (NANO - ORDER, f"time goes back at row 1, from {NANO} to {NANO - 1}"),
        (np.where(ORDER == 40, 0, ORDER), "time goes back at row 40, from 39 to 0; sort the rows by time"),
        (ORDER[::-1].astype(np.uint8), "time goes back at row 1, from 59 to 58"),
        (pd.date_range("2024-01-01", periods=T)[::-1], "time goes back at row 1, from 2024-02-29"),
        (0, "time must be an array with one value for each of the 60 samples; got 0"),
        (np.int64(3), "time must be an array .*; got 3"),
        (True, "time must be an array .*; got True"),
        ({"t": 1}, "time must be an array .*; got an object of type dict"),
        ("t", "names a column, but the columns of series have no names"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else type(value).__name__,
)
@pytest.mark.hostile(37)
def test_a_clock_that_cannot_be_used_is_refused(time, words):
    with pytest.raises(InputError, match=words) as caught:
        detect_changes(ROWS, time=time)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("time", "words"),
    [
        ("tt", r"time must be a column of series \('t', 'a', 'b'\); got 'tt' \(did you mean 't'\?\)"),
        ("", "time must be a column of series"),
        (0, r"time must be the name of a column \('t', 'a', 'b'\) or an array with one value for .*; got 0"),
    ],
)
def test_a_clock_that_is_no_column_is_refused(time, words):
    with pytest.raises(InputError, match=words):
        check_series(pd.DataFrame(frame()), time)


def test_a_column_named_by_a_number_is_suggested():
    with pytest.raises(InputError, match=r"got 0 \(did you mean '0'\?\)"):
        check_series(pd.DataFrame(np.column_stack([ORDER, ROWS])), 0)
    assert check_series(pd.DataFrame(np.column_stack([ORDER, ROWS])), "0").names == ("1",)


def test_a_series_of_nothing_but_its_clock_is_refused():
    with pytest.raises(InputError, match="series has only the column 't', which is its time"):
        check_series(pd.DataFrame({"t": ORDER}), "t")


@pytest.mark.hostile(37)
def test_repeated_times_are_warned_of_with_the_first_row():
    with pytest.warns(DensDiffWarning, match=r"time repeats at row 40 \(39\); samples are used in the order given"):
        found = check_series(ROWS, np.where(ORDER == 40, 39, ORDER))
    assert any("row 40" in note for note in found.notes)
    with pytest.warns(DensDiffWarning, match=r"time repeats at row 1 \(0\) and 29 more times"):
        check_series(ROWS, ORDER // 2)
    with pytest.warns(DensDiffWarning, match=r"time repeats at row 1 \(0\) and 1 more time"):
        check_series(ROWS, np.maximum(ORDER, 2) - 2)
    with pytest.warns(DensDiffWarning, match=r"time repeats at row 40 \(2024-01-01 00:00:39\+01:00\);"):
        check_series(ROWS, IN_ZONE[np.where(ORDER == 40, 39, ORDER)])


@pytest.mark.hostile(37)
def test_irregular_times_are_noted_with_the_first_row():
    found = detect_changes(ROWS, time=np.where(ORDER > 20, ORDER + 1000, ORDER), random_state=0)
    assert any(
        "from 1 to 1001 with a median of 1, the first irregular one at row 21 (1021)" in note for note in found.warnings
    )
    assert "note: time steps range" in str(found)


def test_irregular_dates_are_noted_in_seconds_and_their_zone():
    (note,) = check_series(ROWS, [*IN_ZONE[:30], *(IN_ZONE[30:] + pd.Timedelta("1h"))]).notes
    assert (
        "from 1 to 3601 s with a median of 1 s, the first irregular one at row 30 (2024-01-01 01:00:30+01:00)" in note
    )


def test_a_gap_in_unix_time_is_irregular():
    (note,) = check_series(ROWS, 1.7e9 + ORDER / 100 + (ORDER > 20)).notes
    assert "first irregular one at row 21" in note


def test_jitter_and_rounding_of_a_clock_are_not_irregular():
    jitter = np.random.default_rng(0).uniform(-0.1, 0.1, T)
    assert check_series(ROWS, ORDER + jitter).notes == ()
    assert check_series(ROWS, 1.7e9 + ORDER / 3).notes == ()


def test_a_clock_that_stands_still_runs_no_duration():
    with (
        pytest.warns(DensDiffWarning, match="time repeats"),
        pytest.raises(InputError, match="is a duration, which needs times that increase"),
    ):
        detect_changes(ROWS, time=np.zeros(T), window="4s")


def test_one_sample_with_a_clock():
    assert check_series([1.0], [5.0]).step == 0.0


# --- the columns


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "series has 0 samples"),
        (np.empty((0, 2)), "series has 0 samples"),
        (np.empty((5, 0)), "series has no columns"),
        (7, "series must be an array, a list of rows or a data frame; got 7"),
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
        (pl.LazyFrame(frame(b=[[1]] * T)), "column 'b' of series holds nested values"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:20],
)
def test_a_series_that_cannot_be_used_is_refused(data, words):
    with pytest.raises(InputError, match=words) as caught:
        detect_changes(data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("shape", "count"), [((3, 5000), "3 rows"), ((49, 491), "49 rows"), ((1, 11), "1 row")])
def test_a_series_much_wider_than_long_is_asked_about(shape, count):
    words = f"series has {count} and {shape[1]} columns, each row a sample; if rows and columns are swapped"
    with pytest.warns(DensDiffWarning, match=words):
        found = check_series(np.zeros(shape))
    assert any(words in note for note in found.notes)


@pytest.mark.parametrize("shape", [(3, 30), (49, 490), (50, 5000), (1, 1)])
def test_a_series_of_a_usual_shape_is_not_asked_about(shape):
    assert check_series(np.zeros(shape)).notes == ()


def test_the_question_of_a_swap_reaches_the_result():
    with pytest.warns(DensDiffWarning, match=r"swapped|too few"):
        found = detect_changes(np.random.default_rng(0).normal(size=(20, 300)), random_state=0)
    assert "note: series has 20 rows and 300 columns" in str(found)


def test_a_clock_for_the_columns_is_taken_for_a_swap():
    with pytest.raises(InputError, match="60 values, but series has 2 samples; are its rows and columns swapped"):
        check_series(np.zeros((2, T)), ORDER)


def test_names_with_control_characters_are_shown_harmlessly():
    with pytest.raises(InputError) as caught:
        check_series(pd.DataFrame({"a\x1b[31m\n": np.where(ORDER == 3, np.nan, ROWS)}))
    assert str(caught.value).isprintable()


@pytest.mark.hostile(20)
def test_integers_beyond_floats_are_warned_of():
    with pytest.warns(DensDiffWarning, match="precision lost in column"):
        found = check_series(2**60 + ORDER)
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
    assert check_window(value, step) == samples


@pytest.mark.parametrize(
    ("value", "step", "words"),
    [
        ("4s", None, "window='4s' is a duration, which needs times that increase; pass time=, or a number of samples"),
        ("4s", 0.0, "is a duration, which needs times that increase"),
        ("4sec", 0.1, "units us, ms, s, min, h, d; got '4sec'"),
        ("4", 0.1, "got '4'"),
        ("-4s", 0.1, "got '-4s'"),
        ("s", 0.1, "got 's'"),
        ("", 0.1, "got ''"),
        ("1..2s", 0.1, "got '1..2s'"),
        ("1e999s", 0.1, "got '1e999s'"),
        ("nans", 0.1, "got 'nans'"),
        ("Auto", None, r"did you mean 'auto'\?"),
        ("100ms", 0.1, "holds 1 sample at a step of 0.1 s; at least 2 are needed"),
        (1, None, "at least 2; got 1"),
        (2.0, None, "got 2.0"),
        (True, None, "got True"),
        ("4s", 1e7, "holds 0 samples at a step of 1e.07 s; .*numeric times count as seconds"),
        (None, None, "window must be 'auto', a whole number of samples .2 or more. or a duration .*; got None"),
        ([4], None, "window must be 'auto', .*; got an object of type list"),
    ],
)
def test_a_window_of_another_kind_is_refused(value, step, words):
    with pytest.raises(InputError, match=words):
        check_window(value, step)


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


def test_no_warning_but_ours_comes_from_a_short_or_flat_series():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DensDiffWarning)
        for rows in (np.zeros((30, 2)), np.eye(30), np.arange(12.0), np.r_[np.zeros(29), 1.0]):
            detect_changes(rows, random_state=0)
