"""Regions: rules hold where they say, tests are exact, equal tables stay silent and planted differences are found."""

from itertools import combinations
from math import inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact, hypergeom

from densdiff.core import regions, rule_search
from densdiff.core.regions import Condition, conditional_test, find_regions, newcombe
from densdiff.core.resample import holm
from densdiff.core.rules import holds, shortest_between, strata_of
from densdiff.datasets import mixed_tables

ALPHA = 0.05


def coded(tables):
    """Pooled rows, which are B's, and the number of levels of each column; and the names."""
    columns, levels = [], []
    for name, first in tables.a.items():
        pooled = np.concatenate([first, tables.b[name]])
        values, codes = np.unique(pooled, return_inverse=True)
        number = pooled.dtype.kind in "fi"
        columns.append(pooled.astype(float) if number else codes.astype(float))
        levels.append(0 if number else len(values))
    in_b = np.repeat([False, True], [len(tables.a["age"]), len(tables.b["age"])])
    return np.column_stack(columns), in_b, np.array(levels), list(tables.a)


def mixed(random, n, m):
    """Five columns of the same law in both."""
    size = n + m
    columns = [random.normal(size=size), random.exponential(size=size), random.integers(10, size=size)]
    columns += [random.integers(k, size=size) for k in (4, 2)]
    return np.column_stack(columns).astype(float), np.arange(size) >= n, np.array([0, 0, 0, 4, 2])


def found_in(rows, in_b, n_levels, seed=0, **options):
    return find_regions(rows, in_b, n_levels, ALPHA, np.random.default_rng(seed), **options)


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


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 12), st.integers(0, 12))
def test_one_stratum_is_fishers_test(a, b, c, d):
    if a + b + c + d == 0:
        return
    in_b, held = (
        np.repeat([False, True, False, True], [a, b, c, d]),
        np.repeat([True, True, False, False], [a, b, c, d]),
    )
    found, z = conditional_test(held, in_b, np.zeros(len(held), dtype=np.intp))
    assert found == pytest.approx(fisher_exact([[a, b], [c, d]]).pvalue, rel=1e-9)
    assert np.sign(z) == np.sign(b * c - a * d)


def test_strata_are_compared_one_by_one():
    """All counts of three strata listed."""
    random = np.random.default_rng(1)
    stratum = random.integers(3, size=40)
    in_b, held = random.random(40) < 0.4, random.random(40) < 0.3
    laws = []
    for s in range(3):
        inside = stratum == s
        count = int(held[inside].sum())
        laws.append(hypergeom(inside.sum(), in_b[inside].sum(), count).pmf(np.arange(count + 1)))
    law = {}
    for counts in np.ndindex(*map(len, laws)):
        law[sum(counts)] = law.get(sum(counts), 0.0) + np.prod([part[k] for part, k in zip(laws, counts, strict=True)])
    seen = law[int((held & in_b).sum())]
    expected = sum(p for p in law.values() if p <= seen * (1 + 1e-7))
    found, z = conditional_test(held, in_b, stratum)
    assert found == pytest.approx(expected, rel=1e-9)
    mean = sum(k * p for k, p in law.items())
    variance = sum((k - mean) ** 2 * p for k, p in law.items())
    assert z == pytest.approx(((held & in_b).sum() - mean) / np.sqrt(variance), rel=1e-9)


def test_large_counts_are_normal_where_the_exact_law_agrees():
    in_b = np.arange(60_000) >= 30_000
    held = (np.arange(60_000) % 30_000) < np.where(in_b, 10_150, 10_000)
    found, _ = conditional_test(held, in_b, np.zeros(60_000, dtype=np.intp))
    exact = fisher_exact([[10_000, 10_150], [20_000, 19_850]]).pvalue
    assert found == pytest.approx(exact, rel=1e-3)


def test_a_rule_of_earlier_rules_has_nothing_to_say():
    random = np.random.default_rng(2)
    held, in_b = random.random(300) < 0.3, random.random(300) < 0.5
    assert conditional_test(held, in_b, held.astype(np.intp)) == (1.0, 0.0)
    assert conditional_test(~held, in_b, held.astype(np.intp)) == (1.0, 0.0)


