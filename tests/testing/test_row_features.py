"""Features of rows: each against its definition by loops, of rows they were made of and of others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import eval_legendre
from scipy.stats import norm

from densdiff.testing import row_features
from densdiff.testing.row_features import LevelFeatures, NumberFeatures, QuadraticForms, RowFeatures

single = {"rtol": 2e-6, "atol": 2e-6}  # features are of single precision
numbers = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30)
tied = st.lists(st.integers(0, 4).map(float), min_size=2, max_size=30)


def plain_share(value, values):
    """The share of values below one, equal ones counted as half."""
    return sum((other < value) + 0.5 * (other == value) for other in values) / len(values)


def plain_raw(share):
    score, u = norm.ppf(share), 2 * share - 1
    return [score, score**2, eval_legendre(3, u), eval_legendre(4, u)]


def plain_number_features(values):
    """Features of numbers, (n, <= 4), from the definition."""
    raw = np.array([plain_raw(plain_share(value, values)) for value in values])
    kept = [
        weight * (feature - feature.mean()) / feature.std()
        for weight, feature in zip((1, 1 / 2, 1 / 3, 1 / 4), raw.T, strict=True)
        if feature.std() > 1e-9
    ]
    return np.column_stack(kept) if kept else np.zeros((len(values), 1))


def plain_level_features(codes):
    """Indicators of levels, (n, <= 7): the six most frequent, the lower code first of equally frequent ones."""
    frequent = sorted(set(codes), key=lambda code: (-codes.count(code), code))
    ranks = [min(frequent.index(code), 6) for code in codes]
    columns = [[float(rank == k) for rank in ranks] for k in range(max(ranks) + 1)]
    kept = [(np.array(column) - np.mean(column)) / np.std(column) for column in columns if np.std(column) > 0]
    return np.column_stack(kept) if kept else np.zeros((len(codes), 1))


# --- numbers


@given(numbers | tied)
def test_features_of_numbers_are_as_defined(values):
    values = np.array(values)
    found = NumberFeatures.of(values)(values)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, plain_number_features(values.tolist()), **single)


def test_features_have_mean_zero_and_deviations_that_fall():
    random = np.random.default_rng(0)
    for values in (random.normal(size=500), np.round(random.normal(size=500)), random.poisson(0.3, 500).astype(float)):
        found = NumberFeatures.of(values)(values)
        assert found.shape == (500, 4)
        np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-6)
        np.testing.assert_allclose(found.std(axis=0), [1, 1 / 2, 1 / 3, 1 / 4], rtol=1e-5)


def test_features_of_a_number_see_its_ranks_alone():
    values = np.random.default_rng(1).normal(size=60)
    np.testing.assert_array_equal(NumberFeatures.of(values)(values), NumberFeatures.of(np.exp(values))(np.exp(values)))


def test_a_value_that_was_not_seen_lies_between_its_neighbours_and_none_lies_beyond_the_last():
    values = np.array([3.0, 1.0, 7.0, 3.0, 5.0])
    features = NumberFeatures.of(values)
    shares = {1.0: 0.1, 3.0: 0.4, 5.0: 0.7, 7.0: 0.9}
    raw = np.array([plain_raw(shares[value]) for value in values])
    for value, share in ((2.0, 0.25), (4.5, 0.625), (-9.0, 0.1), (1e9, 0.9), (5.0, 0.7)):
        expected = (plain_raw(share) - raw.mean(axis=0)) / raw.std(axis=0) / [1, 2, 3, 4]
        np.testing.assert_allclose(features(np.array([value]))[0], expected, **single)


def test_a_balanced_column_of_two_values_has_the_odd_features_only():
    found = NumberFeatures.of(np.array([0.0, 1.0] * 10))(np.array([0.0, 1.0]))
    np.testing.assert_allclose(found, [[-1.0, 1 / 3], [1.0, -1 / 3]], **single)


def test_a_column_that_does_not_vary_has_one_feature_of_zeros():
    for features in (NumberFeatures.of(np.full(9, 4.0)), LevelFeatures.of(np.full(9, 2.0), 3)):
        found = features(np.array([4.0, 1.0, 0.0] if isinstance(features, NumberFeatures) else [2.0, 1.0, 0.0]))
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, np.zeros((3, 1)))


# --- levels


@given(st.lists(st.integers(0, 11), min_size=2, max_size=40))
def test_features_of_levels_are_as_defined(codes):
    values = np.array(codes, dtype=float)
    found = LevelFeatures.of(values, 12)(values)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, plain_level_features(codes), **single)


def test_rare_levels_are_one_and_the_first_feature_is_the_most_frequent_level():
    codes = np.repeat(np.arange(10.0), [1, 1, 9, 8, 7, 6, 5, 4, 3, 2])
    features = LevelFeatures.of(codes, 10)
    found = features(np.arange(10.0))
    assert found.shape == (10, 7)
    np.testing.assert_array_equal(found[0], found[1])  # of 1 row each
    np.testing.assert_array_equal(found[0], found[8])
    assert found[2, 0] > 0 > found[3, 0]
    of_all = features(codes)
    np.testing.assert_allclose(of_all.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(of_all.std(axis=0), 1.0, rtol=1e-5)


def test_a_level_that_was_not_seen_is_none_of_those_that_were():
    features = LevelFeatures.of(np.array([0.0, 0.0, 2.0, 0.0]), 4)
    share, deviation = np.array([3 / 4, 1 / 4]), np.sqrt(3) / 4
    for code in (1.0, 3.0):
        np.testing.assert_allclose(features(np.array([code]))[0], -share / deviation, **single)


def test_a_level_that_was_not_seen_among_many_is_a_rare_one():
    features = LevelFeatures.of(np.repeat(np.arange(8.0), [9, 8, 7, 6, 5, 4, 3, 2]), 9)
    np.testing.assert_array_equal(features(np.array([8.0])), features(np.array([7.0])))


# --- quadratic forms


def plain_forms(z, points, most=10**6):
    """z'Mz with M = 1, S and 1 / (S + l), by explicit matrices; l in mean eigenvalues of S that are not 0."""
    n, d = z.shape
    covariance = z.T @ z / n
    values, vectors = np.linalg.eigh(covariance)
    kept = [i for i in np.argsort(-values) if values[i] > 1e-9 * values.max()][:most]
    covariance = sum(values[i] * np.outer(vectors[:, i], vectors[:, i]) for i in kept)
    mean = np.mean(values[kept])
    matrices = [np.eye(d), covariance, *(np.linalg.inv(covariance + share * mean * np.eye(d)) for share in (0.1, 1.0))]
    return np.array([[point @ matrix @ point for matrix in matrices] for point in points])


