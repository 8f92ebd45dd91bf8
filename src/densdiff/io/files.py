"""Files as tables, and results as files that are either whole or not there: the only place that opens a path.

Nothing is repaired or guessed in silence. What cannot be read in one way only is an `InputError` of one sentence, which
names the file, the place in it, and the option to give. Rows are data rows, counted from 0; lines are counted from 1.
"""

import base64
import codecs
import csv
import errno
import gzip
import importlib
import io
import itertools
import json
import math
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config

from densdiff.errors import DensDiffError, InputError, MissingExtraError

_SHOWN = 5  # names listed before "and .. more"
_NEARLY = 0.9  # a text column of which so large a part are numbers is taken for a column of numbers with a flaw
_quiet = RLock()
_DEPTH = 100  # brackets open at a time in JSON; at some thousands pyarrow's parser exhausts the stack
_PROBED = 4096  # rows of a row group of Parquet that tell how long its text is
_PROBE = 1 << 20  # bytes that they may take
_THOUSANDS = r"^\s*[+-]?\d{1,3}([.,]\d{3})+([.,]\d+)?\s*$"
_SEPARATORS = ",;\t|"
_FOREIGN = {  # how a file begins that is no text
    b"PAR1": "is a Parquet file; let its name end in .parquet",
    b"\x93NUMPY": "is a NumPy file; let its name end in .npy",
    b"PK\x03\x04": "is a zip archive or an Excel workbook; save it as CSV",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook; save it as CSV",
    b"\x1f\x8b": "is compressed; let its name end in .gz",
    b"ARROW1": "is an Arrow file; save it as Parquet",
}
_BOMS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_JSON_KINDS = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    tuple: "an object",
}


@dataclass(frozen=True)
class Options:
    """How a file is to be read."""

    columns: list[str] | None
    sep: str | None
    decimal: str | None
    header: bool

    @classmethod
    def checked(cls, columns: Sequence[str] | None, sep: str | None, decimal: str | None, header: bool) -> "Options":
        """Options as given, or the one that makes no sense."""
        chosen = None if columns is None else list(columns)
        if isinstance(columns, str) or not all(isinstance(name, str) for name in chosen or ()):
            raise InputError("columns must be a list of names")
        if chosen == []:
            raise InputError("columns is empty; name at least 1 column, or leave it out to read all")
        _once(chosen or (), "columns", "name each once")
        sep = "\t" if sep == r"\t" else sep
        if sep is not None and (not isinstance(sep, str) or len(sep) != 1 or not sep.isascii() or sep in '"\r\n\0'):
            raise InputError(f"sep must be one character such as ',' or ';'; got {shown(sep)}")
        if decimal not in (None, ".", ","):
            raise InputError(f"decimal must be '.' or ','; got {shown(decimal)}")
        return cls(chosen, sep, decimal, header)


def is_path(value: Any) -> bool:
    """Whether a value names a file.

    Examples
    --------
    >>> is_path("A.csv"), is_path([1.0, 2.0])
    (True, False)
    """
    return isinstance(value, (str, PathLike))


def table(
    path: str | PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    header: bool = True,
) -> Any:
    r"""Read a file of rows.

    CSV (also ``.csv.gz``), JSON Lines (``.jsonl``, ``.ndjson``, ``.json``) and Parquet (a file, or a folder whose data
    files are all Parquet) become a `pyarrow.Table`, ``.npy`` a NumPy array. Standard input, ``"-"``, and a name with
    another ending are JSON Lines if they begin with ``{`` and CSV otherwise.

    Parameters
    ----------
    path : str or path
        The file or folder; ``"-"`` is standard input.
    columns : sequence of str, optional
        The columns to read, in this order.
    sep, decimal : str, optional
        How a CSV file separates fields, and its decimal mark, ``"."`` or ``","``. Without them the first lines decide.
    header : bool
        Whether a CSV file begins with the names of its columns; else they are x0, x1, and so on.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "A.csv")
    ...     _ = file.write_text("age;city\n1,5;Bonn\n2,5;Ulm\n")
    ...     table(file).to_pydict()
    {'age': [1.5, 2.5], 'city': ['Bonn', 'Ulm']}
    """
    options = Options.checked(columns, sep, decimal, header)
    if not is_path(path):
        raise InputError(f"a path is needed; got an object of type {type(path).__name__}")
    name = named(path)
    try:
        found = _read(path, name, options)
    except DensDiffError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{name} does not exist in the folder {shown(str(Path(path).parent))}") from error
    except Exception as error:  # readers of damaged bytes raise whatever they met
        raise InputError(f"{name} cannot be read: {reason(error)}") from error
    if not len(found):
        raise InputError(f"{name} has 0 data rows")
    return found


