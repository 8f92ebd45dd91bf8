"""Statistics of a test: each answers every question of the interface, and a test asks them nothing else."""

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import densdiff as dd
from densdiff.core import cell_power, resample
from densdiff.core.kernel import radius
from densdiff.data.pair import check_arrays
from densdiff.estimators.kde import GaussianOverlap
from densdiff.solvers.base import FilterKernel
from densdiff.solvers.centers import CenterKernel
from densdiff.solvers.prepared import prepare
from densdiff.testing import two_sample
from densdiff.testing.cell_statistics import CellStatistics
from densdiff.testing.kernel_statistics import CenterStatistics, KernelStatistics, width_of_each_density
from densdiff.testing.kliep_statistics import KliepSettings, KliepStatistics
from densdiff.testing.limits import Limit
from densdiff.testing.low_order import with_low_order
from densdiff.testing.planned import PlannedTest
from densdiff.testing.refit import CrossValidation, Refitted, refitted_centers, refitted_pairs
from densdiff.testing.refit_kde import RefittedKDE
from densdiff.testing.statistics import BaseStatistics, ExactStatistic, Labels
from densdiff.testing.units import Units
from tests import oracle

N, M = 9, 7
MODELS = [(1.2, 0.1), (0.6, 0.02)]
IS_X = np.repeat([True, False], [N, M])


def samples():
    random = np.random.default_rng(0)
    return random.normal(size=(N, 2)), random.normal(size=(M, 2)) + 0.5


DATA = prepare(check_arrays(*samples()), standardize=True, folds=3, random_state=0)
ROWS = DATA.pooled_rows
CENTERS = CenterKernel(ROWS[::3], radius(ROWS), 0.5)
SEARCH = CrossValidation(0, 3, np.array([1.2, 0.6]), np.array([0.1, 0.02]))
EACH_ROW = Units.of_rows(N, M)


def kernel_statistics():
    return KernelStatistics(ROWS, MODELS, FilterKernel(2))


STATISTICS = {
    "kernel": kernel_statistics,
    "kernel of densities": lambda: KernelStatistics(ROWS, MODELS, GaussianOverlap(2), width_of_each_density),
    "centers": lambda: CenterStatistics(DATA, MODELS, CENTERS, EACH_ROW),
    "refitted pairs": lambda: refitted_pairs(ROWS, (DATA.x, DATA.y), SEARCH),
    "refitted centers": lambda: refitted_centers(DATA, CENTERS, SEARCH),
    "refitted densities": lambda: RefittedKDE(ROWS, DATA.sizes, CrossValidation(0, 3, SEARCH.sigmas)),
    "kliep": lambda: KliepStatistics(ROWS, DATA.sizes, KliepSettings(SEARCH.sigmas, 300, 0)),
    "refitted kliep": lambda: KliepStatistics(ROWS, DATA.sizes, KliepSettings(SEARCH.sigmas, 5, 0, 3)),
    "low order": lambda: with_low_order(kernel_statistics(), DATA, EACH_ROW),
    "cells": lambda: CellStatistics(DATA, MODELS),
}
IN_LOGS = {"refitted pairs", "refitted centers", "refitted densities"}
WITH_LIMIT = {"kernel", "kernel of densities", "centers", "low order", "cells"}
each_statistic = pytest.mark.parametrize("name", STATISTICS)
each_of_rows = pytest.mark.parametrize("name", [name for name in STATISTICS if name != "cells"])


def test_every_kind_of_statistic_is_held_to_the_interface_here():
    kinds = {type(build()) for build in STATISTICS.values()}
    assert kinds == {kind for kind in BaseStatistics.__subclasses__() if kind.__module__.startswith("densdiff.")}
    assert not any(kind.__subclasses__() for kind in kinds)  # one level deep


@each_statistic
def test_a_statistic_tells_its_models_scales_and_units(name):
    statistics = STATISTICS[name]()
    table = statistics.table(IS_X[None])
    models = 1 if "refitted" in name else 2
    assert table.shape == (1, models) == (1, len(statistics.log_scales))
    assert np.isfinite(table).all()
    assert statistics.in_logs == (name in IN_LOGS)
    assert bool(statistics.further_parts) == (name == "low order")
    for index in range(models):
        factor = statistics.log_factor(index, 3.0)
        assert factor == (0.0 if "kliep" in name else -statistics.log_scales[index] - 3.0)
        (sigma, lam), (doubled, same_lam) = (statistics.reported_model(index, unit) for unit in (1.0, 2.0))
        assert same_lam == lam
        assert (lam is None) == ("kliep" in name or "densities" in name)
        np.testing.assert_array_equal(doubled, np.multiply(2.0, sigma))
        if name == "refitted densities":
            assert set(sigma) <= set(SEARCH.sigmas)
            continue
        assert sigma == (2 * (statistics.models[index][0],) if "densities" in name else statistics.models[index][0])
        assert statistics.models[index][0] in SEARCH.sigmas
        assert lam is None or lam == statistics.models[index][1]


