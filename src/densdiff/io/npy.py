"""NumPy's .npy files as blocks of rows; a file that is read whole is one block.

Files that hold Python objects are refused, since to load them could run code.
"""

import math
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.errors import InputError
from densdiff.io import memory
from densdiff.io.wording import as_input_error, refuse_absent

_quiet = RLock()


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings of Python's parser about a damaged header, of NumPy about an old one.

    One thread at a time, since the process has one list of what is not shown.
    """
    with _quiet, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True)
class ArrayFile:
    """A .npy file after a look at its header; ``names`` are the columns that were chosen, x0, x1, and so on."""

    name: str
    place: Path
    shape: tuple[int, ...]
    needed: int  # bytes of all rows
    names: list[str] | None

    @property
    def places(self) -> list[Path]:
        return [self.place]

    @property
    def rows(self) -> int:
        return self.shape[0]

    def fits(self, room: float) -> bool:
        """Whether all rows take no more than ``room`` bytes; what is no table of rows cannot be read in blocks."""
        return self.needed <= room or len(self.shape) > 2

    def check(self) -> None:
        """Refuse nothing: the header has told all that can be told before reading."""

    def blocks(self, columns: list[str] | None) -> Iterator[Any]:
        """Arrays, or columns by name if some were chosen, whatever ``columns``: a row lies in one piece."""
        step = max(1024, memory.VALUES // max(1, math.prod(self.shape[1:])))
        for rows in self._read(step):
            rows = rows[:, None] if rows.ndim == 1 else rows
            yield rows if self.names is None else dict(zip(self.names, rows.T, strict=True))

    def whole(self) -> npt.NDArray[Any]:
        """All rows as they were saved, of the chosen columns."""
        memory.refuse_large(self.needed, self.name)
        return next(self._read(max(1, self.rows)), np.empty(self.shape))

    def _read(self, step: int) -> Iterator[npt.NDArray[Any]]:
        mapped = step < self.rows
        with quiet():
            array = np.asanyarray(np.load(self.place, mmap_mode="r" if mapped else None, allow_pickle=False))
        places = None if self.names is None or array.ndim != 2 else [int(name[1:]) for name in self.names]
        for start in range(0, len(array), step):
            rows = np.array(array[start : start + step]) if mapped else array
            yield rows if places is None else rows[:, places]


def open_npy(place: Path, name: str, columns: list[str] | None) -> ArrayFile:
    """A .npy file that holds plain numbers and is whole."""
    shape, dtype, stored = _header(place, name)
    needed = math.prod(shape) * dtype.itemsize
    if dtype.hasobject:
        text = f"{name} holds Python objects, which could run code when read; save it as numbers"
        raise InputError(text, file=name)
    if stored < needed:
        raise InputError(f"{name} is incomplete: it has {stored} of {needed} bytes; copy it again", file=name)
    if not shape:
        raise InputError(f"{name} holds a single number; save an array of rows", file=name)
    if columns is None or len(shape) > 2:
        return ArrayFile(name, place, shape, needed, None)
    refuse_absent(columns, [f"x{j}" for j in range(math.prod(shape[1:]))], name)
    return ArrayFile(name, place, shape, needed, columns)


def _header(place: Path, name: str) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape and kind of an array, and how many bytes of it are there."""
    if not place.stat().st_size:
        raise InputError(f"{name} is empty", file=name)
    with as_input_error(name, "is damaged"), place.open("rb") as file, quiet():
        if not file.read(6).startswith(b"\x93NUMPY"):
            raise InputError(f"{name} is not a NumPy file; save it with numpy.save", file=name)
        file.seek(0)
        version = np.lib.format.read_magic(file)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(file)
        return shape, dtype, os.fstat(file.fileno()).st_size - file.tell()