@contextmanager
def written(path: str | PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside the target; rename it over the target at the end, remove it after any failure.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written(Path(folder, "note.txt")) as aside:
    ...         _ = aside.write_text("all or nothing")
    ...     [file.name for file in Path(folder).iterdir()]
    ['note.txt']
    """
    label = f"cannot write {shown(os.fspath(path))}"
    try:
        target = Path(os.path.realpath(path))  # a link stays a link
        if target.is_dir():
            raise InputError(f"{label}: it is a folder")
        if not target.parent.is_dir():
            raise InputError(f"{label}: the folder {shown(str(Path(path).parent))} does not exist")
        if target.exists() and not target.is_file():
            raise InputError(f"{label}: it is not a regular file")  # a rename would take the place of /dev/null
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))  # a rename would not ask
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{label}: {reason(error)}") from error
    # the ending tells matplotlib the format; a name may have 255 bytes, of which a character takes up to 4
    aside = target.with_name(f".{os.getpid()}.{target.name[-60:]}")
    try:
        yield aside
        os.replace(aside, target)
    except OSError as error:
        raise InputError(f"{label}: {reason(error)}") from error
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def _read(path: str | PathLike[str], name: str, options: Options) -> Any:
    place = Path(path)
    ending = place.suffix.lower()
    if os.fspath(path) == "-":
        return _text(_drained(sys.stdin.buffer, name), name, "", options)
    if place.is_dir():
        return _parquet(parts(place, name), name, options.columns)
    if ending in (".parquet", ".pq"):
        return _parquet([place], name, options.columns)
    if ending == ".npy":
        return _array(place, name, options.columns)
    pyarrow("csv")  # before a gigabyte is read in vain
    if ending == ".gz":
        with gzip.open(place) as stream:
            return _text(_drained(stream, name), name, Path(place.stem).suffix.lower(), options)
    with place.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        _refuse_large(size, name)
        data = _drained(file, name)
        if len(data) < size:
            raise InputError(f"{name} shrank from {size} to {len(data)} bytes while it was read; copy it again")
        return _text(data, name, ending, options)


def _drained(stream: Any, name: str) -> bytes:
    """All that a stream holds, which need not say beforehand how much that is."""
    chunks: list[bytes] = []
    while chunk := stream.read(1 << 26):
        chunks.append(chunk)
        _refuse_large(sum(map(len, chunks)), name, "more than ")
    return b"".join(chunks)


def _refuse_large(needed: int, name: str, more: str = "") -> None:
    allowed = get_config()["working_memory"]  # MiB
    if needed > allowed * 2**20:
        needed = math.ceil(needed / 2**20)
        raise InputError(
            f"{name} needs {more}{needed} MiB of memory, the limit is {allowed:g} MiB; take fewer rows or columns, "
            f"or raise it by sklearn.set_config(working_memory={'...' if more else needed})"
        )


def _text(data: bytes, name: str, ending: str, options: Options) -> Any:
    """CSV or JSON Lines; bytes that are neither are refused by what they seem to be."""
    refuse_foreign(data, name)
    data = data.removeprefix(codecs.BOM_UTF8)
    return _json(data, name, options.columns) if holds_json(data, name, ending) else _csv(data, name, options)


def holds_json(data: bytes, name: str, ending: str) -> bool:
    """Whether a text is JSON Lines and not CSV, by the ending of its name and how it begins."""
    first = re.findall(rb"\A\s*(\S)", data)
    if not first:
        raise InputError(f"{name} is empty")
    wanted = ending in (".jsonl", ".ndjson", ".json")
    if first == [b"["] and (wanted or ending == ""):
        raise InputError(f"{name} is one JSON list; write one object a line (JSON Lines)")
    if wanted and first != [b"{"]:
        raise InputError(f"{name} is not JSON Lines, in which each line is an object in braces; is it CSV?")
    if first != [b"{"] or (ending == ".csv" and not _is_json(data)):
        return False
    if ending == ".csv":
        raise InputError(f"{name} holds JSON Lines; let its name end in .jsonl")
    return True


def refuse_foreign(data: bytes, name: str) -> None:
    """An error if bytes are no text in UTF-8."""
    for magic, what in _FOREIGN.items():
        if data.startswith(magic):
            raise InputError(f"{name} {what}")
    _refuse_encoding(data, name)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(io.BytesIO(data).readline())
    except (ValueError, RecursionError):
        return False
    return True


def _refuse_encoding(data: bytes, name: str) -> None:
    for mark, encoding in _BOMS.items():
        if data.startswith(mark):
            raise InputError(f"{name} is encoded as {encoding}; save it as UTF-8")
    if 0 <= (at := data.find(b"\0")) < 2 and not any(data[at:40:2]):
        raise InputError(f"{name} seems to be encoded as UTF-16; save it as UTF-8")
    refuse_bytes(data, name)


def refuse_bytes(data: bytes, name: str, lines: int = 0, start: int = 0) -> None:
    """An error if a part of a text, after so many lines and bytes, holds NUL or is not UTF-8."""
    pa = pyarrow()
    if (at := data.find(b"\0")) >= 0:
        where = f"line {lines + _line(data, at)} (byte {start + at})"
        raise InputError(f"{name} has a NUL byte in {where}; it is damaged, or no text file")
    whole = [None, pa.py_buffer(np.array([0, len(data)])), pa.py_buffer(data)]
    try:
        pa.Array.from_buffers(pa.large_string(), 1, whole).validate(full=True)
    except pa.ArrowInvalid:
        try:
            data.decode()
        except UnicodeDecodeError as error:
            line = lines + _line(data, error.start)
            where = f"byte 0x{data[error.start]:02x} in line {line} (byte {start + error.start})"
            raise InputError(f"{name} is not UTF-8: {where}; save it as UTF-8 (is it Latin-1?)") from None
        raise


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


@dataclass(frozen=True)
class CsvForm:
    """How a CSV file is written, from its first lines."""

    sep: str
    decimal: str
    names: list[str]
    header: bool

    @property
    def alone(self) -> bool:
        """Whether there is one column; then an empty line is a missing value."""
        return len(self.names) == 1


def csv_form(data: bytes, name: str, options: Options) -> CsvForm:
    """The form that the options and the first lines say, or what speaks against reading them so."""
    sep = options.sep or _separator(data, name)
    decimal = options.decimal or _decimal(data, name, sep)
    first = next((fields for _, fields in _records(data, sep)), [])
    names = first if options.header else [f"x{j}" for j in range(len(first))]
    _once(names, name, "rename them, or give header=False if there are no names")
    filled = [field for field in names if field.strip()]
    if any(decimal in field for field in filled) and all(_number(field, decimal) for field in filled):
        raise InputError(f"{name} begins with numbers, {_listed(filled)}, and no names of columns; give header=False")
    refuse_absent(options.columns, names, name)
    return CsvForm(sep, decimal, names, options.header)


def _csv(data: bytes, name: str, options: Options) -> Any:
    reader, form = pyarrow("csv"), csv_form(data, name, options)
    if data.count(b'"') % 2:
        _refuse_open_quote(data, form.sep, name)
    try:
        found = reader.read_csv(
            pyarrow().BufferReader(data.strip(b"\r\n") if form.alone else data),
            read_options=reader.ReadOptions(column_names=None if form.header else form.names),
            parse_options=reader.ParseOptions(
                delimiter=form.sep, newlines_in_values=b'"' in data, ignore_empty_lines=not form.alone
            ),
            convert_options=reader.ConvertOptions(
                decimal_point=form.decimal, strings_can_be_null=True, include_columns=options.columns
            ),
        )
    except pyarrow().ArrowInvalid:
        _refuse_long(data, name)
        _refuse_ragged(data, form.sep, name, len(form.names), form.header)
        raise
    refuse_flawed_numbers(found, form.decimal, name)
    return found


def _records(data: bytes, sep: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file and the lines where they begin, slowly; it ends where a field is longer than 128 kB."""
    lines = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""), delimiter=sep)
    start = 1
    with suppress(csv.Error):
        for fields in lines:
            if fields:
                yield start, fields
            start = lines.line_num + 1