@each_statistic
def test_a_statistic_knows_its_limit_or_says_that_it_knows_none(name):
    limits = STATISTICS[name]().limits(0, 1 / N + 1 / M)
    if name not in WITH_LIMIT:
        assert limits is None
        return
    assert len(limits) == 2
    assert all(isinstance(limit, Limit) for limit in limits)
    observed = STATISTICS[name]().table(IS_X[None])[0]
    for limit, value in zip(limits, observed, strict=True):  # on the scale of the table
        assert 0.2 * value < limit.mean < 5 * value


@each_statistic
def test_only_cells_have_a_more_exact_value_of_the_data(name):
    statistics = STATISTICS[name]()
    statistics.table(IS_X[None])
    exact = statistics.exact(0, 37)
    if name != "cells":
        assert exact is None
        return
    assert isinstance(exact, ExactStatistic)
    assert exact.note == "rows were relabelled by cell, because 37 relabellings of single rows would take too long"
    of_rows = kernel_statistics()
    expected = of_rows.table(IS_X[None])[0, 0] * np.exp(-of_rows.log_scales[0])
    assert exact.value == pytest.approx(expected, rel=1e-4)  # the grid of two columns is right to that


@each_of_rows
def test_rows_are_relabelled_at_random_with_the_data_first(name):
    table, null = STATISTICS[name]().relabelled(Labels(IS_X), 20, np.random.default_rng(3))
    drawn = np.concatenate(list(resample.relabellings(IS_X, None, 20, np.random.default_rng(3))))
    expected = STATISTICS[name]().table(np.vstack([IS_X, drawn]))
    assert null == "permutation"
    np.testing.assert_array_equal(table[:, : expected.shape[1]], expected)
    further = sum(len(part.names) for part in STATISTICS[name]().further_parts)
    assert table.shape[1] == expected.shape[1] + further


@each_of_rows
def test_all_partitions_are_enumerated_if_they_are_no_more_than_asked_for(name):
    labels = Labels(IS_X, np.arange(N + M) % 8)  # groups of two, one of them within X
    table, null = STATISTICS[name]().relabelled(labels, 2**7 - 1, np.random.default_rng(0))
    flips = np.array(list(itertools.product([False, True], repeat=7)))  # (128, 7)
    both_ways = np.hstack([np.ones((128, 1), dtype=bool), ~flips, np.ones((128, 1), dtype=bool), flips])
    expected = STATISTICS[name]().table(both_ways)  # the data first
    assert null == "all partitions"
    assert len(table) == 2**7
    np.testing.assert_allclose(table[0, : expected.shape[1]], expected[0], rtol=1e-9)
    for values, others in zip(table.T, expected.T, strict=False):
        np.testing.assert_allclose(sorted(values), sorted(others), rtol=1e-9, atol=1e-12)
    assert STATISTICS[name]().relabelled(labels, 2**7 - 2, np.random.default_rng(0)).null == "permutation"


def quadratic_form(kernel, is_x):
    """w'Kw by loops over all pairs, w = 1/n in X and -1/m in Y."""
    w = [1 / sum(is_x) if label else -1 / (len(is_x) - sum(is_x)) for label in is_x]
    return sum(w[i] * w[j] * kernel[i, j] for i, j in itertools.product(range(len(w)), repeat=2))


@st.composite
def labelled_rows(draw):
    """Some rows, which of them are X, and perhaps groups."""
    n, m, d = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    is_x = np.array(draw(st.permutations([True] * n + [False] * m)))
    groups = draw(st.none() | st.lists(st.integers(0, 2), min_size=n + m, max_size=n + m))
    rows = np.random.default_rng(draw(st.integers(0, 1000))).normal(size=(n + m, d))
    return rows, is_x, None if groups is None else np.array(groups)


@settings(max_examples=40, deadline=None)
@given(labelled_rows(), st.floats(0.4, 2.0), st.floats(0.01, 1.0))
def test_enumerating_all_partitions_is_the_permutation_test_by_its_definition(case, sigma, lam):
    rows, is_x, groups = case
    plain, squared = oracle.filter_kernels(oracle.distances(rows, rows), sigma, lam, rows.shape[1])
    blocks = np.zeros(len(is_x), dtype=int) if groups is None else groups
    partitions = [
        labels
        for labels in itertools.product([False, True], repeat=len(is_x))
        if (np.bincount(blocks, labels) == np.bincount(blocks, is_x)).all()
    ]
    expected = [quadratic_form(2 * plain - squared, labels) for labels in partitions]
    statistics = KernelStatistics(rows, [(sigma, lam)], FilterKernel(rows.shape[1]))
    table, null = statistics.relabelled(Labels(is_x, groups), 10**6, np.random.default_rng(0))
    values = table[:, 0] * np.exp(-statistics.log_scales[0])
    tolerance = 1e-9 * max(expected)
    own = expected[partitions.index(tuple(is_x.tolist()))]
    assert null == "all partitions"
    assert values[0] == pytest.approx(own, abs=tolerance)
    np.testing.assert_allclose(sorted(values), sorted(expected), atol=tolerance)
    share = np.mean([value >= own - tolerance for value in expected])
    assert resample.pvalue(values[0], values[1:]) == pytest.approx(share, abs=1e-12)


