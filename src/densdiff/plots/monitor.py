"""The score of a stream over time, with its alarms.

Steps are made by `ChangeMonitor`; nothing is scored here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from densdiff.errors import InputError
from densdiff.plots.canvas import MORE_X, MORE_Y, FloatArray, legend_above, new_figure
from densdiff.plots.changes import FEW_POINTS, MOST_POINTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Step(Protocol):
    """What the picture reads of each step: `MonitorStep` has it."""

    @property
    def index(self) -> int: ...

    @property
    def score(self) -> float | None: ...

    @property
    def threshold(self) -> float: ...

    @property
    def alarm(self) -> bool: ...


def plot_monitor(steps: Sequence[Step], *, ax: Axes | None = None) -> Axes:
    """Draw the score of a monitored stream and its threshold, with the stretches of alarm.

    Parameters
    ----------
    steps : sequence of MonitorStep
        What `ChangeMonitor.update_many` gave, or the steps of single updates, collected, since one start or reset.
    ax : matplotlib Axes, optional
        Where to draw; a new figure without ``pyplot`` by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> import densdiff as dd
    >>> random = np.random.default_rng(0)
    >>> monitor = dd.ChangeMonitor(random.normal(size=1000), window=20, run_length=300, random_state=0)
    >>> ax = dd.plots.plot_monitor(monitor.update_many(random.normal(size=100)))
    >>> ax.get_ylabel()
    'score'
    """
    at, score, threshold, alarm = _columns(steps)
    ax = new_figure(8.0, 3.2).subplots() if ax is None else ax
    from matplotlib.ticker import MaxNLocator

    rows = at[alarm]
    title = f"alarm on {len(rows)} row{'s' * (len(rows) > 1)}, first on row {rows[0]}" if len(rows) else "no alarm"
    title = title if np.isfinite(score).any() else "no score yet: the window is not full"
    first = last = at
    if len(at) > MOST_POINTS:  # thousands of rows fall on one dot: the lowest and the highest score of each run of them
        starts = np.arange(0, len(at), -(-len(at) // (MOST_POINTS // 2)))
        first, last = at[starts], at[np.append(starts[1:], len(at)) - 1]
        score = np.stack([np.fmin.reduceat(score, starts), np.fmax.reduceat(score, starts)], axis=1).ravel()
        at, threshold = np.stack([first, last], axis=1).ravel(), np.repeat(threshold[starts], 2)
        alarm = np.logical_or.reduceat(alarm, starts)
    begin = first[alarm & ~np.append(False, alarm[:-1])] - 0.5
    width = last[alarm & ~np.append(alarm[1:], False)] + 0.5 - begin
    if len(begin):  # with an edge, so that one row among thousands is seen
        style: Any = {"transform": ax.get_xaxis_transform(), "color": MORE_X, "alpha": 0.25, "lw": 0.8}
        ax.broken_barh(list(zip(begin, width, strict=True)), (0, 1), label="alarm", **style)
    ax.plot(at, score, color="black", lw=0.9, marker="." if len(at) <= FEW_POINTS else "")
    ax.plot(at, threshold, color=MORE_Y, lw=1.2, ls="--", label="threshold")
    ax.set_xlim(at[0] - 0.5, at[-1] + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("row of the stream")
    ax.set_ylabel("score")
    ax.set_title(title, loc="left", size="medium")
    legend_above(ax, ax)
    return ax


def _columns(steps: Sequence[Step]) -> tuple[npt.NDArray[np.intp], FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Index, score (nan where there is none), threshold and alarm of each step."""
    try:
        rows = [(step.index, step.score, step.threshold, step.alarm) for step in steps]
    except (AttributeError, TypeError):
        raise InputError("steps must be a list of MonitorStep, as update_many returns it", argument="steps") from None
    if not rows:
        raise InputError("steps is empty: there is nothing to draw yet", argument="steps")
    at, score, threshold, alarm = zip(*rows, strict=True)
    index = np.array(at, dtype=np.intp)
    if (back := np.flatnonzero(np.diff(index) <= 0)).size:
        i = int(back[0])
        what = f"steps must be consecutive, but row {index[i + 1]} comes after row {index[i]}"
        raise InputError(f"{what}; draw the steps before and after a reset separately", argument="steps")
    return index, np.array(score, dtype=np.float64), np.array(threshold, dtype=np.float64), np.array(alarm, dtype=bool)
