"""How many rows moved, seen by sets that the reference alone fixes: ranges and levels of single columns.

A witness that is learned from reference and batch sees the more, the more rows the batch has. Sets that are fixed
before the batch comes see the same in a small batch as in a large one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from densdiff.core.separation import newcombe_interval
from densdiff.core.tails import CELLS, group_cells


class Shares(NamedTuple):
    """Shares of the rows of the reference and of a batch in some sets, (k,) each."""

    reference: npt.NDArray[np.float64]
    batch: npt.NDArray[np.float64]


class FrozenVariation(NamedTuple):
    """The largest difference of shares in any of the sets, and its interval, corrected for their number."""

    value: float
    interval: tuple[float, float]


def column_shares(reference: npt.ArrayLike, batch: npt.ArrayLike, is_ordered: bool) -> Shares:
    """Shares in sets of the cells of a column, from the rows in each cell: all up to each sixteenth of the reference's
    rows if cells have an order, else each of its most frequent levels and all others."""
    groups = group_cells(reference, is_ordered, CELLS)
    counts = [np.bincount(groups, np.asarray(own, dtype=np.float64)) for own in (reference, batch)]
    shares = [own / max(own.sum(), 1.0) for own in counts]
    if is_ordered:
        shares = [np.cumsum(own)[:-1] for own in shares]
    return Shares(*shares)


def largest_shift(columns: Sequence[Shares], n: int, m: int, level: float) -> FrozenVariation:
    """The set of all columns in which n rows of the reference and m of a batch differ most; E26.

    For any set the expectation is at most the total variation, whatever m is.
    """
    p, q = (np.concatenate([own[side] for own in columns]) if columns else np.empty(0) for side in (0, 1))
    if not len(p):
        return FrozenVariation(0.0, (0.0, 1.0))
    best = int(np.abs(p - q).argmax())
    high, low = (q[best], p[best]), (p[best], q[best])
    shares, sizes = (high, (m, n)) if q[best] >= p[best] else (low, (n, m))
    bounds = newcombe_interval(float(shares[0]), float(shares[1]), *sizes, 1.0 - (1.0 - level) / len(p))
    return FrozenVariation(float(shares[0] - shares[1]), (max(0.0, bounds[0]), bounds[1]))
