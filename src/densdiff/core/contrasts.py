"""Changes in a series of feature means: contrasts at many scales, the dependence of what is left, and its null.

Everything acts on block means u (.., n, p) of features in the order of time. Between two stretches of n1 and n2 blocks
the contrast is n1 n2 / (n1 + n2) |difference of means|^2 in units of the noise: features are weighted by one over
their long-run variance.
"""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import maximum_filter1d
from scipy.signal import lfilter

from densdiff.core.scaling import FloatArray

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]
_SIDE = 0.5  # shortest side of a contrast, in windows
_RIDGE = 0.3  # of the mean long-run variance, added to each: a small one is known badly
_NOISIER = 1.1  # times the noise of all blocks: so much is chance
_ROUNDS = 2
_RAISED = 3.0  # by how many standard errors the null's correlations are raised: they were fitted
_TINY = 1e-300
_PLACES = 500  # at which every scale is evaluated, at least
_CYCLES = 8
_STANDS_OUT = 0.25  # of a column's variance: an autoregression of 0.9 has it in 1 to 5 % of series
_ROUNDING = 1e-10  # of the whole variance
_CHUNK = 500_000  # entries of simulated series held at once; more leave the cache
_LEARNED = 20_000  # simulated blocks of a round: enough for correlations, whatever the number of series


def running_sums(u: FloatArray) -> FloatArray:
    """Sums of all blocks before each place in time, (.., n + 1, p), starting with 0."""
    sums = np.zeros((*u.shape[:-2], u.shape[-2] + 1, u.shape[-1]), u.dtype)
    np.cumsum(u, axis=-2, out=sums[..., 1:, :])
    return sums


def window_scales(window: int, n: int) -> list[int]:
    """The window and its doubles up to half of n blocks, all in blocks."""
    scales = [window]
    while scales[-1] < n / 2:
        scales.append(2 * scales[-1])
    return scales


