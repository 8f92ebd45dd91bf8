"""What a comparison of wide and long tables costs: seconds on two cores, and memory beyond the tables.

Each run is a process of its own that makes its tables as pandas frames, column by column. Every second column of B is
moved by 0.02 deviations, which 10^6 rows tell apart and 10^5 hardly. The peer is scipy's Kolmogorov-Smirnov test of
each column, which says no more than whether it differs; a few columns are timed, and the ratio is one of CPU seconds.
The peak is VmHWM and not ru_maxrss, which a child takes over from its parent. Mixed tables have 12 columns of numbers,
skewed, heavy-tailed, whole or with missing values, and 8 of text; a few differ. Those of 10^6 rows are in Parquet.
Columns with far longer tails are compared one at a time: there a grid would be long and almost empty.
"""

import json
import os
import subprocess
import sys
import tempfile

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
MIXED_TABLE = """
import numpy as np, pandas as pd

def table(random, rows, shift):
    z = random.standard_normal((rows, 6))
    columns = {"shifted": z[:, 0] + 3 * shift, "pair": z[:, 1], "other": (0.5 + 3 * shift) * z[:, 1] + z[:, 2]}
    columns |= {"skewed": np.exp(z[:, 3]), "waits": random.exponential(1 + shift, rows)}
    columns |= {"heavy": random.standard_t(3, rows)}
    columns |= {"whole": random.integers(0, 50, rows), "cents": random.gamma(2.0, 10.0, rows).round(2)}
    columns |= {"zeros": np.where(z[:, 4] < 0.25, 0.0, np.exp(z[:, 5])), "uniform": random.random(rows)}
    columns |= {"missing": np.where(random.random(rows) < 0.05, np.nan, random.standard_normal(rows))}
    columns |= {"modes": np.where(random.random(rows) < 0.5 + shift, -2.0, 2.0) + random.standard_normal(rows)}
    for j, levels in enumerate((2, 3, 3, 5, 8, 12, 20, 50)):
        shares = 1.0 / np.arange(1.0, levels + 1.0)
        shares[0] += shift * (j % 3 == 0)
        names = np.array([f"level {k}" for k in range(levels)], dtype=object)
        columns[f"text {j}"] = names[random.choice(levels, rows, p=shares / shares.sum())]
    return pd.DataFrame(columns)
"""
MIXED = (
    MIXED_TABLE
    + """
import json, os, sys, time
import pyarrow.parquet as pq
import densdiff as dd

rows, from_files, folder = int(sys.argv[1]), sys.argv[2] == "files", sys.argv[3]

random = np.random.default_rng(0)
tables, reading = [table(random, rows, 0.0), table(random, rows, 0.05)], None
if from_files:
    paths = [os.path.join(folder, f"{name}.parquet") for name in "ab"]
    for one, path in zip(tables, paths):
        one.to_parquet(path)
    tables = paths
    start = time.perf_counter()
    read = [pq.read_table(path) for path in paths]
    reading = time.perf_counter() - start
    del read
times = []
for _ in range(3 if rows > 10_000 else 6):
    start = time.perf_counter()
    found = dd.compare(*tables, random_state=0)
    times.append(time.perf_counter() - start)
print(json.dumps(dict(first=times[0], warm=min(times), reading=reading, differ=found.differ)))
"""
)
PROFILE = (
    MIXED_TABLE
    + """
import json, sys, time
import densdiff as dd

def status(name):
    return int(next(line for line in open("/proc/self/status") if line.startswith(name)).split()[1]) / 1024

given = table(np.random.default_rng(0), int(sys.argv[1]), 0.0)
dd.profile(given[:1000], random_state=0)
before, start = status("VmRSS"), time.perf_counter()
dd.profile(given, random_state=0)
print(json.dumps(dict(seconds=time.perf_counter() - start, memory=status("VmHWM") - before)))
"""
)
WIDE = """
import json, os, sys, time
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
import densdiff as dd

rows, columns, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
paths = [os.path.join(folder, f"{name}.parquet") for name in "ab"]
if sys.argv[4] == "write":
    for k, path in enumerate(paths):
        random = np.random.default_rng(k)
        common = random.standard_normal(rows)
        table = {f"c{j}": random.standard_normal(rows) + 0.05 * k * (j % 50 == 7) for j in range(columns)}
        for j in (columns // 3, columns // 2):  # two columns that depend on each other in B only
            table[f"c{j}"] += 0.5 * k * common
        pq.write_table(pa.table(table), path)
    sys.exit()
start = time.perf_counter()
found = dd.compare(*paths, random_state=0)
seconds = time.perf_counter() - start
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
pairs = [sorted((pair.first, pair.second)) for pair in found.pairs]
columns = [column.name for column in found.columns if column.differs]
print(json.dumps(dict(seconds=seconds, peak=int(peak) / 1024, pairs=pairs, columns=columns)))
"""
TAILS = """
import json, sys, time
import numpy as np, pandas as pd
import densdiff as dd

rows, random, seconds = int(sys.argv[1]), np.random.default_rng(0), {}
tails = {
    "normal": random.standard_normal,
    "Cauchy": random.standard_cauchy,
    "Pareto 1.2": lambda size: random.pareto(1.2, size),
    "log-normal 3": lambda size: np.exp(3.0 * random.standard_normal(size)),
}
for name, draw in tails.items():
    a, b = (pd.DataFrame({"x": draw(rows)}) for _ in range(2))
    dd.compare(a[:1000], b[:1000], random_state=0)
    start = time.perf_counter()
    dd.compare(a, b, random_state=0)
    seconds[name] = time.perf_counter() - start
print(json.dumps(seconds))
"""
GOALS = "to reach at 10^6 rows: minutes on two cores, less than 1536 MiB beyond the tables"


