"""Coverage of the distance's intervals and of the curve's bands, simulated on pairs whose truth is known."""

from dataclasses import dataclass

import numpy as np

import densdiff as dd
from densdiff.datasets import Mixture, gaussian_shift, mixture_pair
from tests.calibration.parallel import gathered, in_chunks, tabulated

LEVEL = 0.95
REGION = 0.95  # share of the pooled mass over which a band is judged
POINTS = 200


@dataclass(frozen=True)
class Cell:
    """One setting of the simulation."""

    name: str
    p: Mixture
    q: Mixture
    n: int = 200
    m: int = 200
    solver: str = "auto"
    weighted: bool = False


def gaussians(mu, d, **settings):
    """The paper's Gaussians."""
    pair = gaussian_shift(mu, d=d, n=1, random_state=0)
    return Cell(f"Gaussians, mu = {mu:g}, d = {d}", pair.p, pair.q, **settings)


def mixtures(name, d, **settings):
    """A skewed or a bimodal density against the normal one; both differ in the first column only."""
    first = np.eye(1, d)[0]
    p = {
        "skewed": Mixture([0.75, 0.25], [0 * first, 1.5 * first], [1.0, 1 / 9]),
        "bimodal": Mixture([0.5, 0.5], [-1.2 * first, 1.2 * first], [4 / 9, 4 / 9]),
    }[name]
    return Cell(f"{name}, d = {d}", p, Mixture([1.0], [0 * first], [1.0]), **settings)


def region(cell):
    """Points of the region that holds 95 % of the pooled mass: a grid in one column, draws in more."""
    random = np.random.default_rng(20120700)
    pooled = np.concatenate([density.sample(50_000, random) for density in (cell.p, cell.q)])
    height = np.quantile(cell.p(pooled) + cell.q(pooled), 1 - REGION)
    if pooled.shape[1] == 1:
        points = np.linspace(pooled.min(), pooled.max(), 4 * POINTS)[:, np.newaxis]
    else:
        points = random.permutation(pooled)[: 2 * POINTS]
    points = points[cell.p(points) + cell.q(points) >= height]
    return points[np.linspace(0, len(points) - 1, min(POINTS, len(points))).astype(int)]


def draw(cell, run):
    """A pair of samples and row weights of X that undo a biased draw, if the cell asks for them."""
    random = np.random.default_rng([run, cell.n, cell.m, cell.p.dimension])
    pair = mixture_pair(cell.p, cell.q, n=cell.n, m=cell.m, random_state=random)
    if not cell.weighted:
        return pair, None
    # Rows come from half p, half a wider density, and are weighted back to p.
    wide = Mixture([1.0], [cell.p.means.mean(axis=0)], [16 * cell.p.variances.max()])
    chosen = np.where(random.random(cell.n) < 0.5, 0, 1)
    rows = np.where(chosen[:, None] == 0, pair.x, wide.sample(cell.n, random))
    weights = cell.p(rows) / (0.5 * cell.p(rows) + 0.5 * wide(rows))
    return dd.datasets.TwoSamples(x=rows, y=pair.y, p=cell.p, q=cell.q), weights


def one_run(cell, run, points, band=True):
    """What is covered, and the widths: six numbers, and six of the band if asked for."""
    pair, weights = draw(cell, run)
    model = dd.LSDD(solver=cell.solver, random_state=run).fit(pair.x, pair.y, weights_x=weights)
    result = model.l2_distance(LEVEL)
    found = []
    for (low, high), truth in ((result.interval, pair.l2), (result.normalized_interval, pair.normalized)):
        found += [low <= truth + 1e-12, truth <= high, high - low]
    if band:
        f = pair.difference(points)
        for simultaneous in (True, False):
            limits = model.confidence_band(points, LEVEL, simultaneous)
            inside = (limits.lower <= f) & (f <= limits.upper)
            found += [inside.all(), inside.mean(), (limits.upper - limits.lower).mean()]
    return np.array(found, dtype=float)


@dataclass(frozen=True)
class Coverage:
    """Shares and mean widths over all runs of a cell."""

    runs: int
    squared: float
    squared_width: float
    missed_below: float  # truth below the lower limit
    missed_above: float
    normalized: float
    normalized_width: float
    simultaneous: float = np.nan
    simultaneous_width: float = np.nan
    pointwise: float = np.nan
    pointwise_width: float = np.nan
    pointwise_all: float = np.nan  # how often the pointwise band covers everywhere: the wrong way


