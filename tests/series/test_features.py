"""Features of a series: their distances are those of the kernel, in any number of blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import densdiff as dd
from densdiff.core import selection
from densdiff.series.features import KEPT, MOST_FEATURES, series_features
from densdiff.solvers.centers import CenterKernel


@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 3))
def test_squared_mean_differences_of_features_are_the_distance_of_the_kernel(seed, lag, d):
    """E6 of two stretches is |R'(mean psi - mean psi)|^2; turned axes keep KEPT of it, or all if none is left out."""
    rows = np.random.default_rng(seed).normal(size=(50, d))
    found = series_features(rows, lag, dd.LSDD(solver="centers", n_centers=12), seed)
    centers = found.vectors[selection.draw_rows(seed, len(found.vectors), 12)]
    unit = np.sqrt(np.square(found.vectors).sum(axis=1).max())
    every = CenterKernel(centers, unit, _inner(found, centers)).features(
        _inner(found, centers), found.lam, found.vectors
    )
    whole = np.square(every[:20].mean(axis=0) - every[25:].mean(axis=0)).sum()
    own = found.values[:, : found.n_own]
    turned = np.square(own[:20].mean(axis=0) - own[25:].mean(axis=0)).sum()
    assert turned <= whole * (1 + 1e-5)  # single precision
    spread = (every - every.mean(axis=0)).var(axis=0).sum()
    assert own.var(axis=0).sum() >= (KEPT if found.n_own < MOST_FEATURES else 0.5) * spread * (1 - 1e-5)


def test_features_of_single_samples_stand_beside_those_of_subsequences():
    """At the middle of each subsequence, of the same variance in all; without a lag there is nothing to add."""
    rows = np.random.default_rng(0).normal(size=(200, 2))
    model = dd.LSDD(solver="centers", n_centers=30)
    found = series_features(rows, 5, model, 0)
    beside = found.values[:, found.n_own :]
    assert beside.shape == (196, min(beside.shape[1], MOST_FEATURES // 2))
    assert beside.var(axis=0).sum() == pytest.approx(found.values[:, : found.n_own].var(axis=0).sum())
    single = series_features(rows, 1, model, 0)
    assert single.n_own == single.values.shape[1]
    assert beside.shape[1] > 0
    own = single.values[2:198, : beside.shape[1]]
    ratio = np.sqrt(beside.var(axis=0).sum() / own.var(axis=0).sum())
    np.testing.assert_allclose(beside, ratio * (own - own.mean(axis=0)), atol=1e-10)


def _inner(found, centers):
    """Sigma as the features use it: the median distance of centers that differ."""
    squared = np.square(centers[:, None] - centers[None]).sum(axis=2)[np.triu_indices(len(centers), 1)]
    return float(np.sqrt(np.median(squared[squared > 0])))


def test_features_are_centred_and_few():
    rows = np.random.default_rng(0).normal(size=(3000, 2))
    found = series_features(rows, 3, dd.LSDD(solver="centers", n_centers=150), 0)
    assert found.values.shape[0] == 2998
    assert 1 <= found.n_own <= MOST_FEATURES
    assert found.values.shape[1] <= 1.5 * MOST_FEATURES
    np.testing.assert_allclose(found.values.mean(axis=0), 0, atol=1e-12)
    assert found.n_centers == 150


def test_features_of_many_blocks_are_those_of_one(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(300, 2))
    model = dd.LSDD(solver="centers", n_centers=20)
    whole = series_features(rows, 2, model, 0).values
    monkeypatch.setattr("densdiff.series.features._BLOCK", 37)
    np.testing.assert_allclose(series_features(rows, 2, model, 0).values, whole, rtol=1e-9, atol=1e-12)


def test_sigma_is_told_in_standardized_units_and_follows_them():
    """As LSDD does: with standardize=True sigma has no unit, without it that of the data."""
    rows = np.random.default_rng(0).normal(size=(200, 1)) * 2.0**10
    model = dd.LSDD(solver="centers", n_centers=30)
    plain = dd.LSDD(solver="centers", n_centers=30, standardize=False)
    assert series_features(rows, 1, model, 0).sigma == pytest.approx(series_features(rows / 2**10, 1, model, 0).sigma)
    assert series_features(rows, 1, plain, 0).sigma == pytest.approx(
        2**10 * series_features(rows / 2**10, 1, plain, 0).sigma
    )
