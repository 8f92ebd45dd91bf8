"""What is wrong with lines of JSON: what would take pyarrow's parser down, and, slowly, what it has refused.

Rows are data rows, counted from 0; lines are counted from 1.
"""

import io
import json
import math
import re
from typing import Any

import numpy as np

from densdiff.errors import InputError
from densdiff.io.arrow import pyarrow
from densdiff.io.text import Part, line_at
from densdiff.io.wording import refuse_repeated
from densdiff.messages import shown

_DEPTH = 100  # brackets open at a time; at some thousands pyarrow's parser exhausts the stack
_KINDS = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    tuple: "an object",
}


def refuse_crash(part: Part, name: str) -> None:
    """An error if lines hold what would take the process down in pyarrow's parser.

    Values nested too deep exhaust the stack, and a block of rows that are all null is no table to it.
    """
    _refuse_depth(part.data, name)
    if null := re.search(rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])[ \t]*null", part.data):
        line = part.lines + line_at(part.data, null.end())
        raise InputError(f"line {line} of {name} is not a JSON object; write one object per line", file=name)


def _refuse_depth(data: bytes, name: str) -> None:
    between = data.count(b"}\n{") + data.count(b"}\r\n{")  # open no deeper than before
    if data.count(b"{") + data.count(b"[") - between <= _DEPTH:
        return
    unquoted = re.sub(rb'"(?:[^"\\\n]|\\[^\n])*"', b"", data)
    step = np.zeros(256, dtype=np.int32)
    step[[*b"[{"]], step[[*b"]}"]] = 1, -1
    depth = np.zeros(1, dtype=np.int32)
    for start in range(0, len(unquoted), 1 << 22):
        part = step[np.frombuffer(unquoted[start : start + (1 << 22)], dtype=np.uint8)]
        depth = np.cumsum(np.concatenate([depth[-1:], part]), dtype=np.int32)
        depth -= np.minimum(np.minimum.accumulate(depth), 0)  # what closes more than was open opens nothing
        if depth.max() > _DEPTH:
            text = f"{name} nests values more than {_DEPTH} deep; give each entry a column of its own"
            raise InputError(text, file=name)


def refuse_line(part: Part, name: str, rows: int, before: Any) -> None:
    """An error that names the first flaw by line and row of the file; pyarrow counts from the start of a block.

    ``rows`` stand before the part, of which ``before`` are the fields of pyarrow.
    """
    kinds = {field.name: kind for field in before if (kind := _kind_of_field(field.type))}
    row = rows - 1
    for line, text in enumerate(io.BytesIO(part.data), part.lines + 1):
        if not text.strip():
            continue
        row += 1
        try:
            entry = json.loads(text, object_pairs_hook=tuple)
        except (ValueError, RecursionError):
            what = f"line {line} of {name} is not valid JSON; write one object per line"
            raise InputError(what, file=name, row=row) from None
        if not isinstance(entry, tuple):
            what = f"line {line} of {name} is not a JSON object; write one object per line"
            raise InputError(what, file=name, row=row)
        refuse_repeated([key for key, _ in entry], f"line {line} of {name}", "rename the others", name)
        for key, value in entry:
            if flaw := _flaw(key, value, kinds):
                what = f"column {shown(key)} of {name}: {shown(value)} at row {row} is {flaw}"
                raise InputError(what, file=name, column=key, row=row)


def _flaw(key: str, value: Any, kinds: dict[str, str]) -> str:
    """What is wrong with a value, if anything; ``kinds`` of the columns before it, which learn from it."""
    kind = _KINDS.get(type(value), "")
    if kind and kinds.setdefault(key, kind) != kind:
        return f"{kind}, but earlier rows hold {kinds[key]}; a column must hold one kind of value"
    return "infinite; drop or correct that row first" if value in (math.inf, -math.inf) else ""


def _kind_of_field(kind: Any) -> str:
    """What a value of JSON was that became a type of pyarrow."""
    types = pyarrow().types
    if types.is_integer(kind) or types.is_floating(kind):
        return "a number"
    if types.is_string(kind) or types.is_timestamp(kind):
        return "text"
    python_types = {types.is_boolean: bool, types.is_list: list, types.is_struct: tuple}
    return next((_KINDS[python_type] for is_kind, python_type in python_types.items() if is_kind(kind)), "")
