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
from tests.calibration import batches, compare
from tests.calibration.parallel import gathered, in_chunks, tabulated

RUNS = 400
LEVEL = 0.05
PERMUTATIONS = 199
_CHUNK = 10
_LEFT_OUT = ("null", "d = 20")  # alternatives of `make bench`: profiles promise their power for up to 12 columns
INTRO = """## Tests against a profile

Share of runs in which the joint test rejects at 5 %, with 199 draws: of a table against a profile, of two profiles, and
of two tables whose rows are all there. In brackets its standard error. The upper tables are of one population; a share
more than three standard errors above 5 % is marked with !. Below, power; "of rows" is the ratio of the first to the
third.
"""
HEADER = "| tables | columns | n, m | runs | table against profile | two profiles | tables | of rows |"


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


def _circle(n, m, run):
    """Points near a circle: columns that depend on each other though no line tells it."""
    random = np.random.default_rng([31, run])
    turns = [random.uniform(0.0, 2.0 * np.pi, size) for size in (n, m)]
    points = (np.column_stack([np.cos(turn), np.sin(turn)]) for turn in turns)
    return tuple(own * (1.0 + 0.05 * random.standard_normal((len(own), 1))) for own in points)


def _rare(n, m, run):
    """Levels of falling frequency, a rare flag and heavy tails."""
    random = np.random.default_rng([37, run])
    names = np.array([f"level {k}" for k in range(60)])
    return tuple(
        {
            "level": names[np.minimum(random.geometric(0.1, size), 59)],
            "flag": np.where(random.random(size) < 0.02, "rare", "usual"),
            "number": random.standard_t(2, size),
        }
        for size in (n, m)
    )


def _nights(n, m, run):
    random = np.random.default_rng([41, run])
    return batches.night(random, n, 12), batches.night(random, m, 12)


CELLS = (
    *(
        Cell(f"normal, {n}, {m}, d = {d}", partial(_normal, n, m, d), True)
        for n, m, d in ((100, 100, 1), (100, 100, 3), (500, 200, 12), (2000, 200, 3))
    ),
    Cell("mixed, with missing values", partial(_of_kind, "mixed", 300, 300), True),
    *(Cell(kind, partial(_of_kind, kind, 200, 200), True) for kind in ("t3, d = 5", "categories", "ties")),
    Cell("circle", partial(_circle, 200, 200), True),
    *(Cell("rare levels", partial(_rare, n, m), True) for n, m in ((500, 100), (100, 500))),
    *(Cell("twelve mixed", partial(_nights, 1000, m), True) for m in (10, 1000)),
    *(Cell(f"{name}, n = 100", partial(_alternative, name)) for name in power.ALTERNATIVES if name not in _LEFT_OUT),
    Cell("perturbed uniform, d = 1, by 0.3", partial(_family, "perturbed uniform, d = 1", 0.3)),
    Cell("perturbed uniform, d = 2, by 0.8", partial(_family, "perturbed uniform, d = 2", 0.8)),
    Cell("four normals, one of them wide, 1.6", partial(_family, "four normals, one of them wide", 1.6)),
    Cell("four normals, one of them narrow, 0.7", partial(_family, "four normals, one of them narrow", 0.7)),
    Cell("mixed, spend moved by 0.15", partial(_mixed, 1000, 500, {"shift": 0.15, "share": None})),
    Cell(
        "mixed, two columns correlated by 0.2",
        partial(_mixed, 1000, 500, {"shift": 0.0, "share": None, "correlation": 0.2}),
    ),
)


def rejects(cell, run):
    """Whether table against profile, two profiles and, of tables that differ, all rows reject; columns and rows."""
    a, b = cell.draw(run)
    reference = dd.profile(a, random_state=run)
    both = [pair_profiles(reference, other, ("A", "B"), Request()) for other in (b, dd.profile(b, like=reference))]
    own = [JointProfiles.of(pair, PERMUTATIONS, run).test.found.pvalue <= LEVEL for pair in both]
    rows = np.nan
    if not cell.is_null:
        rows = pair_test(dd.LSDD(random_state=run), match_tables(a, b).pair(), PERMUTATIONS).pvalue <= LEVEL
    return [*own, rows, len(reference.names), both[0].a.n, both[0].b.n]


def report(share=1.0):
    """The table as text, and a line for each size that is too high."""
    runs = max(10, round(share * RUNS))
    jobs = in_chunks(CELLS, [runs] * len(CELLS), _CHUNK)
    return tabulated(INTRO, HEADER, CELLS, map(np.array, gathered(_chunk, jobs, len(CELLS))), _line)


def _chunk(k, cell, runs):
    return k, [rejects(cell, run) for run in runs]


def _line(cell, table):
    """From an array (runs, 6)."""
    shares, (columns, n, m) = table[:, :3].mean(axis=0), table[0, 3:]
    own, of_profiles, rows = shares
    errors = [np.sqrt((LEVEL * (1 - LEVEL) if cell.is_null else p * (1 - p)) / len(table)) for p in (own, of_profiles)]
    is_high = [cell.is_null and p > LEVEL + 3 * error for p, error in zip(shares, errors, strict=False)]
    texts = [
        f"{100 * p:.1f} ({100 * error:.1f}){'!' * high}"
        for p, error, high in zip(shares, errors, is_high, strict=False)
    ]
    of_rows = ("", "") if cell.is_null else (f"{100 * rows:.1f}", f"{own / max(rows, 1 / len(table)):.2f}")
    parts = [str(cell), f"{columns:.0f}", f"{n:.0f}, {m:.0f}", str(len(table)), *texts, *of_rows]
    breach = f"profiles, {cell}: {100 * max(own, of_profiles):.1f} % rejected at 5 %"
    return "| " + " | ".join(parts) + " |", [breach] * any(is_high)
