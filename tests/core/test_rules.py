"""Rules: they hold where they say, strata are what they leave, thresholds are short and strictly between."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core.regions import Condition
from densdiff.core.rules import holds, shortest_between, strata_of


def test_rule_holds_where_all_its_conditions_do():
    rows = np.array([[1.0, 0], [2.0, 0], [2.0, 3], [3.0, 3], [3.0, 2]])
    rule = (Condition(0, low=1.0, high=2.0), Condition(1, levels=(0, 2)))
    assert holds(rule, rows).tolist() == [False, True, False, False, False]
    assert holds((), rows).all()


def test_strata_are_rows_of_the_same_rules_and_the_same_parts_of_columns_that_differ():
    rows = np.random.default_rng(0).normal(size=(200, 3))
    rules = [(Condition(0, low=0.3), Condition(1, high=0.5)), (Condition(2, high=-0.5),), (Condition(1, low=0.0),)]
    eighths = np.searchsorted(np.quantile(rows[:, 2], np.arange(1, 8) / 8), rows[:, 2])
    quarters = np.searchsorted(np.quantile(rows[:, 1], np.arange(1, 4) / 4), rows[:, 1])
    parts = [holds(rules[0], rows).astype(int), eighths, quarters]
    for count in range(4):
        stratum, outside = strata_of(rules[:count], rows)
        which = list(zip(*(part.tolist() for part in parts[:count]), strict=True)) if count else [()] * len(rows)
        assert len(set(zip(stratum.tolist(), which, strict=True))) == len(set(stratum.tolist())) == len(set(which))
        inside = holds(rules[0], rows) if count else np.zeros(len(rows), dtype=bool)
        np.testing.assert_array_equal(outside[stratum], ~inside)


@pytest.mark.parametrize(("columns", "strata"), [(40, 8), (41, 2)])
def test_among_many_columns_a_rule_of_one_makes_two_strata(columns, strata):
    rows = np.random.default_rng(0).normal(size=(100, columns))
    assert len(strata_of([(Condition(0, low=0.5),)], rows)[1]) == strata


def test_strata_of_a_category_are_its_levels_if_they_are_few():
    rows = np.random.default_rng(0).integers(0, 5, (100, 1)).astype(float)
    stratum, outside = strata_of([(Condition(0, levels=(1, 2)),)], rows)
    np.testing.assert_array_equal(stratum, rows[:, 0].astype(int))
    assert outside.all()
    many = np.arange(60.0)[:, None] % 30
    stratum, _ = strata_of([(Condition(0, levels=(1, 2)),)], many)
    np.testing.assert_array_equal(stratum, np.isin(many[:, 0], [1, 2]).astype(int))


@given(st.floats(-1e6, 1e6), st.floats(1e-9, 1e6))
def test_thresholds_lie_strictly_between(low, width):
    high = low + width
    short = shortest_between(low, high, low)
    assert low < short < high or (short == low and width < 1e-12 * abs(low) + 1e-300)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(61, 62, 61.5), (61.48372, 61.48501, 61.484), (0, 1, 0.5), (-3, 4, 0), (0.0012, 0.0019, 0.0015), (1, 1, 1)],
)
def test_thresholds_are_short(low, high, expected):
    assert shortest_between(low, high, low) == expected


def test_thresholds_of_huge_and_neighbouring_numbers():
    assert -1e308 < shortest_between(-1.7e308, 1.7e308, -1.7e308) < 1e308
    after = np.nextafter(1.0, 2.0)
    assert shortest_between(1.0, after, 1.0) == 1.0
