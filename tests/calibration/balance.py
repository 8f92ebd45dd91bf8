"""Coverage of the class balance intervals with known shares, and of the plain Wald interval, which fails."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist, pdist

import densdiff as dd
from tests.calibration.parallel import gathered, in_chunks, tabulated

LEVEL = 0.95


@dataclass(frozen=True)
class Cell:
    """Classes of one shape whose means are so many deviations apart, and the true shares of the new rows."""

    separation: float
    priors: tuple[float, ...]
    d: int = 2
    shape: str = "normal"
    labelled: int = 20  # rows of each class
    new: int = 50
    model: str = "learned"

    def __str__(self) -> str:
        sizes = f"{self.labelled} a class, {self.new} new"
        return f"{self.shape}, {self.separation:g} apart, d = {self.d}, {sizes}, {self.model}: {self.priors}"


MODELS = {"learned": lambda: None, "LSDD": dd.LSDD}


def binary(separation, prior, d=2, **settings):
    return Cell(separation, (prior, 1 - prior), d, **settings)


def _rows(cell, codes, random, shift=0.0):
    """Rows of the classes with these numbers; the means are the corners of a simplex in the first K - 1 columns.

    Those of class 0 are moved away from the others by so many deviations.
    """
    k = len(cell.priors)
    corners = np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, 1:]]))[0][:, 1:] * cell.separation / np.sqrt(2)
    rows = random.normal(size=(len(codes), cell.d))
    if cell.shape == "t3":  # scaled to unit variance
        rows /= np.sqrt(random.chisquare(3, size=(len(codes), 1)))
    elif cell.shape == "skewed":
        rows = random.exponential(size=rows.shape) - 1.0
    elif cell.shape == "log-normal":
        rows = np.exp(0.8 * rows) - np.exp(0.32)
    elif cell.shape == "unequal spread":
        rows *= np.where(codes == 0, 1.6, 0.6)[:, None]
    rows[:, : k - 1] += corners[codes]
    away = corners[0] - corners[1:].mean(axis=0)
    rows[codes == 0, : k - 1] += shift * away / np.linalg.norm(away)
    return rows


def draw(cell, run, shift=0.0):
    """Labelled rows X and their classes y, and new rows with classes drawn with the true shares, class 0 shifted."""
    random = np.random.default_rng([run, cell.d, len(cell.priors), round(100 * cell.separation), cell.new])
    y = np.repeat(np.arange(len(cell.priors)), cell.labelled)
    X = _rows(cell, y, random)
    return X, y, _rows(cell, random.choice(len(cell.priors), cell.new, p=cell.priors), random, shift)


def right_way(cell, run):
    """The library's estimate and intervals, (K,) and (K, 2)."""
    X, y, new = draw(cell, run)
    with warnings.catch_warnings():  # classes half a deviation apart are hard to tell apart, and it says so
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        found = dd.ClassBalance(model=MODELS[cell.model](), random_state=run).fit(X, y).estimate(new, LEVEL)
    return found.priors, found.intervals


def wald(cell, run):
    """Wrong: the minimum of E6, pairs of a row with itself and all, and 1.96 standard errors of its numerator.

    Two classes; the kernel is one Gaussian at the median distance.
    """
    X, y, new = draw(cell, run)
    rows = np.concatenate([X, new])
    width = np.median(pdist(rows))
    gram = np.exp(-np.square(cdist(rows, X)) / (2 * width**2))
    witness = gram[:, y == 0].mean(axis=1) - gram[:, y == 1].mean(axis=1)
    parts = witness[: len(X)][y == 0], witness[: len(X)][y == 1], witness[len(X) :]
    first, second, of_new = (part.mean() for part in parts)
    share = np.clip((of_new - second) / (first - second), 0.0, 1.0)
    spreads = [part.var(ddof=1) / len(part) for part in parts]
    error = np.sqrt(spreads[2] + share**2 * spreads[0] + (1 - share) ** 2 * spreads[1]) / abs(first - second)
    low, high = np.clip([share - 1.96 * error, share + 1.96 * error], 0.0, 1.0)
    return np.array([share, 1 - share]), np.array([[low, high], [1 - high, 1 - low]])


def one_run(cell, run, way=right_way):
    """Of each class whether its interval holds the true share, its width and its squared error, (K, 3)."""
    priors, intervals = way(cell, run)
    truth = np.array(cell.priors)
    inside = (intervals[:, 0] <= truth + 1e-12) & (truth - 1e-12 <= intervals[:, 1])
    return np.column_stack([inside, intervals[:, 1] - intervals[:, 0], np.square(priors - truth)])


def covered(cell, runs, way=right_way, first=0):
    """Share of runs in which the interval of each class holds its true share, (K,)."""
    return np.mean([one_run(cell, run, way)[:, 0] for run in range(first, first + runs)], axis=0)


