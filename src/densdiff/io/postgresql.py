"""Queries of PostgreSQL by ADBC, in a transaction that cannot write.

What Arrow has no type for comes as numbers or text, as the server makes them.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from densdiff.io.arrow import driver, pyarrow
from densdiff.io.sqlite import quoted

_BATCH = 1 << 23  # bytes
_AS_NUMBERS = {"numeric": "{}::float8", "money": "{}::numeric::float8", "interval": "EXTRACT(EPOCH FROM {})::float8"}
_TYPE, _UNKNOWN = b"POSTGRESQL:type", b"ADBC:postgresql:typname"  # in the metadata of a field
TABLES = """
SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END AS name
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
ORDER BY 1"""


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A cursor that can read and not write."""
    adbc = driver("adbc_driver_postgresql", "PostgreSQL")
    with closing(adbc.connect(address)) as connection, closing(connection.cursor()) as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")  # unlike the session's default, no query can take this back
        cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(_BATCH)})
        yield cursor


def schema_of(cursor: Any, statement: str) -> Any:
    """Names and types of the columns; no row is read."""
    return cursor.adbc_execute_schema(statement)


def batches(cursor: Any, statement: str, schema: Any, columns: list[str], name: str) -> Iterator[Any]:
    """Every batch of some columns."""
    types = _type_names(cursor, statement, [schema.field(label) for label in columns])
    chosen = ", ".join(f"{_converted(schema.field(label), types[label])} AS {quoted(label)}" for label in columns)
    cursor.execute(f"SELECT {chosen} FROM ({statement}\n) AS densdiff_rows")
    yield from cursor.fetch_record_batch()


def _type_names(cursor: Any, statement: str, fields: list[Any]) -> dict[str, str]:
    """What the server calls the type of each column; old drivers do not tell, and the first row does."""
    if all(_TYPE in (field.metadata or {}) for field in fields):
        return {field.name: field.metadata[_TYPE].decode() for field in fields}
    asked = ", ".join(f"pg_typeof({quoted(field.name)})::text" for field in fields)
    cursor.execute(f"SELECT {asked} FROM ({statement}\n) AS densdiff_rows LIMIT 1")
    row = cursor.fetchone() or [""] * len(fields)
    return {field.name: kind for field, kind in zip(fields, row, strict=True)}


def _converted(field: Any, kind: str) -> str:
    """A column as SQL that gives numbers, text, dates or lists."""
    column, types = quoted(field.name), pyarrow().types
    if kind in _AS_NUMBERS:
        return _AS_NUMBERS[kind].format(column)
    is_unknown = _UNKNOWN in (field.metadata or {}) or hasattr(field.type, "storage_type")
    is_bytes = types.is_fixed_size_binary(field.type) or (types.is_binary(field.type) and kind != "bytea")
    return f"{column}::text" if is_unknown or is_bytes else column
