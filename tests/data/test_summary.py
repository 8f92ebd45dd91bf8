"""Summaries of blocks: merged in any tree, they say of a table what NumPy says of the whole."""

import functools
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core.selection import assign_groups
from densdiff.data.reading import Reading, reading
from densdiff.data.summary import First, Summary
from densdiff.sources.blocks import BlockSource
from densdiff.sources.opening import source_of
from densdiff.sources.source import ArraySource
from tests.large import Blocks, cuts

numbers = st.one_of(
    st.floats(-1e6, 1e6), st.floats(-1e-200, 1e-200), st.floats(-1e200, 1e200), st.just(1e8), st.just(np.nan)
)
columns = st.integers(1, 30).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            "number": st.lists(numbers, min_size=n, max_size=n),
            "word": st.lists(st.sampled_from(["u", "v", "w", None]), min_size=n, max_size=n),
            "truth": st.lists(st.booleans(), min_size=n, max_size=n),
        }
    )
)


def merged(parts, data):
    """Neighbours joined in an order that is drawn."""
    parts = list(parts)
    while len(parts) > 1:
        k = data.draw(st.integers(0, len(parts) - 2))
        parts[k : k + 2] = [parts[k].merged(parts[k + 1])]
    return parts[0]


def blocks_of(table, places):
    edges = [0, *sorted(places), len(next(iter(table.values())))]
    for start, stop in pairwise(edges):
        if stop > start:
            yield start, {name: values[start:stop] for name, values in table.items()}


@given(table=columns, data=st.data())
def test_merged_summaries_say_what_numpy_says_of_the_whole(table, data):
    table = {
        "number": np.array(table["number"]),
        "word": np.array(table["word"], dtype=object),
        "truth": np.array(table["truth"]),
    }
    n = len(table["truth"])
    blocks = list(blocks_of(table, data.draw(cuts(n))))
    of = reading(blocks[0][1], "X")
    found = merged([of.summary(block, start) for start, block in blocks], data)
    number, word, truth = found.columns
    known = table["number"][~np.isnan(table["number"])]
    assert found.rows == n
    assert number.missing == n - len(known)
    assert number.first_missing == (int(np.isnan(table["number"]).argmax()) if len(known) < n else -1)
    assert number.numbers.count == len(known)
    if len(known):
        assert (number.numbers.low, number.numbers.high, number.first.value) == (known.min(), known.max(), known[0])
        assert number.first.row == int((~np.isnan(table["number"])).argmax())
        unit = np.abs(known).max() or 1.0
        unit = max(unit, 1e-300)
        mean = of.shifts[0] + float(np.ldexp(number.numbers.mean, number.numbers.exponent))
        np.testing.assert_allclose(mean / unit, (known / unit).mean(), rtol=1e-12, atol=1e-12)
        deviation = np.ldexp(np.sqrt(number.numbers.squares / number.numbers.count), number.numbers.exponent)
        np.testing.assert_allclose(deviation / unit, (known / unit).std(), rtol=1e-9, atol=1e-8)
    texts = [value for value in table["word"] if value is not None]
    assert dict(word.levels) == dict(Counter(texts))
    assert word.missing == n - len(texts)
    first = First(texts[0], table["word"].tolist().index(texts[0])) if texts else First()
    assert (word.first, word.word) == (first, first)
    assert dict(truth.levels) == dict(Counter(map(str, table["truth"])))


@pytest.mark.parametrize("tiny", [1e-200, 1e-300])
def test_a_block_of_one_value_does_not_hide_a_small_spread(tiny):
    values = np.concatenate([np.zeros(10), tiny * np.array([1.0, -1.0, 1.0, -1.0])])
    of = reading({"v": values[:10]}, "X")
    found = functools.reduce(
        Summary.merged, [of.summary({"v": values[:10]}, 0), of.summary({"v": values[10:]}, 10)]
    ).columns[0]
    numbers = found.numbers
    deviation = np.ldexp(np.sqrt(numbers.squares / numbers.count), numbers.exponent)
    np.testing.assert_allclose(deviation, tiny * np.sqrt(4 / 14), rtol=1e-12)


def test_values_on_both_ends_of_the_doubles_do_not_overflow():
    of = reading({"v": np.array([1.7e308])}, "X")
    found = (
        of.summary({"v": np.array([1.7e308])}, 0)
        .merged(of.summary({"v": np.array([-1.7e308] * 3)}, 1))
        .columns[0]
        .numbers
    )
    assert np.isfinite([found.mean, found.squares]).all()
    assert found.mean < 0 < found.squares


def test_the_first_text_that_is_no_number_is_known_by_its_row():
    of = Reading("X", ("v",), True)
    parts = [{"v": np.array(["1", "2"], dtype=object)}, {"v": np.array([None, "3", "oops", "x"], dtype=object)}]
    found = of.summary(parts[0], 0).merged(of.summary(parts[1], 2)).columns[0]
    assert (found.first, found.word) == (First("1", 0), First("oops", 4))


@given(n=st.integers(1, 200), groups=st.integers(1, 7), places=cuts(200))
def test_groups_of_consecutive_rows_are_those_of_all_rows(n, groups, places):
    whole = assign_groups(0, n, groups)
    edges = sorted({0, n, *(place for place in places if place < n)})
    parts = [whole.part(a, b - a) for a, b in pairwise(edges)]
    np.testing.assert_array_equal(np.concatenate(parts), np.resize(whole.pattern, n))
    np.testing.assert_array_equal(whole.counts(), np.bincount(np.resize(whole.pattern, n), minlength=groups))


def test_what_is_in_memory_is_no_source_of_blocks():
    in_memory = [np.zeros((3, 2)), [[1.0, 2.0]], {"a": [1.0]}, range(3), 3.0, [np.zeros(3), np.zeros(3)]]
    assert {type(source_of(value, "X", lambda block, where: block)) for value in in_memory} == {ArraySource}
    assert type(source_of(Blocks(np.zeros((3, 2)), []), "X", lambda block, where: block)) is BlockSource
