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


def validate(table: Any) -> Any:
    """A table after a look at what its file only claims: that text is UTF-8, that codes have a level."""
    table.validate(full=True)
    return table
