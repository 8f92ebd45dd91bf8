"""The sign of f in a single column, for every set of training folds at once: on a grid for numbers, by levels else.

Numbers come as normal scores of their pooled ranks: total variation does not change under monotone maps, and ranks know
neither tails nor gaps. A witness is positive where it says X; which one is best is decided in `solvers.witness`.
"""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from densdiff.core import fourier, selection
from densdiff.core.scaling import FloatArray

_SIGMAS = 2.0 * 2.0 ** (-0.5 * np.arange(12))  # of normal scores, whose deviation is 1
_NODES_A_UNIT = 24
_PAD = 6.0  # beyond the outermost scores
_BAND = 40.0  # highest frequency
_SUREST = 0.95  # of |f| / (p + q): no single column is trusted more
_LEVEL_ROWS = 2.0  # added to a level's rows, in proportion to the pooled shares


class Votes(NamedTuple):
    """f at rows, and half the logarithm of p / q there: what the column says, and how sure it is."""

    f: FloatArray  # (k,)
    log_ratio: FloatArray  # (k,)


class ColumnWitness(Protocol):
    """f of one column, from any folds, at any rows."""

    def votes(self, is_used: npt.NDArray[np.bool_], rows: npt.NDArray[np.intp]) -> Votes:
        """What f from the folds that are used (K,) says of some rows."""


def normal_scores(values: FloatArray) -> FloatArray:
    """Normal quantiles of the ranks of all values, equal ones alike, (N,)."""
    return np.asarray(ndtri((rankdata(values) - 0.5) / len(values)))


class NumberWitness:
    """f of a column of normal scores, averaged over filters (E17a) that only the training folds have chosen."""

    def __init__(self, scores: FloatArray, omega: FloatArray, groups: npt.NDArray[np.intp], n_folds: int) -> None:
        """``groups`` are the folds of X's rows from 0, of Y's from ``n_folds``."""
        places = (scores - scores.min()) * _NODES_A_UNIT
        self._cell = places.astype(np.intp)
        self._part = places - self._cell
        self._size = next_fast_len(int(places.max()) + 2 + int(_PAD * _NODES_A_UNIT), real=True)
        counts = np.bincount(groups * self._size + self._cell, omega * (1.0 - self._part), 2 * n_folds * self._size)
        counts += np.bincount(groups * self._size + self._cell + 1, omega * self._part, 2 * n_folds * self._size)
        w = 2.0 * np.pi * _NODES_A_UNIT / self._size * np.arange(self._size // 2 + 1)
        w = w[w <= _BAND]
        self._transforms = rfft(counts.reshape(2, n_folds, -1), axis=2)[:, :, : len(w)]  # (2, K, m)
        self._transfer = np.sinc(w / (2.0 * np.pi * _NODES_A_UNIT)) ** 2
        self._mass = np.bincount(groups, omega, 2 * n_folds).reshape(2, n_folds)
        self._squares = np.bincount(groups, np.square(omega), 2 * n_folds).reshape(2, n_folds)
        exponents = np.minimum(0.5 * np.square(np.multiply.outer(_SIGMAS, w)), 700.0)
        filters = 1.0 / (1.0 + np.multiply.outer(selection.CURVE_LAMS, np.exp(exponents)))
        self._filters = filters.reshape(-1, len(w))  # (models, m)
        self._measure = np.where(w > 0, 2.0, 1.0) * _NODES_A_UNIT / self._size

    def votes(self, is_used: npt.NDArray[np.bool_], rows: npt.NDArray[np.intp]) -> Votes:
        """f at rows by linear interpolation between nodes."""
        mass = self._mass[:, is_used].sum(axis=1)
        if not mass.all():  # no row of a sample to learn from
            return Votes(np.zeros(len(rows)), np.zeros(len(rows)))
        means = self._transforms[:, is_used].sum(axis=1) / mass[:, None] / self._transfer  # (2, m)
        sizes = np.square(mass) / self._squares[:, is_used].sum(axis=1)  # effective
        powers = np.square(np.abs(means))
        noises = (1.0 - powers) / np.maximum(sizes - 1.0, 1.0)[:, None]
        difference = means[0] - means[1]
        noise = noises.sum(axis=0) * self._measure
        power = np.square(np.abs(difference)) * self._measure
        both = (powers - noises).sum(axis=0) * self._measure  # without the pairs of a row with itself
        scores, left = fourier.filter_scores(self._filters, power, noise)
        of_densities, _ = fourier.filter_scores(self._filters, both + noise, noise)
        scores += selection.share_of_densities(*sizes) * of_densities
        averaged = selection.curve_weights(scores, left) @ self._filters
        curves = np.zeros((2, self._size // 2 + 1), dtype=complex)
        curves[:, : len(averaged)] = averaged * self._transfer * np.array([difference, means.sum(axis=0)])
        on_nodes = irfft(curves, n=self._size, axis=1)  # (2, nodes)
        cell, part = self._cell[rows], self._part[rows]
        f, total = on_nodes[:, cell] * (1.0 - part) + on_nodes[:, cell + 1] * part
        return _votes(f, total)


class LevelWitness:
    """f of a column of levels: differences of shares, as they are."""

    def __init__(
        self, codes: npt.NDArray[np.intp], omega: FloatArray, groups: npt.NDArray[np.intp], n_folds: int
    ) -> None:
        self._codes, levels = codes, int(codes.max()) + 1
        counts = np.bincount(groups * levels + codes, omega, 2 * n_folds * levels).reshape(2, n_folds, levels)
        self._counts = counts
        self._rows = np.bincount(groups, minlength=2 * n_folds).reshape(2, n_folds)

    def votes(self, is_used: npt.NDArray[np.bool_], rows: npt.NDArray[np.intp]) -> Votes:
        """f at rows: 0 for levels that no training row has."""
        counts = self._counts[:, is_used].sum(axis=1)  # (2, levels)
        rows_used = self._rows[:, is_used].sum(axis=1)
        if not counts.sum(axis=1).all():  # no row of a sample to learn from
            return Votes(np.zeros(len(rows)), np.zeros(len(rows)))
        counts = counts / counts.sum(axis=1, keepdims=True) * rows_used[:, None]  # in rows
        pooled = counts.sum(axis=0) / counts.sum()
        f = counts[0] / counts[0].sum() - counts[1] / counts[1].sum()
        shrunk = (counts + _LEVEL_ROWS * pooled) / (counts.sum(axis=1, keepdims=True) + _LEVEL_ROWS)
        codes = self._codes[rows]
        sure = _votes(shrunk[0] - shrunk[1], shrunk.sum(axis=0))
        return Votes(f[codes], sure.log_ratio[codes])


def _votes(f: FloatArray, total: FloatArray) -> Votes:
    """f with half the logarithm of the ratio of p and q, whose sum is ``total``."""
    share = np.divide(f, total, out=np.zeros_like(f), where=total > 0)
    return Votes(f, np.arctanh(np.clip(share, -_SUREST, _SUREST)))
