"""Class balance: error of the estimated priors and of a classifier weighted by them, time and memory, beside QuaPy.

Every row of a table is one method on the same draws of the same rows. The data are not part of the repository: the
paper's four sets are read from the folder `shared/data/class_balance` beside it, others as `balance_cells` says.
QuaPy's methods have their defaults, logistic regression where they need a classifier, and columns in units of the
pooled deviation; ours gets the rows as they are.
"""

import subprocess
import sys

import numpy as np
from joblib import Parallel, delayed

import densdiff as dd
from benchmarks import balance_cells
from benchmarks.balance_cells import DATA, PEERS, peers_on, quapy, read
from benchmarks.measure import ERROR, one_core, record, skip, standardized
from benchmarks.peers import Skipped

PAPER = ("australian", "diabetes", "german", "heart")
LABELLED, UNLABELLED = 20, 50
PRIORS = np.arange(1, 10) / 10
DEFAULT, EQUAL = "densdiff", "always equal"


def draw(y, counts, random):
    """Numbers of 20 labelled rows a class, and of counts[c] other rows of each class c without their labels."""
    rows = [random.permutation(np.flatnonzero(y == c)) for c in range(len(counts))]
    labelled = np.concatenate([own[:LABELLED] for own in rows])
    rest = [own[LABELLED : LABELLED + count] for own, count in zip(rows, counts, strict=True)]
    return labelled, random.permutation(np.concatenate(rest))


def paper_draw(number, y, step, run):
    """The paper's draw, PRIORS[step] being the exact share of the second class; every class has rows enough."""
    second = round(UNLABELLED * PRIORS[step])
    return draw(y, (UNLABELLED - second, second), np.random.default_rng([number, step, run]))


def ours(x, y, x_new, model=None):
    """Priors (K,) by this library."""
    return dd.ClassBalance(model=model, random_state=0).fit(x, y).predict(x_new)


def all_priors(key, x, y, x_new):
    """Priors (K,) by every method, by name; those of QuaPy on the draw called ``key`` are kept on disk."""
    classes = np.max(y) + 1
    found = {DEFAULT: ours(x, y, x_new), "densdiff, KDEDifference": ours(x, y, x_new, dd.KDEDifference())}
    if quapy:
        found |= {name: priors for name, (priors, _) in peers_on(key, x, y, x_new).items()}
    return found | {EQUAL: np.full(classes, 1 / classes)}


def misclassified(priors, x, y, x_new, y_new):
    """Share of the new rows that the paper's classifier gets wrong when its training rows are weighted to priors."""
    x, x_new = standardized(x, x_new)
    weights = (priors / (np.bincount(y) / len(y)))[y]  # (n,)
    return np.mean(dd.LeastSquaresClassifier().fit(x, y, sample_weight=weights).predict(x_new) != y_new)


def paper_run(number, x, y, step, run):
    """Squared error of the second class's prior by method, and misclassification by the balance weighted to."""
    labelled, unlabelled = paper_draw(number, y, step, run)
    rows = x[labelled], y[labelled], x[unlabelled]
    found = all_priors(f"paper-{PAPER[number]}-{step}-{run}", *rows)
    balances = {"true balance": np.array([1 - PRIORS[step], PRIORS[step]])}
    balances |= {name: found[name] for name in (DEFAULT, "EMQ") if name in found}
    balances["unweighted"] = found[EQUAL]  # the training balance, 20 rows a class
    wrong = {name: misclassified(priors, *rows, y[unlabelled]) for name, priors in balances.items()}
    return {name: (priors[1] - PRIORS[step]) ** 2 for name, priors in found.items()}, wrong


def by_name(rows, shape):
    return {name: np.reshape([row[name] for row in rows], shape) for name in rows[0]}


def standard_error(values):
    """Standard error of the mean of values (strata, runs), the strata being fixed."""
    return np.sqrt(values.var(axis=1, ddof=1).mean() / values.size)


def table(losses):
    """Print the mean loss with its standard error by method and data set, and return the columns, "mean" included."""
    names = next(iter(losses.values()))
    columns = losses | {"mean": {name: np.concatenate([losses[key][name] for key in losses]) for name in names}}
    print(f"{'':26s}" + "".join(f"{key:>16s}" for key in columns))
    for name in names:
        cells = [f"{by[name].mean():.4f} ({standard_error(by[name]):.4f})" for by in columns.values()]
        print(f"{name:26s}" + "".join(f"{cell:>16s}" for cell in cells), flush=True)
    return columns


