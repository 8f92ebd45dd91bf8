"""E12 of counts in cells is that of the rows in cells, by products, by transforms and on shared grids."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import cell_power, grid, resample
from densdiff.core.radial import log_scale, radial_table, statistic_kernel
from densdiff.engines.grids import occupied_cells, plan
from densdiff.engines.pair_distances import kernel_matrix
from densdiff.sources.array_sample import ArraySample

SIGMA, LAM, SPACING = 0.5, 0.1, 0.1


def cells_of(x, y, spacing=SPACING):
    samples = [ArraySample(x), ArraySample(y)]
    axes, _ = plan(samples, np.array([SIGMA]), LAM, 2)
    return axes, occupied_cells(samples, axes, spacing)


def pair_statistic(places, weights):
    """E12 by all pairs, of rows that stand in the middle of their cells."""
    table = radial_table(places.shape[1], np.array([LAM]))
    kernel = kernel_matrix(places, places, statistic_kernel(table, 0), SIGMA, direct=True)
    return weights @ kernel @ weights * np.exp(-log_scale(SIGMA, places.shape[1]))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_statistic_of_counts_is_that_of_rows_in_the_middle_of_their_cells(d):
    random = np.random.default_rng(d)
    x, y = random.normal(size=(30, d)), random.normal(size=(20, d)) + 0.4
    axes, cells = cells_of(x, y)
    places = np.rint(grid.places_of(np.vstack([x, y]).T, axes) / SPACING) * SPACING
    weights = np.repeat([1 / 30, -1 / 20], [30, 20])
    found = cell_power.cell_statistics(cells, cells.counts[:1], [(SIGMA, LAM)])[:, 0]
    # kernels wrap around at this much of their peak, and the peak is the largest term
    tolerance = {1: 1e-8, 2: 1e-4, 3: 1e-3}[d]
    np.testing.assert_allclose(found, pair_statistic(places, weights), rtol=tolerance)


@pytest.mark.parametrize("products", [0.0, np.inf])
@pytest.mark.parametrize("d", [1, 2])
def test_single_precision_keeps_six_digits_of_statistics_of_many_cells(d, products, monkeypatch):
    random = np.random.default_rng(d)
    _, cells = cells_of(
        random.normal(size=(30_000, d)), 1.01 * random.normal(size=(20_000, d)), 0.01 if d == 1 else 0.2
    )
    counts = np.vstack([cells.counts[:1], resample.permuted_counts(cells.pooled, 30_000, 5, random)])
    monkeypatch.setattr(cell_power, "_PRODUCTS", products)
    models = [(SIGMA, LAM), (2 * SIGMA, LAM)]
    found = cell_power.cell_statistics(cells, counts, models)
    assert cell_power.float_kind(len(cells.occupied)) is np.float32
    monkeypatch.setattr(cell_power, "_MANY_CELLS", np.inf)
    np.testing.assert_allclose(found, cell_power.cell_statistics(cells, counts, models), rtol=1e-5)


@given(
    st.integers(1, 3),
    st.integers(0, 2**32 - 1),
    st.floats(0.05, 1.0),
    st.lists(st.floats(0.3, 3.0), min_size=1, max_size=3),
)
def test_products_with_waves_are_the_fourier_transform(d, seed, spacing, sigmas):
    random = np.random.default_rng(seed)
    _, cells = cells_of(random.normal(size=(30, d)), random.normal(size=(20, d)), max(spacing, 0.3 * (d - 1)))
    counts = np.vstack([cells.counts[:1], resample.permuted_counts(cells.pooled, 30, 3, random)])
    models = [(sigma, LAM) for sigma in sigmas]
    found = []
    for limit in (0.0, np.inf):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cell_power, "_PRODUCTS", limit)
            patch.setattr(cell_power, "AT_ONCE", 1 << 12)  # in several parts
            found.append(cell_power.cell_statistics(cells, counts, models))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


@given(st.integers(0, 2**32 - 1), st.lists(st.floats(0.05, 3.0), min_size=1, max_size=3))
def test_waves_of_a_column_are_cosines_and_sines(seed, sigmas):
    random = np.random.default_rng(seed)
    _, cells = cells_of(random.normal(size=(30, 1)), random.normal(size=(20, 1)), 0.02)
    models = [(sigma, LAM) for sigma in sigmas]
    grids = [cell_power._ModelGrid.of(cells, models[run]) for run in cell_power.share_grids(cells, models)]
    angles = np.outer(cells.spacing * cells.occupied, np.concatenate([grid.lines[0] for grid in grids]))
    waves, weights = cell_power.line_waves(cells, models)
    np.testing.assert_allclose(waves, np.hstack([np.cos(angles), np.sin(angles)]), rtol=0, atol=1e-15 * angles.max())
    each = np.concatenate([grid.weights.sum(axis=1) for grid in grids])
    np.testing.assert_allclose(weights.sum(axis=1), np.tile(each, 2), rtol=1e-15)


@given(st.integers(0, 2**32 - 1), st.lists(st.floats(0.05, 3.0), min_size=1, max_size=6), st.floats(1.0, 30.0))
def test_models_that_share_a_grid_have_the_statistics_of_grids_of_their_own(seed, sigmas, stretch):
    random = np.random.default_rng(seed)
    _, cells = cells_of(stretch * random.normal(size=(30, 1)), stretch * random.normal(size=(20, 1)), 0.02)
    counts = np.vstack([cells.counts[:1], resample.permuted_counts(cells.pooled, 30, 3, random)])
    models = [(sigma, LAM) for sigma in sorted(sigmas, reverse=True)]
    runs = cell_power.share_grids(cells, models)
    assert [j for run in runs for j in range(run.start, run.stop)] == list(range(len(models)))
    alone = np.hstack([cell_power.cell_statistics(cells, counts, [model]) for model in models])
    n, m = cells.counts.sum(axis=1)
    waves, weights = cell_power.line_waves(cells, models)
    by_waves = np.square((counts / n - (cells.pooled - counts) / m) @ waves) @ weights
    # kernels wrap around, and filters end, at 1e-8 of their peaks
    for found in (cell_power.cell_statistics(cells, counts, models), by_waves):
        np.testing.assert_allclose(found, alone, rtol=1e-6)


@pytest.mark.parametrize("sigma", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("lam", [1e-6, 0.01, 1.0, 30.0])
@pytest.mark.parametrize("share", [1e-8, 0.5])
def test_the_frequency_of_a_share_is_where_the_filter_falls_below_it(sigma, lam, share):
    highest = cell_power.frequency_at((sigma, lam), share)
    peak, inside, outside = cell_power._filter(np.square(highest * np.array([0, 1 - 1e-8, 1 + 1e-8])), (sigma, lam))
    assert outside < share * peak < inside


@pytest.mark.parametrize("d", [1, 2])
def test_statistics_of_rows_far_from_the_edge_do_not_know_the_other_edge(d):
    """A statistic is that of a grid so large that nothing comes around, to a percent in two columns."""
    random = np.random.default_rng(d)
    _, cells = cells_of(random.uniform(size=(60, d)), random.uniform(size=(50, d)))
    models = [(0.2, LAM), (1.0, LAM)]
    found = cell_power.cell_statistics(cells, cells.counts[:1], models)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cell_power, "_WRAP", {d: 1e-13})
        wide = cell_power.cell_statistics(cells, cells.counts[:1], models)
    np.testing.assert_allclose(found, wide, rtol={1: 1e-6, 2: 2e-2}[d])


def test_another_unit_of_length_divides_the_statistic_of_counts_by_its_volume():
    random = np.random.default_rng(8)
    _, cells = cells_of(random.normal(size=(30, 1)), random.normal(size=(20, 1)) + 0.4)
    found = cell_power.cell_statistics(cells, cells.counts[:1], [(SIGMA, LAM)])
    for unit in (2.0**-30, 2.0**30):
        moved = replace(cells, spacing=unit * SPACING)
        there = cell_power.cell_statistics(moved, cells.counts[:1], [(unit * SIGMA, LAM)])
        np.testing.assert_allclose(there * unit, found, rtol=1e-12)


def test_null_distribution_equals_that_of_permuted_rows():
    random = np.random.default_rng(2)
    x, y = random.normal(size=(40, 1)), random.normal(size=(25, 1))
    axes, cells = cells_of(x, y)
    by_counts = cell_power.cell_statistics(
        cells, resample.permuted_counts(cells.pooled, 40, 4000, random), [(SIGMA, LAM)]
    )[:, 0]
    places = np.rint(grid.places_of(np.vstack([x, y]).T, axes) / SPACING) * SPACING
    weights = np.repeat([1 / 40, -1 / 25], [40, 25])
    by_rows = np.array([pair_statistic(places, random.permutation(weights)) for _ in range(1000)])
    spread = np.sqrt(by_rows.var() / 1000 + by_counts.var() / 4000)
    assert abs(by_counts.mean() - by_rows.mean()) < 4 * spread
    high = np.quantile(by_rows, 0.9)
    assert abs((by_counts > high).mean() - 0.1) < 4 * np.sqrt(0.09 / 1000 + 0.09 / 4000)
