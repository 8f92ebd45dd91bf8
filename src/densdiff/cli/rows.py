"""Lines of CSV or JSON Lines as rows, each as soon as its line is there; one that cannot be read is a bad row.

Where lines come from lives in `lines`; what is done about a bad row is decided in `stream`.
"""

import csv
import json
import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from densdiff import messages
from densdiff.cli.failures import remark
from densdiff.cli.inputs import Layout
from densdiff.cli.lines import LONGEST, LineInput
from densdiff.errors import InputError

INPUT = "standard input"
# texts that count as missing in a file of the reference, which pyarrow reads
NULL_TEXTS = frozenset(
    (
        *("", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "-NaN", "-nan"),
        *("#N/A", "#N/A N/A", "#NA", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"),
    )
)
_MOST_EXTRA = 100  # names of columns that the reference does not have are noted, or they would fill the memory


class Row(NamedTuple):
    """A row for a monitor, the number of its line, and its time as it came."""

    line: int
    values: Any
    time: Any = None


class BadRow(NamedTuple):
    """A line that is no row, and why."""

    line: int
    error: InputError


class Columns(NamedTuple):
    """The names of a reference, and the column of a stream that holds the time, if one does."""

    names: Sequence[str]
    time: str | None = None
    texts: frozenset[str] = frozenset()  # columns of categories
    gaps: frozenset[str] = frozenset()  # columns of numbers that may be missing


def read_rows(lines: LineInput, columns: Columns, layout: Layout) -> Iterator[Row | BadRow]:
    """Rows in order, good and bad; an error if the first line lacks columns."""
    texts = _Texts(lines)
    while (first := texts.next()) is not None:
        number, text = first
        if isinstance(text, InputError):
            yield BadRow(number, text)
        elif text.strip():
            texts.put_back([first])
            is_json = text.lstrip().startswith("{")
            yield from _objects(texts, columns) if is_json else _Records(texts, text, columns, layout).rows()


class _Texts:
    """Lines with their numbers as text, or as the error that says why they are none."""

    def __init__(self, lines: LineInput) -> None:
        self._lines, self._number = lines, 0
        self._waiting: deque[tuple[int, str | InputError]] = deque()

    def next(self, *, is_within_row: bool = False) -> tuple[int, str | InputError] | None:
        if self._waiting:
            return self._waiting.popleft()
        line = self._lines.next_line(is_within_row=is_within_row)
        if line is None:
            return None
        self._number += 1
        return self._number, _decoded(line, self._number)

    def put_back(self, texts: Sequence[tuple[int, str | InputError]]) -> None:
        self._waiting.extendleft(reversed(texts))

    @property
    def is_cut(self) -> bool:
        """Whether a signal ended them within a row."""
        return self._lines.is_cut


def _decoded(line: bytes, number: int) -> str | InputError:
    where = f"line {number} of {INPUT}"
    if len(line) == LONGEST:
        return InputError(f"{where} is longer than {LONGEST >> 20} MiB; is it text?")
    if b"\0" in line:
        return InputError(f"{where} has a NUL byte; save it as UTF-8")
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return InputError(f"{where} is not UTF-8; save it as UTF-8")
    return text.removeprefix("\ufeff") if number == 1 else text


def _objects(texts: _Texts, columns: Columns) -> Iterator[Row | BadRow]:
    known = {*columns.names, columns.time}
    most = len(known) + _MOST_EXTRA
    while (item := texts.next()) is not None:
        number, text = item
        if isinstance(text, str) and not text.strip():
            continue
        try:
            row = _object(text, number)
            if columns.time is not None and columns.time not in row:
                raise InputError(f"line {number} of {INPUT} lacks {messages.shown(columns.time)}, the time")
        except InputError as error:
            yield BadRow(number, error)
            continue
        if len(known) < most:
            _note_extra_columns([name for name in row if name not in known], columns)
            known.update(list(row)[:most])
        yield Row(number, row, None if columns.time is None else _plain(row[columns.time]))


def _object(text: str | InputError, number: int) -> dict[str, Any]:
    if isinstance(text, InputError):
        raise text
    try:
        row = json.loads(text, object_pairs_hook=_refuse_repeated_keys)
    except InputError as error:
        raise error.reworded(f"line {number} of {INPUT} {error.marked}") from None
    except (ValueError, RecursionError):
        raise InputError(f"line {number} of {INPUT} is not valid JSON; write one object per line") from None
    if not isinstance(row, dict):
        raise InputError(f"line {number} of {INPUT} is not a JSON object; write one object per line")
    return row


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The entries of a JSON object; an error if two have one name."""
    if len(entries := dict(pairs)) < len(pairs):
        twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
        raise InputError(f"has more than one value named {messages.listed(twice)}")
    return entries


def _plain(value: Any) -> Any:
    """A value of JSON as it came, as text if JSON of other programs could not hold it."""
    is_plain = value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))
    return value if is_plain else str(value)


class _Records:
    """Rows of CSV; also an iterator over the lines of the record that is being read."""

    def __init__(self, texts: _Texts, first: str, columns: Columns, layout: Layout) -> None:
        self._texts, self._columns, self._layout = texts, columns, layout
        self._taken: list[tuple[int, str | InputError]] = []
        self._sep = layout.sep.replace(r"\t", "\t") if layout.sep else _separator(first, columns, layout.header)
        count = len(columns.names) + (columns.time is not None)
        self._width, self._places, self._time_place = count, list(range(count)), None
        if not layout.header and columns.time is not None:
            self._time_place = _place_by_number(columns.time, count)
            self._places.remove(self._time_place)

    def __iter__(self) -> "_Records":
        return self

    def __next__(self) -> str:
        item = self._texts.next(is_within_row=bool(self._taken))
        if item is None:
            raise StopIteration
        self._taken.append(item)
        if isinstance(item[1], InputError):
            raise item[1]
        return item[1]

    def rows(self) -> Iterator[Row | BadRow]:
        needs_header, blank = self._layout.header, 0
        for line, fields in self._records():
            if needs_header:
                if isinstance(fields, InputError):
                    raise fields
                needs_header = False
                self._take_header(fields, line)
            elif isinstance(fields, InputError):
                yield BadRow(line, fields)
            elif not fields:
                blank = blank or line
            else:
                if blank and self._width == 1:
                    yield BadRow(blank, InputError(f"line {blank} of {INPUT} is empty; a value is missing"))
                blank = 0
                yield self._row(fields, line)

    def _records(self) -> Iterator[tuple[int, list[str] | InputError]]:
        """First line and fields of each record. Of one that cannot be read only the first line is given up."""
        reader = csv.reader(self, delimiter=self._sep, strict=True)
        while True:
            self._taken.clear()
            try:
                fields: list[str] | InputError = next(reader)
            except StopIteration:
                return
            except InputError as error:
                fields = error
            except csv.Error as error:
                if self._texts.is_cut:
                    return
                fields = InputError(f"line {self._taken[0][0]} of {INPUT} cannot be read: {error}")
            if isinstance(fields, InputError):
                self._texts.put_back(self._taken[1:])
            yield self._taken[0][0], fields

    def _take_header(self, fields: list[str], line: int) -> None:
        names, time = self._columns.names, self._columns.time
        wanted = list(names) if time is None else [*names, time]
        if lacking := [name for name in wanted if name not in fields]:
            hint = "give --no-header if it holds data, --sep if another character separates the fields"
            has = f"it has {messages.listed(fields)}; {hint}"
            raise InputError(f"line {line} of {INPUT} lacks column {messages.listed(lacking)}; {has}")
        if twice := [name for name in wanted if fields.count(name) > 1]:
            raise InputError(f"line {line} of {INPUT} has more than one column named {messages.listed(twice)}")
        _note_extra_columns(fields, self._columns)
        self._width, self._places = len(fields), [fields.index(name) for name in names]
        self._time_place = None if time is None else fields.index(time)

    def _row(self, fields: list[str], line: int) -> Row | BadRow:
        if len(fields) != self._width:
            many = f"{len(fields)} field{'s' * (len(fields) != 1)}, but {self._width} are expected"
            return BadRow(line, InputError(f"line {line} of {INPUT} has {many}"))
        named = zip(self._places, self._columns.names, strict=True)
        try:
            values = [self._value(fields[place], name, line) for place, name in named]
        except InputError as error:
            return BadRow(line, error)
        return Row(line, values, None if self._time_place is None else fields[self._time_place])

    def _value(self, field: str, name: str, line: int) -> str | float | None:
        if (name in self._columns.texts or name in self._columns.gaps) and field in NULL_TEXTS:
            return None
        return field if name in self._columns.texts else _number(field, name, line, self._layout.decimal)


def _place_by_number(name: str, count: int) -> int:
    """Where x2 is in a line without names."""
    if name not in (names := [f"x{place}" for place in range(count)]):
        raise InputError(f"--time must be one of {messages.listed(names)} with --no-header; got {messages.shown(name)}")
    return names.index(name)


def _separator(line: str, columns: Columns, header: bool) -> str:
    """The one with which the first line has the columns of the reference."""
    names = {*columns.names} if columns.time is None else {*columns.names, columns.time}
    for sep in ",;\t|":
        try:
            fields = next(csv.reader([line], delimiter=sep), [])
        except csv.Error:  # reading the line says why
            continue
        if names <= set(fields) if header else len(fields) == len(names):
            return sep
    return ","


def _note_extra_columns(fields: Iterable[str], columns: Columns) -> None:
    """Note which columns are left out because the reference does not have them."""
    if extra := [name for name in fields if name not in columns.names and name != columns.time]:
        remark(f"note: left out, because the reference does not have them: {messages.listed(extra)}")


def _number(field: str, name: str, line: int, decimal: str | None) -> float:
    text = field.strip()
    if decimal == ",":
        text = text.replace(".", "_").replace(",", ".")
    try:
        if "_" in text:  # Python reads 1_000
            raise ValueError
        return float(text)
    except ValueError:
        where = f"line {line} of {INPUT}: column {messages.shown(name)}"
        if not text:
            raise InputError(f"{where} is empty; a value is missing") from None
        hint = "; give --decimal ',' if that is a decimal comma" if "," in text and decimal is None else ""
        raise InputError(f"{where}: {messages.shown(field)} is not a number{hint}") from None
