"""How much memory rows may take: whole tables by scikit-learn's ``working_memory``, blocks by constants.

How much a file would take is told by the reader of its format.
"""

import ctypes
import math
import os
import sys

from densdiff.errors import InputError
from densdiff.messages import memory_limit

_SHARE = 0.25  # of the memory ceiling: what rows may take that are read whole
VALUES = 1 << 20  # in a block of Parquet or NumPy: 8 MiB of numbers
TEXT_BLOCK = 1 << 23  # bytes of text in a block


def working_memory() -> float:
    """scikit-learn's setting in MiB; while scikit-learn is not loaded, what it will begin with."""
    get_config = getattr(sys.modules.get("sklearn"), "get_config", None)
    return float(get_config()["working_memory"] if get_config else os.environ.get("SKLEARN_WORKING_MEMORY", 1024))


def room() -> float:
    """Bytes that rows at hand may take."""
    return _SHARE * working_memory() * 2**20


def give_back() -> None:
    """Return what was freed to the system where that can be asked for: glibc keeps hundreds of MiB of many threads."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def refuse_large(needed: int, file: str, more: str = "") -> None:
    """An error if so many bytes are more than the ceiling; ``more`` says that they are not yet all."""
    allowed = working_memory()
    if needed > allowed * 2**20:
        needed = math.ceil(needed / 2**20)
        raise InputError(
            f"{file} needs {more}{needed} MiB of memory, the limit is {allowed:g} MiB; take fewer rows or columns, "
            f"or raise the limit with {memory_limit('...' if more else needed)}",
            file=file,
        )
