"""Figures of a page draw what the result holds, where it is."""

import dataclasses
import re

import numpy as np
import pytest

from densdiff.comparing.wording import EFFECTS, effect_word
from densdiff.report import figures
from densdiff.results import Curve, Map, Mixture, Shares
from tests.pages import Elements, coordinates


def test_curves_are_drawn_where_they_are():
    points = np.linspace(2.0, 5.0, 31)
    curve = Curve(points, np.sin(points) ** 2, np.cos(points) ** 2, np.cos(2 * points), *np.ones((2, 31)))
    drawn = figures.densities("x", curve)
    for kind, expected in (("in-a line", curve.a), ("in-b line thick", curve.b)):
        x, y = coordinates(re.search(rf'd="([^"]*)" class="{kind}"', drawn)[1]).T
        # one decimal of a unit, of which the range takes 304 across and 158 down
        np.testing.assert_allclose(x, 46 + 304 * (points - 2.0) / 3.0, atol=0.051)
        np.testing.assert_allclose(y, 166 - 158 * expected / (1.08 * max(curve.a.max(), curve.b.max())), atol=0.051)


def test_difference_is_coloured_only_where_the_band_leaves_out_zero():
    points = np.linspace(0.0, 1.0, 5)
    estimate = np.array([-1.0, -1.0, 0.0, 1.0, 1.0])
    unsure = Curve(points, points, points, estimate, estimate - 2.0, estimate + 2.0)
    assert "solid" not in figures.difference("x", unsure)
    sure = dataclasses.replace(unsure, lower=estimate - [2.0, 2.0, 2.0, 2.0, 0.5])
    assert "in-b solid" in figures.difference("x", sure)
    assert "in-a solid" not in figures.difference("x", sure)


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
    widths = [float(width) for width in re.findall(r'<rect[^>]*width="([\d.]+)"', figures.share_bars("x", shares))]
    np.testing.assert_allclose(widths, 196 * np.array([0.25, 0.5, 0.75, 0.5]) / 0.75, atol=0.051)


def test_map_paints_each_cell_with_the_shade_of_its_value():
    values = np.random.default_rng(0).normal(size=(7, 9))
    drawn = figures.difference_map("x", "y", Map(np.arange(9.0), np.arange(7.0), values))
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
    parsed = Elements(figures.difference_map("x", "y", Map(x, y, np.eye(3))))
    assert [text for text in parsed.of("text") if text in names] == list(names) * sum(levels)


def test_words_of_the_scale_are_those_of_the_answer():
    limits, names = zip(*EFFECTS, strict=True)
    assert tuple(zip((0.0, *limits), (*names, "very large"), strict=True)) == figures.EFFECTS


@pytest.mark.parametrize("value", [0.0, 0.009, 0.01, 0.3, 0.5, 1.0])
def test_scale_marks_the_value_and_its_word(value):
    drawn = figures.effect_scale(value, (value / 2, value))
    assert re.findall(r'strong">([^<]+)<', drawn) == [effect_word(value)]
    at = float(re.search(r'cx="([\d.]+)"', drawn)[1])
    np.testing.assert_allclose(at, 26 + 324 * value**0.5, atol=0.051)
