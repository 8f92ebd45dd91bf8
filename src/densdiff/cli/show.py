"""Results on a terminal, as tables; elsewhere a result is printed as the text that it is."""

import sys
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from densdiff import messages
from densdiff.cli.failures import harmless, was_said

_MOST = 30  # rows of a table


def comparison(result: Any) -> None:
    """Columns, pairs and regions that differ."""
    out = _opened(result.answer)
    found = [
        [
            messages.quote_name(each.name),
            f"{each.normalized:.3g}",
            f"{each.interval[0]:.3g} to {each.interval[1]:.3g}",
            f"{each.pvalue_adjusted:.3g}",
            each.direction,
        ]
        for each in result.columns
    ]
    changed = [each.differs for each in result.columns]
    title = f"Columns, p-values adjusted by {result.adjustment}"
    _table(out, title, ["column", "distance", "95 % interval", "p", "what moved"], found, changed)
    regions = [
        [each.rule, *_shares(each), f"{100 * each.interval[0]:+.1f} to {100 * each.interval[1]:+.1f}"]
        for each in result.regions
    ]
    _table(out, "Regions, shares of rows", ["rule", "A", "B", "points"], regions)
    pairs = [
        [
            f"{messages.quote_name(each.first)} and {messages.quote_name(each.second)}",
            each.measure,
            f"{each.dependence_a:.2f}",
            f"{each.dependence_b:.2f}",
        ]
        for each in result.pairs
    ]
    _table(out, "Pairs whose dependence differs", ["columns", "measure", "A", "B"], pairs)
    missing = [
        [messages.quote_name(each.name), *_shares(each), f"{each.pvalue_adjusted:.3g}"] for each in result.missing
    ]
    _table(out, "Missing values", ["column", "A", "B", "p"], missing, [each.differs for each in result.missing])
    left = [[messages.quote_name(name), why] for name, why in result.left_out]
    _table(out, "Left out", ["column", "why"], left)
    _closed(out, result, f"{result.n_x} rows of A, {result.n_y} of B")


def changes(result: Any) -> None:
    """Where a series changes."""
    found = len(result.changes)
    out = _opened(f"{found or 'No'} change{'s' * (found != 1)} in {result.n_x} samples")
    rows = [
        [str(at), "" if result.times is None else messages.shown(result.times[at]), f"{p:.3g}"]
        for at, p in zip(result.changes, result.pvalues, strict=True)
    ]
    _table(out, "Changes, first sample of each new regime", ["index", "time", "p"], rows)
    _closed(out, result, f"window {result.window} samples, lag {result.lag}")


def balance(result: Any) -> None:
    """The share of each class."""
    out = _opened(f"Class balance of {result.n_y} rows, from {result.n_x} labelled rows")
    limits = [[""]] * len(result.classes)
    if result.intervals is not None:
        limits = [[f"{low:.3f} to {high:.3f}"] for low, high in result.intervals]
    rows = [
        [
            harmless(str(label)) if isinstance(label, int | float) else messages.quote_name(str(label)),
            f"{share:.3f}",
            *between,
        ]
        for label, share, between in zip(result.classes, result.priors, limits, strict=True)
    ]
    _table(out, "Shares", ["class", "share", f"{100 * result.level:g} % interval"], rows)
    _closed(out, result, result.solver)


def _opened(answer: str) -> Console:
    out = Console(file=sys.stdout, highlight=False)
    out.print(Text(harmless(answer), style="bold"))
    return out


def _closed(out: Console, result: Any, how: str) -> None:
    out.print()
    for text in (text for text in result.warnings if not was_said(text)):
        out.print(Text(f"note: {harmless(text)}", style="dim"))
    out.print(Text(f"{how}; seed {result.seed}", style="dim"))


def _shares(each: Any) -> list[str]:
    return [f"{100 * share:.3g} %" for share in (each.share_a, each.share_b)]


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
