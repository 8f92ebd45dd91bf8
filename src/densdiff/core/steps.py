"""Steps in the level of a short sequence: the partition into stretches of one level each that fits best.

Made for batches, of which there may be three or a thousand; series of single samples are cut in `series`.
"""

import numpy as np

from densdiff.core.scaling import FloatArray

# Of a squared step, in units of the noise of one value: twice the logarithm of the length, as for normal values, and
# a constant so that short sequences are not cut by chance.
_LOG_PENALTY, _LEAST_PENALTY = 2.0, 6.0
_FEW = 12
_MEDIAN_CHI_SQUARE = 0.4549364231195724  # with one degree of freedom


def level_steps(values: FloatArray, weights: FloatArray, least_noise: float) -> list[int]:
    """Where each stretch begins, the first at 0, for values (K,) of variance noise / weight; E22.

    The sum of squared deviations from the mean of each stretch and a price for each step is smallest. The noise is
    that of neighbours, by the median, so that steps do not count; at least ``least_noise``.
    """
    count = len(values)
    price = max(_noise(values, weights), least_noise) * (_LOG_PENALTY * np.log(count) + _LEAST_PENALTY)
    sums = [np.concatenate([[0.0], np.cumsum(terms)]) for terms in (weights, weights * values, weights * values**2)]
    best, previous = np.zeros(count + 1), np.zeros(count + 1, dtype=np.intp)
    best[0] = -price
    for end in range(1, count + 1):
        weight, total, squares = (own[end] - own[:end] for own in sums)
        costs = best[:end] + price + np.maximum(squares - total**2 / weight, 0.0)
        previous[end] = int(np.argmin(costs))
        best[end] = costs[previous[end]]
    starts, end = [], count
    while end > 0:
        end = int(previous[end])
        starts.append(end)
    return starts[::-1]


def _noise(values: FloatArray, weights: FloatArray) -> float:
    """Variance of a value of weight 1, from differences of neighbours; 0 if they are so few that steps rule them."""
    if len(values) < _FEW:
        return 0.0
    together = weights[1:] * weights[:-1] / (weights[1:] + weights[:-1])
    return float(np.median(together * np.diff(values) ** 2)) / _MEDIAN_CHI_SQUARE
