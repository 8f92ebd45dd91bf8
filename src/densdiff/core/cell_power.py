"""Statistics of rows counted in the cells of a grid, for any number of relabelled counts at once.

A statistic is a sum over frequencies of the power of the difference of shares: by products with cosines and sines or by
fast Fourier transforms, whichever is cheaper.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.fft import next_fast_len, rfftn

from densdiff.core.fourier import AT_ONCE, box
from densdiff.core.grid import reach
from densdiff.core.resample import Cells, CountArray
from densdiff.core.scaling import FloatArray

AnyFloats = npt.NDArray[np.floating[Any]]
Model = tuple[float, float]  # sigma, lam
_PRODUCTS = 300  # multiplications and additions of matrices that take as long as one point of a Fourier transform
_LINE_PRODUCTS = 450  # the same where waves are made once for all relabellings
_MANY_CELLS = 256
_BAND = 1e-8  # of a filter's peak: frequencies beyond are left out
_WRAP = {1: 1e-8, 2: 1e-3, 3: 1e-3}  # of a kernel's peak where a grid closes: the widest model by a percent at most


def float_kind(n_cells: int) -> type[np.floating[Any]]:
    """How precise statistics of relabelled counts have to be: of many cells they are never equal, and ranks of them are
    all that is asked for; of few they often are, and rounding must not part them.
    """
    return np.float32 if n_cells >= _MANY_CELLS else np.float64


def cell_statistics(cells: Cells, counts: CountArray, models: list[Model]) -> FloatArray:
    """E12 of each model (sigma, lam) for each row of counts of X, (k, M): observed or from `permuted_counts`.

    A statistic is the power of the difference at the frequencies of a grid, weighted by the filter of its model. A grid
    is just long enough for its kernels: a wide one needs few frequencies, since its band is narrow, and so does a
    narrow one, whose grid is short.
    """
    n, m = cells.counts.sum(axis=1)
    runs = share_grids(cells, models)
    grids = [_ModelGrid.of(cells, models[run]) for run in runs]
    statistics = np.empty((len(counts), len(models)))
    step = max(1, AT_ONCE // max(max(grid.size for grid in grids), len(cells.occupied)))
    kind = float_kind(len(cells.occupied))
    waves = [[wave.astype(kind) for wave in grid.waves(cells)] if grid.by_products else [] for grid in grids]
    for first in range(0, len(counts), step):
        batch = counts[first : first + step]
        dense = np.zeros((len(batch), int(np.prod(cells.shape))), dtype=kind)
        dense[:, cells.occupied] = batch / n - (cells.pooled - batch) / m  # (k, c)
        dense = dense.reshape(-1, *cells.shape)
        for run, grid, own_waves in zip(runs, grids, waves, strict=True):
            power = grid.power(dense, own_waves).reshape(len(batch), -1)
            statistics[first : first + step, run] = power @ grid.weights.astype(kind)
    return statistics


def share_grids(cells: Cells, models: list[Model]) -> list[slice]:
    """The runs of models for which one grid is cheaper than two, for one column; else each has its own.

    Narrow kernels need about the same length, and the power at the frequencies of the narrowest serves them all.
    """
    if len(cells.shape) > 1:
        return [slice(j, j + 1) for j in range(len(models))]
    best: list[tuple[float, list[slice]]] = [(0.0, [])]
    for end in range(1, len(models) + 1):
        options = [(best[start][0] + _line_cost(cells, models[start:end]), start) for start in range(end)]
        cost, start = min(options)
        best.append((cost, [*best[start][1], slice(start, end)]))
    return best[-1][1]


def _line_cost(cells: Cells, models: list[Model]) -> float:
    """Multiplications and additions for the power of one row of counts, for one column and models of one grid."""
    (length,), (band,) = _grid_shape(cells, models), _bands(cells, models)
    return min(4.0 * len(cells.occupied) * band, _LINE_PRODUCTS * length)


def has_few_frequencies(cells: Cells, models: list[Model]) -> bool:
    """Whether a product with `line_waves` is cheaper than a Fourier transform, for one column and a shared grid."""
    (length,), (band,) = _grid_shape(cells, models), _bands(cells, models)
    return 4 * len(cells.occupied) * band <= _LINE_PRODUCTS * length


def line_waves(cells: Cells, models: list[Model]) -> tuple[FloatArray, FloatArray]:
    """Cosines and sines at the occupied cells of one column, (c, F), and their weights in E12 of each model, (F, M)."""
    runs = share_grids(cells, models)
    grids = [_ModelGrid.of(cells, models[run]) for run in runs]
    bands = [len(grid.lines[0]) for grid in grids]
    ends, total = np.cumsum(bands, dtype=np.intp), sum(bands)
    waves, weights = np.empty((len(cells.occupied), 2 * total)), np.zeros((total, len(models)))
    for run, grid, band, end in zip(runs, grids, bands, ends, strict=True):
        powers = _powers(2.0 * np.pi / grid.shape[0] * cells.occupied.astype(np.float64), band)
        waves[:, end - band : end], waves[:, total + end - band : total + end] = powers.real, powers.imag
        weights[end - band : end, run] = grid.weights
    return waves, np.vstack([weights, weights])


def _powers(angles: FloatArray, count: int) -> npt.NDArray[np.complexfloating]:
    """exp(i k angle) for k = 0, 1, .., (c, count), as products of two: few exponentials, and errors do not add up."""
    step = max(1, int(count**0.5))
    low, high = (np.exp(1j * np.outer(angles, k)) for k in (np.arange(step), np.arange(0, count, step)))
    return np.asarray((high[:, :, None] * low[:, None, :]).reshape(len(angles), -1)[:, :count])


@dataclass(frozen=True)
class _ModelGrid:
    """The padded grid of one or more models, its frequencies from 0 up along each axis, and their weights."""

    shape: tuple[int, ...]
    lines: list[FloatArray]
    weights: FloatArray  # (K, M) of the power at each frequency of the box of the lines
    size: int  # numbers that the power of one row of counts needs at a time
    by_products: bool  # of cosines and sines, where that is cheaper than a fast Fourier transform

    @classmethod
    def of(cls, cells: Cells, models: list[Model]) -> "_ModelGrid":
        d, shape, bands = len(cells.shape), _grid_shape(cells, models), _bands(cells, models)
        lines = [
            2 * np.pi / (n * cells.spacing) * np.arange(band, dtype=np.float64)
            for n, band in zip(shape, bands, strict=True)
        ]
        # how many frequencies of either sign each stands for
        times = [
            np.where((line > 0) & (2 * np.arange(len(line)) != n), 2.0, 1.0)
            for line, n in zip(lines, shape, strict=True)
        ]
        squared = box([line**2 for line in lines], np.add)
        weights = np.column_stack([(_filter(squared, model) * box(times)).ravel() for model in models])
        sizes = [prod(cells.shape[: d - j]) * prod(2 * k for k in bands[d - j :]) for j in range(d + 1)]
        by_products = 2 * sum(size * 2 * bands[d - 1 - j] for j, size in enumerate(sizes[:-1])) <= _PRODUCTS * prod(
            shape
        )
        weights /= np.prod([n * cells.spacing for n in shape])
        return cls(shape, lines, weights, max(sizes) if by_products else prod(shape), by_products)

    def waves(self, cells: Cells) -> list[FloatArray]:
        """Cosines and sines at the cells of each axis, (n_a, 2K_a)."""
        angles = [np.outer(cells.spacing * np.arange(n), line) for n, line in zip(cells.shape, self.lines, strict=True)]
        return [np.hstack([np.cos(angle), np.sin(angle)]) for angle in angles]

    def power(self, dense: AnyFloats, waves: list[AnyFloats]) -> AnyFloats:
        """Mean power of grids (k, n_1, ..) at frequencies of either sign, (k, K_1, ..), with their waves if it is by
        products."""
        if self.by_products:
            return _power_by_products(dense, waves)
        return _power_by_transform(dense, list(self.shape), [len(line) for line in self.lines])


def _grid_shape(cells: Cells, models: list[Model]) -> tuple[int, ...]:
    """How long each axis of a grid must be for the kernels of all models."""
    d = len(cells.shape)
    pad = int(max(_reach(*model, _WRAP[d]) for model in models) / cells.spacing) + 1
    return tuple(next_fast_len(n + pad, real=a == d - 1) for a, n in enumerate(cells.shape))


def _bands(cells: Cells, models: list[Model]) -> list[int]:
    """How many frequencies from 0 up count along each axis, in the filter of any model."""
    highest = max(frequency_at(model, _BAND) for model in models)
    lengths = _grid_shape(cells, models)
    return [min(n // 2, int(highest * n * cells.spacing / (2 * np.pi))) + 1 for n in lengths]


_reach = lru_cache(maxsize=64)(reach)


@lru_cache(maxsize=64)
def frequency_at(model: Model, share: float) -> float:
    """Where the filter of a model, 2F - F^2, falls below a share of its peak."""
    sigma, lam = model
    f = -np.expm1(0.5 * np.log1p(-share * float(_filter(np.zeros(1), model)[0])))  # 2f - f^2 is that small
    return float(np.sqrt(2.0 * np.log((1.0 / f - 1.0) / lam)) / sigma)


def _filter(squared: FloatArray, model: Model) -> FloatArray:
    """2F - F^2 of a model at squared frequencies."""
    sigma, lam = model
    f = 1.0 / (1.0 + lam * np.exp(np.minimum(0.5 * sigma**2 * squared, 700.0)))
    return np.asarray(2 * f - f**2)


def _power_by_products(grid: AnyFloats, waves: list[AnyFloats]) -> AnyFloats:
    for wave in reversed(waves):  # (cells, 2K) along the last axis, which then goes to the front
        grid = np.moveaxis(grid @ wave, -1, 1)
    power = np.square(grid)
    for a, wave in enumerate(waves):
        cosines, sines = np.split(power, [wave.shape[1] // 2], axis=a + 1)
        power = cosines + sines
    return power


def _power_by_transform(grid: AnyFloats, shape: list[int], bands: list[int]) -> AnyFloats:
    spectra = rfftn(grid, s=shape, axes=range(1, len(shape) + 1))[..., : bands[-1]]
    power: AnyFloats = spectra.real**2 + spectra.imag**2
    for a, (n, k) in enumerate(zip(shape[:-1], bands[:-1], strict=True)):
        index = np.arange(k)
        power = 0.5 * (power.take(index, axis=a + 1) + power.take(-index % n, axis=a + 1))
    return power
