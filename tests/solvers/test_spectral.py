"""The spectral solver: estimates against all pairs and quadrature, gaps that are closed, rows that are left out."""

import numpy as np
import pytest
from scipy.integrate import quad

import densdiff as dd
from densdiff.core import fourier
from densdiff.core import grid as grids
from densdiff.core.selection import draw_folds
from densdiff.errors import NumericalError
from densdiff.solvers.base import DENSITY_X, DENSITY_Y, DIFFERENCE, FILTER_LAMS
from densdiff.solvers.distance import raw_estimates
from densdiff.solvers.prepared import WeightedSample
from densdiff.solvers.spectral import SpectralSolver
from tests import oracle

SIDES = {"difference": DIFFERENCE, "p": DENSITY_X, "q": DENSITY_Y}
# three columns take seconds on their default grid: two sigmas of the ladder, the smallest among them, need less
SIZES = {1: (60, 41), 2: (45, 70), 3: (40, 29)}


def rows_of(d, n, m):
    """Two samples whose columns have different scales until they are standardized."""
    random = np.random.default_rng([d, n, m])
    scales = np.array([1.0, 40.0, 0.03])[:d]
    return random.normal(size=(n, d)) * scales, (0.8 * random.normal(size=(m, d)) + 0.6) * scales


def prepared(d, weighted=False):
    """Inner samples, folds and the ends of the default ladder, as LSDD prepares them."""
    n, m = SIZES[d]
    random = np.random.default_rng(d)
    weights = (random.random(n) + 0.2, random.random(m) + 0.2) if weighted else (None, None)
    data = dd.LSDD(1.0, 0.1, solver="pairs", random_state=0).fit(*rows_of(d, n, m), *weights).fit_.data
    return data.x, data.y, data.folds, data.ladder()


def estimates_of(form):
    return {
        "h_theta": form.plain,
        "theta_H_theta": form.plain - form.lam_term,
        "regularization_corrected": form.plain + form.lam_term,
        "debiased": form.plain + form.lam_term - form.correction,
    }


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_smallest_sigma_agrees_with_all_pairs(d, weighted):
    x, y, folds, ladder = prepared(d, weighted)
    sigmas = ladder[[0, -1]] if d < 3 else ladder[-1:]
    solver = SpectralSolver(x, y, folds, sigmas, None)
    smallest, level = float(sigmas[-1]), len(sigmas) - 1
    given_rows = x.rows, y.rows, x.omega, y.omega
    for side in SIDES.values():
        scores = solver.scores(side)
        for i in (0, 5, 9):
            lam = float(FILTER_LAMS[i])
            expected = oracle.filter_estimates(*given_rows, smallest, lam, side)
            found = estimates_of(solver.forms(side, [(level, i)])[0])
            for name in ("h_theta", "theta_H_theta", "regularization_corrected"):
                assert found[name] == pytest.approx(expected[name], rel=1e-3), name
            # E13 is a difference of terms of E12's size and may vanish
            size = expected["regularization_corrected"]
            assert found["debiased"] == pytest.approx(expected["debiased"], abs=1e-3 * size)
            score, _ = oracle.filter_scores(
                *given_rows, smallest, lam, folds.members, (folds.groups_x.all(), folds.groups_y.all()), side
            )
            np.testing.assert_allclose(scores[level, i], score, rtol=0, atol=1e-3 * np.abs(score).max())


@pytest.mark.parametrize("d", [1, 2, 3])
def test_distance_agrees_with_pairs(d):
    x, y = rows_of(d, 200, 140) if d < 3 else rows_of(d, 60, 45)
    found, expected = (dd.LSDD(solver=s, random_state=0).fit(x, y).l2_distance() for s in ("spectral", "pairs"))
    assert expected.squared > 0
    assert found.squared == pytest.approx(expected.squared, rel=1e-3)
    assert found.normalized == pytest.approx(expected.normalized, rel=1e-3)
    assert (found.sigma, found.lam) == (expected.sigma, expected.lam)


