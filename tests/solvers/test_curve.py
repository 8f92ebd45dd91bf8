"""f averaged over models: every score and every value against matrices of all pairs, on a grid and from pairs."""

import numpy as np
import pandas as pd
import pytest

from densdiff.core import mixed_kernel
from densdiff.core.selection import one_group
from densdiff.solvers import curve as curves
from densdiff.solvers import drawn_rows
from densdiff.solvers.base import DIFFERENCE
from densdiff.solvers.prepared import WeightedSample
from densdiff.solvers.spectral import SpectralSolver
from tests.curves import LAMS, Model, averaged, prepared, rows_in_widths, samples_of, score

LEVELS = {"numbers": (), "mixed": (2, 3), "categories": (2, 3, 4), "many classes": (2, 3, 4, 5, 6, 8, 12, 25)}
# of a kernel's peak, by columns: the filters that are left out in one, in two what wraps around and what splines lose
GRID_TOLERANCE = {1: 1e-8, 2: 1.5e-4}
BIN_TOLERANCE = 2e-4  # a bin is right on average over the distances in it: the error falls with the number of pairs
TABLE_TOLERANCE = 1e-7  # of a kernel's peak: a cubic through nodes .013 sigma apart
COLUMNS = {"numbers": 3, "mixed": 2, "categories": 0, "many classes": 1}


def table(seed, n, d, levels=(), shift=0.0):
    random = np.random.default_rng([seed, n, d, len(levels)])
    frame = pd.DataFrame({f"number {j}": random.normal(size=n) + shift for j in range(d)})
    for j, count in enumerate(levels):
        codes = np.minimum(random.integers(0, count, n), random.integers(0, count, n) + round(shift))
        codes[: min(count, n)] = np.arange(min(count, n))  # each level is there, as far as there are rows
        frame[f"level {j}"] = [f"v{code}" for code in codes]
    return frame


def case(kind, weighted, n=60, m=41):
    x, y = table(1, n, COLUMNS[kind], LEVELS[kind]), table(2, m, COLUMNS[kind], LEVELS[kind], 0.7)
    random = np.random.default_rng([n, m])
    weights = (random.random(n) + 0.2, random.random(m) + 0.2) if weighted else (None, None)
    return prepared(x, y, weights)


