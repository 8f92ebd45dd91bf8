"""Logistic regression with a ridge, cross-fitted: the log ratio of two densities at rows that did not shape it."""

import numpy as np

from densdiff.core.contrasts import IntArray
from densdiff.core.scaling import FloatArray

_STEPS = 6  # of Newton's method
_FLATTEST = 1e-4  # curvature of a row, so that rows far from the border do not make it singular
_STEEPEST = 30.0


def fit_log_ratio(features: FloatArray, is_after: FloatArray, ridge: float) -> FloatArray:
    """Intercept and slopes (p + 1,) of log q / p, q the density of rows with ``is_after`` 1 and p that of the others.

    Both count for half, however many rows they have; ``ridge`` is for slopes of features of one deviation.
    """
    design = np.hstack([np.ones((len(features), 1)), features])
    share = float(is_after.mean())
    weights = np.where(is_after > 0, 0.5 / max(share, 1e-12), 0.5 / max(1.0 - share, 1e-12))
    penalty = np.full(design.shape[1], ridge)
    penalty[0] = _FLATTEST
    slopes = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(design @ slopes, -_STEEPEST, _STEEPEST)))
        curvature = np.maximum(chance * (1.0 - chance), _FLATTEST) * weights
        hessian = (design * curvature[:, None]).T @ design + np.diag(penalty)
        slopes = slopes + np.linalg.solve(hessian, design.T @ (weights * (is_after - chance)) - penalty * slopes)
    return np.asarray(slopes)


def cross_fitted_log_ratio(
    features: FloatArray, is_after: FloatArray, folds: IntArray, step: int, ridge: float
) -> FloatArray:
    """log q / p at each row from the rows of the other folds, (n,); every ``step``-th of them is enough."""
    ratios = np.empty(len(features))
    thinned = np.arange(len(features)) % step == 0
    for fold in range(int(folds.max()) + 1):
        held = folds == fold
        train = ~held & thinned
        slopes = fit_log_ratio(features[train], is_after[train], ridge)
        ratios[held] = slopes[0] + features[held] @ slopes[1:]
    return ratios
