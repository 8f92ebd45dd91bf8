"""The two-sample test: relabellings, statistics, tuning and the limit of the null, each against a slow obvious twin."""

import contextlib
import dataclasses
import itertools
import json
import pickle
from math import comb

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chi2
from sklearn.linear_model import LinearRegression, LogisticRegression

import densdiff as dd
from densdiff.core import cell_power, radial, resample
from densdiff.core.kernel import radius
from densdiff.core.selection import draw_folds
from densdiff.data.pair import check_arrays
from densdiff.estimators.kde import GaussianOverlap
from densdiff.solvers.base import FilterKernel
from densdiff.solvers.centers import CenterKernel
from densdiff.solvers.prepared import prepare
from densdiff.testing import kernel_statistics, plan, plan_lsdd, planned, refit, units
from densdiff.testing.cell_statistics import CellStatistics
from densdiff.testing.kernel_statistics import CenterStatistics, KernelStatistics
from densdiff.testing.low_order import StatisticsWithLowOrder
from densdiff.testing.row_features import QuadraticForms
from densdiff.testing.statistics import Labels
from densdiff.testing.units import Units
from tests import oracle
from tests.evidence import plain_combined, plain_pvalue
from tests.large import Blocks

TUNINGS = ("aggregate", "pooled", "refit")
each_tuning = pytest.mark.parametrize("tuning", TUNINGS)
MODELS = {
    "auto": dd.LSDD(random_state=0),
    "centers": dd.LSDD(solver="centers", n_centers=20, random_state=0),
    "kde": dd.KDEDifference(random_state=0),
}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def first_n(n, m):
    """Labels of the data: X's rows first."""
    return np.repeat([True, False], [n, m])


def random_labels(random, n, m, count):
    return random.permuted(np.tile(first_n(n, m), (count, 1)), axis=1)


def prepared(x, y, folds=5, standardize=True):
    return prepare(check_arrays(x, y), standardize=standardize, folds=folds, random_state=0)


def center_statistics(data, models, n_centers):
    """Statistics from features at some of the pooled rows, each row relabelled by itself."""
    rows = data.pooled_rows
    kernel = CenterKernel(rows[:n_centers], radius(rows), 0.5)
    return CenterStatistics(data, models, kernel, Units.of_rows(*data.sizes))


def case_of(model, x, y, tuning, count=99):
    """The prepared samples and what `two_sample_test` makes of them before any relabelling."""
    data = prepared(x, y, model.folds)
    return data, plan.plan_test(model, data, planned.PlanOptions(tuning, count))


# --- relabellings


def listed(is_x, blocks):
    """Every relabelling with the same number of X's rows in every block, as a set of tuples."""
    blocks = np.zeros(len(is_x), dtype=int) if blocks is None else blocks
    wanted = np.bincount(blocks, is_x)
    return {
        labels
        for labels in itertools.product([False, True], repeat=len(is_x))
        if (np.bincount(blocks, labels) == wanted).all()
    }


SMALL = [
    (first_n(2, 3), None),
    (first_n(4, 4), None),
    (np.array([True, False, False, True, False]), None),
    (first_n(3, 3), np.array([0, 1, 2, 0, 1, 2])),
    (np.array([True, False, True, False, False, True, False]), np.array([1, 0, 0, 1, 0, 2, 1])),
]
each_small = pytest.mark.parametrize(("is_x", "blocks"), SMALL)


@each_small
def test_every_relabelling_is_listed_once_and_the_data_first(is_x, blocks):
    found = resample.every_relabelling(is_x, blocks)
    expected = listed(is_x, blocks)
    assert found.shape == (len(expected), len(is_x))
    assert {tuple(row) for row in found.tolist()} == expected
    assert (found[0] == is_x).all()
    assert resample.count_partitions(is_x, blocks) == len(expected)


def test_number_of_partitions_is_exact_where_floats_are_not():
    assert resample.count_partitions(first_n(300, 400), None) == comb(700, 300)
    blocks = np.tile(np.arange(100), 2)
    assert resample.count_partitions(first_n(100, 100), blocks) == 2**100


@each_small
def test_random_relabellings_keep_the_number_of_x_and_are_uniform(is_x, blocks):
    count = 6000
    found = np.concatenate(list(resample.relabellings(is_x, blocks, count, np.random.default_rng(3))))
    assert found.shape == (count, len(is_x))
    expected = sorted(listed(is_x, blocks))
    seen = np.array([(found == labels).all(axis=1).sum() for labels in expected])
    assert seen.sum() == count  # none outside the list
    mean = count / len(expected)
    assert (np.square(seen - mean) / mean).sum() < chi2.isf(1e-5, len(expected) - 1)


def test_random_relabellings_do_not_depend_on_how_many_are_drawn_at_a_time(monkeypatch):
    is_x, blocks = first_n(7, 5), np.arange(12) % 3
    for groups in (None, blocks):
        whole = np.concatenate(list(resample.relabellings(is_x, groups, 50, np.random.default_rng(1))))
        with monkeypatch.context() as patch:
            patch.setattr(resample, "_AT_ONCE", 7 * len(is_x))
            chunks = list(resample.relabellings(is_x, groups, 50, np.random.default_rng(1)))
        assert [len(chunk) for chunk in chunks] == [7] * 7 + [1]
        assert (np.concatenate(chunks) == whole).all()


# --- p-values


def test_pvalue_counts_the_data_and_every_tie():
    null = np.array([1.0, 2.0, 2.0, 3.0])
    assert resample.pvalue(5.0, null) == 1 / 5
    assert resample.pvalue(2.0, null) == 4 / 5
    assert resample.pvalue(2.0 * (1 + 1e-12), null) == 4 / 5  # another order of summation
    assert resample.pvalue(2.0 * (1 + 1e-6), null) == 2 / 5
    assert resample.pvalue(0.0, np.zeros(9)) == 1.0
    assert resample.pvalue(-1.0, null) == 1.0


def test_share_of_all_partitions_counts_the_data_once():
    assert resample.pvalue(3.0, np.array([1.0, 2.0, 4.0])) == 2 / 4
    assert resample.pvalue(4.0, np.array([1.0, 2.0, 3.0])) == 1 / 4
    assert resample.pvalue(0.1, np.full(5, 0.1)) == 1.0


def plain_largest(table):
    """The standardized maximum by loops, and the column that is largest in the first row."""
    scores = [
        [(value - np.mean(column)) / np.std(column) for value, column in zip(row, table.T, strict=True)]
        for row in table
    ]
    return np.array([max(row) for row in scores]), int(np.argmax(scores[0]))


def test_largest_standardized_equals_the_plain_loop():
    table = np.random.default_rng(0).gamma(2.0, size=(30, 4)) * [1, 10, 1e-3, 5]
    values = resample.largest_standardized(table)
    scores, best = plain_largest(table)
    np.testing.assert_allclose(values, table[:, best].mean() + table[:, best].std() * scores, rtol=1e-12)
    assert values[0] == pytest.approx(table[0, best], rel=1e-12)  # the reported statistic is one that exists


def test_largest_standardized_does_not_mind_the_scale_of_a_column():
    table = np.random.default_rng(1).gamma(2.0, size=(50, 3))
    values, best = resample.largest_standardized(table), plain_largest(table)[1]
    standard = (values - table[:, best].mean()) / table[:, best].std()
    for column, (factor, offset) in itertools.product(range(3), [(2.0, 0.0), (1e-6, 0.0), (0.5, 7.0), (1e4, -3.0)]):
        other = table.copy()
        other[:, column] = factor * other[:, column] + offset
        rescaled = resample.largest_standardized(other)
        assert rescaled[0] == pytest.approx(other[0, best], rel=1e-12)
        deviation, mean = other[:, best].std(), other[:, best].mean()
        np.testing.assert_allclose((rescaled - mean) / deviation, standard, rtol=1e-9, atol=1e-9)


def test_largest_standardized_treats_the_first_row_as_any_other():
    random = np.random.default_rng(2)
    table = random.gamma(2.0, size=(40, 3))
    scores = plain_largest(table)[0]
    for _ in range(5):
        order = random.permutation(40)
        values, best = resample.largest_standardized(table[order]), plain_largest(table[order])[1]
        np.testing.assert_allclose((values - table[:, best].mean()) / table[:, best].std(), scores[order], atol=1e-9)


def test_columns_that_do_not_vary_never_win():
    table = np.random.default_rng(3).gamma(2.0, size=(20, 2))
    alone = resample.largest_standardized(table[:, 1:])
    for constant in (0.0, 5.0):
        table[:, 0] = constant
        np.testing.assert_allclose(resample.largest_standardized(table), alone, rtol=1e-12)
    assert (resample.largest_standardized(np.full((20, 2), 3.0)) == 3.0).all()


