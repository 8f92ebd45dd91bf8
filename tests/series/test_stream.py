"""The model of a stream: scores by plain formulas, features of the same bits in any chunks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import densdiff as dd
from densdiff.core import selection
from densdiff.series.stream import StreamModel

FEATURES = np.random.default_rng(0).normal(size=(300, 2)) ** 2


def windows(rows, window):
    """The rows of every full window, (T - window + 1, window, width)."""
    return np.array([rows[end - window : end] for end in range(window, len(rows) + 1)])


def plain_scores(reference, rows, window, monitor, n_centers, standardize):
    """The window times h'R (S + s/10 I)^-1 R'h, with S the covariance of features psi R and s its mean variance.

    RR' = M = A + lam A^2 and A = (G + lam I)^-1, by an explicit inverse; axes with less than 1e-4 of the variance in
    all take no part.
    """
    mean, deviation = (reference.mean(axis=0), reference.std(axis=0)) if standardize else (0.0, 1.0)
    z, y = (reference - mean) / deviation, (rows - mean) / deviation
    centers = z[selection.draw_rows(monitor.seed_, len(z), n_centers)]
    sigma, lam = monitor.sigma_, monitor.lam_
    psi_z, psi_y = (np.exp(-cdist(a, centers, "sqeuclidean") / (2 * sigma**2)) for a in (z, y))
    gram = np.exp(-cdist(centers, centers, "sqeuclidean") / (4 * sigma**2))
    a = np.linalg.inv(gram + lam * np.eye(len(centers)))
    m = a + lam * a @ a
    root = np.linalg.cholesky(m)  # another root than the library's: they differ by a rotation
    variance, axes = np.linalg.eigh(np.cov((psi_z @ root).T))
    kept = np.cumsum(variance) >= 1e-4 * variance.sum()
    noise = variance[kept] + 0.1 * variance[kept].mean()
    gaps = (windows(psi_y, window).mean(axis=1) - psi_z.mean(axis=0)) @ root @ axes[:, kept]
    return window * (gaps**2 / noise).sum(axis=1)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize(("window", "standardize"), [(2, True), (3, False), (5, True), (10, True), (10, False)])
def test_the_score_is_e6_in_units_of_noise(d, window, standardize):
    random = np.random.default_rng([d, window])
    scale = np.array([1.0, 30.0, 0.2])[:d]
    reference = random.normal(size=(400, d)) * scale + 5
    rows = random.standard_t(3, size=(3 * window, d)) * scale + 5
    model = dd.LSDD(solver="centers", n_centers=25, standardize=standardize)
    monitor = dd.ChangeMonitor(reference, window=window, run_length=window + 20, model=model, random_state=window)
    steps = monitor.update_many(rows)
    assert [step.score for step in steps[: window - 1]] == [None] * (window - 1)
    found = [step.score for step in steps[window - 1 :]]
    np.testing.assert_allclose(found, plain_scores(reference, rows, window, monitor, 25, standardize), rtol=1e-11)


def test_sigma_and_lam_of_the_model_are_taken_in_the_units_of_the_data():
    random = np.random.default_rng(0)
    reference, rows = random.normal(size=(200, 2)) * 40, random.normal(size=(12, 2)) * 40
    model = dd.LSDD(sigma=25.0, lam=0.3, solver="centers", n_centers=10, standardize=False)
    monitor = dd.ChangeMonitor(reference, window=4, run_length=20, model=model, random_state=1)
    assert (monitor.sigma_, monitor.lam_) == (25.0, 0.3)
    found = [step.score for step in monitor.update_many(rows)[3:]]
    np.testing.assert_allclose(found, plain_scores(reference, rows, 4, monitor, 10, False), rtol=1e-11)


@given(seed=st.integers(0, 99), d=st.integers(1, 5), sizes=st.lists(st.integers(0, 30), min_size=1, max_size=5))
def test_features_have_the_same_bits_in_any_chunks(seed, d, sizes):
    random = np.random.default_rng(seed)
    model = StreamModel.of(random.normal(size=(60, d)), dd.LSDD(solver="centers", n_centers=17), seed)
    rows = random.normal(size=(sum(sizes), d))
    whole = model.features(rows)
    p = model.turn.shape[1]
    assert whole.shape == (len(rows), p)
    assert 1 <= p <= 17
    parts = [model.features(part) for part in np.split(rows, np.cumsum(sizes))]
    single = [model.features(row[None]) for row in rows]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(np.concatenate([np.empty((0, p)), *single]), whole)


def test_a_model_goes_through_arrays_and_back_bit_by_bit():
    random = np.random.default_rng(0)
    model = StreamModel.of(random.normal(size=(60, 3)), dd.LSDD(solver="centers", n_centers=9), 0)
    again = StreamModel.from_arrays(model.arrays())
    rows = random.normal(size=(20, 3))
    np.testing.assert_array_equal(model.features(rows), again.features(rows))
    assert (again.sigma, again.lam) == (model.sigma, model.lam)


def test_a_row_far_from_all_centers_has_features_of_zero():
    model = StreamModel.of(FEATURES, dd.LSDD(solver="centers", n_centers=9), 0)
    assert not model.features(np.array([[1e300, 0.0], [-1.7e308, 1.7e308]])).any()
    assert model.features(FEATURES[:2]).all()


@given(seed=st.integers(0, 99), d=st.integers(1, 4))
def test_features_of_the_reference_are_not_correlated_and_have_at_most_unit_noise(seed, d):
    rows = np.random.default_rng(seed).standard_t(4, size=(300, d))
    model = StreamModel.of(rows, dd.LSDD(solver="centers", n_centers=17), seed)
    covariance = np.atleast_2d(np.cov(model.features(rows).T))
    variance = np.diag(covariance)
    np.testing.assert_allclose(covariance, np.diag(variance), atol=1e-8)
    assert (variance > 0).all()
    assert (np.diff(variance) >= 0).all()
    assert 0.5 < variance[-1] < 1  # of the loudest axis, and a tenth of the mean in its noise
