"""The page of two tables compared group by group: a table of all groups, and what moved in those that differ.

Columns are shown as on the page of one comparison.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from densdiff import messages
from densdiff.report import figures
from densdiff.report.comparison import card_without_pictures
from densdiff.report.page import receipt, write_template

_HEADING, _LEGEND = 60, 26  # characters of the name of a table in the heading, and elsewhere


def write_groups(path: str | PathLike[str], result: Any, title: str | None = None) -> Path:
    """Write the page of a `GroupsResult`.

    Parameters
    ----------
    path : path-like
        The file to write; it is replaced only once the page is complete.
    result : GroupsResult
    title : str, optional
        The heading of the page.

    Returns
    -------
    pathlib.Path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import densdiff as dd
    >>> from densdiff.report import write_groups
    >>> tables = dd.datasets.mixed_tables(100, random_state=0)
    >>> result = dd.compare_by(tables.a, tables.b, "plan", columns=["age"], n_permutations=99, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_groups(Path(folder, "report.html"), result).name
    'report.html'
    """
    by = " and ".join(map(messages.quote_name, result.by))
    headed = " and ".join(messages.short_names(result.names, _HEADING))
    names = messages.short_names(result.names, _LEGEND)
    return write_template(
        path,
        "groups.html",
        _without_details(result.to_dict()),
        title=title or f"{headed} compared by {by}",
        answer=f"{result.answer.rstrip('.')}.",
        result=result,
        names=names,
        groups=[(group, _mark(group), _group_p(group)) for group in result.groups],
        changed=[(group, _cards(group)) for group in result.changed],
        facts=[
            ("rows", f"{result.n_x} of {names[0]}, {result.n_y} of {names[1]}"),
            ("groups", f"{len(result.groups)} compared by {by}, {len(result.not_compared)} not compared"),
            ("level", f"alpha {result.alpha:g} over all groups"),
            *receipt(result),
        ],
        notes=result.warnings,
    )


def _mark(group: Any) -> Any:
    return figures.rank_mark(group.label, group.total_variation, (group.lower, 1.0), group.differs)


def _group_p(group: Any) -> str:
    """The p-value of a group, adjusted over groups."""
    return messages.p_number(group.pvalue_adjusted, group.is_smallest)


def _cards(group: Any) -> list[Any]:
    """The columns that differ in a group."""
    return [card_without_pictures(column) for column in group.comparison.columns if column.differs]


def _without_details(data: dict[str, Any]) -> dict[str, Any]:
    """A result whose groups have the answer of their comparison in place of all of it: a thousand would be too many."""
    groups = [group | {"comparison": group["comparison"]["answer"]} for group in data["groups"]]
    return data | {"groups": groups}
