"""Of changed pairs, one is told for each story, the largest first; the others are counted."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core.dependence import PairCells, PairChange, pair_changes
from densdiff.core.dependence_words import TELLING
from densdiff.core.pair_choice import choose_pairs

N = 3000
CELLS = PairCells((np.ones((3, 3)), np.ones((3, 3))), (None, None), 1.0)


def chosen(a, b, most=10):
    numbers = np.zeros(a.shape[1], dtype=int)
    told, more = choose_pairs(pair_changes(a, b, numbers), 0.05, most)
    return [(each.pair.first, each.pair.second) for each in told], more


def change(first, second, before, after, pvalue=1e-9):
    return PairChange(first, second, pvalue, pvalue, before, after, "Spearman's rho", CELLS)


def test_copies_of_a_column_tell_one_story():
    random = np.random.default_rng(0)
    x, z, noise = random.normal(size=(3, N))
    near = [x + 0.05 * random.normal(size=N) for _ in range(3)]
    pairs, more = chosen(np.column_stack([x, *near, z]), np.column_stack([x, *near, 0.6 * x + 0.8 * noise]))
    assert len(pairs) == 1
    assert pairs[0][1] == 4
    assert more == 3


def test_two_changes_of_columns_that_are_not_related_are_two_stories():
    random = np.random.default_rng(1)
    a, b = random.normal(size=(2, N, 4))
    b[:, 1] += 0.6 * b[:, 0]
    b[:, 3] += 1.2 * b[:, 2]
    assert chosen(a, b) == ([(2, 3), (0, 1)], 0)
    assert chosen(a, b, most=1) == ([(2, 3)], 1)


def test_a_pair_that_changes_against_what_is_expected_is_told():
    """x and y go together, z came to depend on x by more, on y by less: the second does not follow from the first."""
    related = change(0, 1, 0.7, 0.7, pvalue=1.0)
    opposed = [related, change(0, 2, 0.0, 0.5), change(1, 2, 0.0, -0.4)]
    assert len(choose_pairs(opposed, 0.05, 10)[0]) == 2
    following = [related, change(0, 2, 0.0, 0.5), change(1, 2, 0.0, 0.4)]
    assert len(choose_pairs(following, 0.05, 10)[0]) == 1
    mirrored = [change(0, 1, -0.7, -0.7, pvalue=1.0), change(0, 2, 0.0, 0.5), change(1, 2, 0.0, -0.4)]
    assert len(choose_pairs(mirrored, 0.05, 10)[0]) == 1


def test_a_significant_but_small_change_is_counted_and_not_told():
    told, more = choose_pairs([change(0, 1, 0.50, 0.55)], 0.05, 10)
    assert (told, more) == ([], 1)


def test_nothing_is_found_among_no_pairs():
    assert choose_pairs([], 0.05, 10) == ([], 0)


@given(st.lists(st.tuples(st.floats(-0.99, 0.99), st.floats(-0.99, 0.99), st.floats(0, 0.2)), min_size=6, max_size=6))
def test_what_is_told_is_significant_large_in_order_and_nothing_is_lost(values):
    ends = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    changes = [change(i, j, *value) for (i, j), value in zip(ends, values, strict=True)]
    told, more = choose_pairs(changes, 0.05, 3)
    assert len(told) + more == sum(pair.pvalue_adjusted <= 0.05 for pair in changes)
    assert len(told) <= 3
    sizes = [each.change for each in told]
    assert sizes == sorted(sizes, reverse=True)
    assert all(each.pair.pvalue_adjusted <= 0.05 and each.change >= TELLING for each in told)
    significant = [abs(p.dependence_b - p.dependence_a) for p in changes if p.pvalue_adjusted <= 0.05]
    if significant and max(significant) >= TELLING:
        assert sizes[0] == max(significant)  # the largest follows from nothing
