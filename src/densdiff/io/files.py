"""Paths to files of rows: the only place that looks at a path and chooses who reads it.

A `File` gives its rows in blocks, as often as they are asked for, or whole where they fit into memory.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from densdiff.errors import InputError
from densdiff.io import csv, folders, jsonl, memory, npy, parquet, sql, text
from densdiff.io.addresses import is_database, refuse_address_as_path, scheme_of
from densdiff.io.database import parse_database
from densdiff.io.options import Options, is_path
from densdiff.io.remote import Download
from densdiff.io.wording import as_input_error, file_name, refuse_missing
from densdiff.io.write import atomic_write

__all__ = ["File", "atomic_write", "is_path", "open_file", "read", "table"]


class Reader(Protocol):
    """What the reader of a format answers."""

    @property
    def rows(self) -> int | None: ...

    @property
    def names(self) -> list[str] | None: ...

    @property
    def places(self) -> list[Path]:
        """The files that it reads, none for standard input."""

    def fits(self, room: float) -> bool:
        """Whether all rows take at most so many bytes."""

    def check(self) -> None:
        """Refuse what can be refused before the first block is read."""

    def blocks(self, columns: list[str] | None) -> Iterator[Any]:
        """Blocks with these columns, or all."""

    def whole(self) -> Any:
        """All rows, or an error if they are larger than the memory ceiling."""


@dataclass(frozen=True)
class File:
    """Rows of a file; iterating over its blocks starts over each time.

    Attributes
    ----------
    name : str
        What messages call it.
    rows : int or None
        How many rows it has; None if only reading tells.
    names : list of str or None
        Of the columns that it gives; None for arrays, whose columns have none. To know them, JSON Lines are looked
        through.
    fits : bool
        Whether it takes no more than a quarter of the memory ceiling, scikit-learn's ``working_memory``.
    """

    name: str
    reader: Reader
    stamps: tuple[Any, ...]  # of the files when they were opened
    download: Download | None = None  # what was fetched for it, which lives as long

    @property
    def rows(self) -> int | None:
        return self.reader.rows

    @property
    def names(self) -> list[str] | None:
        with self._as_input_error():
            return self.reader.names

    @property
    def column_names(self) -> list[str]:
        """The names as a `pyarrow.Table` has them, none for arrays."""
        return self.names or []

    @property
    def schema(self) -> Any:
        """Names and kinds of the columns as a `pyarrow.Table` has them, by the first block; empty for arrays."""
        return getattr(next(iter(self), None), "schema", ())

    @property
    def fits(self) -> bool:
        with self._as_input_error():
            return self.reader.fits(memory.room())

    def __iter__(self) -> Iterator[Any]:
        return self.blocks(None)

    def blocks(self, columns: list[str] | None) -> Iterator[Any]:
        """Blocks with these columns, or all; an error if the file changed after it was opened."""
        self._refuse_changed()
        with self._as_input_error():
            yield from self.reader.blocks(columns)
        self._refuse_changed()

    def coded(self) -> "File":
        """The same file, which gives text by its distinct values where it is stored so."""
        return replace(self, reader=self.reader.coded()) if isinstance(self.reader, parquet.ParquetFiles) else self

    def whole(self) -> Any:
        """All rows as a `pyarrow.Table` or a NumPy array; an error if they are larger than the memory ceiling."""
        self._refuse_changed()
        with self._as_input_error():
            rows = self.reader.whole()
        if not len(rows):
            raise InputError(f"{self.name} has 0 data rows", file=self.name)
        return rows

    def check(self) -> "File":
        """This file, after a look for what would be refused later: names of JSON Lines need all lines."""
        with self._as_input_error():
            self.reader.check()
        return self

    def _as_input_error(self) -> Any:
        return as_input_error(self.name, "cannot be read")

    def _refuse_changed(self) -> None:
        for place, stamp in zip(self.reader.places, self.stamps, strict=True):
            if _stamp(place) != stamp:
                file = file_name(place)
                what = f"{file} changed after it was opened; do not change it while it is in use"
                raise InputError(what, file=file)


def open_file(
    path: str | PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    header: bool = True,
    keep_text: bool = False,
) -> File:
    """Look at a file of rows, without reading more of it than its first lines or its footer.

    CSV and JSON Lines (``.jsonl``, ``.ndjson``, ``.json``), also compressed (``.csv.gz``, ``.csv.zst``), Parquet, and
    folders whose files are all of one of these formats give `pyarrow.Table`, ``.npy`` NumPy arrays. Standard input,
    ``"-"``, and a name with another ending are JSON Lines if they begin with ``{`` and CSV otherwise.

    Parameters
    ----------
    path : str or path
        The file or folder; or an address (``https://``, ``http://``, ``s3://``, ``gs://``), whose file is fetched;
        ``"-"`` is standard input, which is read at once and kept.
    columns : sequence of str, optional
        The columns to read, in this order.
    sep, decimal : str, optional
        How a CSV file separates fields, and its decimal mark, ``"."`` or ``","``. Without them the first lines decide.
    header : bool
        Whether a CSV file begins with the names of its columns; else they are x0, x1, and so on.

    keep_text : bool
        Whether a CSV file's codes with leading zeros, such as 01234, stay text rather than become numbers, and columns
        that are nearly numbers stay text rather than are refused.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "A.npy"), np.zeros((400_000, 4)))
    ...     file = open_file(Path(folder, "A.npy"))
    ...     file.rows, file.names, [len(block) for block in file]
    (400000, None, [262144, 137856])
    """
    options = Options.checked(columns, sep, decimal, header, keep_text)
    if not is_path(path):
        raise InputError(f"a path is needed; got an object of type {type(path).__name__}", argument="path")
    if is_database(path):
        name = file_name(path)
        raise InputError(f"{name} is in a database, whose rows are not in a file; pass it as a table", file=name)
    refuse_address_as_path(path)
    name = file_name(path)
    download = Download(os.fspath(path)) if scheme_of(path) else None
    with as_input_error(name, "cannot be read"):
        try:
            reader = _reader(path if download is None else download.place, name, options)
        except FileNotFoundError:
            refuse_missing(path)
            raise
        except BaseException:
            if download is not None:
                download.remove()
            raise
    return File(name, reader, tuple(map(_stamp, reader.places)), download)


def read(path: str | PathLike[str], **options: Any) -> Any:
    """All rows of a file that fits into memory, else a `File` that gives them in blocks; of a database a `Query`.

    Options are those of `open_file`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import sklearn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "A.npy"), np.zeros((50_000, 4)))
    ...     with sklearn.config_context(working_memory=1):
    ...         type(read(Path(folder, "A.npy"))).__name__
    ...     type(read(Path(folder, "A.npy"))).__name__
    'File'
    'ndarray'
    """
    if is_database(path):
        return _query(path, options)
    file = open_file(path, **options)
    return file.whole() if file.fits else file.check()


def table(path: str | PathLike[str], **options: Any) -> Any:
    r"""All rows of a file; options are those of `open_file`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "A.csv")
    ...     _ = file.write_text("age;city\n1,5;Bonn\n2,5;Ulm\n")
    ...     table(file).to_pydict()
    {'age': [1.5, 2.5], 'city': ['Bonn', 'Ulm']}
    """
    return _query(path, options).whole() if is_database(path) else open_file(path, **options).whole()


def _query(path: Any, options: dict[str, Any]) -> sql.Query:
    """A table or query of a database with the columns asked for."""
    chosen = Options.checked(options.get("columns"), None, None, True).columns  # the others are of CSV
    return sql.open_query(parse_database(path)).select(chosen)


def _reader(path: str | PathLike[str], name: str, options: Options) -> Reader:
    place = Path(path)
    ending = place.suffix.lower()
    if os.fspath(path) == "-":
        return _text_reader(*text.standard_input(name), name, options)
    if place.is_dir() and (texts := folders.text_files(place, name)):
        return folders.open_folder(name, texts, partial(_text_at, options))
    if place.is_dir() or ending in parquet.ENDINGS:
        return parquet.open_parquet(place, name, options.columns)
    if ending == ".npy":
        return npy.open_npy(place, name, options.columns)
    return _text_reader(*text.open_text(place, name), name, options)


def _text_at(options: Options, place: Path) -> csv.CsvFile | jsonl.JsonLines:
    name = file_name(place)
    return _text_reader(*text.open_text(place, name), name, options)


def _text_reader(text_file: text.Text, head: bytes, name: str, options: Options) -> csv.CsvFile | jsonl.JsonLines:
    if text.holds_json(head, name, text_file.ending):
        return jsonl.JsonLines(text_file, options.columns)
    return csv.open_csv(text_file, head, options)


def _stamp(place: Path) -> Any:
    """What changes when a file is written; None if it is gone."""
    try:
        status = place.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino
