"""Text files, plain or compressed, as parts of whole rows: what CSV and JSON Lines have in common.

Bytes that are no text in UTF-8 are refused by what they seem to be, with their line.
"""

import codecs
import gzip
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from densdiff.errors import InputError
from densdiff.io import memory
from densdiff.io.arrow import pyarrow
from densdiff.io.database import SQLITE

_HEAD = 1 << 20  # bytes that tell how a text is written
_USUAL = 10  # bytes of text of which a packer makes 1
_UTMOST = {".gz": 1032, ".zst": 1 << 16}  # the same, of text as dull as can be
_BUFFER = 1 << 20
_CHUNK = 1 << 26
_CUT_CHARACTER = re.compile(rb"[\xc0-\xff][\x80-\xbf]{0,2}\Z")
_FOREIGN = {  # how a file begins that is no text
    b"PAR1": "is a Parquet file; rename it to end in .parquet",
    b"\x93NUMPY": "is a NumPy file; rename it to end in .npy",
    b"PK\x03\x04": "is a zip archive or an Excel workbook; save it as CSV",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook; save it as CSV",
    b"\x1f\x8b": "is compressed; rename it to end in .gz",
    b"\x28\xb5\x2f\xfd": "is compressed; rename it to end in .zst",
    SQLITE: "is a SQLite database; name a table in it by its address, sqlite:///PATH?table=NAME",
    b"ARROW1": "is an Arrow file; save it as Parquet",
}
_BOMS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


@dataclass(frozen=True)
class Part:
    """Whole rows of a text, and what stands before them."""

    data: bytes
    lines: int = 0  # before these
    first: bool = True
    last: bool = True


@dataclass(frozen=True)
class Text:
    """A text file after a look at its first bytes; a short one is kept, and so is what can be read only once."""

    name: str
    place: Path | None  # None for standard input and pipes
    ending: str  # what the name says about the format; of the text within, if it is compressed
    content: bytes | None  # where it is short, or can be read only once

    @property
    def places(self) -> list[Path]:
        return [] if self.place is None else [self.place]

    def fits(self, room: float) -> bool:
        """Whether the text takes no more than ``room`` bytes; what can be read only once was taken in as a whole."""
        if self.place is None:
            return True
        if self.content is not None:
            return len(self.content) <= room
        return _fits_unpacked(self.place, room) if _is_compressed(self.place) else self.place.stat().st_size <= room

    def whole(self) -> Part:
        """All of the text as one part; an error if it is larger than the memory ceiling."""
        if self.content is None:
            return Part(self._check_bytes(self._read_file()).removeprefix(codecs.BOM_UTF8))
        size_is_known = self.place is not None and not _is_compressed(self.place)
        memory.refuse_large(len(self.content), self.name, "" if size_is_known else "more than ")
        return Part(self.content.removeprefix(codecs.BOM_UTF8))

    def parts(self, row_end: Callable[[bytes], int], refuse_long: Callable[[bytes, int], None]) -> Iterator[Part]:
        """Whole rows, about a block of text at a time.

        ``row_end`` tells where in some bytes the last whole row ends, 0 if nowhere; ``refuse_long`` is given what is
        more than a block and has no such end, and the number of lines before it.
        """
        step, lines = memory.TEXT_BLOCK, 0
        with self._stream() as stream:
            unfinished = stream.read(len(codecs.BOM_UTF8))
            start, unfinished = (len(unfinished), b"") if unfinished == codecs.BOM_UTF8 else (0, unfinished)
            first, last = True, False
            while not last:
                chunk = stream.read(step)
                data, last = unfinished + chunk, len(chunk) < step
                end = len(data) if last else row_end(data)
                if not end and len(data) > step + len(codecs.BOM_UTF8):
                    self._check_bytes(_CUT_CHARACTER.sub(b"", data), lines, start)
                    refuse_long(data, lines)
                part, unfinished = self._check_bytes(data[:end], lines, start), data[end:]
                if part:
                    yield Part(part, lines, first, last)
                    first = False
                lines, start = lines + part.count(b"\n"), start + len(part)

    def _check_bytes(self, data: bytes, lines: int = 0, start: int = 0) -> bytes:
        if self.content is None:
            refuse_bytes(data, self.name, lines, start)
        return data

    def _stream(self) -> AbstractContextManager[Any]:
        return _open(self.place) if self.place and self.content is None else io.BytesIO(self.content or b"")

    def _read_file(self) -> bytes:
        assert self.place is not None
        with _open(self.place) as stream:
            if _is_compressed(self.place):
                return read_all(stream, self.name)
            size = os.fstat(stream.fileno()).st_size
            memory.refuse_large(size, self.name)
            data = read_all(stream, self.name)
        if len(data) < size:
            text = f"{self.name} shrank from {size} to {len(data)} bytes while it was read; copy it again"
            raise InputError(text, file=self.name)
        return data


@dataclass(frozen=True)
class TextFile:
    """What the readers of CSV and of JSON Lines answer alike."""

    text: Text

    rows = None  # only reading tells

    @property
    def places(self) -> list[Path]:
        return self.text.places

    def fits(self, room: float) -> bool:
        """Whether the text takes no more than ``room`` bytes."""
        return self.text.fits(room)


