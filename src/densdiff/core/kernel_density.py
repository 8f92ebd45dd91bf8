"""Densities for the eye: normal kernels of one bandwidth for samples that are looked at together.

With a bandwidth of its own each sample is blurred differently, and a mixture of classes does not match the very rows
that it describes.
"""

import numpy as np

from densdiff.core.scaling import FloatArray

_BLOCK = 1 << 21  # kernel values at a time
_QUARTILES = 1.349  # distance of the quartiles of a normal density


def common_bandwidth(samples: list[FloatArray]) -> float:
    """The geometric mean of the bandwidths that Silverman's rule gives to samples (n,) that vary; 0 if none does."""
    widths = []
    for values in samples:
        q25, q75 = np.quantile(values, [0.25, 0.75])
        spreads = [spread for spread in (float(values.std()), float(q75 - q25) / _QUARTILES) if spread > 0.0]
        if spreads:
            widths.append(0.9 * min(spreads) * len(values) ** -0.2)
    return float(np.exp(np.mean(np.log(widths)))) if widths else 0.0


def density_at(
    points: FloatArray, values: FloatArray, bandwidth: float, weights: FloatArray | None = None
) -> FloatArray:
    """The mean of normal densities around some values (n,) at points, (k,); weights (n,) have any sum."""
    total = np.zeros(len(points))
    weights = np.ones(len(values)) if weights is None else weights
    step = max(1, _BLOCK // max(1, len(points)))
    with np.errstate(under="ignore"):
        for start in range(0, len(values), step):
            away = (points[:, None] - values[start : start + step]) / bandwidth
            total += np.exp(-0.5 * away**2) @ weights[start : start + step]
    return np.asarray(total / (weights.sum() * bandwidth * np.sqrt(2.0 * np.pi)))
