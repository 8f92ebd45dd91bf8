"""pyarrow, imported when a file or a lazy table needs it: it is an extra, and slow to import.

What is done with it lives beside the format that needs it.
"""

import importlib
from typing import Any

from densdiff.errors import MissingExtraError


def pyarrow(part: str = "", user: str = "") -> Any:
    """pyarrow or one of its modules, for a file or for the ``user`` that an error would name."""
    try:
        return importlib.import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError as error:
        kind = {"csv": "CSV", "json": "JSON", "parquet": "Parquet"}.get(part, "CSV")
        user = user or f"reading {kind} files needs"
        raise MissingExtraError(f'{user} pyarrow: pip install "densdiff[cli]"') from error


def driver(module: str, database: str) -> Any:
    """The ADBC driver of a database."""
    pyarrow(user=f"reading from {database} needs")
    try:
        return importlib.import_module(f"{module}.dbapi")
    except ImportError as error:
        name = module.replace("_", "-")
        raise MissingExtraError(f'reading from {database} needs {name}: pip install "densdiff[sql]"') from error


def validate(table: Any) -> Any:
    """A table after a look at what its file only claims: that text is UTF-8, that codes have a level."""
    table.validate(full=True)
    return table


def decoded(column: Any) -> Any:
    """A `pyarrow.ChunkedArray` of a dictionary as its values; any other as it is."""
    pa = pyarrow()
    if not pa.types.is_dictionary(column.type):
        return column
    # pyarrow takes no rows of views
    kind = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(column.type.value_type)
    kind = kind or column.type.value_type
    return pa.chunked_array([chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks], kind)


def as_floats(column: Any) -> Any:
    """Decimal numbers as the nearest floats, which a cast of pyarrow misses; any other column as it is."""
    pa = pyarrow()
    return column.cast(pa.string()).cast(pa.float64()) if pa.types.is_decimal(column.type) else column
