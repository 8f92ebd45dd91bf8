"""What `compare_by` returns: the groups of rows, which of them differ, and their texts."""

from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from densdiff import messages
from densdiff.comparing.answer import short_names
from densdiff.comparing.results import Comparison
from densdiff.comparing.wording import schema_texts, whole_percent
from densdiff.data.match import SchemaChanges
from densdiff.results import Receipt, table_html

_SHOWN = 20  # groups in the text
_NAMED = 3  # groups in a sentence
_WIDEST = 40  # characters of a label in the text


@dataclass(frozen=True)
class GroupDifference:
    """The rows of both tables that have one value in a column, compared.

    Attributes
    ----------
    label : str
        The value, or the values of several columns.
    n_a, n_b : int
        Rows of A and of B.
    comparison : Comparison
        What `compare` says of these rows alone, at alpha.
    pvalue, pvalue_adjusted : float
        Of the whole comparison, and accounting for the number of groups.
    differs : bool
        Whether ``pvalue_adjusted`` is at most alpha.
    is_smallest : bool
        Whether no relabelling was as extreme: the p-value is at most that.

    Examples
    --------
    >>> import densdiff as dd
    >>> a = {"shop": ["north", "south"] * 60, "spend": [k % 7 for k in range(120)]}
    >>> b = {"shop": ["north", "south"] * 60, "spend": [k % 7 + 4 * (k % 2) for k in range(120)]}
    >>> result = dd.compare_by(a, b, "shop", n_permutations=99, random_state=0)
    >>> [(group.label, group.differs) for group in result.groups]
    [('south', True), ('north', False)]
    """

    label: str
    n_a: int
    n_b: int
    comparison: Comparison
    pvalue: float
    pvalue_adjusted: float
    differs: bool
    is_smallest: bool = False

    @property
    def total_variation(self) -> float:
        """How many of the group's rows would have to change."""
        return self.comparison.total_variation.value

    @property
    def lower(self) -> float:
        """How many of the group's rows would have to change, at least."""
        return self.comparison.total_variation.interval[0]

    @property
    def p_text(self) -> str:
        """The adjusted p-value in a sentence, such as "p <= 0.005"."""
        return messages.p_text(self.pvalue_adjusted, self.is_smallest)

    @property
    def changed_columns(self) -> list[str]:
        """The columns that differ in this group taken by itself."""
        return [column.name for column in self.comparison.columns if column.differs]

    @property
    def where(self) -> str:
        """What moved most in the group, in words."""
        moved = [column for column in self.comparison.columns if column.differs]
        return f"{messages.quote_name(moved[0].name)}: {moved[0].direction}" if moved else ""


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupsResult(Receipt):
    """Two tables compared group by group.

    Attributes
    ----------
    differ : bool
        Whether, at level ``alpha`` over all groups, any of them differs by at least ``min_effect``, or one is in one
        table only, or the tables do not have the same columns.
    reasons : list of str
        Why they differ, a short sentence each; empty if they do not.
    groups : list of GroupDifference
        Those that differ first, by the lower limit of their total variation.
    only_a, only_b : list of tuple
        Groups of one table only: label and rows, the largest first.
    not_compared : list of tuple
        Groups that could not be compared: label, rows of A and of B, and why.
    by : tuple of str
        The columns whose values make the groups.
    schema_changes : SchemaChanges
        Columns that one table lacks, or that are of another kind in B.
    names : tuple of str
        What A and B are called.
    alpha : float
    min_effect : float or dict

    Examples
    --------
    >>> import densdiff as dd
    >>> a = {"shop": ["north", "south"] * 60, "spend": [k % 7 for k in range(120)]}
    >>> b = {"shop": ["north", "west"] * 60, "spend": [k % 7 for k in range(120)]}
    >>> result = dd.compare_by(a, b, "shop", n_permutations=99, random_state=0)
    >>> result.differ, result.only_a, result.only_b
    (True, [('south', 60)], [('west', 60)])
    """

    differ: bool
    reasons: list[str]
    groups: list[GroupDifference]
    only_a: list[tuple[str, int]]
    only_b: list[tuple[str, int]]
    not_compared: list[tuple[str, int, int, str]]
    by: tuple[str, ...]
    schema_changes: SchemaChanges
    names: tuple[str, str]
    alpha: float
    min_effect: float | dict[str, float]

    @property
    def changed(self) -> list[GroupDifference]:
        """The groups that differ."""
        return [group for group in self.groups if group.differs]

    @property
    def answer(self) -> str:
        """The finding in one sentence."""
        a, b = short_names(self.names)
        changed, of_groups = self.changed, f"{len(self.groups)} group{'s' * (len(self.groups) != 1)}"
        texts = schema_texts(self.schema_changes, (a, b))
        texts += [_only_text(labels, name) for labels, name in ((self.only_a, a), (self.only_b, b)) if labels]
        if changed:
            most = changed[0]
            size = "in too few rows to say in how many"
            if most.lower > 0:
                size = f"where at least {whole_percent(most.lower)} of the rows would have to change"
            verb = "differs" if len(changed) == 1 else "differ"
            where = f"{'most ' * (len(changed) > 1)}in {messages.quote_name(most.label)}, {size}"
            text = f"{len(changed)} of {of_groups} of {_by_text(self.by)} {verb} between {a} and {b}, {where}"
            text += f" ({most.p_text} over all groups)"
        elif self.groups:
            text = f"no {'other ' * bool(texts)}difference was found in {of_groups} of {_by_text(self.by)}"
            text += f" between {a} and {b} (p = {min(group.pvalue_adjusted for group in self.groups):.3g})"
        else:
            text = f"no group of {_by_text(self.by)} could be compared"
        whole = "; ".join([*texts, text])
        return whole[0].upper() + whole[1:]

    def _contents(self) -> dict[str, Any]:
        """All attributes and the answer; comparisons as their own ``to_dict`` has them."""
        fields = asdict(replace(self, groups=[]))
        groups = [
            {name: value for name, value in vars(group).items() if name != "comparison"}
            | {"comparison": group.comparison.to_dict()}
            for group in self.groups
        ]
        return fields | {"groups": groups, "answer": self.answer}

    def __repr__(self) -> str:
        first, second = map(messages.quote_name, self.names)
        return f"<GroupsResult of {first} and {second}: {len(self.changed)} of {len(self.groups)} groups differ>"

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("group", "rows", "moved", "at least", "p, adjusted", "most in")]
        rows += [_cells(group) for group in self.groups[:_SHOWN]]
        widths = [max(len(row[j]) for row in rows) for j in range(5)] if self.groups else []
        lines = ["  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in rows if widths]
        if len(self.groups) > _SHOWN:
            lines.append(f"and {len(self.groups) - _SHOWN} more groups")
        texts = [self.answer, *(f"  {line}" for line in lines)]
        for labels, name in zip((self.only_a, self.only_b), short_names(self.names), strict=True):
            if labels:
                texts.append(f"  {_only_text(labels, name, 10)}")
        texts += [
            f"  not compared: {messages.quote_name(label)} ({n_a} and {n_b} rows): {why}"
            for label, n_a, n_b, why in self.not_compared[:_SHOWN]
        ]
        if len(self.not_compared) > _SHOWN:
            texts.append(f"  not compared: {len(self.not_compared) - _SHOWN} more groups")
        return "\n".join(texts + self._receipt_lines())

    def _html(self) -> str:
        titles = ("group", "rows", "total variation", "at least", "p, adjusted", "most in")
        n_more = len(self.groups) - _SHOWN
        more = f"{n_more} more groups" if n_more > 0 else ""
        return table_html(self.answer, titles, [_cells(group) for group in self.groups[:_SHOWN]], more)

    def _draw(self) -> Any:
        from densdiff.plots.intervals import draw_intervals

        if not self.groups:
            return None
        values = np.array([group.total_variation for group in self.groups])
        intervals = np.array([(group.lower, 1.0) for group in self.groups])
        meaning = "share of the rows that would have to change, and at least"
        return draw_intervals([group.label for group in self.groups], values, intervals, meaning)

    def to_frame(self) -> Any:
        """The groups as a pandas DataFrame, one row each; needs pandas.

        Its columns are group, n_a, n_b, total_variation, lower, pvalue, pvalue_adjusted, differs and columns (the names
        of those that differ). A group of one table only has 0 rows in the other; what is not known is missing.
        """
        from densdiff.comparing.export import frame_of_groups

        return frame_of_groups(self)

    def to_markdown(self) -> str:
        """A summary in Markdown, at most 30 lines, for a pull request or a chat: the answer first."""
        from densdiff.comparing.export import markdown_of_groups

        return markdown_of_groups(self)

    def to_html(self, path: str | PathLike[str], *, title: str | None = None) -> Path:
        """Write the result as one self-contained HTML page, headed by ``title``, and return its path; needs Jinja2."""
        from densdiff.report import write_groups

        return write_groups(path, self, title)


def _cells(group: GroupDifference) -> tuple[str, ...]:
    """A group as a row of a table."""
    return (
        messages.one_line(messages.quote_name(group.label), _WIDEST),
        f"{group.n_a} and {group.n_b}",
        f"{group.total_variation:.3g}",
        f"{group.lower:.3g}",
        messages.p_number(group.pvalue_adjusted, group.is_smallest),
        group.where if group.differs else "",
    )


def _by_text(by: tuple[str, ...]) -> str:
    return " and ".join(map(messages.quote_name, by))


def _only_text(labels: list[tuple[str, int]], name: str, most: int = _NAMED) -> str:
    """Groups that only one table has."""
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    listed = ", ".join(f"{messages.quote_name(label)} ({rows} row{'s' * (rows != 1)})" for label, rows in labels[:most])
    return f"group{'s' * (len(labels) > 1)} {listed}{more} {'are' if len(labels) > 1 else 'is'} only in {name}"


def group_reasons(result: GroupsResult) -> list[str]:
    """Why two tables differ group by group, one short sentence each; nothing if they do not."""
    reasons = schema_texts(result.schema_changes, result.names)
    for group in result.changed:
        size = f"total variation {group.total_variation:.3g}, {group.p_text}"
        reasons.append(f"group {messages.quote_name(group.label)} differs: {size}")
    for labels, name in zip((result.only_a, result.only_b), result.names, strict=True):
        reasons += [_only_text([label], name) for label in labels]
    return reasons
