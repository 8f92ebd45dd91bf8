"""False alarms of change detection in series without change, and of permuted samples as a null, which fails."""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter

import densdiff as dd
from densdiff.core import contrasts as scan
from densdiff.series.features import CENTERS, series_features
from tests.calibration.parallel import gathered, in_chunks, tabulated

ALPHA = 0.05
_BURN = 500  # samples until an autoregression has forgotten its start


@dataclass(frozen=True)
class Cell:
    """A series without change: an autoregression of unit variance, and what is added to it."""

    length: int
    phi: float = 0.0
    window: int | str = "auto"
    d: int = 1
    df: float = np.inf  # degrees of freedom of the shocks
    period: int = 0  # of a sine of unit variance that is added, 0 for none
    trend: float = 0.0  # deviations that the mean climbs from end to end
    process: str = ""  # one of PROCESSES instead of an autoregression

    @property
    def shape(self) -> str:
        if self.process:
            return self.process
        parts = [f"AR(1) {self.phi:g}" if self.phi else "independent"]
        parts += [f"t{self.df:g}"] * bool(np.isfinite(self.df)) + [f"d = {self.d}"] * (self.d > 1)
        parts += [f"sine of period {self.period}"] * bool(self.period)
        return ", ".join(parts + [f"trend of {self.trend:g} sd"] * bool(self.trend))

    def __str__(self) -> str:
        return f"{self.shape}, T = {self.length}, window {self.window}"

    def most(self, window: int) -> float:
        """The promise in INTRO, as a multiple of alpha; inf where there is none."""
        if self.process:
            return np.inf if self.length < LEAST.get(self.process, 0) else 2.0
        if self.length < 8 * self.period:
            return np.inf  # a season that is seen less than eight times
        if self.phi <= 0.3 and not self.period:
            return 1.0
        kept = 1.0 - self.phi
        return 2.0 if self.phi <= 0.9 and self.length * kept >= 100 - 1e-9 and window * kept >= 5 - 1e-9 else np.inf


def cyclic(random, length):
    """An autoregression of order 2 whose spectrum peaks at a period of 24 samples."""
    rows = lfilter([1.0], [1.0, -1.9 * np.cos(np.pi / 12), 0.9025], random.standard_normal(length + _BURN))[_BURN:]
    return rows / rows.std()


