"""Changes of every kind are found, in small; `make calibrate` has more runs."""

import numpy as np
import pytest
from scipy.stats import binom

from tests.calibration.change_power import CELLS, KINDS, draw, look

RUNS = 8
CHANCE = 1e-3


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(cell, marks=[pytest.mark.slow] * (cell.kind not in ("period 24 to 18", "daily counts with week")))
        for cell in CELLS
        if np.isfinite(cell.least)
    ],
    ids=str,
)
def test_changes_are_found_as_often_as_asked_for(cell):
    """Fewer come about once in a thousand tables if the share is as asked for."""
    assert sum(look(cell, run)[0] for run in range(RUNS)) >= binom.ppf(CHANCE, RUNS, cell.least / 100)


def test_series_change_at_their_middle_as_they_are_said_to():
    longest = {cell.kind: cell for cell in sorted(CELLS, key=lambda cell: cell.length)}
    assert set(longest) == set(KINDS)
    before, after = (half.astype(float) for half in np.split(draw(longest["hourly counts with day, + 50 %"], 0), 2))
    assert after.mean() / before.mean() == pytest.approx(1.5, rel=0.05)
    noise = draw(longest["AR(1) 0 to 0.6 of one variance"], 0)
    for half, correlation in zip(np.split(noise, 2), (0.0, 0.6), strict=True):
        assert half.var() == pytest.approx(1.0, abs=0.25)
        assert np.corrcoef(half[1:], half[:-1])[0, 1] == pytest.approx(correlation, abs=0.12)
    wave = np.abs(np.fft.rfft(draw(longest["period 24 to 12"], 0)[500:980]))
    assert np.argmax(wave[1:]) + 1 == 480 / 12
