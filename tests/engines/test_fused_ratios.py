"""Compiled EM takes the same steps as that of NumPy, its twin, and is taken where it pays."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from densdiff import engines
from densdiff.core import density_ratio
from densdiff.engines import ratio_climbs
from tests import oracle


@pytest.fixture(scope="module")
def climb():
    pytest.importorskip("numba")
    return ratio_climbs._fused()


def problems(seed, n, b, count, sigma, *, even=True, far=0.0):
    """Features, weights, means and starts of problems over the same rows, each without some rows and centers."""
    random = np.random.default_rng([seed, n, b, count])
    rows, centers = random.normal(size=(n, 2)), random.normal(size=(b, 2))
    rows[0] += far
    centers[0] += far
    psi = oracle.psi(rows, centers, sigma)
    psi[psi < density_ratio.LEAST] = 0.0
    weights_x, weights_y = (random.random((n, count)) < 0.6 for _ in range(2))
    weights_x[random.integers(n), :] = weights_y[random.integers(n), :] = True
    weights_x = weights_x * (1.0 if even else random.exponential(size=(n, count)))
    start = (random.random((b, count)) < 0.7) * 1.0
    start[random.integers(b), :] = 1.0
    weights_x, weights_y, start = (part / part.sum(axis=0) for part in (weights_x, weights_y, start))
    return psi, weights_x, psi.T @ weights_y, start


# sizes on both sides of the eight rows that are taken at once
@settings(max_examples=40)
@given(
    st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 30), st.floats(0.3, 3.0), st.booleans(), st.integers(0, 6)
)
def test_compiled_steps_are_those_of_numpy(climb, seed, n, b, sigma, even, cycles):
    case = problems(seed, n, b, 4, sigma, even=even)
    expected, expected_gap = density_ratio.climb(*case, 0.0, cycles)
    found, gap = climb(*case, 0.0, cycles)
    # rounding of a few eps grows by the extrapolation, at most fourfold longer a cycle, and by the features' scale
    np.testing.assert_allclose(found * case[2], expected * case[2], atol=1e-9)
    np.testing.assert_allclose(gap, expected_gap, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("far", [0.0, 40.0])
@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("sigma", [2.0, 0.6, 0.2])
def test_compiled_fits_end_where_those_of_numpy_do(climb, sigma, even, far):
    psi, weights, means, start = case = problems(1, 60, 50, 6, sigma, even=even, far=far)
    copies = [part.copy() for part in case]
    found, gap = climb(*case, density_ratio.FOLD_GAP, density_ratio.MOST_CYCLES)
    expected, expected_gap = density_ratio.climb(*case, density_ratio.FOLD_GAP, density_ratio.MOST_CYCLES)
    assert gap.max() <= density_ratio.FOLD_GAP
    np.testing.assert_allclose(gap, expected_gap, rtol=1e-6)
    logs = [(weights * density_ratio.log_ratios(psi, alpha)).sum(axis=0) for alpha in (found, expected)]
    np.testing.assert_allclose(logs[0], logs[1], rtol=1e-7, atol=1e-7)
    assert not found[start == 0].any()
    assert found.min() >= 0
    assert np.einsum("lc,lc->c", np.maximum(means, density_ratio.LEAST), found) == pytest.approx(np.ones(6))
    for part, copy in zip(case, copies, strict=True):
        np.testing.assert_array_equal(part, copy)


def test_relabellings_choose_the_same_sigma_with_compiled_steps(climb):
    random = np.random.default_rng(4)
    rows = random.normal(size=(45, 1))
    squared, sigmas = np.square(rows - rows.T), np.array([2.0, 1.0, 0.5, 0.25])
    members = random.permuted(np.tile(np.arange(45) < 25, (7, 1)), axis=1)
    folds = random.permuted(np.tile(np.arange(45) % 3, (7, 1)), axis=1)
    expected = density_ratio.permuted_divergences(squared, sigmas, members, folds)
    found = density_ratio.permuted_divergences(squared, sigmas, members, folds, climb=climb)
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_array_equal(found[0], expected[0])  # the last fits are NumPy's


def test_only_work_that_pays_for_the_start_is_compiled(climb):
    assert ratio_climbs.climb_for(100 * 5 * 15, 100, 100) is climb
    assert ratio_climbs.climb_for(20 * 5 * 15, 50, 50) is density_ratio.climb


def test_without_numba_the_steps_are_numpys(monkeypatch):
    for name in ("fused_ratios", "compiling"):
        monkeypatch.delitem(sys.modules, f"densdiff.engines.{name}", raising=False)
        monkeypatch.delattr(engines, name, raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)
    ratio_climbs._fused.cache_clear()
    try:
        assert ratio_climbs.climb_for(10**6, 100, 100) is density_ratio.climb
    finally:
        ratio_climbs._fused.cache_clear()
