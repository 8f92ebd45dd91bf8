"""The smallest effects that count, in total variation: one for all columns, or one for each by name or pattern."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from densdiff import messages
from densdiff.errors import InputError

MinEffect = float | dict[str, float]

EVERYTHING = "*"


def check_effects(value: Any) -> MinEffect:
    """The smallest total variation that counts: one for all, or one for each column by name or pattern."""
    if not isinstance(value, Mapping):
        return _check_effect(value, "")
    if others := [name for name in value if not isinstance(name, str)]:
        text = f"{messages.argument('min_effect')} must name columns as text; got {messages.describe_value(others[0])}"
        raise InputError(text, argument="min_effect")
    return {name: _check_effect(least, f" for {messages.shown(name)}") for name, least in value.items()}


def _check_effect(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not 0 <= value <= 1:
        need = f"{messages.argument('min_effect')} must lie between 0 and 1, like the total variation"
        raise InputError(f"{need}; got {messages.describe_value(value)}{where}", argument="min_effect")
    return float(value)


def refuse_unmatched(least: MinEffect, names: Sequence[str]) -> None:
    """Raise if a smallest effect is given for columns that neither table has."""
    patterns = least if isinstance(least, dict) else {}
    for pattern in patterns:
        if pattern != EVERYTHING and not any(name == pattern or fnmatchcase(name, pattern) for name in names):
            text = f"{messages.argument('min_effect')} is given for {messages.shown(pattern)}, which matches no column"
            raise InputError(f"{text}; there are {messages.listed(names)}", argument="min_effect", column=pattern)


def smallest_effect(least: MinEffect, name: str = "") -> float:
    """The smallest effect that counts in a column: by its name, else by the longest pattern; without a name, in all."""
    if not isinstance(least, dict):
        return least
    if name in least:
        return least[name]
    patterns = [pattern for pattern in least if name and fnmatchcase(name, pattern)]
    return least.get(max(patterns, key=len, default=EVERYTHING), 0.0)
