"""Standard errors, intervals and bands: against plain loops and simulated variance, what must not change them, edges.

Whether they cover the truth as often as they say is simulated in `tests/calibration`.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from sklearn.base import clone

import densdiff as dd
from densdiff.core import noise as core
from densdiff.core import selection
from densdiff.core.scaling import pooled_scaling
from densdiff.solvers import uncertainty
from densdiff.solvers.base import DENSITY_X, DIFFERENCE
from densdiff.solvers.centers import CentersSolver
from densdiff.solvers.pairs import PairsSolver
from densdiff.solvers.prepared import WeightedSample
from densdiff.solvers.spectral import SpectralSolver
from tests import oracle
from tests.solvers import EXACT, SOLVERS, columns, each_solver

NAMED = SOLVERS[:3]
each_named_solver = pytest.mark.parametrize("solver", NAMED)
each_kind = pytest.mark.parametrize("simultaneous", [True, False], ids=["simultaneous", "pointwise"])
few_rows_allowed = pytest.mark.filterwarnings("ignore:folds reduced:densdiff.DensDiffWarning")
GOLDEN = json.loads(Path(__file__).with_name("golden").joinpath("golden.json").read_text(encoding="utf-8"))
GRID_TOLERANCE = {
    1: 1e-6,
    2: 1.5e-4,
}  # of a kernel's peak, by columns: what wraps around and what the splines lose; 1.1e-4 was seen


def shares(random, n, weighted):
    """Weights that sum to 1."""
    raw = random.random(n) + 0.2 if weighted else np.ones(n)
    return raw / raw.sum()


def gaussian(a, b, width=1.0):
    return np.exp(-np.square(a[..., :, None] - b[..., None, :]) / (2 * width**2))


def plain_witness(kernel, omega):
    """The density of a sample at each of its rows from all others."""
    found = np.zeros(len(omega))
    for i in range(len(omega)):
        for j in range(len(omega)):
            if i != j:
                found[i] += omega[j] * kernel[i, j] / (1 - omega[i])
    return found


def plain_variance_of_mean(values, omega):
    mean = sum(w * v for w, v in zip(omega, values, strict=True))
    # E sum w^2 (v - mean)^2 = var * (sum w^2 - 2 sum w^3 + (sum w^2)^2)
    squares, cubes = sum(w**2 for w in omega), sum(w**3 for w in omega)
    raw = sum(w**2 * (v - mean) ** 2 for w, v in zip(omega, values, strict=True))
    return raw * squares / (squares - 2 * cubes + squares**2)


def plain_pairs(kernel, left, right, own):
    """Sum over pairs of squared weights times the squared kernel less its mean by row and column."""
    by_row = [sum(right[j] * kernel[i, j] for j in range(len(right))) for i in range(len(left))]
    by_column = [sum(left[i] * kernel[i, j] for i in range(len(left))) for j in range(len(right))]
    mean = sum(w * v for w, v in zip(left, by_row, strict=True))
    total = 0.0
    for i in range(len(left)):
        for j in range(len(right)):
            if not (own and i == j):
                total += (left[i] * right[j] * (kernel[i, j] - by_row[i] - by_column[j] + mean)) ** 2
    return total / ((1 - sum(left**2)) * (1 - sum(right**2))) if own else total


def plain_parts(xx, xy, yy, x, y, a):
    """The linear and the degenerate part of the variance of a |p|^2 + a |q|^2 - 2 <p, q> from double loops."""
    within_x, within_y = plain_pairs(xx, x.omega, x.omega, True), plain_pairs(yy, y.omega, y.omega, True)
    across = plain_pairs(xy, x.omega, y.omega, False)
    witness_x = a * plain_witness(xx, x.omega) - np.array([sum(y.omega * row) for row in xy])
    witness_y = a * plain_witness(yy, y.omega) - np.array([sum(x.omega * column) for column in xy.T])
    # estimated witness values hold noise of their own: that of the pairs within and of the pairs across
    linear_x = plain_variance_of_mean(witness_x, x.omega) - a**2 * x.share * within_x - y.share * across
    linear_y = plain_variance_of_mean(witness_y, y.omega) - a**2 * y.share * within_y - x.share * across
    linear = 4 * (x.share * max(0.0, linear_x) + y.share * max(0.0, linear_y))
    own = a**2 * (x.share**2 * within_x + y.share**2 * within_y)
    return linear, 2 * own + 4 * x.share * y.share * across


@pytest.mark.parametrize("weighted", [False, True])
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 9),
    m=st.integers(2, 9),
    a=st.floats(0, 1),
    gap=st.sampled_from([0.0, 3.0]),
)
def test_distance_noise_equals_double_loops_over_rows(weighted, seed, n, m, a, gap):
    random = np.random.default_rng(seed)
    u, v = random.normal(size=n), random.normal(size=m) + gap
    x = core.Rows(shares(random, n, weighted), share=0.3)
    y = core.Rows(shares(random, m, weighted), share=0.7)
    kernels = gaussian(u, u), gaussian(u, v), gaussian(v, v)
    for factor in (1.0, a):
        found = core.distance_noise(*kernels, x, y).parts(factor)
        expected = plain_parts(*kernels, x, y, factor)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


def test_linear_part_of_a_clear_difference_is_not_cut_off():
    random = np.random.default_rng(0)
    u, v = random.normal(size=12), random.normal(size=9) + 2.0
    x, y = (core.Rows(shares(random, n, False), 1.0) for n in (12, 9))
    linear, degenerate = core.distance_noise(gaussian(u, u), gaussian(u, v), gaussian(v, v), x, y).parts(1.0)
    assert linear > 0
    assert degenerate > 0


def u_statistic(xx, xy, yy, a):
    """a |p|^2 + a |q|^2 - 2 <p, q> without the pairs i = i, for many samples at once."""
    parts = []
    for kernel in (xx, yy):
        n = kernel.shape[-1]
        parts.append((kernel.sum(axis=(-2, -1)) - np.einsum("...ii->...", kernel)) / (n * (n - 1)))
    return a * (parts[0] + parts[1]) - 2 * xy.mean(axis=(-2, -1))


def simulated(gap, a, n=25, m=18, blocks=20, runs=1000):
    """Variance of the U-statistic over blocks * runs samples, and both parts as estimated from the first block."""
    random = np.random.default_rng(1)
    x, y = core.Rows(np.full(n, 1 / n), 1.0), core.Rows(np.full(m, 1 / m), 1.0)
    values, parts = [], []
    for block in range(blocks):
        u, v = random.normal(size=(runs, n)), random.normal(size=(runs, m)) + gap
        kernels = gaussian(u, u), gaussian(u, v), gaussian(v, v)
        values.append(u_statistic(*kernels, a))
        if block == 0:
            parts = [core.distance_noise(*each, x, y).parts(a) for each in zip(*kernels, strict=True)]
    return np.var(np.concatenate(values), ddof=1), *np.mean(parts, axis=0)


# 20,000 values: the variance of a mixture of chi-squares (kurtosis below 20) is then known to 3 %
@pytest.mark.parametrize("a", [1.0, 0.6])
@pytest.mark.parametrize("gap", [0.5, 1.5])
def test_estimated_variance_is_the_variance_over_samples(gap, a):
    variance, linear, degenerate = simulated(gap, a)
    assert linear + degenerate == pytest.approx(variance, rel=0.15)


def test_variance_at_equal_densities_is_that_of_the_degenerate_part():
    variance, linear, degenerate = simulated(0.0, 1.0)
    assert degenerate == pytest.approx(variance, rel=0.15)
    # what is left of a linear part that is 0 is cut off below 0, so on average it errs to the safe side
    assert variance < linear + degenerate < 2 * variance
    _, linear_far, degenerate_far = simulated(1.5, 1.0, blocks=1)
    assert linear_far > 10 * degenerate_far


def test_own_noise_of_the_witness_is_taken_off_its_variance():
    random = np.random.default_rng(2)
    x, y = core.Rows(np.full(40, 1 / 40), 1.0), core.Rows(np.full(30, 1 / 30), 1.0)
    found = []
    for _ in range(3000):
        u, v = random.normal(size=40), random.normal(size=30)
        noise = core.distance_noise(gaussian(u, u), gaussian(u, v), gaussian(v, v), x, y)
        raw = x.variance_of_mean(noise.own_x - noise.cross_x) + y.variance_of_mean(noise.own_y - noise.cross_y)
        found.append((4 * raw, noise.parts(1.0)[1]))
    raw, degenerate = np.mean(found, axis=0)
    assert raw == pytest.approx(2 * degenerate, rel=0.15)  # at equal densities nothing else is in it


@pytest.mark.parametrize("weighted", [False, True])
def test_variance_of_a_mean_is_unbiased_for_independent_values(weighted):
    rows = core.Rows(shares(np.random.default_rng(0), 6, weighted) ** (3 if weighted else 1), 1.0)
    rows = core.Rows(rows.omega / rows.omega.sum(), 1.0)
    # a quadratic form of independent values with variance 1 has the sum of its diagonal as its mean
    units = np.eye(6)
    assert sum(rows.variance_of_mean(unit) for unit in units) == pytest.approx(rows.squares, rel=1e-12)
    noise = core.curve_noise(units, np.zeros((6, 2)), rows, core.Rows(np.full(2, 0.5), 1.0))
    assert np.square(noise).sum() == pytest.approx(rows.squares, rel=1e-12)


def center_curve(points, rows, centers, sigma, lam):
    """Kernel of f with centers: psi(point)' A psi(row) / s, (points, rows)."""
    A = np.linalg.inv(oracle.gram(centers, sigma) + lam * np.eye(len(centers)))
    kernel = oracle.psi(points, centers, sigma) @ A @ oracle.psi(rows, centers, sigma).T
    return kernel / oracle.volume(sigma, rows.shape[1])


