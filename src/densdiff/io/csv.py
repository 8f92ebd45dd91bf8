"""CSV files as blocks of rows; a file that is read whole is one block.

A block is decoded by pyarrow from whole rows in memory, so that what it refuses can be looked at and named by its line.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from densdiff.errors import InputError
from densdiff.io import csv_codes, csv_flaws
from densdiff.io.arrow import pyarrow
from densdiff.io.csv_form import CsvForm, csv_form
from densdiff.io.options import Options
from densdiff.io.text import Part, Text, TextFile
from densdiff.io.wording import reason

_PARSED = 1 << 20  # bytes that a thread parses at a time; a row may not reach over two ends of them
_MOST = (1 << 31) - 1  # bytes that pyarrow takes for one block


@dataclass(frozen=True)
class CsvFile(TextFile):
    """A CSV file whose first lines are known; ``kinds`` are those of its columns once all rows were looked at."""

    form: CsvForm
    chosen: list[str] | None
    keep_text: bool = False
    kinds: dict[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return self.chosen or self.form.names

    def check(self) -> None:
        """Refuse nothing: the first lines have told all that can be told before reading."""

    def whole(self) -> Any:
        """All rows in one table."""
        return self._decode_inferring(self.text.whole())

    def blocks(self, columns: list[str] | None) -> Iterator[Any]:
        """Tables with one kind of each column in all of the file."""
        return self._tables(self._known_kinds(), columns or self.chosen)

    @property
    def schema(self) -> Any:
        """Names and kinds of the columns, by all rows."""
        return pyarrow().schema(self._known_kinds())

    def with_schema(self, schema: Any) -> "CsvFile":
        """This file, read with other kinds of columns."""
        return replace(self, kinds={field.name: field.type for field in schema})

    def _known_kinds(self) -> dict[str, Any]:
        if not self.kinds:
            self.kinds.update(self._infer_kinds())
        return self.kinds

    def _decode_inferring(self, part: Part) -> Any:
        """The rows of a part, whose columns get the kinds that hold them."""
        table = self._decode(part, {}, self.chosen)
        if self.keep_text:
            return self._keep_codes(part, table)
        csv_flaws.refuse_flawed_numbers(table, self.form, self.text.name)
        return table

    def _keep_codes(self, part: Part, table: Any) -> Any:
        """The rows of a part with columns of codes as text, where pyarrow has made numbers of 01234."""
        pa = pyarrow()
        numbers = [field.name for field in table.schema if field.type in (pa.int64(), pa.float64())]
        if not numbers or not csv_codes.may_hold_codes(part.data, self.form.sep):
            return table
        texts = self._decode(part, dict.fromkeys(numbers, pa.string()), numbers)
        for label in numbers:
            if csv_codes.count_codes(texts[label]).are_codes:
                table = table.set_column(table.column_names.index(label), label, texts[label])
        return table

    def _tables(self, kinds: dict[str, Any], columns: list[str] | None) -> Iterator[Any]:
        row = 0
        for part in self._parts():
            table = self._decode(part, kinds, columns, row)
            row += len(table)
            yield table

    def _parts(self) -> Iterator[Part]:
        def refuse_long(data: bytes, lines: int) -> None:
            csv_flaws.refuse_row_longer_than_block(Part(data, lines), self.form, self.text.name)

        return self.text.parts(self.form.row_end, refuse_long)

    def _decode(self, part: Part, kinds: dict[str, Any], columns: list[str] | None, before: int = 0) -> Any:
        """Rows as a table; ``before`` counts those before them."""
        pa, name = pyarrow(), self.text.name
        if part.data.count(b'"') % 2:
            csv_flaws.refuse_open_quote(part, self.form, name)
        parse = partial(self._parse, part, kinds, columns)
        try:
            return parse(_PARSED)
        except pa.ArrowInvalid as error:
            csv_flaws.refuse_long(part, name)
            try:  # in one go, for a row that is longer; without threads pyarrow tells the row of a flaw
                return parse(min(len(part.data) + 1, _MOST), use_threads=False)
            except pa.ArrowInvalid as again:
                csv_flaws.refuse_ragged(part, self.form, name, before)
                csv_flaws.refuse_other_kind(str(again), part, self.form, name, before)
            raise InputError(f"{name} cannot be read: {reason(error)}", file=name) from error

    def _parse(
        self, part: Part, kinds: dict[str, Any], columns: list[str] | None, step: int, use_threads: bool = True
    ) -> Any:
        """Rows as a table, parsed by pyarrow ``step`` bytes at a time."""
        pa, csv, form = pyarrow(), pyarrow("csv"), self.form
        data, names = part.data, None if form.header and part.first else form.names
        if form.is_single_column:
            data = (data.lstrip(b"\r\n") if part.first else data).rstrip(b"\r\n")
        if not data:  # the empty lines at the end
            return pa.schema([(label, kinds.get(label, pa.null())) for label in columns or form.names]).empty_table()
        return csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(column_names=names, block_size=step, use_threads=use_threads),
            csv.ParseOptions(
                delimiter=form.sep, newlines_in_values=b'"' in data, ignore_empty_lines=not form.is_single_column
            ),
            csv.ConvertOptions(column_types=kinds, include_columns=columns, **self._conversion()),
        )

    def _conversion(self) -> dict[str, Any]:
        """Options of pyarrow for how fields become values."""
        return {"decimal_point": self.form.decimal, "strings_can_be_null": True}

    def _infer_kinds(self) -> dict[str, Any]:
        """Kinds of columns by the first part, and by all parts where that has whole numbers, codes or nothing."""
        pa = pyarrow()
        first = next(self._parts())
        table = self._decode_inferring(first)
        kinds = {field.name: field.type for field in table.schema}
        if first.last:
            return kinds
        texts = [label for label, kind in kinds.items() if self.keep_text and kind == pa.string()]
        codes = [label for label in texts if csv_codes.count_codes(table[label]).are_codes]
        kinds |= dict.fromkeys(codes, pa.int64())  # as far as the first part can tell
        unsure = [label for label, kind in kinds.items() if kind in (pa.int64(), pa.null())]
        counts = dict.fromkeys(unsure, csv_codes.CodeCount())
        row = 0
        for table in self._tables(dict.fromkeys(unsure, pa.string()), unsure) if unsure else ():
            for label in unsure:
                if self.keep_text:
                    counts[label] += csv_codes.count_codes(table[label])
                if kinds[label] == pa.null():
                    kinds[label] = self._kind_of_text(table.select([label]), row)
                elif label in codes and not _are_all(table[label], pa.float64()):
                    kinds[label] = pa.string()
                elif kinds[label] == pa.int64() and not _are_all(table[label], pa.int64()):
                    kinds[label] = pa.float64()
            row += len(table)
        return kinds | {label: pa.string() for label, count in counts.items() if count.are_codes}

    def _kind_of_text(self, column: Any, row: int) -> Any:
        """The kind of a column of text that was empty up to a row."""
        pa, csv = pyarrow(), pyarrow("csv")
        sink = pa.BufferOutputStream()
        csv.write_csv(column.drop_null().rename_columns(["v"]), sink)
        parse, convert = csv.ParseOptions(newlines_in_values=True), csv.ConvertOptions(**self._conversion())
        text = pa.BufferReader(sink.getvalue())
        kind = csv.read_csv(text, parse_options=parse, convert_options=convert).schema.types[0]
        if kind == pa.string() and not self.keep_text:
            csv_flaws.refuse_flawed_numbers(column, self.form, self.text.name, row)
        return kind


def _are_all(values: Any, kind: Any) -> bool:
    """Whether each text reads as a value of a kind, such as a whole number of 64 bits, or is missing."""
    pa, compute = pyarrow(), pyarrow("compute")
    for change in (lambda text: text, compute.utf8_trim_whitespace):  # most have no spaces around them
        with suppress(pa.ArrowInvalid):
            change(values).cast(kind)
            return True
    return False


def open_csv(text: Text, head: bytes, options: Options) -> CsvFile:
    """A file written as the options and its first lines say."""
    return CsvFile(text, csv_form(head, text.name, options), options.columns, options.keep_text)
