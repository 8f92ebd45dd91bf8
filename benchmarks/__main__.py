"""Run all benchmarks, or those named: ``python -m benchmarks accuracy --quick``."""

import os

# Ratios are taken on one thread; the variable must be set before NumPy loads its BLAS.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import importlib

NAMES = (
    "imports",
    "speed",
    "memory",
    "accuracy",
    "power",
    "robustness",
    "peers",
    "balance",
    "changes",
    "monitor",
    "compare",
    "load",
)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="name", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="fewer runs: a look, not a measurement")
    arguments = parser.parse_args()
    for name in arguments.names:
        print(f"\n== {name} ==", flush=True)
        importlib.import_module(f"benchmarks.{name}").main(quick=arguments.quick)