def _separator(data: bytes, name: str) -> str:
    """The one character that occurs equally often in each of the first lines, outside quotes."""
    sample = data[: 1 << 16].decode(errors="ignore")
    bare = re.sub(r'(^|[,;\t|])"(?:[^"]|"")*(?:"|\Z)', r"\1", sample, flags=re.MULTILINE)
    lines = [line for line in bare.splitlines() if line.strip()]
    lines = (lines[:-1] or lines)[:20] if len(data) > 1 << 16 else lines[:20]
    counts = {sep: [line.count(sep) for line in lines] for sep in _SEPARATORS}
    steady = [sep for sep, found in counts.items() if found and found[0] and len(set(found)) == 1]
    if not steady:
        return max(_SEPARATORS, key=lambda sep: (counts[sep] or [0])[0])
    if len(steady) == 2 and steady[0] == ",":
        fields = [field for line in lines for field in line.split(steady[1]) if "," in field]
        if all(_number(field, ",") for field in fields):
            return steady[1]
    if len(steady) > 1:
        raise InputError(f"{name} could be separated by {' or '.join(map(repr, steady))}; say which with sep=")
    return steady[0]


def _decimal(data: bytes, name: str, sep: str) -> str:
    """A comma if it is in the numbers of the first rows and a point is in none."""
    if sep == ",":
        return "."
    fields = [field.strip() for _, row in itertools.islice(_records(data, sep), 100) for field in row]
    commas = [field for field in fields if "," in field and _number(field, ",")]
    if not commas or any("." in field and _number(field) for field in fields):
        return "."
    if all(re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", field) for field in commas):
        raise InputError(
            f"{name}: {shown(commas[0])} may be a decimal number or thousands; give decimal=',' for the former, and "
            "write thousands without a comma"
        )
    return ","


def _pattern(marks: str) -> str:
    return rf"^\s*[+-]?(\d+[{marks}]?\d*|[{marks}]\d+|(?i:inf|infinity))([eE][+-]?\d+)?\s*$"


def _number(field: str, mark: str = ".") -> bool:
    return re.match(_pattern(mark), field, re.ASCII) is not None


def _refuse_open_quote(data: bytes, sep: str, name: str) -> None:
    """pyarrow takes the rest of the file for one field; an odd number of quotes calls this slow check."""
    lines = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""), delimiter=sep, strict=True)
    start = 1
    try:
        for _ in lines:
            start = lines.line_num + 1
    except csv.Error as error:
        if "end of data" in str(error):
            raise InputError(f"{name}: a quote that opens in line {start} is never closed") from None


