"""Do two tables differ, how much, in which columns, and where?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from densdiff import messages
from densdiff.comparing.columns import CONFIDENCE, ColumnSettings, compare_columns
from densdiff.comparing.decision import family_share, find_reasons, missing_rates, with_missing_rate, with_missing_rates
from densdiff.comparing.effects import MinEffect, check_effects, refuse_unmatched
from densdiff.comparing.pairs import find_pairs
from densdiff.comparing.profile import PROFILE_ENDING, Profile
from densdiff.comparing.profile_comparison import LEFT_OUT, ProfilePair, pair_profiles, profile_distance, profile_test
from densdiff.comparing.regions import find_regions
from densdiff.comparing.results import (
    ColumnDifference,
    Comparison,
    MissingDifference,
    PairDifference,
    RegionDifference,
)
from densdiff.comparing.wording import effect_word
from densdiff.core import selection
from densdiff.core.separation import newcombe_interval
from densdiff.data import parameters
from densdiff.data.missing import mark_name
from densdiff.data.pair import Pair
from densdiff.data.tables import MatchedTables, Request, match_tables
from densdiff.distance.total_variation import PairVariation, pair_variation
from densdiff.errors import InputError, named, plain
from densdiff.estimators.lsdd import LSDD
from densdiff.estimators.results import DistanceResult
from densdiff.io.addresses import full_name, scheme_of, short_name
from densdiff.io.files import is_path
from densdiff.io.sql import Query
from densdiff.solvers.column import PICTURE_ROWS
from densdiff.solvers.prepared import rows_to_prefetch
from densdiff.sources.sample import all_at_once
from densdiff.sources.together import run_together
from densdiff.testing.two_sample import TwoSampleResult, pair_test
from densdiff.threads import cores, on_one_thread

_JOINT_ROWS = 10_000  # of a table that are looked at together when there are several columns
_DISTANCE_ROWS = 2000  # that the L2 distance of several columns is of: it costs the square of them
_PAIRED = 100  # columns among which pairs are sought


@dataclass(frozen=True)
class Settings:
    """What was asked of a comparison, checked."""

    alpha: float
    min_effect: MinEffect
    permutations: int
    seed: int

    @property
    def half(self) -> float:
        """The level of the joint test, and that of all columns."""
        return 0.5 * self.alpha


@on_one_thread
def compare(
    A: Any,
    B: Any,
    *,
    names: tuple[str, str] | None = None,
    columns: Sequence[str] | str | None = None,
    exclude: Sequence[str] | str | None = None,
    kinds: Mapping[str, str] | None = None,
    alpha: float = 0.05,
    min_effect: float | Mapping[str, float] = 0.0,
    missing: str = "level",
    n_permutations: int = 999,
    random_state: Any = None,
) -> Comparison:
    """Compare two tables of numbers, categories and booleans.

    What is no such column, as dates, identifiers and free text are, is left out with a note.

    Parameters
    ----------
    A, B : data frame, array, mapping of columns, path, Profile, Dask collection or iterable of blocks
        Columns are matched by name. A path is a CSV, Parquet, JSON Lines or .npy file, read in blocks if it is large.
    names : tuple of str, optional
        What to call the tables, such as ("January", "July"); files are called by their names, others A and B.
    columns, exclude : sequence of str or str, optional
        Compare only these; do not compare these. A name, or a pattern such as "price_*" if no column has that name.
    kinds : mapping of str to {"number", "category"}, optional
        What columns are, by name or pattern, such as {"zip": "category", "when": "number"}. Dates become days since
        1970-01-01, times and durations seconds. A column named here is never left out as a date or an identifier.
    alpha : float
        Level of ``differ``: the joint test and the columns take half of it each. Pairs and regions, which explain and
        do not decide, have this level too.
    min_effect : float or mapping of str to float
        Smallest total variation that counts as a difference, since with many rows everything is significant: one for
        all, or by the names of columns or patterns, such as {"spend": 0.02, "*": 0.1}; "*" is for all together too.
    missing : {"level", "drop", "error"}
        Let "missing" be a level of its column; drop rows that have missing values; or refuse them.
    n_permutations : int
    random_state : None, int, Generator or RandomState

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import densdiff as dd
    >>> tables = dd.datasets.mixed_tables(400, random_state=0)
    >>> result = dd.compare(tables.a, tables.b, n_permutations=199, random_state=0)
    >>> result.differ, result.columns[0].name
    (True, 'spend')
    """
    settings = check_settings(alpha, min_effect, n_permutations, random_state)
    request = Request(display_names(A, B, names), columns, exclude, kinds, missing)
    A, B = (load_if_saved(table) for table in (A, B))
    if isinstance(A, Profile) or isinstance(B, Profile):
        return compare_profiles(pair_profiles(A, B, request.where, request), settings)
    return compare_as_asked(A, B, request, settings)


def load_if_saved(table: Any) -> Any:
    """The profile that a path names, by its ending; any other table as it is."""
    is_saved = is_path(table) and str(table).lower().endswith(PROFILE_ENDING)
    return Profile.load(table) if is_saved else table


def check_settings(alpha: Any, min_effect: Any, n_permutations: Any, random_state: Any) -> Settings:
    """How to compare, or an error for the first argument that cannot be."""
    return Settings(
        alpha=parameters.fraction(alpha, "alpha"),
        min_effect=check_effects(min_effect),
        permutations=parameters.whole(n_permutations, "n_permutations", 1),
        seed=parameters.seed(random_state),
    )


def compare_as_asked(A: Any, B: Any, request: Request, settings: Settings) -> Comparison:
    """Two tables, or sources of their rows, matched and compared; each warning comes once."""
    return compare_matched(match_as_asked(A, B, request, settings), settings)


def match_as_asked(A: Any, B: Any, request: Request, settings: Settings) -> MatchedTables:
    """Two tables matched, with the rows at hand that a comparison will ask for."""
    return match_tables(A, B, request, partial(_rows_to_prefetch, settings.seed))


def compare_matched(tables: MatchedTables, settings: Settings) -> Comparison:
    """Two tables that are matched, compared; each warning comes once."""
    with messages.collect_warnings() as texts:
        result = _compare_tables(tables, settings)
    for text in dict.fromkeys(texts):
        messages.warn(text)
    return result


def display_names(A: Any, B: Any, names: Any) -> tuple[str, str]:
    """What two tables are called: as asked, else by the names of their files, else A and B."""
    return _names_of(A, B) if names is None else _check_names(names)


def _check_names(names: Any) -> tuple[str, str]:
    """Two different texts that are not blank, harmless to show."""
    are_two = isinstance(names, (tuple, list)) and len(names) == 2 and all(isinstance(name, str) for name in names)
    if not are_two or not all(name.strip() for name in names) or names[0] == names[1]:
        need = f'{messages.argument("names")} must be two different texts, such as ("January", "July")'
        raise InputError(f"{need}; got {messages.describe_value(names)}", argument="names")
    return messages.escaped(names[0]), messages.escaped(names[1])


def _names_of(A: Any, B: Any) -> tuple[str, str]:
    """The names of files and tables, with what they are in if this tells them apart, else A and B."""
    tables, own = (A, B), (messages.name_of("A"), messages.name_of("B"))
    first, second = (_display_name(table, name) for table, name in zip(tables, own, strict=True))
    if first != second:
        return first, second
    if not all(is_path(table) for table in tables):
        return own
    if any(scheme_of(table) for table in tables):
        first, second = (full_name(str(table)) for table in tables)
        return (first, second) if first != second or A == B else own
    if Path(A) != Path(B):
        first, second = (
            messages.escaped(f"{Path(table).resolve().parent.name}/{Path(table).name}") for table in tables
        )
    return first, second


def _display_name(table: Any, name: str) -> str:
    """What messages call a table: the name of its file or in its database if it has one and ``name`` is not better."""
    if scheme_of(table):
        return short_name(table)
    if isinstance(table, Query):
        return table.name if name in ("A", "B") else name
    return messages.escaped(Path(table).name) or name if is_path(table) else name


def _rows_to_prefetch(seed: int, n: int, m: int) -> tuple[selection.IntArray, selection.IntArray]:
    """Rows of large tables to have at hand: of fits, of pictures, and those that tell of all columns together."""
    fitted, drawn = rows_to_prefetch(seed, LSDD().n_centers, n, m), (_JOINT_ROWS, _DISTANCE_ROWS, PICTURE_ROWS)
    x, y = (
        np.concatenate([rows, *(selection.draw_rows(seed, size, min(size, most)) for most in drawn)])
        for rows, size in zip(fitted, (n, m), strict=True)
    )
    return x, y


def compare_profiles(profiles: ProfilePair, settings: Settings) -> Comparison:
    """Two profiles: each column by itself, and all together by the sums over blocks of rows."""
    seed = settings.seed
    with messages.collect_warnings() as texts:
        tables = profiles.tables(seed)
        refuse_unmatched(settings.min_effect, [*profiles.a.names, *(name for name, _ in profiles.a.left_out)])
        every_column, constants = tables, _constants(tables)
        tables = _without(tables, constants)
        distance, test = profile_distance(profiles, seed), profile_test(profiles, settings.permutations, seed)
        notes = [LEFT_OUT, *distance.warnings]
        tested = _test_columns(every_column, settings, named(profiles.names[1]), notes, shares_rows=False)
        variation = pair_variation(tables.pair(), test.pvalue, level=CONFIDENCE, seed=seed, shares_rows=False)
    unsaid = [text for text in dict.fromkeys(texts) if not any(note in text for note in notes)]
    tables = replace(
        tables,
        schema_changes=profiles.schema_changes,
        left_out=tuple(dict.fromkeys([*profiles.a.left_out, *profiles.b.left_out])),
        notes=(*profiles.a.notes, *profiles.b.notes, *tables.notes, *unsaid),
        sizes=(profiles.a.n, profiles.b.n),
    )
    found = _Found(distance, test, *tested, variation)
    return _put_together(tables, settings, found, constants, notes)


def _without(tables: MatchedTables, names: list[str]) -> MatchedTables:
    """Both tables without some columns."""
    return tables.only([j for j, name in enumerate(tables.names) if name not in names]) if names else tables


def _compare_tables(tables: MatchedTables, settings: Settings) -> Comparison:
    """All columns together, then each by itself, pairs of them, regions and missing values."""
    seed = settings.seed
    refuse_unmatched(settings.min_effect, [*tables.names, *(name for name, _ in tables.left_out)])
    every_column, constants = tables, _constants(tables)
    tables = _without(tables, constants)
    joint = _compare_together(tables, settings)
    test, notes, name = joint.test, joint.notes, named(tables.where[1])
    columns, missing, adjustment = _test_columns(_distinct_rows(every_column, joint.copies), settings, name, notes)
    chosen = _paired_columns(tables, columns, notes)
    rows = _rows_in_memory(tables, _distinct_rows(tables, joint.copies), joint.rows, seed)
    variation, (pairs, more_pairs), (regions, more_regions) = run_together(
        [
            lambda: _quiet_variation(rows, test.pvalue, seed),
            lambda: find_pairs(rows, chosen, settings.alpha, seed),
            partial(find_regions, tables, rows, columns, settings.alpha, seed),
        ],
        cores(),
    )
    found = _Found(
        joint.distance, test, columns, missing, adjustment, variation, pairs, more_pairs, regions, more_regions
    )
    return _put_together(tables, settings, found, constants, notes)


@dataclass(frozen=True)
class _Found:
    """The parts of an answer."""

    distance: DistanceResult
    test: TwoSampleResult
    columns: list[ColumnDifference]
    missing: list[MissingDifference]
    adjustment: str
    variation: PairVariation
    pairs: list[PairDifference] = field(default_factory=list)
    more_pairs: int = 0
    regions: list[RegionDifference] = field(default_factory=list)
    more_regions: int = 0


def _put_together(
    tables: MatchedTables, settings: Settings, found: _Found, constants: list[str], notes: Sequence[str]
) -> Comparison:
    """The answer, with what each column separates and the reasons why the tables differ."""
    distance, test, missing = found.distance, found.test, found.missing
    columns = _with_variations(found.columns, found.variation, missing, tables.sizes)
    changed = [own for column in columns if column.differs for own in (column.name, mark_name(column.name))]
    total = with_missing_rates(found.variation.with_columns(changed), missing, columns, tables.sizes)
    result = Comparison(
        differ=False,
        reasons=[],
        total_variation=total,
        distance=distance,
        effect=effect_word(total.value),
        test=test,
        columns=columns,
        constants=constants,
        adjustment=found.adjustment,
        pairs=found.pairs,
        more_pairs=found.more_pairs,
        regions=found.regions,
        more_regions=found.more_regions,
        missing=missing,
        left_out=[(name, named(reason)) for name, reason in tables.left_out],
        schema_changes=tables.schema_changes,
        names=(named(tables.where[0]), named(tables.where[1])),
        alpha=settings.alpha,
        min_effect=settings.min_effect,
        sigma=distance.sigma,
        lam=distance.lam,
        solver=distance.solver,
        n_centers=distance.n_centers,
        n_x=tables.sizes[0],
        n_y=tables.sizes[1],
        seed=settings.seed,
        tuning=f"{distance.tuning}; test {test.tuning}",
        warnings=tuple(dict.fromkeys(map(named, [*tables.notes, *notes]))),
    )
    reasons = find_reasons(result)
    return replace(result, differ=bool(reasons), reasons=reasons)


@dataclass(frozen=True)
class _Joint:
    """What is known of all columns together, and the rows that tell it."""

    distance: DistanceResult
    test: TwoSampleResult
    rows: Pair
    copies: int  # how often every row occurs
    notes: list[str]


def _compare_together(tables: MatchedTables, settings: Settings) -> _Joint:
    """The distance and the test of all columns together."""
    seed = settings.seed
    d, all_rows = len(tables.names), sum(tables.sizes)
    few_columns = d == 1 or (d == 2 and not any(tables.levels))
    joint, _ = _draw_rows(tables, seed, all_rows if d == 1 else _JOINT_ROWS)
    most = all_rows if few_columns else _DISTANCE_ROWS
    # a draw of rows that all occur several times would hold some of them once
    source = tables if max(tables.rows) <= most else _distinct_rows(tables, joint.copies)
    pair, notes = _draw_rows(source, seed, most, "the L2 distance")
    tested = joint if max(tables.rows) <= _JOINT_ROWS else tables.pair()  # few rows of a file are tested as an array
    is_read_twice = not all_at_once(pair.x, pair.y, tested.x, tested.y)  # a file has one reader at a time
    distance, test = run_together(
        [
            lambda: LSDD(random_state=seed).fit_pair(pair).l2_distance(CONFIDENCE),
            lambda: pair_test(LSDD(random_state=seed), tested, settings.permutations),
        ],
        1 if is_read_twice else cores(),
    )
    told = set(map(plain, tables.notes))  # of both tables, as their parts call them
    own = [text for text in (*distance.warnings, *test.warnings) if text not in told]
    return _Joint(distance, test, joint, max(pair.copies, joint.copies), [*own, *notes])


def _quiet_variation(rows: Pair, pvalue: float, seed: int) -> PairVariation:
    """Total variation of all columns together; what it has to say is in its own notes."""
    with messages.collect_warnings():
        return pair_variation(rows, pvalue, level=CONFIDENCE, seed=seed)


def _constants(tables: MatchedTables) -> list[str]:
    """Columns that hold one value in A and another in B, if any other column varies.

    They tell the tables apart by themselves, as a month does, and would hide whatever else there is.
    """
    (low_a, high_a), (low_b, high_b) = (sample.ends() for sample in (tables.a, tables.b))
    is_fixed = (low_a == high_a) & (low_b == high_b)
    others_vary = bool((~is_fixed).any())
    return [name for j, name in enumerate(tables.names) if others_vary and is_fixed[j] and low_a[j] != low_b[j]]


def _test_columns(
    tables: MatchedTables, settings: Settings, name: str, notes: list[str], *, shares_rows: bool = True
) -> tuple[list[ColumnDifference], list[MissingDifference], str]:
    """Each column by itself, how often it is missing, and how p-values are adjusted; together they have one level."""
    d = len(tables.names) - sum(mark_name(name) in tables.names for name, *_ in tables.missing)
    share = family_share(d, len(tables.missing))
    permutations = settings.permutations
    if 1.0 / (permutations + 1) > settings.half:
        text = f"{permutations} permutations cannot reach a p-value of {settings.half:g}, half of alpha"
        messages.warn(f"{text}; use more permutations", notes)
    enough = int(np.ceil((permutations + 1) / share)) - 1
    asked = ColumnSettings(settings.half, share, enough, settings.seed, name, shares_rows)
    columns, adjustment = compare_columns(tables, asked)
    return columns, missing_rates(tables.missing, tables.sizes, d, settings.alpha), adjustment


def _with_variations(
    columns: list[ColumnDifference],
    variation: PairVariation,
    missing: list[MissingDifference],
    sizes: tuple[int, int],
) -> list[ColumnDifference]:
    """The columns with their total variation and missing values, those that differ first, by how much is told."""
    own, rates = variation.of_columns(variation.shared_level), {rate.name: rate for rate in missing}
    found = []
    for column in columns:
        if column.name in own:
            interval = own[column.name].bounds(column.pvalue, CONFIDENCE)
            value = own[column.name].value
            column = replace(column, total_variation=value, total_variation_interval=interval)
        elif column.differs:  # another constant in each table
            lower = newcombe_interval(1.0, 0.0, *sizes, CONFIDENCE)[0]
            column = replace(column, total_variation=1.0, total_variation_interval=(lower, 1.0))
        rate = rates.get(column.name)
        found.append(column if rate is None else with_missing_rate(column, rate, sizes, CONFIDENCE))
    return sorted(found, key=lambda column: _rank(column, is_constant=column.name not in own))


def _rank(column: ColumnDifference, is_constant: bool) -> tuple[bool, bool, float, float, float]:
    """What columns are sorted by: those that differ first, by their total variation as far as it can be told."""
    lower, value = column.total_variation_interval[0], column.total_variation
    return not column.differs, is_constant, -min(lower, column.moved), -min(value, column.moved), column.pvalue


def _draw_rows(tables: MatchedTables, seed: int, most: int, purpose: str = "") -> tuple[Pair, list[str]]:
    """At most so many rows of each table, the same ones of two that are the same, and a note if not all are taken."""
    sizes = tables.rows
    whole = max(sizes) <= most
    if whole and (most > _JOINT_ROWS or all_at_once(tables.a, tables.b)):
        return tables.pair(), []
    rows_a, rows_b = (np.sort(selection.draw_rows(seed, size, min(size, most))) for size in sizes)
    note = [] if whole else [f"{purpose} uses {len(rows_a)} and {len(rows_b)} rows drawn at random"]
    return tables.some(rows_a, rows_b).pair(), note


def _distinct_rows(tables: MatchedTables, copies: int) -> MatchedTables:
    """Each row once if all rows occur equally often, else the tables as they are."""
    if copies == 1:
        return tables
    firsts = (selection.first_of_equal(rows[:]) for rows in (tables.a, tables.b))
    return tables.some(*firsts)


def _rows_in_memory(tables: MatchedTables, distinct: MatchedTables, joint: Pair, seed: int) -> Pair:
    """Rows for pairs and regions, which need them in one piece: those of the joint test if these are."""
    if distinct is not tables:
        joint, _ = _draw_rows(distinct, seed, _JOINT_ROWS)
    if not all_at_once(joint.x, joint.y):
        joint, _ = _draw_rows(tables, seed, _JOINT_ROWS)
    return joint


def _paired_columns(tables: MatchedTables, columns: list[ColumnDifference], notes: list[str]) -> list[int]:
    """Places of the columns among which pairs are sought, and a note if these are not all."""
    places = {name: j for j, name in enumerate(tables.names)}
    names = [column.name for column in columns if column.name in places]
    first = {own for name in names[:_PAIRED] for own in (name, mark_name(name))}
    chosen = [j for name, j in places.items() if name in first]
    if len(chosen) < len(places):
        notes.append(f"pairs were searched for only among the {len(chosen)} columns that differ most on their own")
    return chosen
