"""How a CSV file is written: its separator, its decimal mark, the names of its columns, where its rows end.

Nothing is guessed in silence: what can be read in more than one way is an error that names the option to give.
"""

import csv
import io
import itertools
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from densdiff.errors import InputError
from densdiff.io.options import Options
from densdiff.io.wording import refuse_absent, refuse_repeated
from densdiff.messages import argument, listed, shown

_SEPARATORS = ",;\t|"
_LINE_END = re.compile(rb"\r\n|\n|\r")
_SAMPLE = 1 << 16  # bytes in which separators are counted


@dataclass(frozen=True)
class CsvForm:
    """How a CSV file is written, from its first lines."""

    sep: str
    decimal: str
    names: list[str]
    header: bool
    hash_first: bool  # whether it begins with '#', as comments do

    @property
    def is_single_column(self) -> bool:
        """Whether there is one column; then an empty line is a missing value."""
        return len(self.names) == 1

    def row_end(self, data: bytes) -> int:
        """Where the last row ends that is whole, in bytes that begin with a row; 0 if none is.

        Line ends within quotes end no row. Empty lines of a single column may be rows or the end of the file: they stay
        with what follows.
        """
        end = self._line_end(data)
        if not self.is_single_column:
            return end
        filled = len(data[:end].rstrip(b"\r\n"))
        after = _LINE_END.match(data, filled) if filled else None
        return after.end() if after else 0

    def open_quote(self, data: bytes) -> int:
        """Where a quote opens a field that is not closed, in bytes that begin with a row; -1 if there is none."""
        quotes = _quotes(data, self.sep)
        if not len(quotes) % 2:
            return -1
        opening = [int(at) for at in quotes[::2] if data[at - 1 : at] != b'"']  # else it is one of a doubled quote
        return opening[-1]

    def _line_end(self, data: bytes) -> int:
        """Where the last line ends outside quotes, 0 if nowhere."""
        quotes = _quotes(data, self.sep) if b'"' in data else None
        for mark, stop in ((b"\n", len(data)), (b"\r", max(0, len(data) - 1))):  # after the last \r, \n may follow
            if quotes is None:
                end = data.rfind(mark, 0, stop) + 1
            else:
                ends = np.flatnonzero(np.frombuffer(data, np.uint8)[:stop] == ord(mark))
                outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
                end = int(outside[-1]) + 1 if len(outside) else 0
            if end:
                return end
        return 0


def _quotes(data: bytes, sep: str) -> npt.NDArray[np.intp]:
    """Places of the quotes that open and close fields, in turn; doubled ones may be among them, as they cancel out.

    A quote within a field that does not begin with one is a character like any other, as in 5" pipe.
    """
    view = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(view == ord('"'))
    opening = quotes[::2]
    before = view[opening - 1]
    if np.all(np.isin(before, [*f'{sep}\r\n"'.encode()]) | (opening == 0)):
        return quotes
    field = re.compile(rb'(?:\A|[%b\r\n])(")(?:[^"]++|"")*+("?)' % re.escape(sep.encode()))
    ends = [place for match in field.finditer(data) for place in (match.start(1), match.start(2) if match[2] else -1)]
    return np.array([place for place in ends if place >= 0], dtype=np.intp)


def csv_form(head: bytes, name: str, options: Options) -> CsvForm:
    """The form that the options and the first lines say, or what speaks against reading them so."""
    sep = options.sep or _separator(head, name)
    decimal = options.decimal or _decimal(head, name, sep)
    first = next((fields for _, fields in records(head, sep)), [])
    names = first if options.header else [f"x{j}" for j in range(len(first))]
    refuse_repeated(
        names, name, f"rename them, or give {argument('header', False)} if the file has no column names", name
    )
    filled = [field for field in names if field.strip()]
    if any(decimal in field for field in filled) and all(is_number(field, decimal) for field in filled):
        what = f"{name} has no column names, as it begins with the numbers {listed(filled)}"
        text = f"{what}; give {argument('header', False)}"
        raise InputError(text, file=name, argument="header")
    refuse_absent(options.columns, names, name)
    return CsvForm(sep, decimal, names, options.header, head.lstrip().startswith(b"#"))


def records(data: bytes, sep: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file and the lines where they begin, slowly; it ends where a field is longer than 128 kB."""
    lines = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""), delimiter=sep)
    start = 1
    with suppress(csv.Error):
        for fields in lines:
            if fields:
                yield start, fields
            start = lines.line_num + 1


def number_pattern(marks: str) -> str:
    """A regular expression for numbers with one of these decimal marks."""
    return rf"^\s*[+-]?(\d+[{marks}]?\d*|[{marks}]\d+|(?i:inf|infinity))([eE][+-]?\d+)?\s*$"


def is_number(field: str, mark: str = ".") -> bool:
    """Whether a field is a number with this decimal mark."""
    return re.match(number_pattern(mark), field, re.ASCII) is not None


def _separator(head: bytes, name: str) -> str:
    """The one character that occurs equally often in each of the first lines, outside quotes."""
    sample = head[:_SAMPLE].decode(errors="ignore")
    unquoted = re.sub(r'(^|[,;\t|])"(?:[^"]|"")*(?:"|\Z)', r"\1", sample, flags=re.MULTILINE)
    lines = [line for line in unquoted.splitlines() if line.strip()]
    lines = (lines[:-1] or lines)[:20] if len(head) > _SAMPLE else lines[:20]
    counts = {sep: [line.count(sep) for line in lines] for sep in _SEPARATORS}
    steady = [sep for sep, per_line in counts.items() if per_line and per_line[0] and len(set(per_line)) == 1]
    if not steady:
        return max(_SEPARATORS, key=lambda sep: (counts[sep] or [0])[0])
    if len(steady) == 2 and steady[0] == ",":
        fields = [field for line in lines for field in line.split(steady[1]) if "," in field]
        if all(is_number(field, ",") for field in fields):
            return steady[1]
    if len(steady) > 1:
        text = f"{name} could be separated by {' or '.join(map(repr, steady))}; say which with {argument('sep', ...)}"
        raise InputError(text, file=name, argument="sep")
    return steady[0]


def _decimal(head: bytes, name: str, sep: str) -> str:
    """A comma if it is in the numbers of the first rows and a point is in none."""
    if sep == ",":
        return "."
    fields = [field.strip() for _, row in itertools.islice(records(head, sep), 100) for field in row]
    commas = [field for field in fields if "," in field and is_number(field, ",")]
    if not commas or any("." in field and is_number(field) for field in fields):
        return "."
    if all(re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", field) for field in commas):
        cure = f"give {argument('decimal', ',')} if it is a decimal comma, else remove the thousands separators"
        what = f"{name}: the comma in {shown(commas[0])} may mark decimals or thousands; {cure}"
        raise InputError(what, file=name, argument="decimal")
    return ","
