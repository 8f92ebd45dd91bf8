"""How often `detect_changes` finds a change of level, spread, correlation or rhythm at its place, kind by kind."""

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from tests.calibration.changes import PROCESSES, detected
from tests.calibration.parallel import gathered, in_chunks, tabulated
from tests.calibration.places import autoregression

RUNS = 1000
INTRO = """## Changes that are found

Share of series in which `detect_changes` reports a change, at alpha = 5 % and with its default settings, within
two windows of the place where one is: at the middle, of the kind that is named. Series have unit variance before it;
hourly and daily counts are those of the table of false alarms. A figure more than two of its standard errors below what
was asked for is marked with !. The last column is the share of these changes whose note says that such noise may
have made them.
"""
HEADER = "| change | T | columns | runs | found | asked for | with a note |"


@dataclass(frozen=True)
class Cell:
    """A change at the middle of a series."""

    kind: str
    length: int
    least: float = np.nan  # percent of the series in which it must be found
    d: int = 1

    def __str__(self) -> str:
        return f"{self.kind}, T = {self.length}"


def sine(random, length, after):
    """A sine of period 24 that goes on with another one, in noise of half its deviation."""
    period = np.where(np.arange(length) < length // 2, 24, after)
    wave = np.sqrt(2.0) * np.sin(2 * np.pi * (np.cumsum(1.0 / period) + random.random()))
    return wave + 0.5 * random.standard_normal(length)


def rhythm_of_noise(random, length):
    """Independent noise that becomes an autoregression of the same variance."""
    rows = random.standard_normal(length)
    later = length - length // 2
    rows[-later:] = lfilter([0.8], [1.0, -0.6], random.standard_normal(100 + later))[100:]
    return rows


def more(rows, factor):
    """Rows whose second half is multiplied."""
    rows[len(rows) // 2 :] *= factor
    return rows


def half_a_season(random, length):
    """Daily counts over half a year's wave, half as many again in the second half."""
    day = np.arange(length)
    rate = 50 * (1 + 0.4 * np.sin(np.pi * day / length)) * np.where(day < length // 2, 1.0, 1.5)
    return random.poisson(rate).astype(float)


def raised(random, length, step, d=1):
    rows = random.standard_normal((length, d))
    rows[length // 2 :] += step
    return rows


def related(random, length):
    """Two columns that become correlated."""
    rows = random.standard_normal((length, 2))
    rows[length // 2 :, 1] = 0.8 * rows[length // 2 :, 0] + 0.6 * rows[length // 2 :, 1]
    return rows


KINDS = {
    "level by 1 deviation": lambda random, cell: raised(random, cell.length, 1.0, cell.d),
    "level by 2 deviations": lambda random, cell: raised(random, cell.length, 2.0, cell.d),
    "level by 2 deviations, AR(1) 0.7": lambda random, cell: (
        autoregression(random, cell.length, 1, 0.7) + 2.0 * (np.arange(cell.length) >= cell.length // 2)[:, None]
    ),
    "spread times 2": lambda random, cell: more(random.standard_normal(cell.length), 2.0),
    "correlation 0.8": lambda random, cell: related(random, cell.length),
    "period 24 to 12": lambda random, cell: sine(random, cell.length, 12),
    "period 24 to 18": lambda random, cell: sine(random, cell.length, 18),
    "AR(1) 0 to 0.6 of one variance": lambda random, cell: rhythm_of_noise(random, cell.length),
    "daily counts with week, + 50 %": lambda random, cell: counts(random, cell, "daily counts with week"),
    "hourly counts with day, + 50 %": lambda random, cell: counts(random, cell, "hourly counts with day"),
    "hourly counts with day and week, + 50 %": lambda random, cell: counts(
        random, cell, "hourly counts with day and week"
    ),
    "daily counts over half a season, + 50 %": lambda random, cell: half_a_season(random, cell.length),
    "GARCH(.1, .88), spread times 3": lambda random, cell: more(PROCESSES["GARCH(.1, .88)"](random, cell.length), 3.0),
}
CELLS = (
    Cell("level by 1 deviation", 200),
    Cell("level by 1 deviation", 1000),
    Cell("level by 1 deviation", 200, d=3),
    Cell("level by 2 deviations", 200),
    Cell("level by 2 deviations, AR(1) 0.7", 1000),
    Cell("spread times 2", 200),
    Cell("spread times 2", 1000),
    Cell("correlation 0.8", 1000, d=2),
    Cell("period 24 to 12", 1000, 90.0),
    Cell("period 24 to 18", 1000, 90.0),
    Cell("AR(1) 0 to 0.6 of one variance", 1000, 70.0),
    Cell("daily counts with week, + 50 %", 200, 90.0),
    Cell("hourly counts with day, + 50 %", 1000, 90.0),
    Cell("hourly counts with day and week, + 50 %", 1000, 90.0),
    Cell("daily counts over half a season, + 50 %", 200, 90.0),
    Cell("GARCH(.1, .88), spread times 3", 1000),
    Cell("GARCH(.1, .88), spread times 3", 5000),
)


def counts(random, cell, name):
    """Counts of a process, half as many again in the second half."""
    rows, later = PROCESSES[name](random, cell.length), slice(cell.length // 2, None)
    rows[later] += random.poisson(0.5 * rows[later])
    return rows


def draw(cell, run):
    """The series, (T,) or (T, d)."""
    return KINDS[cell.kind](np.random.default_rng([run, cell.length, cell.d, len(cell.kind)]), cell)


def look(cell, run):
    """Whether the change is found, and whether a note doubts it."""
    result, is_noted = detected(draw(cell, run), run)
    near = np.abs(result.changes - cell.length // 2) <= 2 * result.window
    return [float(near.any()), float(near.any() and is_noted)]


def report(share=1.0):
    """The table as text, and a line for each share that is below what was asked for."""
    runs = max(10, round(share * RUNS))
    tables = gathered(_chunk, in_chunks(CELLS, [runs] * len(CELLS), 20), len(CELLS))
    return tabulated(INTRO, HEADER, CELLS, map(np.array, tables), _line)


def _chunk(k, cell, runs):
    return k, [look(cell, run) for run in runs]


def _line(cell, table):
    found, noted = 100.0 * table.mean(axis=0)
    error = np.sqrt(max(found * (100.0 - found), 100.0 / len(table)) / len(table))
    missed = bool(found < cell.least - 2 * error)
    asked = f"{cell.least:.0f}" if np.isfinite(cell.least) else ""
    parts = [cell.kind, cell.length, cell.d, len(table), f"{found:.1f} ({error:.1f}){'!' * missed}", asked]
    parts += [f"{100 * noted / found:.0f} %" if noted else ""]
    return "| " + " | ".join(map(str, parts)) + " |", [f"{cell}: found in {found:.1f} % of series"] * missed
