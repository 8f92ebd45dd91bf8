"""How fast the squared error of f falls with n, for rough and smooth f, as the work of one job.

At a given model LSDD and KDE are both the difference of the empirical measures under a filter, so their expected errors
are integrals over frequencies: the best model for each n is computed, not searched for on the samples.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import BSpline

import densdiff as dd
from paper.theory_checks import FloatArray, Row, averaged, row

ORDERS = (1, 2, 4, 0)  # of `Shifted`: smoothness 1/2, 3/2, 7/2, and a Gaussian


@dataclass(frozen=True)
class Shifted:
    """f = p - q of a density of deviation 1, a sum of ``order`` uniforms (0: a Gaussian), and the same one moved by 1.

    The characteristic function falls as |w|^-order, so that f has smoothness order - 1/2.
    """

    order: int

    @property
    def smoothness(self) -> float:
        return self.order - 0.5 if self.order else math.inf

    @property
    def _unit(self) -> float:
        return math.sqrt(12 / self.order)

    @property
    def points(self) -> FloatArray:
        """Where errors are summed: the densities' support and a margin for what an estimate adds around it."""
        half = 1.5 + (self._unit * self.order / 2 if self.order else 4.0)
        return np.linspace(-half, 1 + half, 801)

    def density(self, at: FloatArray, copies: int = 1) -> FloatArray:
        """The density of q, or of the sum of so many independent draws of it."""
        if not self.order:
            return np.asarray(np.exp(-np.square(at) / (2 * copies)) / math.sqrt(2 * math.pi * copies))
        order = self.order * copies
        spline = BSpline.basis_element(np.arange(order + 1.0), extrapolate=False)
        return np.asarray(np.nan_to_num(spline(at / self._unit + order / 2)) / self._unit)

    def difference(self, at: FloatArray) -> FloatArray:
        return self.density(at - 1) - self.density(at)

    @property
    def norm(self) -> float:
        """|f|^2: the integral of q times q moved by t is the density of the sum of two draws at t."""
        same, moved = self.density(np.array([0.0, 1.0]), copies=2)
        return float(2 * (same - moved))

    def sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """n rows of p and n of q."""
        if not self.order:
            x, y = rng.standard_normal((2, n))
        else:
            x, y = self._unit * (rng.random((2, n, self.order)).sum(axis=2) - self.order / 2)
        return x + 1, y

    @cached_property
    def _power(self) -> tuple[FloatArray, FloatArray]:
        """Frequencies, and |characteristic function|^2 of q at them."""
        w = np.arange(0.0, 300.0, 0.04) + 0.02
        power = np.exp(-np.square(w)) if not self.order else np.sinc(w * self._unit / (2 * math.pi)) ** (2 * self.order)
        return w, power

    def expected_errors(self, filters: FloatArray, n: int) -> FloatArray:
        """Mean squared L2 errors of filtered differences of empirical measures, (k,) for filters (k, frequencies)."""
        w, power = self._power
        kept = (2 * filters - filters**2) @ (power * (2 - 2 * np.cos(w)))
        noise = filters**2 @ (2 * (1 - power) / n)
        return np.asarray(self.norm + (w[1] - w[0]) / math.pi * (noise - kept))

    def best_lsdd(self, n: int) -> tuple[float, float, float]:
        """sigma and lam with the smallest expected error, and that error."""
        w, lams = self._power[0], np.geomspace(1e-8, 0.5, 20)
        tried = []
        for sigma in np.geomspace(0.02, 6.0, 50):
            filters = 1 / (1 + lams[:, np.newaxis] * np.exp(np.minimum(np.square(sigma * w) / 2, 500.0)))  # E11
            errors = self.expected_errors(filters, n)
            tried.append((float(errors.min()), float(sigma), float(lams[errors.argmin()])))
        error, sigma, lam = min(tried)
        return sigma, lam, error

    def best_kde(self, n: int) -> tuple[float, float]:
        """The width with the smallest expected error, and that error."""
        w, sigmas = self._power[0], np.geomspace(0.01, 3.0, 100)
        errors = self.expected_errors(np.exp(-np.square(np.outer(sigmas, w)) / 2), n)
        return float(sigmas[errors.argmin()]), float(errors.min())


def rate(order: int, n: int, draws: int, seed: int) -> list[Row]:
    """Squared L2 errors at the best model for this f and n, and for LSDD also at the cross-validated one."""
    rng = np.random.default_rng(seed)
    law = Shifted(order)
    sigma, lam, error = law.best_lsdd(n)
    width, error_kde = law.best_kde(n)
    methods: dict[str, tuple[dd.LSDD | dd.KDEDifference, float | None]] = {
        "LSDD": (dd.LSDD(sigma, lam, solver="spectral", standardize=False, random_state=0), error),
        "LSDD, cross-validated": (dd.LSDD(random_state=0), None),
        "KDE": (dd.KDEDifference(width, standardize=False, random_state=0), error_kde),
    }
    points, truth = law.points, law.difference(law.points)
    errors: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(draws):
        x, y = law.sample(n, rng)
        for name, (model, _) in methods.items():
            missed = model.fit(x, y).predict(points) - truth
            errors[name].append(float(missed @ missed * (points[1] - points[0])))
    case = f"{law.smoothness:g}"
    return [row("rate", case, name, n, *averaged(each), methods[name][1]) for name, each in errors.items()]