def plain_f_variance(points, x, y, centers, sigma, lam):
    """E10 as docs/math writes it."""
    A = np.linalg.inv(oracle.gram(centers, sigma) + lam * np.eye(len(centers)))
    S = sum(np.cov(oracle.psi(rows, centers, sigma).T) / len(rows) for rows in (x, y))
    return [psi @ A @ S @ A @ psi / oracle.volume(sigma, x.shape[1]) ** 2 for psi in oracle.psi(points, centers, sigma)]


@given(seed=st.integers(0, 10_000), d=st.integers(1, 4), sigma=st.floats(0.3, 3.0), lam=st.floats(0.01, 2.0))
def test_curve_noise_adds_up_to_e10(draw, seed, d, sigma, lam):
    x, y = draw(seed, 17, 11, d)
    centers, points = np.concatenate([x[:4], y[:3]]), y[:6] + 0.3
    kernels = [center_curve(points, rows, centers, sigma, lam) for rows in (x, y)]
    noise = core.curve_noise(*kernels, core.Rows(np.full(17, 1 / 17), 1.0), core.Rows(np.full(11, 1 / 11), 1.0))
    assert noise.shape == (6, 28)
    expected = plain_f_variance(points, x, y, centers, sigma, lam)
    np.testing.assert_allclose(np.square(noise).sum(axis=1), expected, rtol=1e-8, atol=1e-10 * max(expected))
    np.testing.assert_allclose(noise[:, :17].sum(axis=1), 0.0, atol=1e-12 * np.abs(noise).max())


