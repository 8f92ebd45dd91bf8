"""Files larger than memory, as blocks of rows that can be read again and again."""

import codecs
import gzip
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import get_config

from densdiff import files
from densdiff.errors import DensDiffError, InputError

_SHARE = 0.25  # of the memory ceiling: what a file may need and still be read whole
_VALUES = 1 << 20  # in a block: 8 MiB of numbers
_HEAD = 1 << 16  # bytes that tell how a text file is written
_TEXT_BLOCK = 1 << 23


@dataclass(frozen=True)
class FileBlocks:
    """The blocks of a file; iterating begins anew each time."""

    name: str
    rows: int | None  # None if only reading tells
    read: Callable[[list[str] | None], Iterator[Any]]

    def __iter__(self) -> Iterator[Any]:
        return self.blocks(None)

    def blocks(self, columns: list[str] | None) -> Iterator[Any]:
        """Blocks with these columns, or all."""
        try:
            yield from self.read(columns)
        except DensDiffError:
            raise
        except Exception as error:  # readers of damaged bytes raise whatever they met
            raise InputError(f"{self.name} cannot be read: {files.reason(error)}") from error


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


def _large(place: Path, name: str, options: files.Options) -> FileBlocks | None:
    limit = _SHARE * get_config()["working_memory"] * 2**20
    ending = place.suffix.lower()
    if place.is_dir() or ending in (".parquet", ".pq"):
        parts = files.parts(place, name) if place.is_dir() else [place]
        about = files.footers(parts, options.columns)
        return None if about.needed <= limit else _parquet(parts, name, about)
    if ending == ".npy":
        header = files.array_header(place, name)
        return None if header.needed <= limit or len(header.shape) > 2 else _array(place, name, options.columns)
    if place.stat().st_size * (10 if ending == ".gz" else 1) <= limit:
        return None
    return _text(place, name, options)


