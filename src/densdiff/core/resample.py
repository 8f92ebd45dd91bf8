"""Resampling under the null: rows in cells, and how many of each cell a random relabelling gives to X."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.fft import next_fast_len, rfftn

from densdiff.core.grid import Axis, places_of, reach
from densdiff.core.scaling import FloatArray
from densdiff.core.spectral import AT_ONCE, box

CountArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """Occupied cells of a grid, each row in the one whose middle is nearest: what a permutation by counts needs."""

    shape: tuple[int, ...]
    spacing: float
    occupied: npt.NDArray[np.intp]  # (c,) flat indices
    counts: CountArray  # (2, c) rows of X and of Y

    @property
    def pooled(self) -> CountArray:
        return np.asarray(self.counts.sum(axis=0))


def occupied_cells(samples: list[FloatArray], axes: list[Axis], spacing: float) -> Cells:
    """Both samples as counts; splines share a row among nodes, but a permutation moves whole rows."""
    shape = tuple(int(axis.length / spacing) + 2 for axis in axes)
    flat = []
    for rows in samples:
        nodes = np.rint(places_of(rows.T, axes) / spacing).astype(np.intp)
        kept = ((nodes >= 0) & (nodes < np.array(shape))).all(axis=1)
        flat.append(np.ravel_multi_index(tuple(nodes[kept].T), shape))
    occupied, index = np.unique(np.concatenate(flat), return_inverse=True)
    split = len(flat[0])
    counts = [np.bincount(part, minlength=len(occupied)) for part in (index[:split], index[split:])]
    return Cells(shape, spacing, occupied, np.array(counts))


def cell_statistics(cells: Cells, counts: CountArray, sigma: float, lam: float) -> FloatArray:
    """E12 for each row of counts of X, (k,): the observed ones or those of `permuted_counts`."""
    d = len(cells.shape)
    pad = int(reach(sigma, lam, d) / cells.spacing) + 1
    shape = [next_fast_len(n + pad, real=a == d - 1) for a, n in enumerate(cells.shape)]
    steps = [2 * np.pi / (n * cells.spacing) for n in shape]
    lines = [step * np.rint(np.fft.fftfreq(n) * n) for step, n in zip(steps[:-1], shape[:-1], strict=True)]
    lines.append(steps[-1] * np.arange(shape[-1] // 2 + 1))
    filters = 1.0 / (1.0 + lam * np.exp(np.minimum(0.5 * sigma**2 * box([w**2 for w in lines], np.add), 700.0)))
    twice = np.where((lines[-1] > 0) & (2 * np.arange(len(lines[-1])) != shape[-1]), 2.0, 1.0)
    weight = (2 * filters - filters**2) * box([np.ones(len(w)) for w in lines[:-1]] + [twice])
    weight /= np.prod([n * cells.spacing for n in shape])
    n, m = cells.counts.sum(axis=1)
    found = np.empty(len(counts))
    at_once = max(1, AT_ONCE // int(np.prod(shape)))
    for first in range(0, len(counts), at_once):
        part = counts[first : first + at_once]
        grid = np.zeros((len(part), int(np.prod(cells.shape))))
        grid[:, cells.occupied] = part / n - (cells.pooled - part) / m
        spectra = rfftn(grid.reshape(-1, *cells.shape), s=shape, axes=range(1, d + 1)).reshape(len(part), -1)
        found[first : first + at_once] = (spectra.real**2 + spectra.imag**2) @ weight
    return found


def permuted_counts(pooled: CountArray, n: int, permutations: int, random: np.random.Generator) -> CountArray:
    """Counts of X in each cell for random relabellings of the pooled rows, (permutations, cells).

    When each row stands in one cell, relabelling rows at random makes X's counts multivariate hypergeometric: the
    exact permutation distribution at a cost that depends on the occupied cells and not on the rows.
    """
    return random.multivariate_hypergeometric(pooled, n, size=permutations, method="marginals")
