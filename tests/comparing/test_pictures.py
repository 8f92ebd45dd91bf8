"""Columns of a comparison: prepared once for all that is told of them; their pictures, and maps, as numbers."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import densdiff as dd
from densdiff.comparing import columns, pictures
from densdiff.data.tables import match_tables
from densdiff.solvers import column
from densdiff.solvers.column import ColumnDistance, NumberColumn
from densdiff.testing.columns import WESTFALL_YOUNG, number_cells
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
            "y": random.standard_t(3, size),
            "k": random.choice(list("abc"), size),
            "constant": np.ones(size),
        }
        for size, shift in ((n, 0.0), (m, 0.4))
    )


@pytest.mark.filterwarnings("ignore::densdiff.DensDiffWarning")
@pytest.mark.parametrize("sizes", [(90, 80), (90, 60)], ids=["Westfall-Young", "Holm"])
def test_a_column_is_prepared_fitted_and_counted_once_for_all_that_is_told_of_it(sizes, calls):
    result = dd.compare(*mixed(*sizes), n_permutations=39, random_state=0)
    drawn = {found.name: found.picture is not None for found in result.columns}
    assert drawn == {"x": True, "y": True, "k": True, "constant": False}
    assert calls == {"prepare": 2, "find_fit": 2, "level_counts": 1}


def test_only_a_picture_of_fewer_rows_is_fitted_again(calls, monkeypatch):
    monkeypatch.setattr(column, "PICTURE_ROWS", 50)
    dd.compare(*mixed(90, 40), columns=["x", "k"], n_permutations=39, random_state=0)
    assert calls == {"prepare": 2, "find_fit": 2, "level_counts": 1}


def test_of_many_columns_only_those_that_are_drawn_are_fitted_again(calls, monkeypatch):
    """The others' fits are not kept: they would be megabytes each."""
    monkeypatch.setattr(columns, "_PICTURED", 1)
    result = dd.compare(*mixed(60, 60), columns=["x", "y"], n_permutations=39, random_state=0)
    assert [found.picture is not None for found in result.columns] == [True, False]
    assert calls == {"prepare": 3, "find_fit": 3}


@pytest.mark.parametrize("most", [5000, 50], ids=["all rows", "some rows"])
def test_a_column_prepared_once_tells_what_separate_models_do(most, monkeypatch):
    monkeypatch.setattr(column, "PICTURE_ROWS", most)
    pair = match_tables(*mixed(90, 70)).column(0)
    both = NumberColumn(pair, 3)
    cells, distance, drawn = number_cells(both, WESTFALL_YOUNG), both.distance(0.9), pictures.curve(both, 0.9)

    alone = number_cells(NumberColumn(pair, 3), WESTFALL_YOUNG)
    np.testing.assert_array_equal(cells.index, alone.index)
    np.testing.assert_array_equal(cells.statistics(cells.counts[:1]), alone.statistics(alone.counts[:1]))
    whole = dd.LSDD(random_state=3).fit_pair(pair).l2_distance(0.9)
    assert distance == ColumnDistance(whole.normalized, whole.normalized_interval)

    model = dd.LSDD(random_state=3).fit_pair(column.picture_rows(pair, 3))
    band, (a, b) = model.confidence_band(drawn.points, 0.9), model.densities(drawn.points)
    for values, expected in (
        (drawn.a, a),
        (drawn.b, b),
        (drawn.difference, -band.estimate),
        (drawn.lower, -band.upper),
        (drawn.upper, -band.lower),
    ):
        np.testing.assert_array_equal(values, expected)


def test_columns_read_in_blocks_are_examined_side_by_side():
    """Each waits for the passes of the others: a lock around its preparation would never be given back."""
    a, b = (pd.DataFrame(table) for table in mixed(90, 80))
    asked = {"columns": ["x", "y", "k"], "n_permutations": 39, "random_state": 0}
    in_blocks = dd.compare(Blocks(a, [40]), Blocks(b, [10, 50]), **asked)
    for found, expected in zip(in_blocks.columns, dd.compare(a, b, **asked).columns, strict=True):
        assert found.name == expected.name
        assert found.normalized == pytest.approx(expected.normalized, rel=1e-6)
        np.testing.assert_allclose(found.picture.a, expected.picture.a, rtol=1e-6)
