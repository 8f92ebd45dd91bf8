"""Size of the two-sample test in small, with fixed seeds; the known wrong ways must be seen to break it.

`rejections` and `cells` serve a full run as well: any cell, any number of runs, from any first one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.stats import binom

import densdiff as dd

ALPHA = 0.05
PERMUTATIONS = 99  # alpha (B + 1) is whole, so the size is alpha and not below it
CHANCE = 1e-3


@dataclass(frozen=True)
class Cell:
    """One setting: two samples of one population, and how they are tested."""

    population: str = "normal"
    d: int = 1
    n: int = 50
    m: int = 50
    tuning: str = "aggregate"
    null: str = "permutation"
    solver: str = "auto"
    permutations: int = PERMUTATIONS

    def __str__(self) -> str:
        data = f"{self.population}, d = {self.d}, {self.n} and {self.m} rows"
        return f"{data}: {self.tuning}, {self.null}, {self.solver}"


def draw(cell, run):
    """X and Y, both from the cell's population."""
    random = np.random.default_rng([run, cell.n, cell.m, cell.d])
    shape = (cell.n + cell.m, cell.d)
    rows = random.standard_t(3, size=shape) if cell.population == "t3" else random.normal(size=shape)
    if cell.population == "tied":
        rows = np.round(2 * rows) / 2  # about eleven distinct values in a column
    return rows[: cell.n], rows[cell.n :]


def right_way(cell, run):
    """The library's test."""
    return dd.two_sample_test(
        *draw(cell, run),
        model=dd.LSDD(solver=cell.solver, n_centers=50),
        tuning=cell.tuning,
        null=cell.null,
        n_permutations=cell.permutations,
        random_state=run,
    ).pvalue


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


def pvalues(cell, runs, way: Callable = right_way, first=0):
    """What the way finds in so many runs under the null, (runs,) p-values."""
    return np.array([way(cell, run) for run in range(first, first + runs)])


def rejections(cell, runs, way: Callable = right_way, first=0, alpha=ALPHA):
    """In how many runs the test rejects at level alpha."""
    return int((pvalues(cell, runs, way, first) <= alpha).sum())


def most(runs, alpha=ALPHA):
    """More rejections than this come about once in a thousand tables if the size is alpha."""
    return int(binom.isf(CHANCE, runs, alpha))


DATA = (Cell(), Cell(d=3), Cell("t3"), Cell("tied"), Cell(n=30, m=80))
MIXED = (Cell("tied", d=3, n=30, m=60), Cell("t3", d=3, n=70, m=30), Cell(d=20))


def cells():
    """Every setting of the full table."""
    kinds = [(t, n) for t in ("aggregate", "pooled") for n in ("permutation", "asymptotic")] + [
        ("refit", "permutation")
    ]
    return [replace(cell, tuning=tuning, null=null) for tuning, null in kinds for cell in DATA + MIXED]


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
    assert rejections(cell, runs) <= most(runs)


@pytest.mark.parametrize("solver", ["centers", "pairs"])
def test_other_solvers_keep_the_size_too(solver):
    assert rejections(Cell(solver=solver, d=2), 100) <= most(100)


def test_the_test_is_not_merely_timid():
    """A size far below nominal would pass every bound above: an exact test rejects in 5 % of runs."""
    assert rejections(Cell(d=3), 300) >= binom.ppf(CHANCE, 300, ALPHA)


def test_tuning_on_the_labels_is_caught():
    """Measured 14 % at nominal 5 with centers, and 9 % with the other solvers, which takes 700 runs to see."""
    cell, runs = Cell(solver="centers"), 250
    assert rejections(cell, runs, tuned_on_labels) > most(runs)
    for tuning in ("aggregate", "pooled"):
        assert rejections(replace(cell, tuning=tuning), runs) <= most(runs)


def test_a_pvalue_that_forgets_the_data_is_caught():
    """With B = 19 the share k / B is 0 in one run of twenty; a p-value of 0.01 or less may come in one of a hundred."""
    cell, runs = Cell(permutations=19), 400
    right, wrong = pvalues(cell, runs, both_counts).T
    assert (wrong == 0).any()
    assert (wrong <= 0.01).sum() > most(runs, 0.01)
    assert right.min() == 1 / 20
    assert (right <= ALPHA).sum() <= most(runs)
