"""The sign of f in single columns, for every set of training folds at once: on a grid for numbers, by levels else.

Numbers come as normal scores of their pooled ranks: total variation does not change under monotone maps, and ranks know
neither tails nor gaps. A witness is positive where it says X; which one is best is decided in `solvers.witness`.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from densdiff.core import fourier, selection
from densdiff.core.ranks import average_ranks
from densdiff.core.scaling import FloatArray

_SIGMAS = 2.0 * 2.0 ** (-0.5 * np.arange(12))  # of normal scores, whose deviation is 1
_NODES_A_UNIT = 24
_PAD = 6.0  # beyond the outermost scores
_BAND = 40.0  # highest frequency
_SUREST = 0.95  # of |f| / (p + q): no single column is trusted more
_LEVEL_ROWS = 2.0  # added to a level's rows, in proportion to the pooled shares


class Votes(NamedTuple):
    """f at rows, and half the logarithm of p / q there: what columns say, and how sure they are."""

    f: FloatArray  # (c, k) of c columns, or (k,) of a single one
    log_ratio: FloatArray


def normal_scores(values: FloatArray) -> FloatArray:
    """Normal quantiles of the ranks of all values, equal ones alike, (N,)."""
    return np.asarray(ndtri((average_ranks(values) - 0.5) / len(values)))


def grid_size(scores: FloatArray) -> int:
    """Nodes of the grid that a column of normal scores needs."""
    span = (scores.max() - scores.min()) * _NODES_A_UNIT
    return int(next_fast_len(int(span) + 2 + int(_PAD * _NODES_A_UNIT), real=True))


class NumberWitness:
    """f of columns of normal scores, averaged over filters (E17a) that only the training folds have chosen."""

    def __init__(self, scores: FloatArray, omega: FloatArray, groups: npt.NDArray[np.intp], n_folds: int) -> None:
        """``scores`` (N, c) need grids of one size; ``groups`` are the folds of X's rows from 0, Y's from n_folds."""
        places = (scores - scores.min(axis=0)).T * _NODES_A_UNIT  # (c, N)
        self._cell = places.astype(np.intp)
        self._part = places - self._cell
        self._size = size = grid_size(scores[:, 0])
        flat = self._cell + size * (groups + 2 * n_folds * np.arange(len(places))[:, None])
        count, shares = 2 * n_folds * size * len(places), omega * self._part
        counts = np.bincount(flat.ravel(), (omega - shares).ravel(), count)
        counts += np.bincount(flat.ravel() + 1, shares.ravel(), count)
        w = 2.0 * np.pi * _NODES_A_UNIT / size * np.arange(size // 2 + 1)
        w = w[w <= _BAND]
        # (c, 2, K, m)
        self._transforms = rfft(counts.reshape(len(places), 2, n_folds, size), axis=3)[..., : len(w)]
        self._transfer = np.sinc(w / (2.0 * np.pi * _NODES_A_UNIT)) ** 2
        self._mass = np.bincount(groups, omega, 2 * n_folds).reshape(2, n_folds)
        self._squares = np.bincount(groups, np.square(omega), 2 * n_folds).reshape(2, n_folds)
        exponents = np.minimum(0.5 * np.square(np.multiply.outer(_SIGMAS, w)), 700.0)
        filters = 1.0 / (1.0 + np.multiply.outer(selection.CURVE_LAMS, np.exp(exponents)))
        self._filters = filters.reshape(-1, len(w))  # (models, m)
        self._measure = np.where(w > 0, 2.0, 1.0) * _NODES_A_UNIT / size

    def votes(self, is_used: npt.NDArray[np.bool_], rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> Votes:
        """What f of some columns from the folds that are used (K,) says of rows, (c, k)."""
        mass = self._mass[:, is_used].sum(axis=1)
        if not mass.all():  # no row of a sample to learn from
            return Votes(*np.zeros((2, len(columns), len(rows))))
        sizes = np.square(mass) / self._squares[:, is_used].sum(axis=1)  # effective
        sums = self._transforms[columns][:, :, is_used].sum(axis=2)
        on_nodes = self._curves(sums / mass[:, None] / self._transfer, sizes)  # (2, c, nodes)
        lower = self._cell[columns[:, None], rows] + self._size * np.arange(len(columns))[:, None]  # (c, k)
        part = self._part[columns[:, None], rows]
        f, total = (curve.take(lower) * (1.0 - part) + curve.take(lower + 1) * part for curve in on_nodes)
        return _votes(f, total)

    def _curves(self, means: npt.NDArray[np.complex128], sizes: FloatArray) -> FloatArray:
        """f and the sum of both densities at the nodes, (2, c, nodes), from characteristic functions (c, 2, m)."""
        powers = np.square(np.abs(means))
        noises = (1.0 - powers) / np.maximum(sizes - 1.0, 1.0)[:, None]
        difference = means[:, 0] - means[:, 1]  # (c, m)
        noise = (noises.sum(axis=1) * self._measure).T  # (m, c)
        power = (np.square(np.abs(difference)) * self._measure).T
        both = ((powers - noises).sum(axis=1) * self._measure).T  # without the pairs of a row with itself
        scores, left = fourier.filter_scores(self._filters, power, noise)
        of_densities, _ = fourier.filter_scores(self._filters, both + noise, noise)
        scores += selection.share_of_densities(*sizes) * of_densities  # (models, c)
        weights = [selection.curve_weights(*column) for column in zip(scores.T, left.T, strict=True)]
        averaged = np.array(weights) @ self._filters * self._transfer  # (c, m)
        curves = np.zeros((2, len(means), self._size // 2 + 1), dtype=complex)
        curves[..., : averaged.shape[1]] = averaged * np.array([difference, means.sum(axis=1)])
        return np.asarray(irfft(curves, n=self._size, axis=2))


class LevelWitness:
    """f of a column of levels: differences of shares, as they are."""

    def __init__(
        self, codes: npt.NDArray[np.intp], omega: FloatArray, groups: npt.NDArray[np.intp], n_folds: int
    ) -> None:
        self._codes, levels = codes, int(codes.max()) + 1
        counts = np.bincount(groups * levels + codes, omega, 2 * n_folds * levels).reshape(2, n_folds, levels)
        self._counts = counts
        self._rows = np.bincount(groups, minlength=2 * n_folds).reshape(2, n_folds)

    def votes(
        self, is_used: npt.NDArray[np.bool_], rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp] | None = None
    ) -> Votes:
        """What f from the folds that are used (K,) says of rows, (k,): 0 for levels that no training row has."""
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
