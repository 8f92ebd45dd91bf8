"""Size of the two-sample test under the null, for every tuning and null distribution."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import densdiff as dd
from tests.calibration.parallel import gathered

ALPHA = 0.05
PERMUTATIONS = 99  # alpha (B + 1) is whole, so the size is alpha and not below it


MODELS = {
    "auto": dd.LSDD,
    "pairs": lambda: dd.LSDD(solver="pairs"),
    "centers": lambda: dd.LSDD(solver="centers", n_centers=50),
    "KDE": dd.KDEDifference,
    "KLIEP": dd.KLIEP,
}


@dataclass(frozen=True)
class Cell:
    """One setting: two samples of one population, and how they are tested."""

    population: str = "normal"
    d: int = 1
    n: int = 50
    m: int = 50
    tuning: str = "aggregate"
    null: str = "permutation"
    solver: str = "auto"
    permutations: int = PERMUTATIONS

    def __str__(self) -> str:
        data = f"{self.population}, d = {self.d}, {self.n} and {self.m} rows"
        return f"{data}: {self.tuning}, {self.null}, {self.solver}"


def draw(cell, run):
    """X and Y, both from the cell's population."""
    random = np.random.default_rng([run, cell.n, cell.m, cell.d])
    shape = (cell.n + cell.m, cell.d)
    rows = random.standard_t(3, size=shape) if cell.population == "t3" else random.normal(size=shape)
    if cell.population == "tied":
        rows = np.round(2 * rows) / 2  # about eleven distinct values in a column
    if cell.population == "mixed units":
        rows = rows * 10.0 ** np.linspace(-4, 4, cell.d)
    if cell.population == "Cauchy":
        rows = random.standard_cauchy(shape)
    if cell.population == "zero-inflated":
        rows = np.where(random.random(shape) < 0.7, 0.0, np.exp(rows))
    if cell.population == "sorted":  # each sample as a file that is ordered by its first column
        rows = np.concatenate([part[np.argsort(part[:, 0])] for part in np.split(rows, [cell.n])])
    if cell.population == "mixed":
        return tuple(mixed_columns(part, random) for part in np.split(rows, [cell.n]))
    return rows[: cell.n], rows[cell.n :]


def mixed_columns(rows, random):
    """The numbers, the last of them rounded, beside two columns of categories with a level that is rare."""
    columns = {f"x{j}": column for j, column in enumerate(rows.T[:-1])} | {"rounded": np.round(rows[:, -1], 1)}
    columns["letter"] = random.choice(list("abcd"), len(rows), p=[0.6, 0.3, 0.095, 0.005])
    columns["flag"] = random.choice(["no", "yes"], len(rows), p=[0.98, 0.02])
    return columns


def right_way(cell, run):
    """The library's test."""
    return dd.two_sample_test(
        *draw(cell, run),
        model=MODELS[cell.solver](),
        tuning=cell.tuning,
        null=cell.null,
        n_permutations=cell.permutations,
        random_state=run,
    ).pvalue


def pvalues(cell, runs, way: Callable = right_way, first=0):
    """What the way finds in so many runs under the null, (runs,) p-values."""
    return np.array([way(cell, run) for run in range(first, first + runs)])


def rejections(cell, runs, way: Callable = right_way, first=0, alpha=ALPHA):
    """In how many runs the test rejects at level alpha."""
    return int((pvalues(cell, runs, way, first) <= alpha).sum())


DATA = (Cell(), Cell(d=3), Cell("t3"), Cell("tied"), Cell(n=30, m=80))
MIXED = (Cell("tied", d=3, n=30, m=60), Cell("t3", d=3, n=70, m=30), Cell(d=20))
FAR = (
    Cell(d=3, n=5, m=7),
    Cell("Cauchy", d=3, n=20, m=300),
    Cell("Cauchy", d=3, n=20, m=2000),
    Cell(d=50),
    Cell(d=500),
    Cell("mixed", d=3, n=150, m=100),
    Cell("zero-inflated", d=3),
    Cell("sorted", d=3, n=3000, m=2000),  # rows in units
)


def cells():
    """Every setting of the full table."""
    kinds = [(t, n) for t in ("aggregate", "pooled") for n in ("permutation", "asymptotic")] + [
        ("refit", "permutation")
    ]
    return [replace(cell, tuning=tuning, null=null) for tuning, null in kinds for cell in DATA + MIXED]


FULL = 199  # relabellings in the full table: 0.01 (B + 1) is whole too
INTRO = """## Size of the two-sample test

Both samples come from one population; the share of runs in which the test rejects at 5 % and at 1 %, with 199
relabellings. A figure more than three of its standard errors from nominal is marked with !.
"""


def full():
    """Every setting of the full table with its runs; three standard errors are 1.5 points at 5 %."""
    found = [*cells(), *FAR, *(Cell("mixed units", d=3, tuning=t) for t in ("aggregate", "pooled"))]
    found += [
        Cell(solver=s, tuning=t) for s, t in (("centers", "aggregate"), ("KDE", "aggregate"), ("KLIEP", "pooled"))
    ]
    return [(replace(cell, permutations=FULL), 2000) for cell in found]


def report(share=1.0):
    """The table as text, and a line for each figure that is off."""
    table = [(cell, max(20, round(share * runs))) for cell, runs in full()]
    jobs = (
        (k, cell, first, min(20, runs - first)) for k, (cell, runs) in enumerate(table) for first in range(0, runs, 20)
    )
    found = gathered(_chunk, jobs, len(table))
    lines = [INTRO, "| data | rows | model | tuning | null | runs | at 5 % | at 1 % |", "|---" * 8 + "|"]
    breaches = []
    for (cell, _), values in zip(table, found, strict=True):
        parts = [f"{cell.population}, d = {cell.d}", f"{cell.n}, {cell.m}", cell.solver, cell.tuning, cell.null]
        parts.append(str(len(values)))
        for alpha in (0.05, 0.01):
            share, error = np.mean(np.array(values) <= alpha), np.sqrt(alpha * (1 - alpha) / len(values))
            off = abs(share - alpha) > 3 * error
            parts.append(f"{100 * share:.1f} ({100 * error:.1f}){'!' if off else ''}")
            if off:
                breaches.append(f"{cell}: {100 * share:.1f} % at {100 * alpha:g} %")
        lines.append("| " + " | ".join(parts) + " |")
    return "\n".join(lines) + "\n", breaches


def _chunk(k, cell, first, runs):
    return k, list(pvalues(cell, runs, first=first))
