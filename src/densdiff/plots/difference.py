"""The density difference as a curve or a map, with the two samples.

The difference and its band come from the fitted model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from densdiff.data import parameters
from densdiff.data.points import check_points
from densdiff.errors import InputError, not_fitted
from densdiff.plots.canvas import (
    DARK_X,
    DARK_Y,
    LARGEST_RUG,
    MORE_X,
    MORE_Y,
    FloatArray,
    drawn_range,
    new_axes,
    plain_label,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_MARKERS = 1000


class FittedDifference(Protocol):
    """What a picture reads from a model: LSDD and KDEDifference have it after ``fit``."""

    @property
    def samples_(self) -> tuple[FloatArray, FloatArray]: ...

    @property
    def feature_names_(self) -> tuple[str, ...]: ...

    def predict(self, points: FloatArray, /) -> FloatArray: ...

    def l2_distance(self) -> Any: ...


def plot_difference(
    model: FittedDifference, *, ax: Axes | None = None, points: npt.ArrayLike | None = None, level: float = 0.95
) -> Axes:
    """Draw the estimated density difference f = p - q with the two samples.

    One column gives a curve, with the samples as rugs (small) or histograms (large): X above, Y below. Two
    columns give a map. A model with ``confidence_band`` (LSDD) gets its simultaneous band: colour under the curve
    only where the band excludes 0, or lines around such regions of the map.

    Parameters
    ----------
    model : LSDD or KDEDifference
        Fitted on one or two columns.
    ax : matplotlib Axes, optional
        Where to draw; a new figure without ``pyplot`` by default.
    points : array-like of shape (k, d), optional
        Where f is evaluated, 1-D for one column; by default a grid over the data without far outliers.
    level : float
        Nominal coverage of the band.

    Returns
    -------
    matplotlib.axes.Axes
        Its ``figure`` has ``savefig``.

    Examples
    --------
    >>> import densdiff as dd
    >>> from densdiff.datasets import gaussian_shift
    >>> pair = gaussian_shift(0.5, n=60, random_state=0)
    >>> ax = dd.plots.plot_difference(dd.LSDD(random_state=0).fit(pair.x, pair.y))
    >>> ax.get_ylabel()
    'f = p - q'
    """
    if not hasattr(model, "samples_"):
        raise not_fitted(f"this {type(model).__name__} is not fitted; call fit(X, Y) before plotting")
    d = model.samples_[0].shape[1]
    if d > 2:
        raise InputError(
            f"plot_difference draws one or two columns, but the model has {d}; fit it on the columns you want to see"
        )
    parameters.fraction(level, "level")
    rows = None if points is None else _check_rows(points, model.feature_names_)
    ax = new_axes() if ax is None else ax
    if d == 1:
        _draw_curve(ax, model, rows, level)
    else:
        _draw_map(ax, model, rows, level)
    ax.set_title(_title(model.l2_distance()), fontsize="medium")
    return ax


def _title(result: Any) -> str:
    texts = []
    for name, value, field in (
        ("squared L2 distance", result.squared, "interval"),
        ("normalized", result.normalized, "normalized_interval"),
    ):
        interval = getattr(result, field, None)
        limits = "" if interval is None else f" [{interval[0]:.3g}, {interval[1]:.3g}]"
        texts.append(f"{name} {value:.3g}{limits}")
    return ", ".join(texts)


def _limits(model: FittedDifference, points: FloatArray, level: float) -> tuple[FloatArray, FloatArray] | None:
    """The simultaneous band at the points, if the model has one."""
    confidence_band = getattr(model, "confidence_band", None)
    if confidence_band is None:
        return None
    band = confidence_band(points, level)
    return band.lower, band.upper


def _check_rows(points: npt.ArrayLike, names: tuple[str, ...]) -> FloatArray:
    rows, d = check_points(points, names), len(names)
    if len(rows) < d + 1:
        raise InputError(f"points has {len(rows)} rows; more than {d} are needed", argument="points")
    if np.linalg.matrix_rank(rows - rows.mean(axis=0)) < d:
        text = "points all lie at one place or on one line; spread them over the range to draw"
        raise InputError(text, argument="points")
    return rows


def _draw_curve(ax: Axes, model: FittedDifference, rows: FloatArray | None, level: float) -> None:
    pooled = np.concatenate(model.samples_)[:, 0]
    if rows is None:
        low, high = drawn_range(pooled)
        # Quantiles refine the even grid where the data are dense, which is where f can be narrow.
        knots = np.quantile(pooled, np.linspace(0, 1, 201))
        grid = np.union1d(np.linspace(low, high, 401), knots[(knots > low) & (knots < high)])
    else:
        grid = np.unique(rows[:, 0])
        low, high = float(grid[0]), float(grid[-1])
    f = model.predict(grid[:, np.newaxis])
    limits = _limits(model, grid[:, np.newaxis], level)
    lower, upper = (f, f) if limits is None else limits
    if limits is not None:
        ax.fill_between(grid, lower, upper, color="0.6", alpha=0.35, lw=0, label=f"{100 * level:g} % band for all of f")
        ax.legend(loc="upper right", bbox_to_anchor=(1, 0.86), fontsize="small", frameon=False, borderpad=0)
    ax.fill_between(grid, 0, f, where=lower > 0, color=MORE_X, alpha=0.45, lw=0)
    ax.fill_between(grid, 0, f, where=upper < 0, color=MORE_Y, alpha=0.45, lw=0)
    ax.axhline(0, color="0.35", lw=0.8)
    ax.plot(grid, f, color="black", lw=1.6)
    ax.set_xlim(low, high)
    _draw_samples(ax, model.samples_, (low, high))
    # The samples take the upper and the lower strip of the axes; f gets the room between them.
    top, bottom = max(float(upper.max()), 0.0), min(float(lower.min()), 0.0)
    height = (top - bottom) or 1.0
    ax.set_ylim(bottom - 0.38 * height, top + 0.38 * height)
    ax.set_xlabel(plain_label(model.feature_names_[0]))
    ax.set_ylabel("f = p - q")


def _draw_samples(ax: Axes, samples: tuple[FloatArray, FloatArray], span: tuple[float, float]) -> None:
    """Draw X in the upper strip of the axes and Y in the lower one, each with its name beside it."""
    across = ax.get_xaxis_transform()  # x in data units, y in fractions of the axes
    x, y = samples[0][:, 0], samples[1][:, 0]
    small = max(len(x), len(y)) <= LARGEST_RUG
    if small:
        ax.vlines(x, 0.945, 1.0, color=MORE_X, lw=0.8, alpha=0.6, transform=across)
        ax.vlines(y, 0.0, 0.055, color=MORE_Y, lw=0.8, alpha=0.6, transform=across)
    else:
        edges = np.linspace(*span, 61)
        heights = [np.histogram(column, edges)[0] / len(column) for column in (x, y)]
        tallest = max(float(np.max(heights)), np.finfo(float).tiny)
        for height, base, sign, color in zip(heights, (0.86, 0.14), (1, -1), (MORE_X, MORE_Y), strict=True):
            tops = base + sign * 0.13 * height / tallest
            ax.stairs(tops, edges, baseline=base, fill=True, color=color, alpha=0.35, lw=0, transform=across)
            ax.stairs(tops, edges, baseline=base, color=color, lw=0.9, transform=across)
    inner = 0.067 if small else 0.152
    for text, color, at, side in (
        (_sample_text("X", x, span), MORE_X, 1 - inner, "top"),
        (_sample_text("Y", y, span), MORE_Y, inner, "bottom"),
    ):
        ax.text(0.012, at, text, color=color, verticalalignment=side, fontsize="small", transform=ax.transAxes)


def _sample_text(name: str, values: FloatArray, span: tuple[float, float]) -> str:
    outside = int(np.sum((values < span[0]) | (values > span[1])))
    size = "n" if name == "X" else "m"
    note = f", {outside} outside the picture" if outside else ""
    sign = ">" if name == "X" else "<"
    return f"{name}, {size} = {len(values)}{note}; more {name} where f {sign} 0"


def _draw_map(ax: Axes, model: FittedDifference, rows: FloatArray | None, level: float) -> None:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.ticker import MaxNLocator

    contours: Callable[..., Any] = ax.tricontourf
    outlines: Callable[..., Any] = ax.tricontour
    shape: tuple[int, ...] = (-1,)
    if rows is None:
        axes = [np.linspace(*drawn_range(column), 101) for column in np.concatenate(model.samples_).T]
        rows = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
        shape, contours, outlines = (101, 101), ax.contourf, ax.contour
    places, f = [column.reshape(shape) for column in rows.T], model.predict(rows).reshape(shape)
    largest = float(np.max(np.abs(f))) or 1.0
    colors = LinearSegmentedColormap.from_list("difference", [MORE_Y, "#FFFFFF", MORE_X])
    # An odd number of bands keeps the middle one, f near 0, white.
    filled = contours(*places, f, levels=np.linspace(-largest, largest, 18), cmap=colors)
    filled.set_edgecolor("face")  # hides the hairlines between bands in vector output
    _draw_markers(ax, model.samples_)
    limits = _limits(model, rows, level)
    if limits is not None:
        for values, sign, color in zip(limits, (1.0, -1.0), (DARK_X, DARK_Y), strict=True):
            if (sign * values > 0).any():
                outlines(*places, values.reshape(shape), levels=[0.0], colors=color, linewidths=1.8)
        ax.plot([], [], color="0.25", lw=1.8, label=f"inside: f is not 0, {100 * level:g} % band")
    ax.legend(loc="best", fontsize="small", framealpha=0.85, handlelength=1.2, handletextpad=0.4, borderpad=0.3)
    ax.set_xlim(float(np.min(places[0])), float(np.max(places[0])))
    ax.set_ylim(float(np.min(places[1])), float(np.max(places[1])))
    ax.figure.colorbar(filled, ax=ax, label="f = p - q", ticks=MaxNLocator(8))
    ax.set_xlabel(plain_label(model.feature_names_[0]))
    ax.set_ylabel(plain_label(model.feature_names_[1]))


def _draw_markers(ax: Axes, samples: tuple[FloatArray, FloatArray]) -> None:
    for name, sample, color, marker in zip("XY", samples, (DARK_X, DARK_Y), "o^", strict=True):
        shown = sample[:: -(-len(sample) // MOST_MARKERS)]
        size = f"{'n' if name == 'X' else 'm'} = {len(sample)}"
        label = f"{name}, {size}" if len(shown) == len(sample) else f"{name}, {size}, {len(shown)} shown"
        ax.scatter(shown[:, 0], shown[:, 1], s=10, marker=marker, color=color, alpha=0.5, linewidths=0, label=label)
