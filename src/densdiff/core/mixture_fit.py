"""Does a sample come from a mixture of classes at all? The distance at the best shares against its null.

Features of rows, whose products are kernels, are made in `balance`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc

from densdiff.core.scaling import FloatArray
from densdiff.core.simplex import quadratic_minima

DRAWS = 299
_ROUNDING = 1e-12


@dataclass(frozen=True)
class FeatureMeans:
    """One kernel's features: class means, the mean of the new rows, and what each row adds to the noise of either."""

    classes: FloatArray  # (K, r)
    new: FloatArray  # (r,)
    class_noise: FloatArray  # (n, r), weighted residuals of the labelled rows
    new_noise: FloatArray  # (m, r)

    @classmethod
    def of(cls, labelled: FloatArray, indicator: FloatArray, new: FloatArray) -> "FeatureMeans":
        """From features (n, r) and (m, r); the columns of ``indicator`` (n, K) sum to 1."""
        classes, mean = indicator.T @ labelled, new.mean(axis=0)
        omega = indicator.sum(axis=1)
        lost = 1.0 - np.square(indicator).sum(axis=0)  # means fit their own rows
        scale = omega / np.sqrt(lost[indicator.argmax(axis=1)])
        residuals = labelled - classes[indicator.argmax(axis=1)]
        count = np.sqrt(len(new) * max(1, len(new) - 1))
        return cls(classes, mean, residuals * scale[:, None], (new - mean) / count)

    @property
    def size(self) -> float:
        """The largest squared norm of a mean: distances far below are rounding."""
        return float(np.square(self.classes).sum(axis=1).max() + np.square(self.new).sum())

    def least_distances(self, targets: FloatArray) -> FloatArray:
        """Squared distances of means (N, r) to the nearest mixture of the class means, (N,)."""
        shares = quadratic_minima(self.classes @ self.classes.T, targets @ self.classes.T)
        return np.asarray(np.square(shares @ self.classes - targets).sum(axis=1))

    def noise(self, of_labelled: FloatArray, of_new: FloatArray) -> FloatArray:
        """Sums of the residuals with multipliers (draws, n) and (draws, m), (draws, r)."""
        return np.asarray(of_labelled @ self.class_noise - of_new @ self.new_noise)


def mixture_pvalue(
    kernels: list[FeatureMeans],
    weights: list[float],
    codes: npt.NDArray[np.intp],
    shares: FloatArray,
    random: np.random.Generator,
) -> float:
    """p-value of the hypothesis that the new rows are a mixture of the classes, whose shares are about ``shares``.

    The statistic is the smallest over kernels of the tail probability of the least distance over the kernel's weight:
    distances whose null is wide must not drown the others. The null comes from Gaussian multipliers of the residuals at
    the estimated shares, the nearest mixture being sought anew each time.
    """
    new_codes = np.zeros(len(kernels[0].new_noise), dtype=np.intp)
    of_labelled, of_new = _multipliers(codes, random) * shares[codes], _multipliers(new_codes, random)
    tails = []
    for means, weight in zip(kernels, weights, strict=True):
        drawn = means.least_distances(shares @ means.classes - means.noise(of_labelled, of_new))
        found = float(means.least_distances(means.new[None])[0])
        distances = np.append(drawn, 0.0 if found <= _ROUNDING * means.size else found)
        tails.append(_tail_probabilities(distances, drawn) / weight)
    *null, observed = np.min(tails, axis=0)
    exceeds = np.array(null) <= observed * (1.0 + 1e-9)
    return float((1 + exceeds.sum()) / (1 + DRAWS))


def _tail_probabilities(distances: FloatArray, drawn: FloatArray) -> FloatArray:
    """Of the gamma law with the mean and variance of the drawn distances: that of sums of squares, about."""
    mean, variance = float(drawn.mean()), float(drawn.var())
    if not variance > 0.0:
        return np.ones_like(distances)
    return np.asarray(gammaincc(mean**2 / variance, distances * mean / variance))


def _multipliers(codes: npt.NDArray[np.intp], random: np.random.Generator) -> FloatArray:
    """Gaussian multipliers of the rows of some samples, (draws, n), wider where few rows tell their variance."""
    freedom = np.maximum(np.bincount(codes) - 1, 1)
    scale = np.sqrt(freedom / random.chisquare(freedom, size=(DRAWS, len(freedom))))  # (draws, samples)
    return np.asarray(random.standard_normal((DRAWS, len(codes))) * scale[:, codes])
