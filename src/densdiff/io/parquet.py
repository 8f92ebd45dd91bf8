"""Parquet files, and folders of them, as blocks of rows; read whole, each file is one block.

What the ends of the files say, and a few rows, tell how much memory they need before any column is read.
"""

import base64
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from densdiff.errors import InputError
from densdiff.io import memory
from densdiff.io.arrow import decoded, mark_text, pyarrow, validate
from densdiff.io.parquet_turns import tables_in_turns, turns_of
from densdiff.io.wording import as_input_error, file_name, reason, refuse_absent, refuse_repeated
from densdiff.messages import listed

ENDINGS = (".parquet", ".pq")
_PROBED = 4096  # rows of a row group that tell how long its text is
_PROBE = 1 << 20  # bytes that they may take
_BUFFER, _BUFFERS = 1 << 20, 1 << 26  # bytes of a column, and of all columns together, that are read at a time


@dataclass(frozen=True)
class Footers:
    """What the ends of Parquet files say before any column is read."""

    names: list[str]
    rows: list[int]  # of each file
    needed: int  # bytes in memory, at least
    index: set[str]  # columns that are left out unless they are asked for
    coded: set[str]  # columns of numbers that were categories in every file, which Parquet itself does not tell


@dataclass(frozen=True)
class ParquetFiles:
    """The rows of one or more files with the same columns."""

    name: str
    places: list[Path]
    footers: Footers
    steps: dict[tuple[Path, int], int] = field(default_factory=dict)  # rows of a block, by file and row group
    keeps_codes: bool = False  # whether text comes by its distinct values, as it is stored, in blocks

    @property
    def rows(self) -> int:
        return sum(self.footers.rows)

    @property
    def names(self) -> list[str]:
        return self.footers.names

    @cached_property
    def _decoded_size(self) -> int:
        """Bytes in memory with text as long as the first rows say; stored, repeated text takes next to nothing."""
        needed = 0.0
        for place in self.places:
            with _open_file(place, pre_buffer=False) as file:
                for group in range(file.num_row_groups):
                    width = 8 * len(self.names) + _text_width(file, group, self.names)
                    needed += width * file.metadata.row_group(group).num_rows
        return max(math.ceil(needed), self.footers.needed)

    def fits(self, room: float) -> bool:
        """Whether all rows take no more than ``room`` bytes."""
        return self.footers.needed <= room and self._decoded_size <= room

    def check(self) -> None:
        """Refuse nothing: the footers have told all that can be told before reading."""

    def blocks(self, columns: list[str] | None) -> Iterator[Any]:
        """Tables that are cut alike whatever the columns."""
        names = columns or self.names
        options = {"pre_buffer": False, "buffer_size": max(1 << 14, min(_BUFFER, _BUFFERS // len(names)))}
        for place in self.places:
            texts = self._text_columns(place, names) if self.keeps_codes else []
            again = partial(_open_file, place, **options)
            with again(read_dictionary=texts) as file:
                # all groups at once, what was read of those before would stay in memory
                for group in range(file.num_row_groups):
                    for rows in _group_tables(file, again, names, group, self._step(place, file, group)):
                        yield mark_text(self._restore_categories(rows, names), texts)

    def coded(self) -> "ParquetFiles":
        """The same files, whose blocks have text by its distinct values, marked by `mark_text`."""
        return replace(self, keeps_codes=True)

    def whole(self) -> Any:
        """All rows in one table."""
        memory.refuse_large(self.footers.needed, self.name)
        memory.refuse_large(self._decoded_size, self.name)
        tables = []
        for place, rows in zip(self.places, self.footers.rows, strict=True):
            with _open_file(place) as file:
                groups = range(file.num_row_groups)
                read = _tables(file, self.names, groups, rows)
                tables += [self._restore_categories(table, self.names) for table in read]
        try:
            return pyarrow().concat_tables(_decode_where_mixed(tables), promote_options="permissive")
        except pyarrow().ArrowException as error:
            what = f"the files in {self.name} store a column as different types: {reason(error)}"
            raise InputError(f"{what}; save them all with one type", file=self.name) from error

    def _restore_categories(self, table: Any, names: list[str]) -> Any:
        """Rows of one file with the categories that they were written with."""
        table = validate(table.select(names))
        for j, label in enumerate(names):
            if label in self.footers.coded and not pyarrow().types.is_dictionary(table.schema.types[j]):
                table = table.set_column(j, label, table.column(j).dictionary_encode())
        return table

    def _text_columns(self, place: Path, names: list[str]) -> list[str]:
        """Which of these columns of a file hold text; blocks are cut here, where it still tells how long that is."""
        texts = pyarrow().string(), pyarrow().large_string()
        with _open_file(place, pre_buffer=False) as file:
            for group in range(file.num_row_groups):
                self._step(place, file, group)
            schema = file.schema_arrow
            return [name for name in names if schema.field(name).type in texts]

    def _step(self, place: Path, file: Any, group: int) -> int:
        """Rows of a block: as many as make `memory.VALUES` numbers, or as many bytes of text."""
        if (place, group) not in self.steps:
            rows, text = max(1024, memory.VALUES // len(self.names)), _text_width(file, group, self.names)
            self.steps[place, group] = max(1, min(rows, int(8 * memory.VALUES / text))) if text else rows
        return self.steps[place, group]


def open_parquet(place: Path, name: str, columns: list[str] | None) -> ParquetFiles:
    """A Parquet file, or all Parquet files of a folder."""
    places = data_files(place, name) if place.is_dir() else [place]
    return ParquetFiles(name, places, footers(places, columns))


def data_files(folder: Path, name: str) -> list[Path]:
    """The Parquet files of a folder; marks such as _SUCCESS and hidden files are none."""
    inside = sorted(file for file in folder.iterdir() if not file.name.startswith(("_", ".")))
    if not (places := [file for file in inside if file.suffix.lower() in ENDINGS and file.is_file()]):
        text = f"the folder {name} has no Parquet file in it; give a file, or a folder of Parquet files"
        raise InputError(text, file=name)
    if others := [file.name for file in inside if file not in places]:
        text = f"the folder {name} also holds what is not a Parquet file: {listed(others)}; move it elsewhere"
        raise InputError(text, file=name)
    return places


def footers(places: list[Path], columns: list[str] | None) -> Footers:
    """What files with the same columns say at their ends."""
    needed = 0
    names: list[str] = []
    rows: list[int] = []
    index: set[str] = set()
    coded: list[set[str]] = []
    for place in places:
        file = file_name(place)
        _refuse_no_parquet(place, file)
        with as_input_error(file, "is damaged"):
            metadata = pyarrow("parquet").read_metadata(place)
            stored_names = metadata.schema.to_arrow_schema().names
            coded.append(_coded_numbers(metadata.metadata or {}))
            stored = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        refuse_repeated(stored_names, file, "rename or drop the others", file)
        index |= (nameless := _nameless_index(metadata.metadata or {}))
        data_names = [label for label in stored_names if label not in nameless] or stored_names
        names = names or data_names
        if others := sorted({*data_names} ^ {*names}):
            what = f"{file} and {file_name(places[0])} have different columns: only one of them has {listed(others)}"
            text = f"{what}; all files of a folder need the same columns"
            raise InputError(text, file=file, column=others[0])
        refuse_absent(columns, stored_names, file)
        rows.append(metadata.num_rows)
        needed += max(8 * metadata.num_rows * len(columns or names), 0 if columns else stored)
    return Footers(columns or names, rows, needed, index, set.intersection(*coded))


@contextmanager
def _open_file(place: Path, **options: Any) -> Iterator[Any]:
    """A file of pyarrow; whatever it meets in damaged bytes is one refusal."""
    with as_input_error(file_name(place), "is damaged"), pyarrow("parquet").ParquetFile(place, **options) as file:
        yield file


def _tables(file: Any, names: list[str], groups: Sequence[int], step: int) -> Iterator[Any]:
    """Some row groups of a file, at most ``step`` rows at a time; in batches, pyarrow holds what it reads twice."""
    if sum(file.metadata.row_group(group).num_rows for group in groups) <= step:
        yield file.read_row_groups(list(groups), columns=names, use_threads=len(groups) == file.num_row_groups)
        return
    options = {"batch_size": step, "columns": names, "row_groups": list(groups), "use_threads": False}
    for batch in file.iter_batches(**options):
        yield pyarrow().Table.from_batches([batch])


def _group_tables(file: Any, again: Callable[..., Any], names: list[str], group: int, step: int) -> Iterator[Any]:
    """A row group at most ``step`` rows at a time, cut alike whether its columns are read in turns or together."""
    if file.metadata.row_group(group).num_rows <= step or not (turns := turns_of(file, group, names)):
        yield from _tables(file, names, [group], step)
        return
    in_turns = {name for turn in turns for name in turn}
    others = [name for name in names if name not in in_turns]
    try:
        # with one reader, a turn would change the size of the batches of what is open from the first to the last row
        with again(metadata=file.metadata) as reader_of_turns:
            yield from tables_in_turns((file, reader_of_turns), group, turns, others, step)
    finally:
        pyarrow().default_memory_pool().release_unused()  # hundreds of MiB, kept for a next pass


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


def _decode_where_mixed(tables: list[Any]) -> list[Any]:
    """Tables of the same columns; one that is coded in some of them only, or in other ways, is plain in all."""
    mixed = [
        j for j, kinds in enumerate(zip(*(table.schema.types for table in tables), strict=True)) if len({*kinds}) > 1
    ]

    def plain(table: Any) -> Any:
        for j in mixed:
            table = table.set_column(j, table.column_names[j], decoded(table.column(j)))
        return table

    return [plain(table) for table in tables]


def _text_width(file: Any, group: int, names: list[str]) -> float:
    """Bytes a row of what is no number, in a row group, by a few rows and then by as many as are cheap."""
    schema = file.schema_arrow  # made anew each time it is asked for
    long = [name for name in names if not _is_fixed(schema.field(name).type)]
    width, rows = 0.0, 16
    for _ in range(2 if long else 0):
        options = {"batch_size": rows, "columns": long, "row_groups": [group], "use_threads": False}
        if (batch := next(file.iter_batches(**options), None)) is None or not batch.num_rows:
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


def _refuse_no_parquet(place: Path, name: str) -> None:
    with place.open("rb") as file:
        head = file.read(4)
        file.seek(max(0, file.seek(0, os.SEEK_END) - 4))
        tail = file.read()
    if not head:
        raise InputError(f"{name} is empty", file=name)
    if head != b"PAR1":
        raise InputError(f"{name} is not a Parquet file; if it is CSV, rename it to end in .csv", file=name)
    if tail != b"PAR1":
        text = f"{name} is incomplete: it begins as a Parquet file, but its end is missing; copy it again"
        raise InputError(text, file=name)
