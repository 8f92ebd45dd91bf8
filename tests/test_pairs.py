"""The pairs solver: tables against quadrature, histograms against double loops, every estimate against all pairs."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import densdiff as dd
from densdiff.core import radial
from densdiff.core.selection import draw_folds
from densdiff.engines import pair_distances as engine
from densdiff.solvers import pairs as estimator
from densdiff.solvers.base import DENSITY_X, DENSITY_Y, DIFFERENCE, FILTER_LAMS
from densdiff.solvers.distance import raw_estimates
from densdiff.solvers.pairs import PairsSolver
from densdiff.solvers.prepared import WeightedSample
from tests import oracle

RADII = (0.0, 0.37, 1.3, 4.1, 11.0)
SIDES = {"difference": DIFFERENCE, "p": DENSITY_X, "q": DENSITY_Y}


def look_up(table, row, r):
    return radial.interpolate(radial.plain_and_squared(table, row), r)


def quadrature(d, lams, radii):
    """The kernels of F and F^2 at sigma = 1 times (2 pi)^(d/2), two (L, R): their radial integral in d dimensions.

    Bessel factors have 25 digits; panels of 40 Gauss nodes are shorter than 3 and F's poles are 0.7 off the axis.
    """
    low, high = max(0.0, np.sqrt(d - 1) - 10), max(np.sqrt(d - 1), np.sqrt(2 * max(0.0, np.log(1 / lams.min())))) + 10
    edges = np.linspace(low, high, 13)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    w = (edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2).ravel()
    measure = (np.diff(edges)[:, None] * weights / 2).ravel()
    with mp.workdps(25):
        sphere = mp.mpf(2) ** (1 - mp.mpf(d) / 2) / mp.gamma(mp.mpf(d) / 2)
        bessel = np.array(
            [
                [
                    float(
                        sphere
                        * mp.mpf(v) ** (d - 1)
                        * mp.exp(-(mp.mpf(v) ** 2) / 2)
                        * mp.hyp0f1(d / 2, -((v * r) ** 2) / 4)
                    )
                    for v in w
                ]
                for r in map(float, radii)
            ]
        )  # (R, W), with the Gaussian that F brings: it keeps doubles in range for d = 200
    filters = 1 / (1 + np.outer(lams, np.exp(w**2 / 2)))
    lifted = filters * np.exp(w**2 / 2)  # F exp(w^2 / 2) is bounded by 1/lam
    return (lifted * measure) @ bessel.T, (lifted * filters * measure) @ bessel.T


@pytest.mark.parametrize("d", [1, 2, 3, 10, 50, 200])
def test_tables_equal_the_bessel_integral(d):
    table = radial.radial_table(d, FILTER_LAMS)
    expected = quadrature(d, FILTER_LAMS, RADII)
    for row in range(len(FILTER_LAMS)):
        for found, kernel in zip(look_up(table, row, np.array(RADII)), expected, strict=True):
            np.testing.assert_allclose(found, kernel[row], rtol=0, atol=1e-11 * kernel[row, 0])


@pytest.mark.parametrize("lam", [1e-6, 1e-2, 10.0])
def test_tables_of_any_one_lam_equal_the_bessel_integral(lam):
    lams = np.array([lam])
    for found, kernel in zip(
        look_up(radial.radial_table(4, lams), 0, np.array(RADII)), quadrature(4, lams, RADII), strict=True
    ):
        np.testing.assert_allclose(found, kernel[0], rtol=0, atol=1e-11 * kernel[0, 0])


@pytest.mark.parametrize("d", [1, 7])
def test_look_up_has_no_jumps_and_is_zero_beyond_reach(d):
    table = radial.radial_table(d, FILTER_LAMS)
    nodes = table.step * np.arange(1, table.plain.shape[1] - 1, 97)
    for row in (0, len(FILTER_LAMS) - 1):
        before, after = (look_up(table, row, nodes * (1 + e)) for e in (-1e-13, 1e-13))
        beyond = look_up(table, row, table.reach * np.array([1.0 + 1e-9, 1.5, 1e6, 1e200]))
        for kind in range(2):
            np.testing.assert_allclose(before[kind], after[kind], rtol=0, atol=1e-11 * before[kind][0])
            np.testing.assert_array_equal(beyond[kind], 0.0)


def test_look_up_keeps_the_shape_of_its_distances():
    table = radial.radial_table(2, FILTER_LAMS)
    r = np.random.default_rng(0).random((3, 4))
    np.testing.assert_array_equal(look_up(table, 2, r)[0].ravel(), look_up(table, 2, r.ravel())[0])


@pytest.mark.parametrize("sigma", [0.3, 2.0])
def test_binned_kernels_are_right_on_average_over_the_distances(sigma):
    sigmas, d = np.array([2.0, 0.3]), 3
    table = radial.radial_table(d, FILTER_LAMS)
    bins = radial.make_bins(sigmas, 6.0, table.reach)
    r = np.linspace(0, 6, 100_001)
    density = r**2 * np.exp(-(r**2) / 2)  # distances of normal rows
    position = np.sqrt(r) * bins.per_root
    cell = position.astype(int)
    fraction = position - cell
    counts = np.bincount(cell, density * (1 - fraction), bins.count + 1)[: bins.count]
    counts += np.bincount(cell + 1, density * fraction, bins.count + 1)[: bins.count]
    kernels = radial.binned_kernels(table, bins, sigma)
    for row in range(len(FILTER_LAMS)):
        for kind, exact in enumerate(look_up(table, row, r / sigma)):
            assert counts @ kernels[kind][row] == pytest.approx(
                density @ exact, rel=0, abs=1e-5 * density @ np.abs(exact)
            )
    assert all((kernel[:, -1] == 0).all() for kernel in kernels)


def brute_histograms(rows, omega, groups, bins):
    """One pair at a time."""
    counts = np.zeros((groups[-1] + 1, groups[-1] + 1, bins.count))
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            if i == j:
                continue
            position = min(np.sqrt(np.sqrt(np.square(a - b).sum())) * bins.per_root, bins.count - 1)
            cell = int(position)
            weight = omega[i] * omega[j]
            counts[groups[i], groups[j], cell] += weight * (1 - (position - cell))
            if cell + 1 < bins.count:
                counts[groups[i], groups[j], cell + 1] += weight * (position - cell)
    return counts


def histogram_case(seed, sizes, weighted, ties, d=2):
    random = np.random.default_rng([seed, *sizes])
    rows = random.normal(size=(sum(sizes), d))
    if ties:
        rows = np.round(rows)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    omega = random.random(len(rows)) + 0.1 if weighted else np.repeat(random.random(len(sizes)) + 0.1, sizes)
    return rows, omega, groups


BINS = radial.make_bins(np.array([1.0, 0.5]), 4.0, 30.0)


@given(
    seed=st.integers(0, 1000),
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=6),
    tile=st.integers(1, 200),
    weighted=st.booleans(),
    ties=st.booleans(),
    direct=st.booleans(),
)
def test_histograms_equal_a_double_loop_for_any_tiles_and_groups(seed, sizes, tile, weighted, ties, direct):
    case = histogram_case(seed, sizes, weighted, ties)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_TILE", tile)
        found = engine.pair_histograms(*case, BINS, direct=direct)
    expected = brute_histograms(*case, BINS)
    # weights of a node are continuous in the distance; without direct differences a distance of 0 comes out as 1e-8
    node_width = 1e-8**0.5 * BINS.per_root
    atol = 1e-11 if direct else 1.01 * node_width * len(case[0]) ** 2
    np.testing.assert_allclose(found[:, :, :-1], expected[:, :, :-1], rtol=0, atol=atol)
    np.testing.assert_array_equal(found, found.transpose(1, 0, 2))


def test_distances_beyond_the_last_node_never_count():
    rows = np.array([[0.0], [1.0], [1e9], [1e200]])
    bins = radial.make_bins(np.array([1.0]), 1e200, 10.0)
    found = engine.pair_histograms(rows, np.ones(4), np.zeros(4, dtype=int), bins, direct=True)
    assert found[0, 0, :-1].sum() == pytest.approx(2.0)  # the pair at distance 1, twice


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_change_no_bit(monkeypatch, weighted):
    case = histogram_case(1, [30, 41, 9, 50], weighted, ties=False)
    one = engine.pair_histograms(*case, BINS, direct=True)
    monkeypatch.setattr(engine, "_PARALLEL_ROWS", 2)
    np.testing.assert_array_equal(engine.pair_histograms(*case, BINS, direct=True), one)


def test_radial_sums_in_tiles_are_one_product(monkeypatch):
    random = np.random.default_rng(3)
    points, rows, weights = random.normal(size=(23, 3)), random.normal(size=(17, 3)), random.normal(size=(17, 2))
    table = radial.radial_table(3, FILTER_LAMS)
    kernels = radial.plain_and_squared(table, 4)
    blocks = engine.kernel_block(points, rows, kernels, 0.7, direct=True)
    monkeypatch.setattr(engine, "_TILE", 40)
    found = engine.radial_sums(points, rows, weights, kernels, 0.7, direct=True)
    for sums, block in zip(found, blocks, strict=True):
        np.testing.assert_allclose(sums, block @ weights, rtol=1e-12, atol=1e-14)
    statistic = engine.kernel_matrix(points, rows, radial.statistic_kernel(table, 4), 0.7, direct=True)
    np.testing.assert_allclose(statistic, 2 * blocks[0] - blocks[1], rtol=1e-12, atol=1e-14)


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
        found = {
            "h_theta": form.plain,
            "theta_H_theta": form.plain - form.lam_term,
            "regularization_corrected": form.plain + form.lam_term,
            "debiased": form.plain + form.lam_term - form.correction,
        }
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
