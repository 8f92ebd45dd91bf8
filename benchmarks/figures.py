"""Curves of a benchmark as log-log pictures: time above, memory below, a column for each size that grows."""

from matplotlib.figure import Figure

# Colours of Okabe and Ito; this library is drawn in full lines, peers are broken.
COLOURS = ("#0072B2", "#009E73", "#56B4E9", "#D55E00", "#E69F00", "#CC79A7", "black", "0.5")
MARKS = "os^DvPX*"
AXES = {"n": "n = m, rows of each sample", "d": "d, columns", "b": "b, centers", "B": "B, permutations"}
UNITS = {"seconds": "seconds", "memory": "peak memory, MiB"}
APART, WIDE = 8.0, 25.0  # points between labels, and across one
LEAST = {"seconds": 0.0, "memory": 1.0}  # a MiB is the interpreter's own


def draw(found, folder):
    """Write one picture for each figure named by the curves, and return their paths."""
    paths = []
    for name in dict.fromkeys(curve["figure"] for curve in found["curves"]):
        folder.mkdir(parents=True, exist_ok=True)
        paths.append(folder / f"{found['name']}_{name.replace(' ', '_')}.png")
        figure = panels([curve for curve in found["curves"] if curve["figure"] == name])
        # matplotlib's version in the file would change it without changing the picture
        figure.savefig(paths[-1], dpi=110, facecolor="white", metadata={"Software": None})
    return paths


def panels(curves):
    """One figure of all curves; the number at the end of each is the exponent it grows with."""
    axes = list(dict.fromkeys(curve["axis"] for curve in curves))
    methods = list(dict.fromkeys(curve["method"] for curve in curves))
    figure = Figure(figsize=(1.2 + 2.9 * len(axes), 6.2), layout="constrained", facecolor="white")
    grid = figure.subplots(2, len(axes), squeeze=False, sharex="col", sharey="row")
    strokes, ends = {}, []
    for curve in curves:
        index = methods.index(curve["method"]) % len(COLOURS)
        style = {"color": COLOURS[index], "marker": MARKS[index], "ms": 4, "lw": 1.4}
        style["ls"] = "-" if curve["method"].startswith("densdiff") else "--"
        for row, (values, unit) in enumerate(UNITS.items()):
            panel = grid[row, axes.index(curve["axis"])]
            slope = curve["time_exponent" if values == "seconds" else "memory_exponent"]
            points = [(x, y) for x, y in zip(curve["sizes"], curve[values], strict=True) if y >= LEAST[values]]
            strokes[curve["method"]] = panel.loglog([x for x, _ in points], [y for _, y in points], **style)[0]
            if slope is not None:
                ends.append((panel, points[-1], f"{round(slope, 1) + 0.0:.1f}", style["color"]))
            grid[row, 0].set_ylabel(unit)
            panel.grid(True, color="0.9")
            panel.margins(x=0.12, y=0.1)
    for panel, axis in zip(grid[1], axes, strict=True):
        panel.set_xlabel(AXES.get(axis, axis))
    figure.legend(strokes.values(), strokes, loc="outside lower center", ncols=min(4, len(strokes)), frameon=False)
    figure.draw_without_rendering()  # or nobody knows yet where a point lies on the page
    for panel in grid.flat:
        label([end for end in ends if end[0] is panel])
    return figure


def label(ends):
    """Write at the ends of a panel's curves, one above the other where they would overlap."""
    taken = []
    for panel, point, text, colour in sorted(ends, key=lambda end: end[1][1]):
        pixels = panel.figure.dpi / 72
        x, y = panel.transData.transform(point) / pixels
        up = max([y, *(above + APART for right, above in taken if abs(right - x) < WIDE)])
        taken.append((x, up))
        at = {"textcoords": "offset points", "va": "center", "fontsize": 8, "color": colour}
        panel.annotate(text, point, (5, up - y), **at)
