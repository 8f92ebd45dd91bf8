"""Columns of a comparison: prepared once for all that is told of them; their pictures, and maps, as numbers."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import densdiff as dd
from densdiff.comparing import columns, pictures
from densdiff.data.tables import match_tables
from densdiff.results import Bars, Curve
from densdiff.solvers import column, uncertainty
from densdiff.solvers.column import ColumnDistance, LevelColumn, NumberColumn
from densdiff.testing.columns import number_cells
from tests.large import Blocks


def test_a_map_of_two_categories_holds_the_differences_of_their_shares():
    a = {"u": ["a"] * 6 + ["b"] * 4, "v": ["x", "y"] * 5}
    b = {"u": ["a"] * 2 + ["b"] * 6, "v": ["x"] * 4 + ["y"] * 4}
    found = pictures.map_of(match_tables(a, b).pair(), 0)
    for i, u in enumerate(found.x):
        for j, v in enumerate(found.y):
            shares = [np.mean([pair == (u, v) for pair in zip(of["u"], of["v"], strict=True)]) for of in (a, b)]
            assert found.values[j, i] == shares[1] - shares[0]
    assert found.values.sum() == 0.0


@pytest.fixture
def calls(monkeypatch):
    """How often columns are prepared, fitted and counted while a test runs."""
    counts = Counter()

    def counted(name):
        usual = getattr(column, name)

        def call(*arguments, **options):
            counts[name] += 1
            return usual(*arguments, **options)

        monkeypatch.setattr(column, name, call)

    for name in ("prepare", "find_fit", "level_counts"):
        counted(name)
    return counts


def mixed(n, m):
    """Two columns of numbers, one of categories and one of numbers that is constant."""
    random = np.random.default_rng(n)
    return tuple(
        {
            "x": random.normal(size=size) + shift,
            "y": random.standard_t(3, size) + shift,
            "k": random.choice(list("abc"), size),
            "constant": np.ones(size),
        }
        for size, shift in ((n, 0.0), (m, 2.0))
    )


@pytest.mark.filterwarnings("ignore::densdiff.DensDiffWarning")
@pytest.mark.parametrize("sizes", [(90, 80), (90, 60)], ids=["Westfall-Young", "Holm"])
def test_a_column_is_prepared_fitted_and_counted_once_for_all_that_is_told_of_it(sizes, calls):
    result = dd.compare(*mixed(*sizes), n_permutations=199, random_state=0)
    drawn = {found.name: found.picture is not None for found in result.columns}
    assert drawn == {"x": True, "y": True, "k": True, "constant": False}
    assert calls == {"prepare": 2, "find_fit": 2, "level_counts": 1}


def test_a_picture_of_fewer_rows_is_prepared_and_fitted_by_itself(calls, monkeypatch):
    """The distance of a column needs no fit."""
    monkeypatch.setattr(column, "PICTURE_ROWS", 50)
    dd.compare(*mixed(90, 40), columns=["x", "k"], n_permutations=199, random_state=0)
    assert calls == {"prepare": 2, "find_fit": 1, "level_counts": 1}


def test_of_many_columns_only_those_that_are_drawn_are_fitted(calls, monkeypatch):
    """What was prepared for the others is not kept: it would be megabytes each."""
    monkeypatch.setattr(columns, "_PICTURED", 1)
    result = dd.compare(*mixed(60, 60), columns=["x", "y"], n_permutations=199, random_state=0)
    assert [found.picture is not None for found in result.columns] == [True, False]
    assert calls == {"prepare": 3, "find_fit": 1}


@pytest.mark.filterwarnings("ignore::densdiff.DensDiffWarning")
def test_numbers_that_do_not_differ_are_not_drawn():
    random = np.random.default_rng(0)
    a, b = ({"same": random.normal(size=80), "moved": random.normal(size=80) + shift} for shift in (0.0, 3.0))
    result = dd.compare(a, b, n_permutations=199, random_state=0)
    assert {found.name: found.picture is not None for found in result.columns} == {"moved": True, "same": False}


@pytest.mark.parametrize("most", [5000, 50], ids=["all rows", "some rows"])
def test_a_column_prepared_once_tells_what_separate_models_do(most, monkeypatch):
    monkeypatch.setattr(column, "PICTURE_ROWS", most)
    pair = match_tables(*mixed(90, 70)).column(0)
    both = NumberColumn(pair, 3)
    cells, distance, drawn = number_cells(both), both.distance(0.9), pictures.number_picture(both, 0.9)

    alone = number_cells(NumberColumn(pair, 3))
    counts = cells.forms.counts
    np.testing.assert_array_equal(counts, alone.forms.counts)
    np.testing.assert_array_equal(cells.forms.of_counts(counts[:1]), alone.forms.of_counts(counts[:1]))
    whole = dd.LSDD(random_state=3).fit_pair(pair).l2_distance(0.9)
    assert distance == ColumnDistance(whole.normalized, whole.normalized_interval)

    drawn_alone = pictures.number_picture(NumberColumn(pair, 3), 0.9)
    for field in ("points", "a", "b", "difference", "lower", "upper"):
        np.testing.assert_array_equal(getattr(drawn, field), getattr(drawn_alone, field))


def test_columns_read_in_blocks_are_examined_side_by_side():
    """Each waits for the passes of the others: a lock around its preparation would never be given back."""
    a, b = (pd.DataFrame(table) for table in mixed(90, 80))
    asked = {"columns": ["x", "y", "k"], "n_permutations": 199, "random_state": 0}
    in_blocks = dd.compare(Blocks(a, [40]), Blocks(b, [10, 50]), **asked)
    for found, expected in zip(in_blocks.columns, dd.compare(a, b, **asked).columns, strict=True):
        assert found.name == expected.name
        assert found.normalized == pytest.approx(expected.normalized, rel=1e-6)
        np.testing.assert_allclose(found.picture.a, expected.picture.a, rtol=1e-6)


def picture(a, b):
    return pictures.number_picture(NumberColumn(match_tables({"x": a}, {"x": b}, None, "error").column(0), 0), 0.95)


def test_densities_difference_and_band_have_one_bandwidth():
    random = np.random.default_rng(0)
    drawn = picture(random.normal(size=300), random.normal(0.5, 0.2, 200))
    np.testing.assert_array_equal(drawn.difference, drawn.b - drawn.a)
    assert (drawn.lower <= drawn.difference).all()
    assert (drawn.difference <= drawn.upper).all()
    step = drawn.points[1] - drawn.points[0]
    np.testing.assert_allclose([drawn.a.sum() * step, drawn.b.sum() * step], 1.0, atol=0.02)


def test_the_band_of_a_picture_holds_the_difference():
    """All points at once in 19 of 20; 40 pairs miss more than 6 times with a probability below one in 100."""
    misses = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        drawn = picture(random.normal(size=300), random.normal(0.5, 1.0, 300))
        truth = norm.pdf(drawn.points, 0.5) - norm.pdf(drawn.points)
        misses += not ((drawn.lower <= truth) & (truth <= drawn.upper)).all()
    assert misses <= 6


def test_swapping_the_tables_mirrors_the_picture():
    random = np.random.default_rng(3)
    a, b = random.normal(size=150), random.gamma(2.0, size=120)
    drawn, mirrored = picture(a, b), picture(b, a)
    np.testing.assert_allclose(mirrored.a, drawn.b, atol=1e-9)
    np.testing.assert_allclose(mirrored.lower, -drawn.upper, atol=1e-9)
    drawn, mirrored = picture(a.round(), b.round()), picture(b.round(), a.round())
    np.testing.assert_array_equal(mirrored.a, drawn.b)
    np.testing.assert_allclose(mirrored.lower, -drawn.upper, atol=1e-12)


def test_a_heavy_tail_lies_outside_and_is_told():
    random = np.random.default_rng(0)
    a, b = random.standard_cauchy(2000), random.normal(size=2000)
    drawn = picture(a, b)
    low, high = drawn.points[[0, -1]]
    assert drawn.outside == (pytest.approx(np.mean((a < low) | (a > high))), 0.0)
    assert 0.02 < drawn.outside[0] < 0.15


@pytest.mark.hostile(45)
@pytest.mark.parametrize("digits", [0, 1])
def test_rounded_numbers_are_drawn_as_bars(digits):
    random = np.random.default_rng(0)
    a, b = random.normal(size=400).round(digits), random.normal(0.5, 1.0, 300).round(digits)
    drawn = picture(a, b)
    assert isinstance(drawn, Bars)
    np.testing.assert_allclose([drawn.a.sum() + drawn.outside[0], drawn.b.sum() + drawn.outside[1]], 1.0)
    np.testing.assert_array_equal(drawn.difference, drawn.b - drawn.a)
    assert (drawn.lower < drawn.difference).all()
    assert (drawn.difference < drawn.upper).all()
    assert isinstance(picture(random.normal(size=400), random.normal(size=300)), Curve)


@pytest.mark.hostile(48)
def test_a_spike_of_zeros_is_shown_beside_the_other_rows():
    random = np.random.default_rng(0)
    a, b = random.gamma(2.0, size=400), random.gamma(2.0, size=500)
    a[:200], b[:100] = 0.0, 0.0
    drawn = picture(a, b)
    assert drawn.spikes.levels == ("exactly 0",)
    np.testing.assert_allclose([drawn.spikes.a, drawn.spikes.b], [[0.5], [0.2]])
    np.testing.assert_allclose([drawn.a.sum() + drawn.outside[0], drawn.b.sum() + drawn.outside[1]], [0.5, 0.8])


@pytest.mark.parametrize("unit", [1e-300, 1e-5, 1e300])
def test_bars_do_not_depend_on_the_unit(unit):
    random = np.random.default_rng(0)
    a, b = np.rint(random.exponential(6.0, 2000)), np.rint(random.exponential(7.0, 1500))
    usual, scaled = picture(a, b), picture(a * unit, b * unit)
    np.testing.assert_allclose(scaled.values, usual.values * unit, rtol=1e-9)
    np.testing.assert_array_equal(scaled.a, usual.a)
    assert scaled.width == pytest.approx(usual.width * unit)


def test_pictures_of_some_rows_say_so(monkeypatch):
    monkeypatch.setattr(pictures, "_COUNTED_ROWS", 100)
    random = np.random.default_rng(0)
    drawn = picture(random.integers(0, 5, 150).astype(float), random.integers(0, 5, 90).astype(float))
    assert drawn.notes == ("drawn from 100 and 90 rows",)


def test_where_the_band_may_not_follow_the_picture_says_so(monkeypatch):
    monkeypatch.setattr(uncertainty, "_widened", lambda evidence, points, limits, *rest: (*limits, True))
    random = np.random.default_rng(0)
    (note,) = picture(random.normal(size=100), random.normal(size=100)).notes
    assert note.startswith("f is rougher")


@pytest.mark.hostile(48)
def test_levels_are_sorted_by_change_and_the_rest_is_pooled():
    random = np.random.default_rng(0)
    a, b = random.integers(0, 40, 4000), random.integers(0, 40, 4000)
    b[:800], b[800:1200] = 7, 3
    tables = ({"k": np.array([f"level {k}" for k in rows], dtype=object)} for rows in (a, b))
    drawn = pictures.shares(LevelColumn(match_tables(*tables, None, "error").column(0)))
    assert drawn.levels[:2] == ("level 7", "level 3")
    assert (len(drawn.levels), drawn.others) == (11, 29)
    change = np.abs(drawn.b - drawn.a)
    assert (np.diff(change) <= 1e-12).all()
    few = ({"k": ["u"] * n + ["v"] * 5 + ["w"] * (9 - n)} for n in (4, 5))
    assert pictures.shares(LevelColumn(match_tables(*few, None, "error").column(0))).others == 0
