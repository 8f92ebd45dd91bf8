"""Columns of text, categories and booleans as codes of their levels.

Which columns are categories is decided in `kinds`.
"""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.data.table import Coded, code_values, text_of
from densdiff.errors import InputError
from densdiff.messages import listed, warn

Levels = tuple[str, ...] | None  # of a column, sorted; None for numbers
MISSING_LEVEL = "(missing)"
DISTINCT = 0.9  # levels for each row from which on a column names its rows


def warn_of_identifiers(identifiers: Sequence[str], has_others: bool, notes: list[str]) -> None:
    """Warn of columns that name their rows and are left out; an error if there are no others."""
    if identifiers:
        what = f"almost every row has a level of its own, as in an identifier: {listed(identifiers)}"
        if not has_others:
            raise InputError(f"no column is left to use, because {what}; add a column that is no identifier")
        warn(f"columns left out because {what}", notes)


def nullable_booleans(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Booleans that came as floats, because some are missing, as True, False and None."""
    booleans = values.astype(bool).astype(object)
    booleans[np.isnan(values)] = None
    return booleans


class HashedLevels(tuple[str, ...]):
    """Groups of levels by a hash of their names, the last one for missing values; unseen levels have a group too."""

    salt: int

    @classmethod
    def of(cls, labels: Sequence[str], salt: int) -> "HashedLevels":
        """Groups of these labels."""
        found = cls((*labels, MISSING_LEVEL))
        found.salt = salt
        return found

    def code(self, level: str) -> float:
        """The group of a level."""
        return float(hash_of_level(level, self.salt) % (len(self) - 1))

    def __reduce__(self) -> Any:
        return HashedLevels.of, (tuple(self[:-1]), self.salt)


def hash_of_level(level: str, salt: int) -> int:
    """A number that depends on the name of a level alone."""
    return zlib.crc32(f"{salt} {level}".encode())


def codes_of(values: npt.NDArray[Any], levels: Sequence[str]) -> npt.NDArray[np.float64]:
    """The number of each value's level, NaN where it is missing or not among ``levels``."""
    return level_codes(code_values(values), levels)


def level_codes(coded: Coded, levels: Sequence[str]) -> npt.NDArray[np.float64]:
    """`codes_of` values by their distinct ones."""
    code_of_level = {level: float(k) for k, level in enumerate(levels)}
    find = levels.code if isinstance(levels, HashedLevels) else lambda level: code_of_level.get(level, np.nan)
    codes = [find(text_of(value)) for value in coded.distinct[:-1]]
    return np.asarray(np.array([*codes, np.nan])[coded.places])
