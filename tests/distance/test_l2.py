"""The distance result: plain frozen data with a receipt; logs where doubles end; `l2_distance` as a function."""

import contextlib
import dataclasses
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import densdiff as dd
from tests import oracle

MODELS = {
    "auto": dd.LSDD(random_state=0),
    "centers": dd.LSDD(solver="centers", random_state=0),
    "pairs": dd.LSDD(solver="pairs", random_state=0),
    "spectral": dd.LSDD(solver="spectral", random_state=0),
    "fixed": dd.LSDD(0.8, 0.1, solver="centers", random_state=0),
    "kde": dd.KDEDifference(random_state=0),
}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
ESTIMATES = {"h_theta", "theta_H_theta", "regularization_corrected", "debiased", "bias_corrected", "positive_part"}


@each_model
def test_result_is_plain_frozen_data_with_a_receipt(draw, model):
    result = dd.l2_distance(*draw(0, 40, 27), model=model, level=0.9)
    assert (result.n_x, result.n_y, result.seed, result.level) == (40, 27, 0, 0.9)
    assert result.version == dd.__version__
    assert result.tuning
    assert result.warnings == ()
    uncertain = (result.standard_error, result.interval, result.normalized_interval)
    assert (uncertain == (None, None, None)) == (result.solver == "kde")
    for name in ("squared", "normalized", "log_squared"):
        assert type(getattr(result, name)) is float, name
    needs_centers = ("bias_corrected", "positive_part") if result.solver in ("spectral", "pairs") else ()
    for name, value in result.estimates.items():
        assert value is None if name in needs_centers else type(value) is float, name
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.squared = 1.0


@each_model
def test_result_as_dict_is_json_with_every_field(draw, model):
    result = dd.l2_distance(*draw(1), model=model)
    found = result.to_dict()
    assert set(found) == {field.name for field in dataclasses.fields(result)}
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert json.loads(result.to_json()) == found
    assert found["squared"] == result.squared


@each_model
def test_result_survives_pickling_and_reads_as_a_few_lines(draw, model):
    result = dd.l2_distance(*draw(2), model=model)
    assert pickle.loads(pickle.dumps(result)) == result
    lines = str(result).splitlines()
    assert 3 <= len(lines) <= 8
    assert f"{result.squared:.4g}" in str(result)
    assert "40 and 27" in str(result)


def test_lsdd_result_has_all_six_estimates_and_says_how_it_was_tuned(draw):
    names = ("auto", "pairs", "centers", "fixed")
    *searched, fixed = (dd.l2_distance(*draw(3), model=MODELS[name]) for name in names)
    assert [result.solver for result in searched] == ["spectral", "pairs", "centers"]
    for result in searched:
        assert set(result.estimates) == set(fixed.estimates) == ESTIMATES
        assert "5-fold" in result.tuning
    assert "given" in fixed.tuning
    assert (fixed.sigma, fixed.lam) == (0.8, 0.1)


@pytest.mark.parametrize("solver", ["centers", "spectral", "pairs"])
def test_at_one_model_squared_is_the_debiased_estimate_clipped_at_zero(solver):
    clipped = []
    for seed in range(12):
        random = np.random.default_rng(seed)
        x, y = random.normal(size=(2, 20, 1))
        result = dd.LSDD(0.5, 0.1, solver=solver, random_state=0).fit(x, y).l2_distance()
        debiased = result.estimates["debiased"]
        assert result.squared == pytest.approx(max(0.0, debiased), rel=1e-12)
        clipped.append(debiased < 0)
        if debiased < 0:
            assert (result.normalized, result.log_squared) == (0.0, None)
    assert any(clipped)
    assert not all(clipped)


@pytest.mark.filterwarnings("ignore:folds reduced:densdiff.DensDiffWarning")
@each_model
@given(
    seed=st.integers(0, 10_000), n=st.integers(2, 30), m=st.integers(2, 30), d=st.integers(1, 3), gap=st.floats(0, 20)
)
def test_normalized_distance_lies_between_0_and_1(draw, model, seed, n, m, d, gap):
    # a grid for a few rows far apart in two columns may be refused: one column suits all
    x, y = draw(seed, n, m, 1 if getattr(model, "solver", None) == "spectral" else d)
    result = dd.l2_distance(x, y + gap, model=model)
    assert 0 <= result.normalized <= 1
    assert result.squared >= 0
    assert (result.log_squared is None) == (result.squared == 0)


@pytest.mark.parametrize("mu", [0.4, 0.8])
@pytest.mark.parametrize(("solver", "d"), [("centers", 1), ("centers", 3), ("pairs", 1), ("pairs", 3), ("auto", 1)])
def test_normalized_distance_of_the_papers_gaussians_is_free_of_units(mu, solver, d):
    pair = dd.datasets.gaussian_shift(mu, d=d, n=400, random_state=0)
    model = dd.LSDD(solver=solver, random_state=0)
    found = dd.l2_distance(1000 * pair.x, 1000 * pair.y, model=model).normalized
    assert found == pytest.approx(1 - np.exp(-np.pi * mu**2), abs=0.15)


