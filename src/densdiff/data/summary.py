"""What the columns of some consecutive rows hold: kinds, levels, ends, moments, and the first of everything odd.

The summary of two neighbouring stretches of rows follows from theirs alone, so blocks may be visited in any order, on
any machine; a table in memory is one stretch.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from densdiff.core.scaling import FloatArray
from densdiff.data.table import Column, coded_values, missing_values, reads_as_number, text_of
from densdiff.errors import InputError
from densdiff.messages import shown

MOST_LEVELS = 100_000  # of a column that is read in blocks: one with more is taken for names of its rows
NUMBERS = ("numbers", "booleans")
WORDS = ("text", "categories", "booleans")
_NOTHING = -1074  # exponent of rows that are all at the shift: the least of any double, so that it never wins


@dataclass(frozen=True)
class First:
    """The first value of some sort, and its row; a row of -1 if there is none."""

    value: Any = None
    row: int = -1

    def or_later(self, other: "First") -> "First":
        """This first value, or the other if this stretch of rows has none."""
        return self if self.row >= 0 else other


@dataclass(frozen=True)
class Numbers:
    """Ends, mean and sum of squares of (value - shift) / 2^exponent over the finite numbers of a column.

    Moments depend on where blocks end, so they do not tell columns apart.
    """

    low: float = np.inf
    high: float = -np.inf
    count: int = 0
    mean: float = field(default=0.0, compare=False)
    squares: float = field(default=0.0, compare=False)
    exponent: int = field(default=0, compare=False)

    def merged(self, other: "Numbers") -> "Numbers":
        """Ends and moments of these rows and the ones after them together."""
        if not (self.count and other.count):
            return self if self.count else other
        exponent = max(self.exponent, other.exponent)
        (mean, squares), (mean_2, squares_2) = self._rescaled(exponent), other._rescaled(exponent)
        count, apart = self.count + other.count, mean_2 - mean
        return Numbers(
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            count=count,
            mean=mean + apart * (other.count / count),
            squares=squares + squares_2 + apart**2 * (self.count * (other.count / count)),
            exponent=exponent,
        )

    def _rescaled(self, exponent: int) -> tuple[float, float]:
        by = self.exponent - exponent
        return float(np.ldexp(self.mean, by)), float(np.ldexp(self.squares, 2 * by))


@dataclass(frozen=True)
class Steps:
    """The first and the last of some whole numbers, and the least and the largest step from one to the next."""

    first: int
    last: int
    least: float = np.inf  # of a single number, which takes no step
    largest: float = -np.inf

    def merged(self, other: "Steps") -> "Steps":
        """The steps of these rows and the ones after them together."""
        between = other.first - self.last
        least, largest = min(self.least, between, other.least), max(self.largest, between, other.largest)
        return Steps(self.first, other.last, least, largest)

    @classmethod
    def of(cls, values: Any) -> "Steps | None":
        """The steps of an array; None if it does not hold whole numbers only."""
        if values.dtype.kind not in "iu" or not len(values):
            return None
        first, last = int(values[0]), int(values[-1])
        if len(values) == 1:
            return cls(first, last)
        steps = np.diff(values.astype(np.int64))
        return cls(first, last, float(steps.min()), float(steps.max()))


_NO_NUMBERS, _NONE = Numbers(), First()


@dataclass(frozen=True)
class ColumnSummary:
    """One column of some consecutive rows."""

    kind: str = ""  # "" while nothing but missing values was seen
    missing: int = 0
    first_missing: int = -1  # row
    first: First = _NONE  # of the column's kind
    word: First = _NONE  # text that is no number
    infinite: int = 0
    first_infinite: First = _NONE
    numbers: Numbers = _NO_NUMBERS
    largest: int = 0  # magnitude of the largest integer
    levels: Mapping[str, int] | None = field(default_factory=dict)  # rows of each, None if there are too many
    steps: Steps | None = None  # of a column of whole numbers without gaps

    def merged(self, other: "ColumnSummary", where: str) -> "ColumnSummary":
        """What the column holds in these rows and the ones after them together."""
        return ColumnSummary(
            kind=_common_kind(self, other, where),
            missing=self.missing + other.missing,
            first_missing=self.first_missing if self.first_missing >= 0 else other.first_missing,
            first=self.first.or_later(other.first),
            word=self.word.or_later(other.word),
            infinite=self.infinite + other.infinite,
            first_infinite=self.first_infinite.or_later(other.first_infinite),
            numbers=self.numbers.merged(other.numbers),
            largest=max(self.largest, other.largest),
            levels=_pooled_counts(self.levels, other.levels),
            steps=self.steps.merged(other.steps) if self.steps and other.steps else None,
        )


def _common_kind(a: ColumnSummary, b: ColumnSummary, where: str) -> str:
    """The kind of a column whose two stretches of rows hold these kinds."""
    if not (a.kind and b.kind) or a.kind == b.kind:
        return a.kind or b.kind
    for kinds, name in ((NUMBERS, "numbers"), (WORDS, "text")):
        if a.kind in kinds and b.kind in kinds:
            return name
    early, late = sorted((a, b), key=lambda column: column.first.row)
    begins = f"{early.kind}, first {shown(early.first.value)} at row {early.first.row}"
    held = f"{begins}, and {late.kind}, {shown(late.first.value)}"
    raise InputError(f"{where} holds {held} at row {late.first.row}; a column must hold one kind of value")


def _pooled_counts(a: Mapping[str, int] | None, b: Mapping[str, int] | None) -> Mapping[str, int] | None:
    """Rows of each level of two stretches of rows; None if there are too many levels."""
    if a is None or b is None:
        return None
    if not (a and b):
        return a or b
    pooled = Counter(a)
    pooled.update(b)
    return None if len(pooled) > MOST_LEVELS else pooled


@dataclass(frozen=True)
class Summary:
    """All columns of some consecutive rows."""

    where: str
    names: tuple[str, ...]
    rows: int
    columns: tuple[ColumnSummary, ...]

    def only(self, places: Sequence[int]) -> "Summary":
        """A summary of some of the columns, by their places."""
        if list(places) == list(range(len(self.names))):
            return self
        return replace(self, names=tuple(self.names[j] for j in places), columns=tuple(self.columns[j] for j in places))

    def label(self, j: int) -> str:
        """What messages call a column."""
        return f"column {shown(self.names[j])} of {self.where}" if self.names[j] else self.where

    def merged(self, other: "Summary") -> "Summary":
        """What all columns hold in these rows and the ones after them together."""
        pairs = zip(self.columns, other.columns, strict=True)
        columns = tuple(a.merged(b, self.label(j)) for j, (a, b) in enumerate(pairs))
        return Summary(self.where, self.names, self.rows + other.rows, columns)


def summarize_column(column: Column, start: int, shift: float | None) -> ColumnSummary:
    """A column whose first row has the number ``start``; moments about ``shift``, none if that is None."""
    if column.kind == "numbers" and (values := column.values).dtype == np.float64 and values.size:
        low, high = float(values.min()), float(values.max())
        if np.isfinite(low) and np.isfinite(high):  # most columns: their ends tell that there is no gap
            numbers = _summarize_numbers(values, low, high, shift)
            return ColumnSummary(
                kind="numbers", first=First(values[0], start), numbers=numbers, largest=column.largest, levels={}
            )
    missing = missing_values(column)
    n_missing = int(missing.sum())
    summary = ColumnSummary(missing=n_missing, first_missing=start + int(missing.argmax()) if n_missing else -1)
    if n_missing == len(missing):
        return summary
    row = int((~missing).argmax())
    first = First(column.at(row), start + row)
    summary = replace(summary, kind=column.kind, first=first, largest=column.largest)
    if column.kind == "numbers":
        summary = replace(summary, steps=Steps.of(column.values))
    if column.kind in WORDS:
        summary = _with_levels(summary, column, missing, start)
    if column.kind not in NUMBERS:
        return summary
    floats = column.floats()
    infinite = np.isinf(floats)
    if infinite.any():
        bad = int(infinite.argmax())
        first = First(float(floats[bad]), start + bad)
        summary = replace(summary, infinite=int(infinite.sum()), first_infinite=first)
    finite = floats[~(missing | infinite)] if n_missing or summary.infinite else floats
    if not len(finite):
        return summary
    return replace(summary, numbers=_summarize_numbers(finite, float(finite.min()), float(finite.max()), shift))


def _with_levels(summary: ColumnSummary, column: Column, missing: Any, start: int) -> ColumnSummary:
    coded = coded_values(column)
    rows = np.bincount(coded.places[~missing], minlength=len(coded.distinct) - 1).tolist()
    is_boolean = column.kind == "booleans"
    texts = [text_of(bool(value) if is_boolean else value) for value in coded.distinct[:-1]]
    counts: Counter[str] = Counter()
    for text, count in zip(texts, rows, strict=True):
        counts[text] += count
    summary = replace(summary, levels=counts)
    word = None if is_boolean else next((text for text in counts if not reads_as_number(text)), None)
    if word is None:
        return summary
    at = int(np.array([*(text == word for text in texts), False])[coded.places].argmax())
    return replace(summary, word=First(column.at(at), start + at))


def _summarize_numbers(values: FloatArray, low: float, high: float, shift: float | None) -> Numbers:
    if shift is None:
        return Numbers(low, high, len(values))
    reach = max(abs(low / 2 - shift / 2), abs(high / 2 - shift / 2))  # in halves, which do not overflow
    exponent = int(np.frexp(reach)[1]) + 1 if reach else _NOTHING
    half = exponent // 2  # in two factors, each of which is a normal double
    with np.errstate(under="ignore"):
        inner = values / 2
        inner -= shift / 2
        inner *= np.ldexp(1.0, -half)
        inner *= np.ldexp(1.0, half - exponent + 1)
        mean = float(inner.mean())
        inner -= mean
        squares = float(np.square(inner, out=inner).sum())
    return Numbers(low, high, len(values), mean, squares, exponent)
