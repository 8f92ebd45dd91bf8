"""Queries of SQLite by ADBC, opened so that nothing can be written.

A column of SQLite may hold anything in any row, and the driver takes its type from the first rows. So all rows are
looked through first, and a row before the first tells the driver which type each column has.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

from densdiff.errors import InputError
from densdiff.io.arrow import driver, pyarrow
from densdiff.messages import shown

_ROWS = 1 << 14  # of a batch
_EXAMPLES = {"integer": "0", "real": "0.0", "text": "''", "blob": "x''"}
_CLASSES = {"integer": "numbers", "real": "numbers", "text": "text", "blob": "bytes"}
TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%' ORDER BY name"


@contextmanager
def connected(path: str) -> Iterator[Any]:
    """A cursor that can read and not write."""
    adbc = driver("adbc_driver_sqlite", "SQLite")
    with closing(adbc.connect(f"file:{quote(str(Path(path).absolute()))}?mode=ro")) as connection:
        with closing(connection.cursor()) as cursor:
            cursor.execute("PRAGMA query_only = ON")  # or another database could be attached and written to
        with closing(connection.cursor()) as cursor:
            cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(_ROWS)})
            yield cursor


def schema_of(cursor: Any, statement: str) -> Any:
    """Names of the columns, and their types by the first rows."""
    cursor.execute(f"SELECT * FROM ({statement}\n) LIMIT 0")  # refuses what is not a query, before it is run
    cursor.execute(statement)  # by itself, because SQLite renames what stands twice within another query
    return cursor.fetch_record_batch().schema


def batches(cursor: Any, statement: str, schema: Any, columns: list[str], name: str) -> Iterator[Any]:
    """Every batch of some columns, each of one type in all rows."""
    pa = pyarrow()
    kinds = _kinds(cursor, statement, columns, name)
    first = ", ".join(f"{_EXAMPLES[kind or 'integer']} AS {quoted(label)}" for label, kind in kinds.items())
    chosen = ", ".join(
        f"CAST({quoted(label)} AS REAL)" if kind == "real" else quoted(label) for label, kind in kinds.items()
    )
    cursor.execute(f"SELECT {first} UNION ALL SELECT {chosen} FROM ({statement}\n)")
    for number, batch in enumerate(cursor.fetch_record_batch()):
        rows = batch if number else batch.slice(1)
        arrays = [
            array if kind else pa.nulls(len(rows)) for array, kind in zip(rows.columns, kinds.values(), strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=columns)


def quoted(name: str) -> str:
    """A name as SQL writes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def _kinds(cursor: Any, statement: str, columns: list[str], name: str) -> dict[str, str | None]:
    """The type that holds all values of each column, None where there are none; an error where no type does."""
    ends = (
        f"{end}(nullif(typeof({quoted(label)}), 'null'))" for label in columns for end in ("min", "max")
    )  # of the alphabet: blob, integer, real, text
    cursor.execute(f"SELECT {', '.join(ends)} FROM ({statement}\n)")
    found = cursor.fetchone()
    kinds: dict[str, str | None] = {}
    for j, label in enumerate(columns):
        least, most = found[2 * j : 2 * j + 2]
        if least is not None and _CLASSES[least] != _CLASSES[most]:
            _refuse_mixed(cursor, statement, label, name)
        kinds[label] = most
    return kinds


def _refuse_mixed(cursor: Any, statement: str, label: str, name: str) -> NoReturn:
    column = quoted(label)
    numbered = f"SELECT row_number() OVER () - 1 AS i, {column} AS v FROM ({statement}\n)"
    cursor.execute(f"SELECT typeof(v) FROM ({numbered}) WHERE v IS NOT NULL LIMIT 1")
    usual = _CLASSES[cursor.fetchone()[0]]
    same = ", ".join(f"'{kind}'" for kind, of in _CLASSES.items() if of == usual)
    other = f"typeof(v) NOT IN ({same}, 'null')"
    value = "CASE typeof(v) WHEN 'blob' THEN hex(v) ELSE CAST(v AS TEXT) END"
    cursor.execute(f"SELECT i, typeof(v), substr({value}, 1, 60) FROM ({numbered}) WHERE {other} LIMIT 1")
    row, kind, text = cursor.fetchone()
    what = f"column {shown(label)} of {name} holds {usual} up to row {row - 1} and {_CLASSES[kind]} in row {row}"
    cure = f"select it as one type, as CAST({column} AS {'TEXT' if usual == 'text' else 'REAL'})"
    raise InputError(f"{what}: {shown(text)}; {cure}", file=name, column=label, row=row)
