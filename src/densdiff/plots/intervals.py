"""Shares and distances from 0 to 1 with their intervals, one below the other, and a band: pictures for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from densdiff.plots.canvas import MORE_X, MORE_Y, FloatArray, new_axes, new_figure, plain_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 25  # rows of a picture


def draw_intervals(labels: Sequence[str], values: FloatArray, intervals: FloatArray | None, meaning: str) -> Axes:
    """A dot for each value, (k,), and a line from end to end of its interval, (k, 2)."""
    values, places = values[:_MOST], np.arange(min(len(values), _MOST))
    ax = new_figure(6.4, 1.1 + 0.3 * len(places)).subplots()
    if intervals is not None:
        ax.hlines(places, intervals[:_MOST, 0], intervals[:_MOST, 1], color=MORE_X, lw=2.0, alpha=0.6)
    ax.plot(values, places, "o", color=MORE_X)
    ax.set_yticks(places, [plain_label(label) for label in labels[:_MOST]])
    ax.set(xlim=(-0.02, 1.02), ylim=(len(places) - 0.5, -0.5))
    more = len(labels) - len(places)
    ax.set_xlabel(meaning + (f"; {more} more" if more > 0 else ""))
    ax.grid(axis="x", color="0.9")
    return ax


def draw_band(points: FloatArray, estimate: FloatArray, lower: FloatArray, upper: FloatArray) -> Axes:
    """f of one column with its limits, (k,) each, coloured where they exclude 0."""
    order = np.argsort(points)
    x, f, low, high = (values[order] for values in (points, estimate, lower, upper))
    ax = new_axes()
    ax.fill_between(x, low, high, color="0.6", alpha=0.35, lw=0)
    ax.fill_between(x, 0, f, where=low > 0, color=MORE_X, alpha=0.45, lw=0)
    ax.fill_between(x, 0, f, where=high < 0, color=MORE_Y, alpha=0.45, lw=0)
    ax.axhline(0, color="0.35", lw=0.8)
    ax.plot(x, f, color="black", lw=1.6, marker="o" if len(x) < 20 else "")
    ax.set_ylabel("f = p - q")
    return ax
