"""Coverage of the class balance in small, with fixed seeds; the wrong way is in tests/test_mutants.py."""

import numpy as np
import pytest
from scipy.stats import binom

from tests.calibration.balance import TARGET, Cell, binary, covered, draw, one_run

RUNS = 50
CHANCE = 1e-3


def most_missed(runs):
    """More misses than this come about once in a thousand tables if intervals cover 92 %, as is asked of them."""
    return int(binom.isf(CHANCE, runs, 1 - TARGET[0]))


def missed(cell, runs=RUNS, **way):
    return round(runs * (1 - covered(cell, runs, **way).min()))


@pytest.mark.parametrize(
    "cell",
    [
        binary(2.0, 0.0, 10),
        binary(2.0, 0.05),
        binary(1.0, 0.5, 10),
        binary(2.0, 0.95, shape="t3"),
        binary(4.0, 1.0),
        Cell(2.0, (0.05, 0.15, 0.8)),
        binary(4.0, 0.0, new=500),  # rows of the other class's side are rare, and 20 labelled rows hold few of them
    ],
    ids=str,
)
def test_intervals_cover_the_true_shares(cell):
    assert missed(cell) <= most_missed(RUNS)


def test_intervals_of_separated_classes_are_not_merely_wide():
    """All of [0, 1] would cover always: with 50 new rows, a share of 0.05 has a binomial spread of 0.03 alone."""
    widths = [one_run(binary(4.0, 0.05), run)[0, 1] for run in range(20)]
    assert np.mean(widths) < 0.25


def test_new_rows_have_the_shares_they_are_said_to_have():
    cell = Cell(50.0, (0.1, 0.3, 0.6), new=2000)
    X, y, new = draw(cell, 0)
    centers = np.array([X[y == c].mean(axis=0) for c in range(3)])
    gaps = [np.linalg.norm(centers[a] - centers[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(gaps, 50, rtol=0.03)
    nearest = np.square(new[:, None] - centers).sum(axis=2).argmin(axis=1)
    np.testing.assert_allclose(np.bincount(nearest) / 2000, cell.priors, atol=0.04)
    heavy = draw(binary(50.0, 0.5, shape="t3", new=4000), 0)[2][:, 1]
    assert np.median(np.abs(heavy)) == pytest.approx(0.7649 / np.sqrt(3), rel=0.1)
