"""The picture of a comparison ranks columns, with intervals, for any names and any number of them."""

import itertools
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

import densdiff as dd
from densdiff.errors import InputError
from densdiff.plots import plot_comparison
from densdiff.plots.canvas import MORE_Y


@pytest.fixture(scope="module")
def found():
    random = np.random.default_rng(0)
    a = {name: random.normal(size=60) for name in ("moved", "still")} | {"kind": random.choice(["u", "v"], 60)}
    b = {name: random.normal(size=60) for name in ("moved", "still")} | {"kind": random.choice(["u", "v"], 60)}
    b["moved"] += 2.0
    return dd.compare(a, b, n_permutations=39, random_state=0)


def column(name="x", value=0.2, lower=0.1, differs=True):
    interval = (lower, 1.0)
    return SimpleNamespace(name=name, total_variation=value, total_variation_interval=interval, differs=differs)


def comparison(columns, effect="small", names=("A", "B")):
    """What the picture reads of a result."""
    return SimpleNamespace(columns=columns, distance=None, effect=effect, names=names)


def bars(ax):
    """Value, place and ends of each column, by colour."""
    drawn = {}
    for points, _, (lines,) in ax.containers:
        xs, ys = points.get_data()
        ends = [segment[:, 0] for segment in lines.get_segments()]
        drawn[to_rgba(points.get_color())] = [(x, y, *end) for x, y, end in zip(xs, ys, ends, strict=True)]
    return drawn


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_columns_are_ranked_with_their_intervals(found):
    ax = plot_comparison(found)
    assert labels(ax) == [each.name for each in found.columns]
    assert labels(ax)[0] == "moved"
    drawn = bars(ax)
    for color, differs in ((MORE_Y, True), ("0.6", False)):
        expected = [
            (100 * each.total_variation, k, 100 * each.total_variation_interval[0], 100 * each.total_variation)
            for k, each in enumerate(found.columns)
            if each.differs == differs
        ]
        np.testing.assert_allclose(drawn[to_rgba(color)], expected, rtol=1e-12, atol=1e-12)
    low, high = ax.get_ylim()
    assert low > high  # the first on top
    assert ax.get_title("left") == f"{found.effect} difference"
    assert ax.get_xlabel() == "% of the rows that would have to change for B to look like A"


def test_the_method_draws_the_same(found):
    first, second = found.plot(), plot_comparison(found)
    assert labels(first) == labels(second)
    assert bars(first) == bars(second)


def test_the_legend_names_what_is_there_and_hides_nothing(found):
    for columns, words in (
        (found.columns, ["significant", "not significant"]),
        ([column()], ["significant"]),
        ([column(differs=False)], ["not significant"]),
    ):
        ax = plot_comparison(comparison(columns))
        ax.figure.draw_without_rendering()
        assert [text.get_text() for text in ax.get_legend().get_texts()] == words
        assert not ax.get_legend().get_window_extent().overlaps(ax.patch.get_window_extent().shrunk(0.99, 0.99))


def test_every_interval_lies_within_the_axis():
    for lower, value in ((0.0, 0.0), (0.0, 1e-9), (0.3, 1.0)):
        ax = plot_comparison(comparison([column(value=value, lower=lower)]))
        low, high = ax.get_xlim()
        assert low < 100 * lower <= 100 * value < high
        ax.figure.draw_without_rendering()


def test_nothing_bounds_a_total_variation_from_above():
    ax = plot_comparison(comparison([column("u"), column("v", 0.6)]))
    arrows = [line for line in ax.lines if line.get_marker() == 9]
    np.testing.assert_allclose(np.concatenate([line.get_xdata() for line in arrows]), [20.0, 60.0])


def test_tables_have_the_names_that_the_user_gave_them():
    ax = plot_comparison(comparison([column()], names=("January", "a file name that goes on and on, July.csv")))
    assert ax.get_xlabel().endswith("for a file na…, July.csv to look like January")


def test_an_estimate_below_its_limit_is_drawn():
    ax = plot_comparison(comparison([column(value=0.05, lower=0.1)]))
    ax.figure.draw_without_rendering()
    assert ax.containers


@pytest.mark.parametrize(("count", "title"), [(25, "small difference"), (40, "small difference; 15 more columns")])
def test_the_first_of_many_columns_are_drawn_and_the_others_counted(count, title):
    ax = plot_comparison(comparison([column(f"c{j}") for j in range(count)]))
    assert labels(ax) == [f"c{j}" for j in range(25)]
    assert ax.get_title("left") == title


@pytest.mark.parametrize("count", [1, 2, 12, 25])
def test_names_do_not_overlap(count):
    ax = plot_comparison(comparison([column(f"a rather long name of column {j}") for j in range(count)]))
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert all(lower.y1 < upper.y0 for upper, lower in itertools.pairwise(boxes))
    assert all(box.x0 >= 0 for box in boxes)


def test_names_are_shown_as_text():
    names = ["$\\frac{a <b>\x1b[31m", "_hidden", "", "two\nlines", "\u202etfel", "n" * 10_000]
    ax = plot_comparison(comparison([column(name) for name in names]))
    ax.figure.draw_without_rendering()
    shown = labels(ax)
    assert all(text.isprintable() for text in shown)
    assert "frac" in shown[0]
    assert shown[1] == "_hidden"
    assert max(map(len, shown)) <= 50
    assert len(ax.get_yticks()) == len(names)


def test_given_axes_are_drawn_into(found):
    ax = Figure().subplots()
    assert plot_comparison(found, ax) is ax
    assert found.plot(ax) is ax


@pytest.mark.parametrize("result", [None, 3, [], np.zeros(3), SimpleNamespace(columns=[])], ids=repr)
def test_what_is_no_comparison_is_refused(result):
    with pytest.raises(InputError, match="plot_comparison draws what compare returns; got"):
        plot_comparison(result)


def test_pyplot_is_left_alone(found):
    before = sys.modules.get("matplotlib.pyplot")
    numbers = before.get_fignums() if before else []
    plot_comparison(found)
    after = sys.modules.get("matplotlib.pyplot")
    assert after is before
    assert (after.get_fignums() if after else []) == numbers


def test_the_result_is_left_as_it_was(found):
    before = found.to_json()
    plot_comparison(found)
    assert found.to_json() == before
