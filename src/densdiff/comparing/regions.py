"""Where one table has more rows than the other: rules in the words of the columns, each finding once."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from densdiff.comparing.findings import ColumnDifference, RegionDifference
from densdiff.comparing.pairs import level_numbers
from densdiff.comparing.wording import condition_text
from densdiff.core import regions
from densdiff.core.regions import Region
from densdiff.core.restating import Parts
from densdiff.core.rules import BoolArray, Condition, IntArray, Rule
from densdiff.core.scaling import FloatArray
from densdiff.data.categories import MISSING_LEVEL
from densdiff.data.missing import mark_name
from densdiff.data.pair import Pair
from densdiff.data.tables import MatchedTables


@dataclass(frozen=True)
class FoundRegions:
    """Rules that hold for more or fewer rows of B than of A, the strongest first, and the rows that tell so."""

    regions: list[Region]
    rows: FloatArray  # (N, d)
    in_b: BoolArray  # (N,)
    n_levels: IntArray  # (d,)

    def told(self, tables: MatchedTables, columns: list[ColumnDifference]) -> tuple[list[RegionDifference], int]:
        """The rules in words, and how many more were found that tell nothing new.

        Not told are rules that restate one of the ``columns`` that differs, those that only say that values are
        missing, and those about the columns of a stronger rule in the same direction. They were tested and counted all
        the same, so that p-values remain what they are.
        """
        places = {name: j for j, name in enumerate(tables.names)}
        own = [name for column in columns if column.differs for name in (column.name, mark_name(column.name))]
        differing = Parts([places[name] for name in own if name in places], self.rows, self.n_levels)
        told: list[Region] = []
        for region in self.regions:
            is_known = _is_missing(region.rule, tables) or any(_is_about_same(region, other) for other in told)
            if not is_known and differing.restated_by(region.rule, self.rows, self.in_b) is None:
                told.append(region)
        return [_in_words(region, tables) for region in told], len(self.regions) - len(told)


def find_regions(rows: Pair, alpha: float, seed: int) -> FoundRegions:
    """Search one half of the rows for rules, and test them on the other."""
    pooled, in_b = _pooled_rows(rows)
    n_levels = level_numbers(rows)
    found = regions.find_regions(pooled, in_b, n_levels, alpha, np.random.default_rng([seed, 22]))
    return FoundRegions(found, pooled, in_b, n_levels)


def _is_about_same(region: Region, other: Region) -> bool:
    """Whether two rules share two columns, or all of one's, and both gained or both lost rows."""
    first, second = ({condition.column for condition in each.rule} for each in (region, other))
    is_same_way = (region.share_b > region.share_a) == (other.share_b > other.share_a)
    return is_same_way and len(first & second) >= min(2, len(first), len(second))


def _in_words(region: Region, tables: MatchedTables) -> RegionDifference:
    return RegionDifference(
        rule=" and ".join(condition_text(condition, tables.names, tables.levels) for condition in region.rule),
        conditions=tuple(_condition(condition, tables) for condition in region.rule),
        share_a=region.share_a,
        share_b=region.share_b,
        interval=region.interval,
        pvalue_adjusted=region.pvalue,
        count_a=region.count_a,
        count_b=region.count_b,
    )


def _pooled_rows(rows: Pair) -> tuple[FloatArray, BoolArray]:
    """The rows of A, then those of B, (N, d), and which are of B, (N,)."""
    return np.concatenate([rows.x[:], rows.y[:]]), np.repeat([False, True], [len(rows.x), len(rows.y)])


def _is_missing(rule: Rule, tables: MatchedTables) -> bool:
    """Whether a rule says no more than that a column is missing, or is not."""
    if len(rule) > 1 or rule[0].levels is None:
        return False
    (condition,) = rule
    lacking = {name for name, _, _ in tables.missing}
    name, levels = tables.names[condition.column], tables.levels[condition.column] or ()
    if name in map(mark_name, lacking):
        return True
    inside = [levels[k] for k in condition.levels or ()]
    outside = [level for level in levels if level not in inside]
    return name in lacking and [MISSING_LEVEL] in (inside, outside)


def _condition(condition: Condition, tables: MatchedTables) -> dict[str, Any]:
    """One condition of a rule as plain values."""
    levels = tables.levels[condition.column]
    low, high = (None if np.isinf(end) else end for end in (condition.low, condition.high))
    chosen = None if condition.levels is None or levels is None else [levels[k] for k in condition.levels]
    return {"column": tables.names[condition.column], "low": low, "high": high, "levels": chosen}
