"""False findings of `compare` in small, with fixed seeds; its known wrong ways must be seen to break the promise."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, norm

import densdiff as dd
from tests.calibration.compare import (
    ALPHA,
    PARTS,
    PERMUTATIONS,
    Cell,
    Known,
    compared,
    draw,
    draw_known,
    intervals_of,
    is_planted,
    regions_of_all_rows,
    right_way,
)

CHANCE = 1e-3
SMALL = (Cell(n=80, m=80), Cell("categories", 60, 90), Cell("ties", 60, 60), Cell(n=60, m=90, missing="level"))
RUNS = 6


def most(runs):
    """More findings than this come about once in a thousand tables if the level is kept."""
    return int(binom.isf(CHANCE, runs, ALPHA))


@cache
def findings(cell, runs=RUNS):
    """Of so many runs, (runs, parts + 1)."""
    return np.array([right_way(cell, run) for run in range(runs)])


@pytest.mark.parametrize("cell", SMALL, ids=str)
def test_equal_tables_show_findings_no_more_often_than_alpha(cell):
    for name, count in zip(PARTS, findings(cell).sum(axis=0), strict=False):
        assert count <= most(RUNS), name


def test_columns_that_are_not_adjusted_are_caught():
    """Twelve columns at 5 % each: measured 40 % and more."""
    together = np.concatenate([findings(cell) for cell in SMALL if cell.kind == "mixed"])
    assert together[:, 5].sum() > most(len(together)) >= together[:, 1].sum()


def test_regions_tested_where_they_were_found_are_caught():
    cell, runs = Cell(n=200, m=200), 16
    assert sum(regions_of_all_rows(cell, run) for run in range(runs)) > most(runs)


def test_other_columns_and_pairs_stay_silent_when_one_column_moved():
    cell = Cell(n=80, m=80, shift=1.5)
    found = np.array([right_way(cell, run) for run in range(4)])
    assert found[:, 0].all()  # the move itself is seen
    assert (found[:, 1:3].sum(axis=0) <= most(4)).all()


def test_without_pictures_and_distance_the_findings_are_those_of_compare():
    cell = Cell(n=60, m=60, shift=1.0)
    a, b = draw(cell, 0)
    quick, whole = compared(a, b, 0, distances=True), dd.compare(a, b, n_permutations=PERMUTATIONS, random_state=0)
    assert quick.test.pvalue == whole.test.pvalue
    without = [replace(column, picture=None) for column in whole.columns]
    assert (quick.columns, list(map(str, quick.pairs))) == (without, list(map(str, whole.pairs)))
    assert (quick.regions, quick.missing) == (whole.regions, whole.missing)


def test_planted_column_and_region_are_found():
    """Never to find anything would keep every promise."""
    tables = dd.datasets.mixed_tables(1500, shift=0.0, share=0.12, random_state=3)
    assert is_planted(compared(tables.a, tables.b, 0).regions[0])
    tables = dd.datasets.mixed_tables(300, random_state=0)
    found = compared(tables.a, tables.b, 0, distances=True)
    assert found.columns[0].name == tables.shifted
    assert found.test.pvalue <= ALPHA


def test_intervals_hold_the_truth():
    cell, runs = Known(150, 0.8, 1.0), 12
    covered = np.array([intervals_of(cell, run, together=run < 4) for run in range(runs)])[:, :, 0]
    missed = (covered == 0).sum(axis=0)
    assert (missed <= int(binom.isf(CHANCE, runs, 0.08))).all()


def test_true_distances_are_those_of_the_densities():
    """By quadrature over the moved number and a sum over the levels; what is common to both drops out."""
    cell = Known(200, 0.7, 0.9)
    shares = cell.shares(4)
    of_all = [quad(lambda x, f=f: f(x), -12, 12)[0] for f in (_difference(cell, shares), _norms(cell, shares))]
    assert cell.truths()[0] == pytest.approx(of_all[0] / of_all[1], rel=1e-8)
    assert Known(200, 0, 0).truths() == pytest.approx([0, 0, 0, 0], abs=1e-15)
    a, b = draw_known(Known(50_000, 0.7, 0.9), 0)
    for table, of in zip((a, b), shares, strict=True):
        assert np.mean(table["of 4"] == "d") == pytest.approx(of[3], abs=0.01)
    assert b["moved"].mean() - a["moved"].mean() == pytest.approx(0.7, abs=0.03)


def _difference(cell, shares):
    return lambda x: np.square(shares[0] * norm.pdf(x) - shares[1] * norm.pdf(x - cell.shift)).sum()


def _norms(cell, shares):
    return lambda x: np.square(shares[0] * norm.pdf(x)).sum() + np.square(shares[1] * norm.pdf(x - cell.shift)).sum()