def contrasts(sums: FloatArray, scales: list[int], low: int, high: int) -> FloatArray:
    """Contrast at t = low, .., high for each scale, windows cut at both ends, (scales, .., high - low + 1).

    -inf where a side is shorter than half of the first scale. In a long series a scale twice as large is evaluated
    half as often, so that all of them cost little more than the first one twice.
    """
    m = high - low
    within = sums[..., low : high + 1, :]
    shortest = max(1, ceil(_SIDE * scales[0]))
    values = np.full((len(scales), *within.shape[:-2], m + 1), -np.inf)
    if m < 2 * shortest:
        return values
    for level, scale in enumerate(scales):
        if level and scale >= 2 * m:
            break
        places = slice(shortest, m + 1 - shortest, max(1, min(scale // scales[0], (sums.shape[-2] - 1) // _PLACES)))
        t = np.arange(m + 1)[places]
        first, last = np.maximum(t - scale, 0), np.minimum(t + scale, m)
        left, right = (t - first).astype(within.dtype), (last - t).astype(within.dtype)
        gap = within.take(last, axis=-2) / right[:, None]
        gap -= within[..., places, :] * (1 / left + 1 / right)[:, None]
        gap += within.take(first, axis=-2) / left[:, None]
        values[level, ..., places] = np.einsum("...tp,...tp->...t", gap, gap) * (left * right / (left + right))
    return values


def largest_contrasts(sums: FloatArray, scales: list[int]) -> FloatArray:
    """The largest contrast over all scales at every border of a series of blocks, (n + 1,); -inf near the ends."""
    by_scale = contrasts(sums, scales, 0, len(sums) - 1)
    borders = np.arange(by_scale.shape[1])
    for level in by_scale[1:]:  # larger scales are known at some borders only
        finite = np.flatnonzero(np.isfinite(level))
        if len(finite):
            level[:] = np.interp(borders, finite, level[finite], left=-np.inf, right=-np.inf)
    return np.asarray(by_scale.max(axis=0))


def line_and_step(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What a straight line and what the best single step explains of each column, two (.., p).

    ``sums`` (.., n + 1, p) are running sums; they need not start with 0.
    """
    n = sums.shape[-2] - 1
    partial_sums = sums[..., 1:, :] - sums[..., :1, :]
    total, inner = partial_sums[..., -1, :], partial_sums[..., :-1, :]
    slope = (n - 1) / 2 * total - inner.sum(axis=-2)  # by parts: the sum of values times time from the middle
    k = np.arange(1, n)[:, None]
    steps = np.square(inner - k / n * total[..., None, :]) * (n / (k * (n - k)))
    return np.square(slope) * 12.0 / max(n * (n * n - 1.0), 1.0), steps.max(axis=-2, initial=0.0)


def fitted_lines(columns: FloatArray) -> FloatArray:
    """The straight line of each column around its mean, (n, p)."""
    time = np.linspace(-1.0, 1.0, len(columns))[:, None]
    middle = columns - columns.mean(axis=0)
    return np.asarray(time * ((time * middle).sum(axis=0) / np.square(time).sum()))


def detrended_sums(sums: FloatArray) -> FloatArray:
    """Running sums of what is left of each column around a parabola, (n + 1, p)."""
    u = np.diff(sums, axis=0)
    basis = np.linalg.qr(np.vander(np.linspace(-1.0, 1.0, len(u)), 3))[0]
    return running_sums(u - basis @ (basis.T @ u))


def longest_period(rows: FloatArray) -> float:
    """The longest period that stands out in a column (T, d) and comes back eight times or more, in samples; else 0."""
    length, longest = len(rows), 0.0
    for column in (rows / np.maximum(np.abs(rows).max(axis=0), _TINY)).T[:, :, None]:
        power = np.square(np.abs(np.fft.rfft((column - column.mean() - fitted_lines(column))[:, 0])))
        cycles = int(power[1:].argmax()) + 1 if len(power) > 1 else 0
        line = power[max(1, cycles - 1) : cycles + 2].sum()
        if cycles >= _CYCLES and line > _STANDS_OUT * power[1:].sum():
            longest = max(longest, length / cycles)
    return longest


def residuals(u: FloatArray, window: int) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """What is left of u (B, n, p) around its means between cuts, and where a piece starts, (B, n).

    Cuts are made at every local maximum of the contrast, whether it means anything or not: no change may hide in noise.
    """
    batch, n, p = u.shape
    score = contrasts(running_sums(u), [window], 0, n)[0]  # (B, n + 1)
    highest = maximum_filter1d(score, 2 * window + 1, axis=-1, mode="constant", cval=-np.inf)
    starts = ((highest == score) & np.isfinite(score))[:, :n]
    starts[:, 0] = True
    flat = np.flatnonzero(starts.ravel())
    lengths = np.diff(np.append(flat, batch * n))
    rows = u.reshape(batch * n, p)
    means = np.add.reduceat(rows, flat, axis=0) / lengths[:, None]
    return (rows - np.repeat(means, lengths, axis=0)).reshape(u.shape), starts


class LocalNoise:
    """How many times noisier stretches of blocks are than all of them.

    The null has one noise for the whole series; where a part of it is calm, the others are noisier than that, and a
    contrast within them means so much less.
    """

    def __init__(self, white: FloatArray, window: int) -> None:
        """From blocks (n, p) in units of their noise, cut at the local maxima of the contrast of a window."""
        left, _ = residuals(white[None], window)
        self._sums = np.append(0.0, np.cumsum(np.square(left[0]).sum(axis=1)))

    def between(self, low: int, high: int) -> float:
        """Of a stretch of blocks; 1 unless it is clearly noisier."""
        whole = self._sums[-1] / (len(self._sums) - 1)
        own = (self._sums[high] - self._sums[low]) / max(high - low, 1)
        return float(max(1.0, own / (_NOISIER * whole))) if whole > 0 else 1.0


@dataclass(frozen=True)
class Dependence:
    """Variance and correlation from block to block of each feature, (.., p), and the number of pieces between cuts."""

    variance: FloatArray
    correlation: FloatArray
    pieces: FloatArray

    def weights(self, most: float) -> FloatArray:
        """One over the long-run variance of each feature, with correlations of 0 to ``most``, (.., p)."""
        r = np.clip(self.correlation, 0.0, most)
        long_run = self.variance * (1.0 + r) / (1.0 - r)
        return np.asarray(1.0 / np.maximum(long_run + _RIDGE * long_run.mean(axis=-1, keepdims=True), _TINY))


def estimate_dependence(u: FloatArray, window: int) -> Dependence:
    """Variance and correlation of the noise of each series of a batch (B, n, p)."""
    left, starts = residuals(u, window)
    squares = np.square(left).sum(axis=1)
    products = (left[:, 1:] * left[:, :-1] * ~starts[:, 1:, None]).sum(axis=1)
    pieces = starts.sum(axis=1)
    freedom = np.maximum(u.shape[1] - pieces, 1)[:, None]
    # rounding of a series without noise must not count as noise
    floor = _ROUNDING * np.square(u).sum(axis=(1, 2))[:, None] / u.shape[1]
    return Dependence(np.maximum(squares / freedom, floor), products / np.maximum(squares, floor + _TINY), pieces)


def slow_axes(u: FloatArray, window: int, span: int) -> FloatArray:
    """Directions in which sums of ``span`` blocks of the noise are uncorrelated, (p, p).

    Features that look white one by one may share a slow direction, which only sums over some time show.
    """
    sums = running_sums(residuals(u[None], window)[0][0])
    slow = sums[span:] - sums[:-span]
    return np.asarray(np.linalg.eigh(slow.T @ slow)[1][:, ::-1])


def _simulate(
    count: int, n: int, variance: FloatArray, correlation: FloatArray, random: np.random.Generator
) -> npt.NDArray[Any]:
    """Gaussian autoregressions of order 1 without change, (count, n, p), in single precision: their maxima matter."""
    noise = random.standard_normal((count, n, len(variance)), dtype=np.float32)
    noise *= np.sqrt(variance).astype(np.float32)
    noise[:, 1:] *= np.sqrt(1.0 - correlation**2).astype(np.float32)
    for j in np.flatnonzero(correlation):
        recursion = np.array([1.0, -correlation[j]], np.float32)
        noise[:, :, j] = lfilter(recursion[:1], recursion, noise[:, :, j], axis=1)
    return noise


def null_series(
    fitted: Dependence,
    n: int,
    window: int,
    most: float,
    count: int,
    random: np.random.Generator,
    drift: FloatArray | float = 0.0,
) -> Iterator[FloatArray]:
    """Series without change whose dependence, fitted the same way, looks like this: weighted running sums in batches.

    Cutting takes away variance and correlation; two rounds of simulation find the process that shows what was seen.
    Each simulated series is weighted by its own fit, as the data are. ``drift`` (n, p) is added to each.
    """
    p = len(fitted.variance)
    correlation = np.clip(fitted.correlation + (1 + 2 * fitted.correlation) * fitted.pieces / n, 0.0, most)
    variance = fitted.variance.copy()
    size = max(1, _CHUNK // (n * p))
    for _ in range(_ROUNDS):
        refits = [
            estimate_dependence(_simulate(k, n, variance, correlation, random), window)
            for k in _batch_sizes(min(max(_LEARNED // n, 4), count // 4), size)
        ]
        correlations = np.concatenate([refit.correlation for refit in refits])
        spread = np.concatenate([refit.variance for refit in refits]).mean(axis=0)
        correlation = np.clip(correlation + fitted.correlation - np.median(correlations, axis=0), 0.0, most)
        variance = variance * fitted.variance / np.maximum(spread, _TINY)
    correlation = np.where(correlation > 0, np.clip(correlation + _RAISED / sqrt(n), 0.0, most), 0.0)
    for k in _batch_sizes(count, size):
        u = _simulate(k, n, variance, correlation, random)
        u += drift
        yield running_sums(u) * np.sqrt(estimate_dependence(u, window).weights(most))[:, None, :]  # (k, n + 1, p)


def peaks(score: FloatArray, reach: int) -> IntArray:
    """Places of the positive local maxima within ``reach`` on both sides, one of each plateau; nan aside."""
    known = np.where(np.isfinite(score), score, 0.0)
    highest = maximum_filter1d(known, 2 * reach + 1, mode="constant", cval=0.0)
    places: list[int] = []
    for place in np.flatnonzero((highest == known) & (known > 0)):
        if not places or place - places[-1] > reach:
            places.append(int(place))
    return np.array(places, dtype=np.intp)


def _batch_sizes(count: int, size: int) -> list[int]:
    """Sizes of the batches, at most ``size`` each, that make up ``count``."""
    return [min(size, count - first) for first in range(0, count, size)]


def refine_changes(
    sums: FloatArray, changes: IntArray, reach: int, side: int, least: float
) -> tuple[IntArray, IntArray]:
    """Move each change to the largest contrast between its neighbours, twice in turn; also which of them remain.

    Each goes at most ``reach`` away. One that ends closer than ``side`` to another, or with a contrast below ``least``,
    was an echo of one nearby: the smallest of them goes, and the others move once more.
    """
    remaining = np.arange(len(changes))
    ends = np.concatenate([[0], changes, [len(sums) - 1]])
    while len(remaining):
        for _ in range(2):
            for j in range(1, len(ends) - 1):
                low, high = int(ends[j - 1]), int(ends[j + 1])
                t = np.arange(max(low + 1, ends[j] - reach), min(high - 1, ends[j] + reach) + 1)
                ends[j] = t[np.argmax(_contrast_between(sums, low, t, high))]
        triples = zip(ends[:-2], ends[1:-1], ends[2:], strict=True)
        heights = np.array([_contrast_between(sums, low, np.array([t]), high)[0] for low, t, high in triples])
        close = np.diff(ends[1:-1]) < side
        echo = (heights < least) | np.append(close, False) | np.append(False, close)
        if not echo.any():
            break
        out = int(np.where(echo, heights, np.inf).argmin())
        ends, remaining = np.delete(ends, out + 1), np.delete(remaining, out)
    return np.asarray(ends[1:-1]), remaining


def _contrast_between(sums: FloatArray, low: int, t: IntArray, high: int) -> FloatArray:
    """Contrast of all between low and t with all between t and high, (len(t),)."""
    left, right = t - low, high - t
    gap = (sums[high] - sums[t]) / right[:, None] - (sums[t] - sums[low]) / left[:, None]
    return np.asarray(np.square(gap).sum(axis=1) * left * right / (high - low))


def binary_segmentation(
    contrasts_between: Callable[[int, int], FloatArray],
    n: int,
    pvalue: Callable[[float], float],
    alpha: float,
    most: int | None,
) -> list[tuple[int, float]]:
    """Borders of n blocks at which a series is split, in order, with their p-values.

    The largest contrast of any stretch comes first: ``contrasts_between(low, high)`` has those at the borders of a
    stretch. Splits have p-values up to alpha, or there are ``most`` of them; none has a smaller one than the split
    that it was found after.
    """
    queue: list[tuple[float, int, int, int, float]] = []

    def look(low: int, high: int, before: float) -> None:
        best = contrasts_between(low, high)
        i = int(best.argmax())
        if np.isfinite(best[i]):
            p = max(before, pvalue(float(best[i])))
            heapq.heappush(queue, (-float(best[i]), low, high, low + i, p))

    look(0, n, 0.0)
    splits: list[tuple[int, float]] = []
    while queue and (most is None or len(splits) < most):
        _, low, high, place, p = heapq.heappop(queue)
        if most is None and p > alpha:
            continue
        splits.append((place, p))
        look(low, place, p)
        look(place, high, p)
    return sorted(splits)


def prune_splits(
    contrasts_between: Callable[[int, int], FloatArray],
    n: int,
    pvalue: Callable[[float], float],
    alpha: float,
    splits: list[tuple[int, float]],
    reach: int,
) -> list[tuple[int, float]]:
    """Splits of `binary_segmentation` that are still significant between their neighbours, at most ``reach`` away.

    An early split may lie between two changes and on neither; once both are known, nothing is left of it.
    """

    def height(k: int, low: int, high: int) -> float:
        near = slice(max(0, splits[k][0] - reach - low), splits[k][0] + reach - low + 1)
        return float(contrasts_between(low, high)[near].max())

    places = [place for place, _ in splits]
    kept = clear_places(places, n, lambda k, low, high: -height(k, low, high), lambda doubt: pvalue(-doubt) <= alpha)
    return [splits[k] for k in kept]


def clear_places(
    places: list[int], n: int, doubt: Callable[[int, int, int], float], is_clear: Callable[[float], bool]
) -> list[int]:
    """Numbers of the places, in order between 0 and n, that are clear between their neighbours.

    ``doubt(k, low, high)`` tells how doubtful place k is if its neighbours are there. The most doubtful one goes while
    it is not clear, and the others are judged again.
    """
    kept = list(range(len(places)))
    while kept:
        ends = [0, *(places[k] for k in kept), n]
        doubts = [doubt(k, low, high) for k, low, high in zip(kept, ends, ends[2:], strict=False)]
        worst = int(np.argmax(doubts))
        if is_clear(doubts[worst]):
            break
        del kept[worst]
    return kept
