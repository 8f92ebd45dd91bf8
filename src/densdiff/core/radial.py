"""E15: the filter F of E11 as a radial kernel, from pair distances alone, in any number of columns.

The radial kernels of F and F^2 come from one cosine transform of their (d-1)-dimensional marginals, for large lam from
a sum of Gaussians; distances enter as one histogram for each pair of groups, so that every (sigma, lam) is a dot
product of a table with histograms.
Kernels are at sigma = 1 and leave out the factor (2 pi)^(-d/2); ``log_scale`` puts both back.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len
from scipy.special import gammaln, log_expit

from densdiff.core.scaling import FloatArray

_DIGITS = 32.0  # in natural logarithms: a kernel counts as 0 below exp(-32) of its peak
_TABLE_STEP = 1.3e-3  # of sigma: a cubic through four neighbours is then right to 1e-11
_NODES = 160
_SERIES_FROM = 4.0  # of lam: above it 27 Gaussians are enough; both ways are right to 1e-11 from 1.2 to 30
_SERIES_DIGITS = 37.0  # in natural logarithms: what the terms left out of the sum of Gaussians are below, exp(-37)
_LEAST_REACH = 14.0  # of sigma: for large lam no pole tells how far the Gaussians reach; those of F^2 reach farthest
_SMALL_TABLE = 16  # lams
_BIN_STEP = 0.02  # in sqrt(r / smallest sigma)
_INTERPOLATED = 1 << 14  # distances at a time: a dozen arrays of theirs stay in the cache


@dataclass(frozen=True)
class RadialTable:
    """The kernels of F and F^2 at r = 0, step, 2 step, ..: row l is lam l, zero in the last two columns and beyond."""

    step: float
    plain: FloatArray  # (L, R), of F
    squared: FloatArray  # (L, R), of F^2

    @property
    def reach(self) -> float:
        """The largest r in the table."""
        return self.step * float(self.plain.shape[1] - 2)


def log_scale(sigma: float, d: int) -> float:
    """What the logarithm of a kernel value must lose: log of (2 pi sigma^2)^(d/2)."""
    return 0.5 * d * float(np.log(2.0 * np.pi) + 2.0 * np.log(sigma))


def decay_rate(lam: float) -> float:
    """Rate at which the kernel of F falls with r/sigma: the distance of F's nearest pole from the real axis."""
    return float(np.sqrt(2.0 * (np.log(1.0 / lam) + 1j * np.pi)).imag)


def _marginals(d: int, frequency: FloatArray, lams: FloatArray) -> tuple[FloatArray, FloatArray]:
    """F and F^2 integrated over all frequencies but the first, times (2 pi)^(-(d-1)/2); two (L, W) arrays.

    In radial coordinates v of the other d - 1 axes the integrand is v^(d-2) F, in logs so that d = 2000 is harmless.
    """
    if d == 1:
        plain = 1.0 / (1.0 + lams[:, None] * np.exp(0.5 * frequency**2))
        return plain, plain**2
    peak, edge = np.sqrt(d - 1.0), np.sqrt(2.0 * max(0.0, np.log(1.0 / lams.min())))
    low, high = max(0.0, peak - 9.0), max(peak, edge) + 9.0
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    v = 0.5 * (high - low) * (nodes + 1.0) + low  # (V,)
    log_measure = (1.0 - 0.5 * (d - 1)) * np.log(2.0) - gammaln(0.5 * (d - 1)) + (d - 2) * np.log(v)
    u = 0.5 * (frequency[:, None] ** 2 + v**2)  # (W, V)
    log_measure += np.log(weights * 0.5 * (high - low))
    plain, squared = np.empty((2, len(lams), len(frequency)))
    for i, lam in enumerate(lams):
        log_filter = log_expit(-np.log(lam) - u)
        plain[i] = np.exp(log_filter + log_measure).sum(axis=1)
        squared[i] = np.exp(2.0 * log_filter + log_measure).sum(axis=1)
    return plain, squared


