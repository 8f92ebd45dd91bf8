"""All columns of two tables together: their distance, their test, and the rows that tell of them.

What is told of single columns is in `columns`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from densdiff.comparing.columns import CONFIDENCE
from densdiff.core import selection
from densdiff.data.pair import Pair
from densdiff.data.tables import MatchedTables
from densdiff.errors import plain
from densdiff.estimators.difference import DensityDifference, overlap_result
from densdiff.estimators.results import DistanceResult
from densdiff.solvers.column import PICTURE_ROWS
from densdiff.solvers.prepared import OVERLAP_ROWS, rows_to_prefetch
from densdiff.sources.sample import all_at_once
from densdiff.testing.two_sample import TwoSampleResult, pair_test
from densdiff.threads import cores

_JOINT_ROWS = 10_000  # of a table that are looked at together when there are several columns
_JOINT_VALUES = 5_000_000  # of a table that are looked at together in very many columns
_ONE_AT_A_TIME = 500  # columns beyond which questions to all of them are answered one after the other
_TESTED_VALUES = 5_000_000  # of a table that are tested together when there are more than two columns
_DISTANCE_ROWS = 2000  # that the L2 distance of several columns is of: it costs the square of them


def joint_rows_to_prefetch(seed: int, n: int, m: int) -> tuple[selection.IntArray, selection.IntArray]:
    """Rows of large tables to have at hand: of fits, of pictures, and those that tell of all columns together."""
    fitted, drawn = (
        rows_to_prefetch(seed, DensityDifference().n_centers, n, m),
        (_JOINT_ROWS, _DISTANCE_ROWS, PICTURE_ROWS),
    )
    x, y = (
        np.concatenate([rows, *(selection.draw_rows(seed, size, min(size, most)) for most in drawn)])
        for rows, size in zip(fitted, (n, m), strict=True)
    )
    return x, y


@dataclass(frozen=True)
class JointRows:
    """Rows of all columns together: those of the distance, those that are tested, and some for all else."""

    measured: Pair
    tested: Pair
    some: Pair
    copies: int  # how often every row occurs
    notes: list[str]

    @property
    def threads(self) -> int:
        """How many questions may be answered at a time: one, if each takes much memory for very many columns, or if the
        rows come from a file, which has one reader.
        """
        samples = [rows for pair in (self.measured, self.tested) for rows in (pair.x, pair.y)]
        return cores() if len(self.some.names) <= _ONE_AT_A_TIME and all_at_once(*samples) else 1

    def distance(self, seed: int) -> DistanceResult:
        """The L2 distance of all columns together."""
        return overlap_result(self.measured, seed, CONFIDENCE)

    def test(self, seed: int, permutations: int) -> TwoSampleResult:
        """The test of all columns together."""
        return pair_test(DensityDifference(random_state=seed), self.tested, permutations)


def draw_joint_rows(tables: MatchedTables, seed: int) -> JointRows:
    """The rows that tell of all columns together, and a note if the distance is not of all."""
    d, all_rows = len(tables.names), sum(tables.sizes)
    few_columns = d == 1 or (d == 2 and not any(tables.levels))
    looked_at = _joint_rows(d)
    most_measured = all_rows if few_columns else _DISTANCE_ROWS
    most_tested = all_rows if d <= 2 else int(np.clip(_TESTED_VALUES // d, _JOINT_ROWS, OVERLAP_ROWS))
    most_looked_at = all_rows if d == 1 else looked_at
    tables = _with_draws_at_hand(tables, seed, (most_looked_at, most_measured, most_tested))
    some, _ = _draw_rows(tables, seed, most_looked_at)
    # a draw of rows that all occur several times would hold some of them once
    source = tables if max(tables.rows) <= most_measured else distinct_rows(tables, some.copies)
    measured, notes = _draw_rows(source, seed, most_measured, "the L2 distance")
    if max(tables.rows) <= looked_at:  # few rows of a file are tested as an array
        return JointRows(measured, some, some, max(measured.copies, some.copies), notes)
    source = tables if max(tables.rows) <= most_tested else distinct_rows(tables, some.copies)
    tested, test_notes = _draw_rows(source, seed, most_tested, "the joint test")
    return JointRows(measured, tested, some, max(measured.copies, some.copies), [*notes, *test_notes])


def _joint_rows(d: int) -> int:
    """How many rows of a table of d columns are looked at together."""
    return min(_JOINT_ROWS, max(2, _JOINT_VALUES // d))


def joint_notes(tables: MatchedTables, distance: DistanceResult, test: TwoSampleResult) -> list[str]:
    """What the distance and the test have to say that is not said of the tables already."""
    told = set(map(plain, tables.notes))  # of both tables, as their parts call them
    return [text for text in (*distance.warnings, *test.warnings) if text not in told]


def _with_draws_at_hand(tables: MatchedTables, seed: int, sizes: Sequence[int]) -> MatchedTables:
    """The tables with the rows of several draws at hand after one pass; the scan fetched none if they were too many.

    Of very many columns these rows take hundreds of MiB, which are not kept any longer than to draw from them.
    """
    if all_at_once(tables.a, tables.b):
        return tables
    a, b = tables.a.aside(), tables.b.aside()
    for sample, rows in zip((a, b), tables.rows, strict=True):
        draws = [selection.draw_rows(seed, rows, size) for size in sizes if size < rows]
        sample.prefetch(np.concatenate([np.empty(0, np.intp), *draws]))
    return replace(tables, a=a, b=b)


def _draw_rows(tables: MatchedTables, seed: int, most: int, purpose: str = "") -> tuple[Pair, list[str]]:
    """At most so many rows of each table, the same ones of two that are the same, and a note if not all are taken."""
    sizes = tables.rows
    whole = max(sizes) <= most
    if whole and (most > _JOINT_ROWS or all_at_once(tables.a, tables.b)):
        return tables.pair(), []
    rows_a, rows_b = (np.sort(selection.draw_rows(seed, size, min(size, most))) for size in sizes)
    note = [] if whole else [f"{purpose} uses {len(rows_a)} and {len(rows_b)} rows drawn at random"]
    return tables.some(rows_a, rows_b).pair(), note


def distinct_rows(tables: MatchedTables, copies: int) -> MatchedTables:
    """Each row once if all rows occur equally often, else the tables as they are."""
    if copies == 1:
        return tables
    firsts = (selection.first_of_equal(rows[:]) for rows in (tables.a, tables.b))
    return tables.some(*firsts)


def rows_in_memory(tables: MatchedTables, joint: JointRows, seed: int) -> Pair:
    """Rows for pairs and regions, which need them in one piece, each once if all occur equally often."""
    distinct, rows = distinct_rows(tables, joint.copies), joint.some
    if distinct is not tables:
        rows, _ = _draw_rows(distinct, seed, _joint_rows(len(tables.names)))
    if not all_at_once(rows.x, rows.y):
        rows, _ = _draw_rows(tables, seed, _joint_rows(len(tables.names)))
    return rows
