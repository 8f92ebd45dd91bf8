"""A series as block means in units of their noise, the null of its largest contrast, and the changes in it.

The formulas are those of `core.contrasts`; the features come from `features`.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np

from densdiff.core import contrasts
from densdiff.core.contrasts import Dependence, IntArray, LocalNoise
from densdiff.core.scaling import FloatArray
from densdiff.estimators.lsdd import LSDD
from densdiff.progress import tell
from densdiff.series.features import SeriesFeatures, series_features

_BLOCKS = 8  # in a window
_NULL = 199  # simulated series; more for a smaller alpha
_SLOW = 4  # subsequences that a slow direction is looked for over
_LEAST_CAP = 0.05
_CLEAR = 3.0  # what a line explains, in long-run variances, before it counts as one
_CURVED = 8  # blocks of the shortest stretch whose drift is taken off


@dataclass(frozen=True)
class Plan:
    """How a series of ``length`` samples is looked at; a window has about eight blocks."""

    length: int
    window: int
    lag: int
    block: int
    alpha: float
    seed: int

    @classmethod
    def of(cls, length: int, window: int, lag: int, alpha: float, seed: int) -> "Plan":
        block = max(1, window // _BLOCKS)
        return cls(length, window, min(lag, block), block, alpha, seed)  # blocks shorter than the lag would overlap

    @property
    def shift(self) -> int:
        """Samples from the start of a subsequence to its middle, to which it belongs."""
        return (self.lag - 1) // 2

    @property
    def window_blocks(self) -> int:
        """How many blocks a window has."""
        return max(2, round(self.window / self.block))

    @property
    def slowest(self) -> float:
        """The largest correlation of samples that is reckoned with; what is slower is called change."""
        return max(0.5, min(1.0 - 70.0 / self.length, 1.0 - 4.0 / self.window))

    @property
    def slowest_block(self) -> float:
        """The largest correlation from block to block that is reckoned with."""
        return max(_LEAST_CAP, self.slowest**self.block)

    @property
    def n_simulated(self) -> int:
        """How many series are simulated for the null."""
        return max(_NULL, ceil(5.0 / self.alpha))

    def blocks(self, values: FloatArray) -> FloatArray:
        """Means of whole blocks, those left over cut evenly from both ends, (n, p)."""
        n, start = len(values) // self.block, self.start(len(values))
        return np.asarray(values[start : start + n * self.block].reshape(n, self.block, -1).mean(axis=1))

    def start(self, n: int) -> int:
        """The first of n subsequences that belongs to a block."""
        return n % self.block // 2

    def random(self, use: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, use])


@dataclass(frozen=True)
class SeriesScan:
    """A series ready to be searched: running sums in units of the noise, and what such sums reach without change."""

    plan: Plan
    features: SeriesFeatures
    sums: FloatArray  # (n + 1, p) of blocks
    fine: FloatArray  # (N + 1, p) of subsequences
    level: FloatArray  # (n, d) of blocks of the columns themselves
    scales: list[int]  # windows, in blocks
    maxima: FloatArray  # of simulated series

    @classmethod
    def of(cls, rows: FloatArray, plan: Plan, model: LSDD, one_scale: bool) -> "SeriesScan":
        features = series_features(rows, plan.lag, model, plan.seed)
        u = plan.blocks(features.values)
        u = u - u.mean(axis=0)
        n = len(u)
        span = min(max(1, -(-_SLOW * plan.lag // plan.block)), max(1, n // 4))
        axes = contrasts.slow_axes(u, plan.window_blocks, span)
        u = u @ axes
        fitted = _dependence(u, plan)
        scales = [plan.window_blocks] if one_scale else contrasts.window_scales(plan.window_blocks, n)
        null = contrasts.null_series(
            fitted, n, plan.window_blocks, plan.slowest_block, plan.n_simulated, plan.random(8)
        )
        null = tell("simulating series without change", null, plan.n_simulated, len)
        maxima = np.concatenate([contrasts.contrasts(sums, scales, 0, n).max(axis=(0, 2)) for sums in null])
        root = np.sqrt(fitted.weights(plan.slowest_block))
        level = plan.blocks(features.vectors[:, plan.shift :: plan.lag])
        fine = contrasts.running_sums(features.values @ axes * root)
        return cls(plan, features, contrasts.running_sums(u * root), fine, level, scales, maxima)

    @property
    def threshold(self) -> float:
        """What the largest contrast of a series without change exceeds with probability alpha."""
        return float(np.quantile(self.maxima, 1.0 - self.plan.alpha, method="higher"))

    def pvalue(self, contrast: float) -> float:
        return (1.0 + float((self.maxima >= contrast).sum())) / (len(self.maxima) + 1.0)

    def contrasts(self) -> FloatArray:
        """The largest contrast over all scales at the border of every block, (n + 1,); -inf near the ends."""
        return contrasts.largest_contrasts(self.sums, self.scales)

    def borders(self) -> IntArray:
        """The sample at which each block begins, and the one after the last, (n + 1,)."""
        plan = self.plan
        return plan.start(len(self.features.values)) + plan.shift + plan.block * np.arange(len(self.level) + 1)

    def segment(self, n_changes: int | None) -> tuple[IntArray, FloatArray]:
        """Samples at which something changes, and p-values: binary segmentation, then each moved to its place."""
        plan, n_splits = self.plan, n_changes
        while True:
            splits = self._segment_blocks(n_splits)
            places = np.array([place for place, _ in splits], dtype=np.intp)
            least = plan.block * self.threshold if n_changes is None else 0.0
            moved, remaining = contrasts.refine_changes(
                self.fine, self.borders()[places] - plan.shift, 2 * plan.block + plan.window, plan.window // 2, least
            )
            if n_splits is None or n_changes is None or len(remaining) >= n_changes or len(splits) < n_splits:
                return moved + plan.shift, np.array([splits[j][1] for j in remaining])
            n_splits += n_changes - len(remaining)  # some were echoes

    def _segment_blocks(self, n_splits: int | None) -> list[tuple[int, float]]:
        """Borders of blocks with their p-values."""
        return contrasts.binary_segmentation(self._between, len(self.level), self.pvalue, self.plan.alpha, n_splits)

    @cached_property
    def _noise(self) -> LocalNoise:
        return LocalNoise(np.diff(self.sums, axis=0), self.plan.window_blocks)

    @cached_property
    def _level_sums(self) -> FloatArray:
        return contrasts.running_sums(self.level - self.level.mean(axis=0))

    def _between(self, low: int, high: int) -> FloatArray:
        """The largest contrast over all scales at every border of a stretch of blocks, (high - low + 1,)."""
        sums = self.sums[low : high + 1]
        line, step = contrasts.line_and_step(self._level_sums[low : high + 1])
        if high - low >= _CURVED and (line > step).any():
            sums = contrasts.detrended_sums(sums)  # or a trend would be cut into stairs
        found = contrasts.contrasts(sums, self.scales, 0, high - low).max(axis=0)
        return np.asarray(found / self._noise.between(low, high))

    def pvalue_between(self, low: int, place: int, high: int) -> float:
        """The p-value of a change within a window of a sample, between two other changes, or the ends at 0 and T."""
        first, middle, last = np.clip(np.searchsorted(self.borders(), [low, place, high]), 0, len(self.level)).tolist()
        first, last = first + (first > 0), last - (last < len(self.level))  # blocks that lie on the other changes
        reach = self.plan.window_blocks
        near = slice(max(0, middle - reach - first), max(0, middle + reach - first + 1))
        return self.pvalue(float(self._between(first, max(first, last))[near].max(initial=-np.inf)))

    def find_lines(self) -> tuple[IntArray, float]:
        """Columns whose level may follow a straight line from end to end, and a p-value that the others do not.

        Of those in which a line explains something, the ones stay in which a step does not explain so much more that
        noise around the line could not do it: simulated. Without any the p-value is 0.
        """
        plan, n = self.plan, len(self.level)
        level = self.level - self.level.mean(axis=0)
        fitted = _dependence(level, plan)
        root = np.sqrt(fitted.weights(plan.slowest_block))
        line, step = contrasts.line_and_step(contrasts.running_sums(level * root))
        clear = np.flatnonzero(line > _CLEAR)
        if not len(clear):
            return clear, 0.0
        drift = contrasts.fitted_lines(level)
        null = contrasts.null_series(
            fitted, n, plan.window_blocks, plan.slowest_block, plan.n_simulated, plan.random(10), drift
        )
        more = np.concatenate([by_step - by_line for by_line, by_step in map(contrasts.line_and_step, null)])
        pvalues = (1.0 + (more >= step - line).sum(axis=0)) / (len(more) + 1.0)  # (d,)
        lines = clear[pvalues[clear] > plan.alpha]
        return lines, float(pvalues[clear].max())


def _dependence(u: FloatArray, plan: Plan) -> Dependence:
    fitted = contrasts.estimate_dependence(u[None], plan.window_blocks)
    return Dependence(fitted.variance[0], fitted.correlation[0], fitted.pieces[0])


def beyond_lines(rows: FloatArray, scan: SeriesScan, model: LSDD) -> tuple[IntArray, float]:
    """Columns that may follow a straight line, and the p-value of a change beyond it; 0 if no column does.

    Two questions are asked: does a step explain more than the line could, and is there any change left once the
    line is off? Either will do; in simulated trends the two together stay near alpha.
    """
    lines, p = scan.find_lines()
    if not len(lines):
        return lines, p
    flat = rows.copy()
    flat[:, lines] -= rows[:, lines].mean(axis=0) + contrasts.fitted_lines(rows[:, lines])
    again = SeriesScan.of(flat, scan.plan, model, len(scan.scales) == 1)
    return lines, again.pvalue(float(again.contrasts().max()))
