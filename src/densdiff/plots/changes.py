"""A series with the changes found in it, above its score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from densdiff.errors import InputError
from densdiff.plots.canvas import MORE_X, MORE_Y, FloatArray, new_figure, plain_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_COLUMNS = 6
MOST_POINTS = 4000  # a longer series is drawn as the range of each run of samples


class Scored(Protocol):
    """What the picture reads: `ChangesResult` has it."""

    @property
    def series(self) -> FloatArray: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def times(self) -> Any: ...

    @property
    def changes(self) -> npt.NDArray[np.intp]: ...

    @property
    def scores(self) -> FloatArray: ...

    @property
    def threshold(self) -> float: ...


def plot_changes(result: Scored, *, axes: Any = None) -> npt.NDArray[Any]:
    """Draw the series with its changes, and below it the score with the threshold.

    Parameters
    ----------
    result : ChangesResult
    axes : pair of matplotlib Axes, optional
        Where to draw series and score; a new figure without ``pyplot`` by default.

    Returns
    -------
    array of two matplotlib Axes

    Examples
    --------
    >>> import densdiff as dd
    >>> data = dd.datasets.piecewise_series([120], size=2.0, length=240, random_state=0)
    >>> above, below = dd.plots.plot_changes(dd.detect_changes(data.series, random_state=0))
    >>> below.get_ylabel()
    'score'
    """
    above, below = (
        new_figure(8.0, 4.6).subplots(2, 1, sharex=True, height_ratios=(3, 2)) if axes is None else _given_pair(axes)
    )
    times = np.arange(len(result.scores)) if result.times is None else np.asarray(result.times)
    spread = np.ptp(result.series, axis=0)
    shown = min(result.series.shape[1], MOST_COLUMNS)
    for j in range(shown):
        values = result.series[:, j]
        if shown > 1:  # columns of any unit, one above the other
            values = (values - values.min()) / (spread[j] or 1.0) - 1.1 * j
        _line(above, times, values, color="black" if shown == 1 else f"C{j}", label=plain_label(result.names[j]))
    _line(below, times, result.scores, color="black")
    if np.isfinite(result.threshold):
        below.axhline(result.threshold, color=MORE_Y, lw=1.2, ls="--", label="threshold")
    for i, change in enumerate(result.changes):
        for ax in (above, below):
            ax.axvline(times[change], color=MORE_X, lw=1.4, alpha=0.85, label="change" if i == 0 else None)
    if shown > 1:
        above.set_yticks([])
        left = result.series.shape[1] - shown
        above.set_ylabel(f"{shown} columns" + (f", {left} more not shown" if left else ""))
        above.legend(loc="upper left", fontsize="small", framealpha=0.85, ncols=3)
    else:
        above.set_ylabel(plain_label(result.names[0]))
    below.set_ylabel("score")
    below.set_ylim(bottom=0)
    below.set_xlabel("sample" if result.times is None else "time")
    if below.get_legend_handles_labels()[1]:
        below.legend(loc="upper left", fontsize="small", frameon=False)
    above.set_xlim(times[0], times[-1])
    count = len(result.changes)
    above.set_title("no change found" if not count else f"{count} change{'s' * (count > 1)}", fontsize="medium")
    return np.array([above, below])


def _given_pair(axes: Any) -> Any:
    if not hasattr(axes, "__len__") or len(axes) != 2:
        raise InputError("axes must be two matplotlib Axes, for the series and for the score")
    return axes


def _line(ax: Axes, times: npt.NDArray[Any], values: FloatArray, **style: Any) -> None:
    """A line, or for many samples the range of each run of them: thousands of samples fall on one dot otherwise."""
    if len(values) <= MOST_POINTS:
        ax.plot(times, values, lw=0.9, **style)
        return
    starts = np.arange(0, len(values), -(-len(values) // (MOST_POINTS // 2)))
    low, high = np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)
    ax.fill_between(times[starts], low, high, lw=0.6, **style)