def _refuse_long(data: bytes, name: str) -> None:
    """pyarrow reads by blocks of a mebibyte, and no row may reach over two ends of them."""
    for line, text in enumerate(io.BytesIO(data), 1):
        if len(text) > 1 << 20:
            raise InputError(f"line {line} of {name} has {len(text)} bytes; at most a mebibyte is read: shorten it")


def _refuse_ragged(data: bytes, sep: str, name: str, width: int, header: bool) -> None:
    if header and next(itertools.islice(_records(data, sep), 1, None), None) is None:
        raise InputError(f"{name} has 0 data rows")
    for line, fields in _records(data, sep):
        if (found := len(fields)) != width:
            many = f"{found} field{'s' * (found > 1)}"
            hint = "" if width > 1 else "; if it uses a decimal comma, give sep=';', decimal=','"
            if data.lstrip().startswith(b"#"):
                hint = ", which begins with '#'; remove it if it is a comment"
            raise InputError(f"line {line} of {name} has {many}, expected {width} as in the first line{hint}")


def refuse_flawed_numbers(found: Any, decimal: str, name: str, before: int = 0) -> None:
    """One bad value turns a column of numbers into text; a column with mostly words is text.

    ``before`` counts the rows before these.
    """
    pa, compute = pyarrow(), pyarrow("compute")
    for label, values in zip(found.column_names, found.columns, strict=True):
        given = len(values) - values.null_count
        if values.type != pa.string() or not given:
            continue
        alike = compute.sum(compute.match_substring_regex(values, f"{_pattern('.,')}|{_THOUSANDS}")).as_py()
        if alike < _NEARLY * given:
            continue
        row = compute.index(compute.match_substring_regex(values, _pattern(decimal)), False).as_py()
        if row < 0:
            continue  # numbers that pyarrow does not take for numbers stay text
        value, other = values[row].as_py(), "," if decimal == "." else "."
        cure = f"{alike} of {given} values are; correct it, leave it empty, or leave the column out by columns="
        if _number(value, other):
            cure = f"with {other!r} as decimal mark it is: give decimal={other!r}"
        elif re.match(_THOUSANDS, value):
            cure = "without a mark between thousands it is"
        raise InputError(
            f"column {shown(label)} of {name}: {shown(value)} at row {before + row} is not a number; {cure}"
        )


