"""False alarms of change detection in small, with fixed seeds; the wrong way is in tests/test_mutants.py."""

import numpy as np
import pytest
from scipy.stats import binom

import densdiff as dd
from tests.calibration.changes import ALPHA, Cell, draw, false_alarms, right_way, window_of

RUNS = 20
CHANCE = 1e-3


def most(cell, runs):
    """More alarms than this come about once in a thousand tables if the promise of docs/calibration is kept."""
    return int(binom.isf(CHANCE, runs, min(cell.most(window_of(cell)), 2.0) * ALPHA))


@pytest.mark.parametrize(
    "cell",
    [
        Cell(200, 0.3),
        Cell(500, 0.7),
        Cell(1000, 0.9, 50),
        Cell(500, df=3),
        Cell(500, period=20),
        Cell(200, trend=3.0),
        Cell(500, 0.3, trend=1.0),
        *(
            pytest.param(cell, marks=pytest.mark.slow)  # `make calibrate` has them all, with more runs
            for cell in (
                Cell(200),
                Cell(500),
                Cell(500, 0.3, 25),
                Cell(2000, 0.9, 100),
                Cell(500, 0.7, df=3),
                Cell(500, 0.3, d=3),
                Cell(1000, period=50),
            )
        ),
    ],
    ids=str,
)
@pytest.mark.hostile(36)
def test_false_alarms_are_as_rare_as_promised(cell):
    assert cell.most(window_of(cell)) <= 2
    assert false_alarms(cell, RUNS) <= most(cell, RUNS)


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "shift"), [(Cell(200), 1.5), (Cell(500, 0.3), 1.0), (Cell(1000, 0.7), 2.0)], ids=str)
def test_silence_is_not_the_price(cell, shift):
    """Never to report anything would keep every promise."""
    found = [right_way(cell, run, shift) for run in range(15)]
    assert sum(p <= ALPHA and abs(place - cell.length // 2) <= window_of(cell) for p, place, _ in found) >= 12


def test_a_report_is_a_p_value_of_at_most_alpha():
    cell = Cell(200)
    for run in range(6):
        rows = draw(cell, run, 0.8)
        reported = dd.detect_changes(rows, random_state=run).changes.size > 0
        assert reported == (right_way(cell, run, 0.8).pvalue <= ALPHA)


def test_series_have_the_dependence_they_are_said_to_have():
    long = draw(Cell(20_000, 0.7, df=5, d=2), 0)
    np.testing.assert_allclose(long.var(axis=0), 1.0, rtol=0.1)
    for j in range(2):
        assert np.corrcoef(long[1:, j], long[:-1, j])[0, 1] == pytest.approx(0.7, abs=0.03)
    season = draw(Cell(20_000, period=50), 0)[:, 0]
    assert season.var() == pytest.approx(2.0, rel=0.05)
    assert np.corrcoef(season[50:], season[:-50])[0, 1] == pytest.approx(0.5, abs=0.03)
    assert draw(Cell(1000), 0, 3.0)[500:].mean() == pytest.approx(3.0, abs=0.2)
    climbed = draw(Cell(4000, trend=2.0), 0)
    assert climbed[2000:].mean() - climbed[:2000].mean() == pytest.approx(1.0, abs=0.15)
