"""The data of the picture of a mixture: densities of the classes in the column that tells them apart best.

The picture itself is drawn in `plots` and `report`.
"""

import numpy as np

from densdiff.core.kernel_density import common_bandwidth, density_at
from densdiff.core.scaling import FloatArray
from densdiff.results import Mixture

_POINTS = 121
_KDE_ROWS = 5000
_FLAT = 1e-9  # of the largest value: a class that varies less has no density to draw
_TAIL, _PAD = 0.002, 0.06  # left out at each end of a range, and added to it


def mixture_picture(
    samples: list[FloatArray],
    weights: list[FloatArray],
    new: FloatArray,
    priors: FloatArray,
    names: tuple[str, ...],
) -> Mixture | None:
    """Densities in the column that tells classes apart best, from rows (n, d) of each; None if one is constant.

    All have one bandwidth, and rows weigh as they do in the shares: where these are right, the classes add up to the
    density of the new rows.
    """
    unit = np.max([np.abs(rows).max(axis=0) for rows in (*samples, new)], axis=0)
    unit = np.where(unit > 0, unit, 1.0)  # squares of 1e200 are no doubles
    samples, new = [rows / unit for rows in samples], new / unit
    means = np.array([rows.mean(axis=0) for rows in samples])
    within = np.mean([rows.var(axis=0) for rows in samples], axis=0)
    between = means.var(axis=0)
    j = int(np.argmax(np.divide(between, within, out=np.zeros_like(between), where=within > 0)))
    columns = [rows[:: -(-len(rows) // _KDE_ROWS), j] for rows in (*samples, new)]
    weights = [each[:: -(-len(each) // _KDE_ROWS)] for each in (*weights, np.ones(len(new)))]
    if min(map(np.ptp, columns)) < _FLAT:
        return None
    low, high = np.quantile(np.concatenate(columns), [_TAIL, 1.0 - _TAIL])
    points = np.linspace(low - _PAD * (high - low), high + _PAD * (high - low), _POINTS)
    bandwidth = common_bandwidth(columns[:-1])  # of the classes: the new rows are a mixture of them
    with np.errstate(over="ignore"):
        drawn = [
            density_at(points, column, bandwidth, each) / unit[j] for column, each in zip(columns, weights, strict=True)
        ]
        densities = np.array(drawn)
    if not np.isfinite(densities).all():
        return None
    return Mixture(names[j], points * unit[j], densities[:-1] * priors[:, None], densities[-1])