def verdict(title, columns, rivals, goals=("", "")):
    """Print the default's loss over that of the best of the rivals; goals are those of one data set and of the mean."""
    best, ratios = [], []
    for key, by in columns.items():
        rival = min((name for name in rivals if name in by), key=lambda name: by[name].mean())
        ratio = by[DEFAULT].mean() / by[rival].mean()
        goal = goals[key == "mean"]
        beside = {"peer": rival, "unit": "", "means": ERROR, "title": title}
        record(key, by[DEFAULT].mean(), by[rival].mean(), goal=goal, **beside)
        error = standard_error(by[DEFAULT] - ratio * by[rival]) / by[rival].mean()  # the draws are paired
        best.append(rival)
        ratios.append(f"{ratio:.3f} ({error:.3f})")
    print(f"{'densdiff over':26s}" + "".join(f"{cell:>16s}" for cell in best))
    print(f"{'':26s}" + "".join(f"{cell:>16s}" for cell in ratios))


def on_the_papers_sets(runs):
    squared, wrong = {}, {}
    for number, key in enumerate(PAPER):
        cases = [(step, run) for step in range(len(PRIORS)) for run in range(runs)]
        x, y = read(key)
        rows = Parallel(n_jobs=-1)(delayed(paper_run)(number, x, y, *case) for case in cases)
        squared[key], wrong[key] = (by_name(part, (len(PRIORS), runs)) for part in zip(*rows, strict=True))
    print(f"mean squared error of the prior, {LABELLED} labelled rows a class, {UNLABELLED} unlabelled, ", end="")
    print(f"priors 0.1, .., 0.9, {runs} runs each (standard error)")
    columns = table(squared)
    if quapy:
        verdict("squared error of the prior", columns, PEERS, ("at most 1.1", "at most 0.93"))
    print("\nmisclassification of the unlabelled rows, least squares with Gaussian kernel weighted to the balance of")
    verdict("misclassification", table(wrong), ("true balance",))


# The peak is VmHWM and not ru_maxrss, which a child takes over from its parent.
MEMORY = """
import sys
import numpy as np
{imports}
n, random, y = int(sys.argv[1]), np.random.default_rng(0), np.repeat([0, 1], 200)
x, x_new = random.standard_normal((400, 10)) + 0.5 * y[:, None], random.standard_normal((n, 10))

def peak():
    return int(next(row for row in open("/proc/self/status") if row.startswith("VmHWM")).split()[1]) // 1024

{new}.fit(x, y).predict(x_new[:100])
before = peak()
{new}.fit(x, y).predict(x_new)
print(peak() - before, peak())
"""


def peak_memory(quick):
    n = 10_000 if quick else 100_000
    print(f"\npeak memory, 2 x 200 labelled rows, {n} unlabelled, d = 10 (the rows take {80 * n / 2**20:.1f} MiB)")
    programs = {DEFAULT: MEMORY.format(imports="import densdiff as dd", new="dd.ClassBalance(random_state=0)")}
    if quapy:
        programs["EDx"] = MEMORY.format(imports="from quapy.method.non_aggregative import EDx", new="EDx()")
    found = {}
    for name, program in programs.items():
        command = [sys.executable, "-c", program, str(n)]
        more, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        found[name] = int(more)
        print(f"{name}: {peak} MiB in all, {more} MiB more than with 100 unlabelled rows", flush=True)
    record(f"memory of {n} unlabelled rows", found[DEFAULT], unit="MiB", goal="under 1024")


def main(quick: bool = False) -> None:
    if quapy is None:
        skip("QuaPy", "it or quadprog is not installed")
    if DATA.is_dir():
        on_the_papers_sets(2 if quick else 40)
        try:
            balance_cells.on_all_cells(2 if quick else 12)
        except Skipped as why:
            skip("twelve further sets", why)
    else:
        skip("tables on data sets", "the folder shared/data/class_balance is not there")
    with one_core():
        if quapy and DATA.is_dir():
            balance_cells.time_on_digits(3 if quick else 20)
        peak_memory(quick)
