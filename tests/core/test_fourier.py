"""Transforms of gridded rows against direct sums."""

import numpy as np
import pytest

from densdiff.core import fourier
from densdiff.core import grid as grids
from tests.grids import finest_grid


def test_a_grid_is_padded_for_the_widest_sigma():
    *_, axes, grid = finest_grid(1)
    found = fourier.transform(grid, axes, np.array([2.0, 1.0]), 0.1)
    assert found.pad == grids.reach(2.0, 0.1, grids.WRAP_TOLERANCE[1])
    period = 2 * np.pi / found.frequencies[0][1]
    assert period >= grid.counts.shape[1] * grid.spacing + found.pad


@pytest.mark.parametrize(("d", "bytes_of_one"), [(1, 16), (2, 16), (3, 8)])
def test_transforms_of_three_columns_take_half_the_memory(d, bytes_of_one):
    *_, axes, grid = finest_grid(d, spacing=0.5)
    assert fourier.transform(grid, axes, np.array([1.0]), 0.1).values.itemsize == bytes_of_one


def test_groups_of_a_grid_too_large_for_one_call_are_transformed_one_by_one(monkeypatch):
    *_, axes, grid = finest_grid(2)
    expected = fourier.transform(grid, axes, np.array([1.0]), 0.1).values
    calls, rfftn = [], fourier.rfftn
    monkeypatch.setattr(fourier, "rfftn", lambda counts, **how: calls.append(len(counts)) or rfftn(counts, **how))
    monkeypatch.setattr(fourier, "AT_ONCE", 1)
    found = fourier.transform(grid, axes, np.array([1.0]), 0.1).values
    assert calls == [1] * len(grid.counts)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


def test_every_frequency_of_a_leading_axis_has_its_opposite():
    *_, axes, grid = finest_grid(2)
    leading, last = fourier.transform(grid, axes, np.array([1.0]), 0.1).frequencies
    np.testing.assert_allclose(np.sort(leading), np.sort(-leading))
    assert (last >= 0).all()


@pytest.mark.parametrize("twice_coarser", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_transform_equals_the_sum_of_waves(d, twice_coarser):
    sigma, lam = 1.0, 1e-2
    rows, omega, labels, axes, grid = finest_grid(d, spacing=0.25 * sigma if not twice_coarser else 0.0625)
    for _ in range(2 * twice_coarser):
        grid = grids.coarsen(grid)
    of = fourier.transform(grid, axes, np.array([sigma]), lam)
    places = grids.places_of(rows.T, axes)
    box = np.stack(np.meshgrid(*of.frequencies, indexing="ij"), axis=-1).reshape(-1, d)
    waves = omega[:, None] * np.exp(-1j * (places - of.origin) @ box.T)  # (50, m)
    expected = np.array([waves[labels == g].sum(axis=0) for g in range(3)])
    # where a filter of this lam still lets a thousandth pass; the level of the noise is sqrt(sum omega^2)
    passing = of.filters(sigma, np.array([lam]))[0] > 1e-3
    noise = np.sqrt(np.bincount(labels, omega**2))
    error = np.abs(of.values - expected).max(axis=0, where=passing, initial=0.0)
    filtered = np.abs(of.filters(sigma, np.array([lam]))[0] * (of.values - expected)).max(axis=1)
    assert (filtered < 1e-3 * noise).all()
    low = of.squared < (1.0 / sigma) ** 2
    assert np.abs(of.values - expected)[:, low].max() < 1e-4 * noise.min()
    assert np.isfinite(error).all()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_own_power_equals_the_power_of_every_single_row(d):
    rows, omega, _, axes, grid = finest_grid(d)
    kept = slice(0, 12)
    alone = np.zeros((12, *grid.counts.shape[1:]))
    for i in range(12):
        one = slice(i, i + 1)
        alone[i] = grids.spread(rows[one], omega[one], np.zeros(1, dtype=int), 1, axes, grid.spacing)[0][0]
    of = fourier.transform(grids.finest_grid(alone, grid.spacing), axes, np.array([1.0]), 1e-2)
    expected = np.square(np.abs(of.values.astype(np.complex128))).sum(axis=0)
    found = fourier.own_power(grids.places_of(rows[kept].T, axes), np.square(omega[kept]), of)
    np.testing.assert_allclose(found, expected, rtol=1e-9 if d < 3 else 1e-4)  # three columns: single precision


@pytest.mark.parametrize("d", [1, 2, 3])
def test_points_that_share_coordinates_are_evaluated_as_if_each_were_alone(d):
    *_, axes, grid = finest_grid(d, spacing=0.5)
    spectra = fourier.transform(grid, axes, np.array([1.0]), 0.1)
    lines = [np.array([0.4, 1.0, 2.5])[: 3 - a] for a in range(d)]
    places = np.column_stack([line.ravel() for line in np.meshgrid(*lines)])
    curve, filters = spectra.values[0], spectra.filters(1.0, np.array([0.1]))[0]
    angles = [np.outer(places[:, a] - spectra.origin[a], w) for a, w in enumerate(spectra.frequencies)]
    waves = angles[0]
    for more in angles[1:]:
        waves = (waves[:, :, None] + more[:, None, :]).reshape(len(places), -1)
    expected = (np.exp(1j * waves) @ (filters * spectra.measure * curve)).real
    scale = np.abs(filters * spectra.measure * curve).sum()
    np.testing.assert_allclose(fourier.evaluate(spectra, filters, curve, places), expected, rtol=0, atol=1e-6 * scale)
