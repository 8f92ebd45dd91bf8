"""How often equal segments are joined and different ones kept apart, in series of three segments."""

from dataclasses import dataclass

import numpy as np

from densdiff.series.states import segment_states
from tests.calibration.parallel import gathered, in_chunks, tabulated
from tests.calibration.places import autoregression

RUNS = 1000
LEAST = 95.0
INTRO = """## Segments that are alike

Series of three segments of one length, cut at the true changes: A, then B, 3 deviations higher, then A again or
something else. If the third is A, it must share a state with the first in at least 95 % of the runs; a figure more than
two of its standard errors below is marked with !. If the third is something else, the share of runs in which it is kept
apart is the power.
"""
HEADER = "| third segment | columns | samples in a segment | noise | runs | joined | kept apart |"


@dataclass(frozen=True)
class Cell:
    third: str
    samples: int
    phi: float = 0.0
    d: int = 1

    @property
    def noise(self) -> str:
        return f"AR(1) {self.phi:g}" if self.phi else "independent"

    def __str__(self) -> str:
        return f"{self.third}, {self.samples} samples, {self.noise}, d = {self.d}"


def draw(cell, run):
    """The series, (T, d); levels, spreads and rhythms are in units of A."""
    random = np.random.default_rng([run, cell.samples, round(100 * cell.phi), cell.d])
    n = cell.samples
    rows = autoregression(random, 3 * n, cell.d, cell.phi)
    time = np.arange(3 * n)
    if cell.third.startswith("period"):
        period = np.where(time < 2 * n, 24, 12 if cell.third.endswith("12") else 24)
        rows = 0.5 * rows + np.sqrt(2) * np.sin(2 * np.pi * np.cumsum(1 / period))[:, None]
    rows[n : 2 * n] += 3.0
    third = rows[2 * n :]
    if cell.third.startswith("level"):
        third += float(cell.third.split()[-1])
    elif cell.third.startswith("spread"):
        third *= float(cell.third.split()[-1])
    elif cell.third.startswith("correlation"):
        third[:, 1] = 0.8 * third[:, 0] + 0.6 * third[:, 1]
    elif cell.third.startswith("rhythm"):
        third[:] = autoregression(random, n, cell.d, 0.7)
    return rows


def cells():
    equal = [Cell("A", n, phi) for phi in (0.0, 0.5, 0.8) for n in (50, 100, 300, 1000)]
    equal += [Cell("A", 300, 0.5, 3), Cell("period 24 as in A", 300)]
    other = [Cell(third, 300, phi) for third in ("level by 1", "spread times 2") for phi in (0.0, 0.5, 0.8)]
    other += [Cell("level by 1", 100), Cell("spread times 2", 100), Cell("rhythm, AR(1) 0.7", 300)]
    other += [Cell("correlation 0.8", 300, d=2), Cell("period 24 to 12", 300)]
    return equal + other


def look(cell, run):
    """Whether the outer segments share a state."""
    rows, changes = draw(cell, run), np.array([cell.samples, 2 * cell.samples])
    states = segment_states(rows, changes, np.ones(2, dtype=bool))
    return float(states[0] == states[2])


def report(share=1.0):
    """The table as text, and a line for each share of equal segments joined that is below the target."""
    chosen, runs = cells(), max(10, round(share * RUNS))
    tables = gathered(_chunk, in_chunks(chosen, [runs] * len(chosen), 20), len(chosen))
    return tabulated(INTRO, HEADER, chosen, map(np.array, tables), _line)


def _chunk(k, cell, runs):
    return k, [look(cell, run) for run in runs]


def _line(cell, table):
    joined = 100.0 * table.mean()
    error = np.sqrt(max(joined * (100.0 - joined), 100.0 / len(table)) / len(table))
    equal = cell.third == "A" or cell.third.endswith("as in A")
    missed = bool(equal and joined < LEAST - 2 * error)
    parts = [cell.third, cell.d, cell.samples, cell.noise, len(table)]
    parts += [f"{joined:.1f} ({error:.1f}){'!' * missed}", ""] if equal else ["", f"{100 - joined:.1f} ({error:.1f})"]
    breaches = [f"{cell}: {joined:.1f} % joined"] * missed
    return "| " + " | ".join(map(str, parts)) + " |", breaches
