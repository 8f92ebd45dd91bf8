"""Which columns a user named: by name, or by a pattern such as ``"price_*"``.

A name that a table has is that column, whatever characters it holds; else ``*``, ``?`` and ``[..]`` make it a pattern.
"""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from densdiff.data.table import Table
from densdiff.errors import InputError
from densdiff.messages import argument, describe_choice, describe_value, listed, near_name, shown

KINDS = ("number", "category")


def choose_names(
    tables: Sequence[Table], columns: Iterable[str] | str | None, exclude: Iterable[str] | str | None
) -> list[tuple[str, ...]]:
    """The names of the columns to use of each table, in the order asked for; ``columns`` without ``exclude``."""
    chosen = [names_of(table) for table in tables]
    if columns is not None:
        wanted = _checked(columns, "columns")
        if not wanted:
            text = f"{argument('columns')} is empty; name at least 1 column, or leave it out to use all"
            raise InputError(text, argument="columns")
        for table, names in zip(tables, chosen, strict=True):
            if lacking := [name for name in wanted if name not in names and not _matches(name, chosen)]:
                near = near_name(lacking[0], names)
                text = f"{table.where} has no column {listed(lacking)}{near}; it has {listed(names)}"
                raise InputError(text, argument="columns", column=lacking[0])
        chosen = [_select(names, wanted, chosen) for names in chosen]
        for table, names in zip(tables, chosen, strict=True):
            if not names:
                text = f"{table.where} has no column that matches {listed(wanted)}; it has {listed(names_of(table))}"
                raise InputError(text, argument="columns")
    if exclude is not None:
        unwanted = _checked(exclude, "exclude")
        _refuse_unmatched(unwanted, tables, "exclude")
        everything = [names_of(table) for table in tables]
        left_out = {name for names in everything for name in _select(names, unwanted, everything)}
        chosen = [tuple(name for name in names if name not in left_out) for names in chosen]
        for table, names in zip(tables, chosen, strict=True):
            if not names:
                text = f"{argument('exclude')} leaves no column of {table.where}; it has {listed(names_of(table))}"
                raise InputError(text, argument="exclude")
    return chosen


def choose_kinds(tables: Sequence[Table], kinds: Any) -> dict[str, str]:
    """The kind of each column that a user gave one; a name goes before a pattern, a later pattern before an earlier."""
    if not isinstance(kinds, Mapping):
        need = f'{argument("kinds")} must be a mapping such as {{"zip": "category"}}'
        raise InputError(f"{need}; got {describe_value(kinds)}", argument="kinds")
    for kind in kinds.values():
        if kind not in KINDS:
            need = f"a kind in {argument('kinds')} must be 'number' or 'category'"
            raise InputError(f"{need}; got {describe_choice(kind, KINDS)}", argument="kinds")
    wanted = _checked(kinds, "kinds")
    _refuse_unmatched(wanted, tables, "kinds")
    everything = [names_of(table) for table in tables]
    existing = {name for names in everything for name in names}
    resolved: dict[str, str] = {}
    for name in sorted(wanted, key=lambda name: name in existing):  # patterns first, so that names overrule them
        resolved |= {match: kinds[name] for names in everything for match in _select(names, [name], everything)}
    return resolved


def names_of(table: Table) -> tuple[str, ...]:
    """The names of the columns of a table; x0, x1, .. if it has none."""
    return table.names or default_names(len(table.columns))


def default_names(d: int) -> tuple[str, ...]:
    """Names x0, x1, .. for d columns that have none."""
    return tuple(f"x{j}" for j in range(d))


def is_pattern(name: str) -> bool:
    """Whether a name holds characters that match others."""
    return any(mark in name for mark in "*?[")


def _checked(names: Any, option: str) -> list[str]:
    """Names as a list of texts; one text is one name."""
    if isinstance(names, str):
        return [names]
    if isinstance(names, bytes) or not isinstance(names, Iterable):
        text = f"{argument(option)} must be a list of names; got {describe_value(names)}"
        raise InputError(text, argument=option)
    listed_names = list(names)
    if others := [name for name in listed_names if not isinstance(name, str)]:
        cure = f", such as {str(others[0])!r}" if isinstance(others[0], (int, tuple)) else ""
        need = f"{argument(option)} must be a list of names as strings{cure}"
        raise InputError(f"{need}; got {shown(others[0])}", argument=option)
    return listed_names


def _matches(name: str, tables: Sequence[Sequence[str]]) -> bool:
    """Whether a name is a pattern that some column matches; a name that a table has is none."""
    if not is_pattern(name) or any(name in names for names in tables):
        return False
    return any(fnmatchcase(other, name) for names in tables for other in names)


def _select(names: Sequence[str], wanted: Sequence[str], tables: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The names that are wanted, each once, in the order they are wanted in; ``tables`` has the names of all."""
    selected: dict[str, None] = {}
    for want in wanted:
        if _matches(want, tables):
            selected |= dict.fromkeys(name for name in names if fnmatchcase(name, want))
        elif want in names:
            selected[want] = None
    return tuple(selected)


def _refuse_unmatched(wanted: Sequence[str], tables: Sequence[Table], option: str) -> None:
    """An error if a name or pattern is that of no column of any table."""
    everything = [names_of(table) for table in tables]
    existing = list(dict.fromkeys(name for names in everything for name in names))
    if lacking := [name for name in wanted if name not in existing and not _matches(name, everything)]:
        where = " nor ".join(dict.fromkeys(table.where for table in tables))
        text = f"{argument(option)}: neither {where} has a column {listed(lacking)}{near_name(lacking[0], existing)}"
        raise InputError(f"{text}; they have {listed(existing)}", argument=option, column=lacking[0])