def test_holm_by_hand():
    np.testing.assert_allclose(holm(np.array([0.01, 0.6, 0.011, 0.02])), [0.04, 0.6, 0.04, 0.04])
    np.testing.assert_allclose(holm(np.array([0.9, 0.8])), [1.0, 1.0])


def test_newcombe_gives_his_published_example():
    # 56 of 70 less 48 of 80, method 10 of Newcombe 1998: 0.0524 to 0.3339
    low, high = newcombe(np.array([48, 56]), np.array([80, 70]), 0.05)
    assert (round(low, 4), round(high, 4)) == (0.0524, 0.3339)
    low, high = newcombe(np.array([0, 10]), np.array([10, 10]), 0.05)
    assert -1 <= low < 1
    assert high == pytest.approx(1.0)


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
        assert sizes == [*range(1, 9), *range(12, 20)]
        assert offer.lengths.tolist() == [min(size, 20 - size) for size in sizes]


def test_pairs_of_columns_are_counted_as_they_are():
    """Excess and counts of all four combinations, by masks, within two strata."""
    random = np.random.default_rng(5)
    rows, in_b, n_levels = mixed(random, 90, 60)
    table = rule_search._Table.of(rows, in_b, n_levels)
    stratum = random.integers(2, size=150)
    search = rule_search._Search(table, stratum)
    share = np.array([in_b[stratum == s].mean() for s in range(2)])
    masks = np.array([member[table.codes[j]] for j, member in table.marked])
    for kind, (excess, held) in enumerate(search._products()):
        first, second = masks ^ (kind >= 2), masks ^ (kind % 2 == 1)
        for i, k in random.integers(len(masks), size=(30, 2)):
            both = first[i] & second[k]
            assert held[:, i, k].tolist() == [np.sum(both & (stratum == s)) for s in range(2)]
            assert excess[i, k] == pytest.approx(np.sum((in_b - share[stratum])[both]), abs=1e-4)


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


def test_equal_tables_report_at_most_alpha():
    reported = 0
    for seed in range(40):
        reported += bool(found_in(*mixed(np.random.default_rng(seed), 120, 80), seed))
    # at a rate of 5 % more than 6 of 40 happen in 0.3 % of all draws of seeds
    assert reported <= 6


def test_planted_region_is_on_top_in_its_own_words():
    tables = mixed_tables(3000, shift=0, share=0.10, random_state=0)
    rows, in_b, n_levels, names = coded(tables)
    for seed in range(3):
        region = found_in(rows, in_b, n_levels, seed)[0]
        assert [names[condition.column] for condition in region.rule] == ["age", "region"]
        age, place = region.rule
        assert 57 < age.low < 66
        assert age.high == inf
        assert place.levels == (1,)  # east, north, south, west
        assert region.interval[0] < 0.06 < region.interval[1]
        assert 0.02 < region.share_a < 0.07 < region.share_b < 0.13
        assert region.pvalue <= ALPHA


def test_numbers_are_those_of_one_half():
    tables = mixed_tables(1000, 600, random_state=1)
    rows, in_b, n_levels, _ = coded(tables)
    for region in found_in(rows, in_b, n_levels):
        assert (region.share_a, region.share_b) == (region.count_a / 500, region.count_b / 300)
        assert region.interval[0] < region.share_b - region.share_a < region.interval[1]
        held = holds(region.rule, rows)
        assert region.count_a <= np.sum(held & ~in_b)
        assert region.count_b <= np.sum(held & in_b)


def test_shift_and_region_are_both_found_and_the_shift_first():
    rows, in_b, n_levels, names = coded(mixed_tables(3000, random_state=2))
    found = found_in(rows, in_b, n_levels)
    said = [[names[condition.column] for condition in region.rule] for region in found]
    assert said[0] == ["spend"]
    assert ["age", "region"] in said


def test_an_interaction_is_found_though_each_column_stays():
    rows, in_b, n_levels, names = coded(mixed_tables(2000, shift=0, share=None, correlation=0.6, random_state=3))
    said = [[names[condition.column] for condition in region.rule] for region in found_in(rows, in_b, n_levels)]
    assert said
    assert said[0] == ["satisfaction", "recommendation"]


