"""A rule restates a column if rows that are alike in it are in the rule equally often in both samples."""

import numpy as np
import pytest

from densdiff.core.restating import Parts, _left_within
from densdiff.core.rules import Condition

N = 6000


@pytest.fixture
def tables():
    """The first column moved; the second follows it; the third is independent and stays."""
    random = np.random.default_rng(0)
    in_b = np.arange(2 * N) >= N
    x = random.normal(size=2 * N) + 0.6 * in_b
    return np.column_stack([x, x + 0.2 * random.normal(size=2 * N), random.normal(size=2 * N)]), in_b


NUMBERS = np.zeros(3, dtype=int)


def test_a_rule_of_one_condition_restates_its_own_column_alone(tables):
    rows, in_b = tables
    rule = (Condition(0, low=1.0),)
    assert Parts([0], rows, NUMBERS).restated_by(rule, rows, in_b) == 0
    assert Parts([], rows, NUMBERS).restated_by(rule, rows, in_b) is None
    assert Parts([2], rows, NUMBERS).restated_by(rule, rows, in_b) is None


def test_what_follows_from_a_column_restates_it(tables):
    rows, in_b = tables
    assert Parts([2, 0], rows, NUMBERS).restated_by((Condition(1, low=1.0), Condition(2, low=0.0)), rows, in_b) == 0


def test_what_does_not_follow_from_a_column_is_news(tables):
    rows, in_b = tables
    rows = rows.copy()
    rows[in_b & (rows[:, 0] > 0.5), 2] += 1.0
    assert Parts([0], rows, NUMBERS).restated_by((Condition(0, low=0.5), Condition(2, low=1.0)), rows, in_b) is None


def test_categories_are_compared_level_by_level():
    random = np.random.default_rng(1)
    in_b = np.arange(2 * N) >= N
    level = np.where(random.random(2 * N) < 0.3 + 0.3 * in_b, 1.0, random.integers(2, 500, size=2 * N))
    y = random.normal(size=2 * N) + 2.0 * (level == 1)
    rows = np.column_stack([level, y])
    assert (
        Parts([0], rows, [500, 0]).restated_by((Condition(1, low=1.5), Condition(0, levels=(1, 2, 3))), rows, in_b) == 0
    )


def test_a_column_that_tells_the_samples_apart_accounts_for_nothing(tables):
    rows, in_b = tables
    rows = np.column_stack([rows, in_b])
    rule = (Condition(0, low=1.0), Condition(2, low=0.0))
    assert Parts([3], rows, np.zeros(4, dtype=int)).restated_by(rule, rows, in_b) is None


def test_the_difference_within_parts_by_hand():
    """Two parts: 1 of 2 and 3 of 4 rows in the rule of A, 2 of 2 and 1 of 2 of B."""
    parts = np.repeat([0, 1, 0, 1], [2, 4, 2, 2])
    in_b = np.arange(10) >= 6
    held = np.array([1, 0, 1, 1, 1, 0, 1, 1, 1, 0], dtype=bool)
    weights = np.array([2 * 2 / 4, 4 * 2 / 6])
    within = weights @ [1.0 - 0.5, 0.5 - 0.75] / weights.sum()
    assert _left_within(held, in_b, parts) == pytest.approx(within / (3 / 4 - 4 / 6))
    assert _left_within(np.ones(10, dtype=bool), in_b, parts) is None  # no difference
