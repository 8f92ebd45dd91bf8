"""Pairs of columns: equal dependence raises no alarm whatever the single columns do, a changed one is named."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from densdiff.core import dependence
from densdiff.core.dependence import pair_changes

LEVELS = np.array([0, 0, 0, 0, 2, 3, 5])  # the fourth column holds the integers 0 to 3


def mixed(random, n, rho, changed=False):
    """Columns cut from equally correlated normals; ``changed`` moves every single column."""
    z = np.sqrt(rho) * random.normal(size=(n, 1)) + np.sqrt(1 - rho) * random.normal(size=(n, 7))
    u = stats.norm.cdf(z)
    cuts = [
        [[0.25, 0.5, 0.75], [0.15, 0.4, 0.6]],
        [[0.5], [0.65]],
        [[0.5, 0.8], [0.4, 0.65]],
        [
            [0.4, 0.7, 0.9, max(0.91, 1 - 5 / n)],
            [0.3, 0.6, 0.8, max(0.81, 1 - 5 / n)],
        ],  # the last level has about five rows
    ]
    coded = [np.digitize(u[:, 3 + k], pair[changed]) for k, pair in enumerate(cuts)]
    heavy = stats.cauchy.ppf(u[:, 1])
    numbers = [np.exp(z[:, 0]), heavy + 3, 2 * z[:, 2]] if changed else [z[:, 0], heavy, z[:, 2]]
    return np.column_stack(numbers + coded).astype(np.float64)


def by_pair(found):
    return {(pair.first, pair.second): pair for pair in found}


@pytest.mark.parametrize("rho", [0.0, 0.8])
@pytest.mark.parametrize(("n", "m", "changed"), [(200, 200, False), (150, 600, False), (150, 600, True)])
def test_equal_dependence_raises_few_alarms(n, m, changed, rho):
    random, runs = np.random.default_rng(7), 40
    alarms = sum(
        pair_changes(mixed(random, n, rho), mixed(random, m, rho, changed), LEVELS)[0].pvalue_adjusted <= 0.05
        for _ in range(runs)
    )
    assert alarms <= stats.binom.ppf(0.999, runs, 0.05)


@pytest.mark.parametrize("levels", [[0, 0], [3, 0], [3, 3]], ids=["numbers", "mixed", "categories"])
@pytest.mark.parametrize("share", [0.0, 0.7])
def test_one_pair_keeps_its_level(levels, share):
    """With and without dependence the p-value of a pair is below 5 % in at most 5 % of runs, and not in far fewer."""
    random, runs = np.random.default_rng(11), 300

    def draw(n):
        first = random.choice(3, size=n, p=[0.5, 0.3, 0.2]) + (0.0 if levels[0] else random.normal(size=n))
        second = random.integers(0, 3, size=n) if levels[1] else random.normal(size=n)
        return np.column_stack([first, np.where(random.random(n) < share, first, second)])

    alarms = sum(pair_changes(draw(150), draw(300), np.array(levels))[0].pvalue <= 0.05 for _ in range(runs))
    assert stats.binom.ppf(0.001, runs, 0.02) <= alarms <= stats.binom.ppf(0.999, runs, 0.05)


def test_level_shares_may_change_when_the_laws_within_the_levels_do_not():
    random, runs = np.random.default_rng(3), 80

    def draw(n, share):
        level = (random.random(n) < share).astype(np.float64)
        other = random.random(n) < np.where(level > 0, 0.8, 0.3)
        return np.column_stack([level, random.normal(size=n) + 1.5 * level, other])

    alarms = np.zeros(2)
    for _ in range(runs):
        found = by_pair(pair_changes(draw(3000, 0.5), draw(3000, 0.8), np.array([2, 0, 2])))
        alarms += [found[0, 1].pvalue <= 0.05, found[0, 2].pvalue <= 0.05]
    assert alarms.max() <= stats.binom.ppf(0.999, runs, 0.05)


def correlated(random, n, rho, d=12):
    rows = random.normal(size=(n, d))
    rows[:, 7] = rho * rows[:, 2] + np.sqrt(1 - rho**2) * rows[:, 7]
    return rows


@pytest.mark.parametrize(("n", "rho"), [(500, 0.8), (500, -0.8), (1000, 0.3)])
def test_a_new_correlation_is_named_first(n, rho):
    for seed in range(4):
        random = np.random.default_rng(seed)
        strongest, runner_up = pair_changes(correlated(random, n, 0), correlated(random, n, rho), np.zeros(12, int))[:2]
        assert (strongest.first, strongest.second, strongest.measure) == (2, 7, "Spearman's rho")
        assert strongest.pvalue_adjusted < 1e-3 < runner_up.pvalue_adjusted
        assert abs(strongest.dependence_b - rho) < 0.15 > abs(strongest.dependence_a)


def test_a_category_that_relates_otherwise_to_a_number_is_named():
    random = np.random.default_rng(5)
    samples = []
    for slope in (0.7, -0.7):
        rows = np.column_stack([random.integers(0, 3, size=400), random.normal(size=(400, 2))])
        rows[:, 2] += slope * (rows[:, 0] - 1)
        samples.append(rows)
    strongest, second = pair_changes(*samples, np.array([3, 0, 0]))[:2]
    assert (strongest.first, strongest.second, strongest.measure) == (0, 2, "correlation ratio of ranks")
    assert strongest.pvalue_adjusted < 1e-6 < 0.01 < second.pvalue_adjusted


def test_exclusive_or_of_booleans_is_named():
    random = np.random.default_rng(6)
    a, b = (random.integers(0, 2, size=(200, 4)).astype(np.float64) for _ in range(2))
    b[:, 3] = b[:, 1] != 1
    strongest, second = pair_changes(a, b, np.full(4, 2))[:2]
    assert (strongest.first, strongest.second, strongest.measure) == (1, 3, "Cramer's V")
    assert strongest.pvalue_adjusted < 1e-6 < 0.01 < second.pvalue_adjusted
    assert strongest.dependence_b == pytest.approx(1.0)


def test_measures_and_holm_equal_their_plain_forms():
    random = np.random.default_rng(9)
    samples = mixed(random, 300, 0.3), mixed(random, 250, 0.6)
    for rows in samples:
        rows[:, 6] = np.minimum(rows[:, 6], 3)  # no level is rare, so that all take part
    found = pair_changes(*samples, LEVELS)
    assert [(pair.first, pair.second) for pair in sorted(found, key=lambda pair: (pair.first, pair.second))] == list(
        combinations(range(7), 2)
    )
    for pair in found:
        for rows, value in zip(samples, (pair.dependence_a, pair.dependence_b), strict=True):
            first, second = rows[:, pair.first], rows[:, pair.second]
            if pair.measure == "Spearman's rho":
                expected = stats.spearmanr(first, second).statistic
            elif pair.measure == "Cramer's V":
                expected = stats.contingency.association(stats.contingency.crosstab(first, second).count)
            else:
                ranks = stats.rankdata(first)
                inner = np.array([ranks[second == level].mean() for level in second])
                expected = inner.std() / ranks.std()
            assert value == pytest.approx(expected, abs=1e-12)
    pvalues = [pair.pvalue for pair in found]
    assert pvalues == sorted(pvalues)
    running = [max(min(1.0, p * (len(found) - k)) for k, p in enumerate(pvalues[: last + 1])) for last in range(21)]
    np.testing.assert_allclose([pair.pvalue_adjusted for pair in found], running, rtol=1e-14)


def test_influence_equals_the_change_of_the_means_when_a_row_is_added():
    random = np.random.default_rng(2)
    joint = random.dirichlet(np.ones(20 * 16)).reshape(20, 16)
    means, influence = dependence.mean_products(joint)
    centered = influence - joint.ravel() @ influence
    correlation = []
    for cell in range(0, 320, 7):
        step = 1e-6 * np.eye(320)[cell].reshape(joint.shape)
        slope = (dependence.mean_products((joint + step) / (1 + 1e-6))[0] - means) / 1e-6
        correlation.append((slope, centered[cell]))
    slopes, expected = np.array(correlation).transpose(1, 0, 2)
    # the cells' own width, 1/20, is all that the formula for continuous ranks leaves out
    assert np.abs(slopes - expected).max() <= 0.05 * np.abs(expected).max()


@pytest.mark.parametrize("n", [35, 101])
def test_bins_of_a_column_are_mirrored_with_it(n):
    values = np.random.default_rng(n).normal(size=n)
    found, mirrored = (dependence._column(x, x, 0) for x in (values, -values))
    assert found.cells == mirrored.cells
    inside = (2 * stats.rankdata(values).astype(int) - 1) * found.cells % (2 * n) > 0  # not at the edge of two bins
    assert inside.sum() > 0.9 * n
    np.testing.assert_array_equal(found.codes[0][inside], (found.cells - 1 - mirrored.codes[0])[inside])


def test_a_row_moves_the_ranks_of_later_cells_and_by_half_those_of_its_own():
    terms = np.random.default_rng(3).normal(size=(6, 2, 3))
    expected = [terms[cell + 1 :].sum(axis=0) + terms[cell] / 2 for cell in range(6)]
    np.testing.assert_allclose(dependence._above(terms), expected, rtol=0, atol=1e-14)


def test_pvalues_of_a_number_in_the_levels_of_a_category_are_spread_evenly():
    """A row moves its own level's mean and, by the ranks, the others': with a wrong sign the mean of p is 0.79."""
    random, found = np.random.default_rng(12), []
    for _ in range(100):
        levels = random.integers(3, size=(2, 400)).astype(float)
        a, b = (np.column_stack([level + random.normal(size=400), level]) for level in levels)
        found.append(dependence.pair_changes(a, b, np.array([0, 3]))[0].pvalue)
    assert 0.4 < np.mean(found) < 0.65  # a mean of 100 has a deviation of 0.03


@pytest.mark.parametrize("cell", [1.0, 2.0, 9.0])
def test_equal_odds_of_small_tables_are_those_of_the_fit_written_out(cell):
    """Margins leave one number free in two tables of two by two: the one that makes the odds ratios equal."""
    tables = np.array([[[cell, 8.0], [9.0, 7.0]], [[1.0, 20.0], [30.0, 8.0]]])
    signs = np.array([[[1.0, -1.0], [-1.0, 1.0]], [[-1.0, 1.0], [1.0, -1.0]]])
    ends = 1e-9 - tables[signs > 0].min(), tables[signs < 0].min() - 1e-9
    free = brentq(lambda by: (signs * np.log(tables + by * signs)).sum(), *ends)
    fitted = tables + free * signs
    likelihood = 2 * (tables * np.log(tables / fitted)).sum()
    pearson = (np.square(tables - fitted) / fitted).sum()
    assert dependence._equal_odds(tables) == pytest.approx(stats.chi2.sf(min(pearson, likelihood), 1), rel=1e-6)


def test_equal_odds_of_two_by_two_tables_is_near_the_logarithmic_test():
    tables = np.array([[[300.0, 200.0], [150.0, 350.0]], [[500.0, 230.0], [330.0, 360.0]]])
    logs = np.log(tables[:, 0, 0] * tables[:, 1, 1] / (tables[:, 0, 1] * tables[:, 1, 0]))
    z = (logs[0] - logs[1]) / np.sqrt((1 / tables).sum())
    assert stats.norm.isf(dependence._equal_odds(tables) / 2) == pytest.approx(abs(z), rel=0.02)
    scaled = tables * np.array([[[1.0], [1.0]], [[3.0], [1.0]]])
    scaled[0] = scaled[1] / 2  # the same odds, other shares
    assert dependence._equal_odds(scaled * np.array([[[1.0, 5.0]], [[1.0, 1.0]]])) == pytest.approx(1.0, abs=1e-4)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 80), m=st.integers(2, 80))
def test_swapping_samples_order_of_rows_and_monotone_scales_change_nothing(seed, n, m):
    random = np.random.default_rng(seed)
    a, b = mixed(random, n, 0.5), mixed(random, m, 0.5)
    expected = by_pair(pair_changes(a, b, LEVELS))
    swapped = by_pair(pair_changes(b, a, LEVELS))
    other = b[random.permutation(m)]
    other[:, 2] = np.exp(other[:, 2])
    moved = by_pair(pair_changes(a, other, LEVELS))
    for key, pair in expected.items():
        assert 0 < pair.pvalue <= pair.pvalue_adjusted <= 1
        assert swapped[key].pvalue == pytest.approx(pair.pvalue, rel=1e-6)
        assert (swapped[key].dependence_a, swapped[key].dependence_b) == (pair.dependence_b, pair.dependence_a)
        assert moved[key].pvalue == pytest.approx(pair.pvalue, rel=1e-6)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (2, 50), (150, 601)])
def test_functional_constant_and_rare_columns_raise_no_alarm(n, m):
    random = np.random.default_rng(1)

    def draw(size, constant):
        x, c = random.normal(size=size), random.integers(0, 2, size=size)
        rare = np.zeros(size)
        rare[: min(5, size)] = 1
        atom = np.where(random.random(size) < 0.5, 0.0, x)
        return np.column_stack([x, x**3, -x, np.full(size, constant), c, 1 - c, rare * (x > 0), atom, np.zeros(size)])

    levels = np.array([0, 0, 0, 0, 2, 2, 2, 0, 1])
    found = pair_changes(draw(n, 1.0), draw(m, 2.0), levels)
    assert len(found) == 36
    assert found[0].pvalue_adjusted > 0.05
    assert all(np.isfinite([pair.dependence_a, pair.dependence_b]).all() for pair in found)


def test_the_same_sample_twice_has_no_change():
    a = mixed(np.random.default_rng(4), 300, 0.5)
    assert min(pair.pvalue for pair in pair_changes(a, a, LEVELS)) > 1 - 1e-6


def test_a_single_column_has_no_pairs():
    assert pair_changes(np.ones((5, 1)), np.ones((4, 1)), np.array([0])) == []