def test_curve_noise_of_a_subsample_scales_to_the_whole():
    random = np.random.default_rng(0)
    kernels = random.random((3, 5)), random.random((3, 4))
    whole = [core.Rows(shares(random, n, True), 1.0) for n in (5, 4)]
    part = [core.Rows(rows.omega, 0.25) for rows in whole]
    np.testing.assert_allclose(core.curve_noise(*kernels, *part), 0.5 * core.curve_noise(*kernels, *whole), rtol=1e-14)


# with weights the golden variance may be negative, which a sum of squares never is: both are unbiased, not equal
@pytest.mark.parametrize(
    "case", [case for case in GOLDEN["cases"] if case["weights_x"] is None], ids=lambda case: case["name"]
)
def test_curve_noise_adds_up_to_the_golden_variance_of_f(case):
    x, y, centers, points = (np.array(case[key]) for key in ("X", "Y", "centers", "points"))
    omega = [np.full(len(rows), 1 / len(rows)) for rows in (x, y)]
    scaling, *samples = pooled_scaling(x, y, *omega, case["standardize"])
    for model in case["models"]:
        sigma = model["sigma"] / scaling.sigma_unit
        inner_points, inner_centers = scaling.apply(points), scaling.apply(centers)
        kernels = [center_curve(inner_points, rows, inner_centers, sigma, model["lam"]) for rows in samples]
        noise = core.curve_noise(*kernels, *(core.Rows(o, 1.0) for o in omega))
        found = np.square(noise).sum(axis=1) * np.exp(-2 * scaling.log_volume)
        golden = np.array(model["f_variance"], dtype=np.float64)
        np.testing.assert_allclose(found, golden, rtol=1e-10, atol=1e-10 * golden.max())


def made(name, x, y, sigma, lam, omega=None, centers=None):
    """A solver with a single model on the rows as they are."""
    omega = [np.full(len(rows), 1 / len(rows)) for rows in (x, y)] if omega is None else omega
    samples = [WeightedSample.of(rows, o) for rows, o in zip((x, y), omega, strict=True)]
    folds = selection.draw_folds(0, len(x), len(y), 2)
    grid = np.array([sigma]), np.array([lam])
    if name == "centers":
        return CentersSolver(*samples, np.concatenate([x[::3], y[::4]]) if centers is None else centers, folds, *grid)
    return (PairsSolver if name == "pairs" else SpectralSolver)(*samples, folds, *grid)


models = given(seed=st.integers(0, 10_000), d=st.integers(1, 4), sigma=st.floats(0.3, 3.0), lam=st.floats(1e-4, 1.0))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_exact_solvers_have_the_same_kernel(draw, d):
    x, y = draw(1, 25, 18, d)
    kernels = [made(solver, x, y, 0.9, 0.05).kernel(0.6, 0.02, x, y) for solver in EXACT]
    assert kernels[0].shape == (25, 18)
    np.testing.assert_allclose(*kernels, rtol=1e-9, atol=0)


@given(sigma=st.floats(0.2, 4.0), lam=st.floats(1e-6, 2.0))
def test_exact_kernel_is_the_inverse_transform_of_2F_minus_F_squared(draw, sigma, lam):
    x, y = draw(2, 12, 9, 1)
    # smooth and even to where F is below 1e-20, so that the trapezoidal rule is exact
    highest = np.sqrt(2 * (46 + max(0.0, -np.log(lam)))) / sigma
    w, step = np.linspace(-highest, highest, 4001, retstep=True)
    F = 1 / (1 + lam * np.exp(sigma**2 * w**2 / 2))
    r = x - y.T
    expected = (np.cos(r[:, :, None] * w) @ (2 * F - F**2)) * step / (2 * np.pi)
    solver = made("pairs", x, y, 1.0, 0.1)
    found = solver.kernel(sigma, lam, x, y) * np.exp(-solver.log_scale(sigma))
    np.testing.assert_allclose(found, expected, atol=1e-9 * expected.max())


@models
def test_kernel_of_centers_is_psi_M_psi(draw, seed, d, sigma, lam):
    x, y = draw(seed, 20, 14, d)
    solver = made("centers", x, y, 1.0, 0.1)
    G = oracle.gram(solver.centers, sigma) + lam * np.eye(len(solver.centers))
    left, right = (np.linalg.solve(G, oracle.psi(rows, solver.centers, sigma).T) for rows in (x, y))
    plain = oracle.psi(x, solver.centers, sigma) @ right
    expected = plain + lam * left.T @ right
    size = np.abs(expected).max()
    np.testing.assert_allclose(solver.kernel(sigma, lam, x, y), expected, atol=1e-9 * size)
    assert solver.log_scale(sigma) == pytest.approx(np.log(oracle.volume(sigma, d)))


@each_named_solver
@models
def test_kernel_is_symmetric_and_the_same_for_a_copy_of_the_rows(draw, solver, seed, d, sigma, lam):
    x, y = draw(seed, 15, 9, columns(solver, d))
    of = made(solver, x, y, 1.0, 0.1)
    here = of.kernel(sigma, lam, x, x)
    size = 1e-10 * np.abs(here).max()
    np.testing.assert_allclose(here, here.T, atol=size)
    np.testing.assert_allclose(here, of.kernel(sigma, lam, x, x.copy()), atol=size)
    np.testing.assert_allclose(of.kernel(sigma, lam, x, y), of.kernel(sigma, lam, y, x).T, atol=size)


