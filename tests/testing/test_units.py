"""Rows put together into units that share a label: each row in one, and all of one size exchanged among themselves."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import densdiff as dd
from densdiff.core import resample
from densdiff.data.pair import check_arrays
from densdiff.solvers.prepared import prepare
from densdiff.testing import plan, units
from densdiff.testing.planned import PlanOptions
from densdiff.testing.units import UnitNumbers, Units

sizes = st.integers(1, 60) | st.integers(1, 40_000)


def rows_of_units(numbers: UnitNumbers):
    """Rows of each unit, and of those left out as the last."""
    return np.bincount(numbers.part(0, numbers.n), minlength=numbers.n_groups)


def check_sample(numbers, rows_each):
    counts = rows_of_units(numbers)
    assert len(counts) == numbers.n_groups
    assert counts.sum() == numbers.n
    assert (counts[: numbers.full] == rows_each).all()
    assert (counts[numbers.full : numbers.n_units] == 1).all()
    assert counts[numbers.n_units :].sum() == numbers.n - numbers.n_rows
    assert numbers.n_rows == numbers.full * rows_each + numbers.alone
    assert numbers.alone < max(rows_each, 2)


@given(sizes, sizes, st.integers(0, 2**31))
def test_every_row_is_in_one_unit_and_units_are_of_one_size_or_of_one_row(n, m, seed):
    together = Units.put_together(n, m, seed)
    rows_each = together.x.rows_each
    assert together.y.rows_each == rows_each
    for numbers in (together.x, together.y):
        check_sample(numbers, rows_each)
        assert numbers.full >= 1
    if n + m <= 10_000:
        assert together.sizes == (n, m)


@given(sizes, st.integers(1, 50), st.data())
def test_the_units_of_blocks_are_those_of_the_whole(n, rows_each, data):
    full, alone = divmod(n, rows_each)
    numbers = UnitNumbers(n, rows_each, full, alone, 5)
    at = [0, *sorted(data.draw(st.lists(st.integers(0, n), max_size=4))), n]
    parts = [numbers.part(start, stop - start) for start, stop in pairwise(at)]
    np.testing.assert_array_equal(np.concatenate(parts), numbers.part(0, n))


@pytest.mark.parametrize(
    ("n", "m", "rows_each", "x_units", "y_units"),
    [
        (5, 7, 1, 5, 7),
        (20, 2000, 1, 20, 2000),
        (2000, 20, 1, 2000, 20),
        (1250, 1250, 1, 1250, 1250),
        (1251, 1251, 2, 625 + 1, 625 + 1),
        (50, 10**6, 5, 10, 10_000),  # ten units of the smaller sample: of the larger one some rows
        (10**6, 50, 5, 10_000, 10),
        (3, 10**6, 1, 3, 10_000),
        (10**6, 10**6, 800, 1250, 1250),
        (10**6 + 3, 10**6, 801, 1248 + 355, 1248 + 352),
        (10_000, 10**6, 101, 99 + 1, 9900 + 100),
    ],
)
def test_how_many_units_there_are(n, m, rows_each, x_units, y_units):
    together = Units.put_together(n, m, 0)
    assert together.x.rows_each == together.y.rows_each == rows_each
    assert (together.x.n_units, together.y.n_units) == (x_units, y_units)
    assert max(x_units, y_units) <= 10_000
    thinned = max(n, m) > rows_each * 10_000
    assert (together.sizes == (n, m)) == (not thinned)
    for numbers in (together.x, together.y):
        assert numbers.n_groups == numbers.n_units + (numbers.n_rows < numbers.n)
        check_sample(numbers, rows_each)


def test_rows_that_are_left_out_are_drawn_from_everywhere():
    numbers = Units.put_together(50, 10**6, 3).y
    used = np.flatnonzero(numbers.part(0, 10**6) < numbers.n_units)
    assert len(used) == numbers.n_rows == 50_000
    counts = np.histogram(used, bins=10, range=(0, 10**6))[0]
    assert (np.abs(counts - 5000) < 5 * np.sqrt(5000)).all()


def test_labels_are_exchanged_among_units_of_one_size_only():
    together = Units.put_together(1251, 1252, 0)
    labels = together.labels
    rows = np.concatenate([rows_of_units(numbers)[: numbers.n_units] for numbers in (together.x, together.y)])
    assert len(set(zip(labels.groups.tolist(), rows.tolist(), strict=True))) == 2
    for relabelled in np.vstack(list(resample.relabellings(labels.is_x, labels.groups, 50, np.random.default_rng(0)))):
        assert rows[relabelled].sum() == 1251
        assert rows[~relabelled].sum() == 1252


def test_units_that_all_have_one_size_have_no_groups():
    for together in (Units.put_together(5, 7, 0), Units.put_together(1252, 1252, 0), Units.put_together(50, 10**6, 0)):
        assert together.labels.groups is None
        assert together.labels.is_x.sum() == together.x.n_units
        assert len(together.labels.is_x) == together.x.n_units + together.y.n_units


def test_weights_make_the_difference_of_the_means_of_rows():
    together = Units.put_together(1251, 1252, 4)
    random = np.random.default_rng(0)
    x, y = random.normal(size=1251), random.normal(size=1252)
    sums = np.concatenate(
        [np.bincount(numbers.part(0, numbers.n), values) for numbers, values in ((together.x, x), (together.y, y))]
    )
    found = together.weights(together.labels.is_x[None]) @ sums
    assert found == pytest.approx([x.mean() - y.mean()], rel=1e-9)


def test_weights_of_thinned_samples_count_the_rows_in_units():
    together = Units.put_together(50, 10**6, 0)
    weights = together.weights(together.labels.is_x[None])[0]
    assert weights[:10].sum() * 5 == pytest.approx(1.0)
    assert weights[10:].sum() * 5 == pytest.approx(-1.0)


@given(st.integers(1, 30), st.integers(1, 30))
def test_units_of_rows_are_the_rows_in_their_order(n, m):
    groups = np.arange(n + m) % 3
    each = Units.of_rows(n, m, groups)
    for numbers, size in ((each.x, n), (each.y, m)):
        assert numbers.part(0, size).tolist() == list(range(size))
        assert numbers.part(size // 2, size - size // 2).tolist() == list(range(size // 2, size))
    assert each.labels.is_x.tolist() == [True] * n + [False] * m
    assert each.labels.groups is groups
    assert each.sizes == (n, m)


def test_blocks_of_the_user_are_kept_by_relabelling_rows(draw, monkeypatch):
    monkeypatch.setattr(units, "_UNITS", 6)
    monkeypatch.setattr(units, "_EACH", 2)
    x, y = draw(0, 40, 27, 3)
    data = prepare(check_arrays(x, y), standardize=True, folds=5, random_state=0)
    model, groups = dd.LSDD(solver="centers", n_centers=10, random_state=0), np.arange(67) % 5
    free = plan.plan_test(model, data, PlanOptions("aggregate", 99)).units
    within = plan.plan_test(model, data, PlanOptions("aggregate", 99, Units.of_rows(40, 27, groups))).units
    assert free.x.rows_each > 1
    assert within.x.rows_each == within.y.rows_each == 1
    assert within.labels.groups is groups