def compare_mixed(rows, goal, from_files=False):
    """Seconds of a comparison of mixed tables, of the first call and the best of the next ones."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-W", "ignore", "-c", MIXED, str(rows), "files" if from_files else "", folder]
        run = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=all_cores()).stdout)
    title = f"20 mixed columns of {rows} rows{' from Parquet' * from_files}, all cores"
    if from_files:
        goal = f"at most {3.0 * run['reading'] + 3.0:.1f}"  # three times reading both files, and three seconds
        record("reading both files with pyarrow", run["reading"], title=title)
    record("first call, with imports", run["first"], title=title)
    record("later call", run["warm"], goal=goal, title=title)
    print(f"{title}: first {run['first']:.2f} s, later {run['warm']:.2f} s, to reach: {goal}", flush=True)


def profile_mixed(rows):
    """Seconds to profile a mixed table, and the peak of the process beyond the table."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROFILE, str(rows)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=all_cores(),
    )
    run, title = json.loads(done.stdout), f"profile of 20 mixed columns of {rows} rows, all cores"
    print(f"{title}: {run['seconds']:.2f} s, {run['memory']:.0f} MiB beyond the table", flush=True)
    record("wall time", run["seconds"], title=title)
    record("memory beyond the table", run["memory"], unit="MiB", goal="below 1024", title=title)


def compare_wide(rows, columns):
    """Very many columns from Parquet: seconds, and the peak of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        for step in ("write", "compare"):
            command = [sys.executable, "-W", "ignore", "-c", WIDE, str(rows), str(columns), folder, step]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=all_cores())
    run = json.loads(done.stdout)
    title = f"{columns} columns of {rows} rows from Parquet, all cores"
    pair = [f"c{columns // 3}", f"c{columns // 2}"]
    told = f"changed pair found: {'yes' if sorted(pair) in run['pairs'] else 'no'} of {len(run['pairs'])} told"
    print(f"{title}: {run['seconds']:.0f} s, {run['peak']:.0f} MiB; {len(run['columns'])} columns differ, {told}")
    record("wall time", run["seconds"], goal="under 600", title=title)
    record("whole process", run["peak"], unit="MiB", goal="below 2048", title=title)
    record("changed pair found", float(sorted(pair) in run["pairs"]), unit="of 1", goal="at least 1", title=title)


def compare_tails(rows):
    """Seconds of a comparison of one column, whatever its tails."""
    command = [sys.executable, "-W", "ignore", "-c", TAILS, str(rows)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=all_cores())
    for name, seconds in json.loads(done.stdout).items():
        print(f"one {name} column of {rows} rows: {seconds:.2f} s")
        record(name, seconds, title=f"one column of {rows} rows, all cores", goal="under 5")


def main(quick=False):
    compare_mixed(2000, "under 1.5")
    compare_tails(10_000 if quick else 1_000_000)
    if not quick:
        compare_mixed(200_000, "under 5")
        compare_mixed(1_000_000, "", from_files=True)
    profile_mixed(10_000 if quick else 1_000_000)
    compare_wide(*((2000, 30) if quick else (100_000, 1000)))
    rows, columns = (50_000, 10) if quick else (1_000_000, 100)
    print(f"{columns} columns of {rows} rows in each table, every second one moved; {GOALS}")
    heads = ("seconds", "CPU", "KS tests", "ratio", "MiB beyond", "found", "wrong")
    print(f"{'':10s}" + "".join(f"{head:>12s}" for head in heads))
    cores = min(2, len(os.sched_getaffinity(0)))
    command = [sys.executable, "-c", PROGRAM, str(rows), str(columns), str(cores)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=all_cores())
    run = json.loads(done.stdout)
    cells = f"{run['seconds']:12.1f}{run['used']:12.1f}{run['peer']:12.1f}{run['used'] / run['peer']:12.1f}"
    cells += f"{run['memory']:12.0f}{run['found']:12d}{run['wrong']:12d}"
    print(f"{cores} core{'s' if cores > 1 else ' ':4s}{cells}", flush=True)
    what = {"title": f"{columns} columns of {rows} rows, {cores} core{'s' * (cores > 1)}"}
    peer = {"peer": "Kolmogorov-Smirnov tests alone", "means": TIME}
    record("CPU seconds", run["used"], run["peer"], goal="" if quick else "at most 3", **peer, **what)
    record("wall time", run["seconds"], **what)
    record("memory beyond the tables", run["memory"], unit="MiB", goal="below 1536", **what)
    record("moved columns found", run["found"], unit=f"of {columns // 2}", **what)
    record("other columns found", run["wrong"], unit="", goal="at most 0", **what)