def open_text(place: Path, name: str) -> tuple[Text, bytes]:
    """A file and its first lines, which are text."""
    pyarrow("csv")  # before a gigabyte is read in vain
    ending = ending_of(place)
    if not place.is_file() and place.exists():  # a pipe
        with _open(place) as stream:
            return _read_once(stream, name, ending)
    with _open(place) as stream:
        head = stream.read(_HEAD)
        content = None if len(head) == _HEAD or stream.read(1) else head
    if content is None:
        head = head[: head.rfind(b"\n") + 1] or _CUT_CHARACTER.sub(b"", head)
    _refuse_foreign(head, name)
    return Text(name, place, ending, content), head.removeprefix(codecs.BOM_UTF8)


def standard_input(name: str) -> tuple[Text, bytes]:
    """All that comes from standard input, and once more as its first lines."""
    pyarrow("csv")
    return _read_once(sys.stdin.buffer, name, "")


def _read_once(stream: Any, name: str, ending: str) -> tuple[Text, bytes]:
    """A stream that cannot be read twice, read to its end, and its bytes as its first lines."""
    data = read_all(stream, name)
    _refuse_foreign(data, name)
    return Text(name, None, ending, data), data.removeprefix(codecs.BOM_UTF8)


def read_all(stream: Any, name: str) -> bytes:
    """All that a stream holds, which need not say beforehand how much that is."""
    chunks: list[bytes] = []
    while chunk := stream.read(_CHUNK):
        chunks.append(chunk)
        memory.refuse_large(sum(map(len, chunks)), name, "more than ")
    return b"".join(chunks)


def holds_json(head: bytes, name: str, ending: str) -> bool:
    """Whether a text is JSON Lines and not CSV, by the ending of its name and how it begins."""
    first = re.findall(rb"\A\s*(\S)", head)
    if not first:
        raise InputError(f"{name} is empty", file=name)
    named_json = ending in (".jsonl", ".ndjson", ".json")
    if first == [b"["] and (named_json or ending == ""):
        raise InputError(f"{name} is one JSON list; write one object per line (JSON Lines)", file=name)
    if named_json and first != [b"{"]:
        text = f"{name} is not JSON Lines, in which each line is an object in braces; is it CSV?"
        raise InputError(text, file=name)
    if first != [b"{"] or (ending == ".csv" and not _is_json(head)):
        return False
    if ending == ".csv":
        raise InputError(f"{name} holds JSON Lines; rename it to end in .jsonl", file=name)
    return True


def refuse_bytes(data: bytes, name: str, lines: int = 0, start: int = 0) -> None:
    """An error if a part of a text, after so many lines and bytes, holds NUL or is not UTF-8."""
    pa = pyarrow()
    if (at := data.find(b"\0")) >= 0:
        where = f"line {lines + line_at(data, at)} (byte {start + at})"
        raise InputError(f"{name} has a NUL byte in {where}; it is damaged or not a text file", file=name)
    whole = [None, pa.py_buffer(np.array([0, len(data)])), pa.py_buffer(data)]
    try:
        pa.Array.from_buffers(pa.large_string(), 1, whole).validate(full=True)
    except pa.ArrowInvalid:
        try:
            data.decode()
        except UnicodeDecodeError as error:
            line = lines + line_at(data, error.start)
            where = f"byte 0x{data[error.start]:02x} in line {line} (byte {start + error.start})"
            text = f"{name} is not UTF-8: {where}; save it as UTF-8 (is it Latin-1?)"
            raise InputError(text, file=name) from None
        raise


def line_at(data: bytes, at: int) -> int:
    """The number of a line, from 1, by a place in it."""
    return data.count(b"\n", 0, at) + 1


def ending_of(place: Path) -> str:
    """What a name says about the format of a text, of the text within if it is compressed."""
    return (Path(place.stem) if _is_compressed(place) else place).suffix.lower()


def _is_compressed(place: Path) -> bool:
    return place.suffix.lower() in _UTMOST


def _open(place: Path) -> Any:
    if place.suffix.lower() == ".zst":
        return pyarrow().CompressedInputStream(pyarrow().OSFile(str(place)), "zstd")
    return gzip.open(place) if _is_compressed(place) else place.open("rb")


def _fits_unpacked(place: Path, limit: float) -> bool:
    """Whether a compressed text is short; it is unpacked for that where its size does not tell."""
    stored, utmost = place.stat().st_size, _UTMOST[place.suffix.lower()]
    if not stored * _USUAL <= limit < stored * utmost:
        return stored * utmost <= limit
    unpacked = 0
    with _open(place) as stream:
        while unpacked <= limit and (part := stream.read(_BUFFER)):
            unpacked += len(part)
    return unpacked <= limit


def is_web_page(head: bytes) -> bool:
    """Whether a file begins as HTML does, as a login page that came in place of a table."""
    return head.removeprefix(codecs.BOM_UTF8).lstrip()[:14].lower().startswith((b"<!doctype html", b"<html"))


def _refuse_foreign(data: bytes, name: str) -> None:
    if is_web_page(data):
        raise InputError(f"{name} is a web page, not a table; was it a login page that was saved?", file=name)
    for magic, what in _FOREIGN.items():
        if data.startswith(magic):
            raise InputError(f"{name} {what}", file=name)
    for mark, encoding in _BOMS.items():
        if data.startswith(mark):
            raise InputError(f"{name} is encoded as {encoding}; save it as UTF-8", file=name)
    if 0 <= (at := data.find(b"\0")) < 2 and not any(data[at:40:2]):
        raise InputError(f"{name} seems to be encoded as UTF-16; save it as UTF-8", file=name)
    refuse_bytes(data, name)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(io.BytesIO(data).readline())
    except (ValueError, RecursionError):
        return False
    return True
