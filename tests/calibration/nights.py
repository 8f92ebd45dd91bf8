"""False alarms of a nightly `compare`: how often `differ` is true of two tables from one population."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from tests.calibration import compare
from tests.calibration.compare import ALPHA, compared
from tests.calibration.parallel import gathered, in_chunks, tabulated

RUNS = 1200
SPLITS = 200
DATA = Path(__file__).parents[3] / "shared" / "data" / "tables"
_CHUNK = 10
INTRO = """## False alarms of a nightly job

Share of nights without any change on which `compare` says that two tables differ, at alpha = 5 % in all and without a
smallest effect, with 199 relabellings: the joint test, single columns and missing values together. In brackets its
standard error; beside it the share of nights on which each part alone alarms. "mixed" are the twelve columns of
`mixed_tables`, with missing values in three of them; "wide" are fifty normal columns. A figure more than three standard
errors above 5 % is marked with !. Below these, two random halves of real tables: the flights of January out of New
York, penguins (Adelie), the weather of Seattle in 2012, and the answers of a survey; left out where the files are not
at hand.
"""
HEADER = "| tables | n, m | runs | alarms | all columns together | single columns | missing values |"


@dataclass(frozen=True)
class Night:
    """Two tables of one population; missing values are told by how they are treated."""

    kind: str
    n: int
    m: int
    missing: str = "error"

    def __str__(self) -> str:
        return f"{self.kind}, missing values: {self.missing}" if self.missing != "error" else self.kind

    def draw(self, run):
        """Both tables, each a dict of columns."""
        if self.kind != "wide":
            return compare.draw(compare.Cell(self.kind, self.n, self.m, missing=self.missing), 10_000 + run)
        random = np.random.default_rng([run, self.n, self.m])
        return tuple({f"c{j}": random.standard_normal(size) for j in range(50)} for size in (self.n, self.m))


@dataclass(frozen=True)
class Halves:
    """A real table cut into two random halves."""

    file: str
    n: int
    m: int
    missing: str = "level"

    def __str__(self) -> str:
        return f"halves of {self.file.partition('.')[0].replace('_', ', ')}"

    def draw(self, run):
        """Both halves, as frames."""
        table = _read(self.file)
        order = np.random.default_rng([run, len(table)]).permutation(len(table))
        return table.iloc[order[: self.n]], table.iloc[order[self.n :]]


@cache
def _read(file):
    import pandas as pd

    return pd.read_csv(DATA / file)


HALVES = (
    Halves("penguins_adelie.csv", 76, 76),
    Halves("seattle_2012.csv", 183, 183),
    Halves("fair_none.csv", 2156, 2157),
    Halves("flights_january.csv.gz", 13502, 13502),
)
NIGHTS = (
    Night("mixed", 200, 200, "level"),
    Night("mixed", 150, 450, "level"),
    Night("mixed", 200, 200, "drop"),
    Night("wide", 100, 100),
    Night("categories", 200, 200),
    Night("ties", 200, 200),
)


def alarms(night, run):
    """Whether the tables are said to differ, and whether each part says so."""
    found = compared(*night.draw(run), run, night.missing)
    assert found.differ == bool(found.reasons)
    rates = {rate.name for rate in found.missing if rate.differs}
    return [
        found.differ,
        found.test.pvalue <= ALPHA / 2,
        any(column.differs and column.name not in rates for column in found.columns),
        bool(rates),
    ]


def report(share=1.0):
    """The table as text, and a line for each rate of alarms that is too high."""
    cells = NIGHTS + (HALVES if DATA.exists() else ())
    runs = [max(10, min(round(share * RUNS), RUNS if isinstance(cell, Night) else SPLITS)) for cell in cells]
    tables = gathered(_chunk, in_chunks(cells, runs, _CHUNK), len(cells))
    return tabulated(INTRO, HEADER, cells, map(np.array, tables), _line)


def _chunk(k, night, runs):
    return k, [alarms(night, run) for run in runs]


def _line(night, table):
    """From an array (runs, 4)."""
    error, shares = np.sqrt(ALPHA * (1 - ALPHA) / len(table)), table.mean(axis=0)
    is_high = bool(shares[0] > ALPHA + 3 * error)
    parts = [str(night), f"{night.n}, {night.m}", str(len(table))]
    parts += [
        f"{100 * shares[0]:.1f} ({100 * error:.1f}){'!' * is_high}",
        *(f"{100 * each:.1f}" for each in shares[1:]),
    ]
    breach = f"nights, {night}, {night.n}, {night.m}: {100 * shares[0]:.1f} % alarms at 5 %"
    return "| " + " | ".join(parts) + " |", [breach] * is_high