def _json(data: bytes, name: str, columns: list[str] | None) -> Any:
    refuse_json(data, name)
    try:
        found = pyarrow("json").read_json(pyarrow().BufferReader(data))
    except pyarrow().ArrowInvalid:
        refuse_json_line(data, name)
        raise
    if not found.num_columns:
        raise InputError(f"{name} has no columns")
    refuse_absent(columns, found.column_names, name)
    return found if columns is None else found.select(columns)


def refuse_json(data: bytes, name: str, before: int = 0) -> None:
    """What would take the process down in pyarrow's parser; ``before`` counts the lines before these.

    Values nested too deep exhaust the stack, and a block of rows that are all null is no table to it.
    """
    _refuse_depth(data, name)
    if null := re.search(rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])[ \t]*null", data):
        line = before + _line(data, null.end())
        raise InputError(f"line {line} of {name} is not a JSON object; one object a line is needed")


def _refuse_depth(data: bytes, name: str) -> None:
    between = data.count(b"}\n{") + data.count(b"}\r\n{")  # open no deeper than before
    if data.count(b"{") + data.count(b"[") - between <= _DEPTH:
        return
    bare = re.sub(rb'"(?:[^"\\\n]|\\[^\n])*"', b"", data)
    step = np.zeros(256, dtype=np.int32)
    step[[*b"[{"]], step[[*b"]}"]] = 1, -1
    depth = np.zeros(1, dtype=np.int32)
    for start in range(0, len(bare), 1 << 22):
        part = step[np.frombuffer(bare[start : start + (1 << 22)], dtype=np.uint8)]
        depth = np.cumsum(np.concatenate([depth[-1:], part]), dtype=np.int32)
        depth -= np.minimum(np.minimum.accumulate(depth), 0)  # what closes more than was open opens nothing
        if depth.max() > _DEPTH:
            raise InputError(f"{name} nests values more than {_DEPTH} deep; give each entry a column of its own")


