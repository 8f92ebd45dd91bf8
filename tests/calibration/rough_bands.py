"""Simultaneous bands where f is rough: spikes, bumps and jumps, in one to three columns, beside the former band."""

from dataclasses import dataclass

import numpy as np

import densdiff as dd
from benchmarks.known_densities import Column, Density, first_columns, normal
from densdiff.solvers.base import DISTANCE_STEPS, LAM_STEP, Model
from densdiff.solvers.uncertainty import rough_band
from tests.calibration.coverage import LEVEL, POINTS, REGION
from tests.calibration.parallel import gathered, in_chunks, tabulated

SMOOTH = ("equal", "shift .5", "shift 1.4", "scale 1.5", "two modes", "three modes", "t3", "gamma")
ROUGH = ("bump", "outliers", "spike", "exponential", "uniform", "claw")
ALL_COLUMNS = ("round spike", "exponential all", "claw all")  # rough in every column
TARGETS = {True: 0.90, False: 0.85}  # of smooth pairs, and of the others where the band claims to hold
RUNS = 200
INTRO = f"""## Bands where f is rough

Simultaneous bands of {100 * LEVEL:g} % at {POINTS} points of the region that holds {100 * REGION:g} % of the pooled
mass. Each pair differs in the first column, those called "all" and the round spike in every column; a spike is a tenth
of X within 0.02 deviations, a bump within 0.2, outliers are 6 deviations away. "former" is the band of a single model,
without what [math.md](math.md#how-sure) does where f is rough; "width" is the mean width over that of the former band.
"noted" is the share of runs in which the band says that it cannot follow f, "claimed" the coverage in the others. Asked
for: 90 % for the first {len(SMOOTH)} pairs, 85 % for the others where the band claims to hold. A figure more than two
of its standard errors below is marked with !.
"""
HEADER = "| pair | columns | n, m | runs | former | now | noted | claimed | width |"


class RoundSpike:
    """Normal columns, and a tenth of the rows near one point."""

    def __init__(self, d):
        self.parts = Density([Column((1.0, normal()))] * d), Density([Column((1.0, normal(0.5, 0.02)))] * d)

    def __call__(self, points):
        wide, narrow = (part(points) for part in self.parts)
        return 0.9 * wide + 0.1 * narrow

    def sample(self, size, random):
        count = random.binomial(size, 0.1)
        wide, narrow = self.parts
        return random.permutation(np.vstack([wide.sample(size - count, random), narrow.sample(count, random)]))


def pairs(d):
    """Pairs of densities by name, in d columns."""
    plain = Column((1.0, normal()))
    claw = Column((0.5, normal()), *((0.1, normal(k / 2 - 1, 0.1)) for k in range(5)))
    single = first_columns() | {
        "spike": (Column((0.9, normal()), (0.1, normal(0.5, 0.02))), plain),
        "claw": (claw, plain),
    }
    found = {
        name: (Density([p] + [plain] * (d - 1)), Density([q] + [plain] * (d - 1))) for name, (p, q) in single.items()
    }
    if d > 1:
        p, q = first_columns()["exponential"]
        found |= {
            "round spike": (RoundSpike(d), Density([plain] * d)),
            "exponential all": (Density([p] * d), Density([q] * d)),
            "claw all": (Density([claw] * d), Density([plain] * d)),
        }
    return found


@dataclass(frozen=True)
class Cell:
    """One setting of the simulation."""

    name: str
    d: int
    n: int

    @property
    def densities(self):
        return pairs(self.d)[self.name]


def region(cell):
    """Points of the region that holds most of the pooled mass: a grid in one column, draws in more."""
    random, (p, q) = np.random.default_rng(20120700), cell.densities
    pooled = np.concatenate([density.sample(50_000, random) for density in (p, q)])
    height = np.quantile(p(pooled) + q(pooled), 1 - REGION)
    if cell.d == 1:
        points = np.linspace(pooled.min(), pooled.max(), 4 * POINTS)[:, np.newaxis]
    else:
        points = random.permutation(pooled)[: 2 * POINTS]
    points = points[p(points) + q(points) >= height]
    return points[np.linspace(0, len(points) - 1, min(POINTS, len(points))).astype(int)]


