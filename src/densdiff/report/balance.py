"""The page of a class balance: its answer, its tables and its facts.

Pictures are drawn in `figures`, the frame of the page is in `page`.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from densdiff import messages
from densdiff.messages import percent
from densdiff.report import figures
from densdiff.report.page import receipt, write_template

_LISTED = 4  # classes in the answer


def write_balance(path: str | PathLike[str], result: Any, title: str | None = None) -> Path:
    """Write the page of a `ClassBalanceResult`.

    Parameters
    ----------
    path : path-like
        The file to write; it is replaced only once the page is complete.
    result : ClassBalanceResult
    title : str, optional
        The heading of the page.

    Returns
    -------
    pathlib.Path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import densdiff as dd
    >>> from densdiff.report import write_balance
    >>> X, y = np.random.default_rng(0).normal([[0.0], [2.0]] * 30), ["a", "b"] * 30
    >>> result = dd.ClassBalance(random_state=0).fit(X, y).estimate(X[10:50])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_balance(Path(folder, "report.html"), result).name
    'report.html'
    """
    labels = [messages.class_name(label) for label in result.classes]
    rows = [
        {
            "label": labels[c],
            "share": percent(float(result.priors[c])),
            "between": "" if result.intervals is None else " to ".join(percent(float(e)) for e in result.intervals[c]),
            "error": "" if result.standard_errors is None else percent(float(result.standard_errors[c])),
        }
        for c in range(len(labels))
    ]
    order = np.argsort(-result.priors, kind="stable").tolist()
    shares = [
        f"{rows[c]['label']}: {rows[c]['share']}" + (f" ({rows[c]['between']})" if rows[c]["between"] else "")
        for c in order[:_LISTED]
    ]
    more = f" and {len(order) - _LISTED} more classes" if len(order) > _LISTED else ""
    return write_template(
        path,
        "balance.html",
        result.to_dict(),
        title=title or "Class balance of new rows",
        answer=f"Of {result.n_y} new rows, {', '.join(shares)}{more}.",
        level=f"{100 * result.level:g} %",
        drawn=figures.share_intervals(labels, result.priors, result.intervals),
        mixture=None if result.profile is None else figures.mixture(labels, result.profile),
        column="" if result.profile is None else messages.quote_name(result.profile.column),
        rows=rows,
        facts=[
            ("rows", f"{result.n_x} labelled, {result.n_y} new"),
            ("mixture of these classes", f"p = {result.mixture_pvalue:.3g}"),
            *receipt(result),
        ],
        notes=result.warnings,
    )
