"""How far an estimate may be off, from kernel values between rows: variance of a distance, noise of a curve.

The debiased distance is a U-statistic. Its variance has a part that is linear in the rows and vanishes where the two
densities are equal, and a degenerate part that remains there (the mixture of chi-squares). Kernels are those of E6
and its twin E12, 2F - F^2; they may come from a subsample, and variances are then scaled to the whole samples.
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


@dataclass(frozen=True)
class DistanceNoise:
    """What the variance of a |p|^2 + a |q|^2 - 2 <p, q> needs: a is 1 for the distance, less if normalized."""

    x: RowWeights
    y: RowWeights
    own_x: FloatArray  # (k,) the density of X at each of its rows, estimated from all other rows of the whole sample
    own_y: FloatArray
    cross_x: FloatArray  # (k,) the density of Y at each row of X
    cross_y: FloatArray
    pairs: tuple[float, float, float]  # sums of squared centered kernels over pairs within X, across, within Y

    def variance_parts(self, a: float) -> tuple[float, float]:
        """The linear and the degenerate part of the variance.

        The plain variance of estimated witness values holds their own noise, twice the degenerate part: it is taken
        off, so that each part stands for itself.
        """
        xx, xy, yy = self.pairs
        linear = 0.0
        for rows, other, own, cross, within in (
            (self.x, self.y, self.own_x, self.cross_x, xx),
            (self.y, self.x, self.own_y, self.cross_y, yy),
        ):
            noisy = rows.variance_of_mean(a * own - cross)
            linear += 4.0 * rows.share * max(0.0, noisy - a**2 * rows.share * within - other.share * xy)
        across = self.x.share * self.y.share * xy
        return linear, 2.0 * (a**2 * (self.x.share**2 * xx + self.y.share**2 * yy) + 2.0 * across)


Densities = tuple[FloatArray, FloatArray, FloatArray, FloatArray]  # own_x, cross_x, own_y, cross_y


def distance_noise(
    xx: FloatArray, xy: FloatArray, yy: FloatArray, x: RowWeights, y: RowWeights, densities: Densities | None = None
) -> DistanceNoise:
    """The noise of a distance from kernel matrices within X, across and within Y.

    Rows of a larger sample need its densities at them.
    """
    if densities is None:
        own_x, own_y = (
            (kernel @ rows.omega - np.diag(kernel) * rows.omega) / (1.0 - rows.omega)
            for kernel, rows in ((xx, x), (yy, y))
        )
        densities = own_x, xy @ y.omega, own_y, x.omega @ xy
    pairs = (
        _centered_squares(xx, x, x, own=True) / (1.0 - x.squares) ** 2,
        _centered_squares(xy, x, y, own=False),
        _centered_squares(yy, y, y, own=True) / (1.0 - y.squares) ** 2,
    )
    return DistanceNoise(x, y, densities[0], densities[2], densities[1], densities[3], pairs)


def _centered_squares(kernel: FloatArray, left: RowWeights, right: RowWeights, *, own: bool) -> float:
    """Sum of omega_i^2 omega_j^2 K_ij^2 with rows and columns of K centered; pairs i = j left out if ``own``."""
    by_row, by_column = kernel @ right.omega, left.omega @ kernel
    squared = np.square(kernel - by_row[:, None] - by_column + left.omega @ by_row)
    if own:
        np.fill_diagonal(squared, 0.0)
    return float(np.square(left.omega) @ squared @ np.square(right.omega))


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
