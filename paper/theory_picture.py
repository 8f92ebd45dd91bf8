"""The picture of the theory: a panel for each check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paper.canvas import new_figure
from paper.part import Rows
from paper.theory_checks import pick
from paper.theory_rates import ORDERS, Shifted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(rows: Rows) -> Figure:
    """A panel for each check."""
    figure = new_figure(13.0, 7.5)
    axes = figure.subplots(2, 3).ravel()
    panels: list[tuple[str, str, str, str, str]] = [
        ("normality", "coverage", "normality of theta", "n + m", "coverage of the 95 % ellipsoid"),
        ("regularization", "bias", "bias by regularization", "lambda", "- bias"),
        ("bias", "excess", "bias of h'H^-1 h", "n + m", "mean - truth"),
        ("positive part", "error", "positive part", "sigma", "root mean squared error"),
        ("duality", "LSDD", "lower bound at LSDD's f", "n", "2 (E_p g - E_q g) - |g|^2"),
        ("rate", "", "rate", "n", "squared error of f"),
    ]
    for ax, (check, case, title, x, y) in zip(axes, panels, strict=True):
        found = pick(rows, check, case=case) if case else pick(rows, check)
        for label in dict.fromkeys((r["method"], r["case"]) for r in found):
            _curve(ax, [r for r in found if (r["method"], r["case"]) == label])
        logarithmic = check in ("regularization", "positive part", "rate")
        ax.set(title=title, xlabel=x, ylabel=y, xscale="log", yscale="log" if logarithmic else "linear")
        ticks = sorted({r["x"] for r in found})
        ax.set_xticks(ticks, [f"{tick:.2g}" if tick < 1 else f"{tick:g}" for tick in ticks])
        ax.set_xticks([], minor=True)
        if found:
            if check == "rate":
                ax.set_ylim(bottom=min(r["value"] for r in found) / 20)  # room for the legend
            ax.legend(fontsize="xx-small" if check == "rate" else "small", ncols=2 if check == "rate" else 1)
    return figure


def _curve(ax: Axes, found: list[dict[str, Any]]) -> None:
    """Measured values with two standard errors, and what the theory gives as a dashed line of the same colour."""
    first = found[0]
    sign = -1.0 if first["check"] == "regularization" else 1.0
    style: dict[str, Any] = {"label": first["method"], "linestyle": "-"}
    if first["check"] == "rate":  # a colour for each smoothness, a line for each method
        colour = [f"{Shifted(order).smoothness:g}" for order in ORDERS].index(first["case"])
        line = {"LSDD": "-", "KDE": ":"}.get(first["method"], "-.")
        style = {"label": f"{first['method']}, a = {first['case']}", "color": f"C{colour}", "linestyle": line}
    x, errors = [r["x"] for r in found], [2 * (r["standard_error"] or 0.0) for r in found]
    drawn = ax.errorbar(x, [sign * r["value"] for r in found], yerr=errors, marker="o", ms=3, lw=1, **style)
    if first["check"] != "rate" and all(r["theory"] for r in found):
        ax.plot(x, [sign * r["theory"] for r in found], linestyle="--", lw=1, color=drawn.lines[0].get_color())
