"""Nights without and with a change in small, with fixed seeds."""

import numpy as np
from scipy.stats import binom

from tests.calibration.batches import ALPHA, Year, _quiet_line, cell_outcome, outcome

RUNS = 2


def test_nights_without_change_stay_quiet():
    found = [outcome(Year(3, 80, 2, 39), run) for run in range(RUNS)]
    assert sum(entry[0] for entry in found) <= binom.isf(1e-3, RUNS, ALPHA)


def test_a_change_is_found_dated_and_named():
    _, delay, off, is_named = outcome(Year(5, 300, 2, 39, change=4), 0)
    assert (delay, off, is_named) == (1, 0, True)


def test_cells_alone_find_a_change_and_name_its_column():
    false, delay, _, is_named = cell_outcome(Year(8, 2000, 4, 0, change=5), 0)
    assert (false, delay, is_named) == (0.0, 1, True)


def test_a_breach_is_marked_and_told():
    for alarms, many in ((0.0, 0), (1.0, 1)):
        row, breaches = _quiet_line(Year(3, 80, 2, 39), np.full((20, 4), alarms))
        assert (row.count("!"), len(breaches)) == (many, many)
