"""Streams of batches as sources: one table if it is small, else blocks of the stream or of a temporary file.

Rows that can be read only once, or that may come in another order each time, are written to the file and read from it.
"""

import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from densdiff.errors import InputError, plain
from densdiff.io import memory
from densdiff.io.arrow import decoded, pyarrow
from densdiff.io.streams import TableStream
from densdiff.io.wording import reason
from densdiff.progress import Progress
from densdiff.sources.batches import reblocked, size_of, uniform_batches
from densdiff.sources.blocks import BlockSource
from densdiff.sources.source import ArraySource, Source

_reading = threading.Lock()  # readers of one file share its position


def open_stream(
    stream: TableStream, where: str, as_table: Callable[[Any], Any], columns: list[str] | None = None
) -> Source:
    """A stream as a source of these columns, or of all; nothing of the others is read."""
    chosen = columns or list(stream.names)
    held: list[Any] = []
    size = 0.0
    batches = uniform_batches(stream, where, chosen)
    for batch in batches:
        held.append(batch)
        size += size_of(batch)
        if size > memory.room():
            break
    else:
        return ArraySource(where, _whole_table(held, chosen), as_table)
    if stream.is_repeatable:
        batches.close()
        return BlockSource(where, StreamBlocks(stream, where, chosen), None, as_table)
    spool = Spool(where, chosen, reblocked(_chained(held, batches), len(chosen)))
    return BlockSource(where, spool, spool.rows, as_table, (spool.note,))


def _whole_table(batches: list[Any], names: list[str]) -> Any:
    """All rows of a stream, none of which make a table without rows."""
    pa = pyarrow()
    return pa.Table.from_batches(batches) if batches else pa.table({name: pa.nulls(0) for name in names})


def _chained(held: list[Any], more: Iterator[Any]) -> Iterator[Any]:
    """Batches that were read and those to come; what is handed on is no longer held."""
    held.reverse()
    while held:
        yield held.pop()
    yield from more


@dataclass(frozen=True)
class StreamBlocks:
    """Blocks of a stream that gives the same rows each time."""

    stream: TableStream
    where: str
    names: list[str]

    def blocks(self, columns: list[str] | None) -> Iterator[Any]:
        """Tables with these columns, or all."""
        chosen = columns or self.names
        return reblocked(uniform_batches(self.stream, self.where, chosen), len(chosen))


class Spool:
    """Blocks of rows in a temporary file without a name, which is gone when nobody needs it or the process ends."""

    def __init__(self, where: str, names: list[str], blocks: Iterator[Any]) -> None:
        self.where, self.names = where, names
        self.rows = self.size = 0
        self._categories: list[str] = []
        self._file = self._create()
        weakref.finalize(self, self._file.close)
        try:
            self._write(blocks)
        except OSError as error:
            with suppress(OSError):  # what is still to be written does not fit either
                self._file.close()
            raise self._refusal(error) from error

    @property
    def note(self) -> str:
        """What the result says of it."""
        size = f"{self.rows} rows, {self.size / 1e6:.3g} MB"
        return f"{self.where} is lazy and larger than memory allows; it was read once into a temporary file: {size}"

    def blocks(self, columns: list[str] | None) -> Iterator[Any]:
        """Tables with these columns, or all, cut alike whatever the columns."""
        if self._file is None:
            raise InputError(f"the rows of {self.where} were in a temporary file that is gone; ask again")
        pa, chosen = pyarrow(), columns or self.names
        options = pa.ipc.IpcReadOptions(included_fields=[self.names.index(name) for name in chosen])
        with _reading:
            reader = pa.ipc.open_file(pa.PythonFile(self._file, mode="r"), options=options)
        for k in range(reader.num_record_batches):
            with _reading:
                batch = reader.get_batch(k)
            yield self._restored(pa.Table.from_batches([batch]).select(chosen))

    def _write(self, blocks: Iterator[Any]) -> None:
        pa, writer = pyarrow(), None
        with Progress(plain(self.where), None) as progress:
            for block in blocks:
                block = self._plain(block.combine_chunks())
                writer = writer or pa.ipc.new_file(pa.PythonFile(self._file, mode="w"), block.schema)
                writer.write_table(block)
                self.rows, self.size = self.rows + len(block), self.size + block.nbytes
                progress.at(self.rows)
        if writer is not None:
            writer.close()
        self._file.flush()

    def _plain(self, block: Any) -> Any:
        """A block whose categories are values: a file holds one dictionary a column, and blocks have their own."""
        for j, field in enumerate(block.schema):
            if pyarrow().types.is_dictionary(field.type):
                self._categories += [field.name] * (field.name not in self._categories)
                block = block.set_column(j, field.name, decoded(block.column(j)))
        return block

    def _restored(self, block: Any) -> Any:
        """A block with categories where they were."""
        for j, name in enumerate(block.column_names):
            if name in self._categories:
                block = block.set_column(j, name, block.column(j).dictionary_encode())
        return block

    def _create(self) -> Any:
        try:
            return tempfile.TemporaryFile(prefix="densdiff-")
        except OSError as error:
            raise self._refusal(error) from error

    def _refusal(self, error: OSError) -> InputError:
        folder = tempfile.gettempdir()
        what = f"{self.where} is larger than memory allows and cannot be kept in {folder}: {reason(error)}"
        return InputError(f"{what}; make room there, or set TMPDIR to another folder")

    def __getstate__(self) -> dict[str, Any]:
        """What a copy in another process knows: all but the rows."""
        return self.__dict__ | {"_file": None}
