"""Permutation by cells: counts have the law of relabelled rows; p-values, adjustments and the limit of the null."""

import itertools

import numpy as np
import pytest
from scipy.stats import chi2

from densdiff.core import resample
from densdiff.engines.grids import occupied_cells, plan
from densdiff.sources.array_sample import ArraySample

SIGMA, LAM, SPACING = 0.5, 0.1, 0.1


def cells_of(x, y, spacing=SPACING):
    samples = [ArraySample(x), ArraySample(y)]
    axes, _ = plan(samples, np.array([SIGMA]), LAM, 2)
    return axes, occupied_cells(samples, axes, spacing)


@pytest.mark.parametrize("d", [1, 2])
def test_every_row_is_within_half_a_cell_of_the_middle_of_its_cell(d):
    """Also where an empty stretch of a column is shortened on the grid."""
    random = np.random.default_rng(d)
    x, y = random.normal(size=(40, d)), random.normal(size=(30, d))
    y[:10, 0] += 1e4
    axes, cells = cells_of(x, y)
    middles = resample.cell_middles(cells, axes)
    rows = np.vstack([x, y])
    assert middles.shape == (len(cells.occupied), d)
    numbers = resample.cells_of(rows, axes, cells.spacing)
    assert len(numbers) == len(rows)
    own = middles[np.searchsorted(cells.occupied, numbers)]
    assert np.abs(rows - own).max() <= 0.5 * cells.spacing + 1e-9


def test_counts_keep_every_row():
    random = np.random.default_rng(0)
    _, cells = cells_of(random.normal(size=(50, 2)), random.normal(size=(30, 2)))
    assert cells.counts.sum(axis=1).tolist() == [50, 30]
    drawn = resample.permuted_counts(cells.pooled, 50, 200, random)
    assert drawn.shape == (200, len(cells.occupied))
    assert (drawn.sum(axis=1) == 50).all()
    assert ((drawn >= 0) & (drawn <= cells.pooled)).all()


@pytest.mark.parametrize("rows_a_cell", [0, np.inf])
def test_counts_have_the_law_of_relabelled_rows(monkeypatch, rows_a_cell):
    """Six rows in three cells, three of them X: every relabelling listed, against 20,000 draws by cells and by rows."""
    monkeypatch.setattr(resample, "_ROWS_A_CELL", rows_a_cell)
    pooled, label = np.array([3, 2, 1]), np.array([0, 0, 0, 1, 1, 2])
    law = {}
    for chosen in itertools.combinations(range(6), 3):
        counts = tuple(np.bincount(label[list(chosen)], minlength=3).tolist())
        law[counts] = law.get(counts, 0) + 1 / 20
    drawn = resample.permuted_counts(pooled, 3, 20_000, np.random.default_rng(1))
    for counts, probability in law.items():
        share = (drawn == counts).all(axis=1).mean()
        assert abs(share - probability) < 4 * np.sqrt(probability * (1 - probability) / 20_000), counts
    assert sum((drawn == counts).all(axis=1).sum() for counts in law) == 20_000


@pytest.mark.parametrize("at_once", [1, 70, 1 << 21])
def test_statistics_of_relabelled_counts_do_not_depend_on_the_number_of_cores(monkeypatch, at_once):
    counts = np.random.default_rng(0).integers(0, 5, (2, 7))
    monkeypatch.setattr(resample, "_COUNTS", at_once)
    found = []
    for cores in (1, 3):
        monkeypatch.setattr(resample, "cores", lambda cores=cores: cores)
        found.append(resample.permuted_statistics(counts, lambda drawn: drawn**2.0, 25, np.random.default_rng(1)))
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(found[0][0], counts[0] ** 2.0)
    assert found[0].shape == (26, 7)
    assert len(np.unique(found[0], axis=0)) > 20  # batches draw different numbers


def test_pvalues_count_the_data_and_every_tie():
    null = np.array([0.1, 0.5, 0.5 - 1e-12, 0.9])
    assert resample.pvalue(0.5, null) == 4 / 5
    assert resample.pvalue(1.0, null) == 1 / 5
    assert resample.pvalue(-np.inf, null) == 1.0
    assert resample.pvalue(0.5, np.array([0.1, 0.5, 0.9])) == 3 / 4
    assert resample.pvalue(-np.inf, np.array([0.1, 0.2])) == 1.0


def test_holm_multiplies_by_the_tests_that_are_left():
    np.testing.assert_allclose(resample.holm(np.array([0.3, 0.01, 0.02, 0.5])), [0.6, 0.04, 0.06, 0.6])
    np.testing.assert_array_equal(resample.holm(np.array([0.9, 0.8])), [1.0, 1.0])


def stepped(values):
    """Westfall and Young as written: the largest of the tests that are left, one after the other."""
    roots = np.cbrt(values)
    scores = (roots - roots.mean(axis=0)) / roots.std(axis=0)
    left, found, least = list(range(values.shape[1])), {}, 0.0
    while left:
        j = max(left, key=lambda column: scores[0, column])
        reached = sum(max(row[column] for column in left) >= scores[0, j] - 1e-9 for row in scores[1:])
        least = max(least, (1 + reached) / len(scores))
        found[j] = least
        left.remove(j)
    return [found[j] for j in range(values.shape[1])]


