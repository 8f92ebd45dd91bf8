"""Pairs of densities that are known everywhere, in any number of columns, and points to integrate over them.

A density is a linear map of independent columns, each of them a mixture of distributions of scipy, so that samples
and values come from the same description. Errors of estimates are not computed here.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

STEP = 0.01  # of the grid in one column; all places where a density of `pairs` jumps are multiples of it
POINTS = 5000  # squared errors are integrated to 1 to 3 % in two columns and to 1 to 8 % in five, ratios to 1 to 6 %
# Random points in several columns are of both densities, a little wider, and of a normal that reaches beyond both.
WIDER, BEYOND = 1.15, 1.8
SHARES = (0.4, 0.4, 0.2)


class Column:
    """A mixture of distributions of scipy, (weight, distribution) each, drawn out around their means by `factor`."""

    def __init__(self, *parts, factor=1.0):
        self.parts, self.factor = parts, factor
        self.weights = np.array([weight for weight, _ in parts])
        self.means = np.array([part.mean() for _, part in parts])
        self.mean = float(self.weights @ self.means)
        within = factor**2 * np.array([part.var() for _, part in parts])
        self.variance = float(self.weights @ (within + (self.means - self.mean) ** 2))

    def __call__(self, values):
        total = np.zeros(np.shape(values))
        for (weight, part), mean in zip(self.parts, self.means, strict=True):
            total += weight / self.factor * part.pdf(mean + (values - mean) / self.factor)
        return total

    def sample(self, size, random):
        counts = random.multinomial(size, self.weights)
        draws = []
        for (_, part), mean, count in zip(self.parts, self.means, counts, strict=True):
            draws.append(mean + self.factor * (part.rvs(count, random_state=random) - mean))
        return random.permutation(np.concatenate(draws))

    def ends(self, tail=1e-5):
        """The least and the largest quantile of all distributions, as they are."""
        return min(part.ppf(tail) for _, part in self.parts), max(part.isf(tail) for _, part in self.parts)

    def widened(self):
        """Each distribution a little wider, and rare ones more often: squared errors are large at narrow peaks."""
        even = 1 / len(self.parts)
        return Column(*(((weight + even) / 2, part) for weight, part in self.parts), factor=WIDER * self.factor)


class Density:
    """The density of ``shift + matrix z``, where the columns of z are independent."""

    def __init__(self, columns, matrix=None, shift=None):
        d = len(columns)
        self.columns = columns
        self.matrix = np.eye(d) if matrix is None else np.asarray(matrix, float)  # (d, d)
        self.shift = np.zeros(d) if shift is None else np.asarray(shift, float)  # (d,)

    @property
    def mean(self):
        return self.shift + self.matrix @ [column.mean for column in self.columns]

    @property
    def covariance(self):
        return (self.matrix * [column.variance for column in self.columns]) @ self.matrix.T

    def __call__(self, points):
        z = np.linalg.solve(self.matrix, (points - self.shift).T)  # (d, k)
        values = np.prod([column(values) for column, values in zip(self.columns, z, strict=True)], axis=0)
        return values / abs(np.linalg.det(self.matrix))

    def sample(self, size, random):
        z = np.column_stack([column.sample(size, random) for column in self.columns])
        return self.shift + z @ self.matrix.T

    def widened(self):
        """The same with wider columns."""
        return Density([column.widened() for column in self.columns], self.matrix, self.shift)


def normal(mean=0.0, deviation=1.0):
    return stats.norm(mean, deviation)


def first_columns():
    """Pairs of one column by name: the difference of each is known."""
    plain = Column((1.0, normal()))
    three, two = (Column(*((1 / len(at), normal(mean, 0.5)) for mean in at)) for at in ((-2, 0, 2), (-2, 2)))

    def single(p, q):
        return Column((1.0, p)), Column((1.0, q))

    return {
        "equal": (plain, plain),
        "shift .5": single(normal(0.5), normal()),
        "shift 1.4": single(normal(1.4), normal()),
        "scale 1.5": single(normal(0, 1.5), normal()),
        "two modes": (Column((0.5, normal(-1.5, 0.7)), (0.5, normal(1.5, 0.7))), Column((1.0, normal(0, 1.6)))),
        "bump": (Column((0.9, normal()), (0.1, normal(1.5, 0.2))), plain),
        "three modes": (three, two),
        "exponential": single(stats.expon(scale=1.5), stats.expon()),
        "t3": single(stats.t(3, loc=0.7), stats.t(3)),
        "outliers": (Column((0.9, normal()), (0.1, normal(6, 0.25))), plain),
        "gamma": single(stats.gamma(3), stats.gamma(4, loc=-1)),
        "uniform": single(stats.uniform(0, 1), stats.uniform(0.2, 1.2)),
    }


UNITS = "units"


def pairs(d):
    """Pairs (p, q) in d columns by name: those of one column beside standard normals, and some of several columns."""
    plain = Column((1.0, normal()))
    rest = [plain] * (d - 1)
    found = {name: (Density([p, *rest]), Density([q, *rest])) for name, (p, q) in first_columns().items()}
    if d == 1:
        return found
    standard, first = [plain] * d, np.eye(d)[0]
    correlated = np.linalg.cholesky(np.full((d, d), 0.7) + 0.3 * np.eye(d))
    scales = np.diag(np.where(first > 0, 1000.0, 1.0))
    return found | {
        "all shifted": (Density(standard, shift=np.full(d, 0.5 / np.sqrt(d))), Density(standard)),
        "correlated": (Density(standard, correlated, 0.5 * first), Density(standard, correlated)),
        UNITS: (Density(standard, scales, 1000.0 * first), Density(standard, scales)),
    }


class Quadrature(NamedTuple):
    """An integral over all columns is ``weights @ values``."""

    points: np.ndarray  # (k, d)
    weights: np.ndarray  # (k,)


def quadrature(p, q, size=POINTS, seed=0):
    """Points and weights for integrals of squared errors of f = p - q: a grid for one column, else random points."""
    return grid(p, q) if len(p.columns) == 1 else proposal_points(p, q, size, seed)


def pooled_moments(p, q):
    """Mean and covariance of rows of which half come from each density."""
    gap = p.mean - q.mean
    return (p.mean + q.mean) / 2, (p.covariance + q.covariance) / 2 + np.outer(gap, gap) / 4


def grid(p, q, margin=3.0):
    """Middles of cells from below both densities to above both; `margin` in pooled deviations."""
    lows, highs = zip(*(density.columns[0].ends() for density in (p, q)), strict=True)
    beyond = margin * float(np.sqrt(pooled_moments(p, q)[1][0, 0]))
    cells = np.arange(np.floor((min(lows) - beyond) / STEP), np.ceil((max(highs) + beyond) / STEP))
    points = (cells + 0.5) * STEP
    return Quadrature(points[:, None], np.full(len(points), STEP))


def proposal_points(p, q, size, seed):
    """Importance sampling: points of a mixture around both densities, weighted by one over its density."""
    random = np.random.default_rng([seed, len(p.columns)])
    mean, covariance = pooled_moments(p, q)
    standard = [Column((1.0, normal()))] * len(mean)
    tail = Density(standard, BEYOND * np.linalg.cholesky(covariance), mean)
    parts = p.widened(), q.widened(), tail
    counts = np.round(size * np.array(SHARES)).astype(int)
    points = np.vstack([part.sample(count, random) for part, count in zip(parts, counts, strict=True)])
    # Each part has its exact share, so that the weights are right and the shares add no noise of their own.
    proposal = sum(count * part(points) for part, count in zip(parts, counts, strict=True))
    return Quadrature(points, 1 / proposal)
