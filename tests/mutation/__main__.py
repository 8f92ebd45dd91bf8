"""Change lines of ``core`` one at a time and see whether its tests notice: ``python -m tests.mutation [module ...]``.

Mutants are drawn with a seed, so that a run can be repeated. Each is tested in a process of its own, forked after the
libraries are imported; one that takes too long counts as noticed. What survives is printed with both lines.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # must be set before NumPy loads its BLAS

import argparse
import importlib.abc
import importlib.util
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.special
import scipy.stats
import sklearn.base

from tests.mutation.mutants import mutants

PRELOADED = (scipy, sklearn)  # for each child to find
CORE = Path(__file__).parents[2] / "src" / "densdiff" / "core"
MODULES = sorted(path.stem for path in CORE.glob("[!_]*.py"))
FOLDER = Path(__file__).parents[1]
MANY_COLUMNS = "core/test_regions.py::test_difference_is_found_in_a_late_one_of_many_columns"
BESIDE = {  # tests that a module has beside those in the file of its name
    "class_scores": ["estimators/test_least_squares.py"],
    "density_ratio": ["estimators/test_kliep.py"],
    "fourier": ["solvers/test_spectral.py"],
    "grid": ["core/test_fourier.py", "solvers/test_spectral.py"],
    "kernel": ["engines/test_kernel_sums.py"],
    "noise": ["solvers/test_uncertainty.py"],
    "overlap": ["solvers/test_overlap.py"],
    "radial": ["solvers/test_pairs.py"],
    "ridge": ["golden/test_golden.py"],
    "regions": ["core/test_rules.py"],
    "rule_search": ["core/test_regions.py"],
    "rules": ["core/test_regions.py"],
    "forgetting_sums": ["core/test_run_length.py", "series/test_stream.py"],
    "change_score": ["core/test_run_length.py", "series/test_stream.py"],
}
SECONDS = 120  # of processor time for one mutant
SURVIVED, NOTICED = 0, 1


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module from a changed tree."""

    def __init__(self, name, path, tree):
        self.name, self.path, self.tree = name, path, tree

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def exec_module(self, module):
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)


def tests_of(module):
    """The quickest that cover a module of core, as paths."""
    own = [f"core/test_{module}.py"] if (FOLDER / "core" / f"test_{module}.py").exists() else []
    return [str(FOLDER / name) for name in own + BESIDE.get(module, [])]


def outcome(module, tree):
    """What the tests say of a mutant; None for the module as it is."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return SURVIVED if status == 0 else NOTICED
    code = NOTICED
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        if tree is not None:
            sys.meta_path.insert(0, Changed(f"densdiff.core.{module}", CORE / f"{module}.py", tree))
        slow = f"--deselect=tests/{MANY_COLUMNS}"
        code = pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", slow, *tests_of(module)])
    finally:
        os._exit(SURVIVED if code == 0 else NOTICED)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="module", help=f"of {', '.join(MODULES)}; all by default")
    parser.add_argument("--most", type=int, default=30, help="mutants of each module; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    assert not any(name.split(".")[0] == "densdiff" for name in sys.modules)  # or a child would have it unchanged
    total = survived = 0
    for module in given.modules or MODULES:
        start = time.monotonic()
        known = mutants((CORE / f"{module}.py").read_text(encoding="utf-8"))
        random = np.random.default_rng([given.seed, *module.encode()])
        few = min(given.most or len(known), len(known))
        chosen = [known[i] for i in sorted(random.permutation(len(known))[:few])]
        if outcome(module, None) != SURVIVED:
            sys.exit(f"the tests of {module} fail without any change")
        left = []
        for each in chosen:
            if outcome(module, each.tree) == SURVIVED:
                left.append(each)
                print(f"{module}.py:{each.line}: {each.before}  ->  {each.after}", flush=True)
        took = time.monotonic() - start
        print(f"{module}: {len(left)} of {few} survived, {len(known)} known, {took:.0f} s", flush=True)
        total, survived = total + few, survived + len(left)
    print(f"{survived} of {total} survived")


if __name__ == "__main__":
    main()
