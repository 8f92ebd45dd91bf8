"""Class balance as people ask for it: near the truth, the minimum of E6, and what must not matter."""

import json
import pickle
import warnings

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import densdiff as dd
from tests.classes import classes, fitted
from tests.oracle import estimates, filter_estimates

MODELS = {
    "learned": None,
    "LSDD": dd.LSDD(),
    "pairs": dd.LSDD(sigma=1.0, lam=0.1, solver="pairs"),
    "centers": dd.LSDD(solver="centers"),
    "KDE": dd.KDEDifference(),
}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


# --- the answer -------------------------------------------------------------------------------------------------------


@each_model
@pytest.mark.parametrize("shares", [(0.2, 0.8), (0.9, 0.1), (0.1, 0.3, 0.6)])
def test_shares_are_near_the_truth_and_sum_to_one(model, shares):
    X, y, new = classes(3, shares, n=40, m=100, apart=5.0)
    balance = fitted(X, y, model=model)
    found = balance.estimate(new)
    assert found.priors.shape == (len(shares),)
    assert found.priors.min() >= 0
    assert found.priors.sum() == pytest.approx(1, abs=1e-12)
    # E6 with a narrow kernel shrinks towards equal shares; the learned kernel must do better
    np.testing.assert_allclose(found.priors, shares, atol=0.05 if model is None else 0.25)
    np.testing.assert_array_equal(balance.predict(new), found.priors)
    if found.intervals is not None:
        assert (found.intervals[:, 0] <= found.priors).all()
        assert (found.priors <= found.intervals[:, 1]).all()
        assert 0 <= found.intervals.min() <= found.intervals.max() <= 1
        assert (found.standard_errors > 0).all()


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_any_data_give_shares(seed, k):
    random = np.random.default_rng(seed)
    X, new = random.standard_cauchy(size=(8 * k, 2)), random.standard_cauchy(size=(5, 2))
    found = fitted(X, np.arange(8 * k) % k).predict(new)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("c", [0, 1])
@pytest.mark.hostile(39)
def test_new_rows_of_one_class_are_seen_as_such(c):
    X, y, new = classes(2, (1.0 - c, float(c)), apart=4.0)
    found = fitted(X, y).estimate(new)
    assert found.priors[c] > 0.95
    assert found.intervals[c, 1] == 1.0
    assert found.intervals[1 - c, 0] == 0.0


@pytest.mark.parametrize("model", [None, dd.LSDD(10.0, 0.1, solver="pairs")], ids=["learned", "pairs"])
@pytest.mark.hostile(39)
def test_shares_of_zero_and_one_can_be_reached(model):
    """200 rows outweigh the pull of the prior; the classes do not overlap."""
    for c in (0, 1):
        X, y, new = classes(4, (1.0 - c, float(c)), m=200, apart=8.0)
        # rows further from the other class than their own is: the nearest mixture has that class alone
        new = new + 0.3 * (X[y == c].mean(axis=0) - X[y != c].mean(axis=0))
        assert fitted(X, y, model=model).predict(new).tolist() == np.eye(2)[c].tolist()


@pytest.mark.hostile(39)
def test_classes_that_cannot_be_told_apart_give_a_warning_and_wide_intervals():
    """By chance some samples of one density look different: about one in twenty for a test at two standard errors."""
    widths, warned = [], 0
    for seed in range(20):
        X, new = np.random.default_rng(seed).normal(size=(2, 40, 2))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", dd.DensDiffWarning)
            found = fitted(X, np.arange(40) % 2).estimate(new)
        widths.append(np.diff(found.intervals).mean())
        warned += bool(caught)
        assert [str(w.message) for w in caught] == list(found.warnings)
        assert all(text.startswith("classes 0 and 1 can hardly be told apart") for text in found.warnings)
    assert warned >= 16
    assert np.mean(widths) > 0.85


