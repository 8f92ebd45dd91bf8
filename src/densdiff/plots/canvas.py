"""The canvas of every picture: a figure without pyplot, colours, column names as plain text, the range to draw.

What is drawn on it is in the modules named after the results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from densdiff.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = npt.NDArray[np.float64]

# Blue and vermillion of Okabe and Ito: told apart with every kind of colour vision, and in grey print.
MORE_X, MORE_Y = "#0072B2", "#D55E00"
DARK_X, DARK_Y = "#00334F", "#6B2F00"
LARGEST_RUG = 300
LONGEST_LABEL = 48


def new_figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingExtraError('pictures need matplotlib: pip install "densdiff[plot]"') from error
    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def new_axes() -> Axes:
    return new_figure(6.4, 4.2).subplots()


def legend_above(ax: Axes, source: Axes) -> None:
    """Explain what is drawn in ``source`` beside the title of ``ax``: inside, it would hide what it explains."""
    handles, words = source.get_legend_handles_labels()
    place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.1}
    if handles:
        ax.legend(handles, words, **place, ncols=3, fontsize="small", frameon=False)


def plain_label(name: str) -> str:
    """Make a column name one short line of plain text: no mathtext, no control characters."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(name))
    text = text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"
    return text.replace("$", r"\$")


def drawn_range(values: FloatArray) -> tuple[float, float]:
    """Range to draw: the central 99.9 percent of the values, without a few far outliers, padded."""
    low, high = np.quantile(values, 0.0005, method="lower"), np.quantile(values, 0.9995, method="higher")
    q05, q95 = np.quantile(values, [0.05, 0.95])
    if q95 > q05:
        low, high = max(low, q05 - 5 * (q95 - q05)), min(high, q95 + 5 * (q95 - q05))
        central = values[(values >= low) & (values <= high)]
        low, high = central.min(), central.max()
    pad = 0.08 * (high - low) or 0.5 * abs(high) or 0.5
    return float(low - pad), float(high + pad)
