"""Seeded toy samples and series with the truth attached.

Every pair is drawn from two Gaussian mixtures, whose products integrate in closed form, so the true density
difference and the true distances come with the samples; every series comes with its changes and the parameters of
its regimes. Files and real data do not live here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.integrate import quad
from scipy.special import logsumexp

from densdiff.errors import InputError

FloatArray = npt.NDArray[np.float64]
Seed = int | np.random.Generator | None


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
            raise InputError(f"weights are {w.tolist()}; they must be positive with sum 1")
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
            raise InputError(f"points have shape {np.shape(points)}; need (k, {self.dimension})")
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
        """The true |p - q|^2 / (|p|^2 + |q|^2), free of units, in [0, 1]."""
        return self.l2 / (self.p.inner(self.p) + self.q.inner(self.q))

    @cached_property
    def kl(self) -> float:
        """KL(p || q): closed form for two Gaussians, quadrature for mixtures in one column."""
        if self.p.weights.size == 1 and self.q.weights.size == 1:
            return _gaussian_kl(self.p, self.q)
        if self.p.dimension > 1:
            raise InputError(f"kl of mixtures is known for d = 1 only, here d = {self.p.dimension}")
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
        raise InputError(f"d is {d!r}; it must be an integer of at least 1")
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
        raise InputError(f"eta is {eta!r}; it must lie in [0, 1]")
    parts = [(1 - eta, 0.0, 1.0), (eta, mu, 1 / 16)]
    weights, means, variances = zip(*(part for part in parts if part[0] > 0), strict=True)
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
    m = n if m is None else m
    for name, size in (("n", n), ("m", m)):
        if not (isinstance(size, int | np.integer) and size >= 1):
            raise InputError(f"{name} is {size!r}; it must be an integer of at least 1")
    rng = _generator(random_state)
    return TwoSamples(x=p.sample(n, rng), y=q.sample(m, rng), p=p, q=q)


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        message = f"random_state is {random_state!r}; need None, an integer >= 0 or a numpy Generator"
        raise InputError(message) from error


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


@dataclass(frozen=True, eq=False)
class PiecewiseSeries:
    """A series together with its changes and what each regime is made of.

    Attributes
    ----------
    series : ndarray of shape (T, d)
        The samples in order.
    changes : ndarray of shape (k,)
        Index of the first sample of each new regime, increasing.
    kinds : tuple of str
        What each change changes.
    means, scales, correlations, frequencies : ndarray of shape (k + 1,)
        For each regime the mean of every column, the standard deviation of the noise, its correlation between any two
        columns, and the frequency of the wave in cycles per sample, 0 where there is none.

    Examples
    --------
    >>> from densdiff.datasets import piecewise_series
    >>> data = piecewise_series([300, 500], size=2.0, random_state=0)
    >>> data.means.tolist(), round(float(data.series[300:500].mean()), 1)
    ([0.0, 2.0, 0.0], 2.0)
    """

    series: FloatArray
    changes: npt.NDArray[np.int64]
    kinds: tuple[str, ...]
    means: FloatArray
    scales: FloatArray
    correlations: FloatArray
    frequencies: FloatArray


def piecewise_series(
    changes: int | npt.ArrayLike = 3,
    kind: str | Sequence[str] = "mean",
    size: float = 1.0,
    *,
    length: int = 1000,
    d: int = 1,
    phi: float = 0.0,
    df: float | None = None,
    random_state: Seed = None,
) -> PiecewiseSeries:
    """A series of regimes between which one thing at a time goes to and fro.

    The noise has mean 0 and standard deviation 1 in every column, whatever `phi` and `df` are. A change of kind

    - ``"mean"`` moves all columns from 0 to `size` deviations,
    - ``"scale"`` multiplies the noise by 1 + `size`,
    - ``"correlation"`` lets any two columns correlate by `size` / (1 + `size`), each column by itself staying as it is,
    - ``"frequency"`` multiplies the frequency of a wave by 1 + `size`; the wave has period 20, the variance of the
      noise and no jumps, and runs through the whole series if any change is of this kind,

    and the next change of the same kind takes it back.

    Parameters
    ----------
    changes : int or array-like of int
        How many changes at random places, no regime being shorter than a quarter of the mean one; or where they are,
        each the first sample of a new regime, strictly between 0 and `length`.
    kind : str or sequence of str
        What the changes change: one kind for all, or one for each.
    size : float
        How much, positive.
    length : int
        Number of samples T.
    d : int
        Number of columns; 2 at least if a correlation changes.
    phi : float
        Correlation between one sample's noise and the next one's, in (-1, 1): an autoregression of order 1.
    df : float or None
        Degrees of freedom of Student's t from which the noise is driven, more than 2; None is the normal distribution.
    random_state : None, int or numpy.random.Generator
        Seed of the draw.

    Returns
    -------
    PiecewiseSeries

    Examples
    --------
    >>> from densdiff.datasets import piecewise_series
    >>> data = piecewise_series(3, ["mean", "scale", "mean"], d=2, phi=0.5, random_state=0)
    >>> data.series.shape, data.changes.tolist()
    ((1000, 2), [446, 603, 826])
    >>> data.means.tolist(), data.scales.tolist()
    ([0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 2.0, 2.0])
    """
    _check_series(size, length, d, phi, df)
    rng = _generator(random_state)
    cuts = _places(changes, length, rng)
    kinds = _kinds(kind, cuts.size, d)
    moved = {name: _toggled(name, kinds) for name in _CHANGE_KINDS}  # each (k + 1,), 0 or 1
    correlations = moved["correlation"] * size / (1 + size)
    waves = _BASE_FREQUENCY * (1 + size * moved["frequency"]) * ("frequency" in kinds)
    means, scales = size * moved["mean"], 1 + size * moved["scale"]

    regime = np.searchsorted(cuts, np.arange(length), side="right")  # (T,)
    noise = _equicorrelated(_autoregression(length, d, phi, df, rng), correlations[regime])  # (T, d)
    series = means[regime, np.newaxis] + scales[regime, np.newaxis] * noise
    if "frequency" in kinds:
        turns = np.cumsum(waves[regime])[:, np.newaxis] + rng.random(d)  # (T, d)
        series += math.sqrt(2) * np.sin(2 * math.pi * turns)
    return PiecewiseSeries(series, cuts, kinds, means, scales, correlations, waves)


_CHANGE_KINDS = ("mean", "scale", "correlation", "frequency")
_BASE_FREQUENCY = 0.05


def _check_series(size: Any, length: Any, d: Any, phi: Any, df: Any) -> None:
    for name, value in (("length", length), ("d", d)):
        if not (isinstance(value, int | np.integer) and value >= 1):
            raise InputError(f"{name} is {value!r}; it must be an integer of at least 1")
    if not 0 < size < math.inf:
        raise InputError(f"size is {size!r}; it must be positive and finite (changes=0 makes a series without change)")
    if not -1 < phi < 1:
        raise InputError(f"phi is {phi!r}; it must lie strictly between -1 and 1")
    if df is not None and not 2 < df < math.inf:
        raise InputError(f"df is {df!r}; it must be more than 2, or None for normal noise")


def _places(changes: Any, length: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The changes asked for, drawn if only their number is given."""
    given = np.asarray(changes)
    if given.size and given.dtype.kind not in "iu":
        raise InputError(f"changes is {changes!r}; need a whole number, or a list of indices")
    if given.ndim == 1:
        cuts = given.astype(np.int64)
        if cuts.size and not (cuts[0] > 0 and cuts[-1] < length and np.all(np.diff(cuts) > 0)):
            raise InputError(f"changes are {changes!r}; they must increase strictly between 0 and length = {length}")
        return cuts
    if given.ndim > 1 or not 0 <= given < length:
        raise InputError(f"changes is {changes!r}; need a number from 0 to length - 1 = {length - 1}, or a 1-D list")
    k = int(given)
    shortest = max(1, length // (4 * (k + 1)))
    spare = np.sort(rng.integers(length - (k + 1) * shortest, size=k, endpoint=True))
    return spare + shortest * np.arange(1, k + 1)


def _kinds(kind: Any, k: int, d: int) -> tuple[str, ...]:
    kinds = (kind,) * k if isinstance(kind, str) else tuple(kind)
    unknown = [name for name in (kind, *kinds) if isinstance(name, str) and name not in _CHANGE_KINDS]
    if unknown or not all(isinstance(name, str) for name in kinds):
        raise InputError(f"kind is {kind!r}; each must be one of {', '.join(_CHANGE_KINDS)}")
    if len(kinds) != k:
        raise InputError(f"kind has {len(kinds)} entries for {k} changes; need one kind, or one for each")
    if d == 1 and "correlation" in kinds:
        raise InputError("kind has 'correlation' and d is 1; d must be at least 2 for columns to correlate")
    return kinds


def _toggled(name: str, kinds: tuple[str, ...]) -> FloatArray:
    """0 and 1 in turns, one entry a regime."""
    return np.cumsum([0.0, *(float(kind == name) for kind in kinds)]) % 2


def _autoregression(length: int, d: int, phi: float, df: float | None, rng: np.random.Generator) -> FloatArray:
    """Noise e[t] = phi e[t-1] + w[t] of variance 1 at every t, the first one included."""
    if df is None:
        noise = rng.standard_normal((length, d))
    else:
        noise = rng.standard_t(df, (length, d)) * math.sqrt((df - 2) / df)
    noise[1:] *= math.sqrt(1 - phi**2)
    # 1 / (1 - phi z) = (1 + phi z) (1 + phi^2 z^2) (1 + phi^4 z^4) ..: log2(T) passes instead of T steps.
    shift, factor = 1, phi
    while shift < length and abs(factor) > 1e-20:
        noise[shift:] += factor * noise[:-shift]
        shift, factor = 2 * shift, factor**2
    return noise


def _equicorrelated(noise: FloatArray, correlation: FloatArray) -> FloatArray:
    """Rows times the square root of (1 - rho) I + rho 1 1', with one rho a row."""
    d = noise.shape[1]
    apart = np.sqrt(1 - correlation)[:, np.newaxis]  # (T, 1)
    shared = (np.sqrt(1 + (d - 1) * correlation)[:, np.newaxis] - apart) / d
    mixed: FloatArray = apart * noise + shared * np.sum(noise, axis=1, keepdims=True)
    return mixed
