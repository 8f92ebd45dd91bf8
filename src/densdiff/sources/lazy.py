"""Lazy tables of other libraries as streams of batches: which they are, their names, and how their rows are had.

They are known by their class, so that no library is imported for it. How a stream becomes a source is in `spool`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import narwhals.stable.v2 as nw
from narwhals.exceptions import DuplicateError

from densdiff.errors import InputError
from densdiff.io import memory
from densdiff.io.arrow import pyarrow
from densdiff.io.streams import TableStream
from densdiff.io.wording import as_input_error
from densdiff.messages import listed
from densdiff.sources.source import EMPTY


@dataclass(frozen=True)
class LazyTable:
    """A lazy table by its names and a function that reads some of its columns; see `TableStream`."""

    names: list[str]
    read: Callable[[list[str]], Iterable[Any]]  # tables or batches with at least these columns
    is_repeatable: bool = False

    def batches(self, columns: list[str] | None) -> Iterator[Any]:
        """Every `pyarrow.RecordBatch` of these columns in this order, or of all columns."""
        chosen = columns or self.names
        for piece in self.read(chosen):
            for batch in piece.to_batches() if hasattr(piece, "to_batches") else [piece]:
                yield batch.select(chosen)


def stream_of(value: Any, where: str) -> TableStream | None:
    """A lazy table as a stream, None for anything else.

    Examples
    --------
    >>> import polars as pl
    >>> stream_of(pl.LazyFrame({"age": [31.0], "city": ["Ulm"]}), "A").names
    ['age', 'city']
    >>> stream_of(pl.DataFrame({"age": [31.0]}), "A") is None
    True
    """
    with as_input_error(where, "cannot be read", is_file=False):
        # a Delayed of Dask has any attribute one asks for, but not its class
        is_stream = hasattr(type(value), "batches") and isinstance(value, TableStream)
        stream = value if is_stream else _recognized(value, where)
        if stream is not None:
            _refuse_unusable_names(list(stream.names), where)
        return stream


def _recognized(value: Any, where: str) -> TableStream | None:
    kinds = {(kind.__module__.lstrip("_").partition(".")[0], kind.__name__) for kind in type(value).__mro__}
    if ("narwhals", "LazyFrame") in kinds:
        return _recognized(value.to_native(), where)
    opened = next((_OPENED[kind] for kind in kinds if kind in _OPENED), None)
    if opened is None and not _is_arrow_stream(value):
        return None
    pyarrow(user=f"{where} is a {type(value).__name__}, which needs")
    return (opened or _arrow_stream)(value, where)


def _refuse_unusable_names(names: list[str], where: str) -> None:
    """An error if a lazy table has no columns, or two of one name."""
    if not names:
        raise InputError(f"{where} has no columns; at least 1 is needed")
    if twice := list(dict.fromkeys(name for name in names if names.count(name) > 1)):
        cure = "rename or drop the others"
        raise InputError(f"{where} has more than one column named {listed(twice)}; {cure}", column=twice[0])


def _is_arrow_stream(value: Any) -> bool:
    """Whether an object gives its rows as a stream of Arrow and is neither a frame nor one piece of memory."""
    if not hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"):
        return False
    try:
        is_frame = nw.from_native(value, allow_series=True, pass_through=True) is not value
    except DuplicateError:  # known to narwhals, which wants unique names
        return False
    return not is_frame and not type(value).__module__.startswith("narwhals.")


def batch_rows(columns: list[str]) -> int:
    """Rows of a batch to ask for."""
    return max(1024, memory.VALUES // max(len(columns), 1))


def _polars(frame: Any, where: str) -> LazyTable:
    if not hasattr(frame, "collect_batches"):
        raise InputError(f"{where} is lazy, and this version of polars gives no batches; update polars, or collect it")
    names = frame.collect_schema().names()

    def read(columns: list[str]) -> Iterator[Any]:
        exactly = import_module("polars.selectors").by_name  # a name such as ^a$ would be a pattern
        chosen = frame if columns == names else frame.select(exactly(*columns))
        for rows in chosen.collect_batches(chunk_size=batch_rows(columns), maintain_order=True):
            yield rows.to_arrow()

    return LazyTable(names, read)


def _duckdb(relation: Any, where: str) -> LazyTable:
    names = list(relation.columns)

    def read(columns: list[str]) -> Any:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        chosen = relation if columns == names else relation.project(quoted)
        reader = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_record_batch  # before DuckDB 1.4
        return reader(batch_rows(columns))

    return LazyTable(names, read)


def _ibis(table: Any, where: str) -> LazyTable:
    def read(columns: list[str]) -> Any:
        return table.select(columns).to_pyarrow_batches(chunk_size=batch_rows(columns))

    return LazyTable(list(table.columns), read)


def _dataset(dataset: Any, where: str) -> LazyTable:
    """A dataset of pyarrow, whose files are read again in the same order."""

    def read(columns: list[str]) -> Any:
        # many batches read ahead would be many blocks in memory
        return dataset.to_batches(
            columns=columns, batch_size=batch_rows(columns), batch_readahead=2, fragment_readahead=1
        )

    return LazyTable(list(dataset.schema.names), read, is_repeatable=True)


def _spark(frame: Any, where: str) -> LazyTable:
    """A data frame of Spark: batches become bytes on the executors, and the driver asks for a partition at a time."""
    frame = frame.to_spark() if hasattr(frame, "to_spark") else frame  # of pandas on Spark

    def read(columns: list[str]) -> Iterator[Any]:
        quoted = ["`" + name.replace("`", "``") + "`" for name in columns]
        # Spark itself takes a point in a name for a part of a column
        plain = frame.select(*quoted).toDF(*(f"x{j}" for j in range(len(columns))))
        for row in plain.mapInArrow(_batch_writer(), "batch binary").toLocalIterator():
            yield pyarrow().ipc.open_stream(row["batch"]).read_all().rename_columns(columns)

    return LazyTable(list(frame.columns), read)


def _batch_writer() -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What turns batches into rows of bytes; as a function within a function it is sent to executors as it is."""

    def write(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa  # there, where densdiff need not be installed

        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            yield pa.record_batch({"batch": pa.array([sink.getvalue().to_pybytes()], pa.binary())})

    return write


def _scanner(scanner: Any, where: str) -> "_ReadOnce":
    return _ReadOnce(where, type(scanner).__name__, scanner.to_reader())


def _arrow_stream(value: Any, where: str) -> "_ReadOnce":
    """Whatever hands over a stream of Arrow: a `RecordBatchReader`, the result of a query."""
    reader = pyarrow().RecordBatchReader
    return _ReadOnce(where, type(value).__name__, value if isinstance(value, reader) else reader.from_stream(value))


@dataclass(frozen=True)
class _ReadOnce:
    """Batches that are gone once they are read."""

    where: str
    kind: str
    reader: Any
    is_repeatable: bool = field(default=False, init=False)

    @property
    def names(self) -> list[str]:
        return list(self.reader.schema.names)

    def batches(self, columns: list[str] | None) -> Iterator[Any]:
        """Every batch of these columns; an error if there is none, which is likely the second reading."""
        rows = 0
        for batch in self.reader:
            rows += batch.num_rows
            yield batch.select(columns or self.names)
        if not rows:
            once = f"a {self.kind} gives its rows only once, so make a new one for each question"
            raise InputError(f"{self.where} {EMPTY}; {once}")


_OPENED: dict[tuple[str, str], Callable[[Any, str], TableStream]] = {
    ("polars", "LazyFrame"): _polars,
    ("duckdb", "DuckDBPyRelation"): _duckdb,
    ("ibis", "Table"): _ibis,
    ("pyspark", "DataFrame"): _spark,
    ("pyarrow", "Dataset"): _dataset,
    ("pyarrow", "Scanner"): _scanner,
    ("pyarrow", "RecordBatchReader"): _arrow_stream,
}
