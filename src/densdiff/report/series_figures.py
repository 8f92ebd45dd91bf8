"""Pictures over time for the page of changes: columns, the score, states, and what changed.

Elements, axes and paths are made in `svg`; what is drawn of the features that changed comes from `change_features`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from densdiff import messages
from densdiff.report.svg import WIDE, FloatArray, Panel, Svg, element, picture, text_element, tick_labels, ticks

STATE_COLOURS = 7  # then they begin again, and letters tell
_LEFT, _RIGHT = 70.0, WIDE - 14.0
_THINNED = 600  # runs of a long series, drawn as their ranges
_LOW = 100.0  # height of a panel with few numbers beside it
_LETTER = 24.0  # width of a segment with its letter


class TimeAxis(NamedTuple):
    """Where samples stand, the ticks, and the changes with the places where they may be."""

    at: FloatArray  # (T,)
    ticks: tuple[list[float], list[str]]
    changes: FloatArray  # (k,)
    places: FloatArray  # (k, 2)

    @property
    def span(self) -> tuple[float, float]:
        low, high = float(self.at[0]), float(self.at[-1])
        return (low, high) if high > low else (low - 0.5, high + 0.5)

    def shade(self, panel: Panel) -> list[Svg]:
        """The intervals of places, to be drawn below a line."""
        ends = panel.across(self.places)
        top, height = panel.top, panel.bottom - panel.top
        return [
            element("rect", x=left, y=top, width=right - left, height=height, class_="place")
            for left, right in ends.tolist()
            if right > left
        ]

    def mark(self, panel: Panel) -> list[Svg]:
        """The changes and the horizontal axis, to be drawn above a line."""
        return [*(panel.upright(change, "change") for change in self.changes.tolist()), panel.below(*self.ticks)]


def series_line(axis: TimeAxis, values: FloatArray, name: str, height: float) -> Svg:
    """One column of a series with the places of its changes."""
    low, high = float(values.min()), float(values.max())
    pad = 0.06 * (high / 2 - low / 2) * 2 or 0.5 * abs(high) or 0.5
    return _over_time(axis, axis.at, values, (low - pad, high + pad), f"{messages.quote_name(name)} over time", height)


def feature_line(axis: TimeAxis, at: FloatArray, values: FloatArray, name: str) -> Svg:
    """A feature of blocks over time."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    pad = 0.08 * (high - low) or 0.5 * abs(high) or 0.5
    return _over_time(axis, at, values, (low - pad, high + pad), f"{name} over time", 70.0)


def score_line(axis: TimeAxis, scores: FloatArray, threshold: float) -> Svg:
    """The score of a series with the threshold that it must exceed."""
    top = float(np.nanmax(scores)) if np.isfinite(scores).any() else 0.0
    top = max(top, threshold if np.isfinite(threshold) else 0.0)
    limits = (0.0, 1.08 * top or 1.0)
    return _over_time(axis, axis.at, scores, limits, "Score over time, and its threshold", 122.0, threshold)


def state_ribbon(axis: TimeAxis, starts: FloatArray, states: npt.NDArray[np.intp]) -> Svg:
    """A band of one colour for each state, with its letter where there is room."""
    panel = Panel(axis.span, (0.0, 1.0), _LEFT, 2.0, _RIGHT, 26.0)
    edges = panel.across(np.append(starts, axis.span[1])).tolist()
    bands, letters = [], []
    for (left, right), state in zip(pairwise(edges), states.tolist(), strict=True):
        box = {"x": left, "y": panel.top, "width": right - left, "height": panel.bottom - panel.top}
        bands.append(element("rect", **box, class_=f"state state-{state % STATE_COLOURS}"))
        if right - left >= _LETTER:
            middle, letter = left / 2 + right / 2, messages.state_name(state)
            letters.append(text_element("text", letter, x=middle, y=19.0, class_="mid name letter"))
    return picture("States over time", WIDE, 28.0, *bands, *letters, kind="wide")


def _over_time(
    axis: TimeAxis,
    at: FloatArray,
    values: FloatArray,
    limits: tuple[float, float],
    title: str,
    height: float,
    threshold: float = np.nan,
) -> Svg:
    panel = Panel(axis.span, limits, _LEFT, 8.0, _RIGHT, 8.0 + height)
    beside = ticks(*limits, 6)
    if height < _LOW:  # on a phone three numbers fit
        beside = beside[:: -(-len(beside) // 3)]
    elements = [panel.beside(beside, tick_labels(beside)), *axis.shade(panel), *_thinned_line(panel, at, values)]
    if np.isfinite(threshold):
        elements.append(panel.level(threshold, "threshold"))
    foot = 38.0 if axis.ticks[0] else 14.0
    return picture(title, WIDE, height + foot, *elements, *axis.mark(panel), kind="wide")


def _thinned_line(panel: Panel, at: FloatArray, values: FloatArray) -> list[Svg]:
    """A line, or for many samples the range of each run of them."""
    if len(values) <= 2 * _THINNED:
        return [panel.line(at, values, "line")]
    starts = np.arange(0, len(values), -(-len(values) // _THINNED))
    low, high = np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)
    known: npt.NDArray[np.bool_] = np.isfinite(low)
    return [panel.area(at[starts][known], low[known], high[known], "range")]
