"""Load: hundreds of comparisons in one process, without growth; ten million rows through one monitor are in `monitor`.

Each in a fresh process. What is told is memory after the first tenth and at the end; both must be about the same.
"""

import json
import subprocess
import sys

from benchmarks.measure import record

CALLS = """
import gc, json, sys, tracemalloc
import numpy as np
import densdiff as dd
calls, n, tracing = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

def resident():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024

def call(k):
    random = np.random.default_rng(k)
    a, b = ({"number": random.normal(size=n), "word": random.choice(["u", "v", "w"], n)} for _ in range(2))
    dd.compare(a, b, n_permutations=99, random_state=k)

if tracing:
    tracemalloc.start()
for k in range(calls // 10):
    call(k)
gc.collect()
early = resident(), tracemalloc.get_traced_memory()[0] / 2**20
for k in range(calls // 10, calls):
    call(k)
gc.collect()
print(json.dumps([early, (resident(), tracemalloc.get_traced_memory()[0] / 2**20)]))
"""


def compare_calls(calls, n, tracing):
    """MiB resident and traced after a tenth of the calls and after all of them."""
    command = [sys.executable, "-W", "ignore", "-c", CALLS, str(calls), str(n), str(int(tracing))]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main(quick=False):
    calls, n = (20, 100) if quick else (200, 2000)
    early, late = compare_calls(calls, n, False)
    what = f"{calls} calls of compare, {n} rows each"
    print(f"{what}: {early[0]:.0f} MiB resident after {calls // 10}, {late[0]:.0f} at the end", flush=True)
    record(f"{what}, memory more at the end than after {calls // 10}", late[0] - early[0], unit="MiB", goal="at most 5")
    few = n // 10  # tracing takes ten times as long, and what is left behind by a call does not depend on its rows
    early, late = compare_calls(calls, few, True)
    traced = f"{early[1]:.2f} MiB after {calls // 10}, {late[1]:.2f} at the end"
    print(f"with {few} rows, of which Python's own {traced}; to reach: no growth")
    record(f"with {few} rows, of which Python's own", late[1] - early[1], unit="MiB", goal="at most 0.5")
