"""The library against golden values: 50-digit results of a plain script that shares no code with it.

`make_golden.py` made `golden.json`; run it again after changing its cases.
"""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import densdiff as dd
from densdiff.core import kernel, ridge, selection
from densdiff.engines import kernel_sums
from densdiff.solvers.base import DIFFERENCE
from densdiff.solvers.pairs import PairsSolver
from densdiff.solvers.prepared import WeightedSample
from densdiff.solvers.spectral import SpectralSolver
from tests.golden.scripts import load_script

# One golden case has more columns than rows on purpose, to show the powers of s in high dimension.
pytestmark = pytest.mark.filterwarnings("ignore:.*rows and columns swapped:densdiff.DensDiffWarning")

FloatArray = npt.NDArray[np.float64]

GOLDEN = Path(__file__).parent
CONTENT: dict[str, Any] = json.loads((GOLDEN / "golden.json").read_text(encoding="utf-8"))
RTOL = 1e-10
# E8 inverts H itself: a condition of 1e4 costs 4 of the 16 digits and leaves two to spare.
LARGEST_CONDITION = 1e4

Pair = tuple[dict[str, Any], dict[str, Any]]
PAIRS: list[Pair] = [(case, model) for case in CONTENT["cases"] for model in case["models"]]


def each(pairs: list[Pair]) -> pytest.MarkDecorator:
    """Return the mark that runs a test on every (case, model)."""
    names = [f"{case['name']}-sigma{model['sigma']}-lam{model['lam']}" for case, model in pairs]
    return pytest.mark.parametrize(("case", "model"), pairs, ids=names)


every_model = each(PAIRS)
every_unscaled_model = each([pair for pair in PAIRS if not pair[0]["standardize"]])
every_folded_model = each([pair for pair in PAIRS if "fold_scores" in pair[1]])


def fitted(case: dict[str, Any], model: dict[str, Any]) -> dd.LSDD:
    """Return the library's fit of one golden model."""
    estimator = dd.LSDD(
        sigma=model["sigma"],
        lam=model["lam"],
        solver="centers",
        centers=np.array(case["centers"]),
        standardize=case["standardize"],
    )
    weights = {key: None if case[key] is None else np.array(case[key]) for key in ("weights_x", "weights_y")}
    return estimator.fit(np.array(case["X"]), np.array(case["Y"]), **weights)


def numbers(strings: Any) -> FloatArray:
    """Return golden strings, nested or not, as float64."""
    return np.array(strings, dtype=object).astype(np.float64)


def assert_close(actual: Any, expected: Any) -> None:
    """Compare relative to the largest entry: single entries of a vector may be small by cancellation."""
    golden = numbers(expected)
    assert np.shape(actual) == golden.shape
    np.testing.assert_allclose(actual, golden, rtol=RTOL, atol=RTOL * np.abs(golden).max())


@every_model
def test_theta_and_difference_equal_golden_values(case: dict[str, Any], model: dict[str, Any]) -> None:
    estimator = fitted(case, model)
    assert_close(estimator.theta_, model["theta"])
    assert_close(estimator.predict(np.array(case["points"])), model["f"])


@every_model
def test_given_centers_are_kept_in_the_users_units(case: dict[str, Any], model: dict[str, Any]) -> None:
    np.testing.assert_allclose(fitted(case, model).centers_, np.array(case["centers"]), rtol=1e-14)


@every_model
def test_every_distance_estimate_equals_its_golden_value(case: dict[str, Any], model: dict[str, Any]) -> None:
    estimates = fitted(case, model).l2_distance().estimates
    assert set(estimates) == set(model["estimates"])
    invertible = float(model["condition"]) < LARGEST_CONDITION
    # E7 and E8 are differences from E6, so their rounding error is relative to E6.
    size = abs(float(model["estimates"]["regularization_corrected"]))
    for name, golden in model["estimates"].items():
        if invertible or name not in ("bias_corrected", "positive_part"):
            np.testing.assert_allclose(estimates[name], float(golden), rtol=RTOL, atol=RTOL * size, err_msg=name)


@every_unscaled_model
def test_theta_solves_the_golden_normal_equations(case: dict[str, Any], model: dict[str, Any]) -> None:
    theta = fitted(case, model).theta_
    s = s_of(model["sigma"], len(case["X"][0]))
    assert_close(s * (numbers(model["G"]) @ theta + model["lam"] * theta), model["h"])  # E3


def s_of(sigma: float, d: int) -> float:
    """Return s of E2, by which the library's core leaves its values multiplied."""
    return float((np.pi * sigma**2) ** (d / 2))


def library_fold_scores(
    X: FloatArray,
    Y: FloatArray,
    C: FloatArray,
    sigma: float,
    lam: float,
    fold_x: npt.NDArray[np.intp],
    fold_y: npt.NDArray[np.intp],
) -> FloatArray:
    """Return the library's hold-out score of every fold, (folds,)."""
    sigmas, direct = np.array([sigma]), True
    members = np.eye(int(fold_x.max()) + 1)  # each group is a fold
    means = []
    for rows, labels in ((X, fold_x), (Y, fold_y)):
        weights = np.full(len(rows), 1 / len(rows))
        sums = kernel_sums.group_sums(rows, weights, labels, kernel_sums.CenterFeatures(C, sigmas, direct))[0]
        means.append(selection.split_means(sums, np.bincount(labels, weights=weights), members))
    train, holdout = (of_x - of_y for of_x, of_y in zip(*means, strict=True))
    factor = ridge.Ridge.of(next(kernel.gram(C, sigmas, direct)))
    return ridge.holdout_scores(factor, np.array([lam]), train, holdout)[0] / s_of(sigma, C.shape[1])