def _parquet(parts: list[Path], name: str, about: files.Footers) -> FileBlocks:
    def read(columns: list[str] | None) -> Iterator[Any]:
        wanted = columns or about.names
        step = max(1024, _VALUES // len(about.names))
        for place in parts:
            with files.damage(files.named(place)), files.pyarrow("parquet").ParquetFile(place) as file:
                for batch in file.iter_batches(batch_size=step, columns=wanted, use_threads=False):
                    yield files.sound(files.pyarrow().Table.from_batches([batch]).select(wanted))

    return FileBlocks(name, sum(about.rows), read)


def _array(place: Path, name: str, columns: list[str] | None) -> FileBlocks:
    array = files.loaded(place, mmap_mode="r")
    array = array[:, None] if array.ndim == 1 else array
    names = [f"x{j}" for j in range(array.shape[1])]
    files.refuse_absent(columns, names, name)
    chosen = [names.index(column) for column in columns or names]
    step = max(1024, _VALUES // max(1, array.shape[1]))

    def read(_: list[str] | None) -> Iterator[Any]:
        for start in range(0, len(array), step):
            yield np.array(array[start : start + step])[:, chosen]

    return FileBlocks(name, len(array), read)


def _text(place: Path, name: str, options: files.Options) -> FileBlocks:
    with _opened(place) as stream:
        head = stream.read(_HEAD)
    head = head[: head.rfind(b"\n") + 1] or head  # whole lines, so that no character is cut
    files.refuse_foreign(head, name)
    first = re.findall(rb"\A\s*(\S)", head.removeprefix(codecs.BOM_UTF8))
    inner = Path(place.stem) if place.suffix.lower() == ".gz" else place
    if first == [b"{"] or inner.suffix.lower() in (".jsonl", ".ndjson"):
        return _json(place, name, options.columns)
    return _csv(place, name, head.removeprefix(codecs.BOM_UTF8), options)


def _csv(place: Path, name: str, head: bytes, options: files.Options) -> FileBlocks:
    csv, form = files.pyarrow("csv"), files.csv_form(head, name, options)
    begin = csv.ReadOptions(column_names=None if options.header else form.names, block_size=_TEXT_BLOCK)
    parse = csv.ParseOptions(delimiter=form.sep, newlines_in_values=b'"' in head, ignore_empty_lines=not form.alone)
    general = {"decimal_point": form.decimal, "strings_can_be_null": True}

    def read(columns: list[str] | None) -> Iterator[Any]:
        wanted = columns or options.columns
        with _decoded(place) as stream:
            convert = csv.ConvertOptions(column_types=kinds(), include_columns=wanted, **general)
            yield from _batches(csv.open_csv(stream, begin, parse, convert), name, form)

    def kinds() -> dict[str, Any]:
        """What the first block seems to hold; later blocks may have fractions where it has none."""
        pa = files.pyarrow()
        with _decoded(place) as stream:
            schema = csv.open_csv(stream, begin, parse, csv.ConvertOptions(**general)).schema
        whole = (pa.int64(), pa.null())
        return {field.name: pa.float64() if field.type in whole else field.type for field in schema}

    return FileBlocks(name, None, read)


def _opened(place: Path) -> Any:
    return gzip.open(place) if place.suffix.lower() == ".gz" else place.open("rb")


def _decoded(place: Path) -> Any:
    return files.pyarrow().input_stream(str(place))  # by its ending, compressed or not


def _batches(reader: Any, name: str, form: files.CsvForm) -> Iterator[Any]:
    pa = files.pyarrow()
    row = 0
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except pa.ArrowInvalid as error:
            raise _refused(str(error), name, row, form) from None
        if batch.num_rows:
            yield pa.Table.from_batches([batch])
        row += batch.num_rows


def _refused(text: str, name: str, row: int, form: files.CsvForm) -> InputError:
    """What pyarrow met, by column and row of the file."""
    line = re.search(r"[Rr]ow #(\d+)", text)
    place = f"row {int(line[1]) - 1 - form.header}" if line else f"row {row} or after it"
    if wrong := re.search(r"Expected (\d+) columns, got (\d+)", text):
        return InputError(f"{place} of {name} has {wrong[2]} fields, expected {wrong[1]} as in the first line")
    value = re.search(r"invalid value '(.*)'", text)
    column = re.search(r"[Cc]olumn #(\d+)", text)
    if value and column:
        label = files.shown(form.names[int(column[1])])
        what = f"column {label} of {name}: {files.shown(value[1])} at {place} is not a number, and those before are"
        return InputError(f"{what}; correct it, leave it empty, or leave the column out by columns=")
    return InputError(f"{name} cannot be read at {place}: {files.plain(text.splitlines()[0], 200)}")


def _json(place: Path, name: str, columns: list[str] | None) -> FileBlocks:
    json = files.pyarrow("json")
    if not hasattr(json, "open_json"):
        raise InputError(f"{name} is too large to be read whole; save it as Parquet")

    with _opened(place) as stream:
        lines = 0
        while part := stream.read(_TEXT_BLOCK):
            part += stream.readline(_TEXT_BLOCK)
            if not part.endswith(b"\n") and len(part) > _TEXT_BLOCK and stream.read(1):
                raise InputError(f"{name} has a line longer than {_TEXT_BLOCK >> 20} MiB; save it as Parquet")
            files.refuse_json(part, name, lines)
            lines += part.count(b"\n")

    def read(asked: list[str] | None) -> Iterator[Any]:
        with _decoded(place) as stream:
            reader = json.open_json(stream, json.ReadOptions(block_size=_TEXT_BLOCK))
            files.refuse_absent(asked or columns, reader.schema.names, name)
            for batch in reader:
                whole = files.pyarrow().Table.from_batches([batch])
                yield files.sound(whole.select(asked or columns or reader.schema.names))

    return FileBlocks(name, None, read)
