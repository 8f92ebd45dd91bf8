"""Blocks of a table that is too large to be seen whole: what each column of a block holds, and what all of them hold.

A summary of two neighbouring stretches of rows follows from theirs alone, so blocks may be visited in any order, on any
machine.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.data.categories import DISTINCT, MISSING_LEVEL, Levels, codes_of, tell_names, text_of, truths
from densdiff.data.table import (
    Column,
    Table,
    missing_values,
    nearly_numbers,
    parses,
    refusal,
    table_of,
    warn_of_precision,
)
from densdiff.errors import InputError
from densdiff.messages import listed, lost, shown

FloatArray = npt.NDArray[np.float64]
MOST_LEVELS = 100_000  # a column with more is taken for names of its rows
_NOTHING = -1074  # exponent of rows that are all at the shift: the least of any double, so that it never wins
_NUMBERS = ("numbers", "booleans")
_WORDS = ("text", "categories", "booleans")


@dataclass(frozen=True)
class ColumnSummary:
    """One column of some consecutive rows; moments are those of (value - shift) / 2^exponent."""

    kind: str = ""  # "" while nothing but missing values was seen
    missing: int = 0
    first_missing: int = -1
    row: int = -1  # of the first value
    first: Any = None
    low: float = np.inf
    high: float = -np.inf
    count: int = 0  # of numbers
    mean: float = 0.0
    squares: float = 0.0
    exponent: int = 0
    largest: int = 0
    levels: Mapping[str, int] | None = None  # rows of each, None if there are too many
    word: Any = None  # the first text that is no number
    word_row: int = -1

    def merged(self, other: "ColumnSummary", where: str) -> "ColumnSummary":
        """Of these rows and the ones after them."""
        exponent = max(self.exponent, other.exponent) if self.count and other.count else self._exponent(other)
        (mean, squares), (mean_2, squares_2) = self._moments(exponent), other._moments(exponent)
        count = self.count + other.count
        apart = mean_2 - mean
        known = self if self.kind else other
        word = self if self.word_row >= 0 else other
        return ColumnSummary(
            kind=_common(self, other, where),
            missing=self.missing + other.missing,
            first_missing=self.first_missing if self.first_missing >= 0 else other.first_missing,
            row=known.row,
            first=known.first,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            count=count,
            mean=mean + apart * (other.count / count) if count else 0.0,
            squares=squares + squares_2 + apart**2 * (self.count * (other.count / count)) if count else 0.0,
            exponent=exponent,
            largest=max(self.largest, other.largest),
            levels=_together(self.levels, other.levels),
            word=word.word,
            word_row=word.word_row,
        )

    def _exponent(self, other: "ColumnSummary") -> int:
        return self.exponent if self.count else other.exponent

    def _moments(self, exponent: int) -> tuple[float, float]:
        by = self.exponent - exponent
        return float(np.ldexp(self.mean, by)), float(np.ldexp(self.squares, 2 * by))


def _common(a: ColumnSummary, b: ColumnSummary, where: str) -> str:
    """What a column holds whose parts hold these."""
    if not (a.kind and b.kind) or a.kind == b.kind:
        return a.kind or b.kind
    for kinds, name in ((_NUMBERS, "numbers"), (_WORDS, "text")):
        if a.kind in kinds and b.kind in kinds:
            return name
    early, late = sorted((a, b), key=lambda each: each.row)
    held = f"{early.kind}, first {shown(early.first)} at row {early.row}, and {late.kind}, {shown(late.first)}"
    raise InputError(f"{where} holds {held} at row {late.row}; a column holds one kind")


def _together(a: Mapping[str, int] | None, b: Mapping[str, int] | None) -> Mapping[str, int] | None:
    if a is None or b is None:
        return None
    found = Counter(a)
    found.update(b)
    return None if len(found) > MOST_LEVELS else found


@dataclass(frozen=True)
class Summary:
    """All columns of some consecutive rows."""

    where: str
    names: tuple[str, ...]
    rows: int
    columns: tuple[ColumnSummary, ...]

    def only(self, places: Sequence[int]) -> "Summary":
        """Of some columns."""
        return replace(self, names=tuple(self.names[j] for j in places), columns=tuple(self.columns[j] for j in places))

    def merged(self, other: "Summary") -> "Summary":
        """Of these rows and the ones after them."""
        labels = (f"column {shown(name)} of {self.where}" for name in self.names)
        columns = (a.merged(b, label) for a, b, label in zip(self.columns, other.columns, labels, strict=True))
        return Summary(self.where, self.names, self.rows + other.rows, tuple(columns))


@dataclass(frozen=True)
class Reading:
    """How blocks of one source become rows of numbers; ``levels`` says which columns become codes."""

    where: str
    names: tuple[str, ...]
    named: bool  # whether blocks have names of their own
    shift: tuple[float, ...] = ()  # near the numbers of each column
    levels: tuple[Levels, ...] = ()
    places: tuple[int, ...] = ()  # of the columns in blocks without names
    width: int = 0  # of such blocks

    def table(self, block: Any) -> Table:
        """The columns of a block, in the order of ``names``."""
        table = table_of(block, self.where)
        if self.named:
            if lacking := [name for name in self.names if name not in (table.names or ())]:
                raise InputError(f"a block of {self.where} lacks {listed(lacking)}; all blocks need the same columns")
            return table.select(self.names)
        if len(table.columns) != self.width:
            widths = f"{self.width} columns and a later one {len(table.columns)}"
            raise InputError(f"the first block of {self.where} has {widths}; all blocks need the same columns")
        return replace(table, columns=[table.columns[k] for k in self.places], names=None)

    def named_table(self, block: Any) -> Table:
        """The same with names, whether blocks have them or not."""
        table = self.table(block)
        return replace(table, names=self.names, shape=(len(table), len(self.names)))

    def whole_rows(self, block: Any) -> Table:
        """The columns of a block by name, without the rows that lack a value in any of them."""
        table = self.named_table(block)
        return table.some(~np.logical_or.reduce([missing_values(column) for column in table.columns]))

    def summary(self, block: Any, start: int) -> Summary:
        """What a block holds whose first row has the number ``start``."""
        if type(block) is np.ndarray and block.dtype.kind == "f":  # columns in one piece: half of the time
            block = np.asfortranarray(block)
        table = self.table(block)
        shifts = self.shift or (0.0,) * len(self.names)
        columns = (
            _summed(column, shift, start, f"column {shown(name)} of {self.where}")
            for column, shift, name in zip(table.columns, shifts, self.names, strict=True)
        )
        return Summary(self.where, self.names, table.shape[0], tuple(columns))

    def rows(self, block: Any, start: int, columns: Sequence[int] | None = None) -> FloatArray:
        """Numbers, and codes of levels, of a block whose first row has the number ``start``, (k, d)."""
        reading = self if columns is None else self.only(columns)
        table = reading.table(block)
        found = np.empty((len(table), len(table.columns)), order="F")
        levels = reading.levels or (None,) * len(reading.names)
        for j, (column, name, of) in enumerate(zip(table.columns, reading.names, levels, strict=True)):
            if of is None and column.kind not in _NUMBERS:
                raise InputError(refusal(column, f"column {shown(name)} of {self.where}", "", start))
            found[:, j] = column.values if of is None else _codes(column, of)
        return found

    def only(self, columns: Sequence[int]) -> "Reading":
        """Of some columns."""
        parts: dict[str, Any] = {}
        for name in ("names", "levels", "shift", "places"):
            of = getattr(self, name)
            parts[name] = tuple(of[k] for k in columns) if of else ()
        return replace(self, **parts)


def reading(first: Any, where: str) -> Reading:
    """How to read a source whose first block is this one."""
    table = table_of(first, where)
    names = table.names or tuple(f"x{j}" for j in range(len(table.columns)))
    named = bool(table.names) and len(table.shape) == 2
    width = 0 if named else len(names)
    shifts = tuple(_middle(column) for column in table.columns)
    return Reading(where, names, named, shifts, places=tuple(range(width)), width=width)


def _middle(column: Column) -> float:
    """A number amid the finite ones of a column, 0 if it has none."""
    if column.kind not in _NUMBERS:
        return 0.0
    values = np.asarray(column.values, dtype=np.float64)
    values = values[np.isfinite(values)]
    return float(values.min() / 2 + values.max() / 2) if len(values) else 0.0


def _summed(column: Column, shift: float, start: int, label: str) -> ColumnSummary:
    plain = column.kind == "numbers" and column.values.dtype == np.float64 and column.values.size
    if plain:  # most columns: their ends tell that there is no gap
        low, high = float(column.values.min()), float(column.values.max())
        if np.isfinite([low, high]).all():
            about = ColumnSummary(
                levels={}, kind=column.kind, row=start, first=column.values[0], largest=column.largest
            )
            return _with_moments(about, column.values, low, high, shift)
    missing = missing_values(column)
    lost = int(missing.sum())
    about = ColumnSummary(missing=lost, first_missing=start + int(missing.argmax()) if lost else -1, levels={})
    if lost == len(missing):
        return about
    row = int((~missing).argmax())
    about = replace(about, kind=column.kind, row=start + row, first=column.values[row], largest=column.largest)
    if column.kind in _WORDS:
        values = column.values[~missing].tolist() if lost else column.values.tolist()
        if column.kind == "booleans":
            values = [bool(value) for value in values]
        counts: Counter[str] = Counter()
        for value, count in Counter(values).items():
            counts[text_of(value)] += count
        about = replace(about, levels=counts if len(counts) <= MOST_LEVELS else None)
        if column.kind == "text" and (word := next((text for text in counts if not parses(text)), None)) is not None:
            at = next(i for i, value in enumerate(column.values) if not missing[i] and text_of(value) == word)
            about = replace(about, word=column.values[at], word_row=start + at)
    if column.kind not in _NUMBERS:
        if column.kind not in _WORDS:
            raise InputError(refusal(replace(column, row=row), label, "", start))
        return about
    values = np.asarray(column.values, dtype=np.float64)
    values = values[~missing] if lost else values
    low, high = float(values.min()), float(values.max())
    if not np.isfinite([low, high]).all():
        bad = int(np.isinf(np.asarray(column.values, dtype=np.float64)).argmax())
        found = f"{shown(float(column.values[bad]))} at row {start + bad}"
        raise InputError(f"{label}: an infinite value, {found}; drop or correct those rows first")
    return _with_moments(about, values, low, high, shift)


def _with_moments(about: ColumnSummary, values: FloatArray, low: float, high: float, shift: float) -> ColumnSummary:
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
    return replace(about, low=low, high=high, count=len(values), mean=mean, squares=squares, exponent=exponent)


def _codes(column: Column, levels: Sequence[str]) -> FloatArray:
    values = column.values
    if column.kind == "booleans":
        values = values.astype(bool) if values.dtype.kind != "f" else truths(values)
    codes = codes_of(values, levels)
    if MISSING_LEVEL in levels:
        codes[missing_values(column)] = levels.index(MISSING_LEVEL)
    return codes


def kind_of_source(value: Any, where: str) -> str:
    """ "dask" or "blocks" for what is read in pieces, "" for what is in memory; what can be read only once is refused.

    Examples
    --------
    >>> kind_of_source([[1.0], [2.0]], "X"), kind_of_source([np.zeros((5, 2)), np.ones((5, 2))], "X")
    ('', 'blocks')
    """
    if type(value).__module__.partition(".")[0] in ("dask", "dask_expr"):
        return "dask"
    if hasattr(value, "__next__"):
        cure = "pass a list of blocks, or an object whose __iter__ begins anew each time"
        raise InputError(f"{where} is a {type(value).__name__}, which can be read only once; {cure}")
    if isinstance(value, (list, tuple)):
        return "blocks" if value and all(len(getattr(each, "shape", ())) == 2 for each in value) else ""
    known = (str, bytes, range, set, frozenset, Mapping)
    frames = ("__array__", "__dataframe__", "__arrow_c_stream__", "__narwhals_dataframe__", "column_names", "toarray")
    if isinstance(value, known) or not hasattr(value, "__iter__") or any(hasattr(value, name) for name in frames):
        return ""
    return "blocks"


@dataclass(frozen=True)
class Columns:
    """What the columns of two sources are, once both were looked through."""

    names: tuple[str, ...]
    levels: tuple[Levels, ...]  # empty if all are numbers
    places: tuple[int, ...]  # among the names of the readings
    left_out: tuple[str, ...]  # which tell rows and nothing else


def columns_of(both: Sequence[Summary], names: Sequence[str], categories: bool, notes: list[str]) -> Columns:
    """Kinds and pooled levels of matched columns, or why one of them cannot be used; missing values are not judged."""
    kept: list[tuple[str, Levels, int]] = []
    telling = []
    for j, (name, *parts) in enumerate(zip(names, *(each.columns for each in both), strict=True)):
        labels = [f"column {shown(name)} of {each.where}" for each in both]
        booleans = {part.kind for part in parts if part.kind} == {"booleans"}
        if not are_words(parts, labels) or (booleans and not categories):
            for label, part in zip(labels, parts, strict=True):
                warn_of_precision(part.largest, label, notes)
            kept.append((name, None, j))
            continue
        for label, part in zip(labels, parts, strict=True):
            _refuse_words(part, label, categories)
        found = _together(parts[0].levels, parts[1].levels)
        # of all rows, or within each table: the same customers in both have two rows a name
        if found is None or _names_rows(parts) or all(_names_rows([part]) for part in parts):
            telling.append(name)
        else:
            kept.append((name, tuple(sorted(found)), j))
    tell_names(telling, bool(kept), notes)
    levels = tuple(of for _, of, _ in kept)
    places = tuple(j for _, _, j in kept)
    return Columns(tuple(name for name, _, _ in kept), levels if any(levels) else (), places, tuple(telling))


def are_words(parts: Sequence[ColumnSummary], labels: Sequence[str]) -> bool:
    """Whether a column is one of categories in both sources; an error if it is in one of them only."""
    kinds = {part.kind for part in parts if part.kind}
    if not kinds <= set(_NUMBERS) and not kinds <= set(_WORDS):
        held = "; ".join(f"{label} holds {part.kind}" for label, part in zip(labels, parts, strict=True))
        raise InputError(f"{held}; both need the same kind of values")
    return bool(kinds) and kinds <= set(_WORDS)


def _names_rows(parts: Sequence[ColumnSummary]) -> bool:
    levels: set[str] = set().union(*(part.levels or () for part in parts))
    return len(levels) > max(2.0, DISTINCT * sum(sum((part.levels or {}).values()) for part in parts))


def _refuse_words(part: ColumnSummary, label: str, categories: bool) -> None:
    if part.kind != "text" and categories:
        return
    texts = np.array(list(part.levels or (str(part.first),)), dtype=object)
    if categories and not nearly_numbers(texts):
        return
    # by what was met first of each sort: the rows themselves are gone
    numbers = part.word_row != part.row and part.kind == "text"
    met = [(part.first, part.row)] + ([(part.word, part.word_row)] if numbers and part.word_row >= 0 else [])
    row = met[-1][1]
    column = Column(np.array([each for each, _ in met], dtype=object), part.kind, len(met) - 1)
    raise InputError(refusal(column, label, "", row - (len(met) - 1)))


def refuse_missing(both: Sequence[Summary], cure: str) -> None:
    """An error that names the first column with missing values, how many, and the first row."""
    for each in both:
        for name, part in zip(each.names, each.columns, strict=True):
            if part.missing:
                what = lost(part.missing, part.first_missing)
                raise InputError(f"column {shown(name)} of {each.where}: {what}; {cure}")
