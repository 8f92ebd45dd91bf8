"""Samples that are not in memory give the answers of those that are, in any cut into blocks."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import densdiff as dd
from densdiff.data.tables import match_tables
from densdiff.io import memory
from densdiff.sources import block_sample as block_samples
from densdiff.sources import passes
from densdiff.sources.array_sample import ArraySample
from densdiff.sources.block_sample import PickRows, RowCache
from densdiff.sources.source import task_of_block
from tests.block_answers import SMALL, M, N, answers, centers, close, same_columns
from tests.command_line import silently
from tests.large import Blocks, cuts, tables

few, fewer = settings(max_examples=4), settings(max_examples=3)


@pytest.fixture(scope="module")
def samples():
    random = np.random.default_rng(0)
    return random.normal(size=(N, 4)), 0.8 * random.normal(size=(M, 4)) + 0.4


def spectral():
    return dd.LSDD(solver="spectral", random_state=3)


def same_test(found, expected):
    assert (found.null, found.solver, found.tuning) == (expected.null, expected.solver, expected.tuning)
    np.testing.assert_allclose(found.statistic, expected.statistic, **close)
    np.testing.assert_allclose(found.pvalue, expected.pvalue, **close)
    np.testing.assert_allclose(found.null_distribution, expected.null_distribution, rtol=1e-9, atol=1e-12)


@few
@given(of_x=cuts(N), of_y=cuts(M), data=st.data())
@pytest.mark.parametrize(("make", "d"), [(centers, 4), (spectral, 1), (spectral, 2)])
def test_blocks_of_any_size_give_the_answers_of_arrays(samples, make, d, of_x, of_y, data):
    x, y = (rows[:, :d] for rows in samples)
    one_in_memory = data.draw(st.booleans())
    model = make().fit(x if one_in_memory else Blocks(x, of_x), Blocks(y, of_y))
    expected = make().fit(x, y)
    np.testing.assert_allclose(answers(model, x[:9]), answers(expected, x[:9]), **close)
    np.testing.assert_array_equal([row for row in model.samples_[0] if row not in x], [])
    assert model.l2_distance().warnings == expected.l2_distance().warnings


@few
@given(of_x=cuts(N), of_y=cuts(M))
def test_blocks_of_frames_with_categories_give_the_answers_of_frames(of_x, of_y):
    x, y = tables(N, M)
    made = {"n_centers": 30, "random_state": 3}
    found, expected = dd.LSDD(**made).fit(Blocks(x, of_x), Blocks(y, of_y)), dd.LSDD(**made).fit(x, y)
    np.testing.assert_allclose(answers(found, x[:9]), answers(expected, x[:9]), **close)
    assert found.feature_names_ == expected.feature_names_


@few
@given(of_x=cuts(N), of_y=cuts(M))
def test_the_limit_of_a_test_does_not_depend_on_blocks(samples, of_x, of_y):
    x, y = samples
    asked = {"model": centers(), "null": "asymptotic", "n_permutations": 50}
    same_test(dd.two_sample_test(Blocks(x, of_x), Blocks(y, of_y), **asked), dd.two_sample_test(x, y, **asked))


def test_mixed_columns_are_tested_by_their_limit():
    x, y = tables(N, M)
    asked = {"model": centers(), "null": "asymptotic", "n_permutations": 50}
    same_test(dd.two_sample_test(Blocks(x, [99]), Blocks(y, [99]), **asked), dd.two_sample_test(x, y, **asked))


@pytest.mark.parametrize("d", [1, 2])
def test_one_or_two_columns_are_relabelled_exactly_in_cells(d):
    random = np.random.default_rng(1)
    x, y = random.normal(size=(4500, d)), random.normal(size=(2500, d)) + 0.05
    asked = {"n_permutations": 199, "random_state": 1}
    found, expected = (
        dd.two_sample_test(*pair, **asked) for pair in ((Blocks(x, [5, 1400]), Blocks(y, [700])), (x, y))
    )
    assert "rows were relabelled by cell" in expected.warnings[-1]
    same_test(found, expected)


@fewer
@given(of_a=cuts(SMALL), of_b=cuts(SMALL))
def test_columns_of_compared_blocks_are_those_of_tables(of_a, of_b):
    a, b = tables(SMALL, SMALL)
    asked = {"n_permutations": 39, "random_state": 0}
    same_columns(dd.compare(Blocks(a, of_a), Blocks(b, of_b), **asked), dd.compare(a, b, **asked))


def with_holes(table):
    table = table.copy()
    table.loc[table.index[3::17], "size"] = np.nan
    table.loc[table.index[5::19], "city"] = None
    table["paid"] = table["paid"].astype("boolean")
    table.loc[table.index[8::23], "paid"] = pd.NA
    return table


def test_missing_values_are_refused_with_the_number_of_their_row():
    a, b = tables(N, M)
    b.loc[312, "age"] = np.nan
    b.loc[400, "age"] = np.nan
    for left, right in ((a, b), (Blocks(a, [300]), Blocks(b, [100, 311]))):
        with pytest.raises(dd.InputError) as caught:
            dd.compare(left, right, missing="error")
        assert str(caught.value) == (
            'column \'age\' of B: 2 missing values, first at row 312; use missing="drop" or missing="level"'
        )
    with pytest.raises(dd.InputError, match="column 'age' of Y: 2 missing values, first at row 312; drop or fill"):
        dd.LSDD().fit(Blocks(a, [300]), Blocks(b, [100]))


@fewer
@given(of_a=cuts(SMALL), of_b=cuts(SMALL))
def test_dropped_rows_are_those_dropped_in_memory_and_kinds_survive(of_a, of_b):
    a, b = map(with_holes, tables(SMALL, SMALL))
    asked = {"n_permutations": 39, "random_state": 0, "missing": "drop"}
    found = silently(dd.compare, Blocks(a, of_a), Blocks(b, of_b), **asked)
    expected = silently(dd.compare, a, b, **asked)
    same_columns(found, expected)
    dropped = [[text for text in each.warnings if "dropped" in text] for each in (found, expected)]
    assert dropped[0] == dropped[1] != []


@few
@given(of_a=cuts(SMALL), of_b=cuts(SMALL))
def test_holes_are_filled_as_in_memory_in_any_blocks(of_a, of_b):
    a, b = map(with_holes, tables(SMALL, SMALL))
    asked = {"n_permutations": 39, "random_state": 0, "missing": "level"}
    expected = dd.compare(a, b, **asked)
    assert {column.name for column in expected.columns} == set(a.columns)
    same_columns(dd.compare(Blocks(a, of_a), Blocks(b, of_b), **asked), expected)


def test_columns_without_values_and_columns_that_name_rows_are_left_out():
    a, b = tables(SMALL, SMALL)
    a["id"], b["id"] = ([f"n{i}" for i in range(len(each))] for each in (a, b))
    a["none"], b["none"] = np.nan, 1.0
    a["more"] = 1.0
    asked = {"n_permutations": 39, "random_state": 0}
    found = silently(dd.compare, Blocks(a, [3, 90]), Blocks(b, [50]), **asked)
    expected = silently(dd.compare, a, b, **asked)
    same_columns(found, expected)
    assert dict(found.left_out).keys() == {"id", "none", "more"}


def test_columns_of_arrays_are_chosen_by_number(samples):
    x, y = (rows[:SMALL] for rows in samples)
    asked = {"n_permutations": 39, "random_state": 0, "columns": ["x3", "x1"]}
    same_columns(dd.compare(Blocks(x, [50]), Blocks(y, [60]), **asked), dd.compare(x, y, **asked))


def test_blocks_without_names_take_those_of_the_other_sample_by_position(samples):
    x, y = samples
    named = pd.DataFrame(y, columns=["x1", "x0", "x3", "x2"])
    found, expected = centers().fit(Blocks(x, [50]), named), centers().fit(x, named)
    assert found.feature_names_ == expected.feature_names_ == ("x1", "x0", "x3", "x2")
    np.testing.assert_allclose(found.predict(x[:5]), expected.predict(x[:5]), **close)


def test_constant_columns_are_noted_and_rarely_varying_ones_are_not():
    a, b = ({"c": np.full(n, 2.0), "r": np.zeros(n), "x": np.arange(float(n))} for n in (12_000, 11_000))
    a["r"][7] = 1.0  # between the rows that are looked at for ties
    a, b = pd.DataFrame(a), pd.DataFrame(b)
    found = silently(dd.LSDD(solver="centers", n_centers=5, sigma=1.0, random_state=0).fit, Blocks(a, [99]), b)
    notes = [note for note in found.l2_distance().warnings if "constant" in note]
    assert notes == ["column 'c' is constant and equal in both samples; it contributes nothing"]
    found = silently(dd.compare, Blocks(a, [99]), Blocks(b, []), columns=["c", "x"], n_permutations=39, random_state=0)
    assert "column 'c' is constant and equal in both; it contributes nothing" in found.warnings


@pytest.mark.parametrize(("factor", "offset"), [(1.0, 1e8), (1e200, 0.0), (1e-200, 0.0), (1e300, 0.0)])
@pytest.mark.parametrize("make", [centers, spectral])
def test_offsets_and_extreme_values_are_ordinary_in_blocks(make, factor, offset, draw):
    x, y = (factor * rows + offset for rows in draw(5, n=300, m=200))
    x[:20] = x[0]  # a first block of one value, near which the others are not
    found, expected = (silently(make().fit, *pair) for pair in ((Blocks(x, [20, 90]), Blocks(y, [55])), (x, y)))
    for each in zip(*(silently(model.l2_distance).to_dict().items() for model in (found, expected)), strict=True):
        (name, value), (_, other) = each
        if name in ("normalized", "log_squared", "normalized_interval", "sigma", "lam"):
            np.testing.assert_allclose(value, other, rtol=1e-9, err_msg=name)


def block_sample(rows):
    """A sample of blocks as a comparison has it."""
    return match_tables(rows, rows).a


def test_columns_loaded_into_memory_are_those_of_the_rows(monkeypatch):
    random = np.random.default_rng(0)
    rows = random.normal(size=(500, 4))
    sample = block_sample([rows[:120], rows[120:130], rows[130:]])
    loaded = sample.loaded([3, 1])
    assert isinstance(loaded, ArraySample)
    assert np.array_equal(loaded[:], rows[:, [3, 1]])
    monkeypatch.setattr(memory, "room", lambda: 100.0)
    assert np.array_equal(sample.loaded([3, 1])[:], rows[:, [3, 1]])
    assert not isinstance(sample.loaded([3, 1]), ArraySample)


def test_rows_that_are_too_many_in_all_columns_are_had_of_few(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(500, 4))
    sample = block_sample([rows[:120], rows[120:]])
    monkeypatch.setattr(block_samples, "_AT_HAND", 8 * 500 * 2)
    sample.cache.entries = RowCache().entries
    numbers = np.array([499, 3, 3, 120, *range(300)])
    assert np.array_equal(sample.only([2])[numbers], rows[numbers][:, [2]])
    assert not len(sample.cache.entries[0])
    assert np.array_equal(sample[np.arange(10)], rows[:10])
    assert len(sample.cache.entries[0]) == 10
    assert np.array_equal(sample.only([2])[numbers], rows[numbers][:, [2]])


class Growing:
    """Blocks that can be read again and again, one more of them once it is asked for."""

    def __init__(self, *blocks):
        self.blocks, self.more = blocks, ()

    def __iter__(self):
        return iter((*self.blocks, *self.more))


def test_columns_are_not_loaded_from_a_source_that_has_more_rows_than_before():
    rows = np.random.default_rng(0).normal(size=(500, 2))
    blocks = Growing(rows[:200], rows[200:])
    sample = block_sample(blocks)
    blocks.more = (rows[:10],)
    with pytest.raises(dd.InputError, match="500 rows the first time and 510 the second time"):
        sample.loaded([0])


def test_rows_fetched_aside_are_forgotten_with_the_sample():
    rows = np.random.default_rng(0).normal(size=(500, 2))
    sample = block_sample([rows[:200], rows[200:]])
    before, index = sample.at_hand()[0], np.arange(3, 500, 7)
    aside = sample.aside()
    assert np.array_equal(aside[index], rows[index])
    assert set(index) <= set(aside.at_hand()[0])
    assert np.array_equal(sample.at_hand()[0], before)


@given(starts=st.lists(st.integers(0, 60), min_size=1, max_size=5), numbers=st.sets(st.integers(0, 59)))
def test_a_task_sent_to_one_block_with_its_own_numbers_only_answers_the_same(starts, numbers):
    rows, index = np.arange(120.0).reshape(60, 2), np.array(sorted(numbers), dtype=np.int64)
    pick = PickRows(lambda block, start: block, index)
    for task in (pick, passes._JointTask([pick, pick], lambda block: block)):
        for start, end in pairwise(sorted({0, *starts, 60})):
            own, block = task_of_block(task, start, end - start), rows[start:end]
            found, expected = own(block, start), task(block, start)
            assert all(np.array_equal(a, b) for a, b in zip(np.ravel(found), np.ravel(expected), strict=True))
            if own is not task and isinstance(own, PickRows):
                assert len(own.index) == len(found[0])


def test_a_task_without_numbers_of_rows_is_sent_as_it_is():
    assert task_of_block(len, 3, 5) is len
