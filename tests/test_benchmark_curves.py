"""The benchmark of f itself: its ratios are what they say, and a quick run prints and keeps all of them."""

import numpy as np
import pytest
from joblib import parallel_config

from benchmarks import curves, measure, results
from benchmarks.known_densities import pairs


def test_the_error_of_an_estimate_of_zero_is_the_squared_distance():
    # N(.5, 1) against N(0, 1): (1 - exp(-.5**2 / 4)) / sqrt(pi)
    assert curves.squared_norm(*pairs(1)["shift .5"]) == pytest.approx(
        -np.expm1(-(0.5**2) / 4) / np.sqrt(np.pi), rel=1e-4
    )


def test_ratios_are_of_mean_errors_and_to_the_better_of_the_two():
    errors = {curves.OURS: np.array([1.0, 3.0]), curves.KDE: np.array([4.0, 0.0]), curves.AUTHORS: np.array([2.0, 6.0])}
    found = curves.all_ratios(errors)
    assert [found[name].value for name in (curves.KDE, curves.AUTHORS, curves.BETTER)] == [1.0, 0.5, 1.0]
    # Relative errors of a run: .5 - 2 and 1.5 - 0 beside KDE, and equal beside the authors.
    assert [found[name].error for name in (curves.KDE, curves.AUTHORS)] == [pytest.approx(1.5), 0.0]
    mean = curves.geometric_mean([curves.Ratio(2.0, 0.6), curves.Ratio(0.5, 0.2)])
    assert mean == (pytest.approx(1.0), pytest.approx(np.hypot(0.3, 0.4) / 2))


def test_a_quick_run_has_all_pairs_and_says_which_goals_are_met(monkeypatch, capsys):
    monkeypatch.setattr(measure, "page", measure.Page())
    monkeypatch.setattr(curves, "SETTINGS", ((1, 25, 40), (2, 30, 30)))
    monkeypatch.setattr(curves, "QUICK_RUNS", 2)
    with parallel_config("sequential"):
        curves.main(quick=True)
    first, second, whole = capsys.readouterr().out.strip().split("\n\n")
    for text, d in ((first, 1), (second, 2)):
        lines = text.splitlines()[2:]
        assert [line[:16].strip() for line in lines[:-3]] == list(pairs(d))
        assert all(line.count(")") == 6 for line in lines[:-3])  # three errors and three ratios
    assert len(pairs(1)) >= 12
    assert "largest ratio" in whole.splitlines()[-1]
    rows = measure.page.rows
    assert len(rows) == 3 * 7
    assert {row["title"].partition(", ")[2] for row in rows} == {
        "d = 1, n = 25, m = 40",
        "d = 2, n = 30, m = 30",
        "all settings",
    }
    assert all(np.isfinite(row["ours"]) and row["ours"] > 0 for row in rows)
    assert [results.met(row) != "" for row in rows] == 3 * [False, False, False, True, True, False, True]
