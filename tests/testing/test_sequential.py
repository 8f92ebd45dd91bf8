"""The p-value of many looks: its bound over a year of looks, and what it does with the p-values that it is given."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import densdiff as dd

ALPHA = 0.05
YEARS, LOOKS = 3000, 365
MOST = ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / YEARS)  # a share above this comes once in a thousand tables

looks = st.lists(st.floats(1e-300, 1.0), min_size=1, max_size=40)
each_way = pytest.mark.parametrize("independent", [False, True])


def share_of_years(table, independent):
    """In how many rows of (years, looks) p-values an anytime p-value falls to alpha."""
    last = [dd.anytime_pvalues(year, independent=independent)[-1] for year in table]
    return np.mean(np.array(last) <= ALPHA)


def on_a_grid(permutations, seed=0):
    """Independent p-values, uniform on 1 / (B + 1), .., 1: those of a permutation test without ties."""
    return np.random.default_rng(seed).integers(1, permutations + 2, size=(YEARS, LOOKS)) / (permutations + 1)


def with_a_shared_reference(seed=0):
    """P-values of z-tests of a new batch every night against one reference of the same size."""
    random = np.random.default_rng(seed)
    batches, reference = random.normal(size=(YEARS, LOOKS)), random.normal(size=(YEARS, 1))
    return 2 * norm.sf(np.abs(batches - reference) / np.sqrt(2))


def plain_wealth(pvalues):
    """What E20 says, term by term: the oracle of the fast form."""
    gains = 0.5 / np.sqrt(np.array(pvalues))
    wealth = []
    for t in range(1, len(gains) + 1):
        starts = [0.5 if s == 1 else 15 / ((s + 28) * (s + 29)) for s in range(1, t + 1)]
        at_stake = sum(start * np.prod(gains[s:t]) for s, start in enumerate(starts))
        wealth.append(at_stake + 1 - sum(starts))
    return np.array(wealth)


@each_way
@pytest.mark.parametrize("permutations", [99, 9999])
def test_permutation_pvalues_of_a_year_keep_the_bound(permutations, independent):
    assert share_of_years(on_a_grid(permutations), independent) <= MOST


def test_a_shared_reference_keeps_the_bound():
    assert share_of_years(with_a_shared_reference(), independent=False) <= MOST


def test_a_shared_reference_is_not_independent():
    """Why the argument is there: a reference that is off by chance looks different every night."""
    assert share_of_years(with_a_shared_reference(), independent=True) > 2 * ALPHA


def test_the_smallest_pvalue_alone_does_not_keep_the_bound():
    assert np.mean(on_a_grid(99)[:, :30].min(axis=1) <= ALPHA) > 0.7


def test_the_bounds_are_not_merely_timid():
    """Independent looks spend 365 / 395 of the error in a year; bets pay for being allowed to go on for ever."""
    table = on_a_grid(10**9)
    spent = 1 - np.prod(1 - ALPHA * 30 / (np.arange(30, 395) * np.arange(31, 396)))
    assert share_of_years(table, independent=False) >= spent - 3 * np.sqrt(spent / YEARS)
    assert share_of_years(table, independent=True) >= 0.01


@pytest.mark.parametrize("permutations", [1, 19, 999])
def test_the_gain_of_a_bet_is_at_most_one_on_average(permutations):
    grid = np.arange(1, permutations + 2) / (permutations + 1)
    gains = [2 * plain_wealth([p])[0] - 1 for p in grid]
    assert np.mean(gains) <= 1


def test_the_first_k_looks_spend_their_share():
    """The factor by which a look's p-value grows is one over its share; all shares together are at most 1."""
    shares = [1e-12 / dd.anytime_pvalues(np.append(np.ones(k), 1e-12))[-1] for k in range(365)]
    np.testing.assert_allclose(np.cumsum(shares), np.arange(1, 366) / np.arange(31, 396), rtol=1e-12)


@pytest.mark.parametrize(("look", "permutations"), [(1, 619), (30, 2359), (100, 11_179), (365, 103_753)])
def test_so_many_permutations_are_needed_at_a_look(look, permutations):
    for count, is_enough in ((permutations, True), (permutations - 1, False)):
        found = dd.anytime_pvalues(np.append(np.ones(look - 1), 1 / (count + 1)))[-1]
        assert (found <= ALPHA * (1 + 1e-12)) == is_enough


def test_bets_need_few_permutations_and_find_a_change_after_a_long_calm():
    calm = on_a_grid(99, seed=1)[0]
    assert calm.min() == 0.01  # a calm year has such looks as well
    after = np.append(calm, np.full(12, 0.01))
    assert dd.anytime_pvalues(calm, independent=True)[-1] > ALPHA
    assert dd.anytime_pvalues(after, independent=True)[-1] <= ALPHA
    assert dd.anytime_pvalues(after)[-1] > ALPHA


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=30))
def test_the_fast_form_is_the_sum_over_all_starts(pvalues):
    expected = np.minimum(1 / np.maximum.accumulate(plain_wealth(pvalues)), 1.0)
    np.testing.assert_allclose(dd.anytime_pvalues(pvalues, independent=True), expected, rtol=1e-10)


@each_way
@given(pvalues=looks)
def test_it_never_rises_and_is_a_probability(independent, pvalues):
    found = dd.anytime_pvalues(pvalues, independent=independent)
    assert found.shape == (len(pvalues),)
    assert found.dtype == np.float64
    assert (np.diff(found) <= 0).all()
    assert ((found > 0) & (found <= 1)).all()


