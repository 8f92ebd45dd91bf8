"""The frame of every page: no script, nothing from the network, and the JSON it was made from.

Values become text through an autoescaping template, and a file appears whole or not at all.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from html import escape
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

from densdiff import messages
from densdiff.errors import MissingExtraError
from densdiff.io.write import atomic_write
from densdiff.report.svg import Svg, plain

_COMPUTES = ("numpy", "scipy", "scikit-learn")
_WHOLE = re.compile(r"\d{4}-\d\d-\d\d(?:T[\d:.]+)?|-&gt;|\d+(?:\.\d+)? %|\bp (?:=|&lt;=?) \d[\d.e-]*\d")


def write_template(path: str | PathLike[str], template: str, data: Mapping[str, Any], **content: Any) -> Path:
    """Fill a template and write the page; the file is replaced only once the page is complete."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise MissingExtraError('the report needs Jinja2: pip install "densdiff[plot]"') from error

    environment = Environment(
        loader=PackageLoader("densdiff.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if hasattr(value, "__html__") else plain(value),
    )
    environment.filters |= {
        "bare": messages.quote_name,
        "percent": messages.percent,
        "distance": distance,
        "pvalue": messages.p_number,
        "p_is": messages.p_text,
        "unbroken": unbroken,
    }
    text = environment.get_template(template).render(data=_json(data), **content)
    with atomic_write(path) as aside:
        aside.write_text(text, "utf-8", newline="\n")
    return Path(path)


def distance(value: float) -> str:
    """A normalized distance; nobody compares more than three decimals of it, and the JSON has them."""
    return "0" if value == 0 else f"{value:.3f}" if value >= 0.0005 else "< 0.001"


def unbroken(text: str) -> Svg:
    """Text whose dates, arrows, shares and p-values stay on one line each."""
    return Svg(_WHOLE.sub(r'<span class="nowrap">\g<0></span>', escape(plain(text))))


def receipt(result: Any) -> list[tuple[str, str]]:
    """How a result was computed, as a table."""
    sigma = result.sigma if isinstance(result.sigma, tuple) else (result.sigma,)
    model = [
        result.solver,
        "" if result.n_centers is None else f"{result.n_centers} centers",
        "" if result.sigma is None else f"sigma {' and '.join(f'{width:.4g}' for width in sigma)}",
        "" if result.lam is None else f"lam {result.lam:.4g}",
    ]
    return [
        ("model", ", ".join(filter(None, model))),
        ("tuning", result.tuning),
        ("seed", str(result.seed)),
        ("version", f"densdiff {result.version}"),
        ("page written with", _versions()),
    ]


def _versions() -> str:
    """The versions of what computes, where the page is written."""
    return ", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in _COMPUTES)])


def _json(data: Mapping[str, Any]) -> str:
    """JSON that can be read back: what could not be shown is escaped in its own way."""
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    # a list of numbers takes one line; no string holds a line break as such
    text = re.sub(r'\[\n[^\[\]{}"]*\]', lambda match: re.sub(r"\s+", " ", match[0]), text)
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
