"""What the three solvers have in common: the curves they estimate and what is asked of them.

How a solver for two samples is built and a model chosen is in `fit` and `search`.
"""

from typing import NamedTuple, Protocol

import numpy as np

from densdiff.core import radial
from densdiff.core.kernel import needs_direct_differences, radius
from densdiff.core.ridge import Forms
from densdiff.core.scaling import FloatArray
from densdiff.engines.pair_distances import kernel_matrix

FILTER_LAMS = np.logspace(-1, -4, 10)  # the lam of E11 that spectral and pairs search
# A curve is best when a little too smooth, its distance when a little too rough: measured in benchmarks/accuracy.py,
# the distance does best two steps of lam below the curve's.
DISTANCE_STEPS = 2
LAM_STEP = float(FILTER_LAMS[0] / FILTER_LAMS[1])


class Side(NamedTuple):
    """Which curve: ``x * p + y * q``. The difference is (1, -1); the densities are (1, 0) and (0, 1)."""

    x: float
    y: float


DIFFERENCE = Side(1.0, -1.0)
DENSITY_X = Side(1.0, 0.0)
DENSITY_Y = Side(0.0, 1.0)


class Solver(Protocol):
    """A table of models (sigma, lam) of any curve; values times exp(-log_scale) are in inner units."""

    sigmas: FloatArray  # (S,)
    lams: FloatArray  # (S, L)
    log_scales: FloatArray  # (S,)
    notes: tuple[str, ...]  # for the result
    distance_steps: int  # how many lams further on the averaged distance is taken
    band_steps: int  # how many lams further on, at a narrower sigma, a band for the curve is taken

    def scores(self, side: Side) -> FloatArray:
        """Hold-out scores times the scale, (S, L, k)."""

    def forms(self, side: Side, models: list[tuple[int, int]]) -> list[Forms]:
        """E4 to E7 times the scale, of models (level of sigma, index of lam)."""

    def evaluate(self, side: Side, model: tuple[int, int], points: FloatArray) -> FloatArray:
        """The curve at points in inner units times the scale, (k,)."""

    def unbiased(self, side: Side, model: tuple[int, int], points: FloatArray) -> FloatArray:
        """The curve at points with the bias of the filter taken off once more, 2F - F^2 in place of F, (k,)."""

    def rougher_model(self, model: tuple[int, int], narrower: float, weaker: float) -> tuple[float, float]:
        """Sigma and lam of a model with its sigma so many times narrower and its penalty so many times weaker."""

    def kernel(self, sigma: float, lam: float, a: FloatArray, b: FloatArray) -> FloatArray:
        """The kernel of E6 and E12, 2F - F^2, between two sets of rows, times the scale of sigma, (k, l)."""

    def peaks(self, sigma: float, lam: float, points: FloatArray) -> FloatArray:
        """The kernel of E6 and E12 of each point with itself, times the scale, (k,)."""

    def log_scale(self, sigma: float) -> float:
        """Logarithm of the scale that kernels of any sigma are multiplied with."""


class FilterKernel:
    """The part of the exact solvers that depends on no rows: the radial kernel of 2F - F^2 (E15)."""

    lams: FloatArray
    sigmas: FloatArray
    band_steps = 3

    def __init__(self, d: int) -> None:
        self.d = d

    def rougher_model(self, model: tuple[int, int], narrower: float, weaker: float) -> tuple[float, float]:
        """Sigma and lam of a model, each divided by a factor."""
        level, i = model
        return float(self.sigmas[level]) / narrower, float(self.lams[level, i]) / weaker

    def kernel(self, sigma: float, lam: float, a: FloatArray, b: FloatArray) -> FloatArray:
        """2F - F^2 between two sets of rows, times the scale, (k, l)."""
        kernels = radial.statistic_kernel(radial.radial_table(self.d, np.array([lam])), 0)
        direct = needs_direct_differences(radius(a, b), sigma, self.d)
        return kernel_matrix(a, b, kernels, sigma, direct=direct)

    def peaks(self, sigma: float, lam: float, points: FloatArray) -> FloatArray:
        """The kernel at distance 0, equal everywhere, (k,)."""
        table = radial.radial_table(self.d, np.array([lam]))
        return np.full(len(points), 2.0 * table.plain[0, 0] - table.squared[0, 0])

    def log_scale(self, sigma: float) -> float:
        """log of (2 pi sigma^2)^(d/2)."""
        return radial.log_scale(sigma, self.d)


def filter_lams(lams: FloatArray | None) -> tuple[FloatArray, FloatArray, int]:
    """Lams to cross-validate, all lams with those that only distances need, and how many only distances need."""
    if lams is not None:
        return lams, lams, 0
    further = FILTER_LAMS[-1] / LAM_STEP ** np.arange(1, DISTANCE_STEPS + 1)
    return FILTER_LAMS, np.concatenate([FILTER_LAMS, further]), DISTANCE_STEPS
