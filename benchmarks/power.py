"""Power of the two-sample test at level 5 %, n = m = 100, beside the textbook kernel tests and hyppo.

Every row of the table is one test on the same samples. MMD and energy are written out here, with as many random
relabellings as ours; "standardized" gives them the columns in units of their pooled deviation, as ours does by itself.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.spatial.distance import cdist, pdist

import densdiff as dd
from benchmarks.measure import record, skip
from benchmarks.peers import HYPPO, Skipped, call, peer_python

LEVEL = 0.05
ROWS = 100
DEFAULT = "densdiff"
UNITS = np.array([1.0, 100.0, 0.01])
RUN_SECONDS = 900

# The fast tests of hyppo: its own permutations cost a hundred times more. A new object each time: one that has seen a
# single column fails on several.
THEIRS = """
import json, sys, warnings
import numpy as np
from hyppo.ksample import MMD, KSample
warnings.simplefilter("ignore")
tests = {"hyppo Dcorr, chi-square": lambda: KSample("Dcorr"), "hyppo MMD, chi-square": MMD}
with np.load(sys.argv[1]) as store:
    pairs = [(store[f"x{i}"], store[f"y{i}"]) for i in range(len(store.files) // 2)]
print(json.dumps({name: [float(test().test(x, y, auto=True)[1]) for x, y in pairs] for name, test in tests.items()}))
"""


def normal(random, d):
    return random.standard_normal((ROWS, d))


def correlated(random, rho):
    z = normal(random, 2)
    return np.column_stack([z[:, 0], rho * z[:, 0] + np.sqrt(1 - rho**2) * z[:, 1]])


def null(random):
    return normal(random, 2), normal(random, 2)


def shift(random):
    return normal(random, 3) + np.array([0.5, 0.0, 0.0]), normal(random, 3)


def scale(random):
    return 1.4 * normal(random, 2), normal(random, 2)


def correlation(random):
    return correlated(random, 0.6), normal(random, 2)


def bimodal(random):
    return 0.8 * np.sign(normal(random, 1)) + 0.6 * normal(random, 1), normal(random, 1)


def bump(random):
    in_bump = random.random((ROWS, 1)) < 0.15
    return np.where(in_bump, 0.8 + 0.1 * normal(random, 1), normal(random, 1)), normal(random, 1)


def blobs(random, rho=0.85):
    corners = 5.0 * random.integers(3, size=(2, ROWS, 2))
    return corners[0] + correlated(random, rho), corners[1] + normal(random, 2)


def tail(random):
    return random.standard_t(2.5, (ROWS, 1)), normal(random, 1)


def high_dimension(random):
    return normal(random, 20) + 0.18, normal(random, 20)


def mixed_units(random):
    x, y = shift(random)
    return x * UNITS, y * UNITS


ALTERNATIVES = {
    "null": null,
    "shift": shift,
    "scale": scale,
    "corr.": correlation,
    "bimodal": bimodal,
    "bump": bump,
    "blobs": blobs,
    "tail": tail,
    "d = 20": high_dimension,
    "units": mixed_units,
}


def ours(x, y, permutations, run, refit):
    """p-values of this library's tests, by name."""
    what = {
        DEFAULT: {},
        "densdiff, pooled": {"tuning": "pooled"},
        "densdiff, KDEDifference": {"model": dd.KDEDifference()},
    }
    if refit:
        what["densdiff, refit"] = {"tuning": "refit"}
    return {
        name: dd.two_sample_test(x, y, n_permutations=permutations, random_state=run, **options).pvalue
        for name, options in what.items()
    }


def textbook(x, y, permutations, random):
    """p-values of the Gaussian MMD at the median distance and of the energy test, by name."""
    rows = np.vstack([x, y])
    labels = np.repeat([1.0 / len(x), -1.0 / len(y)], [len(x), len(y)])
    weights = np.column_stack([labels, *(random.permutation(labels) for _ in range(permutations))])  # (n + m, 1 + B)
    found = {}
    for kind, points in (("", rows), (", standardized", rows / rows.std(axis=0))):
        distances = cdist(points, points)
        kernel = np.exp(-0.5 * (distances / np.median(pdist(points))) ** 2)
        for name, matrix in (("MMD, median", kernel), ("energy", -distances)):
            statistics = np.einsum("ib,ib->b", weights, matrix @ weights)
            found[name + kind] = np.mean(statistics >= statistics[0])
    return found


def samples(number, run):
    """A pair of samples, and the generator that goes on from there."""
    random = np.random.default_rng([run, number])
    return *list(ALTERNATIVES.values())[number](random), random


def from_hyppo(cases):
    """Whether hyppo's tests reject, one dictionary a case, in an environment of its own; empty ones without it."""
    try:
        python = peer_python(HYPPO)
        with tempfile.TemporaryDirectory() as folder:
            pairs = [samples(number, run)[:2] for number, _, run in cases]
            path = Path(folder) / "pairs.npz"
            np.savez(path, **{f"{side}{i}": pair[j] for i, pair in enumerate(pairs) for j, side in enumerate("xy")})
            found = json.loads(call([python, "-c", THEIRS, path], RUN_SECONDS, "running it").splitlines()[-1])
    except Skipped as why:
        skip("hyppo", why)
        return [{} for _ in cases]
    return [{name: values[i] <= LEVEL for name, values in found.items()} for i in range(len(cases))]


def one_run(number, run, permutations, refit):
    """Whether each test rejects on one pair of samples, by name."""
    x, y, random = samples(number, run)
    found = ours(x, y, permutations, run, refit) | textbook(x, y, permutations, random)
    return {name: p <= LEVEL for name, p in found.items()}


def rejections(runs, refits, permutations):
    """Share of the runs in which each test rejects: {test: {alternative: share}}."""
    cases = [(number, label, run) for number, label in enumerate(ALTERNATIVES) for run in range(runs)]
    rows = Parallel(n_jobs=-1)(delayed(one_run)(number, run, permutations, run < refits) for number, _, run in cases)
    rows = [row | theirs for row, theirs in zip(rows, from_hyppo(cases), strict=True)]
    hits = {name: {label: [] for label in ALTERNATIVES} for name in rows[0]}
    for (_, label, _), row in zip(cases, rows, strict=True):
        for name, rejects in row.items():
            hits[name][label].append(rejects)
    return {name: {label: float(np.mean(values)) for label, values in by.items()} for name, by in hits.items()}


def verdict(power, means):
    """The default against the peers: on average, and where it falls shortest of the best of them."""
    peers = [name for name in power if not name.startswith("densdiff")]
    best = max(peers, key=means.get)
    beside = {"unit": "", "means": "of its power"}
    for name in peers:
        goal = "at least 1" if name == best else ""
        record("mean power over nine alternatives", means[DEFAULT], means[name], peer=name, goal=goal, **beside)
    print(f"default's mean {means[DEFAULT]:.3f}, the best peer's ({best}) {means[best]:.3f} (to reach: at least that)")
    gaps = {}
    for label in ALTERNATIVES:
        if label != "null":
            rival = max(peers, key=lambda name, label=label: power[name][label])
            gaps[label] = (power[rival][label] - power[DEFAULT][label], rival)
    label = max(gaps, key=gaps.get)
    gap, rival = gaps[label]
    record(f"largest shortfall from the best on one alternative ({label})", gap, unit="", goal="at most 0.1")
    print(f"default's largest shortfall: {gap:.3f} on {label}, against {rival} (to reach: at most 0.1)")


def main(quick=False):
    runs, refits, permutations = (10, 0, 99) if quick else (200, 50, 299)
    print(f"share of rejections at level {LEVEL}, n = m = {ROWS}, {runs} runs, {permutations} permutations")
    print(f"standard error at most {0.5 / np.sqrt(runs):.3f}", end="")
    print(f"; refit: the first {refits} of the runs only" if refits else "; refit left out, it is slow")
    power = rejections(runs, refits, permutations)
    means = {name: np.mean([by[label] for label in by if label != "null"]) for name, by in power.items()}
    print(f"{'':26s}" + "".join(f"{label:>8s}" for label in ALTERNATIVES) + f"{'mean':>9s}")
    for name, by in power.items():
        print(f"{name:26s}" + "".join(f"{share:8.2f}" for share in by.values()) + f"{means[name]:9.3f}")
    verdict(power, means)
