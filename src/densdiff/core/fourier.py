"""E11 to E14: the paper's RKHS estimator as a filter on a grid of frequencies, for one to three columns.

The splines' transfer function is divided out of every transform, and what spreading does to the terms i = j is known
exactly, so debiasing stays right.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy.fft import next_fast_len, rfftn

from densdiff.core.grid import ORDER, WRAP_TOLERANCE, Axis, Grid, reach, spline_weights
from densdiff.core.ridge import Forms
from densdiff.core.scaling import FloatArray

ComplexArray = npt.NDArray[np.complexfloating]

AT_ONCE = 1 << 20  # cells of one call of the fast Fourier transform
_FILTER_TOLERANCE = {1: 1e-8, 2: 1e-7, 3: 1e-5}  # by columns: frequencies at which every filter is below are left out


@dataclass(frozen=True)
class Transform:
    """Characteristic functions of all groups at the frequencies one octave of sigmas needs."""

    frequencies: tuple[FloatArray, ...]  # per axis, the last one non-negative
    squared: FloatArray  # (m,) |w|^2 of the box of frequencies
    measure: FloatArray  # (m,) weights of the integral, (2 pi)^-d dw, doubled where only one of +-w is kept
    values: ComplexArray  # (G, m)
    origin: FloatArray  # (d,) place of the first node
    spacing: float
    pad: float
    axes: list[Axis]

    def filters(self, sigma: float, lams: FloatArray) -> FloatArray:
        """F of E11, (L, m)."""
        return np.asarray(1.0 / (1.0 + np.multiply.outer(lams, np.exp(0.5 * sigma**2 * self.squared))))

    def transfer(self) -> FloatArray:
        """The splines' own transform at the frequencies, (m,)."""
        return box([np.sinc(w * self.spacing / (2 * np.pi)) ** ORDER for w in self.frequencies])


