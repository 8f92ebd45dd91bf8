"""How much memory rows may take: whole tables by scikit-learn's ``working_memory``, blocks by constants.

How much a file would take is told by the reader of its format.
"""

import math

from sklearn import get_config

from densdiff.errors import InputError
from densdiff.messages import memory_limit

_SHARE = 0.25  # of the memory ceiling: what rows may take that are read whole
VALUES = 1 << 20  # in a block of Parquet or NumPy: 8 MiB of numbers
TEXT_BLOCK = 1 << 23  # bytes of text in a block


def room() -> float:
    """Bytes that rows at hand may take."""
    return float(_SHARE * get_config()["working_memory"] * 2**20)


def refuse_large(needed: int, file: str, more: str = "") -> None:
    """An error if so many bytes are more than the ceiling; ``more`` says that they are not yet all."""
    allowed = get_config()["working_memory"]  # MiB
    if needed > allowed * 2**20:
        needed = math.ceil(needed / 2**20)
        raise InputError(
            f"{file} needs {more}{needed} MiB of memory, the limit is {allowed:g} MiB; take fewer rows or columns, "
            f"or raise the limit with {memory_limit('...' if more else needed)}",
            file=file,
        )
