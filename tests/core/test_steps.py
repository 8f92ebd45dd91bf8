"""Steps in the level of a short sequence."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core.steps import _LEAST_PENALTY, _LOG_PENALTY, level_steps


def cost(values, weights, starts, price):
    """The sum of squares within the stretches, and the price of their steps."""
    total = price * (len(starts) - 1)
    for start, end in zip(starts, [*starts[1:], len(values)], strict=True):
        own, weight = values[start:end], weights[start:end]
        total += np.sum(weight * (own - np.average(own, weights=weight)) ** 2)
    return total


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(0.5, 5)), min_size=1, max_size=8))
def test_no_other_partition_is_better(entries):
    values, weights = np.array(entries).T
    noise = 50.0  # above what neighbours can show, so that the price is known
    starts = level_steps(values, weights, noise)
    price = noise * (_LOG_PENALTY * np.log(len(values)) + _LEAST_PENALTY)
    others = [[0, *steps] for k in range(len(values)) for steps in combinations(range(1, len(values)), k)]
    best = min(cost(values, weights, other, price) for other in others)
    assert cost(values, weights, starts, price) <= best + 1e-9 * (1 + best)


@pytest.mark.parametrize("count", [2, 5, 20, 365])
def test_a_large_step_is_found_where_it_is(count):
    place = max(1, 2 * count // 3)
    random = np.random.default_rng(count)
    values = random.normal(size=count) + 8.0 * (np.arange(count) >= place)
    assert level_steps(values, np.ones(count), 1.0) == [0, place]


def test_noise_alone_is_rarely_cut():
    random = np.random.default_rng(0)
    cut = [len(level_steps(random.normal(size=60), np.ones(60), 0.25)) > 1 for _ in range(200)]
    assert np.mean(cut) <= 0.05


def test_a_heavy_value_counts_as_many_light_ones():
    values = np.array([0.0, 0.0, 0.0, 3.0])
    assert level_steps(values, np.array([1.0, 1.0, 1.0, 0.1]), 1.0) == [0]
    assert level_steps(values, np.array([9.0, 9.0, 9.0, 9.0]), 1.0) == [0, 3]
