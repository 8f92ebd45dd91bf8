"""Two samples with the same columns, ready for computation, and what is odd about them.

Tables with missing values are made ready in `tables`; one sample alone in `points`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.core.scaling import BoolArray, FloatArray
from densdiff.data.categories import Levels
from densdiff.data.floats import ROWS, float_matrix, refuse_unusable
from densdiff.data.inputs import array_source, input_of, open_pair
from densdiff.data.kinds import Columns, resolve_columns
from densdiff.data.match import Prefetch, match_sources, no_rows
from densdiff.data.table import Table, table_of
from densdiff.errors import InputError
from densdiff.messages import capped, name_of, shown, warn
from densdiff.sources.array_sample import ArraySample
from densdiff.sources.sample import Sample, all_at_once
from densdiff.sources.scan import same_rows
from densdiff.sources.source import Source

COPIES = "copies are not independent, so p-values and standard errors must not count them"
HASH_ENTRIES = 5_000_000  # larger samples are not searched for copied rows
_CONTINUOUS = 0.5  # of the values of a column are distinct if equal rows are no accident
_UNLIKE = 0.9  # of the rows are distinct if equal rows are no accident
_TIE_ROWS = 10_000  # rows of both samples that are looked at for ties


@dataclass(frozen=True)
class Pair:
    """Two samples; ``varying`` is False where a column is one and the same constant."""

    x: Sample  # (n, d)
    y: Sample  # (m, d)
    weights_x: FloatArray  # (n,); a broadcast 1.0 without weights
    weights_y: FloatArray  # (m,)
    names: tuple[str, ...]
    notes: tuple[str, ...]
    varying: BoolArray  # (d,)
    copies: int = 1
    levels: tuple[Levels, ...] = ()  # (d,) of columns of codes, None for numbers; empty if all are numbers
    ties: tuple[str, ...] = ()  # those of the notes that matter only where densities are estimated

    @classmethod
    def of(
        cls,
        x: Sample,
        y: Sample,
        names: tuple[str, ...],
        levels: tuple[Levels, ...] = (),
        notes: Sequence[str] = (),
        copies: int = 1,
    ) -> "Pair":
        """A pair of samples without weights."""
        (low_x, high_x), (low_y, high_y) = x.ends(), y.ends()
        varying = np.maximum(high_x, high_y) > np.minimum(low_x, low_y)
        even_x, even_y = (np.broadcast_to(1.0, len(rows)) for rows in (x, y))
        return cls(x, y, even_x, even_y, names, tuple(notes), varying, copies, levels)


def check_pair(
    X: Any,
    Y: Any,
    weights_x: Any = None,
    weights_y: Any = None,
    *,
    categories: bool = True,
    prefetch: Prefetch = no_rows,
) -> Pair:
    """Two samples from wherever they are, with the same named columns; notes and warnings go along as text.

    With ``categories``, columns of text, categories and booleans become codes of their levels; else they are refused.
    ``prefetch`` says which rows of samples that are read in blocks will be asked for.
    """
    sources, headers = open_pair((input_of(X, name_of("X")), input_of(Y, name_of("Y"))))
    weighted = weights_x is not None or weights_y is not None
    if weighted and any(source.rows_at_once < (source.rows or 1) for source in sources):
        text = "weights need both samples in memory; they do not work with blocks, Dask, or what is read in pieces"
        raise InputError(text)
    return _make_pair(sources, headers, (weights_x, weights_y), categories, prefetch)


def check_arrays(X: Any, Y: Any, weights_x: Any = None, weights_y: Any = None, *, categories: bool = False) -> Pair:
    """Two samples in memory with the same named columns, for what needs all rows at once.

    Examples
    --------
    >>> pair = check_arrays([[0.0, 1.0], [2.0, 3.0]], [[4, 5], [6, 8], [9, 7]])
    >>> pair.x.shape, pair.y.shape, pair.names
    ((2, 2), (3, 2), ('x0', 'x1'))
    """
    sources = array_source(X, name_of("X")), array_source(Y, name_of("Y"))
    return _make_pair(sources, None, (weights_x, weights_y), categories, no_rows)


def _make_pair(
    sources: tuple[Source, Source],
    headers: Sequence[Table] | None,
    weights: tuple[Any, Any],
    categories: bool,
    prefetch: Prefetch,
) -> Pair:
    notes: list[str] = []
    matched = match_sources(sources, notes, prefetch, headers)
    columns = resolve_columns(matched.summaries, notes, ROWS) if categories else Columns.of_numbers(matched.names)
    for summary in matched.summaries:
        if summary.rows < 2:
            rows = "1 row" if summary.rows else "0 rows"
            raise InputError(f"{summary.where} has {rows}; each sample needs at least 2 rows")
    summary_x, summary_y = (summary.only(columns.places) for summary in matched.summaries)
    for summary, other in ((summary_x, summary_y), (summary_y, summary_x)):
        refuse_unusable(summary, notes, other, columns.levels)
    x, y = matched.samples(columns, prefetch)
    same = matched.summaries_equal and same_rows(x, y)
    where = sources[0].where, sources[1].where
    x, w_x = _rows_of_positive_weight(x, weights[0], where[0], "weights_x")
    y, w_y = _rows_of_positive_weight(y, weights[1], where[1], "weights_y")
    _warn_of_width(x, y, where, notes)
    copies = count_copies(x, y, notes, where, columns.coded, same)
    constants, ties = _column_notes(x, y, columns.names, copies, columns.coded)
    pair = Pair.of(x, y, columns.names, columns.coded, [*notes, *constants, *ties], copies)
    return replace(pair, weights_x=w_x, weights_y=w_y, ties=tuple(ties))


def unweighted_pair(
    names: tuple[str, ...],
    x: Sample,
    y: Sample,
    levels: tuple[Levels, ...],
    notes: Sequence[str],
    where: tuple[str, str],
    same: bool,
) -> Pair:
    """Two samples whose values were checked before; ``same`` if they are known to hold the same rows."""
    all_notes = list(notes)
    _warn_of_width(x, y, where, all_notes)
    copies = count_copies(x, y, all_notes, where, levels, same)
    return Pair.of(x, y, names, levels, all_notes, copies)


def _warn_of_width(x: Sample, y: Sample, where: tuple[str, str], notes: list[str]) -> None:
    (n, d), m = x.shape, len(y)
    if d > n + m:
        shapes = f"{where[0]} {x.shape}, {where[1]} {y.shape}"
        warn(f"{d} columns but only {n} + {m} rows ({shapes}): are rows and columns swapped?", notes)


def _rows_of_positive_weight(sample: Sample, weights: Any, where: str, name: str) -> tuple[Sample, FloatArray]:
    """The rows of positive weight and their weights."""
    if weights is None:
        return sample, np.broadcast_to(1.0, len(sample))
    checked = row_weights(weights, len(sample), where, name)
    is_positive = checked > 0
    if is_positive.all():
        return sample, checked
    return ArraySample(np.asfortranarray(sample[is_positive])), checked[is_positive]


def row_weights(weights: Any, n: int, where: str, name: str) -> FloatArray:
    """One weight for each of n rows, none negative, at least two positive and none of them all there is, (n,)."""
    table = table_of(weights, name)
    if len(table.shape) != 1:
        raise InputError(f"{name} has shape {table.shape}; pass it 1-D, one weight for each row of {where}")
    if table.shape[0] != n:
        raise InputError(f"{name} has {table.shape[0]} weights, but {where} has {n} rows")
    values = float_matrix(table, ("",), [])[:, 0]
    if (values < 0).any():
        row = np.flatnonzero(values < 0)[0]
        raise InputError(f"{name} must not be negative; got {values[row]} at row {row}")
    is_positive = values > 0
    if is_positive.sum() < 2:
        raise InputError(f"{name} needs at least 2 positive weights; got {is_positive.sum()}")
    if values[is_positive].min() < 1e-300 or values.max() > 1e300 / len(values):
        span = f"{values[is_positive].min()} to {values.max()}"
        raise InputError(
            f"{name} runs from {span}, outside the range that float64 can handle; divide by the largest weight first"
        )
    if values.max() >= (1 - 1e-12) * values.sum():
        share = f"row {values.argmax()} has nearly all of {name} (all but 1e-12), so in effect a single row is left"
        raise InputError(f"{share}; make the weights more even")
    return values


def count_copies(
    x: Sample, y: Sample, notes: list[str], where: tuple[str, str], levels: tuple[Levels, ...], same: bool
) -> int:
    """How often each row occurs if all occur equally often, else 1; notes it if X and Y are the same rows.

    Copies are sought in samples whose rows can be had at once.
    """
    copies = 1
    if all_at_once(x, y) and x.shape[1] * (len(x) + len(y)) <= HASH_ENTRIES and _first_value_recurs(x[:], y[:]):
        hash_x, hash_y = _row_hashes(x[:]), _row_hashes(y[:])
        same = np.array_equal(hash_x, hash_y)
        times = [np.unique(hashes, return_counts=True)[1] for hashes in (hash_x, hash_y)]
        # few distinct rows are tied data, such as integers 0 to 3, and may well occur equally often; so may categories
        few = min(map(len, times)) < 10 or only_categories(levels)
        if not few and min(map(np.min, times)) == max(map(np.max, times)):
            copies = int(times[0][0])
    if same:
        notes.append(f"{where[0]} and {where[1]} hold the same rows: is a sample compared with itself?")
    if copies > 1:
        warn(f"every row occurs {copies} times and is counted once: {COPIES}", notes)
    return copies


def repeated_rows_notes(x: Sample, y: Sample, where: tuple[str, str], levels: tuple[Levels, ...]) -> list[str]:
    """A note that counts the rows which stand in a sample more than once, and those of X that stand in Y too.

    Only where equal rows are odd: where a column of numbers hardly has ties, or most rows are unlike all others; and in
    samples whose rows can be had at once.
    """
    numbers = [j for j in range(x.shape[1]) if not levels or levels[j] is None]
    if not numbers or not all_at_once(x, y) or x.shape[1] * (len(x) + len(y)) > HASH_ENTRIES:
        return []
    (distinct_x, counts_x), (distinct_y, counts_y) = (
        np.unique(_row_hashes(rows[:]), return_counts=True) for rows in (x, y)
    )
    n_rows, n_distinct = len(x) + len(y), len(distinct_x) + len(distinct_y)
    twice_x, twice_y = (int(counts[counts > 1].sum()) for counts in (counts_x, counts_y))
    shared = int(counts_x[np.isin(distinct_x, distinct_y, assume_unique=True)].sum())
    if not (twice_x or twice_y or shared):
        return []
    is_odd = len(numbers) > 1 and n_distinct > _UNLIKE * n_rows
    if not is_odd and not any(_is_continuous(np.concatenate([x[:][:, j], y[:][:, j]])) for j in numbers):
        return []
    within = f"of {where[0]} {twice_x} and of {where[1]} {twice_y} are there more than once"
    return [f"equal rows: {within}, and {shared} of {where[0]} are in {where[1]} too"]


def _is_continuous(values: FloatArray) -> bool:
    """Whether more than half of the values are unlike all others."""
    return len(np.unique(values)) > _CONTINUOUS * len(values)


def _first_value_recurs(x: FloatArray, y: FloatArray) -> bool:
    """Whether the first value of X occurs again: it must for there to be copies, or the same rows in another order."""
    return bool((x[1:, 0] == x[0, 0]).any() or (len(x) == len(y) and (y[:, 0] == x[0, 0]).any()))


def only_categories(levels: tuple[Levels, ...]) -> bool:
    """Whether equal rows are ordinary: no column of numbers tells rows apart."""
    return bool(levels) and None not in levels


def _row_hashes(sample: FloatArray) -> npt.NDArray[np.uint64]:
    """One 64-bit number per row, sorted; each step is invertible, so one column never collides."""
    bits = (sample + 0.0).view(np.uint64)  # (n, d); adding 0.0 makes -0.0 equal to 0.0
    hashes = np.zeros(len(bits), dtype=np.uint64)
    for j in range(bits.shape[1]):
        hashes = (hashes ^ bits[:, j]) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(32)
    return np.sort(hashes)


def _column_notes(
    x: Sample, y: Sample, names: Sequence[str], copies: int, levels: tuple[Levels, ...]
) -> tuple[list[str], list[str]]:
    """Notes on constant columns of numbers, and on those that have no density: point masses, and many ties."""
    constants, ties = [], []
    advice = "rely on the normalized distance"
    (low_x, high_x), (low_y, high_y) = x.ends(), y.ends()
    rows = _rows_for_ties(x, y)
    for j, name in enumerate(names):
        if levels and levels[j] is not None and len(levels[j] or ()) > 1:
            continue
        label, a, b = f"column {shown(name)}", low_x[j], low_y[j]
        if a == high_x[j] and b == high_y[j]:
            if a == b:
                constants.append(f"{label} is constant and equal in both samples; it contributes nothing")
            else:
                masses = "point masses have no density"
                ties.append(f"{label} is {a} in all of X and {b} in all of Y; {masses}, so {advice}")
            continue
        ordered = np.sort(rows[:, j])
        distinct = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
        if 2 * copies * distinct < len(rows):  # copies of whole rows are warned of once, not per column
            why = "tied values have no density, so the squared distance depends on sigma"
            ties.append(f"{label}: {distinct} distinct values in {len(rows)} rows; {why}: {advice}")
    return capped(constants, "columns are constant and equal"), capped(ties, "columns are heavily tied")


def _rows_for_ties(x: Sample, y: Sample) -> FloatArray:
    rows_x, rows_y = (sample.spaced(_TIE_ROWS // 2) for sample in (x, y))
    step = -(-(len(rows_x) + len(rows_y)) // _TIE_ROWS)
    return np.concatenate([rows_x[::step], rows_y[::step]])
