"""Power at level 5 % where others have published theirs, beside MMDAgg and MMD-FUSE on the same samples.

The rivals are written out from their papers, and the published figures stand below those measured here. Any function
test(x, y, seed) that returns a p-value can be compared: `print_powers(pvalues({"mine": test, **RIVALS}, runs=50))`.
Of five parameters of a family the middle three are measured, where the powers of tests differ most, and samples of 500
rows, which take ten times as long as the others, half as often.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

import densdiff as dd
from benchmarks.known_alternatives import FAMILIES, MANY_ROWS, Array, Family, draw
from benchmarks.measure import record
from benchmarks.rival_tests import mmdagg, mmdfuse

Test = Callable[[Array, Array, int], float]
Cell = tuple[str, float]  # name of a family, and a parameter
PValues = Mapping[Cell, Mapping[str, npt.NDArray[Any]]]  # of each test, one for each run

LEVEL = 0.05
DEFAULT = "densdiff"
RIVALS: dict[str, Test] = {"MMDAgg": mmdagg, "MMD-FUSE": mmdfuse}
CELLS = [(family.name, parameter) for family in FAMILIES.values() for parameter in family.parameters]
FIRST, WIDTH = 58, 16  # characters of a table's columns


def densdiff(x: Array, y: Array, seed: int, permutations: int = 199) -> float:
    """The p-value of this library's default test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dd.DensDiffWarning)  # that there are more columns than rows
        return dd.two_sample_test(x, y, n_permutations=permutations, random_state=seed).pvalue


def pvalues(
    tests: Mapping[str, Test], cells: Iterable[Cell] = CELLS, runs: int = 100, seed: int = 0, jobs: int = 1
) -> PValues:
    """p-values of all tests by cell, on the same samples in each run."""
    cells = list(cells)
    work = (delayed(one_run)(tests, cell, run, seed) for cell in cells for run in range(runs))
    rows = Parallel(n_jobs=jobs)(work)
    blocks = [rows[i * runs : (i + 1) * runs] for i in range(len(cells))]
    return {
        cell: {name: np.array([row[name] for row in block]) for name in tests}
        for cell, block in zip(cells, blocks, strict=True)
    }


def one_run(tests: Mapping[str, Test], cell: Cell, run: int, seed: int) -> dict[str, float]:
    """The p-value of each test on one pair of samples."""
    x, y = draw(FAMILIES[cell[0]], cell[1], run, seed)
    return {name: test(x, y, run) for name, test in tests.items()}


def power(test: Test, family: str, parameter: float, runs: int = 100, seed: int = 0) -> float:
    """Share of the runs in which a test rejects."""
    return float(np.mean(pvalues({"": test}, [(family, parameter)], runs, seed)[family, parameter][""] <= LEVEL))


def print_powers(found: PValues) -> None:
    """A table for each family: power, what the other tests have more than the first, and published power."""
    for name in dict.fromkeys(name for name, _ in found):
        family = FAMILIES[name]
        cells = [cell for cell in found if cell[0] == name]
        print()
        print_cells(f"{family.name}, by {family.parameter}", [f"{parameter:g}" for _, parameter in cells], "mean")
        rejections = {test: np.array([found[cell][test] <= LEVEL for cell in cells]) for test in found[cells[0]]}
        reference = next(iter(rejections))
        for test, rejects in rejections.items():
            print_cells(test, [f"{share:.3f}" for share in rejects.mean(axis=1)], f"{rejects.mean():.3f}")
            if test != reference:
                print_difference(f"  more than {reference}", rejects.astype(float) - rejections[reference])
        print_published(family, [parameter for _, parameter in cells])


def print_difference(label: str, differences: npt.NDArray[Any]) -> None:
    """Mean differences of (cells, runs) with their standard errors, of pairs, and of all cells together."""
    errors = differences.std(axis=1, ddof=1) / np.sqrt(differences.shape[1])
    means = differences.mean(axis=1)
    # Samples of different cells are independent.
    together = f"{means.mean():+.3f} ({np.sqrt(np.sum(errors**2)) / len(errors):.3f})"
    print_cells(label, [f"{mean:+.3f} ({error:.3f})" for mean, error in zip(means, errors, strict=True)], together)


def print_published(family: Family, parameters: list[float]) -> None:
    """The published power of tests on a family at some of its parameters."""
    for test, figures in family.published.items():
        known = dict(zip(family.parameters, figures, strict=True))
        shares = [known.get(parameter, np.nan) for parameter in parameters]
        print_cells(f"{test}, published", [f"{share:.3f}" for share in shares], f"{np.mean(shares):.3f}")


def print_cells(label: str, cells: list[str], last: str) -> None:
    """A line of a table."""
    print(f"{label:{FIRST}s}" + "".join(f"{cell:>{WIDTH}s}" for cell in [*cells, last]), flush=True)


def record_means(found: PValues) -> None:
    """Keep the default's mean power over each family's parameters beside that of each rival."""
    for name in dict.fromkeys(name for name, _ in found):
        cells = [by_test for cell, by_test in found.items() if cell[0] == name]
        means = {test: float(np.mean([by_test[test] <= LEVEL for by_test in cells])) for test in cells[0]}
        best = max(RIVALS, key=lambda rival: means[rival])
        for rival in RIVALS:
            beside = {"peer": rival, "unit": "", "goal": "at least 1" if rival == best else "", "means": "of its power"}
            record(f"mean power: {name}", means[DEFAULT], max(means[rival], 1e-9), **beside)  # type: ignore[no-untyped-call]


def main(quick: bool = False) -> None:
    print(f"share of rejections at level {LEVEL}; in parentheses: standard errors of paired differences")
    for family in FAMILIES.values():
        runs = 4 if quick else 10 if len(draw(family, family.parameters[0], 0)[0]) == MANY_ROWS else 20
        middle = family.parameters[1:-1] if len(family.parameters) == 5 else family.parameters
        print(f"\n{family.name}: {runs} runs", end="")
        found = pvalues({DEFAULT: densdiff, **RIVALS}, [(family.name, at) for at in middle], runs=runs, jobs=-1)
        print_powers(found)
        record_means(found)
