"""Dependence that looks like changes: clusters of volatility, and a memory that fades slower than any autoregression.

Neither can be told from changes in a short series. What can be done is done here: volatility is divided out, changes
of spread are compared with those of simulated clusters, and a memory that is long is named.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_toeplitz
from scipy.signal import lfilter

from densdiff.core.contrasts import IntArray
from densdiff.core.scaling import FloatArray

_ORDER = 8  # of an autoregression
_LAGS = 20  # of squares
_SMOOTH = 0.5  # correlation of neighbouring samples
_SURE = 4.0  # standard errors
_LIKELY = 1.5  # standard errors: better a note too many than an alarm without one
_SIMULATED = 199
_MOST_SIMULATED = 20_000  # samples; longer series have the same largest contrast
_REACTIONS = np.array([0.02, 0.04, 0.07, 0.1, 0.15, 0.22, 0.3])  # to the last square
_PERSISTENCES = np.array([0.8, 0.9, 0.94, 0.96, 0.98, 0.99, 0.995])
_MOST_FITTED = 20_000  # samples that tell reaction and persistence
_FREQUENCIES = 0.65  # power of the length: Fourier frequencies that tell the memory


def segment_residuals(rows: FloatArray, changes: IntArray) -> FloatArray:
    """What is left of each column (T, d) around its mean and in units of its deviation in every segment."""
    left = np.empty_like(rows)
    for segment in np.split(np.arange(len(rows)), changes):
        part = rows[segment]
        deviation = part.std(axis=0)
        left[segment] = (part - part.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return left


def has_clusters(residuals: FloatArray) -> bool:
    """Whether squares of what an autoregression leaves over remember the squares before them, in any column (T, d).

    Columns that follow their last value closely are no returns: the bursts of a smooth movement are its own.
    """
    for column in residuals.T:
        if column[1:] @ column[:-1] > _SMOOTH * (column @ column):
            continue
        shocks = whitened(column)
        squares = np.minimum(np.square(shocks), 9.0 * np.square(shocks).mean())
        squares = squares - squares.mean()
        n, energy = len(squares), float(squares @ squares)
        lags = min(_LAGS, n // 10)
        if energy <= 0 or lags < 2:
            continue
        products = np.array([squares[k:] @ squares[:-k] for k in range(1, lags + 1)]) / energy
        if products.sum() * np.sqrt(n / lags) > _SURE:  # positive at many lags
            return True
    return False


def has_long_memory(residuals: FloatArray, period: float | None) -> bool:
    """Whether a column (T, d) is fractionally integrated, by local Whittle at frequencies well below the period's."""
    n = len(residuals)
    m = max(4, int(min(n**_FREQUENCIES, n if period is None else n / (2.0 * period))))
    frequencies = np.arange(1, m + 1)
    power = np.square(np.abs(np.fft.rfft(residuals - residuals.mean(axis=0), axis=0)[1 : m + 1]))  # (m, d)
    orders = np.linspace(-0.49, 0.99, 75)
    scaled = frequencies[:, None] ** (2.0 * orders)  # (m, orders)
    costs = np.log(np.maximum(power.T @ scaled / m, np.finfo(float).tiny)) - 2.0 * orders * np.log(frequencies).mean()
    return bool(orders[costs.argmin(axis=1)].max() * 2.0 * np.sqrt(m) > _LIKELY)


@dataclass(frozen=True)
class Clusters:
    """A process whose variance follows its last squares: reaction and persistence (reaction included)."""

    reaction: float
    persistence: float

    @classmethod
    def fit(cls, shocks: FloatArray) -> "Clusters":
        """By Gaussian likelihood over a grid, the long-run variance being that of the shocks (n,)."""
        shocks = shocks[:_MOST_FITTED]
        squares = np.square(shocks) / max(float(np.square(shocks).mean()), np.finfo(float).tiny)
        reaction, persistence = (grid.ravel() for grid in np.meshgrid(_REACTIONS, _PERSISTENCES))
        variance, cost = np.ones(len(reaction)), np.zeros(len(reaction))
        for square in squares:
            cost += np.log(variance) + square / variance
            variance = 1.0 - persistence + reaction * square + (persistence - reaction) * variance
        best = int(cost.argmin())
        return cls(float(reaction[best]), float(persistence[best]))

    def variances(self, shocks: FloatArray) -> FloatArray:
        """The variance before each shock (n,), in units of the long-run one."""
        squares = np.square(shocks) / max(float(np.square(shocks).mean()), np.finfo(float).tiny)
        variance, path = 1.0, np.empty(len(squares))
        for i, square in enumerate(squares):
            path[i] = variance
            variance = 1.0 - self.persistence + self.reaction * square + (self.persistence - self.reaction) * variance
        return path

    def simulate(self, count: int, n: int, random: np.random.Generator) -> FloatArray:
        """Shocks of unit long-run variance, (count, n)."""
        burn = min(1000, 10 + int(5 / (1.0 - self.persistence)))
        shocks, variance = np.empty((count, n)), np.ones(count)
        for i in range(-burn, n):
            shock = np.sqrt(variance) * random.standard_normal(count)
            if i >= 0:
                shocks[:, i] = shock
            square = np.square(shock)
            variance = 1.0 - self.persistence + self.reaction * square + (self.persistence - self.reaction) * variance
        return shocks


USUAL = Clusters(reaction=0.1, persistence=0.98)  # such as returns of shares have


def whitened(column: FloatArray) -> FloatArray:
    """What an autoregression of a few samples leaves of a column (T,)."""
    centred = column - column.mean()
    order = min(_ORDER, len(column) // 20)
    products = np.array([centred[k:] @ centred[: len(centred) - k] for k in range(order + 1)])
    if not order or products[0] <= 0:
        return np.asarray(centred)
    weights = solve_toeplitz(products[:-1] + np.eye(1, order)[0] * 1e-9 * products[0], products[1:])
    return np.asarray(lfilter(np.append(1.0, -weights), [1.0], centred)[order:])


def spread_pvalue(shocks: FloatArray, clusters: Clusters, random: np.random.Generator) -> float:
    """How often the spread of simulated clusters changes as much at its best place as that of shocks (n,)."""
    simulated = clusters.simulate(_SIMULATED, min(len(shocks), _MOST_SIMULATED), random)
    null = _largest_spread_contrast(simulated)
    return float((1 + (null >= _largest_spread_contrast(shocks[None])[0]).sum()) / (len(null) + 1))


def _largest_spread_contrast(shocks: FloatArray) -> FloatArray:
    """The largest difference of mean log squares before and after any place of each series (B, n), scaled by sizes."""
    squares = np.square(shocks)
    logs = np.log(squares + 0.01 * squares.mean(axis=1, keepdims=True))
    n = logs.shape[1]
    k = np.arange(1, n)
    sums = np.cumsum(logs - logs.mean(axis=1, keepdims=True), axis=1)[:, :-1]
    side = max(1, n // 20)
    return np.asarray((np.abs(sums) / np.sqrt(k * (n - k) / n))[:, side - 1 : n - side].max(axis=1))
