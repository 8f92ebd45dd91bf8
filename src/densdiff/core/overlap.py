"""How much two densities overlap, from sums of a Gaussian kernel over pairs of rows: formulas alone (E9).

Three integrals are enough: of p^2, of q^2 and of p q, each blurred by a Gaussian of width s. Every array ends in an
axis of 1 + G entries: all rows first, then all rows but those of one group, so that any function of the integrals has
a jackknife error. Sums are made in `engines.overlap_sums`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from densdiff.core.ranks import ascending, distinct_of_sorted
from densdiff.core.scaling import FloatArray

_LEAST = 1e-300
_ROUNDING = 1e-9  # of what is between 0 and 1: smaller differences are rounding
_MOST_AFFINITY = 4.0  # truly at most 1; more is noise, as where no two rows of a sample are within reach
_MOST_GAIN = 4.0  # of an affinity between two widths; more is noise
_MOST_PRODUCT = 1e100  # of the affinities of any number of columns: squares must stay doubles


@dataclass(frozen=True)
class Overlap:
    """The integrals of p^2, q^2 and p q in three parts that change differently with the width of the blur."""

    log_norm: FloatArray  # (.., 1 + G) mean of the logarithms of the first two
    log_ratio: FloatArray  # their difference
    affinity: FloatArray  # the third over the root of their product

    def __getitem__(self, rung: int) -> "Overlap":
        return Overlap(self.log_norm[rung], self.log_ratio[rung], self.affinity[rung])

    def times(self, other: "Overlap") -> "Overlap":
        """The overlap of a product of densities."""
        logs = self.log_norm + other.log_norm, self.log_ratio + other.log_ratio
        return Overlap(*logs, np.minimum(self.affinity * other.affinity, _MOST_PRODUCT))

    def over(self, other: "Overlap") -> "Overlap":
        """What has to be multiplied with the other to give this."""
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.clip(self.affinity / other.affinity, 0.0, _MOST_GAIN)
        logs = self.log_norm - other.log_norm, self.log_ratio - other.log_ratio
        return Overlap(*logs, np.where(np.isfinite(gain), gain, 1.0))

    def power(self, exponent: float) -> "Overlap":
        """The overlap with each integral raised to a power."""
        logs = exponent * self.log_norm, exponent * self.log_ratio
        return Overlap(*logs, np.maximum(self.affinity, 0.0) ** exponent)

    @property
    def normalized(self) -> FloatArray:
        """|p - q|^2 over |p|^2 + |q|^2 (E9), raw, (.., 1 + G)."""
        ratio = np.exp(-np.abs(self.log_ratio))  # of the smaller norm to the larger, squared: cosh would overflow
        return np.asarray(1.0 - self.affinity * 2.0 * np.sqrt(ratio) / (1.0 + ratio))

    @property
    def log_total(self) -> FloatArray:
        """Logarithm of |p|^2 + |q|^2, (.., 1 + G)."""
        distance = np.abs(self.log_ratio)
        return np.asarray(self.log_norm + 0.5 * distance + np.log1p(np.exp(-distance)))

    def squared(self, log_unit: float) -> FloatArray:
        """|p - q|^2 over exp(log_unit), raw, (.., 1 + G)."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(self.normalized * np.exp(self.log_total - log_unit))


def overlap_of(means: FloatArray, log_volumes: FloatArray) -> Overlap:
    """From mean kernel values within X, within Y and across, (S, 3, 1 + G), and each kernel's log integral, (S,)."""
    log_own = np.log(np.maximum(means[:, :2], _LEAST))
    affinity = np.clip(means[:, 2] * np.exp(-0.5 * log_own.sum(axis=1)), 0.0, _MOST_AFFINITY)
    return Overlap(log_own.mean(axis=1) - log_volumes[:, None], log_own[:, 0] - log_own[:, 1], affinity)


def pair_means(sums: FloatArray, masses: FloatArray, squares: FloatArray) -> FloatArray:
    """Mean kernel values over pairs i != j within X, within Y and across, of all rows and without each group.

    ``sums`` (S, 2G, 2G) are weighted kernel sums between groups without the pairs i = i, X's groups first; ``masses``
    and ``squares`` (2G,) sums of the weights and of their squares. The result is (S, 3, 1 + G).
    """
    groups = len(masses) // 2
    means = []
    x, y = slice(groups), slice(groups, None)
    for rows, columns in ((x, x), (y, y), (x, y)):
        block = sums[:, rows, columns]  # (S, G, G)
        own = np.diagonal(block, axis1=1, axis2=2)
        total = block.sum(axis=(1, 2))
        left = total[:, None] - block.sum(axis=2) - block.sum(axis=1) + own  # (S, G)
        mass = masses[rows].sum() - np.concatenate([[0.0], masses[rows]])
        other = masses[columns].sum() - np.concatenate([[0.0], masses[columns]])
        pairs = mass * other
        if rows == columns:
            pairs = pairs - (squares[rows].sum() - np.concatenate([[0.0], squares[rows]]))
        every = np.concatenate([total[:, None], left], axis=1)
        means.append(np.divide(every, pairs, out=np.full_like(every, np.nan), where=pairs > 0))
    return np.stack(means, axis=1)


