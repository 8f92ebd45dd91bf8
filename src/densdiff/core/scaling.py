"""Units: columns to a common scale and back, volumes and kernel factors kept as logarithms.

Columns are shifted to their mid-range and divided by a power of two before anything is squared, so offsets of
1e8 and values of 1e200 or 1e-200 are ordinary data.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_LARGEST = float(np.finfo(np.float64).max)
_SMALLEST = float(np.finfo(np.float64).tiny)


def stack_columns(columns: Sequence[npt.NDArray[np.generic]]) -> FloatArray:
    """Columns as a matrix of our own, each contiguous, (n, d)."""
    matrix = np.empty((len(columns[0]), len(columns)), order="F")
    for j, column in enumerate(columns):
        matrix[:, j] = column
    return matrix


@dataclass(frozen=True)
class Scaling:
    """An affine map of the kept columns; ``sigma_unit`` turns an inner sigma into the user's."""

    keep: npt.NDArray[np.intp]  # (d',) indices of the columns that vary
    shift: FloatArray  # (d',) mid-range, in the user's units
    exponent: npt.NDArray[np.intc]  # (d',) power of two divided out
    mean: FloatArray  # (d',) pooled mean after shift and power
    deviation: FloatArray  # (d',) pooled deviation after shift and power; ones without standardization
    sigma_unit: float  # user's sigma = inner sigma * sigma_unit

    def apply(self, rows: FloatArray) -> FloatArray:
        """Rows in the user's units to inner units, (k, d')."""
        inner = _reduced(rows, self.keep, self.shift, self.exponent)
        inner -= self.mean
        with np.errstate(over="ignore"):  # points far away
            inner /= self.deviation
        return inner

    @property
    def log_volume(self) -> float:
        """Logarithm of the user's volume of one inner unit cube."""
        return float(np.log(self.deviation).sum() + np.log(2.0) * self.exponent.sum())


def _reduced(
    rows: FloatArray, keep: npt.NDArray[np.intp], shift: FloatArray, exponent: npt.NDArray[np.intc]
) -> FloatArray:
    """(rows - shift) / 2^exponent of the kept columns; in two factors, each of which is a normal double."""
    half = exponent // 2
    with np.errstate(over="ignore", under="ignore"):
        inner = (rows if np.array_equal(keep, np.arange(rows.shape[1])) else rows[:, keep]) - shift
        inner *= np.ldexp(1.0, -half)
        inner *= np.ldexp(1.0, half - exponent)
    return inner


def pooled_scaling(
    x: FloatArray,
    y: FloatArray,
    omega_x: FloatArray,
    omega_y: FloatArray,
    standardize: bool,
    codes: npt.NDArray[np.bool_] | None = None,
) -> tuple[Scaling, FloatArray, FloatArray]:
    """Scaling by the pooled mean and deviation (ddof 0), blind to the labels (docs/math, Units); both samples scaled.

    ``omega`` are row weights that sum to 1 in each sample; a sample counts with its number of rows. Sums over
    the two samples are added last, so swapping them changes no bit. Columns of ``codes`` of categories come last and
    stay as they are.
    """
    ends = np.minimum(x.min(axis=0), y.min(axis=0)), np.maximum(x.max(axis=0), y.max(axis=0))
    keep, is_code, shift, exponent = _frame(*ends, standardize, codes)
    nothing_varies = not (ends[1] > ends[0]).any()  # then any scale serves, and every distance is 0
    inner_x, inner_y = (_reduced(rows, keep, shift, exponent) for rows in (x, y))
    share_x, share_y = (len(rows) / (len(x) + len(y)) for rows in (x, y))
    mean = np.where(is_code, 0.0, share_x * _mean(inner_x, omega_x) + share_y * _mean(inner_y, omega_y))
    inner_x -= mean
    inner_y -= mean
    if nothing_varies:  # half of the smallest numbers is rounded, which must not become a scale
        inner_x[:], inner_y[:] = 0.0, 0.0
    deviation = np.ones_like(mean)
    if standardize:
        variance = share_x * _mean(inner_x, omega_x, 2) + share_y * _mean(inner_y, omega_y, 2)
        deviation = np.where((variance > 0) & ~is_code, np.sqrt(variance), 1.0)
        inner_x /= deviation
        inner_y /= deviation
    return Scaling(keep, shift, exponent, mean, deviation, _unit(exponent, standardize)), inner_x, inner_y


def _frame(
    low: FloatArray, high: FloatArray, standardize: bool, codes: npt.NDArray[np.bool_] | None
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_], FloatArray, npt.NDArray[np.intc]]:
    """Columns that vary, which of them are codes, and the mid-range and power of two of each."""
    keep = np.flatnonzero(high > low)
    if keep.size == 0:
        keep = np.arange(len(low))
    is_code = np.zeros(len(keep), dtype=bool) if codes is None else np.sort(codes[keep])
    if codes is not None:
        keep = keep[np.argsort(codes[keep], kind="stable")]
    low, high = low[keep], high[keep]
    shift = np.where(is_code, 0.0, low / 2 + high / 2)
    exponent = np.where(is_code, 0, np.frexp(high / 2 - low / 2)[1])
    if not standardize:
        exponent[~is_code] = exponent[~is_code].max(initial=-2000)
    return keep, is_code, shift, exponent


