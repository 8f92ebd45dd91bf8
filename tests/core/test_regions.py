"""Regions: tests are exact, equal tables stay silent and planted differences are found."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact, hypergeom

from densdiff.core import regions
from densdiff.core.regions import Condition, conditional_test, find_regions, newcombe
from densdiff.core.resample import holm
from densdiff.core.rules import holds
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


def test_seed_reproduces_and_most_limits():
    rows, in_b, n_levels, _ = coded(mixed_tables(2000, random_state=7))
    found = found_in(rows, in_b, n_levels, 5)
    assert found == found_in(rows, in_b, n_levels, 5)
    assert len(found) > 1
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


def test_difference_is_found_in_a_late_one_of_many_columns():
    column = 150
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


def test_a_column_that_tells_the_samples_apart_hides_nothing_else():
    """The month of two months; within it nothing differs, so that other findings would not be seen."""
    random = np.random.default_rng(13)
    rows = random.random((4000, 3))
    in_b = np.arange(4000) >= 2000
    rows[:, 0] = in_b
    rows[2000:2300, 1:] = [0.7, 0.5] + random.random((300, 2)) * [0.3, 0.5]
    said = [{condition.column for condition in region.rule} for region in found_in(rows, in_b, np.zeros(3, dtype=int))]
    assert said[0] == {0}
    assert {1, 2} in said


def test_a_rule_and_its_opposite_are_one_finding():
    random = np.random.default_rng(14)
    held, other = random.random((2, 1000)) < 0.4
    assert regions._is_same(held, held)
    assert regions._is_same(held, ~held)
    assert not regions._is_same(held, other)
    assert regions._is_same(held, held & (random.random(1000) < 0.8))
    assert regions._is_same(~held & (random.random(1000) < 0.8), held)


def test_equal_tables_beside_a_column_that_tells_them_apart_report_at_most_alpha():
    """The rule of that column is true; others would be false, and are tested without its strata."""
    others = 0
    for seed in range(40):
        rows, in_b, n_levels = mixed(np.random.default_rng(seed), 120, 80)
        rows, n_levels = np.column_stack([rows, in_b]), np.append(n_levels, 0)
        others += any(
            {condition.column for condition in region.rule} != {5} for region in found_in(rows, in_b, n_levels)
        )
    # at a rate of 5 % more than 6 of 40 happen in 0.3 % of all draws of seeds
    assert others <= 6
