"""What every table that is not at hand answers: lazy frames, queries of a database, datasets.

How its batches become blocks of a source, and whether they are kept on disk, is decided in `sources`.
"""

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class TableStream(Protocol):
    """A table that gives its rows in batches of Arrow each time it is asked.

    Attributes
    ----------
    names : list of str
        Of its columns; asking for them reads no rows.
    is_repeatable : bool
        Whether each reading is known to give the same rows in the same order, at no great cost.
    """

    @property
    def names(self) -> list[str]: ...

    @property
    def is_repeatable(self) -> bool: ...

    def batches(self, columns: list[str] | None) -> Iterator[Any]:
        """Every `pyarrow.RecordBatch` of these columns in this order, or of all columns."""
