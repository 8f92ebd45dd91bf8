"""Figures 9 and 11: how a mixture of classes is matched, and how two segments slide along a series."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import densdiff as dd
from paper.canvas import BLUE, VERMILLION, new_figure
from paper.part import SEED, Job, Part, Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PRIOR = 0.7  # of the positive class in the new rows
_POINTS = np.linspace(-4.0, 5.0, 181)
_SHARES = np.linspace(0.0, 1.0, 21)
_LAG, _WINDOW, _CHANGE, _LENGTH = 5, 50, 120, 240
_AT = 90  # where the two segments that are drawn meet


def mixture(seed: int) -> list[dict[str, Any]]:
    """Densities of two classes and of new rows, the mixture that matches, and the distance at every share."""
    rng = np.random.default_rng(seed)
    classes = {"y = +1": rng.normal(1.5, 0.9, 200), "y = -1": rng.normal(-1.0, 0.7, 200)}
    positive = round(300 * _PRIOR)
    new = np.concatenate([rng.normal(1.5, 0.9, positive), rng.normal(-1.0, 0.7, 300 - positive)])
    x, y = np.concatenate(list(classes.values())), np.repeat([1, -1], 200)
    balance = dd.ClassBalance(model=dd.LSDD(solver="centers", standardize=False), random_state=seed).fit(x, y)
    found = balance.estimate(new)
    share = float(found.priors[1])
    lines = {name: _density(rows, new) for name, rows in (classes | {"new rows": new}).items()}
    lines["matched mixture"] = share * lines["y = +1"] + (1 - share) * lines["y = -1"]
    rows = [
        {"quantity": "density", "of": name, "x": point, "value": value}
        for name, line in lines.items()
        for point, value in zip(_POINTS.tolist(), line.tolist(), strict=True)
    ]
    model = dd.LSDD(sigma=found.sigma, lam=found.lam, solver="centers", standardize=False, random_state=seed)
    for pi in _SHARES.tolist():
        weights = np.where(y == 1, max(pi, 1e-9), max(1 - pi, 1e-9))
        model.fit(x, new, weights_x=weights)
        scale = np.sqrt(np.pi) * model.sigma_
        fitted = np.average(model.predict(x), weights=weights) - model.predict(new).mean()  # E4
        distance = float(fitted + model.lam_ * scale * (model.theta_ @ model.theta_))  # E6
        rows.append({"quantity": "distance", "of": "share", "x": pi, "value": distance})
    return [*rows, {"quantity": "estimate", "of": "share", "x": share, "value": None}]


def _density(rows: np.ndarray[Any, Any], beside: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A kernel density estimate, its width by likelihood cross-validation."""
    width = dd.KDEDifference(standardize=False, random_state=0).fit(rows, beside).sigma_[0]
    count = len(rows)
    return dd.datasets.Mixture(np.full(count, 1 / count), rows, np.full(count, width**2))(_POINTS)


def _line(rows: Rows, quantity: str, of: str) -> tuple[list[float], list[float]]:
    found = [(row["x"], row["value"]) for row in rows if (row["quantity"], row["of"]) == (quantity, of)]
    return [x for x, _ in found], [value for _, value in found]


def _draw_mixture(rows: Rows) -> Figure:
    figure = new_figure(11.0, 3.4)
    parts, matched, distance = figure.subplots(1, 3)
    (share,), _ = _line(rows, "estimate", "share")
    for name, colour, weight in (("y = +1", BLUE, share), ("y = -1", VERMILLION, 1 - share)):
        x, value = _line(rows, "density", name)
        parts.plot(x, value, color=colour, label=f"density of {name}")
        matched.fill_between(x, weight * np.array(value), color=colour, alpha=0.3, label=f"{weight:.2f} of {name}")
    matched.plot(*_line(rows, "density", "matched mixture"), color="black", label="mixture")
    matched.plot(*_line(rows, "density", "new rows"), color="0.5", linestyle="--", label="new rows")
    distance.plot(*_line(rows, "distance", "share"), color="black")
    distance.axvline(share, color=BLUE, label=f"estimate {share:.3f}")
    distance.axvline(_PRIOR, color="0.6", linestyle=":", label=f"truth {_PRIOR:g}")
    parts.set(title="labelled classes", xlabel="x")
    matched.set(title="mixture beside the new rows", xlabel="x")
    distance.set(title="squared distance by LSDD", xlabel="share of y = +1")
    for ax in (parts, matched, distance):
        ax.legend(fontsize="x-small", frameon=False)
    return figure