def former_limits(model, points):
    """The band of a single model, sigma narrowed by the root of 2, without anything for rough f."""
    fit = model.fit_
    own = fit.solver.rougher_model(fit.choice.model, 2.0**0.5, LAM_STEP**fit.solver.band_steps)
    widest = fit.densities.model(LAM_STEP**DISTANCE_STEPS)
    if own.sigma > widest.sigma:
        own = Model(widest.sigma, min(own.lam, widest.lam))
    (named,) = fit.single_models([own])
    rough = rough_band(named.solver, named.data, fit.data.scaling.apply(points), LEVEL, simultaneous=True)
    scale = np.exp(-named.solver.log_scale(own.sigma) - fit.data.scaling.log_volume)
    center, half = scale * rough.center, scale * rough.factor * rough.error
    estimate = model.predict(points)
    return np.minimum(estimate, center - half), np.maximum(estimate, center + half)


def one_run(cell, run, points):
    """Whether the former band and the present one cover f everywhere, whether it is noted, and the ratio of widths."""
    p, q = cell.densities
    random, f = np.random.default_rng([run, cell.n, cell.d, 77]), p(points) - q(points)
    x, y = p.sample(cell.n, random), q.sample(cell.n, random)
    model = dd.LSDD(random_state=run).fit(x, y)
    band, (lower, upper) = model.confidence_band(points, LEVEL), former_limits(model, points)
    covered = [((low <= f) & (f <= high)).all() for low, high in ((lower, upper), (band.lower, band.upper))]
    noted = any("rougher" in note for note in band.warnings)
    return np.array([*covered, noted, (band.upper - band.lower).mean() / (upper - lower).mean()], dtype=float)


def cells():
    """Every setting of the full table."""
    names = {d: SMOOTH + ROUGH + (ALL_COLUMNS if d > 1 else ()) for d in (1, 2, 3)}
    return [Cell(name, d, n) for d in (1, 2, 3) for n in (300, 2000) for name in names[d]]


def report(share=1.0):
    """The table as text, and a line for each figure below its target."""
    chosen = cells()
    runs = [max(4, round(share * RUNS / (4 if cell.n > 500 else 1))) for cell in chosen]
    points = [region(cell) for cell in chosen]
    jobs = ((k, cell, own, points[k]) for k, cell, own in in_chunks(chosen, runs, 5))
    return tabulated(INTRO, HEADER, chosen, gathered(_chunk, jobs, len(chosen)), _line)


def _chunk(k, cell, runs, points):
    return k, [one_run(cell, run, points) for run in runs]


def _line(cell, rows):
    table = np.array(rows)
    former, now, noted, width = table.mean(axis=0)
    claims, target = table[table[:, 2] == 0, 1], TARGETS[cell.name in SMOOTH]
    claimed, is_low, text = 1.0, False, "none"  # where every run is noted, nothing is claimed
    if len(claims):
        claimed = claims.mean()
        error = np.sqrt(max(claimed * (1 - claimed), 1 / len(claims)) / len(claims))
        is_low = claimed < target - 2 * error
        text = f"{100 * claimed:.0f} ({100 * error:.0f}){'!' if is_low else ''}"
    shares = f"{100 * former:.0f} | {100 * now:.0f} | {100 * noted:.0f} | {text} | {width:.2f}"
    text = f"| {cell.name} | {cell.d} | {cell.n}, {cell.n} | {len(table)} | {shares} |"
    breach = f"{cell.name}, d = {cell.d}, n = {cell.n}: band {100 * claimed:.0f} %"
    return text, [breach] if is_low else []
