"""Rows out of PostgreSQL: the distance of two queries, beside reading the same rows into pandas.

The server is one of its own on this machine. Each measurement runs in a process of its own, and memory is the peak of
that process, without the server's.
"""

from benchmarks.measure import TIME, record, skip
from benchmarks.scale import run
from tests.postgresql import NoServer, running_server

TITLE = "Rows out of PostgreSQL"
ROWS, QUICK_ROWS = 1_000_000, 100_000
COLUMNS = 10
PROGRAM = """
import json, sys, time
import densdiff as dd
queries = [f"select * from {table}" for table in ("first", "second")]
if sys.argv[1] == "densdiff":
    dd.l2_distance(*(dd.sql(sys.argv[2], f"{query} limit 20000") for query in queries), random_state=0)
    start = time.perf_counter()
    dd.l2_distance(*(dd.sql(sys.argv[2], query) for query in queries), random_state=0)
else:
    import pandas as pd
    from adbc_driver_postgresql import dbapi
    with dbapi.connect(sys.argv[2]) as connection:
        pd.read_sql("select 1 as a", connection)
        start = time.perf_counter()
        frames = [pd.read_sql(query, connection) for query in queries]
seconds = time.perf_counter() - start
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(json.dumps(dict(seconds=seconds, peak=int(peak) / 1024)))
"""


def main(quick=False):
    rows = QUICK_ROWS if quick else ROWS
    columns = ", ".join(f"random() * {j + 1} as c{j}" for j in range(COLUMNS))
    try:
        with running_server() as (address, write):
            for table in ("first", "second"):
                write(f"create table {table} as select {columns} from generate_series(1, {rows})")
            found = {name: run(PROGRAM, name, address) for name in ("densdiff", "pandas")}
    except NoServer as error:
        skip("reading into pandas from PostgreSQL", error)
        return
    ours, theirs = found["densdiff"], found["pandas"]
    what = f"l2_distance of 2 x {rows} x {COLUMNS} rows"
    ratio = record(what, ours["seconds"], theirs["seconds"], peer="reading into pandas", means=TIME, title=TITLE)
    print(f"{what}: {ours['seconds']:.2f} s; into pandas: {theirs['seconds']:.2f} s; ratio {ratio:.1f}")
    record(f"{what}, whole process", ours["peak"], unit="MiB", goal="under 1024", title=TITLE)
    print(f"peak memory: {ours['peak']:.0f} MiB, to reach: under 1024", flush=True)
