"""From sources to samples: one pass that summarizes them, and what is asked of two samples together.

How a block is summarized is up to its reader, which comes from `data`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from densdiff.core.scaling import BoolArray, FloatArray, Moments, Scaling, pooled_scaling, scaling_of_moments
from densdiff.core.selection import IntArray
from densdiff.sources.array_sample import ArraySample
from densdiff.sources.block_sample import (
    BlockSample,
    PickRows,
    RowCache,
    RowReader,
    may_be_at_hand,
    sorted_unique,
)
from densdiff.sources.passes import run_pass, run_passes
from densdiff.sources.sample import Sample
from densdiff.sources.source import ArraySource, Pass, Source
from densdiff.sources.together import run_together
from densdiff.threads import cores


def scan(
    sources: Sequence[Source], readers: Sequence[RowReader], prefetch: Callable[[int, int], Sequence[IntArray]] | None
) -> list[tuple[Any, RowCache]]:
    """One pass over each source: its summary, and rows by number where they are known before and worth keeping.

    ``prefetch`` gives the numbers of those rows from the sizes of two sources.
    """
    numbers: Sequence[IntArray] = [np.empty(0, dtype=np.int64)] * len(sources)
    sizes = [source.rows for source in sources]
    if prefetch is not None and None not in sizes and not all(isinstance(source, ArraySource) for source in sources):
        wanted = [sorted_unique(index) for index in prefetch(*(size or 0 for size in sizes))]
        if all(may_be_at_hand(len(index), len(reader.names)) for index, reader in zip(wanted, readers, strict=True)):
            numbers = wanted
    caches = [RowCache() for _ in sources]
    passes = [
        Pass(
            source,
            SummarizeBlock(reader, PickRows(reader.rows, index) if len(index) else None),
            _merge_summaries,
            list(reader.names) if reader.named else None,
        )
        for source, reader, index in zip(sources, readers, numbers, strict=True)
    ]
    in_memory = all(isinstance(source, ArraySource) for source in sources)
    scanned = run_together([partial(run_pass, *each) for each in passes], cores()) if in_memory else run_passes(passes)
    for cache, index, (_, rows) in zip(caches, numbers, scanned, strict=True):
        if len(index):
            cache.add(index, np.concatenate(rows))
    return [(summary, cache) for (summary, _), cache in zip(scanned, caches, strict=True)]


@dataclass(frozen=True)
class SummarizeBlock:
    """The summary of a block, and the rows of it that are asked for."""

    reader: RowReader
    pick: PickRows | None

    def __call__(self, block: Any, start: int) -> tuple[Any, list[FloatArray]]:
        return self.reader.summary(block, start), [] if self.pick is None else self.pick(block, start)

    def of_block(self, start: int, rows: int) -> "SummarizeBlock":
        """The task with the numbers of one block's rows."""
        return self if self.pick is None else replace(self, pick=self.pick.of_block(start, rows))


def _merge_summaries(a: tuple[Any, list[FloatArray]], b: tuple[Any, list[FloatArray]]) -> tuple[Any, list[FloatArray]]:
    return a[0].merged(b[0]), a[1] + b[1]


def sample_of(
    source: Source,
    reader: RowReader,
    cache: RowCache,
    ends: FloatArray,
    moments: Callable[[], Moments],
    counts: tuple[IntArray | None, ...],
) -> Sample:
    """The rows of a source that was scanned before: all values are numbers or levels, ``ends`` (2, d) the outermost."""
    if isinstance(source, ArraySource):
        return ArraySample(columns=reader.columns(source.block, 0), ends=ends)
    return BlockSample(source, reader, tuple(range(len(reader.names))), moments(), cache, counts)


def same_rows(x: Sample, y: Sample) -> bool:
    """Whether two samples of the same size hold the same rows, as far as rows of both are at hand."""
    if isinstance(x, ArraySample) and isinstance(y, ArraySample):
        return x.shape == y.shape and all(np.array_equal(x.column(j), y.column(j)) for j in range(x.shape[1]))
    (numbers_x, rows_x), (numbers_y, rows_y) = x.at_hand(), y.at_hand()
    _, places_x, places_y = np.intersect1d(numbers_x, numbers_y, assume_unique=True, return_indices=True)
    return not len(places_x) or np.array_equal(rows_x[places_x], rows_y[places_y])


def scale_pair(
    x: Sample,
    y: Sample,
    weights: tuple[FloatArray, FloatArray],
    standardize: bool,
    codes: BoolArray | None,
) -> tuple[Scaling, Sample, Sample]:
    """The pooled scaling of two samples, and both in inner units; ``weights`` sum to 1 in each."""
    if isinstance(x, ArraySample) and isinstance(y, ArraySample):
        scaling, inner_x, inner_y = pooled_scaling(x[:], y[:], *weights, standardize, codes)
        return scaling, ArraySample(inner_x), ArraySample(inner_y)
    scaling = scaling_of_moments(x.moments, y.moments, standardize, codes)
    return scaling, x.scaled(scaling), y.scaled(scaling)
