"""Statistics of columns, pairs and quadratic forms by plain loops over rows, their shares of the level and names."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from densdiff import messages
from densdiff.core import resample
from densdiff.data.pair import check_pair
from densdiff.solvers.prepared import prepare
from densdiff.testing import feature_layout, low_order, units
from densdiff.testing.combining import combine
from densdiff.testing.low_order import LowOrder, share_of_all_columns, share_of_forms
from densdiff.testing.row_features import QuadraticForms, RowFeatures
from densdiff.testing.units import Units
from tests.categories import mixed
from tests.large import Blocks, cuts

single = {"rtol": 1e-4, "atol": 1e-7}  # features and their sums are of single precision


def prepared(x, y):
    with messages.collect_warnings():  # columns may be more than rows
        return prepare(check_pair(x, y), standardize=True, folds=2, random_state=0)


def numbers(seed=0, n=40, m=30, d=4):
    """Rows with a dependent pair and a column of ties."""
    rows = np.random.default_rng([seed, n, m, d]).normal(size=(n + m, d))
    rows[:, 1] += rows[:, 0]
    rows[:, -1] = np.round(rows[:, -1])
    return prepared(rows[:n], rows[n:])


def tables(n=40, m=30):
    """Rows of a number, a category and a flag."""
    return prepared(mixed(0, n), mixed(1, m, (0.3, 0.3, 0.4)))


def of_rows(data):
    return LowOrder.of_units(data, Units.of_rows(*data.sizes))


def table_of(found, data, labels):
    """The table of rows by themselves."""
    return found.table(Units.of_rows(*data.sizes).weights(labels))


def relabelled(data, count=6):
    is_x = np.repeat([True, False], data.sizes)
    return np.vstack([is_x, np.random.default_rng(1).permuted(np.tile(is_x, (count, 1)), axis=1)])


def plain_table(columns, forms, labels, *, pairs=None, most=3):
    """All statistics by loops over labels, columns, pairs and features, in the order of the parts."""
    pairs = list(combinations(range(len(columns)), 2)) if pairs is None else pairs
    table = []
    for is_x in labels:

        def squares(features, is_x=is_x):
            return [(np.mean(feature[is_x]) - np.mean(feature[~is_x])) ** 2 for feature in np.transpose(features)]

        of_columns = [squares(column) for column in columns]
        of_pairs = [
            squares(np.column_stack([f * g for f in columns[i].T[:most] for g in columns[j].T[:most]]))
            for i, j in pairs
        ]
        first = [products[0] for products in of_pairs]
        table.append(
            [
                *(value for column in of_columns for value in column),
                *(sum(column) for column in of_columns),
                sum(sum(column) for column in of_columns),
                *(sum(products) for products in of_pairs),
                *first,
                sum(first),
                *squares(forms),
            ]
        )
    return np.array(table)


def expected_table(data, labels, made_of=None, **options):
    """The plain table of features that are made of all pooled rows, or of some."""
    features, _ = RowFeatures.of(data.pooled_rows if made_of is None else made_of, data.levels)
    columns = features.columns(data.pooled_rows)
    wide = [column.astype(np.float64) for column in columns]
    return plain_table(wide, features.together(columns).astype(np.float64), labels, **options)


@pytest.mark.parametrize("data", [numbers(), numbers(n=9, m=30, d=2), numbers(d=7), tables()])
def test_statistics_of_rows_are_those_of_plain_loops(data):
    labels = relabelled(data)
    table = table_of(of_rows(data), data, labels)
    np.testing.assert_allclose(table, expected_table(data, labels), **single)
    assert table.shape[1] == sum(len(part.names) for part in of_rows(data).parts)


def test_of_many_columns_a_pair_has_one_product(monkeypatch):
    monkeypatch.setattr(feature_layout, "_WIDE", 3)
    data = numbers(d=4)
    labels = relabelled(data)
    np.testing.assert_allclose(table_of(of_rows(data), data, labels), expected_table(data, labels, most=1), **single)


@pytest.mark.parametrize(("n", "m"), [(40, 30), (61, 9)])
@pytest.mark.parametrize("make", [numbers, tables])
def test_units_of_several_rows_have_the_statistics_of_their_rows(monkeypatch, make, n, m):
    monkeypatch.setattr(units, "_UNITS", 12)
    monkeypatch.setattr(units, "_EACH", 3)
    data, together = make(n=n, m=m), Units.put_together(n, m, 7)
    assert together.x.rows_each > 1
    assert together.sizes == (n, m)
    own = together.labels
    labels = np.vstack([own.is_x, *resample.relabellings(own.is_x, own.groups, 9, np.random.default_rng(0))])
    numbers_of_rows = np.concatenate([together.x.part(0, n), together.x.n_units + together.y.part(0, m)])
    found = LowOrder.of_units(data, together).table(together.weights(labels))
    np.testing.assert_allclose(found, expected_table(data, labels[:, numbers_of_rows]), **single)


def test_rows_that_are_left_out_of_units_do_not_count(monkeypatch):
    monkeypatch.setattr(units, "_UNITS", 5)
    monkeypatch.setattr(units, "_MOST", 20)
    monkeypatch.setattr(units, "_FEWEST", 5)
    data, together = numbers(n=10, m=90), Units.put_together(10, 90, 7)
    assert together.sizes == (10, 40)
    used = np.concatenate([together.x.part(0, 10) >= 0, together.y.part(0, 90) < together.y.n_units])
    own = LowOrder.of_units(data, together).table(together.weights(together.labels.is_x[None]))
    features, _ = RowFeatures.of(data.pooled_rows, data.levels)
    columns = features.columns(data.pooled_rows[used])
    wide, forms = [column.astype(np.float64) for column in columns], features.together(columns).astype(np.float64)
    np.testing.assert_allclose(own, plain_table(wide, forms, [np.repeat([True, False], [10, 40])]), **single)


def test_features_are_made_of_some_rows_and_had_of_all(monkeypatch):
    monkeypatch.setattr(low_order, "_ROWS", 25)
    monkeypatch.setattr(feature_layout, "_AT_ONCE", 64 * 30)  # rows come in several turns
    data = numbers(n=100, m=80)
    labels = relabelled(data)
    found = of_rows(data)
    expected = expected_table(data, labels, data.some_pooled(25))
    np.testing.assert_allclose(table_of(found, data, labels), expected, **single)
    for row in (0, 99, 100, 179):  # every row counts
        changed = labels[:1].copy()
        changed[0, [row, (row + 100) % 180]] ^= True
        assert (table_of(found, data, changed) != table_of(found, data, labels[:1])).any()


@given(cuts(100), cuts(80))
def test_rows_in_blocks_have_the_statistics_of_arrays(of_x, of_y):
    random = np.random.default_rng(0)
    x, y = random.normal(size=(100, 3)), random.normal(size=(80, 3))
    whole, cut = prepared(x, y), prepared(Blocks(x, of_x), Blocks(y, of_y))
    together = Units(units.UnitNumbers(100, 7, 14, 2, 3), units.UnitNumbers(80, 7, 11, 3, 3))
    labels = together.labels.is_x[None]
    found, expected = (LowOrder.of_units(data, together).table(together.weights(labels)) for data in (cut, whole))
    np.testing.assert_allclose(found, expected, **single)


def test_statistics_of_numbers_see_ranks_only():
    data = tables()
    x, y = mixed(0, 40), mixed(1, 30, (0.3, 0.3, 0.4))
    bent = prepared(*(table | {"size": np.exp(3 * table["size"])} for table in (x, y)))
    labels = relabelled(data)
    np.testing.assert_array_equal(table_of(of_rows(data), data, labels), table_of(of_rows(bent), bent, labels))


def test_a_constant_column_adds_nothing():
    random = np.random.default_rng(3)
    x, y = random.normal(size=(40, 3)), random.normal(size=(30, 3))
    wider = prepared(*(np.insert(rows, 1, 7.0, axis=1) for rows in (x, y)))
    plain = prepared(x, y)
    labels = relabelled(plain)
    np.testing.assert_array_equal(table_of(of_rows(wider), wider, labels), table_of(of_rows(plain), plain, labels))
    assert of_rows(wider).names == ["x0", "x2", "x3"]


def test_a_column_that_does_not_vary_in_the_drawn_rows_has_statistics_of_zero(monkeypatch):
    monkeypatch.setattr(low_order, "_ROWS", 10)
    random = np.random.default_rng(3)
    rows = random.normal(size=(200, 2))
    rows[:, 1] = 0.0
    data = prepared(rows[:100], rows[100:])
    drawn = data.some_pooled(10)
    rest = np.flatnonzero(~np.isin(data.pooled_rows[:, 0], drawn[:, 0]))
    rows[rest[0], 1] = 1.0
    data = prepared(rows[:100], rows[100:])
    found = of_rows(data)
    assert np.ptp(data.some_pooled(10)[:, 1]) == 0
    table = table_of(found, data, relabelled(data))
    layout = found.layout
    assert layout.widths == (4, 1)
    assert not table[:, [4, 6, 8, 9, 10]].any()  # its feature, its sum, its pair, and the sum over pairs
    assert table[1:, :4].all()


def test_a_product_that_never_varies_does_not_lead_by_its_rounding():
    """A balanced flag and its copy have the product 1 in every row."""
    flags = np.tile([0.0, 1.0], 40)
    data = prepared(np.column_stack([flags, flags]), np.column_stack([flags[:50], flags[:50]]))
    found = of_rows(data)
    table = table_of(found, data, relabelled(data, 50))
    place = sum(len(part.names) for part in found.parts[:2])
    assert found.parts[2].names[1] == "pair 'x0', 'x1'"
    assert not table[:, place + 1].any()
    combine(table, found.parts)  # warnings are errors: a part that never varies must not make one


def test_of_many_pairs_the_most_correlated_are_looked_at(monkeypatch):
    monkeypatch.setattr(feature_layout, "_MOST_PAIRS", 3)
    rows = np.random.default_rng(0).normal(size=(300, 12))
    rows[:, 1] += rows[:, 0]
    rows[:, 7] -= rows[:, 2]
    rows[:150, 9] = rows[:150, 4]  # in one sample, if the first half is one
    data = prepared(rows[:150], rows[150:])
    found = of_rows(data)
    assert set(found.layout.pairs) == {(0, 1), (2, 7), (4, 9)}
    other = of_rows(prepared(rows[100:200], np.delete(rows, range(100, 200), axis=0)))
    assert set(other.layout.pairs) == set(found.layout.pairs)  # whatever the labels
    labels = relabelled(data)
    expected = expected_table(data, labels, pairs=found.layout.pairs)
    np.testing.assert_allclose(table_of(found, data, labels), expected, **single)


@pytest.mark.parametrize("d", [1, 2])
def test_rows_in_cells_have_the_statistics_of_rows_in_the_middles_of_the_cells(d):
    """Counts of rows in cells stand for the rows, whatever the labels."""
    random = np.random.default_rng(d)
    middles = random.normal(size=(12, d))
    counts = random.integers(1, 6, size=(2, 12))
    x, y = (np.repeat(middles, count, axis=0) for count in counts)
    data = prepared(x, y)
    inner = data.scaling.apply(middles)
    found = LowOrder.of_cells(data, inner, counts.sum(axis=0))
    pooled, (n, m) = counts.sum(axis=0), counts.sum(axis=1)
    labels = relabelled(data, 4)
    rows = np.repeat(np.arange(12), counts[0]).tolist() + np.repeat(np.arange(12), counts[1]).tolist()
    of_x = np.array([np.bincount(np.array(rows)[is_x], minlength=12) for is_x in labels])
    table = found.table(of_x / n - (pooled - of_x) / m)
    np.testing.assert_allclose(table, table_of(of_rows(data), data, labels), **single)


def test_as_many_pairs_as_are_looked_at_are_all_there():
    assert of_rows(numbers(d=6)).layout.pairs == list(combinations(range(6), 2))


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8, 30, 31, 200, 1000])
def test_shares_of_all_statistics_sum_to_one(d):
    data = numbers(n=8, m=7, d=d) if d > 1 else prepared(np.arange(8.0), np.arange(7.0) ** 2)
    found = of_rows(data)
    shares = [part.share for part in found.parts]
    assert sum(shares) + share_of_all_columns(d) == pytest.approx(1.0, rel=1e-12)
    assert min(shares) > 0
    assert table_of(found, data, relabelled(data)).shape[1] == sum(len(part.names) for part in found.parts)


def test_all_columns_together_have_less_and_forms_more_of_the_level_the_more_columns():
    together, forms = ([share(d) for d in range(2, 1001)] for share in (share_of_all_columns, share_of_forms))
    assert (np.diff(together) <= 0).all()
    assert (np.diff(forms) > 0).all()
    assert together[0] == 0.7
    assert min(together) == 0.2
    assert max(forms) < 0.5
    assert max(a + b for a, b in zip(together, forms, strict=True)) < 0.85


def test_statistics_are_named_by_the_columns_of_the_user():
    found = of_rows(tables())
    columns, one_by_one, pairs, all_pairs, forms = (list(part.names) for part in found.parts)
    widths = found.layout.widths
    names = ["column 'size'", "column 'letter'", "column 'flag'"]
    assert columns == [name for name, width in zip(names, widths, strict=True) for _ in range(width)] + names
    assert one_by_one == ["all columns, one by one"]
    assert pairs == 2 * ["pair 'size', 'letter'", "pair 'size', 'flag'", "pair 'letter', 'flag'"]
    assert all_pairs == ["all pairs of columns"]
    assert forms == [*QuadraticForms.names, QuadraticForms.squared]


def test_names_follow_their_columns_when_categories_come_first():
    x, y = ({name: table[name] for name in ("flag", "size", "letter")} for table in (mixed(0, 60), mixed(1, 60)))
    y["size"] = y["size"] + 3.0
    data = prepared(x, y)
    found = of_rows(data)
    assert found.names == ["size", "flag", "letter"]
    table = table_of(found, data, relabelled(data, 99))
    part = found.parts[0]
    result = combine(table[:, : len(part.names)], [part])
    assert part.names[result.strongest[0]] == "column 'size'"


def test_each_part_grows_with_what_it_looks_for():
    random = np.random.default_rng(0)
    rows = random.normal(size=(400, 2))
    dependent, shifted = rows.copy(), rows.copy()
    dependent[200:, 1] = 0.9 * rows[200:, 0] + 0.4 * rows[200:, 1]
    dependent[200:, 1] *= rows[200:, 1].std() / dependent[200:, 1].std()
    shifted[200:] += 0.5
    tails = {}
    for name, sample in (("dependent", dependent), ("shifted", shifted)):
        data = prepared(sample[:200], sample[200:])
        found = of_rows(data)
        table, start, tails[name] = table_of(found, data, relabelled(data, 199)), 0, []
        for part in found.parts:
            tails[name].append(combine(table[:, start : start + len(part.names)], [part]).pvalue)
            start += len(part.names)
    assert tails["shifted"][:2] == tails["dependent"][2:4] == [1 / 200] * 2
    assert min(tails["dependent"][:2]) > 0.05
    assert tails["dependent"][4] == 1 / 200  # lengths off the common axis
