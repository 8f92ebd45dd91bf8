"""The limit of a quadratic statistic's null for large samples, see "The limit" in docs/math."""

from dataclasses import dataclass

import numpy as np

from densdiff.core import resample
from densdiff.core.scaling import FloatArray

LIMIT_ROWS = 1000  # rows that tell the eigenvalues of the limit


@dataclass(frozen=True)
class Limit:
    """The limit of one model's null, from the centered kernel between some rows.

    Relabelling leaves the terms i = j almost as they are, so they count with their mean, and only pairs of different
    rows vary. With few rows near each other the terms i = j are most of the kernel's trace, and chi-squares that let
    them vary spread too far.
    """

    root: FloatArray  # (s, r): root root' is the centered kernel
    factor: float  # 1/n + 1/m

    @property
    def _unit(self) -> float:
        return self.factor / (len(self.root) - 1)

    @property
    def _diagonal(self) -> FloatArray:
        return np.asarray(np.square(self.root).sum(axis=1))

    @property
    def mean(self) -> float:
        return self._unit * float(self._diagonal.sum())

    def draws(self, multipliers: FloatArray) -> FloatArray:
        """Draws from the limit, (k,), from normal factors of the rows, (s, k)."""
        varying = np.square(self.root.T @ multipliers).sum(axis=0) - self._diagonal @ np.square(multipliers)
        return np.asarray(self.mean + self._unit * varying)

    def tail(self, value: float) -> float:
        """Probability of a statistic at least as large; certain for 0, though the limit may fall a little below."""
        if value <= 0:
            return 1.0
        pairs = self.root @ self.root.T
        np.fill_diagonal(pairs, 0.0)
        return resample.mixture_tail(
            value - self.mean, np.asarray(self._unit * np.linalg.eigvalsh(pairs), dtype=np.float64)
        )


def centered_root(kernel: FloatArray) -> FloatArray:
    """A root of the doubly centered kernel, (s, r)."""
    centered = kernel - kernel.mean(axis=0)
    centered -= centered.mean(axis=1)[:, None]
    values, vectors = np.linalg.eigh(centered)
    kept = values > 1e-10 * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))
