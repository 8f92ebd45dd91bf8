"""What a witness says of the rows of both samples, and the two shares that make up the total variation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from densdiff.errors import InputError
from densdiff.plots.canvas import DARK_X, DARK_Y, MORE_X, MORE_Y, FloatArray, new_axes, plain_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BINS = 30


class JudgedRows(Protocol):
    """What the picture reads: `TotalVariationResult` has it."""

    @property
    def value(self) -> float: ...

    @property
    def interval(self) -> tuple[float, float]: ...

    @property
    def level(self) -> float: ...

    @property
    def share_x(self) -> float: ...

    @property
    def share_y(self) -> float: ...

    @property
    def witness(self) -> str: ...

    @property
    def judged_x(self) -> FloatArray | None: ...

    @property
    def judged_y(self) -> FloatArray | None: ...


def plot_total_variation(result: JudgedRows, *, ax: Axes | None = None) -> Axes:
    """Draw how the rows of X (upwards) and of Y (downwards) were judged, and the shares that the witness calls X.

    Parameters
    ----------
    result : TotalVariationResult
    ax : matplotlib Axes, optional
        Where to draw; a new figure without ``pyplot`` by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import densdiff as dd
    >>> pair = dd.datasets.gaussian_shift(0.3, n=100, random_state=0)
    >>> ax = dd.plots.plot_total_variation(dd.total_variation(pair.x, pair.y, random_state=0))
    >>> ax.get_ylabel()
    'share of the sample'
    """
    ax = new_axes() if ax is None else ax
    edges = np.linspace(-1.0, 1.0, _BINS + 1)
    highest = 0.0
    for values, sign, color, name in ((result.judged_x, 1, MORE_X, "X"), (result.judged_y, -1, MORE_Y, "Y")):
        if values is None:
            raise InputError("a result that was made from its dict has no rows to draw")
        shares = np.histogram(values, edges)[0] / len(values)
        ax.stairs(sign * shares, edges, fill=True, color=color, alpha=0.75, label=f"rows of {name}")
        highest = max(highest, float(shares.max()))
    ax.axhline(0.0, color="0.2", lw=0.8)
    ax.axvline(0.0, color="0.2", lw=0.8, ls=":")
    ax.set(xlim=(-1.0, 1.0), ylim=(-1.35 * highest, 1.35 * highest))
    for share, y, align, color in (
        (result.share_x, 1.3 * highest, "top", DARK_X),
        (result.share_y, -1.3 * highest, "bottom", DARK_Y),
    ):
        text = f"{100 * share:.1f} % called X"
        ax.text(0.97, y, text, color=color, ha="right", va=align, fontsize="small")
        ax.text(-0.97, y, f"{100 * (1 - share):.1f} % called Y", color=color, ha="left", va=align, fontsize="small")
    ax.set_yticks(ax.get_yticks(), [f"{abs(tick):.2g}" for tick in ax.get_yticks()])
    ax.set_ylim(-1.35 * highest, 1.35 * highest)
    ax.set_xticks([-1, 0, 1], ["surely Y", "even", "surely X"])
    ax.set_xlabel(f"witness: {plain_label(result.witness)}")
    ax.set_ylabel("share of the sample")
    at_least = f"at least {100 * result.interval[0]:.3g} % at {100 * result.level:g} %"
    ax.set_title(f"total variation {100 * result.value:.3g} %, {at_least}", fontsize="medium", loc="left")
    ax.legend(frameon=False, fontsize="small", loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.1)
    return ax
