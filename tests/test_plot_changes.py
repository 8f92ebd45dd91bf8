"""The picture of changes shows series, score, threshold and changes, for any series and clock."""

import itertools
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from matplotlib.dates import date2num
from matplotlib.figure import Figure

import densdiff as dd
from densdiff.errors import InputError
from densdiff.plots import plot_changes
from densdiff.plots.canvas import MORE_X


def stepped(length=240, d=1, size=3.0):
    rows = np.random.default_rng(0).normal(size=(length, d))
    rows[length // 2 :] += size
    return rows


def result(rows, **settings):
    return dd.detect_changes(rows, random_state=0, **settings)


def change_lines(ax):
    """Where the vertical lines in the colour of changes stand."""
    lines = [line for line in ax.lines if to_rgba(line.get_color()) == to_rgba(MORE_X)]
    return [float(line.convert_xunits(line.get_xdata()[0])) for line in lines]


def drawn(ax):
    ax.figure.draw_without_rendering()
    return " ".join(text.get_text() for text in ax.figure.findobj(lambda artist: hasattr(artist, "get_text")))


def test_one_column_is_drawn_above_its_score():
    found = result(pd.DataFrame({"speed": stepped()[:, 0]}), n_changes=1)
    above, below = plot_changes(found)
    np.testing.assert_array_equal(above.lines[0].get_ydata(), found.series[:, 0])
    np.testing.assert_array_equal(below.lines[0].get_ydata(), found.scores)
    np.testing.assert_array_equal(above.lines[0].get_xdata(), np.arange(240))
    assert change_lines(above) == change_lines(below) == found.changes.tolist()
    assert any(np.allclose(line.get_ydata(), found.threshold) for line in below.lines)
    assert above.get_ylabel() == "speed"
    assert below.get_xlabel() == "sample"
    assert above.get_title() == "1 change"
    assert "threshold" in drawn(above)


def test_the_method_draws_the_same():
    assert result(stepped()).plot()[1].get_ylabel() == "score"


@pytest.mark.parametrize(("d", "words"), [(2, "2 columns"), (6, "6 columns"), (9, "6 columns, 3 more not shown")])
def test_columns_of_any_unit_are_drawn_one_above_the_other(d, words):
    rows = stepped(d=d) * 10.0 ** (4 * np.arange(d))
    rows[:, 1] = 5.0
    above, _ = plot_changes(result(rows))
    series = [line.get_ydata() for line in above.lines if len(line.get_ydata()) == 240]
    assert len(series) == min(d, 6)
    assert above.get_ylabel() == words
    bands = [(values.min(), values.max()) for values in series]
    assert all(upper[0] > lower[1] for upper, lower in itertools.pairwise(bands))
    assert "x0" in drawn(above)


def test_no_change_is_said():
    found = result(np.random.default_rng(1).normal(size=200))
    above, below = plot_changes(found)
    assert above.get_title() == "no change found"
    assert change_lines(above) == change_lines(below) == []
    drawn(above)


@pytest.mark.parametrize("rows", [np.ones(60), np.zeros((60, 3))], ids=["one", "three"])
def test_a_constant_series_is_drawn_though_it_has_no_score(rows):
    above, _ = plot_changes(result(rows))
    assert "no change found" in drawn(above)


def test_a_series_too_short_is_drawn_too():
    for length in (2, 5):
        with pytest.warns(dd.DensDiffWarning, match="too few"):
            found = result(np.arange(float(length)))
        drawn(plot_changes(found)[0])


@pytest.mark.xfail(strict=True, reason="set_xlim(0, 0): matplotlib warns of identical limits")
def test_one_sample_is_drawn_too():
    drawn(plot_changes(result([1.0]))[0])


def test_a_long_series_is_drawn_as_ranges_that_hide_no_sample():
    rows = stepped(9001)
    rows[1234], rows[9000] = 40.0, -30.0
    found = result(rows)
    above, below = plot_changes(found)
    low, high = above.dataLim.y0, above.dataLim.y1
    assert (low, high) == (-30.0, 40.0)
    assert below.dataLim.y1 >= np.nanmax(found.scores)
    assert all(len(line.get_xdata()) < 4500 for line in above.lines)
    assert change_lines(above) == found.changes.tolist()
    assert drawn(above)


@pytest.mark.parametrize("length", [4000, 4001])
def test_both_sides_of_the_limit_are_drawn(length):
    assert drawn(plot_changes(result(stepped(length, d=2)))[0])


@pytest.mark.parametrize("length", [240, 4100])
def test_dates_are_the_axis(length):
    times = pd.date_range("2024-03-01", periods=length, freq="h")
    found = result(stepped(length), time=times)
    above, below = plot_changes(found)
    assert below.get_xlabel() == "time"
    assert change_lines(above) == pytest.approx([date2num(times[change]) for change in found.changes])
    assert "2024" in drawn(above)


def test_numbers_as_times_are_the_axis():
    found = result(stepped(), time=np.arange(240) / 50)
    above, _ = plot_changes(found)
    assert change_lines(above) == pytest.approx(found.changes / 50)
    assert above.get_xlim() == (0.0, 239 / 50)


@pytest.mark.xfail(strict=True, reason="matplotlib cannot place a line at a timedelta64: UFuncTypeError")
def test_durations_as_times_are_drawn():
    drawn(plot_changes(result(stepped(), time=np.arange(240).astype("m8[s]")))[0])


def test_given_axes_are_drawn_into():
    axes = Figure().subplots(2, 1)
    found = plot_changes(result(stepped()), axes=axes)
    assert found[0] is axes[0]
    assert found[1] is axes[1]
    assert plot_changes(result(stepped()), axes=tuple(Figure().subplots(1, 2))).shape == (2,)


@pytest.mark.parametrize("axes", [3, [], Figure().subplots(), Figure().subplots(3, 1)], ids=["3", "[]", "one", "three"])
def test_axes_that_are_no_pair_are_refused(axes):
    with pytest.raises(InputError, match="axes must be two matplotlib Axes"):
        plot_changes(result(stepped()), axes=axes)


@pytest.mark.parametrize("d", [1, 2])
def test_names_are_shown_as_text(d):
    name = "$\\frac{a <b>\x1b[31m"
    rows = stepped(d=d)
    found = result(pd.DataFrame({name: rows[:, 0], **{f"_x{j}": rows[:, j] for j in range(1, d)}}))
    text = drawn(plot_changes(found)[0])
    assert "\x1b" not in text
    assert "frac" in text


def test_pyplot_is_left_alone():
    before = sys.modules.get("matplotlib.pyplot")
    numbers = before.get_fignums() if before else []
    plot_changes(result(stepped()))
    after = sys.modules.get("matplotlib.pyplot")
    assert after is before
    assert (after.get_fignums() if after else []) == numbers