@every_folded_model
def test_hold_out_scores_of_unequal_folds_equal_golden_values(case: dict[str, Any], model: dict[str, Any]) -> None:
    scores = library_fold_scores(
        np.array(case["X"]),
        np.array(case["Y"]),
        np.array(case["centers"]),
        model["sigma"],
        model["lam"],
        np.array(case["fold_x"]),
        np.array(case["fold_y"]),
    )
    assert_close(scores, model["fold_scores"])


EXACT_SOLVERS = {"pairs": RTOL, "spectral": 1e-6}
FILTER_PAIRS: list[Pair] = [(case, model) for case in CONTENT["filter_cases"] for model in case["models"]]
FILTER_RUNS = [
    pytest.param(solver, case, model, id=f"{solver}-{case['name']}-sigma{model['sigma']}-lam{model['lam']}")
    for case, model in FILTER_PAIRS
    for solver in EXACT_SOLVERS
    if solver == "pairs" or len(case["X"][0]) == 1  # E11 to E13 are golden in one column
]
every_exact_solver = pytest.mark.parametrize(("solver", "case", "model"), FILTER_RUNS)


def fitted_filter(solver: str, case: dict[str, Any], model: dict[str, Any]) -> dd.LSDD:
    """Return the library's fit of one golden model of E11 to E15."""
    estimator = dd.LSDD(model["sigma"], model["lam"], solver=solver, standardize=case["standardize"], folds=2)
    weights = {key: None if case[key] is None else np.array(case[key]) for key in ("weights_x", "weights_y")}
    return estimator.fit(np.array(case["X"]), np.array(case["Y"]), **weights)


@every_exact_solver
def test_exact_solvers_predict_the_golden_difference(solver: str, case: dict[str, Any], model: dict[str, Any]) -> None:
    golden = numbers(model["f"])
    found = fitted_filter(solver, case, model).predict(np.array(case["points"]))
    np.testing.assert_allclose(found, golden, rtol=0, atol=EXACT_SOLVERS[solver] * np.abs(golden).max())


@every_exact_solver
def test_exact_solvers_give_every_golden_estimate(solver: str, case: dict[str, Any], model: dict[str, Any]) -> None:
    estimates = fitted_filter(solver, case, model).l2_distance().estimates
    size = float(model["estimates"]["regularization_corrected"])
    for name, golden in model["estimates"].items():
        np.testing.assert_allclose(
            estimates[name], float(golden), rtol=0, atol=EXACT_SOLVERS[solver] * size, err_msg=name
        )


@pytest.mark.parametrize(
    ("case", "model"), [pair for pair in FILTER_PAIRS if "fold_scores" in pair[1]], ids=lambda value: value.get("name")
)
def test_spectral_scores_of_unequal_folds_equal_golden_values(case: dict[str, Any], model: dict[str, Any]) -> None:
    x, y = (WeightedSample.of(np.array(case[key]), np.full(len(case[key]), 1 / len(case[key]))) for key in "XY")
    fold_x, fold_y = np.array(case["fold_x"]), np.array(case["fold_y"])
    patterns = (selection.GroupPattern(fold, len(fold)) for fold in (fold_x, fold_y))
    folds = selection.Folds(*patterns, np.eye(int(fold_x.max()) + 1))
    sigmas, lams = np.array([model["sigma"]]), np.array([model["lam"]])
    golden = numbers(model["fold_scores"])
    solvers: Any = ((SpectralSolver, 1e-6), (PairsSolver, 1e-3))  # pairs bin the distances of few rows
    for solver, tolerance in solvers:
        made = solver(x, y, folds, sigmas, lams)
        found = made.scores(DIFFERENCE)[0, 0] * np.exp(-made.log_scales[0])
        np.testing.assert_allclose(found, golden, rtol=0, atol=tolerance * np.abs(golden).max())


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Return make_golden.py as a module, wherever the tests are started from."""
    pytest.importorskip("mpmath")
    return load_script("make_golden")


def test_golden_file_holds_the_inputs_of_the_script(script: ModuleType) -> None:
    for inputs, case in zip(script.all_inputs(), CONTENT["cases"], strict=True):
        grid = inputs.pop("grid")
        assert inputs == {key: value for key, value in case.items() if key != "models"}
        assert grid == [(model["sigma"], model["lam"]) for model in case["models"]]
    for inputs, case in zip(script.filter_inputs(), CONTENT["filter_cases"], strict=True):
        grid = inputs.pop("grid")
        assert inputs == {key: value for key, value in case.items() if key != "models"}
        assert grid == [(model["sigma"], model["lam"]) for model in case["models"]]


def test_golden_file_is_what_the_script_writes(script: ModuleType) -> None:
    assert script.solve_case(script.all_inputs()[0]) == CONTENT["cases"][0]
    inputs = script.filter_inputs()[2]
    assert script.solve_filter_case(inputs) == CONTENT["filter_cases"][2]


@pytest.mark.parametrize("golden", CONTENT["gaussian_shift"], ids=lambda golden: f"mu{golden['mu']}")
def test_closed_form_of_the_shifted_gaussians_equals_quadrature(script: ModuleType, golden: dict[str, Any]) -> None:
    assert script.gaussian_shift(golden["mu"]) == golden
    normalized = -np.expm1(-np.pi * golden["mu"] ** 2)
    np.testing.assert_allclose(float(golden["normalized"]), normalized, rtol=1e-14)
    np.testing.assert_allclose(float(golden["squared"]), 2 * normalized, rtol=1e-14)
