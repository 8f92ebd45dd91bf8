"""Columns of text, categories and booleans as codes of their levels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.data.table import absent, text_of
from densdiff.errors import InputError
from densdiff.messages import listed, warn

Levels = tuple[str, ...] | None  # of a column, sorted; None for numbers
MISSING_LEVEL = "(missing)"
DISTINCT = 0.9  # levels for each row from which on a column names its rows


def warn_of_identifiers(identifiers: Sequence[str], others: bool, notes: list[str]) -> None:
    """Warn of columns that name their rows and are left out; an error if there are no others."""
    if identifiers:
        what = f"almost every row has a level of its own, which says nothing about others: {listed(identifiers)}"
        if not others:
            raise InputError(f"no column is left; {what}")
        warn(f"left out because {what}", notes)


def nullable_booleans(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Booleans that came as floats, because some are missing, as True, False and None."""
    found = values.astype(bool).astype(object)
    found[np.isnan(values)] = None
    return found


def codes_of(values: npt.NDArray[Any], levels: Sequence[str]) -> npt.NDArray[np.float64]:
    """The number of each value's level, NaN where it is missing or no level of these."""
    number = {level: float(k) for k, level in enumerate(levels)}
    given = values.tolist()
    table = {value: np.nan if absent(value) else number.get(text_of(value), np.nan) for value in dict.fromkeys(given)}
    # a missing value that is not equal to itself is not found again unless it is the same object
    return np.fromiter((table.get(value, np.nan) for value in given), np.float64, len(given))