@pytest.mark.parametrize("d", [1, 2, 6])
def test_peaks_of_the_exact_solvers_are_the_diagonal_of_their_kernel(draw, d):
    x, y = draw(3, d=d)
    for solver in EXACT if d <= 3 else ("pairs",):
        of = made(solver, x, y, 1.0, 0.1)
        np.testing.assert_allclose(of.peaks(0.7, 0.01, x), np.diag(of.kernel(0.7, 0.01, x, x)), rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2])
def test_peaks_of_centers_are_the_diagonal_amid_evenly_spaced_centers(draw, d):
    sigma, axis = 0.5, np.linspace(-20, 20, 401) if d == 1 else np.linspace(-7, 7, 36)
    centers = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
    of = made("centers", *draw(3, d=d), sigma, 0.1, centers=centers)
    # near the edge centers have fewer neighbours, so G's mean row sum is a little below that in the middle
    lam = 0.01 * oracle.gram(centers, sigma).mean(axis=0).sum()
    middle = np.zeros((1, d)) + 0.01
    assert of.peaks(sigma, lam, middle) == pytest.approx(of.kernel(sigma, lam, middle, middle)[0], rel=0.05)


@each_named_solver
@models
def test_e6_is_the_sum_of_the_kernel_over_all_pairs(draw, solver, seed, d, sigma, lam):
    x, y = draw(seed, 16, 11, columns(solver, d, seed))
    d = x.shape[1]
    random = np.random.default_rng(seed)
    omega = [shares(random, len(rows), seed % 2 == 1) for rows in (x, y)]
    of = made(solver, x, y, sigma, lam, omega)
    rows, weights = np.concatenate([x, y]), oracle.signed_weights(*omega)
    kernel = of.kernel(sigma, lam, rows, rows) * np.exp(of.log_scales[0] - of.log_scale(sigma))
    form = of.forms(DIFFERENCE, [(0, 0)])[0]
    tolerance = GRID_TOLERANCE[d] if solver == "spectral" else 1e-9
    size = np.square(weights).sum() * np.abs(kernel).max()
    assert form.plain + form.lam_term == pytest.approx(weights @ kernel @ weights, abs=tolerance * size)


@each_named_solver
@models
def test_unbiased_curve_is_the_sum_of_the_kernel_over_rows(draw, solver, seed, d, sigma, lam):
    x, y = draw(seed, 16, 11, columns(solver, d, seed))
    random = np.random.default_rng(seed)
    omega = [shares(random, len(rows), seed % 2 == 1) for rows in (x, y)]
    of = made(solver, x, y, sigma, lam, omega)
    rows, points = np.concatenate([x, y]), np.concatenate([x[:5] + 0.2, y[:5]])
    kernel = of.kernel(sigma, lam, points, rows) * np.exp(-of.log_scale(sigma))
    tolerance = GRID_TOLERANCE[x.shape[1]] if solver == "spectral" else 1e-9
    for side in (DIFFERENCE, DENSITY_X):
        found = of.unbiased(side, (0, 0), points) * np.exp(-of.log_scales[0])
        expected = kernel @ oracle.signed_weights(*omega, side)
        np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(kernel).max())


def exact_kernel(a, b, sigma, lam):
    """2 K_F - K_FF in units of density."""
    plain, squared = oracle.filter_kernels(oracle.distances(a, b), sigma, lam, a.shape[1])
    return 2 * plain - squared


def center_kernel(a, b, sigma, lam, centers):
    """psi'(A + lam A^2)psi / s."""
    A = np.linalg.inv(oracle.gram(centers, sigma) + lam * np.eye(len(centers)))
    psi_a, psi_b = (oracle.psi(rows, centers, sigma) for rows in (a, b))
    return psi_a @ (A + lam * A @ A) @ psi_b.T / oracle.volume(sigma, a.shape[1])


@pytest.mark.parametrize("weighted", [False, True])
@each_named_solver
def test_standard_error_of_a_given_model_equals_double_loops_in_the_users_units(draw, solver, weighted):
    x, y = (8 * rows for rows in draw(4, 14, 11, 2 if solver != "spectral" else 1))
    random = np.random.default_rng(0)
    omega = [shares(random, len(rows), weighted) for rows in (x, y)]
    centers = {"centers": x[:7]} if solver == "centers" else {}
    model = dd.LSDD(5.0, 0.05, solver=solver, standardize=False, random_state=0, **centers).fit(x, y, *omega)

    def kernel(a, b):
        return exact_kernel(a, b, 5.0, 0.05) if solver != "centers" else center_kernel(a, b, 5.0, 0.05, x[:7])

    parts = plain_parts(kernel(x, x), kernel(x, y), kernel(y, y), *(core.Rows(o, 1.0) for o in omega), 1.0)
    assert model.l2_distance().standard_error == pytest.approx(np.sqrt(sum(parts)), rel=1e-8)


def plain_band(x, y, omega, points, sigma, lam):
    """Centre and standard error of the band with the exact kernel, row by row."""
    d = x.shape[1]
    center, variance, one_row = np.zeros(len(points)), np.zeros(len(points)), 0.0
    for sign, rows, weights in ((1, x, omega[0]), (-1, y, omega[1])):
        squares = np.square(weights).sum()
        for k, point in enumerate(points):
            values = exact_kernel(point[None], rows, sigma, lam)[0]
            center[k] += sign * (weights @ values)
            variance[k] += plain_variance_of_mean(values, weights)
        one_row += squares**2
    peak = exact_kernel(points[:1], points[:1], sigma, lam)[0, 0]
    return center, np.sqrt(variance + 2.0 ** ((1 - d) / 2) * one_row * peak**2)


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("d", [1, 2])
def test_pointwise_band_equals_a_loop_over_rows_and_points(draw, solver, d):
    x, y = draw(5, 30, 22, d)
    model = dd.LSDD(solver=solver, standardize=False, random_state=0)
    omega = [shares(np.random.default_rng(1), len(rows), True) for rows in (x, y)]
    model.fit(x, y, *omega)
    points = y[:8]
    sigma, lam = uncertainty.band_model(model.fit_)
    unit = model.fit_.data.scaling.sigma_unit
    center, error = plain_band(x, y, omega, points, sigma * unit, lam)
    band = model.confidence_band(points, 0.9, simultaneous=False)
    f, z = model.predict(points), ndtri(0.95)
    slack = (1e-9 if solver == "pairs" else 10 * GRID_TOLERANCE[d]) * error.max()
    np.testing.assert_allclose(band.lower, np.minimum(f, center - z * error), atol=slack)
    np.testing.assert_allclose(band.upper, np.maximum(f, center + z * error), atol=slack)