def summary(runs):
    """From the rows of ``one_run``."""
    table = np.array(runs)
    means = table.mean(axis=0)
    both = [(table[:, k] * table[:, k + 1]).mean() for k in (0, 3)]
    found = Coverage(len(table), both[0], means[2], 1 - means[0], 1 - means[1], both[1], means[5])
    if table.shape[1] == 6:
        return found
    return Coverage(
        *(getattr(found, name) for name in list(found.__dataclass_fields__)[:7]),
        simultaneous=means[6],
        simultaneous_width=means[8],
        pointwise=means[10],
        pointwise_width=means[11],
        pointwise_all=means[9],
    )


def simulate(cell, runs, band=True, first=0):
    """One cell, one process."""
    points = region(cell)
    return summary([one_run(cell, run, points, band) for run in range(first, first + runs)])


RUNS = 2000  # three standard errors are 1.5 points at 95 %
TARGETS = {"squared": (0.92, 0.98), "normalized": (0.92, 0.98), "simultaneous": (0.92, 0.99), "pointwise": (0.92, 0.98)}
INTRO = """## Intervals and bands

Nominal level 95 %. "below" and "above" are the shares of runs in which the true squared distance lay below the lower
or above the upper limit. Bands are judged over the region that holds 95 % of the pooled mass, at 200 points: all of
them at once (simultaneous), or on average over them (pointwise). Widths are means in the data's own units. Asked for:
intervals 92 to 98 % (at distance 0 at least 92 %), simultaneous bands 92 to 99 %, pointwise ones 92 to 98 %. A figure
that is more than two of its standard errors outside is marked with !, and with + where it is above: an interval that
is cut at 0 covers a distance near 0 more often than asked.
"""
HEADER = (
    "| pair | n, m | solver | runs | squared | below | above | width | normalized | width | simultaneous | width "
    "| pointwise | width |"
)


def cells():
    """Every setting of the full table."""
    shifts = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
    found = [gaussians(mu, d) for d in (1, 2, 5) for mu in shifts]
    for name in ("skewed", "bimodal"):
        found += [mixtures(name, d, n=n, m=m) for d in (1, 2) for n, m in ((200, 200), (120, 300))]
        found += [mixtures(name, 1, n=2000, m=2000)]
    found += [gaussians(mu, d, n=2000, m=2000) for d in (1, 2) for mu in (0.0, 0.1, 0.4)]
    found += [gaussians(mu, 1, n=20_000, m=20_000) for mu in (0.03, 0.1)]  # more rows than an interval looks at
    found += [gaussians(mu, 1, n=120, m=300) for mu in (0.0, 0.2, 0.8)]
    found += [gaussians(mu, 1, weighted=True) for mu in (0.0, 0.2, 0.8)]
    found += [gaussians(mu, 1, solver="pairs") for mu in (0.0, 0.2)]
    found += [gaussians(mu, d, solver="centers") for d in (1, 2, 5) for mu in (0.0, 0.1, 0.2, 0.8)]
    return found + [mixtures(name, 1, solver="centers") for name in ("skewed", "bimodal")]


def report(share=1.0):
    """The table as text, and a line for each figure below its target."""
    chosen = cells()
    many = [max(10, round(share * RUNS / (4 if max(cell.n, cell.m) > 500 else 1))) for cell in chosen]
    points = [region(cell) for cell in chosen]
    jobs = ((k, cell, runs, points[k]) for k, cell, runs in in_chunks(chosen, many, 25))
    tables = gathered(_chunk, jobs, len(chosen))
    return tabulated(INTRO, HEADER, chosen, map(summary, tables), _line)


def _chunk(k, cell, runs, points):
    return k, [one_run(cell, run, points) for run in runs]


def _line(cell, found):
    kind = f"{cell.solver}, weights" if cell.weighted else cell.solver
    same = cell.p.inner(cell.p) == cell.q.inner(cell.q) == cell.p.inner(cell.q)
    parts, breaches = [cell.name, f"{cell.n}, {cell.m}", kind, str(found.runs)], []
    for name in ("squared", "normalized", "simultaneous", "pointwise"):
        share = getattr(found, name)
        error = np.sqrt(max(share * (1 - share), 1 / found.runs) / found.runs)
        low, high = TARGETS[name]
        low_side = share < low - 2 * error
        above = share > high + 2 * error and not (same and name in ("squared", "normalized"))
        parts.append(f"{100 * share:.1f} ({100 * error:.1f}){'!' if low_side else '+' if above else ''}")
        if name == "squared":
            parts += [f"{100 * found.missed_below:.1f}", f"{100 * found.missed_above:.1f}"]
        parts.append(f"{getattr(found, name + '_width'):.3g}")
        if low_side:
            breaches.append(f"{cell.name}, {cell.n}, {cell.m}, {kind}: {name} {100 * share:.1f} %")
    return "| " + " | ".join(parts) + " |", breaches
