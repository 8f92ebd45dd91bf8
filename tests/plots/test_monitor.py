"""The picture of a monitored stream shows score, threshold and every alarm, however long the stream."""

import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.text import Text

import densdiff as dd
from densdiff import InputError, MonitorStep
from densdiff.plots import plot_monitor
from densdiff.plots.changes import MOST_POINTS
from tests.monitors import REFERENCE, ROWS, STEPS, W, made


def stepped(scores, threshold=2.0, start=0):
    """Steps with these scores, none where one is None."""
    return [
        MonitorStep(i, score, threshold, score is not None and score > threshold)
        for i, score in enumerate(scores, start=start)
    ]


def noise(length, seed=0):
    return [*[None] * 4, *np.random.default_rng(seed).gamma(1.0, size=length - 4).tolist()]


def spans(ax):
    """First and last row of each stretch of alarm."""
    boxes = [path.get_extents() for bars in ax.collections for path in bars.get_paths()]
    return [(box.x0 + 0.5, box.x1 - 0.5) for box in boxes]


def covered(ax):
    return [row for first, last in spans(ax) for row in range(round(first), round(last) + 1)]


def lines(ax):
    score, threshold = ax.lines
    return score.get_xydata(), threshold.get_xydata()


def drawn(ax):
    ax.figure.draw_without_rendering()
    return " ".join(text.get_text() for text in ax.figure.findobj(lambda artist: hasattr(artist, "get_text")))


def test_score_and_threshold_are_drawn_over_their_rows():
    ax = plot_monitor(STEPS)
    score, threshold = lines(ax)
    wanted = [(step.index, np.nan if step.score is None else step.score) for step in STEPS]
    np.testing.assert_array_equal(score, wanted)
    np.testing.assert_array_equal(threshold, [(step.index, step.threshold) for step in STEPS])
    assert np.isnan(score[: W - 1, 1]).all()
    assert np.isfinite(score[W - 1 :, 1]).all()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("row of the stream", "score")
    assert "threshold" in drawn(ax)