def _unit(exponent: npt.NDArray[np.intc], standardize: bool) -> float:
    return 1.0 if standardize else float(np.ldexp(1.0, int(exponent[0])))


@dataclass(frozen=True)
class Moments:
    """Ends of the columns of a sample, and mean and variance (ddof 0) of (value - shift) / 2^exponent, (d,) each."""

    n: int
    low: FloatArray
    high: FloatArray
    shift: FloatArray
    exponent: npt.NDArray[np.intc]
    mean: FloatArray
    variance: FloatArray

    def only(self, columns: Sequence[int]) -> "Moments":
        """Ends, means and variances of some columns."""
        chosen = list(columns)
        ends, frame = (self.low[chosen], self.high[chosen]), (self.shift[chosen], self.exponent[chosen])
        return Moments(self.n, *ends, *frame, self.mean[chosen], self.variance[chosen])

    def level_and_spread(self) -> tuple[FloatArray, FloatArray]:
        """Mean and deviation of each column in the user's units, (d,) each."""
        with np.errstate(under="ignore"):
            return self.shift + np.ldexp(self.mean, self.exponent), np.ldexp(np.sqrt(self.variance), self.exponent)

    def gap(self, other: "Moments") -> FloatArray:
        """How much higher the means of another sample are, in the user's units, (d,); large offsets cancel first."""
        with np.errstate(under="ignore"):
            inner = np.ldexp(other.mean, other.exponent) - np.ldexp(self.mean, self.exponent)
        return np.asarray((other.shift - self.shift) + inner)

    def reduced(
        self, keep: npt.NDArray[np.intp], shift: FloatArray, exponent: npt.NDArray[np.intc]
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the kept columns in another frame."""
        by = self.exponent[keep] - exponent
        moved = _reduced(self.shift[None, keep], np.arange(len(keep)), shift, exponent)[0]
        return np.ldexp(self.mean[keep], by) + moved, np.ldexp(self.variance[keep], 2 * by)


def moments_of(rows: FloatArray) -> Moments:
    """Ends, means and variances of the columns of an array of rows."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    shift, exponent = low / 2 + high / 2, np.frexp(high / 2 - low / 2)[1]
    inner = _reduced(rows, np.arange(rows.shape[1]), shift, exponent)
    return Moments(len(rows), low, high, shift, exponent, inner.mean(axis=0), inner.var(axis=0))


def scaling_of_moments(
    x: Moments, y: Moments, standardize: bool, codes: npt.NDArray[np.bool_] | None = None
) -> Scaling:
    """The scaling of `pooled_scaling` from the moments of two samples, without their rows."""
    low, high = np.minimum(x.low, y.low), np.maximum(x.high, y.high)
    keep, is_code, shift, exponent = _frame(low, high, standardize, codes)
    share_x, share_y = (sample.n / (x.n + y.n) for sample in (x, y))
    (mean_x, within_x), (mean_y, within_y) = (sample.reduced(keep, shift, exponent) for sample in (x, y))
    mean = np.where(is_code, 0.0, share_x * mean_x + share_y * mean_y)
    deviation = np.ones_like(mean)
    if standardize:
        variance = share_x * (within_x + np.square(mean_x - mean)) + share_y * (within_y + np.square(mean_y - mean))
        varies = (variance > 0) & ~is_code & (high > low)[keep]  # rounding must not become a scale
        deviation = np.where(varies, np.sqrt(variance), 1.0)
    return Scaling(keep, shift, exponent, mean, deviation, _unit(exponent, standardize))


def _mean(rows: FloatArray, omega: FloatArray, power: int = 1) -> FloatArray:
    """Weighted mean of the rows' powers, (d,)."""
    if omega.strides == (0,):  # one weight for all rows, broadcast
        columns = rows.T if power == 1 else (column * column for column in rows.T)
        return np.array([float(column.sum()) for column in columns]) * float(omega[0])
    mean: FloatArray = omega @ rows**power
    return mean


def log_kernel_volume(sigma: float, d: int) -> float:
    """log s, s = (pi sigma^2)^(d/2): the integral of psi^2 (E2)."""
    return 0.5 * d * float(np.log(np.pi) + 2.0 * np.log(sigma))


def from_log(value: npt.ArrayLike, log_factor: float | FloatArray) -> FloatArray:
    """value * exp(log_factor), saturating at the largest and smallest normal double instead of inf and 0."""
    value = np.asarray(value, dtype=np.float64)
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(value)) + log_factor
    with np.errstate(over="ignore", under="ignore"):
        size = np.clip(np.exp(logs), _SMALLEST, _LARGEST)
    return np.where(value == 0, 0.0, np.copysign(size, value))


def saturates(value: float, log_factor: float) -> bool:
    """Whether ``from_log`` of a non-zero value had to clip."""
    if value == 0:
        return False
    return not np.log(_SMALLEST) <= np.log(abs(value)) + log_factor <= np.log(_LARGEST)