def fitted(draw, solver, seed=6, n=60, m=45, d=2, **options):
    x, y = draw(seed, n, m, columns(solver, d, seed))
    return dd.LSDD(solver=solver, random_state=1, **options).fit(x, y), x, y


def widths(band):
    return band.upper - band.lower


def assert_same_band(found, expected, rtol, factor=1.0):
    """The same limits up to one known factor, relative to the band's own width."""
    slack = rtol * factor * widths(expected).min()
    for name in ("estimate", "lower", "upper"):
        np.testing.assert_allclose(getattr(found, name), factor * getattr(expected, name), rtol=rtol, atol=slack)


@each_kind
@each_solver
def test_band_holds_the_estimate_that_predict_gives(draw, solver, simultaneous):
    model, x, y = fitted(draw, solver)
    points = np.concatenate([x[:9], y[:9] + 5.0])
    band = model.confidence_band(points, 0.9, simultaneous)
    np.testing.assert_array_equal(band.estimate, model.predict(points))
    np.testing.assert_array_equal(band.points, points)
    assert (band.level, band.simultaneous, band.solver) == (0.9, simultaneous, model.solver_)
    for limit in (band.lower, band.upper):
        assert limit.shape == (18,)
        assert np.isfinite(limit).all()
    assert (band.lower <= band.estimate).all()
    assert (band.estimate <= band.upper).all()
    assert (widths(band) > 0).all()


@each_solver
def test_all_points_at_once_take_a_wider_band_than_each_alone(draw, solver):
    model, x, y = fitted(draw, solver)
    points = np.concatenate([x, y])
    every, each = (model.confidence_band(points, simultaneous=simultaneous) for simultaneous in (True, False))
    assert (every.lower <= each.lower).all()
    assert (every.upper >= each.upper).all()
    assert widths(every).sum() > 1.1 * widths(each).sum()


@pytest.mark.parametrize("solver", ["pairs", "centers"])
def test_simultaneous_band_lies_between_one_point_and_bonferroni(draw, solver):
    model, x, y = fitted(draw, solver, n=300, m=250)
    points = np.concatenate([x, y])[::10]
    both = model.confidence_band(points[:1], 0.9), model.confidence_band(points[:1], 0.9, simultaneous=False)
    # a quantile of 1,000 resamples: standard error 0.03 around 1.64
    assert widths(both[0]) == pytest.approx(widths(both[1]), rel=0.08)
    every = model.confidence_band(points, 0.9)
    cautious = model.confidence_band(points, 1 - 0.1 / len(points), simultaneous=False)
    assert (widths(every) <= 1.08 * widths(cautious)).all()


@each_kind
@each_solver
def test_higher_level_widens_the_band(draw, solver, simultaneous):
    model, x, _ = fitted(draw, solver)
    narrow, wide = (model.confidence_band(x, level, simultaneous) for level in (0.9, 0.99))
    assert (wide.lower <= narrow.lower).all()
    assert (wide.upper >= narrow.upper).all()
    assert widths(wide).sum() > 1.05 * widths(narrow).sum()


@each_solver
def test_band_is_the_same_bits_again_and_for_the_same_seed(draw, solver):
    model, x, y = fitted(draw, solver)
    first, again = model.confidence_band(x), model.confidence_band(x)
    other = clone(model).fit(x, y)
    other.l2_distance()
    for band in (again, other.confidence_band(x)):
        np.testing.assert_array_equal(band.lower, first.lower)
        np.testing.assert_array_equal(band.upper, first.upper)


@each_kind
@pytest.mark.parametrize("k", [-11, 6])
@each_solver
def test_scaling_by_a_power_of_two_scales_the_band(draw, solver, k, simultaneous):
    model, x, y = fitted(draw, solver)
    found = clone(model).fit(x * 2.0**k, y * 2.0**k).confidence_band(y * 2.0**k, simultaneous=simultaneous)
    expected = model.confidence_band(y, simultaneous=simultaneous)
    assert_same_band(found, expected, 1e-9, factor=2.0 ** (-k * x.shape[1]))


@each_solver
@pytest.mark.parametrize("standardize", [True, False])
def test_translation_leaves_the_band(draw, solver, standardize):
    model, x, y = fitted(draw, solver, standardize=standardize)
    shift = np.array([100_003.0, -7.0])[: x.shape[1]]
    found = clone(model).fit(x + shift, y + shift)
    assert_same_band(found.confidence_band(y + shift), model.confidence_band(y), 1e-9)
    assert found.l2_distance().interval == pytest.approx(model.l2_distance().interval, rel=1e-9)


@each_kind
@each_solver
def test_swapping_samples_flips_the_band(draw, solver, simultaneous):
    model, x, y = fitted(draw, solver)
    points = np.concatenate([x, y])
    here = model.confidence_band(points, simultaneous=simultaneous)
    there = clone(model).fit(y, x).confidence_band(points, simultaneous=simultaneous)
    slack = 1e-6 * widths(here).min()
    np.testing.assert_allclose(there.lower, -here.upper, rtol=1e-6, atol=slack)
    np.testing.assert_allclose(there.upper, -here.lower, rtol=1e-6, atol=slack)


