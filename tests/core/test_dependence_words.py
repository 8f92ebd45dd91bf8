"""A changed dependence is told by the measure that changed, in units of a correlation."""

import numpy as np
import pytest
from scipy import stats

from densdiff.core.dependence import pair_changes
from densdiff.core.dependence_words import TELLING, told_change

N = 4000


def told(a, b, n_levels=(0, 0)):
    (pair,) = pair_changes(np.column_stack(a).astype(float), np.column_stack(b).astype(float), np.array(n_levels))
    assert pair.pvalue < 1e-3
    return told_change(pair)


def test_a_correlation_is_told_as_such_and_has_a_sign():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, N))
    change = told((x, y), (x, y - 0.6 * x))
    assert change.measure == "Spearman's rho"
    assert change.value_b == pytest.approx(stats.spearmanr(x, y - 0.6 * x).statistic, abs=1e-9)
    assert change.signed_change == change.value_b - change.value_a < -TELLING
    assert change.change == pytest.approx(-change.signed_change)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_parabola_is_told_by_the_distance_from_the_middle(swapped):
    random = np.random.default_rng(1)
    x, y = random.normal(size=(2, N))
    columns = [(x, y), (x, x**2 + 0.3 * y)]
    change = told(*(pair[::-1] if swapped else pair for pair in columns))
    names = ("second", "first") if swapped else ("first", "second")
    assert change.measure == f"correlation of {{{names[1]}}} with the distance of {{{names[0]}}} from its middle"
    assert abs(change.value_a) < 0.1
    ranks = (stats.rankdata(x) - 0.5) / N
    expected = np.corrcoef((2 * ranks - 1) ** 2, stats.rankdata(columns[1][1]))[0, 1]
    assert change.value_b == pytest.approx(expected, abs=0.02)  # 32 bins
    assert change.signed_change is None


def test_common_size_without_common_sign_is_told_by_both_distances():
    random = np.random.default_rng(2)
    x, y = random.normal(size=(2, N))
    change = told((x, y), (x, y * np.exp(np.abs(x))))
    assert change.measure == "correlation of the distances of both from their middles"
    assert change.value_a + TELLING < change.value_b


@pytest.mark.parametrize("swapped", [False, True])
def test_a_level_is_named_where_a_number_moved_though_the_usual_measure_did_not(swapped):
    random = np.random.default_rng(3)
    level, y = random.integers(4, size=N), random.normal(size=N)
    before, after = y + 1.0 * (level == 1), y + 1.0 * (level == 2)
    order = slice(None, None, -1 if swapped else 1)
    change = told((level, before)[order], (level, after)[order], (4, 0)[order])
    named = change.levels[order][0]
    assert named in (1, 2)
    assert change.levels[order][1] is None
    number, category = ("first", "second") if swapped else ("second", "first")
    assert change.measure == (f"mean rank (from 0 to 1) of {{{number}}} where {{{category}}} = {{level_{category}}}")
    for value, values in ((change.value_a, before), (change.value_b, after)):
        assert value == pytest.approx(stats.rankdata(values)[level == named].mean() / N, abs=0.02)


def test_a_level_is_named_where_a_number_spread():
    random = np.random.default_rng(4)
    level, y = random.integers(3, size=N), random.normal(size=N)
    change = told((level, y), (level, np.where(level == 2, 5 * y, y)), (3, 0))
    assert change.measure == "spread (1 in all rows) of the ranks of {second} where {first} = {level_first}"
    assert change.levels == (2, None)
    assert change.value_a == pytest.approx(1.0, abs=0.05)
    ranks = 2 * (stats.rankdata(np.where(level == 2, 5 * y, y)) - 0.5) / N - 1
    assert change.value_b == pytest.approx(np.sqrt(3 * np.mean(ranks[level == 2] ** 2)), abs=0.03)


def test_levels_that_meet_more_often_are_named():
    random = np.random.default_rng(5)
    first, second = random.integers(3, size=(2, N))
    a, b = second.copy(), second.copy()
    a[(first == 0) & (random.random(N) < 0.3)] = 1
    b[(first == 0) & (random.random(N) < 0.3)] = 2
    change = told((first, a), (first, b), (3, 3))
    assert change.measure == "how often {first} = {level_first} meets {second} = {level_second} (1 by chance)"
    assert change.levels[0] == 0
    assert change.levels[1] in (1, 2)
    assert (change.value_a > 1.1 > 0.9 > change.value_b) == (change.levels[1] == 1)


def test_rare_levels_count_by_the_share_of_their_rows():
    """Six of two thousand levels take part, and half of the rows in the second case."""
    random = np.random.default_rng(6)
    changes = []
    for share in (0.05, 0.5):
        level = np.where(random.random(N) < share, random.integers(2, size=N), random.integers(2, 2000, size=N))
        y = random.normal(size=N)
        changes.append(told((level, y), (level, y + 3.0 * (level == 0)), (2000, 0)).change)
    assert changes[0] < 0.5 * changes[1]
