"""Comparisons with a profile beside those of rows: the joint test, its size and power, and distances of columns."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

import densdiff as dd
from benchmarks import known_alternatives, power
from densdiff.comparing.profile_comparison import JointProfiles, pair_profiles
from densdiff.data.tables import Request, match_tables
from densdiff.solvers.column import NumberColumn
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
    own = [_pvalue(pair, run) <= LEVEL for pair in both]
    rows = np.nan
    if not cell.is_null:
        rows = pair_test(dd.LSDD(random_state=run), match_tables(a, b).pair(), PERMUTATIONS).pvalue <= LEVEL
    return [*own, rows, len(reference.names), both[0].a.n, both[0].b.n]


def _pvalue(pair, run):
    """That of all columns together, without the distance, which takes as long."""
    if len(pair.a.names) == 1:
        return pair_test(dd.LSDD(random_state=run), pair.tables(run).pair(), PERMUTATIONS).pvalue
    return JointProfiles.of(pair, PERMUTATIONS, run).test.found.pvalue


COLUMNS = {
    "normal, moved by 0.2 deviations": lambda random, n, moved: random.normal(0.2 * moved, 1.0, n),
    "normal, moved by 0.05 deviations": lambda random, n, moved: random.normal(0.05 * moved, 1.0, n),
    "counts, an eighth moved by 3": lambda random, n, moved: (
        random.poisson(5.0, n) + 3.0 * moved * (random.random(n) < 0.125)
    ),
    "log-normal, times 1.2": lambda random, n, moved: 1.2**moved * np.exp(random.normal(size=n)),
    "log-normal, times 1.05": lambda random, n, moved: 1.05**moved * np.exp(random.normal(size=n)),
}
COLUMN_RUNS, COLUMN_ROWS = 100, (2000, 20_000)
DISTANCES = """
The distance of a column by a profile beside that by all rows, median over runs; how far they are apart, in percent of
the latter, in half and in nine tenths of the runs, and in half widths of its interval, in nine tenths.
"""
DISTANCES_HEADER = "| column | rows of each table | runs | distance | half | nine tenths | of the half width |"


def distances(name, n, run):
    """The distance of a column by rows and by a profile, and the half width of the former's interval."""
    random = np.random.default_rng([53, run, n])
    a, b = ({"x": COLUMNS[name](random, n, moved)} for moved in (0, 1))
    pair = pair_profiles(dd.profile(a, random_state=run), b, ("A", "B"), Request())
    rows, profile = (
        NumberColumn(tables.column(0), run).distance(0.95) for tables in (match_tables(a, b), pair.tables(run))
    )
    return [rows.normalized, profile.normalized, 0.5 * (rows.interval[1] - rows.interval[0])]


def report(share=1.0):
    """Both tables as text, and a line for each size that is too high."""
    runs = max(10, round(share * RUNS))
    jobs = in_chunks(CELLS, [runs] * len(CELLS), _CHUNK)
    text, breaches = tabulated(INTRO, HEADER, CELLS, map(np.array, gathered(_chunk, jobs, len(CELLS))), _line)
    columns = [(name, n) for n in COLUMN_ROWS for name in COLUMNS]
    jobs = in_chunks(columns, [max(10, round(share * COLUMN_RUNS))] * len(columns), _CHUNK)
    found = map(np.array, gathered(_column_chunk, jobs, len(columns)))
    return text + tabulated(DISTANCES, DISTANCES_HEADER, columns, found, _column_line)[0], breaches


def _chunk(k, cell, runs):
    return k, [rejects(cell, run) for run in runs]


def _column_chunk(k, column, runs):
    return k, [distances(*column, run) for run in runs]


def _column_line(column, table):
    """From an array (runs, 3)."""
    rows, profile, reach = table.T
    apart = np.abs(profile - rows)
    percents = 100 * apart / np.maximum(rows, 1e-12)
    texts = [
        f"{percent:.1f}" if percent < 100 else "> 100" for percent in np.quantile(percents, [0.5, 0.9], method="higher")
    ]
    of_reach = f"{np.quantile(apart / reach, 0.9, method='higher'):.2f}"
    parts = [column[0], f"{column[1]:,}", str(len(table)), f"{np.median(rows):.4f}", *texts, of_reach]
    return "| " + " | ".join(parts) + " |", []


def _line(cell, table):
    """From an array (runs, 6)."""
    shares, (columns, n, m) = table[:, :3].mean(axis=0), table[0, 3:]
    own, of_profiles, rows = shares
    errors = [np.sqrt((LEVEL * (1 - LEVEL) if cell.is_null else p * (1 - p)) / len(table)) for p in (own, of_profiles)]
    is_high = [bool(cell.is_null and p > LEVEL + 3 * error) for p, error in zip(shares, errors, strict=False)]
    texts = [
        f"{100 * p:.1f} ({100 * error:.1f}){'!' * high}"
        for p, error, high in zip(shares, errors, is_high, strict=False)
    ]
    of_rows = ("", "") if cell.is_null else (f"{100 * rows:.1f}", f"{own / max(rows, 1 / len(table)):.2f}")
    parts = [str(cell), f"{columns:.0f}", f"{n:.0f}, {m:.0f}", str(len(table)), *texts, *of_rows]
    breach = f"profiles, {cell}: {100 * max(own, of_profiles):.1f} % rejected at 5 %"
    return "| " + " | ".join(parts) + " |", [breach] * any(is_high)
