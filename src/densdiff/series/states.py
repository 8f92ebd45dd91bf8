"""Which segments of a series are alike: one label for each segment, segments alike share one.

Segments are compared by the features of their blocks (`core.block_features`), in units of how much blocks of one
segment differ among themselves, so that dependence and rhythm within a segment count as its noise.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.cluster.hierarchy import fcluster, linkage

from densdiff.core.block_features import describe_blocks
from densdiff.core.contrasts import IntArray
from densdiff.core.resample import holm
from densdiff.core.scaling import FloatArray
from densdiff.series.features import own_scaling

MOST_SEGMENTS = 1000  # whose pairs are compared
LEVEL = 0.05  # of the test that two segments are alike, adjusted over all pairs
_PARTS = 6  # blocks in the shortest segment
_LENGTHS = (8, 256)  # of a block, in samples
_MOST_BLOCKS = 64  # of a segment
_RETURN = 0.1  # of the variance of blocks: no state comes back exactly as it was
_SHARED = 12.0  # blocks that the variance of all segments counts for beside that of two
_SLOWEST = 0.8  # correlation from block to block that is reckoned with
_NEVER = 2.0  # a distance beyond that of segments that are alike
_ENTRIES = 1_000_000  # of pairs and features, held at once
_LISTED = 8  # states in a sentence, and segments of each
_TINY = 1e-12


@dataclass(frozen=True)
class _Segments:
    """Means of block features of each segment (k, p), their squares within, how many blocks, and their dependence."""

    means: FloatArray
    squares: FloatArray  # (k, p)
    counts: IntArray  # (k,)
    inflation: FloatArray  # (p,) of the variance of a mean, from dependent blocks
    n_free: float  # independent features that vary as much in all as these do

    @classmethod
    def of(cls, rows: FloatArray, ends: IntArray) -> "_Segments":
        blocks = _scaled_alike(_segment_blocks(rows, ends))
        variance = np.mean([part.var(axis=1).mean(axis=0) for part in blocks], axis=0)
        features = [describe_blocks(part, variance) for part in blocks]
        counts = np.array([len(part) for part in features])
        means = np.array([part.mean(axis=0) for part in features])
        residuals = [part - mean for part, mean in zip(features, means, strict=True)]
        squares = np.array([np.square(part).sum(axis=0) for part in residuals])
        products = np.sum([(part[1:] * part[:-1]).sum(axis=0) for part in residuals], axis=0)
        correlation = products / np.maximum(squares.sum(axis=0), _TINY)
        # cut at the segments' means, correlations come out too small
        correlation = np.clip(correlation + (1.0 + 3.0 * correlation) / counts.mean(), 0.0, _SLOWEST)
        inflation = (1.0 + correlation) / (1.0 - correlation)
        return cls(means, squares, counts, inflation, _free_features(np.vstack(residuals), squares, counts))

    def pvalues(self, first: IntArray, second: IntArray) -> FloatArray:
        """That two segments are alike, from all features together and from the one that differs most, (pairs,).

        Not cut at 1, so that they also tell which of many pairs are most alike.
        """
        freedom, p = max(1.0, float((self.counts - 1).sum())), self.means.shape[1]
        shared = self.squares.sum(axis=0) / freedom
        mean, largest = np.empty(len(first)), np.empty(len(first))
        size = max(1, _ENTRIES // p)
        for start in range(0, len(first), size):
            part = slice(start, start + size)
            t_squared = self._t_squared(first[part], second[part], shared)
            mean[part], largest[part] = t_squared.mean(axis=1), t_squared.max(axis=1)
        freedoms = np.minimum(self.counts[first] + self.counts[second] - 2.0 + _SHARED, freedom)
        together = stats.f.sf(mean, self.n_free, freedoms)
        alone = 2.0 * p * stats.t.sf(np.sqrt(largest), freedoms)
        return np.asarray(2.0 * np.minimum(together, alone))

    def _t_squared(self, first: IntArray, second: IntArray, shared: FloatArray) -> FloatArray:
        """Squared differences of means in units of their noise, (pairs, p)."""
        own = self.counts[first] + self.counts[second] - 2.0
        variance = (self.squares[first] + self.squares[second] + _SHARED * shared) / (own + _SHARED)[:, None]
        sizes = 1.0 / self.counts[first] + 1.0 / self.counts[second]
        noise = np.maximum(variance, _TINY) * (sizes[:, None] * self.inflation + _RETURN)
        return np.asarray(np.square(self.means[first] - self.means[second]) / noise)


def segment_states(rows: FloatArray, changes: IntArray, differ: npt.NDArray[np.bool_]) -> IntArray:
    """A label for each segment between changes, (k,): 0, 1, .. in order of first appearance.

    ``differ`` (k - 1,) says which neighbours are known to differ. No two segments of one state differ significantly;
    of the ways to have that, the one that joins the most alike first. Beyond `MOST_SEGMENTS` each segment is a state of
    its own.
    """
    k = len(changes) + 1
    if k == 1 or k > MOST_SEGMENTS or (k == 2 and differ.all()):
        return np.arange(k, dtype=np.intp)
    first, second = np.triu_indices(k, 1)
    known = (second == first + 1) & differ[np.minimum(first, k - 2)]
    distances = np.full(len(first), _NEVER)
    segments = _Segments.of(rows, np.concatenate([[0], changes, [len(rows)]]))
    pvalues = segments.pvalues(first[~known], second[~known])
    is_alike = holm(np.minimum(pvalues, 1.0)) > LEVEL
    distances[~known] = np.where(is_alike, np.exp(-pvalues), _NEVER)
    return in_order(fcluster(linkage(distances, "complete"), 1.0, "distance"))


def in_order(labels: IntArray) -> IntArray:
    """The same labels numbered 0, 1, .. by first appearance."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[codes], dtype=np.intp)


