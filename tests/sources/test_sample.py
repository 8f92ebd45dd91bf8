"""One kind of sample: rows in an array and rows in blocks answer every question alike."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core.scaling import pooled_scaling
from densdiff.data.inputs import array_source, source_of
from densdiff.data.kinds import resolve_columns
from densdiff.data.match import match_sources, no_rows
from densdiff.data.pair import check_arrays, check_pair
from densdiff.data.tables import match_tables
from densdiff.sources.sample import all_at_once, totals
from densdiff.sources.scan import same_rows, scale_pair
from tests.large import Blocks, cuts


def table(n, seed):
    """Numbers, a category and integers, by name."""
    random = np.random.default_rng(seed)
    return {
        "size": random.normal(size=n) * 1e3 + 5e6,
        "city": random.choice(["Bonn", "Kiel", "Ulm"], n),
        "count": random.integers(0, 9, n),
    }


def cut(columns, places):
    """Blocks of a mapping of columns, which can be iterated again and again."""
    n = len(columns["size"])
    edges = [0, *sorted(place for place in places if place <= n), n]
    return CutBlocks(columns, edges)


class CutBlocks:
    def __init__(self, columns, edges):
        self.columns, self.edges = columns, edges

    def __iter__(self):
        for low, high in zip(self.edges[:-1], self.edges[1:], strict=True):
            yield {name: values[low:high] for name, values in self.columns.items()}


def samples(x, y):
    """Both as samples, whatever they are given as."""
    matched = match_sources((source_of(x, "X"), source_of(y, "Y")), [], no_rows)
    return matched.samples(resolve_columns(matched.summaries, []), no_rows)


sizes = st.integers(2, 40)


@given(n=sizes, m=sizes, data=st.data())
def test_a_sample_in_blocks_answers_as_the_array_does(n, m, data):
    x, y = table(n, 0), table(m, 1)
    whole = samples(x, y)
    parts = samples(cut(x, data.draw(cuts(n))), cut(y, data.draw(cuts(m))))
    index = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1)))
    one, other = whole[0], parts[0]
    assert (len(one), one.shape) == (len(other), other.shape) == (n, (n, 3))
    for at in (index, slice(None), slice(1, None, 2)):
        np.testing.assert_array_equal(one[at], other[at])
    np.testing.assert_array_equal(one.ends(), other.ends())
    np.testing.assert_array_equal(one.only([2, 0])[:], other.only([2, 0])[:])
    levels = len(set(x["city"]) | set(y["city"]))
    np.testing.assert_array_equal(one.level_counts(1, levels), other.level_counts(1, levels))
    assert one.map(str, [1, 2, 3]) == other.map(str, [1, 2, 3]) == ["1", "2", "3"]
    for mine, theirs in zip(*(each.only([0]).moments.level_and_spread() for each in (one, other)), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)
    found = [totals(pair, [_first_and_count] * 2, _joined) for pair in (whole, parts)]
    for (rows_1, count_1), (rows_2, count_2) in zip(*found, strict=True):
        np.testing.assert_array_equal(rows_1, rows_2)
        assert count_1 == count_2


def _first_and_count(rows, start):
    return rows * 1.0, start * 0 + len(rows)


def _joined(a, b):
    return np.concatenate([a[0], b[0]]), a[1] + b[1]


@given(n=sizes, m=sizes, data=st.data())
def test_samples_are_scaled_alike_wherever_they_are(n, m, data):
    x, y = table(n, 2), table(m, 3)
    even = tuple(np.broadcast_to(1.0 / rows, rows) for rows in (n, m))
    codes = np.array([False, True, False])
    forms = [(x, y), (cut(x, data.draw(cuts(n))), cut(y, data.draw(cuts(m)))), (x, cut(y, data.draw(cuts(m))))]
    results = [scale_pair(*samples(*form), even, True, codes) for form in forms]
    expected, inner_x, inner_y = pooled_scaling(*(sample[:] for sample in samples(x, y)), *even, True, codes)
    for scaling, of_x, of_y in results:
        np.testing.assert_array_equal(scaling.keep, expected.keep)
        np.testing.assert_allclose(scaling.deviation, expected.deviation, rtol=1e-9)
        np.testing.assert_allclose(of_x[:], inner_x, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(of_y[:], inner_y, rtol=1e-9, atol=1e-9)


def test_only_an_array_can_be_had_at_once():
    x = table(30, 4)
    array, blocks = samples(x, cut(x, [7]))
    assert (all_at_once(array), all_at_once(blocks), all_at_once(array, blocks)) == (True, False, False)
    assert len(blocks.spaced(10)) == 10
    np.testing.assert_array_equal(array.spaced(10), array[:])


def test_the_same_rows_are_recognized_in_any_form():
    x, other = table(30, 5), table(30, 6)
    forms = [x, cut(x, [11])]
    for one in forms:
        for two in forms:
            assert same_rows(*samples(one, two))
    assert not same_rows(*samples(x, other))
    assert "X and Y hold the same rows: is a sample compared with itself?" in check_pair(cut(x, [3]), x).notes


def test_a_matrix_of_our_own_is_made_of_columns_that_are_only_looked_at():
    rows = np.random.default_rng(7).normal(size=(20, 2))
    pair = check_arrays(rows, rows + 1)
    before = pair.x[:].copy()
    rows[:] = 0.0
    np.testing.assert_array_equal(pair.x[:], before)


def test_columns_of_a_comparison_are_not_copied():
    rows = {"a": np.arange(20.0), "b": np.arange(20.0)[::-1].copy()}
    tables = match_tables(rows, rows)
    assert np.shares_memory(tables.a.column(0), rows["a"])


@pytest.mark.parametrize("make", [partial(array_source, where="X"), partial(source_of, where="X")])
def test_a_source_of_a_table_is_one_block(make):
    source = make(np.zeros((4, 2)))
    assert (source.rows, source.rows_at_once) == (4, 4)
    assert source.run(lambda block, start: (len(block), start), None, None) == (4, 0)
    assert [start for start, _ in source.in_order(None)] == [0]
    halved = source.changed(lambda block, start: block.some(slice(2)))
    assert halved.rows == 2


def test_a_source_of_blocks_has_no_rows_at_once():
    source = source_of(Blocks(np.zeros((4, 2)), [1]), "X")
    assert source.rows_at_once == 0
    assert source.run(lambda block, start: len(block), lambda a, b: a + b, None) == 4
