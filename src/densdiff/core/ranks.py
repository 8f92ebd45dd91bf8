"""Ranks of values, equal ones alike."""

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray


def average_ranks(values: npt.ArrayLike) -> FloatArray:
    """Ranks from 1, (N,), equal values having the mean of theirs."""
    column = np.ascontiguousarray(values)
    order = np.argsort(column)
    ordered = column[order]
    is_first = np.append(True, ordered[1:] > ordered[:-1])
    firsts = np.flatnonzero(is_first) if len(column) else np.empty(0, dtype=np.intp)
    lasts = np.append(firsts[1:], len(column)) - 1
    ranks = np.empty(len(column))
    ranks[order] = np.repeat(1.0 + 0.5 * (firsts + lasts), lasts - firsts + 1)
    return ranks