def some_models(sigmas):
    return [(level, i) for level in sorted({0, len(sigmas) // 2, len(sigmas) - 1}) for i in (0, 3, 6)]


each_weighting = pytest.mark.parametrize("weighted", [False, True])


def check_scores(found, blocks, rows, steps, tolerance):
    """Scores and noise of some models; the noise is a mean over pairs, less than its peak, over the sizes."""
    sigmas, unit = found.models.sigmas, np.exp(found.models.log_unit)
    for level, i in some_models(sigmas):
        model = Model(rows.levels, steps, float(sigmas[level]), float(LAMS[i]))
        expected, noise, size = score(blocks, rows.sizes, model)
        assert unit * found.models.scores[level, i] == pytest.approx(expected, abs=tolerance * size)
        per_row = sum(1 / n for n in rows.sizes)
        assert unit * found.models.noise[level, i] == pytest.approx(noise, abs=tolerance * (size * per_row + noise))


@each_weighting
@pytest.mark.parametrize("kind", list(LEVELS))
def test_scores_from_pairs_are_those_of_all_kernel_matrices(kind, weighted):
    rows = rows_in_widths(case(kind, weighted))
    found = curves.PairCurve(rows)
    tolerance = 1e-13 if kind == "categories" else BIN_TOLERANCE  # without numbers nothing is binned
    check_scores(found, [samples_of(rows)], rows, found.polynomial.steps, tolerance)


@pytest.mark.parametrize("kind", ["mixed", "categories"])
def test_the_smoothing_of_categories_is_the_one_of_the_least_score(kind):
    rows = rows_in_widths(case(kind, False))
    found = curves.PairCurve(rows)
    least = []
    for smoothing in (0, 1, 2, 3, 4, 6):
        steps = [smoothing + round(np.log10(k - 1)) if smoothing else 0 for k in rows.levels]
        best = np.inf
        for lam in LAMS:
            for sigma in found.models.sigmas:
                whole, noise, _ = score([samples_of(rows)], rows.sizes, Model(rows.levels, steps, sigma, lam))
                best = min(best, whole + 0.5 * noise)
        least.append((best, steps))
    best, steps = min(least, key=lambda candidate: candidate[0])
    np.testing.assert_array_equal(found.polynomial.steps, steps)
    assert np.exp(found.models.log_unit) * found.models.least == pytest.approx(best, rel=2e-3)


def grid_curve(d, weighted, n=60, m=41):
    random = np.random.default_rng([n, m])
    weights = (random.random(n) + 0.2, random.random(m) + 0.2) if weighted else (None, None)
    data = prepared(table(1, n, d), table(2, m, d, shift=0.7), weights)
    rows = rows_in_widths(data)
    return rows, curves._curve_of(rows)


@each_weighting
@pytest.mark.parametrize("d", [1, 2])
def test_scores_on_a_grid_are_those_of_all_kernel_matrices(d, weighted):
    rows, found = grid_curve(d, weighted)
    assert isinstance(found, curves._GridCurve)
    check_scores(found, [samples_of(rows)], rows, (), GRID_TOLERANCE[d])


def points_near(rows, k=20):
    random = np.random.default_rng(k)
    together = np.hstack([rows.numbers, rows.codes])[:: -(-len(rows.omega) // k)].copy()
    together[:, : rows.numbers.shape[1]] += 0.3 * random.normal(size=(len(together), rows.numbers.shape[1]))
    return together


def back(rows, points):
    """Points in the metric of the rows in the units that the rows came in."""
    d = rows.numbers.shape[1]
    numbers = points[:, :d] if rows.matrix is None else points[:, :d] @ np.linalg.inv(rows.matrix)
    return np.hstack([numbers * rows.divisors, points[:, d:]])


@each_weighting
@pytest.mark.parametrize("kind", list(LEVELS))
def test_f_from_pairs_is_the_sum_over_models_of_weight_times_curve(kind, weighted):
    rows = rows_in_widths(case(kind, weighted))
    found = curves.PairCurve(rows)
    assert mixed_kernel.has_few_classes(found.polynomial) == (kind != "many classes")
    points = points_near(rows)
    expected, peak = averaged(points, rows, found.models.weights, found.models.sigmas, found.polynomial.steps)
    values, log_factor = found.values(back(rows, points))
    tolerance = 1e-14 if kind == "categories" else TABLE_TOLERANCE
    np.testing.assert_allclose(np.exp(log_factor) * values, expected, rtol=0, atol=tolerance * peak)
    assert np.abs(expected).max() > 1e-3 * peak


def test_f_is_the_same_from_tables_of_classes_and_of_steps(monkeypatch):
    rows = rows_in_widths(case("many classes", False))
    points, values = points_near(rows), []
    for most_entries in (mixed_kernel.MOST_ENTRIES, 0):
        monkeypatch.setattr(mixed_kernel, "MOST_ENTRIES", most_entries)
        found = curves.PairCurve(rows)
        assert all(kernel.is_by_class == (most_entries > 0) for kernel in found._averaged_kernels)
        values.append(found.values(back(rows, points))[0])
    peak = sum(abs(kernel.of_equal_rows[0]) for kernel in found._averaged_kernels)
    np.testing.assert_allclose(*values, rtol=0, atol=3e-5 * peak)  # of a coarser table


@pytest.mark.parametrize("kind", ["numbers", "mixed"])
@pytest.mark.parametrize("i", [0, 6])
@pytest.mark.parametrize("level", [0, -1])
def test_a_model_that_has_all_the_weight_is_f(kind, level, i):
    """The roughest filter and the widest kernel are the hardest for a table."""
    rows = rows_in_widths(case(kind, False))
    found = curves.PairCurve(rows)
    scores = np.zeros_like(found.models.scores)
    scores[level, i] = -1.0
    found.models = found.models._replace(scores=scores, noise=np.full_like(scores, 1e-9))
    points = points_near(rows)
    expected, peak = averaged(points, rows, found.models.weights, found.models.sigmas, found.polynomial.steps)
    values, log_factor = found.values(back(rows, points))
    np.testing.assert_allclose(np.exp(log_factor) * values, expected, rtol=0, atol=TABLE_TOLERANCE * peak)


@each_weighting
@pytest.mark.parametrize("d", [1, 2])
def test_f_on_a_grid_is_the_sum_over_models_of_weight_times_curve(d, weighted):
    rows, found = grid_curve(d, weighted)
    points = points_near(rows)
    expected, peak = averaged(points, rows, found.models.weights, found.models.sigmas, ())
    values, log_factor = found.values(back(rows, points))
    assert log_factor == 0.0
    np.testing.assert_allclose(values, expected, rtol=0, atol=GRID_TOLERANCE[d] * peak)


@pytest.mark.parametrize("d", [1, 2])
def test_grid_and_pairs_give_the_same_f(d):
    rows, grid = grid_curve(d, True, 150, 110)
    pairs = curves.PairCurve(rows)
    np.testing.assert_array_equal(pairs.models.sigmas, grid.models.sigmas)
    points = back(rows, points_near(rows, 50))
    values, log_factor = pairs.values(points)
    expected = grid.values(points)[0]
    # errors of the scores enter the weights divided by the noise in the best curve, a few hundredths of the terms
    tolerance = 30 * (GRID_TOLERANCE[d] if d == 2 else 1e-6)
    np.testing.assert_allclose(np.exp(log_factor) * values, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def test_one_averaged_filter_is_the_average_of_the_solvers_curves():
    rows, grid = grid_curve(1, False)
    (x, omega_x), (y, omega_y) = samples_of(rows)
    samples = WeightedSample.of(x, omega_x), WeightedSample.of(y, omega_y)
    solver = SpectralSolver(*samples, one_group(len(x), len(y)), grid.models.sigmas, LAMS)
    weights = np.random.default_rng(0).random(grid.models.scores.shape)
    points = points_near(rows)
    models = np.ndindex(weights.shape)
    expected = sum(weights[model] * solver.evaluate(DIFFERENCE, model, points) for model in models)
    np.testing.assert_allclose(solver.averaged(DIFFERENCE, weights, points), expected, atol=1e-12 * weights.sum())


def correlated(seed, n, d, shift):
    """Unit normal rows with a correlation of .95 between the first two columns, each column of variance 1."""
    random = np.random.default_rng([seed, d])
    root = np.linalg.cholesky(covariance(d))
    return random.normal(size=(n, d)) @ root.T + shift * np.ones(d) * (np.arange(d) == 0)


def covariance(d):
    matrix = np.eye(d)
    matrix[0, 1] = matrix[1, 0] = 0.95
    return matrix


def normal_difference(points, d, shift):
    inverse, volume = np.linalg.inv(covariance(d)), np.sqrt(np.linalg.det(2 * np.pi * covariance(d)))
    from_q = points - shift * (np.arange(d) == 0)
    densities = [np.exp(-0.5 * np.einsum("ij,jk,ik->i", z, inverse, z)) / volume for z in (points, from_q)]
    return densities[0] - densities[1]


@pytest.mark.parametrize("d", [2, 3])
def test_f_of_whitened_rows_is_in_the_users_units(d):
    shift, units = 0.7, np.array([1.0, 1000.0, 0.01])[:d]
    data = prepared(correlated(1, 1200, d, 0.0) * units, correlated(2, 1000, d, shift) * units)
    found = curves.find_curve(data)
    assert found.curve.rows.matrix is not None
    axis = np.linspace(-4.5, 5.2, 70 if d == 2 else 28)
    points = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
    f = found.at(data.scaling.apply(points * units)) * units.prod()
    true, cell = normal_difference(points, d, shift), (axis[1] - axis[0]) ** d
    # a volume that were wrong would be so by the determinant of the correlation, a factor of .31
    assert np.square(f - true).sum() < 0.1 * np.square(true).sum()
    assert f[f > 0].sum() * cell == pytest.approx(true[true > 0].sum() * cell, rel=0.12)
    assert (f * true).sum() / np.square(true).sum() == pytest.approx(1.0, abs=0.12)


@pytest.mark.parametrize(("n", "m"), [(130, 95), (95, 260)])
def test_scores_of_many_rows_are_means_over_blocks_of_rows(monkeypatch, n, m):
    monkeypatch.setattr(drawn_rows, "BLOCK_ROWS", 40)
    rows = rows_in_widths(case("mixed", True, n, m))
    found = curves.PairCurve(rows)
    assert rows.n_groups == 20
    ranks = np.array([(rows.groups[:i] == group).sum() for i, group in enumerate(rows.groups)])
    count = np.bincount(rows.groups).min() // 2
    assert count > 1
    together, blocks = np.hstack([rows.numbers, rows.codes]), []
    for k in range(min(count, 8)):
        inside = ranks // 2 == k
        samples = [inside & (rows.groups < 20), inside & (rows.groups >= 20)]
        assert [sample.sum() for sample in samples] == [40, 40]
        blocks.append([(together[sample], rows.omega[sample]) for sample in samples])
    check_scores(found, blocks, rows, found.polynomial.steps, BIN_TOLERANCE)


def test_few_rows_against_many_are_scored_in_one_block_and_evaluated_with_all_rows():
    data = prepared(table(1, 100, 3), table(2, 50_000, 3, shift=0.7))
    found = curves.find_curve(data).curve
    rows = found.rows
    assert [len(sample) for sample, _ in samples_of(rows)] == [100, 50_000]
    (block,) = rows.blocks()
    assert [len(sample) for sample, _ in samples_of(block)] == [100, 2000]
    points = points_near(rows, 5)
    expected, peak = averaged(points, rows, found.models.weights, found.models.sigmas, ())
    values, log_factor = found.values(back(rows, points))
    np.testing.assert_allclose(np.exp(log_factor) * values, expected, rtol=0, atol=TABLE_TOLERANCE * peak)


def models_with(best, sigmas=3):
    """Models of which the one at a sigma has nearly all weight."""
    scores = np.zeros((sigmas, 7))
    scores[best, 2] = -100.0
    return curves.Models(2.0 ** -np.arange(sigmas), scores, np.ones((sigmas, 7)), 0.0)


def test_weight_at_either_end_of_the_ladder_is_noted():
    assert "finer structure" in models_with(2).note()
    assert "no structure" in models_with(0).note()
    assert models_with(1).note() is None
    assert models_with(0, 1).note() is None  # categories alone have one sigma, and it is no end
    even = curves.Models(np.ones(2), np.zeros((2, 7)), np.ones((2, 7)), 0.0)
    assert even.note() is None


def test_equal_samples_show_no_structure_and_single_points_finer_structure():
    x = table(1, 60, 1).to_numpy()
    random = np.random.default_rng(0)
    y = x + 1e-9 * random.normal(size=x.shape)
    assert "no structure" in curves.find_curve(prepared(x, y)).note
    assert "finer structure" in curves.find_curve(prepared(0.0 * x, 0.0 * y + 1.0)).note
