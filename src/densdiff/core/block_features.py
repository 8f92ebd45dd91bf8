"""What a block of consecutive samples is like: level, spread, rhythm, shape and correlation as a row of numbers.

Blocks (n, B, d) have columns of about one deviation. Which blocks are compared is decided by those who ask.
"""

import numpy as np

from densdiff.core.scaling import FloatArray

_BANDS = 8  # of frequencies, evenly wide in their logarithm
_PAIRED = 5  # columns up to which each pair has its correlation
_FLOOR = 1e-3  # of the usual variance of a block: what is quieter counts as quiet
_POWER_FLOOR = 2e-3  # of the power of a block
_TINY = 1e-12
_CLEAR = 0.98  # correlations beyond it are cut, or their transform would run away


def describe_blocks(blocks: FloatArray, variance: FloatArray) -> FloatArray:
    """Mean, log deviation, log shares of power in bands, shape and correlations of each block, (n, p).

    ``variance`` (d,) is the usual one within a block. Logarithms make blocks of quiet and of loud stretches vary alike.
    """
    length = blocks.shape[1]
    means = blocks.mean(axis=1)  # (n, d)
    residuals = blocks - means[:, None]
    floor = _FLOOR * np.maximum(variance, _TINY)
    variances = np.square(residuals).mean(axis=1) + floor
    standardized = residuals / np.sqrt(variances)[:, None]
    features = [means, 0.5 * np.log(variances)]
    features += _band_shares(residuals, floor * length**2)
    features += [np.tanh(standardized).mean(axis=1), np.abs(standardized).mean(axis=1)]
    if blocks.shape[2] > 1:
        features.append(_correlations(standardized))
    return np.hstack(features)


def _band_shares(residuals: FloatArray, floor: FloatArray) -> list[FloatArray]:
    """Log power of each band less the mean over bands, (n, d) each; none if a block is too short for two bands."""
    length = residuals.shape[1]
    spectrum = np.square(np.abs(np.fft.rfft(residuals * np.hanning(length)[:, None], axis=1)))
    edges = np.unique(np.rint(np.geomspace(1, spectrum.shape[1], _BANDS + 1)).astype(np.intp))
    if len(edges) < 3:
        return []
    least = _POWER_FLOOR * spectrum[:, 1:].sum(axis=1) + _FLOOR * floor
    power = np.log(np.add.reduceat(spectrum, edges[:-1], axis=1) + least[:, None])  # (n, bands, d)
    power -= power.mean(axis=1, keepdims=True)
    return [power[:, k] for k in range(power.shape[1])]


def _correlations(standardized: FloatArray) -> FloatArray:
    """Transformed correlations of all pairs of a few columns, or of each of many with the mean of the others."""
    d = standardized.shape[2]
    if d <= _PAIRED:
        first, second = np.triu_indices(d, 1)
        products = (standardized[:, :, first] * standardized[:, :, second]).mean(axis=1)
    else:
        others = (standardized.sum(axis=2, keepdims=True) - standardized) / (d - 1)
        deviation = np.sqrt(np.square(others).mean(axis=1) + _TINY)
        products = (standardized * others).mean(axis=1) / deviation
    return np.asarray(np.arctanh(np.clip(products, -_CLEAR, _CLEAR)))
