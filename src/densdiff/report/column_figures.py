"""The pictures of single columns of two tables: densities, bars, shares of levels, and their differences.

Elements, axes and paths are made in `svg`; which pictures a page shows is decided by the page.
"""

from __future__ import annotations

from collections.abc import Iterator

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
    tick_labels,
    ticks,
    x_axis,
    y_axis,
)
from densdiff.results import Bars, Curve, Shares

_LEVEL = 15  # narrow characters of a level beside its bars
_VALUE = 7  # narrow characters of a value below its bar
_GAP = 0.12  # of a bar, between two of them
_MANY = 12  # bars side by side are drawn without gaps
_MOST_LABELS = 10  # of bars of one value each
_NEARLY_NONE = 0.05  # of the limits of a difference may lie outside its picture
_LETTER = 6.5  # width of a character of a label


def densities(column: str, curve: Curve, names: tuple[str, str]) -> Svg:
    """Both densities of a column of numbers."""
    top = float(max(np.nanmax(curve.a), np.nanmax(curve.b), 0.0)) or 1.0
    panel = half_panel(_ends(curve.points), (0.0, 1.08 * top))
    elements = [
        y_axis(panel),
        panel.area(curve.points, np.zeros_like(curve.a), np.maximum(curve.a, 0.0), "in-a area"),
        panel.line(curve.points, np.maximum(curve.a, 0.0), "in-a line"),
        panel.line(curve.points, np.maximum(curve.b, 0.0), "in-b line thick"),
        x_axis(panel),
    ]
    return picture(f"Densities of {messages.quote_name(column)} in {' and in '.join(names)}", HALF, 190.0, *elements)


def difference(column: str, curve: Curve, names: tuple[str, str]) -> Svg:
    """Density in B minus density in A with its band, coloured where the band excludes 0."""
    panel = half_panel(_ends(curve.points), _around_zero(curve))
    zero = np.zeros_like(curve.difference)
    sure = (curve.lower > 0) | (curve.upper < 0)
    lower, upper = np.clip(curve.lower, *panel.y), np.clip(curve.upper, *panel.y)
    elements = [y_axis(panel), panel.area(curve.points, lower, upper, "band")]
    for kind, sign in (("in-b", 1), ("in-a", -1)):
        height = np.where(sure & (sign * curve.difference > 0), curve.difference, zero)
        if height.any():
            elements.append(panel.area(curve.points, zero, height, f"{kind} solid"))
    elements += [panel.level(0.0, "axis"), panel.line(curve.points, curve.difference, "line"), x_axis(panel)]
    return picture(f"{_difference_title('Density', column, names)}, with a band for all points", HALF, 190.0, *elements)


def bar_shares(column: str, bars: Bars, names: tuple[str, str]) -> Svg:
    """The share of the rows of each table in each bar: A filled; B as outlines, or if these are many as one line."""
    top = float(max(bars.a.max(), bars.b.max())) or 1.0
    panel = half_panel(_bar_range(bars), (0.0, 1.08 * top))
    gap = 0.0 if _is_histogram(bars) else _GAP
    edges = list(_edges(panel, bars, gap))
    filled = [_bar(panel, (left, right), (0.0, float(bars.a[k])), "in-a area") for left, right, k in edges]
    if gap:
        outlined = [_bar(panel, (left, right), (0.0, float(bars.b[k])), "in-b outline") for left, right, k in edges]
    else:
        borders = np.array([edges[0][0], *(right for _, right, _ in edges)]).repeat(2)
        heights = panel.down(np.concatenate([[0.0], bars.b.repeat(2), [0.0]]))
        outlined = [element("path", d=path_through(borders, heights), class_="in-b line thick")]
    title = f"Shares of the values of {messages.quote_name(column)} in {' and in '.join(names)}"
    return picture(title, HALF, 190.0, _share_axis(panel), *filled, *outlined, _value_axis(panel, bars))


def bar_differences(column: str, bars: Bars, names: tuple[str, str]) -> Svg:
    """Share in B minus share in A of each bar with its limits, coloured where these exclude 0."""
    panel = half_panel(_bar_range(bars), _around_zero(bars))
    elements, marks = [_share_axis(panel)], []
    for left, right, k in _edges(panel, bars, _GAP):
        lower, upper, value = float(bars.lower[k]), float(bars.upper[k]), float(bars.difference[k])
        elements.append(_bar(panel, (left, right), (max(lower, panel.y[0]), min(upper, panel.y[1])), "band"))
        if lower > 0 or upper < 0:
            kind = "in-b solid" if value > 0 else "in-a solid"
            elements.append(_bar(panel, (left, right), (min(value, 0.0), max(value, 0.0)), kind))
        at = float(panel.down(value))
        marks.append(f"M{left:.1f} {at:.1f}H{right:.1f}")
    line = element("path", d="".join(marks), class_="line")
    elements += [panel.level(0.0, "axis"), line, _value_axis(panel, bars)]
    return picture(f"{_difference_title('Share', column, names)}, with limits for all bars", HALF, 190.0, *elements)


