"""A series with the changes found in it, above its score.

The page with the same series is in `report.changes`, which draws without matplotlib.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from densdiff.errors import InputError
from densdiff.messages import state_name
from densdiff.plots.canvas import MORE_X, MORE_Y, FloatArray, legend_above, new_figure, plain_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_COLUMNS = 6
MOST_POINTS = 4000  # a longer series is drawn as the range of each run of samples
FEW_POINTS = 60  # each of so few samples gets a dot
LONGEST_NAME = 24
FEW_KINDS = 4  # changes whose kinds fit into the title
# Okabe and Ito's colours, blue and orange first; then they begin again, and letters tell
STATES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
_BAND = 0.055  # of the height: the band of states
_LETTER = 0.02  # of the width: a segment with its letter
_UNITS = {"d": 86400.0, "h": 3600.0, "min": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
_EXACT = 2**53  # float64, in which all is drawn, holds every integer up to here
_SHORTEST_DATES = 1e-3  # seconds that an axis of dates can resolve, with some to spare
_DATED = (1, 9999)  # years that matplotlib knows
_YEAR = 365.2425  # days
_DAYS = (5, 160)  # between so many days matplotlib's ticks are days


class ScoredSeries(Protocol):
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
    def intervals(self) -> npt.NDArray[np.intp]: ...

    @property
    def level(self) -> float: ...

    @property
    def states(self) -> npt.NDArray[np.intp]: ...

    @property
    def kinds(self) -> tuple[Any, ...]: ...

    @property
    def scores(self) -> FloatArray: ...

    @property
    def threshold(self) -> float: ...


class _Clock(NamedTuple):
    """Where samples stand on the axis, its label, and the ticks it needs: "numbers", "whole" or "dates"."""

    at: FloatArray  # (T,)
    label: str
    ticks: str = "numbers"
    zone: datetime.tzinfo | None = None


def plot_changes(result: ScoredSeries, *, axes: Any = None) -> npt.NDArray[Any]:
    """Draw the series with its changes, a band of its states, and below it the score with the threshold.

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
        new_figure(8.0, 4.6).subplots(2, 1, sharex=True, height_ratios=(3, 2)) if axes is None else _check_axes(axes)
    )
    clock = _clock(result.times, len(result.series))
    at = clock.at
    for ax in (above, below):
        _set_ticks(ax, clock)
    _draw_series(above, at, result)
    _line(below, at, result.scores, color="black")
    if np.isfinite(result.threshold):
        below.axhline(result.threshold, color=MORE_Y, lw=1.2, ls="--", label="threshold")
    _mark_changes(above, below, at, result)
    scored = bool(np.isfinite(result.scores).any())
    below.set_ylabel("score" if np.isfinite(result.threshold) or not scored else "score,\nno threshold")
    below.set_ylim(bottom=0)
    if not scored:
        below.set_yticks([])
        below.text(0.5, 0.5, "no score", transform=below.transAxes, ha="center", va="center", color="dimgrey")
    below.set_xlabel(clock.label)
    above.set_title(_title(result), loc="left", size="medium")
    legend_above(above, below)
    return np.array([above, below])


def _title(result: ScoredSeries) -> str:
    """How many changes there are, and of which kind if they are few."""
    count = len(result.changes)
    if not count:
        return "no change found"
    kinds = f": {', '.join(kind.what for kind in result.kinds)}" if len(result.kinds) <= FEW_KINDS else ""
    return f"{count} change{'s' * (count > 1)}{kinds if result.kinds else ''}"


def _mark_changes(above: Axes, below: Axes, at: FloatArray, result: ScoredSeries) -> None:
    """Each change, where it may be, and a band of the states at the foot of the series."""
    percent = f"{100 * result.level:g} %"
    for i, (change, places) in enumerate(zip(result.changes, at[result.intervals], strict=True)):
        for ax in (above, below):
            ax.axvspan(*places, color=MORE_X, alpha=0.2, lw=0, label=f"{percent} interval" if i == 0 else None)
            ax.axvline(at[change], color=MORE_X, lw=1.4, alpha=0.85, label="change" if i == 0 else None)
    if not len(result.changes):
        return
    low, high = above.get_ylim()
    above.set_ylim(low - 1.6 * _BAND * (high - low), high)
    edges = [*at[[0, *result.changes]], at[-1]]
    across = above.get_xaxis_transform()
    for left, right, state in zip(edges[:-1], edges[1:], result.states, strict=True):
        colour = STATES[state % len(STATES)]
        above.axvspan(left, right, ymax=_BAND, facecolor=colour, alpha=0.6, edgecolor="white", lw=0.8)
        if right - left >= _LETTER * (edges[-1] - edges[0]):
            place: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontsize": "x-small"}
            above.text(left / 2 + right / 2, _BAND / 2, state_name(int(state)), transform=across, **place)


