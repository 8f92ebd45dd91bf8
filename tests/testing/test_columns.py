"""Columns one by one: counts, statistics, adjusted p-values and distances against their plain loops."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import resample
from densdiff.data.tables import match_tables
from densdiff.solvers.column import ColumnDistance, LevelColumn, NumberColumn, level_counts
from densdiff.sources.array_sample import ArraySample
from densdiff.testing import columns as column_tests

LETTERS = st.lists(st.sampled_from("abcd"), min_size=2, max_size=12)


def one(x, y):
    """A single column of two tables."""
    return match_tables({"c": x}, {"c": y}).column(0)


def level_cells(x, y, adjustment=column_tests.WESTFALL_YOUNG):
    return column_tests.level_cells(LevelColumn(one(x, y)), adjustment)


def number_cells(x, y, adjustment=column_tests.WESTFALL_YOUNG):
    return column_tests.number_cells(NumberColumn(one(x, y), 0), adjustment)


def pvalues(cells, sizes, adjustment, permutations):
    return column_tests.column_pvalues(cells, sizes, adjustment, permutations=permutations, alpha=0.05, seed=0)


def letters(seed, n, m, p=(0.5, 0.3, 0.2), q=(0.2, 0.3, 0.5)):
    random = np.random.default_rng(seed)
    return random.choice(list("abc"), n, p=p), random.choice(list("abc"), m, p=q)


def numbers(seed, n, m, shift=0.5):
    random = np.random.default_rng(seed)
    return random.normal(size=n), random.normal(size=m) + shift


def textbook_step_down(scores):
    """Westfall and Young's free step-down: successive maxima from the least significant on; the data are row 0."""
    draws, d = scores.shape
    order = sorted(range(d), key=lambda j: -scores[0][j])
    exceeding = [1] * d
    for b in range(1, draws):
        highest = -np.inf
        for place in reversed(range(d)):
            highest = max(highest, scores[b][order[place]])
            exceeding[place] += highest >= scores[0][order[place]]
    found, least = [0.0] * d, 0.0
    for place in range(d):
        least = max(least, exceeding[place] / draws)
        found[order[place]] = least
    return found


def standardized_roots(values):
    roots = np.sign(values) * np.abs(values) ** (1 / 3)
    return (roots - roots.mean(axis=0)) / roots.std(axis=0)


@given(LETTERS, LETTERS)
def test_levels_are_counted_as_by_a_loop(x, y):
    pair = one(np.array([*x, "d"], dtype=object), np.array([*y, "a"], dtype=object))
    levels = pair.levels[0] if pair.levels else ()
    expected = [[Counter(part)[level] for level in levels] for part in ([*x, "d"], [*y, "a"])]
    assert levels == tuple(sorted({*x, *y, "a", "d"}))
    assert level_counts(pair, 0).tolist() == expected
    cells = column_tests.level_cells(LevelColumn(pair), column_tests.WESTFALL_YOUNG)
    assert cells.index.tolist() == [levels.index(value) for value in [*x, "d", *y, "a"]]


def test_statistics_of_levels_are_squared_differences_of_shares():
    x, y = letters(0, 20, 13)
    cells = level_cells(x, y)
    pooled = cells.counts.sum(axis=0)
    table = np.array([[5, 9, 6], [12, 4, 4], cells.counts[0]])
    expected = []
    for of_a in table:
        squares = [(a / 20 - (total - a) / 13) ** 2 for a, total in zip(of_a, pooled, strict=True)]
        expected.append([sum(squares), sum(square / total for square, total in zip(squares, pooled, strict=True))])
    np.testing.assert_allclose(cells.statistics(table), expected, rtol=1e-12)


