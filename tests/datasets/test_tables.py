"""Two mixed tables: what is planted is there, what is not planted is equal, and both frame libraries take them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chi2_contingency, ks_2samp

from densdiff.datasets import mixed_tables
from densdiff.errors import InputError

N = 40_000
TEXT = {"region": 4, "plan": 3, "channel": 8}
BOOLEAN = ("newsletter", "mobile")


def is_number(column):
    return column.dtype.kind in "fi"


def pvalue(x, y):
    """Of equal laws of two columns."""
    if is_number(x):
        return ks_2samp(x, y).pvalue
    levels = sorted(set(x) | set(y))
    return chi2_contingency([[np.sum(column == level) for level in levels] for column in (x, y)]).pvalue


@pytest.fixture(scope="module")
def tables():
    return mixed_tables(N, N // 2, shift=0.5, share=0.10, correlation=0.6, random_state=0)


def test_there_are_twelve_columns_of_the_kinds_promised(tables):
    for table, size in ((tables.a, N), (tables.b, N // 2)):
        assert len(table) == 12
        assert all(column.shape == (size,) for column in table.values())
        assert {name for name, column in table.items() if column.dtype == object} == set(TEXT)
        assert {name: len(set(table[name])) for name in TEXT} == TEXT
        assert all(table[name].dtype == bool for name in BOOLEAN)
        assert table["visits"].dtype == np.int64
        assert all(np.isfinite(column).all() for column in table.values() if is_number(column))


def test_both_frame_libraries_take_them(tables):
    frame, other = pd.DataFrame(tables.b), pl.DataFrame(tables.b)
    assert frame.shape == other.shape == (N // 2, 12)
    assert [other.schema[name] for name in TEXT] == [pl.String] * 3
    assert other.schema["visits"] == pl.Int64
    assert other.schema["mobile"] == pl.Boolean
    assert frame["mobile"].dtype == bool
    expected = tables.in_region(tables.b)
    np.testing.assert_array_equal(tables.in_region(frame), expected)
    np.testing.assert_array_equal(tables.in_region(other), expected)


def test_region_has_its_shares(tables):
    for table, share in ((tables.a, tables.share_a), (tables.b, tables.share_b)):
        inside = tables.in_region(table)
        np.testing.assert_array_equal(inside, (table["age"] > 61.5) & (table["region"] == "north"))
        assert abs(inside.mean() - share) < 4 * np.sqrt(share * (1 - share) / len(inside))
    assert (tables.share_a, tables.share_b, tables.region) == (0.04, 0.10, "age > 61.5 and region = north")


@pytest.mark.parametrize("inside", [True, False])
def test_given_the_region_the_other_columns_stay(tables, inside):
    a, b = (tables.in_region(table) == inside for table in (tables.a, tables.b))
    kept = [name for name in tables.a if name != tables.shifted and not (inside and name == "region")]
    pvalues = [pvalue(tables.a[name][a], tables.b[name][b]) for name in kept]
    assert min(pvalues) * len(pvalues) > 1e-3


def test_the_shifted_column_moves_by_its_deviations(tables):
    plain = mixed_tables(N, N // 2, shift=0.0, share=0.10, correlation=0.6, random_state=0)
    moved = tables.b["spend"] - plain.b["spend"]
    np.testing.assert_allclose(moved, moved[0], rtol=1e-12)
    # the deviation of a lognormal column is estimated to about 1.5 % from 40,000 rows
    assert moved[0] == pytest.approx(0.5 * tables.a["spend"].std(), rel=0.06)
    for name in set(plain.b) - {"spend"}:
        np.testing.assert_array_equal(tables.b[name], plain.b[name])


def test_the_pair_correlates_in_b_only_and_each_column_stays(tables):
    first, second = tables.pair
    for table, correlation in ((tables.a, 0.0), (tables.b, tables.correlation)):
        found = np.corrcoef(table[first], table[second])[0, 1]
        assert abs(np.arctanh(found) - np.arctanh(correlation)) < 4 / np.sqrt(N // 2)
    assert all(pvalue(tables.a[name], tables.b[name]) > 1e-4 for name in tables.pair)


def test_other_columns_depend_on_each_other(tables):
    for first, second in (("age", "income"), ("spend", "visits"), ("age", "mobile"), ("income", "balance")):
        ranks = [np.argsort(np.argsort(tables.a[name])) for name in (first, second)]
        assert 0.15 < abs(np.corrcoef(ranks)[0, 1]) < 0.6, (first, second)


def test_nothing_planted_means_equal_laws():
    tables = mixed_tables(N, shift=0, share=None, random_state=1)
    assert tables.share_b == tables.share_a
    assert min(pvalue(tables.a[name], tables.b[name]) for name in tables.a) > 1e-3


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0), (1.0, 50)])
def test_region_may_hold_no_row_or_all(share, expected):
    tables = mixed_tables(50, share=share, random_state=0)
    assert tables.in_region(tables.b).sum() == expected


def test_seed_reproduces():
    first, again = (mixed_tables(30, 20, random_state=7) for _ in range(2))
    assert all((first.b[name] == again.b[name]).all() for name in first.b)
    assert not (first.a["age"] == mixed_tables(30, 20, random_state=8).a["age"]).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n is 0; it must be an integer of at least 1"),
        ({"m": 2.5}, "m is 2.5; it must be an integer"),
        ({"shift": float("nan")}, "shift is nan; it must be finite"),
        ({"share": 1.2}, r"share is 1.2; it must lie in \[0, 1\], or be None"),
        ({"share": float("nan")}, "share is nan"),
        ({"correlation": 1.0}, "correlation is 1.0; it must lie strictly between -1 and 1"),
        ({"random_state": "x"}, "random_state is 'x'"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(InputError, match=message):
        mixed_tables(**arguments)