@pytest.mark.parametrize("d", [1, 2])
def test_pairs_and_spectral_have_the_same_band_and_interval(draw, d):
    x, y = draw(7, 80, 60, d)
    one, two = (dd.LSDD(solver=solver, random_state=1).fit(x, y) for solver in EXACT)
    a, b = one.confidence_band(y), two.confidence_band(y)
    slack = 1e-3 * widths(a).min()
    np.testing.assert_allclose(a.lower, b.lower, rtol=0, atol=slack)
    np.testing.assert_allclose(a.upper, b.upper, rtol=0, atol=slack)
    r, s = one.l2_distance(), two.l2_distance()
    assert r.standard_error == pytest.approx(s.standard_error, rel=1e-3)
    assert r.interval == pytest.approx(s.interval, abs=1e-3 * r.interval[1])


def test_frames_are_matched_by_name_and_one_column_may_be_flat(draw):
    x, y = draw(8)
    frames = [pd.DataFrame(rows, columns=["a", "b"]) for rows in (x, y)]
    plain = dd.LSDD(solver="pairs", random_state=1).fit(x, y).confidence_band(y)
    framed = dd.LSDD(solver="pairs", random_state=1).fit(*frames).confidence_band(frames[1][["b", "a"]])
    np.testing.assert_array_equal(framed.lower, plain.lower)
    np.testing.assert_array_equal(framed.points, plain.points)
    model = dd.LSDD(random_state=1).fit(x[:, 0], y[:, 0])
    flat, column = model.confidence_band(y[:, 0]), model.confidence_band(y[:, :1])
    np.testing.assert_array_equal(flat.upper, column.upper)
    assert flat.points.shape == (len(y), 1)


@each_solver
def test_only_ratios_of_weights_matter_to_band_and_interval(draw, solver):
    model, x, y = fitted(draw, solver)
    weights = [np.random.default_rng(2).random(len(rows)) + 0.1 for rows in (x, y)]
    once, twice = clone(model).fit(x, y, *weights), clone(model).fit(x, y, *(2 * w for w in weights))
    constant = clone(model).fit(x, y, np.full(len(x), 4.0), np.full(len(y), 4.0))
    for found, expected, rtol in ((twice, once, 1e-9), (constant, model, 1e-7)):
        assert_same_band(found.confidence_band(y), expected.confidence_band(y), rtol)
        a, b = found.l2_distance(), expected.l2_distance()
        assert a.interval == pytest.approx(b.interval, rel=rtol)
        assert a.normalized_interval == pytest.approx(b.normalized_interval, rel=rtol)
        assert a.standard_error == pytest.approx(b.standard_error, rel=rtol)


def assert_sound(result):
    """What every distance with an interval keeps."""
    numbers = [result.squared, result.standard_error, *result.interval, *result.normalized_interval]
    assert np.isfinite(numbers).all()
    assert 0 <= result.interval[0] <= result.squared <= result.interval[1]
    assert 0 <= result.normalized_interval[0] <= result.normalized <= result.normalized_interval[1] <= 1
    assert result.standard_error > 0


def assert_sound_band(band):
    assert np.isfinite([band.lower, band.estimate, band.upper]).all()
    assert (band.lower <= band.estimate).all()
    assert (band.estimate <= band.upper).all()
    assert (widths(band) > 0).all()


@few_rows_allowed
@each_solver
@given(seed=st.integers(0, 10_000), n=st.integers(2, 30), m=st.integers(2, 30), d=st.integers(1, 3))
def test_interval_and_band_hold_their_estimate_for_any_sizes(draw, solver, seed, n, m, d):
    model, x, y = fitted(draw, solver, 4 * seed + 1, n, m, d)
    assert_sound(model.l2_distance())
    assert_sound_band(model.confidence_band(np.concatenate([x, y])))


@pytest.mark.parametrize("k", [-11, 6])
@each_solver
def test_scaling_by_a_power_of_two_scales_interval_and_standard_error(draw, solver, k):
    model, x, y = fitted(draw, solver)
    found, expected = clone(model).fit(x * 2.0**k, y * 2.0**k).l2_distance(0.9), model.l2_distance(0.9)
    factor = 2.0 ** (-k * x.shape[1])
    assert found.squared == pytest.approx(factor * expected.squared, rel=1e-9)
    assert found.standard_error == pytest.approx(factor * expected.standard_error, rel=1e-9)
    assert found.interval == pytest.approx([factor * end for end in expected.interval], rel=1e-9)
    assert found.normalized_interval == pytest.approx(expected.normalized_interval, rel=1e-9)


@each_solver
def test_swapping_samples_keeps_interval_and_standard_error(draw, solver):
    model, x, y = fitted(draw, solver)
    here, there = model.l2_distance(), clone(model).fit(y, x).l2_distance()
    assert there.standard_error == pytest.approx(here.standard_error, rel=1e-8)
    assert there.interval == pytest.approx(here.interval, rel=1e-8)
    assert there.normalized_interval == pytest.approx(here.normalized_interval, rel=1e-8)


@each_solver
def test_higher_level_contains_the_interval_of_a_lower(draw, solver):
    model, _, _ = fitted(draw, solver)
    low, high = model.l2_distance(0.9), model.l2_distance(0.99)
    assert (low.level, high.level) == (0.9, 0.99)
    assert (low.squared, low.standard_error) == (high.squared, high.standard_error)
    for name in ("interval", "normalized_interval"):
        inner, outer = getattr(low, name), getattr(high, name)
        assert outer[0] <= inner[0]
        assert outer[1] >= inner[1]
        assert outer != inner