@pytest.mark.parametrize("shape", ["normal", "tied", "far", "heavy"])
def test_each_row_of_a_number_stands_in_the_cell_that_counts_it(shape):
    x, y = numbers(1, 50, 31)
    if shape == "tied":
        x, y = np.round(x), np.round(y)
    elif shape == "far":
        x[3], y[4] = 1e9, -1e9
    elif shape == "heavy":
        x, y = np.sinh(4 * x), np.sinh(4 * y)
    cells = number_cells(x, y)
    for part, counts in ((cells.index[:50], cells.counts[0]), (cells.index[50:], cells.counts[1])):
        assert [int((part == k).sum()) for k in range(len(counts))] == counts.tolist()
    values = np.concatenate([x, y])
    for k in range(cells.counts.shape[1]):  # equal values are never told apart
        assert not set(values[cells.index == k]) & set(values[cells.index != k])


@pytest.mark.parametrize("column", ["number", "level", "off the grid"])
def test_relabelled_counts_equal_brute_force(column):
    cells = level_cells(*letters(2, 14, 9)) if column == "level" else number_cells(*numbers(2, 14, 9))
    if column == "off the grid":
        index = cells.index.copy()
        index[[0, 20]] = -1
        kept = np.unique(index[index >= 0])
        index = np.where(index < 0, -1, np.searchsorted(kept, index))
        cells = column_tests.ColumnCells(index, cells.counts[:, kept], cells.statistics)
    labels = np.random.default_rng(3).random((6, 23)) < 0.6
    expected = [
        [sum(row[i] and cells.index[i] == k for i in range(23)) for k in range(cells.counts.shape[1])]
        for row in labels.tolist()
    ]
    assert column_tests._relabelled_counts(cells, labels).tolist() == expected


def test_the_counts_of_the_data_are_those_of_its_own_labels():
    is_a = np.repeat([True, False], [14, 9])
    for cells in (level_cells(*letters(2, 14, 9)), number_cells(*numbers(2, 14, 9))):
        np.testing.assert_array_equal(column_tests._relabelled_counts(cells, is_a[None])[0], cells.counts[0])


def test_shared_relabellings_equal_all_partitions_by_hand(monkeypatch):
    n, m = 5, 5
    x, y = np.array(list("aabab")), np.array(list("bbabb"))
    u, v = numbers(4, n, m, shift=1.5)
    columns = [level_cells(x, y), number_cells(u, v)]
    parts = list(itertools.combinations(range(n + m), n))  # the data are the first
    labels = np.array([[i in part for i in range(n + m)] for part in parts])
    monkeypatch.setattr(resample, "relabellings", lambda *_: iter([labels[1:]]))
    p, adjusted = pvalues(columns, (n, m), column_tests.WESTFALL_YOUNG, len(parts) - 1)
    assert column_tests.choose_adjustment(n, m, len(parts) - 1) == column_tests.WESTFALL_YOUNG

    values = []
    for cells in columns:
        tables = []
        for part in parts:
            counts = [sum(cells.index[i] == k for i in part) for k in range(cells.counts.shape[1])]
            tables.append(cells.statistics(np.array([counts]))[0])
        table = np.array(tables)
        scores = (table - table.mean(axis=0)) / table.std(axis=0)
        values.append(
            table[0, scores[0].argmax()]
            + table.std(axis=0)[scores[0].argmax()] * (scores.max(axis=1) - scores[0].max())
        )
    values = np.column_stack(values)
    tied = values + 1e-9 * np.abs(values).max(axis=0) * (np.arange(len(values)) > 0)[:, None]
    assert p.tolist() == [np.mean(tied[:, j] >= values[0, j]) for j in range(2)]
    scores = standardized_roots(values)
    scores[1:] += 1e-9 * np.abs(scores).max()
    assert adjusted.tolist() == pytest.approx(textbook_step_down(scores), rel=1e-12)
    assert (adjusted >= p).all()


@given(st.integers(0, 1000), st.integers(1, 6), st.integers(2, 60))
def test_step_down_equals_its_textbook_definition(seed, d, draws):
    random = np.random.default_rng(seed)
    values = random.gamma(0.5, size=(draws, d)) * 10.0 ** random.integers(-8, 8, d)
    values[0] *= random.choice([1.0, 20.0], d)
    assert resample.step_down(values) == pytest.approx(textbook_step_down(standardized_roots(values)), rel=1e-12)


