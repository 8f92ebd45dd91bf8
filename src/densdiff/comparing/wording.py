"""What a difference is called: sizes in words, shares, conditions of a rule.

What moved in a column is worded in `movement`, the answer as a whole in `answer`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from densdiff import messages
from densdiff.core.rules import Condition
from densdiff.data.match import SchemaChanges
from densdiff.results import EFFECTS


def effect_word(total_variation: float) -> str:
    """A total variation in words."""
    return next((word for limit, word in EFFECTS if total_variation < limit), "very large")


def whole_percent(share: float) -> str:
    """A share in percent as a headline gives it, rounded down: what is at least so much stays true."""
    hundredths = np.floor(1000 * share) / 10 if share < 0.1 else np.floor(100 * share)
    return f"{hundredths:g} %" if hundredths else f"{100 * share:.1g} %"


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


def schema_texts(changes: SchemaChanges, names: tuple[str, str]) -> list[str]:
    """What changed in the columns that there are, one sentence each."""
    texts = [f"column {messages.quote_name(name)} is only in {names[0]}" for name in changes.missing]
    texts += [f"column {messages.quote_name(name)} is only in {names[1]}" for name in changes.added]
    return texts + [
        f"column {messages.quote_name(name)} holds {kind_a} in {names[0]} and {kind_b} in {names[1]}"
        for name, kind_a, kind_b in changes.other_kind
    ]


def emptied_text(rate: Any, names: tuple[str, str]) -> str:
    """A column that has no values in one of the tables, though it has some in the other."""
    return f"column {messages.quote_name(rate.name)} has no values in {names[0 if rate.share_a == 1.0 else 1]}"
