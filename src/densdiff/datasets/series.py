"""Series of regimes, with the changes between them.

Scores of detected changes are in `metrics`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.datasets.draws import FloatArray, Seed, generator
from densdiff.errors import InputError


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
    """A series of regimes that differ in one property at a time, which switches back and forth.

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
    rng = generator(random_state)
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
            raise InputError(f"{name} is {value!r}; it must be an integer of at least 1", argument=name)
    if not 0 < size < math.inf:
        need = "it must be positive and finite (changes=0 makes a series without change)"
        raise InputError(f"size is {size!r}; {need}", argument="size")
    if not -1 < phi < 1:
        raise InputError(f"phi is {phi!r}; it must lie strictly between -1 and 1", argument="phi")
    if df is not None and not 2 < df < math.inf:
        raise InputError(f"df is {df!r}; it must be more than 2, or None for normal noise", argument="df")


def _places(changes: Any, length: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The changes asked for, drawn if only their number is given."""
    requested = np.asarray(changes)
    if requested.size and requested.dtype.kind not in "iu":
        raise InputError(f"changes is {changes!r}; need a whole number, or a list of indices", argument="changes")
    if requested.ndim == 1:
        cuts = requested.astype(np.int64)
        if cuts.size and not (cuts[0] > 0 and cuts[-1] < length and np.all(np.diff(cuts) > 0)):
            need = f"they must increase strictly between 0 and length = {length}"
            raise InputError(f"changes are {changes!r}; {need}", argument="changes")
        return cuts
    if requested.ndim > 1 or not 0 <= requested < length:
        need = f"a number from 0 to length - 1 = {length - 1}, or a 1-D list"
        raise InputError(f"changes is {changes!r}; need {need}", argument="changes")
    k = int(requested)
    shortest = max(1, length // (4 * (k + 1)))
    spare = np.sort(rng.integers(length - (k + 1) * shortest, size=k, endpoint=True))
    return spare + shortest * np.arange(1, k + 1)


def _kinds(kind: Any, k: int, d: int) -> tuple[str, ...]:
    kinds = (kind,) * k if isinstance(kind, str) else tuple(kind)
    unknown = [name for name in (kind, *kinds) if isinstance(name, str) and name not in _CHANGE_KINDS]
    if unknown or not all(isinstance(name, str) for name in kinds):
        raise InputError(f"kind is {kind!r}; each must be one of {', '.join(_CHANGE_KINDS)}", argument="kind")
    if len(kinds) != k:
        count = f"{len(kinds)} entries for {k} changes"
        raise InputError(f"kind has {count}; need one kind, or one for each", argument="kind")
    if d == 1 and "correlation" in kinds:
        text = "kind has 'correlation' and d is 1; d must be at least 2 for columns to correlate"
        raise InputError(text, argument="kind")
    return kinds


def _toggled(name: str, kinds: tuple[str, ...]) -> FloatArray:
    """0 and 1 in turn, one entry per regime."""
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
    """Rows times the square root of (1 - rho) I + rho 1 1', with one rho per row."""
    d = noise.shape[1]
    apart = np.sqrt(1 - correlation)[:, np.newaxis]  # (T, 1)
    shared = (np.sqrt(1 + (d - 1) * correlation)[:, np.newaxis] - apart) / d
    mixed: FloatArray = apart * noise + shared * np.sum(noise, axis=1, keepdims=True)
    return mixed
