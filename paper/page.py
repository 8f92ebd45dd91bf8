"""A part as PNG and CSV, and the page that shows all parts beside the claims."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import densdiff as dd
from paper.claims import Claim
from paper.files import written
from paper.part import Part, Rows

_DOTS = 120  # an inch
_SETTINGS = [
    ("paper", "Sugiyama, Kanamori, Suzuki, du Plessis, Liu, Takeuchi: Density-Difference Estimation, arXiv 1207.0099"),
    ("authors' settings", "their widths and regularizations, data as they are, 5 folds, at most 300 centers (E6)"),
    ("our settings", "the defaults of this library"),
]


@dataclass(frozen=True)
class Shown:
    """What the page says about a part: `image` is a data URI, and `table` the name of the CSV; both "" without rows."""

    part: Part
    runs: int
    claims: list[Claim]
    missing: str
    image: str
    table: str


def show(out: Path, part: Part, runs: int, rows: Rows, missing: str) -> Shown:
    """Write figure-<n>.png and figure-<n>.csv; without rows there is nothing to write."""
    claims = part.claims(rows)
    if not rows:
        return Shown(part, runs, claims, missing, "", "")
    image, table = (out / f"figure-{part.figure}.{kind}" for kind in ("png", "csv"))
    drawn = io.BytesIO()
    part.draw(rows).savefig(drawn, format="png", dpi=_DOTS)
    with written(image) as aside:
        aside.write_bytes(drawn.getvalue())
    with written(table) as aside, aside.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    uri = "data:image/png;base64," + base64.b64encode(drawn.getvalue()).decode()
    return Shown(part, runs, claims, missing, uri, table.name)


def write_page(out: Path, shown: Sequence[Shown], seed: int) -> Path:
    """Write index.html. The same results give the same bytes: it knows neither clock nor machine."""
    claims = [claim for each in shown for claim in each.claims]
    data: dict[str, Any] = {"seed": seed, "runs": {each.part.figure: each.runs for each in shown}}
    data |= {"claims": [asdict(claim) for claim in claims], "version": dd.__version__}
    text = _filled_template(
        title="Density-Difference Estimation, reproduced",
        answer=_answer(claims),
        shown=shown,
        facts=[*_SETTINGS, ("seed", str(seed)), ("version", f"densdiff {dd.__version__}")],
        notes=[each.missing for each in shown if each.missing],
        data=_as_json(data),
    )
    page = out / "index.html"
    with written(page) as aside:
        aside.write_text(text, "utf-8", newline="\n")
    return page


def _filled_template(**content: Any) -> str:
    """The page: every value becomes text, and a name that the template does not know is an error."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise dd.MissingExtraError('the page needs Jinja2: pip install "densdiff[plot]"') from error
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )
    return environment.get_template("page.html").render(**content)


def _printable(value: object) -> str:
    """Text in which escapes and direction overrides, as of a sequence's name, are replaced."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in str(value))


def _as_json(data: Mapping[str, Any]) -> str:
    """JSON that can be read back: what could not be shown is escaped in its own way."""
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def _answer(claims: Sequence[Claim]) -> str:
    if not claims:
        return "The figures shown here come with no claim that could be measured."
    counts = Counter(claim.verdict for claim in claims)
    parts = [f"{counts['holds']} of {len(claims)} claims of the paper hold in our measurement"]
    fails, open_, lost = (counts[verdict] for verdict in ("does not hold", "undecided", "not measured"))
    parts += [f"{fails} do{'es' * (fails == 1)} not"] * bool(fails)
    parts += [f"{open_} need{'s' * (open_ == 1)} more runs to be decided"] * bool(open_)
    parts += [f"{lost} could not be measured"] * bool(lost)
    return ", ".join(parts) + "."
