"""Rows drawn of samples that are too large for pairs: which ones, what rests on them, and what does not."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from sklearn.base import clone

import densdiff as dd
from densdiff.solvers import fit as solver_fit
from densdiff.solvers import prepared, uncertainty
from densdiff.solvers.uncertainty import rough_band
from tests import oracle
from tests.large import Blocks, cuts, tables

BUDGET = 120
NOTE = "bands, densities and raw estimates rest on {} of {} and {} of {} rows, drawn at random"


@pytest.fixture(autouse=True)
def few_rows_for_pairs(monkeypatch):
    monkeypatch.setattr(prepared, "PAIRS_ROWS", BUDGET)


def samples(n=300, m=200, d=4, seed=0):
    random = np.random.default_rng([seed, n, m, d])
    return random.normal(size=(n, d)), random.normal(size=(m, d)) * 1.2 + 0.4


@pytest.mark.parametrize(
    ("n", "m", "expected"),
    [
        (100, 10**6, (100, 19_900)),
        (10**6, 100, (19_900, 100)),
        (10**6, 10**7, (10_000, 10_000)),
        (10_001, 10_000, (10_000, 10_000)),
        (15_000, 6000, (14_000, 6000)),
        (9000, 11_000, (9000, 11_000)),
        (2, 3, (2, 3)),
    ],
)
def test_half_of_the_budget_and_what_a_small_sample_leaves(n, m, expected):
    assert prepared._thinned_sizes(n, m, 20_000) == expected


def test_pairs_get_drawn_rows_in_the_units_of_all_rows():
    x, y = samples()
    weights = np.random.default_rng(1).random(300) + 0.1
    model = dd.LSDD(0.8, 0.02, solver="pairs", random_state=0).fit(x, y, weights_x=weights)
    used, data = model.fit_.used, model.fit_.data
    assert used.sizes == (60, 60)
    assert data.sizes == (300, 200)
    assert used.scaling is data.scaling
    places = [np.flatnonzero((x == row).all(axis=1))[0] for row in used.pair.x[:]]
    assert (np.diff(places) > 0).all()  # distinct, in their order
    np.testing.assert_allclose(used.x.omega, weights[places] / weights[places].sum(), rtol=1e-14)
    np.testing.assert_allclose(used.y.omega, 1 / 60, rtol=1e-14)
    np.testing.assert_allclose(used.x.rows[:], data.scaling.apply(x[places]), rtol=1e-14)
    inner = used.x.rows[:], used.y.rows[:], used.x.omega, used.y.omega
    expected = oracle.filter_curve(data.scaling.apply(y[:9]), *inner, 0.8, 0.02) * np.exp(-data.scaling.log_volume)
    np.testing.assert_allclose(model.predict(y[:9]), expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_few_rows_are_left_as_they_are():
    x, y = samples(70, 50)
    fit = dd.LSDD(random_state=0).fit(x, y).fit_
    assert fit.used is fit.data


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_draws_the_same_rows_and_another_one_others(seed):
    x, y = samples()
    first, again = (dd.LSDD(random_state=seed).fit(x, y) for _ in range(2))
    np.testing.assert_array_equal(first.predict(y), again.predict(y))
    other = dd.LSDD(random_state=seed + 2).fit(x, y)
    assert not np.array_equal(first.fit_.used.x.rows[:], other.fit_.used.x.rows[:])


@pytest.mark.parametrize(("n", "m"), [(300, 200), (250, 250), (20, 400)])
@pytest.mark.parametrize("weighted", [False, True])
def test_swapping_the_samples_flips_the_sign(n, m, weighted):
    x, y = samples(n, m)
    weights = np.random.default_rng(1).random(n) + 0.1 if weighted else None
    there = dd.LSDD(random_state=0).fit(x, y, weights_x=weights)
    back = dd.LSDD(random_state=0).fit(y, x, weights_y=weights)
    assert there.solver_ == back.solver_ == "pairs"
    assert there.fit_.used.sizes == back.fit_.used.sizes[::-1]
    points = y[:20]
    np.testing.assert_allclose(there.predict(points), -back.predict(points), rtol=1e-10, atol=1e-14)
    band, turned = there.confidence_band(points), back.confidence_band(points)
    size = 1e-9 * np.abs(band.upper).max()
    np.testing.assert_allclose(band.lower, -turned.upper, rtol=0, atol=size)
    found, expected = back.l2_distance().estimates, there.l2_distance().estimates
    for name in ("h_theta", "theta_H_theta", "regularization_corrected"):
        assert found[name] == pytest.approx(expected[name], rel=1e-9), name
    assert found["debiased"] == pytest.approx(expected["debiased"], abs=1e-9 * expected["h_theta"])


@settings(max_examples=10)
@given(cuts_x=cuts(300), cuts_y=cuts(200))
def test_a_sorted_file_gives_the_same_answer_in_any_chunking(cuts_x, cuts_y):
    x, y = (rows[np.lexsort(rows.T)] for rows in samples())
    expected = dd.LSDD(random_state=0).fit(x, y)
    found = dd.LSDD(random_state=0).fit(Blocks(x, cuts_x), Blocks(y, cuts_y))
    assert found.solver_ == "pairs"
    np.testing.assert_allclose(found.predict(y[:30]), expected.predict(y[:30]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.sigma_, expected.sigma_, rtol=1e-10)
    band, whole = found.confidence_band(y[:5]), expected.confidence_band(y[:5])
    np.testing.assert_allclose(band.upper, whole.upper, rtol=1e-9)
    assert band.warnings == whole.warnings == (NOTE.format(60, 300, 60, 200),)


def test_a_file_of_mixed_columns_gives_the_answer_of_the_table(tmp_path):
    x, y = (table.drop(columns="grade").sort_values(["city", "size"]) for table in tables(400, 300))
    x.to_csv(tmp_path / "x.csv", index=False)
    expected = dd.LSDD(random_state=0).fit(x, y)
    assert expected.solver_ == "pairs"
    assert expected.fit_.used.sizes == (60, 60)
    blocks = Blocks(x, [17, 200, 201]), Blocks(y, [150])
    for given_x, given_y in (blocks, (tmp_path / "x.csv", y)):
        found = dd.LSDD(random_state=0).fit(given_x, given_y)
        np.testing.assert_allclose(found.predict(y[:30]), expected.predict(y[:30]), rtol=1e-9, atol=1e-14)


def test_a_small_sample_against_a_large_one_is_kept_whole():
    x, y = samples(100, 50_000)
    model = dd.LSDD(random_state=0).fit(x, y)
    assert model.fit_.used.sizes == (60, 60)
    small = samples(20, 50_000)
    model = clone(model).fit(*small)
    assert model.fit_.used.sizes == (20, 100)
    np.testing.assert_array_equal(model.fit_.used.pair.x[:], small[0])
    assert model.confidence_band(small[0][:3]).warnings == (NOTE.format(20, 20, 100, 50_000),)


def test_distances_rest_on_all_rows(monkeypatch):
    x, y = samples(800, 600)
    found = dd.LSDD(random_state=0).fit(x, y).l2_distance()
    assert (found.n_x, found.n_y) == (800, 600)
    assert found.warnings == (NOTE.format(60, 800, 60, 600),)
    monkeypatch.setattr(prepared, "PAIRS_ROWS", 2000)
    whole = dd.LSDD(random_state=0).fit(x, y).l2_distance()
    assert whole.warnings == ()
    for name in ("squared", "normalized", "interval", "normalized_interval", "standard_error", "resolution"):
        assert getattr(found, name) == getattr(whole, name), name
    assert found.estimates != whole.estimates  # at another model, of fewer rows


def test_the_noise_of_a_band_is_that_of_the_rows_it_rests_on(monkeypatch):
    # widths go with one over the root of the rows but for the share of a single row, which goes with one over them
    x, y = samples(1500, 1500, 3)
    model = dd.LSDD(0.5, 0.05, solver="pairs", random_state=0)
    points = y[:40]
    thinned = clone(model).fit(x, y).confidence_band(points, simultaneous=False)
    monkeypatch.setattr(prepared, "PAIRS_ROWS", 10_000)
    whole = clone(model).fit(x, y).confidence_band(points, simultaneous=False)
    ratio = np.median((thinned.upper - thinned.lower) / (whole.upper - whole.lower))
    assert ratio > 0.8 * np.sqrt(1500 / 60)


def test_a_band_whose_grid_fails_has_the_noise_of_the_rows_drawn_for_pairs(monkeypatch):
    x, y = samples(400, 300, 1)
    model = dd.LSDD(random_state=0).fit(x, y)
    assert model.solver_ == "spectral"
    seen = []

    def refused(*_):
        raise dd.NumericalError("the grid does not reach the rows")

    def recorded(solver, data, *arguments):
        seen.append((solver.x.rows.shape, data.sizes))
        return rough_band(solver, data, *arguments)

    monkeypatch.setattr(solver_fit, "SpectralSolver", refused)
    monkeypatch.setattr(uncertainty, "rough_band", recorded)
    assert np.isfinite(model.confidence_band(x[:5]).upper).all()
    assert seen == [((60, 1), (60, 60))]


def test_densities_rest_on_the_drawn_rows():
    x, y = samples()
    model = dd.LSDD(random_state=0).fit(x, y)
    assert model.fit_.densities.solver is model.fit_.solver
    given_sigma = dd.LSDD(0.7, random_state=0).fit(x, y)
    assert given_sigma.fit_.densities.solver.x.rows.shape == (60, 4)
    for p in (*model.densities(y[:5]), *given_sigma.densities(y[:5])):
        assert (p >= 0).all()


def test_three_columns_take_a_grid_in_memory_and_drawn_rows_elsewhere():
    x, y = samples(d=3)
    assert dd.LSDD(random_state=0).fit(x, y).solver_ == "spectral"
    assert dd.LSDD(random_state=0).fit(Blocks(x, [50]), y).solver_ == "pairs"
    small = x[:40], y[:40]
    found = dd.LSDD(solver="pairs", random_state=0).fit(*(Blocks(rows, [10]) for rows in small))
    assert found.fit_.used.sizes == (40, 40)
    np.testing.assert_allclose(found.predict(y[:5]), dd.LSDD(random_state=0).fit(*small).predict(y[:5]), rtol=1e-9)


def test_where_a_grid_does_not_reach_the_rows_some_are_drawn_for_pairs():
    random = np.random.default_rng(0)
    x, y = (random.choice([-1.0, 1.0], (n, 2)) * 10 ** random.uniform(0, 14, (n, 2)) for n in (300, 200))
    model = dd.LSDD(random_state=0).fit(x, y)
    assert model.solver_ == "pairs"
    assert model.fit_.used.sizes == (60, 60)
    assert model.confidence_band(x[:2]).warnings[-1] == NOTE.format(60, 300, 60, 200)


def test_many_kinds_of_categories_take_fewer_rows(monkeypatch):
    monkeypatch.setattr(solver_fit, "_MANY_CLASSES_ROWS", 30)
    random = np.random.default_rng(0)
    x, y = (
        pd.DataFrame({f"c{k}": random.integers(0, k, n).astype(str) + "!" for k in range(2, 11)}) for n in (100, 90)
    )
    model = dd.LSDD(random_state=0).fit(x, y)
    assert model.fit_.used.sizes == (15, 15)
    assert np.isfinite(model.confidence_band(x[:3]).upper).all()
