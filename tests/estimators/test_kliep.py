"""KLIEP: scores of the plain loop, what must not change the ratio, relabellings as fits of their rows, edges."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone

import densdiff as dd
from densdiff.core import density_ratio
from densdiff.estimators.kliep import KLIEP
from tests import oracle

SIGMAS = [2.0, 1.0, 0.5, 0.25]


def even(n):
    return np.full(n, 1.0 / n)


def gap_of(psi_x, means, alpha, weights):
    """What the log-likelihood can still gain, written out with the scaled features phi."""
    phi = psi_x / means
    gradient = weights @ (phi / (psi_x @ alpha)[:, None])
    return gradient.max() - gradient @ (alpha * means)


def relabellings(random, count, n, m):
    """Which of n + m rows are X, (count, N), the first as they stand."""
    members = np.zeros((count, n + m), dtype=bool)
    for c in range(count):
        members[c, random.permutation(n + m)[:n] if c else np.arange(n)] = True
    return members


def test_many_problems_at_once_equal_one_by_one(draw, monkeypatch):
    x, y = draw(2)
    rows = np.concatenate([x, y])
    psi = oracle.psi(rows, rows, 0.7)
    random = np.random.default_rng(0)
    members = relabellings(random, 40, len(x), len(y)).T  # (N, B)
    weights_x, weights_y = (side * random.random(members.shape) for side in (members, ~members))
    weights_x, weights_y = weights_x / weights_x.sum(axis=0), weights_y / weights_y.sum(axis=0)
    start = members / members.sum(axis=0)
    monkeypatch.setattr(density_ratio, "_BATCH_ENTRIES", 1)  # the smallest batches: a seam between them would show
    early, _ = density_ratio.solve(psi, weights_x, weights_y, start, 0.0, 4)
    alpha, gap = density_ratio.solve(psi, weights_x, weights_y, start, 1e-4, 2000)
    assert gap.max() <= 1e-4
    assert (alpha[~members] == 0).all()
    for c in range(members.shape[1]):
        column, own = [a[:, [c]] for a in (weights_x, weights_y, start)], members[:, c]
        # later, iterations along flat directions enlarge the rounding, which depends on the shape of a product
        np.testing.assert_allclose(early[:, c], density_ratio.solve(psi, *column, 0.0, 4)[0][:, 0], rtol=1e-9)
        single, _ = density_ratio.solve(psi, *column, 1e-4, 2000)
        logs = [weights_x[own, c] @ np.log(psi[own] @ a) for a in (alpha[:, c], single[:, 0])]
        assert logs[0] == pytest.approx(logs[1], abs=1e-4)
        means = (psi.T @ weights_y[:, c])[own]
        expected = gap_of(psi[np.ix_(own, own)], means, alpha[own, c], weights_x[own, c])
        assert gap[c] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n_centers", [300, 15])
def test_relabelling_nothing_gives_the_estimators_own_divergence(draw, n_centers):
    x, y = draw(3)
    model = KLIEP(random_state=0, n_centers=n_centers).fit(x, y)
    data = model._data
    rows = np.concatenate([data.x.rows, data.y.rows])
    members = np.arange(len(rows))[None] < len(x)
    centers = (rows[:, None] == data.scaling.apply(model.centers_)).all(axis=2).any(axis=1)[None]
    folds = np.concatenate(
        [oracle.fold_labels(data.folds.members, g)[0] for g in (data.folds.groups_x.all(), data.folds.groups_y.all())]
    )[None]
    squared = cdist(rows, rows, "sqeuclidean")
    fixed, _ = density_ratio.permuted_divergences(squared, np.array([model.sigma_]), members, centers=centers)
    assert fixed[0] == pytest.approx(model.kl_divergence_, abs=1e-9)
    sigmas = model.cv_results_["sigma"]
    found, level = density_ratio.permuted_divergences(squared, sigmas, members, folds, centers)
    assert sigmas[level[0]] == model.sigma_
    assert found[0] == pytest.approx(model.kl_divergence_, abs=1e-9)


def test_each_relabelling_equals_a_fit_to_its_rows(draw):
    x, y = draw(4, 30, 24, 1)
    rows = np.concatenate([x, y])
    members = relabellings(np.random.default_rng(0), 12, len(x), len(y))
    fits = [KLIEP(SIGMAS, standardize=False, random_state=0).fit(rows[c], rows[~c]) for c in members]
    parts = fits[0]._data.folds
    folds = np.empty(members.shape, dtype=int)
    for c, own in enumerate(members):
        for side, groups in ((own, parts.groups_x.all()), (~own, parts.groups_y.all())):
            folds[c, side] = oracle.fold_labels(parts.members, groups)[0]
    found, level = density_ratio.permuted_divergences(
        cdist(rows, rows, "sqeuclidean"), np.array(SIGMAS), members, folds
    )
    assert len(np.unique(level)) > 1
    np.testing.assert_array_equal(np.array(SIGMAS)[level], [model.sigma_ for model in fits])
    np.testing.assert_allclose(found, [model.kl_divergence_ for model in fits], atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_the_plain_loop(draw, weighted):
    x, y = draw(5)
    random = np.random.default_rng(0)
    weights = [random.random(len(rows)) + 0.2 if weighted else np.ones(len(rows)) for rows in (x, y)]
    model = KLIEP([2.0, 1.0, 0.6], standardize=False, random_state=0).fit(x, y, *weights)
    folds = model._data.folds
    label_x, label_y = (oracle.fold_labels(folds.members, g)[0] for g in (folds.groups_x.all(), folds.groups_y.all()))
    for sigma, scores in zip(model.cv_results_["sigma"], model.cv_results_["fold_scores"], strict=True):
        for fold, score in enumerate(scores):
            in_x, in_y = label_x != fold, label_y != fold
            centers = x[in_x]
            psi_x, psi_y = oracle.psi(x, centers, sigma), oracle.psi(y, centers, sigma)
            means = np.average(psi_y[in_y], axis=0, weights=weights[1][in_y])
            alpha, _ = density_ratio.maximize(psi_x[in_x], weights[0][in_x] / weights[0][in_x].sum(), means)
            expected = np.average(np.log(psi_x[~in_x] @ alpha), weights=weights[0][~in_x])
            expected -= np.average(psi_y[~in_y] @ alpha, weights=weights[1][~in_y]) - 1
            assert score == pytest.approx(expected, abs=0.02)  # folds stop at a gap of 1e-3 in the training rows


def test_cross_validation_table_ranks_the_largest_score_first(draw):
    model = KLIEP(random_state=0).fit(*draw(6))
    table = model.cv_results_
    assert set(table) == {"sigma", "mean_score", "standard_error", "fold_scores", "rank"}
    best = int(np.argmax(table["mean_score"]))
    assert table["rank"][best] == 1
    assert model.sigma_ == table["sigma"][best]
    np.testing.assert_array_equal(np.argsort(table["rank"]), np.argsort(-table["mean_score"], kind="stable"))
    assert table["fold_scores"].shape == (len(table["sigma"]), 5)
    np.testing.assert_allclose(table["mean_score"], table["fold_scores"].mean(axis=1))


def test_predict_is_the_sum_of_kernels_on_the_centers(draw):
    x, y = draw(7)
    model = KLIEP(0.6, standardize=False).fit(x, y)
    np.testing.assert_array_equal(model.centers_, x)
    np.testing.assert_allclose(model.predict(y), oracle.psi(y, x, 0.6) @ model.alpha_, rtol=1e-10)
    assert model.predict(y).mean() == pytest.approx(1.0, abs=1e-10)
    assert model.kl_divergence_ == pytest.approx(np.log(model.predict(x)).mean(), abs=1e-10)
    assert model.predict(y).min() >= 0


def test_few_centers_are_drawn_from_the_rows_of_x(draw):
    x, y = draw(8)
    few = KLIEP(0.8, n_centers=7, random_state=0).fit(x, y)
    assert few.centers_.shape == (7, 2)
    assert (few.centers_[:, None] == x).all(axis=2).any(axis=1).all()
    assert few.kl_divergence_ <= KLIEP(0.8).fit(x, y).kl_divergence_ + density_ratio.FINAL_GAP
    assert np.isfinite(KLIEP(n_centers=1, random_state=0).fit(x, y).kl_divergence_)


def test_divergence_of_the_papers_gaussians_is_near_the_truth():
    found = []
    for seed in range(8):
        pair = dd.datasets.gaussian_shift(mu=0.3, d=2, n=200, random_state=seed)
        found.append(KLIEP(random_state=seed).fit(pair.x, pair.y).kl_divergence_)
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert error < 0.15 * pair.kl
    assert np.mean(found) == pytest.approx(pair.kl, abs=3 * error)


def test_cross_validation_does_not_run_off_to_the_narrowest_sigma():
    """The likelihood of X alone does, with divergences of 30 and more: see `density_ratio.hold_out_scores`."""
    found = []
    for seed in range(7):
        pair = dd.datasets.gaussian_shift(mu=0.5, n=200, random_state=seed)
        found.append(KLIEP(random_state=seed).fit(pair.x, pair.y).kl_divergence_)
    assert np.median(found) == pytest.approx(pair.kl, rel=0.25)  # a median: the tail beyond Y's last row is heavy
    assert max(found) < 10


def test_units_do_not_matter_to_the_ratio(draw):
    x, y = draw(9)
    model = KLIEP(random_state=0).fit(x, y)
    for factor in (2.0**30, 2.0**-30):
        scaled = KLIEP(random_state=0).fit(factor * x, factor * y)
        np.testing.assert_array_equal(scaled.predict(factor * y), model.predict(y))
        assert scaled.kl_divergence_ == model.kl_divergence_
        plain = KLIEP(0.7 * factor, standardize=False).fit(factor * x, factor * y)
        np.testing.assert_array_equal(plain.predict(factor * y), KLIEP(0.7, standardize=False).fit(x, y).predict(y))


def test_neither_column_order_nor_an_offset_changes_the_ratio(draw):
    x, y = draw(10, d=3)
    model = KLIEP(random_state=0).fit(x, y)
    turned = KLIEP(random_state=0).fit(x[:, ::-1], y[:, ::-1])
    moved = KLIEP(random_state=0).fit(x + 2.0**20, y + 2.0**20)
    np.testing.assert_allclose(turned.predict(y[:, ::-1]), model.predict(y), rtol=1e-6)
    np.testing.assert_allclose(moved.predict(y + 2.0**20), model.predict(y), rtol=1e-6)


def test_integer_weights_equal_repeated_rows(draw):
    x, y = draw(11)
    random = np.random.default_rng(0)
    counts_x, counts_y = random.integers(1, 5, len(x)), random.integers(1, 5, len(y))
    weighted = KLIEP(0.7, standardize=False).fit(x, y, counts_x, counts_y)
    repeated = KLIEP(0.7, standardize=False).fit(np.repeat(x, counts_x, axis=0), np.repeat(y, counts_y, axis=0))
    assert weighted.kl_divergence_ == pytest.approx(repeated.kl_divergence_, abs=density_ratio.FINAL_GAP)
    plain = KLIEP(0.7, standardize=False).fit(x, y)
    assert abs(weighted.kl_divergence_ - plain.kl_divergence_) > 0.01


def test_frames_match_columns_by_name(draw):
    x, y = draw(12)
    plain = KLIEP(random_state=0).fit(x, y)
    framed = KLIEP(random_state=0).fit(pd.DataFrame(x, columns=["a", "b"]), pl.DataFrame({"b": y[:, 1], "a": y[:, 0]}))
    assert framed.feature_names_ == ("a", "b")
    assert framed.n_features_in_ == 2
    np.testing.assert_array_equal(framed.predict(pd.DataFrame(y[:, ::-1], columns=["b", "a"])), plain.predict(y))
    np.testing.assert_array_equal(framed.samples_[1], y)


def test_another_seed_draws_other_centers(draw):
    first, other = (KLIEP(n_centers=20, random_state=seed).fit(*draw(13)) for seed in (4, 5))
    assert not np.array_equal(first.centers_, other.centers_)


def test_clone_copies_the_parameters():
    copy = clone(KLIEP([0.5, 1.0], folds=3).set_params(n_centers=50))
    assert copy.get_params() == {
        "sigma": [0.5, 1.0],
        "n_centers": 50,
        "folds": 3,
        "standardize": True,
        "random_state": None,
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [("sigma", 0), ("sigma", np.nan), ("folds", 1), ("n_centers", 0), ("standardize", 1), ("random_state", -1)],
)
def test_a_refused_refit_leaves_the_model_as_it_was(draw, name, value):
    x, y = draw(15)
    model = KLIEP(random_state=0).fit(x, y)
    before, ratio = model.kl_divergence_, model.predict(y)
    kept = getattr(model, name)
    with pytest.raises(dd.InputError, match=name):
        model.set_params(**{name: value}).fit(*draw(16, d=3))
    model.set_params(**{name: kept})
    with pytest.raises(dd.InputError, match="at least 2 rows"):
        model.fit(x[:1], y)
    assert model.kl_divergence_ == before
    np.testing.assert_array_equal(model.predict(y), ratio)


def test_an_unfitted_model_says_so(draw):
    with pytest.raises(dd.NotFittedError, match="fit"):
        KLIEP().predict(draw(17)[0])


def test_a_fit_that_did_not_converge_is_told(draw, monkeypatch):
    monkeypatch.setattr(density_ratio, "_MOST_STEPS", 1)
    monkeypatch.setattr(density_ratio, "MOST_CYCLES", 1)
    with pytest.warns(dd.DensDiffWarning, match="did not converge"):
        KLIEP(0.3).fit(*draw(18))


@pytest.mark.parametrize("sigma", SIGMAS)
def test_a_dozen_newton_steps_are_enough(draw, monkeypatch, sigma):
    """Measured 6 to 11: EM, which takes over where they fail, would hide a wrong step by thousands of its own."""
    x, y = draw(0)
    monkeypatch.setattr(density_ratio, "_MOST_STEPS", 13)  # and a look at the last
    monkeypatch.setattr(density_ratio, "climb", None)
    _, gap = density_ratio.maximize(oracle.psi(x, x, sigma), even(len(x)), oracle.psi(y, x, sigma).mean(axis=0))
    assert gap <= density_ratio.FINAL_GAP


def test_em_takes_over_where_newton_steps_stop(draw, monkeypatch):
    x, y = draw(18)
    expected = KLIEP(0.8).fit(x, y).kl_divergence_
    monkeypatch.setattr(density_ratio, "_MOST_STEPS", 1)
    assert KLIEP(0.8).fit(x, y).kl_divergence_ == pytest.approx(expected, abs=2e-4)


def test_em_lets_centers_come_back_that_newton_steps_left_out(draw, monkeypatch):
    x, y = draw(18)
    psi_x, means = oracle.psi(x, x, 0.8), oracle.psi(y, x, 0.8).mean(axis=0)
    expected = density_ratio.log_ratios(psi_x, density_ratio.maximize(psi_x, even(len(x)), means)[0]).mean()
    monkeypatch.setattr(density_ratio, "_interior", lambda *_: (np.eye(len(x))[0], 1.0))
    alpha, gap = density_ratio.maximize(psi_x, even(len(x)), means, 1e-4)
    assert gap <= 1e-4
    assert density_ratio.log_ratios(psi_x, alpha).mean() == pytest.approx(expected, abs=1e-4)


def test_a_sample_compared_with_itself_has_no_divergence(draw):
    x, _ = draw(19, 80)
    model = KLIEP(random_state=0).fit(x, x)
    assert model.kl_divergence_ == pytest.approx(0.0, abs=0.01)
    np.testing.assert_allclose(model.predict(x), 1.0, atol=0.2)


@pytest.mark.parametrize("gap", [10.0, 1e3, 1e9])
def test_disjoint_samples_are_far_apart_and_finite(draw, gap):
    x, y = draw(20)
    model = KLIEP(random_state=0).fit(x, y + gap)
    assert 5 < model.kl_divergence_ < 2 * -np.log(density_ratio.LEAST)
    assert np.isfinite(model.alpha_).all()
    assert np.isfinite(model.predict(np.concatenate([x, y + gap, x + gap / 2]))).all()
    assert all(np.isfinite(column).all() for column in model.cv_results_.values())


def test_ties_constant_columns_and_point_masses_are_fitted(draw):
    random = np.random.default_rng(0)
    tied = KLIEP(random_state=0).fit(random.integers(0, 3, (60, 2)), random.integers(0, 3, (50, 2)))
    assert abs(tied.kl_divergence_) < 0.2
    x, y = draw(21)
    ones = np.ones((len(x), 1)), np.ones((len(y), 1))
    padded = KLIEP(random_state=0).fit(np.hstack([x, ones[0]]), np.hstack([y, ones[1]]))
    plain = KLIEP(random_state=0).fit(x, y)
    assert padded.kl_divergence_ == plain.kl_divergence_
    assert padded.centers_.shape == (len(x), 3)
    assert KLIEP().fit(*ones).kl_divergence_ == pytest.approx(0.0, abs=1e-12)
    assert KLIEP().fit(0 * ones[0], ones[1]).kl_divergence_ > 0.5


def test_two_rows_are_enough(draw):
    x, y = draw(22)
    with pytest.warns(dd.DensDiffWarning, match="folds reduced from 5 to 2"):
        model = KLIEP(random_state=0).fit(x[:2], y[:2])
    assert np.isfinite(model.kl_divergence_)
    assert model.cv_results_["fold_scores"].shape[1] == 2


def test_an_outlier_neither_breaks_nor_rules_the_fit():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(100, 1)), random.normal(size=(100, 1))
    model = KLIEP(standardize=False, random_state=0).fit(np.concatenate([x, [[1e6]]]), y)
    assert model.sigma_ < 10
    assert np.isfinite(model.kl_divergence_)
    np.testing.assert_allclose(np.median(model.predict(y)), 1.0, atol=0.3)
