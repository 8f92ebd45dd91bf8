"""The columns of a comparison, ranked.

Single columns are drawn by the page of the comparison, in `report`.
"""

from typing import Any

import numpy as np

from densdiff.errors import InputError
from densdiff.plots.canvas import MORE_Y, legend_above, new_figure, plain_label

_MOST = 25  # columns


def plot_comparison(result: Any, ax: Any = None) -> Any:
    """Distance of each column with its interval, the most different on top; coloured where it is significant.

    Parameters
    ----------
    result : Comparison
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import densdiff as dd
    >>> tables = dd.datasets.mixed_tables(200, random_state=0)
    >>> result = dd.compare(tables.a, tables.b, n_permutations=99, random_state=0)
    >>> ax = dd.plots.plot_comparison(result)
    """
    if not hasattr(result, "columns") or not hasattr(result, "distance"):
        raise InputError(f"plot_comparison draws what compare returns; got {type(result).__name__}", argument="result")
    shown = result.columns[:_MOST]
    ax = new_figure(6.4, 1.3 + 0.28 * len(shown)).subplots() if ax is None else ax
    places = np.arange(len(shown))
    values = np.array([column.normalized for column in shown])
    ends = np.array([column.interval for column in shown]).T
    for differs, color, label in ((True, MORE_Y, "significant"), (False, "0.6", "not significant")):
        chosen = np.array([column.differs == differs for column in shown])
        if chosen.any():
            error = np.maximum(0.0, np.abs(ends[:, chosen] - values[chosen]))
            ax.errorbar(
                values[chosen], places[chosen], xerr=error, fmt="o", color=color, capsize=2, markersize=4, label=label
            )
    ax.set_yticks(places, [plain_label(column.name) for column in shown])
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlim(left=-0.02 * max(float(ends.max(initial=0.0)), 1e-3))
    ax.set_xlabel("normalized distance (0 equal, 1 no overlap), with interval")
    more = len(result.columns) - len(shown)
    title = f"{result.effect} difference" + (f"; {more} more columns" if more > 0 else "")
    ax.set_title(title, fontsize="medium", loc="left")
    legend_above(ax, ax)
    return ax
