"""Time to import densdiff beside importing scikit-learn's base, and of the command line where there is nothing to do.

All in fresh processes.
"""

import subprocess
import sys
import time

from benchmarks.measure import TIME, record


def seconds(statement, repeats, check=True):
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=check, capture_output=True)
        best = min(best, time.perf_counter() - start)
    return best


def main(quick=False):
    repeats = 2 if quick else 7
    bare = seconds("pass", repeats)
    base = seconds("import sklearn.base", repeats) - bare
    ours = seconds("import densdiff", repeats) - bare
    used = seconds("import densdiff; densdiff.LSDD", repeats) - bare
    asked = seconds(
        "import numpy as np, densdiff; densdiff.l2_distance(*np.random.default_rng(0).normal(size=(2, 50, 2)))", repeats
    )
    asked -= bare
    record("import with LSDD", used, base, peer="sklearn.base", means=TIME)
    record("import and the first l2_distance", asked, base, peer="sklearn.base", means=TIME, goal="under 1.2")
    for what, arguments in {"--help": ["--help"], "a wrong file name": ["compare", "no_such.csv", "other.csv"]}.items():
        taken = seconds(
            f"import sys; sys.argv[1:] = {arguments}; from densdiff.cli import app; app(prog_name='densdiff')",
            repeats,
            False,
        )
        record(f"command line, {what}", taken, goal="under 0.4")
        print(f"command line, {what}: {taken:.2f} s, to reach: under 0.4")
    print(f"import sklearn.base {base:.2f} s, import densdiff {ours:.2f} s (names load when first used),", end=" ")
    print(f"with densdiff.LSDD {used:.2f} s: {used / base:.2f} of scikit-learn's base;", end=" ")
    print(f"with a first l2_distance {asked:.2f} s")
