"""Columns one by one: counts, statistics, adjusted p-values and distances against their plain loops."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import cell_power, resample
from densdiff.data.tables import match_tables
from densdiff.solvers.column import ColumnDistance, LevelColumn, NumberColumn, level_counts
from densdiff.sources.array_sample import ArraySample
from densdiff.testing import columns as column_tests
from densdiff.testing import units
from densdiff.testing.columns import ColumnTester
from tests.large import Blocks

LETTERS = st.lists(st.sampled_from("abcd"), min_size=2, max_size=12)


def one(x, y):
    """A single column of two tables."""
    return match_tables({"c": x}, {"c": y}).column(0)


def level_cells(x, y):
    return column_tests.level_cells(LevelColumn(one(x, y)))


def number_cells(x, y):
    return column_tests.number_cells(NumberColumn(one(x, y), 0))


def column_tester(sizes, permutations=999, n_tests=1, draws_counts=False):
    """With units, or as if one table were so much the larger that counts are drawn."""
    found = ColumnTester(sizes, not draws_counts, n_tests, permutations=permutations, alpha=0.05, seed=0)
    if draws_counts:
        found.units = None
    return found


def cell_of_rows(cells):
    """The cell of each pooled row, A's first."""
    return np.concatenate([cells.find(sample[:][:, 0]) for sample in cells.samples])


def pvalues(cells, sizes, permutations, draws_counts=False):
    """p-values of columns and adjusted ones."""
    asked = column_tester(sizes, permutations, len(cells), draws_counts)
    tests = [asked.test(each, place) for place, each in enumerate(cells)]
    return np.array([test.pvalue for test in tests]), asked.adjusted(tests)


def relabelled_counts(cells, labels, units):
    """Rows of A in each cell for labels (k, units)."""
    in_units = column_tests._rows_by_unit(cells, units)
    return np.asarray((in_units @ labels.T.astype(np.float32)).T).astype(int)


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
    cells = column_tests.level_cells(LevelColumn(pair))
    assert cell_of_rows(cells).tolist() == [levels.index(value) for value in [*x, "d", *y, "a"]]


