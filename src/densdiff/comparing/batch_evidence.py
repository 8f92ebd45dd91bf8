"""One batch against its reference: the comparison, and evidence without the floor that permutations have.

With B permutations no p-value is below 1 / (B + 1), and after a year of nights none is small enough. So half of the
level of a batch belongs to exact bounds of the cells of columns and of pairs of columns (`core.tails`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from densdiff.comparing.columns import CONFIDENCE
from densdiff.comparing.compare import compare_matched, compare_profiles, match_as_asked
from densdiff.comparing.decision import decision_pvalue
from densdiff.comparing.effects import MinEffect, smallest_effect
from densdiff.comparing.profile import Profile
from densdiff.comparing.profile_comparison import ProfilePair, pair_profiles
from densdiff.comparing.results import Comparison
from densdiff.comparing.settings import Settings
from densdiff.core.frozen_witness import FrozenVariation, Shares, column_shares, largest_shift
from densdiff.core.scaling import FloatArray
from densdiff.core.selection import draw_rows
from densdiff.core.tails import CELLS, COARSE, column_tail, group_cells, pair_counts_tail, pair_tail, tail_bound
from densdiff.data.inputs import source_of
from densdiff.data.missing import mark_name
from densdiff.data.tables import MatchedTables, Request
from densdiff.sources.sample import Sample
from densdiff.sources.source import length

_ROWS = 100_000  # of a table whose cells are counted
_PAIRED = 100  # columns whose pairs are looked at


@dataclass(frozen=True)
class Evidence:
    """A comparison, the p-value of the batch, and those of its columns as parts of it."""

    comparison: Comparison
    pvalue: float
    columns: dict[str, float]
    frozen: FrozenVariation


@dataclass(frozen=True)
class Tails:
    """p-values from the cells of columns, each adjusted for their number, and from those of all pairs of columns; and
    what the reference's own cells see."""

    columns: dict[str, float]
    pairs: float
    frozen: FrozenVariation


def batch_evidence(reference: Any, batch: Any, request: Request, settings: Settings) -> Evidence:
    """The comparison of a batch with its reference, and what it tells."""
    if isinstance(reference, Profile) or isinstance(batch, Profile):
        profiles = pair_profiles(reference, batch, request.where, request)
        return combine_evidence(compare_profiles(profiles, settings), profile_tails(profiles), settings.min_effect)
    tables = match_as_asked(reference, batch, request, settings)
    comparison = compare_matched(tables, settings)
    return combine_evidence(comparison, table_tails(tables, settings.seed), settings.min_effect)


def combine_evidence(comparison: Comparison, tails: Tails, least: MinEffect) -> Evidence:
    """E21: the p-value of a batch: permutations and cells take half of its level each, columns and pairs half of that.

    What is smaller than the smallest effect that counts does not count; that only raises p-values.
    """
    sizes = {column.name: column.total_variation for column in comparison.columns}
    permuted = {column.name: column.pvalue_adjusted for column in comparison.columns}
    columns = {
        name: min(1.0, 4.0 * min(permuted[name], tails.columns.get(name, 1.0)))
        for name, size in sizes.items()
        if size >= smallest_effect(least, name)
    }
    pairs = 4.0 * tails.pairs if comparison.total_variation.value >= smallest_effect(least) else 1.0
    parts = [1.0, 2.0 * decision_pvalue(comparison)[0], pairs, *columns.values()]
    return Evidence(comparison, min(parts), columns, tails.frozen)


def table_tails(tables: MatchedTables, seed: int) -> Tails:
    """What the cells of two tables tell; a mark of missing values belongs to its column."""
    rows = [_rows_of(sample, seed) for sample in (tables.a, tables.b)]
    pooled, n = np.concatenate(rows), len(rows[0])  # (N, d)
    owners = {mark_name(name): name for name, *_ in tables.missing}
    columns: dict[str, float] = {}
    coarse, shares = [], []
    for j, name in enumerate(tables.names):
        is_ordered = tables.levels[j] is None
        _, cells, counts = np.unique(pooled[:, j], return_inverse=True, return_counts=True)
        of_a = np.bincount(cells[:n], minlength=len(counts))
        own = owners.get(name, name)
        tail = column_tail(of_a, counts - of_a, is_ordered)
        columns[own] = min(columns.get(own, 1.0), len(tables.names) * tail)
        shares.append(column_shares(of_a, counts - of_a, is_ordered))
        if j < _PAIRED:
            coarse.append(group_cells(counts, is_ordered, COARSE)[cells])
    frozen = largest_shift(shares, n, len(rows[1]), CONFIDENCE)
    return Tails(columns, pair_tail(np.column_stack(coarse), n), frozen)


def profile_tails(profiles: ProfilePair) -> Tails:
    """What the cells of two profiles tell.

    Levels that were rare in the table that the cells were made of are put together there, so all others together say
    nothing: they would be fewer in that table than anywhere else.
    """
    a, b = profiles.a, profiles.b
    tests: list[tuple[str, float]] = []
    shares = []
    for j, own in enumerate(a.frame.numbers):
        tests.append((own.name, column_tail(a.cells[j], b.cells[j], is_ordered=True)))
        tests.append((own.name, float(tail_bound(a.missing[j], b.missing[j], a.n, b.n))))
        shares.append(column_shares(a.cells[j], b.cells[j], is_ordered=True))
        shares.append(Shares(np.array([a.missing[j] / a.n]), np.array([b.missing[j] / b.n])))
    for j, level in enumerate(a.frame.categories):
        frequent = np.argsort(-(a.levels[j] + b.levels[j])[:-1], kind="stable")[:CELLS]
        bounds = tail_bound(a.levels[j][frequent], b.levels[j][frequent], a.n, b.n)
        tests.append((level.name, min(1.0, len(frequent) * float(bounds.min()))))
        shares.append(column_shares(a.levels[j], b.levels[j], is_ordered=False))
    columns: dict[str, float] = {}
    for name, pvalue in tests:
        columns[name] = min(columns.get(name, 1.0), len(tests) * pvalue)
    pairs = pair_counts_tail(a.pairs, b.pairs, a.n, b.n)
    return Tails(columns, pairs, largest_shift(shares, a.n, b.n, CONFIDENCE))


def join_batches(batches: Sequence[tuple[str, Any]]) -> Any:
    """Several batches as one table, or profiles as one."""
    tables = [table for _, table in batches]
    if all(isinstance(table, Profile) for table in tables):
        return reduce(Profile.merge, tables)
    return JoinedTables(batches)


def _rows_of(sample: Sample, seed: int) -> FloatArray:
    """All rows of a table, or as many as are enough."""
    return sample[:] if len(sample) <= _ROWS else sample[draw_rows(seed, len(sample), _ROWS)]


@dataclass(frozen=True)
class JoinedTables:
    """The rows of several batches, one after the other, as blocks."""

    batches: Sequence[tuple[str, Any]]  # labels and tables

    def __iter__(self) -> Iterator[Any]:
        for label, table in self.batches:
            for _, block in source_of(table, label, keep_text=True).in_order(None):
                yield block


def count_rows(table: Any, label: str) -> int:
    """How many rows a batch has that is not compared."""
    if isinstance(table, Profile):
        return table.n
    source = source_of(table, label, keep_text=True)
    if source.rows is not None:
        return source.rows
    return int(source.run(lambda block, first: length(block, source.as_table), add, None))