@each_way
@given(pvalues=looks, later=looks)
def test_later_looks_change_nothing_before_them(independent, pvalues, later):
    found = dd.anytime_pvalues(pvalues + later, independent=independent)[: len(pvalues)]
    np.testing.assert_allclose(found, dd.anytime_pvalues(pvalues, independent=independent), rtol=1e-12)


@each_way
@given(pvalues=looks, data=st.data())
def test_a_smaller_pvalue_never_raises_it(independent, pvalues, data):
    """So ties, which make p-values larger than those with ties broken at random, cannot spoil the bound."""
    place = data.draw(st.integers(0, len(pvalues) - 1))
    smaller = list(pvalues)
    smaller[place] /= data.draw(st.floats(1.0, 1e6))
    smaller[place] = max(smaller[place], 1e-300)
    lower, upper = (dd.anytime_pvalues(each, independent=independent) for each in (smaller, pvalues))
    assert (lower <= upper * (1 + 1e-12)).all()


@given(looks)
def test_with_dependent_looks_it_is_never_below_the_smallest_pvalue(pvalues):
    assert (dd.anytime_pvalues(pvalues) >= np.minimum.accumulate(pvalues)).all()


@given(st.floats(1e-300, 1.0))
def test_one_look_is_never_below_its_own_pvalue(pvalue):
    for independent in (False, True):
        assert dd.anytime_pvalues([pvalue], independent=independent)[0] >= pvalue


@given(looks)
def test_with_dependent_looks_a_pvalue_counts_most_when_it_comes_first(pvalues):
    assert dd.anytime_pvalues(sorted(pvalues))[-1] <= dd.anytime_pvalues(pvalues)[-1]


def test_with_independent_looks_small_pvalues_count_most_together():
    together, apart = np.ones(30), np.ones(30)
    together[10:15] = apart[5::5] = 0.01
    assert dd.anytime_pvalues(together, independent=True)[-1] <= ALPHA < dd.anytime_pvalues(apart, independent=True)[-1]


def test_evidence_beyond_the_range_of_floats_is_not_zero():
    found = dd.anytime_pvalues(np.full(50, 5e-324), independent=True)
    assert (found > 0).all()
    assert found[-1] < 1e-300


@pytest.mark.parametrize(
    "hold",
    [list, tuple, np.array, np.float32, np.ma.array, pd.Series, pl.Series, lambda p: pd.array(p, dtype="Float64")],
)
def test_any_sequence_of_numbers_will_do(hold):
    values = [1.0, 0.5, 0.0625, 2.0**-12]
    for independent in (False, True):
        expected = dd.anytime_pvalues(values, independent=independent)
        np.testing.assert_array_equal(dd.anytime_pvalues(hold(values), independent=independent), expected)


def test_the_array_of_the_caller_is_neither_changed_nor_kept():
    values = np.array([0.5, 1e-5])
    found = dd.anytime_pvalues(values)
    assert values.tolist() == [0.5, 1e-5]
    assert not np.shares_memory(found, values)


RANGE = "pvalues must be above 0 and at most 1; got "
SEQUENCE = "pvalues must be a 1-D sequence of numbers, one p-value for each look; got "
RESULT = SimpleNamespace(pvalue=0.5)


@pytest.mark.parametrize(
    ("pvalues", "text"),
    [
        ([0.5, np.nan], RANGE + "nan at position 1: leave out looks that were not taken"),
        ([None, 0.5], RANGE + "nan at position 0: leave out looks that were not taken"),
        (np.ma.array([0.5, 0.1], mask=[0, 1]), RANGE + "nan at position 1: leave out looks that were not taken"),
        ([0.5, 0.0], RANGE + "0.0 at position 1: a permutation p-value is never 0, count the data themselves"),
        ([0.5, -0.1], RANGE + "-0.1 at position 1"),
        ([5, 0.1], RANGE + "5.0 at position 0"),
        ([np.inf], RANGE + "inf at position 0"),
        ([], SEQUENCE + "none"),
        (0.5, SEQUENCE + "0.5"),
        (None, SEQUENCE + "None"),
        ("0.5", SEQUENCE + "'0.5'"),
        ([0.5, "0.1"], SEQUENCE + "'0.1' at position 1"),
        ([0.5, True], SEQUENCE + "True at position 1"),
        ([0.5j], SEQUENCE + "0.5j at position 0"),
        ([[0.5, 0.1]], SEQUENCE + "shape (1, 2)"),
        ([[0.5], [0.1, 0.2]], SEQUENCE + "an object of type list: rows differ in length, 1 in row 0 and 2 in row 1"),
        ({"monday": 0.5}, SEQUENCE + "an object of type dict"),
        (iter([0.5]), SEQUENCE + "an object of type list_iterator"),
        ([0.5, RESULT], SEQUENCE + "an object of type SimpleNamespace at position 1 (did you mean its pvalue?)"),
    ],
    ids=lambda each: None if isinstance(each, str) else type(each).__name__,
)
def test_what_cannot_be_pvalues_is_refused(pvalues, text):
    with pytest.raises(dd.InputError) as caught:
        dd.anytime_pvalues(pvalues)
    assert str(caught.value).startswith(text)
    assert caught.value.argument == "pvalues"


def test_independent_is_true_or_false():
    with pytest.raises(dd.InputError, match=r"^independent must be True or False; got 'yes'$"):
        dd.anytime_pvalues([0.5], independent="yes")
