"""How often new rows are told to be no mixture of the classes: where no class has changed, and where one has."""

import warnings
from dataclasses import dataclass

import numpy as np

import densdiff as dd
from tests.calibration import balance
from tests.calibration.parallel import gathered, in_chunks, tabulated

RUNS = 1000
LEVEL = 0.05
WARNED = 0.04  # the p-value below which `ClassBalance` warns


@dataclass(frozen=True)
class Cell:
    """Classes and shares of the new rows; the first class has moved away from the others by so many deviations."""

    classes: balance.Cell
    shift: float

    def __str__(self) -> str:
        return f"{self.classes}, shifted by {self.shift:g}"


def one_run(cell, run):
    """The p-value of one run."""
    X, y, new = balance.draw(cell.classes, run, cell.shift)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        return dd.ClassBalance(random_state=run).fit(X, y).estimate(new).mixture_pvalue


INTRO = """## Is it a mixture of the classes at all?

`mixture_pvalue` where no class has changed, and where the first one has moved away from the others by one standard
deviation; classes as in the table before. A warning is given where it is below 0.04. Asked for with 200 labelled rows a
class, 500 new ones and a changed class of three in ten: a warning in at most 5 % of runs without a change, and in 90 %
of those with one.
"""
HEADER = "| classes | shares | shift | runs | p below 0.05, % | warned, % |"


def cells():
    """Classes near and far, few and many columns and classes, few and many rows."""
    large = {"labelled": 200, "new": 500}
    found = [balance.binary(s, 0.3, d, **large) for s, d in ((2.0, 2), (2.0, 10), (1.0, 20))]
    found += [balance.binary(2.0, 0.3, 5, shape="t3", **large), balance.Cell(2.0, (0.3, 0.35, 0.35), 5, **large)]
    found += [balance.Cell(3.0, (0.3, *np.full(4, 0.175)), 8, **large)]
    small = [balance.binary(2.0, 0.3), balance.binary(1.0, 0.5, 10), balance.binary(2.0, 0.0)]
    return [Cell(each, shift) for each in found for shift in (0.0, 1.0)] + [Cell(each, 0.0) for each in small]


def report(share=1.0):
    """The table as text, and a line for each figure outside its target."""
    chosen, runs = cells(), max(10, round(share * RUNS))
    tables = gathered(_chunk, in_chunks(chosen, [runs] * len(chosen), 10), len(chosen))
    return tabulated(INTRO, HEADER, chosen, map(np.array, tables), _line)


def _chunk(k, cell, runs):
    return k, [one_run(cell, run) for run in runs]


def _line(cell, pvalues):
    of, runs = cell.classes, len(pvalues)
    small, warned = (float(np.mean(pvalues < limit)) for limit in (LEVEL, WARNED))
    error = np.sqrt(max(warned * (1 - warned), 1 / runs) / runs)
    missed = warned + 2 * error < 0.9 if cell.shift else warned - 2 * error > 0.05
    name = f"{of.shape}, {of.separation:g} apart, d = {of.d}, {of.labelled} a class, {of.new} new"
    shares = ", ".join(f"{p:.2g}" for p in of.priors)
    figures = f"{100 * small:.1f} | {100 * warned:.1f} ({100 * error:.1f}){'!' if missed else ''}"
    return f"| {name} | {shares} | {cell.shift:g} | {runs} | {figures} |", [str(cell)] if missed else []
