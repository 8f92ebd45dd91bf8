"""Rows that are not in memory: a cross-validated fit from Parquet files, and Dask with one and with two workers.

Every measurement runs in a process of its own, as a user would call it, after a fit that loads and compiles what is
needed; the least of several times is taken, and memory is the peak of the whole process. Files of less than a quarter
of scikit-learn's working_memory are read whole, larger ones in blocks. How much faster two workers can be is told by
two clusters of one worker each that fit half of the rows at the same time and share nothing but the machine, and by
Dask with nothing but the sums of kernel features over the same blocks, which are not even added up. An exact
test of two columns has a working_memory of which the files are many times.
"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import all_cores, record

PARQUET = "Cross-validated fit from Parquet"
BEYOND = "Two-sample test of two columns from Parquet, beyond memory"
COLUMNS = 10
SIZES = 100_000, 1_000_000, 10_000_000  # rows of each sample
WARM = 100_000  # rows of a fit before, which loads and compiles what is needed
WRITTEN = 500_000  # rows at a time
MEBIBYTES = 16  # of working_memory; two columns of ten million rows are 153 in each file
FROM_PARQUET = """
import json, os, sys, time
import densdiff as dd
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:int(sys.argv[1])])
model = dd.LSDD(solver="centers", random_state=0)
model.fit(*sys.argv[2:4])
times = []
while len(times) < 3 or len(times) < 7 and sum(times) < 3:
    start = time.perf_counter()
    model.fit(*sys.argv[4:6])
    times.append(time.perf_counter() - start)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(json.dumps(dict(seconds=min(times), peak=int(peak) / 1024)))
"""
TWO_COLUMNS = """
import json, sys, time
import sklearn
import densdiff as dd
with sklearn.config_context(working_memory=int(sys.argv[1])):
    dd.two_sample_test(*sys.argv[2:4], random_state=0)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        dd.two_sample_test(*sys.argv[4:6], random_state=0)
        times.append(time.perf_counter() - start)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(json.dumps(dict(seconds=min(times), peak=int(peak) / 1024)))
"""
BY_DASK = """
import json, sys, time
import dask.array as da
from distributed import Client, LocalCluster, wait
import densdiff as dd