def test_cells_draw_counts_and_look_at_no_labels():
    statistics = STATISTICS["cells"]()
    table, null = statistics.relabelled(Labels(np.empty(0, dtype=bool)), 30, np.random.default_rng(2))
    cells = statistics.cells
    (batch,) = np.random.default_rng(2).integers(1 << 63, size=1)  # as many counts are drawn at once
    counts = resample.permuted_counts(cells.pooled, N, 30, np.random.default_rng(batch))
    expected = cell_power.cell_statistics(cells, np.vstack([cells.counts[:1], counts]), MODELS)
    assert null == "permutation"
    np.testing.assert_allclose(table, expected, rtol=1e-12)
    np.testing.assert_array_equal(table[:1], statistics.table(np.empty((1, 0), dtype=bool)))


def test_cells_with_low_orders_relabel_the_same_counts():
    plain = STATISTICS["cells"]()
    beside = plain.with_low_order()
    tables = [
        each.relabelled(Labels(np.empty(0, dtype=bool)), 30, np.random.default_rng(2))[0] for each in (plain, beside)
    ]
    np.testing.assert_array_equal(tables[1][:, : len(MODELS)], tables[0])
    assert tables[1].shape[1] == len(MODELS) + sum(len(part.names) for part in beside.further_parts)
    assert (tables[1][:, len(MODELS) :].std(axis=0) > 0).all()


def test_low_orders_are_beside_the_statistics_that_they_leave_as_they_are():
    beside = STATISTICS["low order"]()
    first, second = IS_X[None], np.random.default_rng(0).permuted(np.tile(IS_X, (5, 1)), axis=1)
    table = beside.joined_table([first, second])
    expected = beside.low_order.table(EACH_ROW.weights(np.vstack([first, second])))
    np.testing.assert_allclose(table[:, 2:], expected, rtol=1e-5)  # single precision, summed in another order
    np.testing.assert_allclose(table[:, :2], kernel_statistics().table(np.vstack([first, second])), rtol=1e-9)


def test_refitted_statistics_report_the_model_of_the_labels_they_saw_first():
    own = refitted_pairs(ROWS, (DATA.x, DATA.y), SEARCH).choose(IS_X[None])[0]
    statistics = refitted_pairs(ROWS, (DATA.x, DATA.y), SEARCH)
    others = np.random.default_rng(1).permuted(np.tile(IS_X, (30, 1)), axis=1)
    statistics.table(np.vstack([IS_X, others]))
    statistics.table(others[::-1])
    assert isinstance(statistics, Refitted)
    assert statistics.models == [own]


class MeanDifference(BaseStatistics):
    """A statistic that the library does not have: the squared difference of the means of a column, in halves."""

    models, log_scales = [(0.25, 0.5)], np.log([0.5])

    def __init__(self, column):
        self.column = column

    def table(self, labels):
        means = [[self.column[row].mean() - self.column[~row].mean()] for row in labels]
        return 0.5 * np.square(means)


def test_a_test_asks_a_statistic_of_any_kind_through_its_answers_alone(monkeypatch):
    x, y = np.random.default_rng(4).normal(size=(4, 1)), np.random.default_rng(5).normal(size=(5, 1)) + 1.0
    pair = check_arrays(x, y)

    def plan(estimator, data, options):
        return PlannedTest(MeanDifference(data.pooled_rows[:, 0]), "means", "one mean", 0.0)

    monkeypatch.setattr(two_sample, "plan_test", plan)
    model = dd.LSDD(folds=2, random_state=0)
    result = two_sample.pair_test(model, pair, 200)
    deviation = np.concatenate([x, y]).std()
    rows, differences = np.concatenate([x, y])[:, 0], []
    for chosen in itertools.combinations(range(9), 4):
        others = [i for i in range(9) if i not in chosen]
        differences.append((rows[list(chosen)].mean() - rows[others].mean()) ** 2)
    assert result.null == "all partitions"
    assert result.n_permutations == comb(9, 4) - 1
    # the column is standardized, and a squared distance of densities is per unit of it
    assert result.statistic == pytest.approx(differences[0] / deviation**3, rel=1e-9)
    assert result.pvalue == np.mean(np.array(differences) >= differences[0] * (1 - 1e-9))
    assert (result.sigma, result.lam, result.solver) == (pytest.approx(0.25), 0.5, "means")
    with pytest.raises(dd.InputError, match="null='asymptotic' is not available for means with 'one mean' tuning"):
        two_sample.pair_test(model, pair, 200, null="asymptotic")
