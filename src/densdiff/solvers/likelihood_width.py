"""The width of a kernel density estimate, chosen by the likelihood of rows that it has not seen."""

import numpy as np

from densdiff.core import kernel, selection
from densdiff.core.scaling import FloatArray
from densdiff.engines.kernel_sums import CenterFeatures, group_sums
from densdiff.solvers.prepared import WeightedSample

LEAST_DENSITY = 1e-300  # of one kernel's peak: a row far from all others must not forbid a width


def log_peak(sigma: float, d: int) -> float:
    """Logarithm of (2 pi sigma^2)^(d/2), the Gaussian's normalization."""
    return 0.5 * d * float(np.log(2.0 * np.pi) + 2.0 * np.log(sigma))


def needs_direct(rows: FloatArray, points: FloatArray, sigma: float) -> bool:
    """Whether distances of these rows and points must be taken from their differences, in units of such a width."""
    return kernel.needs_direct_differences(kernel.radius(rows, points), sigma, rows.shape[1])


def likelihood_width(
    sample: WeightedSample, groups: selection.IntArray, members: FloatArray, sigmas: FloatArray
) -> float:
    """The width with the highest hold-out log-likelihood over all folds, the wider between equals."""
    if len(sigmas) == 1:
        return float(sigmas[0])
    rows, omega = sample.rows[:], sample.omega
    direct = needs_direct(rows, rows, float(sigmas[-1]))
    mass = np.bincount(groups, weights=omega)
    sums = group_sums(rows, omega, groups, CenterFeatures(rows, sigmas, direct))  # (S, groups, n)
    scores = np.zeros(len(sigmas))
    for fold in members:
        held = fold[groups] > 0  # (n,)
        density = np.tensordot(1.0 - fold, sums[:, :, held], axes=(0, 1)) / ((1.0 - fold) @ mass)  # (S, held)
        logs = np.log(np.maximum(density, LEAST_DENSITY))
        scores += logs @ omega[held] - omega[held].sum() * np.array([log_peak(s, rows.shape[1]) for s in sigmas])
    return float(sigmas[np.argmax(scores)])


def cross_validated_width(sample: WeightedSample, seed: int, folds: int, sigmas: FloatArray) -> float:
    """The width by `likelihood_width` with folds assigned by the rows' positions, no more of them than rows."""
    folds = min(folds, len(sample.rows))
    return likelihood_width(sample, selection.assign_groups(seed, len(sample.rows), folds).all(), np.eye(folds), sigmas)
