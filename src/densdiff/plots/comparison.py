"""The columns of a comparison, ranked.

Single columns are drawn by the page of the comparison, in `report`.
"""

from typing import Any

import numpy as np

from densdiff import messages
from densdiff.errors import InputError
from densdiff.plots.canvas import MORE_Y, legend_above, new_figure, plain_label

_MOST = 25  # columns
_NAME = 20  # characters of the name of a table
_ARROW = 9  # matplotlib's triangle that begins at a point and points to the right


def plot_comparison(result: Any, ax: Any = None) -> Any:
    """Total variation of each column with its lower limit, in the order of the result; coloured where it differs.

    An arrow beyond the dot says that there may be more: nothing bounds a total variation from above.

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
    values = 100 * np.array([column.total_variation for column in shown])
    lower = 100 * np.array([column.total_variation_interval[0] for column in shown])
    for differs, color, label in ((True, MORE_Y, "significant"), (False, "0.6", "not significant")):
        chosen = np.array([column.differs == differs for column in shown])
        if chosen.any():
            below = np.maximum(0.0, values[chosen] - lower[chosen])
            error, style = [below, np.zeros(len(below))], {"fmt": "o", "capsize": 2, "markersize": 4}
            ax.errorbar(values[chosen], places[chosen], xerr=error, color=color, label=label, **style)
            ax.plot(values[chosen], places[chosen], marker=_ARROW, ls="", color=color, markersize=9)
    ax.set_yticks(places, [plain_label(column.name) for column in shown])
    ax.set_ylim(len(shown) - 0.5, -0.5)
    room = max(float(values.max(initial=0.0)), 1.0)
    ax.set_xlim(-0.02 * room, 1.08 * room)
    names = [plain_label(name) for name in messages.short_names(result.names, _NAME)]
    ax.set_xlabel(f"% of the rows that would have to change for {names[1]} to look like {names[0]}")
    more = len(result.columns) - len(shown)
    title = f"{result.effect} difference" + (f"; {more} more columns" if more > 0 else "")
    ax.set_title(title, fontsize="medium", loc="left")
    legend_above(ax, ax)
    return ax