def test_an_interaction_is_found_among_many_columns():
    random = np.random.default_rng(9)
    rows = random.normal(size=(2000, 60))
    rows[1000:, 41] = 0.7 * rows[1000:, 17] + np.sqrt(1 - 0.49) * rows[1000:, 41]
    found = found_in(rows, np.arange(2000) >= 1000, np.zeros(60, dtype=int))
    assert [condition.column for condition in found[0].rule] == [17, 41]


def test_interval_and_pvalue_count_the_rules_tested(monkeypatch):
    """Two given rules of independent columns, one without a difference."""
    random = np.random.default_rng(10)
    rows = random.random((400, 2))
    rows[200:, 0] += 0.3
    rules = [(Condition(0, low=0.8),), (Condition(1, low=0.5),)]
    monkeypatch.setattr(regions, "search_rules", lambda *_: rules)
    (region,) = found_in(rows, np.arange(400) >= 200, np.array([0, 0]))
    assert region.rule == rules[0]
    counts = [region.count_a, region.count_b]
    assert region.interval == newcombe(np.array(counts), np.array([100, 100]), ALPHA / 2 / 2)  # two halves, two rules
    assert region.pvalue == pytest.approx(2 * 2 * fisher_exact([counts, [100 - k for k in counts]]).pvalue, rel=1e-9)


def test_what_a_rule_implies_is_not_said_again():
    """More rows above 71 mean fewer in every other place."""
    random = np.random.default_rng(4)
    rows = random.random((4000, 3)) * 100
    rows[2000:2300, 0] = 71 + 29 * random.random(300)
    found = found_in(rows, np.arange(4000) >= 2000, np.zeros(3, dtype=int))
    assert len(found) == 1
    (condition,) = found[0].rule
    assert condition.column == 0
    assert 69 < condition.low <= 73
    assert condition.high == inf


def test_rules_of_about_the_same_rows_are_said_once(monkeypatch):
    """The two halves find the same region with edges of their own, both of them short of the true ones."""
    random = np.random.default_rng(6)
    rows = random.random((4000, 2))
    rows[2000:2400] = [0.7, 0.5] + random.random((400, 2)) * [0.3, 0.5]
    edges = iter([0.75, 0.80])
    found_rules = [((Condition(0, low=next(edges)), Condition(1, low=0.5)),) for _ in range(2)]
    halves = iter(found_rules)
    monkeypatch.setattr(regions, "search_rules", lambda *_: list(next(halves)))
    found = found_in(rows, np.arange(4000) >= 2000, np.zeros(2, dtype=int))
    assert [region.rule in {rules[0] for rules in found_rules} for region in found] == [True]


