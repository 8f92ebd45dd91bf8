"""Nights without and with a change in small, with fixed seeds."""

from scipy.stats import binom

from tests.calibration.batches import ALPHA, Year, outcome

RUNS = 2


def test_nights_without_change_stay_quiet():
    found = [outcome(Year(3, 80, 2, 39), run) for run in range(RUNS)]
    assert sum(entry[0] for entry in found) <= binom.isf(1e-3, RUNS, ALPHA)


def test_a_change_is_found_dated_and_named():
    _, delay, off, is_named = outcome(Year(5, 300, 2, 39, change=4), 0)
    assert (delay, off, is_named) == (1, 0, True)
