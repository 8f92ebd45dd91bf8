"""Pairs of distributions in any number of columns whose densities overlap by a known amount.

Integrals of p^2, q^2 and p q multiply over independent columns, so that most cells are a column that differs beside
columns that do not. They are known in closed form or by quadrature in one column.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
from scipy.integrate import quad

NORMAL = ((1.0, 0.0, 1.0),)  # parts of a mixture of normal densities: share, mean, deviation
NARROW = ((1.0, 0.0, 0.6),)


@dataclass(frozen=True)
class Cell:
    """A pair of distributions whose densities have known integrals."""

    name: str
    columns: str  # how many, as the table has it
    draw: Callable  # of a generator and a number of rows: both samples
    log_integrals: np.ndarray  # (3,) of p^2, q^2 and p q
    n: int = 500
    width: int = 1  # number of columns

    @property
    def normalized(self):
        p, q, both = np.exp(self.log_integrals - self.log_integrals.max())
        return (p + q - 2 * both) / (p + q)

    @property
    def log_total(self):
        return np.logaddexp(*self.log_integrals[:2])


def mixture_integrals(p, q):
    """Logarithms of the integrals of p^2, q^2 and p q of two mixtures of normal densities, (3,)."""

    def product(one, two):
        return sum(v * w * stats.norm.pdf(a, b, np.hypot(s, t)) for v, a, s in one for w, b, t in two)

    return np.log([product(p, p), product(q, q), product(p, q)])


def quadrature_integrals(p, q):
    """Logarithms of the same integrals of any two smooth densities, (3,)."""
    products = (lambda x: p(x) ** 2, lambda x: q(x) ** 2, lambda x: p(x) * q(x))
    return np.log([quad(product, -np.inf, np.inf)[0] for product in products])


def sample_mixture(random, n, parts):
    shares, means, deviations = np.transpose(parts)
    part = random.choice(len(shares), n, p=shares)
    return means[part] + deviations[part] * random.standard_normal(n)


def first_column(p, q, others=NORMAL):
    """Mixtures p and q in the first column, and ``others`` in the rest of both samples."""

    def build(d):
        def draw(random, n):
            x, y = (np.column_stack([sample_mixture(random, n, others) for _ in range(d)]) for _ in range(2))
            x[:, 0], y[:, 0] = sample_mixture(random, n, p), sample_mixture(random, n, q)
            return x, y

        return draw, mixture_integrals(p, q) + (d - 1) * mixture_integrals(others, others)

    return build


def law_in_first(sample, change, changed, alike):
    """Columns of one law, the first of X changed; with the log integrals of that column and of another."""

    def build(d):
        def draw(random, n):
            x, y = sample(random, (n, d)), sample(random, (n, d))
            x[:, 0] = change(x[:, 0])
            return x, y

        return draw, changed + (d - 1) * alike

    return build


def normal_columns(d, mean, covariance_x, covariance_y):
    """Normal densities, X moved by ``mean``."""
    roots = [np.linalg.cholesky(covariance) for covariance in (covariance_x, covariance_y)]

    def draw(random, n):
        x, y = (random.standard_normal((n, d)) @ root.T for root in roots)
        return x + mean, y

    def log_product(shift, covariance):
        return stats.multivariate_normal.logpdf(shift, np.zeros(d), covariance)

    zero, both = np.zeros(d), covariance_x + covariance_y
    logs = log_product(zero, 2 * covariance_x), log_product(zero, 2 * covariance_y), log_product(mean, both)
    return draw, np.array(logs)


def shift_in_all(d):
    return normal_columns(d, np.full(d, 0.7 / np.sqrt(d)), np.eye(d), np.eye(d))


def correlated(d):
    covariance = 0.3 * np.eye(d) + 0.7
    return normal_columns(d, 0.5 * np.eye(1, d)[0], covariance, covariance)


def changed_correlation(d):
    changed = np.eye(d)
    changed[0, 1] = changed[1, 0] = 0.6
    return normal_columns(d, np.zeros(d), changed, np.eye(d))


def outliers(d):
    """A shift among rows of which 1 in 100 lies thirty times as far out, in all columns."""
    plain, log_integrals = first_column(((1.0, 0.7, 1.0),), NORMAL)(d)

    def draw(random, n):
        samples = plain(random, n)
        for rows in samples:
            far = random.random(n) < 0.01
            rows[far] = 30 * random.standard_normal((far.sum(), d))
        return samples

    logs = log_integrals + 2 * np.log(0.99)
    near_far, far_far = stats.norm(0, np.hypot(30, 1)), stats.norm(0, 30 * np.sqrt(2))
    moved, alike = near_far.logpdf([0.7, 0.0]) + (d - 1) * near_far.logpdf(0)
    one_far = np.log(2 * 0.99 * 0.01) + np.array([moved, alike, np.logaddexp(moved, alike) - np.log(2)])
    both_far = 2 * np.log(0.01) + d * far_far.logpdf(0)
    return draw, np.logaddexp(np.logaddexp(logs, one_far), both_far)


def rounded(d):
    """The densities are those before rounding, as a reader means them."""
    plain, log_integrals = first_column(((1.0, 0.7, 1.0),), NORMAL)(d)
    return lambda random, n: tuple(rows.round(1) for rows in plain(random, n)), log_integrals


def four_blobs(d):
    """Columns 1 and 2 have four blobs, in X more of them where the signs agree; single columns are alike."""

    def draw(random, n):
        x, y = 0.3 * random.standard_normal((2, n, d))
        for rows, share in ((x, 0.7), (y, 0.5)):
            signs = 2.0 * random.integers(0, 2, n) - 1
            rows[:, 0] += signs
            rows[:, 1] += np.where(random.random(n) < share, signs, -signs)
        return x, y

    signs = np.array([(1, 1), (-1, -1), (1, -1), (-1, 1)])
    near = stats.norm.pdf(signs[:, None] - signs, 0, 0.3 * np.sqrt(2)).prod(axis=2)  # (4, 4)
    p, q = np.array([0.35, 0.35, 0.15, 0.15]), np.full(4, 0.25)
    alone = -(d - 2) * np.log(0.6 * np.sqrt(np.pi))
    return draw, np.log([p @ near @ p, q @ near @ q, p @ near @ q]) + alone


def mixed(numbers, categories, levels, moved):
    """Numbers with a shift, or categories of which the first has other shares in X."""
    uneven = np.linspace(1.0, 2.0, levels) / np.linspace(1.0, 2.0, levels).sum()
    shares, even = (uneven if moved == "category" else np.full(levels, 1 / levels)), np.full(levels, 1 / levels)

    def draw(random, n):
        tables = []
        for shift, first in ((0.7, shares), (0.0, even)):
            table = {f"number {j}": random.standard_normal(n) for j in range(numbers)}
            if numbers and moved == "number":
                table["number 0"] += shift
            for j in range(categories):
                codes = random.choice(levels, n, p=first if j == 0 else even)
                table[f"category {j}"] = np.array([f"level {code}" for code in codes], dtype=object)
            tables.append(pd.DataFrame(table))
        return tuple(tables)

    logs = numbers * mixture_integrals(NORMAL, NORMAL) - (categories - 1) * np.log(levels)
    if moved == "number":
        logs = logs + mixture_integrals(((1.0, 0.7, 1.0),), NORMAL) - mixture_integrals(NORMAL, NORMAL)
    return draw, logs + np.log([shares @ shares, even @ even, shares @ even])


def exponential(random, size):
    return random.standard_exponential(size)


def student(random, size):
    return random.standard_t(3, size)


def half_spike(mean):
    return ((0.5, 0.0, 0.02), (0.5, mean, 1.0))


def two_modes(share):
    return ((share, -2.0, 0.6), (1 - share, 2.0, 0.6))


HALF = np.log(np.full(3, 0.5))
T3, T3_MOVED = (quadrature_integrals(stats.t(3, shift).pdf, stats.t(3).pdf) for shift in (0.0, 0.8))
BUILDERS = {
    "shift": first_column(((1.0, 0.7, 1.0),), NORMAL),
    "shift in all": shift_in_all,
    "scale": first_column(((1.0, 0.0, 2.0),), NORMAL),
    "correlated 0.7, shift": correlated,
    "exponential, scale": law_in_first(exponential, lambda x: 2 * x, np.log([1 / 4, 1 / 2, 1 / 3]), HALF),
    "exponential, shift": law_in_first(exponential, lambda x: x + 0.5, HALF - [0, 0, 0.5], HALF),
    "t3, shift": law_in_first(student, lambda x: x + 0.8, T3_MOVED, T3),
    "bimodal": first_column(two_modes(0.5), two_modes(0.3), NARROW),
    "shift, 1 % outliers": outliers,
    "shift, rounded to 0.1": rounded,
    "spike near 0 in both": first_column(half_spike(1.0), half_spike(-1.0)),
    "equal": first_column(NORMAL, NORMAL),
    "other correlation": changed_correlation,
    "four blobs": four_blobs,
}
PAIRED = ("correlated 0.7, shift", "other correlation", "four blobs")  # need two columns


def numeric_pair(name, d, n=500):
    """A cell of numbers alone."""
    return Cell(name, str(d), *BUILDERS[name](d), n, d)


def mixed_pair(numbers, categories, levels, moved, n=500):
    """A cell with categories."""
    columns = f"{numbers} + {categories} of {levels} levels"
    return Cell(f"mixed, a {moved}", columns, *mixed(numbers, categories, levels, moved), n, numbers + categories)
