"""One method at growing sizes, as a program: seconds and MiB of each size, in a process of its own.

It runs in the environment of the method, where this library need not be, so what a method needs is imported by the
method. A question is either "fit" (f or the ratio of two samples at 1000 points, tuned as the method tunes itself) or
"test" (a p-value by B permutations).
"""

import json
import multiprocessing
import sys
import time
import warnings
from pathlib import Path

import numpy as np

POINTS = 1000
SIGMAS, LAMBDAS = 3.0 * 2.0 ** (-0.5 * np.arange(11)), np.logspace(-3, 1, 9)


def lsdd(solver):
    import densdiff as dd

    if solver == "centers":
        compiled()

    def run(x, y, b, permutations):
        given = {"sigma": SIGMAS, "lam": LAMBDAS} if solver == "centers" else {}
        dd.LSDD(**given, solver=solver, n_centers=b, random_state=0).fit(x, y).predict(x[:POINTS])

    return run


def compiled():
    """Have the compiled sum in this process, so that no size waits for its compiler."""
    from densdiff.engines.kernel_sums import CenterFeatures, group_sums

    rows = np.zeros((64, 1))
    features = CenterFeatures(rows, np.ones(1), direct=False)
    group_sums(rows, np.ones(64), np.zeros(64, dtype=int), features, fused=True)


def plain_loop():
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from benchmarks.plain import plain_fit

    return lambda x, y, b, permutations: plain_fit(x, y, SIGMAS, LAMBDAS, n_centers=b)


def kernel_density():
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KernelDensity

    def run(x, y, b, permutations):
        for rows in (x, y):
            search = GridSearchCV(KernelDensity(), {"bandwidth": SIGMAS / 2}, cv=5)
            search.fit(rows).best_estimator_.score_samples(x[:POINTS])

    return run


def gaussian_kde():
    from scipy.stats import gaussian_kde

    return lambda x, y, b, permutations: [gaussian_kde(rows.T)(x[:POINTS].T) for rows in (x, y)]


def densratio():
    from densratio import densratio

    return lambda x, y, b, permutations: densratio(x, y, kernel_num=b, verbose=False).compute_density_ratio(x[:POINTS])


def our_test(tuning):
    import densdiff as dd

    compiled()

    def run(x, y, b, permutations):
        model = dd.LSDD(solver="centers", n_centers=b)
        how = {"tuning": tuning, "null": "permutation", "random_state": 0}
        dd.two_sample_test(x, y, model=model, n_permutations=permutations, **how)

    return run


def alibi():
    import logging

    import torch
    from alibi_detect.cd import LSDDDrift

    logging.disable(logging.INFO)
    torch.set_num_threads(1)

    def run(x, y, b, permutations):
        how = {"n_permutations": permutations, "n_kernel_centers": b, "device": "cpu"}
        LSDDDrift(x.astype(np.float32), backend="pytorch", **how).predict(y.astype(np.float32))

    return run


def hyppo(name):
    from hyppo import ksample

    new = {"MMD": ksample.MMD, "Energy": ksample.Energy, "Dcorr": lambda: ksample.KSample("Dcorr")}[name]
    return lambda x, y, b, permutations: new().test(x, y, reps=permutations, workers=1, auto=False)


METHODS = {
    "fit": {
        "densdiff, spectral": lambda: lsdd("spectral"),
        "densdiff, pairs": lambda: lsdd("pairs"),
        "densdiff, centers": lambda: lsdd("centers"),
        "the paper's plain loop": plain_loop,
        "scikit-learn KernelDensity": kernel_density,
        "scipy gaussian_kde": gaussian_kde,
        "densratio uLSIF": densratio,
    },
    "test": {
        "densdiff, aggregate": lambda: our_test("aggregate"),
        "densdiff, pooled": lambda: our_test("pooled"),
        "alibi-detect LSDDDrift": alibi,
        "hyppo MMD": lambda: hyppo("MMD"),
        "hyppo Dcorr": lambda: hyppo("Dcorr"),
        "hyppo Energy": lambda: hyppo("Energy"),
    },
}


def amount(path, name):
    """A line of a file of the system, in MiB."""
    return int(next(row for row in Path(path).read_text().splitlines() if row.startswith(name)).split()[1]) / 1024


def measure(run, size, answer):
    """Send (seconds, MiB beyond what was there before) of one run, or why it failed."""
    try:
        answer.send(measured_here(run, *size))
    except Exception as error:
        answer.send(f"{type(error).__name__}: {error}"[:100])


def measured_here(run, n, d, b, permutations):
    """(seconds, MiB), the least of three if they are short."""
    x, y = np.random.default_rng(0).standard_normal((2, n, d))
    x[:, 0] += 0.5
    run(x[:200], y[:200], min(b, 50), 20)
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before, times = amount("/proc/self/status", "VmRSS"), []
    while len(times) < 3 and sum(times) < 1:
        start = time.perf_counter()
        run(x, y, b, permutations)
        times.append(time.perf_counter() - start)
    # VmHWM and not ru_maxrss, which a child takes over from its parent
    return min(times), max(amount("/proc/self/status", "VmHWM") - before, 0.0)


def measured(run, size, seconds):
    """(seconds, MiB) of one size by a fresh child, or the words why there are none."""
    fork = multiprocessing.get_context("fork")  # what has been imported need not be imported again
    receive, send = fork.Pipe(duplex=False)
    child = fork.Process(target=measure, args=(run, size, send))
    child.start()
    send.close()
    try:
        return receive.recv() if receive.poll(seconds) else f"over {seconds:.0f} s"
    except EOFError:
        return "killed"
    finally:
        child.kill()
        child.join()


def main(question, method, plan, limit):
    """Print {axis: [[[size, seconds, MiB], ...], why it ends there]}; "" where all sizes were measured."""
    warnings.simplefilter("ignore")
    free = amount("/proc/meminfo", "MemAvailable")
    run, found = METHODS[question][method](), {}
    for axis, sizes in plan.items():
        found[axis] = [points := [], ""]
        for size in sizes:
            point = measured(run, size, 60 + 20 * limit)
            if isinstance(point, str):
                found[axis][1] = f"at {size['ndbB'.index(axis)]:,}: {point}"
                break
            points.append((size["ndbB".index(axis)], *point))
            # The next size is twice this one, and the methods are at most quadratic in memory.
            if size is not sizes[-1] and (point[0] > limit or 4 * point[1] > 0.8 * free):
                found[axis][1] = "time" if point[0] > limit else "memory"
                break
    print(json.dumps(found))


if __name__ == "__main__":
    main(*map(json.loads, sys.argv[1:]))
