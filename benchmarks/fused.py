"""The one sum everything is made of, one thread each: an exp for each sigma, our NumPy ladder, the compiled ladder.

Weighted sums of 10^6 x 10 rows, 500 centers, 10 sigmas, 5 folds. The limit is what distances and one exp take when
nothing is summed, in NumPy and in the compiled code; all take blocks that fit the cache. Start, memory, two threads
and pykeops are measured in processes of their own.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

from benchmarks.measure import MEMORY, fastest, one_core, record, skip
from benchmarks.peers import Skipped, call, peer_python
from densdiff.core.kernel import squared_distances
from densdiff.engines import kernel_sums

COLUMNS, CENTERS, FOLDS = 10, 500, 5
SIGMAS = 6.0 * 2.0 ** (-0.5 * np.arange(10))
KEOPS = ("pykeops==2.3",)
PEER_SECONDS = 600

CASE = """
import sys, time
import numpy as np
n = int(sys.argv[1])
random = np.random.default_rng(0)
rows, centers = random.standard_normal((n, 10)), random.standard_normal((500, 10))
weights, folds = random.random(n), random.integers(5, size=n)
sigmas = 6.0 * 2.0 ** (-0.5 * np.arange(10))

def timed(call, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)

def peak():
    return int(next(row for row in open("/proc/self/status") if row.startswith("VmHWM")).split()[1]) / 1024
"""
OURS = """
from densdiff.engines import kernel_sums

features = kernel_sums.CenterFeatures(centers, sigmas, direct=False)

def sums(k=n):
    return kernel_sums.group_sums(rows[:k], weights[:k], folds[:k], features, fused=sys.argv[3] == "1")

first = timed(lambda: sums(1000), 1)
before = peak()
print(first, timed(sums, int(sys.argv[2])), peak() - before)
"""
THEIRS = """
from pykeops.numpy import Genred
one_hot = weights[:, None] * (folds[:, None] == np.arange(5))
kernel = Genred("Exp(-s * SqDist(c, x)) * w", ["s = Pm(1)", "c = Vi(10)", "x = Vj(10)", "w = Vj(5)"], axis=1)

def sums(k=n):
    scales = 0.5 / sigmas**2
    return [kernel(np.array([s]), centers, rows[:k], one_hot[:k], backend="CPU") for s in scales]

