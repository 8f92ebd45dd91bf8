"""The threshold that odds of changes and forgetting sums exceed once in a run length, from simulated streams.

An alarm lasts until the score falls to a level below the threshold, so that one excursion is one alarm.

Streams are rows of the reference drawn anew, in blocks where neighbours are alike and in step with a season. Each
stream has a reference of its own, whose means and costs are off as those of a reference of this length are.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from densdiff.core.change_odds import MOST, Families, Hypotheses
from densdiff.core.change_score import Score
from densdiff.core.forgetting_sums import Bank
from densdiff.core.scaling import FloatArray

IntArray = npt.NDArray[np.intp]
Float32Array = npt.NDArray[np.float32]

WORK = 400_000_000  # entries of sums that are simulated in all
MOST_STEPS = 10_000  # of a simulated stream; longer run lengths are extrapolated
FEWEST_STREAMS, MOST_STREAMS = 80, 400
REACH = 2.5  # lengths of simulated streams, in desired run lengths
_PILOTS = 100  # streams that tell the heights of single statistics
_HEIGHT = 0.75  # quantile of their maxima
_PARTS = 400  # of a reference, at most, that have weights of their own when one is drawn anew
_COUNTED = 100_000  # ratios of one part, at most, that tell their mean
_LEEWAY = 1 / 32  # of a season: rows of nearly the same phase stand for each other, or few seasons would repeat
_FLAT = 1e-6  # of the largest height: a statistic that never moves has one too
_ORDINARY = 0.4  # quantile of scores
_SQUARES = 0.1  # share of the sums of squares of each group in the false alarms
_TIES = 1e-4  # by which a threshold is raised: simulated in single precision, it must not cut through ties


@dataclass(frozen=True)
class RowDraws:
    """Numbers of rows of a reference as a stream might bring them."""

    rows: int
    block: int = 1  # rows that stay together
    period: float = 0.0  # of a season, 0 for none

    def draw(self, streams: int, steps: int, random: np.random.Generator) -> IntArray:
        """(streams, steps)"""
        if self.block == 1 and not self.period:
            return random.integers(0, self.rows, (streams, steps))
        blocks = -(-steps // self.block)
        if self.period:
            phase = random.uniform(0.0, self.period, (streams, 1)) + np.arange(blocks) * float(self.block)
            phase += random.uniform(-_LEEWAY, _LEEWAY, phase.shape) * self.period
            phase %= self.period
            seasons = np.maximum((self.rows - self.block - phase) // self.period + 1, 1)
            starts = phase + self.period * random.integers(0, seasons.astype(np.intp))
        else:
            starts = random.integers(0, self.rows - self.block + 1, (streams, blocks))
        found = starts.astype(np.intp)[:, :, None] + np.arange(self.block)
        return np.asarray(found.reshape(streams, -1)[:, :steps] % self.rows)

    def parts(self) -> list[slice]:
        """The reference in parts that are drawn as a whole when a reference is drawn anew."""
        size = max(self.block, -(-self.rows // _PARTS), round(self.period))
        if self.period:
            size = round(self.period * max(1, round(size / self.period)))
        return [slice(first, min(first + size, self.rows)) for first in range(0, self.rows, max(size, 1))]

    def weights(self, references: int, random: np.random.Generator) -> Float32Array:
        """Weights of the parts in as many references drawn anew, by the Bayesian bootstrap, (references, parts)."""
        sizes = np.array([part.stop - part.start for part in self.parts()], np.float32)
        weights = random.standard_exponential((references, len(sizes)), dtype=np.float32) * sizes
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Simulation:
    """Streams of features to be drawn for a bank and for hypotheses."""

    bank: Bank
    families: Families
    gaps: Float32Array  # features of the reference less their means, in its order, (n, p)
    draws: RowDraws
    window: int

    @property
    def size(self) -> int:
        """Entries of one stream that are computed at each step."""
        return self.bank.units.size + len(self.families.hypotheses.feature)

    def _streams(
        self,
        hypotheses: Hypotheses,
        streams: int,
        steps: int,
        random: np.random.Generator,
        drift: FloatArray | None = None,
    ) -> Iterator[tuple[Float32Array, Float32Array]]:
        """Sums (streams, K, r) and odds (streams, H) after each row from the one that fills the window on."""
        errors, costs = self.references(hypotheses, streams, random)
        rows = self.draws.draw(streams, steps, random)
        decay, places = self.bank.decay.astype(np.float32)[:, None], self.bank.groups.places
        errors = errors.take(places, axis=1)
        sums = np.zeros((streams, *self.bank.units.shape), np.float32)
        odds = np.zeros((streams, len(hypotheses.feature)), np.float32)
        for step, drawn in enumerate(rows.T):
            gaps = self.gaps[drawn]
            if drift is not None:
                gaps += (drift[0] + step * drift[1]).astype(np.float32)
            sums *= decay
            sums += (gaps.take(places, axis=1) - errors)[:, None]
            odds += np.float32(1.0)
            odds *= hypotheses.ratios(gaps, costs)
            np.minimum(odds, np.float32(MOST), out=odds)
            if step >= self.window - 1:
                yield sums, odds

    def references(
        self, hypotheses: Hypotheses, count: int, random: np.random.Generator
    ) -> tuple[Float32Array, Float32Array]:
        """As many references drawn anew: errors of their means (count, p), and costs that make up for these (count, H).

        With the mean of a reference drawn anew, exponents are slope * (gap - error) - time * log(mean of exp(slope *
        (gap - error))). They are written as slope * gap - cost, so that features are looked up once for all streams.
        """
        weights = self.draws.weights(count, random)
        feature, times = hypotheses.feature, self.families.times[hypotheses.feature]
        own = hypotheses.cost / times
        means, ratios = [], []
        for part in self.draws.parts():
            gaps = self.gaps[part]
            means.append(gaps.mean(axis=0))
            some = gaps[:: max(1, gaps.shape[0] * len(feature) // _COUNTED)]
            ratios.append(hypotheses.ratios(some, own.astype(np.float32)).mean(axis=0))
        errors = weights @ np.stack(means)
        more = np.log(weights @ np.stack(ratios))
        costs = hypotheses.cost + times * more - (times - 1.0) * hypotheses.slope * errors.take(feature, axis=1)
        return np.asarray(errors), np.asarray(costs, dtype=np.float32)

    def pilot(self, steps: int, random: np.random.Generator) -> Score:
        """What each family of hypotheses and each sum of squares alone rarely exceeds; evidence is not scaled yet."""
        families = self.families
        squares = np.zeros((_PILOTS, len(self.bank.decay), len(self.bank.groups.starts)), np.float32)
        odds = np.zeros((_PILOTS, len(families.starts)), np.float32)
        for sums, likely in self._streams(families.hypotheses, _PILOTS, steps, random):
            np.maximum(squares, self.bank.statistics(sums), out=squares)
            np.maximum(odds, families.means(likely), out=odds)
        heights = np.quantile(squares.astype(float), _HEIGHT, axis=0)
        heights = np.maximum(heights, _FLAT * max(float(heights.max()), _FLAT))
        usual = np.log(np.maximum(odds, np.finfo(np.float32).tiny)).mean(axis=0, dtype=float)
        return Score(self.bank, families.weighted(usual), 1.0, heights)

    def parts(
        self,
        score: Score,
        streams: int,
        steps: int,
        random: np.random.Generator,
        drift: FloatArray | None = None,
    ) -> tuple[Float32Array, Float32Array]:
        """Evidence and the largest sum of squares after each row, (streams, steps - window + 1) each."""
        found = np.empty((2, steps - self.window + 1, streams), np.float32)
        drawn = self._streams(score.hypotheses, streams, steps, random, drift)
        for t, (sums, odds) in enumerate(drawn):
            found[0, t], found[1, t] = score.parts(sums, odds)
        return np.ascontiguousarray(found[0].T), np.ascontiguousarray(found[1].T)

    def scores(
        self,
        score: Score,
        streams: int,
        steps: int,
        random: np.random.Generator,
        drift: FloatArray | None = None,
    ) -> Float32Array:
        """The score after each row, (streams, steps - window + 1)."""
        return np.maximum(*self.parts(score, streams, steps, random, drift))


def mean_run(highest: Float32Array, threshold: float, window: int) -> float:
    """Rows until the score exceeds the threshold, from running maxima of scores (streams, steps).

    Streams cut off count as if they went on like the others.
    """
    calm = (highest <= np.float32(threshold)).sum(axis=1)  # steps before the first alarm
    alarms = int((calm < highest.shape[1]).sum())
    return float((np.minimum(calm, highest.shape[1] - 1) + window).sum()) / alarms if alarms else np.inf


def _threshold(highest: Float32Array, run: float, window: int) -> float:
    """The height that is exceeded after ``run`` rows on average."""
    low, high = float(highest[:, 0].min()), float(highest[:, -1].max())
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if mean_run(highest, middle, window) < run else (low, middle)
    return high


@dataclass(frozen=True)
class Thresholds:
    """A score, its threshold, and where an alarm ends."""

    score: Score
    threshold: float
    release: float  # the score at which an alarm ends
    is_extrapolated: bool


def run_length_threshold(simulation: Simulation, run_length: float, random: np.random.Generator) -> Thresholds:
    """The threshold that is exceeded after ``run_length`` rows on average, counted from the first row.

    For a long run length the height of shorter ones is continued: it grows with the logarithm of the run length.
    """
    window, size = simulation.window, simulation.size
    most = min(MOST_STEPS, max(WORK // (size * FEWEST_STREAMS), 4 * window))
    steps = round(min(REACH * (run_length - window + 1), most)) + window
    near = min(run_length, window + (steps - window) / REACH)
    streams = int(np.clip(WORK // (size * steps), FEWEST_STREAMS, MOST_STREAMS))
    pilot = simulation.pilot(steps, random)
    parts = simulation.parts(pilot, streams, steps, random)
    squares = _SQUARES * len(simulation.bank.groups.starts)
    usual = [_usual(part, near / share, window) for part, share in zip(parts, (1.0 - squares, squares), strict=True)]
    score = replace(pilot, evidence=usual[0], heights=pilot.heights * usual[1])
    for part, height in zip(parts, usual, strict=True):
        part /= np.float32(height)
    scores = np.maximum(*parts, out=parts[0])
    ordinary = float(np.quantile(scores[:, -1], _ORDINARY))  # beside a rare value: it must not be an alarm forever
    highest = np.maximum.accumulate(scores, axis=1)
    height = max(_threshold(highest, near, window), ordinary)
    release = release_level(scores, height, near, ordinary) / height
    is_far = run_length > near * 1.01
    if is_far:
        runs = window + (near - window) / np.array([8.0, 4.0, 2.0, 1.0])
        levels = [_threshold(highest, run, window) for run in runs]
        slope, base = np.polyfit(np.log(runs), levels, 1)
        height = max(height, float(base + slope * np.log(near)))
        height += max(0.0, float(slope)) * float(np.log(run_length / near))
    threshold = height * (1.0 + _TIES)
    return Thresholds(score, threshold, release * threshold, is_far)


def release_level(scores: Float32Array, threshold: float, run: float, lowest: float) -> float:
    """The score to which an alarm has to fall before another one, so that alarms begin ``run`` rows apart on average.

    From scores of streams (streams, steps). Each return above the threshold begins a new alarm if the score has fallen
    far enough since the last row above it; the lower the level, the fewer returns count. At least ``lowest``, which
    the score of any stream reaches again, and at most the threshold.
    """
    above = scores > np.float32(threshold)
    was_above = np.zeros_like(above)
    was_above[:, 1:] = above[:, :-1]
    began = np.maximum.accumulate(was_above, axis=1)  # rows after the first one above the threshold
    returns = np.flatnonzero(above & ~was_above & began)
    if not len(returns):
        return threshold
    leaves = np.flatnonzero(~above & was_above)
    ends = np.searchsorted(returns, leaves)  # each return follows the last row at which the score had left
    leaves = leaves[np.append(np.diff(ends) > 0, ends[-1] < len(returns))]
    bounds = np.column_stack([leaves, returns]).ravel()
    lows = np.sort(np.minimum.reduceat(scores.ravel(), bounds)[::2])
    wanted = int(began.sum() / run)  # returns that count
    level = float(lows[wanted - 1]) if 0 < wanted <= len(lows) else threshold if wanted else 0.0
    return float(np.clip(level, lowest, threshold))


def _usual(part: Float32Array, run: float, window: int) -> float:
    """What one part of the score exceeds after ``run`` rows on average, as a positive number."""
    return max(_threshold(np.maximum.accumulate(part, axis=1), run, window), _FLAT)
