"""Ranks of values, equal ones alike."""

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from densdiff.core.scaling import FloatArray


def average_ranks(values: npt.ArrayLike) -> FloatArray:
    """Ranks from 1, (N,), equal values having the mean of theirs; SciPy, which takes longer, is asked only for ties."""
    column = np.ascontiguousarray(values)
    order = np.argsort(column)
    ordered = column[order]
    if not (ordered[1:] > ordered[:-1]).all():
        return np.asarray(rankdata(column), dtype=np.float64)
    ranks = np.empty(len(column))
    ranks[order] = np.arange(1.0, len(column) + 1.0)
    return ranks
