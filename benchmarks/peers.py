"""Speed and memory of the two-sample test: against alibi-detect's LSDDDrift, a sort, and one cross-validated fit.

The peer needs an older NumPy, so it lives in a virtual environment of its own, made once in the user's cache; both
sides then run in fresh processes on one core. Times are from data to p-value; memory is the peak beyond what a small
test had needed before. "cold" is the first test of a process, with the import of the library: ours is a user's plain
call, which takes 300 centers by itself.
"""

import fcntl
import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np

import densdiff as dd
from benchmarks.measure import MEMORY, fastest, head, line, one_core, record, skip

PEER = ("alibi-detect==0.13.0", "torch==2.13.0", "numpy<2")
HYPPO = ("hyppo==0.5.2",)
DENSRATIO = ("densratio==0.4.0", "numba")  # without numba it computes its kernels row by row
LSDD_DRIFT = "alibi-detect LSDDDrift"
PERMUTATIONS, CENTERS = 1000, 250
INSTALL_SECONDS, RUN_SECONDS = 900, 600

# The peak is VmHWM and not ru_maxrss, which a child takes over from its parent.
SAMPLES = """
import json, sys, time
import numpy as np
n, permutations, centers, repeats = map(int, sys.argv[1:5])
warm, began = "cold" not in sys.argv, time.perf_counter()
random = np.random.default_rng(0)
x, y = random.standard_normal((2, n, 10))
x[:, 0] += 0.1

def peak():
    return int(next(row for row in open("/proc/self/status") if row.startswith("VmHWM")).split()[1]) / 1024

def report(test, x, y):
    test(x[:300], y[:300], 20) if warm else None
    before, runs = peak(), []
    for _ in range(repeats):
        start = time.perf_counter() if warm else began
        built, pvalue = test(x, y, permutations)
        runs.append((time.perf_counter() - start, built - start, pvalue))
    seconds, build, pvalue = min(runs)
    print(json.dumps(dict(seconds=seconds, build=build, pvalue=pvalue, memory=peak() - before)))
"""
THEIRS = """
import logging
import torch
from alibi_detect.cd import LSDDDrift
logging.disable(logging.INFO)
torch.set_num_threads(1)

def test(x, y, permutations):
    detector = LSDDDrift(x, backend="pytorch", n_permutations=permutations, n_kernel_centers=centers, device="cpu")
    built = time.perf_counter()
    return built, detector.predict(y)["data"]["p_val"]

report(test, x.astype(np.float32), y.astype(np.float32))
"""
OURS = """
import densdiff as dd

def test(x, y, permutations):
    model = dd.LSDD(solver="centers", n_centers=centers) if warm else None
    start = time.perf_counter()
    how = dict(tuning=sys.argv[5], null="permutation", random_state=0)
    result = dd.two_sample_test(x, y, model=model, n_permutations=permutations, **how)
    return start, result.pvalue

report(test, x, y)
"""


CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "densdiff-benchmarks"


class Skipped(Exception):
    """Why the peer could not be measured."""


def call(command, seconds, doing, environment=None):
    """Output of a command, on one thread unless another environment is given; `Skipped`, with its last words, if it
    fails.
    """
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = os.environ | threads if environment is None else environment
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Skipped(f"{doing}: {type(error).__name__} ({seconds} s at most)") from error
    if done.returncode:
        words = done.stderr.strip().splitlines() or ["no message"]
        errors = [row for row in words if re.match(r"[\w.]*error\b", row, re.IGNORECASE)]  # more may follow them
        raise Skipped(f"{doing}: exit {done.returncode}, {(errors or words)[-1][:200]}")
    return done.stdout