def test_a_class_between_two_others_gives_a_warning():
    random = np.random.default_rng(0)
    ends = random.normal(size=(120, 2)) + 2 * np.where(np.arange(120) % 2, 1, -1)[:, None]
    y = np.where(np.arange(120) % 3 == 2, "mix", np.where(np.arange(120) % 2, "up", "down"))
    new = random.normal(size=(200, 2)) + 2 * np.where(np.arange(200) % 2, 1, -1)[:, None]
    with pytest.warns(dd.DensDiffWarning, match="told apart"):
        fitted(ends, y).estimate(new)


def test_the_interval_is_everything_wherever_the_warning_is_given():
    for seed in range(30):
        X, new = np.random.default_rng([seed, 1]).normal(size=(2, 40, 2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dd.DensDiffWarning)
            found = fitted(X, np.arange(40) % 2).estimate(new)
        if found.warnings:
            np.testing.assert_array_equal(found.intervals, [[0, 1], [0, 1]])


@pytest.mark.parametrize(
    "model",
    [None, MODELS["LSDD"]],
    ids=["learned", "LSDD"],
)
def test_rows_that_are_all_alike_say_nothing(model):
    X, new = np.zeros((40, 2)), np.zeros((30, 2))
    with pytest.warns(dd.DensDiffWarning, match="told apart"):
        found = fitted(X, np.repeat([0, 1], 20), model=model).estimate(new)
    np.testing.assert_allclose(found.intervals, [[0, 1], [0, 1]], atol=1e-9)
    # the form is flat but for its pull of 1e-12 to equal shares: rounding of 1e-16 moves them by some 1e-4
    np.testing.assert_allclose(found.priors, 0.5, atol=1e-3)


@each_model
def test_point_masses_are_ordinary_classes(model):
    rows = np.repeat([[0.0, 1.0], [1.0, 0.0]], 20, axis=0)
    found = fitted(rows, np.repeat([0, 1], 20), model=model).predict(rows[10:30])
    np.testing.assert_allclose(found, 0.5, atol=1e-6)


def test_two_rows_of_each_class_are_enough():
    X, y, new = classes(5, n=2)
    assert np.isfinite(fitted(X, y).predict(new)).all()


@pytest.mark.parametrize("n", [3, 4, 7])
def test_few_rows_of_each_class_are_enough(n):
    X, y, new = classes(5, n=n, apart=4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dd.DensDiffWarning)
        found = fitted(X, y).estimate(new)
    assert np.isfinite(found.intervals).all()


@pytest.mark.filterwarnings("ignore:the new rows are no mixture")  # one time in a hundred
def test_two_new_rows_are_enough():
    X, y, new = classes(6)
    found = fitted(X, y).estimate(new[:2])
    assert found.n_y == 2
    assert np.isfinite(found.intervals).all()


# --- what the answer of LSDD is ---------------------------------------------------------------------------------------


def _grid_minimum(statistic):
    """The share in 0, 0.001, .., 1 with the least statistic."""
    grid = np.linspace(0, 1, 1001)
    values = np.array([statistic(share) for share in grid[::50]])
    # a parabola: three points give it, the others must lie on it
    curve = np.polynomial.Polynomial.fit(grid[::50], values, 2)
    np.testing.assert_allclose(curve(grid[::50]), values, atol=1e-9 * np.abs(values).max())
    return grid[curve(grid).argmin()]


@pytest.mark.parametrize("true_share", [0.0, 0.3, 0.8])
def test_pairs_give_the_minimum_of_e6_over_shares(true_share):
    X, y, new = classes(7, (true_share, 1 - true_share), n=15, m=40)
    model = dd.LSDD(sigma=1.2, lam=0.05, solver="pairs", standardize=False)
    even = np.full(len(new), 1 / len(new))

    def statistic(share):
        omega = np.where(y == 0, share, 1 - share) / 15
        return filter_estimates(X, new, omega, even, 1.2, 0.05)["regularization_corrected"]

    assert fitted(X, y, model=model).predict(new)[0] == pytest.approx(_grid_minimum(statistic), abs=1e-3)


@pytest.mark.parametrize("true_share", [0.0, 0.3, 0.8])
def test_centers_give_the_minimum_of_e6_over_shares(true_share):
    """Repeated rows make the mixture: 8 of 15 copies of class 0 are a share of 8/15."""
    X, y, new = classes(8, (true_share, 1 - true_share), n=15, m=40)
    centers = np.concatenate([X[::3], new[::5]])
    model = dd.LSDD(sigma=1.2, lam=0.5, solver="centers", centers=centers, standardize=False)

    def statistic(share):
        copies = np.where(y == 0, round(1000 * share), 1000 - round(1000 * share))
        # E6 is a quadratic of means; weights enter as the mean of psi over the mixture
        fit = dd.LSDD(1.2, 0.5, centers=centers, standardize=False).fit(X, new, weights_x=copies)
        return fit.l2_distance().estimates["regularization_corrected"]

    found = fitted(X, y, model=model).predict(new)[0]
    assert found == pytest.approx(_grid_minimum(statistic), abs=1e-3)
    plain = estimates(X, new, centers, 1.2, 0.5)["regularization_corrected"]
    assert statistic(0.5) == pytest.approx(plain, rel=1e-8)


def test_three_classes_minimize_e6_over_the_simplex():
    X, y, new = classes(9, (0.2, 0.5, 0.3), n=10, m=40)
    model = dd.LSDD(sigma=1.5, lam=0.05, solver="pairs", standardize=False)
    even = np.full(len(new), 1 / len(new))

    def statistic(p):
        return filter_estimates(X, new, np.array(p)[y] / 10, even, 1.5, 0.05)["regularization_corrected"]

    found = fitted(X, y, model=model).predict(new)
    least = statistic(found)
    random = np.random.default_rng(0)
    for p in [*random.dirichlet(np.ones(3), 30), *np.eye(3), *(found + 0.01 * (np.eye(3) - found))]:
        assert statistic(p) >= least - 1e-12


# --- what must not change it ------------------------------------------------------------------------------------------


@each_model
@pytest.mark.parametrize("factor", [1e-200, 1e200, np.array([1e-150, 1e150])], ids=["tiny", "huge", "mixed"])
def test_units_of_columns_do_not_matter(model, factor):
    X, y, new = classes(10)
    expected, found = (fitted(X * f, y, model=model).estimate(new * f) for f in (1.0, factor))
    np.testing.assert_allclose(found.priors, expected.priors, atol=1e-9)
    if expected.intervals is not None:
        np.testing.assert_allclose(found.intervals, expected.intervals, atol=1e-7)


@each_model
@pytest.mark.hostile(16)
def test_an_offset_does_not_matter(model):
    X, y, new = classes(11)
    plain, moved = (fitted(X + offset, y, model=model).predict(new + offset) for offset in (0.0, 2.0**27))
    np.testing.assert_allclose(moved, plain, atol=1e-7)


def test_the_order_of_new_rows_and_columns_does_not_matter():
    X, y, new = classes(12)
    plain = fitted(X, y).estimate(new)
    order = np.random.default_rng(0).permutation(len(new))
    np.testing.assert_allclose(fitted(X, y).estimate(new[order]).intervals, plain.intervals, atol=1e-8)
    np.testing.assert_allclose(fitted(X[:, ::-1], y).predict(new[:, ::-1]), plain.priors, atol=1e-8)


def test_a_constant_column_does_not_matter():
    X, y, new = classes(13)
    wide = [np.column_stack([rows, np.full(len(rows), 7.0)]) for rows in (X, new)]
    np.testing.assert_allclose(fitted(wide[0], y).predict(wide[1]), fitted(X, y).predict(new), atol=1e-9)


def test_names_of_classes_in_the_same_order_do_not_matter():
    X, y, new = classes(14, (0.2, 0.3, 0.5))
    expected = fitted(X, y).predict(new)
    for names in (["a", "b", "c"], [-5, 0, 7], [0.5, 1.5, 2.5]):
        np.testing.assert_array_equal(fitted(X, np.array(names)[y]).predict(new), expected)


@each_model
def test_names_in_another_order_reorder_the_answer(model):
    """Folds are dealt class by class in the order of labels, so the learned kernel's answer moves a little."""
    X, y, new = classes(15, (0.2, 0.8), n=40, apart=3.0)
    plain, swapped = fitted(X, y, model=model).predict(new), fitted(X, 1 - y, model=model).predict(new)
    np.testing.assert_allclose(swapped[::-1], plain, atol=0.02 if model is None else 1e-6)


def test_names_in_another_order_reorder_the_learned_answer_exactly():
    differences = []
    for seed in range(5):
        X, y, new = classes([16, seed], apart=1.0)
        differences.append(fitted(X, 1 - y).predict(new)[::-1] - fitted(X, y).predict(new))
    np.testing.assert_allclose(differences, 0, atol=1e-7)  # a logistic regression ends where its slope is small


@each_model
def test_the_order_of_labelled_rows_hardly_matters(model):
    X, y, new = classes(17, n=40, apart=3.0)
    order = np.random.default_rng(0).permutation(len(X))
    found = fitted(X[order], y[order], model=model).predict(new)
    np.testing.assert_allclose(found, fitted(X, y, model=model).predict(new), atol=0.03)


def test_whole_weights_are_repeated_rows_for_a_given_model():
    X, y, new = classes(18)
    counts = np.random.default_rng(0).integers(1, 4, size=len(X))
    model = dd.LSDD(1.0, 0.1, solver="pairs", standardize=False)
    weighted = fitted(X, y, counts, model=model).predict(new)
    repeated = fitted(np.repeat(X, counts, axis=0), np.repeat(y, counts), model=model).predict(new)
    np.testing.assert_allclose(weighted, repeated, atol=1e-9)


def test_whole_weights_are_nearly_repeated_rows_for_the_learned_kernel():
    """The metric and the penalty count rows, so that copies are taken for more information than weights are."""
    X, y, new = classes(19, n=40, apart=3.0)
    counts = np.random.default_rng(0).integers(1, 3, size=len(X))
    weighted = fitted(X, y, counts).predict(new)
    repeated = fitted(np.repeat(X, counts, axis=0), np.repeat(y, counts)).predict(new)
    np.testing.assert_allclose(weighted, repeated, atol=0.05)


@each_model
def test_rows_without_weight_are_no_rows_and_the_unit_of_weights_is_free(model):
    X, y, new = classes(20)
    weights = np.linspace(1, 2, len(X)) * (np.arange(len(X)) % 5 != 0)
    kept = weights > 0
    expected = fitted(X, y, weights, model=model).predict(new)
    np.testing.assert_allclose(fitted(X[kept], y[kept], weights[kept], model=model).predict(new), expected, atol=1e-12)
    np.testing.assert_allclose(fitted(X, y, weights * 2.0**80, model=model).predict(new), expected, atol=1e-12)


def test_a_class_that_rests_on_one_row_is_answered_or_refused():
    X, y, new = classes(21)
    weights = np.ones(len(X))
    weights[y == 0] = 1e-20
    weights[0] = 1.0
    try:
        found = fitted(X, y, weights).estimate(new)
    except dd.InputError:
        return
    assert np.isfinite(found.intervals).all()


def test_class_weights_of_rows_do_not_move_the_answer_far():
    """Weights of whole classes only say how the labelled rows were collected."""
    X, y, new = classes(22, n=40, apart=3.0)
    plain = fitted(X, y).predict(new)
    np.testing.assert_allclose(fitted(X, y, np.where(y == 0, 5.0, 1.0)).predict(new), plain, atol=0.05)


def test_a_generator_is_used_once_by_fit_and_predictions_repeat():
    X, y, new = classes(24)
    random = np.random.default_rng(0)
    balance = dd.ClassBalance(random_state=random).fit(X, y)
    np.testing.assert_array_equal(balance.predict(new), balance.predict(new))
    assert balance.seed_ != dd.ClassBalance(random_state=random).fit(X, y).seed_
    assert dd.ClassBalance(random_state=np.random.RandomState(0)).fit(X, y).seed_ >= 0
    assert fitted(X, y, model=dd.LSDD(random_state=3), random_state=4).seed_ == 3


def test_a_given_model_stays_unfitted():
    X, y, new = classes(25)
    model = dd.LSDD(solver="centers")
    fitted(X, y, model=model).estimate(new)
    assert not hasattr(model, "seed_")


# --- scikit-learn, results, sizes -------------------------------------------------------------------------------------


def test_it_clones_prints_and_pickles():
    X, y, new = classes(40)
    balance = dd.ClassBalance(model=dd.LSDD(sigma=2.0), random_state=1)
    copy = clone(balance)
    assert repr(copy) == "ClassBalance(model=LSDD(sigma=2.0), random_state=1)"
    assert copy.get_params()["model__sigma"] == 2.0
    assert not hasattr(copy.set_params(model=None).fit(X, y) and clone(copy), "classes_")
    again = pickle.loads(pickle.dumps(copy))
    np.testing.assert_array_equal(again.predict(new), copy.predict(new))


@each_model
def test_results_are_plain_data(model):
    X, y, new = classes(41, (0.2, 0.3, 0.5))
    found = fitted(X, np.array(["a", "b", "c"])[y], model=model).estimate(new, 0.9)
    plain = json.loads(found.to_json())
    assert plain == found.to_dict()
    assert plain["classes"] == ["a", "b", "c"]
    assert plain["priors"] == found.priors.tolist()
    assert (plain["n_x"], plain["n_y"], plain["level"]) == (60, 50, 0.9)
    again = pickle.loads(pickle.dumps(found))
    assert again.to_dict() == plain
    assert str(again) == str(found)
    with pytest.raises(AttributeError):
        found.level = 0.5
    lines = str(found).splitlines()
    assert lines[0] == "Class balance of 50 rows, from 60 labelled rows"
    assert [line.split()[0] for line in lines[1:4]] == ["a:", "b:", "c:"]
    assert ("at 90 %" in lines[1]) == (found.intervals is not None)
    noted = "KDEDifference gives no standard errors and no intervals" in found.warnings
    assert (found.intervals is None) == isinstance(model, dd.KDEDifference) == noted


@pytest.mark.parametrize(
    "names", [np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"), np.array([b"a", b"b"])]
)
def test_results_of_unusual_labels_are_plain_data(names):
    X, y, new = classes(42)
    json.loads(fitted(X, names[y]).estimate(new).to_json())


def test_a_higher_level_is_a_wider_interval():
    X, y, new = classes(43)
    balance = fitted(X, y)
    narrow, wide = (balance.estimate(new, level).intervals for level in (0.5, 0.99))
    assert (wide[:, 0] <= narrow[:, 0]).all()
    assert (narrow[:, 1] <= wide[:, 1]).all()
    np.testing.assert_allclose(wide[1], 1 - wide[0, ::-1], atol=1e-6)


def test_class_weights_are_new_over_old_shares():
    X, y, new = classes(44, (0.2, 0.8))
    chosen = np.r_[:20, 20:30]  # two thirds and one third
    balance = fitted(X[chosen], np.array(["ill", "well"])[y[chosen]])
    share = balance.predict(new)
    assert balance.class_weight(new) == pytest.approx({"ill": share[0] / (2 / 3), "well": share[1] / (1 / 3)})
    LogisticRegression(class_weight=balance.class_weight(new)).fit(X[chosen], balance.classes_[y[chosen]])


def _many():
    """More labelled rows than are used, nine in ten of class 0, and new rows of the same balance."""
    random = np.random.default_rng(0)
    y = np.arange(4000) % 10 == 0
    new_y = np.arange(200) % 10 == 0
    return random.normal(size=(4000, 2)) + 6 * y[:, None], y, random.normal(size=(200, 2)) + 6 * new_y[:, None]


@pytest.fixture
def few_rows_used(monkeypatch):
    """The cut at 100,000 rows takes seconds; the same code at 200 does not."""
    monkeypatch.setattr("densdiff.balance.class_balance.MOST_ROWS", 200)


@pytest.mark.usefixtures("few_rows_used")
def test_many_labelled_rows_are_thinned_aloud():
    X, y, new = _many()
    found = fitted(X, y).estimate(new)
    assert "200 of the 4000 labelled rows were used, drawn evenly from the classes, to limit memory" in found.warnings
    assert found.n_x == 4000
    np.testing.assert_allclose(found.priors, [0.9, 0.1], atol=0.03)
    np.testing.assert_array_equal(found.priors, fitted(X, y).predict(new))


def test_the_cut_is_where_the_documentation_says():
    from densdiff.balance.class_balance import MOST_ROWS

    assert MOST_ROWS == 100_000


@pytest.mark.usefixtures("few_rows_used")
def test_class_weights_of_thinned_rows_are_over_the_shares_that_were_given():
    X, y, new = _many()
    weights = fitted(X, y).class_weight(new)
    assert weights[False] == pytest.approx(1, abs=0.05)
    assert weights[True] == pytest.approx(1, abs=0.3)


def test_a_hundred_thousand_new_rows_are_answered():
    X, y, _ = classes(45, n=10, apart=4.0)
    random = np.random.default_rng(0)
    codes = np.arange(100_000) % 10 == 0
    new = random.normal(size=(100_000, 2)) + np.array([X[y == c].mean(axis=0) for c in (0, 1)])[codes.astype(int)]
    found = fitted(X, y).estimate(new)
    assert found.n_y == 100_000
    np.testing.assert_allclose(found.priors, [0.9, 0.1], atol=0.05)


@pytest.mark.parametrize("k", [3, 8])
def test_many_classes_are_answered(k):
    shares = np.arange(1, k + 1) / np.arange(1, k + 1).sum()
    X, y, new = classes(46, tuple(shares), n=10, m=120, apart=5.0)
    found = fitted(X, y).estimate(new)
    np.testing.assert_allclose(found.priors, shares, atol=0.06)
    assert found.intervals.shape == (k, 2)


def test_it_works_inside_quapys_protocols():
    """QuaPy calls predict with rows and wants the shares in the order of the classes."""
    # QuaPy changes what all figures look like, those of other tests too
    with warnings.catch_warnings(), matplotlib.rc_context():
        warnings.simplefilter("ignore")  # of what QuaPy itself imports
        quapy = pytest.importorskip("quapy")
        from quapy.data import LabelledCollection
        from quapy.protocol import APP, UPP
    X, y, _ = classes(47, (0.3, 0.3, 0.4), n=20, apart=4.0)
    pool_X, pool_y, _ = classes(48, (0.3, 0.3, 0.4), n=100, apart=4.0)
    balance = fitted(*_same_places(X, y, pool_X, pool_y))
    pool = LabelledCollection(pool_X, pool_y)
    for protocol in (
        UPP(pool, sample_size=50, repeats=4, random_state=0),
        APP(pool, sample_size=50, n_prevalences=3, repeats=1, random_state=0),
    ):
        error = quapy.evaluation.evaluate(balance, protocol, error_metric="mae")
        assert 0 < error < 0.1
        true, found = quapy.evaluation.prediction(balance, protocol)
        assert true.shape == found.shape
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)


def _same_places(X, y, other_X, other_y):
    """X moved so that each class has the mean that it has in the other sample."""
    shift = np.array([other_X[other_y == c].mean(axis=0) - X[y == c].mean(axis=0) for c in range(y.max() + 1)])
    return X + shift[y], y
