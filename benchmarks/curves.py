"""Integrated squared error of f = p - q itself: the default LSDD beside KDEDifference and the authors' settings.

All three see the same samples and are compared with the true f at the same points: a fine grid for one column, random
points around both densities for more. The authors' settings are the paper's centers with the grid of the authors'
script, on data as they are. A ratio is of mean errors; "better" is the one of the two others with the smaller mean
error, and "f = 0" the error of an estimate that is 0 everywhere. Where p = q every error is near 0, and where one
column has another unit the authors' widths do not fit: ratios of these two pairs are shown, but the means that have a
goal are without them.
"""

import warnings
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

import densdiff as dd
from benchmarks.known_densities import UNITS, pairs, quadrature
from benchmarks.measure import record
from benchmarks.plain import authors_model

TITLE = "integrated squared error of f"
RUNS, QUICK_RUNS = 30, 4
SETTINGS = ((1, 220, 220), (1, 100, 300), (2, 220, 220), (5, 220, 220))  # d, n, m
OURS, KDE, AUTHORS, BETTER = "LSDD", "KDEDifference", "authors' settings", "the better of the two"
SPECIAL = ("equal", UNITS)
MEAN, WORST = "at most 0.90", "at most 1.15"  # to reach: the geometric mean of the ratios, and the largest of them


def by_lsdd(x, y, run):
    return dd.LSDD(random_state=run).fit(x, y)


def by_kde_difference(x, y, run):
    return dd.KDEDifference(random_state=run).fit(x, y)


METHODS = {OURS: by_lsdd, KDE: by_kde_difference, AUTHORS: authors_model}


class Ratio(NamedTuple):
    """A ratio of mean errors and its standard error."""

    value: float
    error: float


class PairRatios(NamedTuple):
    """Ratios of our error to the others' for one pair of densities: {KDE: .., AUTHORS: .., BETTER: ..}."""

    pair: str
    setting: str
    ratios: dict


def integrated_errors(p, q, points, seed, sizes, methods):
    """Integrated squared error of f by each method in one run."""
    random = np.random.default_rng(seed)
    x, y = (density.sample(size, random) for density, size in zip((p, q), sizes, strict=True))
    truth = p(points.points) - q(points.points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        estimates = [METHODS[name](x, y, seed[0]).predict(points.points) for name in methods]
    return [float(points.weights @ np.square(estimate - truth)) for estimate in estimates]


def pair_errors(p, q, sizes, runs, number=0, methods=tuple(METHODS)):
    """Integrated squared errors of f for one pair of densities, by method: (runs,) each."""
    points = quadrature(p, q)
    seeds = ([run, number, len(p.columns), *sizes] for run in range(runs))
    rows = Parallel(n_jobs=-1)(delayed(integrated_errors)(p, q, points, seed, sizes, methods) for seed in seeds)
    return dict(zip(methods, np.transpose(rows), strict=True))


def squared_norm(p, q):
    """The integral of f squared, which is the error of the estimate that is 0 everywhere."""
    points, weights = quadrature(p, q)
    return float(weights @ np.square(p(points) - q(points)))


def standard_error(values):
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def ratio(ours, theirs):
    """Our mean error over theirs in the same runs; the standard error is the delta method's."""
    value = float(ours.mean() / theirs.mean())
    return Ratio(value, value * standard_error(ours / ours.mean() - theirs / theirs.mean()))


def all_ratios(errors):
    """Ratios of our mean error to that of each of the others and of the better one, by name."""
    found = {name: ratio(errors[OURS], errors[name]) for name in (KDE, AUTHORS)}
    return found | {BETTER: found[min(found, key=lambda name: errors[name].mean())]}


def geometric_mean(ratios):
    """The geometric mean of independent ratios."""
    values, errors = np.transpose(ratios)
    mean = float(np.exp(np.log(values).mean()))
    return Ratio(mean, mean * float(np.linalg.norm(errors / values)) / len(ratios))


def in_columns(ratios):
    return "".join(f"{value:10.3f} ({error:.3f})" for value, error in ratios.values())


def table(d, n, m, runs):
    """Print the errors of all pairs in d columns, and return their ratios."""
    setting = f"d = {d}, n = {n}, m = {m}"
    print(f"\n{TITLE}, {setting}, {runs} runs; standard errors in brackets")
    heads = "".join(f"{name:>23s}" for name in METHODS)
    heads += "".join(f"{'over ' + name:>18s}" for name in ("KDE", "authors'", "better"))
    print(f"{'':16s}{'f = 0':>10s}{heads}")
    found = []
    for number, (label, (p, q)) in enumerate(pairs(d).items()):
        errors = pair_errors(p, q, (n, m), runs, number)
        found.append(PairRatios(label, setting, all_ratios(errors)))
        means = "".join(f"{each.mean():12.3g} ({standard_error(each):8.2g})" for each in errors.values())
        print(f"{label:16s}{squared_norm(p, q):10.3g}{means}{in_columns(found[-1].ratios)}", flush=True)
    return found


def summarize(setting, found):
    """Print and keep the geometric means of the ratios, and the largest one over the better of the two."""
    title = f"{TITLE}, {setting}"
    what = "geometric mean of the ratios"
    ordinary = [each for each in found if each.pair not in SPECIAL]
    for label, rows, goal in (("all pairs", found, ""), (f"without {' and '.join(SPECIAL)}", ordinary, MEAN)):
        means = {name: geometric_mean([each.ratios[name] for each in rows]) for name in (KDE, AUTHORS, BETTER)}
        to_reach = f"   (to reach: {goal} over KDE and over authors')" if goal else ""
        print(f"{f'{what}, {label}':95s}{in_columns(means)}{to_reach}")
        for name, mean in means.items():
            record(f"{what} to {name}, {label}", mean.value, unit="", goal="" if name == BETTER else goal, title=title)
    worst = max(found, key=lambda each: each.ratios[BETTER].value)
    value, error = worst.ratios[BETTER]
    where = f"{worst.pair}, {worst.setting}"
    print(f"largest ratio to {BETTER}: {value:.3f} ({error:.3f}), {where} (to reach: {WORST})")
    record(f"largest ratio to {BETTER} ({where})", value, unit="", goal=WORST, title=title)


def main(quick=False):
    every = []
    for d, n, m in SETTINGS:
        found = table(d, n, m, QUICK_RUNS if quick else RUNS)
        summarize(found[0].setting, found)
        every += found
    print("\nall settings")
    summarize("all settings", every)
