"""The densities of the benchmarks are those they sample, and integrals over them are right."""

import numpy as np
import pytest

from benchmarks.known_densities import pairs, pooled_moments, quadrature


def tensor_grid(p, q, step=0.04, reach=8.0):
    """Middles of cells (k, 2) around both densities and the area of a cell; `reach` is in pooled deviations.

    Where a density jumps a cell ends: a jump inside of cells would cost several percent.
    """
    mean, covariance = pooled_moments(p, q)
    steps = step * np.diag(p.matrix)
    beyond = reach * np.sqrt(np.diag(covariance))
    ends = zip(np.floor((mean - beyond) / steps), np.ceil((mean + beyond) / steps), steps, strict=True)
    lines = [(np.arange(low, high) + 0.5) * width for low, high, width in ends]
    return np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 2), steps.prod()


def rough_estimate(p, q):
    """A function of points that is as far from p - q as an estimate of few rows: kernels on 30 rows of each sample."""
    random = np.random.default_rng(0)
    deviation = np.sqrt(np.diag(pooled_moments(p, q)[1]))
    rows = np.vstack([p.sample(30, random), q.sample(30, random)]) / deviation
    peaks = np.repeat([1.0, -1.0], 30) / (30 * 2 * np.pi * 0.4**2 * deviation.prod())

    def values(points):
        columns = [np.exp(-((points[:, [j]] / deviation[j] - rows[:, j]) ** 2) / (2 * 0.4**2)) for j in range(2)]
        return (columns[0] * columns[1]) @ peaks

    return values


def total(values):
    """A sum of many terms and five of its standard errors."""
    return values.sum(axis=0), 5 * np.sqrt(len(values)) * values.std(axis=0)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_density_has_mass_one_and_describes_its_samples(d):
    random, size = np.random.default_rng(0), 4000
    for label, pair in pairs(d).items():
        points, weights = quadrature(*pair)
        for density in pair:
            deviation = np.sqrt(np.diag(density.covariance))
            values = (weights * density(points))[:, None]
            rows = density.sample(size, random)
            # Mass, mean and the integral of the squared density; the last two by the samples as well.
            integrals, noise = total(values * np.column_stack([np.ones(len(points)), points, density(points)]))
            from_rows, row_noise = total(np.column_stack([np.ones(size), rows, density(rows)]) / size)
            # A grid of one column has no noise: it leaves out 1e-5 of the mass, and of the mean of t3 less than 1e-3.
            noise = np.full(3, 1e-3) if d == 1 else noise
            truth = np.array([1.0, *density.mean, integrals[-1]])
            assert np.all(np.abs(integrals - truth) <= noise * np.array([1, *deviation, 1] if d == 1 else 1)), label
            assert np.all(np.abs(from_rows - truth) <= row_noise + noise + 1e-12), label


@pytest.mark.parametrize("label", ["two modes", "exponential", "outliers", "uniform", "correlated", "units"])
def test_random_points_integrate_as_a_grid_does(label):
    p, q = pairs(2)[label]
    estimate = rough_estimate(p, q)
    cells, area = tensor_grid(p, q)
    expected = area * np.square(estimate(cells) - p(cells) + q(cells)).sum()
    points, weights = quadrature(p, q)
    values = weights * np.square(estimate(points) - p(points) + q(points))
    error = np.sqrt(len(points)) * values.std()
    assert error < 0.06 * expected
    assert values.sum() == pytest.approx(expected, abs=4 * error)


def test_the_grid_of_one_column_reaches_beyond_both_densities_and_meets_their_jumps():
    for p, q in pairs(1).values():
        points, weights = quadrature(p, q)
        edges = points[:, 0] - weights / 2
        for density in (p, q):
            beyond = np.abs(points[[0, -1]] - density.mean) / np.sqrt(density.covariance)
            assert beyond.min() > 3
    for jump in (0.0, 0.2, 1.0, 1.4):  # of the uniform densities, which are the last
        assert np.abs(edges - jump).min() < 1e-9
