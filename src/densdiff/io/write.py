"""Results as files that are either whole or not there, written aside, then renamed; and lines at the end of a log.

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
    # the ending tells matplotlib the format, but node_exporter reads whatever ends in .prom, half written or not; a
    # name may have 255 bytes, of which a character takes up to 4
    aside = target.with_name(f".{os.getpid()}.{target.name[-60:]}{'.part' * (target.suffix == '.prom')}")
    try:
        yield aside
        _flush(aside)
        os.replace(aside, target)
    except OSError as error:
        raise InputError(f"{label}: {reason(error)}", file=name) from error
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Have a file on the disk before it takes the place of another, whatever becomes of the machine."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def open_to_append(path: str | PathLike[str]) -> Iterator[int]:
    """A file, made if there is none, whose writes go to its end whoever else writes; its number."""
    label, name = f"cannot write {shown(os.fspath(path))}", file_name(path)
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    except (OSError, ValueError) as error:
        raise InputError(f"{label}: {reason(error)}", file=name) from error
    try:
        yield file
    except OSError as error:
        raise InputError(f"{label}: {reason(error)}", file=name) from error
    finally:
        os.close(file)


def append_line(path: str | PathLike[str], line: str) -> None:
    """Add a line to a file in one piece; one that a former writer could not end does not swallow it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for line in ("first", "second"):
    ...         append_line(Path(folder, "night.log"), line)
    ...     Path(folder, "night.log").read_text()
    'first\\nsecond\\n'
    """
    with open_to_append(path) as file:
        is_torn = os.fstat(file).st_size > 0 and os.lseek(file, -1, os.SEEK_END) >= 0 and os.read(file, 1) != b"\n"
        content = f"{chr(10) * is_torn}{line}\n".encode()
        if os.write(file, content) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


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
