"""The search for rules: scans against trying all, tables of bins, costs in words."""

from itertools import combinations
from math import inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import rule_search
from densdiff.datasets import mixed_tables
from tests.core.test_regions import coded, mixed


def best_by_trying_all(rows, in_b, least):
    """Largest |z| of runs of one column that hold at most 60 % of the rows."""
    best, n, m = 0.0, np.sum(~in_b), np.sum(in_b)
    ends = [-inf, *np.unique(rows)]
    for low in ends:
        for high in [*ends, inf]:
            held = (rows > low) & (rows <= high)
            a, b = np.sum(held & ~in_b), np.sum(held & in_b)
            if max(a, b) < least or a + b > 0.6 * (n + m):
                continue
            share = (a + b) / (n + m)
            spread = share * (1 - share) * (1 / n + 1 / m) * (n + m) / (n + m - 1)
            best = max(best, abs(b / m - a / n) / np.sqrt(spread))
    return best


@pytest.mark.parametrize("seed", range(3))
def test_scan_of_one_column_misses_no_run(seed, monkeypatch):
    monkeypatch.setattr(rule_search, "_CHOICES", 1.0)  # no cost, so that the largest z wins
    random = np.random.default_rng(seed)
    rows = random.integers(20, size=(150, 1)).astype(float)
    in_b = random.random(150) < 0.4
    table = rule_search._Table.of(rows, in_b, np.array([0]))
    search = rule_search._Search(table, np.zeros(150, dtype=np.intp))
    gain, _ = search.scan({}, 0)
    assert np.sqrt(2 * gain) == pytest.approx(best_by_trying_all(rows[:, 0], in_b, 10), abs=1e-6)  # ties cost as much


def test_a_table_has_a_bin_for_each_value_or_level_and_marks_a_few_cuts_or_levels():
    rows = np.column_stack([np.arange(100) % 20 / 4, np.repeat([2, 0, 1], [50, 30, 20])])
    table = rule_search._Table.of(rows, np.arange(100) >= 50, np.array([0, 4]))
    assert table.sizes.tolist() == [20, 4]  # the last level has no rows
    np.testing.assert_array_equal(table.codes, [4 * rows[:, 0], rows[:, 1]])
    assert [j for j, _ in table.marked] == [0] * 9 + [1] * 3
    for j, member in table.marked[:9]:
        assert (np.diff(member.astype(int)) >= 0).all(), j  # all bins from a cut on
    assert [np.flatnonzero(member).tolist() for _, member in table.marked[9:]] == [[2], [0], [1]]
    shares = [0.95, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.05, 0.5, 0.3, 0.2]
    np.testing.assert_allclose(table.marks.mean(axis=1), shares, rtol=1e-6)


def test_each_bound_costs_the_logarithm_of_its_choices_and_not_is_a_word_more():
    rows = np.column_stack([np.arange(100) % 40, np.arange(100) % 4, np.arange(100) % 4]).astype(float)
    table = rule_search._Table.of(rows, np.arange(100) >= 50, np.array([0, 0, 4]))
    many, few = np.arange(40), np.arange(4)
    assert table.cost(0, many >= 5) == table.cost(0, many < 5) == log(30)
    assert table.cost(0, (many >= 5) & (many < 9)) == 2 * log(30)
    assert table.cost(1, few >= 2) == log(6)  # three cuts, two sides
    assert [table.cost(2, few < count) for count in (1, 2, 3)] == [log(4), log(6), log(4) + log(2)]


