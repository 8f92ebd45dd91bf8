"""Many batches: their total variation one after the other, and columns x batches.

The page with the same pictures is in `report.batches`, which draws without matplotlib.
"""

from typing import Any

import numpy as np

from densdiff.errors import InputError
from densdiff.plots.canvas import MORE_Y, legend_above, new_figure, plain_label

_MOST = 40  # columns
_TICKS = 8


def plot_batches(result: Any, ax: Any = None) -> Any:
    """Total variation of each batch with its lower limit; coloured where it differs.

    Parameters
    ----------
    result : BatchesResult
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import densdiff as dd
    >>> tables = dd.datasets.mixed_tables(60, random_state=0)
    >>> result = dd.track({"June": tables.b}, reference=tables.a, columns=["age"], n_permutations=39, random_state=0)
    >>> dd.plots.plot_batches(result).get_ylabel()
    '% of the rows that would have to change'
    """
    _refuse_other(result, "plot_batches")
    ax = new_figure(8.0, 3.8).subplots() if ax is None else ax
    for differs, color, label in ((True, MORE_Y, "differs"), (False, "0.6", "does not differ")):
        chosen = [(k, b) for k, b in enumerate(result.batches) if b.is_compared and b.differs == differs]
        if chosen:
            values = 100 * np.array([batch.total_variation for _, batch in chosen])
            below = np.maximum(0.0, values - 100 * np.array([batch.interval[0] for _, batch in chosen]))
            error, style = [below, np.zeros(len(below))], {"fmt": "o", "capsize": 2, "markersize": 4}
            ax.errorbar([k for k, _ in chosen], values, yerr=error, color=color, label=label, **style)
    if result.began is not None:
        start = next(k for k, batch in enumerate(result.batches) if batch.label == result.began)
        ax.axvline(start - 0.5, color=MORE_Y, lw=1.2, ls=":")
    ax.set_ylim(bottom=0.0)
    ax.set_ylabel("% of the rows that would have to change")
    _label_batches(ax, result.batches)
    legend_above(ax, ax)
    return ax


def plot_batch_columns(result: Any, ax: Any = None) -> Any:
    """Columns x batches as shades of total variation; a dot where a column differs.

    Parameters
    ----------
    result : BatchesResult
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import densdiff as dd
    >>> tables = dd.datasets.mixed_tables(60, random_state=0)
    >>> result = dd.track({"June": tables.b}, reference=tables.a, columns=["age"], n_permutations=39, random_state=0)
    >>> ax = dd.plots.plot_batch_columns(result)
    """
    _refuse_other(result, "plot_batch_columns")
    columns, count = result.columns[:_MOST], len(result.batches)
    ax = new_figure(8.0, 1.2 + 0.26 * max(len(columns), 1)).subplots() if ax is None else ax
    table = [[np.nan if value is None else 100 * value for value in column.total_variation] for column in columns]
    values = np.ma.masked_invalid(np.array(table, dtype=np.float64).reshape(len(columns), count))
    top = max(5.0, float(values.max()) if values.count() else 0.0)
    shades = ax.pcolormesh(np.arange(count + 1) - 0.5, np.arange(len(columns) + 1) - 0.5, values, vmin=0.0, vmax=top)
    shades.set_cmap("Oranges")
    found = [
        (k, j)
        for j, column in enumerate(columns)
        for k, p in enumerate(column.pvalue_adjusted)
        if p is not None and p <= result.alpha and result.batches[k].differs
    ]
    if found:
        ax.plot(*np.array(found).T, ls="", marker="o", color="black", markersize=3, label="differs")
    ax.figure.colorbar(shades, ax=ax, label="% of the rows")
    ax.set_yticks(range(len(columns)), [plain_label(column.name) for column in columns])
    ax.set_ylim(max(len(columns), 1) - 0.5, -0.5)
    _label_batches(ax, result.batches)
    return ax


def _refuse_other(result: Any, name: str) -> None:
    if not hasattr(result, "batches") or not hasattr(result, "began"):
        raise InputError(f"{name} draws what track returns; got {type(result).__name__}", argument="result")


def _label_batches(ax: Any, batches: list[Any]) -> None:
    """The labels of a few batches below."""
    places = np.unique(np.linspace(0, len(batches) - 1, min(_TICKS, len(batches))).round().astype(int))
    ax.set_xlim(-0.5, len(batches) - 0.5)
    labels = [plain_label(batches[k].label) for k in places]
    ax.set_xticks(places, labels, rotation=30 if max(map(len, labels)) > 6 else 0, ha="right")
