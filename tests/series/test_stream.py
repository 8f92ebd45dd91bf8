"""The model of a stream: scores by plain formulas, features of the same bits in any chunks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist

import densdiff as dd
from densdiff.core import selection
from densdiff.series.stream import StreamModel

FEATURES = np.random.default_rng(0).normal(size=(300, 2)) ** 2


def plain_features(reference, rows, monitor, n_centers, standardize):
    """Values cut 4 deviations from the median, their squares, pairs, and kernels psi R on whitened axes.

    RR' = M = A + lam A^2 and A = (G + lam I)^-1, by an explicit inverse; axes with less than 1e-4 of the variance in
    all take no part. Four groups, each of the reference and of the rows.
    """
    mean, deviation = (reference.mean(axis=0), reference.std(axis=0)) if standardize else (0.0, 1.0)
    inner = [(x - mean) / deviation for x in (reference, rows)]
    lower, median, upper = np.quantile(inner[0], (0.25, 0.5, 0.75), axis=0)
    reach = 4.0 * (upper - lower) / 1.349
    cut = [np.clip(x, median - reach, median + reach) for x in inner]
    values = [x - cut[0].mean(axis=0) for x in cut]
    squares = [x**2 for x in values]
    if values[0].shape[1] > 1:
        weights = 1.0 / cut[0].var(axis=0)
        squares = [np.column_stack([x @ weights, x]) for x in squares]
    first, second = np.triu_indices(values[0].shape[1], 1)
    pairs = [x[:, first] * x[:, second] for x in values]
    centers = inner[0][selection.draw_rows(monitor.seed_, len(reference), n_centers)]
    sigma, lam = monitor.sigma_, monitor.lam_
    psi = [np.exp(-cdist(x, centers, "sqeuclidean") / (2 * sigma**2)) for x in inner]
    gram = np.exp(-cdist(centers, centers, "sqeuclidean") / (4 * sigma**2))
    a = np.linalg.inv(gram + lam * np.eye(len(centers)))
    root = np.linalg.cholesky(a + lam * a @ a)  # another root than the library's: they differ by a rotation
    variance, axes = np.linalg.eigh(np.cov((psi[0] @ root).T))
    kept = np.cumsum(variance) > 1e-4 * variance.sum()
    noise = variance[kept] + 0.1 * variance[kept].mean()
    kernels = [x @ root @ axes[:, kept] / np.sqrt(noise) for x in psi]
    return values, squares, pairs, kernels


def plain_scores(reference, rows, window, monitor, n_centers, standardize):
    """The largest part over what it seldom exceeds: sums with their weights and odds of every change written out."""
    groups = plain_features(reference, rows, monitor, n_centers, standardize)
    score = monitor._detector.score
    names, scores = list(score.bank.groups.summed), np.zeros(len(rows))
    for pace, decay in enumerate(score.bank.decay):
        weights = np.tril(decay ** np.subtract.outer(np.arange(len(rows)), np.arange(len(rows))).clip(0))
        for name, (own, new) in zip(("levels", "spreads", "pairs", "kernels"), groups, strict=True):
            if name in names:
                noise = 1.0 if name == "kernels" else own.var(axis=0)
                square = (weights @ (new - own.mean(axis=0))) ** 2 * (1 - decay**2) / noise
                scores = np.maximum(scores, square.sum(axis=1) / score.heights[pace, names.index(name)])
    gaps = np.hstack([new - own.mean(axis=0) for own, new in groups[:3]])
    own = np.hstack([own - own.mean(axis=0) for own, _ in groups[:3]])
    total = np.zeros(len(rows))
    hypotheses, enough = score.hypotheses, np.exp(score.evidence * monitor.threshold_)
    sizes = hypotheses.slope / np.sqrt(score.bank.precision[hypotheses.feature])  # in deviations: units may differ
    for feature, size, weight in zip(hypotheses.feature, sizes, hypotheses.weight, strict=True):
        slope = size / own[:, feature].std()
        mean = np.exp(slope * own[:, feature]).mean()
        most, odds = enough * mean**window / weight, 0.0
        for t, gap in enumerate(gaps[:, feature]):
            odds = min((1.0 + odds) * np.exp(slope * gap) / mean, most)
            total[t] += weight * odds
    return np.maximum(scores, np.log1p(total) / score.evidence)[window - 1 :]


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize(("window", "standardize"), [(2, True), (3, False), (10, True)])
def test_the_score_is_the_largest_statistic_in_units_of_its_height(d, window, standardize):
    random = np.random.default_rng([d, window])
    scale = np.array([1.0, 30.0, 0.2])[:d]
    reference = random.normal(size=(400, d)) * scale + 5
    rows = random.standard_t(3, size=(30, d)) * scale + 5
    model = dd.LSDD(solver="centers", n_centers=20, standardize=standardize)
    monitor = dd.ChangeMonitor(reference, window=window, run_length=window + 20, model=model, random_state=window)
    steps = monitor.update_many(rows)
    assert [step.score for step in steps[: window - 1]] == [None] * (window - 1)
    found = [step.score for step in steps[window - 1 :]]
    np.testing.assert_allclose(
        found, plain_scores(reference, rows, window, monitor, 20, standardize), rtol=2e-6
    )  # costs are told by single precision


def test_sigma_and_lam_of_the_model_are_taken_in_the_units_of_the_data():
    random = np.random.default_rng(0)
    reference, rows = random.normal(size=(200, 2)) * 40, random.normal(size=(12, 2)) * 40
    model = dd.LSDD(sigma=25.0, lam=0.3, solver="centers", n_centers=10, standardize=False)
    monitor = dd.ChangeMonitor(reference, window=4, run_length=20, model=model, random_state=1)
    assert (monitor.sigma_, monitor.lam_) == (25.0, 0.3)
    found = [step.score for step in monitor.update_many(rows)[3:]]
    np.testing.assert_allclose(found, plain_scores(reference, rows, 4, monitor, 10, False), rtol=2e-6)


@given(seed=st.integers(0, 99), d=st.integers(1, 5), sizes=st.lists(st.integers(0, 30), min_size=1, max_size=5))
def test_features_have_the_same_bits_in_any_chunks(seed, d, sizes):
    random = np.random.default_rng(seed)
    model = StreamModel.of(random.normal(size=(60, d)), dd.LSDD(solver="centers", n_centers=17), seed)
    rows = random.normal(size=(sum(sizes), d))
    whole = model.features(rows)
    p = d + d + (d > 1) + d * (d - 1) // 2 + model.turn.shape[1]
    assert whole.shape == (len(rows), p)
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


def test_a_row_far_from_all_centers_has_no_kernels_and_values_at_their_ends():
    model = StreamModel.of(FEATURES, dd.LSDD(solver="centers", n_centers=9), 0)
    found = model.features(np.array([[1e300, -1e300], [1.7e308, -1.7e308]]))
    assert not found[:, model.groups.single :].any()
    np.testing.assert_array_equal(found[:, :2], [[model.high[0], model.low[1]] - model.middle] * 2)


def test_a_column_of_two_values_has_no_square_and_of_many_columns_some_pairs_are_drawn():
    random = np.random.default_rng(0)
    rows = np.column_stack([random.integers(0, 2, 200), random.normal(size=200)]).astype(float)
    groups = StreamModel.of(rows, dd.LSDD(solver="centers", n_centers=9), 0).groups
    assert (groups.levels, groups.spreads, groups.pairs) == (2, 1, 1)
    many = StreamModel.of(random.normal(size=(80, 60)), dd.LSDD(solver="centers", n_centers=9), 0)
    pairs = many.factors[:, many.n_squares :]
    assert many.groups.pairs == 500 == len(np.unique(pairs, axis=1).T)
    assert (pairs[0] < pairs[1]).all()


@given(seed=st.integers(0, 99), d=st.integers(1, 4))
def test_kernels_of_the_reference_are_not_correlated_and_have_at_most_unit_noise(seed, d):
    rows = np.random.default_rng(seed).standard_t(4, size=(300, d))
    model = StreamModel.of(rows, dd.LSDD(solver="centers", n_centers=17), seed)
    covariance = np.atleast_2d(np.cov(model.features(rows)[:, model.groups.single :].T))
    variance = np.diag(covariance)
    np.testing.assert_allclose(covariance, np.diag(variance), atol=1e-8)
    assert (variance > 0).all()
    assert (np.diff(variance) <= 0).all()
    assert 0.5 < variance[0] < 1  # of the loudest axis, and a tenth of the mean in its noise


def test_without_a_model_sigma_is_a_median_and_lam_a_tenth_of_a_mean_row_sum():
    reference = np.random.default_rng(0).normal(size=(400, 2)) * [1, 9]
    monitor = dd.ChangeMonitor(reference, window=5, run_length=20, random_state=3)
    z = (reference - reference.mean(axis=0)) / reference.std(axis=0)
    centers = z[selection.draw_rows(3, 400, 150)]
    assert monitor.sigma_ == pytest.approx(np.median(pdist(centers)), rel=1e-13)
    gram = np.exp(-cdist(centers, centers, "sqeuclidean") / (4 * monitor.sigma_**2))
    assert monitor.lam_ == pytest.approx(0.1 * gram.sum() / 150, rel=1e-12)