# --- the limit of the null


@pytest.mark.parametrize(("degrees", "tolerance"), [(1, 1e-4), (2, 5e-6), (5, 2e-8), (30, 2e-8), (200, 2e-8)])
def test_tail_of_equal_weights_is_that_of_a_chi_square(degrees, tolerance):
    quantiles = (0.999, 0.5, 0.05, 1e-3, 1e-5) if degrees < 30 else (0.5, 1e-3)  # each weight costs milliseconds
    for weight in (1.0, 1e-9, 1e6):
        for q in quantiles:
            value = chi2.isf(q, degrees)
            found = resample.mixture_tail(weight * value, np.full(degrees, weight))
            assert found == pytest.approx(q, abs=tolerance)


@pytest.mark.parametrize("weights", [[5, 1, 1, 0.5, 0.1, 0.01], 0.7 ** np.arange(40), 1 / np.arange(1, 60) ** 2])
def test_tail_of_unequal_weights_is_that_of_simulated_sums(weights):
    weights = np.asarray(weights, dtype=float)
    random = np.random.default_rng(len(weights))
    sums = np.concatenate([np.square(random.normal(size=(20_000, len(weights)))) @ weights for _ in range(10)])
    for q in (0.9, 0.5, 0.1, 0.01):
        value = np.quantile(sums, 1 - q)
        assert abs(resample.mixture_tail(value, weights) - q) < 4.5 * np.sqrt(q * (1 - q) / len(sums))


def test_tail_falls_from_one_and_ignores_weights_of_zero():
    weights = np.array([3.0, 1.0, 1.0, 0.3, 0.2, 0.1, 0.0, 0.0])
    tails = np.array([resample.mixture_tail(value, weights) for value in np.linspace(0, 60, 30)])
    assert tails[0] == pytest.approx(1.0, abs=1e-7)
    assert (np.diff(tails) <= 1e-8).all()
    assert tails[-1] < 1e-3
    assert resample.mixture_tail(4.0, weights) == resample.mixture_tail(4.0, weights[:6])
    assert resample.mixture_tail(0.0, np.zeros(3)) == 1.0


def test_limit_has_the_mean_of_all_relabellings():
    """Sum of weights = E T over all partitions, exactly: the covariance of psi with ddof 1."""
    random = np.random.default_rng(4)
    data, models = prepared(*np.split(random.normal(size=(8, 2)), [3]), folds=2), [(0.5, 0.1), (1.5, 0.01)]
    labels = resample.every_relabelling(first_n(3, 5), None)
    for found in (
        KernelStatistics(data.pooled_rows, models, FilterKernel(2)),
        center_statistics(data, models, 4),
    ):
        expected = found.table(labels).mean(axis=0)
        limits = found.limits(0, 1 / 3 + 1 / 5)
        np.testing.assert_allclose([limit.mean for limit in limits], expected, rtol=1e-8)
        multipliers = random.standard_normal((8, 20_000))
        drawn = np.column_stack([limit.draws(multipliers) for limit in limits])
        error = drawn.std(axis=0) / np.sqrt(len(drawn))
        assert (np.abs(drawn.mean(axis=0) - expected) < 4.5 * error).all()


# --- statistics


def plain_form(kernel, labels):
    """w'Kw by loops over all pairs, w = 1/n in X and -1/m in Y."""
    n, m = labels.sum(), (~labels).sum()
    w = [1 / n if label else -1 / m for label in labels]
    return sum(w[i] * w[j] * kernel[i, j] for i in range(len(w)) for j in range(len(w)))


def plain_filter(rows, sigma, lam):
    plain, squared = oracle.filter_kernels(oracle.distances(rows, rows), sigma, lam, rows.shape[1])
    return 2 * plain - squared


def plain_overlap(rows, sigma):
    d = rows.shape[1]
    return np.exp(-np.square(oracle.distances(rows, rows)) / (4 * sigma**2)) / (4 * np.pi * sigma**2) ** (d / 2)


def plain_centers(rows, centers, sigma, lam):
    """psi'M psi with M = A + lam s A^2, A = (H + lam s I)^-1, as the design writes it."""
    s = oracle.volume(sigma, rows.shape[1])
    A = np.linalg.inv(s * oracle.gram(centers, sigma) + lam * s * np.eye(len(centers)))
    psi = oracle.psi(rows, centers, sigma)
    return psi @ (A + lam * s * A @ A) @ psi.T


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("kind", ["filter", "overlap", "centers"])
def test_statistics_are_quadratic_forms_by_plain_loops(kind, d):
    random = np.random.default_rng(d)
    data = prepared(*np.split(random.normal(size=(15, d)), [9]), folds=2)
    rows, models = data.pooled_rows, [(0.6, 0.1), (1.3, 0.02), (1.3, 1.0)]
    if kind == "filter":
        found = KernelStatistics(rows, models, FilterKernel(d))
        kernels = [plain_filter(rows, *model) for model in models]
    elif kind == "overlap":
        found = KernelStatistics(rows, models, GaussianOverlap(d))
        kernels = [plain_overlap(rows, sigma) for sigma, _ in models]
    else:
        found = center_statistics(data, models, 6)
        kernels = [plain_centers(rows, rows[:6], *model) for model in models]
    labels = random_labels(random, 9, 6, 7)
    expected = [[plain_form(kernel, row) for kernel in kernels] for row in labels]
    np.testing.assert_allclose(found.table(labels) * np.exp(-found.log_scales), expected, rtol=1e-9)


def test_statistics_do_not_depend_on_the_tiles(monkeypatch):
    random = np.random.default_rng(5)
    statistics = KernelStatistics(random.normal(size=(23, 2)), [(0.6, 0.1), (1.3, 0.02)], FilterKernel(2))
    labels = random_labels(random, 9, 14, 5)
    whole = statistics.table(labels)
    monkeypatch.setattr(kernel_statistics, "_TILE", 23 * 4)
    np.testing.assert_allclose(statistics.table(labels), whole, rtol=1e-12)


@pytest.mark.parametrize(("n", "m"), [(23, 31), (40, 9)])
def test_statistics_of_units_are_those_of_their_rows(draw, monkeypatch, n, m):
    """A unit's label is that of each of its rows; none is left out, those that fill no unit are by themselves."""
    monkeypatch.setattr(units, "_UNITS", 12)
    monkeypatch.setattr(units, "_EACH", 3)
    data, models = prepared(*draw(5, n, m, 3)), [(0.6, 0.1), (1.3, 0.02)]
    by_row, together = center_statistics(data, models, 6), Units.put_together(n, m, 4)
    assert together.x.rows_each > 1
    assert together.sizes == (n, m)
    by_unit = CenterStatistics(data, models, by_row.kernel, together)
    own = together.labels
    labels = np.vstack([own.is_x, *resample.relabellings(own.is_x, own.groups, 6, np.random.default_rng(0))])
    numbers = np.concatenate([together.x.part(0, n), together.x.n_units + together.y.part(0, m)])
    np.testing.assert_allclose(by_unit.table(labels), by_row.table(labels[:, numbers]), rtol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 2.0**-10, 2.0**12])
@pytest.mark.parametrize(
    ("solver", "d"), [("pairs", 1), ("pairs", 3), ("centers", 2), ("spectral", 1), ("spectral", 2)]
)
def test_statistic_is_the_e6_that_lsdd_reports(draw, solver, d, scale):
    x, y = (scale * rows for rows in draw(0, 40, 27, d))
    model = dd.LSDD(
        0.7, 0.1, solver=solver, random_state=0, centers=np.concatenate([x, y])[::5] if solver == "centers" else None
    )
    found = dd.two_sample_test(x, y, model=model, n_permutations=19)
    fitted = model.fit(x, y)
    expected = fitted.l2_distance().estimates["regularization_corrected"]
    # the grid of the spectral solver is right to 1e-8 in one column and 1e-4 in two; rows are exact here
    tolerance = {("spectral", 1): 1e-8, ("spectral", 2): 1e-4}.get((solver, d), 1e-9)
    assert found.statistic == pytest.approx(expected, rel=tolerance)
    assert (found.sigma, found.lam, found.solver) == (0.7, 0.1, solver)
    assert (found.n_x, found.n_y) == (40, 27)
    assert found.tuning == "sigma and lam given"


