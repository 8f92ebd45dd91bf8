"""The pictures of a report, from attributes of results; those of single columns are in `column_figures`, of series in
`series_figures`.

Elements, axes and paths are made in `svg`; which pictures a page shows is decided by the page.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from densdiff import messages
from densdiff.messages import percent
from densdiff.report.svg import (
    HALF,
    FloatArray,
    Panel,
    Svg,
    cut,
    element,
    half_panel,
    path_through,
    picture,
    text_element,
    written,
    x_axis,
    y_axis,
)
from densdiff.results import EFFECTS as ENDS
from densdiff.results import Map, Mixture

# Where the words for a total variation begin; the scale is drawn by square roots, or the first would have no room.
EFFECTS = tuple(zip((0.0, *(end for end, _ in ENDS)), (*(word for _, word in ENDS), "very large"), strict=True))
_SHADES = 6  # of a map, for each sign
_NAME = 15  # narrow characters of a level beside its bars
_ARROW = 20.0  # beyond a dot


def _root(value: float) -> float:
    return float(np.sqrt(min(max(value, 0.0), 1.0)))


def effect_scale(value: float, interval: tuple[float, float]) -> Svg:
    """A total variation with its interval, open above, on the scale from 0 to 1, with the words for its parts."""
    panel = Panel((0.0, 1.0), (0.0, 1.0), 26.0, 20.0, HALF - 10.0, 46.0)
    ends = [*(limit for limit, _ in EFFECTS), 1.0]
    elements = []
    for k, (start, end) in enumerate(pairwise(ends)):
        left, right = (float(panel.across(_root(limit))) for limit in (start, end))
        here = start <= value < end or (end == 1.0 and value >= start)
        box = {"x": left, "y": panel.top, "width": right - left, "height": panel.bottom - panel.top}
        elements.append(element("rect", **box, class_=f"zone{k % 2}{' here' * here}"))
        middle = left + (right - left) / 2
        elements.append(text_element("text", EFFECTS[k][1], x=middle, y=12.0, class_=f"mid small{' strong' * here}"))
    elements.append(panel.below([_root(end) for end in ends], [f"{100 * end:g} %" for end in ends]))
    elements.append(_mark(panel, value, interval[0], "mark strong"))
    title = f"{_moved(value, interval[0])}, on a scale from 0 %, equal, to 100 %, no overlap"
    return picture(title, HALF, 68.0, *elements, kind="scale")


def rank_mark(name: str, value: float, interval: tuple[float, float], differs: bool) -> Svg:
    """The total variation of one column with its interval, open above, on a small scale from 0 to 1."""
    panel = Panel((0.0, 1.0), (0.0, 1.0), 6.0, 2.0, 194.0, 20.0)
    elements = [panel.upright(_root(limit), "grid") for limit in (*(limit for limit, _ in EFFECTS), 1.0)]
    mark = _mark(panel, value, interval[0], "mark strong" if differs else "mark")
    title = f"{messages.quote_name(name)}: {_moved(value, interval[0])}"
    return picture(title, 200.0, 22.0, *elements, mark, kind="rank")


def _moved(value: float, lower: float) -> str:
    """A total variation in words."""
    return f"{percent(value)} of the rows would have to change, at least {percent(lower)}"


def _mark(panel: Panel, value: float, lower: float, kind: str) -> Svg:
    """A dot, a line from the lower limit to it, and an arrow beyond: how much more there may be, nobody can tell."""
    down, at = float(panel.down(0.5)), float(panel.across(_root(value)))
    left = float(panel.across(_root(lower)))
    elements = [element("path", d=f"M{written(left)} {written(down - 4.0)}v8", class_="span")]
    elements.append(element("path", d=f"M{written(left)} {written(down)}H{written(at)}", class_="span"))
    if (tip := min(at + _ARROW, panel.right)) > at + 5.0:
        elements.append(element("path", d=f"M{written(at)} {written(down)}H{written(tip)}", class_="span open"))
        head = f"M{written(tip - 4.0)} {written(down - 3.5)}l4 3.5l-4 3.5"
        elements.append(element("path", d=head, class_="span open"))
    elements.append(element("circle", cx=at, cy=down, r=4.5, class_="dot"))
    return element("g", *elements, class_=kind)


def difference_map(first: str, second: str, drawn: Map, names: tuple[str, str]) -> Svg:
    """The difference of two columns as shades, B minus A; a column of categories goes beside, one of numbers below."""
    x, y, values = drawn.x, drawn.y, np.nan_to_num(drawn.values)
    if isinstance(x, tuple) and not isinstance(y, tuple):
        x, y, values, first, second = y, x, values.T, second, first
    left, foot = (110.0 if isinstance(y, tuple) else 46.0), (64.0 if isinstance(x, tuple) else 20.0)
    height = 34.0 * len(y) + 20.0 if isinstance(y, tuple) else 260.0
    panel = Panel(_range(x), _range(y), left, 20.0, HALF - 10.0, 20.0 + height)
    if isinstance(y, tuple):
        labels = [cut(messages.quote_name(level), _NAME) for level in y]
        beside = panel.beside([float(k) for k in range(len(y))], labels)
    else:
        beside = y_axis(panel)
    below = _slanted_labels(panel, x) if isinstance(x, tuple) else x_axis(panel)
    elements = [beside, *shades(panel, values), below]  # the ground hides the lines of the axis
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
    columns = f"{messages.quote_name(first)} and {messages.quote_name(second)}"
    title = f"Where {columns} are more frequent in {names[1]}, and where in {names[0]}"
    return picture(title, HALF, panel.bottom + foot + 20.0, *elements)


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


def shades(panel: Panel, values: FloatArray) -> list[Svg]:
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
    panel = Panel((0.0, 1.0), (0.0, 1.0), 110.0, 4.0, HALF - 20.0, height + 4.0)
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
    return picture("Estimated share of each class with its interval", HALF, height + 26.0, *elements, axis)


def mixture(labels: list[str], drawn: Mixture) -> Svg:
    """The classes in their shares, stacked, under the density of the new rows."""
    stack = np.vstack([np.zeros_like(drawn.new), np.cumsum(drawn.classes, axis=0)])
    top = float(max(stack[-1].max(), drawn.new.max())) or 1.0
    panel = half_panel((float(drawn.points[0]), float(drawn.points[-1])), (0.0, 1.08 * top))
    elements, names = [y_axis(panel)], []
    for k, label in enumerate(labels):
        elements.append(panel.area(drawn.points, stack[k], stack[k + 1], f"class-{k % 6} stack"))
        at = int(np.argmax(drawn.classes[k]))
        if drawn.classes[k][at] > 0.08 * top:
            middle = float(panel.down((stack[k][at] + stack[k + 1][at]) / 2.0)) + 4.0
            across = float(panel.across(drawn.points[at]))
            names.append(text_element("text", cut(label, _NAME), x=across, y=middle, class_="mid name"))
    elements += [panel.line(drawn.points, drawn.new, "line thick"), *names, x_axis(panel)]
    title = f"Mixture of the classes and density of the new rows, {messages.quote_name(drawn.column)}"
    return picture(title, HALF, 190.0, *elements)
