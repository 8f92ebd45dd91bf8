"""False alarms of a nightly `compare`: how often `differ` is true of two tables from one population."""

from dataclasses import dataclass

import numpy as np

from tests.calibration import compare
from tests.calibration.compare import ALPHA, compared
from tests.calibration.parallel import gathered, in_chunks, tabulated

RUNS = 1200
_CHUNK = 10
INTRO = """## False alarms of a nightly job

Share of nights without any change on which `compare` says that two tables differ, at alpha = 5 % in all and without a
smallest effect, with 199 relabellings: the joint test, single columns and missing values together. In brackets its
standard error; beside it the share of nights on which each part alone alarms. "mixed" are the twelve columns of
`mixed_tables`, with missing values in three of them; "wide" are fifty normal columns. A figure more than three standard
errors above 5 % is marked with !.
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
    runs = max(10, round(share * RUNS))
    jobs = in_chunks(NIGHTS, [runs] * len(NIGHTS), _CHUNK)
    return tabulated(INTRO, HEADER, NIGHTS, map(np.array, gathered(_chunk, jobs, len(NIGHTS))), _line)


def _chunk(k, night, runs):
    return k, [alarms(night, run) for run in runs]


def _line(night, table):
    """From an array (runs, 4)."""
    error, shares = np.sqrt(ALPHA * (1 - ALPHA) / len(table)), table.mean(axis=0)
    is_high = shares[0] > ALPHA + 3 * error
    parts = [str(night), f"{night.n}, {night.m}", str(len(table))]
    parts += [
        f"{100 * shares[0]:.1f} ({100 * error:.1f}){'!' * is_high}",
        *(f"{100 * each:.1f}" for each in shares[1:]),
    ]
    breach = f"nights, {night}, {night.n}, {night.m}: {100 * shares[0]:.1f} % alarms at 5 %"
    return "| " + " | ".join(parts) + " |", [breach] * is_high
