"""The monitor beside alibi-detect's online detectors: seconds to calibrate, seconds a row, delays after a change.

The peer lives in the virtual environment of `benchmarks.peers`. Both sides run in fresh processes on one core, one
after the other, on the same references and the same streams, with the same window and the same number of centers; the
peer keeps its default of 1000 bootstraps. Both count a run from the first row: the peer fills its first window with
rows of the reference, this library waits until the window is full.

Delays are compared at the same realized run length: this library is asked for the one that the peer turned out to
have, and its own is measured as well. A delay is the number of rows from the change to the alarm, after a window of
calm rows; a stream with an alarm in its calm rows is left out.
"""

import json
import sys

import numpy as np

from benchmarks.measure import one_core, record, skip
from benchmarks.peers import PEER, Skipped, call, peer_python

WINDOW, ASKED, CENTERS = 50, 500, 150
CHANGES = {"shift": "shift of 1", "scale": "scale of 2", "correlation": "correlation 0.8"}
RUN_SECONDS = 7200

# A side gives warm(), build(rows, run length), restart(), step(row), many() and first(rows), which is the place of the
# first alarm or -1.
STREAMS = """
import json, sys, time
import numpy as np
n, window, centers, streams = map(int, sys.argv[1:5])
asked = float(sys.argv[5])
references = json.loads(sys.argv[6])

def rows(random, count, change=None):
    found = random.standard_normal((count, 2))
    if change == "shift":
        found[:, 0] += 1.0
    elif change == "scale":
        found *= 2.0
    elif change == "correlation":
        found[:, 1] = 0.8 * found[:, 0] + 0.6 * found[:, 1]
    return found

def until_alarm(random, change=None):
    seen = 0
    while seen < 20 * asked:
        place = first(rows(random, 64, change))
        if place >= 0:
            return seen + place + 1
        seen += 64
    return seen

def run_length(reference, stream):
    restart()
    return until_alarm(np.random.default_rng([reference, 1, stream]))

def delay(reference, stream, change):
    restart()
    random = np.random.default_rng([reference, 2, stream])
    return until_alarm(random, change) if first(rows(random, window)) < 0 else None

def per_step():
    times = []
    for block in range(25):
        points = rows(np.random.default_rng(block), 2 * window)
        start = time.perf_counter()
        for point in points:
            step(point)
        times.append((time.perf_counter() - start) / len(points))
    return min(times)

def measure():
    warm()
    for reference in references:
        x = rows(np.random.default_rng([reference, 0]), n)
        start = time.perf_counter()
        build(x, asked)
        found = dict(calibrate=time.perf_counter() - start)
        restart()
        found["step"] = per_step()
        found["many"] = many()
        found["runs"] = [run_length(reference, stream) for stream in range(streams)]
        for change in ("shift", "scale", "correlation"):
            late = [delay(reference, stream, change) for stream in range(streams)]
            found[change] = [value for value in late if value is not None]
        print(json.dumps(found), flush=True)
"""
THEIRS = """
import logging
import torch
from alibi_detect import cd
logging.disable(logging.INFO)
torch.set_num_threads(1)

def warm():
    build(rows(np.random.default_rng(0), 400), 100.0, n_bootstraps=200)

def build(x, run_length, **how):
    global detector
    torch.manual_seed(0)
    if sys.argv[7] == "LSDDDriftOnline":
        how["n_kernel_centers"] = centers
    way = getattr(cd, sys.argv[7])
    detector = way(x.astype(np.float32), run_length, window, backend="pytorch", device="cpu", verbose=False, **how)

def restart():
    detector.reset_state()

def step(row):
    return detector.predict(row.astype(np.float32))["data"]["is_drift"]

def first(points):
    return next((i for i, row in enumerate(points) if step(row)), -1)

def many():
    return None

measure()
"""
OURS = """
import densdiff as dd

def warm():
    build(rows(np.random.default_rng(0), 400), 100.0)

def build(x, run_length):
    global monitor
    model = dd.LSDD(solver="centers", n_centers=centers)
    monitor = dd.ChangeMonitor(x, window=window, run_length=run_length, model=model, random_state=0)

def restart():
    monitor.reset()

def step(row):
    return monitor.update(row).alarm

def first(points):
    return next((i for i, found in enumerate(monitor.update_many(points)) if found.alarm), -1)

def many():
    points = rows(np.random.default_rng(0), 4000)
    start = time.perf_counter()
    monitor.update_many(points)
    return (time.perf_counter() - start) / len(points)

measure()
"""

