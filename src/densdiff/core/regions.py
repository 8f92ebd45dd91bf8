"""Regions in terms of the columns with more or fewer rows of B than of A, found on each half, tested on the other.

The k-th rule must differ twice in the test half: in all rows, and within the strata that the rules before it make, so
that a consequence of an earlier rule is not reported again. Its p-value is the larger of the two, each exact given the
margins (Fisher's test; with strata a sum of independent hypergeometric counts).

What is left out after the tests (rules for about the same rows, beyond the first few, or that `restating` takes out) is
left out in view of the test half. That is harmless: each half's p-values are adjusted over all rules tested there, so
that the chance of any false rule among all of them is at most alpha, and among a selection of them no more.
"""

from collections.abc import Set
from dataclasses import dataclass, replace
from math import erfc, floor, sqrt

import numpy as np
from scipy.special import gammaln, ndtri

from densdiff.core.resample import holm
from densdiff.core.rule_search import search_rules
from densdiff.core.rules import BoolArray, Condition, IntArray, Rule, holds, leaves_overlap, strata_of
from densdiff.core.scaling import FloatArray

__all__ = ["Condition", "Region", "Rule", "find_regions", "holds"]

_LEAST = 40  # rows
_SEARCHED = 20_000  # rows searched at most; all of the other half are tested
_EXACT = 2500.0  # variance of a count up to which its law is written out; beyond it is normal to 2 %
_REACH = 40.0  # deviations written out
_TIE = 1e-7
_SAME = 0.5  # of the rows of two rules, beyond which they are one finding


@dataclass(frozen=True)
class Region:
    """A rule and how often it holds in the test half.

    ``interval`` is Newcombe's for share_b - share_a, simultaneous over the rules tested; ``pvalue`` is adjusted for
    their number (Holm) and for the two halves.
    """

    rule: Rule
    count_a: int
    count_b: int
    share_a: float
    share_b: float
    interval: tuple[float, float]
    pvalue: float


