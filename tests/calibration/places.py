"""How often the interval for the place of a change holds it, in series with one change and with two."""

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

import densdiff as dd
from tests.calibration.parallel import gathered, in_chunks, tabulated

RUNS = 400  # two standard errors are 2.2 points at 95 %
TARGET = (92.0, 98.0)
_BURN = 500
INTRO = """## Intervals for the place of a change

Of the runs in which `detect_changes` reports something: the share in which the interval (95 %) of the change nearest to
the truth holds the true place. Series have unit variance before the change; AR(1) is an autoregression. The target is
92 to 98 %; a figure more than two of its standard errors outside is marked with !. For large changes alone more than
98 % is right: no interval is shorter than one sample, and that sample may be right more often. Beside it the median
number of samples in the interval, and how far the reported change is from the truth in the median and in one of 20
runs.
"""
HEADER = "| change | T, at | noise | runs | reported | covered | samples | off | off, 1 of 20 |"


@dataclass(frozen=True)
class Cell:
    """A series of ``length`` samples that changes at ``place`` in one way, by ``size``; back after ``returns``."""

    kind: str
    size: float
    length: int
    place: int
    phi: float = 0.0
    returns: int = 0
    is_large: bool = False  # so that hardly any sample but the right one is possible

    @property
    def noise(self) -> str:
        return f"AR(1) {self.phi:g}" if self.phi else "independent"

    @property
    def name(self) -> str:
        words = {
            "level": f"level by {self.size:g}",
            "level of one of 3 columns": f"level of one of 3 columns by {self.size:g}",
            "spread": f"spread times {self.size:g}",
            "correlation": f"correlation of two columns from 0 to {self.size:g}",
            "counts": f"Poisson counts from 1 to {self.size:g}",
            "shape": "normal to exponential, same mean and spread",
            "peaks": "one peak to two, same mean and spread",
            "dependence": f"AR(1) from 0 to {self.size:g}, same spread",
        }
        return words[self.kind] + (f", back after {self.returns}" if self.returns else "")

    def __str__(self) -> str:
        return f"{self.name}, T = {self.length}, {self.noise}"


def autoregression(random, n, d, phi):
    """Of unit variance, (n, d)."""
    return lfilter([np.sqrt(1 - phi**2)], [1.0, -phi], random.standard_normal((n + _BURN, d)), axis=0)[_BURN:]


def draw(cell, run):
    """The series, (T, d)."""
    random = np.random.default_rng([run, cell.length, cell.place, round(100 * cell.phi), round(100 * cell.size)])
    d = {"correlation": 2, "level of one of 3 columns": 3}.get(cell.kind, 1)
    rows = autoregression(random, cell.length, d, cell.phi)
    after = slice(cell.place, cell.place + cell.returns if cell.returns else cell.length)
    n = len(rows[after])
    if cell.kind.startswith("level"):
        rows[after, -1] += cell.size
    elif cell.kind == "spread":
        rows[after] *= cell.size
    elif cell.kind == "correlation":
        rows[after, 1] = cell.size * rows[after, 0] + np.sqrt(1 - cell.size**2) * rows[after, 1]
    elif cell.kind == "counts":
        rows = random.poisson(1.0, rows.shape).astype(np.float64)
        rows[after] = random.poisson(cell.size, (n, 1))
    elif cell.kind == "shape":
        rows[after] = random.exponential(1.0, (n, 1)) - 1.0
    elif cell.kind == "peaks":
        rows[after] = 0.95 * random.choice([-1.0, 1.0], (n, 1)) + np.sqrt(1 - 0.95**2) * rows[after]
    else:
        rows[after] = autoregression(random, n, 1, cell.size)
    return rows


def cells():
    level = [Cell("level", 0.7, 600, 300), Cell("level", 1.0, 300, 150), Cell("level", 3.0, 300, 100, is_large=True)]
    level += [Cell("level", 1.5, 600, 250, 0.5), Cell("level", 2.0, 1000, 500, 0.8)]
    level += [Cell("level", 4.0, 1000, 400, 0.8, is_large=True)]
    level += [Cell("level", 1.5, 100, 50), Cell("level", 2.0, 400, 200, returns=50)]
    level += [Cell("level of one of 3 columns", 1.5, 400, 200, phi) for phi in (0.0, 0.5)]
    spread = [Cell("spread", 2.0, 400, 200), Cell("spread", 0.4, 400, 150), Cell("spread", 2.5, 800, 400, 0.5)]
    joint = [Cell("correlation", 0.9, 600, 300), Cell("correlation", 0.9, 1500, 700, 0.5)]
    counts = [Cell("counts", 2.0, 400, 200), Cell("counts", 4.0, 400, 200)]
    other = [Cell("shape", 1.0, 800, 400), Cell("peaks", 1.0, 800, 400), Cell("dependence", 0.7, 1500, 750)]
    return level + spread + joint + counts + other


def look(cell, run):
    """Whether something is reported, whether the interval holds the truth, its length, and how far off the place is."""
    result = dd.detect_changes(draw(cell, run), random_state=run)
    if not len(result.changes):
        return 0.0, np.nan, np.nan, np.nan
    nearest = int(np.abs(result.changes - cell.place).argmin())
    first, last = result.intervals[nearest].tolist()
    return 1.0, float(first <= cell.place <= last), last - first + 1.0, abs(float(result.changes[nearest] - cell.place))


def report(share=1.0):
    """The table as text, and a line for each figure outside its target."""
    chosen, runs = cells(), max(10, round(share * RUNS))
    tables = gathered(_chunk, in_chunks(chosen, [runs] * len(chosen), 20), len(chosen))
    return tabulated(INTRO, HEADER, chosen, map(np.array, tables), _line)


def _chunk(k, cell, runs):
    return k, [look(cell, run) for run in runs]


def _line(cell, table):
    found = table[table[:, 0] > 0]
    covered = 100.0 * found[:, 1].mean()
    error = np.sqrt(max(covered * (100.0 - covered), 100.0 / len(found)) / len(found))
    low, high = TARGET[0] - 2 * error, 100.0 if cell.is_large else TARGET[1] + 2 * error
    outside = bool(not low <= covered <= high)
    parts = [cell.name, f"{cell.length}, {cell.place}", cell.noise, len(table), f"{100 * table[:, 0].mean():.0f} %"]
    parts += [f"{covered:.1f} ({error:.1f}){'!' * outside}", f"{np.median(found[:, 2]):.0f}"]
    parts += [f"{np.median(found[:, 3]):.0f}", f"{np.quantile(found[:, 3], 0.95):.0f}"]
    breaches = [f"{cell}: {covered:.1f} % covered"] * outside
    return "| " + " | ".join(map(str, parts)) + " |", breaches
