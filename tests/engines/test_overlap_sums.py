"""Kernel sums between groups of rows against double loops: on a grid, by levels, by distances of pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.engines import overlap_sums as engine
from densdiff.engines.pair_distances import LevelDistances

WIDTHS = 4.0 * 2.0 ** (-0.5 * np.arange(26))


def brute_sums(kernel, omega, groups, n_groups):
    """One pair at a time; ``kernel(i, j)`` is (S,), of all widths."""
    sums = np.zeros((len(kernel(0, 0)), n_groups, n_groups))
    for i in range(len(omega)):
        for j in range(len(omega)):
            if i != j:
                sums[:, groups[i], groups[j]] += omega[i] * omega[j] * kernel(i, j)
    return sums


def gaussian_kernel(rows, widths):
    return lambda i, j: np.exp(-0.5 * np.square(rows[i] - rows[j]).sum() / widths**2)


def masses_of(omega, groups, n_groups):
    mass = np.bincount(groups, omega, minlength=n_groups)
    return np.outer(mass, mass)


@st.composite
def weighted_groups(draw, most=30):
    """A source of random numbers, the number of rows, their weights and groups, of which the last has a row."""
    n, n_groups = draw(st.integers(2, most)), draw(st.integers(1, 5))
    random = np.random.default_rng([draw(st.integers(0, 10_000)), n, n_groups])
    omega = random.random(n) ** 3 if draw(st.booleans()) else np.full(n, 1.0 / n)
    groups = random.integers(0, n_groups, n)
    groups[0] = n_groups - 1
    return random, n, omega, groups, n_groups


def some_values(random, n, kind):
    values = random.normal(size=n)
    if kind == "ties":
        return np.round(2 * values)
    if kind == "outliers":
        values[: 1 + n // 10] *= 1e6
    if kind == "gaps":
        values[n // 2 :] += 1e6
    return values


KINDS = st.sampled_from(["normal", "ties", "outliers", "gaps"])


# Linear weights between nodes a quarter of a width apart err by an eighth of a sixteenth of a kernel's bend, which is 1
# at most, for either row of a pair. What takes the mean of that off adds a sixth of a sixteenth, to the kernel and to
# its bend, which falls by 3 at most.
BETWEEN_NODES = (1 + 3 / 96) / 64 + 1 / 96


@given(case=weighted_groups(), kind=KINDS)
def test_column_sums_err_by_no_more_than_weights_between_nodes_can(case, kind):
    random, n, omega, groups, n_groups = case
    values = some_values(random, n, kind)
    found = np.concatenate(list(engine.column_sums(values, omega, groups, n_groups, WIDTHS[:12])))
    expected = brute_sums(gaussian_kernel(values[:, None], WIDTHS[:12]), omega, groups, n_groups)
    assert np.all(np.abs(found - expected) <= BETWEEN_NODES * masses_of(omega, groups, n_groups) + 1e-9)


def test_column_sums_of_many_rows_are_right_to_four_digits():
    """Errors of single rows average out: what remains of them is a mean of n terms."""
    random = np.random.default_rng(0)
    values, groups = random.normal(size=3000), np.arange(3000) % 2
    omega = np.full(3000, 1 / 3000)
    found = np.concatenate(list(engine.column_sums(values, omega, groups, 2, WIDTHS[:16])))
    for sums, width in zip(found, WIDTHS, strict=False):
        kernel = np.exp(-0.5 * np.square(np.subtract.outer(values, values) / width))
        np.fill_diagonal(kernel, 0.0)
        expected = [[kernel[i::2, j::2].sum() / 3000**2 for j in range(2)] for i in range(2)]
        np.testing.assert_allclose(sums, expected, rtol=1e-4)


@pytest.mark.parametrize("kind", ["normal", "ties", "outliers"])
def test_widths_that_share_a_grid_have_the_sums_of_grids_of_their_own(monkeypatch, kind):
    """Both err by no more than weights between nodes can; of values that are not rounded errors average out."""
    random, n = np.random.default_rng(2), 20_000
    values, omega, groups = some_values(random, n, kind), np.full(n, 1 / n), np.arange(n) % 4
    runs = []
    for nodes_a_row in (0.0, engine._NODES_A_ROW):
        monkeypatch.setattr(engine, "_NODES_A_ROW", nodes_a_row)
        runs.append(list(engine.column_sums(values, omega, groups, 4, WIDTHS[:16])))
    apart, shared = (np.concatenate(run) for run in runs)
    assert len(runs[0]) == 4
    assert kind == "outliers" or len(runs[1]) < 4
    assert np.all(np.abs(shared - apart) <= 2 * BETWEEN_NODES * masses_of(omega, groups, 4))
    if kind == "normal":
        np.testing.assert_allclose(shared, apart, rtol=2e-4)


@given(case=weighted_groups(), far=st.sampled_from([1e3, 1e6, 1e15, 1e200]))
def test_the_length_of_a_gap_beyond_reach_changes_nothing(case, far):
    random, n, omega, groups, n_groups = case
    values = np.sort(np.round(random.normal(size=n), 3))
    near, gone = values.copy(), values.copy()
    near[-1], gone[-1] = values[-1] + 50, far
    sums = [np.concatenate(list(engine.column_sums(v, omega, groups, n_groups, WIDTHS[:12]))) for v in (near, gone)]
    np.testing.assert_allclose(sums[0], sums[1], rtol=0, atol=1e-12)


@given(case=weighted_groups(), kind=KINDS)
def test_the_order_of_rows_changes_no_sum(case, kind):
    random, n, omega, groups, n_groups = case
    values, order = some_values(random, n, kind), random.permutation(n)
    calls = (values, omega, groups), (values[order], omega[order], groups[order])
    sums = [np.concatenate(list(engine.column_sums(*call, n_groups, WIDTHS[:8]))) for call in calls]
    np.testing.assert_allclose(*sums, rtol=0, atol=1e-12 * n**2)
    pairs = [engine.pair_sums(call[0][:, None], *call[1:], n_groups, WIDTHS[:8]) for call in calls]
    np.testing.assert_allclose(*pairs, rtol=0, atol=1e-12 * n**2)


@given(case=weighted_groups())
def test_a_mirrored_column_has_the_same_sums(case):
    random, n, omega, groups, n_groups = case
    values = random.normal(size=n)
    sums = [
        np.concatenate(list(engine.column_sums(v, omega, groups, n_groups, WIDTHS[:12]))) for v in (values, -values)
    ]
    np.testing.assert_allclose(*sums, rtol=0, atol=1e-12 * n**2)


def test_a_grid_that_would_be_too_long_ends_the_ladder():
    values = 0.05 * np.arange(10_000.0)  # within reach of kernels for which the range has more nodes than a grid
    found = list(engine.column_sums(values, np.ones(10_000), np.zeros(10_000, dtype=int), 1, WIDTHS))
    assert 0 < sum(map(len, found)) < len(WIDTHS)


def test_a_first_grid_that_would_be_too_long_holds_the_rows_around_the_median():
    values = np.concatenate(
        [30.0 * np.arange(-5000.0, 5000.0), [0.5]]
    )  # every gap is within reach of the widest kernel
    n = len(values)
    first = next(engine.column_sums(values, np.full(n, 1 / n), np.zeros(n, dtype=int), 1, WIDTHS))
    np.testing.assert_allclose(first[0, 0, 0] * n**2, 2 * np.exp(-0.5 * (0.5 / 4) ** 2), rtol=0.01)


@given(case=weighted_groups(60), levels=st.sampled_from([1, 2, 5, 3000]))
def test_level_sums_equal_a_double_loop(case, levels):
    random, n, omega, groups, n_groups = case
    codes = random.integers(0, levels, n)
    ratios = np.array([0.9, 0.3, 1e-300, 0.0])
    found = engine.level_sums(codes, omega, groups, n_groups, ratios)
    expected = brute_sums(lambda i, j: np.where(codes[i] == codes[j], 1.0, ratios), omega, groups, n_groups)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * omega.sum() ** 2)


@given(case=weighted_groups(), kind=KINDS, d=st.sampled_from([1, 2, 5]))
def test_pair_sums_equal_a_double_loop(case, kind, d):
    random, n, omega, groups, n_groups = case
    rows, widths = np.column_stack([some_values(random, n, kind) for _ in range(d)]), WIDTHS[:13]
    found = engine.pair_sums(rows, omega, groups, n_groups, widths)
    expected = brute_sums(gaussian_kernel(rows, widths), omega, groups, n_groups)
    # between nodes 0.02 apart in u, exp(-u^4 / 2) bends by 2.7 at most: a twelfth of that, times 0.02^2
    assert np.all(np.abs(found - expected) <= 1e-4 * masses_of(omega, groups, n_groups) + 1e-13)


@given(case=weighted_groups(), far=st.sampled_from([0, 1, 3, 6]))
def test_columns_far_out_do_not_spoil_the_distances_of_others(case, far):
    """Those of six columns are by a product, where they are near, of the others by differences."""
    random, n, omega, groups, n_groups = case
    rows, widths = random.normal(size=(n, 6)), WIDTHS[:13]
    rows[:, :far] += 1e7 * random.integers(0, 2, (n, 1))  # two clusters far apart: their own distances are small
    found = engine.pair_sums(rows, omega, groups, n_groups, widths)
    expected = brute_sums(gaussian_kernel(rows, widths), omega, groups, n_groups)
    assert np.all(np.abs(found - expected) <= 1e-4 * masses_of(omega, groups, n_groups) + 1e-13)


@given(case=weighted_groups(), d=st.sampled_from([1, 4]), levels=st.sampled_from([(3,), (2, 300)]))
def test_unequal_levels_add_their_distance_to_that_of_pairs(case, d, levels):
    random, n, omega, groups, n_groups = case
    rows, widths = random.normal(size=(n, d)), WIDTHS[:13]
    codes, apart = np.column_stack([random.integers(0, k, n) for k in levels]), random.uniform(0.1, 3.0, len(levels))
    found = engine.pair_sums(rows, omega, groups, n_groups, widths, LevelDistances(codes, apart))
    numbers = gaussian_kernel(rows, widths)
    expected = brute_sums(
        lambda i, j: numbers(i, j) * np.exp(-0.5 * apart @ (codes[i] != codes[j]) / widths**2), omega, groups, n_groups
    )
    assert np.all(np.abs(found - expected) <= 1e-4 * masses_of(omega, groups, n_groups) + 1e-13)


@pytest.mark.parametrize("kind", ["column", "levels", "pairs"])
def test_a_row_twice_is_a_row_of_twice_the_weight(kind):
    """But for the pair of a row with its copy, which a row of twice the weight has not got."""
    random = np.random.default_rng(1)
    values, groups = np.round(random.normal(size=20), 1), np.arange(20) % 3
    twice = np.concatenate([np.arange(20), [4, 4, 7]])
    weights = np.bincount(twice, minlength=20).astype(float)

    def with_own_pairs(index, omega):
        if kind == "column":
            sums = next(engine.column_sums(values[index], omega, groups[index], 3, WIDTHS))
            peak = np.ones(4)
        elif kind == "levels":
            sums = engine.level_sums((10 * values[index] + 50).astype(int), omega, groups[index], 3, np.full(4, 0.3))
            peak = np.ones(4)
        else:
            sums, peak = engine.pair_sums(values[index, None], omega, groups[index], 3, WIDTHS[:4]), np.ones(4)
        return sums + peak[:, None, None] * np.diag(np.bincount(groups[index], np.square(omega)))

    copied = with_own_pairs(twice, np.ones(len(twice)))
    # distances of 0 are on a node, whose kernel lost a twelfth of its bend: 1e-5; of a column they are between nodes
    errors = {"column": 8 * BETWEEN_NODES, "levels": 1e-8, "pairs": 1e-3}  # of 8 pairs of copies, or of sums of 100
    np.testing.assert_allclose(copied, with_own_pairs(np.arange(20), weights), rtol=0, atol=errors[kind])