@given(st.integers(0, 2**32 - 1), st.integers(3, 60), st.sampled_from([None, 0, 1]))
def test_rows_of_units_in_cells_are_counted_as_by_a_loop(seed, n_units, digits):
    """A full table, a sorted one, and one pair of numbers after another; rows far off are in no cell."""
    random = np.random.default_rng(seed)
    x, y = (np.append(random.normal(size=n), [-1e9, 1e9]) for n in (300, 250))
    x, y = (part if digits is None else part.round(digits) for part in (x, y))
    cells, asked = number_cells(x, y), units.Units.put_together(302, 252, seed, n_units)
    of_rows = np.concatenate([asked.x.part(0, 302), asked.x.n_units + asked.y.part(0, 252)])
    expected = np.zeros((cells.forms.counts.shape[1], asked.x.n_units + asked.y.n_units))
    for cell, unit in zip(cell_of_rows(cells), of_rows, strict=True):
        if cell >= 0:
            expected[cell, unit] += 1
    np.testing.assert_array_equal(expected.sum(axis=1), cells.forms.counts.sum(axis=0))
    for counted_cells in (1 << 16, -(1 << 40)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(column_tests, "_COUNTED_CELLS", counted_cells)
            found = column_tests._rows_by_unit(cells, asked)
        np.testing.assert_array_equal(found.toarray() if hasattr(found, "toarray") else found, expected)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("n", [300, 40_000])
def test_statistics_of_relabelled_units_are_those_of_their_counts(n, is_sparse, monkeypatch):
    """Of few cells in double precision and of many in single, from the counts or straight from the units."""
    random = np.random.default_rng(n)
    cells = number_cells(random.normal(size=n), random.normal(0.1, 1.2, size=n))
    asked = units.Units.put_together(n, n, 0, 200)
    monkeypatch.setattr(column_tests, "_DENSE", 2.0 if is_sparse else -1.0)
    in_units = column_tests._rows_by_unit(cells, asked)
    labels = np.array([random.permutation(asked.labels.is_x) for _ in range(7)])
    full = in_units.toarray() if is_sparse else in_units
    found, many = cells.forms.of_units(in_units, labels), len(full) >= cell_power._MANY_CELLS
    assert many == (n == 40_000)
    monkeypatch.setattr(cell_power, "_MANY_CELLS", np.inf)
    expected = [cells.forms.of_counts((full @ own)[None])[0] for own in labels]
    np.testing.assert_allclose(found, expected, rtol=1e-4 if many else 1e-9)


def plain_spikes(values):
    """Values with ten or more rows, a 500th of all rows, and ten times the median of rows for a value."""
    distinct, counts = np.unique(values, return_counts=True)
    is_spike = counts >= max(10, 0.002 * len(values), 10 * np.median(counts))
    return [] if is_spike.all() else distinct[is_spike].tolist()


@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 0, 1, 2, 3, 5]), st.sampled_from([50, 3000, 40_000]))
def test_values_stand_out_as_a_count_of_all_says(seed, digits, n):
    random = np.random.default_rng(seed)
    values = random.normal(size=n) if digits is None else random.normal(size=n).round(digits)
    for spike, rows in zip([0.0, -0.0, 1e300, -7.25], random.integers(0, n // 5, 4), strict=True):
        values[random.integers(0, n, rows)] = spike
    assert column_tests._spikes(values).tolist() == plain_spikes(values)


def test_statistics_of_levels_are_squared_differences_of_shares():
    x, y = letters(0, 20, 13)
    cells = level_cells(x, y)
    pooled = cells.forms.counts.sum(axis=0)
    table = np.array([[5, 9, 6], [12, 4, 4], cells.forms.counts[0]])
    expected = []
    for of_a in table:
        squares = [(a / 20 - (total - a) / 13) ** 2 for a, total in zip(of_a, pooled, strict=True)]
        expected.append([sum(squares), sum(square / total for square, total in zip(squares, pooled, strict=True))])
    np.testing.assert_allclose(cells.forms.of_counts(table), expected, rtol=1e-12)


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
    index = cell_of_rows(cells)
    for part, counts in ((index[:50], cells.forms.counts[0]), (index[50:], cells.forms.counts[1])):
        assert [int((part == k).sum()) for k in range(len(counts))] == counts.tolist()
    values = np.concatenate([x, y])
    for k in range(cells.forms.counts.shape[1]):  # equal values are never told apart
        assert not set(values[index == k]) & set(values[index != k])


@pytest.mark.parametrize("column", ["number", "level", "off the grid"])
@pytest.mark.parametrize("dense", [0.0, 2.0], ids=["full", "sparse"])
def test_relabelled_counts_equal_brute_force(monkeypatch, column, dense):
    monkeypatch.setattr(column_tests, "_DENSE", dense)
    cells = level_cells(*letters(2, 14, 9)) if column == "level" else number_cells(*numbers(2, 14, 9))
    if column == "off the grid":
        find, far = cells.find, cells.samples[0][:][0, 0]
        cells = replace(cells, find=lambda values: np.where(values == far, -1, find(values)))
    index = cell_of_rows(cells)
    labels = np.random.default_rng(3).random((6, 23)) < 0.6
    expected = [
        [sum(row[i] and index[i] == k for i in range(23)) for k in range(cells.forms.counts.shape[1])]
        for row in labels.tolist()
    ]
    assert relabelled_counts(cells, labels, column_tests.column_units(14, 9, 0)).tolist() == expected


def test_the_counts_of_the_data_are_those_of_its_own_labels():
    is_a = np.repeat([True, False], [14, 9])
    for cells in (level_cells(*letters(2, 14, 9)), number_cells(*numbers(2, 14, 9))):
        counts = relabelled_counts(cells, is_a[None], column_tests.column_units(14, 9, 0))
        np.testing.assert_array_equal(counts[0], cells.forms.counts[0])


@pytest.mark.parametrize("rows_alone", [2500, 10], ids=["rows", "units"])
@pytest.mark.parametrize("column", ["number", "level"])
def test_rows_in_blocks_are_relabelled_as_rows_in_memory(monkeypatch, column, rows_alone):
    monkeypatch.setattr(column_tests, "_ROWS", rows_alone)
    x, y = letters(2, 314, 309) if column == "level" else numbers(2, 314, 309)
    found = []
    for hold in (lambda values: {"c": values}, lambda values: Blocks(pd.DataFrame({"c": values}), [100, 101])):
        pair = match_tables(hold(x), hold(y)).column(0)
        cells = (
            column_tests.level_cells(LevelColumn(pair))
            if column == "level"
            else column_tests.number_cells(NumberColumn(pair, 0))
        )
        found.append(column_tester((314, 309), 99).test(cells, 0))
    assert found[0].pvalue == found[1].pvalue
    np.testing.assert_allclose(found[0].values, found[1].values, rtol=1e-9)


def test_shared_relabellings_equal_all_partitions_by_hand(monkeypatch):
    n, m = 5, 5
    x, y = np.array(list("aabab")), np.array(list("bbabb"))
    u, v = numbers(4, n, m, shift=1.5)
    columns = [level_cells(x, y), number_cells(u, v)]
    parts = list(itertools.combinations(range(n + m), n))  # the data are the first
    labels = np.array([[i in part for i in range(n + m)] for part in parts])
    monkeypatch.setattr(resample, "relabellings", lambda *_: iter([labels[1:]]))
    p, adjusted = pvalues(columns, (n, m), len(parts) - 1)
    assert column_tester((n, m)).adjustment == column_tests.WESTFALL_YOUNG

    values = []
    for cells in columns:
        tables, index = [], cell_of_rows(cells)
        for part in parts:
            counts = [sum(index[i] == k for i in part) for k in range(cells.forms.counts.shape[1])]
            tables.append(cells.forms.of_counts(np.array([counts]))[0])
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
    ("n", "m", "shares_rows", "how"),
    [
        (100, 100, True, "Westfall-Young"),
        (110, 100, True, "Westfall-Young"),
        (100, 110, True, "Westfall-Young"),
        (111, 100, True, "Holm"),
        (100, 111, True, "Holm"),
        (1_000_000, 1_000_000, True, "Westfall-Young"),
        (100, 100, False, "Holm"),
    ],
)
def test_the_adjustment_follows_the_sizes(n, m, shares_rows, how):
    found = ColumnTester((n, m), shares_rows, 1, permutations=999, alpha=0.05, seed=0)
    assert found.adjustment == how
    assert found.units is not None


@pytest.mark.parametrize(("n", "m"), [(14, 9), (1500, 1000), (1501, 1000), (60_000, 700), (100_000, 100_000)])
def test_units_hold_every_row_and_are_as_many_as_are_worth_while(n, m):
    found = column_tests.column_units(n, m, 0)
    assert found.sizes == (n, m)
    assert (found.x.rows_each == 1) == (n + m <= 2500)
    assert min(found.x.n_units, found.y.n_units) >= min(100, m)
    assert found.x.n_units + found.y.n_units <= 10_100


def test_tables_of_very_different_size_have_no_units():
    assert column_tests.column_units(150, 1_000_000, 0) is None
    assert column_tester((150, 1_000_000)).adjustment == column_tests.HOLM


@pytest.mark.parametrize("column", ["number", "level"])
def test_units_are_relabelled_as_their_rows_would_be(monkeypatch, column):
    """The statistics of every relabelling of units, from the rows that each unit has."""
    monkeypatch.setattr(column_tests, "_ROWS", 10)
    monkeypatch.setattr(column_tests, "_UNITS", 12)
    monkeypatch.setattr(units, "_EACH", 4)
    n, m = 41, 38
    cells = level_cells(*letters(2, n, m)) if column == "level" else number_cells(*numbers(2, n, m))
    asked = column_tester((n, m), 29)
    assert asked.units.x.rows_each > 1
    test, index = asked.test(cells, 0), cell_of_rows(cells)
    unit_of_row = np.concatenate([asked.units.x.part(0, n), asked.units.x.n_units + asked.units.y.part(0, m)])
    tables = []
    for labels in asked._few.tolist():
        in_a = np.array(labels)[unit_of_row]
        counts = [int(np.sum(in_a & (index == k))) for k in range(cells.forms.counts.shape[1])]
        assert sum(counts) == n
        tables.append(cells.forms.of_counts(np.array([counts]))[0])
    np.testing.assert_allclose(test.values, resample.largest_standardized(np.array(tables)), rtol=1e-9)
    assert test.pvalue == resample.pvalue(test.values[0], test.values[1:])


def test_units_keep_the_level_of_a_test():
    """Of 400 pairs of equal laws, sorted as files are, about a twentieth has p <= 0.05."""
    random = np.random.default_rng(0)
    asked, example = column_tester((2500, 2500), 99), one(np.array(list("abcd") * 9), np.array(list("abcd") * 9))
    small = []
    for seed in range(400):
        x, y = np.sort(random.integers(0, 4, (2, 2500)), axis=1).astype(float)
        pair = replace(example, x=ArraySample(x[:, None]), y=ArraySample(y[:, None]))
        cells = column_tests.level_cells(LevelColumn(pair))
        small.append(asked.test(cells, seed).pvalue <= 0.05)
    assert abs(np.mean(small) - 0.05) <= 3 * np.sqrt(0.05 * 0.95 / 400)


def test_counts_drawn_for_one_column_have_its_permutation_pvalue():
    n, m, count = 14, 9, 20_000
    x, y = np.array(["a"] * 9 + ["b"] * 5), np.array(["a"] * 3 + ["b"] * 6)
    differences = [abs(sum(part) / n - (12 - sum(part)) / m) for part in itertools.combinations([1] * 12 + [0] * 11, n)]
    exact = np.mean(np.array(differences) >= abs(9 / n - 3 / m) - 1e-12)
    for draws_counts in (True, False):
        p, adjusted = pvalues([level_cells(x, y)], (n, m), count, draws_counts)
        assert adjusted[0] == p[0]
        assert p[0] == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / count))