@each_solver
def test_sixteen_times_the_rows_give_a_much_shorter_interval(solver):
    found = []
    for n in (100, 1600):
        pair = dd.datasets.gaussian_shift(mu=0.5, n=n, random_state=0)
        found.append(dd.l2_distance(pair.x, pair.y, model=dd.LSDD(solver=solver, random_state=0)))
    few, many = found
    # a root of 16 where the linear part rules; twice is left for the luck of one draw
    assert 2 < few.standard_error / many.standard_error < 8
    assert np.ptp(few.interval) > 2 * np.ptp(many.interval)
    assert np.ptp(few.normalized_interval) > 2 * np.ptp(many.normalized_interval)


def test_band_of_more_rows_is_narrower(draw):
    points = np.linspace(-1, 2, 9)[:, None]
    few, many = (fitted(draw, "spectral", 1, n, n, 1)[0].confidence_band(points) for n in (100, 1600))
    assert widths(few).mean() > 1.5 * widths(many).mean()


@each_solver
def test_results_go_to_json_and_back(draw, solver):
    model, x, _ = fitted(draw, solver)
    result, band = model.l2_distance(), model.confidence_band(x)
    as_dict = result.to_dict()
    assert as_dict["interval"] == list(result.interval)
    assert as_dict["normalized_interval"] == list(result.normalized_interval)
    assert as_dict["standard_error"] == result.standard_error
    assert json.loads(result.to_json()) == as_dict
    as_dict = band.to_dict()
    for name in ("points", "estimate", "lower", "upper"):
        assert as_dict[name] == getattr(band, name).tolist()
    assert json.loads(band.to_json()) == as_dict


def test_printed_distance_shows_its_intervals(draw):
    model, _, _ = fitted(draw, "pairs")
    result = model.l2_distance(0.9)
    for low, high in (result.interval, result.normalized_interval):
        assert f"[{low:.4g}, {high:.4g}] at 90 %" in str(result)


def test_printed_band_says_where_f_differs_from_zero(draw):
    x, y = draw(9, 200, 200, 1)
    band = dd.LSDD(random_state=0).fit(x - 2.0, y + 2.0).confidence_band([[-2.0], [2.6], [60.0]], 0.9)
    np.testing.assert_array_equal(band.excludes_zero, [True, True, False])
    assert band.lower[0] > 0 > band.upper[1]
    text = str(band)
    assert "90 % for all points at once" in text
    assert "f > 0       at 1 points" in text
    assert "f < 0       at 1 points" in text


@few_rows_allowed
@pytest.mark.parametrize(("n", "m"), [(2, 2), (2, 3), (3, 40)])
@each_solver
def test_few_rows_give_wide_but_sound_answers(draw, solver, n, m):
    model, x, y = fitted(draw, solver, 1, n, m, 1)
    assert_sound(model.l2_distance())
    assert_sound_band(model.confidence_band(np.concatenate([x, y, [[50.0]]])))


@each_solver
def test_same_rows_twice_have_an_interval_from_zero_and_a_band_around_zero(draw, solver):
    x, _ = draw(10, 60, 2, columns(solver, 2, 1))
    model = dd.LSDD(solver=solver, random_state=0).fit(x, x)
    result, band = model.l2_distance(), model.confidence_band(x)
    assert_sound(result)
    assert (result.interval[0], result.normalized_interval[0]) == (0.0, 0.0)
    assert_sound_band(band)
    assert not band.excludes_zero.any()


@each_solver
@pytest.mark.hostile(17)
def test_far_clusters_have_an_interval_up_to_one(draw, solver):
    x, y = draw(11, 80, 60, columns(solver, 2, 1))
    model = dd.LSDD(solver=solver, random_state=0).fit(x, y + 1000.0)
    result, band = model.l2_distance(), model.confidence_band(np.concatenate([x[:9], y[:9] + 1000.0, [x[0] + 500.0]]))
    assert_sound(result)
    assert result.normalized > 0.9
    assert result.normalized_interval[0] > 0.5
    assert_sound_band(band)
    assert not band.excludes_zero[-1]


@pytest.mark.parametrize("scale", [1000.0, 1e-3])
@pytest.mark.parametrize("solver", ["pairs", "centers"])
@pytest.mark.hostile(15)
def test_four_hundred_columns_saturate_without_infinities(solver, scale):
    random = np.random.default_rng(0)
    x, y = scale * random.normal(size=(500, 400)), scale * (random.normal(size=(450, 400)) + 0.1)
    model = dd.LSDD(solver=solver, n_centers=50, random_state=0).fit(x, y)
    with pytest.warns(dd.DensDiffWarning, match="log_squared"):
        result = model.l2_distance()
    assert_sound(result)
    json.loads(result.to_json())
    band = model.confidence_band(y[:5])
    assert np.isfinite([band.lower, band.estimate, band.upper]).all()
    assert (band.lower <= band.upper).all()


@each_solver
def test_tied_rows_are_ordinary(solver):
    random = np.random.default_rng(3)
    x, y = random.integers(0, 4, size=(80, 1)), random.integers(0, 5, size=(60, 1))
    model = dd.LSDD(solver=solver, random_state=0).fit(x, y)
    assert_sound(model.l2_distance())
    assert_sound_band(model.confidence_band([[0.0], [2.0], [4.0], [2.5]]))


