"""What a difference is called: sizes in words, what moved in a column, conditions of a rule."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from densdiff import messages
from densdiff.core.rules import Condition
from densdiff.core.scaling import FloatArray
from densdiff.results import EFFECTS
from densdiff.sources.sample import Sample

_SHIFT, _SPREAD = 0.05, 0.1  # deviations, and logarithm of a ratio, below which something else moved more
_LEVELS = 3  # told of a column
_RANGE_ROWS = 5000


def effect_word(normalized: float) -> str:
    """The normalized distance in words."""
    return next((word for limit, word in EFFECTS if normalized < limit), "very large")


def percent(share: float) -> str:
    """A share in percent, with enough digits to tell it from 0."""
    return f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else f"{100 * share:.2g} %"


def describe_shift(a: Sample, b: Sample) -> str:
    """What changed in a column of numbers: its level, its spread, or the share of rows in some range."""
    (level_a, spread_a), (level_b, spread_b) = (rows.moments.level_and_spread() for rows in (a, b))
    means, spreads = [float(level_a[0]), float(level_b[0])], [float(spread_a[0]), float(spread_b[0])]
    gap = float(a.moments.gap(b.moments)[0])
    share = len(b) / (len(a) + len(b))
    between = np.sqrt(share * (1.0 - share)) * abs(gap)
    within = np.hypot(np.sqrt(1.0 - share) * spreads[0], np.sqrt(share) * spreads[1])
    scale = max(float(np.hypot(within, between)), np.finfo(float).tiny)
    text = _describe_moments(means, gap, spreads, scale)
    return text or _describe_range(*(rows.spaced(_RANGE_ROWS)[:, 0] for rows in (a, b)))


def _describe_moments(means: list[float], gap: float, spreads: list[float], scale: float) -> str:
    """Whether the level or the spread moved, in units of the pooled deviation; nothing if neither did."""
    shift = gap / scale
    of_means = f"{'higher' if shift > 0 else 'lower'} in B: mean {means[0]:.4g} -> {means[1]:.4g}"
    if min(spreads) <= 1e-12 * scale:
        return of_means
    ratio = float(np.log(spreads[1] / spreads[0]))
    if abs(shift) >= max(_SHIFT, 0.5 * abs(ratio)):
        return f"{of_means} ({shift:+.2g} standard deviations)"
    if abs(ratio) >= _SPREAD:
        return f"{'wider' if ratio > 0 else 'narrower'} in B: standard deviation {spreads[0]:.4g} -> {spreads[1]:.4g}"
    return ""


def _describe_range(a: FloatArray, b: FloatArray) -> str:
    """The range in which the share of rows changed most."""
    values = np.sort(np.concatenate([a, b]))
    below_a, below_b = (np.searchsorted(np.sort(rows), values, "right") / len(rows) for rows in (a, b))
    rise = below_b - below_a
    low, high = sorted((int(rise.argmin()), int(rise.argmax())))
    more = "more" if rise[high] > rise[low] else "fewer"
    change = 100 * abs(rise[high] - rise[low])
    return f"{more} rows in B between {values[low]:.4g} and {values[high]:.4g} (by {change:.2g} % of the rows)"


def describe_levels(levels: Sequence[str], a: npt.NDArray[np.integer], b: npt.NDArray[np.integer]) -> str:
    """Which levels gained and lost most."""
    shares_a, shares_b = a / a.sum(), b / b.sum()
    moved_most = np.argsort(-np.abs(shares_b - shares_a), kind="stable")[:_LEVELS]
    return ", ".join(
        f"{messages.quote_name(levels[k])} {percent(shares_a[k])} -> {percent(shares_b[k])}"
        for k in moved_most
        if shares_a[k] != shares_b[k]
    )


def condition_text(condition: Condition, names: Sequence[str], levels: Sequence[tuple[str, ...] | None]) -> str:
    """One condition of a rule, by the levels inside or those outside, whichever are fewer."""
    name, column_levels = messages.quote_name(names[condition.column]), levels[condition.column]
    if condition.levels is not None and column_levels is not None:
        inside = [messages.quote_name(column_levels[k]) for k in condition.levels]
        outside = [messages.quote_name(level) for k, level in enumerate(column_levels) if k not in condition.levels]
        if len(inside) > len(outside) and outside:
            return f"{name} != {outside[0]}" if len(outside) == 1 else f"{name} not in {_set_text(outside)}"
        return f"{name} = {inside[0]}" if len(inside) == 1 else f"{name} in {_set_text(inside)}"
    if np.isneginf(condition.low):
        return f"{name} <= {condition.high:.10g}"
    if np.isposinf(condition.high):
        return f"{name} > {condition.low:.10g}"
    return f"{condition.low:.10g} < {name} <= {condition.high:.10g}"


def _set_text(labels: list[str]) -> str:
    more = f" and {len(labels) - 5} more" if len(labels) > 5 else ""
    return "{" + ", ".join(labels[:5]) + more + "}"
