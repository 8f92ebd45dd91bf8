"""One process of fuzzing: changed files of the corpus to one target, until the time is over or the process ends."""

import resource
import signal
import time
from pathlib import Path

import numpy as np

from tests.fuzz import corpus, mutations, targets

OUT = Path("fuzz-out")
SECONDS = 10  # of processor time for one file
GROWTH = 256  # MiB by which one file may raise the most memory that the process ever had
MOST = 30  # findings of one process


def work(target, seed, seconds, folder):
    """Until the time is over; findings are written as they come."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # which ends the process, even one that is lost in C
    random = np.random.default_rng(seed)
    pool = [(path.name, path.read_bytes()) for path in corpus.seeds(targets.TARGETS[target][1])]
    known, count, end = set(), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        name, data = pool[random.integers(len(pool))]
        changed = mutations.mutated(data, name, random)
        path = folder / f"last.{name.split('.', 1)[1]}"
        path.write_bytes(changed)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        found = targets.broken(target, path)
        signal.setitimer(signal.ITIMER_PROF, 0)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        if found is None and count > 20 and grown > GROWTH:
            found = f"{grown:.0f} MiB more memory"
        count += 1
        key = None if found is None else found[:60]  # its kind and place
        if found is not None and key not in known and len(known) < MOST:
            known.add(key)
            keep(target, path.name, changed, found)
        path.unlink(missing_ok=True)
    (folder / "count").write_text(str(count))


def keep(target, name, data, why):
    OUT.mkdir(exist_ok=True)
    number = sum(1 for _ in OUT.glob(f"{target}-*"))
    path = OUT / f"{target}-{number}.{name.split('.', 1)[1]}"
    path.write_bytes(data)
    print(f"{target}: {why} ({path})", flush=True)
    with (OUT / "findings.txt").open("a") as log:
        log.write(f"{path.name}: {why}\n")
