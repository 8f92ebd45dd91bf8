"""Rules in terms of the columns: what they say, where they hold, and thresholds that read well."""

from dataclasses import dataclass
from math import floor, inf, log10

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Condition:
    """What one column must be: ``low < x <= high`` for numbers, a code among `levels` for categories."""

    column: int
    low: float = -inf
    high: float = inf
    levels: tuple[int, ...] | None = None


Rule = tuple[Condition, ...]  # all hold; at most one condition a column


def holds(rule: Rule, rows: FloatArray) -> BoolArray:
    """Which rows fulfil all conditions, (N,)."""
    found = np.ones(len(rows), dtype=bool)
    for condition in rule:
        x = rows[:, condition.column]
        if condition.levels is None:
            found &= (x > condition.low) & (x <= condition.high)
        else:
            found &= np.isin(x, condition.levels)
    return found


def strata_of(rules: list[Rule], rows: FloatArray) -> IntArray:
    """Rows for which the same rules hold have the same number; 0 are those for which none does."""
    found = np.zeros(len(rows), dtype=np.intp)
    for rule in rules:
        found = 2 * found + holds(rule, rows)
        values, found = np.unique(found, return_inverse=True)
        found += int(values[0] > 0)
    return found


def shortest_between(low: float, high: float, otherwise: float) -> float:
    """The decimal of fewest places strictly between, near the middle; `otherwise` if 17 digits do not suffice."""
    middle, half = low / 2 + high / 2, high / 2 - low / 2
    if not half > 0:
        return otherwise
    places = -floor(log10(half)) - 1
    for digits in range(places, places + 18):
        short = round(middle, digits)
        if low < short < high:
            return short
    return otherwise