@each_solver
def test_one_heavy_row_makes_the_answers_wider(draw, solver):
    model, x, y = fitted(draw, solver, 1)
    weights = np.full(len(x), 0.001 / (len(x) - 1))
    weights[7] = 0.999
    heavy = clone(model).fit(x, y, weights_x=weights)
    result, band = heavy.l2_distance(), heavy.confidence_band(y)
    assert_sound(result)
    assert_sound_band(band)
    assert np.ptp(result.normalized_interval) > np.ptp(model.l2_distance().normalized_interval)
    assert widths(band).mean() > widths(model.confidence_band(y)).mean()


@pytest.mark.parametrize("level", [95, 0, 1, -0.1, "a", None, np.nan, True])
def test_levels_that_are_no_fraction_are_refused(draw, level):
    model, x, _ = fitted(draw, "pairs")
    with pytest.raises(dd.InputError, match="level"):
        model.confidence_band(x, level)
    with pytest.raises(dd.InputError, match="level"):
        model.l2_distance(level)


@pytest.mark.parametrize("simultaneous", ["yes", 1, None])
def test_simultaneous_is_true_or_false(draw, simultaneous):
    model, x, _ = fitted(draw, "pairs")
    with pytest.raises(dd.InputError, match="simultaneous"):
        model.confidence_band(x, simultaneous=simultaneous)


@pytest.mark.parametrize("points", [[[np.nan, 0.0]], [[0.0, np.inf]], [[0.0]], [[0.0, 1.0, 2.0]], [["a", "b"]]])
def test_points_a_band_cannot_be_asked_at_are_refused(draw, points):
    model, _, _ = fitted(draw, "pairs")
    with pytest.raises(dd.InputError):
        model.confidence_band(points)


@each_solver
def test_no_points_give_an_empty_band(draw, solver):
    model, x, _ = fitted(draw, solver)
    band = model.confidence_band(np.empty((0, x.shape[1])))
    assert band.lower.shape == band.upper.shape == (0,)


def test_a_band_before_fit_is_a_not_fitted_error():
    with pytest.raises(dd.NotFittedError, match="fit"):
        dd.LSDD().confidence_band([[0.0]])


@each_named_solver
def test_given_sigma_and_lam_have_band_and_interval(draw, solver):
    model, _, y = fitted(draw, solver, sigma=0.7, lam=0.1)
    result = model.l2_distance()
    assert_sound(result)
    assert (result.sigma, result.lam) == (0.7, 0.1)
    assert_sound_band(model.confidence_band(y))


@pytest.mark.parametrize("given_model", [{}, {"sigma": 0.7, "lam": 0.1}])
def test_given_centers_have_band_and_interval(draw, given_model):
    x, y = draw(12)
    model = dd.LSDD(**given_model, centers=[[0.0, 0.0], [1.0, 1.0], [2.0, -1.0]], random_state=0).fit(x, y)
    assert_sound(model.l2_distance())
    band = model.confidence_band(np.concatenate([y, [[90.0, 90.0]]]))
    assert_sound_band(band)
    assert band.n_centers == 3


def test_far_from_all_rows_the_band_is_not_certain(draw):
    for solver in SOLVERS:
        model, _, y = fitted(draw, solver, d=1)
        band = model.confidence_band(np.concatenate([y, [[1e4]]]), simultaneous=False)
        assert widths(band)[-1] > 1e-3 * widths(band).max()


@pytest.mark.parametrize("weighted", [False, True])
@each_named_solver
def test_a_quarter_of_the_rows_tells_errors_and_widths_of_all(monkeypatch, draw, solver, weighted):
    x, y = draw(13, 400, 400, 1)
    y = y + 1.4  # a clear difference: the error of a slight one is itself uncertain
    weights = [shares(np.random.default_rng(4), 400, weighted) for _ in range(2)]
    model = dd.LSDD(solver=solver, random_state=0).fit(x, y, *weights)
    whole, wide = model.l2_distance(), model.confidence_band(y[:50])
    monkeypatch.setattr(uncertainty, "_DISTANCE_ROWS", 100)
    monkeypatch.setattr(uncertainty, "_BAND_ROWS", 100)
    part, narrow = model.l2_distance(), model.confidence_band(y[:50])
    assert part.squared == whole.squared
    assert part.standard_error != whole.standard_error
    assert part.standard_error == pytest.approx(whole.standard_error, rel=0.2)
    assert widths(narrow).mean() == pytest.approx(widths(wide).mean(), rel=0.2)
    np.testing.assert_array_equal(narrow.estimate, wide.estimate)


@pytest.mark.parametrize("n", [60, 400])
def test_rows_that_stand_for_a_sample_keep_its_sum_of_squared_weights(draw, n):
    x, _ = draw(14, n, 2, 1)
    sample = WeightedSample.of(x, shares(np.random.default_rng(5), n, True))
    found = uncertainty.keep(sample, seed=3, most=100)
    rows, kept = found.points, found.stand_in
    assert len(rows) == len(kept.omega) == min(n, 100)
    assert kept.omega.sum() == pytest.approx(1.0)
    assert kept.share * kept.squares == pytest.approx(np.square(sample.omega).sum())
    assert {tuple(row) for row in rows} <= {tuple(row) for row in x}


def test_standard_error_of_a_slight_difference_between_many_rows_is_near_the_efficiency_bound():
    n, mu, line = 20_000, 0.03, np.linspace(-3, 3, 6001)
    step = line[1] - line[0]
    p, q = (np.exp(-np.pi * 2 * np.square(line - side * mu / 2)) * np.sqrt(2.0) for side in (1, -1))
    bound = np.sqrt(sum(4 * np.cov(p - q, aweights=density * step, ddof=0) / n for density in (p, q)))
    for seed in range(6):
        pair = dd.datasets.gaussian_shift(mu=mu, n=n, random_state=seed)
        found = dd.l2_distance(pair.x, pair.y, random_state=0).standard_error
        assert 0.5 * bound < found < 2 * bound
