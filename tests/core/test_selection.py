"""Groups, folds and choices: right sizes for n != m, drawn from the seed and the row index alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import selection
from tests import oracle

sizes = st.integers(2, 60)


@given(seed=st.integers(0, 2**32 - 1), n=sizes, m=sizes, folds=st.integers(2, 7))
def test_every_repeat_deals_each_row_to_exactly_one_nonempty_fold(seed, n, m, folds):
    folds = min(folds, n, m)
    drawn = selection.draw_folds(seed, n, m, folds)
    assert drawn.members.shape[0] % folds == 0
    for groups, count in ((drawn.groups_x.all(), n), (drawn.groups_y.all(), m)):
        owner = drawn.members[:, groups].reshape(-1, folds, count)
        np.testing.assert_array_equal(owner.sum(axis=1), 1.0)
        held = owner.sum(axis=2)
        assert held.min() >= 1
        # a fold is a union of groups: unequal by one group per fold at most, and by one row per group
        largest_group = np.bincount(groups).max()
        assert held.max() - held.min() <= largest_group + drawn.n_groups / folds + 1


@given(seed=st.integers(0, 2**32 - 1), n=sizes, m=sizes)
def test_swapping_the_samples_swaps_their_groups(seed, n, m):
    here, there = selection.draw_folds(seed, n, m, 2), selection.draw_folds(seed, m, n, 2)
    np.testing.assert_array_equal(here.groups_x.all(), there.groups_y.all())
    np.testing.assert_array_equal(here.groups_y.all(), there.groups_x.all())
    np.testing.assert_array_equal(here.members, there.members)


def test_the_group_of_a_row_does_not_depend_on_the_rows_that_follow():
    np.testing.assert_array_equal(
        selection.assign_groups(7, 1000, 20).all()[:133], selection.assign_groups(7, 133, 20).all()
    )


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 200), count=st.integers(1, 250))
def test_drawn_rows_are_distinct_and_all_of_them_when_few(seed, n, count):
    drawn = selection.draw_rows(seed, n, count)
    assert len(set(drawn)) == len(drawn) == min(n, count)
    assert set(drawn) <= set(range(n))


def test_repeats_are_different_partitions_of_ample_data():
    drawn = selection.draw_folds(1, 100, 80, 5)
    labels = oracle.fold_labels(drawn.members, drawn.groups_x.all())
    assert labels.shape == (2, 100)
    together = {tuple((row[:, None] == row[None, :]).ravel()) for row in labels}
    assert len(together) == 2


def test_large_samples_are_dealt_once():
    assert len(selection.draw_folds(1, 5000, 5000, 5).members) == 10
    assert len(selection.draw_folds(1, 5001, 5000, 5).members) == 5


@pytest.mark.parametrize("n", [20, 103, 200_003])
def test_group_sizes_differ_by_at_most_one(n):
    counts = np.bincount(selection.assign_groups(3, n, 20).all(), minlength=20)
    assert set(counts) <= {n // 20, n // 20 + 1}


def test_groups_do_not_follow_a_period_in_the_rows():
    # every 20th row of a long table must not land in one group: people's rows have weekly or hourly patterns
    shares = np.bincount(selection.assign_groups(3, 40_000, 20).all()[::20], minlength=20) / 2000
    assert np.abs(shares - 0.05).max() < 5 * np.sqrt(0.05 * 0.95 / 2000)


@given(seed=st.integers(0, 2**20), n=st.integers(4, 40), m=st.integers(4, 40), weighted=st.booleans())
def test_split_means_are_means_over_train_and_hold_out_rows(seed, n, m, weighted):
    random = np.random.default_rng(seed)
    drawn = selection.draw_folds(seed, n, m, 3)
    for groups, count in ((drawn.groups_x.all(), n), (drawn.groups_y.all(), m)):
        psi = random.random((count, 4))
        omega = random.random(count) + 0.1 if weighted else np.full(count, 1 / count)
        sums = np.array([omega[groups == g] @ psi[groups == g] for g in range(drawn.n_groups)])
        mass = np.bincount(groups, weights=omega)
        train, held = selection.split_means(sums, mass, drawn.members)
        for k, member in enumerate(drawn.members):
            inside = member[groups] > 0
            np.testing.assert_allclose(held[:, k], np.average(psi[inside], axis=0, weights=omega[inside]))
            np.testing.assert_allclose(train[:, k], np.average(psi[~inside], axis=0, weights=omega[~inside]))


def test_between_equal_scores_the_smoother_model_wins():
    sigmas, lams = np.array([1.0, 2.0, 2.0, 1.0]), np.array([9.0, 0.1, 0.3, 1.0])
    none, last = np.zeros(4, dtype=int), np.array([0, 0, 0, 1])
    assert selection.rank_models(np.zeros(4), sigmas, lams, none).tolist() == [2, 1, 0, 3]
    assert selection.rank_models(np.array([0.0, 0.0, 0.0, -1.0]), sigmas, lams, none).tolist() == [3, 2, 1, 0]
    assert selection.rank_models(np.zeros(4), sigmas, lams, last).tolist() == [3, 2, 1, 0]


def test_model_weights_follow_the_measured_rule():
    scores = np.array([[-1.0, -1.2, -0.8], [-0.99, -1.19, -0.79], [4.0, 5.0, 6.0]])
    weights = selection.model_weights(scores, 0, 3)
    error = np.std(scores[0], ddof=1) / np.sqrt(3)
    raw = np.array([1.0, np.exp(-0.01 / (0.25 * error)), 0.0])  # docs/math, The average; the last is negligible
    np.testing.assert_allclose(weights, raw / raw.sum(), rtol=1e-9)


@pytest.mark.parametrize("scores", [np.zeros((3, 4)), np.array([[-1.0, -1.0], [0.0, 0.0]]), np.array([[2.0]])])
def test_model_weights_without_spread_are_finite_and_sum_to_one(scores):
    weights = selection.model_weights(scores, 0, 2)
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] == weights.max()


def test_standard_error_counts_one_partition_only():
    scores = np.random.default_rng(0).normal(size=(2, 5))
    expected = scores.std(axis=1, ddof=1) / np.sqrt(5)
    np.testing.assert_allclose(selection.standard_errors(scores, 5), expected)
    repeated = selection.standard_errors(np.tile(scores, 4), 5)
    assert (repeated > 0.8 * expected).all()


@given(start=st.integers(0, 400), count=st.integers(0, 90), n=st.integers(400, 500))
def test_groups_of_some_rows_are_those_of_all_rows(start, count, n):
    pattern = np.array([0, 1, 2, 2, 0, 1, 1, 2, 0, 0])
    groups = selection.GroupPattern(pattern, n)
    whole = np.tile(pattern, 50)
    np.testing.assert_array_equal(groups.part(start, count), whole[start : start + count])
    np.testing.assert_array_equal(groups.counts(), np.bincount(whole[:n]))
    assert len(groups) == n
    np.testing.assert_array_equal(groups.all(), whole[:n])


def test_one_fold_has_no_standard_error():
    np.testing.assert_array_equal(selection.standard_errors(np.array([[1.0], [2.0]]), 1), 0.0)


def test_two_folds_have_a_standard_error():
    np.testing.assert_allclose(selection.standard_errors(np.array([[1.0, 3.0], [2.0, 2.0]]), 2), [1.0, 0.0])


score_tables = st.integers(0, 2**20).map(lambda seed: np.random.default_rng(seed).normal(size=(2, 4, 3)))


def slow_curve_weights(scores, noise):
    """Weights exp(-(score - least) / noise of the best), scores with half their noise, those below 1e-3 left out."""
    total = {model: scores[model] + 0.5 * noise[model] for model in np.ndindex(scores.shape)}
    best = min(total, key=total.get)
    raw = {model: np.exp(-(value - total[best]) / noise[best]) for model, value in total.items()}
    kept = {model: weight for model, weight in raw.items() if weight >= 1e-3}
    weights = np.zeros(scores.shape)
    for model, weight in kept.items():
        weights[model] = weight / sum(kept.values())
    return weights


@given(score_tables)
def test_curve_weights_are_those_of_their_formula_and_sum_to_one(table):
    scores, noise = table[0], np.abs(table[1]) + 0.01
    weights = selection.curve_weights(scores, noise)
    np.testing.assert_allclose(weights, slow_curve_weights(scores, noise), rtol=1e-12, atol=0)
    assert weights.sum() == pytest.approx(1.0, rel=1e-14)
    assert weights.flat[np.argmin(selection.penalized(scores, noise))] == weights.max()


@given(table=score_tables, scale=st.sampled_from([2.0**-400, 0.3, 7.0, 2.0**400]), offset=st.sampled_from([0.0, 5.0]))
def test_curve_weights_do_not_depend_on_the_unit_of_scores_and_noise(table, scale, offset):
    scores, noise = table[0], np.abs(table[1]) + 0.01
    expected = selection.curve_weights(scores, noise)
    # an excess of 7 units of noise has a weight of 1e-3: rounding to 1e-15 of scores of 5 over noise of .01
    np.testing.assert_allclose(selection.curve_weights(scale * (scores + offset), scale * noise), expected, rtol=1e-11)


@pytest.mark.parametrize("unit", [0.0, 1.0])
def test_equal_models_count_alike(unit):
    weights = selection.curve_weights(np.full((2, 3), -1.0), np.full((2, 3), unit))
    np.testing.assert_allclose(weights, 1 / 6)


def test_without_noise_only_the_best_curves_count():
    scores = np.array([[-1.0, -2.0, -2.0], [0.0, -2.0, 1.0]])
    np.testing.assert_allclose(selection.curve_weights(scores, np.zeros((2, 3))), (scores == -2) / 3)
    noise = np.ones((2, 3))
    noise[0, 1] = 0.0  # the best has none, so that no other comes near
    np.testing.assert_array_equal(selection.curve_weights(scores, noise).nonzero(), [[0], [1]])


def test_noise_is_held_against_a_curve():
    scores, noise = np.array([[-1.0, -1.1]]), np.array([[0.1, 0.5]])
    np.testing.assert_allclose(selection.penalized(scores, noise), [[-0.95, -0.85]])
    first, second = selection.curve_weights(scores, noise)[0]
    assert second / first == pytest.approx(np.exp(-1.0))


def test_sorted_draws_are_those_of_rows_in_order_and_cannot_be_spoilt_for_the_next_caller():
    found = selection.draw_sorted_rows(3, 1000, 40)
    np.testing.assert_array_equal(found, np.sort(selection.draw_rows(3, 1000, 40)))
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 7
