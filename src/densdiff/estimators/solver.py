"""What the three solvers have in common: the curves they estimate and what is asked of them."""

from typing import NamedTuple, Protocol

import numpy as np

from densdiff.core.ridge import Forms
from densdiff.core.scaling import FloatArray

FILTER_LAMS = np.array([3.0, 1.0, 0.3, 0.1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4])  # the lam of E11


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

    def scores(self, side: Side) -> FloatArray:
        """Hold-out scores times the scale, (S, L, k)."""

    def forms(self, side: Side, models: list[tuple[int, int]]) -> list[Forms]:
        """E4 to E7 times the scale, of models (level of sigma, index of lam)."""

    def evaluate(self, side: Side, model: tuple[int, int], points: FloatArray) -> FloatArray:
        """The curve at points in inner units times the scale, (k,)."""
