"""When the present change of a sequence of batches began, for each column and in all."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from densdiff.comparing.batch_results import BatchColumn, BatchDifference
from densdiff.core.steps import level_steps

# Square roots of normalized distances have a standard deviation of about half of one over the square root of the rows,
# as a shift of means by one standard error gives.
_NOISE = 0.25


def date_changes(
    batches: Sequence[BatchDifference], columns: Sequence[BatchColumn], alpha: float, is_moving: bool
) -> tuple[list[BatchColumn], str | None]:
    """The columns with the batch in which their present change began, those first, and the batch for all of them."""
    dated, starts = [], {}
    for column in columns:
        alarms = [
            p is not None and p <= alpha and b.differs for p, b in zip(column.pvalue_adjusted, batches, strict=True)
        ]
        start = _begin(batches, column.distance, alarms, is_moving)
        starts[column.name] = start
        dated.append(replace(column, began=None if start is None else batches[start].label))
    present = [start for start in starts.values() if start is not None]
    if not present:
        start = _begin(batches, [batch.distance for batch in batches], [batch.differs for batch in batches], is_moving)
        present = [] if start is None else [start]
    since = _first_of_run(batches, min(present)) if present else None
    dated.sort(key=lambda column: _order(column, starts[column.name]))
    return dated, None if since is None else batches[since].label


def _first_of_run(batches: Sequence[BatchDifference], start: int) -> int:
    """The first of the batches right before ``start`` that all differ: if columns take turns, the change is one."""
    while start > 0 and batches[start - 1].differs:
        start -= 1
    return start


def _order(column: BatchColumn, start: int | None) -> tuple[bool, float]:
    """Columns of the present change first, by their mean total variation since; then by their latest."""
    known = [value for value in column.total_variation[start or 0 :] if value is not None]
    return start is None, -(float(np.mean(known)) if known and start is not None else known[-1] if known else 0.0)


def _begin(
    batches: Sequence[BatchDifference], distances: Sequence[float | None], alarms: Sequence[bool], is_moving: bool
) -> int | None:
    """The place of the first batch of the present change, None if there is none; E22.

    Batches are cut into stretches of one level of the square root of the distance, weighted by their rows. A change
    is present if a batch of the last stretch is found to differ, or, where the reference moves on and takes a change
    in, of any. It began with the stretch, and with those before it that hold batches that differ.
    """
    places = [k for k, distance in enumerate(distances) if distance is not None]
    found = np.array([alarms[k] for k in places], dtype=bool)
    if not found.any():
        return None
    values = np.sqrt([max(distances[k] or 0.0, 0.0) for k in places])
    weights = np.array([_weight(batches[k]) for k in places])
    starts = level_steps(values, weights, _NOISE)
    ends = [*starts[1:], len(places)]
    has_alarm = [bool(found[start:end].any()) for start, end in zip(starts, ends, strict=True)]
    last = max(k for k, is_found in enumerate(has_alarm) if is_found)
    if last < len(starts) - 1 and not is_moving:
        return None
    first = last
    while first > 0 and has_alarm[first - 1]:
        first -= 1
    begin, end = starts[first], ends[first]
    if found[begin:end].mean() < 0.5 and begin == 0:  # no step stands out: the first batch that was found
        begin += int(found[begin:end].argmax())
    return places[begin]


def _weight(batch: BatchDifference) -> float:
    """Rows that tell of the difference: the harmonic sum of those of the batch and of its reference."""
    other = batch.n_reference or batch.n
    return batch.n * other / (batch.n + other)
