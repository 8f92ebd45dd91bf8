"""Regularized logistic regressions on the same rows with several sets of weights, fitted together.

The folds of a cross-validation and the fit to all rows are such sets: one search for all of them costs little more
than one for a single fit, which with few rows is nearly all overhead.
"""

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from densdiff.core.scaling import FloatArray

_TOLERANCE = 1e-3  # of the largest slope; scores are calibrated and cut off, digits beyond are for nothing
_STEPS = 500
_ENTRIES = 1 << 18  # scores held at a time: more than fit a cache are not faster together


def logistic_fits(
    rows: FloatArray, codes: npt.NDArray[np.intp], weights: FloatArray, tolerance: float = _TOLERANCE
) -> FloatArray:
    """Slopes and, last, intercepts of the regression for each set of weights (B, n), (B, K, d + 1).

    Each minimizes sum_i w_i (-log p(y_i | x_i)) + |slopes|^2 / 2 over weights that are scaled to sum to the number of
    rows with a positive one; of two classes the slopes are counted twice, so that their difference is penalized as if
    the first class had none.
    """
    n, classes = len(rows), int(codes.max()) + 1
    together = max(1, _ENTRIES // (n * classes))
    found = [
        _fit_together(rows, codes, weights[start : start + together], classes, tolerance)
        for start in range(0, len(weights), together)
    ]
    return np.concatenate(found)


def _fit_together(
    rows: FloatArray, codes: npt.NDArray[np.intp], weights: FloatArray, classes: int, tolerance: float
) -> FloatArray:
    used = weights.any(axis=0)
    if not used.all():
        rows, codes, weights = rows[used], codes[used], weights[:, used]
    sets, (n, d) = len(weights), rows.shape
    penalty = (2.0 if classes == 2 else 1.0) / np.count_nonzero(weights, axis=1)[:, None, None]  # (B, 1, 1)
    weights = weights / weights.sum(axis=1, keepdims=True)
    own = codes, np.arange(n)

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        at = flat.reshape(sets, classes, d + 1)
        slopes = at[:, :, :-1]
        scores = (slopes.reshape(-1, d) @ rows.T).reshape(sets, classes, n)
        scores += at[:, :, -1:]
        scores -= scores.max(axis=1, keepdims=True)
        of_own = scores[:, *own]  # (B, n)
        np.exp(scores, out=scores)
        sums = scores.sum(axis=1)
        loss = (weights * (np.log(sums) - of_own)).sum() + 0.5 * (penalty * np.square(slopes)).sum()
        scores *= (weights / sums)[:, None]
        scores[:, *own] -= weights
        gradient = np.empty_like(at)
        gradient[:, :, :-1] = (scores.reshape(-1, n) @ rows).reshape(sets, classes, d) + penalty * slopes
        gradient[:, :, -1] = scores.sum(axis=2)
        return float(loss), gradient.ravel()

    options = {"gtol": tolerance, "ftol": 64 * np.finfo(np.float64).eps, "maxiter": _STEPS}
    found = minimize(objective, np.zeros(sets * classes * (d + 1)), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x.reshape(sets, classes, d + 1))
