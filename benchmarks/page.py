"""The figures of docs/benchmarks.md, taken from what `make bench` and `make calibrate` have stored.

``python -m benchmarks.page`` writes them anew, each with the unit and about as many digits as it has there; the words
around them stay as they are. Which figure comes from where is in `claims`.
"""

import itertools
import json
import math
import re
from pathlib import Path

from benchmarks.claims import CLAIMS, Growth, Printed

ROOT = Path(__file__).parents[1]
PAGE, CALIBRATION = ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "calibration.md"
RESULTS = ROOT / "benchmarks" / "results"
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*\.?\d*(?:e[-+]\d+)?")
UNITS = {" ms": 1000, " %": 100}  # of figures that are stored as seconds and shares


def main():
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def refreshed(text):
    """The page with the figures that are stored now."""
    lines = text.splitlines(keepends=True)
    for place in table_rows(lines):
        label = cells_of(lines[place])[0]
        if label in CLAIMS:
            target, name, *sources = CLAIMS[label]
            lines[place] = with_figures(lines[place], [values_of(source, target, name) for source in sources])
    return "".join(lines)


def table_rows(lines):
    """The numbers of the lines that are rows of tables, without their heads."""
    heads = [k for k, (_, rule) in enumerate(itertools.pairwise(lines)) if re.fullmatch(r"\|(---\|)+\s*", rule)]
    return [
        k for k, line in enumerate(lines) if line.startswith("|") and not line.startswith("|---") and k not in heads
    ]


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def with_figures(line, figures):
    """A row whose cells with digits, all but the first, say these numbers."""
    label, *cells = line.strip().strip("|").split("|")
    places = [k for k, cell in enumerate(cells) if re.search(r"\d", cell)]
    for place, values in zip(places, figures, strict=True):
        cells[place] = with_numbers(cells[place], values)
    return "|" + "|".join([label, *cells]) + "|\n"


def with_numbers(cell, values):
    """A cell in which the numbers are these, in its unit."""
    scale = next((scale for unit, scale in UNITS.items() if cell.rstrip().endswith(unit)), 1) if len(values) == 1 else 1
    numbers = iter(values)
    return NUMBER.sub(lambda old: alike(old[0], scale * next(numbers)), cell)


def says(text, value):
    """Whether a number that is written is the value to as many places as are written."""
    places = len(text.partition(".")[2])
    return abs(float(text.replace(",", "")) - value) <= 0.501 * 10.0**-places


def alike(old, value):
    """A number with as many digits that count as another one has, but all those before the point."""
    if says(old, value):
        return old
    digits = len(old.replace(",", "").replace(".", "").lstrip("-0"))
    if "." not in old or not value:
        return f"{value:.{len(old.partition('.')[2])}f}"
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"


def values_of(source, target, name):
    """What a source says now: a number, or of `make calibrate` the ends of a column."""
    if target == "calibrate":
        return in_calibration(source, name)
    return [in_results(source, json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")))]


def only(candidates, source):
    if len(candidates) != 1:
        raise ValueError(f"{source} is {len(candidates)} of the results")
    return candidates[0]


def in_results(source, stored):
    """What `make bench` has found, in its own unit."""
    if isinstance(source, Growth):
        fits = [curve for curve in stored["curves"] if (curve["figure"], curve["axis"]) == ("fit", "n")]
        return only([curve["time_exponent"] for curve in fits if curve["method"] == source.method], source)
    if isinstance(source, Printed):
        parts = [part for part in stored["text"].strip().split("\n\n") if part.strip().startswith(source.paragraph)]
        lines = [line for part in parts for line in part.splitlines() if line.startswith(source.line)]
        return float(NUMBER.findall(only(lines, source).removeprefix(source.line))[source.place])
    rows = [row for row in stored["rows"] if bool(row["title"]) == bool(source.title)]
    rows = [row for row in rows if row["title"].startswith(source.title)]
    rows = [row for row in rows if row.get("peer", "").startswith(source.peer) and row["unit"].startswith(source.unit)]
    same = [row for row in rows if row["what"] == source.what]
    return only(same or [row for row in rows if row["what"].startswith(source.what)], source)[source.value]


def in_calibration(source, name):
    """The ends of a column of `make calibrate`."""
    part = CALIBRATION.read_text(encoding="utf-8").split(f"<!-- {name} -->")[1].split(f"<!-- end of {name} -->")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    place = cells_of(lines[0]).index(source.column)
    lines = [line for line in lines[2:] if all(word in line for word in source.words)]
    values = [float(NUMBER.search(cells_of(line)[place])[0]) for line in lines]
    return [min(values), max(values)]


if __name__ == "__main__":
    main()