def test_step_down_of_one_column_is_its_own_pvalue():
    values = np.random.default_rng(0).gamma(0.5, size=(100, 1))
    values[0] = np.quantile(values, 0.9)
    assert resample.step_down(values)[0] == resample.pvalue(values[0, 0], values[1:, 0])


def test_step_down_of_a_flat_column_is_one_and_changes_no_other():
    values = np.random.default_rng(0).gamma(0.5, size=(50, 3))
    values[0] = 5.0, 0.1, 3.0
    flat = np.insert(values, 1, 0.25, axis=1)
    found = resample.step_down(flat)
    assert found[1] == 1.0
    np.testing.assert_array_equal(found[[0, 2, 3]], resample.step_down(values))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_holm_equals_its_loop(pvalues):
    found = resample.holm(np.array(pvalues))
    order = sorted(range(len(pvalues)), key=pvalues.__getitem__)
    least = 0.0
    for rank, j in enumerate(order):
        least = max(least, min(1.0, (len(pvalues) - rank) * pvalues[j]))
        assert found[j] == pytest.approx(least, rel=1e-12)


def test_holm_of_nothing_is_nothing():
    assert len(resample.holm(np.empty(0))) == 0


@pytest.mark.parametrize(
    ("n", "m", "permutations", "how"),
    [
        (100, 100, 999, "Westfall-Young"),
        (110, 100, 999, "Westfall-Young"),
        (100, 110, 999, "Westfall-Young"),
        (111, 100, 999, "Holm"),
        (100, 111, 999, "Holm"),
        (25_000, 25_000, 1000, "Westfall-Young"),
        (25_001, 25_000, 1000, "Holm"),
    ],
)
def test_the_adjustment_follows_the_sizes(n, m, permutations, how):
    assert column_tests.choose_adjustment(n, m, permutations) == how


def test_counts_drawn_for_one_column_have_its_permutation_pvalue():
    n, m, count = 14, 9, 20_000
    x, y = np.array(["a"] * 9 + ["b"] * 5), np.array(["a"] * 3 + ["b"] * 6)
    p, adjusted = pvalues([level_cells(x, y, column_tests.HOLM)], (n, m), column_tests.HOLM, count)
    differences = [abs(sum(part) / n - (12 - sum(part)) / m) for part in itertools.combinations([1] * 12 + [0] * 11, n)]
    exact = np.mean(np.array(differences) >= abs(9 / n - 3 / m) - 1e-12)
    assert column_tests.choose_adjustment(n, m, count) == column_tests.HOLM
    assert adjusted[0] == p[0]
    assert p[0] == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / count))


def test_many_columns_can_still_reach_alpha_by_holm():
    cells = [level_cells(*letters(seed, 60, 40, q=(0.5, 0.3, 0.2)), column_tests.HOLM) for seed in range(30)]
    cells[7] = level_cells(*letters(7, 60, 40, q=(0.05, 0.05, 0.9)), column_tests.HOLM)
    p, adjusted = pvalues(cells, (60, 40), column_tests.HOLM, 19)
    assert adjusted[7] <= 0.05 < np.delete(adjusted, 7).min()
    assert p[7] == 1 / (1 + 4 * 30 / 0.05)


def test_a_closer_look_is_taken_only_where_it_may_matter(monkeypatch):
    tried = []
    drawn = resample.permuted_counts
    monkeypatch.setattr(resample, "permuted_counts", lambda *of: (tried.append(of[2]), drawn(*of))[1])
    same = level_cells(np.array(list("ab") * 30), np.array(list("ab") * 20), column_tests.HOLM)
    other = level_cells(np.array(list("aaab") * 15), np.array(list("bbba") * 10), column_tests.HOLM)
    for cells, counts in ((same, [19]), (other, [19, 80])):
        tried.clear()
        p, _ = pvalues([cells], (60, 40), column_tests.HOLM, 19)
        assert tried == counts
        assert p[0] == (1.0 if cells is same else 1 / 81)


