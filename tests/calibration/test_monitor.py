"""Run lengths of the monitor in small, with fixed seeds; a threshold of independent windows must be seen to fail."""

import numpy as np
import pytest

import densdiff as dd
from tests.calibration import monitor as study
from tests.calibration.monitor import Cell, delay, delays, draw, mean_run, monitor_of, run_lengths

REFERENCES, STREAMS = 6, 56
# The mean has a standard error of about 6 % of itself. A monitor that realizes what was asked is outside in one table
# of a million; one that realizes half as much again is outside in 98 of 100, and 0.6 of the asked in 99 of 100.
OFF = 0.3


def realized(cell, references, streams, way=None):
    """Mean run length in units of the asked."""
    return np.mean([mean_run(cell, run, streams, way)[0] for run in range(references)]) / cell.run_length


@pytest.mark.parametrize(
    "cell",
    [
        Cell(20, 200),
        Cell(100, 200, df=3.0),
        *(
            pytest.param(cell, marks=pytest.mark.slow)  # `make calibrate` has them all, with more runs
            for cell in (Cell(20, 200, d=3), Cell(20, 200, df=3.0), Cell(100, 2000, d=3), Cell(20, 2000, df=3.0))
        ),
    ],
    ids=str,
)
def test_the_mean_run_length_is_about_the_one_asked_for(cell):
    assert abs(realized(cell, REFERENCES, STREAMS) - 1.0) < OFF


def test_a_threshold_of_independent_windows_is_caught():
    """Measured 4.3 times the asked: windows that share rows exceed a threshold together, so alarms are rarer."""
    assert realized(Cell(20, 200), 3, 16, study.independent_windows) > 2.0


def test_a_reference_taken_for_the_truth_is_caught():
    """Measured 0.87 of the threshold and 0.60 of the run length with 4 windows: fresh streams are further away."""
    cell = Cell(20, 200, windows=4)
    for run in range(2):
        monitor, reference = monitor_of(cell, run)
        assert study.fixed_reference(monitor, reference, run) < 0.95 * monitor.threshold_


def test_changes_are_seen_soon():
    """Never to alarm would make every run length long enough."""
    found = np.mean([delays(Cell(20, 200, d=3), run)[:2] for run in range(2)], axis=0)
    assert found.max() < 40


def small_monitor():
    reference = np.random.default_rng(0).standard_normal((400, 2))
    return dd.ChangeMonitor(reference, window=10, run_length=60, random_state=0)


def first_alarm(monitor, rows):
    return next(step.index + 1 for step in monitor.update_many(rows) if step.alarm)


def test_run_lengths_are_those_of_a_monitor_that_starts_anew_after_each_alarm(monkeypatch):
    monkeypatch.setattr(study, "_CHUNK", 64)  # runs go over the edges of chunks
    cell, monitor, count = Cell(10, 60, d=2), small_monitor(), 12
    random = np.random.default_rng(1)
    found = run_lengths(monitor, lambda k: draw(cell, random, k), count)
    rows, start = draw(cell, np.random.default_rng(1), 64 * 200), 0
    for run in found:
        assert first_alarm(monitor.reset(), rows[start : start + 3000]) == run
        start += int(run)
    assert len(found) == count
    assert found.max() > 64


def test_delays_are_those_of_a_monitor_with_a_full_window():
    cell, monitor = Cell(10, 60, d=2), small_monitor()
    for seed in range(8):
        calm, changed = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
        found = delay(monitor, lambda k, r=calm: draw(cell, r, k), lambda k, r=changed: draw(cell, r, k, "shift"))
        calm, changed = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
        while monitor.reset().update_many(draw(cell, calm, 10))[-1].alarm:
            pass
        after = np.vstack([draw(cell, changed, 40, "shift") for _ in range(30)])  # blocks of four windows, as there
        assert first_alarm(monitor, after) - 10 == found


def test_rows_are_what_they_are_said_to_be():
    random = np.random.default_rng(0)
    np.testing.assert_allclose(draw(Cell(20, 200, d=2), random, 20_000).std(axis=0), 1.0, rtol=0.03)
    np.testing.assert_allclose(draw(Cell(20, 200, df=5.0), random, 20_000).std(axis=0), 1.0, rtol=0.05)
    assert draw(Cell(20, 200), random, 20_000, "shift").mean() == pytest.approx(1.0, abs=0.03)
    np.testing.assert_allclose(draw(Cell(20, 200, d=2), random, 20_000, "scale").std(axis=0), 2.0, rtol=0.03)
    turned = draw(Cell(20, 200, d=3), random, 20_000, "correlation")
    assert np.corrcoef(turned.T)[0, 1] == pytest.approx(0.8, abs=0.02)
    np.testing.assert_allclose(turned.std(axis=0), 1.0, rtol=0.03)
