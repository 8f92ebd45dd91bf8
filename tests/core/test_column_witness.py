"""Witnesses of single columns: plain formulas, and any folds give what a witness of their rows alone gives."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

from densdiff.core import column_witness, selection
from densdiff.core.column_witness import LevelWitness, NumberWitness, Votes, normal_scores

N_FOLDS = 4


def rows_of(seed=0, n=90, m=70):
    """Scores, weights that sum to 1 in each sample, groups and folds."""
    random = np.random.default_rng(seed)
    in_x = np.arange(n + m) < n
    scores = normal_scores(np.where(in_x, 0.0, 0.8) + random.normal(size=n + m))
    omega = random.uniform(0.5, 2.0, n + m)
    omega /= np.where(in_x, omega[in_x].sum(), omega[~in_x].sum())
    folds = random.permutation(n + m) % N_FOLDS
    return scores, omega, folds + np.where(in_x, 0, N_FOLDS), folds


def number_witness(scores, omega, groups, n_folds):
    """A witness of a single column of numbers, asked as one of levels is."""
    several = NumberWitness(scores[:, None], omega, groups, n_folds)

    class Single:
        def votes(self, is_used, rows):
            votes = several.votes(is_used, rows, np.arange(1))
            return Votes(votes.f[0], votes.log_ratio[0])

    return Single()


def some_folds():
    for count in (1, 2, 3, 4):
        for chosen in combinations(range(N_FOLDS), count):
            yield np.isin(np.arange(N_FOLDS), chosen)


def plain_f(scores, omega, in_x, points):
    """f from characteristic functions, row by row, at frequencies of the grid of the witness."""
    nodes = column_witness._NODES_A_UNIT
    span = scores.max() - scores.min()
    size = column_witness.next_fast_len(int(span * nodes) + 2 + int(column_witness._PAD * nodes), real=True)
    w = 2.0 * np.pi * nodes / size * np.arange(size // 2 + 1)
    w = w[w <= column_witness._BAND]
    shares = [np.where(own, omega, 0.0) / omega[own].sum() for own in (in_x, ~in_x)]
    phases = np.exp(-1j * np.outer(w, scores))
    means = np.array([phases @ share for share in shares])
    sizes = np.array([1.0 / np.square(share).sum() for share in shares])
    noises = (1.0 - np.abs(means) ** 2) / (sizes - 1.0)[:, None]
    measure = np.where(w > 0, 2.0, 1.0) * nodes / size
    filters = np.array(
        [
            1.0 / (1.0 + lam * np.exp(np.minimum(0.5 * (sigma * w) ** 2, 700.0)))
            for lam in selection.CURVE_LAMS
            for sigma in column_witness._SIGMAS
        ]
    )
    power, noise = np.abs(means[0] - means[1]) ** 2, noises.sum(axis=0)
    both = (np.abs(means) ** 2 - noises).sum(axis=0)
    models = []
    for kept in filters:
        of_f = (measure * (kept**2 * power - 2.0 * kept * (power - noise))).sum()
        of_densities = (measure * (kept**2 * (both + noise) - 2.0 * kept * both)).sum()
        models.append((of_f + 5.0 * (1.0 / sizes).sum() * of_densities, (measure * kept**2 * noise).sum()))
    scores_of, noise_of = np.array(models).T
    averaged = selection.curve_weights(scores_of, noise_of) @ filters
    kernels = np.exp(1j * np.outer(points, w)) * averaged * measure / nodes
    return (kernels @ (means[0] - means[1])).real, (kernels @ means.sum(axis=0)).real


def test_f_of_numbers_is_that_of_plain_characteristic_functions():
    scores, omega, groups, _ = rows_of()
    found = number_witness(scores, omega, groups, N_FOLDS).votes(np.ones(N_FOLDS, bool), np.arange(len(scores)))
    f, total = plain_f(scores, omega, groups < N_FOLDS, scores)
    scale = np.abs(f).max()
    # nodes are 1/24 apart; spreading a row over two of them and back is off by (w / 24)^2 / 8 each at frequency w
    np.testing.assert_allclose(found.f, f, rtol=0.0, atol=0.01 * scale)
    expected = np.arctanh(np.clip(f / total, -0.95, 0.95))
    sure = total > 0.1 * total.max()
    np.testing.assert_allclose(found.log_ratio[sure], expected[sure], atol=0.1)


@pytest.mark.parametrize("kind", ["numbers", "levels"])
def test_votes_of_any_folds_are_those_of_a_witness_of_their_rows_alone(kind):
    scores, omega, groups, folds = rows_of()
    codes = np.floor(4.0 * norm.cdf(scores)).astype(np.intp)
    omega = omega if kind == "numbers" else np.where(groups < N_FOLDS, 1.0 / 90, 1.0 / 70)
    make = number_witness if kind == "numbers" else LevelWitness
    column = scores if kind == "numbers" else codes
    whole = make(column, omega, groups, N_FOLDS)
    everywhere = np.arange(len(scores))
    for is_used in some_folds():
        silent = np.where(is_used[folds], omega, 0.0)  # other rows are on the grid, and have no weight
        if kind == "levels":
            chosen = is_used[folds]
            alone = make(column[chosen], omega[chosen], groups[chosen], N_FOLDS)
            seen = np.flatnonzero(chosen)
            found = whole.votes(is_used, seen)
            expected = alone.votes(np.ones(N_FOLDS, bool), np.arange(len(seen)))
        else:
            found = whole.votes(is_used, everywhere)
            expected = make(column, silent, groups, N_FOLDS).votes(np.ones(N_FOLDS, bool), everywhere)
        np.testing.assert_allclose(found.f, expected.f, rtol=1e-9, atol=1e-12 * np.abs(expected.f).max() + 1e-13)
        np.testing.assert_allclose(found.log_ratio, expected.log_ratio, rtol=1e-9, atol=1e-9)


def test_f_of_levels_is_a_difference_of_shares_and_0_for_levels_unseen():
    codes = np.array([0, 0, 1, 2, 0, 1, 1, 3])
    groups = np.array([0, 0, 0, 1, 2, 2, 2, 3])  # two folds: X in 0 and 1, Y in 2 and 3
    witness = LevelWitness(codes, np.full(8, 0.25), groups, 2)
    found = witness.votes(np.array([True, False]), np.arange(8)).f
    shares = np.array([2 / 3 - 1 / 3, 1 / 3 - 2 / 3, 0.0, 0.0])
    np.testing.assert_allclose(found, shares[codes], atol=1e-15)
    assert found[3] == found[7] == 0.0


@pytest.mark.parametrize("kind", ["numbers", "levels"])
def test_labels_of_held_out_rows_change_no_bit(kind):
    scores, _, groups, folds = rows_of()
    omega = np.full(len(scores), 0.01)
    column = scores if kind == "numbers" else np.floor(4.0 * norm.cdf(scores)).astype(np.intp)
    make = number_witness if kind == "numbers" else LevelWitness
    for held in range(N_FOLDS):
        flipped = np.where(folds == held, (groups + N_FOLDS) % (2 * N_FOLDS), groups)
        rows, is_used = np.flatnonzero(folds == held), np.arange(N_FOLDS) != held
        one, other = (make(column, omega, labels, N_FOLDS).votes(is_used, rows) for labels in (groups, flipped))
        if kind == "numbers":
            assert np.array_equal(one.f, other.f)
            assert np.array_equal(one.log_ratio, other.log_ratio)
        else:  # counts are divided by a total of all folds, and multiplied again: rounding is left
            np.testing.assert_allclose(one.f, other.f, rtol=0.0, atol=1e-14)
            np.testing.assert_allclose(one.log_ratio, other.log_ratio, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("kind", ["numbers", "levels"])
def test_swapping_the_samples_flips_the_votes(kind):
    scores, omega, groups, _ = rows_of()
    column = scores if kind == "numbers" else np.floor(4.0 * norm.cdf(scores)).astype(np.intp)
    make = number_witness if kind == "numbers" else LevelWitness
    is_used, rows = np.array([True, True, False, True]), np.arange(len(scores))
    one = make(column, omega, groups, N_FOLDS).votes(is_used, rows)
    other = make(column, omega, (groups + N_FOLDS) % (2 * N_FOLDS), N_FOLDS).votes(is_used, rows)
    np.testing.assert_allclose(one.f, -other.f, rtol=0.0, atol=1e-12 * np.abs(one.f).max())
    np.testing.assert_allclose(one.log_ratio, -other.log_ratio, rtol=0.0, atol=1e-9)


def test_normal_scores_know_ranks_only_and_equal_values_are_alike():
    values = np.random.default_rng(0).normal(size=50).round(1)
    assert np.array_equal(normal_scores(values), normal_scores(np.exp(values)))
    np.testing.assert_allclose(normal_scores(values), -normal_scores(-values), atol=1e-12)
    assert len(np.unique(normal_scores(values))) == len(np.unique(values))
    np.testing.assert_allclose(normal_scores(np.array([5.0, 5.0])), [0.0, 0.0], atol=1e-15)


def test_no_column_is_trusted_beyond_its_limit():
    scores, omega, groups, _ = rows_of()
    codes = (groups < N_FOLDS).astype(np.intp)
    found = LevelWitness(codes, omega, groups, N_FOLDS).votes(np.ones(N_FOLDS, bool), np.arange(len(scores)))
    assert np.abs(found.log_ratio).max() <= np.arctanh(0.95) + 1e-12
    np.testing.assert_allclose(np.abs(found.f), 1.0, rtol=1e-12)


def test_several_columns_are_judged_as_each_would_be_alone():
    scores, omega, groups, _ = rows_of()
    columns = np.column_stack([scores, -scores, np.roll(scores, 7)])
    witness = NumberWitness(columns, omega, groups, N_FOLDS)
    rows, is_used = np.arange(0, len(scores), 3), np.array([True, False, True, True])
    found = witness.votes(is_used, rows, np.array([2, 0]))
    for f, log_ratio, column in zip(*found, (columns[:, 2], scores), strict=True):
        alone = number_witness(column, omega, groups, N_FOLDS).votes(is_used, rows)
        np.testing.assert_allclose(f, alone.f, rtol=0.0, atol=1e-13 * np.abs(f).max())
        np.testing.assert_allclose(log_ratio, alone.log_ratio, rtol=0.0, atol=1e-9)
