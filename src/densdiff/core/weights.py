"""Row weights: one broadcast number where all are equal, their squares, and their sums over groups of rows.

Groups themselves are assigned in `selection`.
"""

import numpy as np

from densdiff.core.scaling import FloatArray
from densdiff.core.selection import GroupPattern


def compact_weights(omega: FloatArray) -> FloatArray | float:
    """Weights as a task takes them along: one number if it is broadcast."""
    return float(omega[0]) if omega.strides == (0,) else omega


def weights_at(omega: FloatArray | float, start: int, count: int) -> FloatArray:
    """Weights of consecutive rows, from `compact_weights`, (count,)."""
    return np.broadcast_to(omega, count) if isinstance(omega, float) else omega[start : start + count]


def sum_of_squares(omega: FloatArray) -> float:
    """Sum of squared weights, without an array of n numbers where one number is broadcast."""
    even = omega.strides == (0,) or bool((omega == omega[0]).all())  # a pickled model has no broadcast number
    return float(len(omega) * omega[0] ** 2) if even else float(np.square(omega).sum())


def group_masses(groups: GroupPattern, omega: FloatArray) -> FloatArray:
    """Sum of the weights of each group, (groups,)."""
    if omega.strides == (0,):  # one number for all
        return np.asarray(groups.counts() * omega[0])
    return np.bincount(groups.all(), omega).astype(np.float64)
