"""JSON Lines as blocks of rows; a file that is read whole is one block.

What is wrong with a line that the parser refuses is told in `jsonl_flaws`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from densdiff.errors import InputError
from densdiff.io import memory
from densdiff.io.arrow import pyarrow, validate
from densdiff.io.jsonl_flaws import refuse_crash, refuse_line
from densdiff.io.text import Part, TextFile
from densdiff.io.wording import reason, refuse_absent

_PARSED = 1 << 20  # bytes that a thread parses at a time; a line may not reach over two ends of them


@dataclass(frozen=True)
class JsonLines(TextFile):
    """A file of JSON Lines; its columns are known after a look through all lines."""

    chosen: list[str] | None
    known_schema: Any = None  # of all lines, where it is known before they are looked through

    @property
    def names(self) -> list[str]:
        return self.chosen or self.schema.names

    def check(self) -> None:
        """Look through all lines, and refuse the first that would be refused later."""
        refuse_absent(self.chosen, self.schema.names, self.text.name)

    def whole(self) -> Any:
        """All rows in one table."""
        table = self._parse_inferring(self.text.whole(), 0, ())
        self._refuse_no_columns(table.schema)
        refuse_absent(self.chosen, table.column_names, self.text.name)
        return table if self.chosen is None else table.select(self.chosen)

    def blocks(self, columns: list[str] | None) -> Iterator[Any]:
        """Tables with one kind of each column in all of the file."""
        self.check()
        schema = pyarrow().schema([self.schema.field(label) for label in columns or self.names])
        return (_parse(part, schema).select(schema.names) for part in self._parts())

    def with_schema(self, schema: Any) -> "JsonLines":
        """This file, read with other kinds of columns."""
        return replace(self, known_schema=schema)

    @cached_property
    def schema(self) -> Any:
        """The columns of all lines, which are looked through first for what would take the parser down."""
        if self.known_schema is not None:
            return self.known_schema
        schema, rows = pyarrow().schema([]), 0
        for part in self._parts():
            table = self._parse_inferring(part, rows, schema)
            try:
                schema = _unify_schemas(schema, table.schema)
            except pyarrow().ArrowException as error:
                refuse_line(part, self.text.name, rows, schema)
                raise self._unreadable(error, rows) from None
            rows += len(table)
        self._refuse_no_columns(schema)
        return schema

    def _parse_inferring(self, part: Part, rows: int, before: Any) -> Any:
        """Lines as a table whose columns get the kinds that hold them; ``rows`` with fields ``before`` precede them."""
        refuse_crash(part, self.text.name)
        try:
            return _parse(part)
        except pyarrow().ArrowException as error:
            refuse_line(part, self.text.name, rows, before)
            raise self._unreadable(error, rows) from None

    def _unreadable(self, error: Exception, rows: int) -> InputError:
        where = f" after row {rows - 1}" if rows else ""
        text = f"{self.text.name} cannot be read{where}: {reason(error)}; save it as Parquet"
        return InputError(text, file=self.text.name)

    def _refuse_no_columns(self, schema: Any) -> None:
        if not schema.names:
            raise InputError(f"{self.text.name} has no columns", file=self.text.name)

    def _parts(self) -> Iterator[Part]:
        """Parts that hold more than empty lines."""
        parts = self.text.parts(lambda data: data.rfind(b"\n") + 1, self._refuse_long)
        return (part for part in parts if part.data.strip())

    def _refuse_long(self, data: bytes, lines: int) -> None:
        most = f"{memory.TEXT_BLOCK >> 20} MiB"
        text = f"{self.text.name} has a line longer than {most}; save it as Parquet"
        raise InputError(text, file=self.text.name)


def _parse(part: Part, schema: Any = None) -> Any:
    """Lines as a table, of the columns of a schema if it is given."""
    pa, json = pyarrow(), pyarrow("json")
    options = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore" if schema else "infer")
    try:
        table = json.read_json(pa.BufferReader(part.data), json.ReadOptions(block_size=_PARSED), options)
    except pa.ArrowInvalid as error:
        if "straddling" not in str(error):
            raise
        table = json.read_json(pa.BufferReader(part.data), json.ReadOptions(block_size=len(part.data)), options)
    return validate(table)


def _unify_schemas(before: Any, schema: Any) -> Any:
    """The fields of two schemas; what is a date here and other text there is text, as in a file that is read whole."""
    pa = pyarrow()
    texts = {field.name for fields in (before, schema) for field in fields if field.type == pa.string()}

    def without_dates(field: Any) -> Any:
        return field.with_type(pa.string()) if field.name in texts and pa.types.is_timestamp(field.type) else field

    schemas = [pa.schema(map(without_dates, fields)) for fields in (before, schema)]
    return pa.unify_schemas(schemas, promote_options="permissive")
