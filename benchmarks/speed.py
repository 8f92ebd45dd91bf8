"""Time of one cross-validated fit as a ratio: against the plain loop of the paper, a sort, and bare pair distances.

Everything runs on one core in one process; the least of several wall times is taken.
"""

import numpy as np
from scipy.spatial.distance import pdist

import densdiff as dd
from benchmarks.measure import fastest, head, line, one_core
from benchmarks.plain import plain_fit

SIGMAS = 3.0 * 2.0 ** (-0.5 * np.arange(11))
LAMBDAS = np.logspace(-3, 1, 9)


def against_the_plain_loop(quick):
    head("cross-validated fit, 300 centers, 11 sigmas, 9 lambdas, 5 folds", "plain loop")
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
    head(f"cross-validated spectral fit, n = m = {n}", "numpy.sort")
    for d, goal in ((1, 4), (2, 12)):
        pair = dd.datasets.gaussian_shift(0.5, d=d, n=n, random_state=0)
        column = np.concatenate([pair.x[:, 0], pair.y[:, 0]])
        baseline = fastest(lambda column=column: np.sort(column), 10)
        model = dd.LSDD(solver="spectral", random_state=0)
        ours = fastest(lambda model=model, pair=pair: model.fit(pair.x, pair.y), 5)
        line(f"d = {d}, {len(model.cv_results_['sigma'])} models", baseline, ours, f"at most {goal}", "slower")


def against_bare_distances(quick):
    n = 1000 if quick else 5000
    head(f"cross-validated fit by pairs, n = m = {n}, d = 10", "scipy pdist")
    pair = dd.datasets.gaussian_shift(0.5, d=10, n=n, random_state=0)
    rows = np.vstack([pair.x, pair.y])
    baseline = fastest(lambda: pdist(rows), 3)
    model = dd.LSDD(solver="pairs", random_state=0)
    ours = fastest(lambda: model.fit(pair.x, pair.y), 3)
    line(f"{len(model.cv_results_['sigma'])} models", baseline, ours, "at most 3", "slower")


def against_refits(quick):
    head("simultaneous band at 1000 points, 1000 resamples; 25 of 1000 refits timed", "refits")
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
    with one_core():
        against_the_plain_loop(quick)
        against_a_sort(quick)
        against_bare_distances(quick)
        against_refits(quick)
