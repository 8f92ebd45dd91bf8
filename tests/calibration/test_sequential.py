"""Many looks with real tests, in small and with fixed seeds."""

import numpy as np
from scipy.stats import binom

from tests.calibration.sequential import ALPHA, Cell, combined, delays, dependence, ever, pvalues

RUNS = 60


def table(cell, runs=RUNS):
    return np.array([pvalues(cell, run) for run in range(runs)])


def test_batches_against_all_rows_before_are_independent():
    found = table(Cell(looks=15))
    assert dependence(found) < 1 + 3 * np.sqrt(2 / RUNS)
    assert ever(combined(found, independent=True)) <= binom.isf(1e-3, RUNS, ALPHA) / RUNS


def test_looks_that_share_a_reference_are_not_independent():
    assert dependence(table(Cell("one reference", looks=15))) > 1 + 3 * np.sqrt(2 / RUNS)


def test_a_change_is_found_within_a_few_looks():
    found = combined(table(Cell(looks=45, change=30), 5), independent=True)
    assert np.median(delays(found, 30)) <= 8
