"""Delays of the monitor after changes of many kinds, beside tuned CUSUMs and the detectors of river and alibi-detect.

All at the same realized run length. That of the monitor is measured on streams without change; a CUSUM that knows the
law before and after the change gets the threshold with which it runs as long. Others have their default settings:
river's, one for each column, have no run length to ask for; alibi-detect's are asked for 500 rows (their default number
of bootstraps is too small for 1000) with a window of 50 and have one reference. Beside each the monitor is asked for
the run length that the other turned out to have.
A delay is the number of rows from the change to the alarm, after 150 calm rows; a stream with an alarm in its calm rows
is left out; beside each delay is its standard error. The others live in virtual environments of their own.
Cells of the tables are computed on all cores at once: rows are counted, and no time is measured.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

import densdiff as dd
from benchmarks.measure import record, recorded, show_recorded, skip
from benchmarks.peers import PEER, Skipped, call, peer_python

RIVER = ("river==0.22.0",)
ASKED, CALM, LONGEST, ROWS = 1000, 150, 1500, 2000
RUN_SECONDS = 1200
CHANGES = {
    "mean .25": lambda z: shifted(z, 0.25),
    "mean .5": lambda z: shifted(z, 0.5),
    "mean 1": lambda z: shifted(z, 1.0),
    "mean 2": lambda z: shifted(z, 2.0),
    "spread 1.5": lambda z: np.concatenate([1.5 * z[:, :1], z[:, 1:]], axis=1),
    "spread 2": lambda z: np.concatenate([2.0 * z[:, :1], z[:, 1:]], axis=1),
    "drift of 1 in 100 rows": lambda z: shifted(z, np.minimum(np.arange(len(z)) / 100, 1.0)),
    "correlation .8": lambda z: np.column_stack([z[:, 0], 0.8 * z[:, 0] + 0.6 * z[:, 1], z[:, 2:]]),
}
GOALS = {"mean .25": 1.35, "mean .5": 1.35, "mean 1": 1.2, "mean 2": 1.2, "spread 1.5": 1.2, "spread 2": 1.2}

# A side defines restart() and step(row), which says whether there is an alarm.
STREAMS = """
import json, sys
import numpy as np
name, reference, *paths = sys.argv[1:]

def first(rows):
    restart()
    return next((i + 1 for i, row in enumerate(rows) if step(row)), 0)

def measure():
    for path in paths:
        print(json.dumps([first(rows) for rows in np.load(path)]), flush=True)
"""
RIVER_SIDE = """
from river import drift

def restart():
    global detectors
    detectors = [getattr(drift, name)() for _ in range(np.load(paths[0], mmap_mode="r").shape[2])]

def step(row):
    for detector, value in zip(detectors, row.tolist()):
        detector.update(value)
    return any(detector.drift_detected for detector in detectors)

measure()
"""
ALIBI_SIDE = """
import logging
import torch
from alibi_detect import cd
logging.disable(logging.INFO)
torch.set_num_threads(1)
torch.manual_seed(0)
x = np.load(reference).astype(np.float32)
detector = getattr(cd, name)(x, 500.0, 50, backend="pytorch", device="cpu", verbose=False)

def restart():
    detector.reset_state()

def step(row):
    return detector.predict(row.astype(np.float32))["data"]["is_drift"]

