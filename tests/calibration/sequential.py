"""How often the p-value of many looks falls to 5 % where nothing changes, and how soon where something does."""

from dataclasses import dataclass

import numpy as np

import densdiff as dd
from tests.calibration.parallel import gathered, tabulated

ALPHA = 0.05
BATCH = 50  # rows of a look
REFERENCE = 100  # rows before the first look
SHIFT = 0.5  # in deviations
_CHUNK = 5


@dataclass(frozen=True)
class Cell:
    """Normal rows in one column, how a look tests them, and from which look on they are shifted."""

    against: str = "all rows before"  # or "rows of its own", "one reference"
    permutations: int = 99
    looks: int = 60
    change: int | None = None  # the first look with shifted rows, counted from 1

    @property
    def are_independent(self) -> bool:
        return self.against != "one reference"

    def __str__(self) -> str:
        return f"against {self.against}, {self.permutations} permutations, {self.looks} looks"


def pvalues(cell, run):
    """What the test finds at each look of one run, (looks,)."""
    random = np.random.default_rng([run, cell.permutations, len(cell.against)])
    model = dd.LSDD(sigma=1.0, lam=1.0, solver="centers", n_centers=50)  # thousands of rows, at thousands of looks
    earlier, found = random.normal(size=REFERENCE), []
    for look in range(1, cell.looks + 1):
        batch = random.normal(size=BATCH) + SHIFT * (cell.change is not None and look >= cell.change)
        other = random.normal(size=BATCH) if cell.against == "rows of its own" else earlier
        test = dd.two_sample_test(
            batch, other, model=model, n_permutations=cell.permutations, null="permutation", random_state=random
        )
        found.append(test.pvalue)
        if cell.against == "all rows before":
            earlier = np.concatenate([earlier, batch])
    return np.array(found)


def ever(table, alpha=ALPHA):
    """Share of the runs, rows of (runs, looks), in which some look is at alpha or below."""
    return float(np.mean(np.min(table, axis=1) <= alpha))


def combined(table, independent):
    return np.array([dd.anytime_pvalues(row, independent=independent) for row in table])


def product_alone(table):
    """The same bets, all of the stake from the first look on: (runs, looks)."""
    wealth = np.cumprod(0.5 / np.sqrt(table), axis=1)
    return 1.0 / np.maximum.accumulate(np.maximum(wealth, 1.0), axis=1)


def dependence(table):
    """Variance of the mean over looks, as a multiple of what independent looks would have."""
    return float(table.mean(axis=1).var(ddof=1) * table.shape[1] / table.var())


def delays(table, change, alpha=ALPHA):
    """Looks from the change to the first at alpha or below, the look of the change being 1; inf if there is none."""
    is_low = table[:, change - 1 :] <= alpha
    return np.where(is_low.any(axis=1), is_low.argmax(axis=1) + 1.0, np.inf)


CALM = (Cell("rows of its own"), Cell(), Cell("one reference", permutations=1999))
CHANGED = tuple(Cell(permutations=b, looks=130, change=100) for b in (99, 199))
RUNS = {"calm": 1000, "changed": 300}
INTRO = f"""## Looking again and again

Every look has {BATCH} new normal rows in one column, {CALM[0].looks} looks are taken, and nothing changes: the share of
the runs in which some look is at 5 % or below. "alone" takes each p-value as it is. "dependence" is the variance of the
mean p-value of a run, as a multiple of that of independent looks. A figure of `anytime_pvalues` more than three
standard errors above 5 is marked with !. The reference has {REFERENCE} rows. `independent=True` is not meant for looks
that share one reference; that figure is in brackets. Model: 50 centers, sigma 1, lam 1.
"""
DELAYS = f"""
The rows are shifted by half a deviation from look {CHANGED[0].change} on, and each batch is tested against all rows
before. Looks until the p-value is at 5 % or below, the look of the change being 1: half of the runs need no more than
the first figure, nine in ten no more than the second. "-" means more than {CHANGED[0].looks - CHANGED[0].change + 1}
looks. "one product" bets all of the stake from the first look on.
"""


def report(share=1.0):
    """Both tables as text, and a line for each figure that is off."""
    counts = [max(10, round(share * RUNS["calm"]))] * len(CALM) + [max(10, round(share * RUNS["changed"]))] * 2
    cells = CALM + CHANGED
    jobs = (
        (k, cell, first, min(_CHUNK, count - first))
        for k, (cell, count) in reversed(list(enumerate(zip(cells, counts, strict=True))))
        for first in range(0, count, _CHUNK)
    )
    tables = [np.array(found) for found in gathered(_chunk, jobs, len(cells))]
    header = (
        "| each batch against | permutations | runs | alone | `independent=False` | `independent=True` | dependence |"
    )
    calm, breaches = tabulated(INTRO, header, CALM, tables[: len(CALM)], _calm_line)
    header = "| permutations | runs | false alarms before | `independent=True` | one product | `independent=False` |"
    changed, others = tabulated(DELAYS, header, CHANGED, tables[len(CALM) :], _changed_line)
    return calm + changed, breaches + others


def _chunk(k, cell, first, runs):
    return k, [pvalues(cell, run) for run in range(first, first + runs)]


def _calm_line(cell, table):
    error = np.sqrt(ALPHA * (1 - ALPHA) / len(table))
    parts, breaches = [f"{100 * ever(table):.0f}"], []
    for independent in (False, True):
        share = ever(combined(table, independent))
        text = f"{100 * share:.1f} ({100 * error:.1f})"
        if independent and not cell.are_independent:
            text = f"({100 * share:.1f})"
        elif share > ALPHA + 3 * error:
            text += "!"
            breaches.append(f"{cell}, independent={independent}: {100 * share:.1f} % at 5 %")
        parts.append(text)
    parts.append(f"{dependence(table):.2f} ({np.sqrt(2 / len(table)):.2f})")
    return "| " + " | ".join([cell.against, str(cell.permutations), str(len(table)), *parts]) + " |", breaches


def _changed_line(cell, table):
    ways = {"restarted": combined(table, True), "product": product_alone(table), "spending": combined(table, False)}
    early = ways["restarted"][:, cell.change - 2] <= ALPHA
    found = [np.quantile(delays(way[~early], cell.change), (0.5, 0.9), method="higher") for way in ways.values()]
    texts = [", ".join("-" if np.isinf(each) else f"{each:.0f}" for each in pair) for pair in found]
    parts = [str(cell.permutations), str(len(table)), f"{100 * early.mean():.1f}", *texts]
    return "| " + " | ".join(parts) + " |", []