def share_bars(column: str, shares: Shares, names: tuple[str, str]) -> Svg:
    """The shares of each level in A and in B, one bar under the other; those of all other levels without bars, which
    would dwarf the rest.
    """
    of_levels = list(zip(map(messages.quote_name, shares.levels), shares.a.tolist(), shares.b.tolist(), strict=True))
    panel = Panel((0.0, float(max(shares.a.max(), shares.b.max(), 1e-9))), (0.0, 1.0), 110.0, 0.0, HALF - 54.0, 1.0)
    elements, down = [], 4.0
    for label, *both in of_levels:
        elements.append(_level_label(panel, down, cut(label, _LEVEL)))
        for k, (kind, share) in enumerate(zip(("in-a", "in-b"), both, strict=True)):
            y, width = down + 14.0 * k, float(panel.across(share)) - panel.left
            elements.append(element("rect", x=panel.left, y=y, width=width, height=12.0, class_=f"{kind} solid"))
            elements.append(_share_label(panel.left + width, y, percent(share)))
        down += 36.0
    if shares.others:
        elements.append(_level_label(panel, down, f"other ({shares.others} level{'s' * (shares.others > 1)})"))
        rest = [max(0.0, 1.0 - float(part.sum())) for part in (shares.a, shares.b)]
        for k in (0, 1):
            elements.append(_share_label(panel.left, down + 14.0 * k, f"{percent(rest[k])} of {names[k]}"))
        down += 36.0
    axis = element("path", d=f"M{panel.left:.0f} 0V{down - 6:.0f}", class_="axis")
    title = f"Shares of the levels of {messages.quote_name(column)} in {' and in '.join(names)}"
    return picture(title, HALF, down, *elements, axis)


def _level_label(panel: Panel, down: float, text: str) -> Svg:
    return text_element("text", text, x=panel.left - 8.0, y=down + 18.0, class_="end name")


def _share_label(right: float, down: float, text: str) -> Svg:
    return text_element("text", text, x=right + 5.0, y=down + 10.0, class_="small")


def _difference_title(what: str, column: str, names: tuple[str, str]) -> str:
    return f"{what} of {messages.quote_name(column)} in {names[1]} minus {what.lower()} in {names[0]}"


def _ends(points: FloatArray) -> tuple[float, float]:
    return float(points[0]), float(points[-1])


def _around_zero(drawn: Curve | Bars) -> tuple[float, float]:
    """A range that holds 0, the difference and nearly all of its limits: single ones far away would squash the rest."""
    lowest = float(np.nanquantile(drawn.lower, _NEARLY_NONE, method="lower"))
    highest = float(np.nanquantile(drawn.upper, 1.0 - _NEARLY_NONE, method="higher"))
    low, high = (
        min(0.0, float(np.nanmin(drawn.difference)), lowest),
        max(0.0, float(np.nanmax(drawn.difference)), highest),
    )
    pad = 0.05 * (high - low) or 1.0
    return low - pad, high + pad


def _positions(bars: Bars) -> FloatArray:
    """Where the bars stand: at their values, or one after the other."""
    return bars.values if bars.width else np.arange(float(len(bars.values)))


def _bar_range(bars: Bars) -> tuple[float, float]:
    positions, half = _positions(bars), 0.5 * (bars.width or 1.0)
    return float(positions[0] - half), float(positions[-1] + half)


def _is_histogram(bars: Bars) -> bool:
    """Whether many bars stand side by side."""
    steps = np.diff(bars.values)
    return len(steps) >= _MANY and bool(bars.width) and bool((np.abs(steps - bars.width) < 0.5 * bars.width).all())


def _edges(panel: Panel, bars: Bars, gap: float) -> Iterator[tuple[float, float, int]]:
    """Left and right edge of each bar in the picture, and its number; a share ``gap`` of each bar is left out."""
    half = 0.5 * (bars.width or 1.0) * (1.0 - gap)
    positions = _positions(bars)
    lefts, rights = panel.across(positions - half).tolist(), panel.across(positions + half).tolist()
    return zip(lefts, rights, range(len(positions)), strict=True)


def _bar(panel: Panel, across: tuple[float, float], values: tuple[float, float], kind: str) -> Svg:
    bottom, top = (float(panel.down(value)) for value in values)
    return element("rect", x=across[0], y=top, width=across[1] - across[0], height=bottom - top, class_=kind)


def _share_axis(panel: Panel) -> Svg:
    values = ticks(*panel.y, 6)
    return panel.beside(values, [f"{label} %" for label in tick_labels([100.0 * value for value in values])])


def _value_axis(panel: Panel, bars: Bars) -> Svg:
    """The axis of numbers; of bars that count one value each, the values of those that have room."""
    if not bars.is_exact or (bars.width and len(bars.values) > _MOST_LABELS):
        return x_axis(panel)
    step = -(-len(bars.values) // _MOST_LABELS)
    positions = _positions(bars)[::step]
    labels = [cut(f"{value:.6g}".replace("-", "\N{MINUS SIGN}"), _VALUE) for value in bars.values[::step].tolist()]
    chosen: list[int] = []
    last = -np.inf
    for k, at in enumerate(panel.across(positions).tolist()):
        half = 0.5 * _LETTER * (len(labels[k]) + 1)
        if at - half >= last:
            chosen.append(k)
            last = at + half
    return panel.below([float(positions[k]) for k in chosen], [labels[k] for k in chosen])
