"""The score of a stream over time, with its alarms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from densdiff.errors import InputError
from densdiff.plots.canvas import MORE_X, MORE_Y, legend_above, new_figure

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
        What `ChangeMonitor.update_many` gave, or the steps of single updates, collected.
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
    if not len(steps):
        raise InputError("steps is empty: there is nothing to draw yet")
    ax = new_figure(8.0, 3.2).subplots() if ax is None else ax
    at = np.array([step.index for step in steps])
    score = np.array([np.nan if step.score is None else step.score for step in steps])
    threshold = np.array([step.threshold for step in steps])
    alarm = np.array([step.alarm for step in steps])
    starts = np.flatnonzero(alarm & ~np.append(False, alarm[:-1]))
    ends = np.flatnonzero(alarm & ~np.append(alarm[1:], False))
    for i, (first, last) in enumerate(zip(starts, ends, strict=True)):
        ax.axvspan(at[first] - 0.5, at[last] + 0.5, color=MORE_X, alpha=0.25, lw=0, label="alarm" if i == 0 else None)
    ax.plot(at, score, color="black", lw=1.0)
    ax.plot(at, threshold, color=MORE_Y, lw=1.2, ls="--", label="threshold")
    ax.set_xlim(at[0], max(at[-1], at[0] + 1))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("row of the stream")
    ax.set_ylabel("score")
    many = int(alarm.sum())
    said = f"alarm on {many} row{'s' * (many > 1)}, first on row {at[starts[0]]}" if many else "no alarm"
    ax.set_title(said, loc="left", size="medium")
    legend_above(ax, ax)
    return ax
