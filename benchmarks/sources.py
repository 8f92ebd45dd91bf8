"""Tables where they live: the distance of two DuckDB relations, beside reading the same rows into pandas.

The relations are views of Parquet files. Each measurement runs in a process of its own, and memory is the peak of the
whole process, DuckDB's own included, which is given a limit as its default is most of the machine.
"""

import tempfile

from benchmarks.measure import TIME, record
from benchmarks.scale import COLUMNS, pair, run

TITLE = "Rows out of DuckDB"
ROWS = 10_000_000
QUICK_ROWS = 4_000_000  # more than a quarter of the memory ceiling
PROGRAM = """
import json, sys, time
import duckdb
connection = duckdb.connect(config={"memory_limit": "300MB", "threads": 2})
relations = [connection.read_parquet(path) for path in sys.argv[2:4]]
if sys.argv[1] == "densdiff":
    import densdiff as dd
    dd.l2_distance(*(relation.limit(20_000) for relation in relations), random_state=0)  # loads and compiles
    start = time.perf_counter()
    found = dd.l2_distance(*relations, random_state=0)
    assert any("temporary file" in note for note in found.warnings)
else:
    relations[0].limit(10).df()
    start = time.perf_counter()
    frames = [relation.df() for relation in relations]
seconds = time.perf_counter() - start
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(json.dumps(dict(seconds=seconds, peak=int(peak) / 1024)))
"""


def main(quick=False):
    rows = QUICK_ROWS if quick else ROWS
    with tempfile.TemporaryDirectory() as folder:
        paths = pair(folder, rows)
        found = {name: run(PROGRAM, name, *paths) for name in ("densdiff", "pandas")}
    ours, theirs = found["densdiff"], found["pandas"]
    what = f"l2_distance of 2 x {rows} x {COLUMNS} rows"
    ratio = record(what, ours["seconds"], theirs["seconds"], peer="reading into pandas", means=TIME, title=TITLE)
    print(f"{what}: {ours['seconds']:.2f} s; into pandas: {theirs['seconds']:.2f} s; ratio {ratio:.1f}")
    record(f"{what}, whole process", ours["peak"], unit="MiB", goal="under 1024", title=TITLE)
    record("the same rows in pandas, whole process", theirs["peak"], unit="MiB", title=TITLE)
    print(
        f"peak memory: {ours['peak']:.0f} MiB, to reach: under 1024; with pandas {theirs['peak']:.0f} MiB", flush=True
    )
