"""The pictures of a report, from attributes of results.

Elements, axes and paths are made in `svg`; which pictures a page shows is decided by the page.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from densdiff import messages
from densdiff.report.page import percent
from densdiff.report.svg import (
    FloatArray,
    Panel,
    Svg,
    cut,
    element,
    path_through,
    picture,
    text_element,
    tick_labels,
    ticks,
    written,
)
from densdiff.results import EFFECTS as ENDS
from densdiff.results import Curve, Map, Mixture, Shares

# Where the words for a normalized distance begin; the scale is drawn by square roots, or the first would have no room.
EFFECTS = tuple(zip((0.0, *(end for end, _ in ENDS)), (*(word for _, word in ENDS), "very large"), strict=True))
WIDE = 720.0  # of a picture as wide as the page; the others are half of it
_HALF = WIDE / 2
_SHADES = 6  # of a map, for each sign
_NAME = 15  # narrow characters of a level beside its bars
_THINNED = 600  # runs of a long series, drawn as their ranges


def _root(value: float) -> float:
    return float(np.sqrt(min(max(value, 0.0), 1.0)))


def effect_scale(value: float, interval: tuple[float, float] | None) -> Svg:
    """A distance with its interval on the scale from 0 to 1, with the words for its parts."""
    panel = Panel((0.0, 1.0), (0.0, 1.0), 26.0, 20.0, _HALF - 10.0, 46.0)
    ends = [*(limit for limit, _ in EFFECTS), 1.0]
    elements = []
    for k, (start, end) in enumerate(pairwise(ends)):
        left, right = (float(panel.across(_root(limit))) for limit in (start, end))
        here = start <= value < end or (end == 1.0 and value >= start)
        box = {"x": left, "y": panel.top, "width": right - left, "height": panel.bottom - panel.top}
        elements.append(element("rect", **box, class_=f"zone{k % 2}{' here' * here}"))
        # the first word is wider than its part
        at, side = (left + (right - left) / 2, "mid") if start else (right - 2.0, "end")
        elements.append(text_element("text", EFFECTS[k][1], x=at, y=12.0, class_=f"{side} small{' strong' * here}"))
    elements.append(panel.below([_root(end) for end in ends], [f"{end:g}" for end in ends]))
    elements.append(_mark(panel, value, interval, "mark strong"))
    limits = "" if interval is None else f", between {interval[0]:.3g} and {interval[1]:.3g}"
    title = f"Distance {value:.3g} on a scale from 0, equal, to 1, no overlap{limits}"
    return picture(title, _HALF, 68.0, *elements, kind="scale")


def rank_mark(name: str, value: float, interval: tuple[float, float], differs: bool) -> Svg:
    """The distance of one column with its interval on a small scale from 0 to 1."""
    panel = Panel((0.0, 1.0), (0.0, 1.0), 6.0, 2.0, 194.0, 20.0)
    elements = [panel.upright(_root(limit), "grid") for limit in (*(limit for limit, _ in EFFECTS), 1.0)]
    title = f"{messages.quote_name(name)}: {value:.3g}, between {interval[0]:.3g} and {interval[1]:.3g}"
    kind = "mark strong" if differs else "mark"
    return picture(title, 200.0, 22.0, *elements, _mark(panel, value, interval, kind), kind="rank")


def _mark(panel: Panel, value: float, interval: tuple[float, float] | None, kind: str) -> Svg:
    """A dot, and its interval as a line."""
    down, elements = float(panel.down(0.5)), []
    if interval is not None:
        x = panel.across(np.array([_root(end) for end in interval]))
        elements.append(element("path", d=path_through(x, np.array([down, down])), class_="span"))
    elements.append(element("circle", cx=float(panel.across(_root(value))), cy=down, r=4.5, class_="dot"))
    return element("g", *elements, class_=kind)


def densities(name: str, curve: Curve) -> Svg:
    """Both densities of a column of numbers."""
    top = float(max(np.nanmax(curve.a), np.nanmax(curve.b), 0.0)) or 1.0
    panel = _panel(curve.points, (0.0, 1.08 * top))
    elements = [
        _y_axis(panel),
        panel.area(curve.points, np.zeros_like(curve.a), np.maximum(curve.a, 0.0), "in-a area"),
        panel.line(curve.points, np.maximum(curve.a, 0.0), "in-a line"),
        panel.line(curve.points, np.maximum(curve.b, 0.0), "in-b line thick"),
        _x_axis(panel),
    ]
    return picture(f"Densities of {messages.quote_name(name)} in A and in B", _HALF, 190.0, *elements)


def difference(name: str, curve: Curve) -> Svg:
    """Density in B minus density in A with its band, coloured where the band excludes 0."""
    reach = 1.05 * float(np.nanmax(np.abs([curve.difference, curve.lower, curve.upper]))) or 1.0
    panel = _panel(curve.points, (-reach, reach))
    zero = np.zeros_like(curve.difference)
    sure = (curve.lower > 0) | (curve.upper < 0)
    elements = [_y_axis(panel), panel.area(curve.points, curve.lower, curve.upper, "band")]
    for kind, sign in (("in-b", 1), ("in-a", -1)):
        height = np.where(sure & (sign * curve.difference > 0), curve.difference, zero)
        if height.any():
            elements.append(panel.area(curve.points, zero, height, f"{kind} solid"))
    elements += [panel.level(0.0, "axis"), panel.line(curve.points, curve.difference, "line"), _x_axis(panel)]
    title = f"Density of {messages.quote_name(name)} in B minus density in A, with a band for all points at once"
    return picture(title, _HALF, 190.0, *elements)


def _panel(points: FloatArray, y: tuple[float, float]) -> Panel:
    return Panel((float(points[0]), float(points[-1])), y, 46.0, 8.0, _HALF - 10.0, 166.0)


def _x_axis(panel: Panel) -> Svg:
    values = ticks(*panel.x, 5)
    return panel.below(values, tick_labels(values))


def _y_axis(panel: Panel) -> Svg:
    values = ticks(*panel.y, 6)
    return panel.beside(values, tick_labels(values))


def share_bars(name: str, shares: Shares) -> Svg:
    """The shares of each level in A and in B, one bar under the other."""
    top = float(max(shares.a.max(), shares.b.max(), 1e-9))
    panel = Panel((0.0, top), (0.0, 1.0), 110.0, 0.0, _HALF - 54.0, 1.0)
    elements, down = [], 4.0
    for level, share_a, share_b in zip(shares.levels, shares.a.tolist(), shares.b.tolist(), strict=True):
        label = cut(messages.quote_name(level), _NAME)
        elements.append(text_element("text", label, x=panel.left - 8.0, y=down + 18.0, class_="end name"))
        for k, (kind, share) in enumerate((("in-a", share_a), ("in-b", share_b))):
            y, width = down + 14.0 * k, float(panel.across(share)) - panel.left
            elements.append(element("rect", x=panel.left, y=y, width=width, height=12.0, class_=f"{kind} solid"))
            elements.append(
                text_element("text", percent(share), x=panel.left + width + 5.0, y=y + 10.0, class_="small")
            )
        down += 36.0
    axis = element("path", d=f"M{panel.left:.0f} 0V{down - 6:.0f}", class_="axis")
    return picture(f"Shares of the levels of {messages.quote_name(name)} in A and in B", _HALF, down, *elements, axis)


def difference_map(first: str, second: str, drawn: Map) -> Svg:
    """The difference of two columns as shades, B minus A; a column of categories goes beside, one of numbers below."""
    x, y, values = drawn.x, drawn.y, np.nan_to_num(drawn.values)
    if isinstance(x, tuple) and not isinstance(y, tuple):
        x, y, values, first, second = y, x, values.T, second, first
    left, foot = (110.0 if isinstance(y, tuple) else 46.0), (64.0 if isinstance(x, tuple) else 20.0)
    height = 34.0 * len(y) + 20.0 if isinstance(y, tuple) else 260.0
    panel = Panel(_range(x), _range(y), left, 20.0, _HALF - 10.0, 20.0 + height)
    if isinstance(y, tuple):
        labels = [cut(messages.quote_name(level), _NAME) for level in y]
        beside = panel.beside([float(k) for k in range(len(y))], labels)
    else:
        beside = _y_axis(panel)
    below = _slanted_labels(panel, x) if isinstance(x, tuple) else _x_axis(panel)
    elements = [beside, *_shades(panel, values), below]  # the ground hides the lines of the axis
    elements.append(text_element("text", f"↑ {cut(messages.quote_name(second), 50)}", x=4.0, y=12.0, class_="name"))
    elements.append(
        text_element(
            "text",
            f"{cut(messages.quote_name(first), 50)} →",
            x=panel.right,
            y=panel.bottom + foot + 14.0,
            class_="end name",
        )
    )
    title = (
        f"Where {messages.quote_name(first)} and {messages.quote_name(second)} are more frequent in B, and where in A"
    )
    return picture(title, _HALF, panel.bottom + foot + 20.0, *elements)


def _range(axis: FloatArray | tuple[str, ...]) -> tuple[float, float]:
    """Half a cell beyond the first and the last point."""
    if isinstance(axis, tuple):
        return -0.5, len(axis) - 0.5
    half = (axis[1] - axis[0]) / 2
    return float(axis[0] - half), float(axis[-1] + half)


def _slanted_labels(panel: Panel, levels: tuple[str, ...]) -> Svg:
    elements = []
    for k, level in enumerate(levels):
        at, y = float(panel.across(float(k))), panel.bottom + 12.0
        turn = f"rotate(-40 {at:.1f} {y:.1f})"
        elements.append(
            text_element("text", cut(messages.quote_name(level), 11), x=at, y=y, class_="end", transform=turn)
        )
    return Svg("".join(elements))


def _shades(panel: Panel, values: FloatArray) -> list[Svg]:
    """Cells of one shade as one path; neighbours in a row are one piece of it."""
    rows, columns = values.shape
    x = np.linspace(panel.left, panel.right, columns + 1)
    y = np.linspace(panel.bottom, panel.top, rows + 1)
    across, down = ([written(float(at)) for at in axis] for axis in (x, y))
    shade = np.rint(_SHADES * values / (np.abs(values).max() or 1.0)).astype(np.intp)
    paths: dict[int, list[str]] = {}
    for i in range(rows):
        breaks = np.flatnonzero(np.diff(shade[i])) + 1
        starts, stops = [0, *breaks.tolist()], [*breaks.tolist(), columns]
        for start, stop in zip(starts, stops, strict=True):
            left, right = across[start], across[stop]
            piece = f"M{left} {down[i]}H{right}V{down[i + 1]}H{left}Z"
            paths.setdefault(int(shade[i, start]), []).append(piece)
    back = element("rect", x=x[0], y=y[-1], width=x[-1] - x[0], height=y[0] - y[-1], class_="ground")
    return [back] + [
        element(
            "path", d="".join(paths[k]), class_="in-b cell" if k > 0 else "in-a cell", opacity=f"{abs(k) / _SHADES:.2f}"
        )
        for k in sorted(paths)
        if k
    ]


def share_intervals(labels: list[str], shares: FloatArray, intervals: FloatArray | None) -> Svg:
    """The share of each class with its interval, from 0 to 1."""
    height = 28.0 * len(labels)
    panel = Panel((0.0, 1.0), (0.0, 1.0), 110.0, 4.0, _HALF - 20.0, height + 4.0)
    values = [0.0, 0.25, 0.5, 0.75, 1.0]
    elements = [panel.upright(value, "grid") for value in values]
    for c, label in enumerate(labels):
        down = 18.0 + 28.0 * c
        elements.append(text_element("text", cut(label, _NAME), x=panel.left - 8.0, y=down + 4.0, class_="end name"))
        at = float(panel.across(float(shares[c])))
        elements.append(
            element("rect", x=panel.left, y=down - 8.0, width=at - panel.left, height=16.0, class_="in-b area")
        )
        inside = [element("circle", cx=at, cy=down, r=4.5, class_="dot")]
        if intervals is not None:
            ends = panel.across(intervals[c])
            inside.insert(0, element("path", d=path_through(ends, np.full(2, down)), class_="span"))
        elements.append(element("g", *inside, class_="mark strong"))
    axis = panel.below(values, ["0", "25 %", "50 %", "75 %", "100 %"])
    return picture("Estimated share of each class with its interval", _HALF, height + 26.0, *elements, axis)


def mixture(labels: list[str], drawn: Mixture) -> Svg:
    """The classes in their shares, stacked, under the density of the new rows."""
    stack = np.vstack([np.zeros_like(drawn.new), np.cumsum(drawn.classes, axis=0)])
    top = float(max(stack[-1].max(), drawn.new.max())) or 1.0
    panel = _panel(drawn.points, (0.0, 1.08 * top))
    elements, names = [_y_axis(panel)], []
    for k, label in enumerate(labels):
        elements.append(panel.area(drawn.points, stack[k], stack[k + 1], f"class-{k % 6} stack"))
        at = int(np.argmax(drawn.classes[k]))
        if drawn.classes[k][at] > 0.08 * top:
            middle = float(panel.down((stack[k][at] + stack[k + 1][at]) / 2.0)) + 4.0
            across = float(panel.across(drawn.points[at]))
            names.append(text_element("text", cut(label, _NAME), x=across, y=middle, class_="mid name"))
    elements += [panel.line(drawn.points, drawn.new, "line thick"), *names, _x_axis(panel)]
    title = f"Mixture of the classes and density of the new rows, {messages.quote_name(drawn.column)}"
    return picture(title, _HALF, 190.0, *elements)


def series_line(
    at: FloatArray, values: FloatArray, name: str, marks: FloatArray, axis: tuple[list[float], list[str]], height: float
) -> Svg:
    """One column of a series with the places of its changes."""
    low, high = float(values.min()), float(values.max())
    pad = 0.06 * (high / 2 - low / 2) * 2 or 0.5 * abs(high) or 0.5
    panel = Panel(_span(at), (low - pad, high + pad), 70.0, 8.0, WIDE - 14.0, 8.0 + height)
    elements = [
        _y_axis(panel),
        *_thinned_line(panel, at, values),
        *(panel.upright(mark, "change") for mark in marks.tolist()),
    ]
    return picture(
        f"{messages.quote_name(name)} over time", WIDE, height + 38.0, *elements, panel.below(*axis), kind="wide"
    )


def score_line(
    at: FloatArray, scores: FloatArray, threshold: float, marks: FloatArray, axis: tuple[list[float], list[str]]
) -> Svg:
    """The score of a series with the threshold that it must exceed."""
    tops = [
        float(np.nanmax(scores)) if np.isfinite(scores).any() else 0.0,
        threshold if np.isfinite(threshold) else 0.0,
    ]
    panel = Panel(_span(at), (0.0, 1.08 * max(tops) or 1.0), 70.0, 8.0, WIDE - 14.0, 130.0)
    elements = [_y_axis(panel), *_thinned_line(panel, at, scores)]
    if np.isfinite(threshold):
        elements.append(panel.level(threshold, "threshold"))
    elements += [panel.upright(mark, "change") for mark in marks.tolist()]
    return picture("Score over time, and its threshold", WIDE, 160.0, *elements, panel.below(*axis), kind="wide")


def _span(at: FloatArray) -> tuple[float, float]:
    low, high = float(at[0]), float(at[-1])
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _thinned_line(panel: Panel, at: FloatArray, values: FloatArray) -> list[Svg]:
    """A line, or for many samples the range of each run of them."""
    if len(values) <= 2 * _THINNED:
        return [panel.line(at, values, "line")]
    starts = np.arange(0, len(values), -(-len(values) // _THINNED))
    low, high = np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)
    known: npt.NDArray[np.bool_] = np.isfinite(low)
    return [panel.area(at[starts][known], low[known], high[known], "range")]