@each_tuning
@pytest.mark.parametrize("solver", ["pairs", "centers"])
def test_statistic_is_e6_at_the_reported_sigma_and_lam(draw, solver, tuning):
    x, y = draw(1, 30, 24, 2)
    centers = np.concatenate([x, y])[::4] if solver == "centers" else None
    model = dd.LSDD(solver=solver, centers=centers, random_state=0)
    found = dd.two_sample_test(x, y, model=model, tuning=tuning, n_permutations=19)
    again = dd.LSDD(found.sigma, found.lam, solver=solver, centers=centers, random_state=0).fit(x, y)
    assert found.statistic == pytest.approx(again.l2_distance().estimates["regularization_corrected"], rel=1e-9)


@pytest.mark.parametrize("standardize", [True, False])
def test_statistic_without_standardizing_is_in_the_users_units_too(draw, standardize):
    x, y = draw(2, 30, 24, 2)
    model = dd.LSDD(0.7, 0.1, solver="pairs", standardize=standardize, random_state=0)
    found = dd.two_sample_test(4 * x, 4 * y, model=model, n_permutations=19)
    expected = model.fit(4 * x, 4 * y).l2_distance().estimates["regularization_corrected"]
    assert found.statistic == pytest.approx(expected, rel=1e-9)
    assert found.sigma == pytest.approx(0.7, rel=1e-12)


@pytest.mark.parametrize("scale", [1.0, 2.0**9])
@pytest.mark.parametrize("d", [1, 3])
def test_statistic_of_a_kernel_density_estimate_is_its_plug_in_distance(draw, d, scale):
    x, y = (scale * rows for rows in draw(3, 40, 27, d))
    model = dd.KDEDifference(sigma=0.6, random_state=0)
    found = dd.two_sample_test(x, y, model=model, n_permutations=19)
    assert found.statistic == pytest.approx(model.fit(x, y).l2_distance().estimates["plug_in"], rel=1e-9)
    assert found.sigma == (0.6, 0.6)
    assert found.lam is None


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("model", [dd.LSDD(0.5, 0.1, solver="spectral"), dd.LSDD(sigma=[0.3, 1.0]), dd.LSDD()])
def test_cells_give_the_statistic_of_rows_and_keep_every_row(draw, monkeypatch, model, d):
    x, y = (8 * rows for rows in draw(4, 300, 200, d))
    drawn = []
    whole = resample.permuted_counts

    def spied(*arguments):
        drawn.append(whole(*arguments))
        return drawn[-1]

    with monkeypatch.context() as patch:
        patch.setattr(plan_lsdd, "_KERNEL_WORK", 0)
        patch.setattr(resample, "permuted_counts", spied)
        found = dd.two_sample_test(x, 0.0 + y, model=model, n_permutations=1999, random_state=0)
    assert all((counts.sum(axis=1) == 300).all() for counts in drawn)
    assert sum(map(len, drawn)) == 1999
    if model.sigma == "cv":  # several models have the smallest p-value; which of them is told is chance
        model = dd.LSDD(found.sigma, found.lam, solver="spectral")
    exact = dd.two_sample_test(x, y, model=model, n_permutations=1999, random_state=0)
    assert found.solver == "spectral"
    assert (found.sigma, found.lam) == (exact.sigma, exact.lam)
    assert found.statistic == pytest.approx(exact.statistic, rel=5e-3)
    assert len(found.null_distribution) == 1999
    ks = [np.quantile(each.null_distribution, [0.25, 0.5, 0.9]) for each in (found, exact)]
    np.testing.assert_allclose(ks[0], ks[1], rtol=0.15)  # quantiles of 1999 draws err by 3 to 5 %


@pytest.mark.parametrize("d", [1, 2])
def test_cells_have_the_pvalue_of_rows(monkeypatch, d):
    model = dd.LSDD([0.3, 0.6, 1.2], random_state=0)  # given: no single columns and pairs beside them
    for seed in range(4):
        random = np.random.default_rng(seed)
        x, y = random.normal(size=(150, d)), random.normal(size=(200, d)) + 0.12
        by_rows = dd.two_sample_test(x, y, model=model).pvalue
        with monkeypatch.context() as patch:
            patch.setattr(plan_lsdd, "_KERNEL_WORK", 0)
            _, case = case_of(model, x, y, "aggregate")
            assert isinstance(case.statistics, CellStatistics)
            by_cells = dd.two_sample_test(x, y, model=model).pvalue
        assert abs(by_rows - by_cells) < 4.5 * np.sqrt(2 * 0.25 / 1000)


def heavy_tails(seed, n, m):
    random = np.random.default_rng(seed)
    return random.standard_cauchy((n, 1)), random.standard_cauchy((m, 1))


def test_heavy_tails_are_compared_on_a_logarithmic_scale(monkeypatch):
    """The statistic is that of the kernel between rows in places on the line, and every row takes part."""
    monkeypatch.setattr(plan_lsdd, "_KERNEL_WORK", 0)
    x, y = heavy_tails(3, 3000, 2000)
    data, case = case_of(dd.LSDD([0.05, 0.005], random_state=0), x, y, "aggregate")
    statistics = case.statistics
    assert isinstance(statistics, CellStatistics)
    (line,) = statistics.axes
    assert not line.keeps_distances
    assert statistics.cells.counts.sum(axis=1).tolist() == [3000, 2000]
    places = line.apply(data.pooled_rows[:, 0])[:, None]
    by_rows = KernelStatistics(places, statistics.models, FilterKernel(1))
    expected = by_rows.table(first_n(3000, 2000)[None])[0] * np.exp(-by_rows.log_scales)
    np.testing.assert_allclose(statistics.table(None)[0], expected, rtol=0.05)  # cells move rows a little
    exact = statistics.exact(0, 99)
    assert exact.value == statistics.table(None)[0, 0]
    assert exact.note.endswith("values far from the middle are compared on a logarithmic scale")


def test_a_longer_tail_is_seen_and_an_equal_one_is_not(monkeypatch):
    monkeypatch.setattr(plan_lsdd, "_KERNEL_WORK", 0)
    equal, longer = [], []
    for seed in range(12):
        x, y = heavy_tails(seed, 8000, 8000)
        stretched = np.where(np.abs(y) > 30, 10 * y, y)  # two rows of a hundred
        model = dd.LSDD([0.08, 0.00125], random_state=seed)  # given: no moments and ranks beside it
        for pvalues, rows in ((equal, y), (longer, stretched)):
            pvalues.append(dd.two_sample_test(x, rows, model=model, n_permutations=99).pvalue)
    assert np.mean(longer) < 0.05
    assert np.mean(equal) > 0.25


def test_a_column_whose_grid_is_too_long_for_waves_has_a_pvalue(monkeypatch):
    """All models are left to Fourier transforms; a column so heavy-tailed once found no model to make waves of."""
    monkeypatch.setattr(plan_lsdd, "_KERNEL_WORK", 0)
    monkeypatch.setattr(cell_power, "_LINE_PRODUCTS", 0.0)
    x, y = heavy_tails(4, 300, 300)
    assert 0 < dd.two_sample_test(x, y, n_permutations=19, random_state=0).pvalue <= 1


def test_which_large_samples_are_relabelled_in_cells(monkeypatch):
    monkeypatch.setattr(plan_lsdd, "_KERNEL_WORK", 0)
    random = np.random.default_rng(0)
    x, y = (random.normal(size=(200, 2)) for _ in range(2))
    far = random.standard_cauchy((4000, 2))  # cells that reach so far are wider than what is to be seen in them

    def solver(x, y, **options):
        return dd.two_sample_test(x, y, n_permutations=19, random_state=0, **options).solver

    assert solver(x, y) == "spectral"
    assert solver(far[:2000], far[2000:]) == "centers"
    assert solver(far[:2000], far[2000:], model=dd.LSDD(solver="spectral")) == "spectral"
    assert solver(x, y, model=dd.LSDD(n_centers=40, solver="centers")) == "centers"
    assert solver(x, y, model=dd.LSDD(solver="pairs")) == "pairs"
    assert solver(x, y, blocks=np.arange(400) % 10) == "centers"  # rows of a block are relabelled among themselves
    assert solver(random.normal(size=(200, 3)), random.normal(size=(200, 3))) == "centers"


# --- the test


def brute_force(x, y, models, partitions=None):
    """E6 in inner units over all partitions, the data first, or the evidence of several; by oracle and loops."""
    x, y, _ = oracle.standardized(x, y)
    rows = np.concatenate([x, y])
    kernels = [plain_filter(rows, *model) for model in models]
    own = first_n(len(x), len(y))
    partitions = partitions or [p for p in sorted(listed(own, None)) if p != tuple(own)]
    table = np.array([[plain_form(k, np.array(p)) for k in kernels] for p in [tuple(own), *partitions]])
    if len(models) == 1:
        return table[:, 0]
    return plain_combined(table, [(1.0, len(models), False)])


