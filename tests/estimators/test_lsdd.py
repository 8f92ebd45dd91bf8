"""LSDD against the plain loop of `tests/oracle.py`, its learned attributes, weights and scikit-learn manners."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError as SklearnNotFittedError

import densdiff as dd
from densdiff.solvers import fit
from tests import oracle
from tests.lsdd_solvers import columns, each_solver

ROOT = np.sqrt(2.0)
GRIDS = {
    "default grid": ("cv", "cv"),
    "ratio sqrt2": (2.0 * ROOT ** -np.arange(5.0), [1.0, 0.1, 0.01]),
    "other ratios": ([0.3, 2.0, 0.7, 1.1], [0.05, 3.0, 0.4]),
}
DIFFERENCE = (1.0, -1.0)


def fitted_and_loop(x, y, sigma, lam):
    """A fit, and the plain loop over its models: fold scores (models, folds * repeats) in standardized units."""
    model = dd.LSDD(sigma, lam, solver="centers", random_state=5).fit(x, y)
    inner_x, inner_y, deviation = oracle.standardized(x, y)
    centers = (model.centers_ - np.concatenate([x, y]).mean(axis=0)) / deviation
    models = list(zip(model.cv_results_["sigma"], model.cv_results_["lam"], strict=True))
    folds = model.fit_.data.folds
    labels = [oracle.fold_labels(folds.members, groups) for groups in (folds.groups_x.all(), folds.groups_y.all())]
    table = oracle.score_table(inner_x, inner_y, centers, models, labels, DIFFERENCE)
    return model, (inner_x, inner_y, centers, models, table), deviation.prod()


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize(("n", "m", "d"), [(31, 22, 1), (22, 37, 2), (28, 19, 5)])
def test_fast_path_scores_chooses_and_estimates_as_the_plain_loop(draw, n, m, d, grid):
    x, y = draw(11, n, m, d)
    model, (inner_x, inner_y, centers, models, table), volume = fitted_and_loop(x, y, *GRIDS[grid])
    table = table / volume
    found = model.cv_results_["fold_scores"]
    scale = np.abs(table).max(axis=1, keepdims=True)
    np.testing.assert_allclose(found / scale, table / scale, atol=1e-8)
    best = models[int(np.argmin(table.mean(axis=1)))]
    assert (model.sigma_, model.lam_) == best
    expected = oracle.estimates(inner_x, inner_y, centers, *best)
    theta = expected.pop("theta") / volume
    np.testing.assert_allclose(model.theta_, theta, atol=1e-9 * np.abs(theta).max())
    size = expected["regularization_corrected"]
    result = model.l2_distance()
    for name, value in expected.items():
        assert result.estimates[name] * volume == pytest.approx(value, rel=1e-9, abs=1e-9 * size), name
    averaged = oracle.averaged_debiased(inner_x, inner_y, centers, models, table, folds=5)
    assert result.squared * volume == pytest.approx(max(0.0, averaged), rel=1e-6, abs=1e-8 * size)


@pytest.mark.parametrize("given", [{"sigma": 0.7}, {"lam": 0.3}, {"sigma": 0.7, "lam": 0.3}, {}])
@pytest.mark.parametrize("solver", ["centers", "spectral", "pairs"])
def test_no_model_of_the_difference_changes_the_normalized_distance_or_the_error(draw, solver, given):
    x, y = draw(12, 60, 50, 1)
    free, asked = (
        model.fit(x, y).l2_distance()
        for model in (dd.LSDD(random_state=5), dd.LSDD(**given, solver=solver, random_state=5))
    )
    assert asked.normalized == free.normalized
    assert asked.normalized_interval == free.normalized_interval
    assert asked.standard_error == free.standard_error
    assert asked.interval[0] <= min(free.interval[0], asked.squared)
    assert asked.interval[1] >= max(free.interval[1], asked.squared)
    if given or solver == "centers":
        assert asked.squared == pytest.approx(max(0.0, asked.estimates["debiased"]), rel=0.5)
        assert asked.squared != free.squared
    else:
        assert asked.squared == free.squared


def test_squared_over_normalized_is_the_sum_of_the_norms():
    pair = dd.datasets.gaussian_shift(mu=0.5, n=2000, random_state=0)
    found = dd.l2_distance(pair.x, pair.y, random_state=0)
    # the integral of a squared normal density is 1 / (2 sqrt(pi) deviation); 2,000 rows of each tell it to some percent
    deviation = float(np.std(np.concatenate([pair.x - pair.x.mean(), pair.y - pair.y.mean()])))
    assert found.squared / found.normalized == pytest.approx(1 / (np.sqrt(np.pi) * deviation), rel=0.1)


@pytest.mark.parametrize("d", [1, 3])
def test_theta_times_features_is_predict(draw, d):
    x, y = draw(13, d=d)
    model = dd.LSDD(solver="centers", standardize=False, random_state=0).fit(x, y)
    points = np.concatenate([x[:5], y[:5] + 0.1])
    expected = oracle.psi(points, model.centers_, model.sigma_) @ model.theta_
    np.testing.assert_allclose(model.predict(points), expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


@each_solver
def test_integral_of_f_squared_is_theta_H_theta(draw, solver):
    x, y = draw(14, d=1)
    chosen = dd.LSDD(solver=solver, random_state=0).fit(3 * x, 3 * y)
    model = dd.LSDD(chosen.sigma_, chosen.lam_, solver=chosen.solver_, random_state=0).fit(3 * x, 3 * y)
    line, step = np.linspace(-60, 60, 60_001, retstep=True)
    found = step * np.square(model.predict(line)).sum()
    assert found == pytest.approx(model.l2_distance().estimates["theta_H_theta"], rel=1e-6)


@pytest.mark.parametrize("solver", ["centers", "spectral", "pairs"])
@given(
    seed=st.integers(0, 10_000),
    sigma=st.floats(0.05, 5),
    lam=st.floats(1e-4, 10),
    d=st.integers(1, 4),
)
def test_regularization_orders_the_estimates(draw, solver, seed, sigma, lam, d):
    x, y = draw(seed, 15, 11, columns(solver, d, seed))
    estimates = dd.LSDD(sigma, lam, solver=solver, random_state=0).fit(x, y).l2_distance().estimates
    slack = 1e-12 * estimates["regularization_corrected"]
    assert estimates["regularization_corrected"] >= estimates["h_theta"] - slack
    assert estimates["h_theta"] >= estimates["theta_H_theta"] - slack
    if solver == "centers":
        assert estimates["positive_part"] == max(0.0, estimates["bias_corrected"])


@pytest.mark.parametrize("solver", ["centers", "spectral", "pairs"])
def test_score_table_is_complete_and_ranks_the_chosen_model_first(draw, solver):
    sigmas, lams = [0.4, 0.8, 1.6], [0.1, 1.0]
    model = dd.LSDD(sigmas, lams, solver=solver, folds=4, random_state=0).fit(*draw(15))
    table = model.cv_results_
    assert set(table) == {"sigma", "lam", "smoothing", "mean_score", "standard_error", "fold_scores", "rank"}
    found = set(zip(table["sigma"], table["lam"], strict=True))
    assert found == {(sigma, lam) for sigma in sigmas for lam in lams}
    assert all(len(column) == 6 for column in table.values())
    assert table["fold_scores"].shape[1] % 4 == 0
    np.testing.assert_allclose(table["fold_scores"].mean(axis=1), table["mean_score"], rtol=1e-10)
    assert sorted(table["rank"]) == list(range(1, 7))
    best = np.flatnonzero(table["rank"] == 1)[0]
    assert best == np.argmin(table["mean_score"])
    assert (model.sigma_, model.lam_) == (table["sigma"][best], table["lam"][best])
    np.testing.assert_array_equal(np.diff(table["sigma"].reshape(3, 2), axis=1), 0.0)  # sigma-major
    assert (table["standard_error"] > 0).all()


@pytest.mark.parametrize("solver", ["centers", "spectral", "pairs"])
def test_order_of_a_given_sequence_does_not_matter(draw, solver):
    x, y = draw(16)
    a = dd.LSDD([0.4, 0.8, 1.6], [0.1, 1.0], solver=solver, random_state=0).fit(x, y)
    b = dd.LSDD((1.6, 0.4, 0.8), np.array([1.0, 0.1]), solver=solver, random_state=0).fit(x, y)
    np.testing.assert_array_equal(a.predict(y), b.predict(y))
    np.testing.assert_array_equal(a.cv_results_["fold_scores"], b.cv_results_["fold_scores"])


def test_sigma_without_standardization_is_in_the_users_units(draw):
    x, y = draw(17)
    model = dd.LSDD(64.0, 0.1, centers=64 * x, standardize=False).fit(64 * x, 64 * y)
    assert model.sigma_ == 64.0
    plain = dd.LSDD(1.0, 0.1, centers=x, standardize=False).fit(x, y)
    np.testing.assert_allclose(model.theta_ * 64.0**2, plain.theta_, atol=1e-12 * np.abs(plain.theta_).max())


@pytest.mark.parametrize("solver", ["spectral", "pairs"])
def test_sigma_of_the_exact_solvers_is_in_the_users_units_too(draw, solver):
    x, y = draw(17)
    wide = dd.LSDD(64.0, 0.1, solver=solver, standardize=False).fit(64 * x, 64 * y)
    plain = dd.LSDD(1.0, 0.1, solver=solver, standardize=False).fit(x, y)
    assert wide.sigma_ == 64.0
    f = plain.predict(y)
    np.testing.assert_allclose(wide.predict(64 * y) * 64.0**2, f, atol=1e-12 * np.abs(f).max())


def test_a_numeric_lam_needs_a_named_solver(draw):
    x, y = draw(17)
    with pytest.raises(dd.InputError, match="lam means something different"):
        dd.LSDD(lam=0.1).fit(x, y)
    assert dd.LSDD(lam=0.1, centers=x[:5]).fit(x, y).solver_ == "centers"


@pytest.mark.parametrize("solver", ["spectral", "pairs"])
def test_centers_are_refused_by_solvers_that_have_none(draw, solver):
    x, y = draw(17)
    with pytest.raises(dd.InputError, match="centers were given"):
        dd.LSDD(solver=solver, centers=x[:5]).fit(x, y)


def test_spectral_refuses_four_columns_and_says_what_to_use(draw):
    x, y = draw(17, d=4)
    with pytest.raises(dd.InputError, match="'pairs' or 'auto'"):
        dd.LSDD(solver="spectral").fit(x, y)
    x[:, 2:], y[:, 2:] = 1.0, 1.0  # columns that do not vary do not count
    assert dd.LSDD(solver="spectral").fit(x, y).solver_ == "spectral"


def test_all_rows_are_centers_until_there_are_too_many(draw):
    x, y = draw(18, 90, 18)
    model = dd.LSDD(1.0, 0.1, solver="centers", random_state=0)
    everything = clone(model).fit(x, y).centers_
    np.testing.assert_array_equal(everything, np.unique(np.concatenate([x, y]), axis=0))
    few = {tuple(row) for row in clone(model).set_params(n_centers=36).fit(x, y).centers_}
    rows_x, rows_y = ({tuple(row) for row in rows} for rows in (x, y))
    assert few <= rows_x | rows_y
    assert (len(few & rows_x), len(few & rows_y)) == pytest.approx((30, 6), abs=1)  # as in the pooled sample


def test_given_centers_are_used_and_reported_in_the_users_units(draw):
    x, y = draw(19)
    centers = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, -1.0]])
    model = dd.LSDD(centers=centers, random_state=0).fit(x, y)
    np.testing.assert_array_equal(model.centers_, centers)
    assert model.theta_.shape == (3,)
    assert model.l2_distance().n_centers == 3


FIXED = {"sigma": 0.7, "lam": 0.2}


@pytest.mark.parametrize("solver", ["centers", "spectral", "pairs"])
def test_integer_weights_equal_repeated_rows(draw, solver):
    x, y = draw(20)
    random = np.random.default_rng(0)
    counts_x, counts_y = random.integers(1, 5, len(x)), random.integers(1, 4, len(y))
    # without standardization: the pooled scale counts a sample with its number of rows, which repeating changes
    model = dd.LSDD(**FIXED, solver=solver, standardize=False, random_state=0)
    if solver == "centers":
        model.set_params(centers=x[:9])
    weighted = clone(model).fit(x, y, weights_x=counts_x, weights_y=counts_y)
    repeated = clone(model).fit(np.repeat(x, counts_x, axis=0), np.repeat(y, counts_y, axis=0))
    if solver == "centers":
        np.testing.assert_allclose(weighted.theta_, repeated.theta_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(weighted.predict(y), repeated.predict(y), rtol=1e-10, atol=1e-12)
    a, b = weighted.l2_distance().estimates, repeated.l2_distance().estimates
    for name in ("h_theta", "theta_H_theta", "regularization_corrected"):
        assert a[name] == pytest.approx(b[name], rel=1e-10)


@each_solver
def test_zero_weights_equal_absent_rows(draw, solver):
    x, y = draw(21)
    weights = np.arange(len(x)) % 3
    model = dd.LSDD(solver=solver, random_state=0)
    zeroed = clone(model).fit(x, y, weights_x=weights)
    absent = clone(model).fit(x[weights > 0], y, weights_x=weights[weights > 0])
    np.testing.assert_array_equal(zeroed.predict(y), absent.predict(y))
    assert zeroed.l2_distance() == absent.l2_distance()


@each_solver
def test_only_ratios_of_weights_matter(draw, solver):
    x, y = draw(22)
    weights = np.random.default_rng(1).random(len(x)) + 0.1
    model = dd.LSDD(solver=solver, random_state=0)
    small, large = (clone(model).fit(x, y, weights_x=factor * weights) for factor in (1.0, 1024.0))
    np.testing.assert_allclose(small.predict(y), large.predict(y), rtol=1e-11)
    constant = clone(model).fit(x, y, weights_x=np.full(len(x), 4.0), weights_y=np.full(len(y), 0.5))
    np.testing.assert_allclose(constant.predict(y), clone(model).fit(x, y).predict(y), rtol=1e-10, atol=1e-12)


@each_solver
def test_weights_turn_one_mixture_into_another(solver):
    random = np.random.default_rng(4)
    near, far = random.normal(size=(300, 1)), random.normal(size=(300, 1)) + 4
    x = np.concatenate([near, far])
    y = np.concatenate([random.normal(size=(570, 1)), random.normal(size=(30, 1)) + 4])
    weights = np.repeat([0.95, 0.05], 300)
    model = dd.LSDD(solver=solver, random_state=0)
    plain = clone(model).fit(x, y).l2_distance().normalized
    balanced = clone(model).fit(x, y, weights_x=weights).l2_distance().normalized
    # f = .45 (N(4, 1) - N(0, 1)); norms in units of |N(0, 1)|^2, overlap of the two parts e^-4
    overlap = np.exp(-4.0)
    squares = [a**2 + b**2 + 2 * a * b * overlap for a, b in ((-0.45, 0.45), (0.5, 0.5), (0.95, 0.05))]
    assert plain == pytest.approx(squares[0] / (squares[1] + squares[2]), abs=0.08)
    assert balanced < 0.03


@each_solver
def test_refit_equals_a_fresh_fit_bit_for_bit(draw, solver):
    model = dd.LSDD(solver=solver, random_state=3).fit(*draw(23, 50, 20, columns(solver, 3)))
    model.l2_distance()
    again, fresh = model.fit(*draw(24, d=1)), dd.LSDD(solver=solver, random_state=3).fit(*draw(24, d=1))
    assert again is model
    for name, column in fresh.cv_results_.items():
        np.testing.assert_array_equal(again.cv_results_[name], column)
    np.testing.assert_array_equal(again.predict([0.0, 1.0]), fresh.predict([0.0, 1.0]))
    assert again.l2_distance() == fresh.l2_distance()
    assert vars(again).keys() == vars(fresh).keys()


@each_solver
def test_another_seed_draws_other_folds_and_centers(draw, solver):
    x, y = draw(25, 90, 60, columns(solver, 4))
    model = dd.LSDD(solver=solver, n_centers=50, random_state=9)
    first, other = (clone(model).set_params(random_state=seed).fit(x, y) for seed in (9, 10))
    assert not np.array_equal(first.cv_results_["fold_scores"], other.cv_results_["fold_scores"])
    if solver == "centers":
        assert not np.array_equal(first.centers_, other.centers_)


@each_solver
def test_recorded_seed_reproduces_an_unseeded_fit(draw, solver):
    x, y = draw(26, 90, 60)
    model = dd.LSDD(solver=solver, n_centers=50).fit(x, y)
    again = dd.LSDD(solver=solver, n_centers=50, random_state=model.l2_distance().seed).fit(x, y)
    np.testing.assert_array_equal(model.predict(y), again.predict(y))
    np.testing.assert_array_equal(model.cv_results_["fold_scores"], again.cv_results_["fold_scores"])


def test_a_generator_is_consumed_and_the_global_state_is_not(draw):
    x, y = draw(27, 90, 60)
    before = np.random.get_state()[1].copy()  # noqa: NPY002 - the legacy state is what must stay untouched
    generator = np.random.default_rng(0)
    one, two = (dd.LSDD(n_centers=50, random_state=generator).fit(x, y) for _ in range(2))
    dd.l2_distance(x, y)
    assert one.seed_ != two.seed_
    fixed = dd.LSDD(1.0, 1.0, solver="centers")
    legacy = [fixed.set_params(random_state=np.random.RandomState(0)).fit(x, y).seed_ for _ in range(2)]
    assert legacy[0] == legacy[1]
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_constructor_only_stores_and_clone_copies_it():
    centers = np.zeros((2, 1))
    model = dd.LSDD([1.0, 2.0], 0.5, centers=centers, folds=3)
    assert model.get_params()["centers"] is centers
    assert not [name for name in vars(model) if name.endswith("_")]
    copy = clone(model.set_params(lam="cv", n_centers=7))
    assert (copy.sigma, copy.lam, copy.n_centers, copy.folds) == ([1.0, 2.0], "cv", 7, 3)
    assert "folds=3" in repr(copy)
    dd.LSDD(sigma=-1.0, folds="many", solver=None)  # judged by fit, not here


@pytest.mark.parametrize("estimator", [dd.LSDD, dd.KDEDifference])
@pytest.mark.parametrize("call", [lambda model: model.predict([[0.0]]), lambda model: model.l2_distance()])
def test_asking_before_fit_is_a_not_fitted_error(estimator, call):
    with pytest.raises(dd.NotFittedError, match="fit") as caught:
        call(estimator())
    assert isinstance(caught.value, SklearnNotFittedError)


@each_solver
def test_every_learned_attribute_of_the_contract_is_there(draw, solver):
    x, y = draw(29)
    model = dd.LSDD(solver=solver, random_state=0).fit(x, y)
    assert model.n_features_in_ == 2
    assert model.feature_names_ == ("x0", "x1")
    assert model.solver_ == ("spectral" if solver == "auto" else solver)
    for name in ("centers_", "theta_"):
        assert hasattr(model, name) == (solver == "centers")
    assert isinstance(model.sigma_, float)
    assert isinstance(model.lam_, float)
    np.testing.assert_array_equal(model.samples_[0], x)
    np.testing.assert_array_equal(model.samples_[1], y)


def test_debiased_distance_is_right_on_average_for_the_papers_gaussians():
    # 4 standard errors of a mean of 20, at the efficiency bound of docs/math: 0.133 for mu between .4 and .6
    pairs = [dd.datasets.gaussian_shift(0.5, n=200, random_state=seed) for seed in range(20)]
    found = [dd.l2_distance(pair.x, pair.y, random_state=0).squared for pair in pairs]
    assert np.mean(found) == pytest.approx(2 * (1 - np.exp(-np.pi / 4)), abs=4 * 0.133 / np.sqrt(20))


@pytest.mark.parametrize(
    ("d", "rows", "solver"),
    [
        (1, 400, "spectral"),
        (2, 10**7, "spectral"),
        (3, 20_000, "pairs"),
        (3, 20_001, "spectral"),
        (4, 20_000, "pairs"),
        (4, 10**7, "pairs"),
        (2000, 100, "pairs"),
    ],
)
def test_auto_takes_the_solver_of_the_documented_table(d, rows, solver):
    assert fit.automatic_solver(d, rows) == solver


@each_solver
def test_copies_of_every_row_change_neither_f_nor_the_distance(draw, solver):
    x, y = draw(11, 40, 30, 1 if solver == "spectral" else 2)
    model = dd.LSDD(solver=solver, random_state=0).fit(x, y)
    with pytest.warns(dd.DensDiffWarning, match="every row occurs 10 times"):
        copied = dd.LSDD(solver=solver, random_state=0).fit(np.tile(x, (10, 1)), np.repeat(y, 10, axis=0))
    expected, found = model.l2_distance(), copied.l2_distance()
    np.testing.assert_allclose(copied.predict(x), model.predict(x), rtol=1e-9)
    assert found.squared == pytest.approx(expected.squared, rel=1e-9)
    assert found.normalized == pytest.approx(expected.normalized, rel=1e-9)
    assert (found.n_x, found.n_y) == (400, 300)


def test_a_refused_refit_leaves_the_model_as_it_was(draw):
    x, y = draw(12, 40, 30, 2)
    model = dd.LSDD(solver="pairs", random_state=0).fit(x, y)
    before = model.l2_distance()
    model.set_params(solver="spectral")
    with pytest.raises(dd.InputError, match="at most 3 columns that vary; got 4"):
        model.fit(*draw(12, 40, 30, 4))
    assert model.l2_distance() == before
    assert len(model.predict(x)) == 40


def test_norms_find_a_solver_where_the_grid_of_the_ladder_fails(draw):
    x, y = draw(13, 60, 50, 2)
    x[::2] += 500
    y[::2] += 500
    for model in (dd.LSDD(1.0, random_state=0), dd.LSDD(1.0, 0.1, solver="spectral", random_state=0)):
        result = model.fit(x, y).l2_distance()
        assert 0 <= result.normalized <= 1
        assert result.solver == model.solver_ == "spectral"


@pytest.mark.parametrize("gap", [20.0, 200.0, 1e4])
@pytest.mark.hostile(17)
def test_far_clusters_in_two_columns_keep_their_distance(gap):
    random = np.random.default_rng(14)
    x, y = random.normal(size=(100, 2)), random.normal(size=(100, 2)) + gap
    result = dd.l2_distance(x, y, random_state=0)
    exact = dd.l2_distance(x, y, model=dd.LSDD(solver="pairs"), random_state=0)
    assert result.squared == pytest.approx(exact.squared, rel=1e-3)
    assert result.normalized == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(
    "parameters",
    [{"standardize": "yes"}, {"standardize": None}, {"lam": 1e300, "solver": "pairs"}, {"sigma": 1e-300}],
)
def test_absurd_parameters_are_refused(draw, parameters):
    with pytest.raises(dd.InputError, match=next(iter(parameters))):
        dd.LSDD(**parameters).fit(*draw(0))


def test_few_rows_are_told(draw):
    assert "a sample has only 12 rows" in dd.l2_distance(*draw(0, 12, 50, 1), random_state=0).warnings[-1]


def test_an_explicit_grid_that_fails_is_refused_on_a_refit_too(draw):
    model = dd.LSDD(solver="spectral", random_state=0).fit(*draw(15, 40, 30, 1))
    random = np.random.default_rng(6)
    far = random.standard_t(0.4, size=(300, 2)), random.standard_t(0.4, size=(250, 2)) + 0.5
    with pytest.raises(dd.NumericalError, match="rows lie outside"):
        model.fit(*far)
    assert model.solver_ == "spectral"
