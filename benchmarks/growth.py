"""Time and peak memory as rows, columns, centers and permutations grow, with the exponents, beside every peer.

Every size runs in a fresh process on one core. "fit": from two samples to f, or their ratio, at 1000 points, each
method with its own tuning (gaussian_kde has none; the plain loop stops at the choice of its model). "test": from two
samples to a p-value by permutations. A method's curve ends where one run takes longer than 2 s ("time"), the next
would not fit in memory ("memory"), or it fails.
"""

import json
import sys

from benchmarks.measure import curve, one_core, skip
from benchmarks.peers import DENSRATIO, HYPPO, PEER, Skipped, call, peer_python
from benchmarks.rivals import METHODS

PROGRAM = __file__.replace("growth.py", "rivals.py")
RUN_SECONDS = 300
ENVIRONMENTS = {"alibi-detect": PEER, "hyppo": HYPPO, "densratio": DENSRATIO}
# The sizes that stay while one grows: (n, d, b, B).
BASE = {
    "fit": {"n": (None, 2, 300, 0), "d": (1000, None, 300, 0), "b": (2000, 5, None, 0)},
    "test": {"n": (None, 5, 100, 200), "d": (500, None, 250, 200), "b": (1000, 5, None, 200), "B": (500, 5, 250, None)},
}
FIRST = {"n": 250, "d": 1, "b": 50, "B": 100}
DOUBLINGS = {"n": 12, "d": 7, "b": 5, "B": 7}
QUICK = 5  # what a quick look divides all sizes but d by
LIMIT = 2.0  # seconds


def plan(question, method, quick):
    """{axis: [(n, d, b, B), ...]} of the sizes a method is asked for: only what it has."""
    axes = list(BASE[question])
    if method == "densdiff, spectral":
        axes.remove("d")  # three columns at most
    if not any(word in method for word in ("centers", "loop", "uLSIF", "aggregate", "pooled", "LSDD")):
        axes.remove("b")
    found = {}
    for axis in axes:
        grown = [FIRST[axis] * 2**step for step in range(3 if quick else DOUBLINGS[axis] + 1)]
        sizes = [tuple(size if kept is None else kept for kept in BASE[question][axis]) for size in grown]
        found[axis] = [(n // QUICK, d, b // QUICK, B // QUICK) if quick else (n, d, b, B) for n, d, b, B in sizes]
    return found


def python_of(method):
    """The interpreter that has the method."""
    packages = ENVIRONMENTS.get(method.split()[0])
    return peer_python(packages) if packages else sys.executable


def measured(question, method, quick):
    arguments = map(json.dumps, (question, method, plan(question, method, quick), LIMIT / 10 if quick else LIMIT))
    return json.loads(call([python_of(method), PROGRAM, *arguments], RUN_SECONDS, "running it").splitlines()[-1])


def main(quick=False):
    with one_core():
        for question, methods in METHODS.items():
            print(f"\n{question}{'':62s}largest: time{'memory':>13s}{'time ~':>10s}{'memory ~':>10s}")
            for method in methods:
                try:
                    found = measured(question, method, quick)
                except Skipped as why:
                    skip(method, why)
                    continue
                for axis, (points, end) in found.items():
                    if points:
                        curve(question, axis, method, *zip(*points, strict=True), end=end)
                    else:
                        skip(f"{method} in {axis}", end)