def test_stepping_down_is_as_written_and_flat_tests_find_nothing():
    random = np.random.default_rng(3)
    values = random.chisquare(3, size=(60, 4)) * [1.0, 10.0, 0.1, 5.0]
    values[0] *= [4.0, 1.0, 2.0, 3.0]
    np.testing.assert_allclose(resample.step_down(values), stepped(values))
    flat = np.column_stack([values, np.full(60, 7.0)])
    np.testing.assert_allclose(resample.step_down(flat), [*stepped(values), 1.0])


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
def test_the_largest_standardized_statistic_is_on_the_scale_of_the_datas_own(scale):
    table = scale * np.random.default_rng(4).normal(size=(50, 3)) * [1.0, 20.0, 300.0]
    table[0, 1] = scale * 70.0
    table = np.column_stack([table, np.full(50, scale)])  # one that never varies takes no part
    scores = (table - table.mean(axis=0))[:, :3] / table.std(axis=0)[:3]
    values = resample.largest_standardized(table)
    assert values[0] == table[0, 1]
    np.testing.assert_allclose(
        (values - values[0]) / table[:, 1].std(), scores.max(axis=1) - scores[0, 1], rtol=1e-9, atol=1e-9
    )
    assert resample.largest_standardized(table[:, 3:]).tolist() == table[:, 3].tolist()
    assert resample.largest_standardized(np.full((5, 2), scale)).tolist() == [scale] * 5


def test_counts_of_two_parts_are_those_of_the_whole():
    random = np.random.default_rng(5)
    flat = random.integers(0, 40, size=60)
    for size in (40, 4000):  # counted by a table, and by sorting
        whole = resample.CellCounts.of(flat, size)
        merged = resample.CellCounts.of(flat[:25], size).merged(resample.CellCounts.of(flat[25:], size))
        for found in (whole, merged):
            np.testing.assert_array_equal(found.cells, np.unique(flat))
            np.testing.assert_array_equal(found.counts, np.unique(flat, return_counts=True)[1])


def test_relabellings_keep_the_rows_of_each_block_and_all_are_listed_once():
    is_x, blocks = np.array([1, 1, 0, 0, 1, 0, 0], dtype=bool), np.array([0, 1, 0, 1, 1, 0, 1])
    every = resample.every_relabelling(is_x, blocks)
    assert len(every) == len(set(map(tuple, every.tolist()))) == resample.count_partitions(is_x, blocks) == 3 * 6
    np.testing.assert_array_equal(every[0], is_x)
    drawn = np.vstack(list(resample.relabellings(is_x, blocks, 500, np.random.default_rng(6))))
    for rows in (every, drawn):
        assert all((rows[:, blocks == g].sum(axis=1) == is_x[blocks == g].sum()).all() for g in (0, 1))
    assert len(drawn) == 500
    assert set(map(tuple, drawn.tolist())) == set(map(tuple, every.tolist()))
    assert resample.count_partitions(is_x, None) == len(resample.every_relabelling(is_x, None)) == 35


@pytest.mark.parametrize("weights", [np.full(6, 0.5), np.array([1.0, 0.5, 0.25, 0.125, 0.1, 0.05])])
def test_the_tail_of_a_mixture_is_that_of_simulated_ones(weights):
    drawn = np.random.default_rng(7).chisquare(1, size=(200_000, 6)) @ weights
    for value in (0.5, 2.0, 6.0):
        share = (drawn >= value).mean()
        assert abs(resample.mixture_tail(value, weights) - share) < 5 * np.sqrt(share * (1 - share) / 200_000)
    far = [resample.mixture_tail(value, weights) for value in np.geomspace(1.0, 1e8, 40)]
    assert (np.diff(far) <= 0).all()  # a sine that turns faster than the rule steps gave 1e-2 here
    assert far[-1] == 1e-9
    assert resample.mixture_tail(1.0, -weights) == 1e-9
    assert resample.mixture_tail(-1.0, -weights) == pytest.approx(1 - resample.mixture_tail(1.0, weights), abs=1e-8)
    assert resample.mixture_tail(0.0, np.zeros(2)) == 1.0
    assert resample.mixture_tail(1.0, np.zeros(2)) == 1e-9


def test_small_tails_are_told_down_to_the_smallest():
    for p in (1e-3, 1e-5, 1e-7, 3e-9):
        assert resample.mixture_tail(0.5 * chi2.isf(p, 6), np.full(6, 0.5)) == pytest.approx(p, abs=1e-9)


@pytest.mark.parametrize("weights", [np.full(6, 1 / 6), np.full(40, -1 / 40)])
def test_the_integral_of_a_tail_ends_where_nothing_is_left_of_it(weights):
    last = resample._last_frequency(weights)
    end, before = np.prod((1 + np.square(np.outer([last, last / 1.01], weights))) ** -0.25, axis=1)
    assert 0.5e-12 < end < 1e-12
    assert before > np.exp(-28.0)
    assert resample._last_frequency(weights[:1] / weights[0]) == 1e7  # of one weight it falls too slowly


@pytest.mark.parametrize("value", [1e-3, 0.3, 0.9])
def test_a_sum_that_is_never_positive_has_no_tail_above_zero(value):
    assert resample.mixture_tail(value, np.array([-1.0])) == 1e-9
