"""Metrics learned from labels: against the formulas in plain loops, and what must not change them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from scipy.stats import f_oneway
from sklearn.covariance import ledoit_wolf_shrinkage

from densdiff.core.metric import ClassMoments, column_metric, direction_metric

seeds = st.integers(0, 2**32 - 1)


def column_map(rows, labels, weights):
    return np.diag(column_metric(ClassMoments.of(rows, labels, weights)))


def direction_map(rows, labels, weights):
    return direction_metric(ClassMoments.of(rows, labels, weights))


both = pytest.mark.parametrize("learn", [column_map, direction_map])


def classes(seed, n=30, d=4, k=3, apart=1.0):
    """Rows with correlated columns, labels in any order, every class at least twice."""
    random = np.random.default_rng([seed, n, d, k])
    labels = random.permutation(np.arange(n) % k)
    rows = random.normal(size=(n, d)) @ random.normal(size=(d, d))
    return rows + apart * random.normal(size=(k, d))[labels], labels


def even(labels):
    return np.full(len(labels), 1 / len(labels))


def residuals(rows, labels):
    return rows - np.array([rows[labels == label].mean(axis=0) for label in labels])


@given(seeds, st.integers(2, 5))
def test_columns_count_by_their_ratio_of_variances(seed, k):
    rows, labels = classes(seed, k=k)
    n, d = rows.shape
    within = [sum(np.square(residuals(rows, labels)[:, j])) / (n - k) for j in range(d)]
    expected = []
    for j in range(d):
        means = [rows[labels == c, j].mean() for c in range(k)]
        between = sum((mean - sum(means) / k) ** 2 for mean in means) / (k - 1) * n / k
        expected.append(np.sqrt(1 + np.sqrt(between / (within[j] + 0.05 * np.mean(within)))))
    np.testing.assert_allclose(column_map(rows, labels, even(labels)), np.diag(expected), rtol=1e-10)


def test_the_ratio_is_that_of_a_one_way_analysis_of_variance():
    rows, labels = classes(0)
    within = np.square(residuals(rows, labels)).sum(axis=0) / (len(rows) - 3)
    ratio = f_oneway(*(rows[labels == c] for c in range(3))).statistic * within / (within + 0.05 * within.mean())
    found = np.diag(column_map(rows, labels, even(labels)))
    np.testing.assert_allclose(np.square(np.square(found) - 1), ratio, rtol=1e-10)


@pytest.mark.parametrize(("n", "d"), [(30, 3), (200, 8), (24, 40)])
def test_directions_without_difference_are_whitened_as_ledoit_and_wolf_do(n, d):
    rows, labels = classes(1, n=n, d=d)
    left = residuals(rows, labels)  # class means all alike: no axis is stretched
    found = direction_map(left, labels, even(labels))
    scatter = left.T @ left / (n - 3)
    level, shrunk = np.trace(scatter) / d, np.linalg.inv(found @ found.T)
    away = scatter - level * np.eye(d)
    share = 1 - np.vdot(shrunk - level * np.eye(d), away) / np.vdot(away, away)
    np.testing.assert_allclose(shrunk, (1 - share) * scatter + share * level * np.eye(d), rtol=1e-6, atol=1e-9 * level)
    # scikit-learn divides by n where n - K is unbiased; that moves the share by no more than this
    factor, plain = n / (n - 3), left.T @ left / n
    most = (factor - 1) ** 2 * np.square(plain).sum() / n / np.square(away / factor).sum()
    assert share == pytest.approx(ledoit_wolf_shrinkage(left, assume_centered=True), abs=most + 1e-9)


@given(seeds, st.booleans())
def test_two_classes_are_told_apart_along_one_axis(seed, weighted):
    """Then the squared distance is Mahalanobis' plus F times the square along the discriminant, S^-1 delta."""
    rows, labels = classes(seed, n=40, k=2)
    n, d = rows.shape
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, size=n) if weighted else np.ones(n)
    weights /= weights.sum()
    found = direction_map(rows, labels, weights)
    means = np.array([np.average(rows[labels == c], axis=0, weights=weights[labels == c]) for c in range(2)])
    left, delta = rows - means[labels], means[1] - means[0]
    scatter = (left * weights[:, None]).T @ left * n / (n - 2)
    white = _shrunk(left, scatter, weights, n, 2)
    discriminant = np.linalg.solve(white, delta)
    length = delta @ discriminant
    floor = 0.05 * np.trace(np.linalg.solve(white, scatter)) / d
    ratio = length / 2 * n / 2 / (discriminant @ scatter @ discriminant / length + floor)
    expected = np.linalg.inv(white) + ratio * np.outer(discriminant, discriminant) / length
    np.testing.assert_allclose(found @ found.T, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


def _shrunk(left, scatter, weights, n, k):
    """Ledoit and Wolf's matrix with an explicit d x d matrix for each row."""
    level = np.trace(scatter) / len(scatter) * np.eye(len(scatter))
    noise = sum(w * np.square(np.outer(row, row) - scatter).sum() for w, row in zip(weights, left, strict=True))
    share = min(1.0, n / (n - k) ** 2 * noise / np.square(scatter - level).sum())
    return (1 - share) * scatter + share * level


@given(seeds)
def test_turning_the_columns_changes_no_distance_by_directions(seed):
    rows, labels = classes(seed)
    turned = rows @ np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]
    distances = [pdist(part @ direction_map(part, labels, even(labels))) for part in (rows, turned)]
    np.testing.assert_allclose(*distances, rtol=1e-7)


@both
@given(seed=seeds)
def test_renaming_classes_and_reordering_rows_change_no_distance(learn, seed):
    rows, labels = classes(seed)
    random = np.random.default_rng(seed)
    weights = random.uniform(0.5, 2, size=len(rows))
    weights /= weights.sum()
    expected = pdist(rows @ learn(rows, labels, weights))
    renamed = random.permutation(3)[labels]
    np.testing.assert_allclose(pdist(rows @ learn(rows, renamed, weights)), expected, rtol=1e-7)
    order = random.permutation(len(rows))
    reordered = learn(rows[order], labels[order], weights[order])
    np.testing.assert_allclose(pdist(rows @ reordered), expected, rtol=1e-7)


@both
def test_row_weights_count(learn):
    rows, labels = classes(2)
    weights = np.where(np.arange(30) < 15, 3.0, 1.0)
    plain, weighted = learn(rows, labels, even(labels)), learn(rows, labels, weights / weights.sum())
    assert not np.allclose(pdist(rows @ plain), pdist(rows @ weighted), rtol=1e-3)


@both
@pytest.mark.parametrize(
    "kind", ["constant", "no spread inside classes", "one column constant", "more columns than rows"]
)
def test_degenerate_rows_give_a_finite_metric(learn, kind):
    rows, labels = classes(4, n=12, d=40 if kind == "more columns than rows" else 3)
    if kind == "constant":
        rows = np.zeros_like(rows)
    elif kind == "no spread inside classes":
        rows = rows[:3][labels]
    elif kind == "one column constant":
        rows[:, 1] = 0.0
    found = learn(rows, labels, even(labels))
    assert np.isfinite(found).all()
    assert np.abs(found).max() > 0
