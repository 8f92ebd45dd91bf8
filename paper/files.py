"""Files that are either whole or not there."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import densdiff as dd
from paper.arguments import quoted


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """Give a temporary path beside the target; rename it over the target at the end, remove it after any failure.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written(Path(folder, "note.txt")) as aside:
    ...         _ = aside.write_text("all or nothing")
    ...     [file.name for file in Path(folder).iterdir()]
    ['note.txt']
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    aside = target.with_name(f".{os.getpid()}.{target.name}")
    try:
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))  # a rename would not ask
        yield aside
        os.replace(aside, target)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise dd.InputError(f"cannot write {quoted(str(path))}: {reason[:1].lower()}{reason[1:]}") from error
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
