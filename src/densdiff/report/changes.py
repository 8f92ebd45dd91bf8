"""The page of the changes in a series: its answer, its regimes, and a time axis without matplotlib.

Pictures are drawn in `figures`, the frame of the page is in `page`.
"""

from __future__ import annotations

import datetime
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from densdiff import messages
from densdiff.report.change_features import changed_features
from densdiff.report.page import receipt, write_template
from densdiff.report.series_figures import (
    STATE_COLOURS,
    TimeAxis,
    feature_line,
    score_line,
    series_line,
    state_ribbon,
)
from densdiff.report.svg import FloatArray, tick_labels, ticks

_DRAWN = 10  # columns
_HEIGHTS = (140.0, 90.0, 56.0)  # of one column, of a few and of many
_FEW = 4
_LEVELS = 4  # columns whose means are listed
_LISTED = 5  # changes in the answer, segments of a state
_STATES = 14  # in the legend
_LONGEST = 5000  # scores that the page keeps as numbers
_TICKS, _DATED = 6, 4  # of numbers, and of dates, which are longer
_UNITS = (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
# steps between ticks of dates, (seconds, count, unit); none is more than 2.5 times the one before
_TENS, _SIXTIES = (1, 2, 5, 10, 20, 50, 100, 200, 500), (1, 2, 5, 10, 15, 30)
_DATES = tuple(
    (count * seconds, count, unit)
    for unit, seconds, counts in (
        ("us", 1e-6, _TENS),
        ("ms", 1e-3, _TENS),
        ("s", 1.0, _SIXTIES),
        ("m", 60.0, _SIXTIES),
        ("h", 3600.0, (1, 2, 3, 6, 12)),
        ("D", 86400.0, (1, 2, 4, 7, 14)),
        ("M", 30.5 * 86400.0, (1, 2, 3, 6)),
        ("Y", 365.25 * 86400.0, (*_TENS, 1000, 2000, 5000, 10000)),
    )
    for count in counts
)
_SHOWN = {"h": "m", "M": "D", "Y": "D"}  # units whose ticks need finer ones to read well


class _Clock(NamedTuple):
    """Times as numbers, ticks with their labels, and the name of the axis."""

    at: FloatArray  # (T,) where samples stand on the axis
    axis: tuple[list[float], list[str]]
    name: str


def write_changes(path: str | PathLike[str], result: Any, title: str | None = None) -> Path:
    """Write the page of a `ChangesResult`.

    Parameters
    ----------
    path : path-like
        The file to write; it is replaced only once the page is complete.
    result : ChangesResult
    title : str, optional
        The heading of the page.

    Returns
    -------
    pathlib.Path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import densdiff as dd
    >>> from densdiff.report import write_changes
    >>> data = dd.datasets.piecewise_series([120], size=2.0, length=240, random_state=0)
    >>> result = dd.detect_changes(data.series, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_changes(Path(folder, "report.html"), result).name
    'report.html'
    """
    clock, total = _clock(result.times, len(result.series)), result.series.shape[1]
    axis = TimeAxis(clock.at, clock.axis, clock.at[result.changes], clock.at[result.intervals])
    height = _HEIGHTS[0 if total == 1 else 1 if total <= _FEW else 2]
    shown = result.names[:_DRAWN]
    bare = axis._replace(ticks=([], [])) if total > _FEW else axis  # of many columns the last has the numbers
    drawn = [
        (name, series_line(axis if j == len(shown) - 1 else bare, result.series[:, j], name, height))
        for j, name in enumerate(shown)
    ]
    features = [
        (name, feature_line(axis, clock.at[middles], values, name))
        for name, middles, values in changed_features(result)
    ]
    data = result.to_dict()
    notes = list(result.warnings)
    if len(result.scores) > _LONGEST:
        del data["scores"]
        notes.append(f"the {len(result.scores)} scores are left out of the JSON below; to_json has them")
    return write_template(
        path,
        "changes.html",
        data,
        title=title or "Changes in a series",
        answer=_answer(result),
        clock=clock.name,
        level=f"{100 * result.level:g} %",
        ribbon=state_ribbon(axis, clock.at[np.append(0, result.changes)], result.states),
        states=_states(result),
        drawn=drawn,
        more=total - len(drawn),
        features=features,
        score=score_line(axis, result.scores, result.threshold),
        threshold=bool(np.isfinite(result.threshold)),
        names=result.names[: _means_listed(result)],
        regimes=_regimes(result),
        kinds=bool(result.kinds),
        facts=_facts(result, total),
        notes=notes,
    )


def _facts(result: Any, total: int) -> list[tuple[str, str]]:
    """How the changes were looked for."""
    period = [] if result.period is None else [("period", f"{result.period:.4g} samples")]
    return [
        ("samples", f"{result.n_x}, {total} column{'s' * (total > 1)}"),
        ("window", f"{result.window} samples, lag {result.lag}"),
        *period,
        ("level", f"alpha {result.alpha:g}: probability of reporting a change if there is none"),
        ("null", f"no change, correlation of neighbouring samples at most {result.dependence:.3g}"),
        *receipt(result),
    ]


def _states(result: Any) -> list[dict[str, Any]]:
    """Each state with its colour, its letter and its segments counted from 1; none if there is one segment only."""
    if not len(result.changes):
        return []
    members = [np.flatnonzero(result.states == state) + 1 for state in range(int(result.states.max()) + 1)]
    return [
        {
            "colour": state % STATE_COLOURS,
            "name": messages.state_name(state),
            "segments": f"segment{'s' * (len(segments) > 1)} {_numbered(segments.tolist())}",
        }
        for state, segments in enumerate(members[:_STATES])
    ]


def _numbered(segments: list[int]) -> str:
    more = f" and {len(segments) - _LISTED} more" if len(segments) > _LISTED else ""
    return ", ".join(map(str, segments[:_LISTED])) + more


def _answer(result: Any) -> str:
    changes = list(zip(result.changes.tolist(), result.pvalues.tolist(), strict=True))
    if not changes:
        return f"No change found in {result.n_x} samples."
    texts = [f"{_when(result, change)} ({messages.p_text(p)})" for change, p in changes[:_LISTED]]
    more = f" and {len(changes) - _LISTED} more" if len(changes) > _LISTED else ""
    answer = f"{len(changes)} change{'s' * (len(changes) > 1)} in {result.n_x} samples: at {', '.join(texts)}{more}."
    return f"{answer} {result.states_text}." if len(changes) > 1 else answer


def _when(result: Any, change: int) -> str:
    return f"sample {change}" if result.times is None else _time(result.times[change])


def _time(time: Any) -> str:
    """A time as text; microseconds that are none are left out."""
    return messages.shown(time).removesuffix(".000000")


def _place(result: Any, first: int, last: int) -> str:
    """The interval of a place, in samples or on the clock."""
    if result.times is None:
        return f"{first} to {last}"
    return f"{_time(result.times[first])} to {_time(result.times[last])}"


def _regimes(result: Any) -> list[dict[str, Any]]:
    """The stretches between changes: where each begins, how long it is, and the level of the first columns."""
    borders, n_means = [0, *result.changes.tolist(), len(result.series)], _means_listed(result)
    pvalues = ["", *map(messages.p_number, result.pvalues.tolist())]
    places = ["", *(_place(result, first, last) for first, last in result.intervals.tolist())]
    kinds = ["", *(kind.text or kind.what for kind in result.kinds)] if result.kinds else [""] * len(pvalues)
    return [
        {
            "number": k + 1,
            "when": _when(result, borders[k]),
            "place": place,
            "pvalue": p,
            "what": what,
            "state": messages.state_name(state),
            "colour": state % STATE_COLOURS,
            "samples": borders[k + 1] - borders[k],
            "levels": [f"{level:.4g}" for level in _means(result.series[borders[k] : borders[k + 1], :n_means])],
        }
        for k, (place, p, what, state) in enumerate(zip(places, pvalues, kinds, result.states.tolist(), strict=True))
    ]


def _means_listed(result: Any) -> int:
    """How many columns have their means in the table: kinds name the levels that changed, and need the room."""
    return 0 if result.kinds and result.series.shape[1] > 1 else _LEVELS


def _means(rows: FloatArray) -> list[float]:
    """Mean of each column; divided before it is summed, as a sum of very large numbers would be infinite."""
    return [float(mean) for mean in (rows / len(rows)).sum(axis=0)]


def _clock(times: Any, length: int) -> _Clock:
    """Times as floats, and round ticks for them."""
    if times is None:
        return _numbers(np.arange(float(length)), "sample")
    times = np.asarray(times)
    first = times[0]
    if isinstance(first, (datetime.timedelta, np.timedelta64)):
        return _durations(times.astype("m8[us]") if times.dtype.kind == "O" else times)
    if isinstance(first, (datetime.date, np.datetime64)):
        return _dates(times)
    return _numbers(times.astype(np.float64), "time")


def _numbers(at: FloatArray, name: str) -> _Clock:
    values = ticks(float(at[0]), float(at[-1]), _TICKS)
    return _Clock(at, (values, tick_labels(values)), name)


def _durations(times: Any) -> _Clock:
    seconds = _seconds(times)
    span = float(seconds[-1] - seconds[0])
    unit, size = next(((unit, size) for unit, size in _UNITS if span >= 2 * size), _UNITS[-1])
    return _numbers(seconds / size, f"time ({unit})")


def _dates(times: Any) -> _Clock:
    """Dates as seconds since the first, with ticks at equal distances."""
    zone = ""
    if times.dtype.kind == "O":
        if getattr(times[0], "tzinfo", None) is not None:
            zone = " (UTC)"
            times = [time.astimezone(datetime.UTC).replace(tzinfo=None) for time in times]
        times = np.array(times, dtype="M8[us]")
    if np.datetime_data(times.dtype)[0] in ("Y", "M"):  # of which no duration is made
        times = times.astype("M8[D]")
    at = _seconds(times - times[0])
    chosen, unit = _round_dates(times[0].astype("M8[us]"), times[-1].astype("M8[us]"), float(at[-1]))
    labels = np.datetime_as_string(chosen.astype(f"M8[{unit}]")).tolist()
    day = ""
    if unit != "D":  # the day is the same, or the next, for all ticks
        day = f", from {np.datetime_as_string(times[0].astype('M8[D]'))}"
        labels = [label.split("T")[1] for label in labels]
    return _Clock(at, (_seconds(chosen - times[0].astype("M8[us]")).tolist(), labels), f"time{zone}{day}")


def _round_dates(first: Any, last: Any, span: float) -> tuple[Any, str]:
    """Ticks at round dates or times of day, at least one, and the unit in which they are written."""
    _, count, unit = next((step for step in _DATES if (_DATED - 1) * step[0] >= span), _DATES[-1])
    ends = [int(end.astype(f"M8[{unit}]").astype(np.int64)) // count for end in (first, last)]
    whole = np.arange(ends[0], ends[1] + 1) * count
    chosen = whole.astype(f"M8[{unit}]").astype("M8[us]")
    chosen = chosen[(first <= chosen) & (chosen <= last)]
    return (chosen if len(chosen) else np.array([first])), _SHOWN.get(unit, unit)


def _seconds(durations: Any) -> FloatArray:
    if np.datetime_data(durations.dtype)[0] in ("Y", "M"):
        durations = durations.astype("m8[s]")
    return np.asarray(durations / np.timedelta64(1, "s"), dtype=np.float64)
