"""Histograms of mixed rows against double loops, for any tiles, groups, threads and both ways of counting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import agreement, mixed_kernel, radial
from densdiff.engines import mixed_pairs as engine
from densdiff.engines.pair_distances import pair_histograms
from tests import oracle

RATIO = 10 ** (-1 / 3)
BINS = radial.make_bins(np.array([1.0, 0.5]), 4.0, 30.0)


def mixed_case(seed, sizes, weighted, levels, d=2):
    random = np.random.default_rng([seed, *sizes])
    numbers = np.round(random.normal(size=(sum(sizes), d)), 1)
    codes = [random.integers(0, min(k, 3), (sum(sizes), 1)) for k in levels]
    omega = random.random(sum(sizes)) + 0.1 if weighted else np.repeat(random.random(len(sizes)) + 0.1, sizes)
    return np.hstack([numbers, *codes]), omega, np.repeat(np.arange(len(sizes)), sizes)


def polynomials_of(levels, all_steps):
    return agreement.agreement_polynomials(np.array(levels, int), [np.array(s, int) for s in all_steps], RATIO, 30)


def brute_sums(rows, omega, groups, polynomial, weights):
    """Sums over ordered pairs i != j of weights of groups, of rows, e_t and the shares of two nodes: (T, bins, k)."""
    n_codes, n_groups = len(polynomial.levels), groups[-1] + 1
    d = rows.shape[1] - n_codes
    sums = np.zeros((len(polynomial.exponents), BINS.count + 1, len(weights)))
    e = polynomial.of_pairs(rows[:, d:], rows[:, d:])
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            if i == j:
                continue
            position = min(np.sqrt(np.sqrt(np.square(a[:d] - b[:d]).sum())) * BINS.per_root, BINS.count - 1)
            cell = int(position)
            weight = np.outer(e[:, i, j], weights[:, groups[i] * n_groups + groups[j]]) * omega[i] * omega[j]
            sums[:, cell] += weight * (1 - (position - cell))
            sums[:, cell + 1] += weight * (position - cell)
    return sums[:, :-1]


@given(
    seed=st.integers(0, 1000),
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    columns=st.lists(st.tuples(st.sampled_from([2, 3, 50]), st.integers(0, 5)), min_size=1, max_size=4),
    tile=st.integers(1, 200),
    weighted=st.booleans(),
    by_class=st.booleans(),
)
def test_sums_equal_a_double_loop_for_any_tiles_and_groups(seed, sizes, columns, tile, weighted, by_class):
    levels, steps = zip(*columns, strict=True)
    polynomials = polynomials_of(levels, [steps, [2 * a + 1 for a in steps]])
    rows, omega, groups = mixed_case(seed, sizes, weighted, levels)
    weights = np.random.default_rng(seed).normal(size=(3, len(sizes) ** 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_TILE", tile)
        patch.setattr(engine, "_LARGEST_TILE", tile)
        patch.setattr(engine, "_is_cheaper_by_class", lambda *_: by_class)
        found = engine.mixed_histograms(rows, omega, groups, BINS, polynomials, direct=True)
    assert (found.of_classes is not None) == by_class
    every_sum = list(found.every_sum(weights))
    assert len(every_sum) == len(polynomials)
    for smoothing, polynomial in enumerate(polynomials):
        expected = brute_sums(rows, omega, groups, polynomial, weights)
        sums = found.sums(smoothing, weights)
        np.testing.assert_array_equal(every_sum[smoothing], sums)
        assert sums.shape == expected.shape
        np.testing.assert_allclose(sums[:, :-1], expected[:, :-1], rtol=0, atol=1e-11)


def test_few_classes_are_counted_once_and_many_are_weighed():
    few, many = polynomials_of([2, 3], [[1, 2], [3, 4]]), polynomials_of(range(2, 22), [range(20)])
    assert engine._is_cheaper_by_class(few, 4, 1000, BINS)
    assert not engine._is_cheaper_by_class(many, 4, 1000, BINS)
    assert not engine._is_cheaper_by_class(polynomials_of([2, 3], [[0, 0]]), 4, 1000, BINS)  # a single weight, 0 or 1


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_threads_change_no_bit(monkeypatch, weighted, by_class):
    case = mixed_case(1, [30, 41, 9, 50], weighted, [2, 5])
    polynomials = polynomials_of([2, 5], [[1, 3], [0, 2]])
    weights = np.random.default_rng(2).normal(size=(2, 16))
    monkeypatch.setattr(engine, "_is_cheaper_by_class", lambda *_: by_class)
    one = engine.mixed_histograms(*case, BINS, polynomials, direct=True)
    monkeypatch.setattr(engine, "_PARALLEL_ROWS", 2)
    monkeypatch.setattr(engine, "cores", lambda: 3)
    several = engine.mixed_histograms(*case, BINS, polynomials, direct=True)
    for smoothing in range(2):
        np.testing.assert_array_equal(several.sums(smoothing, weights), one.sums(smoothing, weights))


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_without_categories_histograms_are_those_of_numbers(monkeypatch, weighted, by_class):
    case = mixed_case(3, [20, 31, 9], weighted, [], d=3)
    monkeypatch.setattr(engine, "_is_cheaper_by_class", lambda *_: by_class)
    found = engine.mixed_histograms(*case, BINS, polynomials_of([], [[]]), direct=True)
    each_pair = np.eye(9)  # (k, G * G): one pair of groups at a time
    expected = pair_histograms(*case, BINS, direct=True).reshape(9, -1)
    np.testing.assert_array_equal(found.sums(0, each_pair)[0].T, expected)


@pytest.mark.parametrize("by_class", [True, False])
def test_order_of_columns_and_names_of_levels_change_nothing(monkeypatch, by_class):
    levels, steps, order = np.array([2, 3, 7]), np.array([1, 2, 4]), [2, 0, 1]
    rows, omega, groups = mixed_case(4, [20, 31, 9], True, levels)
    weights = np.random.default_rng(2).normal(size=(2, 9))
    monkeypatch.setattr(engine, "_is_cheaper_by_class", lambda *_: by_class)

    def sums(rows, columns):
        polynomials = polynomials_of(levels[columns], [steps[columns]])
        return engine.mixed_histograms(rows, omega, groups, BINS, polynomials, direct=True).sums(0, weights)

    expected = sums(rows, [0, 1, 2])
    moved = rows[:, [0, 1, 4, 2, 3]]
    np.testing.assert_allclose(sums(moved, order), expected, rtol=0, atol=1e-12)
    renamed = rows.copy()
    renamed[:, 2:] = np.array([17.0, 4.0, 300.0])[rows[:, 2:].astype(int)]
    # names decide the order of no sum
    np.testing.assert_array_equal(sums(renamed, [0, 1, 2]), expected)


@pytest.mark.parametrize("d", [0, 1, 3])
@pytest.mark.parametrize("smoothing", [0, 1, 2])
def test_scores_and_forms_from_histograms_equal_all_pairs(d, smoothing):
    # A bin is right on average over its distances: 1e-4 of the terms with so many pairs, as for numbers alone.
    levels, sigma, lams = np.array([2, 5]), 0.8, np.array([0.1, 1e-3])
    rows, omega, groups = mixed_case(5, [70, 61, 69, 50], True, levels, d)
    omega /= omega.sum()
    rows[:, :d] = np.random.default_rng(7).normal(size=(len(rows), d))
    all_steps = [agreement.agreement_steps(levels, a, RATIO) for a in (0, 1, 3)]
    polynomials = agreement.agreement_polynomials(levels, all_steps, RATIO, agreement.last_step(1e-3, RATIO))
    every, places = agreement.stepped_lams(lams, polynomials)
    table = radial.radial_table(d, every)
    bins = radial.make_bins(np.array([sigma]), 10.0 if d else 0.0, table.reach)
    histograms = engine.mixed_histograms(rows, omega, groups, bins, polynomials, direct=True)
    weights = np.random.default_rng(6).normal(size=(3, 16))
    sums = histograms.sums(smoothing, weights)
    of_rows = weights.reshape(3, 4, 4)[:, groups[:, None], groups] * np.outer(omega, omega)  # (3, N, N)
    of_rows[:, np.eye(len(rows), dtype=bool)] = 0.0
    for kind, kernels in enumerate(radial.binned_kernels(table, bins, sigma)):
        found = mixed_kernel.sum_over_steps(kernels, places[smoothing], sums)
        for i, lam in enumerate(lams):
            exact = oracle.mixed_kernels(rows, rows, levels, all_steps[smoothing], RATIO, sigma, lam)[kind]
            exact *= np.exp(radial.log_scale(sigma, d))
            size = np.abs(of_rows * exact).sum(axis=(1, 2))
            error = found[i] - (of_rows * exact).sum(axis=(1, 2))
            assert (np.abs(error) / size).max() < (2e-4 if d else 1e-12)
