"""The monitor beside alibi-detect's online detectors: seconds to calibrate and seconds a row; delays are in `delays`.

The peer lives in the virtual environment of `benchmarks.peers`. Both sides run in fresh processes on one core, one
after the other, on the same reference and the same rows, with the same window and the same number of centers; the peer
keeps its default of 1000 bootstraps.
"""

import json
import sys

from benchmarks.measure import one_core, record, skip
from benchmarks.peers import PEER, Skipped, call, peer_python

WINDOW, ASKED, CENTERS = 50, 500, 150
RUN_SECONDS = 900

# A side gives build(rows, run length), step(row) and many(), seconds a row of a block of rows.
TIMES = """
import json, sys, time
import numpy as np
n, window, centers = map(int, sys.argv[1:4])
asked = float(sys.argv[4])

def rows(seed, count):
    return np.random.default_rng(seed).standard_normal((count, 2))

def per_step():
    times = []
    for block in range(25):
        points = rows(block, 2 * window)
        start = time.perf_counter()
        for point in points:
            step(point)
        times.append((time.perf_counter() - start) / len(points))
    return min(times)

def measure():
    build(rows(0, 400), 100.0)  # what is loaded and compiled once does not count
    start = time.perf_counter()
    build(rows(1, n), asked)
    calibrate = time.perf_counter() - start
    print(json.dumps(dict(calibrate=calibrate, step=per_step(), many=many())), flush=True)
"""
THEIRS = """
import logging
import torch
from alibi_detect import cd
logging.disable(logging.INFO)
torch.set_num_threads(1)

def build(x, run_length):
    global detector
    torch.manual_seed(0)
    how = {"n_kernel_centers": centers} if sys.argv[5] == "LSDDDriftOnline" else {}
    way = getattr(cd, sys.argv[5])
    detector = way(x.astype(np.float32), run_length, window, backend="pytorch", device="cpu", verbose=False, **how)

def step(row):
    return detector.predict(row.astype(np.float32))["data"]["is_drift"]

def many():
    return None

measure()
"""
OURS = """
import densdiff as dd

def build(x, run_length):
    global monitor
    model = dd.LSDD(solver="centers", n_centers=centers)
    monitor = dd.ChangeMonitor(x, window=window, run_length=run_length, model=model, random_state=0)

def step(row):
    return monitor.update(row).alarm

def many():
    points = rows(0, 4000)
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


def measured(python, program, n, *options):
    """Seconds to calibrate, of a row, and of a row among many."""
    numbers = map(str, (n, WINDOW, CENTERS, ASKED))
    text = call([python, "-c", TIMES + program, *numbers, *options], RUN_SECONDS, "running it")
    return json.loads(text.splitlines()[-1])


def speed_row(label, found):
    many = f"{1e6 * found['many']:12.0f} us" if found["many"] else ""
    print(f"{label:32s}{found['calibrate']:10.2f} s{1e6 * found['step']:12.0f} us{many}", flush=True)


def main(quick=False):
    n = 500 if quick else 2000
    with one_core():
        print(f"reference of {n} x 2, window {WINDOW}, run length {ASKED}, {CENTERS} centers")
        print(f"{'':32s}{'calibrate':>12s}{'update, row':>15s}{'update_many':>15s}")
        ours = measured(sys.executable, OURS, n)
        speed_row("densdiff", ours)
        long_stream(1_000_000 if quick else 10_000_000)
        try:
            python = peer_python(PEER)
            for name in ("LSDDDriftOnline", "MMDDriftOnline"):
                found = measured(python, THEIRS, n, name)
                speed_row(f"alibi-detect {name}", found)
                for what, goal in (("calibrate", "at least 10"), ("step", "at least 5")):
                    goal = goal if name == "LSDDDriftOnline" else ""
                    ratio = record(what, ours[what], found[what], peer=name, goal=goal)
                    print(f"{name}: {what} {ratio:.1f} times faster{goal and f' (to reach: {goal})'}")
        except Skipped as why:
            skip("alibi-detect", why)


if __name__ == "__main__":
    main("--quick" in sys.argv)
