"""Pairs of samples drawn from two Gaussian mixtures, whose products integrate in closed form.

True distances come with the samples; estimates of them do not live here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.integrate import quad
from scipy.special import logsumexp

from densdiff.datasets.draws import FloatArray, Seed, check_sizes, generator
from densdiff.errors import InputError


class Mixture:
    """Gaussian mixture whose components are isotropic: covariance ``variance * I`` each.

    Parameters
    ----------
    weights : array-like of shape (k,)
        Positive, with sum 1.
    means : array-like of shape (k, d)
        One row a component; a 1-D array means one column.
    variances : array-like of shape (k,)
        Positive.

    Examples
    --------
    >>> from densdiff.datasets import Mixture
    >>> bimodal = Mixture([0.5, 0.5], [-1.0, 1.0], [0.25, 0.25])
    >>> round(float(bimodal([0.0])[0]), 4)
    0.108
    """

    def __init__(self, weights: npt.ArrayLike, means: npt.ArrayLike, variances: npt.ArrayLike) -> None:
        w = np.array(weights, dtype=np.float64)
        mu = np.array(means, dtype=np.float64)
        v = np.array(variances, dtype=np.float64)
        mu = mu[:, np.newaxis] if mu.ndim == 1 else mu
        k = w.size
        if k == 0 or w.shape != (k,) or v.shape != (k,) or mu.ndim != 2 or len(mu) != k:
            shapes = f"{w.shape}, {mu.shape}, {v.shape}"
            raise InputError(f"weights, means, variances have shapes {shapes}; need (k,), (k, d), (k,)")
        if not (np.all(w > 0) and math.isclose(w.sum(), 1.0, abs_tol=1e-9)):
            raise InputError(f"weights are {w.tolist()}; they must be positive with sum 1", argument="weights")
        if not (np.all(v > 0) and np.all(np.isfinite(v)) and np.all(np.isfinite(mu))):
            raise InputError("means must be finite, and variances positive and finite")
        self.weights: FloatArray = w / w.sum()  # (k,)
        self.means: FloatArray = mu  # (k, d)
        self.variances: FloatArray = v  # (k,)

    @property
    def dimension(self) -> int:
        """Number of columns d."""
        return int(self.means.shape[1])

    def log_density(self, points: npt.ArrayLike) -> FloatArray:
        """Logarithm of the density at each row of `points`, finite far out in the tails."""
        rows = np.asarray(points, dtype=np.float64)
        rows = rows[:, np.newaxis] if rows.ndim == 1 else rows
        if rows.ndim != 2 or rows.shape[1] != self.dimension:
            raise InputError(f"points have shape {np.shape(points)}; need (k, {self.dimension})", argument="points")
        logs = [
            math.log(weight)
            - 0.5 * self.dimension * math.log(2 * math.pi * variance)
            - 0.5 * np.sum((rows - mean) ** 2, axis=1) / variance
            for weight, mean, variance in zip(self.weights, self.means, self.variances, strict=True)
        ]
        return np.asarray(logsumexp(np.stack(logs), axis=0), dtype=np.float64)

    def __call__(self, points: npt.ArrayLike) -> FloatArray:
        """Density at each row of `points`."""
        return np.exp(self.log_density(points))

    def inner(self, other: Mixture) -> float:
        """Integral of the product of two mixture densities, in closed form."""
        gaps = self.means[:, np.newaxis, :] - other.means[np.newaxis, :, :]  # (k, k', d)
        spread = self.variances[:, np.newaxis] + other.variances[np.newaxis, :]  # (k, k')
        logs = -0.5 * np.sum(gaps**2, axis=2) / spread - 0.5 * self.dimension * np.log(2 * np.pi * spread)
        return float(self.weights @ np.exp(logs) @ other.weights)

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw `size` independent rows, shape (size, d)."""
        component = rng.choice(self.weights.size, size=size, p=self.weights)
        noise = rng.standard_normal((size, self.dimension))
        return self.means[component] + np.sqrt(self.variances[component])[:, np.newaxis] * noise


@dataclass(frozen=True, eq=False)
class TwoSamples:
    """Two samples together with the densities they were drawn from.

    Attributes
    ----------
    x, y : ndarray of shape (n, d) and (m, d)
        Rows drawn from `p` and from `q`.
    p, q : Mixture
        The true densities; call them on points.

    Examples
    --------
    >>> from densdiff.datasets import gaussian_shift
    >>> pair = gaussian_shift(0.5, n=50, random_state=0)
    >>> pair.x.shape, round(pair.l2, 4), round(pair.normalized, 4), round(pair.kl, 4)
    ((50, 1), 1.0881, 0.5441, 1.5708)
    """

    x: FloatArray
    y: FloatArray
    p: Mixture
    q: Mixture

    def difference(self, points: npt.ArrayLike) -> FloatArray:
        """Return the true f = p - q at each row of `points`."""
        return self.p(points) - self.q(points)

    @property
    def l2(self) -> float:
        """The true squared L2 distance, the integral of (p - q)^2."""
        return max(0.0, self.p.inner(self.p) + self.q.inner(self.q) - 2 * self.p.inner(self.q))

    @property
    def normalized(self) -> float:
        """The true ``|p - q|^2 / (|p|^2 + |q|^2)``, free of units, in [0, 1]."""
        return self.l2 / (self.p.inner(self.p) + self.q.inner(self.q))

    @cached_property
    def kl(self) -> float:
        """KL(p || q): closed form for two Gaussians, quadrature for mixtures in one column."""
        if self.p.weights.size == 1 and self.q.weights.size == 1:
            return _gaussian_kl(self.p, self.q)
        if self.p.dimension > 1:
            raise InputError(f"the KL divergence of mixtures is available for d = 1 only; got d = {self.p.dimension}")
        return _mixture_kl(self.p, self.q)


