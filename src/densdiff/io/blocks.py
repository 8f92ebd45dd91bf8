"""Files larger than memory, as blocks of rows that can be read again and again."""

import codecs
import gzip
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import get_config

from densdiff.errors import DensDiffError, InputError
from densdiff.io import files

_SHARE = 0.25  # of the memory ceiling: what rows may take that are read whole
_VALUES = 1 << 20  # in a block: 8 MiB of numbers
_HEAD = 1 << 16  # bytes that tell how a text file is written
_TEXT_BLOCK = 1 << 23
_USUAL, _UTMOST = 10, 1032  # bytes of text that gzip makes 1 of
_BUFFER = 1 << 20  # bytes of a column that are read at a time


@dataclass(frozen=True)
class FileBlocks:
    """The blocks of a file; iterating begins anew each time."""

    name: str
    rows: int | None  # None if only reading tells
    read: Callable[[list[str] | None], Iterator[Any]]
    places: Sequence[Path]
    stamps: list[Any] = field(default_factory=list)  # of the files when they were opened

    def __post_init__(self) -> None:
        self.stamps.extend(map(_stamp, self.places))

    def __iter__(self) -> Iterator[Any]:
        return self.blocks(None)

    def blocks(self, columns: list[str] | None) -> Iterator[Any]:
        """Blocks with these columns, or all."""
        self._refuse_changed()
        try:
            yield from self.read(columns)
        except DensDiffError:
            raise
        except Exception as error:  # readers of damaged bytes raise whatever they met
            raise InputError(f"{self.name} cannot be read: {files.reason(error)}") from error
        self._refuse_changed()

    def _refuse_changed(self) -> None:
        for place, stamp in zip(self.places, self.stamps, strict=True):
            if _stamp(place) != stamp:
                raise InputError(f"{files.named(place)} changed after it was opened; it must stay while it is in use")


def _stamp(place: Path) -> Any:
    """What changes when a file is written; None if it is gone."""
    try:
        about = place.stat()
    except OSError:
        return None
    return about.st_size, about.st_mtime_ns, about.st_ino


def opened(
    path: str | PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    header: bool = True,
) -> Any:
    """A file as a table where it takes no more than a quarter of the memory ceiling, else as `FileBlocks`.

    The ceiling is scikit-learn's ``working_memory``. Options are those of `files.table`.

    Examples
    --------
    >>> import tempfile
    >>> import sklearn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "A.npy"), np.zeros((50_000, 4)))
    ...     with sklearn.config_context(working_memory=1):
    ...         found = opened(Path(folder, "A.npy"))
    ...     type(found).__name__, found.rows, len(next(iter(found)))
    ('FileBlocks', 50000, 50000)
    """
    options = files.Options.checked(columns, sep, decimal, header)
    if not files.is_path(path):
        raise InputError(f"a path is needed; got an object of type {type(path).__name__}")
    try:
        found = None if os.fspath(path) == "-" else _large(Path(path), files.named(path), options)
    except DensDiffError:
        raise
    except Exception:  # readers of damaged bytes raise whatever they met
        found = None  # reading it whole says why it cannot be
    return found or files.table(path, columns=columns, sep=sep, decimal=decimal, header=header)


def room() -> float:
    """Bytes that rows at hand may take."""
    return float(_SHARE * get_config()["working_memory"] * 2**20)


def _large(place: Path, name: str, options: files.Options) -> FileBlocks | None:
    limit = room()
    ending = place.suffix.lower()
    if place.is_dir() or ending in (".parquet", ".pq"):
        parts = files.parts(place, name) if place.is_dir() else [place]
        about = files.footers(parts, options.columns)
        small = about.needed <= limit and files.decoded(parts, about) <= limit
        return None if small else _parquet(parts, name, about)
    if ending == ".npy":
        header = files.array_header(place, name)
        small = header.needed <= limit or len(header.shape) > 2
        return None if small else _array(place, name, options.columns, header.shape)
    small = _unpacked_within(place, limit) if ending == ".gz" else place.stat().st_size <= limit
    return None if small else _text(place, name, options)


