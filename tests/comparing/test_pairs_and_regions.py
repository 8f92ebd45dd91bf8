"""compare tells of pairs and regions what its columns and missing rates do not say already, each finding once."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import densdiff as dd
from densdiff.comparing import regions
from densdiff.comparing.pairs import find_pairs
from densdiff.core.regions import Region
from densdiff.core.rules import Condition
from densdiff.data.categories import MISSING_LEVEL
from densdiff.data.tables import match_tables

TABLES = Path(__file__).parents[3] / "shared" / "data" / "tables"
N = 2000


def compared(a, b, **settings):
    return dd.compare(a, b, **{"n_permutations": 39, "random_state": 0, "missing": "level", **settings})


def columns_of(region):
    return {condition["column"] for condition in region.conditions}


def test_a_moved_column_is_no_region():
    random = np.random.default_rng(0)
    a, b = ({"x": random.normal(size=N) + shift, "y": random.normal(size=N)} for shift in (0.0, 1.0))
    found = compared(a, b)
    assert [column.name for column in found.columns if column.differs] == ["x"]
    assert found.regions == []
    assert found.more_regions >= 1
    assert "\n  regions" not in str(found)


def test_a_missing_rate_is_told_once():
    random = np.random.default_rng(1)
    a, b = ({"x": random.normal(size=N), "word": random.choice(["u", "v"], N).astype(object)} for _ in range(2))
    for rows, share in ((a, 0.02), (b, 0.3)):
        rows["x"][random.random(N) < share] = np.nan
        rows["word"][random.random(N) < share] = None
    found = compared(a, b)
    assert all(rate.differs for rate in found.missing)
    assert found.regions == []
    assert found.pairs == []


@pytest.mark.parametrize(
    ("levels", "is_missing"), [((1,), True), ((0, 2), True), ((0,), False), ((1, 2), False), ((0, 1), False)]
)
def test_a_rule_about_the_missing_level_or_all_others_only_says_that_values_are_missing(levels, is_missing):
    class Tables:
        names, levels, missing = ("word",), (("a", MISSING_LEVEL, "z"),), (("word", 3, 5),)

    assert regions._is_missing((Condition(0, levels=levels),), Tables) is is_missing
    assert not regions._is_missing((Condition(0, levels=levels), Condition(1, low=0.0)), Tables)
    Tables.missing = ()
    assert not regions._is_missing((Condition(0, levels=levels),), Tables)


def test_regions_of_the_same_columns_in_the_same_direction_are_one_finding():
    def region(columns, gains):
        share_a, share_b = (0.1, 0.3) if gains else (0.3, 0.1)
        return Region(tuple(Condition(j, low=0.0) for j in columns), 1, 1, share_a, share_b, (0.0, 1.0), 0.01)

    assert regions._is_about_same(region([0, 1], True), region([0, 1], True))
    assert regions._is_about_same(region([0, 1, 2], True), region([0, 1], True))
    assert regions._is_about_same(region([0, 1], True), region([0, 1, 2], True))
    assert regions._is_about_same(region([0, 1, 2], True), region([0, 1, 3], True))
    assert regions._is_about_same(region([0], True), region([0, 1], True))
    assert not regions._is_about_same(region([0, 1], True), region([0, 1], False))
    assert not regions._is_about_same(region([0, 1], True), region([0, 2], True))


def test_the_month_of_two_months_does_not_hide_a_region():
    tables = dd.datasets.mixed_tables(N, shift=0, share=0.12, random_state=0)
    a, b = (pd.DataFrame(rows)[["age", "region", "visits"]] for rows in (tables.a, tables.b))
    found = compared(a.assign(month=1), b.assign(month=7))
    assert found.constants == ["month"]
    assert columns_of(found.regions[0]) == {"age", "region"}


def test_a_parabola_is_a_pair_that_is_explained():
    random = np.random.default_rng(2)
    x, noise = random.normal(size=(2, N))
    a = {"x": x, "y {first}": random.permutation(x**2 + 0.3 * noise)}
    found = compared(a, {"x": x, "y {first}": x**2 + 0.3 * noise})
    (pair,) = found.pairs
    assert pair.measure == "correlation of y {first} with the distance of x from its middle"
    assert abs(pair.dependence_a) < 0.1 < 0.8 < pair.dependence_b
    assert pair.change == pytest.approx(pair.dependence_b - pair.dependence_a)
    assert "different way" not in str(found)
    assert f"{pair.measure} is {pair.dependence_a:.2f} in A, {pair.dependence_b:.2f} in B" in str(pair)


def test_the_levels_of_a_pair_are_named():
    random = np.random.default_rng(3)
    city = random.choice(["Ulm", "Bonn", "Kiel"], N).astype(object)
    y = random.normal(size=N)
    found = compared({"y": y + (city == "Ulm"), "city": city}, {"y": y + (city == "Kiel"), "city": city})
    (pair,) = found.pairs
    assert pair.measure in {f"mean rank (from 0 to 1) of y where city = {name}" for name in ("Ulm", "Kiel")}


def test_ten_pairs_at_most_and_the_others_are_counted():
    random = np.random.default_rng(4)
    a = {f"c{j:02d}": random.normal(size=N) for j in range(26)}
    b = {name: values.copy() for name, values in a.items()}
    for j in range(0, 26, 2):
        b[f"c{j + 1:02d}"] = 0.7 * b[f"c{j:02d}"] + 0.7 * b[f"c{j + 1:02d}"]
    found = compared(a, b)
    assert len(found.pairs) == 10
    assert found.more_pairs == 3
    assert [pair.map is not None for pair in found.pairs] == [True] * 4 + [False] * 6
    changes = [pair.change for pair in found.pairs]
    assert changes == sorted(changes, reverse=True)
    assert "3 more pairs differ, but as these let expect or by less than 0.1" in str(found)


def test_one_column_has_no_pairs():
    rows = np.random.default_rng(0).normal(size=(2, 50))
    assert find_pairs(match_tables(*rows).pair(), 0.05, 0) == ([], 0)


@pytest.mark.skipif(not TABLES.exists(), reason=f"no folder {TABLES}")
def test_flights_tell_the_time_in_the_air_once():
    """The same distance took less time in the air in July; month and year do not hide it."""
    january, july = (
        pd.read_csv(TABLES / f"flights_{month}.csv.gz").sample(4000, random_state=0) for month in ("january", "july")
    )
    columns = [
        "month",
        "dep_time",
        "sched_dep_time",
        "hour",
        "dep_delay",
        "arr_delay",
        "air_time",
        "distance",
        "carrier",
    ]
    found = compared(january, july, columns=columns)
    assert len(found.pairs) <= 10
    times = {"dep_time", "sched_dep_time", "hour"}
    told = [frozenset("time of day" if name in times else name for name in (p.first, p.second)) for p in found.pairs]
    assert len(told) == len(set(told))
    assert found.more_pairs > 0
    air = [region for region in found.regions if {"air_time", "distance"} <= columns_of(region)]
    assert 1 <= len(air) <= 2  # where rows were gained, and where they were lost
    assert all(columns_of(region) != {"month"} for region in found.regions)
