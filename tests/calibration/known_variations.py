"""Pairs of samples whose total variation is known in closed form, and pairs on which witnesses compete."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import optimize, stats

import densdiff as dd

LEVELS = np.array([0.4, 0.3, 0.2, 0.1])  # shares of the levels of every category
ROUNDED = np.arange(-12, 13)  # all that a rounded normal number ever is


@dataclass(frozen=True)
class Cell:
    """Two populations that differ in one column by a known total variation; the others are alike."""

    kind: str = "normal"  # "doubled": X's rows stand twice; "rounded", "categories", "mixed"
    truth: float = 0.0
    d: int = 1
    n: int = 300
    m: int = 300

    def __str__(self) -> str:
        return f"{self.kind}, {self.d} columns, TV {self.truth:g}, {self.n} and {self.m} rows"

    def draw(self, run):
        """X and Y of one run: arrays of numbers, or frames if there are categories."""
        random = np.random.default_rng([run, self.n, self.m, self.d, round(1000 * self.truth)])
        return KINDS[self.kind](self, random)


def shift_of(truth):
    """Deviations between two normal numbers of this total variation."""
    return 2.0 * stats.norm.ppf(0.5 + 0.5 * truth)


def scale_variation(factor):
    """Total variation of two normal numbers, one of which was multiplied: they cross at one |x|."""
    crossing = np.sqrt(2.0 * np.log(factor) / (1.0 - factor**-2.0))
    return 2.0 * (stats.norm.cdf(crossing) - stats.norm.cdf(crossing / factor))


def _normal(cell, random):
    x, y = random.normal(size=(cell.n, cell.d)), random.normal(size=(cell.m, cell.d))
    x[:, 0] += shift_of(cell.truth)
    return x, y


def _doubled(cell, random):
    x, y = _normal(cell, random)
    return np.repeat(x[: cell.n // 2], 2, axis=0), y


def _rounded(cell, random):
    """Whole numbers; the shift is the one that leaves the total variation after rounding."""
    x, y = random.normal(size=(cell.n, cell.d)), random.normal(size=(cell.m, cell.d))
    x[:, 0] += rounded_shift(cell.truth)
    return np.round(2.0 * x), np.round(2.0 * y)


def rounded_shift(truth):
    """Shift of a normal number that makes twice the number, rounded, differ by this total variation."""
    if truth == 0.0:
        return 0.0
    edges = 0.5 * (np.append(ROUNDED, ROUNDED[-1] + 1) - 0.5)

    def variation(shift):
        return 0.5 * np.abs(np.diff(stats.norm.cdf(edges - shift)) - np.diff(stats.norm.cdf(edges))).sum()

    return float(optimize.brentq(lambda shift: variation(shift) - truth, 0.0, 5.0))


def _categories(cell, random):
    """Categories of four levels; in X the last level of the first has taken from the first level."""
    moved = LEVELS + cell.truth * np.array([-1.0, 0.0, 0.0, 1.0])
    tables = []
    for size, shares in ((cell.n, moved), (cell.m, LEVELS)):
        columns = [random.choice(4, size, p=shares if j == 0 else LEVELS) for j in range(cell.d)]
        tables.append(pd.DataFrame({f"category {j}": _text(codes) for j, codes in enumerate(columns)}))
    return tuple(tables)


def _mixed(cell, random):
    """Numbers, of which one is shifted, and two categories."""
    tables = []
    for size, shift in ((cell.n, shift_of(cell.truth)), (cell.m, 0.0)):
        table = pd.DataFrame(random.normal(size=(size, cell.d - 2)), columns=[f"n{j}" for j in range(cell.d - 2)])
        table["n0"] += shift
        tables.append(table.assign(**{f"c{j}": _text(random.choice(4, size, p=LEVELS)) for j in range(2)}))
    return tuple(tables)


def _text(codes):
    return np.array(["a", "b", "c", "d"], dtype=object)[codes]


KINDS = {"normal": _normal, "doubled": _doubled, "rounded": _rounded, "categories": _categories, "mixed": _mixed}


# Pairs on which witnesses compete: draws of one sample, ``moved`` in X and not in Y.


def _one_column(change, d=10, law="normal"):
    def draw(random, n, moved):
        rows = _laws(random)[law]((n, d))
        if moved:
            rows[:, 0] = change(rows[:, 0], random)
        return rows

    return draw


def _laws(random):
    return {
        "normal": random.standard_normal,
        "exponential": random.standard_exponential,
        "t3": lambda size: random.standard_t(3, size),
    }


def _shift_in_all(random, n, moved):
    return random.normal(size=(n, 10)) + 0.2 * moved


def _correlation(random, n, moved):
    rows = random.normal(size=(n, 10))
    if moved:
        rows[:, 1] = 0.7 * rows[:, 0] + np.sqrt(1 - 0.7**2) * rows[:, 1]
    return rows


def _ring(random, n, moved):
    """Two of five columns on a ring, or normal with the same variance."""
    rows = random.normal(size=(n, 5))
    if moved:
        angle, radius = random.uniform(0, 2 * np.pi, n), np.sqrt(2.0) + 0.3 * random.normal(size=n)
        rows[:, :2] = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return rows


def _mixed_table(random, n, moved):
    tables = dd.datasets.mixed_tables(n, n, random_state=random)
    return pd.DataFrame(tables.a if moved else tables.b)


def _embeddings(random, n, moved):
    """Two hundred columns that ten latent numbers move, two of them shifted."""
    directions = np.random.default_rng(7).normal(size=(10, 200)) / np.sqrt(10)
    latent = random.normal(size=(n, 10))
    latent[:, :2] += 0.6 * moved
    return latent @ directions + 0.3 * random.normal(size=(n, 200))


def _modes(column, random):
    """Two modes with mean 0 and variance 1."""
    return np.where(random.random(len(column)) < 0.5, 0.9, -0.9) + np.sqrt(1 - 0.9**2) * column


COMPETING: dict[str, Callable] = {
    "shift in one of 10": _one_column(lambda column, _: column + 0.6),
    "shift in all of 10": _shift_in_all,
    "scale of one of 10": _one_column(lambda column, _: 2.0 * column),
    "correlation of a pair of 10": _correlation,
    "two modes in one of 5": _one_column(_modes, 5),
    "ring in two of 5": _ring,
    "mixed table": _mixed_table,
    "exponential, one of 5 times 1.8": _one_column(lambda column, _: 1.8 * column, 5, "exponential"),
    "t3, shift in one of 5": _one_column(lambda column, _: column + 0.8, 5, "t3"),
    "embeddings, 200 columns": _embeddings,
}