RUNS = 2000  # three standard errors are 1.5 points at 95 %
TARGET = (0.92, 0.98)  # asked of intervals; at shares of 0 and 1 only the lower end
SHARES = (0.0, 0.05, 0.5, 0.95, 1.0)
INTRO = """## Intervals of the class balance

Nominal level 95 %; 20 labelled rows of each class and 50 new rows unless said otherwise. Means are so many standard
deviations apart in one column (with three classes each pair, in two), the other columns are noise; the classes of the
new rows are drawn with the true shares. "t3" has three degrees of freedom, "skewed" is exponential, "log-normal" has
sigma 0.8, and "unequal spread" deviations of 1.6 in the first class and 0.6 in the others. Asked for: 92 to 98 %, and
at true shares of 0 and 1 at least 92 %. A figure more than two of its standard errors below is marked with !, above
with +: an interval cut at 0 and 1 covers more often than asked where classes can hardly be told apart. "Wald on E6" is
the wrong way, kept for comparison: the minimum of the plain E6 with one Gaussian kernel, and 1.96 standard errors.
"""
HEADER = "| classes | true shares | model | runs | covered | width | root mean squared error | Wald on E6 |"


def cells():
    """Every setting of the full table."""
    found = [binary(s, p, d) for d in (2, 10) for s in (0.5, 1.0, 2.0, 4.0) for p in SHARES]
    found += [binary(2.0, p, d, shape="t3") for d in (2, 10) for p in SHARES]
    found += [binary(2.0, p, labelled=100, new=500) for p in (0.0, 0.05, 0.5)]
    found += [binary(2.0, p, new=5) for p in (0.05, 0.5)]
    found += [binary(s, p, new=500) for s in (2.0, 4.0) for p in (0.0, 0.2)]
    found += [binary(3.0, 0.2, d, new=500) for d in (5, 20)]
    found += [binary(2.0, p, 5, shape="t3", labelled=10, new=100) for p in (0.0, 0.2, 1.0)]
    found += [binary(2.0, 1.0, 5, shape="skewed", labelled=10)]
    found += [binary(2.0, p, 5, shape="log-normal", labelled=10, new=100) for p in (0.0, 1.0)]
    found += [binary(2.0, p, 5, shape="unequal spread", new=200) for p in (0.5, 1.0)]
    found += [binary(s, p, model="LSDD") for s in (1.0, 2.0) for p in (0.0, 0.05, 0.5)]
    three = ((1 / 3, 1 / 3, 1 / 3), (0.05, 0.15, 0.8), (0.0, 0.5, 0.5), (1.0, 0.0, 0.0))
    found += [Cell(s, p, d) for d in (2, 10) for s in (1.0, 2.0, 4.0) for p in three]
    ten = ((0.1,) * 10, (0.28, *[0.08] * 9))
    return found + [Cell(3.0, p, 12, labelled=labelled, new=500) for labelled in (20, 90) for p in ten]


def report(share=1.0):
    """The table as text, and a line for each figure below its target."""
    chosen = cells()
    many = [max(10, round(share * RUNS))] * len(chosen)
    jobs = in_chunks(chosen, many, 25)
    tables = gathered(_chunk, jobs, len(chosen))
    return tabulated(INTRO, HEADER, chosen, map(np.array, tables), _line)


def _chunk(k, cell, runs):
    ways = (right_way, wald) if len(cell.priors) == 2 and cell.model == "learned" else (right_way,)
    return k, [[one_run(cell, run, way) for way in ways] for run in runs]


def _line(cell, table):
    """From an array (runs, ways, K, 3); two classes have mirrored intervals, so the first stands for both."""
    runs, classes = len(table), 1 if len(cell.priors) == 2 else len(cell.priors)
    parts, breaches = [], []
    for truth, share in zip(cell.priors[:classes], table[:, 0, :classes, 0].mean(axis=0), strict=True):
        error = np.sqrt(max(share * (1 - share), 1 / runs) / runs)
        low = share < TARGET[0] - 2 * error
        high = share > TARGET[1] + 2 * error and 0 < truth < 1
        parts.append(f"{100 * share:.1f} ({100 * error:.1f}){'!' if low else '+' if high else ''}")
        if low:
            breaches.append(f"{cell}: {100 * share:.1f} % at {truth:g}")
    name = f"{cell.shape}, {cell.separation:g} apart, d = {cell.d}"
    if (cell.labelled, cell.new) != (20, 50):
        name += f", {cell.labelled} a class, {cell.new} new"
    shares = ", ".join(f"{p:.2g}" for p in cell.priors[: 1 if classes == 1 else None])
    _, width, squares = table[:, 0, :classes].mean(axis=(0, 1))
    wrong = f"{100 * table[:, 1, 0, 0].mean():.1f}" if table.shape[1] == 2 else ""
    figures = [", ".join(parts), f"{width:.2f}", f"{np.sqrt(squares):.3f}", wrong]
    return "| " + " | ".join([name, shares, cell.model, str(runs), *figures]) + " |", breaches
