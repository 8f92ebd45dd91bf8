"""The canvas of every figure: made without pyplot, on white, in colours that everyone can tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import densdiff as dd

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Blue and vermillion of Okabe and Ito: told apart with every kind of colour vision, and in grey print.
BLUE, VERMILLION = "#0072B2", "#D55E00"


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of so many inches."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise dd.MissingExtraError('pictures need matplotlib: pip install "densdiff[plot]"') from error
    return Figure(figsize=(width, height), layout="constrained", facecolor="white")
