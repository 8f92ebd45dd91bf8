"""The promises of docs/calibration.md in small, with fixed seeds; two known wrong ways must be seen to break them."""

import numpy as np
import pytest

from densdiff.core.uncertainty import DistanceNoise
from tests.calibration import coverage

RUNS = 100  # a share of 0.95 has a standard error of 0.022: below 0.88 lies one in a thousand such tables
FLOOR = 0.88


@pytest.mark.parametrize(
    "cell",
    [
        coverage.gaussians(0.0, 1),
        coverage.gaussians(0.2, 1),
        coverage.mixtures("skewed", 1, n=120, m=300),
        coverage.gaussians(0.4, 1, weighted=True),
    ],
    ids=lambda cell: cell.name + (", weighted" if cell.weighted else ""),
)
def test_intervals_and_bands_cover_the_truth(cell):
    found = coverage.simulate(cell, RUNS)
    assert found.squared >= FLOOR
    assert found.normalized >= FLOOR
    assert found.simultaneous >= FLOOR
    assert FLOOR <= found.pointwise <= 0.99


@pytest.mark.parametrize(("solver", "d"), [("pairs", 5), ("centers", 1)])
def test_the_other_solvers_cover_too(solver, d):
    found = coverage.simulate(coverage.gaussians(0.2, d, solver=solver), 40)
    assert min(found.squared, found.normalized, found.simultaneous) >= 0.82
    assert found.pointwise >= FLOOR


def test_an_interval_that_forgets_the_degenerate_limit_is_caught(monkeypatch):
    """Near distance 0 the linear part of the variance vanishes; an interval made of it alone shrinks to nothing."""
    cell = coverage.gaussians(0.03, 1)
    right = coverage.simulate(cell, RUNS, band=False)
    whole = DistanceNoise.parts
    monkeypatch.setattr(DistanceNoise, "parts", lambda self, a: (whole(self, a)[0], 0.0))
    wrong = coverage.simulate(cell, RUNS, band=False)
    assert wrong.squared < FLOOR - 0.1 < FLOOR <= right.squared


def test_a_band_that_is_only_pointwise_is_caught():
    found = coverage.simulate(coverage.gaussians(0.4, 1), RUNS)
    assert found.pointwise_all < FLOOR - 0.1 < FLOOR <= found.simultaneous


def test_the_simulated_weights_are_uneven_enough_to_matter():
    _, weights = coverage.draw(coverage.gaussians(0.2, 1, weighted=True), 0)
    assert np.square(weights.sum()) / np.square(weights).sum() < 0.8 * len(weights)