@pytest.mark.parametrize(("n", "d"), [(40, 1), (40, 6), (40, 39), (12, 12), (12, 30), (5, 60)])
def test_quadratic_forms_are_those_of_explicit_matrices(n, d):
    random = np.random.default_rng([n, d])
    z = (random.normal(size=(n, d)) @ random.normal(size=(d, d)) / np.sqrt(d)).astype(np.float32)
    others = random.normal(size=(7, d)).astype(np.float32)  # also off the space of the rows
    found = QuadraticForms.of(z)
    for points in (z, others):
        np.testing.assert_allclose(found(points), plain_forms(z.astype(float), points.astype(float)), rtol=1e-4)


def test_columns_that_are_copies_leave_the_other_axes_out():
    z = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    z = np.column_stack([z, z[:, 0], -z[:, 1]])
    np.testing.assert_allclose(QuadraticForms.of(z)(z), plain_forms(z.astype(float), z.astype(float)), rtol=1e-4)


@pytest.mark.parametrize("n", [40, 6])
def test_of_very_many_axes_those_of_most_variance_are_kept(monkeypatch, n):
    monkeypatch.setattr(row_features, "_MOST_AXES", 3)
    random = np.random.default_rng(1)
    z = (random.normal(size=(n, 8)) * 0.6 ** np.arange(8)).astype(np.float32)
    np.testing.assert_allclose(QuadraticForms.of(z)(z), plain_forms(z.astype(float), z.astype(float), 3), rtol=1e-4)


def test_forms_of_columns_that_do_not_vary_are_lengths_and_zero_covariance():
    found = QuadraticForms.of(np.zeros((5, 2), dtype=np.float32))(np.array([[0, 0], [3, 4]], dtype=np.float32))
    np.testing.assert_allclose(found, [[0, 0, 0, 0], [25, 0, 25, 25]])


# --- all features of rows


def mixed_rows(seed, total):
    """Two columns of numbers, then two of levels."""
    random = np.random.default_rng(seed)
    columns = random.normal(size=total), random.poisson(1.0, total), random.integers(0, 2, total)
    rare = np.minimum(random.geometric(0.25, total) - 1, 9)
    return np.column_stack([*columns, rare]).astype(float), np.array([2, 10])


def test_rows_have_the_features_of_their_columns_and_scores_of_their_forms():
    rows, levels = mixed_rows(0, 61)
    features, _ = RowFeatures.of(rows, levels)
    columns = features.columns(rows)
    plain = [plain_number_features(column.tolist()) for column in rows.T[:2]]
    plain += [plain_level_features(column.astype(int).tolist()) for column in rows.T[2:]]
    for found, expected in zip(columns, plain, strict=True):
        np.testing.assert_allclose(found, expected, **single)
    leading = np.column_stack([each[:, 0] for each in columns])
    forms = QuadraticForms.of(leading)(leading)
    scores = [plain_number_features(values.tolist()) for values in forms.T]
    expected = np.column_stack([*(each[:, 0] for each in scores), scores[0][:, 1]])
    found = features.together(columns)
    assert found.shape == (61, len(QuadraticForms.names) + 1) == (61, 5)
    np.testing.assert_allclose(found, expected, **single)
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-6)


def test_a_row_has_the_same_features_whichever_rows_come_with_it():
    rows, levels = mixed_rows(1, 80)
    features, _ = RowFeatures.of(rows[:50], levels)
    columns = features.columns(rows)
    together = features.together(columns)
    for start, stop in ((0, 13), (13, 80)):
        some = features.columns(rows[start:stop])
        for part, whole in zip(some, columns, strict=True):
            np.testing.assert_array_equal(part, whole[start:stop])
        np.testing.assert_allclose(features.together(some), together[start:stop], **single)
