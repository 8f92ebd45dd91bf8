"""A window that slides over a stream of features, and the threshold of its distance from a reference.

The score is |mean of the window - mean of the reference|^2 over features; the threshold gives a mean run length.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import FloatArray

STREAMS = 400  # simulated; their mean run length is known to 5 %
REACH = 4  # lengths of simulated streams, in desired run lengths
MOST_STEPS = 6_000_000  # simulated; longer run lengths are extrapolated
_CHUNK = 1_000_000  # entries of simulated features held at once
_WINDOWS = 400  # of the reference, to see what is ordinary
_TIES = 1e-5  # by which a threshold is raised: simulated in single precision, it must not cut through ties


class SlidingSum:
    """Sums over the last ``window`` rows without drift, the same bits however the rows come.

    Rows are counted in blocks of one window: a sum is that of the block so far and of what is left of the block before.
    """

    def __init__(self, window: int, width: int) -> None:
        self.block = np.zeros((window, width))  # the rows of this block, those not yet seen of no meaning
        self.tail_sums = np.zeros((window + 1, width))  # sums of the block before from each row on
        self.sum = np.zeros(width)  # of the rows of this block
        self.seen = 0

    def push(self, rows: FloatArray) -> FloatArray:
        """The sum after each of the rows, (len(rows), width); only sums of full windows have a meaning."""
        window = len(self.block)
        if len(rows) == 1 and (self.seen + 1) % window:  # without the detour over arrays
            count = self.seen % window
            self.block[count] = rows[0]
            self.sum = self.sum + rows[0]
            self.seen += 1
            return np.asarray((self.sum + self.tail_sums[count + 1])[None])
        result = np.empty(rows.shape)
        start = 0
        while start < len(rows):
            count = self.seen % window
            block_rows = rows[start : start + window - count]
            self.block[count : count + len(block_rows)] = block_rows
            sums = np.cumsum(np.vstack([self.sum, block_rows]), axis=0)[1:]  # one after the other, as single rows would
            result[start : start + len(block_rows)] = sums + self.tail_sums[count + 1 : count + 1 + len(block_rows)]
            self.sum = sums[-1]
            self.seen += len(block_rows)
            start += len(block_rows)
            if self.seen % window == 0:
                self.tail_sums[:-1] = np.cumsum(self.block[::-1], axis=0)[::-1]
                self.sum = np.zeros_like(self.sum)
        return result


@dataclass(frozen=True)
class Records:
    """When the score of each simulated stream rose to a new height, and to which."""

    stream: npt.NDArray[np.intp]
    step: npt.NDArray[np.intp]
    height: FloatArray
    streams: int
    length: int

    def mean_run(self, threshold: float) -> float:
        """Steps until the score exceeds the threshold, streams cut off counted as if they went on like the others."""
        above = self.height > threshold
        first = np.full(self.streams, self.length)
        np.minimum.at(first, self.stream[above], self.step[above])
        alarms = len(np.unique(self.stream[above]))
        return float(first.sum()) / alarms if alarms else np.inf

    def threshold(self, run: float) -> float:
        """The height that is exceeded after ``run`` steps on average."""
        heights = np.unique(self.height)
        low, high = 0, len(heights) - 1
        while low < high:
            middle = (low + high) // 2
            if self.mean_run(heights[middle]) < run:
                low = middle + 1
            else:
                high = middle
        return float(heights[low])


def simulate_records(
    features: FloatArray, window: int, length: int, streams: int, random: np.random.Generator
) -> Records:
    """Streams and references drawn from the rows of ``features`` (n, p) with replacement, no change in them."""
    centered = (features - features.mean(axis=0)).astype(np.float32)
    n, p = centered.shape
    records: list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], FloatArray]] = []
    size = max(1, min(_CHUNK // ((length + window) * p), _CHUNK // n))
    for first in range(0, streams, size):
        count = min(size, streams - first)
        shares = random.multinomial(n, np.full(n, 1.0 / n), count).astype(np.float32) / np.float32(n)
        drawn = centered[random.integers(0, n, (count, length + window - 1))]  # (count, steps, p)
        drawn -= (shares @ centered)[:, None]
        sums = np.zeros((count, length + window, p), np.float32)
        np.cumsum(drawn, axis=1, out=sums[:, 1:])
        gap = (sums[:, window:] - sums[:, :-window]) / np.float32(window)
        scores = np.einsum("ctp,ctp->ct", gap, gap)
        highest = np.maximum.accumulate(scores, axis=1)
        new = np.diff(highest, axis=1, prepend=-1.0) > 0
        stream, step = np.nonzero(new)
        records.append((stream + first, step + 1, highest[new].astype(float)))
    stream, step, height = (np.concatenate(columns) for columns in zip(*records, strict=True))
    return Records(stream, step, height, streams, length)


def _median_window_score(features: FloatArray, window: int, random: np.random.Generator) -> float:
    """The median score of windows of the reference itself.

    Simulated references may lack a value that the reference has once: what is ordinary beside it must be no alarm.
    """
    drawn = features[random.integers(0, len(features), (_WINDOWS, window))].mean(axis=1)
    return float(np.median(np.square(drawn - features.mean(axis=0)).sum(axis=1)))


def run_length_threshold(
    features: FloatArray, window: int, run_length: float, random: np.random.Generator
) -> tuple[float, bool]:
    """The threshold that is exceeded after ``run_length`` rows on average, and whether it was extrapolated.

    The first score comes with row ``window``. For a long run length the height of shorter ones is continued: it grows
    with the logarithm of the run length, from no less than the largest one that was simulated.
    """
    steps = run_length - window + 1
    most = MOST_STEPS // (STREAMS * REACH)
    near = min(steps, most)
    records = simulate_records(features, window, max(1, round(REACH * near)), STREAMS, random)
    height = max(records.threshold(near), _median_window_score(features, window, random))
    if steps > most:
        runs = near / np.array([8.0, 4.0, 2.0, 1.0])
        slope, base = np.polyfit(np.log(runs), [records.threshold(run) for run in runs], 1)
        rise = max(0.0, float(slope))  # of equal heights it is a negative rounding error at times
        height = max(height, float(base + slope * np.log(near))) + rise * float(np.log(steps / near))
    return height * (1.0 + _TIES), steps > most
