"""The pairs solver on numbers x levels (E16): every estimate against all pairs, for any smoothing."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core.selection import draw_folds
from densdiff.solvers import base
from densdiff.solvers import pairs as estimator
from densdiff.solvers.base import DENSITY_X, DENSITY_Y, DIFFERENCE, Model
from densdiff.solvers.pairs import PairsSolver
from densdiff.solvers.prepared import WeightedSample
from densdiff.solvers.search import choose
from tests import oracle

RATIO = 10 ** (-1 / 3)
SIDES = {"difference": DIFFERENCE, "p": DENSITY_X, "q": DENSITY_Y}
SIGMAS, LAMS, SMOOTHINGS = np.array([1.1, 0.7]), np.array([0.2, 0.01]), (0, 1, 4)


class Case(NamedTuple):
    """Rows of two samples, numbers first and codes last, with weights, and their solver."""

    x: np.ndarray
    y: np.ndarray
    omega: tuple[np.ndarray, np.ndarray]
    levels: np.ndarray
    solver: PairsSolver

    def kernels(self, model, a=None, b=None):
        """K_F and K_FF between rows in units of density, all rows unless they are given."""
        rows = np.concatenate([self.x, self.y])
        a, b = rows if a is None else a, rows if b is None else b
        steps = slow_steps(self.levels, model.smoothing)
        return oracle.mixed_kernels(a, b, self.levels, steps, RATIO, model.sigma, model.lam)

    def model(self, level, i):
        return Model(float(self.solver.sigmas[level]), float(LAMS[i]), int(self.solver.smoothings[level]))


def slow_steps(levels, smoothing):
    return [smoothing + round(np.log(k - 1) / np.log(1 / RATIO)) if smoothing else 0 for k in levels]


def case_of(seed, levels, d, weighted, n=14, m=11, smoothings=SMOOTHINGS):
    random = np.random.default_rng([seed, n, m, d])

    def rows(count, shift):
        codes = [random.integers(0, min(k, 4), (count, 1)) for k in levels]
        return np.hstack([random.normal(size=(count, d)) + shift, *codes])

    x, y = rows(n, 0.0), rows(m, 0.5)
    omega = [random.random(count) + 0.2 if weighted else np.ones(count) for count in (n, m)]
    omega = tuple(each / each.sum() for each in omega)
    samples = [WeightedSample.of(*each) for each in zip((x, y), omega, strict=True)]
    solver = PairsSolver(*samples, draw_folds(seed, n, m, 3), SIGMAS, LAMS, np.array(levels), smoothings)
    return Case(x, y, omega, np.array(levels), solver)


some_cases = given(
    seed=st.integers(0, 1000),
    levels=st.lists(st.sampled_from([2, 3, 3, 7, 5000]), min_size=1, max_size=3),
    d=st.integers(0, 3),
    weighted=st.booleans(),
)


def test_levels_of_models_run_over_smoothings_and_sigmas():
    solver = case_of(0, [2, 3], 1, False).solver
    assert solver.sigmas.tolist() == [1.1, 0.7] * 3
    assert solver.smoothings.tolist() == [0, 0, 1, 1, 4, 4]
    assert solver.lams.shape == (6, 2)
    choice = choose(solver, DIFFERENCE, 3)
    level, i = choice.model
    assert choice.best == Model(solver.sigmas[level], LAMS[i], solver.smoothings[level])
    assert solver.rougher_model((3, 1), 2.0, 5.0) == Model(0.35, 0.002, 1)
    assert choice.ranks[choice.chosen] == 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [0, 1, 4])
@pytest.mark.parametrize("side", SIDES)
def test_scores_equal_a_direct_evaluation(d, side, weighted):
    # A bin is right on average over its distances: 5e-4 of the terms with so many pairs; without numbers there is
    # nothing to bin.
    case = case_of(1, [2, 3, 9], d, weighted, 150, 90)
    solver, folds = case.solver, case.solver.folds
    found = solver.scores(SIDES[side])
    assert found.shape == (6, 2, len(folds.members))
    groups = folds.groups_x.all(), folds.groups_y.all()
    for level in range(6):
        for i in range(2):
            kernels = case.kernels(case.model(level, i))
            expected, size = oracle.kernel_scores(*kernels, case.omega, folds.members, groups, SIDES[side])
            error = found[level, i] * np.exp(-solver.log_scales[level]) - expected
            assert (np.abs(error) / size).max() < (1e-12 if d == 0 else 5e-4)


def check_forms(case, side, tolerance):
    solver = case.solver
    models = [(level, i) for level in range(len(solver.sigmas)) for i in range(2)]
    for (level, i), form in zip(models, solver.forms(side, models), strict=True):
        expected = oracle.kernel_estimates(*case.kernels(case.model(level, i)), *case.omega, side)
        found = oracle.named_forms(form)
        size = expected["regularization_corrected"]
        for name, value in found.items():
            found_here = value * np.exp(-solver.log_scales[level])
            assert found_here == pytest.approx(expected[name], abs=tolerance * size), name


@some_cases
def test_estimates_equal_double_sums_and_a_u_statistic(seed, levels, d, weighted):
    case = case_of(seed, levels, d, weighted)
    for side in SIDES.values():
        check_forms(case, side, 1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [0, 2])
def test_estimates_from_histograms_equal_double_sums(monkeypatch, d, weighted):
    monkeypatch.setattr(estimator, "_DIRECT_PAIRS", 0)  # from the histograms, as for many rows
    case = case_of(2, [2, 3, 9], d, weighted, 60, 45)
    for side in SIDES.values():
        check_forms(case, side, 1e-12 if d == 0 else 2e-3)


@some_cases
def test_curves_are_plain_sums(seed, levels, d, weighted):
    case = case_of(seed, levels, d, weighted)
    points = np.concatenate([case.x[:4], case.y[:4]])
    points[:, :d] += 0.1
    rows = np.concatenate([case.x, case.y])
    for level in range(6):
        plain, squared = case.kernels(case.model(level, 1), points, rows)
        scale = np.exp(-case.solver.log_scales[level])
        for side in SIDES.values():
            weights = oracle.signed_weights(*case.omega, side)
            size = 1e-10 * np.abs(plain).max()
            found = case.solver.evaluate(side, (level, 1), points) * scale
            np.testing.assert_allclose(found, plain @ weights, rtol=0, atol=size)
            found = case.solver.unbiased(side, (level, 1), points) * scale
            np.testing.assert_allclose(found, (2 * plain - squared) @ weights, rtol=0, atol=size)


@some_cases
def test_kernel_and_peaks_are_those_of_any_model(seed, levels, d, weighted):
    case = case_of(seed, levels, d, weighted)
    for model in (Model(0.5, 0.03, 0), Model(2.0, 3e-4, 3), Model(2.0, 0.5, 11)):
        plain, squared = case.kernels(model, case.x, case.y)
        scale, size = np.exp(-case.solver.log_scale(model.sigma)), np.abs(plain).max()
        found = case.solver.kernel(model, case.x, case.y) * scale
        np.testing.assert_allclose(found, 2 * plain - squared, rtol=0, atol=1e-9 * size)
        peaks, own = case.solver.peaks(model, case.x), case.solver.kernel(model, case.x, case.x)
        np.testing.assert_allclose(peaks, np.diag(own), rtol=1e-9)


@given(order=st.permutations(range(3)), seed=st.integers(0, 99))
def test_order_of_columns_and_names_of_levels_change_nothing(order, seed):
    levels, d = np.array([2, 3, 7]), 2
    case = case_of(seed, levels, d, True)
    columns = [0, 1, *(d + np.array(order))]
    names = np.random.default_rng(seed).permutation(10)
    samples = []
    for rows, omega in zip((case.x, case.y), case.omega, strict=True):
        renamed = rows.copy()
        renamed[:, d:] = names[rows[:, d:].astype(int)]
        samples.append(WeightedSample.of(renamed[:, columns], omega))
    other = PairsSolver(*samples, case.solver.folds, SIGMAS, LAMS, levels[order], SMOOTHINGS)
    expected = case.solver.scores(DIFFERENCE)
    np.testing.assert_allclose(other.scores(DIFFERENCE), expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    f = case.solver.evaluate(DIFFERENCE, (2, 1), case.y)
    found = other.evaluate(DIFFERENCE, (2, 1), samples[1].rows[:])
    np.testing.assert_allclose(found, f, rtol=0, atol=1e-12 * np.abs(f).max())


def test_many_kinds_of_columns_are_smoothed_in_coarse_steps():
    levels = np.arange(2, 11)
    assert base.has_many_classes(levels)
    assert not base.has_many_classes(np.full(20, 2))
    assert not base.has_many_classes(base.NO_LEVELS)
    case = case_of(3, levels, 1, False, 9, 8, smoothings=base.searched_smoothings(levels))
    (exact, *smoothed) = base.level_polynomials(levels, base.searched_smoothings(levels), 0.01)
    assert not exact.steps.any()
    for polynomial, smoothing in zip(smoothed, base.searched_smoothings(levels)[1:], strict=True):
        assert (polynomial.steps % 4 == 0).all()
        assert (polynomial.steps >= 4).all()
        assert np.abs(polynomial.steps - slow_steps(levels, smoothing)).max() <= 2
        assert len(polynomial.exponents) <= 14
    level = 4  # the second smoothing of a grid of two sigmas
    steps = smoothed[1].steps
    rows = np.concatenate([case.x, case.y])
    kernels = oracle.mixed_kernels(rows, rows, levels, steps, RATIO, float(SIGMAS[0]), float(LAMS[1]))
    expected = oracle.kernel_estimates(*kernels, *case.omega)
    form = case.solver.forms(DIFFERENCE, [(level, 1)])[0]
    scale = np.exp(-case.solver.log_scales[level])
    assert form.plain * scale == pytest.approx(expected["h_theta"], rel=1e-9)
    debiased = (form.plain + form.lam_term - form.correction) * scale
    assert debiased == pytest.approx(expected["debiased"], abs=1e-9 * expected["regularization_corrected"])
    f = case.solver.evaluate(DIFFERENCE, (level, 1), rows) * scale
    np.testing.assert_allclose(f, kernels[0] @ oracle.signed_weights(*case.omega), rtol=0, atol=1e-10 * f.max())
    model = Model(float(SIGMAS[0]), float(LAMS[1]), int(case.solver.smoothings[level]))
    np.testing.assert_allclose(case.solver.kernel(model, rows, rows) * scale, 2 * kernels[0] - kernels[1], atol=1e-9)


@pytest.mark.parametrize(
    ("levels", "d"), [([50], 2), ([5000], 0), ([2, 3, 4, 5, 6], 0), ([2] * 20, 1), (list(range(2, 22)), 1)]
)
def test_any_number_of_columns_and_levels_works(levels, d):
    case = case_of(4, levels, d, False, 40, 30, smoothings=None)
    scores = case.solver.scores(DIFFERENCE)
    assert np.isfinite(scores).all()
    choice = choose(case.solver, DIFFERENCE, 3)
    assert np.isfinite(case.solver.evaluate(DIFFERENCE, choice.model, case.x)).all()
    form = case.solver.forms(DIFFERENCE, [choice.model])[0]
    assert form.plain + form.lam_term >= form.plain >= form.plain - form.lam_term > 0  # E6 >= E4 >= E5
