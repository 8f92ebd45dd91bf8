"""Columns of text by their distinct values, against loops over the values."""

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.data import missing
from densdiff.data.categories import MISSING_LEVEL, codes_of, level_codes
from densdiff.data.reading import reading
from densdiff.data.summary import summarize_column
from densdiff.data.table import Column, code_values, coded_values, is_missing, missing_values, table_of

CONTAINERS = {
    "pandas": lambda values: pd.DataFrame({"c": pd.Series(values, dtype="str")}),
    "pandas objects": lambda values: pd.DataFrame({"c": pd.Series(values, dtype=object)}),
    "pandas categories": lambda values: pd.DataFrame({"c": pd.Categorical(values)}),
    "polars": lambda values: pl.DataFrame({"c": pl.Series(values, dtype=pl.String)}),
    "pyarrow": lambda values: pa.table({"c": pa.array(values, pa.string())}),
    "pyarrow in chunks": lambda values: pa.table(
        {"c": pa.chunked_array([pa.array(values[:3], pa.string()), pa.array(values[3:], pa.string())])}
    ),
    "pyarrow dictionaries in chunks": lambda values: pa.table(
        {"c": pa.chunked_array([pa.array(part, pa.string()).dictionary_encode() for part in (values[:3], values[3:])])}
    ),
    "lists": lambda values: {"c": values},
}
FAST = {"pandas", "polars", "pyarrow", "pyarrow in chunks", "pyarrow dictionaries in chunks"}
texts = st.lists(st.none() | st.sampled_from(["a", "b", "", "10", "1.0", "ä", "(missing"]), min_size=4, max_size=20)


@pytest.mark.parametrize("container", list(CONTAINERS))
@given(values=texts.filter(lambda values: any(value is not None for value in values)))
def test_text_is_coded_as_a_loop_over_its_values_would(container, values):
    column = table_of(CONTAINERS[container](values), "t").columns[0]
    assert (column.coded is not None) == (container in FAST)
    assert [None if is_missing(value) else value for value in column.values] == values
    np.testing.assert_array_equal(missing_values(column), [value is None for value in values])
    levels = ["10", "b", "ä"]
    expected = [levels.index(value) if value in levels else np.nan for value in values]
    np.testing.assert_array_equal(level_codes(coded_values(column), levels), expected)
    np.testing.assert_array_equal(codes_of(column.values, levels), expected)
    summary = summarize_column(column, 0, None)
    assert summary.levels == Counter(value for value in values if value is not None)
    words = [value for value in values if value in ("a", "b", "", "ä", "(missing")]
    assert summary.word.row == (values.index(words[0]) if words else -1)


@pytest.mark.parametrize("container", ["pandas", "pandas objects"])
@given(values=texts.filter(lambda values: any(value is not None for value in values)))
def test_missing_text_is_a_level_of_its_own_however_it_was_coded(container, values):
    table = CONTAINERS[container](values)
    filled = missing._fill_block(reading(table, "t"), {"c": "text"}, table, 0).columns[0]
    assert filled.values.tolist() == [MISSING_LEVEL if value is None else value for value in values]
    assert not missing_values(filled).any()
    assert summarize_column(filled, 0, None).levels == Counter(filled.values.tolist())


def test_values_that_are_not_equal_to_themselves_are_missing_one_by_one():
    values = np.array([float("nan"), "a", float("nan"), None, pd.NA, "a"], dtype=object)
    coded = code_values(values)
    assert coded.places.tolist() == [-1, 0, -1, -1, -1, 0]
    assert coded.distinct.tolist() == ["a", None]


def test_some_rows_are_coded_anew():
    table = table_of(CONTAINERS["pandas"](["a", None, "b", "b"]), "t")
    some = table.some(np.array([2, 1, 3]))
    assert summarize_column(some.columns[0], 0, None).levels == {"b": 2}
    assert coded_values(Column(some.columns[0].values, "text")).places.tolist() == [0, -1, 0]
