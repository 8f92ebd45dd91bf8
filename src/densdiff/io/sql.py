"""Tables and queries of databases as lazy tables, read in batches of Arrow; nothing is ever written.

What differs between databases is in `sqlite` and `postgresql`, what their addresses mean in `database`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from densdiff.errors import DensDiffError, InputError
from densdiff.io import memory, postgresql, sqlite
from densdiff.io.arrow import pyarrow, validate
from densdiff.io.database import Database, DatabaseAddress, parse_database
from densdiff.io.wording import driver_reason, refuse_absent, refuse_repeated
from densdiff.messages import argument, describe_value, listed, near_name, shown

_DRIVERS: dict[str, Any] = {"sqlite": sqlite, "postgresql": postgresql}


def sql(uri: str, query: str | None = None) -> "Query":
    """A table or a query of a SQLite or PostgreSQL database, to be passed wherever a table is.

    Nothing is read until it is used, and each use runs the query once or twice. The database is opened so that nothing
    in it can be changed.

    Parameters
    ----------
    uri : str
        ``sqlite:///shop.db`` (four slashes before an absolute path) or ``postgresql://user@host/shop``; it may end
        in ``?table=orders`` or ``?query=select ...``. A password is best left to PGPASSWORD or ~/.pgpass.
    query : str, optional
        What to select, if the address does not say it.

    Returns
    -------
    Query
        A lazy table with ``names``, ``batches(columns)`` and ``__arrow_c_stream__``.

    Examples
    --------
    >>> import sqlite3, tempfile
    >>> from pathlib import Path
    >>> folder = tempfile.TemporaryDirectory()
    >>> shop = sqlite3.connect(Path(folder.name, "shop.db"))
    >>> _ = shop.execute("create table orders (price real, city text)")
    >>> _ = shop.execute("insert into orders values (9.5, 'Ulm'), (12, 'Bonn')")
    >>> shop.commit()
    >>> shop.close()
    >>> import densdiff as dd
    >>> dear = dd.sql(f"sqlite:///{folder.name}/shop.db", "select * from orders where price > 10")
    >>> dear, dear.names
    (query of shop.db, ['price', 'city'])
    >>> folder.cleanup()
    """
    if not isinstance(uri, str):
        raise InputError(f"{argument('uri')} must be a text; got {describe_value(uri)}", argument="uri")
    address = parse_database(uri)
    if query is not None:
        if not isinstance(query, str) or not query.strip():
            what = f"{argument('query')} must be a query such as 'select * from orders'"
            raise InputError(f"{what}; got {describe_value(query)}", argument="query")
        if address.table or address.query is not None:
            where = f"both the address of {address.database.name} and {argument('query')} say what to read"
            raise InputError(f"{where}; leave one out", argument="query")
        address = replace(address, query=query)
    return open_query(address)


def open_query(address: DatabaseAddress) -> "Query":
    """What an address names in a database; an error if it names nothing."""
    database = address.database
    if address.table:
        if not all(address.table):
            raise InputError(f"the address of {database.name} names no table after ?table=", file=database.name)
        statement = "SELECT * FROM " + ".".join(map(sqlite.quoted, address.table))
    elif (address.query or "").strip():
        statement = (address.query or "").strip().rstrip("; \t\r\n")
    else:
        need = "end its address in ?table=NAME or ?query=select ..."
        raise InputError(f"{database.name} is a database, and a table in it is needed: {need}", file=database.name)
    return Query(address.name, database, statement, address.table)


@dataclass
class _Progress:
    """How many rows came so far."""

    rows: int = 0


@dataclass(frozen=True, repr=False)
class Query:
    """The rows of a table or query; a `TableStream`."""

    name: str
    database: Database
    statement: str
    table: tuple[str, ...] = ()
    chosen: list[str] | None = None
    is_repeatable: bool = field(default=False, init=False)

    @property
    def names(self) -> list[str]:
        return self.chosen or list(self.schema.names)

    @property
    def column_names(self) -> list[str]:
        """The names as a `pyarrow.Table` has them."""
        return self.names

    @cached_property
    def schema(self) -> Any:
        """Names and types of all columns, as the driver tells them before it reads all rows."""
        with self._cursor() as cursor:
            schema = _DRIVERS[self.database.kind].schema_of(cursor, self.statement)
        refuse_repeated(schema.names, self.name, "give the others another name by AS", self.name)
        return schema

    def select(self, columns: list[str] | None) -> "Query":
        """This query with some of its columns, or all."""
        refuse_absent(columns, self.names, self.name)
        return self if columns is None else replace(self, chosen=columns)

    def batches(self, columns: list[str] | None) -> Iterator[Any]:
        """Every `pyarrow.RecordBatch` of these columns in this order, or of all columns."""
        schema, progress = self.schema, _Progress()
        with self._cursor(progress) as cursor:
            read = _DRIVERS[self.database.kind].batches
            for batch in read(cursor, self.statement, schema, columns or self.names, self.name):
                progress.rows += batch.num_rows
                yield validate(batch)

    def __iter__(self) -> Iterator[Any]:
        return self.batches(None)

    def whole(self) -> Any:
        """All rows as a `pyarrow.Table`; an error if they are larger than the memory ceiling."""
        held: list[Any] = []
        size = 0
        for batch in self.batches(None):
            held.append(batch)
            size += batch.nbytes
            memory.refuse_large(size, self.name, "more than ")
        if not any(batch.num_rows for batch in held):
            raise InputError(f"{self.name} has 0 data rows", file=self.name)
        return pyarrow().Table.from_batches(held)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        pa = pyarrow()
        batches = self.batches(None)
        first = next(batches, None) or pa.RecordBatch.from_pylist([], schema=self.schema)

        def read() -> Iterator[Any]:
            yield first
            yield from batches

        return pa.RecordBatchReader.from_batches(first.schema, read()).__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return self.name

    @contextmanager
    def _cursor(self, progress: _Progress | None = None) -> Iterator[Any]:
        """A cursor of a new connection; what its driver refuses is one sentence without a password."""
        is_connected = False
        try:
            with _DRIVERS[self.database.kind].connected(self.database.target) as cursor:
                is_connected = True
                yield cursor
        except (DensDiffError, GeneratorExit):
            raise
        except Exception as error:
            # the driver's own error may quote the address, and is not shown
            reason = self.database.hide(driver_reason(error))
            if not is_connected:
                name = self.database.name
                raise InputError(f"the database {name} cannot be opened: {reason}", file=name) from None
            self._refuse_absent_table()
            after = f" after {progress.rows} rows" if progress and progress.rows else ""
            raise InputError(f"{self.name} cannot be read{after}: {reason}", file=self.name) from None

    def _refuse_absent_table(self) -> None:
        """An error if the reason of a failure is that there is no such table."""
        if not self.table:
            return
        driver = _DRIVERS[self.database.kind]
        try:
            with driver.connected(self.database.target) as cursor:
                cursor.execute(driver.TABLES)
                tables = [name for (name,) in cursor.fetchall()]
        except Exception:  # of the failure, which is told by itself
            return
        wanted = ".".join(self.table)
        if wanted not in tables and self.table[-1] not in tables:
            has = f"it has {listed(tables)}" if tables else "it has none"
            text = f"{self.database.name} has no table {shown(wanted)}{near_name(wanted, tables)}; {has}"
            raise InputError(text, file=self.database.name) from None