measure()
"""
# Packages, program, columns: those of alibi-detect take up to a millisecond a row, and a calibration half a minute.
PEERS = {
    "ADWIN": (RIVER, RIVER_SIDE, (1, 2, 10)),
    "PageHinkley": (RIVER, RIVER_SIDE, (1, 2, 10)),
    "LSDDDriftOnline": (PEER, ALIBI_SIDE, (2,)),
    "MMDDriftOnline": (PEER, ALIBI_SIDE, (2,)),
}


def shifted(z, size):
    """The first column up."""
    moved = z.copy()
    moved[:, 0] += size
    return moved


def streams(d, change, count, seed):
    """Streams with a change after the calm rows, (count, CALM + LONGEST, d)."""
    random = np.random.default_rng([seed, d])
    rows = random.standard_normal((count, CALM + LONGEST, d))
    for stream in rows:
        stream[CALM:] = CHANGES[change](stream[CALM:])
    return rows


def first_alarm(monitor, rows, size=100):
    """Rows up to the first alarm of one stream, 0 if there is none."""
    monitor.reset()
    for start in range(0, len(rows), size):
        for step in monitor.update_many(rows[start : start + size]):
            if step.alarm:
                return step.index + 1
    return 0


def mean_run(first, length):
    """Streams cut off count as if they went on like the others."""
    first = np.asarray(first)
    return np.where(first > 0, first, length).sum() / max((first > 0).sum(), 1)


def delay(first):
    """Mean delay and its standard error, of the streams that were calm."""
    late = np.asarray(first)
    late = np.where(late == 0, CALM + LONGEST, late)
    late = late[late > CALM] - CALM
    return late.mean(), late.std(ddof=1) / np.sqrt(len(late))


def reference_rows(reference, d):
    return np.random.default_rng([reference, d, 9]).standard_normal((ROWS, d))


def monitors(d, run_length, references):
    """One monitor for each reference."""
    for reference in range(references):
        yield dd.ChangeMonitor(reference_rows(reference, d), run_length=run_length, random_state=reference)


def our_run(found, d, length, count):
    """Realized run length over all monitors."""
    random = np.random.default_rng([1, d])
    first = [first_alarm(one, random.standard_normal((length, d))) for one in found for _ in range(count)]
    return mean_run(first, length)


def our_delays(found, d, change, count):
    first = [first_alarm(one, rows) for k, one in enumerate(found) for rows in streams(d, change, count, k)]
    return delay(first)


def cusum_steps(change, x):
    """Log likelihood ratios of a change, on both sides for a mean: a list of arrays like x."""
    kind, size = change.split()
    size = float(size)
    if kind == "mean":
        return [size * x - size**2 / 2, -size * x - size**2 / 2]
    return [0.5 * x**2 * (1.0 - size**-2) - np.log(size)]


def cusum_paths(change, x):
    """The largest of the CUSUMs after each row, (streams, rows)."""
    steps = np.stack(cusum_steps(change, x))  # (sides, streams, rows)
    sums, found = np.zeros(steps.shape[:2]), np.empty(x.shape)
    for t in range(x.shape[1]):
        sums = np.maximum(sums + steps[:, :, t], 0.0)
        found[:, t] = sums.max(axis=0)
    return found


def cusum_delay(change, run, count=2000):
    """Of the CUSUM that is tuned to the change and runs so long."""
    random = np.random.default_rng(7)
    highest = np.maximum.accumulate(cusum_paths(change, random.standard_normal((count, round(3 * run)))), axis=1)
    low, high = 0.0, float(highest.max())
    for _ in range(40):
        middle = 0.5 * (low + high)
        above = highest > middle
        first = np.where(above.any(axis=1), above.argmax(axis=1) + 1, 0)
        low, high = (middle, high) if mean_run(first, highest.shape[1]) < run else (low, middle)
    rows = streams(1, change, count, 8)[:, :, 0]
    above = cusum_paths(change, rows) > high
    return delay(np.where(above.any(axis=1), above.argmax(axis=1) + 1, 0))[0]


def beside_cusum(found, run, count):
    """Delays in one column."""
    print(f"\nd = 1, realized run length {run:.0f}")
    print(f"{'':26s}{'densdiff':>14s}{'tuned CUSUM':>14s}{'ratio':>8s}   to reach")
    for change, goal in GOALS.items():
        (ours, error), theirs = our_delays(found, 1, change, count), cusum_delay(change, run)
        how = {"peer": "tuned CUSUM", "unit": "rows", "means": "of its delay", "goal": f"at most {goal}"}
        ratio = record(f"delay after {change}", ours, theirs, **how)
        print(f"{change:26s}{ours:8.1f} ({error:3.1f}){theirs:14.1f}{ratio:8.2f}   at most {goal}", flush=True)


def alone(d, references, count):
    """Delays at the run length that is the default, beside tuned CUSUMs in one column."""
    found = list(monitors(d, ASKED, references))
    run = our_run(found, d, 3 * ASKED, count)
    record(f"realized run length, d = {d}", run, unit="rows")
    if d == 1:
        beside_cusum(found, run, count)
        return
    print(f"\nd = {d}, realized run length {run:.0f}")
    for change in CHANGES:
        ours, error = our_delays(found, d, change, count)
        record(f"delay after {change}, d = {d}", ours, unit="rows")
        print(f"{change:26s}{ours:8.1f} ({error:3.1f})")


def beside_peer(name, d, references, count):
    """Delays of another detector, and of monitors that were asked for its run length."""
    length, changes = 6 * ASKED, [change for change in CHANGES if d > 1 or change != "correlation .8"]
    try:
        calm, *late = peers_alarms(name, d, length, changes, references, count)
    except Skipped as why:
        skip(f"{name}, d = {d}", why)
        return
    run = mean_run(calm, length)
    found = list(monitors(d, max(run, 60.0), references))
    realized = our_run(found, d, length, count // 2)
    print(f"\n{name}, d = {d}, realized run length {run:.0f}; densdiff, asked for the same, {realized:.0f}")
    for change, first in zip(changes, late, strict=True):
        (ours, error), (theirs, their_error) = our_delays(found, d, change, count), delay(first)
        how = {"peer": name, "unit": "rows", "means": "of its delay", "goal": "below 1"}
        ratio = record(f"delay after {change}, d = {d}", ours, theirs, **how)
        print(f"{change:26s}{ours:8.1f} ({error:3.1f}){theirs:10.1f} ({their_error:3.1f}){ratio:8.2f}")


def peers_alarms(name, d, length, changes, references, count):
    """First alarms of another detector in calm streams and after each change."""
    packages, side, _ = PEERS[name]
    python = peer_python(packages)
    with tempfile.TemporaryDirectory() as folder:
        reference, *paths = (Path(folder, f"{k}.npy") for k in range(len(changes) + 2))
        np.save(reference, reference_rows(0, d))
        np.save(paths[0], np.random.default_rng([2, d]).standard_normal((references * count, length, d)))
        for path, change in zip(paths[1:], changes, strict=True):
            np.save(path, np.concatenate([streams(d, change, count, k) for k in range(references)]))
        command = [python, "-c", STREAMS + side, name, reference, *paths]
        return [json.loads(row) for row in call(list(map(str, command)), RUN_SECONDS, name).splitlines()]


def main(quick=False):
    own, other = ((2, 30), (2, 15)) if quick else ((5, 40), (3, 20))  # references, and streams of each
    print(f"{own[0] * own[1]} streams of each kind, beside river and alibi-detect {other[0] * other[1]}")
    cells = [(alone, d, *own) for d in (1, 2, 10, 30)]
    cells += [(beside_peer, name, d, *other) for name in PEERS for d in PEERS[name][2]]
    # The last are the longest: they begin first, and no core waits for one at the end.
    found = Parallel(n_jobs=-1)(delayed(recorded)(*cell) for cell in reversed(cells))
    for page, text in reversed(found):
        show_recorded(page, text)


if __name__ == "__main__":
    main("--quick" in sys.argv)
