"""Results on a terminal, as tables.

Elsewhere a result is printed as the text that it is, by the commands themselves.
"""

import sys
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from densdiff import messages
from densdiff.cli.failures import harmless, was_printed
from densdiff.comparing.answer import short_names, size_text

_MOST = 30  # rows of a table


def comparison(result: Any) -> None:
    """Columns, pairs and regions that differ."""
    out = _print_answer(result.answer)
    out.print(Text(size_text(result)))
    names = short_names(result.names)
    columns = [
        [
            messages.quote_name(column.name),
            f"{column.total_variation:.3g}",
            f"{column.total_variation_interval[0]:.3g}",
            messages.p_number(column.pvalue_adjusted, column.is_smallest),
            column.direction,
        ]
        for column in result.columns
    ]
    changed = [column.differs for column in result.columns]
    title = f"Columns by total variation, p-values adjusted by {result.adjustment}"
    _table(out, title, ["column", "rows moved", "at least", "p", "what moved"], columns, changed)
    regions = [
        [region.rule, *_shares(region), f"{100 * region.interval[0]:+.1f} to {100 * region.interval[1]:+.1f}"]
        for region in result.regions
    ]
    _table(out, "Regions, shares of rows", ["rule", *names, "points"], regions)
    _print_unlisted(out, result, "regions")
    pairs = [
        [
            f"{messages.quote_name(pair.first)} and {messages.quote_name(pair.second)}",
            pair.measure,
            f"{pair.dependence_a:.2f}",
            f"{pair.dependence_b:.2f}",
        ]
        for pair in result.pairs
    ]
    _table(out, "Pairs whose dependence differs", ["columns", "measure", *names], pairs)
    _print_unlisted(out, result, "pairs")
    told = {column.name for column in result.columns if column.differs and "missing " in column.direction}
    rates = [rate for rate in result.missing if rate.name not in told]
    missing = [[messages.quote_name(rate.name), *_shares(rate), f"{rate.pvalue_adjusted:.3g}"] for rate in rates]
    _table(out, "Missing values", ["column", *names, "p"], missing, [rate.differs for rate in rates])
    left = [[messages.quote_name(name), why] for name, why in result.left_out]
    _table(out, "Left out", ["column", "why"], left)
    _print_notes(out, result, f"{result.n_x} rows of {names[0]}, {result.n_y} of {names[1]}")


def _print_unlisted(out: Console, result: Any, what: str) -> None:
    if what in result.unlisted:
        out.print(Text(result.unlisted[what], style="dim"))


def groups(result: Any) -> None:
    """The groups of two tables, those that differ first."""
    out = _print_answer(result.answer)
    names = short_names(result.names)
    rows = [
        [
            messages.quote_name(group.label),
            f"{group.n_a}",
            f"{group.n_b}",
            f"{group.total_variation:.3g}",
            f"{group.lower:.3g}",
            messages.p_number(group.pvalue_adjusted, group.is_smallest),
            group.where if group.differs else "",
        ]
        for group in result.groups
    ]
    changed = [group.differs for group in result.groups]
    title = "Groups by total variation, p-values adjusted by Holm's rule"
    _table(out, title, ["group", *names, "rows moved", "at least", "p", "most in"], rows, changed)
    only = [[messages.quote_name(label), f"{n}", "0"] for label, n in result.only_a]
    only += [[messages.quote_name(label), "0", f"{n}"] for label, n in result.only_b]
    _table(out, "Groups of one table only, rows", ["group", *names], only)
    others = [[messages.quote_name(label), f"{n_a}", f"{n_b}", why] for label, n_a, n_b, why in result.not_compared]
    _table(out, "Groups that were not compared, rows", ["group", *names, "why"], others)
    _print_notes(out, result, f"{result.n_x} rows of {names[0]}, {result.n_y} of {names[1]}")


def batches(result: Any) -> None:
    """Batches in the order of time, the latest last."""
    from densdiff.comparing.batch_results import TITLES, batch_cells

    out = _print_answer(result.answer)
    shown = result.batches[-_MOST:]
    more = len(result.batches) - len(shown)
    title = f"Batches, p-values adjusted over all of them{f'; {more} earlier ones' if more else ''}"
    rows = [list(batch_cells(batch)) for batch in shown]
    _table(out, title, list(TITLES), rows, [batch.differs for batch in shown])
    _print_notes(out, result, f"{result.n_y} rows in all batches, compared with {result.reference_text}")


def changes(result: Any) -> None:
    """Where a series changes, and which segments are alike."""
    n_changes = len(result.changes)
    out = _print_answer(f"{n_changes or 'No'} change{'s' * (n_changes != 1)} in {result.n_x} samples")
    rows = [
        [str(at), "" if result.times is None else messages.shown(result.times[at]), f"{first} to {last}", f"{p:.3g}"]
        for at, (first, last), p in zip(result.changes, result.intervals, result.pvalues, strict=True)
    ]
    titles = ["index", "time", f"{100 * result.level:g} % interval", "p"]
    if result.kinds:
        titles.append("what changed")
        rows = [[*row, kind.text or kind.what] for row, kind in zip(rows, result.kinds, strict=True)]
    _table(out, "Changes, first sample of each new regime", titles, rows)
    if n_changes > 1:
        out.print(Text(result.states_text))
    _print_notes(out, result, f"window {result.window} samples, lag {result.lag}")


def balance(result: Any) -> None:
    """The share of each class."""
    out = _print_answer(f"Class balance of {result.n_y} rows, from {result.n_x} labelled rows")
    limits = [[""]] * len(result.classes)
    if result.intervals is not None:
        limits = [[f"{100 * low:.1f} % to {100 * high:.1f} %"] for low, high in result.intervals]
    rows = [
        [messages.class_name(label), f"{100 * share:.1f} %", *between]
        for label, share, between in zip(result.classes, result.priors, limits, strict=True)
    ]
    _table(out, "Shares", ["class", "share", f"{100 * result.level:g} % interval"], rows)
    _print_notes(out, result, f"{result.solver}; mixture of these classes: p = {result.mixture_pvalue:.3g}")


def _print_answer(answer: str) -> Console:
    """Print the answer in bold, and return the terminal for what follows."""
    out = Console(file=sys.stdout, highlight=False)
    out.print(Text(harmless(answer), style="bold"))
    return out


def _print_notes(out: Console, result: Any, summary: str) -> None:
    """Print the warnings that standard error does not show already, then a last line with the seed."""
    out.print()
    for text in (text for text in result.warnings if not was_printed(text)):
        out.print(Text(f"note: {harmless(text)}", style="dim"))
    out.print(Text(f"{summary}; seed {result.seed}", style="dim"))


def _shares(row: Any) -> list[str]:
    return [f"{100 * share:.3g} %" for share in (row.share_a, row.share_b)]


def _table(
    out: Console, title: str, head: Sequence[str], rows: Sequence[Sequence[str]], strong: Sequence[bool] | None = None
) -> None:
    if not rows:
        return
    out.print(Text(f"\n{title}"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in head:
        table.add_column(Text(name), overflow="fold")
    for k, row in enumerate(rows[:_MOST]):
        style = "" if strong is None or strong[k] else "dim"
        table.add_row(*(Text(harmless(cell).replace("\n", " "), style=style) for cell in row))
    out.print(table)
    if len(rows) > _MOST:
        out.print(Text(f"and {len(rows) - _MOST} more"))
