"""The columns of two tables, each by itself: whether it differs, how far, what moved, and its picture."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from densdiff.comparing.findings import ColumnDifference
from densdiff.comparing.movement import describe_levels, describe_numbers, moved_levels, moved_numbers, spaced_values
from densdiff.comparing.pictures import number_picture, shares
from densdiff.core.scaling import BoolArray, FloatArray
from densdiff.data.missing import mark_name
from densdiff.data.pair import Pair
from densdiff.data.tables import MatchedTables
from densdiff.io.memory import give_back, room
from densdiff.results import Bars, Curve, Shares
from densdiff.solvers.column import ColumnDistance, LevelColumn, NumberColumn
from densdiff.sources.array_sample import ArraySample
from densdiff.sources.sample import Sample, all_at_once
from densdiff.testing.columns import HOLM, ColumnTest, ColumnTester, level_cells, number_cells, spike_cells

_Answer = TypeVar("_Answer")
CONFIDENCE = 0.95  # level of intervals and bands
UNCHANGED = "no significant change"
_PRESENT_ROWS = 20_000  # of a large file, of which words and directions are made where values are missing
_PICTURED = 50  # columns that are drawn


@dataclass(frozen=True)
class _ColumnParts:
    """What is told of a column by itself; no tests if it is constant."""

    tests: list[ColumnTest]
    distance: ColumnDistance
    direction: str
    moved: float
    column: NumberColumn | LevelColumn | None  # kept if the picture is made of it


@dataclass(frozen=True)
class ColumnSettings:
    """How columns are tested: they take a ``share`` of alpha, other tests the rest; ``name`` is that of B.

    ``shares_rows`` is whether a row is the same one in all columns; ``tick`` is called after each column.
    """

    alpha: float
    share: float
    permutations: int
    seed: int
    name: str
    shares_rows: bool = True
    tick: Callable[[], None] | None = None


def compare_columns(tables: MatchedTables, settings: ColumnSettings) -> tuple[list[ColumnDifference], str]:
    """All columns but the marks of missing values, the most different first, and how their p-values are adjusted."""
    marks = {mark_name(name) for name, *_ in tables.missing if name in tables.names}
    places = [j for j, name in enumerate(tables.names) if name not in marks]
    d, seed = len(places), settings.seed
    numbers = sum(tables.levels[j] is None for j in places)
    tester = ColumnTester(
        tables.rows,
        settings.shares_rows,
        d + numbers,  # which have two tests each
        permutations=settings.permutations,
        alpha=settings.share * settings.alpha,
        seed=seed,
    )

    def examine(part: MatchedTables, place: int) -> _ColumnParts:
        j = part.names.index(tables.names[place])
        pair = part.column(j)
        if pair.levels:
            parts = _level_parts(pair, tester, place)
        else:
            parts = _number_parts(pair, _present_values(part, j), settings, tester, (place, d <= _PICTURED))
        if settings.tick is not None:
            settings.tick()
        return parts

    columns = _map_in_memory(examine, tables, places)
    pvalues, adjusted, are_smallest = _combined_pvalues(columns, tester, settings.share)
    differences = [
        ColumnDifference(
            name=tables.names[place],
            kind="number" if tables.levels[place] is None else "category",
            normalized=columns[j].distance.normalized,
            interval=columns[j].distance.interval,
            pvalue=float(pvalues[j]),
            pvalue_adjusted=float(adjusted[j]),
            differs=bool(adjusted[j] <= settings.alpha),
            direction=columns[j].direction if adjusted[j] <= settings.alpha else UNCHANGED,
            moved=columns[j].moved,
            is_smallest=bool(are_smallest[j]),
        )
        for j, place in enumerate(places)
    ]
    order = sorted(range(d), key=lambda j: (not differences[j].differs, -differences[j].moved, differences[j].pvalue))
    drawn = [j for j in order[:_PICTURED] if differences[j].differs or differences[j].kind == "category"]
    by_column = _pictures(tables, {places[j]: columns[j].column for j in drawn}, seed)
    return [replace(differences[j], picture=by_column.get(places[j])) for j in order], tester.adjustment


def _pictures(
    tables: MatchedTables, columns: dict[int, NumberColumn | LevelColumn | None], seed: int
) -> dict[int, Curve | Bars | Shares | None]:
    """Pictures of columns by their places, of what is kept of them or of the tables."""

    def draw(part: MatchedTables, place: int) -> Curve | Bars | Shares | None:
        column = columns[place]
        return _picture(column or NumberColumn(part.column(part.names.index(tables.names[place])), seed))

    return dict(zip(columns, _map_in_memory(draw, tables, list(columns)), strict=True))


def _map_in_memory(
    function: Callable[[MatchedTables, int], _Answer], tables: MatchedTables, places: list[int]
) -> list[_Answer]:
    """The function of each column of tables in memory: of files a few at a time, as many as fit there with their marks.

    Where not one fits, and on a cluster, columns share their passes over the rows.
    """
    at_once = int(room() / (2 * 8 * max(tables.rows)))  # of both tables
    if not places or all_at_once(tables.a, tables.b) or not at_once:
        return tables.a.map(partial(function, tables), places) if places else []
    answers: list[_Answer] = []
    for first in range(0, len(places), at_once):
        own = places[first : first + at_once]
        marks = [mark_name(tables.names[j]) for j in own]
        give_back()
        loaded = tables.loaded([*own, *(tables.names.index(mark) for mark in marks if mark in tables.names)])
        answers += loaded.a.map(partial(function, loaded), own)
        del loaded  # before the next ones come
    return answers


def _combined_pvalues(
    columns: list[_ColumnParts], tester: ColumnTester, share: float
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """p-values of columns, adjusted ones, and whether none could be smaller, (d,) each: of the best test of each."""
    tests = [test for column in columns for test in column.tests]
    owners = np.repeat(np.arange(len(columns)), [len(column.tests) for column in columns])
    pvalues, adjusted = np.ones(len(columns)), np.ones(len(columns))
    are_smallest = np.zeros(len(columns), dtype=bool)
    if not tests:
        return pvalues, adjusted, are_smallest
    every, every_adjusted = np.array([test.pvalue for test in tests]), tester.adjusted(tests)
    smallest = tester.smallest_pvalue * (1.0 + 1e-9)
    for j in np.unique(owners):
        own = owners == j
        pvalues[j] = min(1.0, own.sum() * every[own].min())
        adjusted[j] = min(1.0, every_adjusted[own].min() / share)
        floors = every[own] if tester.adjustment == HOLM else every_adjusted[own]
        are_smallest[j] = floors.min() <= smallest
    return pvalues, adjusted, are_smallest


def _present_values(tables: MatchedTables, j: int) -> tuple[Sample, Sample]:
    """A column of numbers in both tables without what stands for missing values."""
    mark = mark_name(tables.names[j])
    if mark not in tables.names:
        return tables.a.only([j]), tables.b.only([j])
    both = [sample.only([j, tables.names.index(mark)]).spaced(_PRESENT_ROWS) for sample in (tables.a, tables.b)]
    present = [rows[rows[:, 1] == 0, :1] for rows in both]
    values = [own if len(own) else rows[:, :1] for own, rows in zip(present, both, strict=True)]
    return ArraySample(np.asfortranarray(values[0])), ArraySample(np.asfortranarray(values[1]))


def _number_parts(
    pair: Pair, values: tuple[Sample, Sample], settings: ColumnSettings, tester: ColumnTester, asked: tuple[int, bool]
) -> _ColumnParts:
    """A column of numbers; its fit is kept for the picture if that shows the very rows of the fit.

    Not where there are many columns or rows: fits take megabytes each.
    """
    place, is_pictured = asked
    column = NumberColumn(pair, settings.seed)
    cells = [cells for cells in (number_cells(column), spike_cells(column)) if cells is not None]
    tests = [tester.test(one, place) for one in cells]
    distance = column.distance(CONFIDENCE)
    fitted = column if is_pictured and column.is_drawn_whole else None
    moved = moved_numbers(*map(spaced_values, values))
    return _ColumnParts(tests, distance, describe_numbers(*values, settings.name), moved, fitted)


def _level_parts(pair: Pair, tester: ColumnTester, place: int) -> _ColumnParts:
    """A column of categories: everything follows from its counts."""
    column = LevelColumn(pair)
    cells, distance = level_cells(column), column.distance(CONFIDENCE)
    tests = [] if cells is None else [tester.test(cells, place)]
    direction, moved = describe_levels(column.levels, *column.counts), moved_levels(*column.counts)
    return _ColumnParts(tests, distance, direction, moved, column)


def _picture(column: NumberColumn | LevelColumn) -> Curve | Bars | Shares | None:
    """The picture of a column; a constant has none."""
    if column.is_constant:
        return None
    return shares(column) if isinstance(column, LevelColumn) else number_picture(column, CONFIDENCE)
