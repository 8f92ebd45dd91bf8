"""Ranks of values, equal ones alike, and values in their order."""

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


def ascending(values: FloatArray) -> FloatArray:
    """The values (N,) sorted; as they are if they are sorted, which is soon seen."""
    return values if bool((values[1:] >= values[:-1]).all()) else np.sort(values)


def distinct_of_sorted(ordered: FloatArray) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """The distinct ones of sorted values, and how often each occurs."""
    firsts = np.flatnonzero(np.append(len(ordered) > 0, ordered[1:] > ordered[:-1])[: len(ordered)])
    return ordered[firsts], np.diff(firsts, append=len(ordered))
