"""Feed changed files of the corpus to readers and saved states: ``python -m tests.fuzz [--minutes 10] [target ...]``.

Each target runs in a process of its own, which ends if one file takes too long: what it read last is the finding, as
it is if the process crashes. Findings are kept in ``fuzz-out``; the folder of the corpus is where they belong then.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # must be set before NumPy loads its BLAS

import argparse
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.worker import OUT, keep, work

NAMES = ("reader", "tables", "blocks", "state", "stream", "profile")


def run(target, seconds, seed):
    """One target for so long, a new process after each that died."""
    end, files = time.monotonic() + seconds, 0
    while (left := end - time.monotonic()) > 1:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            process = multiprocessing.get_context("spawn").Process(target=work, args=(target, seed, left, folder))
            process.start()
            process.join()
            if process.exitcode == 0:
                files += int((folder / "count").read_text())
            elif not (last := list(folder.glob("last.*"))):
                sys.exit(f"the process ended with {process.exitcode} before it read a file")
            else:
                keep(target, last[0].name, last[0].read_bytes(), f"the process ended with {process.exitcode}")
        seed += 1000
    print(f"{target}: {files} files in {seconds:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="target", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--minutes", type=float, default=10.0, help="for all of them together")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    chosen = given.targets or list(NAMES)
    if unknown := set(chosen) - set(NAMES):
        parser.error(f"no target {', '.join(sorted(unknown))}")
    before = sorted(OUT.glob("*-*"))
    print(f"seed {given.seed}", flush=True)
    for target in chosen:
        run(target, 60.0 * given.minutes / len(chosen), given.seed)
    sys.exit(1 if sorted(OUT.glob("*-*")) != before else 0)


if __name__ == "__main__":
    main()
