"""What `reproduce` is called with: accepted, or refused in one harmless line that says what is needed."""

import numbers
from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import densdiff as dd

_LISTED = 5  # names before "and .. more"


def quoted(value: Any) -> str:
    """A value as one line: control and direction characters escaped, long ones cut."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in repr(value))
    return text if len(text) <= 80 else f"{text[:60]}..{text[-10:]}"


def quoted_list(names: Sequence[str]) -> str:
    """The first few of some names."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(map(quoted, names[:_LISTED])) + more


def whole_number(value: Any, name: str, minimum: int) -> int:
    """A whole number of at least ``minimum``; floats and booleans are refused."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or int(value) < minimum:
        raise dd.InputError(f"{name} must be a whole number, at least {minimum}; got {quoted(value)}")
    return int(value)


def data_folder(path: str | PathLike[str]) -> Path:
    """The folder with the data sets, which must be there."""
    folder = Path(path)
    if not folder.is_dir():
        raise dd.InputError(f"data is {quoted(fspath(path))}, which is not a folder; give the one with the data sets")
    return folder


def output_folder(path: str | PathLike[str]) -> Path:
    """The folder to write to, made with its subfolder ``work`` where they do not exist."""
    folder = Path(path)
    try:
        (folder / "work").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise dd.InputError(f"cannot make the folder {quoted(fspath(path))}: {error.strerror}") from error
    return folder