def gaussian_shift(
    mu: float = 0.5, *, d: int = 1, n: int = 200, m: int | None = None, random_state: Seed = None
) -> TwoSamples:
    """Two Gaussians of covariance I / (4 pi), the first shifted by `mu` along the first column.

    The variance makes the squared norm of each density 1 in any dimension, so the squared L2 distance is
    ``2 * (1 - exp(-pi * mu**2))`` whatever `d` is.

    Parameters
    ----------
    mu : float
        The shift.
    d : int
        Number of columns.
    n, m : int
        Rows of x and of y; ``m=None`` means n.
    random_state : None, int or numpy.random.Generator
        Seed of the draw.

    Returns
    -------
    TwoSamples

    Examples
    --------
    >>> from densdiff.datasets import gaussian_shift
    >>> pair = gaussian_shift(0.5, d=3, n=100, m=80, random_state=0)
    >>> pair.y.shape, round(pair.l2, 4)
    ((80, 3), 1.0881)
    """
    if not (isinstance(d, int | np.integer) and d >= 1):
        raise InputError(f"d is {d!r}; it must be an integer of at least 1", argument="d")
    shift = np.zeros((1, d))
    shift[0, 0] = mu
    variance = [1 / (4 * math.pi)]
    p, q = Mixture([1.0], shift, variance), Mixture([1.0], np.zeros((1, d)), variance)
    return mixture_pair(p, q, n=n, m=m, random_state=random_state)


def outlier_mixture(
    mu: float = 10.0, eta: float = 0.1, *, n: int = 100, m: int | None = None, random_state: Seed = None
) -> TwoSamples:
    """A standard normal with a share `eta` of narrow outliers at `mu`, against a standard normal.

    x comes from (1 - eta) N(0, 1) + eta N(mu, 1/16), y from N(0, 1); one column.

    Parameters
    ----------
    mu : float
        Where the outliers lie.
    eta : float
        Their share, in [0, 1].
    n, m : int
        Rows of x and of y; ``m=None`` means n.
    random_state : None, int or numpy.random.Generator
        Seed of the draw.

    Returns
    -------
    TwoSamples

    Examples
    --------
    >>> from densdiff.datasets import outlier_mixture
    >>> pair = outlier_mixture(10.0, 0.1, random_state=0)
    >>> round(pair.l2, 5), round(pair.kl, 3)
    (0.0141, 4.767)
    """
    if not 0 <= eta <= 1:
        raise InputError(f"eta is {eta!r}; it must lie in [0, 1]", argument="eta")
    components = [(1 - eta, 0.0, 1.0), (eta, mu, 1 / 16)]
    weights, means, variances = zip(*(component for component in components if component[0] > 0), strict=True)
    p = Mixture(weights, means, variances)
    return mixture_pair(p, Mixture([1.0], [0.0], [1.0]), n=n, m=m, random_state=random_state)


def mixture_pair(
    p: Mixture, q: Mixture, *, n: int = 200, m: int | None = None, random_state: Seed = None
) -> TwoSamples:
    """Draw x from `p` and y from `q`, any two mixtures of the same number of columns.

    Parameters
    ----------
    p, q : Mixture
        The two densities.
    n, m : int
        Rows of x and of y; ``m=None`` means n.
    random_state : None, int or numpy.random.Generator
        Seed of the draw.

    Returns
    -------
    TwoSamples

    Examples
    --------
    >>> from densdiff.datasets import Mixture, mixture_pair
    >>> p, q = Mixture([0.5, 0.5], [-1.0, 1.0], [0.2, 0.2]), Mixture([1.0], [0.0], [1.0])
    >>> pair = mixture_pair(p, q, n=120, m=300, random_state=0)
    >>> pair.y.shape, round(pair.l2, 4)
    ((300, 1), 0.1194)
    """
    if p.dimension != q.dimension:
        raise InputError(f"p has {p.dimension} columns and q has {q.dimension}; they must agree")
    n, m = check_sizes(n, m)
    rng = generator(random_state)
    return TwoSamples(x=p.sample(n, rng), y=q.sample(m, rng), p=p, q=q)


def _gaussian_kl(p: Mixture, q: Mixture) -> float:
    ratio = p.variances[0] / q.variances[0]
    gap = np.sum((p.means[0] - q.means[0]) ** 2) / q.variances[0]
    return float(0.5 * (gap + p.dimension * (ratio - 1 - np.log(ratio))))


def _mixture_kl(p: Mixture, q: Mixture) -> float:
    def log_ratio(t: float) -> float:
        return float(p.log_density([t])[0] - q.log_density([t])[0])

    # One integral per component of p, in its own standardized units: its range is then known, however narrow
    # or far away the component is. Beyond 12 deviations lies a mass of 1e-33.
    total = 0.0
    for weight, mean, variance in zip(p.weights, p.means[:, 0], p.variances, strict=True):
        scale = math.sqrt(variance)
        kinks = np.concatenate([p.means[:, 0], q.means[:, 0], [mean]])
        inside = np.unique((kinks - mean) / scale)
        inside = inside[np.abs(inside) < 12]

        def integrand(u: float, mean: float = mean, scale: float = scale) -> float:
            return math.exp(-0.5 * u * u) / math.sqrt(2 * math.pi) * log_ratio(mean + scale * u)

        value, _ = quad(integrand, -12, 12, points=inside, epsabs=1e-12, epsrel=1e-10, limit=400)
        total += weight * value
    return float(total)
