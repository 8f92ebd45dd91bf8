"""Time of one cross-validated fit against the plain loop of the paper, same grid, one thread, as ratios."""

import time

import numpy as np

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


def main(quick=False):
    repeats = 3 if quick else 25
    print("cross-validated fit, 300 centers, 11 sigmas, 9 lambdas, 5 folds (densdiff: two partitions into folds)")
    print(f"{'':24s}{'plain loop':>12s}{'densdiff':>12s}{'ratio':>8s}   to reach")
    for n, d, goal in ((200, 1, 12), (200, 5, 12), (5000, 10, 6)):
        pair = dd.datasets.gaussian_shift(0.5, d=d, n=n, random_state=0)
        model = dd.LSDD(SIGMAS, LAMBDAS, solver="centers", random_state=0)
        model.fit(pair.x, pair.y)
        slow = fastest(lambda pair=pair: plain_fit(pair.x, pair.y, SIGMAS, LAMBDAS), 2 if quick else 5)
        fast = fastest(lambda model=model, pair=pair: model.fit(pair.x, pair.y), repeats)
        print(
            f"n = m = {n:5d}, d = {d:2d}   {slow:11.3f}s{fast:11.4f}s{slow / fast:8.1f}   {goal:8d}",
            flush=True,
        )
