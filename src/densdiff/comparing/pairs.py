"""Which pairs of columns came to depend on each other in another way, in the words of their names and levels."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from densdiff import messages
from densdiff.comparing.findings import PairDifference
from densdiff.comparing.pictures import map_of
from densdiff.core.dependence import pair_changes
from densdiff.core.dependence_words import ToldChange
from densdiff.core.pair_choice import choose_pairs
from densdiff.data.pair import Pair

_MOST = 10
_MAPPED = 4  # pairs that are drawn


def find_pairs(rows: Pair, alpha: float, seed: int) -> tuple[list[PairDifference], int]:
    """Pairs of columns whose dependence differs, the first ones with a map, and how many more there are.

    P-values are adjusted over all pairs that were tested; see `choose_pairs` for those that are not told.
    """
    if len(rows.names) < 2:
        return [], 0
    changes = pair_changes(rows.x[:], rows.y[:], level_numbers(rows))
    told, more = choose_pairs(changes, alpha, _MOST)
    pairs: list[PairDifference] = []
    for change in told:
        i, j = change.pair.first, change.pair.second
        pairs.append(
            PairDifference(
                first=rows.names[i],
                second=rows.names[j],
                measure=_measure_text(change, rows, i, j),
                dependence_a=change.value_a,
                dependence_b=change.value_b,
                change=change.change,
                pvalue_adjusted=change.pair.pvalue_adjusted,
                map=map_of(_two_columns(rows, i, j), seed) if len(pairs) < _MAPPED else None,
            )
        )
    return pairs, more


def level_numbers(rows: Pair) -> npt.NDArray[np.intp]:
    """How many levels each column has, 0 for numbers, (d,)."""
    levels = rows.levels or (None,) * len(rows.names)
    return np.array([0 if names is None else len(names) for names in levels])


def _measure_text(change: ToldChange, rows: Pair, i: int, j: int) -> str:
    """The measure with the names of the columns and levels that it is about."""
    names = {"first": messages.quote_name(rows.names[i]), "second": messages.quote_name(rows.names[j])}
    for place, column, level in (("level_first", i, change.levels[0]), ("level_second", j, change.levels[1])):
        own = rows.levels[column] if rows.levels else None
        names[place] = "" if own is None or level is None else messages.quote_name(own[level])
    return change.measure.format(**names)


def _two_columns(pair: Pair, i: int, j: int) -> Pair:
    levels = (pair.levels[i], pair.levels[j]) if pair.levels else ()
    x, y = pair.x.only([i, j]), pair.y.only([i, j])
    two = Pair.of(x, y, (pair.names[i], pair.names[j]), levels if any(levels) else ())
    return replace(two, varying=pair.varying[[i, j]], copies=pair.copies)
