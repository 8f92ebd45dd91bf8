"""What the three solvers have in common: the curves they estimate and what is asked of them."""

from typing import NamedTuple, Protocol

import numpy as np

from densdiff.core.ridge import Forms
from densdiff.core.scaling import FloatArray

FILTER_LAMS = np.logspace(-1, -4, 10)  # the lam of E11 that spectral and pairs search
# A curve is best when a little too smooth, its distance when a little too rough: measured in benchmarks/accuracy.py,
# the distance does best two steps of lam below the curve's.
DISTANCE_STEPS = 2


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

    def scores(self, side: Side) -> FloatArray:
        """Hold-out scores times the scale, (S, L, k)."""

    def forms(self, side: Side, models: list[tuple[int, int]]) -> list[Forms]:
        """E4 to E7 times the scale, of models (level of sigma, index of lam)."""

    def evaluate(self, side: Side, model: tuple[int, int], points: FloatArray) -> FloatArray:
        """The curve at points in inner units times the scale, (k,)."""


def filter_lams(given: FloatArray | None) -> tuple[FloatArray, FloatArray, int]:
    """Lams to cross-validate, the same with those that only distances need, and how many those are."""
    if given is not None:
        return given, given, 0
    step = FILTER_LAMS[1] / FILTER_LAMS[0]
    further = FILTER_LAMS[-1] * step ** np.arange(1, DISTANCE_STEPS + 1)
    return FILTER_LAMS, np.concatenate([FILTER_LAMS, further]), DISTANCE_STEPS
