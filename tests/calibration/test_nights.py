"""Nights without a change in small, with fixed seeds; a night with one must be seen."""

import numpy as np
import pytest
from scipy.stats import binom

from tests.calibration.compare import ALPHA, compared
from tests.calibration.nights import Night, _line, alarms, report

RUNS = 6
SMALL = (Night("mixed", 60, 60, "level"), Night("ties", 50, 50))


@pytest.mark.parametrize("night", SMALL, ids=str)
def test_a_night_without_change_is_quiet(night):
    found = np.array([alarms(night, run) for run in range(RUNS)])
    assert found[:, 0].sum() <= binom.isf(1e-3, RUNS, ALPHA)
    assert (found[:, 0] >= found[:, 1:].max(axis=1)).all()  # every part that alarms is an alarm


def test_a_night_with_a_change_is_not():
    a, b = Night("wide", 100, 100).draw(0)
    b["c4"] = b["c4"] + 1.5
    assert compared(a, b, 0).reasons


def test_a_breach_is_marked_and_told():
    for alarmed, many in ((False, 0), (True, 1)):
        row, breaches = _line(SMALL[0], np.full((40, 4), alarmed))
        assert (row.count("!"), len(breaches)) == (many, many)


@pytest.mark.slow
def test_two_hundred_nights_keep_the_level():
    _, breaches = report(200 / 1200)
    assert breaches == []
