"""The null distribution of a test, with the observed statistic.

Both are read from the result of the test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from densdiff.plots.canvas import MORE_X, MORE_Y, FloatArray, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class NullAndObserved(Protocol):
    """What the picture of a test reads: `TwoSampleResult` has it."""

    @property
    def statistic(self) -> float: ...

    @property
    def pvalue(self) -> float: ...

    @property
    def null_distribution(self) -> FloatArray: ...

    @property
    def null(self) -> str: ...


def plot_null(result: NullAndObserved, *, ax: Axes | None = None) -> Axes:
    """Draw the null distribution of a two-sample test as a histogram, with the observed statistic.

    Parameters
    ----------
    result : TwoSampleResult
    ax : matplotlib Axes, optional
        Where to draw; a new figure without ``pyplot`` by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import densdiff as dd
    >>> pair = dd.datasets.gaussian_shift(0.3, n=40, random_state=0)
    >>> ax = dd.plots.plot_null(dd.two_sample_test(pair.x, pair.y, n_permutations=99, random_state=0))
    >>> ax.get_xlabel()
    'statistic'
    """
    ax = new_axes() if ax is None else ax
    values = np.asarray(result.null_distribution, dtype=np.float64)
    ends = np.array([*values, result.statistic])
    low, high = float(ends.min()), float(ends.max())
    pad = 0.03 * (high - low) or 0.5 * abs(high) or 0.5
    edges = np.linspace(low - pad, high + pad, 61).tolist()
    beyond = values >= result.statistic
    words = {"permutation": "random relabellings", "all partitions": "partitions (all)"}
    label = f"{len(values)} {words.get(result.null, 'draws from the limit')}"
    ax.hist(values, edges, color="0.72", label=label)
    if beyond.any():
        ax.hist(values[beyond], edges, color=MORE_Y, alpha=0.8, label="of these at least as large")
    ax.axvline(result.statistic, color=MORE_X, lw=2.0, label="the data")
    ax.set_xlim(edges[0], edges[-1])
    ax.set_xlabel("statistic")
    ax.set_ylabel("count")
    ax.set_title(f"p = {result.pvalue:.3g}", fontsize="medium")
    ax.legend(frameon=False, fontsize="small")
    return ax
