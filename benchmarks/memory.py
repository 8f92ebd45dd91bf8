"""Peak memory of a cross-validated fit and distance, each in a process of its own."""

import subprocess
import sys

from benchmarks.measure import record

PROGRAM = """
import sys, tracemalloc
import densdiff as dd
solver, n, d = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
small = dd.datasets.gaussian_shift(0.5, d=d, n=50, random_state=0)
dd.LSDD(solver=solver, random_state=0).fit(small.x, small.y).l2_distance()
pair = dd.datasets.gaussian_shift(0.5, d=d, n=n, random_state=0)
tracemalloc.start()
dd.LSDD(solver=solver, random_state=0).fit(pair.x, pair.y).l2_distance()
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(tracemalloc.get_traced_memory()[1] >> 20, int(peak) // 1024)
"""
CASES = (
    ("centers", 200_000, 10, "whole process under 1024"),
    ("spectral", 1_000_000, 1, "beyond the data under 200"),
    ("spectral", 1_000_000, 2, "beyond the data under 200"),
    ("pairs", 5_000, 10, "beyond the data under 200"),
)


def main(quick=False):
    for solver, n, d, goal in CASES:
        n = n // 10 if quick else n
        command = [sys.executable, "-c", PROGRAM, solver, str(n), str(d)]
        ours, peak = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
        record(f"{solver}, n = m = {n}, d = {d}", peak if "process" in goal else ours, unit="MiB", goal=goal)
        print(f"{solver}, n = m = {n}, d = {d}: {peak} MiB in all, {ours} MiB at most for the fit; to reach: {goal}")
