"""Statistics of many columns by plain loops: some pairs are looked at, and all are summed up."""

from itertools import combinations

import numpy as np

from densdiff.testing import low_order
from densdiff.testing.low_order import LowOrderStatistics

SINGLE_PRECISION = 1e-5  # of features, products and sums over a hundred rows
NO_LEVELS = np.empty(0, dtype=np.intp)


def numbers(seed=0, n=70, d=5):
    random = np.random.default_rng([seed, n, d])
    rows = random.normal(size=(n, d))
    rows[:, 1] += rows[:, 0]
    rows[:, 2] = np.round(rows[:, 2])
    return rows, random.random((6, n)) < 0.4


def plain_length(features, is_x):
    return float(np.square(features[is_x].mean(axis=0) - features[~is_x].mean(axis=0)).sum())


def plain_table(features, pairs, labels):
    """Lengths of columns and of some pairs, and the sum over all pairs, by loops."""
    every = list(combinations(range(len(features)), 2))
    table = []
    for is_x in labels:
        of_pairs = {(i, j): plain_length(features[i][:, :1] * features[j][:, :1], is_x) for i, j in every}
        columns = [plain_length(column, is_x) for column in features]
        table.append(columns + [of_pairs[pair] for pair in pairs] + [sum(of_pairs.values())])
    return np.array(table)


def test_of_many_columns_the_sum_over_all_pairs_needs_no_pairs(monkeypatch):
    monkeypatch.setattr(low_order, "_WIDE", 3)
    monkeypatch.setattr(low_order, "_MOST_PAIRS", 4)
    monkeypatch.setattr(low_order, "_TILE", 32)
    rows, labels = numbers(d=8)
    statistics = LowOrderStatistics(rows, NO_LEVELS, 0)
    assert len(statistics.pairs) == 4
    expected = plain_table(statistics.features, statistics.pairs, labels[:, statistics.chosen])
    table = statistics.table(labels)
    np.testing.assert_allclose(table, expected, rtol=SINGLE_PRECISION)
    np.testing.assert_array_equal(statistics.combined(table)[:, 2], table[:, -1])


def test_of_many_columns_the_most_dependent_pairs_are_looked_at(monkeypatch):
    monkeypatch.setattr(low_order, "_WIDE", 3)
    monkeypatch.setattr(low_order, "_MOST_PAIRS", 3)
    rows, _ = numbers(n=300, d=12)
    rows[:150, 9] = rows[:150, 4]  # in one sample, if the first half is one
    assert {(0, 1), (4, 9)} < set(LowOrderStatistics(rows, NO_LEVELS, 0).pairs)