def sliding(seed: int) -> list[dict[str, Any]]:
    """A series with one change, and the score of LSDD, cross-validated at every position, along it."""
    given = dd.datasets.piecewise_series([_CHANGE], size=2.5, length=_LENGTH, random_state=seed)
    found = dd.detect_changes(
        given.series, window=_WINDOW, lag=_LAG, tuning="window", model=dd.LSDD(), n_changes=1, random_state=seed
    )
    return [
        {"t": t, "value": float(value), "score": None if np.isnan(score) else float(score)}
        for t, (value, score) in enumerate(zip(given.series[:, 0], found.scores, strict=True))
    ]


def _draw_sliding(rows: Rows) -> Figure:
    figure = new_figure(8.0, 4.8)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    above.plot([row["t"] for row in rows], [row["value"] for row in rows], color="black", linewidth=0.9)
    low, high = (pick(row["value"] for row in rows) for pick in (min, max))
    step = 0.1 * (high - low)
    for start, side, colour in ((_AT - _WINDOW, "before", BLUE), (_AT, "after", VERMILLION)):
        above.axvspan(start, start + _WINDOW - 1, color=colour, alpha=0.12)
        _subsequences(above, start, low - step, step / 2, colour)
        above.text(start + 1, high, f"segment {side}", color=colour, fontsize="small", va="bottom")
    scored = [(row["t"], row["score"]) for row in rows if row["score"] is not None]
    below.plot(*zip(*scored, strict=True), color="black")
    at = _AT + (_LAG - 1) // 2
    below.plot(at, dict(scored)[at], "o", color="0.4", label=f"distance of the two segments at t = {at}")
    for ax in (above, below):
        ax.axvline(_CHANGE, color="0.5", linestyle=":", label="change")
    above.set(ylim=(low - 4 * step, high + 1.5 * step), ylabel="series")
    below.set(xlabel="t", ylabel="score", ylim=(0.0, None))
    below.legend(fontsize="small", frameon=False, loc="upper left")
    return figure


def _subsequences(ax: Axes, start: int, top: float, step: float, colour: str) -> None:
    """The first few and the last one, each a bar as long as the lag."""
    for k, first in enumerate((start, start + 1, start + 2, start + _WINDOW - 1)):
        ax.plot([first, first + _LAG - 1], [top - k * step] * 2, color=colour, linewidth=3, solid_capstyle="butt")
    ax.text(start + _WINDOW / 2, top - 1.5 * step, "...", color=colour, ha="center")


def _mixture_jobs(runs: int, data: Path | None) -> list[Job]:
    return [Job("9-mixture", mixture, (SEED,), seconds=3.0)]


def _sliding_jobs(runs: int, data: Path | None) -> list[Job]:
    return [Job("11-sliding", sliding, (SEED,), seconds=1.0)]


def _only(results: list[Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = results[0]
    return rows


PARTS = (
    Part(
        figure="9",
        title="class balance as the matching of a mixture, from a fit",
        jobs=_mixture_jobs,
        table=_only,
        draw=_draw_mixture,
        claims=lambda rows: [],
        full_runs=1,
    ),
    Part(
        figure="11",
        title="two adjacent segments of subsequences sliding along a series, from a fit",
        jobs=_sliding_jobs,
        table=_only,
        draw=_draw_sliding,
        claims=lambda rows: [],
        full_runs=1,
    ),
)