def test_sets_name_or_leave_out_up_to_eight_levels():
    rows = (np.arange(100) % 20)[:, None].astype(float)
    table = rule_search._Table.of(rows, np.arange(100) >= 50, np.array([20]))
    search = rule_search._Search(table, np.zeros(100, dtype=np.intp))
    single, *sets = search._level_sets(np.ones((1, 2, 20)))
    assert single.lengths.tolist() == [1] * 20
    for offer in sets:
        sizes = [int(offer.member(k).sum()) for k in range(len(offer.lengths))]
        assert offer.lengths.tolist() == [min(size, 20 - size) for size in sizes]
    offered = [offer.member(k).tobytes() for offer in sets for k in range(len(offer.lengths))]
    assert len(offered) == len(set(offered)) == 2 * (8 + 8)
    assert sorted({int(np.frombuffer(member, dtype=bool).sum()) for member in offered}) == [
        *range(1, 9),
        *range(12, 20),
    ]


@given(st.integers(2, 30), st.integers(0, 1000))
def test_sets_of_levels_are_counted_as_their_levels_are(size, seed):
    """The tally of every set that is offered, from the rows of its levels."""
    random = np.random.default_rng(seed)
    rows, in_b = random.integers(0, size, (200, 1)).astype(float), random.random(200) < 0.4
    table = rule_search._Table.of(rows, in_b, np.array([size]))
    search = rule_search._Search(table, random.integers(0, 3, 200))
    counts = np.bincount(search.group * size + table.codes[0], minlength=2 * len(search.total) * size)
    counts = counts.reshape(-1, 2, size).astype(float)
    for offer in search._level_sets(counts):
        for k in range(len(offer.lengths)):
            expected = search._tally(counts[:, :, offer.member(k)].sum(axis=2, keepdims=True))
            for found, own in zip(offer.tally, expected, strict=True):
                np.testing.assert_allclose(found[..., k], own[..., 0], rtol=1e-12, atol=1e-9)


