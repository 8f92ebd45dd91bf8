"""Run all benchmarks, or those named, and write results.md with its figures: ``python -m benchmarks accuracy``."""

import os

# Ratios are taken on one thread; the variable must be set before NumPy loads its BLAS.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# An installed package is compiled; else each new process would compile what it imports of the library, and no peer.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import argparse
import signal
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from datetime import datetime
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


LONGEST = 25 * 60  # seconds of a part; the slowest takes about ten minutes on two slow cores


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="name", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="a look, not a measurement: written only where --out says")
    parser.add_argument("--out", type=Path, metavar="folder", help="for results.md, results/ and figures/, if not here")
    arguments = parser.parse_args()
    folder = arguments.out or (None if arguments.quick else Path(__file__).parent)
    one_by_one = run_here if len(arguments.names) == 1 else run_apart
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # not without the part that runs
    start = time.perf_counter()
    failed = [name for name in arguments.names if not one_by_one(name, arguments.quick, folder)]
    if len(arguments.names) > 1:
        print(f"\n{len(arguments.names)} parts: {(time.perf_counter() - start) / 60:.1f} minutes")
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


def run_here(name, quick, folder):
    """Run one part in this process and write what it found, or that it failed; whether it did not."""
    print(f"\n== {name}, {datetime.now():%H:%M:%S} ==", flush=True)
    start = time.perf_counter()
    try:
        found = results.run(name, quick)
    except (Exception, SystemExit) as error:  # the second one if it is ended by a signal
        traceback.print_exc()
        if folder is not None:
            results.fail(folder, NAMES, name, f"{type(error).__name__}: {error}".splitlines()[0])
        return False
    finally:
        print(f"-- {name}: {(time.perf_counter() - start) / 60:.1f} minutes", flush=True)
    if folder is not None:
        results.write(folder, NAMES, found)
    return True


def run_apart(name, quick, folder):
    """Run one part in a process of its own: what others have measured must not be lost with it, however it ends."""
    options = ["--quick"] * quick + (["--out", str(folder)] if folder is not None else [])
    command = [sys.executable, "-m", "benchmarks", name, *options]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        code = process.wait(LONGEST)
    except subprocess.TimeoutExpired:
        code, why = -1, f"took longer than {LONGEST / 60:.0f} minutes"
    else:
        why = f"was ended by signal {-code}"
    finally:
        end_group(process)
    if code < 0 and folder is not None:  # it could not say so itself
        results.fail(folder, NAMES, name, why)
    return code == 0


def end_group(process):
    """End the processes that a part has started too: they would run beside the next one and spoil its times."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


if __name__ == "__main__":
    main()