LONG = """
import resource, sys, time
import numpy as np
import densdiff as dd
random = np.random.default_rng(0)
monitor = dd.ChangeMonitor(random.normal(size=(2000, 2)), window=50, run_length=500, random_state=0)
times, before = [], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for part in range(10):
    start = time.perf_counter()
    for _ in range(int(sys.argv[1]) // 10_000):
        monitor.update_many(random.normal(size=(1000, 2)))
    times.append((time.perf_counter() - start) / (int(sys.argv[1]) // 10))
more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
print(monitor.n_seen_, 1e6 * times[0], 1e6 * times[-1], more)
"""


def long_stream(rows):
    """Time a row at the start and at the end of a long stream, and what it adds to the process."""
    seen, first, last, more = call([sys.executable, "-c", LONG, str(rows)], RUN_SECONDS, "a long stream").split()
    tenths = f"{float(first):.1f} us in the first tenth, {float(last):.1f} us in the last"
    print(f"{int(seen):,} rows: a row takes {tenths}; {float(more):.1f} MiB more memory", flush=True)
    record(f"time a row at the end of {int(seen):,} rows over that at the start", float(last) / float(first), unit="")
    record(f"memory of {int(seen):,} rows", float(more), unit="MiB")


def measured(python, program, n, streams, asked, references, *options):
    """One dictionary a reference: seconds, run lengths, delays."""
    numbers = [*map(str, (n, WINDOW, CENTERS, streams, asked)), json.dumps(references)]
    text = call([python, "-c", STREAMS + program, *numbers, *options], RUN_SECONDS, "running it")
    return [json.loads(row) for row in text.splitlines() if row.startswith("{")]


def least(found, what):
    return min(one[what] for one in found)


def mean(found, what):
    """Over all streams, and a standard error from all of them as well: references differ less than streams do."""
    values = np.concatenate([one[what] for one in found])
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def speed_row(label, found):
    many = f"{1e6 * least(found, 'many'):12.0f} us" if found[0]["many"] else ""
    print(f"{label:32s}{least(found, 'calibrate'):10.2f} s{1e6 * least(found, 'step'):12.0f} us{many}", flush=True)


def delay_row(label, found):
    cells = "".join(f"{value:12.1f} ({error:4.1f})" for value, error in (mean(found, change) for change in CHANGES))
    value, error = mean(found, "runs")
    print(f"{label:32s}{value:8.0f} ({error:3.0f}){cells}", flush=True)


def compared(peers, matched):
    print("\ndelays at the same realized run length, rows; in brackets standard errors over streams")
    print(f"{'':32s}{'run length':>14s}" + "".join(f"{what:>19s}" for what in CHANGES.values()))
    for name, found in peers.items():
        delay_row(f"alibi-detect {name}", found)
        delay_row("densdiff, asked for the same", matched[name])
        beside = {"peer": name, "unit": "rows", "means": "of its delay"}
        ratios = [
            record(f"delay after {CHANGES[key]}", mean(matched[name], key)[0], mean(found, key)[0], **beside)
            for key in CHANGES
        ]
        print(f"{'densdiff / alibi-detect':32s}{'':14s}" + "".join(f"{ratio:19.2f}" for ratio in ratios), flush=True)


def main(quick=False):
    n, references, streams = (500, [0], 20) if quick else (2000, [0, 1, 2], 80)
    with one_core():
        print(f"reference of {n} x 2, window {WINDOW}, run length {ASKED}, {CENTERS} centers")
        print(f"{'':32s}{'calibrate':>12s}{'update, row':>15s}{'update_many':>15s}")
        ours = measured(sys.executable, OURS, n, streams, ASKED, references)
        speed_row("densdiff", ours)
        long_stream(1_000_000 if quick else 10_000_000)
        peers, matched = {}, {}
        try:
            python = peer_python(PEER)
            for name in ("LSDDDriftOnline", "MMDDriftOnline"):
                peers[name] = measured(python, THEIRS, n, streams, ASKED, references, name)
                speed_row(f"alibi-detect {name}", peers[name])
        except Skipped as why:
            skip("alibi-detect", why)
        for name, found in peers.items():
            for what, goal in (("calibrate", "at least 10"), ("step", "at least 5")):
                goal = goal if name == "LSDDDriftOnline" else ""
                ratio = record(what, least(ours, what), least(found, what), peer=name, goal=goal)
                print(f"{name}: {what} {ratio:.1f} times faster{goal and f' (to reach: {goal})'}")
            asked = max(round(mean(found, "runs")[0]), WINDOW + 1)
            matched[name] = measured(sys.executable, OURS, n, streams, asked, references)
        value, error = mean(ours, "runs")
        print(f"\nasked for {ASKED}, densdiff realized {value:.0f} ({error:.0f}) on average")
        if matched:
            compared(peers, matched)


if __name__ == "__main__":
    main("--quick" in sys.argv)
