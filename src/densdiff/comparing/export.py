"""Results for other programs and for a message: a data frame of columns, groups or batches; a summary in Markdown."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from densdiff import messages
from densdiff.comparing.batch_results import BatchDifference, BatchesResult, where_text
from densdiff.comparing.findings import ColumnDifference
from densdiff.comparing.group_results import GroupDifference, GroupsResult
from densdiff.comparing.results import Comparison
from densdiff.data.match import SchemaChanges
from densdiff.errors import MissingExtraError

# Lines of the summary: with the answer, three blank lines and the head of the table at most 30.
_REASONS, _COLUMNS, _REGIONS, _PAIRS, _NOTES = 3, 10, 2, 2, 2
_GROUPS = _BATCHES = 15
_LONGEST = 160  # characters of a cell or a line of the list
_SIGNS = re.compile(r"([\\`*\[\]|~$])|(?<!\w)_|_(?!\w)")


def frame_of(columns: Iterable[ColumnDifference]) -> Any:
    """The columns as a pandas DataFrame, one row each."""
    names = (
        "name",
        "kind",
        "total_variation",
        "lower",
        "normalized",
        "pvalue",
        "pvalue_adjusted",
        "differs",
        "direction",
    )
    rows = [
        (
            column.name,
            column.kind,
            column.total_variation,
            column.total_variation_interval[0],
            column.normalized,
            column.pvalue,
            column.pvalue_adjusted,
            column.differs,
            column.direction,
        )
        for column in columns
    ]
    return _frame(rows, names)


def frame_of_groups(result: GroupsResult) -> Any:
    """The groups as a pandas DataFrame, one row each: those compared, those of one table only, and the others."""
    names = ("group", "n_a", "n_b", "total_variation", "lower", "pvalue", "pvalue_adjusted", "differs", "columns")
    rows: list[tuple[Any, ...]] = [
        (
            group.label,
            group.n_a,
            group.n_b,
            group.total_variation,
            group.lower,
            group.pvalue,
            group.pvalue_adjusted,
            group.differs,
            group.changed_columns,
        )
        for group in result.groups
    ]
    unknown = (math.nan,) * 4
    rows += [(label, n_a, 0, *unknown, True, []) for label, n_a in result.only_a]
    rows += [(label, 0, n_b, *unknown, True, []) for label, n_b in result.only_b]
    rows += [(label, n_a, n_b, *unknown, False, []) for label, n_a, n_b, _ in result.not_compared]
    return _frame(rows, names)


def frame_of_batches(result: BatchesResult) -> Any:
    """The batches as a pandas DataFrame, one row each."""
    names = ("batch", "n", "total_variation", "lower", "distance", "pvalue", "pvalue_adjusted", "differs", "columns")
    rows = [
        (
            batch.label,
            batch.n,
            batch.total_variation,
            None if batch.interval is None else batch.interval[0],
            batch.distance,
            batch.pvalue,
            batch.pvalue_adjusted,
            batch.differs,
            list(batch.columns),
        )
        for batch in result.batches
    ]
    frame = _frame(rows, names)
    return frame.astype(dict.fromkeys(names[2:7], "float64"))


def _frame(rows: Sequence[tuple[Any, ...]], names: Sequence[str]) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("to_frame() needs pandas: pip install pandas") from error
    return pd.DataFrame(rows, columns=list(names))


def markdown_of(result: Comparison) -> str:
    """A summary of at most 30 lines: the answer, why, the columns that differ, and the rest as a list."""
    lines = [f"**{escape_markdown(result.answer, 400)}**", ""]
    if result.reasons:
        lines += [*_items(result.reasons[:_REASONS]), ""]
    changed = [column for column in result.columns if column.differs]
    if changed:
        lines += ["| column | total variation | p | what changed |", "|---|---|---|---|"]
        lines += [*map(_table_row, changed[:_COLUMNS]), ""]
    return "\n".join(lines + list(_items(_findings(result, len(changed))))) + "\n"


def markdown_of_groups(result: GroupsResult) -> str:
    """A summary of at most 30 lines: the answer, the groups that differ, and the rest as a list."""
    lines = [f"**{escape_markdown(result.answer, 400)}**", ""]
    changed = result.changed
    if changed:
        lines += ["| group | rows | total variation | p | most in |", "|---|---|---|---|---|"]
        lines += [*map(_group_row, changed[:_GROUPS]), ""]
    more = f", {len(changed) - _GROUPS} more than listed" if len(changed) > _GROUPS else ""
    texts = [f"{len(changed)} of {len(result.groups)} groups differ{more}; {result.n_x} and {result.n_y} rows"]
    texts += _schema_texts(result.schema_changes)
    for labels, name in zip((result.only_a, result.only_b), result.names, strict=True):
        if labels:
            texts.append(f"groups only in {name}: {messages.listed([label for label, _ in labels])}")
    if result.not_compared:
        texts.append(f"groups not compared: {messages.listed([entry[0] for entry in result.not_compared])}")
    texts += [f"note: {text}" for text in result.warnings[:_NOTES]]
    return "\n".join([*lines, *_items(texts)]) + "\n"


def markdown_of_batches(result: BatchesResult) -> str:
    """A summary of at most 30 lines: the answer, the latest batches that differ, and the rest as a list."""
    lines = [f"**{escape_markdown(result.answer, 400)}**", ""]
    changed = result.changed
    if changed:
        lines += ["| batch | rows | total variation | p | differs in |", "|---|---|---|---|---|"]
        lines += [*map(_batch_row, changed[-_BATCHES:]), ""]
    more = f", {len(changed) - _BATCHES} before those listed" if len(changed) > _BATCHES else ""
    texts = [f"{len(changed)} of {len(result.compared)} batches differ from {result.reference_text}{more}"]
    texts += [f"note: {text}" for text in result.warnings[:_NOTES]]
    return "\n".join([*lines, *_items(texts)]) + "\n"


def _batch_row(batch: BatchDifference) -> str:
    lower = 0.0 if batch.interval is None else batch.interval[0]
    cells = (
        messages.quote_name(batch.label),
        str(batch.n),
        f"{batch.total_variation:.3g} (at least {lower:.2g})",
        messages.p_number(batch.pvalue_adjusted or 0.0),
        where_text(batch),
    )
    return f"| {' | '.join(map(escape_markdown, cells))} |"


def _group_row(group: GroupDifference) -> str:
    cells = (
        messages.quote_name(group.label),
        f"{group.n_a} and {group.n_b}",
        f"{group.total_variation:.3g} (at least {group.lower:.2g})",
        messages.p_number(group.pvalue_adjusted, group.is_smallest),
        group.where,
    )
    return f"| {' | '.join(map(escape_markdown, cells))} |"


def _table_row(column: ColumnDifference) -> str:
    cells = (
        messages.quote_name(column.name),
        f"{column.total_variation:.3g} (at least {column.total_variation_interval[0]:.2g})",
        messages.p_number(column.pvalue_adjusted, column.is_smallest),
        column.direction,
    )
    return f"| {' | '.join(map(escape_markdown, cells))} |"


def _findings(result: Comparison, n_changed: int) -> list[str]:
    """What the list below the table says, the most important first."""
    n_columns = len(result.columns)
    more = f", {n_changed - _COLUMNS} more than listed" if n_changed > _COLUMNS else ""
    texts = [
        f"{n_changed} of {n_columns} column{'s' * (n_columns != 1)} differ{more}; {result.n_x} and {result.n_y} rows"
    ]
    texts += _schema_texts(result.schema_changes)
    texts += [f"region: {region}" for region in result.regions[:_REGIONS]]
    texts += [f"pair: {pair}" for pair in result.pairs[:_PAIRS]]
    if rates := [str(rate) for rate in result.missing if rate.differs]:
        texts.append(f"missing: {'; '.join(rates[:3])}{f'; and {len(rates) - 3} more' if len(rates) > 3 else ''}")
    if result.left_out:
        texts.append(f"left out: {messages.listed([name for name, _ in result.left_out])}")
    return [*texts, *(f"note: {text}" for text in result.warnings[:_NOTES])]


def _schema_texts(changes: SchemaChanges) -> list[str]:
    """The columns that changed, in one line, or none."""
    schema = [
        ("gone", list(changes.missing)),
        ("added", list(changes.added)),
        ("of another kind", [entry[0] for entry in changes.other_kind]),
    ]
    parts = [f"{what}: {messages.listed(names)}" for what, names in schema if names]
    return [f"columns {'; '.join(parts)}"] if parts else []


def _items(texts: Iterable[str]) -> Iterable[str]:
    return (f"- {escape_markdown(text)}" for text in texts)


def escape_markdown(text: str, most: int = _LONGEST) -> str:
    """One line of text that Markdown, and HTML within it, shows as it is; underscores inside words need no escape."""
    line = messages.one_line(text, most).replace("&", "&amp;").replace("<", "&lt;")
    return _SIGNS.sub(lambda sign: f"\\{sign[0]}", line)