def _transformed_kernels(d: int, lams: FloatArray, period: float, size: int) -> tuple[FloatArray, FloatArray]:
    """The kernels of F and F^2 at r = 0, period / size, .. by a cosine transform, two (L, size // 2) arrays."""
    spacing = 2.0 * np.pi / period
    highest = float(np.sqrt(2.0 * (_DIGITS + 4.0 + max(0.0, np.log(1.0 / lams.min())))))
    frequency: FloatArray = spacing * np.arange(int(highest / spacing) + 2, dtype=np.float64)
    plain, squared = (
        irfft(marginal, n=size)[:, : size // 2] * (size * spacing / np.sqrt(2.0 * np.pi))
        for marginal in _marginals(d, frequency, lams)
    )
    return plain, squared


def gaussian_series(d: int, lams: FloatArray, r: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The kernels of F and F^2 at distances r for lams above 1, two (L, R) arrays: sums of Gaussians (E16).

    With x = exp(-|w|^2 / 2) / lam < 1, F is the sum of (-1)^(k+1) x^k and F^2 the sum of (-1)^k (k - 1) x^k; the
    inverse transform of exp(-k |w|^2 / 2) is k^(-d/2) exp(-r^2 / (2 k)) in this module's convention.
    """
    k = np.arange(1.0, _SERIES_DIGITS / np.log(lams.min()) + 3.0)  # (k,)
    signs = np.where(k % 2 == 1, 1.0, -1.0)
    coefficients = signs * np.exp(-np.multiply.outer(np.log(lams), k) - 0.5 * d * np.log(k))  # (L, k)
    gaussians = np.exp(np.multiply.outer(-0.5 / k, np.square(r)))  # (k, R)
    return coefficients @ gaussians, (coefficients * (1.0 - k)) @ gaussians


def _make_table(d: int, lams: tuple[float, ...]) -> RadialTable:
    grid = np.array(lams)
    if d == 0:  # no distances: the kernels are the numbers F and F^2
        ends_in_zeros = np.array([1.0, 1.0, 0.0, 0.0])
        plain = np.multiply.outer(1.0 / (1.0 + grid), ends_in_zeros)
        return RadialTable(1.0, plain, np.square(plain))
    # the transform of a sum is periodic: half of it is wrap-around
    period = 2.0 * max(_DIGITS / decay_rate(min(lams)), _LEAST_REACH)
    size = next_fast_len(int(period / _TABLE_STEP) + 1, real=True)
    by_series = grid > _SERIES_FROM  # (L,)
    plain, squared = np.empty((2, len(grid), size // 2))
    if not by_series.all():
        plain[~by_series], squared[~by_series] = _transformed_kernels(d, grid[~by_series], period, size)
    if by_series.any():
        r = period / size * np.arange(size // 2)
        plain[by_series], squared[by_series] = gaussian_series(d, grid[by_series], r)
    plain[:, -2:] = squared[:, -2:] = 0.0
    return RadialTable(period / size, plain, squared)


_cached_table = lru_cache(maxsize=16)(_make_table)  # of a fifth of a megabyte for one lam, 6 for a ladder of ten
_cached_large_table = lru_cache(maxsize=2)(_make_table)  # of 40 megabytes at most for the ladder of mixed columns


def radial_table(d: int, lams: FloatArray) -> RadialTable:
    """The tables of d columns, 0 or more, and several positive lams; cached, since they depend on nothing else."""
    make = _cached_table if len(lams) <= _SMALL_TABLE else _cached_large_table
    return make(d, tuple(map(float, lams)))


class PairKernel(Protocol):
    """Kernels between rows of which the last ``n_codes`` columns are codes of categories."""

    @property
    def n_codes(self) -> int:
        """How many columns of a row are codes."""

    @property
    def values(self) -> tuple[FloatArray, ...]:
        """A table for each kernel."""

    @property
    def of_equal_rows(self) -> list[float]:
        """Each kernel of a row with itself."""

    def at(self, r: FloatArray, codes_a: npt.NDArray[np.generic], codes_b: npt.NDArray[np.generic]) -> list[FloatArray]:
        """Each kernel, (k, l), of rows at distances r, (k, l) in sigmas, with codes (k, n_codes) and (l, n_codes)."""


class Radial(NamedTuple):
    """Kernels of one lam as tables of r = 0, step, 2 step, ..: even functions that end in two zeros."""

    step: float
    values: tuple[FloatArray, ...]

    @property
    def n_codes(self) -> int:
        """None: the kernels depend on numbers alone."""
        return 0

    @property
    def of_equal_rows(self) -> list[float]:
        """Each kernel of a row with itself, at distance 0."""
        return [float(kernel[0]) for kernel in self.values]

    def at(self, r: FloatArray, codes_a: npt.NDArray[np.generic], codes_b: npt.NDArray[np.generic]) -> list[FloatArray]:
        """Each kernel at distances r (in sigmas), (k, l)."""
        results = [np.empty(r.shape) for _ in self.values]
        for part in parts_in_cache(r.shape):
            for result, values in zip(results, interpolate(self, r[part]), strict=True):
                result[part] = values
        return results


def parts_in_cache(shape: tuple[int, ...]) -> Iterator[slice]:
    """Runs of rows of an array (k, l) that are few enough to interpolate at once."""
    step = max(1, _INTERPOLATED // max(1, shape[1]))
    return (slice(start, start + step) for start in range(0, shape[0], step))


def plain_kernel(table: RadialTable, row: int) -> Radial:
    """The kernel of F."""
    return Radial(table.step, (table.plain[row],))


def plain_and_squared(table: RadialTable, row: int) -> Radial:
    """The kernels of F and F^2."""
    return Radial(table.step, (table.plain[row], table.squared[row]))


def statistic_kernel(table: RadialTable, row: int) -> Radial:
    """The kernel of E12, 2F - F^2."""
    return Radial(table.step, (2.0 * table.plain[row] - table.squared[row],))


def interpolate(kernels: Radial, r: FloatArray) -> list[FloatArray]:
    """The kernels at distances r (in sigmas) by a cubic through four neighbours; shape of r each."""
    places = cubic_places(kernels.step, len(kernels.values[0]), r)
    return [cubic_at(kernel, places) for kernel in kernels.values]


class CubicPlaces(NamedTuple):
    """Where in a table a cubic through four neighbours is taken: between an entry and the next one."""

    entry: npt.NDArray[np.intp]
    before: npt.NDArray[np.intp]  # the entry before, by evenness that of 1 before that of 0
    t: FloatArray  # from 0 to 1

    def moved(self, offset: npt.NDArray[np.intp]) -> "CubicPlaces":
        """The same places in tables that begin at an offset."""
        return CubicPlaces(self.entry + offset, self.before + offset, self.t)


def cubic_places(step: float, size: int, r: FloatArray) -> CubicPlaces:
    """Places of distances r in a table of so many entries; all that is out of reach at the last but one, a zero."""
    t = r / step
    np.minimum(t, size - 2, out=t)
    entry = t.astype(np.intp)
    t -= entry
    return CubicPlaces(entry, np.abs(entry - 1), t)


def cubic_at(table: FloatArray, places: CubicPlaces) -> FloatArray:
    """The cubic through four neighbours, in Newton's form and in place: passes over memory are what it costs."""
    entry, before, t = places
    value, first = table[2:].take(entry, mode="clip"), table[1:].take(entry)
    second, origin = table.take(before), table.take(entry)
    value -= second
    first -= origin
    second -= origin
    second += first
    value -= 3.0 * first  # now the third difference, first and second are those of their names
    value *= (t + 1.0) / 3.0
    value += second
    value *= 0.5 * (t - 1.0)
    value += first
    value *= t
    value += origin
    return value


@dataclass(frozen=True)
class Bins:
    """Nodes at which distances are counted, evenly spaced in the square root of r: finer where kernels are sharper."""

    count: int
    per_root: float  # nodes per unit of sqrt(r), in inner units

    @property
    def nodes(self) -> FloatArray:
        """Distances of the nodes; the last one collects what is out of reach and never counts."""
        return np.square(np.arange(self.count) / self.per_root)


def make_bins(sigmas: FloatArray, radius: float, reach: float) -> Bins:
    """Bins for all sigmas; ``radius`` bounds the rows' norms, ``reach`` is where kernels vanish, in sigmas."""
    farthest = min(2.0 * radius, reach * float(sigmas.max()))
    per_root = 1.0 / (_BIN_STEP * float(sigmas.min()) ** 0.5)
    return Bins(int(farthest**0.5 * per_root) + 3, per_root)


def binned_kernels(
    table: RadialTable, bins: Bins, sigma: float, curvature: float = -1.0 / 12.0
) -> tuple[FloatArray, FloatArray]:
    """The kernels of F and F^2 at the nodes for every lam, two (L, nodes) arrays.

    A twelfth of the second difference is taken off, so that linear weights between nodes are right on average
    over each bin and not at the nodes alone; distances moved to the nearest node need a 24th of it added.
    """
    position = np.minimum(bins.nodes / (sigma * table.step), table.plain.shape[1] - 1.5)
    cell = position.astype(np.intp)
    t = position - cell
    kernels = []
    for kernel in (table.plain, table.squared):
        values = kernel[:, cell] * (1.0 - t) + kernel[:, cell + 1] * t
        values[:, 1:-1] += curvature * (values[:, :-2] - 2.0 * values[:, 1:-1] + values[:, 2:])
        values[:, -1] = 0.0
        kernels.append(values)
    return kernels[0], kernels[1]