def main():
    workers, n = int(sys.argv[1]), int(sys.argv[2])
    how = dict(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    with LocalCluster(**how) as cluster, Client(cluster):
        state = da.random.default_rng(0)
        x, y = (state.normal(size=(n, 10), chunks=(n // 16, 10)).persist() for _ in range(2))
        wait([x, y])
        model = dd.LSDD(solver="centers", n_centers=500, random_state=0)
        model.fit(x, y)
        times = []
        for _ in range(5):
            start = time.perf_counter()
            model.fit(x, y)
            times.append(time.perf_counter() - start)
        print(json.dumps(dict(seconds=min(times), times=times)))

if __name__ == "__main__":
    main()
"""

BARE_DASK = """
import json, sys, time
import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait
from densdiff.engines import fused

def sums(rows):
    random = np.random.default_rng(0)
    centers, sigmas = random.standard_normal((500, 10)), 8.0 * 2.0 ** (-0.5 * np.arange(11))
    groups = np.resize(np.arange(5, dtype=np.int8), len(rows))
    fused.group_sums(rows, np.full(len(rows), 1.0), groups, centers, sigmas, direct=False, threads=1)

def main():
    workers, n = int(sys.argv[1]), int(sys.argv[2])
    how = dict(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    with LocalCluster(**how) as cluster, Client(cluster):
        state = da.random.default_rng(0)
        samples = [state.normal(size=(n, 10), chunks=(n // 16, 10)).persist() for _ in range(2)]
        wait(samples)
        blocks = [block for rows in samples for block in rows.to_delayed().ravel()]
        times = []
        for _ in range(6):
            start = time.perf_counter()
            dask.compute(*(dask.delayed(sums, pure=False)(block) for block in blocks))
            times.append(time.perf_counter() - start)
        print(json.dumps(dict(seconds=min(times))))

if __name__ == "__main__":
    main()
"""


def run(program, *arguments):
    """What a program prints as JSON, from a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "program.py")
        file.write_text(program)
        command = [sys.executable, str(file), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=all_cores())
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def write(path, n, seed, shift, columns=COLUMNS):
    """A Parquet file of n rows, written in pieces."""
    random = np.random.default_rng(seed)
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(columns)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n, WRITTEN):
            rows = random.normal(size=(columns, min(WRITTEN, n - start)))
            rows[0] += shift
            writer.write_table(pa.table([pa.array(row) for row in rows], schema=schema))


def pair(folder, size, columns=COLUMNS, shift=0.1):
    """Two Parquet files of so many rows each."""
    paths = [Path(folder, f"{name}{size}.parquet") for name in "xy"]
    for k, path in enumerate(paths):
        write(path, size, k, shift * k, columns)
    return paths


def from_parquet(quick):
    """Time and memory against the number of rows, on one core and on all."""
    sizes = SIZES[:2] if quick else SIZES
    numbers = {"one core": 1, "all cores": os.cpu_count()}
    seconds = {cores: [] for cores in numbers}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            given = *pair(folder, WARM), *pair(folder, size)
            for cores, number in numbers.items():
                found = run(FROM_PARQUET, number, *given)
                seconds[cores].append(found["seconds"])
                what = f"2 x {size} x {COLUMNS} rows, {cores}"
                print(f"{what}: {found['seconds']:.3f} s, {found['peak']:.0f} MiB")
                record(what, found["seconds"], title=PARQUET)
                goal = "under 1024" if size == SIZES[-1] else ""
                record(f"{what}, whole process", found["peak"], unit="MiB", goal=goal, title=PARQUET)
    for cores, values in seconds.items():
        slope = np.polyfit(np.log(sizes), np.log(values), 1)[0]
        what = f"power of the rows that the time grows with, {cores}"
        print(f"{what}: {slope:.3f}; to reach: 0.95 to 1.05")
        record(what, slope, unit="", goal="0.95 to 1.05", title=PARQUET)


def two_columns(quick):
    """An exact test of two columns that are read in blocks."""
    for size in SIZES[1:2] if quick else SIZES[1:]:
        with tempfile.TemporaryDirectory() as folder:
            given = *pair(folder, WARM, 2), *pair(folder, size, 2, 0.001)
            found = run(TWO_COLUMNS, MEBIBYTES, *given)
        what = f"2 x {size} rows, 999 permutations"
        print(
            f"two columns beyond memory, {what}: {found['seconds']:.2f} s, {found['peak']:.0f} MiB; to reach: under 5 s"
        )
        record(what, found["seconds"], goal="under 5", title=BEYOND)
        record(f"{what}, whole process", found["peak"], unit="MiB", goal="under 1024", title=BEYOND)


def by_dask(quick):
    """Two workers of one thread each against one, and against two that share nothing."""
    n = 100_000 if quick else 2_000_000
    one, two = (run(BY_DASK, workers, n)["seconds"] for workers in (1, 2))
    with ThreadPoolExecutor(2) as pool:
        halves = list(pool.map(lambda _: np.median(run(BY_DASK, 1, n // 2)["times"]), range(2)))
    apart = float(np.mean(halves))
    print(f"Dask, 2 x {n} x 10 rows: one worker {one:.2f} s, two {two:.2f} s, {one / two:.2f} times; to reach: 1.8")
    print(f"two clusters of one worker at once, each with half of the rows: {apart:.2f} s, {one / apart:.2f} times")
    bare_one, bare_two = (run(BARE_DASK, workers, n)["seconds"] for workers in (1, 2))
    print(f"sums alone: one worker {bare_one:.2f} s, two {bare_two:.2f} s, {bare_one / bare_two:.2f} times")
    what, by = f"2 x {n} x 10 rows, 500 centers", {"peer": "one worker", "title": "Dask"}
    record(f"{what}, two workers", two, one, goal="at least 1.8", **by)
    record(f"{what}, two clusters at once, half of the rows each", apart, one, **by)
    record(f"sums alone of {what}, two workers", bare_two, bare_one, **by)


def main(quick=False):
    from_parquet(quick)
    two_columns(quick)
    by_dask(quick)
