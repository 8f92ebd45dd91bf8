"""One p-value of many statistics: evidence by plain loops, and ranks that are exact for any table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from densdiff.testing.combining import Combined, Part, combine, log_evidence
from tests.evidence import plain_combined, plain_evidence, plain_pvalue

PARTS = [Part(0.5, ["a", "b", "c"], alike=False), Part(0.3, ["d", "e"]), Part(0.15, ["f"]), Part(0.05, ["g", "h"])]
LAYOUT = [(part.share, len(part.names), part.alike) for part in PARTS]


def statistics(seed, count=60, size=8):
    random = np.random.default_rng(seed)
    return random.chisquare(2, (count, size)) * 10.0 ** random.integers(-8, 8, size)


whole_tables = arrays(np.float64, st.tuples(st.integers(1, 40), st.just(8)), elements=st.integers(0, 3).map(float))
tables = whole_tables | st.builds(statistics, st.integers(0, 10**6), st.integers(1, 60))


@given(st.lists(st.integers(0, 6).map(float) | st.floats(0, 1e3, width=32), min_size=1, max_size=60))
def test_evidence_is_as_defined(values):
    np.testing.assert_allclose(log_evidence(np.array(values)), plain_evidence(values), rtol=1e-9, atol=1e-12)


def test_evidence_of_a_value_in_the_middle_is_its_tail_share():
    values = np.random.default_rng(0).permutation(1000).astype(float)
    found = log_evidence(values)
    for value in (0, 3, 500, 899):
        assert found[values == value] == pytest.approx(-np.log((1000 - value) / 1000), rel=1e-12)


@given(tables)
def test_evidence_rises_with_the_value_and_is_the_same_for_equal_ones(table):
    for values in table.T:
        evidence = log_evidence(values)
        assert (evidence >= 0).all()
        assert (np.diff(evidence[np.argsort(values, kind="stable")]) >= -1e-12).all()
        for value in set(values.tolist()):
            assert np.ptp(evidence[values == value]) == 0


def test_an_exponential_tail_is_continued_beyond_the_last_value():
    """The p-value of a value far out is smaller than one over the number of relabellings, as the tail says."""
    values = -np.log(np.random.default_rng(0).random(20_000))  # P(value >= t) = exp(-t)
    values[0] = 14.0
    assert log_evidence(values)[0] == pytest.approx(14.0, abs=14 * 4.5 / np.sqrt(2000))


def test_values_that_differ_by_rounding_are_equal():
    values = np.float32(0.1) * np.ones(50)
    values[::2] *= 1 + 2.0**-22
    assert (log_evidence(values) == 0).all()


@given(tables)
def test_combined_evidence_is_that_of_plain_loops(table):
    found = combine(table, PARTS)
    expected = plain_combined(table, LAYOUT)
    np.testing.assert_allclose(found.evidence, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_the_pvalue_and_what_was_strongest_are_those_of_plain_loops(seed):
    table = statistics(seed)
    table[0, seed % 8] *= 6
    found = combine(table, PARTS)
    assert found.pvalue == plain_pvalue(plain_combined(table, LAYOUT))
    bounds = np.cumsum([0, *(len(part.names) for part in PARTS)])
    alone = [plain_combined(table[:, bounds[k] : bounds[k + 1]], [LAYOUT[k]])[0] for k in range(len(PARTS))]
    assert found.part == int(np.argmax(alone))


def test_the_strongest_statistic_of_each_part_is_the_datas_own():
    table = statistics(3)
    table[0] = np.median(table, axis=0)
    for best in ([1, 0, 0, 1], [2, 1, 0, 0]):
        strong = table.copy()
        for start, place in zip((0, 3, 5, 6), best, strict=True):
            strong[0, start + place] = 3 * table[1:, start + place].max()
        assert combine(strong, PARTS).strongest == best


@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_the_relabellings_changes_nothing_but_the_order(table, random):
    order = list(range(len(table)))
    random.shuffle(order)
    np.testing.assert_allclose(
        combine(table[order], PARTS).evidence, combine(table, PARTS).evidence[order], rtol=1e-6, atol=1e-6
    )


@given(tables)
def test_whatever_the_table_no_more_than_alpha_of_its_rows_are_that_strong(table):
    """Relabellings are exchangeable with the data: each may be the data, and p <= alpha has probability alpha."""
    pvalues = np.array([combine(np.roll(table, -i, axis=0), PARTS).pvalue for i in range(len(table))])
    for alpha in pvalues:
        assert np.mean(pvalues <= alpha + 1e-12) <= alpha + 1e-12


def test_in_the_tail_no_two_relabellings_tie():
    """Where p-values matter each rank is there, though several statistics may be first in their own column."""
    table = statistics(5, count=200)
    pvalues = [combine(np.roll(table, -i, axis=0), PARTS).pvalue for i in range(200)]
    np.testing.assert_allclose(sorted(pvalues)[:10], np.arange(1, 11) / 200)


@given(st.integers(0, 10**6), st.integers(0, 7))
def test_statistics_on_another_scale_are_the_same_evidence(seed, column):
    table = statistics(seed)
    scaled = table.copy()
    scaled[:, column] *= 1e5
    np.testing.assert_allclose(combine(scaled, PARTS).evidence, combine(table, PARTS).evidence, rtol=1e-9, atol=1e-9)


def test_one_part_of_one_statistic_has_its_own_pvalue():
    values = np.random.default_rng(1).chisquare(2, 100)
    found = combine(values[:, None], [Part(1.0, ["only"])])
    assert found.pvalue == np.mean(values >= values[0])
    assert (found.part, found.strongest) == (0, [0])


@pytest.mark.parametrize("value", [0.0, 2.0, 1e-200])
def test_statistics_that_never_vary_find_nothing(value):
    found = combine(np.full((30, 8), value), PARTS)
    assert found.pvalue == 1.0
    np.testing.assert_allclose(found.evidence, 0.0, atol=1e-12)


def test_a_part_that_never_varies_leaves_the_others_as_they_are():
    table = statistics(2)
    still = table.copy()
    still[:, [3, 4, 6]] = 0.0, 7.0, 0.0
    expected = plain_combined(np.delete(still, [3, 4], axis=1), [LAYOUT[0], LAYOUT[2], LAYOUT[3]])
    found = combine(still, PARTS).evidence
    np.testing.assert_allclose(found, np.logaddexp(expected, np.log(0.3)), rtol=1e-6, atol=1e-6)


def test_parts_that_agree_tell_more_than_one_of_them():
    random = np.random.default_rng(0)
    table = random.chisquare(1, (2000, 2))
    parts = [Part(0.5, ["a"]), Part(0.5, ["b"])]
    tails = {}
    for name, shares in (("alone", (0.96, 0.5)), ("both", (0.96, 0.96))):
        table[0] = [np.quantile(column, share) for column, share in zip(table.T, shares, strict=True)]
        tails[name] = combine(table, parts).pvalue
    assert 0.075 < tails["alone"] < 0.1  # its share doubles 0.04
    assert tails["both"] < 0.6 * tails["alone"]


def test_a_statistic_that_varies_by_rounding_never_leads():
    random = np.random.default_rng(0)
    table = np.column_stack([random.chisquare(1, 200), 0.3 * (1 + 1e-7 * random.normal(size=200))])
    table[0] = table[1:, 0].mean(), 0.3 * (1 + 1e-6)
    found = combine(table, [Part(1.0, ["varies", "still"])])
    assert found.strongest == [0]
    np.testing.assert_allclose(found.evidence, plain_combined(table, [(1.0, 2, True)]), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.evidence, log_evidence(np.cbrt(table[:, 0])), rtol=1e-6, atol=1e-9)


def test_a_share_moves_what_it_takes_to_win():
    random = np.random.default_rng(0)
    table = random.chisquare(1, (2000, 2))
    table[0] = np.quantile(table[:, 0], 0.99), np.quantile(table[:, 1], 0.995)
    first, second = (combine(table, [Part(share, ["a"]), Part(1 - share, ["b"])]) for share in (0.9, 0.1))
    assert (first.part, second.part) == (0, 1)
    assert first.pvalue == pytest.approx(0.01 / 0.9, rel=0.3)
    assert second.pvalue == pytest.approx(0.005 / 0.9, rel=0.5)


def test_equal_evidence_counts_against_the_data():
    assert Combined(np.array([1.0, 1.0 - 1e-6, 2.0, 0.5]), np.zeros(1), [0]).pvalue == 0.75
    assert Combined(np.array([1.0, 1.0 - 1e-4, 2.0, 0.5]), np.zeros(1), [0]).pvalue == 0.5
