"""The columns of two tables, each by itself: whether it differs, how far, what moved, and its picture."""

from dataclasses import dataclass, replace

import numpy as np

from densdiff.comparing.pictures import number_picture, shares
from densdiff.comparing.results import ColumnDifference
from densdiff.comparing.wording import describe_levels, describe_shift
from densdiff.data.pair import Pair
from densdiff.data.tables import MatchedTables
from densdiff.results import Bars, Curve, Shares
from densdiff.solvers.column import ColumnDistance, LevelColumn, NumberColumn
from densdiff.sources.sample import all_at_once
from densdiff.testing.columns import ColumnCells, choose_adjustment, column_pvalues, level_cells, number_cells

CONFIDENCE = 0.95  # level of intervals and bands
_PICTURED = 50  # columns that are drawn


@dataclass(frozen=True)
class _ColumnParts:
    """What is told of a column before p-values are; no cells if it is constant, no picture if it is drawn later."""

    cells: ColumnCells | None
    distance: ColumnDistance
    direction: str
    picture: Curve | Bars | Shares | None


def compare_columns(
    tables: MatchedTables, *, alpha: float, permutations: int, seed: int
) -> tuple[list[ColumnDifference], str]:
    """All columns, the most different first, and how their p-values are adjusted."""
    d = len(tables.names)
    adjustment = choose_adjustment(*tables.rows, permutations, all_at_once(tables.a, tables.b))

    def examine(j: int) -> _ColumnParts:
        pair = tables.column(j)
        return _level_parts(pair, adjustment) if pair.levels else _number_parts(pair, adjustment, seed, d <= _PICTURED)

    columns = tables.a.map(examine, range(d))  # of both tables; a table that is read in blocks shares its passes
    cells = {j: column.cells for j, column in enumerate(columns) if column.cells is not None}
    pvalues, adjusted = np.ones(d), np.ones(d)
    if cells:
        pvalues[list(cells)], adjusted[list(cells)] = column_pvalues(
            list(cells.values()), tables.rows, adjustment, permutations=permutations, alpha=alpha, seed=seed
        )
    differences = [
        ColumnDifference(
            name=name,
            kind="number" if tables.levels[j] is None else "category",
            normalized=columns[j].distance.normalized,
            interval=columns[j].distance.interval,
            pvalue=float(pvalues[j]),
            pvalue_adjusted=float(adjusted[j]),
            differs=bool(adjusted[j] <= alpha),
            direction=columns[j].direction if adjusted[j] <= alpha else "no significant change",
        )
        for j, name in enumerate(tables.names)
    ]
    order = sorted(range(d), key=lambda j: _rank(differences[j]))
    pictures = {j: columns[j].picture or _picture(tables.column(j), seed) for j in order[:_PICTURED]}
    return [replace(differences[j], picture=pictures.get(j)) for j in order], adjustment


def _number_parts(pair: Pair, adjustment: str, seed: int, is_pictured: bool) -> _ColumnParts:
    """A column of numbers; its picture is made here if it shows the very rows of the fit.

    Other pictures wait until it is known which columns are drawn: to keep the fits of all would take megabytes each.
    """
    column = NumberColumn(pair, seed)
    cells, distance = number_cells(column, adjustment), column.distance(CONFIDENCE)
    is_drawn = is_pictured and column.is_drawn_whole and not column.is_constant
    picture = number_picture(column, CONFIDENCE) if is_drawn else None
    return _ColumnParts(cells, distance, describe_shift(pair.x, pair.y), picture)


def _level_parts(pair: Pair, adjustment: str) -> _ColumnParts:
    """A column of categories: everything follows from its counts."""
    column = LevelColumn(pair)
    cells, distance = level_cells(column, adjustment), column.distance(CONFIDENCE)
    picture = None if column.is_constant else shares(column)
    return _ColumnParts(cells, distance, describe_levels(column.levels, *column.counts), picture)


def _picture(pair: Pair, seed: int) -> Curve | Bars | None:
    """The picture of a column of numbers that was not drawn before; a constant has none."""
    return None if pair.levels or not pair.varying[0] else number_picture(NumberColumn(pair, seed), CONFIDENCE)


def _rank(column: ColumnDifference) -> tuple[bool, float, float]:
    """What columns are sorted by: those that differ first, then by distance, then by p-value."""
    return not column.differs, -column.normalized, column.pvalue