@pytest.mark.parametrize("draws_counts", [True, False])
def test_many_columns_can_still_reach_alpha_by_holm(draws_counts):
    cells = [level_cells(*letters(seed, 60, 40, q=(0.5, 0.3, 0.2))) for seed in range(30)]
    cells[7] = level_cells(*letters(7, 60, 40, q=(0.05, 0.05, 0.9)))
    p, adjusted = pvalues(cells, (60, 40), 19, draws_counts)
    assert adjusted[7] <= 0.05 < np.delete(adjusted, 7).min()
    assert p[7] == 1 / (1 + 4 * 30 / 0.05)


def test_a_closer_look_is_taken_only_where_it_may_matter():
    same = level_cells(np.array(list("ab") * 30), np.array(list("ab") * 20))
    other = level_cells(np.array(list("aaab") * 15), np.array(list("bbba") * 10))
    for draws_counts in (True, False):
        asked = column_tester((60, 40), 19, draws_counts=draws_counts)
        assert [len(asked.test(cells, 0).values) for cells in (same, other)] == [20, 81]
        assert [asked.test(cells, 0).pvalue for cells in (same, other)] == [1.0, 1 / 81]


@pytest.mark.parametrize("draws_counts", [True, False])
def test_large_draws_are_made_in_parts_that_change_nothing(monkeypatch, draws_counts):
    cells = level_cells(*letters(5, 60, 40))
    whole = pvalues([cells], (60, 40), 999, draws_counts)
    monkeypatch.setattr(resample, "_COUNTS", 300)
    monkeypatch.setattr(column_tests, "_LABELS", 300)
    parts = pvalues([cells], (60, 40), 999, draws_counts)
    np.testing.assert_array_equal(whole, parts)


def test_a_column_of_one_value_has_no_cells_and_no_distance():
    number = NumberColumn(one(np.ones(4), np.ones(5)), 0)
    level = LevelColumn(one(np.array(["a"] * 4), np.array(["a"] * 5)))
    assert column_tests.number_cells(number) is None
    assert column_tests.level_cells(level) is None
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