@pytest.mark.parametrize("d", [1, 5])
def test_log_squared_is_the_log_of_squared(draw, d):
    result = dd.l2_distance(*draw(4, 60, 50, d), random_state=0)
    assert result.squared > 0
    assert result.log_squared == pytest.approx(np.log(result.squared), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("d", [5, 500, 2000])
def test_log_squared_at_a_fixed_model_equals_the_plain_estimate_in_any_dimension(draw, d):
    x, y = draw(5, 20, 16, d)
    sigma, lam = np.sqrt(d), 0.1
    random = np.random.default_rng(0)
    centers = random.normal(size=(10, d))
    unit = sigma * np.sqrt(np.pi)  # in this unit of length s = 1 for every d, and nothing over- or underflows
    expected = oracle.estimates(x / unit, y / unit, centers / unit, 1 / np.sqrt(np.pi), lam)["debiased"]
    assert expected > 0
    model = dd.LSDD(sigma, lam, centers=centers, standardize=False, random_state=0)
    result = answer_ignoring_size(model, x, y)
    assert result.log_squared == pytest.approx(np.log(expected) - d * np.log(unit), rel=1e-9)


def answer_ignoring_size(model, x, y):
    """The distance, with the warnings about many columns and about saturation allowed."""
    with pytest.warns(dd.DensDiffWarning) if x.shape[1] > len(x) + len(y) else contextlib.nullcontext():
        return model.fit(x, y).l2_distance()


@pytest.mark.parametrize(("solver", "d"), [("centers", 500), ("pairs", 500), ("auto", 2000)])
@pytest.mark.hostile(15)
def test_high_dimension_is_finite_and_consistent_under_scaling(draw, solver, d):
    x, y = draw(6, 30, 25, d)
    far = answer_ignoring_size(dd.LSDD(solver=solver, random_state=0), x, y)
    assert np.isfinite(far.log_squared)
    assert far.squared == np.finfo(float).tiny
    assert 0 < far.normalized <= 1
    assert any("log_squared" in note for note in far.warnings)
    c = np.exp((far.log_squared + 2.0) / d)  # in this unit log_squared is -2
    near = answer_ignoring_size(dd.LSDD(solver=solver, random_state=0), c * x, c * y)
    assert near.log_squared == pytest.approx(-2.0, abs=1e-6)
    assert near.squared == pytest.approx(np.exp(-2.0), rel=1e-5)
    assert near.normalized == pytest.approx(far.normalized, rel=1e-6)
    assert all(np.isfinite(value) for value in near.estimates.values() if value is not None)


@pytest.mark.parametrize("solver", ["centers", "pairs", "auto"])
def test_high_dimension_predicts_finite_values(draw, solver):
    x, y = draw(7, 30, 25, 500)
    with pytest.warns(dd.DensDiffWarning, match="swapped"):
        model = dd.LSDD(solver=solver, random_state=0).fit(x, y)
    assert np.isfinite(model.predict(np.concatenate([x, y]))).all()
    assert all(np.isfinite(column).all() for column in model.cv_results_.values())


def test_function_equals_the_default_model(draw):
    x, y = draw(8)
    assert dd.l2_distance(x, y, random_state=3) == dd.LSDD(random_state=3).fit(x, y).l2_distance()


@pytest.mark.parametrize("estimator", [dd.LSDD, dd.KDEDifference])
def test_given_model_is_cloned_and_stays_unfitted(draw, estimator):
    model = estimator(sigma=[0.5, 1.0])
    dd.l2_distance(*draw(9), model=model, random_state=1)
    assert model.random_state is None
    with pytest.raises(dd.NotFittedError):
        model.l2_distance()


def test_seed_of_the_model_wins_over_the_functions(draw):
    x, y = draw(10)
    assert dd.l2_distance(x, y, model=dd.LSDD(random_state=5), random_state=6).seed == 5
    assert dd.l2_distance(x, y, model=dd.LSDD(), random_state=6).seed == 6
    assert dd.l2_distance(x, y, model=dd.LSDD(random_state=0), random_state=6).seed == 0


@pytest.mark.parametrize("model", ["lsdd", dd.LSDD, 3, object()])
def test_a_model_that_is_no_estimator_is_an_input_error(draw, model):
    with pytest.raises(dd.InputError, match="model"):
        dd.l2_distance(*draw(11), model=model)


@pytest.mark.parametrize("n", [30, 100, 700])
def test_rows_5_and_10_equal_constants_are_exactly_no_distance_apart(n):
    """Sums of 100 ones that should cancel left 5e-21."""
    found = dd.l2_distance(np.ones(n), np.ones(n), random_state=0)
    assert (found.squared, found.normalized, found.log_squared) == (0.0, 0.0, None)
    assert found.interval[0] == found.normalized_interval[0] == 0.0
