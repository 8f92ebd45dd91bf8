"""Pictures of a comparison as numbers: what a map of two columns holds."""

import numpy as np

from densdiff.comparing import pictures
from densdiff.data.tables import match_tables


def test_a_map_of_two_categories_holds_the_differences_of_their_shares():
    a = {"u": ["a"] * 6 + ["b"] * 4, "v": ["x", "y"] * 5}
    b = {"u": ["a"] * 2 + ["b"] * 6, "v": ["x"] * 4 + ["y"] * 4}
    both = match_tables(a, b, None, "error")
    found = pictures.map_of(both.pair(), 0)
    for i, u in enumerate(found.x):
        for j, v in enumerate(found.y):
            shares = [np.mean([pair == (u, v) for pair in zip(of["u"], of["v"], strict=True)]) for of in (a, b)]
            assert found.values[j, i] == shares[1] - shares[0]
    assert found.values.sum() == 0.0
