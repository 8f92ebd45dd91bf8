"""Codes with leading zeros, such as the ZIP code 01234, in columns of a CSV file that pyarrow takes for numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from densdiff.io.arrow import pyarrow


@dataclass(frozen=True)
class CodeCount:
    """How many texts of a column there are, how many are digits only, and how many of these begin with a spare zero."""

    texts: int = 0
    digits: int = 0
    zeros: int = 0

    def __add__(self, other: "CodeCount") -> "CodeCount":
        return CodeCount(self.texts + other.texts, self.digits + other.digits, self.zeros + other.zeros)

    @property
    def are_codes(self) -> bool:
        """Whether they are codes: digits throughout, some with a zero that no number begins with."""
        return self.zeros > 0 and self.digits == self.texts


def count_codes(texts: Any) -> CodeCount:
    """What the texts of a pyarrow column look like; missing ones do not count."""
    compute = pyarrow("compute")
    present = texts.drop_null()
    digits = compute.utf8_is_digit(present)
    if not compute.all(digits, min_count=0).as_py():
        present = compute.utf8_trim_whitespace(present)
        digits = compute.utf8_is_digit(present)
    zeros = compute.and_(compute.starts_with(present, "0"), compute.greater(compute.binary_length(present), 1))
    zeros = compute.and_(digits, zeros)
    n_digits, n_zeros = (int(compute.sum(of, min_count=0).as_py()) for of in (digits, zeros))
    return CodeCount(len(present), n_digits, n_zeros)


def may_hold_codes(data: bytes, sep: str) -> bool:
    """Whether some field of a CSV text begins with a zero and another digit; False is certain, and quickly found."""
    view = np.frombuffer(data, np.uint8)
    zeros = np.flatnonzero(view[:-1] == ord("0"))
    after = view[zeros + 1]
    zeros = zeros[(after >= ord("0")) & (after <= ord("9"))]
    before = view[zeros[zeros > 0] - 1]
    return bool(np.isin(before, [*f'{sep}\r\n" '.encode()]).any()) or view[:1].tobytes() == b"0"
