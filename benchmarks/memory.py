"""Peak memory of a cross-validated fit and distance at 2 x 200,000 rows, in a process of its own."""

import subprocess
import sys

PROGRAM = """
import resource, sys
import densdiff as dd
n = int(sys.argv[1])
pair = dd.datasets.gaussian_shift(0.5, d=10, n=n, random_state=0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = dd.LSDD(solver="centers", random_state=0).fit(pair.x, pair.y)
model.l2_distance()
print(before // 1024, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def main(quick=False):
    n = 20_000 if quick else 200_000
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(n)], capture_output=True, text=True, check=True)
    before, peak = map(int, done.stdout.split())
    print(
        f"n = m = {n}, d = 10: peak {peak} MiB of the whole process ({before} MiB before the fit); to stay under 1024"
    )
