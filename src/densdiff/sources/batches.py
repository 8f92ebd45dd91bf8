"""Batches of a stream, of any size, as blocks of one schema and of a size that fits into memory.

Where the batches come from is in `lazy`, where they are kept in `spool`.
"""

from collections.abc import Generator, Iterator
from typing import Any

from densdiff.errors import InputError
from densdiff.io import memory
from densdiff.io.arrow import as_floats, pyarrow
from densdiff.io.streams import TableStream
from densdiff.io.wording import as_input_error
from densdiff.messages import shown


def uniform_batches(stream: TableStream, where: str, columns: list[str]) -> Generator[Any, None, None]:
    """Every batch that has rows, all with the same types; decimal numbers as floats."""
    pa, types, start = pyarrow(), None, 0
    with as_input_error(where, "cannot be read", is_file=False):
        for batch in stream.batches(columns):
            if not batch.num_rows:
                continue
            arrays = list(map(as_floats, batch.columns))
            # names and arrays alone: metadata and what may be null can differ from batch to batch
            batch = pa.RecordBatch.from_arrays(arrays, names=columns)
            types = types or batch.schema.types
            _refuse_other_types(types, batch, where, start)
            start += batch.num_rows
            yield batch


def _refuse_other_types(types: list[Any], batch: Any, where: str, start: int) -> None:
    """An error if a column is of another type than in the batches before."""
    for field, kind in zip(batch.schema, types, strict=True):
        if field.type != kind:
            change = f"is {kind} up to row {start - 1} and {field.type} from row {start}"
            what = f"column {shown(field.name)} of {where} {change}"
            raise InputError(f"{what}; give it one type", column=field.name, row=start)


def size_of(batch: Any) -> int:
    """Bytes that a batch takes in memory once its numbers are float64."""
    return int(max(batch.nbytes, 8 * batch.num_rows * batch.num_columns))


def reblocked(batches: Iterator[Any], width: int) -> Iterator[Any]:
    """Tables of about `memory.VALUES` values, or as many bytes of text, whatever the size of the batches."""
    most_rows, most_bytes = max(1024, memory.VALUES // width), 8 * memory.VALUES
    held: list[Any] = []
    rows = size = 0
    for batch in batches:
        for piece in _pieces(batch, most_rows, most_bytes):
            if held and (rows + piece.num_rows > most_rows or size + piece.nbytes > most_bytes):
                yield pyarrow().Table.from_batches(held)
                held, rows, size = [], 0, 0
            held.append(piece)
            rows, size = rows + piece.num_rows, size + piece.nbytes
    if held:
        yield pyarrow().Table.from_batches(held)


def _pieces(batch: Any, most_rows: int, most_bytes: int) -> Iterator[Any]:
    """A batch in slices of at most so many rows and about so many bytes."""
    rows = batch.num_rows
    step = max(1, min(most_rows, rows * most_bytes // max(batch.nbytes, 1)))
    return (batch.slice(start, step) for start in range(0, rows, step))
