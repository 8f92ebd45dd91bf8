"""The joint test against a profile in small, with fixed seeds; a large difference must be seen."""

from functools import partial

import numpy as np
from scipy.stats import binom

from tests.calibration.profiles import CELLS, LEVEL, Cell, _line, rejects

RUNS = 6


def test_equal_tables_are_quiet_and_others_are_not():
    null = next(cell for cell in CELLS if cell.name == "ties")
    assert sum(rejects(null, run)[0] for run in range(RUNS)) <= binom.isf(1e-3, RUNS, LEVEL)
    moved = Cell("moved", partial(_moved, null))
    assert all(rejects(moved, run)[0] for run in range(2))


def test_a_breach_is_marked_and_told():
    null = next(cell for cell in CELLS if cell.is_null)
    for rejected, many in ((False, 0), (True, 1)):
        row, breaches = _line(null, np.array([[rejected, rejected, False, 2, 50, 50]] * 40, dtype=float))
        assert (row.count("!") > 0, len(breaches)) == (rejected, many)


def _moved(cell, run):
    a, b = cell.draw(run)
    return a, b | {"zeros": np.asarray(b["zeros"]) + 2.0}
