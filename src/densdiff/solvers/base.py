"""What the three solvers have in common: the curves they estimate and what is asked of them.

How a solver for two samples is built and a model chosen is in `fit` and `search`.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from densdiff.core import radial
from densdiff.core.agreement import (
    AgreementPolynomial,
    IntArray,
    agreement_polynomials,
    agreement_steps,
    last_step,
    stepped_lams,
)
from densdiff.core.kernel import needs_direct_differences, radius
from densdiff.core.mixed_kernel import has_few_classes, mixed_statistic_kernel
from densdiff.core.ridge import Forms
from densdiff.core.scaling import FloatArray
from densdiff.engines.pair_distances import kernel_matrices, kernel_matrix

FILTER_LAMS = np.logspace(-1, -4, 10)  # the lam of E11 that spectral and pairs search
# A curve is best when a little too smooth, its distance when a little too rough: measured in benchmarks/accuracy.py,
# the distance does best two steps of lam below the curve's.
DISTANCE_STEPS = 2
LAM_STEP = float(FILTER_LAMS[0] / FILTER_LAMS[1])
NO_LEVELS: IntArray = np.empty(0, dtype=np.intp)
LEVEL_RATIO = 10.0 ** (-1.0 / 3.0)  # q of E16: that of the lams above, whatever lams a user gives
_SMOOTHINGS = (0, 1, 2, 4, 7, 11)  # a of E16; 0 is exact agreement
# Many columns that differ in their numbers of levels have too many classes of agreement for tables. Steps that are
# multiples of four then keep the powers of q few.
_COARSE_SMOOTHINGS, _COARSE_STEP = (0, 4, 8, 12), 4


class Model(NamedTuple):
    """Sigma in inner units, lam, and the smoothing a of categories (E16), which "centers" keep elsewhere."""

    sigma: float
    lam: float
    smoothing: int = 0


class Side(NamedTuple):
    """Which curve: ``x * p + y * q``. The difference is (1, -1); the densities are (1, 0) and (0, 1)."""

    x: float
    y: float


DIFFERENCE = Side(1.0, -1.0)
DENSITY_X = Side(1.0, 0.0)
DENSITY_Y = Side(0.0, 1.0)


class Solver(Protocol):
    """A table of models of any curve: levels with a sigma and a smoothing each, and lams; values times
    exp(-log_scale) are in inner units.
    """

    sigmas: FloatArray  # (S,)
    smoothings: IntArray  # (S,) of categories
    lams: FloatArray  # (S, L)
    log_scales: FloatArray  # (S,)
    notes: tuple[str, ...]  # for the result
    distance_steps: int  # how many lams further on the averaged distance is taken
    band_steps: int  # how many lams further on, at a narrower sigma, a band for the curve is taken

    def scores(self, side: Side) -> FloatArray:
        """Hold-out scores times the scale, (S, L, k)."""

    def forms(self, side: Side, models: list[tuple[int, int]]) -> list[Forms]:
        """E4 to E7 times the scale, of models (level, index of lam)."""

    def evaluate(self, side: Side, model: tuple[int, int], points: FloatArray) -> FloatArray:
        """The curve at points in inner units times the scale, (k,)."""

    def unbiased(self, side: Side, model: tuple[int, int], points: FloatArray) -> FloatArray:
        """The curve at points with the bias of the filter taken off once more, 2F - F^2 in place of F, (k,)."""

    def rougher_model(self, model: tuple[int, int], narrower: float, weaker: float) -> Model:
        """A model with its sigma so many times narrower and its penalty so many times weaker."""

    def kernel(self, model: Model, a: FloatArray, b: FloatArray) -> FloatArray:
        """The kernel of E6 and E12, 2F - F^2, between two sets of rows, times the scale of sigma, (k, l)."""

    def peaks(self, model: Model, points: FloatArray) -> FloatArray:
        """The kernel of E6 and E12 of each point with itself, times the scale, (k,)."""

    def log_scale(self, sigma: float) -> float:
        """Logarithm of the scale that kernels of any sigma are multiplied with."""


class FilterKernel:
    """The part of the exact solvers that depends on no rows: the kernel of 2F - F^2 (E15, with categories E16)."""

    lams: FloatArray
    sigmas: FloatArray
    smoothings: IntArray
    band_steps = 3

    def __init__(self, d: int, levels: IntArray = NO_LEVELS) -> None:
        self.d, self.levels = d, levels  # columns of numbers, and how many levels each column of codes has
        self._cached_kernel: tuple[Model, radial.PairKernel] | None = None

    def rougher_model(self, model: tuple[int, int], narrower: float, weaker: float) -> Model:
        """Sigma and lam of a model, each divided by a factor."""
        level, i = model
        sigma, lam = float(self.sigmas[level]) / narrower, float(self.lams[level, i]) / weaker
        return Model(sigma, lam, int(self.smoothings[level]))

    def kernel(self, model: Model, a: FloatArray, b: FloatArray) -> FloatArray:
        """2F - F^2 between two sets of rows, times the scale, (k, l)."""
        direct = needs_direct_differences(radius(a[:, : self.d], b[:, : self.d]), model.sigma, self.d)
        return kernel_matrix(a, b, self._statistic_kernel(model), model.sigma, direct=direct)

    def kernels(self, models: Sequence[Model], a: FloatArray, b: FloatArray) -> Iterator[FloatArray]:
        """2F - F^2 of several models between two sets of rows, (k, l) each, from distances that are made once."""
        narrowest = min(model.sigma for model in models)
        direct = needs_direct_differences(radius(a[:, : self.d], b[:, : self.d]), narrowest, self.d)
        return kernel_matrices(a, b, [(self._statistic_kernel(m), m.sigma) for m in models], direct=direct)

    def _statistic_kernel(self, model: Model) -> radial.PairKernel:
        """2F - F^2 of one model; the last one with categories is cached."""
        if not len(self.levels):
            return radial.statistic_kernel(radial.radial_table(self.d, np.array([model.lam])), 0)
        if self._cached_kernel is None or self._cached_kernel[0] != model:
            polynomials = level_polynomials(self.levels, [model.smoothing], model.lam)
            lams, (places,) = stepped_lams(np.array([model.lam]), polynomials)
            kernel = mixed_statistic_kernel(radial.radial_table(self.d, lams), places[0], polynomials[0])
            self._cached_kernel = model, kernel
        return self._cached_kernel[1]

    def peaks(self, model: Model, points: FloatArray) -> FloatArray:
        """The kernel of a row with itself, equal everywhere, (k,)."""
        return np.full(len(points), self._statistic_kernel(model).of_equal_rows[0])

    def log_scale(self, sigma: float) -> float:
        """log of (2 pi sigma^2)^(d/2)."""
        return radial.log_scale(sigma, self.d)


def has_many_classes(levels: IntArray) -> bool:
    """Whether columns of categories differ too much for a table of every class of agreement."""
    return len(levels) > 0 and not has_few_classes(_fine_polynomials(levels, [1], 1.0)[0])


def searched_smoothings(levels: IntArray) -> tuple[int, ...]:
    """The smoothings of categories to search; a single one, 0, where there are none."""
    if not len(levels):
        return (0,)
    return _COARSE_SMOOTHINGS if has_many_classes(levels) else _SMOOTHINGS


def level_polynomials(levels: IntArray, smoothings: Sequence[int], least_lam: float) -> list[AgreementPolynomial]:
    """What agreement in categories gives to each step of lam, for each smoothing (E16) and lams from the least on."""
    polynomials = _fine_polynomials(levels, smoothings, least_lam)
    if has_few_classes(polynomials[0]):
        return polynomials
    steps = [
        _COARSE_STEP * np.maximum(np.rint(p.steps / _COARSE_STEP), p.steps > 0).astype(np.intp) for p in polynomials
    ]
    return agreement_polynomials(levels, steps, LEVEL_RATIO, last_step(least_lam, LEVEL_RATIO))


def _fine_polynomials(levels: IntArray, smoothings: Sequence[int], least_lam: float) -> list[AgreementPolynomial]:
    """The polynomials with steps as E16 has them, however many classes of agreement there are."""
    steps = [agreement_steps(levels, smoothing, LEVEL_RATIO) for smoothing in smoothings]
    return agreement_polynomials(levels, steps, LEVEL_RATIO, last_step(least_lam, LEVEL_RATIO))


def filter_lams(lams: FloatArray | None) -> tuple[FloatArray, FloatArray, int]:
    """Lams to cross-validate, all lams with those that only distances need, and how many only distances need."""
    if lams is not None:
        return lams, lams, 0
    further = FILTER_LAMS[-1] / LAM_STEP ** np.arange(1, DISTANCE_STEPS + 1)
    return FILTER_LAMS, np.concatenate([FILTER_LAMS, further]), DISTANCE_STEPS