def counts(random, length, is_weekly=True):
    """Hourly counts with a day, and a week if it is said, that start at any hour of the week."""
    hour = np.arange(length) + random.integers(168)
    rate = 20 * (1 + 0.6 * np.sin(2 * np.pi * hour / 24)) * np.where(is_weekly & (hour // 24 % 7 >= 5), 0.6, 1.0)
    return random.poisson(rate).astype(float)


def weekdays(random, length):
    """Daily counts with a week."""
    day = np.arange(length) + random.integers(7)
    return random.poisson(50 * np.where(day % 7 >= 5, 0.6, 1.0)).astype(float)


def pulses(random, length):
    """Pulses of three samples every 30 samples, 6 more or less, in noise."""
    rows, at = 0.2 * random.standard_normal(length), random.integers(30)
    while at < length - 3:
        rows[at : at + 3] += np.array([3.0, 2.0, 1.0]) * random.uniform(0.7, 1.3)
        at += int(random.uniform(24, 36))
    return rows


def garch(random, length):
    """Volatility with a reaction of 0.1 and a persistence of 0.98, of unit variance in the long run."""
    rows, variance = np.empty(length + 2 * _BURN), 1.0
    for i, shock in enumerate(random.standard_normal(len(rows))):
        rows[i] = np.sqrt(variance) * shock
        variance = 0.02 + 0.1 * rows[i] ** 2 + 0.88 * variance
    return rows[2 * _BURN :]


def long_memory(random, length):
    """Fractional noise of order 0.4."""
    n = length + 2000
    k = np.arange(1, n)
    rows = np.convolve(random.standard_normal(n), np.append(1.0, np.cumprod((k - 0.6) / k)))[:n][-length:]
    return rows / rows.std()


PROCESSES = {
    "cyclic AR(2), period 24": cyclic,
    "hourly counts with day": lambda random, length: counts(random, length, False),
    "hourly counts with day and week": counts,
    "daily counts with week": weekdays,
    "pulses every 24 to 36 samples": pulses,
    "GARCH(.1, .88)": garch,
    "long memory, d = .4": long_memory,
}
LEAST = {"GARCH(.1, .88)": 5000, "long memory, d = .4": np.inf, "hourly counts with day and week": 700}


def draw(cell, run, shift=0.0):
    """The series, (T, d); a shift in deviations begins at its middle."""
    if cell.process:
        rows = PROCESSES[cell.process](np.random.default_rng([run, cell.length, len(cell.process)]), cell.length)
        rows[cell.length // 2 :] += shift * rows.std()
        return rows[:, None]
    random = np.random.default_rng(
        [run, cell.length, round(100 * cell.phi), cell.d, cell.period, round(8 * cell.trend)]
    )
    size = (cell.length + _BURN, cell.d)
    if np.isfinite(cell.df):
        shocks = random.standard_t(cell.df, size) * np.sqrt((cell.df - 2) / cell.df)
    else:
        shocks = random.standard_normal(size)
    rows = lfilter([np.sqrt(1 - cell.phi**2)], [1.0, -cell.phi], shocks, axis=0)[_BURN:]
    if cell.period:
        phase = random.random()
        rows += np.sqrt(2.0) * np.sin(2 * np.pi * (np.arange(cell.length) / cell.period + phase))[:, None]
    rows += np.linspace(0.0, cell.trend, cell.length)[:, None]
    rows[cell.length // 2 :] += shift
    return rows


class Report(NamedTuple):
    """What is reported at 5 %, nearest to the middle, and whether a note doubts it; 1 and -1 without a report."""

    pvalue: float
    place: int
    is_noted: bool


def detected(rows, seed, window="auto"):
    """The result of `detect_changes` at 5 %, and whether a note says that noise may look like its changes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        found = dd.detect_changes(rows, window=window, alpha=ALPHA, random_state=seed)
    return found, any("cannot be told" in note or "do not tell" in note for note in found.warnings)


def right_way(cell, run, shift=0.0):
    """What `detect_changes` reports of a series."""
    found, is_noted = detected(draw(cell, run, shift), run, cell.window)
    if not len(found.changes):
        return Report(1.0, -1, is_noted)
    nearest = np.abs(found.changes - cell.length // 2).argmin() if shift else found.pvalues.argmin()
    return Report(found.pvalues[nearest], found.changes[nearest], is_noted)


def statistic(rows, window, lag, seed):
    """The largest contrast of E6 at the library's scales, not yet in units of the noise."""
    block = max(1, window // 8)
    features = series_features(rows, min(lag, block), dd.LSDD(solver="centers", n_centers=CENTERS), seed).values
    n = (len(rows) - min(lag, block) + 1) // block
    offset = (len(features) - n * block) // 2
    u = features[offset : offset + n * block].reshape(n, block, -1).mean(axis=1)
    return float(scan.contrasts(scan.running_sums(u), scan.window_scales(round(window / block), n), 0, n).max())


def permuted(cell, run, shift=0.0, shuffles=19):
    """Wrong: the largest contrast among those of the same samples in random order, as if they were independent.

    In the units of E6: divided by the long-run variance that is fitted to each order, as the library does, the
    contrast takes most of the dependence away itself: then 4 of 30 series alarmed at 0.7 and 17 of 30 at 0.9.
    """
    rows = draw(cell, run, shift)
    window = dd.detect_changes(rows, n_changes=0).window if cell.window == "auto" else cell.window
    random = np.random.default_rng([run, 1])
    seen = statistic(rows, window, 5, run)
    null = [statistic(random.permutation(rows), window, 5, run) for _ in range(shuffles)]
    return Report((1 + sum(value >= seen for value in null)) / (shuffles + 1), -1, False)


def pvalues(cell, runs, way=right_way, first=0, shift=0.0):
    """Of each run, (runs,)."""
    return np.array([way(cell, run, shift)[0] for run in range(first, first + runs)])


def false_alarms(cell, runs, way=right_way, first=0, alpha=ALPHA):
    """In how many of the runs something is reported."""
    return int((pvalues(cell, runs, way, first) <= alpha).sum())


RUNS = 2000  # three standard errors are 1.5 points at 5 %
INTRO = """## False alarms of change detection

Share of series without change in which `detect_changes` reports anything, at alpha = 5 % and 1 %. Series have unit
variance; t3 has shocks of three degrees of freedom; a sine has unit variance itself; a trend climbs evenly from end to
end. Promised: at most alpha + 3 standard errors for correlations up to 0.3, at most 2 alpha for up to 0.9
where T (1 - phi) >= 100 and window (1 - phi) >= 5, and for counts, pulses and cycles; nothing for shorter series, for
seasons seen less than eight times (a week in 200 hours), for GARCH below 5000 samples and for long memory, which
get a note; their figures are shown all the same, and how many of the alarms have a note that such noise cannot be told
from changes. A figure more than two of its standard errors above 2 alpha, or
above alpha + 3 standard errors where that is promised, is marked with !. Beside it the share of series in which a
shift of so many deviations at the middle is found at 5 % within a window of its place. "Permuted" is the wrong way,
kept for comparison: the largest contrast of E6 among those of the same samples in random order.
"""
HEADER = (
    "| series | T | window | runs | promise | alarms at 5 % | at 1 % | with a note | shift | found | permuted at 5 % |"
)


def cells():
    """Every setting of the full table, with the shift that stands beside it and whether the wrong way is shown."""
    auto = [Cell(t, phi) for t in (200, 500, 1000, 2000) for phi in (0.0, 0.3, 0.5, 0.7, 0.9)]
    fixed = [Cell(500, phi, 50) for phi in (0.0, 0.3, 0.7)]  # auto is 17 there
    fixed += [Cell(1000, phi, 25) for phi in (0.0, 0.3, 0.7)]
    fixed += [Cell(1000, 0.9, w) for w in (50, 100)] + [Cell(2000, 0.9, 100), Cell(2000, 0.0, 25)]
    heavy = [Cell(t, phi, df=3) for t, phi in ((200, 0.0), (500, 0.0), (500, 0.7), (2000, 0.0), (2000, 0.9))]
    wide = [Cell(t, phi, d=3) for t, phi in ((200, 0.0), (500, 0.0), (500, 0.3), (500, 0.7), (2000, 0.9))]
    season = [Cell(t, period=p) for p in (20, 50) for t in (200, 500, 1000, 2000)] + [Cell(500, window=50, period=50)]
    drift = [Cell(t, trend=k) for t, k in ((200, 1.0), (500, 1.0), (2000, 1.0), (200, 3.0), (500, 3.0), (500, 10.0))]
    drift += [Cell(500, 0.3, trend=3.0)]
    other = [Cell(t, process=name) for name in PROCESSES for t in (200, 1000, 5000)]
    return auto + fixed + heavy + wide + season + drift + other


def deviations(cell):
    return 1.0 if cell.phi < 0.5 and not cell.period and not cell.process else 2.0


def shows_wrong_way(cell):
    return cell in [Cell(500, phi) for phi in (0.0, 0.3, 0.7, 0.9)]


def report(share=1.0):
    """The table as text, and a line for each figure above its target."""
    chosen = cells()
    runs = max(10, round(share * RUNS))
    tables = gathered(_chunk, in_chunks(chosen, [runs] * len(chosen), 20), len(chosen))
    return tabulated(INTRO, HEADER, chosen, map(np.array, tables), _line)


def window_of(cell):
    return (
        dd.detect_changes(draw(cell, 0), n_changes=0, random_state=0).window if cell.window == "auto" else cell.window
    )


def _chunk(k, cell, runs):
    """p-value without change, p-value and distance from its place with one, p-value of the wrong way."""
    found = []
    for run in runs:
        quiet = right_way(cell, run)
        p_shifted, place, _ = right_way(cell, run, deviations(cell)) if run % 4 == 0 else (np.nan, 0, False)
        wrong = permuted(cell, run).pvalue if run % 4 == 0 and shows_wrong_way(cell) else np.nan
        found.append((quiet.pvalue, p_shifted, abs(place - cell.length // 2), wrong, quiet.is_noted))
    return k, found


def _line(cell, table):
    """From an array (runs, 5); power and the wrong way come from every fourth run."""
    runs, window = len(table), window_of(cell)
    most = cell.most(window)
    share, small = (table[:, 0] <= ALPHA).mean(), (table[:, 0] <= ALPHA / 5).mean()
    error = np.sqrt(max(share * (1 - share), 1 / runs) / runs)
    limit = ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / runs) if most == 1 else most * ALPHA + 2 * error
    shifted = table[np.isfinite(table[:, 1])]
    power = ((shifted[:, 1] <= ALPHA) & (shifted[:, 2] <= window)).mean()
    wrong = table[np.isfinite(table[:, 3]), 3]
    promise = {1.0: "alpha + 3 se", 2.0: "2 alpha"}.get(most, "none")
    parts = [cell.shape, cell.length, f"auto, {window}" if cell.window == "auto" else window, runs, promise]
    parts += [f"{100 * share:.1f} ({100 * error:.1f}){'!' * bool(share > limit)}", f"{100 * small:.1f}"]
    alarms = table[table[:, 0] <= ALPHA]
    parts += [f"{alarms[:, 4].sum():.0f} of {len(alarms)}" if not np.isfinite(most) and len(alarms) else ""]
    parts += [f"{deviations(cell):g} sd", f"{100 * power:.0f}"]
    parts += [f"{100 * (wrong <= ALPHA).mean():.0f}" if wrong.size else ""]
    breaches = [f"{cell}: {100 * share:.1f} % false alarms, {promise} promised"] * bool(share > limit)
    return "| " + " | ".join(map(str, parts)) + " |", breaches
