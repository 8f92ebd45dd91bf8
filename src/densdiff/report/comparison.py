"""The page of a comparison of two tables: which columns get a card, what is said of it, and the facts below.

Pictures are drawn in `figures` and `column_figures`, the frame of the page is in `page`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from densdiff import messages
from densdiff.messages import percent
from densdiff.report import column_figures, figures
from densdiff.report.page import distance, receipt, write_template
from densdiff.report.svg import Svg
from densdiff.results import Bars, Curve, Shares

_HEADING, _LEGEND = 60, 26  # characters of the name of a table in the heading, and elsewhere
_NOTICED = 5e-3  # share of the rows of a table outside a picture, from which on it is said
_ALL_OVER = (
    "No single place stands out, the band holds 0 everywhere: the test looks at all values at once, and the change is "
    "spread out."
)
_IN_SPIKES = (
    "Among the other values no single place stands out, the band holds 0 everywhere: the change is in the share of "
    "rows with the very same value, or it is spread out."
)


@dataclass(frozen=True)
class Card:
    """A column that differs: its mark, p-value and size in words, its pictures and what to say below them."""

    column: Any
    mark: Svg
    pvalue: str
    size: str
    pictures: tuple[tuple[str, Svg], ...] = ()  # "density", "difference", "bars", .. which tells the legend
    notes: tuple[str, ...] = ()


def write_comparison(path: str | PathLike[str], result: Any, title: str | None = None) -> Path:
    """Write the page of a `Comparison`.

    Parameters
    ----------
    path : path-like
        The file to write; it is replaced only once the page is complete.
    result : Comparison
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
    >>> from densdiff.report import write_comparison
    >>> tables = dd.datasets.mixed_tables(100, random_state=0)
    >>> result = dd.compare(tables.a, tables.b, columns=["age", "plan"], n_permutations=99, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_comparison(Path(folder, "report.html"), result).name
    'report.html'
    """
    names = messages.short_names(result.names, _LEGEND)
    changed = [_card(column, names) for column in result.columns if column.differs]
    variation = result.total_variation
    return write_template(
        path,
        "comparison.html",
        result.to_dict(),
        title=title or " and ".join(messages.short_names(result.names, _HEADING)) + " compared",
        answer=f"{result.answer.rstrip('.')}.",
        result=result,
        names=names,
        level=f"{100 * result.distance.level:g} %",
        size=_joint_size(result, names, result.p_text),
        scale=figures.effect_scale(variation.value, variation.interval),
        changed=changed,
        drawn=[card for card in changed if card.pictures],
        unchanged=[(column, _column_p(column)) for column in result.columns if not column.differs],
        pairs=[
            (pair, None if pair.map is None else figures.difference_map(pair.first, pair.second, pair.map, names))
            for pair in result.pairs
        ],
        facts=_facts(result, names),
        notes=result.warnings,
    )


def _column_p(column: Any) -> str:
    """The adjusted p-value of a column by itself."""
    return messages.p_number(column.pvalue_adjusted, column.is_smallest)


def card_without_pictures(column: Any) -> Card:
    """What is said of a column that differs."""
    mark = figures.rank_mark(column.name, column.total_variation, column.total_variation_interval, column.differs)
    ends = f"[{distance(column.interval[0])}, {distance(column.interval[1])}]"
    size = f"{_moved(column.total_variation, column.total_variation_interval[0])}; "
    size += f"normalized L2 distance {distance(column.normalized)} {ends}; {column.p_text}"
    return Card(column, mark, _column_p(column), size)


def _card(column: Any, names: tuple[str, str]) -> Card:
    pictures, notes = _pictures(column.name, column.picture, names)
    return replace(card_without_pictures(column), pictures=pictures, notes=notes)


def _moved(value: float, lower: float) -> str:
    """A total variation in words."""
    return f"{percent(value)} of the rows would have to change, at least {percent(lower)}"


def _joint_size(result: Any, names: tuple[str, str], p: str) -> str:
    """How far all columns together are apart, in words."""
    variation, ends = result.total_variation, result.distance.normalized_interval
    between = "" if ends is None else f" [{distance(ends[0])}, {distance(ends[1])}]"
    return (
        f"{_moved(variation.value, variation.interval[0])} ({100 * variation.level:g} % sure), for {names[1]} to look "
        f"like {names[0]}; {p}. The scale gives small shares more room. The normalized L2 distance, 0 for equal and "
        f"1 for no overlap, is {distance(result.distance.normalized)}{between}."
    )


def _pictures(
    column: str, picture: Curve | Bars | Shares | None, names: tuple[str, str]
) -> tuple[tuple[tuple[str, Svg], ...], tuple[str, ...]]:
    """The pictures of a column with the kinds of their legends, and what to say below them."""
    if picture is None:
        return (), ()
    if isinstance(picture, Shares):
        return (("shares", column_figures.share_bars(column, picture, names)),), ()
    notes = [_outside(picture.outside, names)]
    is_sure = bool(((picture.lower > 0) | (picture.upper < 0)).any())
    if isinstance(picture, Curve):
        drawn = [("density", column_figures.densities(column, picture, names))]
        drawn.append(("difference", column_figures.difference(column, picture, names)))
        notes.append("" if is_sure else _ALL_OVER)
    else:
        drawn = [("bars", column_figures.bar_shares(column, picture, names))]
        drawn.append(("bar differences", column_figures.bar_differences(column, picture, names)))
        if picture.spikes is not None:
            drawn.insert(0, ("spikes", column_figures.share_bars(column, picture.spikes, names)))
        notes.append("" if is_sure else _ALL_OVER if picture.spikes is None else _IN_SPIKES)
    notes += [f"{note[0].upper()}{note[1:]}." for note in picture.notes]
    return tuple(drawn), tuple(filter(None, notes))


def _outside(outside: tuple[float, float], names: tuple[str, str]) -> str:
    """What share of each table lies outside a picture."""
    if max(outside) < _NOTICED:
        return ""
    words = ("none" if share == 0 else "almost none" for share in outside)
    shares = [f"{100 * share:.2g} %" if share >= 1e-3 else word for share, word in zip(outside, words, strict=True)]
    return f"Outside the picture: {shares[0]} of {names[0]} and {shares[1]} of {names[1]}."


def _facts(result: Any, names: tuple[str, str]) -> list[tuple[str, str]]:
    test = result.test
    return [
        ("rows", f"{result.n_x} of {names[0]}, {result.n_y} of {names[1]}"),
        ("columns", f"{len(result.columns)} compared, {len(result.left_out)} left out"),
        ("level", f"alpha {result.alpha:g}, smallest effect that counts {result.min_effect_text}"),
        ("joint test", f"{test.null} null, {test.n_permutations} permutations"),
        ("p of columns", f"adjusted for the number of columns: {result.adjustment}"),
        ("intervals", f"{100 * result.distance.level:g} %"),
        *receipt(result),
    ]
