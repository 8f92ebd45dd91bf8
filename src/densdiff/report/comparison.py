"""The page of a comparison of two tables: which columns get a card, and the facts below.

Pictures are drawn in `figures`, the frame of the page is in `page`.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from densdiff.report import figures
from densdiff.report.page import percent, receipt, write_template
from densdiff.report.svg import Svg
from densdiff.results import Curve, Shares

_RANKED = 15  # columns that are ranked unfolded
_OTHERS = 5e-4  # share of the levels that are not drawn, from which on it is said


@dataclass(frozen=True)
class _Card:
    """A column with its pictures."""

    column: Any
    pictures: tuple[tuple[str, Svg], ...]  # "density", "difference" or "shares", which tells the legend
    note: str = ""


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
    distance = result.distance
    ranked = [
        (column, figures.rank_mark(column.name, column.normalized, column.interval, column.differs))
        for column in result.columns
    ]
    drawn = [column for column in result.columns if column.picture is not None]
    return write_template(
        path,
        "comparison.html",
        result.to_dict(),
        title=title or "Comparison of two tables",
        answer=f"{result.answer}.",
        result=result,
        scale=figures.effect_scale(distance.normalized, distance.normalized_interval),
        ranked=(ranked[:_RANKED], ranked[_RANKED:]),
        changed=[_card(column) for column in drawn if column.differs],
        unchanged=[_card(column) for column in drawn if not column.differs],
        more=len(result.columns) - len(drawn),
        pairs=[
            (pair, None if pair.map is None else figures.difference_map(pair.first, pair.second, pair.map))
            for pair in result.pairs
        ],
        facts=_facts(result),
        notes=result.warnings,
    )


def _card(column: Any) -> _Card:
    picture: Curve | Shares = column.picture
    if isinstance(picture, Curve):
        density, difference = (draw(column.name, picture) for draw in (figures.densities, figures.difference))
        return _Card(column, (("density", density), ("difference", difference)))
    others = [1.0 - float(shares.sum()) for shares in (picture.a, picture.b)]
    note = f"Other levels: {percent(others[0])} of A, {percent(others[1])} of B." if max(others) > _OTHERS else ""
    return _Card(column, (("shares", figures.share_bars(column.name, picture)),), note)


def _facts(result: Any) -> list[tuple[str, str]]:
    test = result.test
    return [
        ("rows", f"{result.n_x} of A, {result.n_y} of B"),
        ("columns", f"{len(result.columns)} compared, {len(result.left_out)} left out"),
        ("level", f"alpha {result.alpha:g}, smallest effect that counts {result.min_effect_text}"),
        ("joint test", f"{test.null} null, {test.n_permutations} permutations"),
        ("p of columns", f"adjusted for the number of columns: {result.adjustment}"),
        ("intervals", f"{100 * result.distance.level:g} %"),
        *receipt(result),
    ]
