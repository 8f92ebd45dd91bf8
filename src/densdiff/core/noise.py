"""How far an estimated curve may be off, from kernel values between rows and points.

Kernels are those of E6 and its twin E12, 2F - F^2; they may come from a subsample, and variances are then scaled to the
whole samples.
"""

from dataclasses import dataclass

import numpy as np

from densdiff.core.scaling import FloatArray


@dataclass(frozen=True)
class RowWeights:
    """Weights, with sum 1, of rows that stand for one sample, and what share of the rows' variance remains.

    ``share`` is the sum of squared weights of the whole sample over that of these rows; 1 when they are all of it.
    """

    omega: FloatArray  # (k,)
    share: float = 1.0

    @property
    def squares(self) -> float:
        """Sum of squared weights: 1/k without weights."""
        return float(np.square(self.omega).sum())

    @property
    def deficit(self) -> float:
        """Expected share of the variance in squared deviations from the weighted mean: 1 - 1/k without weights."""
        squares = self.squares
        return max((squares - 2.0 * float((self.omega**3).sum()) + squares**2) / squares, np.finfo(float).eps)

    def variance_of_mean(self, values: FloatArray) -> float:
        """Variance of the weighted mean of independent values, (k,); ddof 1 over k without weights."""
        deviations = values - self.omega @ values
        return float(np.square(self.omega) @ np.square(deviations)) / self.deficit


def curve_noise(kernel_x: FloatArray, kernel_y: FloatArray, x: RowWeights, y: RowWeights) -> FloatArray:
    """What each row contributes to the error of the curve at each point, (points, rows of X and Y) (E10).

    Rows are independent, so squares add up to the variance and random signs or normal factors resample the error.
    """
    return np.hstack(
        [
            (kernel - (kernel @ rows.omega)[:, None]) * (rows.omega * np.sqrt(rows.share / rows.deficit))
            for kernel, rows in ((kernel_x, x), (kernel_y, y))
        ]
    )
