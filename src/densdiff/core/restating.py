"""Whether a rule only restates that a column differs: then its shares do not differ within parts of that column."""

import numpy as np

from densdiff.core.rules import BoolArray, IntArray, Rule, holds
from densdiff.core.scaling import FloatArray

_BINS, _LEVELS = 32, 32  # parts of a column of numbers, and of a category; its rarer levels are one part
_SHARED = 0.5  # of the rows of each sample that must be in parts which have rows of both
_RESTATED = 0.2  # share of a difference that may be left within the parts


class Parts:
    """Parts of columns that differ: rows that are alike in a column are one part of it."""

    def __init__(self, columns: list[int], rows: FloatArray, n_levels: IntArray) -> None:
        self._of_columns = {j: _parts(rows[:, j], int(n_levels[j])) for j in columns}

    def restated_by(self, rule: Rule, rows: FloatArray, in_b: BoolArray) -> int | None:
        """The first of the columns that accounts for the difference of a rule; None if there is none.

        A rule of one condition restates its own column. Any other restates a column if its shares in A and B are
        nearly equal among rows that are alike in that column.
        """
        held = holds(rule, rows)
        for column, parts in self._of_columns.items():
            if len(rule) == 1 and rule[0].column == column:
                return column
            left = _left_within(held, in_b, parts)
            if left is not None and abs(left) <= _RESTATED:
                return column
        return None


def _parts(x: FloatArray, n_levels: int) -> IntArray:
    """Which part of a column each row is in, (N,)."""
    if n_levels == 0:
        cuts = np.unique(np.quantile(x, np.arange(1, _BINS) / _BINS))
        return np.searchsorted(cuts, x)
    codes = x.astype(np.intp)
    frequent = np.argsort(-np.bincount(codes, minlength=n_levels), kind="stable")[:_LEVELS]
    part = np.full(n_levels, _LEVELS)
    part[frequent] = np.arange(len(frequent))
    return np.asarray(part[codes])


def _left_within(held: BoolArray, in_b: BoolArray, parts: IntArray) -> float | None:
    """Difference of shares within parts over that in all rows; None if too few parts have rows of both samples.

    Parts are weighted as by Mantel and Haenszel.
    """
    size = int(parts.max()) + 1
    n, m = (np.bincount(parts[side], minlength=size).astype(np.float64) for side in (~in_b, in_b))
    held_a, held_b = (np.bincount(parts[side & held], minlength=size) for side in (~in_b, in_b))
    both = (n > 0) & (m > 0)
    overall = held_b.sum() / m.sum() - held_a.sum() / n.sum()
    if min(n[both].sum() / n.sum(), m[both].sum() / m.sum()) < _SHARED or overall == 0:
        return None
    n, m, held_a, held_b = n[both], m[both], held_a[both], held_b[both]
    weights = n * m / (n + m)
    return float(weights @ (held_b / m - held_a / n) / weights.sum() / overall)
