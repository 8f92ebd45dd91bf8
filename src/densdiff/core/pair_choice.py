"""Which pairs of columns whose dependence changed a reader needs to see: one for each story, the largest first."""

from collections.abc import Sequence

import numpy as np

from densdiff.core.dependence import PairChange
from densdiff.core.dependence_words import TELLING, ToldChange, told_change
from densdiff.core.scaling import FloatArray

_CLOSE = 0.4  # product of associations from which one pair stands for another


def choose_pairs(changes: Sequence[PairChange], alpha: float, most: int) -> tuple[list[ToldChange], int]:
    """Significant changes that do not follow from those before them, the largest first, and how many more there are.

    ``changes`` are all pairs of the columns, but for some that neither changed nor are related. If y and z came to
    depend on each other by 0.4 more, then a column x that has correlation 0.9 with y is expected to depend on z by 0.36
    more. A pair is told if it changed by at least ``TELLING``, and by as much more than every pair told before lets
    expect.

    Choosing here looks at the same rows as the tests, but only leaves out: p-values are adjusted over all pairs, so
    that the chance of any false one among all, and hence among those told, is at most alpha.
    """
    significant = [told_change(pair) for pair in changes if pair.pvalue_adjusted <= alpha]
    association = _association(changes)
    told: list[ToldChange] = []
    for candidate in sorted(significant, key=lambda change: (-change.change, change.pair.pvalue)):
        news = min((candidate.change - _expected(candidate, other, association) for other in told), default=1.0)
        if min(news, candidate.change) >= TELLING and len(told) < most:
            told.append(candidate)
    return told, len(significant) - len(told)


def _association(changes: Sequence[PairChange]) -> FloatArray:
    """How closely two columns are related in both samples, the weaker of the two, (d, d); 0 if the signs differ."""
    d = max((pair.second for pair in changes), default=0) + 1
    association = np.eye(d)
    for pair in changes:
        a, b = pair.dependence_a, pair.dependence_b
        weaker = min(a, b, key=abs) if a * b > 0 else 0.0
        association[pair.first, pair.second] = association[pair.second, pair.first] = weaker
    return association


def _expected(candidate: ToldChange, told: ToldChange, association: FloatArray) -> float:
    """By how much a pair is expected to change if another one did, in the direction in which it changed."""
    i, j = candidate.pair.first, candidate.pair.second
    ends = (told.pair.first, told.pair.second)
    closeness = max((association[i, y] * association[j, z] for y, z in (ends, ends[::-1])), key=abs)
    if abs(closeness) < _CLOSE:
        return 0.0
    own, other = candidate.signed_change, told.signed_change
    if own is None or other is None:
        return float(abs(closeness) * told.change)
    return float(closeness * other * np.sign(own))
