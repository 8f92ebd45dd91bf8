"""Resampling under the null: how many rows of each cell a random relabelling gives to X."""

import numpy as np
import numpy.typing as npt

CountArray = npt.NDArray[np.int64]


def permuted_counts(pooled: CountArray, n: int, permutations: int, random: np.random.Generator) -> CountArray:
    """Counts of X in each cell for random relabellings of the pooled rows, (permutations, cells).

    When each row stands in one cell, relabelling rows at random makes X's counts multivariate hypergeometric: the
    exact permutation distribution at a cost that depends on the occupied cells and not on the rows.
    """
    return random.multivariate_hypergeometric(pooled, n, size=permutations, method="marginals")