def describe_states(states: IntArray) -> str:
    """One sentence: how many states there are and which segments, counted from 1, are alike."""
    count = int(states.max()) + 1
    text = f"{count} state{'s' * (count > 1)}"
    members = [np.flatnonzero(states == state) + 1 for state in range(count)]
    several = [segments.tolist() for segments in members if len(segments) > 1]
    if not several:
        return f"{text}: no two segments are alike"
    n_more = len(several) - _LISTED
    more = f"; {n_more} more state{'s' * (n_more > 1)} of several" if n_more > 0 else ""
    return f"{text}: segments {'; '.join(map(_alike, several[:_LISTED]))}{more}"


def _alike(segments: list[int]) -> str:
    more = f" and {len(segments) - _LISTED} more" if len(segments) > _LISTED else ""
    return f"{', '.join(map(str, segments[:_LISTED]))}{more} alike"


def _scaled_alike(blocks: list[FloatArray]) -> list[FloatArray]:
    """The same blocks with columns of one deviation in all; constant ones are left out."""
    size, d = blocks[0].shape[1:]
    scaled = own_scaling(np.vstack([part.reshape(-1, d) for part in blocks]).astype(np.float64), True)[1]
    ends = np.cumsum([len(part) for part in blocks])[:-1]
    return np.split(scaled.reshape(-1, size, scaled.shape[1]), ends)


def _segment_blocks(rows: FloatArray, ends: IntArray) -> list[FloatArray]:
    """Blocks of one size of each segment, evenly spread over it where there are many, (n, size, d) each."""
    lengths = np.diff(ends)
    shortest = int(lengths.min())
    size = min(shortest, int(np.clip(shortest // _PARTS, *_LENGTHS)))
    blocks = []
    for start, length in zip(ends[:-1].tolist(), lengths.tolist(), strict=True):
        count = length // size
        if count > _MOST_BLOCKS:
            starts = np.linspace(start, start + length - size, _MOST_BLOCKS).astype(np.intp)
        else:
            starts = start + (length - count * size) // 2 + size * np.arange(count)
        blocks.append(rows[starts[:, None] + np.arange(size)])
    return blocks


def _free_features(residuals: FloatArray, squares: FloatArray, counts: IntArray) -> float:
    """How many independent features have a mean square as variable as that of these, from their correlations."""
    freedom, p = max(1.0, float((counts - 1).sum())), residuals.shape[1]
    scaled = residuals / np.sqrt(np.maximum(squares.sum(axis=0), _TINY))
    gram = scaled.T @ scaled if p <= len(scaled) else scaled @ scaled.T
    return float(np.clip(p * p / max(float(np.square(gram).sum()) - p * p / freedom, 1.0), 1.0, p))
