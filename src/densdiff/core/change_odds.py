"""Odds that single features have changed: likelihood ratios of many hypotheses, summed over all times of the change.

A hypothesis tilts the law of one feature: rows after the change have exp(slope * gap - cost) times the density of the
reference. For a normal value that is a shift of the mean, for its square a spread that is larger or smaller. The odds
of all hypotheses are added up with their weights; the threshold of that sum is found in `run_length`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from densdiff.core.forgetting_sums import FeatureGroups
from densdiff.core.scaling import FloatArray

IntArray = npt.NDArray[np.intp]
Floats = npt.NDArray[np.floating]

MOST = 1e30  # of odds in single precision
FARTHEST = 60.0  # logarithm of odds: a hypothesis that a stream without change brings so far takes no part
_HIGHEST = 1e200
_SMALLEST = 1.77  # size of the smallest shift, times the root of the window: slower ones would need a longer memory
_RATIO = 2.1  # between neighbouring sizes, at most
_BLOCK = 512
_COUNTED = 40_000_000  # ratios of rows of the reference, at most, that tell costs
_FEWEST = 2000  # such rows


class _Range(NamedTuple):
    """Changes of the features of one group in one direction, in deviations of a feature."""

    group: str
    sign: float
    smallest: float  # in units of the smallest shift
    limit: float  # of the smallest size
    largest: float
    share: float  # of the false alarms
    tilt: float  # share of the largest size over that of the smallest

    def sizes(self, window: int) -> FloatArray:
        smallest = min(self.smallest * _SMALLEST / np.sqrt(window), self.limit)
        count = 1 + int(np.ceil(np.log(self.largest / smallest) / np.log(_RATIO)))
        return np.asarray(np.geomspace(smallest, self.largest, count))


# Shares are such that delays after shifts and after larger spreads are about the same multiple of the least possible.
_RANGES = (
    _Range("levels", 1.0, 1.0, 1.0, 2.0, 0.275, 0.8),
    _Range("levels", -1.0, 1.0, 1.0, 2.0, 0.275, 0.8),
    _Range("spreads", 1.0, 1.2, 0.3, 0.6, 0.36, 0.55),
    _Range("spreads", -1.0, 1.0, 0.4, 1.5, 0.045, 1.0),
    _Range("pairs", 1.0, 1.7, 0.42, 0.42, 0.05, 1.0),  # pairs are many: one size each, as long as that will do
    _Range("pairs", -1.0, 1.7, 0.42, 0.42, 0.05, 1.0),
)


@dataclass(frozen=True)
class Hypotheses:
    """Changes that are looked for. Those of one group, size and direction are a family and stand together."""

    feature: IntArray  # (H,)
    slope: FloatArray  # (H,)
    cost: FloatArray  # logarithm of the mean of exp(slope * gap) in the reference, (H,)
    weight: FloatArray  # (H,)

    def ratios(self, gaps: Floats, costs: Floats | None = None) -> Floats:
        """Likelihood ratios of rows, from features less their means (k, p): (k, H). A row may have costs of its own."""
        slope, cost = self._double if gaps.dtype == np.float64 else self._single
        ratios = gaps.take(self.feature, axis=1)
        ratios *= slope
        ratios -= cost if costs is None else costs
        return np.exp(ratios, out=ratios)

    @cached_property
    def _double(self) -> tuple[Floats, Floats]:
        """Slopes and costs as rows, (1, H): with one row of gaps there is nothing to broadcast, which takes longer."""
        return self.slope[None], self.cost[None]

    @cached_property
    def _single(self) -> tuple[Floats, Floats]:
        return self.slope[None].astype(np.float32), self.cost[None].astype(np.float32)

    def odds(self, before: FloatArray, gaps: FloatArray, ceiling: FloatArray) -> FloatArray:
        """The odds (k, H) after each row of gaps (k, p), one after the other, from those before, (H,)."""
        odds = np.asarray(self.ratios(gaps), dtype=float)
        for after in list(odds):
            after += before * after
            np.minimum(after, ceiling, out=after)
            before = after
        return odds

    def evidence(self, odds: Floats) -> Floats:
        """Logarithm of one and the weighted sum of odds (k, H): (k,)."""
        return np.log1p(odds @ self._weight(odds.dtype))

    def _weight(self, dtype: Any) -> Floats:
        return self.weight if dtype == np.float64 else self.weight.astype(np.float32)

    def ceiling(self, evidence: float, window: int) -> FloatArray:
        """Odds that suffice for an alarm, and as much more as calm rows use up in a window, (H,)."""
        log = evidence + self.cost * window - np.log(self.weight)
        return np.exp(np.minimum(log, np.log(_HIGHEST)))


@dataclass(frozen=True)
class Families:
    """Hypotheses with the share of false alarms that each family is to have."""

    hypotheses: Hypotheses  # weights: within their families
    starts: IntArray  # number of the first hypothesis of each family, (F,)
    shares: FloatArray  # (F,)
    times: FloatArray  # how many rows count as one, of each single feature, (single,)

    def means(self, odds: Floats) -> Floats:
        """The mean odds of each family, from odds (k, H): (k, F)."""
        return np.add.reduceat(odds * self.hypotheses._weight(odds.dtype), self.starts, axis=1)

    def weighted(self, heights: FloatArray) -> Hypotheses:
        """Hypotheses with weights such that each family has its share, from what its mean seldom exceeds, (F,).

        Heights are logarithms. Families that wander far without any change are left out.
        """
        kept = heights < FARTHEST
        if not kept.any():
            kept[int(heights.argmin())] = True
        shares = np.where(kept, self.shares, 0.0) / self.shares[kept].sum()
        factors = shares * np.exp(np.minimum(shares @ heights - heights, FARTHEST))
        sizes = np.diff(np.append(self.starts, len(self.hypotheses.feature)))
        weight, within = self.hypotheses.weight * np.repeat(factors, sizes), np.repeat(kept, sizes)
        every = self.hypotheses
        return Hypotheses(every.feature[within], every.slope[within], every.cost[within], weight[within])


def families(groups: FeatureGroups, gaps: Floats, times: FloatArray, window: int) -> Families:
    """Hypotheses for features whose gaps in the reference are (n, p) and whose correlation times are (single,).

    Of rows that are alike, as many as the correlation time count as one: a feature is measured in deviations that its
    sums have in the long run, and cost grows as they do. Features that do not vary have no hypotheses.
    """
    deviation = gaps[:, : groups.single].std(axis=0, dtype=float)
    varies = deviation > 1e-6 * max(float(deviation.max(initial=0.0)), np.finfo(float).tiny)
    feature, slope, shares = [], [], []
    for changes in _RANGES:
        part = groups.slices.get(changes.group, slice(0))
        chosen = np.arange(part.start or 0, part.stop)[varies[part]]
        if len(chosen):
            sizes = changes.sizes(window)
            tilt = np.geomspace(1.0, changes.tilt, len(sizes))
            shares.extend(changes.share * tilt / tilt.sum())
            feature += [chosen] * len(sizes)
            slope += [changes.sign * size / (deviation[chosen] * np.sqrt(times[chosen])) for size in sizes]
    counts = np.array([len(chosen) for chosen in feature])
    features, slopes = np.concatenate(feature), np.concatenate(slope)
    cost = times[features] * _log_means(gaps, features, slopes)
    every = Hypotheses(features, slopes, cost, np.repeat(1.0 / counts, counts))
    return Families(every, np.cumsum(counts) - counts, np.array(shares) / sum(shares), times)


def _log_means(gaps: Floats, feature: IntArray, slope: FloatArray) -> FloatArray:
    """Logarithms of the means of exp(slope * gap), (H,)."""
    found = np.full(len(feature), -np.inf)
    most = max(_FEWEST, _COUNTED // len(feature))
    if len(gaps) > most:
        gaps = gaps[np.linspace(0, len(gaps) - 1, most).astype(np.intp)]
    for first in range(0, len(gaps), _BLOCK):
        exponents = gaps[first : first + _BLOCK].take(feature, axis=1).astype(float) * slope
        found = np.logaddexp(found, logsumexp(exponents, axis=0))
    return np.asarray(found - np.log(len(gaps)))
