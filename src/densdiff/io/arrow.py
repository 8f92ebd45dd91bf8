"""pyarrow, imported when a file needs it: it is an extra, and slow to import.

What is done with it lives beside the format that needs it.
"""

import importlib
from typing import Any

from densdiff.errors import MissingExtraError


def pyarrow(part: str = "") -> Any:
    """pyarrow or one of its modules."""
    try:
        return importlib.import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError as error:
        kind = {"csv": "CSV", "json": "JSON", "parquet": "Parquet"}.get(part, "CSV")
        raise MissingExtraError(f'reading {kind} files needs pyarrow: pip install "densdiff[cli]"') from error


def validate(table: Any) -> Any:
    """A table after a look at what its file only claims: that text is UTF-8, that codes have a level."""
    table.validate(full=True)
    return table
