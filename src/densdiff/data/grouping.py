"""Rows of two tables by the values of some columns: how many each group has, and the groups one after another.

Groups that fit into memory are gathered, many in one pass; a larger one stays a source whose blocks keep its rows only.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from densdiff.core.selection import IntArray
from densdiff.data.choosing import choose_kinds, choose_names, names_of
from densdiff.data.converting import convert_block
from densdiff.data.holding import stack_tables
from densdiff.data.inputs import input_of, read_both
from densdiff.data.match import SchemaChanges
from densdiff.data.table import Column, Table, missing_values, table_of, text_of
from densdiff.data.tables import Request
from densdiff.errors import InputError
from densdiff.io.memory import room
from densdiff.messages import argument, describe_value, listed, near_name, shown
from densdiff.sources.blocks import BlockSource, IteratedBlocks
from densdiff.sources.passes import run_passes
from densdiff.sources.source import ArraySource, Pass, Source

MOST_GROUPS = 1000
MISSING_GROUP = "missing"
_BYTES = 64  # that a value takes at hand, if it is text
_GROUPABLE = ("numbers", "booleans", "text", "categories", "dates or durations")

Key = tuple[str | None, ...]  # the value of each column as text, None for a missing one
Counts = dict[Key, int]


@dataclass(frozen=True)
class GroupedTables:
    """Two tables whose rows are told apart by the columns ``by``, and how many rows of each every group has."""

    by: tuple[str, ...]
    sources: tuple[Source, Source]
    counts: tuple[Counts, Counts]
    columns: tuple[list[str] | None, list[str] | None]  # that are read of each table, None where they have no names
    width: int  # columns that are read
    schema_changes: SchemaChanges

    @property
    def keys(self) -> list[Key]:
        """The groups of both tables, the largest first."""
        totals = {
            key: self.counts[0].get(key, 0) + self.counts[1].get(key, 0) for table in self.counts for key in table
        }
        return sorted(totals, key=lambda key: (-totals[key], group_label(key)))

    def sizes(self, key: Key) -> tuple[int, int]:
        """Rows of a group in each table."""
        return self.counts[0].get(key, 0), self.counts[1].get(key, 0)

    def groups(self, keys: Sequence[Key]) -> Iterator[tuple[Key, Source, Source]]:
        """Each of some groups with its rows of both tables, as many at a time as memory has room for."""
        batch: list[Key] = []
        for key in keys:
            if self._bytes([key]) > room():
                yield key, *self._filtered(key)
                continue
            if self._bytes([*batch, key]) > room():
                yield from self._gathered(batch)
                batch = []
            batch.append(key)
        yield from self._gathered(batch)

    def _bytes(self, keys: Sequence[Key]) -> int:
        return sum(sum(self.sizes(key)) for key in keys) * self.width * _BYTES

    def _filtered(self, key: Key) -> tuple[Source, Source]:
        """Both tables without the rows of other groups, which are read again whenever they are needed."""
        a, b = (
            source.changed(partial(_keep_group, self.by, source.where, key), columns)
            for source, columns in zip(self.sources, self.columns, strict=True)
        )
        return a, b

    def _gathered(self, keys: Sequence[Key]) -> Iterator[tuple[Key, Source, Source]]:
        """Groups whose rows are taken into memory, in one pass over each table."""
        if not keys:
            return
        passes = [
            Pass(source, partial(_split_block, self.by, source.where, frozenset(keys)), _join_groups, columns)
            for source, columns in zip(self.sources, self.columns, strict=True)
        ]
        tables_a, tables_b = run_passes(passes)
        for key in keys:
            yield key, _at_hand(self.sources[0], tables_a.pop(key)), _at_hand(self.sources[1], tables_b.pop(key))


def group_tables(A: Any, B: Any, by: Any, request: Request) -> GroupedTables:
    """Two tables, each read once to count the rows of every group; what is asked of their columns is checked first."""
    names = _check_by(by)
    a, b = input_of(A, request.where[0], keep_text=True), input_of(B, request.where[1], keep_text=True)
    heads = [a.header(), b.header()]
    for head in heads:
        _refuse_lacking(head, names)
    choose_names(heads, request.columns, request.exclude)
    chosen = choose_names(heads, request.columns, without_groups(request, names).exclude)
    if request.kinds is not None:
        choose_kinds(heads, request.kinds)
    read_all = request.exclude is not None or request.kinds is not None  # they may name columns that are not compared
    columns = [
        [name for name in head.names if read_all or name in (*own, *names)] if head.names else None
        for head, own in zip(heads, chosen, strict=True)
    ]
    sources = read_both(a, b, (columns[0] or [], columns[1] or []))
    counted = [list(names) if head.names else None for head in heads]
    passes = [
        Pass(source, partial(_count_rows, names, source.where), partial(_add_counts, names, source.where), needed)
        for source, needed in zip(sources, counted, strict=True)
    ]
    counts_a, counts_b = run_passes(passes)
    missing, added = ([name for name in chosen[k] if name not in chosen[1 - k]] for k in (0, 1))
    return GroupedTables(
        by=names,
        sources=sources,
        counts=(counts_a, counts_b),
        columns=(columns[0], columns[1]),
        width=max(len(head.columns if own is None else own) for head, own in zip(heads, columns, strict=True)),
        schema_changes=SchemaChanges(tuple(missing), tuple(added)),
    )


def without_groups(request: Request, by: Sequence[str]) -> Request:
    """A request that leaves out the columns that groups are made by."""
    unwanted = [request.exclude] if isinstance(request.exclude, str) else [*(request.exclude or ())]
    return replace(request, exclude=[*unwanted, *by])


def group_label(key: Key) -> str:
    """What a group is called: the values of its columns."""
    return " / ".join(MISSING_GROUP if value is None else value for value in key)


def refuse_same_labels(keys: Sequence[Key], by: Sequence[str]) -> None:
    """An error if two groups would be called the same, as rows without a value and those with the text "missing"."""
    labels = [group_label(key) for key in keys]
    if twice := [label for label in dict.fromkeys(labels) if labels.count(label) > 1]:
        text = f"{listed(by)}: two groups would both be called {shown(twice[0])}; rename one of these values"
        raise InputError(f"{argument('by')} {text}", argument="by", column=by[0])


def _check_by(by: Any) -> tuple[str, ...]:
    """The names of the columns that make groups; one text is one name."""
    names = (by,) if isinstance(by, str) else tuple(by) if isinstance(by, (list, tuple)) else ()
    if not names or not all(isinstance(name, str) for name in names):
        text = f'{argument("by")} must be the name of a column, or a list of names such as ["region", "shop"]'
        raise InputError(f"{text}; got {describe_value(by)}", argument="by")
    if len(set(names)) < len(names):
        raise InputError(f"{argument('by')} names a column twice: {listed(names)}; name each once", argument="by")
    return names


def _refuse_lacking(head: Table, names: Sequence[str]) -> None:
    """An error if a table has no column that groups are made by, or no other."""
    own = names_of(head)
    if lacking := [name for name in names if name not in own]:
        text = f"{argument('by')}: {head.where} has no column {listed(lacking)}{near_name(lacking[0], own)}"
        raise InputError(f"{text}; it has {listed(own)}", argument="by", column=lacking[0])
    if len(own) == len(names):
        text = f"{head.where} has no column but {listed(names)}, by which its rows are grouped; add one to compare"
        raise InputError(f"{argument('by')}: {text}", argument="by")


def _rows_by_key(by: Sequence[str], where: str, block: Any) -> tuple[Table, dict[Key, IntArray]]:
    """A block as a table, and the numbers of its rows of each group, in their order."""
    table = table_of(block, where)
    places = {name: j for j, name in enumerate(names_of(table))}
    if lacking := [name for name in by if name not in places]:
        raise InputError(f"a block of {where} lacks {listed(lacking)}; all blocks need the same columns")
    as_text = convert_block(dict.fromkeys(by, "category"), where, table, 0)
    keys = list(zip(*(_texts(as_text.columns[places[name]], name, where) for name in by), strict=True))
    place_of_key = {key: k for k, key in enumerate(dict.fromkeys(keys))}
    codes = np.fromiter((place_of_key[key] for key in keys), np.intp, len(keys))
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(codes, minlength=len(place_of_key)))[:-1])
    return table, dict(zip(place_of_key, parts, strict=True))


def _texts(column: Column, name: str, where: str) -> list[str | None]:
    """The values of a column as text, None where one is missing."""
    if column.kind not in _GROUPABLE:
        text = f"column {shown(name)} of {where} holds {column.kind}"
        need = "group by a column of text, numbers, booleans or dates"
        raise InputError(f"{argument('by')}: {text}; {need}", argument="by", column=name)
    objects, missing = column.values.tolist(), missing_values(column)
    texts = {value: text_of(value) for value in dict.fromkeys(objects)}
    return [None if absent else texts[value] for value, absent in zip(objects, missing, strict=True)]


def _count_rows(by: Sequence[str], where: str, block: Any, start: int) -> Counts:
    _, rows = _rows_by_key(by, where, block)
    return _limited({key: len(index) for key, index in rows.items()}, by, where)


def _add_counts(by: Sequence[str], where: str, a: Counts, b: Counts) -> Counts:
    return _limited({key: a.get(key, 0) + b.get(key, 0) for key in {**a, **b}}, by, where)


def _limited(counts: Counts, by: Sequence[str], where: str) -> Counts:
    """Counts as they are; an error if they are of more groups than a person could read about."""
    if len(counts) > MOST_GROUPS:
        text = f"{listed(by)} of {where} makes more than {MOST_GROUPS} groups; group by a column with fewer values"
        raise InputError(f"{argument('by')}: {text}", argument="by", column=by[0])
    return counts


def _keep_group(by: Sequence[str], where: str, key: Key, block: Any, start: int) -> Table:
    """The rows of a block that belong to a group, perhaps none."""
    table, rows = _rows_by_key(by, where, block)
    return table.some(rows.get(key, np.empty(0, dtype=np.intp)))


def _split_block(
    by: Sequence[str], where: str, wanted: frozenset[Key], block: Any, start: int
) -> dict[Key, list[Table]]:
    """The rows of a block that belong to each of some groups."""
    table, rows = _rows_by_key(by, where, block)
    return {key: [table.some(index)] for key, index in rows.items() if key in wanted}


def _join_groups(a: Mapping[Key, list[Table]], b: Mapping[Key, list[Table]]) -> dict[Key, list[Table]]:
    return {key: [*a.get(key, ()), *b.get(key, ())] for key in {**a, **b}}


def _at_hand(source: Source, tables: list[Table]) -> Source:
    """Rows in memory as a source: one table, or blocks if a column is of another kind in some of them."""
    if (whole := stack_tables(tables)) is not None:
        return ArraySource(source.where, whole)
    return BlockSource(source.where, IteratedBlocks(source.where, tables), sum(map(len, tables)), source.as_table)
