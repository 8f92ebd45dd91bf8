"""Run all benchmarks, or those named, and write results.md with its figures: ``python -m benchmarks accuracy``."""

import os

# Ratios are taken on one thread; the variable must be set before NumPy loads its BLAS.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import subprocess
import sys
import traceback
from pathlib import Path

from benchmarks import results

NAMES = (
    "imports",
    "speed",
    "memory",
    "growth",
    "accuracy",
    "densities",
    "curves",
    "power",
    "frontier",
    "robustness",
    "peers",
    "balance",
    "changes",
    "states",
    "monitor",
    "delays",
    "compare",
    "drift",
    "fused",
    "scale",
    "sources",
    "databases",
    "load",
)


LONGEST = 6 * 3600  # seconds of a part; the slowest takes an hour and a half


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="name", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="a look, not a measurement: written only where --out says")
    parser.add_argument("--out", type=Path, metavar="folder", help="for results.md, results/ and figures/, if not here")
    arguments = parser.parse_args()
    folder = arguments.out or (None if arguments.quick else Path(__file__).parent)
    one_by_one = run_here if len(arguments.names) == 1 else run_apart
    failed = [name for name in arguments.names if not one_by_one(name, arguments.quick, folder)]
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


def run_here(name, quick, folder):
    """Run one part in this process and write what it found, or that it failed; whether it did not."""
    print(f"\n== {name} ==", flush=True)
    try:
        found = results.run(name, quick)
    except Exception as error:
        traceback.print_exc()
        if folder is not None:
            results.fail(folder, NAMES, name, f"{type(error).__name__}: {error}".splitlines()[0])
        return False
    if folder is not None:
        results.write(folder, NAMES, found)
    return True


def run_apart(name, quick, folder):
    """Run one part in a process of its own: hours of other measurements must not be lost with it, however it ends."""
    options = ["--quick"] * quick + (["--out", str(folder)] if folder is not None else [])
    try:
        code = subprocess.run([sys.executable, "-m", "benchmarks", name, *options], timeout=LONGEST).returncode
    except subprocess.TimeoutExpired:
        code, why = -1, f"took longer than {LONGEST / 3600:.0f} hours"
    else:
        why = f"was ended by signal {-code}"
    if code < 0 and folder is not None:  # it could not say so itself
        results.fail(folder, NAMES, name, why)
    return code == 0


if __name__ == "__main__":
    main()
