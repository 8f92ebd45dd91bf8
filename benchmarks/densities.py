"""Error of f = p - q and of the share p / (p + q) at fresh points, beside density and ratio estimators, and their time.

Points are drawn from both densities alike, and the truth is known. The error of f is relative to its root mean square;
the share is the ratio p / q brought to [0, 1], so that points where q is nearly 0 do not decide. KernelDensity is
cross-validated over 15 widths; gaussian_kde follows Scott's rule; densratio keeps its own grids and has
as many kernels as ours. It runs in an environment of its own.
"""

import json
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import gaussian_kde
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity

import densdiff as dd
from benchmarks.accuracy import gaussians, rmse, shapes
from benchmarks.measure import ERROR, one_core, record, skip
from benchmarks.peers import DENSRATIO, Skipped, call, peer_python
from densdiff.datasets import mixture_pair

ROWS, POINTS, CENTERS = 300, 500, 300
NAMED = ("x", "y", "points")
WIDTHS = np.geomspace(0.05, 3, 15)  # in units of the pooled deviation
RUN_SECONDS = 900
RATIOS = """
import json, sys, time
import numpy as np
from densratio import densratio
np.random.seed(0)
densratio(np.ones((20, 1)), np.zeros((20, 1)), kernel_num=10, verbose=False)
found = {}
with np.load(sys.argv[1]) as store:
    pairs = [[store[f"{name}{i}"] for name in ("x", "y", "points")] for i in range(len(store.files) // 3)]
for method in ("uLSIF", "KLIEP"):
    start = time.perf_counter()
    values = []
    for x, y, points in pairs:
        model = densratio(x, y, method=method, kernel_num=int(sys.argv[2]), verbose=False)
        values.append(np.ravel(model.compute_density_ratio(points)).tolist())
    found[f"densratio {method}"] = [values, (time.perf_counter() - start) / len(pairs)]
print(json.dumps(found))
"""


def by_lsdd(x, y, points):
    model = dd.LSDD(random_state=0).fit(x, y)
    p, q = model.densities(points)
    return model.predict(points), share(p, q)


def by_kde_difference(x, y, points):
    return dd.KDEDifference(random_state=0).fit(x, y).predict(points), None


def by_kliep(x, y, points):
    return None, share(dd.KLIEP(n_centers=CENTERS, random_state=0).fit(x, y).predict(points), 1.0)


def by_kernel_density(x, y, points):
    scale = np.vstack([x, y]).std(axis=0)
    logs = [
        GridSearchCV(KernelDensity(), {"bandwidth": WIDTHS}, cv=5)
        .fit(rows / scale)
        .best_estimator_.score_samples(points / scale)
        for rows in (x, y)
    ]
    p, q = np.exp(logs) / np.prod(scale)
    return p - q, share(p, q)


def by_gaussian_kde(x, y, points):
    p, q = (gaussian_kde(rows.T)(points.T) for rows in (x, y))
    return p - q, share(p, q)


METHODS = {
    "densdiff LSDD": by_lsdd,
    "densdiff KDEDifference": by_kde_difference,
    "densdiff KLIEP": by_kliep,
    "scikit-learn KernelDensity": by_kernel_density,
    "scipy gaussian_kde": by_gaussian_kde,
}


def share(p, q):
    """p / (p + q), one half where both are 0."""
    total = np.asarray(p + q)
    return np.divide(p, total, out=np.full(total.shape, 0.5), where=total > 0)


def from_densratio(samples):
    """{method: (ratios of each pair, seconds a pair)}."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.npz"
        arrays = {f"{name}{i}": rows for i, one in enumerate(samples) for name, rows in zip(NAMED, one, strict=True)}
        np.savez(path, **arrays)
        return json.loads(call([peer_python(DENSRATIO), "-c", RATIOS, path, str(CENTERS)], RUN_SECONDS, "running it"))


def draw(p, q, run):
    """Two samples, and points from both densities."""
    random = np.random.default_rng([run, p.dimension])
    pair = mixture_pair(p, q, n=ROWS, m=ROWS, random_state=random)
    return pair.x, pair.y, np.vstack([part.sample(POINTS // 2, random) for part in (p, q)])


def all_estimates(samples):
    """{method: ([(f or None, share or None) of each pair], seconds a pair)}."""
    found = {}
    for name, method in METHODS.items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimates = [method(*one) for one in samples]
        found[name] = estimates, (time.perf_counter() - start) / len(samples)
    try:
        for name, (ratios, seconds) in from_densratio(samples).items():
            found[name] = [(None, share(np.array(ratio), 1.0)) for ratio in ratios], seconds
    except Skipped as why:
        skip("densratio", why)
    return found


def score(p, q, samples, estimates):
    """Root mean squared errors of f, relative to f, and of the share; nan where a method has none."""
    errors, sizes, shares = [], [], []
    for (_, _, points), (f, part) in zip(samples, estimates, strict=True):
        truth = p(points) - q(points)
        sizes.append(rmse(truth))
        errors.append(np.nan if f is None else rmse(f - truth))
        shares.append(np.nan if part is None else rmse(part - share(p(points), q(points))))
    return np.mean(errors) / np.mean(sizes), np.mean(shares)


def main(quick=False):
    runs = 1 if quick else 10
    cells = [("shift", gaussians(0.4, 1), 1), *((label, pair, 1) for label, pair in shapes(1)[1::2])]
    cells += [("shift", gaussians(0.4, 5), 5), *((label, pair, 5) for label, pair in shapes(5)[1::2])]
    print(f"n = m = {ROWS}, {runs} runs; error of f relative to f, error of p / (p + q), seconds")
    losses = {}
    with one_core():
        for label, (p, q), d in cells:
            samples = [draw(p, q, run) for run in range(runs)]
            print(f"\n{label}, d = {d}")
            for name, (estimates, seconds) in all_estimates(samples).items():
                losses.setdefault(name, []).append((*score(p, q, samples, estimates), seconds))
                print(f"{name:28s}" + "".join(f"{value:10.3f}" for value in losses[name][-1]), flush=True)
    means = {name: np.mean(rows, axis=0) for name, rows in losses.items()}
    print("\nmean of all pairs")
    for name, row in means.items():
        print(f"{name:28s}" + "".join(f"{value:10.3f}" for value in row))
    keep(means)


def keep(means):
    """Keep our errors and times beside each peer's: LSDD's beside densities, KLIEP's beside ratios."""
    lsdd, kliep = means["densdiff LSDD"], means["densdiff KLIEP"]
    for name, (f, part, seconds) in means.items():
        beside = {"peer": name, "title": "mean of six pairs"}
        if name.startswith("densdiff"):
            continue
        if np.isfinite(f):
            record("LSDD, error of f", lsdd[0], f, unit="", means=ERROR, **beside)
            record("LSDD, error of p / (p + q)", lsdd[1], part, unit="", means=ERROR, **beside)
            record("LSDD, time", lsdd[2], seconds, **beside)
        else:
            record("KLIEP, error of p / (p + q)", kliep[1], part, unit="", means=ERROR, **beside)
            record("KLIEP, time", kliep[2], seconds, **beside)
