"""Size of the two-sample test in small, with fixed seeds; wrong ways are in tests/test_mutants.py."""

from dataclasses import replace
from functools import cache

import pytest
from scipy.stats import binom

from tests.calibration.size import ALPHA, DATA, Cell, pvalues, rejections

CHANCE = 1e-3


@cache
def in_three_hundred_runs():
    """P-values of three normal columns, which two tests below read."""
    return pvalues(Cell(d=3), 300)


def most(runs, alpha=ALPHA):
    """More rejections than this come about once in a thousand tables if the size is alpha."""
    return int(binom.isf(CHANCE, runs, alpha))


def small():
    """Cells and runs that one core does in half a minute: the more a run costs, the fewer of them."""
    runs = {("aggregate", "permutation"): 100, ("pooled", "permutation"): 100, ("refit", "permutation"): 30}
    runs |= {("aggregate", "asymptotic"): 60}
    found = [(replace(cell, tuning=t, null=n), count) for (t, n), count in runs.items() for cell in DATA]
    # the exact tail of the limit costs a tenth of a second and more for each run
    limit = Cell(tuning="pooled", null="asymptotic", solver="centers")
    return [*found, (limit, 30), (replace(limit, d=3, n=30, m=40), 30)]


@pytest.mark.parametrize(("cell", "runs"), small(), ids=str)
def test_size_is_at_most_nominal(cell, runs):
    found = in_three_hundred_runs() if cell == Cell(d=3) else pvalues(cell, runs)
    assert (found <= ALPHA).sum() <= most(len(found))


@pytest.mark.parametrize("solver", ["centers", "pairs"])
def test_other_solvers_keep_the_size_too(solver):
    assert rejections(Cell(solver=solver, d=2), 100) <= most(100)


def test_the_test_is_not_merely_timid():
    """A size far below nominal would pass every bound above: an exact test rejects in 5 % of runs."""
    assert (in_three_hundred_runs() <= ALPHA).sum() >= binom.ppf(CHANCE, 300, ALPHA)