def _unpacked_within(place: Path, limit: float) -> bool:
    """Whether a compressed text is short; it is unpacked for that where its size does not tell."""
    stored = place.stat().st_size
    if not stored * _USUAL <= limit < stored * _UTMOST:
        return stored * _UTMOST <= limit
    with _opened(place) as stream:
        while (part := stream.read(_BUFFER)) and stream.tell() <= limit:
            pass
    return not part


def _parquet(parts: list[Path], name: str, about: files.Footers) -> FileBlocks:
    return FileBlocks(name, sum(about.rows), partial(_read_parquet, parts, about, {}), parts)


def _read_parquet(
    parts: list[Path], about: files.Footers, steps: dict[tuple[Path, int], int], columns: list[str] | None
) -> Iterator[Any]:
    """Blocks that are cut alike whatever the columns; ``steps`` remembers how."""
    names = about.names
    wanted = columns or names
    for place in parts:
        parquet = files.pyarrow("parquet")
        with (
            files.damage(files.named(place)),
            parquet.ParquetFile(place, pre_buffer=False, buffer_size=_BUFFER) as file,
        ):
            for group in range(file.num_row_groups):  # all at once, what was read of those before would stay in memory
                if (place, group) not in steps:
                    steps[place, group] = _rows_of_block(len(names), files.text_width(file, group, names))
                step = steps[place, group]
                how = {"batch_size": step, "columns": wanted, "row_groups": [group], "use_threads": False}
                for batch in file.iter_batches(**how):
                    table = files.sound(files.pyarrow().Table.from_batches([batch]).select(wanted))
                    yield files.as_categories(table, about)


