"""Nights looked at one by one: how often `track` ever alarms if nothing changes, and how soon and well it dates."""

from dataclasses import dataclass, replace

import numpy as np

import densdiff as dd
from densdiff.core.tails import COARSE, column_tail, group_cells, pair_tail
from densdiff.testing.sequential import error_share
from tests.calibration.parallel import gathered, tabulated

ALPHA = 0.05
SHIFT = 0.5  # deviations of one column
FEW = 19  # permutations: they reach the share of no night, as 999 do not
_CHUNK = 1


@dataclass(frozen=True)
class Year:
    """Nights of mixed columns against one reference, and from which night on a column is shifted."""

    nights: int = 365
    rows: int = 2000
    columns: int = 12
    permutations: int = 999
    change: int | None = None  # the first night with shifted rows, counted from 1
    reference: str = "one"  # or "profile", that of one table, or "previous"
    years: int = 100  # that are simulated in full

    def __str__(self) -> str:
        what = "" if self.permutations else ", cells alone"
        return f"{self.nights} nights of {self.rows} x {self.columns}, reference: {self.reference}{what}"


def night(random, rows, columns, shift=0.0):
    """A table of numbers that depend on each other, skewed and rounded ones, and every third column of words."""
    common = random.normal(size=rows)
    table = {"c0": common + random.normal(size=rows) + shift * np.sqrt(2.0)}
    for j in range(1, columns):
        own = common * (j % 2) + random.normal(size=rows)
        kinds = (own.round(1), np.exp(0.5 * own), np.array(["low", "middle", "high"])[np.digitize(own, [-0.5, 0.8])])
        table[f"c{j}"] = kinds[j % 3]
    return table


def tracked(year, run):
    """What `track` says at the end of a year."""
    random = np.random.default_rng([run, year.nights, year.rows])
    reference = year.reference if year.reference == "previous" else night(random, year.rows, year.columns)
    if year.reference == "profile":
        reference = dd.profile(reference, random_state=run)
    tables = {}
    for k in range(1, year.nights + 1):
        shift = SHIFT * (year.change is not None and k >= year.change)
        tables[str(k)] = night(random, year.rows, year.columns, shift)
    return dd.track(tables, reference=reference, n_permutations=year.permutations, random_state=run)


def outcome(year, run):
    """Whether any night before the change alarms, the nights until one after it does, and how far off its date is."""
    result = tracked(year, run)
    change = year.change or year.nights + 1
    false = [int(batch.label) for batch in result.changed if int(batch.label) < change]
    found = [int(batch.label) for batch in result.changed if int(batch.label) >= change]
    delay = found[0] - change + 1 if found else np.inf
    off = abs(int(result.began) - change) if result.began is not None and found else np.inf
    return [float(bool(false)), delay, off, float(result.present[:1] == ["c0"])]


def cell_alarms(year, run):
    """The nights whose cells of columns and pairs alone alarm: what decides about all but the first nights of a year,
    at a hundredth of the cost of all of `track`."""
    random = np.random.default_rng([run, year.nights, year.rows])
    reference = _coded(night(random, year.rows, year.columns))
    alarms = []
    for k in range(1, year.nights + 1):
        shift = SHIFT * (year.change is not None and k >= year.change)
        pooled = np.vstack([reference, _coded(night(random, year.rows, year.columns, shift))])
        tails, coarse = [], []
        for j, column in enumerate(pooled.T):
            is_ordered = j % 3 != 2
            _, cells, counts = np.unique(column, return_inverse=True, return_counts=True)
            of_a = np.bincount(cells[: year.rows], minlength=len(counts))
            tails.append(column_tail(of_a, counts - of_a, is_ordered))
            coarse.append(group_cells(counts, is_ordered, COARSE)[cells])
        pvalue = 4.0 * min(year.columns * min(tails), pair_tail(np.column_stack(coarse), year.rows))  # E21
        if pvalue / error_share(k) <= ALPHA:
            alarms.append((k, int(np.argmin(tails))))
    return alarms


