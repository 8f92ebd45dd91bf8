"""The mixture of classes beside the new sample it matches.

Shares come from the fitted `ClassBalance`; densities here are for the eye alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from densdiff import messages
from densdiff.core.kernel_density import common_bandwidth, density_at
from densdiff.data.points import check_new_rows
from densdiff.errors import InputError, not_fitted
from densdiff.plots.canvas import LARGEST_RUG, FloatArray, drawn_range, new_axes, plain_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito; further classes begin again with another hatching
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
HATCHES = ("", "///", "...", "xxx")


class FittedBalance(Protocol):
    """What the picture reads: `ClassBalance` has it after ``fit``."""

    @property
    def samples_(self) -> tuple[FloatArray, ...]: ...

    @property
    def sample_weights_(self) -> tuple[FloatArray, ...]: ...

    @property
    def classes_(self) -> Any: ...

    @property
    def levels_(self) -> tuple[tuple[str, ...] | None, ...]: ...

    @property
    def feature_names_(self) -> tuple[str, ...]: ...

    def predict(self, X_new: Any, /) -> FloatArray: ...


def plot_mixture(balance: FittedBalance, X_new: Any, *, column: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the classes, stacked in their estimated shares, under the density of the new rows.

    Where the stack and the line agree, the mixture explains the new rows; a gap says that a class has changed or that
    there is another one.

    Parameters
    ----------
    balance : ClassBalance
        Fitted.
    X_new : array or data frame of shape (m, d)
    column : str, optional
        Which column to draw; by default the one in which the classes differ most.
    ax : matplotlib Axes, optional
        Where to draw; a new figure without ``pyplot`` by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> import densdiff as dd
    >>> X, y = np.random.default_rng(0).normal([[0.0], [2.0]] * 30), ["a", "b"] * 30
    >>> ax = dd.plots.plot_mixture(dd.ClassBalance(random_state=0).fit(X, y), X[10:50])
    >>> ax.get_xlabel()
    'x0'
    """
    if not hasattr(balance, "classes_"):
        raise not_fitted(f"this {type(balance).__name__} is not fitted; call fit(X, y) before plotting")
    names = balance.feature_names_
    if column is not None and column not in names:
        need = f"column must be one of {', '.join(map(messages.shown, names))}"
        raise InputError(f"{need}; got {messages.describe_value(column)}", argument="column")
    levels = balance.levels_
    numbers = [j for j in range(len(names)) if not levels or levels[j] is None]
    if not numbers or (column is not None and names.index(column) not in numbers):
        raise InputError("plot_mixture draws a column of numbers; categories have no density")
    new, priors = check_new_rows(X_new, names, [], levels), balance.predict(X_new)
    most_separating = numbers[_most_separating_column(tuple(sample[:, numbers] for sample in balance.samples_))]
    j = most_separating if column is None else names.index(column)
    ax = new_axes() if ax is None else ax
    classes, rows = [sample[:, j] for sample in balance.samples_], new[:, j]
    low, high = drawn_range(np.concatenate([*classes, rows]))
    grid, base = np.linspace(low, high, 401), np.zeros(401)
    bandwidth = common_bandwidth(classes) or common_bandwidth([rows])  # one, or the stack would not match the line
    for c, (values, prior) in enumerate(zip(classes, priors, strict=True)):
        top = base + prior * _density(values, grid, bandwidth, balance.sample_weights_[c])
        text = f"{plain_label(messages.class_name(balance.classes_[c]))}: {100 * prior:.0f} %"
        style: dict[str, Any] = {"facecolor": COLORS[c % 7], "edgecolor": "white", "hatch": HATCHES[c // 7 % 4]}
        ax.fill_between(grid, base, top, alpha=0.55, label=text, **style)
        base = top
    ax.plot(grid, _density(rows, grid, bandwidth), color="black", lw=1.8, label=f"{len(rows)} new rows")
    if len(rows) <= LARGEST_RUG:
        ax.vlines(rows, 0.0, 0.035, color="black", lw=0.7, alpha=0.5, transform=ax.get_xaxis_transform())
    ax.set_xlim(low, high)
    ax.set_ylim(bottom=0)
    ax.set_xlabel(plain_label(names[j]))
    ax.set_ylabel("density")
    ax.set_title("Classes in their estimated shares, and the new rows", fontsize="medium")
    ax.legend(frameon=False, fontsize="small")
    return ax


def _most_separating_column(samples: tuple[FloatArray, ...]) -> int:
    """The column with the largest variance between over variance within classes."""
    means = np.array([sample.mean(axis=0) for sample in samples])
    within = np.mean([sample.var(axis=0) for sample in samples], axis=0)
    between = means.var(axis=0)
    return int(np.argmax(np.divide(between, within, out=np.where(between > 0, np.inf, 0.0), where=within > 0)))


def _density(values: FloatArray, grid: FloatArray, bandwidth: float, weights: FloatArray | None = None) -> FloatArray:
    """A smooth curve of unit area for the eye; a bar for a constant."""
    if np.ptp(values) == 0 or bandwidth == 0:
        near = np.abs(grid - values[0]) <= 0.01 * np.ptp(grid)
        return np.asarray(near / (near.sum() * (grid[1] - grid[0])))
    unit = float(np.abs(grid).max())  # squares of 1e200 are no doubles
    return density_at(grid / unit, values / unit, bandwidth / unit, weights) / unit
