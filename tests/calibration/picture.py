"""The picture of docs/calibration.md: measured shares beside what was promised, with two standard errors."""

import re
from pathlib import Path

FIGURE = re.compile(r"^(\d+(?:\.\d+)?) \((\d+(?:\.\d+)?)\)")
# of the page: the part, the first cell of the table's header, the column, what was promised in percent
PANELS = (
    ("coverage", "pair", "squared", "intervals of the distance, covered", (92, 98)),
    ("size", "data", "at 5 %", "tests, rejected at 5 %", (5, 5)),
    ("balance", "classes", "covered", "intervals of class shares, covered", (92, 98)),
    ("changes", "series", "alarms at 5 %", "series without change, alarms", (0, 10)),
)


def figures(page, part, first, column):
    """Shares and standard errors in percent, (k, 2), of one column of the first table that begins so."""
    text = page.partition(f"<!-- {part} -->")[2].partition(f"<!-- end of {part} -->")[0]
    lines = text[text.index(f"| {first} |") :].split("\n\n")[0].splitlines()
    names = [cell.strip() for cell in lines[0].strip("|").split("|")]
    cells = [line.strip("|").split("|")[names.index(column)].strip() for line in lines[2:]]
    found = [FIGURE.match(cell) for cell in cells]
    return [(float(each[1]), float(each[2])) for each in found if each]


def draw(page, path):
    """One panel for each promise, from the text of the page."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 5.2), layout="constrained")
    for ax, (part, first, column, title, (low, high)) in zip(axes.flat, PANELS, strict=True):
        shares = sorted(figures(page, part, first, column))
        ax.axhspan(low - 0.1, high + 0.1, color="tab:green", alpha=0.2, lw=0)
        ax.errorbar(
            range(len(shares)), [s for s, _ in shares], [2 * e for _, e in shares], fmt=".", ms=5, lw=0.8, color="black"
        )
        ax.set(title=title, xticks=[], ylabel="percent of runs")
        ax.set_xlabel(f"{len(shares)} settings, in order")
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(path), dpi=110)
    plt.close(figure)