def _rows_of_block(columns: int, text: float) -> int:
    """As many as make so many numbers, or so many bytes of text."""
    rows = max(1024, _VALUES // columns)
    return max(1, min(rows, int(8 * _VALUES / text))) if text else rows


def _array(place: Path, name: str, columns: list[str] | None, shape: tuple[int, ...]) -> FileBlocks:
    files.refuse_absent(columns, [f"x{j}" for j in range(math.prod(shape[1:]))], name)
    return FileBlocks(name, shape[0], partial(_read_array, place, columns), [place])


def _read_array(place: Path, chosen: list[str] | None, _: list[str] | None) -> Iterator[Any]:
    """Arrays, or columns by name if some were chosen."""
    array = files.loaded(place, mmap_mode="r")
    array = array[:, None] if array.ndim == 1 else array
    step = max(1024, _VALUES // max(1, array.shape[1]))
    for start in range(0, len(array), step):
        rows = np.array(array[start : start + step])
        yield rows if chosen is None else {name: rows[:, int(name[1:])] for name in chosen}


def _text(place: Path, name: str, options: files.Options) -> FileBlocks:
    with _opened(place) as stream:
        head = stream.read(_HEAD)
    head = head[: head.rfind(b"\n") + 1] or head  # whole lines, so that no character is cut
    files.refuse_foreign(head, name)
    head = head.removeprefix(codecs.BOM_UTF8)
    inner = Path(place.stem) if place.suffix.lower() == ".gz" else place
    if files.holds_json(head, name, inner.suffix.lower()):
        schema = _json_schema(place, name)
        files.refuse_absent(options.columns, schema.names, name)
        return FileBlocks(name, None, partial(_read_json, place, name, schema, options.columns), [place])
    form = files.csv_form(head, name, options)
    return FileBlocks(name, None, partial(_CsvFile(place, name, form, options.columns).read, {}), [place])


class _Watched:
    """A stream of text that refuses bytes which are none, and counts the quotes it gives."""

    closed = False

    def __init__(self, stream: Any, name: str, ends: bytes = b"") -> None:
        self.stream, self.name, self.quotes = stream, name, 0
        self.lines, self.start, self.rest = 0, 0, b""
        self.ends, self.held = ends, b""  # what is left out at both ends; what may be the end

    def read(self, size: int) -> bytes:
        begins, text = not self.start, b""
        while not text:
            found: bytes = self.stream.read(max(size // 2, size - len(self.held)))
            self._look(found)
            if not found:
                return b""
            found = self.held + found
            found = found.lstrip(self.ends) if begins else found
            text = found.rstrip(self.ends)
            self.held = found[len(text) :]
        self.quotes += text.count(b'"')
        return text

    def _look(self, found: bytes) -> None:
        """At whole characters: one that is cut waits for its end, unless there is no more."""
        text = self.rest + found
        cut = re.search(rb"[\xc0-\xff][\x80-\xbf]{0,2}\Z", text[-3:]) if found else None
        self.rest = cut[0] if cut else b""
        text = text.removesuffix(self.rest)
        files.refuse_bytes(text, self.name, self.lines, self.start)
        self.lines, self.start = self.lines + text.count(b"\n"), self.start + len(text)

    def readable(self) -> bool:
        return True


def _opened(place: Path) -> Any:
    return gzip.open(place) if place.suffix.lower() == ".gz" else place.open("rb")


def _decoded(place: Path) -> Any:
    how = "gzip" if place.suffix.lower() == ".gz" else None  # pyarrow itself does not know .GZ
    return files.pyarrow().input_stream(str(place), compression=how)


@dataclass(frozen=True)
class _CsvFile:
    """A large CSV file."""

    place: Path
    name: str
    form: files.CsvForm
    chosen: list[str] | None

    def read(self, kinds: dict[str, Any], columns: list[str] | None) -> Iterator[Any]:
        """Blocks with one kind of each column in all of the file; ``kinds`` remembers which."""
        if not kinds:
            kinds.update(self._kinds())
        return self._batches(kinds, columns or self.chosen)

    def _batches(self, kinds: dict[str, Any], columns: list[str] | None) -> Iterator[Any]:
        pa, csv, form = files.pyarrow(), files.pyarrow("csv"), self.form
        names = None if form.header else form.names
        begin = csv.ReadOptions(column_names=names, block_size=_TEXT_BLOCK, use_threads=False)  # or it tells no rows
        parse = csv.ParseOptions(delimiter=form.sep, newlines_in_values=True, ignore_empty_lines=not form.alone)
        how = csv.ConvertOptions(column_types=kinds, include_columns=columns, **self._general())
        with _decoded(self.place) as stream:
            watched = _Watched(stream, self.name, b"\r\n" if form.alone else b"")
            try:
                for batch in csv.open_csv(watched, begin, parse, how):
                    yield pa.Table.from_batches([batch])
            except pa.ArrowInvalid as error:
                raise _refused(str(error), self.name, form) from None
            if watched.quotes % 2:  # pyarrow takes the rest of the file for one field
                raise InputError(f"{self.name}: a quote opens that is never closed")

    def _general(self) -> dict[str, Any]:
        return {"decimal_point": self.form.decimal, "strings_can_be_null": True}

    def _kinds(self) -> dict[str, Any]:
        """By the first block, and by all where that has whole numbers or nothing."""
        pa = files.pyarrow()
        first = next(self._batches({}, self.chosen), None)
        if first is None:
            return {}
        files.refuse_flawed_numbers(first, self.form.decimal, self.name)
        kinds = {field.name: field.type for field in first.schema}
        unsure = [label for label, kind in kinds.items() if kind in (pa.int64(), pa.null())]
        row = 0
        for block in self._batches(dict.fromkeys(unsure, pa.string()), unsure) if unsure else ():
            for label in unsure:
                if kinds[label] == pa.null():
                    kinds[label] = self._inferred(block.select([label]), row)
                elif kinds[label] == pa.int64() and not _are_whole(block[label]):
                    kinds[label] = pa.float64()
            row += len(block)
        return kinds

    def _inferred(self, column: Any, row: int) -> Any:
        """The kind of a column of text that was empty up to a row."""
        csv, sink = files.pyarrow("csv"), files.pyarrow().BufferOutputStream()
        csv.write_csv(column.drop_null().rename_columns(["v"]), sink)
        parse, how = csv.ParseOptions(newlines_in_values=True), csv.ConvertOptions(**self._general())
        text = files.pyarrow().BufferReader(sink.getvalue())
        kind = csv.read_csv(text, parse_options=parse, convert_options=how).schema.types[0]
        if kind == files.pyarrow().string():
            files.refuse_flawed_numbers(column, self.form.decimal, self.name, row)
        return kind


def _are_whole(values: Any) -> bool:
    """Whether each text is a whole number of 64 bits, or missing."""
    pa, compute = files.pyarrow(), files.pyarrow("compute")
    for change in (lambda text: text, compute.utf8_trim_whitespace):  # most have no spaces around them
        with suppress(pa.ArrowInvalid):
            change(values).cast(pa.int64())
            return True
    return False


def _refused(text: str, name: str, form: files.CsvForm) -> InputError:
    """What pyarrow met, by column and row of the file."""
    line = re.search(r"[Rr]ow #(\d+)", text)
    place = f"row {int(line[1]) - 1 - form.header}" if line else "a row"
    if wrong := re.search(r"Expected (\d+) columns, got (\d+)", text):
        return InputError(f"{place} of {name} has {wrong[2]} fields, expected {wrong[1]} as in the first line")
    value = re.search(r"conversion error to (\w+).*invalid value '(.*)'", text, re.DOTALL)
    column = re.search(r"[Cc]olumn #(\d+)", text)
    if value and column:
        label = files.shown(form.names[int(column[1])])
        kind = {"double": "a number", "int64": "a number", "bool": "true or false"}.get(value[1], f"a {value[1]}")
        what = f"column {label} of {name}: {files.shown(value[2])} at {place} is not {kind}, as the first rows are"
        cure = "correct it, leave it empty, leave the column out by columns=, or save a column of text as Parquet"
        return InputError(f"{what}; {cure}")
    if "straddling" in text:
        return InputError(f"{name}: a quote opens that is never closed, or a row is larger than {_TEXT_BLOCK} bytes")
    return InputError(f"{name} cannot be read: {files.plain(text.splitlines()[0], 200)}")


def _json_parts(place: Path, name: str) -> Iterator[bytes]:
    """Some mebibytes of whole lines at a time."""
    with _opened(place) as stream:
        while part := stream.read(_TEXT_BLOCK):
            part += stream.readline(_TEXT_BLOCK)
            if not part.endswith(b"\n") and len(part) > _TEXT_BLOCK and stream.read(1):
                raise InputError(f"{name} has a line longer than {_TEXT_BLOCK >> 20} MiB; save it as Parquet")
            yield part


def _parsed(part: bytes, schema: Any = None) -> Any:
    json, text = files.pyarrow("json"), part.removeprefix(codecs.BOM_UTF8)
    how = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore" if schema else "infer")
    return json.read_json(files.pyarrow().BufferReader(text), json.ReadOptions(block_size=len(part)), how)


def _json_schema(place: Path, name: str) -> Any:
    """The columns of all lines, which are looked through first for what would take the parser down."""
    pa = files.pyarrow()
    schema = pa.schema([])
    lines, start, rows = 0, 0, 0
    for part in _json_parts(place, name):
        files.refuse_bytes(part, name, lines, start)
        files.refuse_json(part, name, lines)
        if part.strip():
            try:
                found = _parsed(part)
                schema = _unified(schema, found.schema)
            except pa.ArrowException as error:
                files.refuse_json_line(part, name, lines, rows, schema)
                where = f" after row {rows - 1}" if rows else ""
                raise InputError(f"{name} cannot be read{where}: {files.reason(error)}; save it as Parquet") from None
            rows += found.num_rows
        lines, start = lines + part.count(b"\n"), start + len(part)
    if not schema.names:
        raise InputError(f"{name} has no columns")
    return schema


def _unified(known: Any, found: Any) -> Any:
    """Fields of both; what is a date here and other text there is text, as in a file that is read whole."""
    pa = files.pyarrow()
    texts = {field.name for each in (known, found) for field in each if field.type == pa.string()}

    def loose(field: Any) -> Any:
        return field.with_type(pa.string()) if field.name in texts and pa.types.is_timestamp(field.type) else field

    both = [pa.schema(map(loose, each)) for each in (known, found)]
    return pa.unify_schemas(both, promote_options="permissive")


def _read_json(
    place: Path, name: str, schema: Any, chosen: list[str] | None, columns: list[str] | None
) -> Iterator[Any]:
    wanted = files.pyarrow().schema([schema.field(label) for label in columns or chosen or schema.names])
    for part in _json_parts(place, name):
        if part.strip():
            yield files.sound(_parsed(part, wanted).select(wanted.names))
