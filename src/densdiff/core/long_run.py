"""The long-run variance of dependent samples: what n times the variance of their mean tends to."""

import numpy as np

from densdiff.core.scaling import FloatArray

_SLOWEST = 0.97  # correlation from sample to sample that is reckoned with
_LAGS = 1.3  # times the cube root of n: correlations that an autoregression leaves are summed so far
_LEAST = 0.3  # of the variance of what is left
_TINY = 1e-300


def long_run_variances(columns: FloatArray) -> FloatArray:
    """Of each column (n, p) in the order of time, never less than its variance, (p,).

    An autoregression of order 1 takes most of the dependence; Bartlett's sum over the correlations of what is left
    takes the rest. Its correlation is raised by what the mean, which is estimated, takes away.
    """
    n = len(columns)
    residuals = columns - columns.mean(axis=0)
    squares = np.square(residuals).sum(axis=0)
    variances = squares / max(n - 1, 1)
    correlation = (residuals[1:] * residuals[:-1]).sum(axis=0) / np.maximum(squares, _TINY)
    correlation = np.clip(correlation + (1.0 + 3.0 * correlation) / n, 0.0, _SLOWEST)
    left = residuals[1:] - correlation * residuals[:-1]
    own = np.square(left).sum(axis=0)
    total = own.copy()
    n_lags = int(np.ceil(_LAGS * n ** (1 / 3)))
    for k in range(1, min(n_lags, len(left) - 1) + 1):
        total += 2.0 * (1.0 - k / (n_lags + 1)) * np.einsum("tp,tp->p", left[k:], left[:-k])
    ratio = np.maximum(total / np.maximum(own, _TINY), _LEAST)
    return np.asarray(variances * np.maximum(1.0, ratio * (1.0 + correlation) / (1.0 - correlation)))
