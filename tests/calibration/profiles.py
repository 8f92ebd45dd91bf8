"""The joint test against a profile: its size on equal tables, and its power beside the test of the rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

import densdiff as dd
from benchmarks import known_alternatives, power
from densdiff.comparing.profile_comparison import JointProfiles, pair_profiles
from densdiff.data.tables import Request, match_tables
from densdiff.testing.two_sample import pair_test
from tests.calibration import compare
from tests.calibration.parallel import gathered, tabulated

RUNS = 400
LEVEL = 0.05
PERMUTATIONS = 199
_CHUNK = 10
INTRO = """## Tests against a profile

Share of runs in which the joint test rejects at 5 %, with 199 draws: of a table against a profile that was saved, and
of two tables whose rows are all there. In brackets its standard error. The upper tables are of one population; a share
more than three standard errors above 5 % is marked with !. Below, power; "of rows" is the ratio.
"""
HEADER = "| tables | columns | n, m | runs | rejected against a profile | rejected with rows | of rows |"


@dataclass(frozen=True)
class Cell:
    """Two tables by the number of a run; n rows of the profile."""

    name: str
    draw: Callable[[int], tuple[object, object]]
    is_null: bool = False

    def __str__(self) -> str:
        return self.name


def _alternative(name, run):
    return power.samples(list(power.ALTERNATIVES).index(name), 5000 + run)[:2]


def _family(name, parameter, run):
    return known_alternatives.draw(known_alternatives.FAMILIES[name], parameter, run, 29)


def _normal(n, m, d, run):
    random = np.random.default_rng([29, run, n, m, d])
    return random.standard_normal((n, d)), random.standard_normal((m, d))


def _of_kind(kind, n, m, run):
    return compare.draw(compare.Cell(kind, n, m, missing="level" if kind == "mixed" else "error"), 29_000 + run)


def _mixed(n, m, settings, run):
    tables = dd.datasets.mixed_tables(n, m, random_state=[29, run], **settings)
    return tables.a, tables.b


CELLS = (
    *(
        Cell(f"normal, {n}, {m}, d = {d}", partial(_normal, n, m, d), True)
        for n, m, d in ((100, 100, 1), (100, 100, 3), (500, 200, 12), (2000, 200, 3))
    ),
    Cell("mixed, with missing values", partial(_of_kind, "mixed", 300, 300), True),
    *(Cell(kind, partial(_of_kind, kind, 200, 200), True) for kind in ("t3, d = 5", "categories", "ties")),
    *(Cell(f"{name}, n = 100", partial(_alternative, name)) for name in ("shift", "scale", "corr.", "bimodal", "tail")),
    Cell("perturbed uniform, d = 1, by 0.3", partial(_family, "perturbed uniform, d = 1", 0.3)),
    Cell("perturbed uniform, d = 2, by 0.8", partial(_family, "perturbed uniform, d = 2", 0.8)),
    Cell("four normals, one of them wide, 1.6", partial(_family, "four normals, one of them wide", 1.6)),
    Cell("mixed, spend moved by 0.15", partial(_mixed, 1000, 500, {"shift": 0.15, "share": None})),
    Cell(
        "mixed, two columns correlated by 0.2",
        partial(_mixed, 1000, 500, {"shift": 0.0, "share": None, "correlation": 0.2}),
    ),
)


def rejects(cell, run):
    """Whether the test against a profile and the test of rows reject, columns and rows."""
    a, b = cell.draw(run)
    reference = dd.profile(a, random_state=run)
    with_table = pair_profiles(reference, b, ("A", "B"), Request())
    with_profile = pair_profiles(reference, dd.profile(b, like=reference), ("A", "B"), Request())
    own = [JointProfiles.of(pair, PERMUTATIONS, run).test.found.pvalue for pair in (with_table, with_profile)]
    rows = pair_test(dd.LSDD(random_state=run), match_tables(a, b).pair(), PERMUTATIONS).pvalue
    return [*(p <= LEVEL for p in (*own, rows)), len(reference.names), with_table.a.n, with_table.b.n]


def report(share=1.0):
    """The table as text, and a line for each size that is too high."""
    runs = max(10, round(share * RUNS))
    jobs = (
        (k, cell, range(first, min(first + _CHUNK, runs)))
        for k, cell in enumerate(CELLS)
        for first in range(0, runs, _CHUNK)
    )
    return tabulated(INTRO, HEADER, CELLS, map(np.array, gathered(_chunk, jobs, len(CELLS))), _line)


def _chunk(k, cell, runs):
    return k, [rejects(cell, run) for run in runs]


def _line(cell, table):
    """From an array (runs, 5)."""
    own, rows = table[:, :2].mean(axis=0)
    error = np.sqrt((LEVEL * (1 - LEVEL) if cell.is_null else own * (1 - own)) / len(table))
    is_high = bool(cell.is_null and own > LEVEL + 3 * error)
    sizes = f"{table[0, 3]:.0f}, {table[0, 4]:.0f}"
    ratio = "" if cell.is_null else f"{own / max(rows, 1 / len(table)):.2f}"
    parts = [str(cell), f"{table[0, 2]:.0f}", sizes, str(len(table))]
    parts += [f"{100 * own:.1f} ({100 * error:.1f}){'!' * is_high}", f"{100 * rows:.1f}", ratio]
    breach = f"profiles, {cell}: {100 * own:.1f} % rejected at 5 %"
    return "| " + " | ".join(parts) + " |", [breach] * is_high