def log_volume(widths: FloatArray, spacing: float) -> FloatArray:
    """Logarithm of a Gaussian's integral for each width, (S,); of its sum over a lattice where values are so far apart.

    From a width of the spacing on the sum is the integral to 1e-8; below, it goes to the spacing: values that are on a
    lattice have shares and no density, and a kernel that is too narrow to see its neighbours counts equal ones.
    """
    integral = 0.5 * np.log(2.0 * np.pi * np.square(widths))
    if spacing == 0:
        return np.asarray(integral)
    steps = np.arange(-9, 10)  # nine widths and more
    kernel = np.exp(-0.5 * np.square(np.multiply.outer(spacing / widths, steps)))  # (S, 19)
    return np.where(widths > spacing, integral, np.log(spacing * kernel.sum(axis=1)))


def width_of_blurs(means: FloatArray, widths: tuple[float, float]) -> float:
    """Deviation of the normal density whose mean density falls as observed from the narrower to the wider blur.

    ``means`` (2,) are mean kernel values over their widths, the wider one first. Not below 0: 0 where the narrower
    blur takes off less than a point mass would, infinite where nothing changes.
    """
    wide, narrow = np.square(widths)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(np.square(means[1] / means[0]))
    if not ratio > 1.0:
        return np.inf
    return float(np.sqrt(max(0.0, (wide / ratio - narrow) / (2.0 - 2.0 / ratio))))


def degenerate_noise(means: FloatArray, sizes: tuple[float, float]) -> FloatArray:
    """Relative error of the mean kernel values from few pairs being within reach, (S - 1, 3).

    A squared Gaussian is the Gaussian of the next rung, sqrt(2) narrower, so its mean is known too. The last column is
    relative to the other two.
    """
    n, m = sizes
    values = np.maximum(means[:, :, 0], 0.0)
    own = np.sqrt(values[:-1, 0]) * np.sqrt(values[:-1, 1])
    pairs = np.array([2.0 / n**2, 2.0 / m**2, 1.0 / (n * m)])
    scale = np.column_stack([values[:-1, :2], own])
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = np.sqrt(values[1:] * pairs) / scale
    return np.where(scale > 0, noise, np.inf)


def jackknife_error(values: FloatArray) -> float:
    """Standard error of a statistic from its values without each group, which follow its value, (1 + G,).

    Infinite where leaving a group out leaves nothing, or a value out of range.
    """
    return float(jackknife_errors(values))


def jackknife_errors(values: FloatArray) -> FloatArray:
    """Standard errors of several statistics, (..), from their values as for one, (.., 1 + G)."""
    left = values[..., 1:]
    groups = left.shape[-1]
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.square(left - left.mean(axis=-1, keepdims=True)).sum(axis=-1)
        errors = np.sqrt((groups - 1) / groups * squares)
    return np.where(np.isfinite(errors), errors, np.inf)


def agree(estimate: FloatArray, others: FloatArray) -> bool:
    """Whether an estimate, (1 + G,), differs from all others, (k, 1 + G), by no more than twice the jackknife error of
    the difference.
    """
    differences = estimate - others
    return bool(np.all(np.abs(differences[..., 0]) <= 2.0 * jackknife_errors(differences) + _ROUNDING))


def first_least(values: Sequence[float] | FloatArray) -> int:
    """Index of the least value, the first of those that differ by rounding alone."""
    return int(np.argmax(np.asarray(values) <= np.min(values) + _ROUNDING))


def finest_rung(is_resolved: FloatArray, least: int = 0) -> int:
    """The last rung before the first that is not resolved, at least ``least``."""
    stops = np.flatnonzero(~np.asarray(is_resolved, dtype=bool))
    return max(least, int(stops[0]) - 1 if len(stops) else len(is_resolved) - 1)


def collision_scales(rows: FloatArray) -> FloatArray:
    """For each column the deviation of the normal density with the same integral of its square, (d,).

    That integral is the mean density at the rows, here from the span of about sqrt(n) neighbours. Outliers and heavy
    tails hardly change it. Spans of 0 are ties and left out; if three quarters are, the answer is NaN. Of few distinct
    values the integral is the share of equal pairs over the usual step.
    """
    n, neighbours = len(rows), max(2, int(len(rows) ** 0.5))
    scales = np.full(rows.shape[1], np.nan)
    for j, values in enumerate(rows.T):
        ordered = ascending(values)
        span = ordered[neighbours:] - ordered[:-neighbours]
        distinct, counts = distinct_of_sorted(ordered)
        wide = span[span > 0]
        if 1 < len(distinct) <= neighbours:
            equal = float(counts @ (counts - 1)) / (n * (n - 1))
            scales[j] = np.median(np.diff(distinct)) / (2.0 * np.sqrt(np.pi) * equal) if equal > 0 else np.nan
        elif len(wide) > len(span) / 4:
            scales[j] = n / (neighbours * 2.0 * np.sqrt(np.pi) * np.mean(1.0 / wide))
    return scales
