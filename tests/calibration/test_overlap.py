"""The table of intervals in many columns in small, with fixed seeds; the joint overlap alone must be seen to fail."""

import numpy as np
import pytest

import densdiff as dd
from densdiff.data.pair import check_pair
from densdiff.solvers import overlap as solver
from densdiff.solvers.drawn_rows import common_widths, rows_of
from densdiff.solvers.prepared import prepare
from tests.calibration import overlap
from tests.calibration.known_overlaps import BUILDERS, PAIRED, mixed_pair, numeric_pair

RUNS = 30  # of which 23 or fewer cover once in a thousand such tables if the share is 0.95
FLOOR = 24 / RUNS
SHIFTED = numeric_pair("shift", 8, 500)


@pytest.mark.parametrize(
    "cell",
    [
        SHIFTED,
        numeric_pair("exponential, shift", 3, 200),
        numeric_pair("shift, 1 % outliers", 3, 200),
        numeric_pair("shift, rounded to 0.1", 1, 500),
        numeric_pair("correlated 0.7, shift", 12, 200),
        numeric_pair("other correlation", 2, 200),
        numeric_pair("spike near 0 in both", 2, 200),
        numeric_pair("equal", 5, 100),
        mixed_pair(8, 2, 4, "number", 200),
        mixed_pair(0, 5, 4, "category", 200),
    ],
    ids=lambda cell: f"{cell.name}, {cell.columns} columns",
)
def test_intervals_cover_the_truth(cell):
    result = overlap.simulate(cell, RUNS)
    assert result.covered >= FLOOR
    assert result.squared_covered >= FLOOR
    assert result.is_open <= 0.1


def test_columns_together_without_the_correction_by_single_columns_are_caught():
    """At the finest blur of eight columns two thirds of a jump's distance are gone."""
    cell = numeric_pair("exponential, shift", 8, 300)
    covered = {"together": [], "corrected": []}
    for run in range(RUNS):
        x, y = cell.draw(np.random.default_rng([run, cell.n, cell.width]), cell.n)
        data = prepare(check_pair(x, y, None, None), standardize=True, folds=5, random_state=run)
        joint = solver._joint_path(common_widths(rows_of(data)))
        together = solver._ends(
            [joint.at(joint.finest).normalized], 2.09, 0.0, 1.0
        )  # Student's t, 19 degrees of freedom
        for name, (low, high) in (("together", together), ("corrected", overlap.one_run(cell, run)[1:3])):
            covered[name].append(low <= cell.normalized <= high)
    assert np.mean(covered["together"]) < FLOOR - 0.1 < FLOOR <= np.mean(covered["corrected"])


@pytest.mark.parametrize("name", BUILDERS)
def test_the_stated_integrals_are_those_of_the_rows(name):
    """Rows are counted in cells whose sides are narrow beside the densities, and whose edges lie at their jumps."""
    cell = numeric_pair(name, 2 if name in PAIRED else 1)
    side, rows = (0.005 if name == "spike near 0 in both" else 0.1), 100_000
    codes = [np.floor(sample / side + 1e-6) for sample in cell.draw(np.random.default_rng(1), rows)]
    _, cells = np.unique(np.concatenate(codes), axis=0, return_inverse=True)
    x, y = (np.bincount(part, minlength=cells.max() + 1) for part in np.split(cells.ravel(), 2))
    pairs = np.array([x @ (x - 1), y @ (y - 1), x @ y]) / (rows * (rows - np.array([1, 1, 0])) * side**cell.width)
    # noise below 0.7 %, and cells take up to side^2 / (24 deviation^2) in each column
    np.testing.assert_allclose(pairs, np.exp(cell.log_integrals), rtol=0.02)


def test_the_public_distance_is_the_one_that_is_simulated():
    x, y = SHIFTED.draw(np.random.default_rng([0, SHIFTED.n, SHIFTED.width]), SHIFTED.n)
    result = dd.l2_distance(x, y, random_state=0)
    value, low, high, squared, squared_low, squared_high, *_ = overlap.one_run(SHIFTED, 0)
    unit = np.exp(SHIFTED.log_total)
    assert (result.normalized, *result.normalized_interval) == (value, low, high)
    found = (result.squared, *result.interval)
    np.testing.assert_allclose(found, np.array([squared, squared_low, squared_high]) * unit, rtol=1e-12)