def find_regions(
    rows: FloatArray, in_b: BoolArray, n_levels: IntArray, alpha: float, random: np.random.Generator, most: int = 10
) -> list[Region]:
    """Regions whose adjusted p is at most alpha; the one with the largest difference in deviations first.

    Each half is searched and tested by the other at half of alpha. Of rules that say the same, or hold for about the
    same rows or for about all others, the strongest stays; one whose interval has 0 in it is none.
    """
    orders = [random.permutation(np.flatnonzero(in_b == side)) for side in (False, True)]
    if len(rows) < _LEAST or min(map(len, orders)) < 2:
        return []
    halves = [[order[: len(order) // 2], order[len(order) // 2 :]] for order in orders]
    candidates: list[tuple[float, Region]] = []
    apart: set[Rule] = set()  # rules that leave nothing to differ within their strata
    for searched, tested in ((0, 1), (1, 0)):
        search_half = np.concatenate([half[searched][: _SEARCHED // 2] for half in halves])
        test_half = np.concatenate([half[tested] for half in halves])
        if rules := search_rules(rows[search_half], in_b[search_half], n_levels, most):
            apart |= {rule for rule in rules if not leaves_overlap(rule, rows[search_half], in_b[search_half])}
            candidates += _confirm(rules, rows[test_half], in_b[test_half], alpha / 2, apart)
    regions: list[Region] = []
    for _, region in sorted(candidates, key=lambda candidate: -candidate[0]):
        earlier, _ = strata_of([other.rule for other in regions if other.rule not in apart], rows)
        held = holds(region.rule, rows)
        p, z = conditional_test(held, in_b, earlier)
        named = {other.rule[0].column for other in regions if len(other.rule) == 1}
        again = len(region.rule) == 1 and region.rule[0].column in named
        again = again or any(_is_same(held, holds(other.rule, rows)) for other in regions)
        if not again and p <= alpha and z * (region.share_b - region.share_a) > 0 and len(regions) < most:
            regions.append(replace(region, pvalue=min(1.0, 2.0 * region.pvalue)))
    return regions


def _confirm(
    rules: list[Rule], rows: FloatArray, in_b: BoolArray, alpha: float, apart: Set[Rule] = frozenset()
) -> list[tuple[float, Region]]:
    """The rules that hold up in rows they were not found in, each with its difference in deviations.

    Rules in ``apart``, which is known from other rows than these, make no strata.
    """
    pvalues, deviations = np.empty(len(rules)), np.empty(len(rules))
    held = [holds(rule, rows) for rule in rules]
    for k, in_rule in enumerate(held):
        overall, deviations[k] = conditional_test(in_rule, in_b, np.zeros(len(rows), dtype=np.intp))
        pvalues[k], within = conditional_test(
            in_rule, in_b, strata_of([r for r in rules[:k] if r not in apart], rows)[0]
        )
        pvalues[k] = max(overall, pvalues[k]) if deviations[k] * within > 0 else 1.0
    adjusted = holm(pvalues)
    sizes = np.array([np.sum(~in_b), np.sum(in_b)])
    regions = []
    for k in range(len(rules)):
        a, b = int(np.sum(held[k] & ~in_b)), int(np.sum(held[k] & in_b))
        interval = newcombe(np.array([a, b]), sizes, alpha / len(rules))
        if adjusted[k] > alpha or interval[0] <= 0 <= interval[1]:  # Holm may reject where the interval has 0 in it
            continue
        region = Region(rules[k], a, b, a / int(sizes[0]), b / int(sizes[1]), interval, float(adjusted[k]))
        regions.append((abs(float(deviations[k])), region))
    return regions


def _is_same(one: BoolArray, other: BoolArray) -> bool:
    """Whether two rules hold for about the same rows, or one where the other does not: rows of both over of either."""
    return any(np.sum(one & rows) > _SAME * np.sum(one | rows) for rows in (other, ~other))


def conditional_test(held: BoolArray, in_b: BoolArray, stratum: IntArray) -> tuple[float, float]:
    """Two-sided p of the number of rows of B in a rule given the margins of each stratum, and its deviation z."""
    strata = int(stratum.max(initial=0)) + 1
    total = np.bincount(stratum, minlength=strata)
    drawn = np.bincount(stratum[held], minlength=strata)
    of_b = np.bincount(stratum[in_b], minlength=strata)
    return conditional_counts(total, of_b, drawn, int(np.sum(held & in_b)))


def conditional_counts(total: IntArray, of_b: IntArray, drawn: IntArray, hits: int) -> tuple[float, float]:
    """`conditional_test` from the rows of each stratum: all, those of B, those in the rule; ``hits`` are both."""
    strata = len(total)
    mean = drawn * of_b.astype(np.float64) / np.maximum(total, 1)  # of 10^10 rows the product is no integer of 64 bits
    variance = mean * (total - of_b) * (total - drawn) / np.maximum(total, 1) / np.maximum(total - 1, 1)
    excess, spread = hits - mean.sum(), variance.sum()
    if spread == 0:
        return 1.0, 0.0
    z = float(excess / sqrt(spread))
    if spread > _EXACT:
        return erfc(max(abs(excess) - 0.5, 0.0) / sqrt(2 * spread)), z
    first, law = 0, np.ones(1)
    for k in range(strata):
        low, stratum_law = _hypergeometric(
            int(total[k]), int(of_b[k]), int(drawn[k]), mean[k], _REACH * (sqrt(variance[k]) + 1)
        )
        first, law = first + low, np.convolve(law, stratum_law)
    place = hits - first
    if not 0 <= place < len(law):
        return 0.0, z
    return min(1.0, float(law[law <= law[place] * (1 + _TIE)].sum())), z


def _hypergeometric(total: int, good: int, drawn: int, mean: float, reach: float) -> tuple[int, FloatArray]:
    """Probabilities of the counts within `reach` of the mean, and the first of these counts."""
    low = max(0, good + drawn - total, floor(mean - reach))
    k = np.arange(low, min(good, drawn, floor(mean + reach) + 1) + 1)
    logs = -gammaln(k + 1) - gammaln(good - k + 1) - gammaln(drawn - k + 1) - gammaln(total - good - drawn + k + 1)
    law = np.exp(logs - logs.max())
    return low, law / law.sum()


def newcombe(counts: IntArray, sizes: IntArray, alpha: float) -> tuple[float, float]:
    """Hybrid score interval of the second share less the first."""
    share, square = counts / sizes, float(ndtri(alpha / 2)) ** 2
    middle = (counts + square / 2) / (sizes + square)
    half = np.sqrt(square * (counts * (1 - share) + square / 4)) / (sizes + square)  # Wilson's interval of each
    below, above = share - (middle - half), middle + half - share
    gap = share[1] - share[0]
    return float(gap - np.hypot(below[1], above[0])), float(gap + np.hypot(above[1], below[0]))