def share_at_least_first(values):
    return sum(value >= values[0] - 1e-9 * np.abs(values).max() for value in values) / len(values)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sigmas", [[0.7], [0.4, 0.8, 1.6]])
def test_few_rows_are_tested_by_all_their_partitions(draw, seed, sigmas):
    x, y = draw(seed, 3, 4, 2)
    model = dd.LSDD(sigmas, 0.1, solver="pairs", folds=2)
    found = dd.two_sample_test(x, y, model=model, random_state=seed)
    values = brute_force(x, y, [(sigma, 0.1) for sigma in sigmas])
    assert found.null == "all partitions"
    assert found.pvalue == pytest.approx(share_at_least_first(values), abs=1e-12)
    assert found.pvalue * comb(7, 3) == pytest.approx(round(found.pvalue * comb(7, 3)), abs=1e-9)
    assert len(found.null_distribution) == found.n_permutations == comb(7, 3) - 1
    if len(sigmas) == 1:
        _, _, deviation = oracle.standardized(x, y)
        np.testing.assert_allclose(np.sort(found.null_distribution), np.sort(values[1:]) / deviation.prod(), rtol=1e-9)


def test_all_partitions_are_told_by_their_number(draw):
    found = dd.two_sample_test(*draw(0, 3, 4, 1), model=dd.LSDD(folds=2), random_state=0)
    assert "35 partitions" in str(found)


def test_random_relabellings_agree_with_all_partitions(draw):
    x, y = draw(6, 5, 6, 1)
    model = dd.LSDD([0.5, 1.0], 0.1, solver="pairs", random_state=0)
    exact = dd.two_sample_test(x, y, model=model, n_permutations=461)
    found = dd.two_sample_test(x, y, model=model, n_permutations=460)
    assert (exact.null, found.null) == ("all partitions", "permutation")
    assert abs(exact.pvalue - found.pvalue) < 4.5 * np.sqrt(0.25 / 461)


@pytest.mark.parametrize("model", [dd.LSDD(folds=2), dd.LSDD([0.5, 2.0], 0.1, solver="pairs", folds=2)])
def test_swapping_the_samples_keeps_the_pvalue_of_all_partitions(draw, model):
    for seed in range(4):
        x, y = draw(seed, 3, 5, 2)
        forth, back = (dd.two_sample_test(*both, model=model, random_state=0) for both in ((x, y), (y, x)))
        assert forth.pvalue == back.pvalue
        assert forth.statistic == pytest.approx(back.statistic, rel=1e-9)


@each_tuning
@each_model
@pytest.mark.parametrize(("n", "m"), [(12, 30), (30, 12)])
def test_pvalue_lies_between_its_smallest_value_and_one(draw, model, tuning, n, m):
    near, far = (
        dd.two_sample_test(x, y, model=model, tuning=tuning, n_permutations=49)
        for x, y in (draw(7, n, m, 2), (draw(7, n, m, 2)[0] + 30, draw(7, n, m, 2)[1]))
    )
    # refit compares statistics at different sigmas, so that a narrow one of some relabelling may exceed the data's
    assert 1 / 50 <= far.pvalue <= (0.1 if tuning == "refit" else 1 / 50)
    assert 1 / 50 <= near.pvalue <= 1
    assert near.n_permutations == len(near.null_distribution) == 49
    assert near.null == "permutation"
    assert tuning in near.tuning


@each_tuning
@each_model
def test_identical_samples_have_pvalue_one(draw, model, tuning):
    x, _ = draw(8, 20, 5, 2)
    found = dd.two_sample_test(x, x, model=model, tuning=tuning, n_permutations=39)
    assert found.pvalue == 1.0
    assert abs(found.statistic) < 1e-9 * found.null_distribution.max()
    again = dd.two_sample_test(x, x[::-1], model=dd.LSDD(0.7, 0.1, solver="pairs"), n_permutations=39, random_state=0)
    assert again.pvalue == 1.0


@each_tuning
@each_model
def test_same_seed_gives_the_same_result_bit_for_bit(draw, model, tuning):
    x, y = draw(9, 20, 16, 2)
    first, second = (dd.two_sample_test(x, y, model=model, tuning=tuning, n_permutations=29) for _ in range(2))
    assert first.to_dict() == second.to_dict()
    other = dd.two_sample_test(
        x, y, model=type(model)(**{**model.get_params(), "random_state": 1}), tuning=tuning, n_permutations=29
    )
    assert (other.null_distribution != first.null_distribution).any()


@each_tuning
@each_model
def test_shifting_and_scaling_the_data_keeps_the_pvalue(draw, model, tuning):
    x, y = draw(10, 24, 18, 2)
    unit, shift = np.array([2.0**-7, 2.0**11]), np.array([64.0, -1024.0])
    here = dd.two_sample_test(x, y, model=model, tuning=tuning, n_permutations=59)
    there = dd.two_sample_test(unit * (x + shift), unit * (y + shift), model=model, tuning=tuning, n_permutations=59)
    assert there.pvalue == here.pvalue
    assert there.statistic == pytest.approx(here.statistic / unit.prod(), rel=1e-6)
    assert there.sigma == pytest.approx(here.sigma, rel=1e-6)


def test_frames_of_any_library_give_the_answer_of_arrays(draw):
    x, y = draw(11, 20, 16, 2)
    plain = dd.two_sample_test(x, y, n_permutations=39, random_state=0)
    frames = dd.two_sample_test(
        pd.DataFrame(x, columns=["a", "b"]),
        pl.DataFrame({"b": y[:, 1], "a": y[:, 0]}),
        n_permutations=39,
        random_state=0,
        blocks=None,
    )
    assert frames.to_dict() == plain.to_dict()
    lists = dd.two_sample_test(x[:, 0].tolist(), y[:, 0].tolist(), n_permutations=39, random_state=0)
    assert lists.pvalue == dd.two_sample_test(x[:, :1], y[:, :1], n_permutations=39, random_state=0).pvalue


def test_given_model_is_cloned_and_its_seed_wins(draw):
    model = dd.LSDD(0.7, 0.1, solver="pairs")
    assert dd.two_sample_test(*draw(12), model=model, n_permutations=19, random_state=4).seed == 4
    assert model.random_state is None
    with pytest.raises(dd.NotFittedError):
        model.l2_distance()
    seeded = dd.LSDD(0.7, 0.1, solver="pairs", random_state=0)
    assert dd.two_sample_test(*draw(12), model=seeded, n_permutations=19, random_state=4).seed == 0


@each_tuning
def test_how_many_relabellings_are_made_at_a_time_changes_nothing(draw, monkeypatch, tuning):
    x, y = draw(13, 20, 16, 1)
    for blocks in (None, np.arange(36) % 3):
        arguments = {"tuning": tuning, "n_permutations": 59, "blocks": blocks, "random_state": 0}
        whole = dd.two_sample_test(x, y, **arguments)
        with monkeypatch.context() as patch:
            patch.setattr(resample, "_AT_ONCE", 36 * 8)
            parts = dd.two_sample_test(x, y, **arguments)
        assert parts.pvalue == whole.pvalue
        np.testing.assert_allclose(parts.null_distribution, whole.null_distribution, rtol=1e-10)


# --- columns, pairs and quadratic forms beside all columns together


def all_parts(statistics):
    """(share, size, alike) of each part of the joined table, all columns together first."""
    further = [(part.share, len(part.names), part.alike) for part in statistics.further_parts]
    half = (1 - sum(share for share, *_ in further)) / 2
    return [(half, len(statistics.models) - 1, False), (half, 1, True), *further]


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_columns_pairs_and_forms_are_combined_with_all_columns_by_plain_loops(draw, seed, d):
    x, y = draw(seed, 4, 4, d)
    model = dd.LSDD(folds=2, random_state=0)
    found = dd.two_sample_test(x, y, model=model)
    data, case = case_of(model, x, y, "aggregate")
    statistics = case.with_low_order().statistics
    assert isinstance(statistics, StatisticsWithLowOrder)
    labels = resample.every_relabelling(first_n(4, 4), None)
    weights = Units.of_rows(*data.sizes).weights(labels)
    table = np.hstack([statistics.joint.table(labels), statistics.low_order.table(weights)])
    assert (found.null, found.n_permutations) == ("all partitions", comb(8, 4) - 1)
    assert found.pvalue == pytest.approx(plain_pvalue(plain_combined(table, all_parts(statistics))), abs=1e-12)


