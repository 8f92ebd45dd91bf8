"""Arrays and a header of JSON in one npz file: nothing that could run, and one sentence for whatever is wrong.

What the arrays of a state or a profile must be is checked beside what they are for.
"""

import json
import math
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from densdiff import messages
from densdiff.errors import InputError
from densdiff.io.memory import working_memory
from densdiff.io.npy import quiet
from densdiff.io.options import is_path
from densdiff.io.write import atomic_write

T = TypeVar("T")
_WORDS = 300  # characters of a reason


def save_arrays(
    path: str | PathLike[str], header: dict[str, Any], arrays: dict[str, Any], *, pack: bool = False
) -> None:
    """Write to exactly that path, all or nothing: a crash must not take the last file along."""
    refuse_no_path(path)
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with atomic_write(path) as aside, aside.open("wb") as file:
        (np.savez_compressed if pack else np.savez)(file, header=text, **arrays)


def load_arrays(path: str | PathLike[str], what: str, build: Callable[[dict[str, Any], dict[str, Any]], T]) -> T:
    """What ``build`` makes of the header and the arrays of a file; anything else is an error that says ``what``."""
    refuse_no_path(path)
    shown = messages.shown(str(path))
    try:
        with Path(path).open("rb") as file:
            if file.read(2) != b"PK":
                raise InputError("it is not an npz file")
            file.seek(0)
            with quiet(), np.load(file, allow_pickle=False) as store:
                _refuse_large(sum(member.file_size for member in store.zip.infolist()))
                arrays = {name: store[name] for name in store.files}
        header = json.loads(arrays.pop("header").tobytes().decode())
        if not isinstance(header, dict):
            raise InputError("its header is not an object")
        return build(header, arrays)
    except FileNotFoundError:
        raise InputError(f"there is no file {shown}", file=str(path)) from None
    except IsADirectoryError:
        raise InputError(f"{shown} is not {what}: it is a folder", file=str(path)) from None
    except PermissionError:
        raise InputError(f"{shown} cannot be read: permission denied", file=str(path)) from None
    except _TooLarge as error:
        raise InputError(f"{shown} is not {what}: {error.marked}", file=str(path)) from None
    except Exception as error:  # a damaged file fails in more ways than can be listed
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
        why = "it holds Python objects, which are never loaded" if "allow_pickle" in why else why
        why = messages.escaped(why[:_WORDS])  # some of it is the file's
        raise InputError(f"{shown} is not {what}: {why}", file=str(path)) from None


def check_kind(header: dict[str, Any], kind: str, schema: int) -> None:
    """An error if a header is not of this kind and this schema."""
    if header.get("kind") != kind:
        raise InputError(f"its header is not that of a {kind.split()[-1]}")
    if header["schema"] != schema:
        other = f"it has schema {header['schema']!r}, this version reads {schema}"
        raise InputError(f"{other}; it was written by densdiff {header.get('version')}")


def checked_texts(value: Any, name: str) -> tuple[str, ...]:
    """A list of texts from a header."""
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InputError(f"its {name} are not a list of strings")
    return tuple(value)


def refuse_no_path(path: Any) -> None:
    """An error if a value cannot name a file."""
    if not is_path(path):
        raise InputError(f"path must name a file; got {messages.describe_value(path)}", argument="path")


class _TooLarge(InputError):
    """A file would take too much memory; nothing of the text comes from the file."""


def _refuse_large(needed: int) -> None:
    """An error if arrays would take more than the memory ceiling: a small file may unpack to a large one."""
    allowed = working_memory()
    if needed > allowed * 2**20:
        needed = math.ceil(needed / 2**20)
        cure = f"raise the limit with {messages.memory_limit(needed)} if you trust the file"
        raise _TooLarge(f"it needs {needed} MiB of memory, the limit is {allowed:g} MiB; {cure}")
