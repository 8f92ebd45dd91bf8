"""Draw the pictures of the documentation into docs/images; with ``--tables`` print the accuracy tables of docs/math.md.

Run as ``python docs/figures.py``. Everything is seeded: the same versions of the libraries give the same files. The
tables take about a minute and need mpmath, which comes with the development tools.
"""

import sys
from pathlib import Path

import mpmath
import numpy as np
from matplotlib.figure import Figure

import densdiff as dd
from densdiff.core import pairs

IMAGES = Path(__file__).parent / "images"
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
        table = pairs.radial_table(d, LAMS)
        r = np.linspace(0.0, 6.0, 601)
        ax.axhline(0.0, color="0.35", lw=0.8)
        for i, (lam, (color, style)) in enumerate(zip(LAMS, STROKES, strict=True)):
            values = pairs.look_up(table, i, r)[0] / table.plain[i, 0]
            ax.plot(r, values, color=color, ls=style, lw=1.8, label=f"lam = {lam:g}")
        ax.set(xlabel="r / sigma", xlim=(0, 6), ylim=(-0.28, 1.03), title=f"d = {d}")
    axes[0].set_ylabel("kernel of F over its value at r = 0")
    axes[1].legend(frameon=False)
    save(figure, "radial_kernel.png")


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
            table = pairs.radial_table(d, LAMS)
            errors, peaks = [], None
            for r in (0.0, 0.3, 1.234, 3.3):
                truth = bessel_kernel(d, LAMS, mpmath.mpf(r))
                peaks = peaks or truth
                for i, (value, peak) in enumerate(zip(truth, peaks, strict=True)):
                    found = float(pairs.look_up(table, i, np.array([r]))[0][0])
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
        draw_differences()
        draw_filter()
        draw_radial_kernel()
