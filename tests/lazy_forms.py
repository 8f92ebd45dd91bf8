"""A table as lazy tables of every library that the tests have."""

import tempfile
import uuid
from pathlib import Path
from typing import Any

import duckdb
import ibis
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq

import densdiff as dd

_databases = tempfile.TemporaryDirectory(prefix="densdiff-databases-")


class ArrowStream:
    """An object that has no more than the protocol of streams, and gives them once."""

    def __init__(self, table: pa.Table) -> None:
        self.reader = table.to_reader(max_chunksize=7)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.reader.__arrow_c_stream__(requested_schema)


def of_duckdb(table: pa.Table) -> Any:
    return duckdb.connect().from_arrow(table)


def of_ibis(table: pa.Table) -> Any:
    return ibis.memtable(table)


def of_dataset(table: pa.Table, folder: Path | None = None) -> Any:
    """In memory, or of two files."""
    if folder is None:
        return pa.dataset.dataset(table)
    half = len(table) // 2
    for k, part in enumerate((table[:half], table[half:])):
        pq.write_table(part, folder / f"{k}.parquet", row_group_size=500)
    return pa.dataset.dataset(folder)


def of_sqlite(table: pa.Table) -> Any:
    """A table of a database, which has neither booleans nor dates."""
    from adbc_driver_sqlite import dbapi

    path = f"{_databases.name}/{uuid.uuid4().hex}.db"
    with dbapi.connect(path, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("rows", table)
    return dd.sql(f"sqlite:///{path}?table=rows")


LAZY_FORMS = {
    "polars LazyFrame": lambda table: pl.from_arrow(table).lazy(),
    "DuckDB": of_duckdb,
    "ibis": of_ibis,
    "pyarrow Dataset": of_dataset,
    "RecordBatchReader": lambda table: table.to_reader(max_chunksize=7),
    "Arrow stream": ArrowStream,
}