def test_what_the_user_gives_is_tested_alone(draw):
    x, y = draw(1, 20, 16, 3)
    assert "pairs and quadratic forms" in dd.two_sample_test(x, y, n_permutations=19, random_state=0).tuning
    for arguments in (
        {"model": dd.LSDD([0.5, 1.0])},
        {"model": dd.LSDD(lam=[0.1, 1.0], solver="pairs")},
        {"tuning": "pooled"},
        {"tuning": "refit"},
        {"null": "asymptotic"},
    ):
        found = dd.two_sample_test(x, y, n_permutations=19, random_state=0, **arguments)
        assert "pairs and quadratic forms" not in found.tuning
        assert found.strongest.startswith("all columns at width")
    one = dd.two_sample_test(x[:, :1], y[:, :1], n_permutations=19, random_state=0)
    assert "pairs and quadratic forms" not in one.tuning


def in_twenty_columns(seed):
    random = np.random.default_rng(seed)
    return random.normal(size=(150, 20)), random.normal(size=(150, 20))


def changed_column(seed):
    x, y = in_twenty_columns(seed)
    y[:, 3] *= 2.0
    return x, y


def changed_pair(seed):
    x, y = in_twenty_columns(seed)
    y[:, 7] = 0.9 * y[:, 2] + np.sqrt(1 - 0.9**2) * y[:, 7]
    return x, y


def changed_lengths(seed):
    random = np.random.default_rng(seed)
    return random.normal(size=(150, 100)), 1.06 * random.normal(size=(150, 100))


def changed_triple(seed):
    """Three signs whose product is +1: any two columns are as before."""
    random = np.random.default_rng(seed)
    x, y = random.normal(size=(300, 3)), random.normal(size=(300, 3))
    y[:, 2] = np.abs(y[:, 2]) * np.sign(y[:, 0] * y[:, 1])
    return x, y


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("change", "strongest"),
    [
        (changed_column, ["column 'x3'"]),
        (changed_pair, ["pair 'x2', 'x7'"]),
        (changed_lengths, QuadraticForms.names),
        (changed_triple, ["all columns at width {:.3g}"]),
    ],
    ids=["column", "pair", "quadratic form", "all columns"],
)
def test_the_strongest_statistic_says_where_to_look(change, strongest, seed):
    found = dd.two_sample_test(*change(seed), n_permutations=199, random_state=0)
    assert found.pvalue <= 2 / 200
    assert found.strongest in [name.format(found.sigma) for name in strongest]
    assert f"strongest   {found.strongest}" in str(found)


def test_one_column_is_named_by_itself_and_its_width(draw):
    x, y = (pd.DataFrame({"age": rows[:, 0]}) for rows in draw(2, 30, 20, 1))
    found = dd.two_sample_test(x, y, n_permutations=19, random_state=0)
    assert found.strongest == f"column 'age' at width {found.sigma:.3g}"
    kde = dd.two_sample_test(x, y, model=dd.KDEDifference(), n_permutations=19, random_state=0)
    assert kde.strongest == "column 'age' at width {:.3g} and {:.3g}".format(*kde.sigma)


@pytest.mark.parametrize("seed", [2, 23, 39])  # of which each has such a tie with the data
def test_equal_values_of_the_reported_statistic_do_not_blur_the_pvalue(seed):
    """Flags have few values of each statistic; relabellings that tie in one of them need not tie in the others."""
    random = np.random.default_rng(seed)
    x, y = ((random.random((n, 2)) < 0.5) * 1.0 for n in (23, 31))
    with warnings_allowed():
        found = dd.two_sample_test(x, y, n_permutations=199, random_state=0)
        _, case = case_of(dd.LSDD(random_state=0), x, y, "aggregate", 199)
    statistics = case.with_low_order().statistics
    table, _ = statistics.relabelled(Labels(first_n(23, 31)), 199, np.random.default_rng([0, 4]))
    assert found.pvalue == pytest.approx(plain_pvalue(plain_combined(table, all_parts(statistics))), abs=1e-12)


def test_a_column_and_its_copy_are_ordinary_data():
    """The product of a balanced flag and its copy never varies, and a part of the test has nothing to say."""
    random = np.random.default_rng(0)
    flags = np.tile([0.0, 1.0], 20)
    with warnings_allowed():
        same = dd.two_sample_test(*(np.column_stack([flags, flags]) for _ in range(2)), random_state=0)
        other = (random.random(40) < 0.95) * 1.0
        apart = dd.two_sample_test(np.column_stack([flags, flags]), np.column_stack([other, other]), random_state=0)
    assert same.pvalue == 1.0
    assert apart.pvalue <= 0.01


# --- many rows: units that share a label


@pytest.fixture
def many_rows():
    random = np.random.default_rng(3)
    x, y = random.normal(size=(3100, 5)), random.normal(size=(2600, 5))
    y[:, 1] += 0.05 * y[:, 0] + 0.02
    return x, y


def asked_of_many(x, y, **arguments):
    model = dd.LSDD(n_centers=30, random_state=3)
    return dd.two_sample_test(x, y, **{"model": model, "n_permutations": 99} | arguments)


def same_answer(found, expected):
    assert (found.pvalue, found.null, found.strongest) == (expected.pvalue, expected.null, expected.strongest)
    assert (found.n_x, found.n_y, found.tuning) == (expected.n_x, expected.n_y, expected.tuning)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)
    np.testing.assert_allclose(found.null_distribution, expected.null_distribution, rtol=1e-6)


def test_streamed_rows_are_relabelled_as_those_in_memory(many_rows, monkeypatch):
    monkeypatch.setattr(plan_lsdd, "_KERNEL_WORK", 0)
    x, y = many_rows
    expected = asked_of_many(x, y)
    assert expected.null == "permutation"
    assert expected.warnings == ()
    assert 0.01 < expected.pvalue < 1  # else any answer would be the same
    same_answer(asked_of_many(Blocks(x, [1000, 1001, 2500]), Blocks(y, [])), expected)
    same_answer(asked_of_many(x, Blocks(y, [7])), expected)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_are_tested_as_arrays(many_rows, monkeypatch, tmp_path, ending):
    monkeypatch.setattr(plan_lsdd, "_KERNEL_WORK", 0)
    monkeypatch.setattr("densdiff.io.memory.VALUES", 1 << 12)
    paths = [tmp_path / f"{name}.{ending}" for name in "xy"]
    for path, rows in zip(paths, many_rows, strict=True):
        frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(5)])
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path, index=False)
    same_answer(asked_of_many(*paths), asked_of_many(*many_rows))


def test_dask_collections_are_tested_as_arrays(many_rows, monkeypatch):
    da = pytest.importorskip("dask.array", reason="dask.array is not installed")
    monkeypatch.setattr(plan_lsdd, "_KERNEL_WORK", 0)
    lazy = (da.from_array(rows, chunks=(999, 5)) for rows in many_rows)
    same_answer(asked_of_many(*lazy), asked_of_many(*many_rows))


def test_swapping_many_rows_keeps_the_pvalue_within_the_error_of_relabellings(many_rows, monkeypatch):
    monkeypatch.setattr(plan_lsdd, "_KERNEL_WORK", 0)
    x, y = many_rows
    forth, back = (asked_of_many(*both, n_permutations=499) for both in ((x, y), (y, x)))
    p = (forth.pvalue + back.pvalue) / 2
    assert 0.01 < p < 0.9
    assert abs(forth.pvalue - back.pvalue) < 4.5 * np.sqrt(2 * p * (1 - p) / 500)


def test_of_a_sample_much_the_larger_the_rows_tested_are_told(draw, monkeypatch):
    monkeypatch.setattr(plan_lsdd, "_KERNEL_WORK", 0)
    monkeypatch.setattr(units, "_MOST", 100)
    x, y = draw(3, 30, 900, 3)
    found = dd.two_sample_test(x, y, n_permutations=19, random_state=0)
    assert found.warnings == ("the test takes 30 and 300 of the rows",)
    assert (found.n_x, found.n_y) == (30, 900)


@pytest.mark.parametrize("seed", range(3))
def test_files_that_are_sorted_do_not_alarm(monkeypatch, seed):
    """Units of neighbouring rows would each be all low or all high; a relabelling of them is no null of the rows."""
    random = np.random.default_rng([seed, 20_000])
    x, y = random.normal(size=(20_000, 3)), random.normal(size=(20_000, 3))
    by_first = [rows[np.argsort(rows[:, 0])] for rows in (x, y)]
    plain, ordered = (asked_of_many(*rows, n_permutations=199) for rows in ((x, y), by_first))
    for found in (plain, ordered):
        assert found.pvalue > 0.01
    given = {"model": dd.LSDD(1.0, 1.0, solver="centers", n_centers=30, random_state=3), "n_permutations": 199}
    plain, ordered = (dd.two_sample_test(*rows, **given) for rows in ((x, y), by_first))
    relabelled = ordered.null_distribution.mean() / plain.null_distribution.mean()
    assert relabelled == pytest.approx(1.0, abs=0.5)  # the null has the spread of rows, not that of runs of them


