"""Changes of rhythm: contrasts of blocks of two periods, a null of resampled blocks, and the places of the changes.

The features are made in `kernel_blocks`, the contrasts in `core.contrasts`; `scan` does the same for levels.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np

from densdiff.core import contrasts
from densdiff.core.contrasts import IntArray, LocalNoise
from densdiff.core.scaling import FloatArray
from densdiff.progress import tell
from densdiff.series.kernel_blocks import Blocks, block_features, kernel_rows, standardized

PERIOD = 20.0  # samples, where no period is clear: subsequences are then five neighbours
_AXES = 12  # that show changes
_FINE_AXES = 30  # that place them
_PERIODS = 20  # in a series at least; a longer period is taken for one so long
_MOST_BLOCKS = 4000
_SMALLEST = 3.0  # lengths of a block in the smallest window; half a window is the shortest side of a change
_PIECE = 4.0  # lengths of a block between the cuts that the null's noise is taken from
_ECHO = 0.75  # of the shortest side of a change, to which two changes may come near
_STRETCH = 0.5  # of the cube root of how often a block fits in: resampled stretches, in blocks that do not overlap
_TWICE = 60  # resampled series that are cut and resampled once more
_ROUNDING = 1e-9  # of kernel features, which are at most 1
_CHUNK = 1_000_000  # entries of resampled series held at once


@dataclass(frozen=True)
class RhythmScan:
    """Blocks of a series in units of their noise, and the largest contrasts of such blocks without change."""

    period: float
    blocks: Blocks
    sums: FloatArray  # (n + 1, p)
    scales: list[int]  # windows, in blocks
    maxima: FloatArray  # of resampled series
    fine: Blocks
    fine_sums: FloatArray

    @classmethod
    def of(cls, rows: FloatArray, period: float | None, window: int, count: int, seed: int) -> "RhythmScan | None":
        """The scan of a series (T, d) with ``count`` resampled ones; None if it is too short for one, or constant.

        Half a ``window``, in samples, is the shortest side of a change, or more if the period asks for it.
        """
        period = min(PERIOD if period is None else period, len(rows) / _PERIODS)
        features = kernel_rows(rows, period, seed)
        in_period = period / features.samples
        stride = max(1, round(in_period / 2), ceil(len(features.values) / _MOST_BLOCKS))
        width = max(2, round(2 * in_period), 2 * stride if stride > in_period else 0)
        smallest = max(2, round(max(_SMALLEST * width, window / features.samples) / stride))
        if len(features.values) < width + (2 * smallest - 1) * stride:
            return None
        blocks = block_features(features, width, stride, _AXES)
        if np.ptp(blocks.values, axis=0).max() < _ROUNDING:
            return None  # nothing but one period again and again
        white = standardized(blocks.values[None], blocks.lag, blocks.least)[0]
        scales = contrasts.window_scales(smallest, len(white))
        maxima = _null_maxima(white, blocks, scales, count, np.random.default_rng([seed, 12]))
        fine = block_features(features, max(2, round(in_period)), 1, _FINE_AXES)
        fine_sums = contrasts.running_sums(standardized(fine.values[None], fine.lag, fine.least)[0])
        return cls(period, blocks, contrasts.running_sums(white), scales, maxima, fine, fine_sums)

    def threshold(self, alpha: float) -> float:
        """What the largest contrast of a series without change exceeds with probability alpha."""
        return float(np.quantile(self.maxima, 1.0 - alpha, method="higher"))

    def pvalue(self, contrast: float) -> float:
        return (1.0 + float((self.maxima >= contrast).sum())) / (len(self.maxima) + 1.0)

    def contrasts(self) -> FloatArray:
        """The largest contrast over all scales at the border before every block, (n + 1,); -inf near the ends."""
        return contrasts.largest_contrasts(self.sums, self.scales)

    def largest(self) -> float:
        """The largest contrast of the whole series."""
        return float(self.contrasts().max())

    def segment(self, alpha: float, n_changes: int | None) -> tuple[IntArray, FloatArray]:
        """Samples at which the rhythm changes, and p-values: those up to alpha, or the largest ``n_changes``."""
        n = len(self.sums) - 1
        splits = contrasts.binary_segmentation(self._between, n, self.pvalue, alpha, n_changes)
        if n_changes is None:
            splits = contrasts.prune_splits(self._between, n, self.pvalue, alpha, splits, self.blocks.lag)
        places, remaining = self._places(np.array([place for place, _ in splits], dtype=np.intp), n_changes is None)
        return places, np.array([splits[j][1] for j in remaining])

    @cached_property
    def _noise(self) -> LocalNoise:
        white = np.diff(self.sums, axis=0)
        return LocalNoise(white, _piece(self.blocks, self.scales[0], len(white)))

    def _between(self, low: int, high: int) -> FloatArray:
        """The largest contrast over all scales at every border of a stretch, (high - low + 1,), without the blocks that
        lie on the changes at its ends."""
        margin, n = self.blocks.lag, len(self.sums) - 1
        first, last = low + margin * (low > 0), high - margin * (high < n)
        found = np.full(high - low + 1, -np.inf)
        if last - first > 1:
            inner = contrasts.contrasts(self.sums[first : last + 1], self.scales, 0, last - first).max(axis=0)
            found[first - low : last - low + 1] = inner / self._noise.between(first, last)
        return found

    def pvalue_between(self, low: int, place: int, high: int) -> float:
        """The p-value of a change within a block of a sample, between two other changes, or the ends at 0 and T."""
        n = len(self.sums) - 1
        borders = self.blocks.samples_at(np.arange(n + 1))
        first, middle, last = np.searchsorted(borders, [low, place, high]).tolist()
        first, last = first if low > 0 else 0, last if last < n else n
        near = slice(max(0, middle - self.blocks.lag - first), max(0, middle + self.blocks.lag - first + 1))
        return self.pvalue(float(self._between(first, max(first, last))[near].max(initial=-np.inf)))

    def _places(self, borders: IntArray, may_be_echoes: bool) -> tuple[IntArray, IntArray]:
        """Each border of blocks moved to the largest contrast of finer blocks within two periods, in samples; and which
        of them remain: one that comes nearer to another than a side of a change may be short was its echo."""
        fine = self.fine
        near = np.round((self.blocks.samples_at(borders) - fine.middle) / fine.samples + 0.5).astype(np.intp)
        near = np.clip(near, 1, len(self.fine_sums) - 2)
        reach = max(1, round(2 * self.period / fine.samples))
        shortest = self.scales[0] / 2 * self.blocks.stride if may_be_echoes else 0.0  # in steps of finer blocks
        moved, remaining = contrasts.refine_changes(self.fine_sums, near, reach, round(_ECHO * shortest), 0.0)
        return np.round(fine.samples_at(moved)).astype(np.intp), remaining


def _null_maxima(
    white: FloatArray, blocks: Blocks, scales: list[int], count: int, random: np.random.Generator
) -> FloatArray:
    """Largest contrasts of series put together from stretches of what is left between cuts, two periods each or more.

    Overlapping blocks depend on each other, and every joint of two stretches loses some of that: the longer the series,
    the longer its windows, and the less may be lost, as in any resampling of blocks. Cutting takes some of the noise
    away. How much shows when the resampled series are cut and resampled themselves: the maxima are raised by that
    factor.
    """
    n, p = white.shape
    overlap = blocks.width / blocks.stride  # blocks that have samples in common with one of them, on either side
    length = min(max(2, round(max(1.0, _STRETCH * np.cbrt(n / overlap)) * overlap)), max(2, n // 4))
    window = _piece(blocks, scales[0], n)
    left = contrasts.residuals(white[None], window)[0]
    maxima, again = [], []
    starts = range(0, count, size := max(1, _CHUNK // (n * p)))
    for first in tell("simulating series of one rhythm", starts, len(starts)):
        resampled = _resample(left, min(size, count - first), length, random)
        white_again = standardized(resampled, blocks.lag)
        maxima.append(_largest(white_again, scales))
        if first < _TWICE:
            twice = _resample(contrasts.residuals(white_again, window)[0], 1, length, random)
            again.append(_largest(standardized(twice, blocks.lag), scales))
    largest, lowered = np.concatenate(maxima), float(np.median(np.concatenate(again)))
    return np.asarray(largest * max(1.0, float(np.median(largest)) / lowered if lowered > 0 else 1.0))


def _piece(blocks: Blocks, smallest: int, n: int) -> int:
    """How many of n blocks lie between the cuts that noise is taken from, at least: no fewer than in the smallest
    window, or slower noise, which its contrasts see, would be cut away."""
    return min(max(2, smallest, round(_PIECE * blocks.width / blocks.stride)), max(2, n // 4))


def _largest(white: FloatArray, scales: list[int]) -> FloatArray:
    """The largest contrast of each series (B, n, p)."""
    found = contrasts.contrasts(contrasts.running_sums(white), scales, 0, white.shape[1])
    return np.asarray(found.max(axis=(0, 2)))


def _resample(left: FloatArray, count: int, length: int, random: np.random.Generator) -> FloatArray:
    """From each series (B, n, p) ``count`` of stretches of ``length`` blocks in random order, (B count, n, p)."""
    batch, n, _ = left.shape
    starts = random.integers(0, n - length + 1, (batch * count, -(-n // length)))
    places = (starts[..., None] + np.arange(length)).reshape(batch * count, -1)[:, :n]
    return np.asarray(left[np.repeat(np.arange(batch), count)[:, None], places])
