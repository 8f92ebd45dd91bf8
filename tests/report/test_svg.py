"""Drawing in SVG: ticks, cut text and escapes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from densdiff.report import svg
from tests.pages import Elements


@given(st.text(), st.text())
def test_any_text_is_escaped_in_pictures(text, name):
    drawn = svg.picture(name, 1.0, 1.0, svg.text_element("text", text, class_=name))
    parsed = Elements(drawn)
    assert [tag for tag, _ in parsed.tags] == ["svg", "title", "text"]
    assert "".join(parsed.of("text")) == svg.plain(text).replace("\r", "")
    assert parsed.tags[2][1]["class"] == svg.plain(name)


@given(st.text(alphabet="ab温度", max_size=40), st.integers(2, 30))
def test_cut_text_fits_and_begins_the_same(text, most):
    cut = svg.cut(text, most)
    width = sum(2 if c in "温度" else 1 for c in cut)
    assert width <= most
    assert cut == text or (cut[-1] == "…" and text.startswith(cut[:-1]))


finite = st.floats(-1e15, 1e15)


@given(finite, st.floats(1e-9, 1e15), st.integers(2, 8))
def test_ticks_are_even_and_inside(low, span, most):
    high = low + span * max(1.0, abs(low) / 1e3)
    found = svg.ticks(low, high, most)
    slack = 1e-6 * (high - low)
    assert 1 <= len(found) <= most + 1
    assert low - slack <= found[0] <= found[-1] <= high + slack
    assert np.ptp(np.diff(found)) <= slack if len(found) > 1 else True
    assert len(set(svg.tick_labels(found))) == len(found)


def test_tick_labels_read_well():
    assert svg.tick_labels([-0.5, 0.0, 0.5]) == ["\N{MINUS SIGN}0.5", "0", "0.5"]
    assert svg.tick_labels([20000.0, 40000.0]) == ["20000", "40000"]
    assert svg.tick_labels([0.0, 2e-7]) == ["0", "2e\N{MINUS SIGN}07"]
    assert svg.tick_labels(svg.ticks(3.0, 3.0, 5)) == ["3.000"]
