"""Run all benchmarks, or those named, and write results.md with its figures: ``python -m benchmarks accuracy``."""

import os

# Ratios are taken on one thread; the variable must be set before NumPy loads its BLAS.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
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


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="name", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="a look, not a measurement: written only where --out says")
    parser.add_argument("--out", type=Path, metavar="folder", help="for results.md, results/ and figures/, if not here")
    arguments = parser.parse_args()
    folder = arguments.out or (None if arguments.quick else Path(__file__).parent)
    failed = []
    for name in arguments.names:
        print(f"\n== {name} ==", flush=True)
        try:
            found = results.run(name, arguments.quick)
        except Exception:  # hours of other measurements must not be lost with it
            traceback.print_exc()
            failed.append(name)
            continue
        if folder is not None:
            results.write(folder, NAMES, found)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
