"""Do two tables differ, how much, in which columns, and where?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from densdiff import messages
from densdiff.comparing.assembling import Found, put_together
from densdiff.comparing.columns import CONFIDENCE, ColumnSettings, compare_columns
from densdiff.comparing.decision import family_share, missing_rates
from densdiff.comparing.effects import refuse_unmatched
from densdiff.comparing.findings import ColumnDifference, MissingDifference
from densdiff.comparing.joint import (
    JointRows,
    distinct_rows,
    draw_joint_rows,
    joint_notes,
    joint_rows_to_prefetch,
    rows_in_memory,
)
from densdiff.comparing.naming import display_names
from densdiff.comparing.pairs import find_pairs
from densdiff.comparing.profile import Profile
from densdiff.comparing.profile_comparison import LEFT_OUT, ProfilePair, compare_profiles_together, pair_profiles
from densdiff.comparing.profile_file import load_if_saved
from densdiff.comparing.regions import find_regions
from densdiff.comparing.results import Comparison
from densdiff.comparing.settings import Settings, check_settings
from densdiff.comparing.work import expected_work
from densdiff.data.missing import mark_name
from densdiff.data.pair import Pair
from densdiff.data.tables import MatchedTables, Request, match_tables
from densdiff.distance.total_variation import PairVariation, pair_variation
from densdiff.errors import named
from densdiff.estimators.results import DistanceResult
from densdiff.progress import Progress, long_work
from densdiff.sources.together import run_together
from densdiff.testing.two_sample import TwoSampleResult
from densdiff.threads import cores, on_one_thread


@long_work("comparing two tables")
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


def compare_as_asked(A: Any, B: Any, request: Request, settings: Settings) -> Comparison:
    """Two tables, or sources of their rows, matched and compared; each warning comes once."""
    return compare_matched(match_as_asked(A, B, request, settings), settings)


def match_as_asked(A: Any, B: Any, request: Request, settings: Settings) -> MatchedTables:
    """Two tables matched, with the rows at hand that a comparison will ask for."""
    return match_tables(A, B, request, partial(joint_rows_to_prefetch, settings.seed))


def compare_matched(tables: MatchedTables, settings: Settings) -> Comparison:
    """Two tables that are matched, compared; each warning comes once."""
    with messages.collect_warnings() as texts:
        result = _compare_tables(tables, settings)
    for text in dict.fromkeys(texts):
        messages.warn(text)
    return result


def compare_profiles(profiles: ProfilePair, settings: Settings) -> Comparison:
    """Two profiles: each column by itself, and all together by the sums of features."""
    name, of_columns = named(profiles.names[1]), list[str]()
    with messages.collect_warnings() as texts:
        tables = profiles.tables(settings.seed)
        refuse_unmatched(settings.min_effect, [*profiles.a.names, *(name for name, _ in profiles.a.left_out)])
        every_column, constants = tables, _constants(tables)
        tables = _without(tables, constants)
        tested, (distance, test, of_all, variation) = run_together(
            [
                partial(_test_columns, every_column, settings, name, of_columns, shares_rows=False),
                partial(_profiles_together, profiles, tables, settings),
            ],
            cores(),
        )
        notes = [LEFT_OUT, *of_all, *of_columns]
    unsaid = [text for text in dict.fromkeys(texts) if not any(note in text for note in notes)]
    tables = replace(
        tables,
        schema_changes=profiles.schema_changes,
        left_out=tuple(dict.fromkeys([*profiles.a.left_out, *profiles.b.left_out])),
        notes=(*profiles.a.notes, *profiles.b.notes, *tables.notes, *unsaid),
        sizes=(profiles.a.n, profiles.b.n),
    )
    columns, missing, adjustment = tested
    found = Found(distance, test, columns, missing, adjustment, variation)
    return put_together(tables, settings, found, constants, notes)


def _profiles_together(
    profiles: ProfilePair, tables: MatchedTables, settings: Settings
) -> tuple[DistanceResult, TwoSampleResult, list[str], PairVariation]:
    """All columns of profiles together: their distance, their test, notes, and what single columns separate."""
    distance, test, notes = compare_profiles_together(profiles, tables, settings)
    variation = pair_variation(tables.pair(), test.pvalue, level=CONFIDENCE, seed=settings.seed, shares_rows=False)
    return distance, test, notes, variation


def _without(tables: MatchedTables, names: list[str]) -> MatchedTables:
    """Both tables without some columns."""
    return tables.only([j for j, name in enumerate(tables.names) if name not in names]) if names else tables


def _compare_tables(tables: MatchedTables, settings: Settings) -> Comparison:
    """All columns together, then each by itself, pairs of them, regions and missing values."""
    seed = settings.seed
    refuse_unmatched(settings.min_effect, [*tables.names, *(name for name, _ in tables.left_out)])
    every_column, constants = tables, _constants(tables)
    tables = _without(tables, constants)
    joint = draw_joint_rows(tables, seed)
    rows, distinct = rows_in_memory(tables, joint, seed), distinct_rows(every_column, joint.copies)
    name, of_columns = named(tables.where[1]), list[str]()
    n_columns = _count_columns(every_column)
    work = expected_work(sum(tables.sizes), n_columns)
    with Progress("comparing all columns together", work.total(n_columns)) as progress:

        def test_columns() -> tuple[list[ColumnDifference], list[MissingDifference], str]:
            progress.what = "comparing column by column"
            return _test_columns(distinct, settings, name, of_columns, tick=partial(progress.add, work.column))

        # the longest begins early; the columns, which have threads of their own, come last and leave no core idle
        distance, (test, variation), regions, pairs, (columns, missing, adjustment) = run_together(
            [
                progress.after(partial(joint.distance, seed), work.distance),
                progress.after(partial(_test_and_variation, joint, rows, settings), work.test),
                progress.after(partial(find_regions, rows, settings.alpha, seed), work.regions),
                progress.after(partial(find_pairs, rows, settings.alpha, seed), work.pairs),
                test_columns,
            ],
            joint.threads,
        )
    notes = [*joint_notes(tables, distance, test), *joint.notes, *of_columns]
    found = Found(distance, test, columns, missing, adjustment, variation, *pairs, *regions.told(tables, columns))
    return put_together(tables, settings, found, constants, notes)


def _test_and_variation(joint: JointRows, rows: Pair, settings: Settings) -> tuple[TwoSampleResult, PairVariation]:
    """The test and, with its p-value, the total variation of all columns together, which has notes of its own."""
    test = joint.test(settings.seed, settings.permutations)
    with messages.collect_warnings():
        return test, pair_variation(rows, test.pvalue, level=CONFIDENCE, seed=settings.seed)


def _constants(tables: MatchedTables) -> list[str]:
    """Columns that hold one value in A and another in B, if any other column varies.

    They tell the tables apart by themselves, as a month does, and would hide whatever else there is.
    """
    (low_a, high_a), (low_b, high_b) = (sample.ends() for sample in (tables.a, tables.b))
    is_fixed = (low_a == high_a) & (low_b == high_b)
    others_vary = bool((~is_fixed).any())
    return [name for j, name in enumerate(tables.names) if others_vary and is_fixed[j] and low_a[j] != low_b[j]]


def _count_columns(tables: MatchedTables) -> int:
    """How many columns there are but for the marks of missing values."""
    return len(tables.names) - sum(mark_name(name) in tables.names for name, *_ in tables.missing)


def _test_columns(
    tables: MatchedTables,
    settings: Settings,
    name: str,
    notes: list[str],
    *,
    shares_rows: bool = True,
    tick: Callable[[], None] | None = None,
) -> tuple[list[ColumnDifference], list[MissingDifference], str]:
    """Each column by itself, how often it is missing, and how p-values are adjusted; together they have one level."""
    d = _count_columns(tables)
    share = family_share(d, len(tables.missing))
    permutations = settings.permutations
    if 1.0 / (permutations + 1) > settings.half:
        text = f"{permutations} permutations cannot reach a p-value of {settings.half:g}, half of alpha"
        messages.warn(f"{text}; use more permutations", notes)
    enough = int(np.ceil((permutations + 1) / share)) - 1
    asked = ColumnSettings(settings.half, share, enough, settings.seed, name, shares_rows, tick)
    columns, adjustment = compare_columns(tables, asked)
    return columns, missing_rates(tables.missing, tables.sizes, d, settings.alpha), adjustment
