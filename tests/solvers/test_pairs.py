"""The pairs solver: every estimate against all pairs."""

import numpy as np
import pytest

import densdiff as dd
from densdiff.core.selection import draw_folds
from densdiff.solvers import pairs as estimator
from densdiff.solvers.base import DENSITY_X, DENSITY_Y, DIFFERENCE, FILTER_LAMS
from densdiff.solvers.distance import raw_estimates
from densdiff.solvers.pairs import PairsSolver
from densdiff.solvers.prepared import WeightedSample
from tests import oracle

SIDES = {"difference": DIFFERENCE, "p": DENSITY_X, "q": DENSITY_Y}


def solver_of(x, y, weights=(None, None), sigma="cv", seed=0):
    """A PairsSolver as LSDD makes it."""
    model = dd.LSDD(sigma, solver="pairs", random_state=seed).fit(x, y, *weights)
    return model.fit_.solver


def unscaled(values, solver, level):
    return np.asarray(values) * np.exp(-solver.log_scales[level])


def inner(solver):
    return solver.x.rows, solver.y.rows, solver.x.omega, solver.y.omega


def some_weights(n, m):
    random = np.random.default_rng([n, m])
    return random.random(n) + 0.2, random.random(m) + 0.2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "m", "d"), [(150, 90, 1), (90, 150, 3), (150, 90, 10)])
@pytest.mark.parametrize("side", SIDES)
def test_scores_equal_a_direct_evaluation(draw, n, m, d, side, weighted):
    # A bin is right on average over the distances in it: the error falls with the number of pairs, to 1e-4 of the
    # terms here; weights make it fewer pairs.
    x, y = draw(1, n, m, d)
    solver = solver_of(x, y, some_weights(n, m) if weighted else (None, None))
    found = solver.scores(SIDES[side])
    assert found.shape == (len(solver.sigmas), len(FILTER_LAMS), len(solver.folds.members))
    groups = solver.folds.groups_x.all(), solver.folds.groups_y.all()
    for level in {0, len(solver.sigmas) // 2, len(solver.sigmas) - 1}:
        for i in (0, 5, 9):
            model = float(solver.sigmas[level]), float(FILTER_LAMS[i])
            expected, size = oracle.filter_scores(*inner(solver), *model, solver.folds.members, groups, SIDES[side])
            error = unscaled(found[level, i], solver, level) - expected
            assert (np.abs(error) / size).max() < (2e-4 if weighted else 1e-4)


def check_forms(solver, side, tolerance):
    models = [(0, 0), (len(solver.sigmas) // 2, 5), (len(solver.sigmas) - 1, 9)]
    for (level, i), form in zip(models, solver.forms(side, models), strict=True):
        expected = oracle.filter_estimates(*inner(solver), float(solver.sigmas[level]), float(FILTER_LAMS[i]), side)
        found = oracle.named_forms(form)
        size = expected["regularization_corrected"]
        for name, value in found.items():
            assert unscaled(value, solver, level) == pytest.approx(expected[name], abs=tolerance * size), name


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "m", "d"), [(40, 23, 1), (25, 48, 3), (33, 20, 10)])
@pytest.mark.parametrize("side", SIDES)
def test_estimates_equal_double_sums_and_a_u_statistic(draw, monkeypatch, n, m, d, side, weighted):
    x, y = draw(2, n, m, d)
    solver = solver_of(x, y, some_weights(n, m) if weighted else (None, None))
    check_forms(solver, SIDES[side], 1e-10)
    monkeypatch.setattr(estimator, "_DIRECT_PAIRS", 0)  # from the histograms, as for many rows
    check_forms(solver, SIDES[side], 1e-3)


def test_debiased_estimate_is_unbiased():
    # equal distributions: the mean over draws is 0 within 4 standard errors, although E6 is always positive
    random = np.random.default_rng(0)
    found = []
    for _ in range(60):
        x, y = random.normal(size=(12, 2)), random.normal(size=(17, 2))
        estimates = raw_estimates(dd.LSDD(0.5, 0.1, solver="pairs", standardize=False).fit(x, y).fit_)
        assert estimates["regularization_corrected"] > 0
        found.append(estimates["debiased"])
    assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(len(found))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [1, 4])
def test_predict_is_the_plain_sum(draw, d, weighted):
    x, y = draw(3, d=d)
    weights = some_weights(len(x), len(y)) if weighted else (None, None)
    model = dd.LSDD(0.7, 0.02, solver="pairs", standardize=False).fit(x, y, *weights)
    omega = [
        np.full(len(rows), 1 / len(rows)) if w is None else w / w.sum() for rows, w in zip((x, y), weights, strict=True)
    ]
    points = np.concatenate([x[:7], y[:7] + 0.1, np.full((1, d), 3.0)])
    expected = oracle.filter_curve(points, x, y, *omega, 0.7, 0.02)
    np.testing.assert_allclose(model.predict(points), expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_ties_and_integers_are_counted_at_distance_zero():
    random = np.random.default_rng(5)
    x, y = random.integers(0, 3, size=(30, 2)), random.integers(0, 4, size=(22, 2))
    check_forms(solver_of(x, y), DIFFERENCE, 1e-10)


@pytest.mark.parametrize("n", [12, 400])
def test_five_hundred_columns_are_finite(n):
    random = np.random.default_rng(6)
    x, y = random.normal(size=(n, 500)), random.normal(size=(n - 3, 500)) + 0.1
    samples = [WeightedSample.of(rows, np.full(len(rows), 1 / len(rows))) for rows in (x, y)]
    solver = PairsSolver(*samples, draw_folds(0, n, n - 3, 5), np.array([40.0, 20.0]), None)
    assert np.isfinite(solver.scores(DIFFERENCE)).all()
    form = solver.forms(DIFFERENCE, [(0, 3)])[0]
    assert np.isfinite([form.plain, form.lam_term, form.correction]).all()
    assert form.plain > 0
    assert np.isfinite(solver.evaluate(DIFFERENCE, (0, 3), x[:5])).all()