def test_large_draws_are_made_in_parts_that_change_nothing(monkeypatch):
    cells = level_cells(*letters(5, 60, 40), column_tests.HOLM)
    whole = pvalues([cells], (60, 40), column_tests.HOLM, 999)
    monkeypatch.setattr(resample, "_COUNTS", 300)
    parts = pvalues([cells], (60, 40), column_tests.HOLM, 999)
    np.testing.assert_array_equal(whole, parts)


def test_a_column_of_one_value_has_no_cells_and_no_distance():
    number = NumberColumn(one(np.ones(4), np.ones(5)), 0)
    level = LevelColumn(one(np.array(["a"] * 4), np.array(["a"] * 5)))
    for adjustment in (column_tests.WESTFALL_YOUNG, column_tests.HOLM):
        assert column_tests.number_cells(number, adjustment) is None
        assert column_tests.level_cells(level, adjustment) is None
    assert number.distance(0.95) == ColumnDistance(0.0, (0.0, 0.0))
    assert level.distance(0.95).normalized == 0.0


@given(LETTERS, LETTERS)
def test_the_distance_of_levels_compares_pairs_of_different_rows(x, y):
    x, y = [*x, "a"], [*y, "d"]
    own = [np.mean([a == b for a, b in itertools.permutations(part, 2)]) for part in (x, y)]
    cross = np.mean([a == b for a in x for b in y])
    found = LevelColumn(one(np.array(x, dtype=object), np.array(y, dtype=object))).distance(0.95)
    expected = np.clip(1 - 2 * cross / sum(own), 0, 1) if sum(own) > 0 else 0.0
    assert found.normalized == pytest.approx(expected, abs=1e-12)
    assert 0 <= found.interval[0] <= found.normalized <= found.interval[1] <= 1


def test_squared_shares_from_pairs_of_rows_are_unbiased_over_all_samples():
    p = np.array([0.2, 0.3, 0.5])
    total = 0.0
    for part in itertools.product(range(3), repeat=4):
        rows = np.bincount(part, minlength=3)
        other = np.array([4, 0, 0])  # q is known: all rows have the first level, so the other norm is 1
        pair = one(*(np.repeat(list("abc"), counts) for counts in (rows, other)))
        cross = rows[0] / 4
        ratio = 1 - 2 * cross / (own := (4 * np.square(rows / 4).sum() - 1) / 3 + 1)
        assert LevelColumn(pair).distance(0.95).normalized == pytest.approx(max(ratio, 0.0), abs=1e-12)
        total += np.prod(p[list(part)]) * (own - 2 * cross)
    assert total == pytest.approx(np.square(p - [1, 0, 0]).sum(), rel=1e-12)


@pytest.mark.parametrize("q", [(0.2, 0.3, 0.5), (0.5, 0.3, 0.2), (0.45, 0.35, 0.2)], ids=["far", "equal", "near"])
def test_the_distance_of_levels_is_right_on_average_and_its_interval_covers(q):
    p = np.array([0.5, 0.3, 0.2])
    truth = np.square(p - q).sum() / (np.square(p).sum() + np.square(q).sum())
    random = np.random.default_rng(0)
    pair = one(np.array(["a", "b", "c"] * 50), np.array(["a", "b", "c"] * 30))
    found = []
    for _ in range(300):
        x, y = random.choice(3, (150, 1), p=p).astype(float), random.choice(3, (90, 1), p=q).astype(float)
        found.append(LevelColumn(replace(pair, x=ArraySample(x), y=ArraySample(y))).distance(0.95))
    covered = np.mean([each.interval[0] <= truth <= each.interval[1] for each in found])
    assert covered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 300)
    if truth > 0.05:  # else values are cut at 0
        values = np.array([each.normalized for each in found])
        assert values.mean() == pytest.approx(truth, abs=4 * values.std() / np.sqrt(300))


def test_levels_of_which_none_occurs_twice_tell_nothing():
    pair = one(np.array(list("ab")), np.array(list("ab")))
    assert LevelColumn(pair).distance(0.95) == ColumnDistance(0.0, (0.0, 1.0))
