"""What is wrong with the rows of a CSV file: found slowly, after pyarrow has refused them or taken numbers for text.

Rows are data rows, counted from 0; lines are counted from 1.
"""

import io
import re
from typing import Any

from densdiff.errors import InputError
from densdiff.io import memory
from densdiff.io.arrow import pyarrow
from densdiff.io.csv_form import CsvForm, is_number, number_pattern, records
from densdiff.io.text import Part, line_at
from densdiff.messages import argument, shown

NEARLY = 0.9  # a text column of which so large a part are numbers is taken for a column of numbers with a flaw
_FIELD = 1 << 17  # bytes of a field at which Python's reader gives up
THOUSANDS = r"^\s*[+-]?\d{1,3}([.,]\d{3})+([.,]\d+)?\s*$"


def refuse_open_quote(part: Part, form: CsvForm, name: str) -> None:
    """An error if a quote opens that does not close: pyarrow would take the rest of the file for one field."""
    if (at := form.open_quote(part.data)) >= 0:
        line = part.lines + line_at(part.data, at)
        raise InputError(f"line {line} of {name} opens a quote that is never closed; close or remove it", file=name)


def refuse_row_longer_than_block(part: Part, form: CsvForm, name: str) -> None:
    """An error that says why a part of the file, which begins with a row, holds no end of one.

    Empty lines pass: those of a single column are rows only if something follows.
    """
    if not part.data.strip(b"\r\n"):
        return
    size = memory.TEXT_BLOCK
    text = f"line {part.lines + 1} of {name} is longer than the limit of {size} bytes; shorten it"
    if (at := form.open_quote(part.data)) >= 0:
        line = part.lines + line_at(part.data, at)
        what = f"line {line} of {name} opens a quote that is never closed, or a row longer than {size} bytes"
        text = f"{what}; close the quote or shorten the row"
    raise InputError(text, file=name)


def refuse_long(part: Part, name: str) -> None:
    """An error if a line is longer than a block of text."""
    size = memory.TEXT_BLOCK
    for line, text in enumerate(io.BytesIO(part.data), part.lines + 1):
        if len(text) > size:
            what = f"line {line} of {name} has {len(text)} bytes, the limit is {size}; shorten it"
            raise InputError(what, file=name)


def refuse_ragged(part: Part, form: CsvForm, name: str, before: int) -> None:
    """An error if a row has other fields than the first line; ``before`` counts the data rows before these."""
    width, named = len(form.names), form.header and part.first
    row = before - named
    for line, fields in records(part.data, form.sep):
        if (n_fields := len(fields)) != width:
            many = f"{n_fields} field{'s' * (n_fields > 1)}"
            european = f"{argument('sep', ';')}, {argument('decimal', ',')}"
            cure = "correct it" if n_fields < width else f"correct it, or quote fields that contain {form.sep!r}"
            if width == 1:
                cure = f"if it uses a decimal comma, give {european}"
            if form.hash_first:
                cure = "the first line begins with '#': remove it if it is a comment"
            text = f"line {part.lines + line} of {name} has {many}, but the first line has {width}; {cure}"
            raise InputError(text, file=name, row=row)
        row += 1
    if named and row == before and len(part.data) < _FIELD:
        raise InputError(f"{name} has 0 data rows", file=name)


def refuse_flawed_numbers(table: Any, form: CsvForm, name: str, before: int = 0) -> None:
    """An error if a column of text is nearly all numbers: one bad value turns a column of numbers into text.

    ``before`` counts the rows before these.
    """
    pa, compute = pyarrow(), pyarrow("compute")
    for label, values in zip(table.column_names, table.columns, strict=True):
        n_values = len(values) - values.null_count
        if values.type != pa.string() or not n_values:
            continue
        n_numbers = compute.sum(compute.match_substring_regex(values, f"{number_pattern('.,')}|{THOUSANDS}")).as_py()
        if n_numbers < NEARLY * n_values:
            continue
        row = compute.index(compute.match_substring_regex(values, number_pattern(form.decimal)), False).as_py()
        if row < 0:
            continue  # numbers that pyarrow does not take for numbers stay text
        value, row = values[row].as_py(), before + row
        leave_out = f"correct it, leave it empty, or leave the column out with {argument('columns', ...)}"
        cure = cure_of_marks(value, form.decimal) or f", but {n_numbers} of {n_values} values are; {leave_out}"
        text = f"column {shown(label)} of {name}: {shown(value)} at row {row} is not a number{cure}"
        raise InputError(text, file=name, column=label, row=row)


def cure_of_marks(value: str, decimal: str) -> str:
    """What to do about a number with another decimal mark or with thousands separators, to follow it in a message."""
    other = "," if decimal == "." else "."
    if is_number(value, other):
        return f"; if {other!r} is the decimal mark, give {argument('decimal', other)}"
    if re.match(THOUSANDS, value):
        return "; remove the thousands separators"
    return ""


def refuse_other_kind(error: str, part: Part, form: CsvForm, name: str, before: int) -> None:
    """An error that names the value which is of another kind than the first rows of its column, if pyarrow met one.

    ``before`` counts the data rows before the part; pyarrow counts from its first line, and tells only without threads.
    """
    value = re.search(r"conversion error to (\w+).*invalid value '(.*)'", error, re.DOTALL)
    place = re.search(r"[Cc]olumn #(\d+)", error)
    if not value or not place:
        return
    line = re.search(r"[Rr]ow #(\d+)", error)
    row = before + int(line[1]) - 1 - (form.header and part.first) if line else None
    label = form.names[int(place[1])]
    kind = {"double": "a number", "int64": "a number", "bool": "true or false"}.get(value[1], f"a {value[1]}")
    where = "some row" if row is None else f"row {row}"
    what = f"column {shown(label)} of {name}: {shown(value[2])} at {where} is not {kind}, but the first rows are"
    leave = f"leave the column out with {argument('columns', ...)}"
    cure = f"correct it, leave it empty, {leave}, or save the file as Parquet if the column holds text"
    raise InputError(f"{what}; {cure}", file=name, column=label, row=row)
