"""A p-value for data that are looked at again and again.

It is made of the p-values of the single looks, whichever test they come from; the tests themselves live elsewhere.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from densdiff.data import parameters

FloatArray = npt.NDArray[np.float64]

_HALF_LIFE = 30.0  # looks in which half of the error is spent; so many nights make a month


def anytime_pvalues(pvalues: Any, *, independent: bool = False) -> FloatArray:
    """The p-value after each of many looks, valid however often one looks and whenever one stops.

    If nothing ever changes, the probability that it falls to alpha or below at any look is at most alpha. Pass the
    p-values of all looks so far; the last entry is today's.

    Parameters
    ----------
    pvalues : sequence of k numbers in (0, 1]
        The p-values of the looks, in the order in which they were taken; leave none out because of its value.
    independent : bool
        Whether the p-values are independent of each other if nothing changes. They are if every look has rows of its
        own in both samples, or if each new batch is tested against all rows before it, the reference and the earlier
        batches pooled, each test with a random_state of its own. They are not if a reference is used again, or if
        each look tests all rows so far.

    Returns
    -------
    array of shape (k,)
        Non-increasing, in (0, 1].

    Notes
    -----
    With ``independent=False``, look k may use the share 30 / ((k + 29) (k + 30)) of the error, and its p-value is
    divided by that: half is spent in the first 30 looks, 92 % in the first 365. A permutation p-value is at least
    1 / (n_permutations + 1), so look k can fall to alpha only with (k + 29) (k + 30) / (30 alpha) - 1 permutations:
    for alpha = 0.05 these are 619 at the first look, 2359 at the 30th, 11,179 at the 100th and 103,753 at the 365th.

    With ``independent=True``, each p-value is turned into the bet 1 / (2 sqrt(p)), and gains are multiplied. Small
    p-values of several looks add up, so 99 permutations are enough at any look. Half of the stake is bet from the first
    look on, the rest is brought in look by look, so that a long time without change does not use up the stake.

    Examples
    --------
    >>> import densdiff as dd
    >>> dd.anytime_pvalues([0.4, 0.7, 0.0001, 0.2]).round(4)
    array([1.    , 1.    , 0.0035, 0.0035])
    >>> dd.anytime_pvalues([0.4, 0.01, 0.02, 0.01], independent=True).round(4)
    array([1.    , 0.3936, 0.1283, 0.0269])
    """
    checked = parameters.pvalues(pvalues, "pvalues")
    if parameters.flag(independent, "independent"):
        return _by_betting(checked)
    return _by_spending(checked)


def _by_spending(pvalues: FloatArray) -> FloatArray:
    """E19: the smallest p-value so far, each divided by the share of the error that its look may use; (k,)."""
    return np.minimum(np.minimum.accumulate(pvalues / _shares(len(pvalues))), 1.0)


def _by_betting(pvalues: FloatArray) -> FloatArray:
    """E20: one over the largest wealth so far; (k,)."""
    highest = np.maximum.accumulate(np.maximum(_log_wealth(pvalues), 0.0))
    return np.maximum(np.exp(-highest), np.finfo(np.float64).tiny)  # evidence beyond the range of float64 is not p = 0


def _log_wealth(pvalues: FloatArray) -> FloatArray:
    """Logarithm of the wealth after each look, (k,), if what enters at a look is bet on it and on all later ones."""
    entering = 0.5 * np.append(1.0, _shares(len(pvalues) - 1))
    log_gains = -np.log(2.0) - 0.5 * np.log(pvalues)
    log_product = np.cumsum(log_gains)
    # sum over s <= t of entering_s times the product of the gains from s to t; products may leave the range of float64
    at_stake = log_product + np.logaddexp.accumulate(np.log(entering) - (log_product - log_gains))
    waiting = 0.5 * _HALF_LIFE / (_HALF_LIFE + np.arange(len(pvalues)))
    log_wealth: FloatArray = np.logaddexp(at_stake, np.log(waiting))
    return log_wealth


def error_share(look: int) -> float:
    """What one look, counted from 1, may use of the error; E19."""
    return float(_shares(look)[-1])


def _shares(count: int) -> FloatArray:
    """What each of the first looks may use of the error, (count,); the first k use k / (k + 30) together."""
    looks = np.arange(1, count + 1)
    return _HALF_LIFE / ((looks + _HALF_LIFE - 1.0) * (looks + _HALF_LIFE))
