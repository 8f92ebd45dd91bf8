"""A folder of CSV files, or of JSON Lines, plain or compressed, as one table in the order of their names.

Folders of Parquet files are read in `parquet`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from densdiff.errors import InputError
from densdiff.io import memory, parquet, text
from densdiff.io.arrow import pyarrow
from densdiff.io.csv import CsvFile
from densdiff.io.jsonl import JsonLines
from densdiff.messages import listed, shown

_FORMATS = {".csv": "CSV", ".tsv": "CSV", ".txt": "CSV", ".jsonl": "JSON Lines", ".ndjson": "JSON Lines"}
_FORMATS |= {".json": "JSON Lines"} | dict.fromkeys(parquet.ENDINGS, "Parquet")


def text_files(folder: Path, name: str) -> list[Path]:
    """The text files of a folder, none if they are Parquet; marks such as _SUCCESS and hidden files do not count."""
    inside = sorted(file for file in folder.iterdir() if not file.name.startswith(("_", ".")))
    formats = {file: _FORMATS.get(text.ending_of(file), "") if file.is_file() else "" for file in inside}
    if "Parquet" in formats.values():
        return []
    if not any(formats.values()):
        need = "give a file, or a folder of Parquet, CSV or JSON Lines files"
        raise InputError(f"the folder {name} has no table in it; {need}", file=name)
    first = next(kind for kind in formats.values() if kind)
    if others := [file.name for file, kind in formats.items() if kind != first]:
        what = f"the folder {name} holds {first} files and what is none: {listed(others)}"
        raise InputError(f"{what}; move it elsewhere", file=name)
    return inside


def open_folder(name: str, places: list[Path], open_file: Callable[[Path], Any]) -> "TextFolder":
    """Text files of one format, each with the same columns, as one reader."""
    return TextFolder(name, [open_file(place) for place in places])


@dataclass(frozen=True)
class TextFolder:
    """The rows of text files with the same columns."""

    name: str
    files: list[CsvFile | JsonLines]

    rows = None  # only reading tells

    @property
    def names(self) -> list[str]:
        return self.files[0].names

    @property
    def places(self) -> list[Path]:
        return [place for file in self.files for place in file.places]

    def fits(self, room: float) -> bool:
        """Whether no file takes more than its part of ``room`` bytes."""
        return all(file.fits(room / len(self.files)) for file in self.files)

    def check(self) -> None:
        """Refuse what any of the files is refused for, and files that do not go together."""
        for file in self.files:
            file.check()
        self._refuse_other_columns()

    def blocks(self, columns: list[str] | None) -> Iterator[Any]:
        """Tables with one kind of each column in all files."""
        schema = self._schema
        for file in self.files:
            yield from file.with_schema(schema).blocks(columns or self.names)

    def whole(self) -> Any:
        """All rows in one table."""
        tables: list[Any] = []
        size = 0
        for table in self.blocks(None):
            tables.append(table)
            size += table.nbytes
            memory.refuse_large(size, self.name, "more than ")
        return pyarrow().concat_tables(tables)

    @cached_property
    def _schema(self) -> Any:
        """The columns of all files, each of a kind that holds it in all of them."""
        self._refuse_other_columns()
        pa = pyarrow()
        schemas = [file.schema for file in self.files]
        return pa.schema(
            [self._common_field(label, [schema.field(label) for schema in schemas]) for label in self.names]
        )

    def _common_field(self, label: str, fields: list[Any]) -> Any:
        pa = pyarrow()
        try:
            schemas = [pa.schema([field]) for field in fields]
            return pa.unify_schemas(schemas, promote_options="permissive").field(label)
        except pa.ArrowException:
            if any(getattr(file, "keep_text", False) for file in self.files):
                return pa.field(label, pa.string())  # for the caller to judge, as in one file
        kinds = {str(field.type): file.text.name for field, file in zip(fields, self.files, strict=True)}
        (first, here), (other, there) = [each for each in kinds.items() if each[0] != "null"][:2]
        what = f"column {shown(label)} is {first} in {here} and {other} in {there}"
        raise InputError(f"{what}; all files of a folder need the same kinds of columns", file=there, column=label)

    def _refuse_other_columns(self) -> None:
        for file in self.files[1:]:
            if others := sorted({*file.names} ^ {*self.names}):
                pair = f"{file.text.name} and {self.files[0].text.name}"
                what = f"{pair} have different columns: only one of them has {listed(others)}"
                text = f"{what}; all files of a folder need the same columns"
                raise InputError(text, file=file.text.name, column=others[0])