@pytest.mark.parametrize("lam", [1.0, 1e-2, 1e-4])
def test_estimates_equal_quadrature_of_the_empirical_characteristic_functions(lam):
    random = np.random.default_rng(0)
    x, y, sigma = random.normal(size=10), random.normal(size=7) + 1, 0.4
    model = dd.LSDD(sigma, lam, solver="spectral", standardize=False).fit(x, y)

    def power(w):
        phi_x, phi_y = np.exp(-1j * w * x).mean(), np.exp(-1j * w * y).mean()
        noise = (1 - abs(phi_x) ** 2) / (len(x) - 1) + (1 - abs(phi_y) ** 2) / (len(y) - 1)
        return abs(phi_x - phi_y) ** 2, noise

    def integral(of):
        top = np.sqrt(2 * np.log(1e12 / lam)) / sigma
        total = quad(lambda w: of(1 / (1 + lam * np.exp(sigma**2 * w**2 / 2)), *power(w)), 0, top, limit=400)
        return total[0] / np.pi

    expected = {
        "h_theta": integral(lambda F, signal, _: F * signal),
        "theta_H_theta": integral(lambda F, signal, _: F**2 * signal),
        "regularization_corrected": integral(lambda F, signal, _: (2 * F - F**2) * signal),
        "debiased": integral(lambda F, signal, noise: (2 * F - F**2) * (signal - noise)),  # E13
    }
    found = raw_estimates(model.fit_)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-5 * expected["regularization_corrected"]), name


@pytest.mark.parametrize("d", [1, 2, 3])
def test_predict_agrees_with_all_pairs(d):
    x, y, folds, ladder = prepared(d)
    sigmas = ladder if d < 3 else ladder[-2:]
    solver = SpectralSolver(x, y, folds, sigmas, None)
    points = np.concatenate([x.rows[:15], y.rows[:15] + 0.05, np.full((1, d), 2.5)])
    for level in {0, len(sigmas) - 1}:
        for i in (0, 5, 9):
            model = float(sigmas[level]), float(FILTER_LAMS[i])
            expected = oracle.filter_curve(points, x.rows, y.rows, x.omega, y.omega, *model)
            found = solver.evaluate(DIFFERENCE, (level, i), points)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("d", [1, 2])
def test_f_is_exactly_zero_far_outside(d):
    x, y = rows_of(d, 60, 40)
    model = dd.LSDD([0.3, 0.6], 0.1, solver="spectral", random_state=0).fit(x, y)
    for value in (1e4, -1e6, 1e300):
        mixed = np.concatenate([x[:1], np.full((1, d), value)])
        assert model.predict(mixed)[1] == 0.0
        np.testing.assert_array_equal(model.predict(np.full((2, d), value)), 0.0)


def test_f_in_a_closed_gap_is_that_of_pairs():
    random = np.random.default_rng(3)
    x = np.concatenate([random.normal(size=30), random.normal(size=20) + 1000])
    y = np.concatenate([random.normal(size=25), random.normal(size=25) + 1000.5])
    points = np.concatenate([np.linspace(-5, 12, 60), np.linspace(490, 510, 9), np.linspace(988, 1005, 60)])
    found, expected = (
        dd.LSDD(0.5, 0.01, solver=s, standardize=False, random_state=0).fit(x, y).predict(points)
        for s in ("spectral", "pairs")
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("d", [1, 2])
def test_gaps_of_any_length_are_closed_to_the_same_answer(d):
    found = []
    for gap in (1e4, 1e9):
        x, y = (rows / np.array([1.0, 40.0])[:d] for rows in rows_of(d, 50, 40))
        x[25:, 0] += gap
        y[10:, 0] += gap
        model = dd.LSDD([0.5, 1.0], [0.1, 0.01], solver="spectral", standardize=False, random_state=0).fit(x, y)
        assert model.fit_.solver.n_outside == 0
        found.append((raw_estimates(model.fit_), model.predict(x)))
    # a gap closes to whole cells, so places move against the nodes and kernels wrap around elsewhere
    tolerance = max(grids.WRAP_TOLERANCE[d], 1e-7)  # a row near 1e9 is known to 1e-7
    for name, value in found[0][0].items():
        assert found[1][0][name] == (None if value is None else pytest.approx(value, rel=tolerance)), name
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=0, atol=tolerance * np.abs(found[0][1]).max())


def outliers(kind, count, seed):
    random = np.random.default_rng([9, seed])
    return 1000.0 * random.normal(size=count) if kind == "spread out" else np.full(count, 1000.0)


@pytest.mark.filterwarnings("ignore:.*distinct values:densdiff.DensDiffWarning")
@pytest.mark.parametrize("kind", ["spread out", "one value"])
def test_one_percent_of_outliers_leaves_the_bulk(kind):
    """Outliers in both samples: p - q of the mixtures is 0.99 of the bulk's, wherever outliers are the same."""
    n, far = 2000, 20
    pair = dd.datasets.gaussian_shift(0.5, n=n, random_state=1)
    x, y = pair.x.ravel() / pair.x.std(), pair.y.ravel() / pair.x.std()
    bulk = dd.LSDD(solver="spectral", random_state=0).fit(x[far:], y[far:]).l2_distance()
    with_far = [np.concatenate([outliers(kind, far, i), rows[far:]]) for i, rows in enumerate((x, y))]
    found = dd.LSDD(solver="spectral", random_state=0).fit(*with_far).l2_distance()
    assert found.squared == pytest.approx(0.99**2 * bulk.squared, rel=0.05)
    pairs = dd.LSDD(found.sigma, found.lam, solver="pairs", random_state=0).fit(*with_far)
    assert raw_estimates(pairs.fit_)["debiased"] == pytest.approx(found.estimates["debiased"], rel=0.01)


