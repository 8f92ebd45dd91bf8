"""Run lengths of the monitor in small, with fixed seeds; a reference in random order must be seen to fail."""

import numpy as np
import pytest

import densdiff as dd
from tests.calibration import monitor as study
from tests.calibration.monitor import Cell, between_alarms, delays, draw, first_above, mean_run, monitor_of, scores

REFERENCES, STREAMS = 4, 50
# The mean has a standard error of about 12 % of itself: 200 runs, and references that differ by 20 %. A monitor that
# realizes what was asked is outside in one table of a thousand, one that realizes half of it is always outside.
OFF = 0.4


def realized(cell, monitor_of=monitor_of):
    """Mean run length in units of the asked."""
    runs = [
        mean_run(monitor_of(cell, run), cell, np.random.default_rng([run, 1]), STREAMS) for run in range(REFERENCES)
    ]
    return np.mean(runs) / cell.run_length


@pytest.mark.parametrize(
    "cell",
    [
        Cell(rows=800, window=20, run_length=100),
        Cell("AR 0.5", rows=2600, window=20, run_length=100),
        *(
            pytest.param(cell, marks=pytest.mark.slow)  # `make calibrate` has them all, with more runs
            for cell in (Cell("season 24"), Cell("t2", rows=800, window=20, run_length=200), Cell(d=3))
        ),
    ],
    ids=str,
)
def test_the_mean_run_length_is_about_the_one_asked_for(cell):
    assert abs(realized(cell) - 1.0) < OFF


def test_a_dependent_reference_in_random_order_is_caught():
    """Neighbours that are alike make slow sums wander: alarms come much sooner."""
    assert realized(Cell("AR 0.9", rows=4000, window=20, run_length=200), study.shuffled) < 0.4


@pytest.mark.hostile(56)
@pytest.mark.parametrize("law", ["AR 0.9", "trend 2"])
def test_where_the_run_length_cannot_be_promised_a_warning_says_so(law):
    monitor = monitor_of(Cell(law, rows=1000, window=20, run_length=200), 0)
    assert any("the run length may be" in text or "expect an alarm after" in text for text in monitor.warnings_)


def test_alarms_that_last_and_alarms_after_which_all_begins_anew_are_as_far_apart_as_asked():
    cell = Cell(rows=800, window=20, run_length=100)
    runs = [between_alarms(monitor_of(cell, run), cell, np.random.default_rng(run), 8) for run in range(REFERENCES)]
    assert np.abs(1.0 / np.mean(cell.run_length / np.array(runs), axis=0) - 1.0).max() < OFF


def test_changes_are_seen_soon():
    """Never to alarm would make every run length long enough."""
    cell = Cell(d=3, rows=800, window=20, run_length=200)
    random = np.random.default_rng(0)
    assert max(delays(monitor_of(cell, 0), cell, random, 50, change).mean() for change in ("shift", "scale")) < 20


def test_scores_of_many_streams_are_those_of_single_monitors():
    cell = Cell(d=2, rows=400, window=10, run_length=60)
    monitor, rows = monitor_of(cell, 0), draw(cell, np.random.default_rng(0), 3, 80)
    found = scores(monitor, rows)
    for stream, mine in zip(rows, found, strict=True):
        steps = monitor.reset().update_many(stream)
        np.testing.assert_allclose(mine[9:], [step.score for step in steps[9:]], rtol=1e-4)  # single precision
        assert not mine[:9].any()
        alarm = next((step.index + 1 for step in steps if step.alarm), 0)
        assert first_above(mine[None], monitor.threshold_)[0] == alarm


def test_rows_are_what_they_are_said_to_be():
    random = np.random.default_rng(0)
    deviations = draw(Cell(d=2), random, 1, 20_000)[0].std(axis=0)
    np.testing.assert_allclose(deviations, 1.0, rtol=0.03)
    rows = draw(Cell("AR 0.9"), random, 1, 40_000)[0, :, 0]
    assert rows.std() == pytest.approx(1.0, abs=0.1)
    assert np.corrcoef(rows[1:], rows[:-1])[0, 1] == pytest.approx(0.9, abs=0.02)
    season = draw(Cell("season 24"), random, 1, 24 * 800)[0, :, 0].reshape(-1, 24).mean(axis=0)
    assert np.abs(np.fft.rfft(season))[1] / 12 == pytest.approx(1.0, abs=0.1)
    assert draw(Cell(), random, 1, 20_000, "shift").mean() == pytest.approx(1.0, abs=0.03)
    assert draw(Cell("Poisson 3"), random, 1, 20_000).var() == pytest.approx(3.0, rel=0.1)
    turned = draw(Cell(d=3), random, 1, 20_000, "correlation")[0]
    assert np.corrcoef(turned.T)[0, 1] == pytest.approx(0.8, abs=0.02)


def test_a_monitor_that_begins_anew_has_alarms_a_run_length_apart():
    cell = Cell(rows=2000, window=10, run_length=80)
    random = np.random.default_rng(5)
    gaps = []
    for run in range(3):
        reference = draw(cell, random, 1, cell.rows)[0]
        monitor = dd.ChangeMonitor(reference, window=10, run_length=80, after_alarm="reset", random_state=run)
        alarms = [step.index for step in monitor.update_many(draw(cell, random, 1, 5000)[0]) if step.alarm]
        gaps += np.diff(alarms).tolist()
    assert np.mean(gaps) == pytest.approx(80, rel=0.3)
