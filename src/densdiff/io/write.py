"""Results as files that are either whole or not there: written aside, then renamed.

What is written is up to the caller.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from densdiff.errors import InputError
from densdiff.io.wording import file_name, reason
from densdiff.messages import shown


@contextmanager
def atomic_write(path: str | PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside the target; rename it over the target at the end, remove it after any failure.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder, "note.txt")) as aside:
    ...         _ = aside.write_text("all or nothing")
    ...     [file.name for file in Path(folder).iterdir()]
    ['note.txt']
    """
    label, name = f"cannot write {shown(os.fspath(path))}", file_name(path)
    try:
        target = _target(path, label, name)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{label}: {reason(error)}", file=name) from error
    # the ending tells matplotlib the format; a name may have 255 bytes, of which a character takes up to 4
    aside = target.with_name(f".{os.getpid()}.{target.name[-60:]}")
    try:
        yield aside
        os.replace(aside, target)
    except OSError as error:
        raise InputError(f"{label}: {reason(error)}", file=name) from error
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def _target(path: str | PathLike[str], label: str, name: str) -> Path:
    """Where a rename would put the file, or an error if it would fail or do harm there."""
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.is_dir():
        raise InputError(f"{label}: it is a folder", file=name)
    if not target.parent.is_dir():
        raise InputError(f"{label}: the folder {shown(str(Path(path).parent))} does not exist", file=name)
    if target.exists() and not target.is_file():
        raise InputError(f"{label}: it is not a regular file", file=name)  # a rename would take the place of /dev/null
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))  # a rename would not ask
    return target