def peer_python(packages):
    """The interpreter of an environment for packages, named by the first, made and filled if it is not there yet."""
    home = CACHE / packages[0].replace("==", "-")
    python, ready = home / "bin" / "python", home / "ready"
    home.parent.mkdir(parents=True, exist_ok=True)
    with home.with_name(f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second run would clear the environment that the first is filling
        if not ready.exists():
            print(f"installing {', '.join(packages)} into an environment of their own", flush=True)
            try:
                venv.create(home, with_pip=True, clear=True)
            except (OSError, subprocess.CalledProcessError) as error:
                raise Skipped(f"making its environment: {error}") from error
            call([python, "-m", "pip", "install", "--quiet", *packages], INSTALL_SECONDS, "installing it")
            ready.touch()
    return python


def affordable(n):
    """Permutations the peer has the memory for: it holds every permuted kernel matrix at once, half of them twice."""
    rows = Path("/proc/meminfo").read_text().splitlines()
    free = 1024 * int(next(row for row in rows if row.startswith("MemAvailable")).split()[1])
    return min(PERMUTATIONS, int(0.75 * free / (1.6 * 4 * 2 * n * CENTERS)))


def measured(python, program, n, permutations, repeats, *options):
    numbers = map(str, (n, permutations, CENTERS, repeats))
    command = [python, "-c", SAMPLES + program, *numbers, *options]
    return json.loads(call(command, RUN_SECONDS, "running it").splitlines()[-1])


def row(label, found):
    seconds, build = f"{found['seconds']:10.3f} s", f"{found['build']:9.3f} s"
    print(f"{label:30s}{seconds}{build}{found['memory']:9.0f} MiB   p = {found['pvalue']:.3g}", flush=True)


def theirs(python, n, repeats, *options):
    """The peer's figures; with too little memory, those of fewer permutations and the rest by arithmetic."""
    count = affordable(n)
    found = measured(python, THEIRS, n, count, repeats, *options)
    if count < PERMUTATIONS:
        times = PERMUTATIONS / count
        print(
            f"memory for {count} permutations of the peer only: its predict and memory below are {times:.1f} times that"
        )
        found["seconds"] = found["build"] + times * (found["seconds"] - found["build"])
        found["memory"] *= times
    row(", ".join(["alibi-detect LSDDDrift", *options]), found)
    return found


def against_alibi(python, quick):
    n = 500 if quick else 5000
    title = f"two-sample test, n = m = {n}, d = 10, {PERMUTATIONS} permutations, {CENTERS} centers"
    print(title)
    print(f"{'':30s}{'to p-value':>12s}{'building':>11s}{'memory':>13s}")
    ours = {tuning: measured(sys.executable, OURS, n, PERMUTATIONS, 3, tuning) for tuning in ("aggregate", "pooled")}
    cold = measured(sys.executable, OURS, n, PERMUTATIONS, 1, "aggregate", "cold")
    row("densdiff, aggregate, cold", cold)
    for tuning, found in ours.items():
        row(f"densdiff, {tuning}", found)
    if python is None:
        return
    try:
        peer = theirs(python, n, 3 if quick else 1)
        cold_peer = theirs(python, n, 1, "cold")
    except Skipped as why:
        skip("alibi-detect", why)
        return
    record("aggregate, cold", cold["seconds"], cold_peer["seconds"], goal="at least 25", title=title, peer=LSDD_DRIFT)
    for tuning, found in ours.items():
        times, share = peer["seconds"] / found["seconds"], found["memory"] / peer["memory"]
        print(f"{tuning}: {times:.0f} times faster (to reach: 50), {share:.3f} of the memory (to reach: at most 0.1)")
        beside = {"title": title, "peer": LSDD_DRIFT}
        record(tuning, found["seconds"], peer["seconds"], goal="at least 50", **beside)
        record(tuning, found["memory"], peer["memory"], unit="MiB", means=MEMORY, goal="at most 0.1", **beside)


def against_a_sort(quick):
    n = 100_000 if quick else 1_000_000
    head(f"two-sample test, n = m = {n}, d = 1, 999 permutations, spectral", "numpy.sort")
    pair = dd.datasets.gaussian_shift(0.0, d=1, n=n, random_state=0)
    column = np.concatenate([pair.x[:, 0], pair.y[:, 0]])
    baseline = fastest(lambda: np.sort(column), 10)
    how = {"model": dd.LSDD(solver="spectral"), "null": "permutation", "random_state": 0}
    for tuning in ("aggregate", "pooled"):
        ours = fastest(lambda tuning=tuning: dd.two_sample_test(pair.x, pair.y, tuning=tuning, **how), 3)
        line(tuning, baseline, ours, "at most 10", "slower")


def against_one_fit(quick):
    head("two-sample test, n = m = 200, 999 permutations, tuning='refit'", "one fit")
    for d in (1, 5):
        pair = dd.datasets.gaussian_shift(0.0, d=d, n=200, random_state=0)
        solver = dd.two_sample_test(pair.x, pair.y, n_permutations=19, tuning="refit", random_state=0).solver
        model = dd.LSDD(solver=solver, random_state=0)
        baseline = fastest(lambda model=model, pair=pair: model.fit(pair.x, pair.y), 5 if quick else 25)
        ours = fastest(
            lambda model=model, pair=pair: dd.two_sample_test(pair.x, pair.y, model=model, tuning="refit"),
            2 if quick else 5,
        )
        line(f"d = {d}, {solver}", baseline, ours, "at most 100", "slower")


def main(quick=False):
    try:
        python = peer_python(PEER)
    except Skipped as why:
        skip("alibi-detect", why)
        python = None
    with one_core():
        against_alibi(python, quick)
        against_a_sort(quick)
        against_one_fit(quick)
