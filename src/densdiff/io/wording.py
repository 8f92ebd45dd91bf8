"""What messages call a file, and why the system or a reader refused it.

Flaws of one format are worded beside its reader.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from densdiff.errors import DensDiffError, InputError
from densdiff.io.addresses import hide_logins, scheme_of, short_name
from densdiff.messages import listed, near_name, one_line, shown


def file_name(path: str | PathLike[str]) -> str:
    """A path or an address as messages call it, without its folder, login and query string."""
    if isinstance(path, str) and scheme_of(path):
        return short_name(path)
    return "standard input" if os.fspath(path) == "-" else one_line(Path(path).name or os.fspath(path) or ".")


def refuse_missing(path: str | PathLike[str]) -> None:
    """An error if there is no such file or folder; what else may be wrong with a path is for its reader to say."""
    try:
        os.stat(path)
    except FileNotFoundError as error:
        name = file_name(path)
        raise InputError(f"{name} does not exist in the folder {shown(str(Path(path).parent))}", file=name) from error
    except (OSError, ValueError):
        return


def reason(error: BaseException) -> str:
    """Why something failed, in the words of the system or of the reader, without its paths and advice."""
    if isinstance(error, OSError) and error.errno:
        text = os.strerror(error.errno)
        return text[:1].lower() + text[1:]
    if isinstance(error, ValueError) and "embedded null" in str(error):
        return "embedded null byte"  # of a path; Python's own words change with its version
    return one_line(str(error).strip().split("\n")[0], 200) or type(error).__name__


def driver_reason(error: BaseException) -> str:
    """Why a database refused, in its own words without those of the driver around them."""
    text = re.sub(
        r"\A(?:[A-Z_]+: )?(?:\[\w+\] )?(?:Failed to [^:]*: )?(?:Execution error[^:]*: )?(?:ERROR: +)?",
        "",
        str(error).strip(),
    )
    return one_line(re.split(r"\n|\. SQLSTATE", text)[0].strip(), 300) or type(error).__name__


def server_reason(error: BaseException) -> str:
    """Why a file could not be had from its server, in few words and without its address."""
    if (status := getattr(error, "status", None)) is not None:  # of aiohttp
        return f"the server answered {status} {one_line(getattr(error, 'message', ''))}".rstrip()
    if cause := getattr(error, "os_error", None):
        host, number = one_line(str(getattr(error, "host", "it"))), cause.errno or 0
        why = os.strerror(number) if number > 0 else cause.strerror or str(cause)  # below 0 of the name's server
        return f"cannot connect to {host}: {one_line(why)}"
    return one_line(hide_logins(reason(error)), 200)


@contextmanager
def as_input_error(name: str, what: str, is_file: bool = True) -> Iterator[None]:
    """Turn whatever a reader raises, be it of damaged bytes or of a lazy table, into one `InputError` with its name."""
    try:
        yield
    except DensDiffError:
        raise
    except Exception as error:
        raise InputError(f"{name} {what}: {reason(error)}", file=name if is_file else None) from error


def refuse_absent(columns: Sequence[str] | None, names: Sequence[str], file: str) -> None:
    """An error if columns are asked for that a file does not have."""
    existing = set(names)
    if absent := [column for column in columns or () if column not in existing]:
        text = f"{file} has no column {listed(absent)}{near_name(absent[0], names)}; it has {listed(names)}"
        raise InputError(text, file=file, argument="columns", column=absent[0])


def repeated(names: Sequence[str]) -> list[str]:
    """Names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def refuse_repeated(names: Sequence[str], where: str, cure: str, file: str) -> None:
    """An error if two columns of a file, or of a line of it, have one name."""
    if twice := repeated(names):
        text = f"{where} has more than one column named {listed(twice)}; {cure}"
        raise InputError(text, file=file, column=twice[0])
