"""By what a changed dependence of two columns is told: one measure, its value in each sample, and how much it changed.

A test may find a change of which the usual measure knows nothing, such as y = x^2 in place of no dependence. Then the
measure is the one among those that the test compares that changed most. All changes are in units of a correlation of
all rows: what six of a thousand levels do counts by the share of their rows.
"""

from dataclasses import dataclass

import numpy as np

from densdiff.core.dependence import PairCells, PairChange, level_scores, mean_products
from densdiff.core.scaling import FloatArray

TELLING = 0.1  # a change below this is no news, however significant
_ROUNDS = 100  # of the fit of a table to other margins
_DISTANCE_SCALE = 0.2**0.5  # deviation of the second Legendre polynomial of uniform ranks


@dataclass(frozen=True)
class ToldChange:
    """A changed dependence in terms of one measure.

    ``measure`` may hold the places {first}, {second}, {level_first} and {level_second}, the latter for the levels in
    ``levels``.
    """

    pair: PairChange
    measure: str
    value_a: float
    value_b: float
    change: float  # at least 0, in units of a correlation
    levels: tuple[int | None, int | None] = (None, None)

    @property
    def signed_change(self) -> float | None:
        """The change of a correlation of ranks, which has a sign; None for other measures."""
        return self.value_b - self.value_a if self.measure == "Spearman's rho" else None


def told_change(pair: PairChange) -> ToldChange:
    """The change of a pair by the measure that tells it best: the usual one if that changed enough."""
    first, second = pair.cells.levels
    if first is None and second is None:
        return _numbers(pair)
    if first is not None and second is not None:
        return _categories(pair)
    return _number_in_levels(pair)


def _numbers(pair: PairChange) -> ToldChange:
    usual = abs(pair.dependence_b - pair.dependence_a)
    told = ToldChange(pair, pair.measure, pair.dependence_a, pair.dependence_b, usual)
    if usual >= TELLING:
        return told
    a, b = (mean_products(table / table.sum())[0] for table in pair.cells.tables)
    k = 1 + int(np.abs(b - a)[1:].argmax())
    if abs(b[k] - a[k]) <= usual:
        return told
    measure = (
        "",
        "correlation of {first} with the distance of {second} from its middle",
        "correlation of {second} with the distance of {first} from its middle",
        "correlation of the distances of both from their middles",
    )[k]
    return ToldChange(pair, measure, float(a[k]), float(b[k]), float(abs(b[k] - a[k])))


def _number_in_levels(pair: PairChange) -> ToldChange:
    """The usual measure, or the level in which the number's ranks, or their spread, moved most."""
    is_first = pair.cells.levels[0] is None  # the number
    tables = [table.T if is_first else table for table in pair.cells.tables]  # levels x cells of the number
    shares, _, (a, b) = level_scores(tables)
    moved = shares[:, None] * (b - a) ** 2  # (K, 2)
    change = float(np.sqrt(pair.cells.share * moved.sum(axis=0).max()))
    if abs(pair.dependence_b - pair.dependence_a) >= TELLING:
        return ToldChange(pair, pair.measure, pair.dependence_a, pair.dependence_b, change)
    k, degree = divmod(int(moved.argmax()), 2)
    number, place = ("{first}", "{second} = {level_second}") if is_first else ("{second}", "{first} = {level_first}")
    if degree == 0:
        measure = f"mean rank (from 0 to 1) of {number} where {place}"
        values = [0.5 + float(scores[k, 0]) / np.sqrt(12.0) for scores in (a, b)]
    else:
        measure = f"spread (1 in all rows) of the ranks of {number} where {place}"
        values = [float(np.sqrt(max(0.0, 1.0 + 2.0 * _DISTANCE_SCALE * scores[k, 1]))) for scores in (a, b)]
    own = pair.cells.levels[1] if is_first else pair.cells.levels[0]
    level = None if own is None else int(own[k])
    return ToldChange(pair, measure, values[0], values[1], change, (None, level) if is_first else (level, None))


def _categories(pair: PairChange) -> ToldChange:
    """The usual measure, or the two levels that go together more or less often than before."""
    a, b = _at_common_margins(pair.cells)
    chance = np.outer(a.sum(axis=1), a.sum(axis=0))
    moved = np.divide((b - a) ** 2, chance, out=np.zeros_like(a), where=chance > 0)
    change = float(np.sqrt(pair.cells.share * moved.sum() / max(1, min(a.shape) - 1)))
    if abs(pair.dependence_b - pair.dependence_a) >= TELLING:
        return ToldChange(pair, pair.measure, pair.dependence_a, pair.dependence_b, change)
    i, j = np.unravel_index(int(moved.argmax()), moved.shape)
    values = [float(table[i, j] / max(chance[i, j], np.finfo(float).tiny)) for table in (a, b)]
    measure = "how often {first} = {level_first} meets {second} = {level_second} (1 by chance)"
    first, second = (None if own is None else int(own[k]) for own, k in zip(pair.cells.levels, (i, j), strict=True))
    return ToldChange(pair, measure, values[0], values[1], change, (first, second))


def _at_common_margins(cells: PairCells) -> list[FloatArray]:
    """Both tables as shares, with their own odds ratios and the means of their margins, (K, L) each."""
    tables = [table / table.sum() for table in cells.tables]
    rows, columns = (np.mean([table.sum(axis=axis) for table in tables], axis=0) for axis in (1, 0))
    for _ in range(_ROUNDS):
        tables = [table * _ratio(rows, table.sum(axis=1))[:, None] for table in tables]
        tables = [table * _ratio(columns, table.sum(axis=0)) for table in tables]
    return tables


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.asarray(np.divide(above, below, out=np.zeros_like(above), where=below > 0))