def refuse_json_line(data: bytes, name: str, lines: int = 0, rows: int = 0, before: Any = ()) -> None:
    """What pyarrow counts from the start of a block, by line and row of the file.

    ``lines`` and ``rows`` stand before these, of which ``before`` are the fields of pyarrow.
    """
    kinds = {field.name: kind for field in before if (kind := _json_kind(field.type))}
    row = rows - 1
    for line, text in enumerate(io.BytesIO(data), lines + 1):
        if not text.strip():
            continue
        row += 1
        try:
            entry = json.loads(text, object_pairs_hook=tuple)
        except (ValueError, RecursionError):
            raise InputError(f"line {line} of {name} is not valid JSON; one object a line is needed") from None
        if not isinstance(entry, tuple):
            raise InputError(f"line {line} of {name} is not a JSON object; one object a line is needed")
        _once([key for key, _ in entry], f"line {line} of {name}", "rename the others")
        for key, value in entry:
            kind = _JSON_KINDS.get(type(value), "")
            flaw = "infinite; drop or correct that row first" if value in (math.inf, -math.inf) else ""
            if kind and kinds.setdefault(key, kind) != kind:
                flaw = f"{kind}, and before it stands {kinds[key]}; a column holds one kind"
            if flaw:
                raise InputError(f"column {shown(key)} of {name}: {shown(value)} at row {row} is {flaw}")


def _json_kind(kind: Any) -> str:
    """What a value of JSON was that became a type of pyarrow."""
    types = pyarrow().types
    if types.is_integer(kind) or types.is_floating(kind):
        return "a number"
    if types.is_string(kind) or types.is_timestamp(kind):
        return "text"
    known = {types.is_boolean: bool, types.is_list: list, types.is_struct: tuple}
    return next((_JSON_KINDS[of] for is_it, of in known.items() if is_it(kind)), "")


def parts(folder: Path, name: str) -> list[Path]:
    """The data files of a folder; marks such as _SUCCESS and hidden files are none."""
    inside = sorted(file for file in folder.iterdir() if not file.name.startswith(("_", ".")))
    if not (parts := [file for file in inside if file.suffix.lower() in (".parquet", ".pq") and file.is_file()]):
        raise InputError(f"the folder {name} has no Parquet file in it; give a file, or a folder of Parquet files")
    if others := [file.name for file in inside if file not in parts]:
        raise InputError(f"the folder {name} holds more than Parquet files: {_listed(others)}; move the others away")
    return parts


@dataclass(frozen=True)
class Footers:
    """What the ends of Parquet files say before any column is read."""

    names: list[str]
    rows: list[int]  # of each file
    needed: int  # bytes in memory, at least
    index: set[str]  # columns that are left out unless they are asked for
    coded: set[str]  # columns of numbers that were categories in every file, which Parquet itself does not tell


def footers(files: list[Path], columns: list[str] | None) -> Footers:
    """Of files with the same columns."""
    parquet = pyarrow("parquet")
    needed = 0
    names: list[str] = []
    rows: list[int] = []
    index: set[str] = set()
    coded: list[set[str]] = []
    for place in files:
        part = named(place)
        _refuse_no_parquet(place, part)
        with damage(part):
            about = parquet.read_metadata(place)
            every = about.schema.to_arrow_schema().names
            coded.append(_coded_numbers(about.metadata or {}))
            stored = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        _once(every, part, "rename or drop the others")
        index |= (nameless := _nameless_index(about.metadata or {}))
        found = [label for label in every if label not in nameless] or every
        names = names or found
        if set(found) != set(names):
            raise InputError(f"{part} has other columns than {named(files[0])}: {_listed(sorted({*found} ^ {*names}))}")
        refuse_absent(columns, every, part)
        rows.append(about.num_rows)
        needed += max(8 * about.num_rows * len(columns or names), 0 if columns else stored)
    return Footers(columns or names, rows, needed, index, set.intersection(*coded))


def _nameless_index(metadata: dict[bytes, bytes]) -> set[str]:
    """Columns that pandas made of an index without a name; they number rows and are no data unless asked for."""
    try:
        index = json.loads(metadata[b"pandas"])["index_columns"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return set()
    return {label for label in index if isinstance(label, str) and re.fullmatch(r"__index_level_\d+__", label)}


def _coded_numbers(metadata: dict[bytes, bytes]) -> set[str]:
    """Columns of numbers that were categories when pyarrow wrote them; of text, its reader gives them back itself."""
    pa = pyarrow()
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(metadata[b"ARROW:schema"])))
    except (KeyError, ValueError, OSError, pa.ArrowException):  # not written by it, or no longer whole
        return set()
    kinds = {field.name: field.type.value_type for field in schema if pa.types.is_dictionary(field.type)}
    return {label for label, kind in kinds.items() if pa.types.is_integer(kind) or pa.types.is_floating(kind)}


