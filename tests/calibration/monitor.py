"""Realized mean run lengths of the monitor, delays after a change, and two wrong thresholds, which fail."""

import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

import densdiff as dd
from densdiff.core.sliding_window import REACH, STREAMS, Records
from tests.calibration.parallel import gathered, tabulated

OFF = 0.15  # of the run length that was asked for
CHANGES = ("shift", "scale", "correlation")
_CHUNK = 4096  # rows drawn at once
_MOST = 30  # asked run lengths until a stream without alarm is given up


@dataclass(frozen=True)
class Cell:
    """Independent rows of unit variance, a reference of so many windows, and what is asked of the monitor."""

    window: int
    run_length: int
    d: int = 1
    df: float = np.inf  # degrees of freedom
    windows: int = 40  # in the reference

    @property
    def shape(self) -> str:
        return f"{'normal' if np.isinf(self.df) else f't{self.df:g}'}, d = {self.d}"

    def __str__(self) -> str:
        return f"{self.shape}, {self.windows} windows of {self.window}, run length {self.run_length}"

    @property
    def changes(self) -> tuple[str, ...]:
        return CHANGES if self.d > 1 else CHANGES[:2]


def draw(cell, random, count, change=None):
    """Rows (count, d), before or after a change.

    The changes: the first column one deviation up, all columns twice as wide, the first two correlated by 0.8.
    """
    rows = random.standard_normal((count, cell.d))
    if np.isfinite(cell.df):
        rows = random.standard_t(cell.df, (count, cell.d)) * np.sqrt((cell.df - 2) / cell.df)
    if change == "shift":
        rows[:, 0] += 1.0
    elif change == "scale":
        rows *= 2.0
    elif change == "correlation":
        rows[:, 1] = 0.8 * rows[:, 0] + 0.6 * rows[:, 1]
    return rows


@lru_cache(maxsize=1)
def monitor_of(cell, run):
    """The monitor of reference number ``run``, and the reference; nobody here moves its window."""
    random = np.random.default_rng([run, cell.window, cell.run_length, cell.d, cell.windows, int(np.isinf(cell.df))])
    reference = draw(cell, random, cell.windows * cell.window)
    with warnings.catch_warnings():  # fewer than 40 windows are part of the study
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        found = dd.ChangeMonitor(reference, window=cell.window, run_length=cell.run_length, random_state=run)
    return found, reference


def window_scores(gaps, window):
    """Of every full window of rows, from features less their mean in the reference: (k - window + 1,)."""
    sums = np.cumsum(np.vstack([np.zeros(gaps.shape[1]), gaps]), axis=0)
    means = (sums[window:] - sums[:-window]) / window
    return window * np.einsum("ij,ij->i", means, means)


def run_lengths(monitor, rows, count, threshold=None):
    """Rows until the alarm, from ``rows(k)`` without change: (count,).

    One stream of independent rows, on which the monitor starts anew after each alarm: a run is then as one on a stream
    of its own. Where the alarms are too rare, fewer runs come back, and the last of them is cut off.
    """
    threshold = monitor.threshold_ if threshold is None else threshold
    window, start, seen, found = monitor.window, 0, 0, []
    before = np.empty((0, len(monitor._mean)))  # features of the last rows of the chunk before
    while len(found) < count:
        gaps = np.vstack([before, monitor._model.features(rows(_CHUNK)) - monitor._mean])
        last = seen - len(before) + window - 1  # the row that completes the first of the windows
        for t in last + np.flatnonzero(window_scores(gaps, window) > threshold):
            if t - start + 1 >= window:
                found.append(t - start + 1)
                start = t + 1
        seen, before = seen + _CHUNK, gaps[1 - window :]
        if seen - start > _MOST * monitor.run_length:
            return np.array([*found, seen - start], dtype=float)
    return np.array(found[:count], dtype=float)


def delay(monitor, calm, changed):
    """Rows from a change to the alarm; a full window of calm rows comes before, without alarm."""
    while True:
        before = monitor._model.features(calm(monitor.window)) - monitor._mean
        if window_scores(before, monitor.window)[0] <= monitor.threshold_:
            break
    before, seen = before[1:], 0
    while seen < _MOST * monitor.run_length:
        gaps = np.vstack([before, monitor._model.features(changed(4 * monitor.window)) - monitor._mean])
        above = np.flatnonzero(window_scores(gaps, monitor.window) > monitor.threshold_)
        if above.size:
            return seen + above[0] + 1
        seen, before = seen + 4 * monitor.window, gaps[1 - monitor.window :]
    return seen


def fixed_reference(monitor, reference, seed):
    """Wrong: streams drawn from the reference, scored against its own mean, as if the reference were all there is."""
    random = np.random.default_rng([seed, 3])
    gaps = monitor._model.features(reference) - monitor._mean
    length = REACH * (monitor.run_length - monitor.window + 1)
    found = []
    for k in range(STREAMS):
        highest = np.maximum.accumulate(
            window_scores(gaps[random.integers(0, len(gaps), int(length) + monitor.window - 1)], monitor.window)
        )
        step = np.flatnonzero(np.diff(highest, prepend=-1.0) > 0)
        found.append((np.full(len(step), k), step + 1, highest[step]))
    stream, step, height = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Records(stream, step, height, STREAMS, int(length)).threshold(monitor.run_length - monitor.window + 1)


