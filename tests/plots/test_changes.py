"""The picture of changes shows series, score, threshold and changes, for any series and clock."""

import dataclasses
import datetime
import itertools
import sys
import warnings
import zoneinfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib.colors import to_rgba
from matplotlib.dates import date2num
from matplotlib.figure import Figure

import densdiff as dd
from densdiff.errors import InputError
from densdiff.plots import plot_changes
from densdiff.plots.canvas import MORE_X
from densdiff.series.kinds import ChangeKind

MOMENT = datetime.datetime(2024, 1, 1)
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


def stepped(length=240, d=1, size=3.0):
    rows = np.random.default_rng(0).normal(size=(length, d))
    rows[length // 2 :] += size
    return rows


def result(rows, **settings):
    return dd.detect_changes(rows, random_state=0, **settings)


def quiet_result(rows, **settings):
    """Of a series that is too short, which is warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        return result(rows, **settings)


def change_lines(ax):
    """Where the vertical lines in the colour of changes stand."""
    lines = [line for line in ax.lines if to_rgba(line.get_color()) == to_rgba(MORE_X)]
    return [float(line.convert_xunits(line.get_xdata()[0])) for line in lines]


def drawn(ax):
    ax.figure.draw_without_rendering()
    return " ".join(text.get_text() for text in ax.figure.findobj(lambda artist: hasattr(artist, "get_text")))


def drawn_labels(ax):
    ax.figure.draw_without_rendering()
    return [label.get_text() for label in ax.get_xticklabels()]


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
    assert above.get_title("left").startswith("1 change")
    assert "threshold" in drawn(above)


def test_the_method_draws_the_same():
    assert result(stepped()).plot()[1].get_ylabel() == "score"


@pytest.mark.parametrize(("d", "words"), [(2, "2 columns"), (6, "6 columns"), (9, "6 of 9 columns")])
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
    assert above.get_title("left") == "no change found"
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


@pytest.mark.parametrize(
    "time", [None, [7], [MOMENT], [MOMENT.replace(tzinfo=BERLIN)], [datetime.timedelta(1)]], ids=str
)
def test_one_sample_is_drawn_too(time):
    above, below = plot_changes(quiet_result([1.0], time=time))
    assert "no score" in drawn(above)
    assert above.lines[0].get_marker() == "."
    low, high = above.get_xlim()
    assert low < above.lines[0].get_xdata()[0] < high
    assert len(below.get_yticks()) == 0


def test_a_clock_that_stands_still_is_drawn():
    assert drawn(plot_changes(quiet_result(stepped(), time=np.full(240, 5)))[0])


def test_few_samples_are_dots_none_of_them_cut_by_an_edge():
    above, below = plot_changes(quiet_result(stepped(40)))
    assert above.lines[0].get_marker() == below.lines[0].get_marker() == "."
    assert above.get_xlim()[0] < 0 < 39 < above.get_xlim()[1]
    assert plot_changes(result(stepped()))[0].lines[0].get_marker() in ("", "None")


def test_samples_are_counted_in_whole_numbers():
    for rows in ([1.0], np.zeros(3), stepped(15), stepped()):
        _, below = plot_changes(quiet_result(rows))
        assert all(tick == round(tick) for tick in below.get_xticks())


def test_the_score_starts_at_zero_and_shows_its_threshold():
    for rows in (stepped(), np.random.default_rng(1).normal(size=200)):
        found = result(rows)
        _, below = plot_changes(found)
        assert below.get_ylim()[0] == 0
        assert below.get_ylim()[1] > found.threshold
        assert below.get_ylabel() == "score"


def test_a_score_without_threshold_says_so():
    _, below = plot_changes(result(stepped(), model=dd.KLIEP()))
    assert below.get_ylabel() == "score,\nno threshold"
    assert "threshold" not in [text.get_text() for text in below.figure.axes[0].get_legend().get_texts()]


@pytest.mark.parametrize("length", [240, 4100])
def test_no_legend_hides_the_series_or_its_score(length):
    axes = plot_changes(result(stepped(length, d=3)))
    axes[0].figure.draw_without_rendering()
    legend = axes[0].get_legend().get_window_extent()
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == [
        "threshold",
        "95 % interval",
        "change",
    ]
    assert axes[1].get_legend() is None
    assert not any(legend.overlaps(ax.patch.get_window_extent().shrunk(0.99, 0.99)) for ax in axes)


def test_names_of_columns_stand_beside_them_and_are_cut_when_long():
    rows = stepped(d=3)
    names = ["a", "b" * 40, "_c"]
    above, _ = plot_changes(result(pd.DataFrame(rows, columns=names)))
    labels = [label.get_text() for label in above.get_yticklabels()]
    assert labels == ["a", "b" * 23 + "…", "_c"]
    for tick, line in zip(above.get_yticks(), above.lines, strict=False):
        assert line.get_ydata().min() <= tick <= line.get_ydata().max()


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


ORDER = np.arange(240)
DURATIONS = {
    "seconds": (ORDER.astype("m8[s]"), "time (min)", 1 / 60),
    "hours": (ORDER.astype("m8[h]"), "time (d)", 1 / 24),
    "milliseconds": (ORDER.astype("m8[ms]"), "time (ms)", 1.0),
    "nanoseconds": (ORDER.astype("m8[ns]"), "time (ns)", 1.0),
    "years": (ORDER.astype("m8[Y]"), "time (d)", 365.2425),
    "objects": ([i * datetime.timedelta(seconds=90) for i in range(240)], "time (h)", 1 / 40),
    "pandas": (pd.to_timedelta(ORDER, unit="s"), "time (min)", 1 / 60),
    "polars": (pl.Series(ORDER * 10**6).cast(pl.Duration("us")), "time (min)", 1 / 60),
}


@pytest.mark.parametrize("kind", DURATIONS)
def test_durations_as_times_are_drawn(kind):
    time, label, step = DURATIONS[kind]
    found = result(stepped(), time=time, n_changes=1)
    above, below = plot_changes(found)
    assert below.get_xlabel() == label
    assert change_lines(above) == pytest.approx(found.changes * step)
    drawn(above)


ZONED = pd.date_range("2024-03-30", periods=4100, freq="min", tz="Europe/Berlin")
WITH_ZONE = {
    "pandas index": lambda times: times,
    "pandas": pd.Series,
    "polars": lambda times: pl.from_pandas(pd.Series(times)),
    "list": lambda times: [at.to_pydatetime() for at in times],
    "pyarrow": lambda times: pa.chunked_array([pa.array(times)]),
}


@pytest.mark.parametrize("length", [240, 4100])
@pytest.mark.parametrize("kind", WITH_ZONE)
def test_dates_with_a_zone_are_told_in_it(kind, length):
    found = result(stepped(length), time=WITH_ZONE[kind](ZONED[:length]), n_changes=1)
    above, below = plot_changes(found)
    assert below.get_xlabel() == "time (Europe/Berlin)"
    assert change_lines(above) == pytest.approx([date2num(ZONED[change]) for change in found.changes])
    text = drawn(above)
    if length == 240:  # midnight in Berlin is 23:00 in UTC
        labels = drawn_labels(below)
        assert "00:30" in labels
        assert "23:30" not in labels
    assert "2024" in text


@pytest.mark.parametrize("freq", ["s", "11min", "37min", "77min", "h", "2h", "5h", "11h", "D", "31D"])
def test_labels_of_dates_do_not_overlap(freq):
    times = pd.date_range("2024-03-28", periods=240, freq=freq, tz="Europe/Berlin")
    names = ["temperature at the inlet", "flow of water, averaged"]
    axes = plot_changes(result(pd.DataFrame(stepped(d=2), columns=names), time=times))
    axes[0].figure.draw_without_rendering()
    low, high = axes[1].get_xlim()
    ticks = zip(axes[1].get_xticks(), axes[1].get_xticklabels(), strict=True)
    boxes = [label.get_window_extent() for tick, label in ticks if low <= tick <= high]
    assert len(boxes) >= 3
    assert all(left.x1 + 4 < right.x0 for left, right in itertools.pairwise(boxes))


def test_days_are_told_with_their_month():
    _, below = plot_changes(result(stepped(), time=pd.date_range("2024-03-28", periods=240, freq="h")))
    assert {"30 Mar", "01 Apr"} <= set(drawn_labels(below))
    assert below.xaxis.get_offset_text().get_text() == "2024"


def test_nanoseconds_are_drawn_since_the_first():
    start = 1_704_067_200_000_000_000
    above, below = plot_changes(result(stepped(), time=start + 10 * ORDER))
    assert below.get_xlabel() == f"time since {start}"
    np.testing.assert_array_equal(above.lines[0].get_xdata(), 10 * ORDER)
    above, below = plot_changes(result(stepped(), time=np.datetime64(start, "ns") + 10 * ORDER))
    assert below.get_xlabel() == "time since 2024-01-01T00:00:00.000000000 (µs)"
    np.testing.assert_allclose(above.lines[0].get_xdata(), ORDER / 100, rtol=1e-12)
    drawn(above)


@pytest.mark.parametrize(("start", "label"), [("1700", "time"), ("-8000", "year"), ("9900", "year")])
def test_years_of_any_age_are_drawn(start, label):
    above, below = plot_changes(result(stepped(), time=np.datetime64(start, "Y") + ORDER))
    assert below.get_xlabel() == label
    drawn(above)
    if label == "year":
        np.testing.assert_allclose(above.lines[0].get_xdata(), int(start) + ORDER, atol=0.02)


def test_given_axes_that_share_nothing_both_show_the_whole_series():
    above, below = plot_changes(result(stepped(), time=np.arange(240) / 50), axes=Figure().subplots(1, 2))
    assert above.get_xlim() == below.get_xlim() == (0.0, 239 / 50)


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


def spans(ax, alpha):
    """Left and right ends of the shaded stretches of one strength."""
    patches = [patch for patch in ax.patches if patch.get_alpha() == alpha]
    return [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in patches]


def test_places_are_shaded_in_both_panels_and_states_banded_below_the_series():
    rows = np.random.default_rng(0).normal(size=900)
    rows[300:600] += 1.2
    found = result(rows)
    above, below = plot_changes(found)
    assert found.states.tolist() == [0, 1, 0]
    expected = [tuple(places) for places in found.intervals.tolist()]
    assert spans(above, 0.2) == spans(below, 0.2) == expected
    assert spans(above, 0.6) == list(itertools.pairwise([0, *found.changes.tolist(), 899]))
    bands = [patch for patch in above.patches if patch.get_alpha() == 0.6]
    assert bands[0].get_facecolor() == bands[2].get_facecolor() != bands[1].get_facecolor()
    assert [text.get_text() for text in above.texts] == ["A", "B", "A"]
    low, high = above.get_ylim()
    assert (rows.min() - low) / (high - low) > 0.055  # the band hides no sample


def test_kinds_of_a_few_changes_stand_in_the_title():
    found = result(stepped(), n_changes=1)
    kind = ChangeKind("rhythm", 0.01, {"rhythm": 0.01}, 24.0, 12.0, "rhythm from period 24 to 12")
    assert plot_changes(dataclasses.replace(found, kinds=(kind,)))[0].get_title("left") == "1 change: rhythm"
    many = result(stepped(), n_changes=5)
    assert plot_changes(dataclasses.replace(many, kinds=(kind,) * 5))[0].get_title("left") == "5 changes"
