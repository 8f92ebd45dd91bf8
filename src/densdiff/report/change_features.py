"""What changed, over time: level, spread, correlation or rhythm of blocks of the column that shows it best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from densdiff import messages
from densdiff.report.svg import FloatArray

_MOST_BLOCKS = 240
_LEAST = 8  # samples in a block
_CYCLES = 3  # of the longest period, in a block that shows a rhythm
_COLUMNS = 12  # that are looked at
_TINY = 1e-300


class Feature(NamedTuple):
    """A feature of blocks: its name, the middle sample of each block, and its values, (n,) each."""

    name: str
    middles: Any
    values: FloatArray


def changed_features(result: Any) -> list[Feature]:
    """A feature for each kind of change that a `ChangesResult` names, in the order of first appearance."""
    kinds = dict.fromkeys(kind.what for kind in result.kinds if kind.what in _MEASURES)
    rows = result.series[:, :_COLUMNS]
    return [_clearest(rows, what, _block_length(result, what), result) for what in kinds if len(rows) >= 4 * _LEAST]


def _block_length(result: Any, what: str) -> int:
    length = max(_LEAST, result.window // 2, -(-len(result.series) // _MOST_BLOCKS))
    if what == "rhythm":
        periods = [period for kind in result.kinds for period in (kind.period_before, kind.period_after) if period]
        length = max(length, round(_CYCLES * max([*periods, result.period or 0.0, _LEAST])))
    return int(min(length, len(result.series) // 4))


def _clearest(rows: FloatArray, what: str, length: int, result: Any) -> Feature:
    """The feature of the column, or pair of columns, whose segments differ most in it."""
    measure, words = _MEASURES[what]
    count = len(rows) // length
    scale = np.maximum(np.abs(rows).max(axis=0), _TINY)  # squares of the largest doubles would be infinite
    blocks = (rows[: count * length] / scale).reshape(count, length, -1)
    values, columns = measure(blocks)  # (n, columns)
    middles = length // 2 + length * np.arange(count)
    segments = np.searchsorted(result.changes, middles, side="right")
    means = np.array([values[segments == k].mean(axis=0) for k in np.unique(segments)])
    within = values - means[np.unique(segments, return_inverse=True)[1]]
    best = int(np.argmax(means.var(axis=0) / np.maximum(np.square(within).mean(axis=0), _TINY)))
    names = " and ".join(messages.quote_name(result.names[j]) for j in columns[best])
    units = scale[columns[best][0]] if what in ("level", "spread") else 1.0
    return Feature(f"{words} of {names} in blocks of {length} samples", middles, values[:, best] * units)


def _levels(blocks: FloatArray) -> tuple[FloatArray, list[tuple[int, ...]]]:
    return blocks.mean(axis=1), [(j,) for j in range(blocks.shape[2])]


def _spreads(blocks: FloatArray) -> tuple[FloatArray, list[tuple[int, ...]]]:
    return blocks.std(axis=1), [(j,) for j in range(blocks.shape[2])]


def _periods(blocks: FloatArray) -> tuple[FloatArray, list[tuple[int, ...]]]:
    """The period of most power: samples over the mean frequency of the highest line and its two neighbours."""
    residuals = blocks - blocks.mean(axis=1, keepdims=True)
    power = np.square(np.abs(np.fft.rfft(residuals * np.hanning(blocks.shape[1])[:, None], axis=1)))
    cycles = np.arange(power.shape[1])[:, None]
    highest = power[:, 1:].argmax(axis=1)[:, None] + 1  # (n, 1, d)
    line = np.where((np.abs(cycles - highest) <= 1) & (cycles > 0), power, 0.0)
    mean = (line * cycles).sum(axis=1) / np.maximum(line.sum(axis=1), _TINY)
    return blocks.shape[1] / np.maximum(mean, 1.0), [(j,) for j in range(blocks.shape[2])]


def _correlations(blocks: FloatArray) -> tuple[FloatArray, list[tuple[int, ...]]]:
    residuals = blocks - blocks.mean(axis=1, keepdims=True)
    residuals = residuals / np.sqrt(np.maximum(np.square(residuals).sum(axis=1, keepdims=True), _TINY))
    first, second = np.triu_indices(blocks.shape[2], 1)
    pairs: list[tuple[int, ...]] = list(zip(first.tolist(), second.tolist(), strict=True))
    return np.einsum("nbp,nbp->np", residuals[:, :, first], residuals[:, :, second]), pairs


_Measure = Callable[[FloatArray], tuple[FloatArray, list[tuple[int, ...]]]]
_MEASURES: dict[str, tuple[_Measure, str]] = {
    "level": (_levels, "mean"),
    "spread": (_spreads, "standard deviation"),
    "correlation": (_correlations, "correlation"),
    "rhythm": (_periods, "strongest period"),
}
