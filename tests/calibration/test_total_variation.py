"""The tables of total variation in small, with fixed seeds; ways known to be wrong must be seen to fail."""

import numpy as np
import pytest
from scipy.stats import binom

import densdiff as dd
from densdiff.solvers.witness import judge
from tests.calibration import total_variation as study
from tests.calibration.known_variations import KINDS, Cell, rounded_shift, scale_variation

CHANCE = 1e-3


def most(runs):
    """More lower ends above the truth than this come once in a thousand such tables if the share is 3 %."""
    return int(binom.isf(CHANCE, runs, study.MOST_ABOVE))


def above(cell, runs, way=study.right_way):
    """In how many runs the lower end lies above the truth."""
    return sum(way(cell, run) for run in range(runs))


@pytest.mark.parametrize(
    ("cell", "runs"),
    [
        (Cell(n=60, m=60), 100),
        (Cell(truth=0.1), 40),
        (Cell(truth=0.04, d=10, n=60, m=60), 10),
        (Cell(n=60, m=600), 40),
        (Cell("rounded", 0.1, n=60, m=60), 60),
        (Cell("categories", 0.1, 3, n=60, m=60), 30),
        (Cell("mixed", 0.1, 7, n=60, m=60), 10),
    ],
    ids=str,
)
def test_the_lower_end_is_rarely_above_the_truth(cell, runs):
    assert above(cell, runs) <= most(runs)


def test_a_lower_end_without_the_test_is_caught():
    cell = Cell(n=60, m=60)
    assert above(cell, 500, study.without_gate) > most(500)


def test_twenty_folds_without_the_test_are_caught():
    cell = Cell("rounded")
    assert above(cell, 100, study.twenty_folds) > most(100)


def test_copies_across_folds_are_caught():
    cell = Cell("doubled", d=5)
    assert above(cell, 6, study.copies_across_folds) > most(6)
    parts = study.split(*cell.draw(0), 0)
    assert abs(study.value_of(parts.table, judge(parts.table))) < 0.15


@pytest.mark.parametrize("others", [0, 20])
def test_irrelevant_columns_leave_the_value_as_it_is(others):
    values = [study.value_in_company(others, 500, run) for run in range(4)]
    # a value has a standard error of at most 0.032, the mean of four 0.016
    assert abs(np.mean(values) / study.SHIFTED - 1) <= study.NEAR + 3 * 0.016 / study.SHIFTED


def test_one_of_many_columns_times_100_is_seen():
    assert study.value_times_100(50, 300, 0) >= study.TIMES_100


def test_ours_is_not_behind_other_witnesses():
    ours, forest, logistic = study.competitors("correlation of a pair of 10", 200, 0)
    assert ours >= max(forest, logistic) - study.BEHIND


def test_the_public_answer_is_the_one_that_is_simulated():
    cell = Cell(truth=0.3, d=3, n=80, m=60)
    x, y = cell.draw(0)
    result = dd.total_variation(x, y, random_state=0)
    parts = study.split(x, y, 0)
    judged = judge(parts.table)
    assert result.raw == pytest.approx(study.value_of(parts.table, judged), abs=1e-12)
    assert result.pvalue == study.pvalue_of(parts)
    assert result.interval == study.result_of(parts, judged, result.pvalue).interval


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "doubled"])
def test_the_stated_truth_is_that_of_the_rows(kind):
    """In cells of the first column, of which no more than twenty hold rows; the noise of their sum is below 0.01."""
    cell = Cell(kind, 0.1, 3, 100_000, 100_000)
    x, y = (np.asarray(sample.iloc[:, 0] if hasattr(sample, "iloc") else sample[:, 0]) for sample in cell.draw(1))
    if kind in ("normal", "mixed"):
        x, y = np.floor(2 * x), np.floor(2 * y)
    _, places = np.unique(np.concatenate([x, y]), return_inverse=True)
    counts = [np.bincount(half, minlength=places.max() + 1) / 100_000 for half in np.split(places, 2)]
    assert 0.5 * np.abs(counts[0] - counts[1]).sum() == pytest.approx(0.1, abs=0.01)


def test_closed_forms():
    assert rounded_shift(0.0) == 0.0
    assert scale_variation(2.0) == pytest.approx(0.3220, abs=1e-3)
