"""How far apart are two samples? The squared L2 distance, asked in one call.

The estimators that answer are in `estimators`.
"""

from typing import Any

from densdiff.data import parameters
from densdiff.estimators.difference import DensityDifference
from densdiff.estimators.results import DistanceResult


def l2_distance(X: Any, Y: Any, *, model: Any = None, level: float = 0.95, random_state: Any = None) -> DistanceResult:
    """The squared L2 distance between the densities that two samples come from.

    Parameters
    ----------
    X, Y : array or data frame of shape (n, d) and (m, d), path, Dask collection or iterable of blocks
    model : LSDD or KDEDifference, optional
        An unfitted estimator; it is cloned, and its own ``random_state`` wins if set.
    level : float
        Nominal coverage of the interval.
    random_state : None, int, Generator or RandomState

    Returns
    -------
    DistanceResult

    Examples
    --------
    >>> import densdiff as dd
    >>> pair = dd.datasets.gaussian_shift(mu=0.5, n=200, random_state=0)
    >>> result = dd.l2_distance(pair.x, pair.y, random_state=0)
    >>> abs(result.squared - pair.l2) < 0.3
    True
    """
    parameters.fraction(level, "level")
    if model is None:
        return DensityDifference(random_state=random_state).fit(X, Y).l2_distance(level)
    from sklearn.base import clone

    fitted = clone(parameters.estimator(model, "l2_distance"))
    if fitted.random_state is None:
        fitted.random_state = random_state
    result: DistanceResult = fitted.fit(X, Y).l2_distance(level)
    return result