def _coded(table):
    """Columns as numbers, words by their place in the alphabet, (n, d)."""
    columns = [np.unique(own, return_inverse=True)[1] if own.dtype.kind == "U" else own for own in table.values()]
    return np.column_stack(columns)


def cell_outcome(year, run):
    """As `outcome`, without a date."""
    alarms, change = cell_alarms(year, run), year.change or year.nights + 1
    found = [(k, column) for k, column in alarms if k >= change]
    delay = found[0][0] - change + 1 if found else np.inf
    return [float(any(k < change for k, _ in alarms)), delay, np.nan, float(bool(found) and found[0][1] == 0)]


YEAR = Year(permutations=FEW, reference="profile", years=50)
CELLS = Year(permutations=0, years=1000)
QUIET = (Year(60, 300, 4, 199), Year(60, 300, 4, 199, reference="previous"), YEAR, CELLS)
CHANGED = (Year(60, 300, 4, 199, change=33), replace(YEAR, change=200), replace(CELLS, change=200))
INTRO = """## Night after night

`track` looks at every night. Nothing changes: the share of years in which any night is said to differ, at alpha = 5 %
over all nights. Fewer than 2479 permutations reach the share of no night, not even of the first, and leave alarms to
the cells of columns and pairs and to missing values: with 19 they are those of 999. Years of "cells alone" look at
nothing else. A figure more than three standard errors above 5 is marked with !. Columns are numbers that depend on
each other, skewed and rounded ones, and words.
"""
DATES = f"""
One column is shifted by {SHIFT:g} deviations from a night on. Nights until it is found, the night of the change being
1, and nights that its date is off: half of the years need no more than the first figure, nine in ten no more than the
second.
"""


def report(share=1.0):
    """Both tables as text, and a line for each figure that is off."""
    cells = QUIET + CHANGED
    jobs = (
        (k, year, first, min(_CHUNK, count - first))
        for k, year in reversed(list(enumerate(cells)))
        for count in [max(2, round(share * year.years))]
        for first in range(0, count, _CHUNK)
    )
    tables = [np.array(found) for found in gathered(_chunk, jobs, len(cells))]
    header = "| nights | permutations | years | years with a false alarm |"
    quiet, breaches = tabulated(INTRO, header, QUIET, tables[: len(QUIET)], _quiet_line)
    header = "| nights | change at night | years | found after | date off by | named |"
    changed, others = tabulated(DATES, header, CHANGED, tables[len(QUIET) :], _changed_line)
    return quiet + changed, breaches + others


def _chunk(k, year, first, runs):
    found = outcome if year.permutations else cell_outcome
    return k, [found(year, run) for run in range(first, first + runs)]


def _quiet_line(year, table):
    error, share = np.sqrt(ALPHA * (1 - ALPHA) / len(table)), table[:, 0].mean()
    is_high = bool(share > ALPHA + 3 * error)
    parts = [
        str(year),
        str(year.permutations),
        str(len(table)),
        f"{100 * share:.1f} ({100 * error:.1f}){'!' * is_high}",
    ]
    return "| " + " | ".join(parts) + " |", [f"{year}: {100 * share:.1f} % of years alarm at 5"] * is_high


def _changed_line(year, table):
    halves = [np.quantile(table[:, j], (0.5, 0.9), method="higher") for j in (1, 2)]
    texts = [", ".join(f"{each:.0f}" if np.isfinite(each) else "-" for each in pair) for pair in halves]
    named = f"{100 * table[:, 3].mean():.0f} %"
    breaches = [f"{year}: dates off by more than three nights"] * bool(year.permutations and not halves[1][1] <= 3)
    return "| " + " | ".join([str(year), str(year.change), str(len(table)), *texts, named]) + " |", breaches
