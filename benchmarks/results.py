"""One JSON file a benchmark, and results.md with its figures made from all of them: a part may be run again alone."""

import datetime
import io
import itertools
import json
import os
import platform
import re
import sys
import time
from contextlib import redirect_stdout
from importlib import import_module, metadata
from pathlib import Path

from benchmarks import measure
from benchmarks.claims import CLAIMS

HEAD = """# Results of the benchmarks

Written by `make bench`, which runs all of them, each beside its peers on the same machine; `make bench ARGS=speed` runs
one and replaces its part. Times are of the wall clock and worth comparing within a part only. "met" says whether the
ratio, or the figure itself where there is no peer, reaches what had been asked for before it was measured.
"""
SENSES = {"at least": float.__ge__, "at most": float.__le__, "below": float.__lt__, "under": float.__lt__}
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


class Both(io.StringIO):
    """Standard output and a copy of it."""

    def write(self, text):
        sys.__stdout__.write(text)
        sys.__stdout__.flush()
        return super().write(text)


def machine():
    """The processor, the memory and the versions, in one line."""
    cores = len(os.sched_getaffinity(0))
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*: (.*)", info)
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            versions.append(f"no {name}")
    return f"{cores} cores of {model[1] if model else platform.machine()}, {gib:.0f} GiB, {', '.join(versions)}"


def run(name, quick):
    """Run one benchmark and return all that it printed and kept."""
    module = import_module(f"benchmarks.{name}")
    page, text, start = measure.new_page(), Both(), time.perf_counter()
    with redirect_stdout(text):
        module.main(quick=quick)
    return {
        "name": name,
        "about": module.__doc__.strip(),
        "quick": quick,
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "minutes": (time.perf_counter() - start) / 60,
        "rows": page.rows,
        "curves": page.curves,
        "skipped": page.skipped,
        "text": text.getvalue(),
    }


def met(row):
    """Whether the number in the goal is reached: "yes", "no", or "" where the goal has none."""
    value = row.get("ratio", row["ours"])
    if between := re.fullmatch(r"([\d.]+) to ([\d.]+)", row["goal"]):
        return "yes" if float(between[1]) <= value <= float(between[2]) else "no"
    goal = re.search(r"(at least|at most|below|under) ([\d.]+)", row["goal"])
    if goal is None:
        return ""
    return "yes" if SENSES[goal[1]](value, float(goal[2])) else "no"


def table(heads, rows):
    """A table of Markdown."""
    body = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |\n" for row in body)


def amount(value, unit):
    return f"{value:.4g} {unit}".strip()


def measured(row):
    """The cells of a measurement."""
    peer = f"{row['peer']}: {amount(row['theirs'], row['unit'])}" if "theirs" in row else ""
    ratio = f"{row['ratio']:.3g} {row['means']}" if "theirs" in row else ""
    return row["what"], amount(row["ours"], row["unit"]), peer, ratio, row["goal"], met(row)


def grown(curve):
    """The cells of a curve."""
    slopes = [f"{curve[k]:.2f}" if curve[k] is not None else "-" for k in ("time_exponent", "memory_exponent")]
    span = f"{curve['axis']} = {curve['sizes'][0]:,} to {curve['sizes'][-1]:,}"
    largest = f"{curve['seconds'][-1]:.3g}", f"{curve['memory'][-1]:.0f}"
    return (curve["figure"], curve["method"], span, *slopes, *largest, curve["end"])


def section(found, figures):
    """One benchmark as Markdown."""
    quick = " **A quick look, not a measurement.**" if found["quick"] else ""
    parts = [f"## {found['name']}\n\n{found['about']}\n\n{found['date']}, {found['machine']}; "]
    parts.append(f"{found['minutes']:.1f} minutes.{quick}\n")
    for title, rows in itertools.groupby(found["rows"], key=lambda row: row["title"]):
        heads = (title or "what", "densdiff", "peer", "ratio", "to reach", "met")
        parts.append("\n" + table(heads, map(measured, rows)))
    if found["curves"]:
        heads = (
            "question",
            "method",
            "over",
            "time grows as",
            "memory grows as",
            "seconds, largest",
            "MiB, largest",
            "ends for",
        )
        parts.append(
            "\nExponents fitted to the last four sizes; less than 1 MiB is not drawn.\n\n"
            + table(heads, map(grown, found["curves"]))
        )
    parts += [f"\n![{path.stem}]({path.parent.name}/{path.name})\n" for path in figures]
    if found["skipped"]:
        parts.append("\nSkipped:\n\n" + "".join(f"- {peer}: {why}\n" for peer, why in found["skipped"]))
    parts.append(
        f"\n<details><summary>All that it printed</summary>\n\n```text\n{found['text'].strip()}\n```\n\n</details>\n"
    )
    return "".join(parts)


def traced():
    """The rows of docs/benchmarks.md and the command that shows each."""
    rows = [(label, f"`make {target} ARGS={name}`") for label, (target, name, *_) in CLAIMS.items()]
    return "## The figures of docs/benchmarks.md\n\n" + table(("row", "shown by"), rows)


def shortfalls(every):
    """The figures of all benchmarks that fall short of their goals."""
    rows = [(found["name"], row) for found in every for row in found["rows"] if met(row) == "no"]
    lines = [(name, row["title"], *measured(row)[:-1]) for name, row in rows]
    heads = ("part", "table", "what", "densdiff", "peer", "ratio", "to reach")
    return "## Figures short of their goals\n\n" + (table(heads, lines) if lines else "None.\n")


def failures(store, names):
    """The benchmarks that failed when they were last run, and why."""
    paths = [(name, store / f"{name}.failed") for name in names]
    lines = [f"- {name}: {path.read_text(encoding='utf-8').strip()}\n" for name, path in paths if path.exists()]
    return "## Parts that failed when they were last run\n\n" + ("".join(lines) or "None.\n")


def fail(folder, names, name, why):
    """Store that a benchmark failed; what it found before stays."""
    store = folder / "results"
    store.mkdir(parents=True, exist_ok=True)
    (store / f"{name}.failed").write_text(f"{why}\n", encoding="utf-8")
    write(folder, names)


def write(folder, names, found=None):
    """Store what a benchmark found, and make results.md and the figures from all that is stored."""
    from benchmarks.figures import draw

    store = folder / "results"
    store.mkdir(parents=True, exist_ok=True)
    if found is not None:
        (store / f"{found['name']}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        (store / f"{found['name']}.failed").unlink(missing_ok=True)
    paths = [path for name in names if (path := store / f"{name}.json").exists()]
    every = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    sections = [section(stored, draw(stored, folder / "figures")) for stored in every]
    parts = [HEAD, failures(store, names), shortfalls(every), traced(), *sections]
    (folder / "results.md").write_text("\n".join(parts), encoding="utf-8")
