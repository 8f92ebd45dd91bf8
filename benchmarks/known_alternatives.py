"""Families of two samples that differ by a parameter, with the power that others published for their tests on them.

Power at level 5 %, from the notebooks and tables of the authors: MMDAgg (Schrab et al. 2023), MMD-FUSE (Biggs, Schrab
and Gretton 2023) and kernel likelihood ratios (Santoro and Panaretos 2025), 200 runs each. Tests are not run here.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

from benchmarks import power

Array = npt.NDArray[np.floating[Any]]
Pair = tuple[Array, Array]
Random = np.random.Generator

CORNERS = 20.0 * np.array([[1, 1], [-1, 1], [1, -1], [-1, -1]])
CELLS = 2  # perturbations of the uniform density along each column
EVEN_ROWS, MANY_ROWS, FEW_ROWS = 200, 500, 100
SPARSE = 2  # columns with another mean


class Family(NamedTuple):
    """Pairs of samples by a parameter, and the published power of other tests in the order of the parameters."""

    name: str
    parameter: str  # what the parameter is
    parameters: tuple[float, ...]
    sample: Callable[[Random, float], Pair]
    published: Mapping[str, tuple[float, ...]] = {}  # by test


def draw(family: Family, parameter: float, run: int, seed: int = 0) -> Pair:
    """The pair of samples of a run: the same for every test and whatever other families are drawn."""
    place = crc32(f"{family.name} {parameter:g}".encode())
    return family.sample(np.random.default_rng([seed, run, place]), parameter)


def perturbed_uniform(random: Random, scale: float, d: int) -> Pair:
    """Uniform rows with a smooth wave of random sign in each of 2^d cells, against uniform rows; at 1 it touches 0."""
    signs = random.choice([-1.0, 1.0], CELLS**d)
    accepted: list[Array] = []
    while sum(map(len, accepted)) < MANY_ROWS:
        points = random.random((2 * MANY_ROWS, d))
        cells = np.floor(CELLS * points)
        sign = signs[(cells @ CELLS ** np.arange(d)).astype(int)]
        density = 1 + scale * sign * np.prod(wave(CELLS * points - cells), axis=1)
        accepted.append(points[random.random(len(points)) * (1 + scale) < density])
    return np.concatenate(accepted)[:MANY_ROWS], random.random((MANY_ROWS, d))


def wave(place: Array) -> Array:
    """A smooth bump from 0 to 1/2 and its negative from 1/2 to 1, of height 1."""
    from_middle = 4 * (place % 0.5) - 1
    bump = np.exp(1 - 1 / np.maximum(1 - from_middle**2, 1e-3))
    signed: Array = np.where(place < 0.5, bump, -bump)
    return signed


def four_normals(random: Random, deviation: float) -> Pair:
    """Normals at four corners of a square, against the same with another deviation at one of them."""
    corners = random.integers(4, size=(2, MANY_ROWS))
    x, y = random.standard_normal((2, MANY_ROWS, 2))
    y[corners[1] == 3] *= deviation
    return CORNERS[corners[0]] + x, CORNERS[corners[1]] + y


def decreasing_correlation(random: Random, more: float) -> Pair:
    """500 normal columns with correlations .5^|i-j|, against (.5 + more)^|i-j|."""
    return chained(random, 0.5), chained(random, 0.5 + more)


def chained(random: Random, rho: float) -> Array:
    """Normal columns of variance 1, each of which goes on from the one before it."""
    steps = random.standard_normal((FEW_ROWS, 500))
    steps[:, 1:] *= np.sqrt(1 - rho**2)
    values: Array = lfilter([1.0], [1.0, -rho], steps, axis=1)
    return values


def equicorrelated(random: Random, rho: float, n: int, d: int) -> Array:
    """Normal columns of variance 1, each pair with the same correlation."""
    common, own = random.standard_normal((n, 1)), random.standard_normal((n, d))
    values: Array = np.sqrt(rho) * common + np.sqrt(1 - rho) * own
    return values


def equal_correlation(random: Random, more: float) -> Pair:
    """500 normal columns with correlation .5 of each pair, against .5 + more."""
    return equicorrelated(random, 0.5, FEW_ROWS, 500), equicorrelated(random, 0.5 + more, FEW_ROWS, 500)


def sparse_mean(random: Random, d: float) -> Pair:
    """d independent standard normal columns, against the same with mean 1 in two of them."""
    x, y = random.standard_normal((2, FEW_ROWS, int(d)))
    y[:, :SPARSE] += 1.0
    return x, y


def scaled_column(random: Random, deviation: float) -> Pair:
    """20 independent standard normal columns, against the same with another deviation of one."""
    x, y = random.standard_normal((2, EVEN_ROWS, 20))
    y[:, 0] *= deviation
    return x, y


def correlated_pair(random: Random, rho: float) -> Pair:
    """20 independent standard normal columns, against the same with a correlation of two of them."""
    x, y = random.standard_normal((2, EVEN_ROWS, 20))
    y[:, 1] = rho * y[:, 0] + np.sqrt(1 - rho**2) * y[:, 1]
    return x, y


def weak_equicorrelation(random: Random, rho: float) -> Pair:
    """20 independent standard normal columns, against the same correlation of each pair."""
    return random.standard_normal((EVEN_ROWS, 20)), equicorrelated(random, rho, EVEN_ROWS, 20)


def blobs(random: Random, rho: float) -> Pair:
    """Correlated normals around nine points, against independent ones, as in the benchmark of power."""
    x, y = power.blobs(random, rho)  # type: ignore[no-untyped-call]
    return x, y


FAMILIES = {
    family.name: family
    for family in (
        Family(
            "perturbed uniform, d = 1",
            "scale",
            (0.1, 0.2, 0.3, 0.4, 0.5),
            lambda random, scale: perturbed_uniform(random, scale, 1),
            {
                "MMD-FUSE": (0.085, 0.18, 0.505, 0.825, 0.975),
                "MMDAgg": (0.08, 0.21, 0.605, 0.88, 0.985),
                "MMD, median": (0.06, 0.105, 0.29, 0.465, 0.675),
            },
        ),
        Family(
            "perturbed uniform, d = 2",
            "scale",
            (0.2, 0.4, 0.6, 0.8, 1.0),
            lambda random, scale: perturbed_uniform(random, scale, 2),
            {"MMD-FUSE": (0.055, 0.17, 0.485, 0.885, 0.995), "MMDAgg": (0.055, 0.145, 0.395, 0.83, 0.99)},
        ),
        Family(
            "four normals, one of them narrow",
            "deviation",
            (0.5, 0.6, 0.7, 0.8, 0.9),
            four_normals,
            {"MMD-FUSE": (0.995, 0.945, 0.51, 0.135, 0.065), "MMDAgg": (0.995, 0.915, 0.46, 0.12, 0.09)},
        ),
        Family(
            "four normals, one of them wide",
            "deviation",
            (1.2, 1.4, 1.6, 1.8, 2.0),
            four_normals,
            {"MMD-FUSE": (0.105, 0.235, 0.635, 0.84, 0.905), "MMDAgg": (0.105, 0.25, 0.675, 0.91, 0.945)},
        ),
        Family(
            "decreasing correlation, d = 500",
            "correlation beyond .5",
            (0.05, 0.1, 0.15, 0.2, 0.25),
            decreasing_correlation,
            {"KLR0": (0.21, 0.935, 1.0, 1.0, 1.0), "their aggregated MMD": (0.035, 0.04, 0.045, 0.08, 0.35)},
        ),
        Family(
            "equal correlation, d = 500",
            "correlation beyond .5",
            (0.005, 0.01, 0.025, 0.05, 0.075),
            equal_correlation,
            {"KLR0": (0.045, 0.25, 0.915, 1.0, 1.0), "their aggregated MMD": (0.015, 0.02, 0.035, 0.255, 0.94)},
        ),
        Family(
            "mean of two columns",
            "columns",
            (50, 250, 500, 1000, 1500),
            sparse_mean,
            {"KLR": (1.0, 0.97, 0.705, 0.46, 0.31), "their aggregated MMD": (1.0, 0.945, 0.695, 0.47, 0.335)},
        ),
        Family("deviation of 1 of 20 columns", "deviation", (1.3, 1.5, 2.0), scaled_column),
        Family("correlation of 2 of 20 columns", "correlation", (0.3, 0.5, 0.7), correlated_pair),
        Family("correlation of 20 columns", "correlation", (0.05, 0.1, 0.15), weak_equicorrelation),
        Family("blobs", "correlation", (0.7, 0.85), blobs),
    )
}
