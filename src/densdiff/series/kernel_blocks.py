"""Kernel means of subsequences over blocks of whole periods, in units of their noise.

A subsequence is a quarter of a period long: five points, each the mean of its neighbourhood. Blocks hold whole
periods, so that it does not matter at which phase a block starts.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np

from densdiff.core import contrasts, kernel, selection
from densdiff.core.contrasts import IntArray
from densdiff.core.scaling import FloatArray
from densdiff.series.features import own_scaling, principal_axes, subsequences
from densdiff.solvers.centers import CenterKernel

_CENTERS = 150
_POINTS = 5  # of a subsequence
_SPAN = 0.25  # of a period, from the first point of a subsequence to the last
_STEPS = 32  # subsequences in a period; an eighth as many in a long series
_MOST_ROWS = 40_000  # of a long series, each the mean over whole periods
_PART = 4096
_LEAST_NOISE = 0.003  # of the deviation of single subsequences
_RIDGE = 0.3  # of the variance along each axis, added to it
_CALM = 0.8  # of the differences between blocks: the smaller ones tell the noise, the others may be changes
_TINY = 1e-30


@dataclass(frozen=True)
class KernelRows:
    """Kernel features, each row the mean of the subsequences that start within ``samples`` samples."""

    values: FloatArray  # (N, b)
    samples: int
    middle: float  # sample in the middle of what the first row describes


@dataclass(frozen=True)
class Blocks:
    """Features of overlapping blocks of ``width`` rows, one every ``stride`` rows, along a few axes."""

    values: FloatArray  # (n, p)
    least: FloatArray  # (p,) variance of noise that is taken for granted: without any, rounding would be a change
    width: int
    stride: int
    middle: float  # sample in the middle of the first block
    samples: int  # from the middle of a block to that of the next one

    @property
    def lag(self) -> int:
        """How many blocks further a block is that has no sample in common."""
        return max(1, ceil((self.width + 1) / self.stride))

    def samples_at(self, borders: IntArray) -> FloatArray:
        """The samples halfway between a block and the one before it."""
        return np.asarray(self.middle + (borders - 0.5) * self.samples)


def kernel_rows(rows: FloatArray, period: float, seed: int) -> KernelRows:
    """Features of the subsequences of rows (T, d); their points are a twentieth of a period apart."""
    spacing = max(1, round(_SPAN * period / _POINTS))
    sums = contrasts.running_sums(own_scaling(rows, True)[1])
    vectors = subsequences((sums[spacing:] - sums[:-spacing]) / spacing, _POINTS, spacing)
    step, together = max(1, int(period / _STEPS)), 1
    if len(vectors) > step * _MOST_ROWS:
        step = max(1, int(8 * period / _STEPS))
        together = max(1, round(ceil(len(vectors) / (period * _MOST_ROWS)) * period / step))
    vectors = vectors[::step]
    centers = np.unique(vectors[selection.draw_rows(seed, len(vectors), _CENTERS)], axis=0)
    sigma = kernel.median_distance(centers)
    center_kernel = CenterKernel(centers, kernel.radius(vectors), sigma)
    n, part = len(vectors) // together, max(1, _PART // together)
    values = np.empty((n, len(centers)))
    for start in range(0, n, part):
        stop = min(start + part, n)
        features = center_kernel.plain_features(sigma, vectors[start * together : stop * together])
        values[start:stop] = features.reshape(stop - start, together, -1).mean(axis=1)
    return KernelRows(values, step * together, (_POINTS * spacing + step * (together - 1)) / 2)


def block_features(rows: KernelRows, width: int, stride: int, n_axes: int) -> Blocks:
    """Means over blocks along the axes in which these means differ most."""
    centred = rows.values - rows.values.mean(axis=0)
    sums = contrasts.running_sums(centred)
    means = ((sums[width:] - sums[:-width]) / width)[::stride]  # (n, b)
    axes = principal_axes(means)[1][:, :n_axes]
    least = _LEAST_NOISE**2 * (centred @ axes).var(axis=0)
    return Blocks(
        means @ axes, least, width, stride, rows.middle + rows.samples * (width - 1) / 2, rows.samples * stride
    )


def standardized(blocks: FloatArray, lag: int, least: FloatArray | float = 0.0) -> FloatArray:
    """Series of blocks (B, n, p) in units of their noise, raised by ``least`` (p,) variances, far ones drawn in.

    The noise is that of differences of blocks that have nothing in common. A length much above that of noise says only
    that a block is different, so lengths are bounded: bursts would hide every change.
    """
    steps = blocks[:, lag:] - blocks[:, :-lag]
    squares = np.square(steps)
    lengths = (squares / (squares.mean(axis=1, keepdims=True) + _TINY)).sum(axis=2)
    calm = lengths <= np.quantile(lengths, _CALM, axis=1, keepdims=True)  # (B, n - lag)
    steps *= calm[..., None]
    noise = np.swapaxes(steps, 1, 2) @ steps / (2.0 * calm.sum(axis=1))[:, None, None]  # (B, p, p)
    own = np.einsum("bpp->bp", noise)
    diagonal = np.arange(noise.shape[1])
    noise[:, diagonal, diagonal] += _RIDGE * own + 1e-6 * own.mean(axis=1, keepdims=True) + least + _TINY
    white = blocks @ np.swapaxes(np.linalg.inv(np.linalg.cholesky(noise)), 1, 2)
    white -= np.median(white, axis=1, keepdims=True)
    white /= np.sqrt(1.0 + np.square(white).mean(axis=2, keepdims=True))
    return np.asarray(white)