def independent_windows(monitor, reference, seed):
    """Wrong: the score that one window in ``run_length`` exceeds, as if each row came with a window of its own."""
    random = np.random.default_rng([seed, 4])
    features = monitor._model.features(reference)
    n, count = len(features), 20 * round(monitor.run_length)
    means = np.array([features[random.integers(0, n, monitor.window)].mean(axis=0) for _ in range(count)])
    scores = monitor.window * ((means - monitor._mean) ** 2).sum(axis=1)
    scores *= 1.0 + monitor.window / n  # the reference varies as well
    return float(np.quantile(scores, 1.0 - 1.0 / monitor.run_length))


def mean_run(cell, run, streams, way=None):
    """Mean run length of one reference over streams, and the variance of one run about it."""
    monitor, reference = monitor_of(cell, run)
    random = np.random.default_rng([run, 1])
    threshold = None if way is None else way(monitor, reference, run)
    found = run_lengths(monitor, lambda k: draw(cell, random, k), streams, threshold)
    return found.mean(), found.var(ddof=1) if len(found) > 1 else found.mean() ** 2


def delays(cell, run, repeats=2):
    """Mean delay of one reference for each change, nan where a cell has none: (3,)."""
    monitor, _ = monitor_of(cell, run)
    random = np.random.default_rng([run, 2])
    means = np.full(len(CHANGES), np.nan)
    for j, change in enumerate(cell.changes):
        pairs = [
            delay(monitor, lambda k: draw(cell, random, k), lambda k, c=change: draw(cell, random, k, c))
            for _ in range(repeats)
        ]
        means[j] = np.mean(pairs)
    return means


REFERENCES, STREAMS_EACH = 500, 20
INTRO = """## Run lengths of the monitor

Rows until a `ChangeMonitor` raises its first alarm on streams without change: the mean over references of the mean over
fresh streams of each, in brackets its standard error, and how much the mean of a single reference differs from that of
another (a standard deviation, without what the streams add). Rows are independent and of unit variance. Promised for a
reference of 40 windows: within 15 % of the run length that was asked for; a figure further off by more than two
standard errors is marked with !. With 10 windows the monitor warns, and nothing is promised. Beside it the mean delay,
in rows from the change to the alarm after a window of calm rows: the first column a deviation up, all columns twice as
wide, the first two columns with a correlation of 0.8. "Fixed reference" and "independent windows" are wrong
thresholds, kept for comparison, with the run length they give as a multiple of the asked: streams drawn from the
reference against its own mean, and the score that one independent window in so many exceeds.
"""
HEADER = "| rows | window | reference | asked | runs | mean run length | of the asked | spread | shift | scale | "
HEADER += "correlation | fixed reference | independent windows |"


def cells():
    """Every setting of the full table."""
    shapes = ({"d": 1}, {"d": 3}, {"d": 1, "df": 3.0})
    found = [Cell(w, length, **shape) for shape in shapes for w in (20, 100) for length in (200, 2000)]
    return [*found, Cell(20, 200, windows=10), Cell(20, 2000, windows=10)]


def shows_wrong_ways(cell):
    return cell.run_length == 200 and cell.window == 20 and cell.d == 1 and np.isinf(cell.df)


def report(share=1.0):
    """The table as text, and a line for each figure off its target."""
    chosen = cells()
    references = max(10, round(share * REFERENCES))
    jobs = (
        (k, cell, range(first, min(first + 5, references)))
        for k, cell in sorted(enumerate(chosen), key=lambda pair: -pair[1].run_length)
        for first in range(0, references, 5)
    )
    tables = gathered(_chunk, jobs, len(chosen))
    return tabulated(INTRO, HEADER, chosen, map(np.array, tables), _line)


def _chunk(k, cell, runs):
    """Mean run length and the variance of a run, the mean run lengths of the wrong ways, and the delays."""
    found = []
    for run in runs:
        wrong = [np.nan, np.nan]
        if shows_wrong_ways(cell):
            wrong = [mean_run(cell, run, STREAMS_EACH, way)[0] for way in (fixed_reference, independent_windows)]
        found.append((*mean_run(cell, run, STREAMS_EACH), *wrong, *delays(cell, run)))
    return k, found


def _line(cell, table):
    """From an array (references, 7)."""
    references, asked = len(table), cell.run_length
    mean, errors = table.mean(axis=0), table.std(axis=0, ddof=1) / np.sqrt(references)
    spread = np.sqrt(max(0.0, table[:, 0].var(ddof=1) - mean[1] / STREAMS_EACH))
    ratio, error = mean[0] / asked, errors[0] / asked
    promised = cell.windows >= 40
    breach = promised and abs(ratio - 1.0) > OFF + 2.0 * error
    parts = [cell.shape, cell.window, f"{cell.windows} windows", asked, f"{references} x {STREAMS_EACH}"]
    parts += [f"{mean[0]:.0f} ({errors[0]:.0f})", f"{ratio:.2f} ({error:.2f}){'!' * bool(breach)}"]
    parts += [f"{100 * spread / mean[0]:.0f} %"]
    parts += [f"{mean[4 + j]:.1f} ({errors[4 + j]:.1f})" if np.isfinite(mean[4 + j]) else "" for j in range(3)]
    parts += [f"{value / asked:.2f}" if np.isfinite(value) else "" for value in mean[2:4]]
    breaches = [f"{cell}: mean run length {mean[0]:.0f} ({errors[0]:.0f}), {100 * OFF:.0f} % allowed"] * bool(breach)
    return "| " + " | ".join(map(str, parts)) + " |", breaches