@given(st.integers(2, 70), st.integers(0, 1000))
def test_runs_of_bins_are_tallied_as_the_sums_of_their_counts(size, seed):
    random = np.random.default_rng(seed)
    rows, in_b = random.integers(0, size, (300, 1)).astype(float), random.random(300) < 0.4
    search = rule_search._Search(rule_search._Table.of(rows, in_b, np.array([0])), random.integers(0, 4, 300))
    counts = random.integers(0, 9, (len(search.total), 2, size)).astype(float)
    first, last = rule_search._run_ends(size)
    found = search._tally_of_runs(counts, first, last)
    expected = search._tally(
        np.stack([counts[:, :, a:b].sum(axis=2) for a, b in zip(first, last, strict=True)], axis=2)
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@given(st.integers(1, 40), st.integers(0, 1000))
def test_pairs_of_columns_are_counted_as_they_are(strata, seed):
    """Excess, variance and rows of all four combinations, by masks, within strata that may have one sample only."""
    random = np.random.default_rng([strata, seed])
    rows, in_b, n_levels = mixed(random, 90, 60)
    table = rule_search._Table.of(rows, in_b, n_levels)
    stratum, outside = random.integers(strata, size=150), random.random(strata) < 0.5
    search = rule_search._Search(table, stratum, outside)
    masks = np.array([member[table.codes[j]] for j, member in table.marked])
    for kind, found in enumerate(search._products()):
        first, second = masks ^ (kind >= 2), masks ^ (kind % 2 == 1)
        for i, k in random.integers(len(masks), size=(9, 2)):
            both = first[i] & second[k]
            excess, variance = plain_excess(both, in_b, stratum)
            expected = excess, variance, both.sum(), (both & outside[stratum]).sum()
            for one, other, tolerance in zip(found, expected, (1e-4, 1e-9, 0, 0), strict=True):
                assert one[i, k] == pytest.approx(other, rel=0, abs=tolerance)  # the excess is in single precision


def plain_excess(held, in_b, stratum):
    """Rows of B in a rule beyond the expected and their variance, stratum by stratum."""
    excess, variance = 0.0, 0.0
    for s in np.unique(stratum):
        own = stratum == s
        n, b, r = own.sum(), (own & in_b).sum(), (own & held).sum()
        excess += (own & held & in_b).sum() - r * b / n
        variance += r * (n - r) * b * (n - b) / (n**2 * max(n - 1, 1))
    return excess, variance


@given(st.integers(1, 60), st.integers(0, 1000))
def test_strata_of_one_sample_change_no_deviation(strata, seed):
    """They are put together, and nothing can differ in them."""
    random = np.random.default_rng([strata, seed])
    rows, in_b, n_levels = mixed(random, 90, 60)
    stratum = random.integers(strata, size=150)
    table = rule_search._Table.of(rows, in_b, n_levels)
    search = rule_search._Search(table, stratum, np.ones(strata, dtype=bool))
    j, member = table.marked[int(random.integers(len(table.marked)))]
    excess, variance = plain_excess(member[table.codes[j]], in_b, stratum)
    found = search._count_z({j: member})
    assert found in (0.0, pytest.approx(excess / np.sqrt(max(variance, 1e-300)), rel=1e-9))
    assert len(search.total) <= 4 + sum(len(np.unique(in_b[stratum == s])) == 2 for s in range(strata))


def test_a_search_begins_with_the_best_two_conditions_or_their_opposites_of_each_pair_of_columns():
    rows, in_b, n_levels = mixed(np.random.default_rng(11), 150, 150)
    search = rule_search._Search(rule_search._Table.of(rows, in_b, n_levels), np.zeros(300, dtype=np.intp))

    def gain(draft):
        z = search._z(draft)
        return z * z / 2 - sum(
            min(search.table.cost(j, side) for side in (member, ~member)) for j, member in draft.items()
        )

    marked, best = search.table.marked, {}
    for (i, first), (j, second) in combinations(marked, 2):
        drafts = [{i: first ^ flip, j: second ^ turn} for flip in (False, True) for turn in (False, True)]
        best[i, j] = max([best.get((i, j), -inf), *map(gain, drafts)]) if i != j else -inf
    found = {tuple(draft): gain(draft) for draft in search._pairs()}
    assert len(found) == 10
    for columns, reached in found.items():
        assert reached == pytest.approx(best[columns], abs=1e-3), columns  # products are in single precision


@pytest.mark.parametrize("size", [2, 3, 20, 32, 33, 64])
def test_runs_of_bins_are_all_there_once_or_every_second_inside_if_there_are_many(size):
    runs = list(zip(*(ends.tolist() for ends in rule_search._run_ends(size)), strict=True))
    step = 1 if size <= 32 else 2
    from_an_end = {(0, k) for k in range(1, size)} | {(k, size) for k in range(1, size)}
    assert len(runs) == len(set(runs))
    assert set(runs) == from_an_end | set(combinations(range(1, size, step), 2))


def test_shorter_rules_lack_a_condition_or_a_bound():
    rows, in_b, n_levels = mixed(np.random.default_rng(11), 150, 150)
    search = rule_search._Search(rule_search._Table.of(rows, in_b, n_levels), np.zeros(300, dtype=np.intp))
    bins, level = np.arange(search.table.sizes[0]), np.arange(4) == 1
    inner, upper = (bins >= 3) & (bins < 9), bins >= 3

    def shorter(draft):
        return [{j: np.flatnonzero(member).tolist() for j, member in each.items()} for each in search._shorter(draft)]

    assert shorter({0: upper}) == []
    assert shorter({0: inner}) == [{0: bins[3:].tolist()}, {0: bins[:9].tolist()}]
    assert shorter({0: upper, 3: level}) == [{3: [1]}, {0: bins[3:].tolist()}]


def test_search_ignores_the_order_of_rows_and_of_samples():
    rows, in_b, n_levels, _ = coded(mixed_tables(400, 300, shift=1.0, random_state=7))
    rules = rule_search.search_rules(rows, in_b, n_levels, 5)
    order = np.random.default_rng(0).permutation(len(rows))
    assert len(rules) > 1
    assert rule_search.search_rules(rows[order], in_b[order], n_levels, 5) == rules
    assert rule_search.search_rules(rows, ~in_b, n_levels, 5) == rules
