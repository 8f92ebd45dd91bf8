"""Dates and times as numbers and texts, whatever they are stored as."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.data.converting import convert_block
from densdiff.data.dates import date_numbers, date_texts, parse_dates, reads_as_date
from densdiff.data.table import table_of

UTC = datetime.UTC
MOMENTS = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1))


@given(st.lists(MOMENTS | st.none(), min_size=1, max_size=5))
def test_arrays_of_timestamps_have_the_numbers_and_texts_of_their_objects(moments):
    """The slow way, object by object, is the twin of the fast one; microseconds are exact to 1e-11 days."""
    objects = np.array(moments, dtype=object)
    array = np.array(moments, dtype="datetime64[us]")
    np.testing.assert_allclose(date_numbers(array), date_numbers(objects), rtol=0, atol=2e-11)
    assert date_texts(array).tolist() == date_texts(objects).tolist()


def test_days_seconds_and_texts():
    day = datetime.date(2024, 2, 1)
    noon = datetime.datetime(2024, 2, 1, 12)
    berlin = datetime.datetime(2024, 2, 1, 13, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    half_past = datetime.time(0, 30)
    values = np.array([day, noon, berlin, half_past, datetime.timedelta(minutes=2), None], dtype=object)
    np.testing.assert_array_equal(date_numbers(values), [19754.0, 19754.5, 19754.5, 1800.0, 120.0, np.nan])
    expected = ["2024-02-01", "2024-02-01 12:00:00", "2024-02-01 12:00:00", "00:30:00", "0:02:00", None]
    assert date_texts(values).tolist() == expected
    seconds = np.array([90, "NaT"], dtype="m8[s]")
    np.testing.assert_array_equal(date_numbers(seconds), [90.0, np.nan])
    assert date_numbers(np.array(["2024-02"], dtype="M8[M]")).tolist() == [19754.0]


@pytest.mark.parametrize("kind", ["number", "category"])
def test_the_same_days_are_the_same_whatever_holds_them(kind):
    days = [datetime.datetime(2024, 2, 1), datetime.datetime(2024, 2, 29), None]
    forms = [
        {"when": days},
        {"when": [day and day.date() for day in days]},
        {"when": [day and day.date().isoformat() for day in days]},
        pd.DataFrame({"when": pd.to_datetime(pd.Series(days))}),
        pd.DataFrame({"when": pd.to_datetime(pd.Series(days)).dt.tz_localize("UTC")}),
        pl.DataFrame({"when": days}),
        pl.DataFrame({"when": days}, schema={"when": pl.Date}),
        pa.table({"when": pa.array(days, pa.timestamp("s"))}),
        pa.table({"when": pa.array(days, pa.date32())}),
    ]
    columns = [convert_block({"when": kind}, "A", form, 0).columns[0] for form in forms]
    if kind == "number":
        for column in columns:
            np.testing.assert_array_equal(column.values, [19754.0, 19782.0, np.nan])
        assert {column.kind for column in columns} == {"numbers"}
    else:
        assert {column.kind for column in columns} == {"categories"}
        assert {tuple(column.values.tolist()) for column in columns} == {("2024-02-01", "2024-02-29", None)}


@pytest.mark.parametrize(
    "text",
    [
        "2013-01-31",
        "2013-1-3",
        "2013-01-31T05:00:00Z",
        "2013-01-31 05:00:00.123+01:00",
        "2013/01/31",
        "31.01.2013",
        "1/31/2013 5:00 PM",
        "1/31/13",
        "31-Jan-2013",
        "05:00",
        "23:59:59",
    ],
)
def test_texts_that_are_dates_or_times(text):
    assert reads_as_date(text)


@pytest.mark.parametrize("text", ["", "2013", "20130131", "1.2.3", "10.0.0.1", "may", "1-2", "12:3", "555-1234", "3/4"])
def test_texts_that_are_none(text):
    assert not reads_as_date(text)


def test_texts_are_parsed_in_one_form_or_not_at_all():
    assert parse_dates(["1970-01-02", "1970-01-02T12:00:00Z"]).tolist() == [1.0, 1.5]
    assert parse_dates(["00:01", "01:00:00"]).tolist() == [60.0, 3600.0]
    assert parse_dates(["1970-01-02", "01:00"]) is None
    assert parse_dates(["soon"]) is None


def test_columns_become_what_they_are_said_to_be():
    kinds = {"flight": "category", "text": "number", "flag": "number", "words": "number", "code": "category"}
    given = {
        "flight": [15, 16, 15],
        "text": ["1.5", None, "007"],
        "flag": [True, False, True],
        "words": ["a", "1", "2"],
        "code": [1.0, np.nan, 2.5],
    }
    table = convert_block(kinds, "A", given, 0)
    values = {name: column.values.tolist() for name, column in zip(table.names, table.columns, strict=True)}
    assert values["flight"] == ["15", "16", "15"]
    np.testing.assert_array_equal(values["text"], [1.5, np.nan, 7.0])
    assert values["code"] == ["1", None, "2.5"]
    assert [column.kind for column in table.columns] == ["categories", "numbers", "numbers", "text", "categories"]
    unnamed = convert_block({"x1": "category"}, "A", np.ones((2, 2)), 0)
    assert [column.kind for column in unnamed.columns] == ["numbers", "categories"]
    assert table_of(unnamed, "A").names is None