first = timed(lambda: sums(1000), 1)
before = peak()
print(first, timed(sums, int(sys.argv[2])), peak() - before)
"""


def case(n):
    random = np.random.default_rng(0)
    rows, centers = random.standard_normal((n, COLUMNS)), random.standard_normal((CENTERS, COLUMNS))
    return rows, random.random(n), random.integers(FOLDS, size=n), centers


def chunks(n):
    size = kernel_sums.BLOCK_BYTES // (8 * CENTERS)
    return (slice(start, start + size) for start in range(0, n, size))


def exp_each(rows, weights, folds, centers):
    """The sums with an exp for each sigma, (S, folds, b)."""
    sums = np.zeros((len(SIGMAS), FOLDS, len(centers)))
    by_fold = weights * (folds == np.arange(FOLDS)[:, None])  # (folds, n)
    for chunk in chunks(len(rows)):
        squared = squared_distances(rows[chunk], centers, False)
        psi = np.empty_like(squared)
        for level, sigma in enumerate(SIGMAS):
            np.multiply(squared, -0.5 / sigma**2, out=psi)
            sums[level] += by_fold[:, chunk] @ np.exp(psi, out=psi)
    return sums


def bare_numpy(rows, centers):
    for chunk in chunks(len(rows)):
        squared = squared_distances(rows[chunk], centers, False)
        squared *= -0.5 / SIGMAS[0] ** 2
        np.exp(squared, out=squared)


def bare_compiled():
    """A function of rows and centers: distances and one exp by the compiled code, rows packed as for the sums."""
    from numba import njit

    from densdiff.engines import fused
    from densdiff.engines.fused_tiles import TILE, TILE_ROWS, expanded_distances, exponentials, pack_rows

    @njit(nogil=True)
    def pairs(rows, tiles, scale):
        filled = pack_rows(rows, tiles.shape[1] // TILE, False)
        squared, psi = np.empty(TILE_ROWS * TILE), np.empty(TILE_ROWS * TILE)
        for t in range(len(tiles)):
            for i in range(0, len(filled), TILE_ROWS):
                expanded_distances(squared, filled, i, tiles, t)
                exponentials(psi, squared, scale)
        return psi[0]

    def bare(rows, centers):
        tiles = fused.pack_centers(centers, False)
        for start in range(0, len(rows), fused.BLOCK_ROWS):
            pairs(rows[start : start + fused.BLOCK_ROWS], tiles, -0.5 / np.log(2.0) / SIGMAS[0] ** 2)

    return bare


def on_one_thread(quick):
    n = 50_000 if quick else 1_000_000
    arrays = case(n)
    rows, centers = arrays[0], arrays[3]
    bare, features = bare_compiled(), kernel_sums.CenterFeatures(centers, SIGMAS, direct=False)

    def sums(fused, k=n):
        return kernel_sums.group_sums(*(array[:k] for array in arrays[:3]), features, fused=fused)

    bare(rows[:100], centers)
    off = np.abs(sums(True) - sums(False)).max() / np.abs(sums(False)).max()
    repeats = 3 if quick else 5
    seconds = {
        "NumPy, an exp for each sigma": fastest(lambda: exp_each(*arrays), repeats),
        "NumPy ladder": fastest(lambda: sums(False), repeats),
        "compiled ladder": fastest(lambda: sums(True), repeats),
        "NumPy, distances and one exp alone": fastest(lambda: bare_numpy(rows, centers), repeats),
        "compiled, distances and one exp alone": fastest(lambda: bare(rows, centers), repeats),
    }
    plain, _, ours, limit_numpy, limit = seconds.values()
    print(f"{n} x {COLUMNS} rows, {CENTERS} centers, {len(SIGMAS)} sigmas, {FOLDS} folds, one thread")
    for label, value in seconds.items():
        each = 1e9 * value / (n * CENTERS)
        print(f"  {label:40s}{value:9.3f} s{each:8.2f} ns for each row and center{plain / value:8.1f} x")
    print(f"compiled against NumPy's ladder: {off:.1e} of the largest entry; to reach: at most 1e-10")
    print(f"against an exp for each sigma: {plain / ours:.1f} times faster; to reach: at least 8")
    print(
        f"against distances and one exp: {limit_numpy / ours:.0%} of NumPy's speed, {limit / ours:.0%} of the compiled"
    )
    print("code's own, the machine's limit; to reach: at least 60%", flush=True)
    of, title = (
        f"{n} x {COLUMNS} rows, {CENTERS} centers, {len(SIGMAS)} sigmas",
        "Weighted sums of kernel features, one thread",
    )
    record(of, ours, plain, peer="NumPy, an exp for each sigma", goal="at least 8", title=title)
    record(of, ours, limit_numpy, peer="NumPy, distances and one exp alone", goal="at least 0.6", title=title)
    record(of, ours, limit, peer="compiled, distances and one exp alone", goal="at least 0.6", title=title)
    record("largest difference to NumPy, of the largest entry", off, unit="", goal="at most 1e-10", title=title)


def in_a_process(program, n, repeats, option, *, threads=1, cache=None):
    """Seconds of a first small call, seconds of the whole, and MiB beyond what the small call needed."""
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), str(threads))
    environment = os.environ | limits | ({} if cache is None else {"NUMBA_CACHE_DIR": cache})
    command = [sys.executable, "-c", CASE + program, str(n), str(repeats), option]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return map(float, done.stdout.split())


def start_memory_and_threads(quick):
    n = 50_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as cache:
        compiling, _, _ = in_a_process(OURS, 1000, 1, "1", cache=cache)
        loading, one, memory = in_a_process(OURS, n, 3, "1", cache=cache)
        _, two, _ = in_a_process(OURS, n, 3, "1", threads=2, cache=cache)
    _, _, numpys = in_a_process(OURS, n, 1, "0")
    print(
        f"\nfirst call: {compiling:.2f} s to import numba and compile, {loading:.2f} s once compiled and kept on disk"
    )
    print(f"memory beyond the data ({8e-6 * n * COLUMNS:.0f} MB): {memory:.0f} MiB compiled, {numpys:.0f} MiB NumPy")
    print(f"two threads: {one / two:.2f} times the speed of one, on {os.cpu_count()} cores", flush=True)
    title = "The compiled sum: start, memory, threads"
    record("first call, nothing kept on disk", compiling, title=title)
    record("first call, compiled before", loading, title=title)
    record("memory beyond the data", memory, numpys, peer="NumPy", unit="MiB", means=MEMORY, title=title)
    record("two threads", two, one, peer="one thread", title=title)
    return one


def against_keops(n, ours):
    try:
        command = [peer_python(KEOPS), "-c", CASE + THEIRS, str(n), "1"]
        _, seconds, _ = map(float, call(command, PEER_SECONDS, "running it").splitlines()[-1].split())
    except Skipped as why:
        skip("pykeops", why)
        return
    print(
        f"pykeops, one thread, float64, compiled before: {seconds:.2f} s, {seconds / ours:.1f} times ours", flush=True
    )
    record("the same sums", ours, seconds, peer="pykeops 2.3", title="Weighted sums of kernel features, one thread")


def main(quick=False):
    with one_core():
        on_one_thread(quick)
    ours = start_memory_and_threads(quick)
    against_keops(50_000 if quick else 1_000_000, ours)