def as_categories(table: Any, about: Footers) -> Any:
    """A table of Parquet with the categories that it was written with."""
    for j, label in enumerate(table.column_names):
        if label in about.coded and not pyarrow().types.is_dictionary(table.schema.types[j]):
            table = table.set_column(j, label, table.column(j).dictionary_encode())
    return table


def _parquet(files: list[Path], name: str, columns: list[str] | None) -> Any:
    """One table; how much it needs is known from the footers and a few rows, before any column is read."""
    about = footers(files, columns)
    _refuse_large(about.needed, name)
    _refuse_large(decoded(files, about), name)
    tables = []
    for place in files:
        with damage(named(place)), pyarrow("parquet").ParquetFile(place) as file:
            table = sound(file.read(columns=about.names).select(about.names))
            tables.append(as_categories(table, about))
    try:
        return pyarrow().concat_tables(_plain_where_mixed(tables), promote_options="permissive")
    except pyarrow().ArrowException as error:
        raise InputError(f"the files in {name} differ in the kind of a column: {reason(error)}") from error


def _plain_where_mixed(tables: list[Any]) -> list[Any]:
    """Tables of the same columns; one that is coded in some of them only, or in other ways, is plain in all."""
    mixed = [
        j for j, kinds in enumerate(zip(*(each.schema.types for each in tables), strict=True)) if len({*kinds}) > 1
    ]

    def changed(table: Any) -> Any:
        for j in mixed:
            if pyarrow().types.is_dictionary(kind := table.schema.types[j]):
                table = table.set_column(j, table.column_names[j], table.column(j).cast(kind.value_type))
        return table

    return [changed(table) for table in tables]


def decoded(files: list[Path], about: Footers) -> int:
    """Bytes in memory with text as long as the first rows say; stored, repeated text takes next to nothing."""
    needed = 0.0
    for place in files:
        with damage(named(place)), pyarrow("parquet").ParquetFile(place, pre_buffer=False) as file:
            for group in range(file.num_row_groups):
                width = 8 * len(about.names) + text_width(file, group, about.names)
                needed += width * file.metadata.row_group(group).num_rows
    return max(math.ceil(needed), about.needed)


def text_width(file: Any, group: int, names: list[str]) -> float:
    """Bytes a row of what is no number, in a row group of Parquet, by a few rows and then by as many as are cheap."""
    long = [name for name in names if not _is_fixed(file.schema_arrow.field(name).type)]
    width, rows = 0.0, 16
    for _ in range(2 if long else 0):
        how = {"batch_size": rows, "columns": long, "row_groups": [group], "use_threads": False}
        if (batch := next(file.iter_batches(**how), None)) is None or not batch.num_rows:
            return 0.0
        width = batch.nbytes / batch.num_rows
        rows = max(rows, min(_PROBED, int(_PROBE / width))) if width else _PROBED
    return width


def _is_fixed(kind: Any) -> bool:
    """Whether each value takes the same number of bytes, as numbers and codes of categories do."""
    try:
        return bool(kind.bit_width)
    except ValueError:
        return pyarrow().types.is_null(kind)  # type: ignore[no-any-return]


def sound(table: Any) -> Any:
    """A table after a look at what its file only claims: that text is UTF-8, that codes have a level."""
    table.validate(full=True)
    return table


def _refuse_no_parquet(place: Path, part: str) -> None:
    with place.open("rb") as file:
        head = file.read(4)
        file.seek(max(0, file.seek(0, os.SEEK_END) - 4))
        tail = file.read()
    if not head:
        raise InputError(f"{part} is empty")
    if head != b"PAR1":
        raise InputError(f"{part} is not a Parquet file; if it is CSV, let its name end in .csv")
    if tail != b"PAR1":
        raise InputError(f"{part} is cut off: it begins as a Parquet file but does not end as one; copy it again")


