"""Do two tables differ in any group of their rows, such as a region or a shop, and in which?"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from densdiff import messages
from densdiff.comparing.compare import compare_as_asked
from densdiff.comparing.decision import decision_pvalue
from densdiff.comparing.group_results import GroupDifference, GroupsResult, group_reasons
from densdiff.comparing.naming import display_names
from densdiff.comparing.results import Comparison
from densdiff.comparing.settings import Settings, check_settings
from densdiff.core import resample
from densdiff.data.grouping import GroupedTables, Key, group_label, group_tables, refuse_same_labels, without_groups
from densdiff.data.match import SchemaChanges
from densdiff.data.missing import CHOICES
from densdiff.data.parameters import choice
from densdiff.data.tables import Request
from densdiff.errors import InputError, NothingLeftError, named
from densdiff.progress import Progress, long_work
from densdiff.threads import on_one_thread

_WARNINGS = 5  # of the groups that are shown


@long_work("comparing two tables by group")
@on_one_thread
def compare_by(
    A: Any,
    B: Any,
    by: str | Sequence[str],
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
) -> GroupsResult:
    """Compare two tables group by group, such as region by region.

    The rows of both tables that have the same value in the column ``by`` are compared as by `compare`, and p-values
    account for the number of groups by Holm's rule. A group that is in one table only is a finding. ``by`` itself
    is not compared.

    Parameters
    ----------
    A, B : data frame, array, mapping of columns, path, Dask collection or iterable of blocks
        As in `compare`.
    by : str or sequence of str
        The column whose values make the groups, at most 1000; several columns make one for each combination, called
        "north / web". Rows without a value are a group of their own, "missing".
    names, columns, exclude, kinds, min_effect, missing
        As in `compare`.
    alpha : float
        Level of ``differ``: the probability that any group is said to differ if none does.
    n_permutations : int
        In each group, or more if the number of groups needs it: with fewer than 2 groups / alpha none could differ.
    random_state : None, int, Generator or RandomState
        Every group is compared with the same seed.

    Returns
    -------
    GroupsResult

    Examples
    --------
    >>> import densdiff as dd
    >>> tables = dd.datasets.mixed_tables(400, random_state=0)
    >>> result = dd.compare_by(tables.a, tables.b, "plan", columns=["spend", "age"], n_permutations=199, random_state=0)
    >>> result.differ, len(result.groups), result.groups[0].changed_columns
    (True, 3, ['spend'])
    """
    settings = check_settings(alpha, min_effect, n_permutations, random_state)
    choice(missing, "missing", CHOICES)
    request = Request(display_names(A, B, names), columns, exclude, kinds, missing)
    with messages.collect_warnings() as texts:
        tables = group_tables(A, B, by, request)
        refuse_same_labels(tables.keys, tables.by)
        result = _compare_groups(tables, without_groups(request, tables.by), settings)
    own = list(dict.fromkeys(texts))
    if len(own) > _WARNINGS:
        own[_WARNINGS:] = [f"{len(own) - _WARNINGS} more notes in the comparisons of groups"]
    for text in own:
        messages.warn(text)
    notes = [note for source in tables.sources for note in source.notes]
    return replace(result, warnings=tuple(map(named, [*notes, *own])))


@dataclass(frozen=True)
class _Compared:
    """A group that was compared, and its p-value."""

    key: Key
    comparison: Comparison
    pvalue: float
    is_smallest: bool


def _compare_groups(tables: GroupedTables, request: Request, settings: Settings) -> GroupsResult:
    """Every group of both tables that has rows enough, adjusted and ranked."""
    shared = [key for key in tables.keys if all(tables.sizes(key))]
    reasons = {key: _too_few(tables.sizes(key), settings.alpha, request.where) for key in shared}
    family = [key for key in shared if not reasons[key]]
    permutations = max(settings.permutations, math.ceil(2 * len(family) / settings.alpha) - 1)
    compared: list[_Compared] = []
    with Progress("comparing group by group", len(family)) as progress:
        for key, a, b in tables.groups(family):
            try:
                comparison = compare_as_asked(a, b, request, replace(settings, permutations=permutations))
            except NothingLeftError as error:
                reasons[key] = str(error)
            except InputError as error:
                raise error.reworded(f"group {messages.shown(group_label(key))}: {error.marked}") from error
            else:
                compared.append(_Compared(key, comparison, *decision_pvalue(comparison)))
            progress.add(1.0)
    if family and not compared:
        first = f"{messages.shown(group_label(family[0]))}: {reasons[family[0]]}"
        raise InputError(f"no group can be compared; the largest, {first}")
    only_a, only_b = (
        [(group_label(key), tables.sizes(key)[k]) for key in tables.keys if not tables.sizes(key)[1 - k]]
        for k in (0, 1)
    )
    name_a, name_b = map(named, request.where)
    result = GroupsResult(
        differ=False,
        reasons=[],
        groups=_rank(tables, compared, len(family), settings.alpha),
        only_a=only_a,
        only_b=only_b,
        not_compared=[(group_label(key), *tables.sizes(key), reasons[key]) for key in shared if reasons[key]],
        by=tables.by,
        schema_changes=_all_changes(tables.schema_changes, compared),
        names=(name_a, name_b),
        alpha=settings.alpha,
        min_effect=settings.min_effect,
        sigma=None,
        lam=None,
        solver="one for each group",
        n_centers=None,
        n_x=sum(tables.counts[0].values()),
        n_y=sum(tables.counts[1].values()),
        seed=settings.seed,
        tuning=f"Holm's rule over {len(family)} group{'s' * (len(family) != 1)}, {permutations} permutations in each",
    )
    why = group_reasons(result)
    return replace(result, differ=bool(why), reasons=why)


def _too_few(sizes: tuple[int, int], alpha: float, where: tuple[str, str]) -> str:
    """Why a group cannot be compared, as far as its numbers of rows tell; nothing if it can."""
    for rows, name in zip(sizes, where, strict=True):
        if rows < 2:
            return f"{rows} row of {named(name)}; at least 2 are needed"
    n_a, n_b = sizes
    log_relabellings = math.lgamma(n_a + n_b + 1) - math.lgamma(n_a + 1) - math.lgamma(n_b + 1)
    if log_relabellings < math.log(2.0 / alpha):  # no p-value could be small enough
        return "too few rows to tell, whatever they hold"
    return ""


def _rank(tables: GroupedTables, compared: Sequence[_Compared], n_family: int, alpha: float) -> list[GroupDifference]:
    """Groups with adjusted p-values, those that differ first, by how many of their rows would have to change."""
    # a group without a p-value counts in the family: whether it has one depends on what its rows hold
    pvalues = np.ones(n_family)
    pvalues[: len(compared)] = [entry.pvalue for entry in compared]
    groups = [
        GroupDifference(
            label=group_label(entry.key),
            n_a=tables.sizes(entry.key)[0],
            n_b=tables.sizes(entry.key)[1],
            comparison=entry.comparison,
            pvalue=entry.pvalue,
            pvalue_adjusted=float(adjusted),
            differs=bool(adjusted <= alpha),
            is_smallest=entry.is_smallest and bool(adjusted < 1.0),
        )
        for entry, adjusted in zip(compared, resample.holm(pvalues), strict=False)
    ]
    return sorted(groups, key=lambda group: (not group.differs, -group.lower, -group.total_variation, group.pvalue))


def _all_changes(of_tables: SchemaChanges, compared: Sequence[_Compared]) -> SchemaChanges:
    """What changed in the columns of the tables, and those of another kind in any group."""
    kinds = {change[0]: change for entry in compared for change in entry.comparison.schema_changes.other_kind}
    return replace(of_tables, other_kind=tuple(kinds.values()))
