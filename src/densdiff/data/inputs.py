"""What a user hands over, as sources of rows; of lazy tables only the columns that are needed are read.

How two sources are matched is in `match`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from densdiff.data.holding import hold
from densdiff.data.table import Table, header_of, table_of
from densdiff.io import memory
from densdiff.io.streams import TableStream
from densdiff.sources import opening
from densdiff.sources.lazy import stream_of
from densdiff.sources.source import ArraySource, Source
from densdiff.sources.spool import open_stream
from densdiff.sources.together import run_together
from densdiff.threads import cores


def source_of(value: Any, where: str, keep_text: bool = False) -> Source:
    """What a user handed over as a source of rows, a table in memory as one block.

    With ``keep_text``, text of a CSV file that could be numbers stays text, for the caller to judge.
    """
    source: Source = opening.source_of(value, where, table_of, keep_text).converted()
    return source


def array_source(value: Any, where: str) -> ArraySource:
    """A table in memory as a source; anything else is refused."""
    return ArraySource(where, table_of(value, where))


class Input(Protocol):
    """What a user handed over, before it is a source."""

    @property
    def is_unread(self) -> bool:
        """Whether it is a lazy table, of which the columns to read can still be chosen."""

    def header(self) -> Table:
        """Its columns, without rows if none are read yet."""

    def source(self, columns: list[str], room: float) -> Source:
        """The source; of a lazy table, of these columns. What comes in blocks is held if it takes so many bytes."""


@dataclass(frozen=True)
class _Read:
    """A source, some of whose rows may have been read."""

    opened: Source
    is_unread = False

    def header(self) -> Table:
        """The first rows."""
        return table_of(self.opened.head(), self.opened.where)

    def source(self, columns: list[str], room: float) -> Source:
        """The source with these columns, or all, in memory where they fit; else each pass says which it reads."""
        return hold(self.opened, columns or None, room)


@dataclass(frozen=True)
class _Unread:
    """A lazy table of which nothing is read yet."""

    where: str
    stream: TableStream
    is_unread = True

    def header(self) -> Table:
        """The columns without rows."""
        return header_of(self.stream.names, self.where)

    def source(self, columns: list[str], room: float) -> Source:
        """A source of these columns."""
        opened = open_stream(self.stream, self.where, partial(table_of, where=self.where), columns)
        return hold(opened.converted(), columns or None, room)


def input_of(value: Any, where: str, keep_text: bool = False) -> Input:
    """What a user handed over, with the rows of a lazy table still to be read; for ``keep_text`` see `source_of`."""
    stream = stream_of(value, where)
    return _Read(source_of(value, where, keep_text)) if stream is None else _Unread(where, stream)


def open_pair(
    inputs: tuple[Input, Input], headers: Sequence[Table] | None = None
) -> tuple[tuple[Source, Source], Sequence[Table] | None]:
    """Two inputs as sources, and the columns to use of each as headers; without them, all columns.

    The names of a lazy table are known before its rows are read, so that only the columns are read that both have.
    """
    x, y = inputs
    if headers is None:
        if not x.is_unread and not y.is_unread:
            return read_both(x, y, ([], [])), None  # on a cluster, a header is work
        headers = x.header(), y.header()
    common = set(headers[0].names or ()) & set(headers[1].names or ())
    needed = [[name for name in header.names or () if name in common or not common] for header in headers]
    return read_both(x, y, (needed[0], needed[1])), headers


def read_both(x: Input, y: Input, columns: tuple[list[str], list[str]]) -> tuple[Source, Source]:
    """Both sources with their columns; two files are read at the same time, lazy tables may share a connection."""
    room = memory.room()  # here: a thread would not know what was set for this one
    threads = 1 if x.is_unread or y.is_unread else cores()
    first, second = run_together(
        [partial(one.source, own, room) for one, own in zip((x, y), columns, strict=True)], threads
    )
    return first, second
