"""Kernels of the solvers, of which noise is made: against each other, and the estimates as sums over them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import selection
from densdiff.solvers.base import DENSITY_X, DIFFERENCE, Model
from densdiff.solvers.centers import CentersSolver
from densdiff.solvers.pairs import PairsSolver
from densdiff.solvers.prepared import WeightedSample
from densdiff.solvers.spectral import SpectralSolver
from tests import oracle
from tests.lsdd_solvers import EXACT, GRID_TOLERANCE, columns, each_named_solver
from tests.plain_noise import shares


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
    kernels = [made(solver, x, y, 0.9, 0.05).kernel(Model(0.6, 0.02), x, y) for solver in EXACT]
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
    found = solver.kernel(Model(sigma, lam), x, y) * np.exp(-solver.log_scale(sigma))
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
    np.testing.assert_allclose(solver.kernel(Model(sigma, lam), x, y), expected, atol=1e-9 * size)
    assert solver.log_scale(sigma) == pytest.approx(np.log(oracle.volume(sigma, d)))


@each_named_solver
@models
def test_kernel_is_symmetric_and_the_same_for_a_copy_of_the_rows(draw, solver, seed, d, sigma, lam):
    x, y = draw(seed, 15, 9, columns(solver, d))
    of = made(solver, x, y, 1.0, 0.1)
    here = of.kernel(Model(sigma, lam), x, x)
    size = 1e-10 * np.abs(here).max()
    np.testing.assert_allclose(here, here.T, atol=size)
    np.testing.assert_allclose(here, of.kernel(Model(sigma, lam), x, x.copy()), atol=size)
    np.testing.assert_allclose(of.kernel(Model(sigma, lam), x, y), of.kernel(Model(sigma, lam), y, x).T, atol=size)


@pytest.mark.parametrize("d", [1, 2, 6])
def test_peaks_of_the_exact_solvers_are_the_diagonal_of_their_kernel(draw, d):
    x, y = draw(3, d=d)
    for solver in EXACT if d <= 3 else ("pairs",):
        of = made(solver, x, y, 1.0, 0.1)
        np.testing.assert_allclose(of.peaks(Model(0.7, 0.01), x), np.diag(of.kernel(Model(0.7, 0.01), x, x)), rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2])
def test_peaks_of_centers_are_the_diagonal_amid_evenly_spaced_centers(draw, d):
    sigma, axis = 0.5, np.linspace(-20, 20, 401) if d == 1 else np.linspace(-7, 7, 36)
    centers = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
    of = made("centers", *draw(3, d=d), sigma, 0.1, centers=centers)
    # near the edge centers have fewer neighbours, so G's mean row sum is a little below that in the middle
    lam = 0.01 * oracle.gram(centers, sigma).mean(axis=0).sum()
    middle = np.zeros((1, d)) + 0.01
    assert of.peaks(Model(sigma, lam), middle) == pytest.approx(
        of.kernel(Model(sigma, lam), middle, middle)[0], rel=0.05
    )


@each_named_solver
@models
def test_e6_is_the_sum_of_the_kernel_over_all_pairs(draw, solver, seed, d, sigma, lam):
    x, y = draw(seed, 16, 11, columns(solver, d, seed))
    d = x.shape[1]
    random = np.random.default_rng(seed)
    omega = [shares(random, len(rows), seed % 2 == 1) for rows in (x, y)]
    of = made(solver, x, y, sigma, lam, omega)
    rows, weights = np.concatenate([x, y]), oracle.signed_weights(*omega)
    kernel = of.kernel(Model(sigma, lam), rows, rows) * np.exp(of.log_scales[0] - of.log_scale(sigma))
    form = of.forms(DIFFERENCE, [(0, 0)])[0]
    tolerance = GRID_TOLERANCE[d] if solver == "spectral" else 1e-9
    size = np.abs(weights).sum() ** 2 * np.abs(kernel).max()  # each of the pairs may be off by the tolerance
    assert form.plain + form.lam_term == pytest.approx(weights @ kernel @ weights, abs=tolerance * size)


@each_named_solver
@models
def test_unbiased_curve_is_the_sum_of_the_kernel_over_rows(draw, solver, seed, d, sigma, lam):
    x, y = draw(seed, 16, 11, columns(solver, d, seed))
    random = np.random.default_rng(seed)
    omega = [shares(random, len(rows), seed % 2 == 1) for rows in (x, y)]
    of = made(solver, x, y, sigma, lam, omega)
    rows, points = np.concatenate([x, y]), np.concatenate([x[:5] + 0.2, y[:5]])
    kernel = of.kernel(Model(sigma, lam), points, rows) * np.exp(-of.log_scale(sigma))
    tolerance = GRID_TOLERANCE[x.shape[1]] if solver == "spectral" else 1e-9
    for side in (DIFFERENCE, DENSITY_X):
        found = of.unbiased(side, (0, 0), points) * np.exp(-of.log_scales[0])
        expected = kernel @ oracle.signed_weights(*omega, side)
        np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(kernel).max())
