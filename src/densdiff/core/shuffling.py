"""A random order of n rows that is never written down: the place of any row is computed from its number alone.

Rows come in blocks, from files and clusters, and an array of n places would have to follow each of them.
"""

import numpy as np
import numpy.typing as npt

_ROUNDS = 6
_ODD = np.uint64(0x9E3779B97F4A7C15)  # a multiplier whose products fill all bits


def shuffled_places(numbers: npt.NDArray[np.integer], n: int, seed: int) -> npt.NDArray[np.int64]:
    """The places of rows 0 <= number < n in a random order of all n, (k,): no two rows have the same.

    A Feistel network shuffles the numbers below the next power of four; a number that leaves the range goes round
    until it is back.
    """
    half = np.uint64(max(1, (max(n - 1, 1).bit_length() + 1) // 2))
    keys = np.random.default_rng([seed, 9]).integers(2**63, size=_ROUNDS, dtype=np.uint64)
    places = _mixed(np.asarray(numbers, dtype=np.uint64), half, keys)
    outside = np.flatnonzero(places >= n)
    while len(outside):
        places[outside] = _mixed(places[outside], half, keys)
        outside = outside[places[outside] >= n]
    return places.astype(np.int64)


def _mixed(numbers: npt.NDArray[np.uint64], half: np.uint64, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """A bijection of the numbers of ``2 half`` bits."""
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = numbers >> half, numbers & mask
    for key in keys:
        hashed = (right + key) * _ODD
        hashed ^= hashed >> np.uint64(29)
        hashed *= _ODD
        left, right = right, left ^ ((hashed >> np.uint64(32)) & mask)
    return np.asarray((left << half) | right)
