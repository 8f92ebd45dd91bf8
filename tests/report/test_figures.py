"""Figures of a page draw what the result holds, where it is."""

import dataclasses
import re

import numpy as np
import pytest

from densdiff.comparing.wording import EFFECTS, effect_word
from densdiff.report import column_figures, figures
from densdiff.results import Bars, Curve, Map, Mixture, Shares
from tests.pages import Elements, coordinates

AB = ("January", "July")


def test_curves_are_drawn_where_they_are():
    points = np.linspace(2.0, 5.0, 31)
    curve = Curve(points, np.sin(points) ** 2, np.cos(points) ** 2, np.cos(2 * points), *np.ones((2, 31)))
    drawn = column_figures.densities("x", curve, AB)
    for kind, expected in (("in-a line", curve.a), ("in-b line thick", curve.b)):
        x, y = coordinates(re.search(rf'd="([^"]*)" class="{kind}"', drawn)[1]).T
        # one decimal of a unit, of which the range takes 304 across and 158 down
        np.testing.assert_allclose(x, 46 + 304 * (points - 2.0) / 3.0, atol=0.051)
        np.testing.assert_allclose(y, 166 - 158 * expected / (1.08 * max(curve.a.max(), curve.b.max())), atol=0.051)


def test_difference_is_coloured_only_where_the_band_leaves_out_zero():
    points = np.linspace(0.0, 1.0, 5)
    estimate = np.array([-1.0, -1.0, 0.0, 1.0, 1.0])
    unsure = Curve(points, points, points, estimate, estimate - 2.0, estimate + 2.0)
    assert "solid" not in column_figures.difference("x", unsure, AB)
    sure = dataclasses.replace(unsure, lower=estimate - [2.0, 2.0, 2.0, 2.0, 0.5])
    assert "in-b solid" in column_figures.difference("x", sure, AB)
    assert "in-a solid" not in column_figures.difference("x", sure, AB)


def test_mixture_fills_its_picture_and_names_its_classes():
    points = np.linspace(0.0, 10.0, 50)
    classes = np.exp(-((points - np.array([[2.0], [8.0]])) ** 2))
    drawn = figures.mixture(["low", "a" * 40], Mixture("x", points, classes, classes.sum(axis=0)))
    across = [float(x) for x in re.findall(r"[ML](\d+\.?\d*) ", drawn)]
    wide = float(re.search(r'viewBox="0 0 (\d+)', drawn)[1])
    assert 0 < min(across) < 0.15 * wide
    assert 0.95 * wide < max(across) < wide
    assert re.findall(r'mid name">([^<]*)<', drawn) == ["low", "a" * 14 + "…"]


def test_bars_are_as_long_as_their_shares():
    shares = Shares(("low", "high"), np.array([0.25, 0.75]), np.array([0.5, 0.5]))
    drawn = column_figures.share_bars("x", shares, AB)
    widths = [float(width) for width in re.findall(r'<rect[^>]*width="([\d.]+)"', drawn)]
    np.testing.assert_allclose(widths, 196 * np.array([0.25, 0.5, 0.75, 0.5]) / 0.75, atol=0.051)


def test_map_paints_each_cell_with_the_shade_of_its_value():
    values = np.random.default_rng(0).normal(size=(7, 9))
    drawn = figures.difference_map("x", "y", Map(np.arange(9.0), np.arange(7.0), values), AB)
    painted = np.zeros(values.shape)
    for d, kind, opacity in re.findall(r'<path d="([^"]*)" class="in-(.) cell" opacity="([\d.]+)"', drawn):
        for left, bottom, right, top in re.findall(r"M([\d.]+) ([\d.]+)H([\d.]+)V([\d.]+)", d):
            columns = [round((float(x) - 46) / 304 * 9) for x in (left, right)]
            rows = [round((280 - float(y)) / 260 * 7) for y in (bottom, top)]
            painted[slice(*rows), slice(*columns)] += float(opacity) * (1 if kind == "b" else -1)
    np.testing.assert_allclose(painted, np.rint(6 * values / np.abs(values).max()) / 6, atol=0.005)


@pytest.mark.parametrize("levels", [(True, False), (False, True), (True, True)])
def test_map_of_levels_names_them(levels):
    names = ("north", "south", "<b>")
    x, y = (names if each else np.arange(3.0) for each in levels)
    parsed = Elements(figures.difference_map("x", "y", Map(x, y, np.eye(3)), AB))
    assert [text for text in parsed.of("text") if text in names] == list(names) * sum(levels)


def test_words_of_the_scale_are_those_of_the_answer():
    limits, names = zip(*EFFECTS, strict=True)
    assert tuple(zip((0.0, *limits), (*names, "very large"), strict=True)) == figures.EFFECTS


@pytest.mark.parametrize("value", [0.0, 0.009, 0.01, 0.3, 0.5, 1.0])
def test_scale_marks_the_value_and_its_word(value):
    drawn = figures.effect_scale(value, (value / 2, 1.0))
    assert re.findall(r'strong">([^<]+)<', drawn) == [effect_word(value)]
    at = float(re.search(r'cx="([\d.]+)"', drawn)[1])
    np.testing.assert_allclose(at, 26 + 324 * value**0.5, atol=0.051)


def some_bars(values, width=1.0, **fields):
    random = np.random.default_rng(len(values))
    a, b = random.dirichlet(np.ones(len(values)), 2)
    return Bars(values, width, a, b, b - a, b - a - 1.0, b - a + 1.0, **fields)


