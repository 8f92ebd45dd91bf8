"""Bars of a column: when rows share values so often that a density would mislead, and what the bars count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core.bars import (
    ValueCounts,
    choose_bins,
    drawn_range,
    find_spikes,
    grid_step,
    is_rounded,
    needs_bars,
    robust_spread,
)

samples = st.lists(st.integers(-40, 40), min_size=2, max_size=60).map(lambda values: np.array(values) / 4.0)


def normal(n, seed=0, shift=0.0):
    return np.random.default_rng(seed).normal(shift, 1.0, n)


@given(samples, samples)
def test_counts_are_those_of_the_rows(a, b):
    column = ValueCounts.of(a, b)
    for k, value in enumerate(column.values):
        assert column.counts[:, k].tolist() == [int((a == value).sum()), int((b == value).sum())]
    np.testing.assert_allclose(column.shares.sum(axis=1), 1.0)
    for level in (0.002, 0.25, 0.9):
        wanted = [min(v for v in sample if (sample <= v).mean() >= level - 1e-12) for sample in (a, b)]
        assert column.quantiles([level])[:, 0].tolist() == wanted


@given(samples, samples, st.floats(0.05, 5.0))
def test_values_are_rounded_if_a_quarter_of_the_close_pairs_are_the_same(a, b, width):
    """The slow twin looks at every pair."""
    shares = []
    for sample in (a, b):
        gaps = np.abs(np.subtract.outer(sample, sample))[~np.eye(len(sample), dtype=bool)]
        shares.append((int((gaps == 0).sum()), int((gaps <= 2 * width).sum())))
    assert is_rounded(ValueCounts.of(a, b), width) == any(same > 0.25 * close for same, close in shares)


@given(samples, samples)
def test_bars_count_each_row_inside_once(a, b):
    column = ValueCounts.of(a, b)
    bins = choose_bins(column)
    counts = bins.count(column)
    low, high = drawn_range(column)
    inside = [int(((sample >= low) & (sample <= high)).sum()) for sample in (a, b)]
    assert counts.sum(axis=1).tolist() == inside
    assert len(bins.values) <= 60
    for k, middle in enumerate(bins.values):
        if bins.is_exact:
            assert counts[:, k].tolist() == [int((a == middle).sum()), int((b == middle).sum())]
        else:
            halves = [(np.abs(sample - middle) <= (0.5 + 1e-9) * bins.width).sum() for sample in (a, b)]
            assert (counts[:, k] <= halves).all()


def test_normal_numbers_need_no_bars_and_rounded_ones_do():
    a, b = normal(1000), normal(800, 1, 0.5)
    assert not needs_bars(ValueCounts.of(a, b))
    assert not needs_bars(ValueCounts.of(a.round(2), b.round(2)))
    assert needs_bars(ValueCounts.of(a.round(), b.round()))
    assert needs_bars(ValueCounts.of((3 * a).round() / 3, (3 * b).round() / 3))


def test_few_values_get_a_bar_each_at_its_place():
    column = ValueCounts.of(np.array([0.5, 2.5, 2.5, 6.0]), np.array([0.5, 9.0]))
    bins = choose_bins(column)
    assert bins.is_exact
    assert bins.values.tolist() == [0.5, 2.5, 6.0, 9.0]
    assert bins.width == 2.0
    assert bins.count(column).tolist() == [[1, 2, 1, 0], [1, 0, 0, 1]]
    close = choose_bins(ValueCounts.of(np.array([0.0, 1e-3, 5.0]), np.array([0.0, 5.0])))
    assert close.width == 0.0  # too thin to see at their places


@pytest.mark.parametrize(("values", "step"), [(np.arange(40) * 0.1, 0.1), (np.arange(3, 99) * 50.0, 50.0)])
def test_a_grid_is_found_whatever_is_missing_from_it(values, step):
    some = np.delete(values, [5, 6, 20])
    assert grid_step(some) == pytest.approx(step, rel=1e-9)
    assert grid_step(some + 0.3) == pytest.approx(step, rel=1e-9)
    assert grid_step(np.sort(normal(50))) == 0.0


def test_degrees_that_were_converted_and_rounded_lie_on_a_grid():
    celsius = ((np.arange(20.0, 90.0) - 32.0) / 1.8).round(1)
    assert grid_step(celsius) == pytest.approx(1 / 1.8, rel=0.01)


def test_bars_of_rounded_values_hold_equally_many_steps():
    a, b = (np.rint(4 * normal(3000, seed, shift)) * 5.0 for seed, shift in ((0, 0.0), (1, 0.3)))
    bins = choose_bins(ValueCounts.of(a, b))
    assert bins.width % 5.0 == 0.0
    even = ValueCounts.of(np.arange(-500.0, 505.0, 5.0), np.arange(-500.0, 505.0, 5.0))
    inside = choose_bins(even).count(even)[0]
    assert len(set(inside[:-1].tolist())) == 1


def test_a_heavy_tail_does_not_squash_the_rest():
    random = np.random.default_rng(0)
    a, b = random.standard_cauchy((2, 4000))
    low, high = drawn_range(ValueCounts.of(a, b))
    assert -12.0 < low < -5.0
    assert 5.0 < high < 12.0
    quartiles = np.quantile(a, [0.25, 0.75])
    assert high - low < 12 * np.diff(quartiles)
    usual = drawn_range(ValueCounts.of(normal(4000), normal(4000, 1)))
    assert -3.6 < usual[0] < -2.6  # only two thousandths at each end


@pytest.mark.parametrize("share", [0.03, 0.3, 0.9])
def test_values_that_many_rows_have_are_spikes(share):
    a, b = normal(1000), normal(1000, 1)
    b[: int(1000 * share)] = 0.0
    column = ValueCounts.of(a, b)
    assert column.values[find_spikes(column)].tolist() == [0.0]
    assert needs_bars(column)


def test_a_sentinel_far_away_is_a_spike_even_among_rounded_values():
    a, b = (np.rint(10 * normal(1000, seed)) for seed in (0, 1))
    b[:20] = -999.0
    column = ValueCounts.of(a, b)
    assert column.values[find_spikes(column)].tolist() == [-999.0]


def test_rounding_a_few_rows_and_many_heaps_are_no_spikes():
    assert not find_spikes(ValueCounts.of(normal(1000).round(1), normal(1000, 1).round(1))).any()
    assert not find_spikes(ValueCounts.of(np.r_[0.0, 0.0, normal(40)], normal(40, 1))).any()  # two rows may be chance
    heaped = np.repeat(np.arange(20.0) ** 2, 50)
    assert not find_spikes(ValueCounts.of(heaped, heaped)).any()
    assert not find_spikes(ValueCounts.of(np.zeros(90), np.arange(3.0))).any()  # too few others


def test_a_table_whose_rows_are_all_in_spikes_leaves_the_other_to_be_drawn():
    column = ValueCounts.of(np.full(50, 2.0), normal(80))
    spikes = find_spikes(column)
    assert column.values[spikes].tolist() == [2.0]
    others = column.without(spikes)
    assert robust_spread(others) > 0.0
    assert choose_bins(others).count(others)[0].sum() == 0
