"""Row sums of features: any block size, any order of groups, the plain sum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core.kernel import Categories
from densdiff.engines import kernel_sums
from densdiff.engines.kernel_sums import CenterFeatures
from densdiff.sources.array_sample import ArraySample
from densdiff.testing.units import UnitNumbers
from tests import oracle

SIGMAS = 1.5 * np.sqrt(2.0) ** -np.arange(5.0)


def case(seed, k, groups, d=3):
    random = np.random.default_rng([seed, k, groups])
    labels = random.permutation(np.arange(k) % groups)
    return random.normal(size=(k, d)), random.random(k), labels, random.normal(size=(11, d))


@given(
    seed=st.integers(0, 1000),
    k=st.integers(8, 90),
    groups=st.integers(1, 8),
    block_rows=st.integers(1, 100),
    direct=st.booleans(),
)
def test_blocks_of_any_size_equal_the_plain_sum(seed, k, groups, block_rows, direct):
    rows, weights, labels, centers = case(seed, k, groups)
    features = CenterFeatures(centers, SIGMAS, direct)
    found = kernel_sums.numpy_group_sums(rows, weights, labels, features, block_rows)
    whole = kernel_sums.numpy_group_sums(rows, weights, labels, features, block_rows=k)
    assert found.shape == (len(SIGMAS), groups, len(centers))
    np.testing.assert_allclose(found, whole, rtol=1e-12)
    for level, sigma in enumerate(SIGMAS):
        weighted = weights[:, None] * oracle.psi(rows, centers, sigma)
        expected = [weighted[labels == g].sum(axis=0) for g in range(groups)]
        np.testing.assert_allclose(found[level], expected, rtol=1e-10, atol=1e-13)


def test_default_blocks_of_many_rows_equal_one_block():
    rows, weights, labels, centers = case(1, 20_000, 20)
    assert len(rows) > kernel_sums.BLOCK_BYTES // (8 * len(centers))  # more than one block, or nothing is tested
    features = CenterFeatures(centers, SIGMAS, direct=True)
    found = kernel_sums.group_sums(rows, weights, labels, features)
    whole = kernel_sums.numpy_group_sums(rows, weights, labels, features, block_rows=len(rows))
    np.testing.assert_allclose(found, whole, rtol=1e-12)


def test_inputs_are_only_read():
    given_arrays = case(2, 30, 4)
    before = [array.copy() for array in given_arrays]
    for array in given_arrays:
        array.flags.writeable = False
    rows, weights, labels, centers = given_arrays
    kernel_sums.group_sums(rows, weights, labels, CenterFeatures(centers, SIGMAS, direct=True))
    for array, copy in zip(given_arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("shape", [(11,), (11, 3)])
@pytest.mark.parametrize("count", [0, 1, 10_000])
def test_evaluation_in_blocks_is_one_product(shape, count):
    random = np.random.default_rng(0)
    points, centers, coefficients = (
        random.normal(size=(count, 2)),
        random.normal(size=(11, 2)),
        random.normal(size=shape),
    )
    found = kernel_sums.evaluate(points, centers, coefficients, 0.7, direct=True)
    np.testing.assert_allclose(found, oracle.psi(points, centers, 0.7) @ coefficients, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("apart", [None, np.array([0.7])])
def test_sums_of_units_of_rows_are_those_of_all_sigmas_and_of_levels_as_far_apart_as_they_say(apart):
    rows, weights, _, centers = case(3, 50, 1)
    categories = None
    if apart is not None:
        rows[:, -1], centers[:, -1] = np.arange(50) % 3, np.arange(11) % 3
        categories = Categories(np.array([3]), apart=apart)
    units = UnitNumbers(50, 7, 6, 8, 3)  # six of seven rows, eight rows alone
    features = CenterFeatures(centers, SIGMAS, True, categories)
    (found,) = kernel_sums.sample_sums([(ArraySample(rows), weights, units)], features)
    assert found.shape == (len(SIGMAS), 14, len(centers))
    for sums, sigma in zip(found, SIGMAS, strict=True):
        inner, at = (part if apart is None else part[:, :-1] for part in (rows, centers))
        psi = oracle.psi(inner, at, sigma)
        if apart is not None:
            psi = psi * np.where(rows[:, -1:] == centers[:, -1], 1.0, np.exp(-0.35 / sigma**2))
        numbers = units.part(0, 50)
        expected = [(weights[:, None] * psi)[numbers == unit].sum(axis=0) for unit in range(14)]
        np.testing.assert_allclose(sums, expected, rtol=1e-10, atol=1e-13)
