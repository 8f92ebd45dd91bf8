"""Labelled rows for tests, and a fitted class balance."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import densdiff as dd

NAMES = ["height", "weight"]
FRAMES = {
    "pandas": lambda rows: pd.DataFrame(rows, columns=NAMES),
    "polars": lambda rows: pl.DataFrame(rows, schema=NAMES),
    "pyarrow": lambda rows: pa.table({name: rows[:, j] for j, name in enumerate(NAMES)}),
}


def classes(seed=0, shares=(0.2, 0.8), n=20, m=50, d=2, apart=2.0):
    """Labelled rows on a lattice, their classes 0, 1, .., and new rows with exactly these shares, about."""
    random = np.random.default_rng([seed, n, m, d, len(shares)])
    y = np.repeat(np.arange(len(shares)), n)
    counts = np.round(np.array(shares) * m).astype(int)
    centers = apart * np.linalg.qr(random.normal(size=(d + len(shares), d)))[0][: len(shares)] * np.sqrt(d)
    centers[:, 0] = apart * np.arange(len(shares))
    rows = [
        random.normal(size=(len(codes), d)) + centers[codes] for codes in (y, np.repeat(np.arange(len(shares)), counts))
    ]
    X, new = (np.round(part * 2.0**20) / 2.0**20 for part in rows)
    return X, y, new


def fitted(X, y, weights=None, **parameters):
    return dd.ClassBalance(**{"random_state": 0} | parameters).fit(X, y, weights)
