"""The address of a database: what it is called, and what of it must never be shown.

Tables and queries of it are read in `sql`.
"""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from densdiff.errors import InputError
from densdiff.io.addresses import is_database, scheme_of, split_database
from densdiff.io.wording import as_input_error, file_name, refuse_missing
from densdiff.messages import one_line, shown

SQLITE = b"SQLite format 3\0"  # how such a file begins
_PASSWORDS = ("password", "sslpassword")
_ESCAPE = "write @ : / ? # within a user's name or password as %40 %3A %2F %3F %23"


@dataclass(frozen=True)
class Database:
    """Where a database is; its password, if it has one, is part of the target and of nothing that is shown."""

    kind: str  # sqlite or postgresql
    name: str
    target: str = field(repr=False)  # a path, or an address for libpq
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def hide(self, text: str) -> str:
        """A text without what must not be shown."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


@dataclass(frozen=True)
class DatabaseAddress:
    """A database and what is wanted of it: a table by the parts of its name, or a query."""

    database: Database
    table: tuple[str, ...] = ()
    query: str | None = None

    @property
    def name(self) -> str:
        """What messages call the table or the query."""
        return one_line(".".join(self.table)) if self.table else f"query of {self.database.name}"


def parse_database(uri: str) -> DatabaseAddress:
    """The database of an address, and the table or query.

    Examples
    --------
    >>> parse_database("postgresql://me@host/shop?table=jan.orders").table
    ('jan', 'orders')
    """
    if not is_database(uri):
        need = "sqlite:///shop.db or postgresql://user@host/shop"
        raise InputError(f"the address of a database is needed, such as {need}", argument="uri")
    base, options, tables, query = split_database(uri)
    database = _sqlite(base, options) if scheme_of(uri) == "sqlite" else _postgresql(base, options)
    if len(tables) + (query is not None) > 1:
        text = f"the address of {database.name} names more than one table or query; name one"
        raise InputError(text, file=database.name)
    return DatabaseAddress(database, tuple(map(unquote, tables[0].split("."))) if tables else (), query)


def _sqlite(base: str, options: list[tuple[str, str]]) -> Database:
    path = unquote(base.removeprefix("/"))
    if not base.startswith("/"):
        raise InputError(f"{shown('sqlite://' + base)} needs a third slash before the path: sqlite:///{one_line(path)}")
    name = file_name(path)
    if options:
        text = f"the address of {name} has an unknown part {shown(options[0][0])}; name a table by ?table="
        raise InputError(text, file=name)
    refuse_missing(path)
    if Path(path).is_dir():
        raise InputError(f"{name} is a folder, and a SQLite database is a file", file=name)
    with as_input_error(name, "cannot be read"), open(path, "rb") as file:
        head = file.read(len(SQLITE))
    if head not in (SQLITE, b""):  # a new database is empty
        raise InputError(f"{name} is not a SQLite database", file=name)
    return Database("sqlite", name, path)


def _postgresql(base: str, options: list[tuple[str, str]]) -> Database:
    host, _, path = base.partition("/")
    login, _, hosts = host.rpartition("@")
    given = dict(options)
    ports = [re.sub(r"\A\[[^]]*\]", "", each).partition(":")[2] for each in hosts.split(",")]
    if "@" in path or any(port and not port.isdigit() for port in ports):
        raise InputError(f"the address of a PostgreSQL database cannot be understood; {_ESCAPE}")
    name = unquote(path or given.get("dbname", "")) or os.environ.get("PGDATABASE") or "PostgreSQL"
    if "connect_timeout" not in given and "PGCONNECT_TIMEOUT" not in os.environ:
        options = [*options, ("connect_timeout", "10")]  # libpq would wait for minutes
    options = [*options, ("fallback_application_name", "densdiff")]
    encoded = {login.partition(":")[2], *(given.get(key, "") for key in _PASSWORDS)}
    secrets = {text for each in encoded for text in (each, unquote(each)) if text}
    query = "&".join(f"{key}={value}" for key, value in options)
    return Database("postgresql", one_line(name), f"postgresql://{base}?{query}", tuple(secrets))