def transform(grid: Grid, axes: list[Axis], sigmas: FloatArray, lam: float) -> Transform:
    """Transform all groups on a grid padded so that no kernel of these sigmas (lam the smallest) wraps around."""
    d = grid.counts.ndim - 1
    pad = reach(float(sigmas.max()), lam, WRAP_TOLERANCE[d])
    highest = np.sqrt(2.0 * np.log(1.0 / (_FILTER_TOLERANCE[d] * min(lam, 1.0)))) / sigmas.min()
    shape = [
        next_fast_len(n + int(pad / grid.spacing) + 1, real=a == d - 1) for a, n in enumerate(grid.counts.shape[1:])
    ]
    steps = [2 * np.pi / (n * grid.spacing) for n in shape]
    tops = [min(int(highest / step) + 1, (n - 1) // 2) for step, n in zip(steps, shape, strict=True)]
    indices = [np.r_[0 : top + 1, -top:0] for top in tops[:-1]] + [np.arange(tops[-1] + 1)]
    frequencies = tuple(step * index for step, index in zip(steps, indices, strict=True))
    kind = np.complex64 if d == 3 else np.complex128  # three columns need the memory more than the digits
    values = np.empty((len(grid.counts), int(np.prod([len(w) for w in frequencies]))), dtype=kind)
    result = Transform(
        frequencies=frequencies,
        squared=box([np.square(w) for w in frequencies], np.add),
        measure=box([np.ones(len(w)) for w in frequencies[:-1]] + [np.where(frequencies[-1] > 0, 2.0, 1.0)])
        / np.prod([n * grid.spacing for n in shape]),
        values=values,
        origin=np.array(grid.start) * grid.spacing,
        spacing=grid.spacing,
        pad=pad,
        axes=axes,
    )
    transfer = result.transfer()
    chosen = np.ix_(*indices)
    at_once = max(1, AT_ONCE // int(np.prod(shape)))  # groups: few calls on small grids, little memory on large ones
    for first in range(0, len(values), at_once):
        spectra = rfftn(grid.counts[first : first + at_once], s=shape, axes=range(1, d + 1))
        values[first : first + at_once] = spectra[:, *chosen].reshape(-1, values.shape[1]) / transfer
    return result


def box(axes: list[FloatArray], combine: np.ufunc = np.multiply) -> FloatArray:
    """Outer combination of one array per axis, flattened."""
    result = axes[0]
    for axis in axes[1:]:
        result = combine.outer(result, axis)
    return np.asarray(result).ravel()


def own_power(places: FloatArray, squares: FloatArray, spectra: Transform) -> FloatArray:
    """Sum of omega_i^2 |spread row i|^2 over the squared transfer, (m,): it stands for sum omega^2 in E13.

    A row's power is a cosine series in w with the autocorrelation of its spline weights as coefficients.
    """
    correlations = []  # per axis (4, k)
    for a in range(places.shape[1]):
        position = places[:, a] / spectra.spacing
        weights = spline_weights(position - np.floor(position))
        lags = [sum(weights[j] * weights[j + lag] for j in range(ORDER - lag)) for lag in range(ORDER)]
        correlations.append(np.array(lags))
    power = np.zeros(len(spectra.squared))
    cosines = [
        [np.full(len(w), 1.0) if lag == 0 else 2.0 * np.cos(lag * w * spectra.spacing) for lag in range(ORDER)]
        for w in spectra.frequencies
    ]
    for combination in product(range(ORDER), repeat=len(correlations)):
        coefficient = squares.copy()
        for a, lag in enumerate(combination):
            coefficient = coefficient * correlations[a][lag]
        power += coefficient.sum() * box([cosines[a][lag] for a, lag in enumerate(combination)])
    return power / np.square(spectra.transfer())


def holdout_scores(
    spectra: Transform, sigma: float, lams: FloatArray, train: ComplexArray, holdout: ComplexArray
) -> FloatArray:
    """E14 for every lam and fold, (L, k); train and holdout are (k, m)."""
    within = (train.real**2 + train.imag**2) * spectra.measure
    across = (train.real * holdout.real + train.imag * holdout.imag) * spectra.measure
    filters = spectra.filters(sigma, lams)  # (L, m)
    return np.asarray(np.square(filters) @ within.T - 2.0 * filters @ across.T)


def whole_scores(
    spectra: Transform, sigma: float, lams: FloatArray, curve: ComplexArray, noise: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """E17a's score of a curve with transform (m,) for every lam, and the noise in it, (L,) each.

    ``noise`` (m,) is the expected power of the noise (E13).
    """
    power = (curve.real**2 + curve.imag**2) * spectra.measure
    return filter_scores(spectra.filters(sigma, lams), power, noise * spectra.measure)


def filter_scores(filters: FloatArray, power: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """E17a's score of filters (L, m) from the power of a curve, of which so much is noise, and the noise they leave.

    ``power`` and ``noise`` (m,) are weighted for the integral over frequencies; the results are (L,) each.
    """
    squares = np.square(filters)
    return squares @ power - 2.0 * filters @ (power - noise), squares @ noise


def quadratic_forms(spectra: Transform, sigma: float, lam: float, curve: ComplexArray, noise: FloatArray) -> Forms:
    """The twins of E4 to E7 of a curve with transform (m,); ``noise`` (m,) is the power E13 takes off."""
    filters = spectra.filters(sigma, np.array([lam]))[0]
    power = (curve.real**2 + curve.imag**2) * spectra.measure
    plain, square = float(filters @ power), float(np.square(filters) @ power)
    return Forms(plain, plain - square, float((2 * filters - filters**2) @ (noise * spectra.measure)))


def evaluate(spectra: Transform, filters: FloatArray, curve: ComplexArray, places: FloatArray) -> FloatArray:
    """The filtered curve's inverse transform at places on the axes, (k,); one matrix product per axis.

    Places that share a coordinate, as those of a grid do, share its waves.
    """
    coefficients = filters * spectra.measure * curve
    table = coefficients.reshape([len(w) for w in spectra.frequencies])
    distinct, index = zip(*(np.unique(column, return_inverse=True) for column in places.T), strict=True)
    phases = [
        np.exp(1j * np.outer(own - spectra.origin[a], w))
        for a, (own, w) in enumerate(zip(distinct, spectra.frequencies, strict=True))
    ]
    sums = (phases[-1] @ table.reshape(-1, table.shape[-1]).T)[index[-1]]  # (k, n_1 * .. * n_(d-1))
    for a in range(len(phases) - 2, -1, -1):
        sums = sums.reshape(len(places), int(np.prod(table.shape[:a])), table.shape[a])
        sums = np.einsum("kra,ka->kr", sums, phases[a][index[a]])
    return np.asarray(sums.real.reshape(len(places)))