def test_alarms_of_a_monitor_are_shaded_and_counted():
    steps = made().update_many(ROWS + np.outer(np.arange(60) // 20 == 1, [4.0, 0.0]))
    alarms = [step.index for step in steps if step.alarm]
    ax = plot_monitor(steps)
    assert 5 < len(alarms) < 50
    assert covered(ax) == alarms
    assert ax.get_title("left") == f"alarm on {len(alarms)} rows, first on row {alarms[0]}"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["alarm", "threshold"]


@given(alarm=st.lists(st.booleans(), min_size=1, max_size=40), start=st.integers(0, 10**6))
def test_exactly_the_rows_of_alarm_are_shaded_each_stretch_once(alarm, start):
    ax = plot_monitor(stepped([3.0 if one else 1.0 for one in alarm], start=start))
    assert covered(ax) == [start + i for i, one in enumerate(alarm) if one]
    stretches = "".join("x" if one else " " for one in alarm).split()
    assert [last - first + 1 for first, last in spans(ax)] == [len(stretch) for stretch in stretches]


def test_one_row_of_alarm_is_said_in_the_singular():
    ax = plot_monitor(stepped([None, 1.0, 5.0, 1.0], start=70))
    assert ax.get_title("left") == "alarm on 1 row, first on row 72"
    assert spans(ax) == [(72, 72)]


def test_a_score_at_the_threshold_is_no_alarm():
    ax = plot_monitor(stepped([1.0, 2.0, 1.0]))
    assert ax.get_title("left") == "no alarm"
    assert spans(ax) == []
    assert "alarm" not in [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("length", [1, 4, MOST_POINTS + 9])
def test_a_stream_without_scores_says_so(length):
    ax = plot_monitor(stepped([None] * length))
    assert "no score yet: the window is not full" in drawn(ax)
    assert np.isnan(lines(ax)[0][:, 1]).all()
    assert ax.get_ylim()[1] > 2.0  # the threshold


@pytest.mark.parametrize("scores", [[0.1, 0.2], [1e300, 1.0], [0.0, 0.0]], ids=str)
def test_axes_start_at_zero_and_hold_every_row_score_and_threshold(scores):
    ax = plot_monitor(stepped(scores, start=7))
    low, high = ax.get_ylim()
    assert low == 0
    assert high > max(*scores, 2.0)
    assert ax.get_xlim() == (6.5, 8.5)
    assert drawn(ax)


@pytest.mark.parametrize("length", [1, 2, 9, 200])
def test_rows_are_counted_in_whole_numbers_and_few_are_dots(length):
    ax = plot_monitor(stepped([1.0] * length, start=10**9))
    drawn(ax)
    assert all(tick == round(tick) for tick in ax.get_xticks())
    assert (ax.lines[0].get_marker() == ".") == (length < 60)


@pytest.mark.parametrize("length", [MOST_POINTS, MOST_POINTS + 1])
def test_both_sides_of_the_limit_show_the_same_extremes(length):
    scores = noise(length)
    ax = plot_monitor(stepped(scores, threshold=99.0))
    found = lines(ax)[0][:, 1]
    assert (np.nanmin(found), np.nanmax(found)) == (min(scores[4:]), max(scores[4:]))
    assert ax.get_xlim() == (-0.5, length - 0.5)


def test_a_long_stream_is_drawn_with_few_points_that_hide_no_extreme_and_no_alarm():
    length = 120_001
    scores = noise(length)
    scores[50_000] = 40.0
    scores[-1] = 30.0
    steps = stepped(scores, threshold=9.0)
    ax = plot_monitor(steps)
    score, threshold = lines(ax)
    assert len(score) == len(threshold) <= MOST_POINTS
    for i in range(0, len(score), 2):
        first, last = score[i, 0], score[i + 1, 0]
        part = scores[max(4, round(first)) : round(last) + 1]
        assert tuple(score[i : i + 2, 1]) == (min(part), max(part))
    assert (score[0, 0], score[-1, 0]) == (threshold[0, 0], threshold[-1, 0]) == (0, length - 1)
    alarms = [step.index for step in steps if step.alarm]
    assert set(alarms) <= set(covered(ax))
    assert len(covered(ax)) <= 61 * len(alarms)  # each in one run of rows
    assert all(any(first <= row <= last for row in alarms) for first, last in spans(ax))
    assert ax.get_title("left") == f"alarm on {len(alarms)} rows, first on row {alarms[0]}"


def test_many_stretches_of_alarm_are_one_artist():
    ax = plot_monitor(stepped([1.0, 3.0] * (MOST_POINTS // 2)))
    assert len(spans(ax)) == MOST_POINTS // 2
    assert len(ax.collections) == 1
    assert not ax.patches


def test_steps_of_single_updates_and_of_a_part_are_drawn():
    monitor = made()
    single = [monitor.update(row) for row in ROWS[:12]]
    np.testing.assert_array_equal(lines(plot_monitor(single))[0], lines(plot_monitor(STEPS[:12]))[0])
    np.testing.assert_array_equal(lines(plot_monitor(tuple(STEPS[20:])))[0][:, 0], np.arange(20, 60))


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "steps is empty"),
        ((), "steps is empty"),
        (STEPS[0], "steps must be a list of MonitorStep"),
        (None, "steps must be a list of MonitorStep"),
        ([1.0, 2.0], "steps must be a list of MonitorStep"),
        (STEPS + STEPS, "row 0 comes after row 59; draw the steps before and after a reset separately"),
        ([STEPS[3], STEPS[3]], "row 3 comes after row 3"),
    ],
    ids=["list", "tuple", "one step", "None", "numbers", "reset", "twice"],
)
def test_what_are_no_steps_of_one_stream_is_refused(steps, message):
    with pytest.raises(InputError, match=message):
        plot_monitor(steps)


def test_names_of_columns_reach_no_picture():
    names = ["$\\frac{a <b>\x1b[31m", "_b\u202e"]
    monitor = made(pd.DataFrame(REFERENCE, columns=names))
    assert drawn(plot_monitor(monitor.update_many(ROWS))) == drawn(plot_monitor(STEPS))


def test_given_axes_are_drawn_into():
    ax = Figure().subplots()
    assert dd.plots.plot_monitor(STEPS, ax=ax) is ax
    assert len(ax.lines) == 2


def test_no_legend_hides_the_score():
    ax = plot_monitor(stepped(noise(300)))
    ax.figure.draw_without_rendering()
    legend = ax.get_legend().get_window_extent()
    (title,) = (text.get_window_extent() for text in ax.findobj(Text) if text.get_text() == ax.get_title("left"))
    assert not legend.overlaps(ax.patch.get_window_extent().shrunk(0.99, 0.99))
    assert not legend.overlaps(title)


def test_pyplot_and_settings_are_left_alone():
    before, settings = sys.modules.get("matplotlib.pyplot"), matplotlib.rcParams.copy()
    numbers = before.get_fignums() if before else []
    drawn(plot_monitor(STEPS))
    after = sys.modules.get("matplotlib.pyplot")
    assert after is before
    assert (after.get_fignums() if after else []) == numbers
    assert matplotlib.rcParams.copy() == settings
