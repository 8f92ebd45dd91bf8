"""What a comparison calls its tables: as asked, or by the names of files, tables and queries."""

from pathlib import Path
from typing import Any

from densdiff import messages
from densdiff.errors import InputError
from densdiff.io.addresses import full_name, scheme_of, short_name
from densdiff.io.files import is_path
from densdiff.io.sql import Query


def display_names(A: Any, B: Any, names: Any) -> tuple[str, str]:
    """What two tables are called: as asked, else by the names of their files, else A and B."""
    return _names_of(A, B) if names is None else _check_names(names)


def _check_names(names: Any) -> tuple[str, str]:
    """Two different texts that are not blank, harmless to show."""
    are_two = isinstance(names, (tuple, list)) and len(names) == 2 and all(isinstance(name, str) for name in names)
    if not are_two or not all(name.strip() for name in names) or names[0] == names[1]:
        need = f'{messages.argument("names")} must be two different texts, such as ("January", "July")'
        raise InputError(f"{need}; got {messages.describe_value(names)}", argument="names")
    return messages.escaped(names[0]), messages.escaped(names[1])


def _names_of(A: Any, B: Any) -> tuple[str, str]:
    """The names of files and tables, with what they are in if this tells them apart, else A and B."""
    tables, own = (A, B), (messages.name_of("A"), messages.name_of("B"))
    first, second = (_display_name(table, name) for table, name in zip(tables, own, strict=True))
    if first != second:
        return first, second
    if not all(is_path(table) for table in tables):
        return own
    if any(scheme_of(table) for table in tables):
        first, second = (full_name(str(table)) for table in tables)
        return (first, second) if first != second or A == B else own
    if Path(A) != Path(B):
        first, second = (
            messages.escaped(f"{Path(table).resolve().parent.name}/{Path(table).name}") for table in tables
        )
    return first, second


def _display_name(table: Any, name: str) -> str:
    """What messages call a table: the name of its file or in its database if it has one and ``name`` is not better."""
    if scheme_of(table):
        return short_name(table)
    if isinstance(table, Query):
        return table.name if name in ("A", "B") else name
    return messages.escaped(Path(table).name) or name if is_path(table) else name
