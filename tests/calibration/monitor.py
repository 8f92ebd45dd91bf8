"""Realized mean run lengths of the monitor on independent, dependent and seasonal streams, and a wrong threshold.

Beside them the distances of the alarms that follow, with either way to go on after an alarm.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

import densdiff as dd
from densdiff.core.change_odds import MOST
from densdiff.series.watched_stream import StreamPosition
from tests.calibration.parallel import gathered, tabulated

OFF = 0.15  # of the run length that was asked for
CHANGES = ("shift", "scale", "correlation")
_LENGTH = 2.5  # asked run lengths, after which a stream without alarm is given up
_LONG, _FEW = 10.0, 4  # asked run lengths of the streams in which distances of alarms are measured, and their number
_SETTLING = 300  # rows before the first of an autocorrelated stream


@dataclass(frozen=True)
class Cell:
    """A law of rows, a reference of so many rows, and what is asked of the monitor."""

    law: str = "normal"
    d: int = 1
    rows: int = 2000
    window: int = 50
    run_length: int = 1000
    warns: bool = False  # whether the monitor has to say that the run length is not to be relied on

    def __str__(self) -> str:
        return f"{self.law}, d = {self.d}, {self.rows} rows, window {self.window}, run length {self.run_length}"


def draw(cell, random, streams, length, change=None):
    """Rows (streams, length, d); a season begins anywhere.

    The changes: the first column one deviation up, all columns twice as wide, the first two correlated by 0.8.
    """
    shape = (streams, length, cell.d)
    kind, _, number = cell.law.partition(" ")
    if kind == "t2":
        rows = random.standard_t(2, shape)
    elif kind == "Poisson":
        rows = random.poisson(float(number), shape).astype(float)
    elif kind == "Bernoulli":
        rows = (random.random(shape) < float(number)).astype(float)
    elif kind == "AR":
        phi = float(number)
        noise = random.standard_normal((streams, length + _SETTLING, cell.d))
        rows = lfilter([np.sqrt(1.0 - phi**2)], [1.0, -phi], noise, axis=1)[:, _SETTLING:]
    else:
        rows = random.standard_normal(shape)
    if kind == "season":
        clock = np.arange(length) + random.integers(0, int(number), (streams, 1))
        rows += np.sin(2.0 * np.pi * clock / float(number))[:, :, None]
    elif kind == "trend":
        rows += float(number) * np.arange(length)[:, None] / cell.rows
    if change == "shift":
        rows[:, :, 0] += 1.0
    elif change == "scale":
        rows *= 2.0
    elif change == "correlation":
        rows[:, :, 1] = 0.8 * rows[:, :, 0] + 0.6 * rows[:, :, 1]
    return rows


def monitor_of(cell, run):
    """The monitor of reference number ``run``."""
    random = np.random.default_rng([run, cell.rows, cell.d, cell.window, cell.run_length])
    with warnings.catch_warnings():  # whether there is one is part of the study
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        return dd.ChangeMonitor(
            draw(cell, random, 1, cell.rows)[0], window=cell.window, run_length=cell.run_length, random_state=run
        )


def scores(monitor, rows):
    """Scores of many streams (streams, length, d) side by side: (streams, length), 0 before the window is full."""
    detector, (streams, length, d) = monitor._detector, rows.shape
    score = detector.score
    gaps = detector.gaps(rows.reshape(-1, d)).astype(np.float32).reshape(streams, length, -1)
    decay, places = score.bank.decay.astype(np.float32)[:, None], score.bank.groups.places
    sums = np.zeros((streams, *score.bank.units.shape), np.float32)
    odds = np.zeros((streams, len(score.hypotheses.feature)), np.float32)
    found = np.zeros((streams, length), np.float32)
    for t in range(length):
        sums = sums * decay + gaps[:, t, places][:, None]
        odds = np.minimum((odds + 1) * score.hypotheses.ratios(gaps[:, t]), np.float32(MOST))
        if t >= monitor.window - 1:
            found[:, t] = score(sums, odds)
    return found


def first_above(found, threshold):
    """The number of rows up to the first alarm of each stream, 0 where there is none."""
    above = found > threshold
    return np.where(above.any(axis=1), above.argmax(axis=1) + 1, 0)


def mean_run(monitor, cell, random, streams, threshold=None):
    """Mean run length over streams, those cut off counted as if they went on like the others."""
    length = round(_LENGTH * cell.run_length)
    first = first_above(scores(monitor, draw(cell, random, streams, length)), threshold or monitor.threshold_)
    return np.where(first > 0, first, length).sum() / max((first > 0).sum(), 1)


def between_alarms(monitor, cell, random, streams):
    """Mean rows from the beginning of an alarm to that of the next: if alarms last, and if all begins anew.

    Those cut off at the end of a stream count as if they went on like the others.
    """
    rows = draw(cell, random, streams, round(_LONG * cell.run_length))
    return [_between(monitor, rows, restarts) for restarts in (False, True)]


def _between(monitor, rows, restarts):
    after, alarms = 0, 0
    for stream in rows:
        position = StreamPosition.start(monitor._detector, stream.shape[1])
        alarm = np.array([one.shares is not None for one in position.push(monitor._detector, stream, restarts)])
        begins = np.flatnonzero(alarm & ~np.append(False, alarm[:-1]))
        if len(begins):
            after += len(stream) - begins[0]
            alarms += len(begins) - 1
    return after / max(alarms, 1)


def delays(monitor, cell, random, streams, change, calm=3, length=600):
    """Rows from a change to the alarm, after some windows of calm rows without alarm: one for each such stream."""
    before = calm * monitor.window
    rows = np.concatenate([draw(cell, random, streams, before), draw(cell, random, streams, length, change)], axis=1)
    found = scores(monitor, rows)
    is_calm = first_above(found[:, :before], monitor.threshold_) == 0
    first = first_above(found[is_calm, before:], monitor.threshold_)
    return np.where(first > 0, first, length)


def shuffled(cell, run):
    """Wrong: the monitor of the same reference in random order, as if rows were independent."""
    random = np.random.default_rng([run, cell.rows, cell.d, cell.window, cell.run_length])
    rows = random.permutation(draw(cell, random, 1, cell.rows)[0])
    return dd.ChangeMonitor(rows, window=cell.window, run_length=cell.run_length, random_state=run)


REFERENCES, STREAMS = 60, 40
INTRO = """## Run lengths of the monitor

