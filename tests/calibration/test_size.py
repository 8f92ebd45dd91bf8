"""Size of the two-sample test in small, with fixed seeds; the known wrong ways must be seen to break it."""

from dataclasses import replace
from functools import cache

import pytest
from scipy.stats import binom

import densdiff as dd
from tests.calibration.size import ALPHA, DATA, Cell, draw, pvalues, rejections

CHANCE = 1e-3


def tuned_on_labels(cell, run):
    """Wrong: sigma and lam by cross-validation of the labelled data, then kept while the labels are permuted."""
    x, y = draw(cell, run)
    fitted = dd.LSDD(solver=cell.solver, n_centers=50, random_state=run).fit(x, y)
    model = dd.LSDD(fitted.sigma_, fitted.lam_, solver=fitted.solver_, n_centers=50, random_state=run)
    return dd.two_sample_test(x, y, model=model, n_permutations=cell.permutations).pvalue


def both_counts(cell, run):
    """The library's p-value, and wrong: the plain share k / B, which does not count the data among the relabellings."""
    found = dd.two_sample_test(*draw(cell, run), n_permutations=cell.permutations, random_state=run)
    return found.pvalue, float((found.null_distribution >= found.statistic * (1 - 1e-9)).mean())


@cache
def in_three_hundred_runs():
    """P-values of three normal columns, which two tests below read."""
    return pvalues(Cell(d=3), 300)


def most(runs, alpha=ALPHA):
    """More rejections than this come about once in a thousand tables if the size is alpha."""
    return int(binom.isf(CHANCE, runs, alpha))


def small():
    """Cells and runs that one core does in a minute: the more a run costs, the fewer of them."""
    runs = {("aggregate", "permutation"): 200, ("pooled", "permutation"): 100, ("refit", "permutation"): 30}
    runs |= {("aggregate", "asymptotic"): 60}
    found = [(replace(cell, tuning=t, null=n), count) for (t, n), count in runs.items() for cell in DATA]
    # the exact tail of the limit costs a tenth of a second and more for each run
    limit = Cell(tuning="pooled", null="asymptotic", solver="centers")
    return [*found, (limit, 30), (replace(limit, d=3, n=30, m=40), 30)]


@pytest.mark.parametrize(("cell", "runs"), small(), ids=str)
def test_size_is_at_most_nominal(cell, runs):
    found = in_three_hundred_runs()[:runs] if cell == Cell(d=3) else pvalues(cell, runs)
    assert (found <= ALPHA).sum() <= most(runs)


@pytest.mark.parametrize("solver", ["centers", "pairs"])
def test_other_solvers_keep_the_size_too(solver):
    assert rejections(Cell(solver=solver, d=2), 100) <= most(100)


def test_the_test_is_not_merely_timid():
    """A size far below nominal would pass every bound above: an exact test rejects in 5 % of runs."""
    assert (in_three_hundred_runs() <= ALPHA).sum() >= binom.ppf(CHANCE, 300, ALPHA)


def test_tuning_on_the_labels_is_caught():
    """Measured 14 % at nominal 5 with centers, and 9 % with the other solvers, which takes 700 runs to see."""
    cell, runs = Cell(solver="centers"), 250
    assert rejections(cell, runs, tuned_on_labels) > most(runs)
    for tuning in ("aggregate", "pooled"):
        assert rejections(replace(cell, tuning=tuning), runs) <= most(runs)


@pytest.mark.filterwarnings("ignore:no p-value below 0.1 can come:densdiff.DensDiffWarning")
def test_a_pvalue_that_forgets_the_data_is_caught():
    """With B = 9 the share k / B is 0 in one run of ten; a p-value of 0.01 or less may come in one of a hundred.

    Of 150 runs 15 are expected, and more than the 6 that are allowed come about in 99 of 100 tables.
    """
    cell, runs = Cell(permutations=9), 150
    right, wrong = pvalues(cell, runs, both_counts).T
    assert (wrong == 0).any()
    assert (wrong <= 0.01).sum() > most(runs, 0.01)
    assert right.min() == 1 / 10
    assert (right <= 0.1).sum() <= most(runs, 0.1)
