"""What a witness separates: the shares of two samples that it calls X, and intervals of their difference."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from densdiff.core.scaling import FloatArray


class Separated(NamedTuple):
    """Shares of both samples that a witness calls X, and the interval of their difference."""

    share_x: float
    share_y: float
    interval: tuple[float, float]

    @property
    def raw(self) -> float:
        """What is separated; below 0 by chance."""
        return self.share_x - self.share_y

    @property
    def value(self) -> float:
        """What is separated, at least 0."""
        return max(0.0, self.raw)

    def bounds(self, pvalue: float, level: float) -> tuple[float, float]:
        """Interval of the total variation: its lower end counts only if a test rejects at half the remaining level."""
        lower = max(0.0, self.interval[0]) if pvalue <= 0.5 * (1.0 - level) else 0.0
        return min(lower, self.value), 1.0


def share_called_x(values: FloatArray, omega: FloatArray) -> FloatArray:
    """Weighted share of rows that witnesses call X by their values (.., k), 0 counting half; a half of no rows."""
    if not omega.size:
        return np.full(values.shape[:-1], 0.5)
    return np.asarray(np.minimum(1.0, 0.5 * (np.sign(values) + 1.0) @ omega / omega.sum()))


def separated(
    values: FloatArray,
    omega: FloatArray,
    in_x: npt.NDArray[np.bool_],
    level: float,
    clusters: npt.NDArray[np.intp] | None = None,
) -> Separated:
    """What a witness separates by its values at rows, 0 counting half; weights sum to 1 in each sample, (N,) all.

    Rows with the same number in ``clusters`` are copies and count as one observation.
    """
    share_x, share_y = (float(share_called_x(values[own], omega[own])) for own in (in_x, ~in_x))
    weights = [omega[own] if clusters is None else np.bincount(clusters[own], omega[own]) for own in (in_x, ~in_x)]
    n, m = (1.0 / float(np.square(each).sum()) for each in weights)
    return Separated(share_x, share_y, newcombe_interval(share_x, share_y, n, m, level))


def newcombe_interval(p: float, q: float, n: float, m: float, level: float) -> tuple[float, float]:
    """Interval of the difference p - q of two shares of n and m rows, from Wilson's intervals of both.

    Examples
    --------
    >>> low, high = newcombe_interval(56 / 70, 48 / 80, 70, 80, 0.95)  # Newcombe 1998, his example (a)
    >>> round(low, 4), round(high, 4)
    (0.0524, 0.3339)
    """
    z = float(ndtri(0.5 + 0.5 * level))
    (low_p, high_p), (low_q, high_q) = (_wilson_interval(share, size, z) for share, size in ((p, n), (q, m)))
    low = p - q - float(np.hypot(p - low_p, high_q - q))
    return max(-1.0, low), min(1.0, p - q + float(np.hypot(high_p - p, q - low_q)))


def _wilson_interval(share: float, size: float, z: float) -> tuple[float, float]:
    middle = (share + z**2 / (2 * size)) / (1 + z**2 / size)
    half = z * np.sqrt(share * (1 - share) / size + z**2 / (4 * size**2)) / (1 + z**2 / size)
    return float(middle - half), float(middle + half)
