"""The page of many batches: total variation over all of them, columns x batches, and a table, the latest first."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from densdiff import messages
from densdiff.report.figures import shades
from densdiff.report.page import receipt, write_template
from densdiff.report.svg import WIDE, Panel, Svg, cut, element, picture, text_element, written, y_axis

_DRAWN = 40  # columns
_LISTED = 400  # batches in the table, and as many that are of interest before
_TICKS = 6
_LEFT, _RIGHT = 110.0, WIDE - 14.0
_ROW = 16.0  # height of a column in the map


def write_batches(path: str | PathLike[str], result: Any, title: str | None = None) -> Path:
    """Write the page of a `BatchesResult`.

    Parameters
    ----------
    path : path-like
        The file to write; it is replaced only once the page is complete.
    result : BatchesResult
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
    >>> from densdiff.report import write_batches
    >>> tables = dd.datasets.mixed_tables(60, random_state=0)
    >>> result = dd.track({"June": tables.b}, reference=tables.a, columns=["age"], n_permutations=39, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_batches(Path(folder, "report.html"), result).name
    'report.html'
    """
    batches = [(batch, batch.differs) for batch in result.batches[::-1]]
    listed = [batch for k, (batch, differs) in enumerate(batches) if k < _LISTED or differs]
    count = len(result.batches)
    return write_template(
        path,
        "batches.html",
        result.to_dict(),
        title=title or f"{count} batch{'es' * (count != 1)} compared with {result.reference_text}",
        answer=f"{result.answer.rstrip('.')}.",
        result=result,
        line=variation_line(result) if result.compared else None,
        map=column_map(result) if result.columns else None,
        more_columns=max(0, len(result.columns) - _DRAWN),
        listed=[(batch, result.where(batch)) for batch in listed],
        more=count - len(listed),
        facts=[
            ("reference", result.reference_text),
            ("rows", f"{result.n_y} in all batches, {result.n_x} in the latest reference"),
            ("level", f"alpha {result.alpha:g} over all batches, past and future, however often one looks"),
            *receipt(result),
        ],
        notes=result.warnings,
    )


def variation_line(result: Any) -> Svg:
    """Total variation of each batch, with a line down to its lower limit; batches that differ are marked."""
    count = len(result.batches)
    values = [batch.total_variation or 0.0 for batch in result.compared]
    panel = Panel((-0.5, count - 0.5), (0.0, 1.08 * max(*values, 0.05)), _LEFT, 8.0, _RIGHT, 150.0)
    elements = [y_axis(panel)]
    if result.began is not None:
        start = next(k for k, batch in enumerate(result.batches) if batch.label == result.began)
        elements.append(panel.upright(start - 0.5, "change"))
    for k, batch in enumerate(result.batches):
        if batch.total_variation is None:
            continue
        at = float(panel.across(float(k)))
        top, low = (float(panel.down(value)) for value in (batch.total_variation, batch.interval[0]))
        inside = [element("path", d=f"M{written(at)} {written(top)}V{written(low)}", class_="span")] * (low > top)
        radius = min(4.5, max(1.2, 0.35 * (_RIGHT - _LEFT) / count))
        inside.append(element("circle", cx=at, cy=top, r=radius, class_="dot"))
        elements.append(element("g", *inside, class_="mark strong" if batch.differs else "mark"))
    title = "Total variation of each batch with its lower limit"
    return picture(title, WIDE, 180.0, *elements, _axis(panel, result.batches), kind="wide")


def column_map(result: Any) -> Svg:
    """Columns x batches: shades of total variation, in the colour of B where a column differs, else of A."""
    columns, count = result.columns[:_DRAWN], len(result.batches)
    bottom = 8.0 + _ROW * len(columns)
    panel = Panel((-0.5, count - 0.5), (len(columns) - 0.5, -0.5), _LEFT, 8.0, _RIGHT, bottom)
    values = np.zeros((len(columns), count))
    for j, column in enumerate(columns):
        for k, (value, p) in enumerate(zip(column.total_variation, column.pvalue_adjusted, strict=True)):
            if value is not None:
                is_found = p <= result.alpha and result.batches[k].differs
                values[j, k] = value if is_found else -value
    names = [
        text_element("text", cut(messages.quote_name(column.name), 17), x=_LEFT - 6.0, y=down + 4.0, class_="end name")
        for column, down in zip(columns, 8.0 + _ROW * (np.arange(len(columns)) + 0.5), strict=True)
    ]
    title = "Total variation of each column in each batch"
    elements = [*shades(panel, values[::-1]), *names, _axis(panel, result.batches)]
    return picture(title, WIDE, bottom + 30.0, *elements, kind="wide")


def _axis(panel: Panel, batches: list[Any]) -> Svg:
    """The labels of a few batches below."""
    places = np.unique(np.linspace(0, len(batches) - 1, min(_TICKS, len(batches))).round().astype(int)).tolist()
    return panel.below([float(k) for k in places], [cut(batches[k].label, 14) for k in places])