Rows until a `ChangeMonitor` raises its first alarm on streams without change: the mean over references of the mean over
fresh streams of each, in brackets its standard error, and how much the mean of a single reference differs from that of
another (a standard deviation, without what the streams add). Seeds are those of `tests/calibration/monitor.py`.
Promised for a reference of 40 windows of rows that count as independent: within 15 % of the run length that was asked
for, or a warning; a figure further off by more than two standard errors without a warning is marked with !. "Warned"
is the share of references with a warning or note about the run length (one that was extrapolated has a note). A season
has the amplitude of one deviation of its noise and the stream begins at any phase; a trend goes on in the stream.
"In random order" is a wrong threshold, kept for comparison: the same reference shuffled, as if rows were independent.
"Lasting" and "anew" are mean distances from the beginning of a false alarm to that of the next, over the asked run
length, with `after_alarm="continue"` and `"reset"`: four streams of ten run lengths for each reference, all alarms
counted together; the promise is the same.
Beside it the mean delay, in rows from the change to the alarm after three windows of calm rows: the first column a
deviation up, all columns twice as wide, the first two columns with a correlation of 0.8.
"""
HEADER = "| rows | d | reference | window | asked | runs | mean run length | of the asked | spread | warned | "
HEADER += "lasting | anew | "
HEADER += "shift | scale | correlation | in random order |"


def cells():
    """Every setting of the full table; rows count as (1 + phi) / (1 - phi) times fewer with autocorrelation phi."""
    laws = ("normal", "t2", "Poisson 3", "Bernoulli 0.3", "season 24", "season 200")
    found = [Cell(law) for law in laws]
    found += [Cell("AR 0.5", rows=6600), Cell("AR 0.9", rows=42_000), Cell(d=10), Cell(d=30)]
    found += [Cell(rows=800, window=20, run_length=200), Cell(window=20, rows=800, run_length=5000)]
    return [*found, Cell(rows=500, warns=True), Cell("AR 0.9", warns=True), Cell("trend 2", warns=True)]


def report(share=1.0):
    """The table as text, and a line for each figure off its target."""
    chosen = cells()
    references = max(3, round(share * REFERENCES))
    jobs = ((k, cell, run) for k, cell in enumerate(chosen) for run in range(references))
    tables = gathered(_chunk, jobs, len(chosen))
    return tabulated(INTRO, HEADER, chosen, map(np.array, tables), _line)


def _chunk(k, cell, run):
    """Mean run length, whether it was warned of, distances of alarms, delays, mean run length of the wrong way."""
    monitor, random = monitor_of(cell, run), np.random.default_rng([run, 1])
    warned = any("run length" in text or "drifts" in text for text in monitor.warnings_)
    found = [mean_run(monitor, cell, random, STREAMS), warned, *between_alarms(monitor, cell, random, _FEW)]
    for change in CHANGES:
        is_shown = cell.law == "normal" and (change != "correlation" or cell.d > 1)
        found.append(delays(monitor, cell, random, STREAMS, change).mean() if is_shown else np.nan)
    is_dependent = cell.law.split()[0] in ("AR", "season") and not cell.warns
    found.append(mean_run(shuffled(cell, run), cell, random, STREAMS) if is_dependent and run < 10 else np.nan)
    return k, [found]


def _line(cell, table):
    """From an array (references, 8)."""
    references, asked = len(table), cell.run_length
    runs, warned = table[:, 0], table[:, 1].mean()
    mean, error = runs.mean(), runs.std(ddof=1) / np.sqrt(references)
    noise = mean**2 / (STREAMS * (1.0 - np.exp(-_LENGTH)))
    spread = np.sqrt(max(0.0, runs.var(ddof=1) - noise))
    ratio = mean / asked
    breach = warned < 0.5 and abs(ratio - 1.0) > OFF + 2.0 * error / asked
    breach = breach or (cell.warns and warned < 0.9)
    parts = [cell.law, cell.d, cell.rows, cell.window, asked, f"{references} x {STREAMS}", f"{mean:.0f} ({error:.0f})"]
    parts += [f"{ratio:.2f} ({error / asked:.2f}){'!' * bool(breach)}", f"{100 * spread / mean:.0f} %"]
    parts += [f"{100 * warned:.0f} %"]
    apart, offs = zip(*(_apart(column / asked, warned) for column in table[:, 2:4].T), strict=True)
    parts += apart
    breach = breach or any(offs)
    for column in table[:, 4:7].T:
        late = column.std(ddof=1) / np.sqrt(references)
        parts.append(f"{column.mean():.1f} ({late:.1f})" if np.isfinite(column).all() else "")
    wrong = table[np.isfinite(table[:, 7]), 7]
    parts.append(f"{wrong.mean() / asked:.2f}" if len(wrong) else "")
    breaches = [f"{cell}: mean run length {mean:.0f} ({error:.0f}), {100 * OFF:.0f} % allowed"] * bool(breach)
    return "| " + " | ".join(map(str, parts)) + " |", breaches


def _apart(distances, warned):
    """Mean distance of alarms over all references as text, and whether it is off; each had as many rows."""
    rate = np.mean(1.0 / distances)  # of alarms in a run length
    error = np.std(1.0 / distances, ddof=1) / np.sqrt(len(distances)) / rate**2
    is_off = warned < 0.5 and abs(1.0 / rate - 1.0) > OFF + 2.0 * error
    return f"{1.0 / rate:.2f} ({error:.2f}){'!' * bool(is_off)}", is_off
