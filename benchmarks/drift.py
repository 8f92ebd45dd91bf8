"""A comparison of two real tables beside evidently's drift preset: time, memory, the page, and what it tells.

The tables are the flights that left New York City in January and in July 2013, read from ../shared/data/tables beside
the repository; two random halves of January follow, where there is nothing to find. evidently lives in an environment
of its own and is skipped where that cannot be made. Both sides run in fresh processes on all cores, as people run
them, get the same columns (all but the timestamp), begin with the files and end with a page on disk; imports are timed
apart, and a person waits for both. The peak is VmHWM of the whole process. evidently compares each column by a distance
with a fixed limit of 0.1; it has no test, no joint answer, no pairs and no regions, so that the times are for different
amounts of work.
"""

import json
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import MEMORY, TIME, all_cores, record, skip
from benchmarks.peers import RUN_SECONDS, Skipped, call, peer_python

EVIDENTLY = ("evidently==0.7.23", "pandas<3")  # with pandas 3 it cannot be imported
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "tables"

TABLES = """
import json, os, sys, time
start = time.perf_counter()

def read(folder, is_halved, rows):
    import pandas as pd
    january, july = (pd.read_csv(f"{folder}/flights_{m}.csv.gz").drop(columns="time_hour") for m in ("january", "july"))
    if is_halved:
        mixed = january.sample(frac=1.0, random_state=0)
        january, july = mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]
    return january[:rows], july[:rows]

def report(imported, found, path):
    seconds = time.perf_counter() - imported
    peak = int(next(row for row in open("/proc/self/status") if row.startswith("VmHWM")).split()[1]) / 1024
    size = os.path.getsize(path) / 2**20
    print(json.dumps(dict(imports=imported - start, seconds=seconds, memory=peak, page=size) | found))

folder, is_halved, rows, path = sys.argv[1], sys.argv[2] == "halves", int(sys.argv[3]), sys.argv[4]
"""
THEIRS = """
import warnings
warnings.simplefilter("ignore")
import pandas as pd
from evidently import Report
from evidently.presets import DataDriftPreset
imported = time.perf_counter()
a, b = read(folder, is_halved, rows)
snapshot = Report([DataDriftPreset()]).run(b, a)
snapshot.save_html(path)
drifts = [m for m in snapshot.dict()["metrics"] if m["config"].get("column")]
columns = [m["config"]["column"] for m in drifts if m["value"] > m["config"]["threshold"]]
report(imported, dict(columns=columns, compared=len(drifts), pairs=[], regions=[], answer=""), path)
"""
OURS = """
import warnings
warnings.simplefilter("ignore")
import pandas as pd
import densdiff as dd
dd.compare
imported = time.perf_counter()
a, b = read(folder, is_halved, rows)
result = dd.compare(a, b, missing="level", random_state=0)
result.to_html(path)
columns = [column.name for column in result.columns if column.differs]
found = dict(pairs=list(map(str, result.pairs)), regions=list(map(str, result.regions)), answer=result.answer)
report(imported, dict(columns=columns, compared=len(result.columns)) | found, path)
"""


def measured(python, program, which, rows):
    """What one side needs and finds, from a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-c", TABLES + program, str(DATA), which, str(rows), str(Path(folder, "page.html"))]
        return json.loads(call(command, RUN_SECONDS, "running it", all_cores()).splitlines()[-1])


def show(name, run):
    figures = f"{run['seconds']:9.1f} s{run['imports']:9.1f} s{run['memory']:9.0f} MiB{run['page']:9.2f} MiB"
    print(f"{name:12s}{figures}{len(run['columns']):6d} of {run['compared']} columns", flush=True)


def compare_sides(title, which, python, rows):
    """Both sides on one pair of tables, printed and kept."""
    print(f"\n{title}\n{'':12s}{'seconds':>11s}{'imports':>11s}{'peak':>13s}{'page':>13s}   found")
    ours = measured(sys.executable, OURS, which, rows)
    theirs = measured(python, THEIRS, which, rows) if python is not None else None
    for name, run in (("evidently", theirs), ("densdiff", ours)):
        if run is not None:
            show(name, run)
            print("  columns: " + (", ".join(run["columns"]) or "none"))
            for text in (*run["regions"], *run["pairs"]):
                print(f"  {text}")
    print(f"  {ours['answer']}", flush=True)

    def keep(what, key, unit, goal, means):
        beside = {} if theirs is None else {"theirs": theirs[key], "peer": "evidently", "means": means}
        record(what, ours[key], unit=unit, goal=goal, title=title, **beside)

    for run in (ours, theirs):
        if run is not None:
            run["waited"] = run["imports"] + run["seconds"]
    keep("start of the program to page", "waited", "s", "at most 1" if theirs else "", TIME)
    keep("of these, files to page", "seconds", "s", "", TIME)
    keep("of these, imports", "imports", "s", "", TIME)
    keep("peak of the process", "memory", "MiB", "", MEMORY)
    keep("size of the page", "page", "MiB", "", "of its size")
    for name, run in (("densdiff", ours), ("evidently", theirs)):
        if run is not None:
            goal = "at most 0" if which == "halves" and name == "densdiff" else ""
            record(
                f"columns called different by {name}",
                len(run["columns"]),
                unit=f"of {run['compared']}",
                goal=goal,
                title=title,
            )


def main(quick=False):
    if not (DATA / "flights_july.csv.gz").exists():
        skip("flights", "the folder shared/data/tables is not there")
        return
    try:
        python = peer_python(EVIDENTLY)
    except Skipped as why:
        skip("evidently", why)
        python = None
    rows = 2000 if quick else 10**9
    for title, which in (
        ("flights of January and July", "months"),
        ("two random halves of the flights of January", "halves"),
    ):
        try:
            compare_sides(title, which, python, rows)
        except Skipped as why:
            skip(title, why)
