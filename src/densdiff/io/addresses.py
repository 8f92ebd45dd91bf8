"""Addresses among the texts that name tables: their parts, and what people may read of them.

Logins and signed query strings are never shown. How an address is read is in `remote` and `sql`.
"""

import os
import re
from os import PathLike
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from densdiff.errors import InputError
from densdiff.messages import one_line

DATABASES = ("sqlite", "postgresql", "postgres")
_SCHEME = re.compile(r"\A([a-zA-Z][a-zA-Z0-9+.-]+)://")  # two letters at least: C:// is a drive
_COLLAPSED = re.compile(r"\A(?:https?|s3|gs|sqlite|postgres(?:ql)?):/")
_QUERY = re.compile(r"(?:\A|&)query=")
_LOGIN = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]+://)[^\s'\"]*@")
_SIGNED = re.compile(r"(\b(?:https?|s3|gs)://[^\s?'\"]*)\?[^\s'\"]*")
_PASSWORD = re.compile(r"(password=)[^&\s'\"]*")


class DatabaseParts(NamedTuple):
    """What stands in the address of a database."""

    base: str  # between the scheme and the question mark
    options: list[tuple[str, str]]
    tables: list[str]  # one, if it is right
    query: str | None


def scheme_of(value: Any) -> str:
    """The scheme of an address in small letters; empty for a path.

    Examples
    --------
    >>> scheme_of("s3://shop/jan.csv"), scheme_of("jan.csv"), scheme_of("C://jan.csv")
    ('s3', '', '')
    """
    found = _SCHEME.match(value) if isinstance(value, str) else None
    return found[1].lower() if found else ""


def refuse_address_as_path(path: Any) -> None:
    """An error if a `pathlib.Path` was made of an address, of which it leaves one slash."""
    if isinstance(path, PathLike) and _COLLAPSED.match(os.fspath(path)):
        scheme = os.fspath(path).partition(":")[0]
        raise InputError(f"an address such as {scheme}://... must be text; got a Path, which drops one of its slashes")


def is_database(value: Any) -> bool:
    """Whether a text is the address of a database."""
    return scheme_of(value) in DATABASES


def split_database(uri: str) -> DatabaseParts:
    """The parts of an address; all that follows ``query=`` is the query, which stands there plain or percent-encoded.

    Examples
    --------
    >>> split_database("sqlite:///shop.db?query=select * from orders where city like '%20%'").query
    "select * from orders where city like '%20%'"
    """
    base, _, rest = uri.partition("://")[2].partition("?")
    query = None
    if found := _QUERY.search(rest):
        rest, query = rest[: found.start()], rest[found.end() :]
        query = query if re.search(r"\s", query) else unquote(query)  # an encoded text has no spaces
    pairs = [(key, value) for key, _, value in (part.partition("=") for part in rest.split("&") if part)]
    tables = [value for key, value in pairs if key == "table"]
    return DatabaseParts(base, [pair for pair in pairs if pair[0] != "table"], tables, query)


def short_name(address: str) -> str:
    """What messages call an address: a table, a query and its database, or the last part of a path.

    Examples
    --------
    >>> short_name("https://me:secret@host/2024/x.csv?token=secret")
    'x.csv'
    >>> short_name("postgresql://me:secret@host/shop?query=select 1")
    'query of shop'
    """
    if is_database(address):
        parts = split_database(address)
        if not parts.tables:
            return f"{'query of ' * (parts.query is not None)}{_last_part(parts.base)}"
        return one_line(unquote(parts.tables[0]))
    return _last_part(urlsplit(address).path) or _host(address) or scheme_of(address)


def full_name(address: str) -> str:
    """An address without its login and its query string; a table with its database; a path as it is.

    Examples
    --------
    >>> full_name("https://me:secret@host/2024/x.csv?token=secret")
    'https://host/2024/x.csv'
    >>> full_name("sqlite:///shop.db?table=orders")
    'orders of shop.db'
    """
    if not scheme_of(address):
        return address
    if is_database(address):
        parts = split_database(address)
        return f"{short_name(address)} of {_last_part(parts.base)}" if parts.tables else short_name(address)
    return one_line(f"{scheme_of(address)}://{_host(address)}{unquote(urlsplit(address).path)}")


def local_file(address: str) -> str | None:
    """The file on this machine that a path or an address names, None for one on another.

    Examples
    --------
    >>> local_file("sqlite:////var/my%20shop.db?table=orders"), local_file("jan.csv"), local_file("s3://shop/jan.csv")
    ('/var/my shop.db', 'jan.csv', None)
    """
    scheme = scheme_of(address)
    return (
        unquote(split_database(address).base.removeprefix("/")) if scheme == "sqlite" else (None if scheme else address)
    )


def hide_logins(text: str) -> str:
    """A text, such as a message or a traceback, without the logins and signed query strings of addresses in it.

    Examples
    --------
    >>> hide_logins("cannot open 'https://me:secret@host/x.csv?token=secret'")
    "cannot open 'https://***@host/x.csv'"
    """
    return _PASSWORD.sub(r"\1***", _SIGNED.sub(r"\1", _LOGIN.sub(r"\1***@", text)))


def _host(address: str) -> str:
    return urlsplit(address).netloc.rpartition("@")[2]


def _last_part(path: str) -> str:
    return one_line(unquote(path.rstrip("/").rpartition("/")[2].rpartition("@")[2]))