# --- blocks


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("names", [lambda i: i, lambda i: f"pair {i}", lambda i: -1.5 * i])
def test_blocks_of_two_are_a_sign_flip_test(draw, seed, names):
    x, y = draw(seed, 6, 6, 2)
    blocks = [names(i) for i in range(6)] * 2
    model = dd.LSDD(0.7, 0.1, solver="pairs", random_state=0)
    found = dd.two_sample_test(x, y, model=model, blocks=blocks)
    flips = list(itertools.product([False, True], repeat=6))[1:]
    partitions = [tuple(~np.array(flip)) + flip for flip in flips]
    values = brute_force(x, y, [(0.7, 0.1)], partitions)
    assert found.null == "all partitions"
    assert len(found.null_distribution) == 2**6 - 1
    assert found.pvalue == pytest.approx(share_at_least_first(values), abs=1e-12)


def test_one_block_of_all_rows_is_no_restriction(draw):
    x, y = draw(5, 4, 4, 1)
    model = dd.LSDD(0.7, 0.1, solver="pairs", folds=2, random_state=0)
    free, one = (dd.two_sample_test(x, y, model=model, blocks=blocks) for blocks in (None, [7] * 8))
    assert free.pvalue == one.pvalue


@each_tuning
def test_blocks_take_out_what_differs_between_them(tuning):
    """Labels lean on a block effect: without blocks the samples differ, within blocks they do not."""
    blocks = np.repeat([0, 1, 0, 1], [15, 5, 5, 15])
    free, within = [], []
    for seed in range(20):
        rows = np.random.default_rng(seed).normal(size=(40, 1)) + 4 * blocks[:, None]
        for found, given in ((free, None), (within, blocks)):
            test = dd.two_sample_test(
                rows[:20], rows[20:], tuning=tuning, blocks=given, n_permutations=39, random_state=seed
            )
            found.append(test.pvalue)
    assert np.mean(free) < 0.5 * np.mean(within)
    assert tuning == "refit" or np.mean(np.array(free) <= 0.05) > 0.5
    assert sum(np.array(within) <= 0.05) <= 5  # 99.9 % of a binomial with 20 runs at 5 %
    assert np.mean(within) > 0.3


def test_blocks_still_see_a_difference_within_them():
    blocks = np.repeat([0, 1, 0, 1], [15, 5, 5, 15])
    rows = np.random.default_rng(0).normal(size=(40, 1)) + 4 * blocks[:, None]
    rows[:20] -= 2.0  # the way the block effect leans: against it they would partly cancel
    assert dd.two_sample_test(rows[:20], rows[20:], blocks=blocks, n_permutations=99, random_state=0).pvalue == 0.01


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([0, 1] * 10, "40 rows of X, then for each of the 27 rows of Y"),
        (np.zeros((67, 2)), "one label for each"),
        (3, "one label for each"),
        ([np.nan] + [1.0] * 66, "1 missing label, first at row 0"),
        ([1.0] * 66 + [np.nan], "1 missing label, first at row 66"),
        ([None] + ["a"] * 66, "blocks"),
        (np.repeat([0, 1], [40, 27]), "no block has rows of both X and Y"),
        (np.arange(67), "no block has rows of both X and Y"),
    ],
)
def test_blocks_that_say_nothing_are_an_input_error(draw, blocks, message):
    with pytest.raises(dd.InputError, match=message):
        dd.two_sample_test(*draw(14), blocks=blocks, n_permutations=19)


def test_blocks_of_copied_rows_are_an_input_error(draw):
    x, y = (np.repeat(rows, 10, axis=0) for rows in draw(15, 12, 10, 1))
    with pytest.warns(dd.DensDiffWarning), pytest.raises(dd.InputError, match="copies"):
        dd.two_sample_test(x, y, blocks=np.arange(220) % 2, n_permutations=19)


# --- what the user must see


@pytest.mark.parametrize("value", [0, -1, 2.5, "a", None, True, np.nan])
@pytest.mark.hostile(35)
def test_a_number_of_permutations_that_is_none_is_an_input_error(draw, value):
    with pytest.raises(dd.InputError, match="n_permutations must be a whole number, at least 1"):
        dd.two_sample_test(*draw(16), n_permutations=value)


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [("tuning", "agregate", "aggregate"), ("tuning", "pool", "pooled"), ("null", "asymptotics", "asymptotic")],
)
def test_a_typo_is_answered_with_the_nearest_choice(draw, name, value, hint):
    with pytest.raises(dd.InputError, match=f"{name} must be one of .*did you mean '{hint}'"):
        dd.two_sample_test(*draw(16), **{name: value})
    with pytest.raises(dd.InputError, match=name):
        dd.two_sample_test(*draw(16), **{name: None})


class Stranger:
    """Has the methods and is no scikit-learn estimator."""

    def fit(self, X, Y):
        return self

    def predict(self, points):
        return points


@pytest.mark.parametrize(
    "model",
    ["lsdd", dd.LSDD, 3, object(), LinearRegression(), LogisticRegression(), Stranger()],
    ids=lambda model: type(model).__name__,
)
def test_a_model_of_the_wrong_kind_is_an_input_error(draw, model):
    with pytest.raises(dd.InputError, match="model must"):
        dd.two_sample_test(*draw(17), model=model)


@pytest.mark.parametrize("kind", [dd.LSDD, dd.KDEDifference])
@pytest.mark.parametrize(
    ("name", "value"),
    [("folds", "a"), ("folds", 0), ("folds", 1), ("folds", 2.5), ("standardize", "yes"), ("sigma", 0), ("sigma", -1)],
)
def test_parameters_of_the_model_are_checked_as_fit_checks_them(draw, kind, name, value):
    model = kind(**{name: value})
    with pytest.raises(dd.InputError, match=name):
        model.fit(*draw(17))
    with pytest.raises(dd.InputError, match=name):
        dd.two_sample_test(*draw(17), model=model, n_permutations=19)


@pytest.mark.parametrize(
    "parameters",
    [
        {"lam": 0.1},
        {"solver": "pears"},
        {"solver": "centers", "n_centers": 0},
        {"solver": "pairs", "centers": [[0, 0]]},
    ],
)
def test_what_lsdd_refuses_to_fit_is_not_tested_either(draw, parameters):
    model = dd.LSDD(**parameters)
    for refused in (model.fit, lambda x, y: dd.two_sample_test(x, y, model=model, n_permutations=19)):
        with pytest.raises(dd.InputError):
            refused(*draw(17))


@pytest.mark.hostile(35)
def test_too_few_relabellings_for_five_percent_are_told(draw):
    with pytest.warns(dd.DensDiffWarning, match=r"no p-value can be below 0\.1$"):
        found = dd.two_sample_test(*draw(18), n_permutations=9, random_state=0)
    assert any("0.1" in note for note in found.warnings)
    assert "note: with 9 relabellings, no p-value can be below 0.1" in str(found)
    enough = dd.two_sample_test(*draw(18), n_permutations=19, random_state=0)
    assert enough.warnings == ()


@pytest.mark.hostile(12)
def test_two_rows_against_two_have_six_partitions():
    x, y = np.array([[0.0], [0.1]]), np.array([[5.0], [5.2]])
    with pytest.warns(dd.DensDiffWarning):
        found = dd.two_sample_test(x, y, random_state=0)
    assert found.pvalue == pytest.approx(2 / 6)  # its mirror image is as large
    assert found.null == "all partitions"
    assert any("no p-value can be below 0.167" in note for note in found.warnings)


@each_tuning
@each_model
def test_ties_and_constant_columns_are_ordinary_data(model, tuning):
    random = np.random.default_rng(19)
    x, y = random.integers(0, 4, size=(25, 2)), random.integers(0, 4, size=(20, 2))
    with warnings_allowed():
        tied = dd.two_sample_test(x, y, model=model, tuning=tuning, n_permutations=39)
        flat = dd.two_sample_test(
            np.column_stack([x[:, 0], np.full(25, 3)]),
            np.column_stack([y[:, 0], np.full(20, 3)]),
            model=model,
            tuning=tuning,
            n_permutations=39,
        )
    for found in (tied, flat):
        assert 0.025 <= found.pvalue <= 1
        assert np.isfinite(found.statistic)
        assert np.isfinite(found.null_distribution).all()


