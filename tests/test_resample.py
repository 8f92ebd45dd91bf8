"""Permutation by cells: counts have the law of relabelled rows, and E12 of counts is that of the rows in cells."""

import itertools

import numpy as np
import pytest

from densdiff.core import grid, resample
from densdiff.core.pairs import log_scale, of_statistic, radial_table
from densdiff.engines.grids import occupied_cells, plan
from densdiff.engines.pairs import kernel_matrix

SIGMA, LAM, SPACING = 0.5, 0.1, 0.1


def cells_of(x, y, spacing=SPACING):
    axes, _ = plan([x, y], np.array([SIGMA]), LAM, 2)
    return axes, occupied_cells([x, y], axes, spacing)


def pair_statistic(places, weights):
    """E12 by all pairs, of rows that stand in the middle of their cells."""
    table = radial_table(places.shape[1], np.array([LAM]))
    kernel = kernel_matrix(places, places, of_statistic(table, 0), SIGMA, direct=True)
    return weights @ kernel @ weights * np.exp(-log_scale(SIGMA, places.shape[1]))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_statistic_of_counts_is_that_of_rows_in_the_middle_of_their_cells(d):
    random = np.random.default_rng(d)
    x, y = random.normal(size=(30, d)), random.normal(size=(20, d)) + 0.4
    axes, cells = cells_of(x, y)
    places = np.rint(grid.places_of(np.vstack([x, y]).T, axes) / SPACING) * SPACING
    weights = np.repeat([1 / 30, -1 / 20], [30, 20])
    found = resample.cell_statistics(cells, cells.counts[:1], [(SIGMA, LAM)])[:, 0]
    # kernels wrap around at this much of their peak, and the peak is the largest term
    tolerance = {1: 1e-8, 2: 1e-4, 3: 1e-3}[d]
    np.testing.assert_allclose(found, pair_statistic(places, weights), rtol=tolerance)


def test_counts_keep_every_row():
    random = np.random.default_rng(0)
    _, cells = cells_of(random.normal(size=(50, 2)), random.normal(size=(30, 2)))
    assert cells.counts.sum(axis=1).tolist() == [50, 30]
    drawn = resample.permuted_counts(cells.pooled, 50, 200, random)
    assert drawn.shape == (200, len(cells.occupied))
    assert (drawn.sum(axis=1) == 50).all()
    assert ((drawn >= 0) & (drawn <= cells.pooled)).all()


def test_counts_have_the_law_of_relabelled_rows():
    """Six rows in three cells, three of them X: every relabelling listed, against 20,000 draws."""
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


def test_null_distribution_equals_that_of_permuted_rows():
    random = np.random.default_rng(2)
    x, y = random.normal(size=(40, 1)), random.normal(size=(25, 1))
    axes, cells = cells_of(x, y)
    by_counts = resample.cell_statistics(
        cells, resample.permuted_counts(cells.pooled, 40, 4000, random), [(SIGMA, LAM)]
    )[:, 0]
    places = np.rint(grid.places_of(np.vstack([x, y]).T, axes) / SPACING) * SPACING
    weights = np.repeat([1 / 40, -1 / 25], [40, 25])
    by_rows = np.array([pair_statistic(places, random.permutation(weights)) for _ in range(1000)])
    spread = np.sqrt(by_rows.var() / 1000 + by_counts.var() / 4000)
    assert abs(by_counts.mean() - by_rows.mean()) < 4 * spread
    high = np.quantile(by_rows, 0.9)
    assert abs((by_counts > high).mean() - 0.1) < 4 * np.sqrt(0.09 / 1000 + 0.09 / 4000)
