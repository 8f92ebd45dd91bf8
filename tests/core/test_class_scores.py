"""Weighted kernel least squares: against dense normal equations and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge as SklearnRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer

from densdiff.core.class_scores import FeatureRidge, KernelRidge, downhill, landmark_map, row_slices, turned

seeds = st.integers(0, 2**32 - 1)
LAMS = np.array([1e-3, 0.1, 3.0])


def problem(seed, n=25, m=7, d=2, k=3):
    """Kernel between training rows (n, n), from new rows (m, n), class indicators and uneven weights."""
    random = np.random.default_rng([seed, n, m, d, k])
    rows, new = random.normal(size=(n, d)), random.normal(size=(m, d))
    targets = np.eye(k)[random.integers(k, size=n)]
    weights = random.uniform(0.2, 2.0, size=n)
    return rbf_kernel(rows, gamma=0.3), rbf_kernel(new, rows, gamma=0.3), targets, weights / weights.sum()


def mean_eigenvalue(gram, weights):
    centre = np.eye(len(gram)) - weights  # subtracts the weighted mean of each row
    return np.trace(np.diag(weights) @ centre @ gram @ centre.T) / len(gram)


@given(seeds)
def test_scores_are_those_of_the_normal_equations(seed):
    """Features whose products are the kernel, and a constant: one least-squares problem, solved as it is written."""
    gram, cross, targets, weights = problem(seed)
    n, found = len(gram), KernelRidge(gram, targets, weights, LAMS).scores(cross)
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-13
    features = np.column_stack([vectors[:, kept] * np.sqrt(values[kept]), np.ones(n)])
    of_new = np.column_stack([cross @ vectors[:, kept] / np.sqrt(values[kept]), np.ones(len(cross))])
    for i, lam in enumerate(LAMS):
        penalty = np.sqrt(lam * mean_eigenvalue(gram, weights)) * np.eye(features.shape[1])[:-1]
        rows = np.concatenate([np.sqrt(weights)[:, None] * features, penalty])
        right = np.concatenate([np.sqrt(weights)[:, None] * targets, np.zeros((len(penalty), targets.shape[1]))])
        solution = np.linalg.lstsq(rows, right, rcond=None)[0]
        np.testing.assert_allclose(found[i], of_new @ solution, atol=1e-7)


@given(seeds)
def test_even_weights_are_scikit_learns_ridge_on_a_centred_kernel(seed):
    gram, cross, targets, _ = problem(seed)
    n = len(gram)
    even = np.full(n, 1 / n)
    found = KernelRidge(gram, targets, even, LAMS).scores(cross)
    centerer = KernelCenterer().fit(gram)
    for i, lam in enumerate(LAMS):
        peer = SklearnRidge(alpha=n * lam * mean_eigenvalue(gram, even), kernel="precomputed")
        peer.fit(centerer.transform(gram), targets - targets.mean(axis=0))
        expected = peer.predict(centerer.transform(cross)) + targets.mean(axis=0)
        np.testing.assert_allclose(found[i], expected, atol=1e-8)


@given(seeds)
def test_whole_weights_are_repeated_rows_at_the_same_penalty(seed):
    """The mean eigenvalue is over rows, so the unit of the penalty falls as rows are repeated; lam undoes that."""
    gram, cross, targets, _ = problem(seed)
    counts = np.random.default_rng(seed).integers(1, 4, size=len(gram))
    chosen = np.repeat(np.arange(len(gram)), counts)
    weighted = KernelRidge(gram, targets, counts / counts.sum(), LAMS).scores(cross)
    repeated = KernelRidge(
        gram[np.ix_(chosen, chosen)],
        targets[chosen],
        np.full(len(chosen), 1 / len(chosen)),
        LAMS * len(chosen) / len(gram),
    ).scores(cross[:, chosen])
    np.testing.assert_allclose(weighted, repeated, atol=1e-8)


@given(seeds)
def test_scores_of_the_classes_sum_to_one(seed):
    gram, cross, targets, weights = problem(seed)
    np.testing.assert_allclose(KernelRidge(gram, targets, weights, LAMS).scores(cross).sum(axis=2), 1, atol=1e-9)


@given(seeds, st.floats(-5, 5))
def test_a_constant_added_to_targets_or_kernel_changes_nothing_else(seed, constant):
    """The intercept is free: it takes up a constant of the targets, and a constant kernel has nothing left to say."""
    gram, cross, targets, weights = problem(seed)
    plain = KernelRidge(gram, targets, weights, LAMS).scores(cross)
    np.testing.assert_allclose(
        KernelRidge(gram, targets + constant, weights, LAMS).scores(cross), plain + constant, atol=1e-8
    )
    raised = KernelRidge(gram + abs(constant), targets, weights, LAMS).scores(cross + abs(constant))
    np.testing.assert_allclose(raised, plain, atol=1e-8)


@pytest.mark.parametrize("unit", [1e-14, 1e14])
def test_the_unit_of_the_kernel_changes_nothing(unit):
    gram, cross, targets, weights = problem(1)
    plain = KernelRidge(gram, targets, weights, LAMS).scores(cross)
    np.testing.assert_allclose(KernelRidge(unit * gram, targets, weights, LAMS).scores(unit * cross), plain, atol=1e-9)


def test_no_penalty_fits_and_a_great_one_gives_the_weighted_mean():
    gram, _, targets, weights = problem(0, n=8, d=6)
    tight, flat = KernelRidge(gram, targets, weights, np.array([1e-9, 1e12])).scores(gram)
    np.testing.assert_allclose(tight, targets, atol=1e-6)
    np.testing.assert_allclose(flat, np.tile(weights @ targets, (8, 1)), atol=1e-9)


def test_a_kernel_without_variation_gives_the_mean():
    found = KernelRidge(np.ones((4, 4)), np.eye(2)[[0, 0, 0, 1]], np.full(4, 0.25), LAMS).scores(np.ones((2, 4)))
    np.testing.assert_allclose(found, np.tile([0.75, 0.25], (3, 2, 1)), atol=1e-12)


@pytest.mark.parametrize(("columns", "step"), [(1, 1 << 20), (1000, 1048), (1 << 20, 1), (3 << 20, 1)])
def test_slices_hold_every_row_once_in_kernels_of_8_mib(columns, step):
    rows = np.broadcast_to(0.0, (2 * step + 1, 1))
    slices = list(row_slices(rows, columns))
    assert [len(rows[part]) for part in slices] == [step, step, 1]
    assert [part.start for part in slices] == [0, step, 2 * step]
    assert step == 1 or 8 * step * columns <= 8 << 20


@given(seeds)
def test_features_of_all_rows_as_landmarks_give_the_scores_of_the_kernel(seed):
    """But for a jitter of 1e-9 on the diagonal, which matters where the penalty is small."""
    gram, cross, targets, weights = problem(seed)
    turn = landmark_map(gram)
    np.testing.assert_allclose(gram @ turn @ turn.T @ gram, gram, atol=1e-6)
    ridge = FeatureRidge(gram @ turn, targets, weights)
    expected = KernelRidge(gram, targets, weights, LAMS).scores(cross)
    for i, lam in enumerate(LAMS):
        slopes, offset = ridge.slopes(lam)
        np.testing.assert_allclose(cross @ turn @ slopes + offset, expected[i], atol=1e-5 / lam)


@given(seeds)
def test_a_triangular_map_is_applied_like_any_other(seed):
    gram, cross, _, _ = problem(seed)
    turn = landmark_map(gram)
    np.testing.assert_array_equal(turn, np.triu(turn))
    before = cross.copy()
    size = np.abs(cross) @ np.abs(turn)
    assert (np.abs(turned(cross, turn) - cross @ turn) <= 1e-14 * size).all()
    np.testing.assert_array_equal(cross, before)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=9, unique=True), st.integers(0, 8))
def test_the_bottom_of_a_valley_is_found(heights, at):
    """Heights that fall up to some place and rise from there on."""
    heights = sorted(heights)
    place = at % len(heights)
    left, right = heights[1 : place + 1][::-1], heights[place + 1 :]
    valley = [*left, heights[0], *right]
    assert downhill(lambda i: valley[i], len(valley)) == valley.index(heights[0])


def test_from_the_middle_the_nearest_valley_is_taken():
    assert downhill(lambda i: [0, 9, 2, 3, 1][i], 5) == 2
    assert downhill(lambda i: [0, 0, 0][i], 3) == 1


def test_features_without_variation_give_the_mean():
    slopes, offset = FeatureRidge(np.ones((4, 2)), np.eye(2)[[0, 0, 0, 1]], np.full(4, 0.25)).slopes(0.1)
    np.testing.assert_allclose(np.ones((3, 2)) @ slopes + offset, np.tile([0.75, 0.25], (3, 1)), atol=1e-12)


def test_equal_landmarks_are_no_harm():
    turn = landmark_map(np.ones((5, 5)))
    features = np.ones((2, 5)) @ turn
    np.testing.assert_allclose(features @ features.T, 1.0, atol=1e-6)