@contextmanager
def damage(part: str) -> Iterator[None]:
    try:
        yield
    except DensDiffError:
        raise
    except Exception as error:  # readers of damaged bytes raise whatever they met
        raise InputError(f"{part} is damaged: {reason(error)}") from error


@dataclass(frozen=True)
class ArrayHeader:
    """What the first bytes of a .npy file say."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def needed(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings of Python's parser about a damaged header, of NumPy about an old one.

    One thread at a time, since the process has one list of what is not shown.
    """
    with _quiet, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def array_header(place: Path, name: str) -> ArrayHeader:
    """Of a file that holds plain numbers, all of them."""
    if not place.stat().st_size:
        raise InputError(f"{name} is empty")
    with damage(name), place.open("rb") as file, quiet():
        if not file.read(6).startswith(b"\x93NUMPY"):
            raise InputError(f"{name} is not a NumPy file; save it by numpy.save")
        file.seek(0)
        version = np.lib.format.read_magic(file)
        reads = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = reads(file)
        found = ArrayHeader(shape, dtype)
        stored = os.fstat(file.fileno()).st_size - file.tell()
    if dtype.hasobject:
        raise InputError(f"{name} holds Python objects, which could run code when read; save it as numbers")
    if stored < found.needed:
        raise InputError(f"{name} is cut off: {stored} of {found.needed} bytes are there; copy it again")
    return found


def loaded(place: Path, mmap_mode: Any = None) -> npt.NDArray[Any]:
    """The array of a .npy file whose header was looked at."""
    with quiet():
        return np.asanyarray(np.load(place, mmap_mode=mmap_mode, allow_pickle=False))


def _array(place: Path, name: str, columns: list[str] | None) -> npt.NDArray[Any]:
    needed = array_header(place, name).needed
    _refuse_large(needed, name)
    array = loaded(place)
    if not array.ndim:
        raise InputError(f"{name} holds a single number; rows are needed")
    if columns is None or array.ndim > 2:
        return array
    names = [f"x{j}" for j in range(array.shape[1] if array.ndim == 2 else 1)]
    refuse_absent(columns, names, name)
    return array[:, [names.index(column) for column in columns]] if array.ndim == 2 else array


def refuse_absent(columns: list[str] | None, names: Sequence[str], name: str) -> None:
    known = set(names)
    if absent := [column for column in columns or () if column not in known]:
        raise InputError(f"{name} has no column {_listed(absent)}; it has {_listed(names)}")


def _once(names: Sequence[str], name: str, cure: str) -> None:
    if twice := [label for label, count in Counter(names).items() if count > 1]:
        raise InputError(f"{name} has more than one column named {_listed(twice)}; {cure}")


def pyarrow(part: str = "") -> Any:
    """pyarrow or one of its modules; it is an extra, and slow to import."""
    try:
        return importlib.import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError as error:
        kind = {"csv": "CSV", "json": "JSON", "parquet": "Parquet"}.get(part, "CSV")
        raise MissingExtraError(f'reading {kind} files needs pyarrow: pip install "densdiff[cli]"') from error


def plain(text: str, most: int = 80) -> str:
    """One line that a terminal shows as it is: control and direction characters escaped, long text cut."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) <= most else f"{text[: most - 20]}..{text[-10:]}"


def shown(value: Any) -> str:
    return plain(repr(value))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(shown, names[:_SHOWN])) + more


def named(path: str | PathLike[str]) -> str:
    return "standard input" if os.fspath(path) == "-" else plain(Path(path).name or os.fspath(path) or ".")


def reason(error: BaseException) -> str:
    """Why, in the words of the system or of the reader, without its paths and advice."""
    if isinstance(error, OSError) and error.errno:
        text = os.strerror(error.errno)
        return text[:1].lower() + text[1:]
    return plain(str(error).strip().split("\n")[0], 200) or type(error).__name__
