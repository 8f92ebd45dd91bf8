"""Row groups of very many columns as blocks of rows, with few of their columns open at a time.

An open column holds its dictionary, as it is stored and decoded, and a page: a thousand columns take more than a
gigabyte. So columns of numbers are read in turns, for many blocks at a time. Other row groups are the matter of
`parquet`.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from densdiff.io import memory
from densdiff.io.arrow import pyarrow

_OPEN = 1 << 29  # bytes that open columns may take; of more, columns are read in turns
_TURN = 1 << 27  # bytes of the columns that are open in a turn
_COLUMN = 1 << 22  # bytes of an open column at most: pages and dictionaries have about a megabyte, however many rows
_BLOCKS = 32  # that are cut of what is read in a round of turns: each round decodes all rows before its own once again
_ROUNDS = 8  # at most: of longer row groups all columns are open at once, or they would be decoded too many times


def turns_of(file: Any, group: int, names: list[str]) -> list[list[str]]:
    """Columns of numbers to read in turns, a few in each; none where all columns of a row group may be open at once."""
    schema, row_group = file.schema_arrow, file.metadata.row_group(group)
    chunks = [row_group.column(j) for j in range(row_group.num_columns)]
    sizes = {chunk.path_in_schema: min(2 * chunk.total_uncompressed_size, _COLUMN) for chunk in chunks}
    numbers = [name for name in names if pyarrow().types.is_primitive(schema.field(name).type)]
    is_long = row_group.num_rows * len(numbers) > _ROUNDS * _BLOCKS * memory.VALUES
    if is_long or sum(sizes[name] for name in numbers) <= _OPEN:
        return []
    turns: list[list[str]] = []
    room = 0
    for name in numbers:
        if sizes[name] > room:
            turns.append([])
            room = _TURN
        turns[-1].append(name)
        room -= sizes[name]
    return turns


def tables_in_turns(
    readers: tuple[Any, Any], group: int, turns: list[list[str]], others: list[str], step: int
) -> Iterator[Any]:
    """Tables of at most ``step`` rows; the first reader has the ``others`` open, the second the columns of a turn.

    What is no number says where the tables are cut, as it does where all columns are read together.
    """
    pa = pyarrow()
    stretches = _stretches(readers[1], group, turns, step)
    held: list[Any] = []
    for rows, own in _blocks_of_others(readers[0], group, others, step):
        while sum(table.num_rows for table in held) < rows:
            held.append(_next(stretches))
        table = pa.concat_tables(held)
        held = [table.slice(rows)] if table.num_rows > rows else []
        # who keeps a block, the first one for its kinds, would else keep all that was read with it
        numbers = [_copied(column) for column in table.slice(0, rows).columns]
        block = pa.table([*numbers, *own], names=[*table.column_names, *others])
        del table
        yield block


def _blocks_of_others(file: Any, group: int, others: list[str], step: int) -> Iterator[tuple[int, list[Any]]]:
    """How many rows each block has, and its columns that are not read in turns."""
    if not others:
        total = file.metadata.row_group(group).num_rows
        yield from ((min(step, total - start), []) for start in range(0, total, step))
        return
    for batch in file.iter_batches(batch_size=step, columns=others, row_groups=[group], use_threads=False):
        yield batch.num_rows, [batch.column(name) for name in others]


def _stretches(file: Any, group: int, turns: list[list[str]], step: int) -> Iterator[Any]:
    """Tables of all columns of the turns, each of the rows of many blocks."""
    rows = max(1, _BLOCKS * memory.VALUES // sum(map(len, turns)) // step) * step
    for place in range(-(-file.metadata.row_group(group).num_rows // rows)):
        yield pyarrow().Table.from_arrays(*_read_turns(file, group, turns, rows, place))


def _read_turns(file: Any, group: int, turns: list[list[str]], rows: int, place: int) -> tuple[list[Any], list[str]]:
    """The columns of the turns, and their names, in the stretch at a place among those of so many rows."""
    columns: list[Any] = []
    names: list[str] = []
    for turn in turns:
        batches = file.iter_batches(batch_size=rows, columns=turn, row_groups=[group], use_threads=False)
        batch = _next(islice(batches, place, None))
        columns += batch.columns
        names += batch.schema.names
    return columns, names


def _copied(column: Any) -> Any:
    """A column in memory of its own."""
    return pyarrow().concat_arrays(column.chunks)


def _next(tables: Iterator[Any]) -> Any:
    """The next table or batch; an error of pyarrow if a damaged file has fewer rows than it says."""
    if (table := next(tables, None)) is None:
        raise pyarrow().ArrowInvalid("a column has fewer rows than its file says")
    return table