def test_a_region_whose_interval_has_zero_in_it_is_none():
    """The second of two rules, by Holm at 5 %, has p = 0.036; their simultaneous intervals are each at 97.5 %."""

    def table(first, second):
        x, y = np.zeros((2, 1000))
        x[:first] = 1
        y[: second * first // 1000] = 1  # as many in the first rule as there would be by chance
        y[first : first + second - second * first // 1000] = 1
        return np.column_stack([x, y])

    rows, in_b = np.concatenate([table(200, 100), table(500, 131)]), np.arange(2000) >= 1000
    rules = [(Condition(0, levels=(1,)),), (Condition(1, levels=(1,)),)]
    for rule, level in ((rules[1], ALPHA), (rules[0], 1e-9)):
        assert conditional_test(holds(rule, rows), in_b, np.zeros(2000, dtype=int))[0] < level
    assert newcombe(np.array([100, 131]), np.array([1000, 1000]), ALPHA / 2)[0] < 0
    assert [region.rule for _, region in regions._confirm(rules, rows, in_b, ALPHA)] == rules[:1]
    assert [region.rule for _, region in regions._confirm(rules[1:], rows, in_b, ALPHA)] == rules[1:]


def test_a_rule_of_about_half_of_the_rows_is_said_where_it_is():
    random = np.random.default_rng(4)
    rows = random.random((4000, 1)) * 100
    rows[2000:2600, 0] = 61 + 39 * random.random(600)  # 39 % and 57 %, by chance more than half together
    condition = found_in(rows, np.arange(4000) >= 2000, np.array([0]))[0].rule[0]
    assert 58 < (condition.low if condition.low > -inf else condition.high) < 64


def test_an_interval_in_the_middle_is_said_as_one():
    random = np.random.default_rng(5)
    rows = random.normal(size=(3000, 2))
    rows[1500:1800, 1] = 0.4 * random.random(300)
    condition = found_in(rows, np.arange(3000) >= 1500, np.zeros(2, dtype=int))[0].rule[0]
    assert condition.column == 1
    assert abs(condition.low) < 0.1
    assert abs(condition.high - 0.4) < 0.1


def test_levels_are_found_among_a_thousand():
    random = np.random.default_rng(6)
    rows = random.integers(1000, size=(6000, 1)).astype(float)
    rows[3000:3400] = random.choice([7.0, 500.0], size=(400, 1))
    found = found_in(rows, np.arange(6000) >= 3000, np.array([1000]))
    assert set(found[0].rule[0].levels) >= {7, 500}
    assert len(found[0].rule[0].levels) <= 4


def test_search_ignores_the_order_of_rows_and_of_samples():
    rows, in_b, n_levels, _ = coded(mixed_tables(400, 300, shift=1.0, random_state=7))
    rules = rule_search.search_rules(rows, in_b, n_levels, 5)
    order = np.random.default_rng(0).permutation(len(rows))
    assert len(rules) > 1
    assert rule_search.search_rules(rows[order], in_b[order], n_levels, 5) == rules
    assert rule_search.search_rules(rows, ~in_b, n_levels, 5) == rules


def test_seed_reproduces_and_most_limits():
    rows, in_b, n_levels, _ = coded(mixed_tables(2000, random_state=7))
    assert found_in(rows, in_b, n_levels, 5) == found_in(rows, in_b, n_levels, 5)
    assert len(found_in(rows, in_b, n_levels, 5)) > 1
    assert len(found_in(rows, in_b, n_levels, 5, most=1)) == 1


@pytest.mark.parametrize(
    ("rows", "n_levels"),
    [
        (np.zeros((60, 2)), [0, 0]),
        (np.zeros((60, 2)), [1, 3]),
        (np.arange(60.0)[:, None] % 2, [0]),
        (np.arange(60.0)[:, None] % 2, [2]),
        (np.repeat([[1e200, -1e-200]], 60, axis=0) * np.arange(60)[:, None], [0, 0]),
        (np.arange(60.0)[:, None] * np.ones(200), [0] * 200),
        (np.arange(30.0)[:, None], [0]),
    ],
)
def test_odd_tables_are_fine_and_silent_when_samples_alternate(rows, n_levels):
    in_b = np.arange(len(rows)) // 2 % 2 == 1
    assert found_in(rows, in_b, np.array(n_levels)) == []


@pytest.mark.parametrize("column", [0, 150])
def test_difference_is_found_among_many_columns(column):
    random = np.random.default_rng(8)
    rows = random.normal(size=(400, 160))
    rows[200:, column] += 1.5
    found = found_in(rows, np.arange(400) >= 200, np.zeros(160, dtype=int))
    assert found[0].rule[0].column == column
    assert len(found[0].rule) == 1


def test_two_rows_of_b_are_one_in_each_half_and_can_be_enough():
    rows = np.append(np.random.default_rng(12).random(4000), [0.997, 0.998])[:, None]
    (region,) = found_in(rows, np.arange(4002) >= 4000, np.array([0]))
    assert (region.count_b, region.share_b) == (1, 1.0)
    assert found_in(rows[:-1], np.arange(4001) >= 4000, np.array([0])) == []


def test_two_separate_masses_and_few_rows():
    rows = np.repeat([[0.0], [1.0]], 30, axis=0)
    in_b = rows[:, 0] == 1
    (region,) = found_in(rows, in_b, np.array([0]))
    assert region.rule in (((Condition(0, low=0.5)),), ((Condition(0, high=0.5)),))
    assert {region.share_a, region.share_b} == {0.0, 1.0}
    assert found_in(rows[10:40], in_b[10:40], np.array([0])) == []  # fewer than 40 rows
    assert found_in(rows, np.arange(40) == 59, np.array([0])) == []  # one row of B
