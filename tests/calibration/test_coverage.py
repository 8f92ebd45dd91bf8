"""The promises of docs/calibration.md in small, with fixed seeds; a known wrong way must be seen to break them."""

from functools import cache

import numpy as np
import pytest

from tests.calibration import coverage

RUNS = 60  # of which 50 or fewer cover once in a thousand such tables if the share is 0.95
FLOOR = 51 / RUNS
SLIGHT = coverage.gaussians(0.2, 1)


@cache
def simulated(cell):
    """What all runs find, once for every test that asks."""
    return coverage.simulate(cell, RUNS)


@pytest.mark.parametrize(
    "cell",
    [
        coverage.gaussians(0.0, 1),
        SLIGHT,
        coverage.mixtures("skewed", 1, n=120, m=300),
        coverage.gaussians(0.4, 1, weighted=True),
    ],
    ids=lambda cell: cell.name + (", weighted" if cell.weighted else ""),
)
def test_intervals_and_bands_cover_the_truth(cell):
    found = simulated(cell)
    assert found.squared >= FLOOR
    assert found.normalized >= FLOOR
    assert found.simultaneous >= FLOOR
    assert FLOOR <= found.pointwise <= 0.99


@pytest.mark.parametrize(
    "cell",
    [
        coverage.gaussians(0.2, 5, solver="pairs"),
        coverage.gaussians(0.2, 1, solver="centers", n=80, m=60),
        # 300 centers of 400 rows cost half a second for each run; make calibrate has them in full
        pytest.param(coverage.gaussians(0.2, 1, solver="centers"), marks=pytest.mark.slow),
    ],
    ids=lambda cell: f"{cell.solver}, {cell.n} and {cell.m} rows",
)
def test_the_other_solvers_cover_too(cell):
    found = coverage.simulate(cell, 30)
    assert min(found.squared, found.normalized, found.simultaneous) >= 24 / 30  # as rare as above
    assert found.pointwise >= FLOOR


def test_a_band_that_is_only_pointwise_is_caught():
    """Where the distance is covered above: in half of the runs the pointwise band leaves the curve somewhere."""
    found = simulated(SLIGHT)
    assert found.pointwise_all < FLOOR - 0.1 < FLOOR <= found.simultaneous


def test_the_simulated_weights_are_uneven_enough_to_matter():
    _, weights = coverage.draw(coverage.gaussians(0.2, 1, weighted=True), 0)
    assert np.square(weights.sum()) / np.square(weights).sum() < 0.8 * len(weights)
