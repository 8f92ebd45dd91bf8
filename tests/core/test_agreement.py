"""The coefficients of E16 against a product of polynomials, one pair at a time, and what holds for all of them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import agreement

RATIO = 10 ** (-1 / 3)
FAR = 10_000  # a last step that none reaches


def brute_coefficients(agree, levels, steps):
    """Coefficients of the product over columns by explicit subsets, as {t: e_t}."""
    e = {}
    for subset in product([False, True], repeat=len(levels)):
        factors = [m - 1 / k if taken else 1 / k for m, k, taken in zip(agree, levels, subset, strict=True)]
        t = sum(a for a, taken in zip(steps, subset, strict=True) if taken)
        e[t] = e.get(t, 0.0) + np.prod(factors)
    return e


def polynomial_of(levels, steps, last=FAR):
    return agreement.agreement_polynomials(np.array(levels, int), [np.array(steps, int)], RATIO, last)[0]


columns = st.lists(st.tuples(st.sampled_from([1, 2, 3, 7, 1000]), st.integers(0, 6)), min_size=1, max_size=6)


def codes_of(seed, n, levels):
    random = np.random.default_rng(seed)
    return np.column_stack([random.integers(0, min(k, 3), n) for k in levels])


@given(columns=columns, seed=st.integers(0, 1000))
def test_coefficients_of_pairs_equal_a_sum_over_subsets_of_columns(columns, seed):
    levels, steps = zip(*columns, strict=True)
    polynomial = polynomial_of(levels, steps)
    a, b = codes_of(seed, 3, levels), codes_of(seed + 1, 4, levels)
    found = polynomial.of_pairs(a, b)
    for i, j in product(range(3), range(4)):
        expected = brute_coefficients(a[i] == b[j], levels, steps)
        assert set(expected) == set(polynomial.exponents)
        np.testing.assert_allclose(found[:, i, j], [expected[t] for t in polynomial.exponents], atol=1e-15)


@given(columns=columns, seed=st.integers(0, 1000), last=st.integers(0, 40))
def test_tables_and_the_recursion_give_the_same(columns, seed, last):
    """One table for all columns, products of tables of some of them, and one column after the other."""
    levels, steps = zip(*columns, strict=True)
    a, b = codes_of(seed, 5, levels), codes_of(seed + 1, 2, levels)
    expected = polynomial_of(levels, steps, last).coefficients(np.equal(a.T[:, :, None], b.T[:, None, :]))
    with pytest.MonkeyPatch.context() as patch:
        for most_classes, of_a_part in ((1 << 16, 0), (0, 1), (0, 5), (0, 1 << 12)):
            patch.setattr(agreement, "_TABLE_CLASSES", most_classes)
            patch.setattr(agreement, "_PART_CLASSES", of_a_part)
            found = polynomial_of(levels, steps, last).of_pairs(a, b)
            np.testing.assert_allclose(found, expected, atol=1e-15)


@given(columns=columns, seed=st.integers(0, 1000), last=st.integers(0, 40))
def test_coefficients_sum_to_one_at_most(columns, seed, last):
    levels, steps = zip(*[(max(2, k), a) for k, a in columns], strict=True)
    codes = codes_of(seed, 6, levels)
    polynomial = polynomial_of(levels, steps, last)
    assert np.abs(polynomial.of_pairs(codes, codes)).sum(axis=0).max() <= 1 + 1e-14
    assert polynomial.of_equal_rows.min() >= 0
    if last >= polynomial.steps.sum():
        assert polynomial.of_equal_rows.sum() == pytest.approx(1.0, rel=1e-14)


@given(columns=columns, seed=st.integers(0, 1000), last=st.integers(0, 12))
def test_steps_beyond_the_last_are_counted_there_with_what_a_gaussian_loses(columns, seed, last):
    levels, steps = zip(*columns, strict=True)
    a, b = codes_of(seed, 2, levels), codes_of(seed + 1, 3, levels)
    full, folded = polynomial_of(levels, steps), polynomial_of(levels, steps, last)
    expected = np.zeros((last + 1, 2, 3))
    for t, e in zip(full.exponents, full.of_pairs(a, b), strict=True):
        expected[min(t, last)] += e * RATIO ** max(0, t - last)
    assert folded.exponents.max() <= last
    np.testing.assert_allclose(folded.of_pairs(a, b), expected[folded.exponents], atol=1e-14)


@given(columns=columns, seed=st.integers(0, 1000))
def test_without_steps_only_rows_that_agree_everywhere_count(columns, seed):
    levels = [k for k, _ in columns]
    a, b = codes_of(seed, 5, levels), codes_of(seed + 1, 5, levels)
    polynomial = polynomial_of(levels, [0] * len(levels))
    np.testing.assert_array_equal(polynomial.exponents, [0])
    np.testing.assert_array_equal(polynomial.of_pairs(a, b)[0], (a[:, None] == b).all(axis=2))


def test_columns_that_are_alike_share_classes():
    levels = np.array([2] * 20)
    first, second = agreement.agreement_polynomials(levels, [np.full(20, 1), np.full(20, 3)], RATIO, FAR)
    assert first.classes.count == second.classes.count == 21
    np.testing.assert_array_equal(first.exponents, np.arange(21))
    np.testing.assert_array_equal(second.exponents, 3 * np.arange(21))
    random = np.random.default_rng(0)
    a, b = random.integers(0, 2, (4, 20)), random.integers(0, 2, (3, 20))
    np.testing.assert_array_equal(first.classes.of_pairs(a, b), (a[:, None] == b).sum(axis=2))
    apart = agreement.agreement_polynomials(levels[:3], [np.array([1, 1, 1]), np.array([1, 2, 1])], RATIO, FAR)[0]
    assert apart.classes.count == 6  # the second smoothing tells the column in the middle from the others


@given(columns=columns)
def test_examples_belong_to_their_classes(columns):
    levels, steps = zip(*columns, strict=True)
    classes = polynomial_of(levels, steps).classes
    examples = classes.examples().astype(int)
    np.testing.assert_array_equal(
        classes.of_pairs(examples, np.ones((1, len(levels)), int))[:, 0], range(classes.count)
    )


def test_hundreds_of_columns_with_thousands_of_levels_stay_finite():
    levels = np.arange(1000, 1300)
    steps = agreement.agreement_steps(levels, 5, RATIO)
    polynomial = polynomial_of(levels, steps, agreement.last_step(1e-6, RATIO))
    codes = np.random.default_rng(0).integers(0, 2, (3, 300))
    found = polynomial.of_pairs(codes, codes)
    assert found.shape == (len(polynomial.exponents), 3, 3)
    assert np.isfinite(found).all()
    assert np.abs(found).sum(axis=0).max() <= 1 + 1e-12


def test_steps_grow_with_the_number_of_levels():
    levels = np.array([1, 2, 3, 11, 1001])
    np.testing.assert_array_equal(agreement.agreement_steps(levels, 0, RATIO), 0)
    np.testing.assert_array_equal(agreement.agreement_steps(levels, 2, RATIO), [2, 2, 3, 5, 11])


@pytest.mark.parametrize("lam", [1e-8, 0.1, 1e11, 1e20])
def test_last_step_is_the_first_that_is_large_enough(lam):
    last = agreement.last_step(lam, RATIO)
    assert lam * RATIO**-last >= 1e12 * (1 - 1e-9)
    assert last == 0 or lam * RATIO ** -(last - 1) < 1e12


def test_stepped_lams_meet_the_ladder():
    lams = 0.1 * RATIO ** np.arange(10)
    levels = np.array([2, 5])
    polynomials = agreement.agreement_polynomials(levels, [np.array([0, 0]), np.array([1, 4])], RATIO, FAR)
    every, rows = agreement.stepped_lams(lams, polynomials)
    np.testing.assert_array_equal(every[:10], lams)  # bit for bit: tables of numbers alone stay what they are
    assert len(every) == 15
    for polynomial, index in zip(polynomials, rows, strict=True):
        expected = lams[:, None] * RATIO ** -polynomial.exponents.astype(float)
        np.testing.assert_allclose(every[index], expected, rtol=1e-13)


def test_stepped_lams_off_the_ladder_are_all_there():
    lams = np.array([0.3, 1.0, 0.01])
    polynomials = agreement.agreement_polynomials(np.array([3]), [np.array([2])], RATIO, FAR)
    every, (rows,) = agreement.stepped_lams(lams, polynomials)
    np.testing.assert_allclose(every[rows], lams[:, None] * RATIO ** np.array([0.0, -2.0]), rtol=1e-15)
    assert len(every) == 6
