"""pyarrow, imported when a file or a lazy table needs it: it is an extra, and slow to import.

What is done with it lives beside the format that needs it.
"""

import importlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.errors import MissingExtraError

_FLOATS = {"float": "float32", "double": "float64"}  # of Arrow, by what NumPy calls them
_TEXT = {b"densdiff": b"text"}  # metadata of a column


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


def array_of(column: Any) -> npt.NDArray[Any]:
    """The values of a `pyarrow.ChunkedArray`, a missing number as NaN.

    Numbers are taken out of its memory: pyarrow's own way loads pandas where that is installed, which takes longer than
    a small comparison.
    """
    pa = pyarrow()
    if pa.types.is_integer(column.type):
        return _numbers(column, str(column.type), "float64")
    if column.type in (pa.float32(), pa.float64()):
        return _numbers(column, _FLOATS[str(column.type)], "")
    return np.asarray(column.to_numpy())


def places_of(column: Any) -> npt.NDArray[np.int32]:
    """The places in its dictionary of a `pyarrow.ChunkedArray` whose chunks share one, -1 for a missing value."""
    pa = pyarrow()
    indices = pa.chunked_array([chunk.indices.cast(pa.int32()) for chunk in column.chunks], pa.int32())
    return _numbers(indices, "int32", "", -1)


def _numbers(column: Any, name: str, with_gaps: str, missing: float = np.nan) -> npt.NDArray[Any]:
    """Numbers of the type that NumPy calls so, of another one if some are missing."""
    dtype = np.dtype(with_gaps if with_gaps and column.null_count else name)
    pieces = [np.empty(0, dtype)]
    for chunk in column.chunks:
        stored = np.dtype(name)
        bits, data = chunk.buffers()
        values = np.frombuffer(data, stored, len(chunk), chunk.offset * stored.itemsize) if len(chunk) else pieces[0]
        if chunk.null_count:
            valid = np.unpackbits(np.frombuffer(bits, np.uint8), count=chunk.offset + len(chunk), bitorder="little")
            values = np.where(valid[chunk.offset :], values.astype(dtype), dtype.type(missing))
        pieces.append(values)
    return pieces[1] if len(pieces) == 2 and pieces[1].dtype == dtype else np.concatenate(pieces, dtype=dtype)


def mark_text(table: Any, names: Iterable[str]) -> Any:
    """A table whose columns by these names are text, though they came by their distinct values as categories do."""
    for name in names:
        j = table.column_names.index(name)
        table = table.set_column(j, table.schema.field(j).with_metadata(_TEXT), table.column(j))
    return table


def marked_text(table: Any) -> set[str]:
    """Names of the columns that `mark_text` was told."""
    return {field.name for field in table.schema if _TEXT.items() <= (field.metadata or {}).items()}


def as_floats(column: Any) -> Any:
    """Decimal numbers as the nearest floats, which a cast of pyarrow misses; any other column as it is."""
    pa = pyarrow()
    return column.cast(pa.string()).cast(pa.float64()) if pa.types.is_decimal(column.type) else column
