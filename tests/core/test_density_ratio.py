"""The density ratio by maximum likelihood: optimality, many problems at once, relabellings."""

import numpy as np
import pytest
from scipy.optimize import minimize

from densdiff.core import density_ratio
from tests import oracle

SIGMAS = [2.0, 1.0, 0.5, 0.25]


def even(n):
    return np.full(n, 1.0 / n)


def one_problem(x, y, sigma):
    """Features of all pooled rows at the rows of X, and both samples' weights as columns."""
    psi = oracle.psi(np.concatenate([x, y]), x, sigma)  # (N, n)
    weights_x = np.concatenate([even(len(x)), np.zeros(len(y))])[:, None]
    weights_y = np.concatenate([np.zeros(len(x)), even(len(y))])[:, None]
    return psi, weights_x, weights_y


def gap_of(psi_x, means, alpha, weights):
    """What the log-likelihood can still gain, written out with the scaled features phi."""
    phi = psi_x / means
    gradient = weights @ (phi / (psi_x @ alpha)[:, None])
    return gradient.max() - gradient @ (alpha * means)


def plain_em(psi_x, means, steps):
    """Weights gamma after so many EM steps, and the mean log-likelihood before each."""
    phi, gamma, logs = psi_x / means, even(len(means)), []
    for _ in range(steps):
        ratio = phi @ gamma
        logs.append(np.log(ratio).mean())
        gamma = gamma * (phi / ratio[:, None]).mean(axis=0)
    return gamma, np.array(logs)


def slow_divergence(psi_x, means):
    """The maximum of mean log r by a general optimizer over the simplex of gamma."""
    phi = psi_x / means

    def cost(gamma):
        ratio = phi @ gamma
        return -np.log(ratio).mean(), -(phi / ratio[:, None]).mean(axis=0)

    found = minimize(
        cost,
        even(len(means)),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * len(means),
        constraints={"type": "eq", "fun": lambda g: g.sum() - 1, "jac": np.ones_like},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert found.success
    return -found.fun


@pytest.mark.parametrize("sigma", SIGMAS)
def test_last_fit_is_optimal_and_keeps_the_constraints(draw, sigma):
    x, y = draw(0)
    psi_x, means = oracle.psi(x, x, sigma), oracle.psi(y, x, sigma).mean(axis=0)
    alpha, gap = density_ratio.maximize(psi_x, even(len(x)), means)
    assert gap <= density_ratio.FINAL_GAP
    assert gap_of(psi_x, means, alpha, even(len(x))) == pytest.approx(gap, abs=1e-9)
    assert alpha.min() >= 0
    assert means @ alpha == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("seed", [0, 1])
def test_both_solvers_agree_with_a_general_optimizer(draw, seed, sigma):
    x, y = draw(seed, 14, 11, 2)
    psi, weights_x, weights_y = one_problem(x, y, sigma)
    psi_x, means = psi[: len(x)], psi[len(x) :].mean(axis=0)
    expected = slow_divergence(psi_x, means)
    alpha, _ = density_ratio.maximize(psi_x, even(len(x)), means)
    assert np.log(psi_x @ alpha).mean() == pytest.approx(expected, abs=1e-5)
    alpha, gap = density_ratio.solve(psi, weights_x, weights_y, even(len(x))[:, None], 1e-6, 20_000)
    assert gap[0] <= 1e-6
    assert density_ratio.log_ratios(psi_x, alpha[:, 0]).mean() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("sigma", [2.0, 0.5, 0.2])
def test_accelerated_em_never_falls_and_is_ahead_of_plain_em(draw, sigma):
    x, y = draw(1)
    psi, weights_x, weights_y = one_problem(x, y, sigma)
    start = even(len(x))[:, None]
    logs = []
    for cycles in range(25):
        alpha, _ = density_ratio.solve(psi, weights_x, weights_y, start, 0.0, cycles)
        assert psi[len(x) :].mean(axis=0) @ alpha[:, 0] == pytest.approx(1.0, abs=1e-12)
        logs.append(density_ratio.log_ratios(psi[: len(x)], alpha[:, 0]).mean())
    assert np.diff(logs).min() >= -1e-13
    _, plain = plain_em(psi[: len(x)], psi[len(x) :].mean(axis=0), 51)
    assert logs[0] == pytest.approx(plain[0], abs=1e-12)
    assert logs[24] > plain[50]


def test_a_problem_among_others_ends_where_it_ends_alone(draw):
    """Each leaves when it is done: the others may go on, but not with it."""
    x, y = draw(1)
    psi, weights_x, weights_y = one_problem(x, y, 0.5)
    random = np.random.default_rng(0)
    several_x = weights_x * random.exponential(size=(len(psi), 4)) ** np.array([0.0, 1.0, 2.0, 4.0])
    several_x /= several_x.sum(axis=0)
    several_y, start = np.tile(weights_y, 4), np.tile(even(len(x))[:, None], 4)
    alpha, gap = density_ratio.solve(psi, several_x, several_y, start, 1e-3, 2000)
    assert gap.max() <= 1e-3
    for c in range(4):
        own = slice(c, c + 1)
        alone, own_gap = density_ratio.solve(psi, several_x[:, own], several_y[:, own], start[:, own], 1e-3, 2000)
        np.testing.assert_allclose(alpha[:, own], alone, rtol=1e-7, atol=1e-12)
        assert gap[c] == pytest.approx(own_gap[0], rel=1e-7)


def test_choosing_among_sigmas_needs_folds():
    with pytest.raises(ValueError, match="folds"):
        density_ratio.permuted_divergences(np.zeros((4, 4)), np.array([1.0, 0.5]), np.ones((1, 4), dtype=bool))