def _draw_series(ax: Axes, at: FloatArray, result: ScoredSeries) -> None:
    """One column as it is, several one above the other, each scaled to its own range and named beside it."""
    total = result.series.shape[1]
    if total == 1:
        _line(ax, at, result.series[:, 0], color="black")
        ax.set_ylabel(plain_label(result.names[0]))
        return
    shown = min(total, MOST_COLUMNS)
    middles = []
    for j in range(shown):
        values = result.series[:, j]
        low, high = float(values.min()), float(values.max())
        half = high / 2 - low / 2  # no overflow where high - low would have one
        scaled = (values / 2 - low / 2) / half if half else np.full(len(values), 0.5)
        _line(ax, at, scaled - 1.1 * j, color="black")
        middles.append(float(np.median(scaled)) - 1.1 * j)
    names = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in result.names[:shown]]
    ax.set_yticks(middles, [plain_label(name) for name in names], fontsize="small")
    ax.set_ylabel(f"{shown} columns" if shown == total else f"{shown} of {total} columns")


def _clock(times: Any, length: int) -> _Clock:
    """Times as floats, in which alone pictures are drawn."""
    if times is None:
        return _Clock(np.arange(float(length)), "sample", "whole")
    times = np.asarray(times)
    first = times[0]
    if isinstance(first, (datetime.timedelta, np.timedelta64)):
        return _durations(times, "time")
    if isinstance(first, (datetime.date, np.datetime64)):
        return _dates(times)
    if times.dtype.kind in "iu" and max(abs(int(first)), abs(int(times[-1]))) > _EXACT:
        # modulo 2**64 the difference is right, also of int64
        return _Clock((times.astype(np.uint64) - first.astype(np.uint64)).astype(np.float64), f"time since {first}")
    return _Clock(times.astype(np.float64), "time")


def _durations(times: npt.NDArray[Any], label: str) -> _Clock:
    """Durations as numbers in the largest unit that the series is at least twice as long as."""
    if times.dtype.kind == "O":
        times = times.astype("m8[us]")
    if np.datetime_data(times.dtype)[0] in ("Y", "M"):  # no share of a second that NumPy would tell
        times = times.astype("m8[s]")
    seconds = times / np.timedelta64(1, "s")
    span = float(seconds[-1] - seconds[0])
    unit = next((unit for unit, length in _UNITS.items() if span >= 2 * length), "ns" if span else "s")
    return _Clock(np.asarray(seconds / _UNITS[unit], dtype=np.float64), f"{label} ({unit})")


def _dates(times: npt.NDArray[Any]) -> _Clock:
    """Dates as days, as matplotlib counts them, unless they are too close together or too far away for that."""
    import matplotlib.dates

    dates: Any = matplotlib.dates  # partly typed only
    days = np.asarray(dates.date2num(times), dtype=np.float64)
    if times.dtype.kind == "M" and times[-1] > times[0] and days[-1] - days[0] < _SHORTEST_DATES / 86400:
        return _durations(times - times[0], f"time since {times[0]}")
    years = 1970 + days / _YEAR
    if years[0] < _DATED[0] + 1 or years[-1] > _DATED[1] - 1:
        return _Clock(years, "year")
    zone = getattr(times[0], "tzinfo", None)
    return _Clock(days, f"time ({plain_label(str(zone))})" if zone else "time", "dates", zone)


def _set_ticks(ax: Axes, clock: _Clock) -> None:
    """Ticks that fit the clock, and the series from edge to edge."""
    import matplotlib.dates
    from matplotlib.ticker import MaxNLocator

    dates: Any = matplotlib.dates
    low, high = float(clock.at[0]), float(clock.at[-1])
    pad = 0.0 if low < high else 0.5  # one sample, or a clock that stands still
    if low < high and len(clock.at) <= FEW_POINTS:
        pad = (high - low) / (2 * len(clock.at))  # the edges would cut the first and the last dot
    if clock.ticks == "whole":
        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    elif clock.ticks == "dates":
        ax.xaxis_date(clock.zone)
        # whole hours and years, but days evenly: started anew each month, the 31st and the 1st overlap
        locator = dates.AutoDateLocator(tz=clock.zone, interval_multiples=not _DAYS[0] < high - low < _DAYS[1])
        ax.xaxis.set_major_locator(locator)
        words = dates.ConciseDateFormatter(locator, tz=clock.zone)
        # days with their month: beside the axis matplotlib names the last month only
        words.formats[2] = words.zero_formats[2] = "%d %b"
        words.offset_formats[2] = "%Y"
        ax.xaxis.set_major_formatter(words)
    ax.set_xlim(low - pad, high + pad)


def _check_axes(axes: Any) -> Any:
    if not hasattr(axes, "__len__") or len(axes) != 2:
        raise InputError("axes must be two matplotlib Axes, for the series and for the score", argument="axes")
    return axes


def _line(ax: Axes, at: FloatArray, values: FloatArray, **style: Any) -> None:
    """A line, or for many samples the range of each run of them: thousands of samples fall on one dot otherwise."""
    if len(values) <= MOST_POINTS:
        ax.plot(at, values, lw=0.9, marker="." if len(values) <= FEW_POINTS else "", **style)
        return
    starts = np.arange(0, len(values), -(-len(values) // (MOST_POINTS // 2)))
    low, high = np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)
    ax.fill_between(at[starts], low, high, lw=0.6, **style)
