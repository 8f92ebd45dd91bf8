"""Files at addresses, fetched once into a temporary folder and read from there like any other.

The folder is removed when nobody needs the file any more, and when the process ends.
"""

import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from densdiff.errors import DensDiffError, InputError, MissingExtraError
from densdiff.io.addresses import full_name, scheme_of, short_name
from densdiff.io.text import is_web_page
from densdiff.io.wording import server_reason

_PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "https": "aiohttp", "http": "aiohttp"}
_CURES = {
    "s3": "check AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "check GOOGLE_APPLICATION_CREDENTIALS",
}
_PATIENCE = {"sock_connect": 20, "sock_read": 60}  # seconds; none for the whole, which may be large
_BEGINNINGS = {b"PAR1": ".parquet", b"\x93NUMPY": ".npy", b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}


class Download:
    """A file in a temporary folder that lives as long as this object."""

    def __init__(self, address: str) -> None:
        self.name = short_name(address)
        with _as_refusal(address, self.name):
            self._folder = Path(tempfile.mkdtemp(prefix="densdiff-"))
            self.remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            try:
                self.place = _named_by_content(_fetch(address, self._folder / _safe_name(self.name)))
                _refuse_web_page(self.place, self.name, address)
            except BaseException:
                self.remove()
                raise


@contextmanager
def _as_refusal(address: str, name: str) -> Iterator[None]:
    """Turn whatever goes wrong while a file is fetched into one sentence."""
    try:
        yield
    except DensDiffError:
        raise
    except Exception as error:
        where, status = full_name(address), getattr(error, "status", None)
        if isinstance(error, FileNotFoundError) or status in (404, 410):
            raise InputError(f"{where} does not exist", file=name) from None
        is_denied = isinstance(error, PermissionError) or status in (401, 403)
        cure = "; " + _CURES.get(scheme_of(address), "check the login in the address") if is_denied else ""
        # what raised it may quote the address, and is not shown
        raise InputError(f"{where} cannot be fetched: {server_reason(error)}{cure}", file=name) from None


def _fetch(address: str, place: Path) -> Path:
    """Write what is at an address into a file; an error unless all of it came."""
    scheme = scheme_of(address)
    if scheme not in _PACKAGES:
        known = ", ".join(f"{name}://" for name in [*_PACKAGES, "sqlite", "postgresql"])
        name = short_name(address)
        raise InputError(f"{name} is at an address of the unknown kind {scheme}://; known are {known}", file=name)
    for options in _attempts(scheme):
        try:
            _copy(address, place, scheme, options)
        except Exception as error:
            if type(error).__name__ != "NoCredentialsError" or "anon" in options:
                raise
        else:
            break
    return place


def _attempts(scheme: str) -> list[dict[str, Any]]:
    """Options of the file system, one after the other until one is let in."""
    if scheme == "s3":
        return [{}, {"anon": True}]
    if scheme == "gs":
        return [{}]
    timeout = _module("aiohttp", scheme).ClientTimeout(total=None, **_PATIENCE)
    # a file that is compressed on the way would not be the one that its name says
    return [{"client_kwargs": {"timeout": timeout, "trust_env": True}, "headers": {"Accept-Encoding": "identity"}}]


def _copy(address: str, place: Path, scheme: str, options: dict[str, Any]) -> None:
    _module(_PACKAGES[scheme], scheme)
    fsspec = _module("fsspec", scheme)
    files = fsspec.filesystem(scheme, skip_instance_cache=True, **options)
    count = import_module("fsspec.callbacks").Callback()
    more = {"max_concurrency": 1} if scheme == "s3" else {}  # in parts it might be one file's begin and another's end
    files.get_file(address, str(place), callback=count, **more)
    size = place.stat().st_size
    if scheme in ("s3", "gs") and count.size not in (None, size):  # aiohttp counts by itself
        raise OSError(f"only {size} of {count.size} bytes came")


def _module(name: str, scheme: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        install = "gcsfs" if name == "gcsfs" else '"densdiff[remote]"'
        raise MissingExtraError(f"reading from {scheme}:// needs {name}: pip install {install}") from error


def _safe_name(name: str) -> str:
    """A name as that of a file: no folder, nothing hidden, not too long; endings stay."""
    return re.sub(r"[^\w. -]", "_", name)[-80:].lstrip(". ") or "table"


def _named_by_content(place: Path) -> Path:
    """A file whose name has no ending, as addresses of downloads often have none, with that of what it holds."""
    if place.suffix:
        return place
    with place.open("rb") as file:
        head = file.read(8)
    ending = next((ending for beginning, ending in _BEGINNINGS.items() if head.startswith(beginning)), "")
    return place.rename(place.with_name(place.name + ending)) if ending else place


def _refuse_web_page(place: Path, name: str, address: str) -> None:
    with place.open("rb") as file:
        head = file.read(1024)
    if is_web_page(head):
        text = f"{full_name(address)} is a web page, not a table; is the address right, and does it need a login?"
        raise InputError(text, file=name)
