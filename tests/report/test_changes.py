"""The page of changes shows places, states, and the features that changed."""

import dataclasses
import re

import numpy as np
import pytest

import densdiff as dd
from densdiff import messages
from densdiff.report.change_features import changed_features
from densdiff.series.kinds import ChangeKind
from tests.pages import Elements, page_of


def kind(what, before=None, after=None):
    return ChangeKind(what, 0.01, {what: 0.01}, before, after, f"{what} <changed>")


@pytest.fixture(scope="module")
def there_and_back():
    """Two columns; the second is higher for a while, and then the first is louder."""
    rows = np.random.default_rng(0).normal(size=(600, 2))
    rows[200:400, 1] += 2.0
    return dd.detect_changes(rows, random_state=0)


def test_page_has_a_band_of_states_with_a_legend(there_and_back, tmp_path):
    page = page_of(there_and_back, tmp_path)
    assert there_and_back.states.tolist() == [0, 1, 0]
    assert re.findall(r'class="state (state-\d)"', page) == ["state-0", "state-1", "state-0"]
    shown = "".join(text for inside, text in Elements(page).text if inside not in ("pre", "style"))
    assert "A: segments 1, 3" in shown
    assert "B: segment 2" in shown
    assert "2 states: segments 1, 3 alike." in shown


def test_places_are_shaded_where_they_are_longer_than_a_sample(there_and_back, tmp_path):
    intervals = np.array([[190, 210], [400, 400]])
    page = page_of(dataclasses.replace(there_and_back, intervals=intervals, kinds=()), tmp_path)
    boxes = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="[\d.]+" class="place"/>', page)
    left, width = 70 + 636 * 190 / 599, 636 * 20 / 599
    assert len(boxes) == 3  # two columns and the score
    for box in boxes:
        np.testing.assert_allclose(np.array(box, dtype=float), [left, width], atol=0.051)
    assert "190 to 210" in page


def test_page_without_change_has_neither_states_nor_places(tmp_path):
    page = page_of(dd.detect_changes(np.random.default_rng(1).normal(size=200), random_state=0), tmp_path)
    assert 'class="state ' not in page
    assert 'class="place"' not in page
    assert "interval" not in re.sub(r"<(style|pre)>.*?</\1>", "", page, flags=re.DOTALL)


def test_kinds_are_told_and_drawn(there_and_back, tmp_path):
    told = dataclasses.replace(there_and_back, kinds=(kind("level"), kind("spread")), period=24.0)
    page = page_of(told, tmp_path)
    assert "level &lt;changed&gt;" in page
    assert "mean of x1 in blocks of" in page
    assert "standard deviation of" in page
    assert "24 samples" in page


def test_states_beyond_the_colours_are_told_by_letters(there_and_back, tmp_path):
    changes = np.arange(50, 600, 50)
    intervals = np.column_stack([changes, changes])
    many = dataclasses.replace(
        there_and_back, changes=changes, intervals=intervals, pvalues=np.full(11, 0.01), states=np.arange(12), kinds=()
    )
    page = page_of(many, tmp_path)
    assert re.findall(r'class="mid name letter">(\w)<', page) == list("ABCDEFGHIJKL")


@pytest.mark.parametrize(("state", "name"), [(0, "A"), (25, "Z"), (26, "AA"), (27, "AB"), (701, "ZZ"), (702, "AAA")])
def test_letters_of_states_go_on_after_z(state, name):
    assert messages.state_name(state) == name


# --- features that changed


def series_result(rows, changes, *kinds, period=None):
    changes = np.array(changes)
    result = dd.detect_changes(np.random.default_rng(0).normal(size=40), n_changes=0, random_state=0)
    names = tuple(f"x{j}" for j in range(rows.shape[1]))
    return dataclasses.replace(result, series=rows, names=names, changes=changes, kinds=kinds, period=period, window=40)


def test_each_kind_is_drawn_once_by_the_column_that_shows_it_best():
    random = np.random.default_rng(0)
    rows = random.normal(size=(900, 3))
    rows[300:, 1] += 3.0
    rows[600:, 2] *= 4.0
    level, spread = changed_features(series_result(rows, [300, 600], kind("level"), kind("spread"), kind("level")))
    assert level.name == "mean of x1 in blocks of 20 samples"
    assert spread.name == "standard deviation of x2 in blocks of 20 samples"
    np.testing.assert_allclose(level.values, rows[:, 1].reshape(45, 20).mean(axis=1))
    np.testing.assert_allclose(spread.values, rows[:, 2].reshape(45, 20).std(axis=1))
    np.testing.assert_array_equal(level.middles, 10 + 20 * np.arange(45))


def test_a_rhythm_is_drawn_by_its_strongest_period():
    period = np.repeat([24, 12], 720)
    wave = np.sin(2 * np.pi * np.cumsum(1 / period))[:, None]
    feature = changed_features(series_result(wave, [720], kind("rhythm", 24.0, 12.0)))[0]
    assert feature.name == "strongest period of x0 in blocks of 72 samples"
    np.testing.assert_allclose(feature.values, np.repeat([24.0, 12.0], 10), rtol=0.02)


def test_a_correlation_is_drawn_by_the_pair_that_shows_it_best():
    rows = np.random.default_rng(0).normal(size=(800, 4))
    rows[400:, 3] = 0.9 * rows[400:, 1] + 0.4 * rows[400:, 3]
    feature = changed_features(series_result(rows, [400], kind("correlation")))[0]
    assert feature.name == "correlation of x1 and x3 in blocks of 20 samples"
    assert feature.values[:20].mean() == pytest.approx(0.0, abs=0.2)
    assert feature.values[20:].mean() == pytest.approx(0.9, abs=0.1)


@pytest.mark.parametrize("what", ["level", "spread", "correlation", "rhythm"])
@pytest.mark.parametrize("rows", [np.zeros((64, 2)), np.tile([[1.7e308, -1.7e308]], (64, 1))], ids=["zeros", "largest"])
def test_features_of_any_series_are_finite(what, rows):
    features = changed_features(series_result(rows, [32], kind(what)))
    assert np.isfinite(features[0].values).all()


def test_a_change_of_no_named_kind_is_not_drawn():
    assert changed_features(series_result(np.zeros((64, 1)), [32], kind("distribution"))) == []