@pytest.mark.parametrize("d", [1, 2])
def test_heavy_tails_are_finite_and_rows_left_out_are_counted(d):
    random = np.random.default_rng(4)
    x, y = random.standard_cauchy(size=(1500, d)), random.standard_cauchy(size=(1200, d)) + 0.5
    model = dd.LSDD(solver="spectral", random_state=0).fit(x, y)
    result = model.l2_distance()
    assert np.isfinite(result.squared)
    assert 0 <= result.normalized <= 1
    assert np.isfinite(model.predict(x)).all()
    # what lies off the grid has next to no density: the distance is that of the pairs, which leave nothing out
    assert 0 <= model.fit_.solver.n_outside < 0.1 * 2700
    exact = dd.l2_distance(x, y, model=dd.LSDD(solver="pairs"), random_state=0)
    assert result.squared == pytest.approx(exact.squared, rel=2e-3)


def test_rows_off_a_cut_axis_are_left_out_and_counted(monkeypatch):
    monkeypatch.setitem(grids._MOST_CELLS, 1, 40_000)
    monkeypatch.setattr("densdiff.solvers.spectral._MOST_OUTSIDE", 1.0)
    random = np.random.default_rng(5)
    x, y = (random.normal(size=(300, 1)) + shift for shift in (0.0, 0.5))
    x[:3] = [[1e4], [-1e4], [2e4]]
    y[:200, 0] = np.linspace(-2000, 2000, 200)  # without a gap to close
    samples = [WeightedSample.of(rows, np.full(300, 1 / 300)) for rows in (x, y)]
    solver = SpectralSolver(*samples, draw_folds(0, 300, 300, 5), np.array([0.3]), np.array([0.1]))
    axis = solver._octave_transform(0).axes[0]
    assert axis.cut
    assert any("too far out" in note for note in solver.notes)
    length = axis.length
    places = np.concatenate([axis.apply(rows[:, 0]) for rows in (x, y)])
    beyond = int(((places < 0) | (places > length)).sum())
    assert solver.n_outside == beyond > 100
    # rows left out meet no other row, so f near the middle is right but for their absence
    points = np.linspace(-3, 3, 13)[:, None]
    expected = oracle.filter_curve(points, x, y, samples[0].omega, samples[1].omega, 0.3, 0.1)
    found = solver.evaluate(DIFFERENCE, (0, 0), points)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3 * np.abs(expected).max())


def test_a_grid_too_small_for_the_data_is_an_error_and_auto_takes_another_solver(monkeypatch):
    random = np.random.default_rng(6)
    x, y = random.standard_t(0.4, size=(300, 2)), random.standard_t(0.4, size=(250, 2)) + 0.5
    with pytest.raises(NumericalError, match=r"rows lie outside; use solver='pairs'"):
        dd.LSDD(solver="spectral", random_state=0).fit(x, y)
    assert dd.LSDD(random_state=0).fit(x, y).solver_ == "pairs"
    monkeypatch.setitem(grids._MOST_CELLS, 3, grids._MOST_CELLS[3] // 16)  # as cut off as before, in less time
    model = dd.LSDD(0.01, 0.1, solver="spectral", random_state=0)
    with pytest.raises(NumericalError, match=r"of 550 rows lie outside"):
        model.fit(random.normal(size=(300, 3)), random.normal(size=(250, 3)))


def test_another_thread_that_asks_meanwhile_gets_the_whole_answer(monkeypatch):
    x, y, folds, ladder = prepared(1)
    solver = SpectralSolver(x, y, folds, ladder[:1], None)
    own_power, meanwhile = fourier.own_power, []

    def asked_meanwhile(*arguments):
        monkeypatch.setattr(fourier, "own_power", own_power)
        meanwhile.append(solver.forms(DIFFERENCE, [(0, 0)])[0])
        return own_power(*arguments)

    monkeypatch.setattr(fourier, "own_power", asked_meanwhile)
    assert solver.forms(DIFFERENCE, [(0, 0)]) == meanwhile
