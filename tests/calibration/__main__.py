"""Run the simulations behind docs/calibration.md and write it: ``python -m tests.calibration [names]``."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # runs share the cores; must be set before NumPy loads its BLAS

import argparse
import importlib
import sys
from pathlib import Path

from tests.calibration import picture

NAMES = (
    "coverage",
    "rough_bands",
    "overlap",
    "size",
    "balance",
    "mixture",
    "changes",
    "change_power",
    "places",
    "states",
    "monitor",
    "compare",
    "nights",
    "profiles",
    "total_variation",
    "sequential",
    "batches",
)
PAGE = Path(__file__).parents[2] / "docs" / "calibration.md"
HEAD = """# Calibration: what the statistical promises measure

Written by `make calibrate`, which anybody can run: in full, enough runs to see a breach of 1.5 points (about a day on
two cores); `ARGS="--share 0.2"` a fifth of them. Each table says how many runs it rests on. `ARGS=--quick` takes a look
and leaves this page alone. Every figure is a share of independent simulated runs; in brackets its standard error.

![Measured shares beside what was promised](images/calibration.png)
"""


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.calibration", description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="name", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--share", type=float, default=1.0, help="of the runs; all of them see a breach of 1.5 points")
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the runs, printed and not written")
    arguments = parser.parse_args()
    breaches = []
    for name in arguments.names:
        study = importlib.import_module(f"tests.calibration.{name}")
        text, found = study.report(0.02 if arguments.quick else arguments.share)
        print(text, flush=True)
        breaches += found
        if not arguments.quick:
            write(name, text)
    for line in breaches:
        print(f"outside its target: {line}", file=sys.stderr)
    sys.exit(1 if breaches else 0)


def write(name, text):
    """Replace one study's part of the page, leaving the others as they are."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else HEAD
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    part = f"{start}{text.rstrip()}\n{end}"
    if start in page:
        before, _, rest = page.partition(start)
        page = before + part + rest.partition(end)[2]
    else:
        page += "\n" + part
    PAGE.write_text(page, encoding="utf-8")
    picture.draw(page, PAGE.parent / "images" / "calibration.png")


if __name__ == "__main__":
    main()
