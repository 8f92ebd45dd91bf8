"""Rows spread on the finest grid, for tests."""

import numpy as np

from densdiff.core import grid as grids


def finest_grid(d, spacing=0.2, groups=3, weighted=True):
    random = np.random.default_rng(d)
    rows = random.normal(size=(50, d))
    omega = random.random(50) + 0.1 if weighted else np.full(50, 0.02)
    labels = random.integers(0, groups, 50)
    axes = [
        grids.Axis(low[None], high[None], np.zeros(1), 5.0) for low, high in zip(rows.min(0), rows.max(0), strict=True)
    ]
    counts, outside = grids.spread(rows, omega, labels, groups, axes, spacing)
    assert outside == 0
    return rows, omega, labels, axes, grids.finest_grid(counts, spacing)
