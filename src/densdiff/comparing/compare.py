"""Do two tables differ, how much, in which columns, and where?"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from densdiff import messages
from densdiff.comparing.pictures import ROWS as PICTURED_ROWS
from densdiff.comparing.pictures import curve, map_of, shares
from densdiff.comparing.results import (
    ColumnDifference,
    Comparison,
    MissingDifference,
    PairDifference,
    RegionDifference,
)
from densdiff.comparing.wording import condition_text, describe_levels, describe_shift, effect_word
from densdiff.core import regions as core_regions
from densdiff.core import resample, selection
from densdiff.core.dependence import pair_changes
from densdiff.core.scaling import FloatArray
from densdiff.data import parameters
from densdiff.data.pair import Pair
from densdiff.data.tables import MatchedTables, match_tables
from densdiff.errors import InputError, plain
from densdiff.estimators.lsdd import LSDD
from densdiff.results import Curve, Shares
from densdiff.solvers.prepared import rows_to_prefetch
from densdiff.sources.sample import all_at_once
from densdiff.testing import columns as single
from densdiff.testing.two_sample import pair_test
from densdiff.threads import on_one_thread

_LEVEL = 0.95  # of intervals
_JOINT_ROWS = 10_000  # of a table that are looked at together when there are several columns
_PAIRED = 100  # columns among which pairs are sought
_PICTURED, _MAPPED = 50, 4  # columns and pairs that are drawn


@on_one_thread
def compare(
    A: Any,
    B: Any,
    *,
    columns: Sequence[str] | None = None,
    alpha: float = 0.05,
    min_effect: float = 0.0,
    missing: str = "error",
    n_permutations: int = 999,
    random_state: Any = None,
) -> Comparison:
    """Compare two tables of numbers, categories and booleans.

    Parameters
    ----------
    A, B : data frame, array, mapping of columns, path, Dask collection or iterable of blocks
        Columns are matched by name. A path is a CSV, Parquet, JSON Lines or .npy file, read in blocks if it is large.
    columns : sequence of str, optional
        Compare these only.
    alpha : float
        Level of each part of the answer: the joint test, all columns together, all pairs, all regions.
    min_effect : float
        Smallest normalized distance that counts as a difference; with many rows everything is significant.
    missing : {"error", "drop", "level"}
        Refuse missing values; drop rows that have any; or let "missing" be a level of its column.
    n_permutations : int
    random_state : None, int, Generator or RandomState

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import densdiff as dd
    >>> tables = dd.datasets.mixed_tables(400, random_state=0)
    >>> found = dd.compare(tables.a, tables.b, n_permutations=199, random_state=0)
    >>> found.differ, found.columns[0].name
    (True, 'spend')
    """
    alpha = parameters.fraction(alpha, "alpha")
    min_effect = _effect(min_effect)
    parameters.whole(n_permutations, "n_permutations", 1)
    names = _where(A, messages.name_of("A")), _where(B, messages.name_of("B"))
    seed = parameters.seed(random_state)
    both = match_tables(A, B, columns, missing, names, partial(_rows_to_prefetch, seed))
    with messages.gathered() as texts:
        found = _compared(both, alpha, min_effect, n_permutations, seed)
    for text in dict.fromkeys(texts):
        messages.warn(text)
    return found


def _rows_to_prefetch(seed: int, n: int, m: int) -> tuple[Any, Any]:
    """Rows of large tables to have at hand: of fits, of pictures, and those that tell of all columns together."""
    found = rows_to_prefetch(seed, LSDD().n_centers, n, m)
    more = [
        [selection.draw_rows(seed, size, min(size, count)) for count in (_JOINT_ROWS, PICTURED_ROWS)] for size in (n, m)
    ]
    x, y = (np.concatenate([index, *others]) for index, others in zip(found, more, strict=True))
    return x, y


def _where(table: Any, name: str) -> str:
    return messages.escaped(Path(table).name) or name if isinstance(table, (str, PathLike)) else name


def _effect(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not 0 <= value <= 1:
        need = f"{messages.argument('min_effect')} must lie between 0 and 1, as the normalized distance"
        raise InputError(f"{need}; got {messages.came(value)}", argument="min_effect")
    return float(value)


def _compared(both: MatchedTables, alpha: float, min_effect: float, permutations: int, seed: int) -> Comparison:
    d, numeric = len(both.names), not any(both.levels)
    every = sum(both.sizes)
    pair, notes = _some_rows(
        both, seed, every if d == 1 or (numeric and d == 2) else _JOINT_ROWS, "the distance of all columns"
    )
    distance = LSDD(random_state=seed).fit_pair(pair).l2_distance(_LEVEL)
    joint, more = _some_rows(both, seed, every if d == 1 else _JOINT_ROWS, "the joint test")
    test = pair_test(LSDD(random_state=seed), joint, permutations, low_order=True)
    notes = [*distance.warnings, *notes, *more]
    if 1.0 / (permutations + 1) > alpha:
        messages.warn(f"{permutations} permutations cannot reach a p-value of {alpha:g}; ask for more", notes)
    once = _distinct(both, pair.copies)
    found, how = _columns(once, alpha, permutations, seed)
    if once is not both:
        joint, _ = _some_rows(once, seed, _JOINT_ROWS, "")
    if not all_at_once(joint.x, joint.y):
        joint, _ = _some_rows(both, seed, _JOINT_ROWS, "")
    rows = _rows_of(joint)
    place = {name: j for j, name in enumerate(both.names)}
    chosen = sorted(place[column.name] for column in found[:_PAIRED])
    if len(chosen) < d:
        notes.append(f"pairs were sought among the {len(chosen)} columns that differ most by themselves")
    levels = np.array([0 if of is None else len(of) for of in both.levels])
    return Comparison(
        differ=test.pvalue <= alpha and distance.normalized >= min_effect,
        distance=distance,
        effect=effect_word(distance.normalized),
        test=test,
        columns=found,
        adjustment=how,
        pairs=_pairs(both, joint, levels, chosen, alpha, seed),
        regions=_regions(both, *rows, levels, alpha, seed),
        missing=_missing(both, alpha),
        left_out=[(name, plain(why)) for name, why in both.left_out],
        alpha=alpha,
        min_effect=min_effect,
        sigma=distance.sigma,
        lam=distance.lam,
        solver=distance.solver,
        n_centers=distance.n_centers,
        n_x=both.sizes[0],
        n_y=both.sizes[1],
        seed=seed,
        tuning=f"{distance.tuning}; test {test.tuning}",
        warnings=tuple(dict.fromkeys(map(plain, [*both.notes, *notes, *test.warnings]))),
    )


def _some_rows(both: MatchedTables, seed: int, most: int, what: str) -> tuple[Pair, list[str]]:
    """At most so many rows of each table, the same ones of two that are the same."""
    sizes = both.rows
    whole = max(sizes) <= most
    if whole and (most > _JOINT_ROWS or all_at_once(both.a, both.b)):
        return both.pair(), []
    of_a, of_b = (np.sort(selection.draw_rows(seed, size, min(size, most))) for size in sizes)
    note = [] if whole else [f"{what} is of {len(of_a)} and {len(of_b)} rows drawn at random"]
    return both.some(of_a, of_b).pair(), note


def _distinct(both: MatchedTables, copies: int) -> MatchedTables:
    """Without copies of whole rows, if all rows occur equally often."""
    if copies == 1:
        return both
    firsts = (np.sort(np.unique(rows[:], axis=0, return_index=True)[1]) for rows in (both.a, both.b))
    return both.some(*firsts)


def _columns(both: MatchedTables, alpha: float, permutations: int, seed: int) -> tuple[list[ColumnDifference], str]:
    d = len(both.names)
    how = single.adjustment(*both.rows, permutations, all_at_once(both.a, both.b))

    def examine(j: int) -> tuple[single.ColumnCells | None, single.ColumnDistance, str]:
        pair = both.column(j)
        of = pair.levels[0] if pair.levels else None
        if of is not None:
            found = single.level_cells(pair, how), single.level_distance(pair, _LEVEL)
            return *found, describe_levels(of, *single.level_counts(pair))
        found = single.number_cells(pair, seed, how), single.number_distance(pair, _LEVEL, seed)
        return *found, describe_shift(pair.x, pair.y)

    cells, distances, moved = zip(*both.a.each(examine, range(d)), strict=True)
    p, adjusted = np.ones(d), np.ones(d)
    varying = [j for j in range(d) if cells[j] is not None]
    used = [each for each in cells if each is not None]
    if used:
        p[varying], adjusted[varying] = single.column_pvalues(used, both.rows, how, permutations, alpha, seed)
    found = [
        ColumnDifference(
            name=name,
            kind="number" if both.levels[j] is None else "category",
            normalized=distances[j].normalized,
            interval=distances[j].interval,
            pvalue=float(p[j]),
            pvalue_adjusted=float(adjusted[j]),
            differs=bool(adjusted[j] <= alpha),
            direction=moved[j] if adjusted[j] <= alpha else "no significant change",
        )
        for j, name in enumerate(both.names)
    ]
    order = sorted(range(d), key=lambda j: (not found[j].differs, -found[j].normalized, found[j].pvalue))
    drawn = [_pictured(both.column(j), seed) if k < _PICTURED else None for k, j in enumerate(order)]
    return [replace(found[j], profile=profile) for j, profile in zip(order, drawn, strict=True)], how


def _pictured(pair: Pair, seed: int) -> Curve | Shares | None:
    if not pair.varying[0]:
        return None
    return shares(pair) if pair.levels else curve(pair, _LEVEL, seed)


def _rows_of(pair: Pair) -> tuple[FloatArray, Any]:
    return np.concatenate([pair.x[:], pair.y[:]]), np.repeat([False, True], [len(pair.x), len(pair.y)])


def _pairs(
    both: MatchedTables, joint: Pair, levels: Any, chosen: list[int], alpha: float, seed: int
) -> list[PairDifference]:
    """Among the chosen columns."""
    if len(chosen) < 2:
        return []
    found = pair_changes(joint.x[:][:, chosen], joint.y[:][:, chosen], levels[chosen])
    pairs: list[PairDifference] = []
    for each in found:
        if each.pvalue_adjusted <= alpha:
            i, j = chosen[each.first], chosen[each.second]
            drawn = map_of(_two(joint, i, j), seed) if len(pairs) < _MAPPED else None
            dependence = each.dependence_a, each.dependence_b
            pairs.append(
                PairDifference(both.names[i], both.names[j], each.measure, *dependence, each.pvalue_adjusted, drawn)
            )
    return pairs


def _two(pair: Pair, i: int, j: int) -> Pair:
    """Two columns of a pair."""
    levels = (pair.levels[i], pair.levels[j]) if pair.levels else ()
    x, y = pair.x.only([i, j]), pair.y.only([i, j])
    found = Pair.of(x, y, (pair.names[i], pair.names[j]), levels if any(levels) else ())
    return replace(found, varying=pair.varying[[i, j]], copies=pair.copies)


def _regions(
    both: MatchedTables, rows: FloatArray, in_b: Any, levels: Any, alpha: float, seed: int
) -> list[RegionDifference]:
    found = core_regions.find_regions(rows, in_b, levels, alpha, np.random.default_rng([seed, 22]))
    return [
        RegionDifference(
            rule=" and ".join(condition_text(each, both.names, both.levels) for each in region.rule),
            conditions=tuple(_condition(each, both) for each in region.rule),
            share_a=region.share_a,
            share_b=region.share_b,
            interval=region.interval,
            pvalue_adjusted=region.pvalue,
            count_a=region.count_a,
            count_b=region.count_b,
        )
        for region in found
    ]


def _condition(each: core_regions.Condition, both: MatchedTables) -> dict[str, Any]:
    of = both.levels[each.column]
    low, high = (None if np.isinf(end) else end for end in (each.low, each.high))
    chosen = None if each.levels is None or of is None else [of[k] for k in each.levels]
    return {"column": both.names[each.column], "low": low, "high": high, "levels": chosen}


def _missing(both: MatchedTables, alpha: float) -> list[MissingDifference]:
    (n, m), p = both.sizes, []
    for _, of_a, of_b in both.missing:
        total, of_table, lost = (np.array([count]) for count in (n + m, m, of_a + of_b))
        p.append(core_regions.conditional_counts(total, of_table, lost, of_b)[0])
    adjusted = resample.holm(np.array(p))
    return [
        MissingDifference(name, of_a / n, of_b / m, float(each), bool(each <= alpha))
        for (name, of_a, of_b), each in zip(both.missing, adjusted, strict=True)
    ]
