"""Rows that are not in memory: a cross-validated fit from Parquet files, and Dask with one and with two workers.

Every measurement runs in a process of its own after a fit that loads and compiles what is needed; the least of several
times is taken, and memory is the peak of the whole process. A fit of 2000 rows tells what does not grow with the rows:
eigenvalues of 300 x 300 matrices, opening files.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import record

PARQUET = "Cross-validated fit from Parquet"
COLUMNS = 10
SIZES = 2_000, 100_000, 1_000_000, 10_000_000  # rows of both samples together; the first tells the fixed cost
WARM = 200_000  # rows of a fit before, which loads and compiles what is needed
WRITTEN = 500_000  # rows at a time
FROM_PARQUET = """
import json, os, sys, time
import sklearn
import densdiff as dd
from densdiff.engines import blocks
sklearn.set_config(working_memory=0.1)  # also small files are read in blocks
blocks._FUSED_WORK = 0.0  # and summed by the compiled code
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:int(sys.argv[1])])
model = dd.LSDD(solver="centers", random_state=0)
model.fit(*sys.argv[2:4])
times = []
while len(times) < 7 and sum(times) < 2:
    start = time.perf_counter()
    model.fit(*sys.argv[4:6])
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
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        state = da.random.default_rng(0)
        x, y = (state.normal(size=(n, 10), chunks=(n // 16, 10)).persist() for _ in range(2))
        wait([x, y])
        model = dd.LSDD(n_centers=500, random_state=0)
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


def run(program, *arguments):
    """What a program prints as JSON, from a process with one thread of BLAS."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "program.py")
        file.write_text(program)
        command = [sys.executable, str(file), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | threads)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def write(path, n, seed, shift):
    """A Parquet file of n rows, written in pieces."""
    random = np.random.default_rng(seed)
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(COLUMNS)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n, WRITTEN):
            rows = random.normal(size=(COLUMNS, min(WRITTEN, n - start)))
            rows[0] += shift
            writer.write_table(pa.table([pa.array(row) for row in rows], schema=schema))


def pair(folder, size):
    """Two Parquet files of so many rows together."""
    paths = [Path(folder, f"{name}{size}.parquet") for name in "xy"]
    for k, path in enumerate(paths):
        write(path, size // 2, k, 0.1 * k)
    return paths


def from_parquet(quick):
    """Time and memory against the number of rows: on one core, since a small file is one block, and on all."""
    sizes = SIZES[:3] if quick else SIZES
    seconds = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            given = *pair(folder, WARM), *pair(folder, size)
            found = [run(FROM_PARQUET, cores, *given) for cores in (1, os.cpu_count())]
        seconds.append(found[0]["seconds"])
        for each, cores in zip(found, ("one core", "all cores"), strict=True):
            what = f"{size} x {COLUMNS} rows, {cores}"
            print(f"{what}: {each['seconds']:.3f} s, {each['peak']:.0f} MiB")
            record(what, each["seconds"], title=PARQUET)
            record(f"{what}, whole process", each["peak"], unit="MiB", goal="under 1024", title=PARQUET)
    seconds = np.array(seconds)
    for label, values in (("", seconds[1:]), (f" beyond that of {sizes[0]} rows", seconds[1:] - seconds[0])):
        slope = np.polyfit(np.log(sizes[1:]), np.log(values), 1)[0]
        print(f"the time{label} grows with the power {slope:.3f} of the rows; to reach: 0.95 to 1.05")
        record(f"power of the rows that the time{label} grows with", slope, unit="", goal="0.95 to 1.05", title=PARQUET)


def by_dask(quick):
    """Two workers of one thread each against one."""
    n = 100_000 if quick else 2_000_000
    one, two = (run(BY_DASK, workers, n)["seconds"] for workers in (1, 2))
    print(f"Dask, 2 x {n} x 10 rows: one worker {one:.2f} s, two {two:.2f} s, {one / two:.2f} times; to reach: 1.7")
    record(f"2 x {n} x 10 rows, 500 centers, two workers", two, one, peer="one worker", goal="1.7", title="Dask")


def main(quick=False):
    from_parquet(quick)
    by_dask(quick)
