"""Samples that are not in memory, for tests: blocks that count how often they are read, and drawn cuts into blocks."""

from itertools import pairwise

import numpy as np
import pandas as pd
from hypothesis import strategies as st


class Blocks:
    """Consecutive pieces of a table, anew each time; ``passes`` counts complete readings."""

    def __init__(self, table, cuts):
        self.table, self.cuts, self.passes = table, cuts, 0

    def __iter__(self):
        edges = [0, *sorted(self.cuts), len(self.table)]
        for start, stop in pairwise(edges):
            yield self.table[start:stop]
        self.passes += 1


def cuts(n):
    """Where to cut n rows; equal places make empty blocks."""
    return st.lists(st.integers(0, n), max_size=6)


def tables(n=700, m=500, seed=0):
    """Two data frames of numbers, text, categories and booleans."""
    random = np.random.default_rng([seed, n, m])

    def one(rows, by):
        return pd.DataFrame(
            {
                "size": random.normal(size=rows) + by,
                "age": np.round(random.gamma(3.0, size=rows), 3),
                "city": random.choice(["Bonn", "Kiel", "Ulm"], rows, p=[0.5, 0.3 + by / 4, 0.2 - by / 4]),
                "grade": pd.Categorical(random.choice(["1", "2", "3"], rows)),
                "paid": random.random(rows) < 0.5 + by / 4,
            }
        )

    return one(n, 0.0), one(m, 0.4)
