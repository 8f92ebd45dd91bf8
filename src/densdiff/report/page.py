"""One HTML page without scripts and without anything from the network.

Values become text through an autoescaping template, figures become inline SVG, and a file appears whole or
not at all. Which values and figures belong on a page is the caller's business.
"""

from __future__ import annotations

import io
import json
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from densdiff.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_page(
    path: str | os.PathLike[str],
    *,
    title: str,
    answer: str,
    facts: Sequence[Sequence[str]],
    figures: Sequence[tuple[str, Figure]],
    data: Mapping[str, Any],
) -> Path:
    """Write a page that answers first and shows the evidence below.

    Parameters
    ----------
    path : path-like
        The file to write; it is replaced only once the page is complete.
    title, answer : str
        The heading, and the answer in one sentence.
    facts : sequence of rows of str
        A table; the first row is its head.
    figures : sequence of (caption, matplotlib Figure)
        Drawn below the table.
    data : mapping
        The result as plain JSON values, shown folded at the end.

    Returns
    -------
    pathlib.Path

    Examples
    --------
    >>> import tempfile
    >>> from densdiff.report import write_page
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = folder.name + "/page.html"
    >>> facts = [("", "value"), ("rows", "200")]
    >>> page = write_page(path, title="Demo", answer="Equal.", facts=facts, figures=[], data={"rows": 200})
    >>> page.name
    'page.html'
    >>> folder.cleanup()
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ModuleNotFoundError as error:
        raise MissingExtraError('the report needs Jinja2: pip install "densdiff[plot]"') from error

    def visible(value: Any) -> Any:
        # Direction overrides, escapes and other unprintable characters of a name could hide or reorder text.
        if isinstance(value, Markup):
            return value
        return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in str(value))

    environment = Environment(
        loader=PackageLoader("densdiff.report"), autoescape=True, undefined=StrictUndefined, finalize=visible
    )
    text = environment.get_template("page.html").render(
        title=title,
        answer=answer,
        facts=facts,
        figures=[(caption, Markup(figure_svg(figure))) for caption, figure in figures],
        data=json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False),
    )
    return write_aside(path, text.encode())


def figure_svg(figure: Figure) -> str:
    """Return a figure as an ``<svg>`` element, the same text for the same figure every time."""
    import matplotlib

    buffer = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    # Text stays text: it can be searched, needs no font here, and names in any alphabet show in the browser.
    fixed = matplotlib.rc_context({"svg.hashsalt": "densdiff", "svg.fonttype": "none"})
    with fixed, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(buffer, format="svg", metadata=nothing)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    # Group names such as axes_1 are referenced nowhere and would repeat when a page has two figures.
    return re.sub(r'<g id="[^"]*">', "<g>", svg)


def write_aside(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write a file under another name and rename it, so that a failure leaves no partial file."""
    target = Path(path)
    aside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        aside.write_bytes(content)
        os.replace(aside, target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    return target
