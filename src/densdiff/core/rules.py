"""Rules in terms of the columns: what they say, where they hold, and thresholds that read well.

The search for rules is in `rule_search`, their test in `regions`.
"""

from dataclasses import dataclass
from math import floor, inf, log10

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray

_FIRST_BINS, _BINS = 8, 4  # of a column that differs by itself, and of the next such columns
_FEW_COLUMNS = 40  # beyond, a rule of one condition makes two strata
_APART = 0.95  # difference of shares beyond which hardly a stratum of a column has rows of both samples
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
    held = np.ones(len(rows), dtype=bool)
    for condition in rule:
        x = rows[:, condition.column]
        if condition.levels is None:
            held &= (x > condition.low) & (x <= condition.high)
        else:
            held &= np.isin(x, condition.levels)
    return held


def strata_of(rules: list[Rule], rows: FloatArray) -> tuple[IntArray, BoolArray]:
    """Rows that the rules treat alike have the same number, (N,); and strata outside rules of several conditions.

    A rule of one condition says that its column differs, so rows in different parts of that column are told apart:
    what follows from the column alone is no further finding.
    """
    strata, inside = np.zeros(len(rows), dtype=np.intp), np.zeros(len(rows), dtype=bool)
    bins = _FIRST_BINS
    for rule in rules:
        rule_part = holds(rule, rows).astype(np.intp)
        if len(rule) > 1:
            inside |= rule_part > 0
        elif rows.shape[1] <= _FEW_COLUMNS:
            rule_part = _column_parts(rule[0], rows, bins, rule_part)
            bins = _BINS
        strata = _without_gaps(strata * (int(rule_part.max(initial=0)) + 1) + rule_part)
    outside = np.zeros(int(strata.max(initial=0)) + 1, dtype=bool)
    outside[strata[~inside]] = True
    return strata, outside


def _without_gaps(numbers: IntArray) -> IntArray:
    """Small numbers as 0, 1, 2, .. in their order, none left out."""
    is_there = np.bincount(numbers, minlength=1) > 0
    return np.asarray((np.cumsum(is_there) - 1)[numbers])


def leaves_overlap(rule: Rule, rows: FloatArray, in_b: BoolArray) -> bool:
    """Whether rows that a rule of one condition treats alike are of both samples.

    A column such as the month of two months tells the samples apart by itself. Within its strata nothing can differ,
    and what else is to be found would be lost.
    """
    held = holds(rule, rows)
    return len(rule) > 1 or abs(float(np.mean(held[in_b])) - float(np.mean(held[~in_b]))) < _APART


def _column_parts(condition: Condition, rows: FloatArray, bins: int, otherwise: IntArray) -> IntArray:
    """Which of a few parts of a column each row is in."""
    x = rows[:, condition.column]
    if condition.levels is not None:
        return x.astype(np.intp) if x.max(initial=0.0) < bins else otherwise
    cuts = np.unique(np.quantile(x, np.arange(1, bins) / bins))
    return np.searchsorted(cuts, x)


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
