"""What a user handed over as a source of rows.

What the columns of its blocks mean is decided in `data`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from densdiff.errors import InputError
from densdiff.io import files
from densdiff.sources.blocks import BlockSource, IteratedBlocks
from densdiff.sources.clusters import DaskSource, is_dask
from densdiff.sources.lazy import stream_of
from densdiff.sources.source import ArraySource, Source
from densdiff.sources.spool import open_stream

_FRAMES = ("__array__", "__dataframe__", "__arrow_c_stream__", "__narwhals_dataframe__", "column_names", "toarray")


def source_of(value: Any, where: str, as_table: Callable[..., Any], keep_text: bool = False) -> Source:
    """Paths, lazy tables and iterables of blocks as blocks, Dask collections, the rest as one table; a source as it is.

    ``as_table`` makes columns of a table or block, which messages call by ``where``. What can be read only once is
    refused. ``keep_text`` is that of `open_file`.

    Examples
    --------
    >>> import numpy as np
    >>> samples = [[1.0], [2.0]], [np.zeros((5, 2)), np.ones((5, 2))]
    >>> [type(source_of(sample, "X", as_table=lambda value, where: value)).__name__ for sample in samples]
    ['ArraySource', 'BlockSource']
    """
    if isinstance(value, (ArraySource, BlockSource, DaskSource)):
        return value
    value = files.read(value, keep_text=keep_text) if files.is_path(value) else value
    convert = partial(as_table, where=where)
    if isinstance(value, files.File):
        return BlockSource(where, value, value.rows, convert)
    if is_dask(value):
        return DaskSource.of(where, value, convert)
    if (stream := stream_of(value, where)) is not None:
        return open_stream(stream, where, convert)
    if _holds_blocks(value, where):
        return BlockSource(where, IteratedBlocks(where, value, convert), None, convert)
    return ArraySource(where, value, convert)


def _holds_blocks(value: Any, where: str) -> bool:
    """Whether a value is a list of 2-D blocks, or can be iterated for blocks; what can be read only once is refused."""
    if hasattr(value, "__next__"):
        cure = "pass a list of blocks, or an object whose __iter__ starts over each time"
        raise InputError(f"{where} is a {type(value).__name__}, which can be read only once; {cure}")
    if isinstance(value, (list, tuple)):
        return bool(value) and all(len(getattr(block, "shape", ())) == 2 for block in value)
    if isinstance(value, (str, bytes, range, set, frozenset, Mapping)) or not hasattr(value, "__iter__"):
        return False
    return not any(map(partial(hasattr, value), _FRAMES))
