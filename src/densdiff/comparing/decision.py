"""Whether two tables differ, at one level in all, and why.

The joint test takes half of alpha; the columns and their missing values share the other half.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from densdiff import messages
from densdiff.comparing.effects import smallest_effect
from densdiff.comparing.findings import ColumnDifference, MissingDifference
from densdiff.comparing.results import Comparison
from densdiff.comparing.wording import emptied_text, schema_texts
from densdiff.core import resample
from densdiff.core.regions import conditional_counts
from densdiff.core.separation import newcombe_interval
from densdiff.distance.total_variation import TotalVariationResult
from densdiff.messages import percent


def missing_rates(
    counts: Sequence[tuple[str, int, int]], sizes: tuple[int, int], n_columns: int, alpha: float
) -> list[MissingDifference]:
    """How often each column is missing, by exact tests that Holm's rule adjusts, as a part of all tests of columns."""
    (n, m), pvalues = sizes, []
    for _, missing_a, missing_b in counts:
        total, of_b, missing = (np.array([count]) for count in (n + m, m, missing_a + missing_b))
        pvalues.append(float(conditional_counts(total, of_b, missing, missing_b)[0]))
    share = family_share(len(counts), n_columns)
    adjusted = np.minimum(1.0, resample.holm(np.array(pvalues)) / share)
    return [
        MissingDifference(name, missing_a / n, missing_b / m, float(p), bool(p <= 0.5 * alpha))
        for (name, missing_a, missing_b), p in zip(counts, adjusted, strict=True)
    ]


def family_share(tests: int, others: int) -> float:
    """The part of their common level that some tests take beside others: by their number."""
    return tests / (tests + others) if others else 1.0


def with_missing_rate(
    column: ColumnDifference, rate: MissingDifference, sizes: tuple[int, int], level: float
) -> ColumnDifference:
    """A column to which its missing values belong: it differs if they do, and no less than they do."""
    if not rate.differs:
        return column
    lower = max(0.0, _rate_interval(rate, sizes, level)[0])
    told = f"missing {percent(rate.share_a)} -> {percent(rate.share_b)}"
    is_told = "missing " in column.direction  # as one of the levels that moved most
    values = column.total_variation_interval[0]
    return replace(
        column,
        differs=True,
        direction=(column.direction if is_told else f"{column.direction}; {told}") if column.differs else told,
        pvalue_adjusted=min(column.pvalue_adjusted, rate.pvalue_adjusted),
        is_smallest=column.is_smallest and column.pvalue_adjusted <= rate.pvalue_adjusted,
        total_variation=max(column.total_variation, rate.size),
        total_variation_interval=(max(values, lower), 1.0),
        moved=max(column.moved, rate.size),
    )


def with_missing_rates(
    total: TotalVariationResult,
    missing: Sequence[MissingDifference],
    columns: Sequence[ColumnDifference],
    sizes: tuple[int, int],
) -> TotalVariationResult:
    """The total variation of all columns, which is no less than that of missing values of a column that is compared."""
    compared = {column.name for column in columns}
    rates = [rate for rate in missing if rate.differs and rate.name in compared]
    if not rates:
        return total
    shared = 1.0 - (1.0 - total.level) / (len(missing) + len(columns))
    lower = max(total.interval[0], *(_rate_interval(rate, sizes, shared)[0] for rate in rates))
    most = max(rates, key=lambda rate: rate.size)
    if most.size > total.value:
        side = (1.0 - most.share_a, 1.0 - most.share_b) if most.share_a < most.share_b else (most.share_a, most.share_b)
        total = replace(
            total,
            value=most.size,
            raw=most.size,
            separated_interval=_rate_interval(most, sizes, total.level),
            share_x=side[0],
            share_y=side[1],
            witness=f"missing values of column {most.name!r}",
        )
    return replace(total, interval=(min(lower, total.value), 1.0))


def _rate_interval(rate: MissingDifference, sizes: tuple[int, int], level: float) -> tuple[float, float]:
    """Interval of the difference of two rates, the higher less the lower."""
    if rate.share_a > rate.share_b:
        return newcombe_interval(rate.share_a, rate.share_b, *sizes, level)
    return newcombe_interval(rate.share_b, rate.share_a, *sizes[::-1], level)


def find_reasons(result: Comparison) -> list[str]:
    """Why two tables differ, one short sentence each; nothing if they do not."""
    reasons = schema_texts(result.schema_changes, result.names)
    variation, least = result.total_variation, result.min_effect
    if result.test.pvalue <= 0.5 * result.alpha and variation.value >= smallest_effect(least):
        reasons.append(f"all columns together differ: total variation {variation.value:.3g}, {result.p_text}")
    for column in result.columns:
        if column.differs and column.total_variation >= smallest_effect(least, column.name):
            size = f"total variation {column.total_variation:.3g}, {column.p_text}"
            reasons.append(f"column {messages.quote_name(column.name)} differs: {size}")
    compared = {column.name for column in result.columns}
    for rate in result.missing:
        if rate.name not in compared and rate.differs and rate.size >= smallest_effect(least, rate.name):
            reasons.append(emptied_text(rate, result.names))
    return reasons


def decision_pvalue(comparison: Comparison) -> tuple[float, bool]:
    """The p-value of a whole comparison, and whether it is the smallest that relabelling can give.

    The joint test and the columns with their missing values take half of the level each, so it is twice the smallest
    of their p-values. What is smaller than the smallest effect that counts does not count: that only raises it.
    """
    least, test = comparison.min_effect, comparison.test
    parts = []
    if comparison.total_variation.value >= smallest_effect(least):
        parts.append((test.pvalue, comparison.p_text.startswith("p <")))
    for column in comparison.columns:
        if column.total_variation >= smallest_effect(least, column.name):
            parts.append((column.pvalue_adjusted, column.is_smallest))
    for rate in comparison.missing:
        if rate.size >= smallest_effect(least, rate.name):
            parts.append((rate.pvalue_adjusted, False))
    pvalue, is_smallest = min(parts, default=(1.0, False))
    return min(1.0, 2.0 * pvalue), is_smallest and 2.0 * pvalue < 1.0
