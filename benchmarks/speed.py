"""Time of one cross-validated fit as a ratio: against the plain loop of the paper, a sort, and bare pair distances.

Everything runs on one core in one process; the least of several wall times is taken.
"""

import os
import time

import numpy as np
from scipy.spatial.distance import pdist

import densdiff as dd
from benchmarks.plain import plain_fit

SIGMAS = 3.0 * 2.0 ** (-0.5 * np.arange(11))
LAMBDAS = np.logspace(-3, 1, 9)


def fastest(call, repeats):
    """Least of a few wall times: the others carry the machine's noise."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def line(label, baseline, ours, goal, factor="faster"):
    ratio = baseline / ours if factor == "faster" else ours / baseline
    print(f"{label:44s}{baseline:11.4f}s{ours:11.4f}s{ratio:8.1f}   {goal}", flush=True)


def against_the_plain_loop(quick):
    print("cross-validated fit against the plain loop (300 centers, 11 sigmas, 9 lambdas, 5 folds)")
    print(f"{'':44s}{'plain loop':>12s}{'densdiff':>12s}{'ratio':>8s}   to reach")
    cases = [(200, 1, "centers", 12), (200, 5, "centers", 12), (5000, 10, "centers", 6)]
    cases += [(200, 1, "spectral", 60), (200, 1, "pairs", 30), (200, 5, "pairs", 30)]
    plain = {}
    for n, d, solver, goal in cases:
        pair = dd.datasets.gaussian_shift(0.5, d=d, n=n, random_state=0)
        if (n, d) not in plain:
            slow = fastest(lambda pair=pair: plain_fit(pair.x, pair.y, SIGMAS, LAMBDAS), 2 if quick else 5)
            plain[n, d] = slow
        model = dd.LSDD(SIGMAS, LAMBDAS if solver == "centers" else "cv", solver=solver, random_state=0)
        ours = fastest(lambda model=model, pair=pair: model.fit(pair.x, pair.y), 3 if quick else 25)
        models = len(model.cv_results_["sigma"])
        line(f"n = m = {n}, d = {d}, {solver}, {models} models", plain[n, d], ours, f"at least {goal}")


def against_a_sort(quick):
    n = 100_000 if quick else 1_000_000
    print(f"\nn = m = {n}, cross-validated spectral fit against numpy.sort of one pooled column")
    print(f"{'':44s}{'sort':>12s}{'densdiff':>12s}{'ratio':>8s}   to reach")
    for d, goal in ((1, 4), (2, 12)):
        pair = dd.datasets.gaussian_shift(0.5, d=d, n=n, random_state=0)
        column = np.concatenate([pair.x[:, 0], pair.y[:, 0]])
        baseline = fastest(lambda column=column: np.sort(column), 10)
        model = dd.LSDD(solver="spectral", random_state=0)
        ours = fastest(lambda model=model, pair=pair: model.fit(pair.x, pair.y), 5)
        line(f"d = {d}, {len(model.cv_results_['sigma'])} models", baseline, ours, f"at most {goal}", "slower")


def against_bare_distances(quick):
    n = 1000 if quick else 5000
    print(f"\nn = m = {n}, d = 10, pairs against computing the pair distances alone (scipy's pdist)")
    pair = dd.datasets.gaussian_shift(0.5, d=10, n=n, random_state=0)
    rows = np.vstack([pair.x, pair.y])
    baseline = fastest(lambda: pdist(rows), 3)
    model = dd.LSDD(solver="pairs", random_state=0)
    ours = fastest(lambda: model.fit(pair.x, pair.y), 3)
    line(f"{len(model.cv_results_['sigma'])} models", baseline, ours, "at most 3", "slower")


def against_refits(quick):
    print("\nsimultaneous band at 1000 points, 1000 resamples, against as many refits (25 of them timed)")
    print(f"{'':44s}{'refits':>12s}{'densdiff':>12s}{'ratio':>8s}   to reach")
    for n, d in ((200, 1), (200, 5), (2000, 1)):
        pair = dd.datasets.gaussian_shift(0.5, d=d, n=n, random_state=0)
        random = np.random.default_rng(0)
        points = np.concatenate([pair.x, pair.y])[random.choice(2 * n, 1000)]
        model = dd.LSDD(random_state=0).fit(pair.x, pair.y)
        fixed = dd.LSDD(model.sigma_, model.lam_, solver=model.solver_, random_state=0)

        def refits(pair=pair, points=points, fixed=fixed, random=random, n=n):
            for _ in range(25):
                resampled = (rows[random.integers(n, size=n)] for rows in (pair.x, pair.y))
                fixed.fit(*resampled).predict(points)

        baseline = 40 * fastest(refits, 1)
        ours = fastest(lambda model=model, points=points: model.confidence_band(points), 2 if quick else 5)
        line(f"n = m = {n}, d = {d}, {model.solver_}", baseline, ours, "well under a second")


def main(quick=False):
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        against_the_plain_loop(quick)
        against_a_sort(quick)
        against_bare_distances(quick)
        against_refits(quick)
    finally:
        os.sched_setaffinity(0, cores)
