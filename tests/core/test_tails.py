"""Evidence without a floor: bounds of hypergeometric tails."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from densdiff.core.tails import COARSE, column_tail, group_cells, pair_tail, tail_bound


def two_sided(a, b, n, m):
    """Twice the smaller exact tail, from the law itself."""
    law = hypergeom(n + m, a + b, m)
    return min(1.0, 2.0 * min(law.sf(b - 1), law.cdf(b)))


@given(st.integers(2, 60), st.integers(2, 60), st.data())
def test_a_bound_is_never_below_the_exact_tail(n, m, data):
    a, b = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    assert tail_bound(a, b, n, m) >= two_sided(a, b, n, m) * (1 - 1e-9)


@pytest.mark.parametrize(("a", "b"), [(500, 610), (500, 700), (500, 380), (30, 90), (1000, 1400)])
def test_a_bound_is_close_where_it_matters(a, b):
    exact = two_sided(a, b, 2000, 2000)
    assert exact <= tail_bound(a, b, 2000, 2000) <= 1.3 * exact


@given(st.integers(2, 40), st.integers(2, 40), st.data())
def test_swapping_the_tables_changes_no_bound(n, m, data):
    a, b = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    assert tail_bound(a, b, n, m) == pytest.approx(float(tail_bound(b, a, m, n)), rel=1e-9)


def test_evidence_has_no_floor_and_is_never_zero():
    assert 0.0 < float(tail_bound(0, 10**6, 10**6, 10**6)) < 1e-300
    assert float(tail_bound(500, 800, 2000, 2000)) < 1e-20


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.booleans())
def test_groups_of_cells_are_few_and_ranges_keep_their_order(counts, is_ordered):
    counts[0] += 1
    groups = group_cells(counts, is_ordered, COARSE)
    assert groups.min() >= 0
    assert groups.max() < COARSE
    if is_ordered:
        assert (np.diff(groups) >= 0).all()


def test_ranges_hold_about_equal_counts():
    counts = np.bincount(group_cells(np.ones(1600), True, 16))
    assert (counts == 100).all()


@pytest.mark.parametrize("kind", ["numbers", "levels", "pairs"])
def test_pvalues_of_equal_populations_are_at_most_uniform(kind):
    random, runs = np.random.default_rng(0), 2000
    pvalues = np.array([pvalue_of_equal(kind, random) for _ in range(runs)])
    for level in (0.05, 0.2):
        assert np.mean(pvalues <= level) <= level + 3 * np.sqrt(level * (1 - level) / runs)


def pvalue_of_equal(kind, random):
    n, m = 60, 40
    if kind == "pairs":
        return pair_tail(random.integers(0, COARSE, (n + m, 3)), n)
    codes = random.integers(0, 12, n + m)
    counts = [np.bincount(part, minlength=12) for part in (codes[:n], codes[n:])]
    return column_tail(*counts, is_ordered=kind == "numbers")


def test_a_changed_dependence_of_a_pair_is_seen_though_no_column_changes():
    random = np.random.default_rng(0)
    codes = random.integers(0, COARSE, (4000, 3))
    codes[2000:, 1] = np.where(random.random(2000) < 0.4, codes[2000:, 0], codes[2000:, 1])
    assert pair_tail(codes, 2000) < 1e-6
    counts = [np.bincount(part[:, 1]) for part in (codes[:2000], codes[2000:])]
    assert column_tail(*counts, is_ordered=True) > 1e-3


def test_one_column_has_no_pairs():
    assert pair_tail(np.zeros((10, 1), dtype=np.intp), 5) == 1.0
