"""Numbers x levels (E16) against golden values: 50-digit results of a plain script sharing no code with the library.

`make_mixed.py` made `mixed.json`; run it again after changing its cases.
"""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from densdiff.core import agreement, mixed_kernel, radial
from densdiff.engines.pair_distances import kernel_block, radial_sums
from tests.golden.scripts import load_script

FloatArray = npt.NDArray[np.float64]

GOLDEN = Path(__file__).parent
CONTENT: dict[str, Any] = json.loads((GOLDEN / "mixed.json").read_text(encoding="utf-8"))
RTOL = 1e-11
PAIRS = [
    pytest.param(case, model, id=f"{case['name']}-sigma{model['sigma']}-lam{model['lam']}")
    for case in CONTENT["cases"]
    for model in case["models"]
]
every_model = pytest.mark.parametrize(("case", "model"), PAIRS)


def library_kernels(case: dict[str, Any], model: dict[str, Any]) -> mixed_kernel.MixedRadial:
    """Return the kernels of F and F^2 of one golden model."""
    levels, steps, ratio = np.array(case["levels"]), np.array(case["steps"]), CONTENT["ratio"]
    last = agreement.last_step(model["lam"], ratio)
    polynomials = agreement.agreement_polynomials(levels, [steps], ratio, last)
    lams, (rows,) = agreement.stepped_lams(np.array([model["lam"]]), polynomials)
    d = len(case["X"][0]) - len(levels)
    return mixed_kernel.mixed_plain_and_squared(radial.radial_table(d, lams), rows[0], polynomials[0])


def density_scale(case: dict[str, Any], model: dict[str, Any]) -> float:
    """Return what turns values of the tables into densities."""
    return float(np.exp(-radial.log_scale(model["sigma"], len(case["X"][0]) - len(case["levels"]))))


def signed_weights(n: int, m: int) -> FloatArray:
    """Return 1/n for the rows of X and -1/m for those of Y."""
    return np.concatenate([np.full(n, 1 / n), np.full(m, -1 / m)])


def kernel_blocks(case: dict[str, Any], model: dict[str, Any]) -> list[FloatArray]:
    """Return both kernels between all rows, X before Y, in units of density."""
    rows = np.array(case["X"] + case["Y"])
    blocks = kernel_block(rows, rows, library_kernels(case, model), model["sigma"], direct=True)
    return [block * density_scale(case, model) for block in blocks]


@every_model
def test_difference_equals_golden_values(case: dict[str, Any], model: dict[str, Any]) -> None:
    rows, points = np.array(case["X"] + case["Y"]), np.array(case["points"])
    weights = signed_weights(len(case["X"]), len(case["Y"]))[:, None]
    kernels = library_kernels(case, model)
    found = radial_sums(points, rows, weights, kernels, model["sigma"], direct=True)[0][:, 0]
    peak = kernels.of_equal_rows[0] * density_scale(case, model)
    golden = np.array(model["f"], dtype=object).astype(float)
    np.testing.assert_allclose(found * density_scale(case, model), golden, rtol=0, atol=RTOL * peak)


@every_model
def test_every_estimate_equals_its_golden_value(case: dict[str, Any], model: dict[str, Any]) -> None:
    n = len(case["X"])
    weights = signed_weights(n, len(case["Y"]))
    plain, squared = kernel_blocks(case, model)
    statistic = 2 * plain - squared
    within = [block[~np.eye(len(block), dtype=bool)].mean() for block in (statistic[:n, :n], statistic[n:, n:])]
    found = {
        "h_theta": weights @ plain @ weights,
        "theta_H_theta": weights @ squared @ weights,
        "regularization_corrected": weights @ statistic @ weights,
        "debiased": sum(within) - 2 * statistic[:n, n:].mean(),
    }
    assert set(found) == set(model["estimates"])
    size = float(model["estimates"]["regularization_corrected"])
    for name, golden in model["estimates"].items():
        np.testing.assert_allclose(found[name], float(golden), rtol=0, atol=RTOL * size, err_msg=name)


@every_model
def test_hold_out_scores_equal_golden_values(case: dict[str, Any], model: dict[str, Any]) -> None:
    folds = np.concatenate([np.arange(len(case[key])) % 3 for key in "XY"])
    in_x = np.arange(len(folds)) < len(case["X"])
    plain, squared = kernel_blocks(case, model)
    for fold, golden in enumerate(model["fold_scores"]):
        train, held = (
            (chosen & in_x) / (chosen & in_x).sum() - (chosen & ~in_x) / (chosen & ~in_x).sum()
            for chosen in (folds != fold, folds == fold)
        )
        score = train @ squared @ train - 2 * train @ plain @ held
        np.testing.assert_allclose(score, float(golden), rtol=0, atol=RTOL * plain[0, 0])


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Return make_mixed.py as a module, wherever the tests are started from."""
    return load_script("make_mixed")


def test_golden_file_holds_the_inputs_of_the_script(script: ModuleType) -> None:
    assert CONTENT["ratio"] == script.RATIO
    for inputs, case in zip(script.all_inputs(), CONTENT["cases"], strict=True):
        grid = inputs.pop("grid")
        assert inputs == {key: value for key, value in case.items() if key != "models"}
        assert grid == [(model["sigma"], model["lam"]) for model in case["models"]]


def test_golden_file_is_what_the_script_writes(script: ModuleType) -> None:
    assert script.solve_case(script.all_inputs()[0]) == CONTENT["cases"][0]