@contextlib.contextmanager
def warnings_allowed():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        yield


@each_tuning
@each_model
def test_two_different_constants_are_found_different_and_equal_ones_equal(model, tuning):
    zeros, ones = np.zeros((12, 1)), np.ones((9, 1))
    with warnings_allowed():
        apart = dd.two_sample_test(zeros, ones, model=model, tuning=tuning, n_permutations=99)
        same = dd.two_sample_test(zeros, 0 * ones, model=model, tuning=tuning, n_permutations=99)
    assert apart.pvalue == 0.01
    assert np.isfinite(apart.statistic)
    assert same.pvalue == 1.0


def test_two_constants_are_noted_to_have_no_density():
    found = dd.two_sample_test(np.zeros(12), np.ones(9), n_permutations=99, random_state=0)
    assert any("point masses have no density" in note for note in found.warnings)


@each_tuning
@each_model
@pytest.mark.parametrize("exponent", [660, -660])
@pytest.mark.hostile(18)
def test_huge_and_tiny_values_have_the_pvalue_of_ordinary_ones(draw, model, tuning, exponent):
    x, y = draw(20, 20, 16, 1)
    here = dd.two_sample_test(x, y, model=model, tuning=tuning, n_permutations=39)
    there = dd.two_sample_test(2.0**exponent * x, 2.0**exponent * y, model=model, tuning=tuning, n_permutations=39)
    assert there.pvalue == here.pvalue
    assert there.statistic == pytest.approx(here.statistic * 2.0**-exponent, rel=1e-6)


def test_a_statistic_beyond_doubles_is_told(draw):
    x, y = draw(20, 20, 16, 2)
    here = dd.two_sample_test(x, y, n_permutations=39, random_state=0)
    with warnings_allowed():
        there = dd.two_sample_test(1e200 * x, 1e200 * y, n_permutations=39, random_state=0)
    assert there.pvalue == here.pvalue
    assert np.isfinite(there.statistic)
    assert there.warnings, "the statistic is outside the range of float64 and nothing says so"


@each_tuning
@each_model
@pytest.mark.parametrize("d", [300, 2000])
@pytest.mark.hostile(15)
def test_many_columns_still_find_a_clear_difference(model, tuning, d):
    random = np.random.default_rng(21)
    x, y = random.normal(size=(12, d)), random.normal(size=(14, d)) + 1.0
    with warnings_allowed():
        found = dd.two_sample_test(x, y, model=model, tuning=tuning, n_permutations=39)
    assert np.isfinite(found.statistic)
    assert found.pvalue == 1 / 40


def test_copied_rows_are_one_observation_each(draw):
    x, y = draw(22, 12, 10, 1)
    with pytest.warns(dd.DensDiffWarning):
        copied = dd.two_sample_test(
            np.repeat(x, 10, axis=0), np.repeat(y, 10, axis=0), n_permutations=99, random_state=0
        )
    once = dd.two_sample_test(x, y, n_permutations=99, random_state=0)
    assert copied.pvalue == once.pvalue
    assert (copied.n_x, copied.n_y) == (120, 100)
    assert copied.warnings


# --- the result


@each_tuning
@each_model
def test_result_is_plain_frozen_data_with_a_receipt(draw, model, tuning):
    result = dd.two_sample_test(*draw(23, 20, 16, 2), model=model, tuning=tuning, n_permutations=29)
    found = result.to_dict()
    assert set(found) == {field.name for field in dataclasses.fields(result)}
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert json.loads(result.to_json()) == found
    assert type(result.statistic) is type(result.pvalue) is float
    assert pickle.loads(pickle.dumps(result)).to_dict() == found
    assert (result.n_x, result.n_y, result.seed, result.version) == (20, 16, 0, dd.__version__)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.pvalue = 0.0
    text = str(result)
    assert f"p-value     {result.pvalue:.4g}" in text
    assert "seed 0" in text
    assert "20 and 16" in text
    assert 3 <= len(text.splitlines()) <= 8


# --- refit


def test_folds_belong_to_positions():
    fold_x, fold_y = np.array([1, 0, 2, 0]), np.array([2, 1, 0])
    labels = np.array([[True] * 4 + [False] * 3, [False, True, False, True, True, False, True]])
    found = refit.folds_by_position(labels, fold_x, fold_y)
    for row, folds in zip(labels, found, strict=True):
        seen_x = seen_y = 0
        for is_x, fold in zip(row, folds, strict=True):
            if is_x:
                assert fold == fold_x[seen_x]
                seen_x += 1
            else:
                assert fold == 3 + fold_y[seen_y]
                seen_y += 1


SIGMAS, LAMS = [2.4, 1.2, 0.6, 0.3], [1.0, 0.1, 0.01]


@pytest.mark.parametrize(("n", "m", "d"), [(22, 22, 1), (26, 19, 2), (15, 23, 4)])
def test_refit_of_pairs_is_cross_validation_by_plain_loops(draw, n, m, d):
    x, y = draw(24, n, m, d)
    data, case = case_of(dd.LSDD(SIGMAS, LAMS, solver="pairs", random_state=0), x, y, "refit")
    inner_x, inner_y, _ = oracle.standardized(x, y)
    rows, folds = np.concatenate([inner_x, inner_y]), draw_folds(0, n, m, 5, repeats=1)
    np.testing.assert_allclose(data.pooled_rows, rows, atol=1e-12)
    labels = np.vstack([first_n(n, m), random_labels(np.random.default_rng(0), n, m, 4)])
    chosen, values = case.statistics.choose(labels), np.exp(case.statistics.table(labels))
    models = list(itertools.product(SIGMAS, LAMS))
    for row, model, value in zip(labels, chosen, values[:, 0], strict=True):
        parts = rows[row], rows[~row], np.full(n, 1 / n), np.full(m, 1 / m)
        table = [
            oracle.filter_scores(*parts, *each, folds.members, (folds.groups_x.all(), folds.groups_y.all()))[0].mean()
            for each in models
        ]
        assert model == pytest.approx(models[int(np.argmin(table))])
        assert value == pytest.approx(oracle.filter_estimates(*parts, *model)["regularization_corrected"], rel=1e-9)
        kernel = KernelStatistics(rows, [model], FilterKernel(d))
        assert value == pytest.approx(kernel.table(row[None])[0, 0] * np.exp(-radial.log_scale(model[0], d)), rel=1e-9)
    assert len({tuple(model) for model in chosen}) > 1  # relabellings do choose for themselves


@pytest.mark.parametrize(("n", "m", "d"), [(22, 22, 1), (26, 19, 2), (15, 23, 4)])
def test_refit_of_centers_is_cross_validation_by_plain_loops(draw, n, m, d):
    x, y = draw(25, n, m, d)
    given = np.concatenate([x, y])[::4]
    _, case = case_of(dd.LSDD(SIGMAS, LAMS, centers=given, random_state=0), x, y, "refit")
    inner_x, inner_y, deviation = oracle.standardized(x, y)
    rows, folds = np.concatenate([inner_x, inner_y]), draw_folds(0, n, m, 5, repeats=1)
    centers = (given - np.concatenate([x, y]).mean(axis=0)) / deviation
    labels = np.vstack([first_n(n, m), random_labels(np.random.default_rng(0), n, m, 4)])
    chosen, values = case.statistics.choose(labels), np.exp(case.statistics.table(labels))
    models = list(itertools.product(SIGMAS, LAMS))
    for row, model, value in zip(labels, chosen, values[:, 0], strict=True):
        parts = rows[row], rows[~row], centers
        table = [
            oracle.fold_scores(*parts, *each, folds.groups_x.all(), folds.groups_y.all()).mean() for each in models
        ]
        assert model == pytest.approx(models[int(np.argmin(table))])
        assert value == pytest.approx(oracle.estimates(*parts, *model)["regularization_corrected"], rel=1e-8)
    assert len({tuple(model) for model in chosen}) > 1


def plain_likelihood_width(rows, folds, sigmas):
    """The width with the highest sum of log hold-out densities."""
    d, totals = rows.shape[1], []
    for sigma in sigmas:
        total = 0.0
        for i, fold in enumerate(folds):
            train = rows[folds != fold]
            heights = np.exp(-np.square(train - rows[i]).sum(axis=1) / (2 * sigma**2)) / (2 * np.pi * sigma**2) ** (
                d / 2
            )
            total += np.log(heights.mean())
        totals.append(total)
    return sigmas[int(np.argmax(totals))]