def rectangles(drawn, kind):
    """Left, top, width and height of the rectangles of a kind, (k, 4)."""
    boxes = re.findall(rf'<rect x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)" class="{kind}"', drawn)
    return np.array(boxes, dtype=float)


def test_bars_of_few_values_stand_at_their_places_with_their_shares():
    bars = some_bars(np.array([1.0, 2.0, 4.0]), is_exact=True)
    drawn = column_figures.bar_shares("x", bars, AB)
    top = 1.08 * max(bars.a.max(), bars.b.max())
    for kind, shares in (("in-a area", bars.a), ("in-b outline", bars.b)):
        left, _, width, height = rectangles(drawn, kind).T
        np.testing.assert_allclose(left + width / 2, 46 + 304 * (bars.values - 0.5) / 4.0, atol=0.11)
        np.testing.assert_allclose(height, 158 * shares / top, atol=0.051)
    assert re.findall(r'mid">([^<]*)<', drawn) == ["1", "2", "4"]


def test_many_bars_are_one_line():
    bars = some_bars(np.arange(20.0))
    drawn = column_figures.bar_shares("x", bars, AB)
    x, y = coordinates(re.search(r'd="([^"]*)" class="in-b line thick"', drawn)[1]).T
    np.testing.assert_allclose(x[1:-1].reshape(20, 2).mean(axis=1), 46 + 304 * (bars.values + 0.5) / 20.0, atol=0.051)
    np.testing.assert_allclose(y[1:-1:2], 166 - 158 * bars.b / (1.08 * max(bars.a.max(), bars.b.max())), atol=0.051)
    assert len(rectangles(drawn, "in-a area")) == 20


def test_values_whose_distances_say_nothing_stand_one_after_the_other():
    bars = some_bars(np.array([-5.0, 0.0, 1e-3, 1e6]), width=0.0, is_exact=True)
    drawn = column_figures.bar_shares("x", bars, AB)
    left, _, width, _ = rectangles(drawn, "in-a area").T
    np.testing.assert_allclose(left + width / 2, 46 + 304 * (np.arange(4.0) + 0.5) / 4.0, atol=0.11)
    assert re.findall(r'mid">([^<]*)<', drawn) == ["\N{MINUS SIGN}5", "0", "0.001", "1e+06"]


def test_a_bar_is_coloured_only_where_its_limits_leave_out_zero():
    bars = some_bars(np.arange(3.0), is_exact=True)
    unsure = column_figures.bar_differences("x", bars, AB)
    assert "solid" not in unsure
    change = np.array([0.2, -0.3, 0.1])
    sure = dataclasses.replace(bars, difference=change, lower=change - 0.15, upper=change + 0.15)
    drawn = column_figures.bar_differences("x", sure, AB)
    assert len(rectangles(drawn, "band")) == 3
    assert len(rectangles(drawn, "in-b solid")) == len(rectangles(drawn, "in-a solid")) == 1


def test_a_limit_far_away_does_not_squash_the_difference():
    points, difference = np.linspace(0.0, 1.0, 121), np.sin(np.linspace(0.0, 6.0, 121))
    upper = difference + 0.2
    upper[7] = 1e6
    drawn = column_figures.difference("x", Curve(points, points, points, difference, difference - 0.2, upper), AB)
    y = coordinates(re.search(r'd="([^"]*)" class="line"', drawn)[1])[:, 1]
    assert np.ptp(y) > 0.7 * 158
    band = coordinates(re.search(r'd="([^"]*)" class="band"', drawn)[1])[:, 1]
    assert band.min() == pytest.approx(8.0, abs=0.051)  # it leaves at the edge


@pytest.mark.hostile(48)
def test_other_levels_are_told_without_bars_that_would_dwarf_the_rest():
    shares = Shares(("u", "v"), np.array([0.01, 0.03]), np.array([0.02, 0.01]), others=27)
    drawn = column_figures.share_bars("x", shares, AB)
    texts = Elements(drawn).of("text")
    assert texts[-3:] == ["other (27 levels)", "96.0 % of January", "97.0 % of July"]
    assert max(float(width) for width in re.findall(r'<rect[^>]*width="([\d.]+)"', drawn)) == pytest.approx(196)
    one = column_figures.share_bars("x", dataclasses.replace(shares, others=1), AB)
    assert "other (1 level)" in Elements(one).of("text")


def test_pictures_name_the_tables_for_those_who_cannot_see_them():
    bars, shares = some_bars(np.arange(3.0)), Shares(("u",), np.ones(1), np.ones(1))
    curve = Curve(np.arange(3.0), *np.ones((5, 3)))
    for drawn in (
        column_figures.densities("x", curve, AB),
        column_figures.difference("x", curve, AB),
        column_figures.bar_shares("x", bars, AB),
        column_figures.bar_differences("x", bars, AB),
        column_figures.share_bars("x", shares, AB),
        figures.difference_map("x", "y", Map(np.arange(3.0), np.arange(3.0), np.eye(3)), AB),
    ):
        (title,) = Elements(drawn).of("title")
        assert "January" in title
        assert "July" in title


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_a_total_variation_is_open_above(value):
    for drawn in (figures.effect_scale(value, (value / 2, 1.0)), figures.rank_mark("x", value, (value / 2, 1.0), True)):
        at = float(re.search(r'cx="([\d.]+)"', drawn)[1])
        tips = [float(tip) for tip in re.findall(r'H([\d.]+)" class="span open"', drawn)]
        assert all(tip > at for tip in tips)
        assert bool(tips) == (value < 1.0)
        (title,) = Elements(drawn).of("title")
        assert f"at least {100 * value / 2:.1f} %" in title
