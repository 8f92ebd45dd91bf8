"""Small SVG pictures: escaped elements, coordinates of one decimal, colours left to the style of the page.

An `Svg` is markup in which every text and attribute is escaped; templates take it as it is.
"""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

WIDE = 720.0  # of a picture as wide as the page
HALF = WIDE / 2  # of the others
_FIXED = (1e-4, 1e6)  # numbers of this size are written without an exponent


class Svg(str):
    """Markup made here."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def plain(text: object) -> str:
    """Text whose unprintable characters, such as escapes and direction overrides, are replaced."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in str(text))


def cut(text: str, most: int) -> str:
    """The text cut to at most so many narrow characters; wide ones count twice."""
    widths = np.cumsum([2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text])
    if not len(text) or widths[-1] <= most:
        return text
    return text[: int(np.searchsorted(widths, most - 1, "right"))] + "…"


def element(tag: str, *inside: Svg, **attributes: object) -> Svg:
    """Markup of an element: ``class_`` is the attribute class, and an underscore a hyphen; numbers get one decimal."""
    markup = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(written(value))}"' for name, value in attributes.items()
    )
    return Svg(f"<{tag}{markup}>{''.join(inside)}</{tag}>" if inside else f"<{tag}{markup}/>")


def text_element(tag: str, text: object, **attributes: object) -> Svg:
    """An element that holds text."""
    return element(tag, Svg(escape(plain(text))), **attributes)


def picture(title: str, width: float, height: float, *inside: Svg, kind: str = "") -> Svg:
    """The whole picture with a name for those who cannot see it."""
    box = f"0 0 {written(width)} {written(height)}"
    return element("svg", text_element("title", title), *inside, viewBox=box, role="img", class_=kind)


def written(value: object) -> str:
    """A value as an attribute or a path has it: numbers with one decimal, none if it is 0."""
    if not isinstance(value, float):
        return plain(value)
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def path_through(x: FloatArray, y: FloatArray) -> str:
    """The path through some points; it breaks where a coordinate is not finite."""
    steps, pen = [], "M"
    for across, down in zip(x.tolist(), y.tolist(), strict=True):
        if not (math.isfinite(across) and math.isfinite(down)):
            pen = "M"
            continue
        steps.append(f"{pen}{written(across)} {written(down)}")
        pen = "L"
    return "".join(steps)


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers that cut a range into at most so many steps."""
    span = high - low
    if not (math.isfinite(span) and span > 0):
        return [low] if math.isfinite(low) else []
    power = 10.0 ** math.floor(math.log10(span / most) - 1e-9)
    if power == 0.0:
        return [low]
    step = next(size * power for size in (1, 2, 5, 10, 20) if span / (size * power) <= most + 1e-9)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def tick_labels(values: list[float]) -> list[str]:
    """Numbers as text, with as many digits as tell neighbours apart."""
    if not values:
        return []
    largest = max(abs(value) for value in values)
    step = values[1] - values[0] if len(values) > 1 else largest
    if not largest or not step:
        return [f"{value:g}" for value in values]
    last = math.floor(math.log10(step) + 1e-9)
    if _FIXED[0] <= largest < _FIXED[1]:
        texts = [f"{value:.{max(0, -last) if len(values) > 1 else 3}f}" for value in values]
    else:
        texts = [f"{value:.{max(1, math.floor(math.log10(largest)) - last + 1)}g}" for value in values]
    return [("0" if float(text) == 0 else text).replace("-", "\N{MINUS SIGN}") for text in texts]


@dataclass(frozen=True)
class Panel:
    """A rectangle of a picture, and the ranges it shows."""

    x: tuple[float, float]
    y: tuple[float, float]
    left: float
    top: float
    right: float
    bottom: float

    def across(self, values: FloatArray | float) -> FloatArray:
        return self.left + (self.right - self.left) * _share(values, *self.x)

    def down(self, values: FloatArray | float) -> FloatArray:
        return self.bottom - (self.bottom - self.top) * _share(values, *self.y)

    def line(self, x: FloatArray, y: FloatArray, kind: str) -> Svg:
        return element("path", d=path_through(self.across(x), self.down(y)), class_=kind)

    def area(self, x: FloatArray, lower: FloatArray, upper: FloatArray, kind: str) -> Svg:
        there = path_through(self.across(x), self.down(upper))
        back = path_through(self.across(x[::-1]), self.down(lower[::-1])).replace("M", "L", 1)
        return element("path", d=f"{there}{back}Z", class_=kind)

    def level(self, y: float, kind: str) -> Svg:
        """A line from edge to edge."""
        at = float(self.down(y))
        return element("path", d=f"M{written(self.left)} {written(at)}H{written(self.right)}", class_=kind)

    def upright(self, x: float, kind: str) -> Svg:
        at = float(self.across(x))
        return element("path", d=f"M{written(at)} {written(self.top)}V{written(self.bottom)}", class_=kind)

    def below(self, values: list[float], labels: list[str]) -> Svg:
        """The horizontal axis."""
        elements = [
            element("path", d=f"M{written(self.left)} {written(self.bottom)}H{written(self.right)}", class_="axis")
        ]
        for at, label in zip(self.across(np.array(values)).tolist(), labels, strict=True):
            elements.append(element("path", d=f"M{written(at)} {written(self.bottom)}v4", class_="axis"))
            elements.append(text_element("text", label, x=at, y=self.bottom + 16.0, class_=self._aligned(at, label)))
        return Svg("".join(elements))

    def beside(self, values: list[float], labels: list[str]) -> Svg:
        """The vertical axis, as labels with faint lines."""
        elements = []
        for value, label in zip(values, labels, strict=True):
            elements.append(self.level(value, "grid"))
            at = float(self.down(value))
            elements.append(text_element("text", label, x=self.left - 5.0, y=at + 4.0, class_="end"))
        return Svg("".join(elements))

    def _aligned(self, at: float, label: str) -> str:
        half = 3.2 * len(label)
        return "end" if at + half > self.right + 8 else "start" if at - half < self.left - 30 else "mid"


def _share(values: FloatArray | float, low: float, high: float) -> FloatArray:
    """Where in a range values lie, from 0 to 1, without the overflow that high - low could have."""
    width = high / 2 - low / 2
    return (np.asarray(values, dtype=np.float64) / 2 - low / 2) / width if width else np.full(np.shape(values), 0.5)


def half_panel(x: tuple[float, float], y: tuple[float, float]) -> Panel:
    """The panel of a picture that is half as wide as the page and 190 high."""
    return Panel(x, y, 46.0, 8.0, HALF - 10.0, 166.0)


def x_axis(panel: Panel) -> Svg:
    """The horizontal axis with round numbers."""
    values = ticks(*panel.x, 5)
    return panel.below(values, tick_labels(values))


def y_axis(panel: Panel) -> Svg:
    """The vertical axis with round numbers."""
    values = ticks(*panel.y, 6)
    return panel.beside(values, tick_labels(values))