@pytest.mark.parametrize(("n", "m", "d"), [(22, 22, 1), (26, 19, 2), (15, 23, 3)])
def test_refit_of_kernel_densities_is_likelihood_cross_validation_by_plain_loops(draw, n, m, d):
    x, y = draw(26, n, m, d)
    sigmas = [1.2, 0.9, 0.6, 0.45, 0.3]
    _, case = case_of(dd.KDEDifference(sigmas, random_state=0), x, y, "refit")
    inner_x, inner_y, _ = oracle.standardized(x, y)
    rows, folds = np.concatenate([inner_x, inner_y]), draw_folds(0, n, m, 5, repeats=1)
    labels = np.vstack([first_n(n, m), random_labels(np.random.default_rng(0), n, m, 6)])
    values = np.exp(case.statistics.table(labels)[:, 0])
    widths = []
    for row, value in zip(labels, values, strict=True):
        mine, other = rows[row], rows[~row]
        a = plain_likelihood_width(mine, folds.groups_x.all(), sigmas)
        b = plain_likelihood_width(other, folds.groups_y.all(), sigmas)
        widths.append((a, b))
        expected = sum(
            sign
            * (
                np.exp(-np.square(oracle.distances(left, right)) / (2 * squared)) / (2 * np.pi * squared) ** (d / 2)
            ).mean()
            for sign, left, right, squared in (
                (1, mine, mine, 2 * a**2),
                (1, other, other, 2 * b**2),
                (-2, mine, other, a**2 + b**2),
            )
        )
        assert value == pytest.approx(expected, rel=1e-9)
    assert case.statistics.widths == pytest.approx(widths[0])
    assert len(set(widths)) > 1


@each_model
def test_refitted_model_of_the_data_is_the_one_reported(draw, model):
    x, y = draw(27, 20, 16, 1)
    result = dd.two_sample_test(x, y, model=model, tuning="refit", n_permutations=19)
    data, case = case_of(model, x, y, "refit", 19)
    value = np.exp(case.statistics.table(first_n(20, 16)[None])[0, 0])
    assert result.statistic == pytest.approx(value / np.concatenate([x, y]).std(), rel=1e-9)
    sigma, lam = case.statistics.reported_model(0, data.scaling.sigma_unit)
    assert result.sigma == pytest.approx(sigma)
    assert result.lam == (None if lam is None else pytest.approx(lam))


# --- the asymptotic null


@pytest.mark.parametrize("solver", ["auto", "centers"])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_limit_has_the_pvalue_of_relabellings(solver, d):
    compared = 0
    for seed in range(1, 5):
        random = np.random.default_rng([seed, d])
        x, y = random.normal(size=(150, d)), random.normal(size=(150, d))
        y[:, 0] += 0.1 * (seed % 3)
        model = dd.LSDD(solver=solver, n_centers=100, random_state=0)
        limit, drawn = (
            dd.two_sample_test(x, y, model=model, tuning="pooled", null=null, n_permutations=count)
            for null, count in (("asymptotic", 199), ("permutation", 1999))
        )
        assert (limit.null, drawn.null) == ("asymptotic", "permutation")
        assert limit.statistic == pytest.approx(drawn.statistic, rel=1e-9)
        if 0.02 <= drawn.pvalue <= 0.8:
            assert abs(limit.pvalue - drawn.pvalue) < 0.03
            compared += 1
    assert compared >= 2


@pytest.mark.parametrize("d", [1, 3])
def test_limit_of_several_models_has_the_pvalue_of_relabellings(d):
    model = dd.LSDD([0.5, 1.0, 2.0], random_state=0)  # columns and pairs have no limit
    for seed in range(5):
        random = np.random.default_rng([seed, d])
        x, y = random.normal(size=(150, d)), random.normal(size=(120, d)) + 0.05 * seed
        limit, drawn = (
            dd.two_sample_test(x, y, model=model, null=null, n_permutations=3999)
            for null in ("asymptotic", "permutation")
        )
        if 0.02 <= drawn.pvalue <= 0.8:
            # the limit keeps the spread of a narrow kernel's diagonal, which relabellings do not have
            assert abs(limit.pvalue - drawn.pvalue) < 0.06


@pytest.mark.parametrize("tuning", ["aggregate", "pooled"])
@each_model
def test_pvalue_of_the_limit_is_never_zero(draw, model, tuning):
    x, y = draw(28, 60, 50, 2)
    found = dd.two_sample_test(x + 20, y, model=model, tuning=tuning, null="asymptotic", n_permutations=99)
    assert 0 < found.pvalue < 0.011
    assert "large-sample limit" in str(found)


def test_identical_samples_have_pvalue_one_in_the_limit(draw):
    x, _ = draw(29, 40, 5, 1)
    for tuning in ("aggregate", "pooled"):
        found = dd.two_sample_test(x, x, tuning=tuning, null="asymptotic", n_permutations=99, random_state=0)
        assert found.pvalue == pytest.approx(1.0, abs=1e-6)


def test_where_no_limit_is_known_it_is_refused(draw):
    x, y = draw(30)
    with pytest.raises(dd.InputError, match="not available for blocks; use null='permutation'"):
        dd.two_sample_test(x, y, null="asymptotic", blocks=np.arange(67) % 5)
    for model in MODELS.values():
        with pytest.raises(dd.InputError, match="'refit' tuning; use null='permutation'"):
            dd.two_sample_test(x, y, model=model, null="asymptotic", tuning="refit")


def test_auto_takes_the_limit_when_relabelling_is_too_much_work(draw, monkeypatch):
    x, y = draw(31)
    assert dd.two_sample_test(x, y, n_permutations=99, random_state=0).null == "permutation"
    monkeypatch.setattr(planned, "_MOST_WORK", 1.0)
    for name, model in MODELS.items():  # units of rows at centers are few, however many rows there are
        expected = "permutation" if name == "centers" else "asymptotic"
        assert dd.two_sample_test(x, y, model=model, n_permutations=99).null == expected
    assert dd.two_sample_test(x, y, null="permutation", n_permutations=99).null == "permutation"
    assert dd.two_sample_test(x, y, tuning="refit", n_permutations=19).null == "permutation"
    assert dd.two_sample_test(x, y, blocks=np.arange(67) % 5, n_permutations=99).null == "permutation"


def test_the_limit_asked_for_is_given_for_one_column_of_many_rows(draw, monkeypatch):
    """Cells are a way to permute faster; they must not take away a null that the user asks for."""
    monkeypatch.setattr(plan_lsdd, "_KERNEL_WORK", 0)
    x, y = draw(32, 60, 50, 1)
    assert dd.two_sample_test(x, y, null="asymptotic", n_permutations=99, random_state=0).null == "asymptotic"


@pytest.mark.parametrize("n_centers", [300, 3])
def test_the_test_by_kliep_is_that_of_a_fit_to_every_partition(n_centers):
    rows = np.random.default_rng(5).normal(size=(9, 2)) + np.repeat([0.0, 1.5], [5, 4])[:, None]
    model = dd.KLIEP(sigma=0.9, n_centers=n_centers, folds=4, standardize=False, random_state=0)
    found = dd.two_sample_test(rows[:5], rows[5:], model=model, n_permutations=200, random_state=0)
    divergences = []
    for chosen in itertools.combinations(range(9), 5):
        others = [i for i in range(9) if i not in chosen]
        divergences.append(model.fit(rows[list(chosen)], rows[others]).kl_divergence_)
    assert found.statistic == pytest.approx(divergences[0], abs=1e-5)  # gaps of the two fits
    near = np.sum(np.array(divergences) >= divergences[0] - 1e-4), np.sum(np.array(divergences) > divergences[0] + 1e-4)
    assert near[1] <= found.pvalue * len(divergences) <= near[0] + 1e-9
    assert found.lam is None


@pytest.mark.parametrize("tuning", ["aggregate", "pooled", "refit"])
def test_kliep_finds_a_shift_with_every_tuning(draw, tuning):
    x, y = draw(7, 40, 30, 1)
    found = dd.two_sample_test(x, y + 1.0, model=dd.KLIEP(random_state=0), tuning=tuning, n_permutations=39)
    assert found.pvalue == 1 / 40
    assert found.tuning.startswith(tuning)


def test_refitting_more_rows_than_pair_distances_fit_is_refused(draw, monkeypatch):
    monkeypatch.setattr(plan_lsdd, "_REFIT_ROWS", 50)
    with pytest.raises(
        dd.InputError, match=r"tuning='refit' keeps all pair distances in memory and takes at most 50 rows; got 67"
    ):
        dd.two_sample_test(*draw(0), tuning="refit", n_permutations=19)


def test_an_estimator_without_a_test_is_named():
    with pytest.raises(TypeError, match="no test is known for Ridge"):
        plan.plan_test(type("Ridge", (), {})(), None, None)
