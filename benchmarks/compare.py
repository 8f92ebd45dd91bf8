"""What a comparison of wide and long tables costs: seconds on two cores and on one, and memory beyond the tables.

Each run is a process of its own that makes its tables as pandas frames, column by column. Every second column of B is
moved by 0.02 deviations, which 10^6 rows tell apart and 10^5 hardly. The peer is scipy's Kolmogorov-Smirnov test of
each column, which says no more than whether it differs; a few columns are timed, and the ratio is one of CPU seconds.
The peak is VmHWM and not ru_maxrss, which a child takes over from its parent.
"""

import json
import os
import subprocess
import sys

from benchmarks.measure import TIME, all_cores, record

PROGRAM = """
import json, os, sys, time
import numpy as np, pandas as pd
from scipy.stats import ks_2samp
import densdiff as dd

rows, columns, cores = map(int, sys.argv[1:])
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])

def status(name):
    return int(next(line for line in open("/proc/self/status") if line.startswith(name)).split()[1]) / 1024

def table(random, shift):
    moved = shift * (np.arange(columns) % 2)
    return pd.DataFrame({f"c{j}": random.standard_normal(rows) + moved[j] for j in range(columns)}, copy=False)

random = np.random.default_rng(0)
small = [pd.DataFrame(random.standard_normal((200, 3)), columns=list("abc")) for _ in range(2)]
dd.compare(*small, n_permutations=19, random_state=0)
a, b = table(random, 0.0), table(random, 0.02)
before, start, used = status("VmRSS"), time.perf_counter(), time.process_time()
found = dd.compare(a, b, random_state=0)
seconds, used, memory = time.perf_counter() - start, time.process_time() - used, status("VmHWM") - before
start = time.process_time()
for j in range(3):
    ks_2samp(a[f"c{j}"], b[f"c{j}"], method="asymp")
peer = (time.process_time() - start) / 3 * columns
moved = [column.differs for column in found.columns if int(column.name[1:]) % 2]
wrong = sum(column.differs for column in found.columns) - sum(moved)
print(json.dumps(dict(seconds=seconds, used=used, memory=memory, peer=peer, found=sum(moved), wrong=wrong)))
"""
GOALS = "to reach at 10^6 rows: minutes on two cores, less than 1536 MiB beyond the tables"


def main(quick=False):
    rows, columns = (50_000, 10) if quick else (1_000_000, 100)
    print(f"{columns} columns of {rows} rows in each table, every second one moved; {GOALS}")
    heads = ("seconds", "CPU", "KS tests", "ratio", "MiB beyond", "found", "wrong")
    print(f"{'':10s}" + "".join(f"{head:>12s}" for head in heads))
    for cores in sorted({min(2, len(os.sched_getaffinity(0))), 1}, reverse=True):
        command = [sys.executable, "-c", PROGRAM, str(rows), str(columns), str(cores)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=all_cores())
        run = json.loads(done.stdout)
        cells = f"{run['seconds']:12.1f}{run['used']:12.1f}{run['peer']:12.1f}{run['used'] / run['peer']:12.1f}"
        cells += f"{run['memory']:12.0f}{run['found']:12d}{run['wrong']:12d}"
        print(f"{cores} core{'s' if cores > 1 else ' ':4s}{cells}", flush=True)
        what = {"title": f"{columns} columns of {rows} rows, {cores} core{'s' * (cores > 1)}"}
        record("CPU seconds", run["used"], run["peer"], peer="Kolmogorov-Smirnov tests alone", means=TIME, **what)
        record("wall time", run["seconds"], **what)
        record("memory beyond the tables", run["memory"], unit="MiB", goal="below 1536", **what)
        record("moved columns found", run["found"], unit=f"of {columns // 2}", **what)
        record("other columns found", run["wrong"], unit="", goal="at most 0", **what)
