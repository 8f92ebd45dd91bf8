"""Class balance as people ask for it: tables and labels of every kind, what must not matter, what is refused."""

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import densdiff as dd
from densdiff.balance.mixture import encoded
from densdiff.core.scaling import pooled_scaling
from tests.oracle import estimates, filter_estimates

NAMES = ["height", "weight"]
FRAMES = {
    "pandas": lambda rows: pd.DataFrame(rows, columns=NAMES),
    "polars": lambda rows: pl.DataFrame(rows, schema=NAMES),
    "pyarrow": lambda rows: pa.table({name: rows[:, j] for j, name in enumerate(NAMES)}),
}
MODELS = {
    "learned": None,
    "LSDD": dd.LSDD(),
    "pairs": dd.LSDD(sigma=1.0, lam=0.1, solver="pairs"),
    "centers": dd.LSDD(solver="centers"),
    "KDE": dd.KDEDifference(),
}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def classes(seed=0, shares=(0.2, 0.8), n=20, m=50, d=2, apart=2.0):
    """Labelled rows on a lattice, their classes 0, 1, .., and new rows with exactly these shares, about."""
    random = np.random.default_rng([seed, n, m, d, len(shares)])
    y = np.repeat(np.arange(len(shares)), n)
    counts = np.round(np.array(shares) * m).astype(int)
    centers = apart * np.linalg.qr(random.normal(size=(d + len(shares), d)))[0][: len(shares)] * np.sqrt(d)
    centers[:, 0] = apart * np.arange(len(shares))
    rows = [
        random.normal(size=(len(codes), d)) + centers[codes] for codes in (y, np.repeat(np.arange(len(shares)), counts))
    ]
    X, new = (np.round(part * 2.0**20) / 2.0**20 for part in rows)
    return X, y, new


def fitted(X, y, weights=None, **parameters):
    return dd.ClassBalance(**{"random_state": 0} | parameters).fit(X, y, weights)


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
    # E6 with a narrow kernel shrinks towards equal shares (docs/math, Class balance); the learned kernel must do better
    np.testing.assert_allclose(found.priors, shares, atol=0.05 if model is None else 0.25)
    np.testing.assert_array_equal(balance.predict(new), found.priors)
    if found.intervals is not None:
        assert (found.intervals[:, 0] <= found.priors).all()
        assert (found.priors <= found.intervals[:, 1]).all()
        assert 0 <= found.intervals.min() <= found.intervals.max() <= 1
        assert (found.standard_errors > 0).all()


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
    np.testing.assert_allclose(differences, 0, atol=1e-9)


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
    np.testing.assert_allclose(weighted, repeated, atol=0.03)


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


@each_model
def test_the_same_seed_gives_the_same_answer(model):
    X, y, new = classes(23)
    first, second = (fitted(X, y, model=model, random_state=5).estimate(new).to_dict() for _ in range(2))
    assert first == second
    assert first["seed"] == 5


def test_a_generator_is_used_once_by_fit_and_predictions_repeat():
    X, y, new = classes(24)
    random = np.random.default_rng(0)
    balance = dd.ClassBalance(random_state=random).fit(X, y)
    np.testing.assert_array_equal(balance.predict(new), balance.predict(new))
    assert balance.seed_ != dd.ClassBalance(random_state=random).fit(X, y).seed_
    assert dd.ClassBalance(random_state=np.random.RandomState(0)).fit(X, y).seed_ >= 0
    assert fitted(X, y, model=dd.LSDD(random_state=3), random_state=4).seed_ == 3


@each_model
def test_inputs_and_model_are_not_changed(model):
    X, y, new = classes(25)
    weights = np.ones(len(X))
    before = [array.copy() for array in (X, y, new, weights)]
    for array in (X, y, new, weights):
        array.flags.writeable = False
    fitted(X, y, weights, model=model).estimate(new)
    for array, copy in zip((X, y, new, weights), before, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert model is None or not hasattr(model, "seed_")


def test_what_is_fitted_does_not_follow_the_callers_arrays():
    X, y, new = classes(26)
    balance = fitted(X, y)
    expected = balance.predict(new)
    X[:] = 0.0
    y[:] = 0
    np.testing.assert_array_equal(balance.predict(new), expected)


# --- tables and labels of every kind ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*FRAMES, "list"])
@pytest.mark.parametrize("kind_new", [*FRAMES, "list"])
def test_every_table_gives_the_answer_of_the_array(kind, kind_new):
    X, y, new = classes(27)
    makers = FRAMES | {"list": lambda rows: rows.tolist()}
    balance = fitted(makers[kind](X), y)
    np.testing.assert_array_equal(balance.predict(makers[kind_new](new)), fitted(X, y).predict(new))
    assert balance.feature_names_ == (tuple(NAMES) if kind in FRAMES else ("x0", "x1"))


@pytest.mark.parametrize("kind", FRAMES)
def test_columns_of_new_rows_are_matched_by_name(kind):
    X, y, new = classes(28)
    balance, frame = fitted(FRAMES[kind](X), y), FRAMES[kind](new)
    turned = frame.select(NAMES[::-1]) if kind != "pandas" else frame[NAMES[::-1]]
    np.testing.assert_array_equal(balance.predict(turned), balance.predict(new))


def test_missing_columns_are_refused_and_further_ones_left_out_aloud():
    X, y, new = classes(29)
    balance, frame = fitted(FRAMES["pandas"](X), y), FRAMES["pandas"](new)
    with pytest.raises(dd.InputError, match=r"X_new lacks columns .*'weight'"):
        balance.predict(frame[["height"]])
    with pytest.warns(dd.DensDiffWarning, match="columns of X_new left out .*'age'"):
        found = balance.predict(frame.assign(age=1.0))
    np.testing.assert_array_equal(found, balance.predict(new))


def test_warnings_about_new_rows_are_in_the_result():
    X, y, new = classes(30)
    balance = fitted(FRAMES["pandas"](X), y)
    with pytest.warns(dd.DensDiffWarning, match="left out"):
        found = balance.estimate(FRAMES["pandas"](new).assign(age=1.0))
    assert any("left out" in note for note in found.warnings)


@pytest.mark.parametrize("column", [np.asarray, list, pd.Series, pl.Series, pa.array])
def test_one_column_may_be_one_dimensional(column):
    X, y, new = classes(31, d=1)
    expected = fitted(X, y).predict(new)
    np.testing.assert_array_equal(fitted(column(X[:, 0]), y).predict(column(new[:, 0])), expected)


LABELS = {
    "list": list,
    "tuple": tuple,
    "objects": lambda y: np.array(y, dtype=object),
    "a column": lambda y: np.array(y)[:, None],
    "pandas": pd.Series,
    "pandas shuffled index": lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
    "pandas string": lambda y: pd.Series(y, dtype="string"),
    "pandas category": lambda y: pd.Series(pd.Categorical(y, categories=["well", "ill", "absent"])),
    "polars": pl.Series,
    "polars category": lambda y: pl.Series(y).cast(pl.Categorical),
    "pyarrow": pa.array,
    "pyarrow chunks": lambda y: pa.chunked_array([y[:3], y[3:]]),
    "pyarrow dictionary": lambda y: pa.array(y).dictionary_encode(),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_may_be_any_sequence(kind):
    X, y, new = classes(32)
    names = np.array(["ill", "well"])[y].tolist()
    balance = fitted(X, LABELS[kind](names))
    assert balance.classes_.tolist() == ["ill", "well"]
    np.testing.assert_array_equal(balance.predict(new), fitted(X, y).predict(new))


@pytest.mark.parametrize(
    "names",
    [[False, True], [0, 1], [-1.0, 1.0], ["", " "], ["a\nb", "\x1b[31m"], ["é", "😀"], [np.int8(1), np.int8(2)]],
)
def test_labels_come_back_as_plain_values(names):
    X, y, new = classes(33)
    balance = fitted(X, np.array(names)[y])
    found = balance.estimate(new)
    assert found.classes == tuple(sorted(np.array(names).tolist()))
    assert found.to_dict()["classes"] == list(found.classes)
    assert set(balance.class_weight(new)) == set(found.classes)
    text = str(found)
    assert all(c.isprintable() or c == "\n" for c in text)
    assert len(text.splitlines()) == 5


def _lacking(kind):
    y = ["ill", "well"] * 20
    return {
        "None": [None, *y[1:]],
        "NaN among objects": np.array([np.nan, *y[1:]], dtype=object),
        "NaN among numbers": [np.nan, *[0.0, 1.0] * 19, 0.0],
        "pandas None": pd.Series([None, *y[1:]]),
        "pandas category": pd.Series([None, *y[1:]], dtype="category"),
        "pandas Int64": pd.Series([pd.NA, *[0, 1] * 19, 0], dtype="Int64"),
        "polars": pl.Series([None, *y[1:]]),
        "polars bool": pl.Series([None, *[True, False] * 19, True]),
        "pyarrow": pa.array([None, *y[1:]]),
        "NaN in a list of strings": [np.nan, *y[1:]],
        "pandas NA among objects": pd.Series([pd.NA, *y[1:]], dtype=object),
        "pandas string": pd.Series([pd.NA, *y[1:]], dtype="string"),
        "pandas boolean": pd.Series([pd.NA, *[True, False] * 19, True], dtype="boolean"),
        "masked": np.ma.masked_array([0, 1] * 20, mask=np.arange(40) == 0),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "None",
        "NaN among objects",
        "NaN among numbers",
        "pandas None",
        "pandas category",
        "pandas Int64",
        "polars",
        "polars bool",
        "pyarrow",
        "NaN in a list of strings",
        "pandas NA among objects",
        "pandas string",
        "pandas boolean",
        "masked",
    ],
)
def test_missing_labels_are_counted_and_located(kind):
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(dd.InputError, match=r"y has 1 missing label, .*row 0; drop those rows"):
        fitted(X, _lacking(kind))


def test_labels_of_two_kinds_in_a_list_are_refused():
    X, y, _ = classes(34)
    with pytest.raises(dd.InputError, match="labels of one kind"):
        fitted(X, [1 if code else "a" for code in y])


def test_labels_of_two_kinds_among_objects_are_refused():
    X, y, _ = classes(34)
    with pytest.raises(dd.InputError, match="labels of one kind"):
        fitted(X, np.array([1 if code else "a" for code in y], dtype=object))


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.repeat("ill", 40)}, "y holds 1 class, 'ill'; at least 2 are needed"),
        ({"y": None}, "y is None; one label for each row of X is needed"),
        ({"y": np.zeros(39)}, "y has 39 labels, but X has 40 rows"),
        ({"y": "ill"}, r"y must be 1-D, one label for each row; got shape \(\)"),
        ({"y": np.eye(2)[np.arange(40) % 2]}, r"y must be 1-D, one label for each row; got shape \(40, 2\)"),
        ({"y": np.arange(40) / 7}, "Unknown label type: y holds 40 distinct numbers in 40 rows"),
        ({"y": np.array(["odd", *["a", "b"] * 19, "a"])}, "class 'odd' has 1 row in X; each class needs at least 2$"),
        ({"X": None}, "X must be an array, a list of rows or a data frame; got None"),
        (
            {"X": np.where(np.arange(80).reshape(40, 2) == 7, np.nan, 0.0)},
            "column 'x1' of X: 1 missing value, at row 3",
        ),
        ({"X": np.where(np.arange(80).reshape(40, 2) == 7, np.inf, 0.0)}, "column 'x1' of X: 1 infinite value, inf at"),
        (
            {"X": pd.DataFrame({"u": range(40), "v": ["1", "2"] * 20})},
            "column 'v' of X holds numbers stored as text, first '1' at row 0",
        ),
        (
            {"X": pd.DataFrame({"u": range(40), "v": ["x"] * 40}), "model": dd.KDEDifference()},
            "column 'v' of X holds text, first 'x' at row 0",
        ),
        ({"weights": -np.ones(40)}, "sample_weight must not be negative; got -1.0 at row 0"),
        ({"weights": np.ones(3)}, "sample_weight has 3 weights, but X has 40 rows"),
        ({"weights": (np.arange(40) < 20) * 1.0}, "class 1 has 0 rows of positive weight in X"),
        ({"model": "lsdd"}, "model must be None, an LSDD or a KDEDifference object; got str"),
        ({"model": dd.LSDD}, "model must be .*; got the class LSDD"),
        ({"model": dd.KLIEP()}, "model must be .*; got KLIEP"),
        ({"random_state": "x"}, "random_state must be None"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_one_sentence(change, message):
    X, y, _ = classes(35)
    with pytest.raises(dd.InputError, match=message):
        fitted(**({"X": X, "y": y} | change))


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (np.zeros((1, 2)), "X_new has 1 row; at least 2 are needed"),
        (np.zeros((0, 2)), "X_new has 0 rows; at least 2 are needed"),
        (np.zeros((5, 3)), r"X_new has shape \(5, 3\), but 2 columns are needed"),
        (np.full((5, 2), np.nan), "column 'x0' of X_new: 5 missing values, first at row 0"),
        (None, "X_new must be an array"),
    ],
)
def test_new_rows_that_cannot_be_used_are_refused_in_one_sentence(new, message):
    X, y, _ = classes(36)
    balance = fitted(X, y)
    for method in ("predict", "estimate", "class_weight"):
        with pytest.raises(dd.InputError, match=message):
            getattr(balance, method)(new)


@pytest.mark.parametrize("level", [0, 1, 95, -0.1, "x", None, np.nan, True])
def test_a_level_out_of_range_is_refused(level):
    X, y, new = classes(37)
    with pytest.raises(dd.InputError, match="level must lie strictly between 0 and 1; got"):
        fitted(X, y).estimate(new, level)


def test_before_fit_there_is_nothing_to_ask():
    for method in ("predict", "estimate", "class_weight"):
        with pytest.raises(dd.NotFittedError, match="call fit"):
            getattr(dd.ClassBalance(), method)([[0.0], [1.0]])


def test_a_refused_refit_leaves_the_model_as_it_was():
    X, y, new = classes(38)
    balance = fitted(X, y)
    expected = balance.predict(new)
    with pytest.raises(dd.InputError):
        balance.fit(X[:, :1], np.zeros(40))
    np.testing.assert_array_equal(balance.predict(new), expected)


@pytest.mark.hostile(14)
def test_more_columns_than_rows_are_warned_of():
    random = np.random.default_rng(0)
    with pytest.warns(dd.DensDiffWarning, match="rows and columns swapped"):
        fitted(random.normal(size=(6, 200)), list("ababab")).predict(random.normal(size=(5, 200)))


@pytest.mark.hostile(9)
def test_copied_rows_are_warned_of():
    X, y, new = classes(39)
    with pytest.warns(dd.DensDiffWarning, match="every row of X occurs 10 times"):
        balance = fitted(np.repeat(X, 10, axis=0), np.repeat(y, 10))
    with pytest.warns(dd.DensDiffWarning, match="every row of X_new occurs 10 times"):
        found = balance.estimate(np.repeat(new, 10, axis=0))
    np.testing.assert_allclose(found.intervals, fitted(X, y).estimate(new).intervals, atol=1e-12)


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
    assert [line.split()[0] for line in lines[1:4]] == ["'a'", "'b'", "'c'"]
    assert ("at 90 %" in lines[1]) == (found.intervals is not None)
    assert (
        (found.intervals is None) == isinstance(model, dd.KDEDifference) == any("without" in w for w in found.warnings)
    )


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
    """The cut at 2000 rows takes seconds; the same code at 200 does not."""
    monkeypatch.setattr("densdiff.balance.class_balance.MOST_ROWS", 200)


@pytest.mark.usefixtures("few_rows_used")
def test_many_labelled_rows_are_thinned_aloud():
    X, y, new = _many()
    found = fitted(X, y).estimate(new)
    assert "200 of 4000 labelled rows were drawn, evenly from the classes, to bound memory" in found.warnings
    assert found.n_x == 4000
    np.testing.assert_allclose(found.priors, [0.9, 0.1], atol=0.03)
    np.testing.assert_array_equal(found.priors, fitted(X, y).predict(new))


def test_the_cut_is_where_the_documentation_says():
    from densdiff.balance.class_balance import MOST_ROWS

    assert MOST_ROWS == 2000


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
    with warnings.catch_warnings():
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


# --- columns of categories --------------------------------------------------------------------------------------------


TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table, "dict": dict}
each_mixed_model = pytest.mark.parametrize(
    "model", [None, dd.LSDD(), dd.LSDD(solver="centers"), dd.LSDD(standardize=False)]
)


def mixed(seed, n, share):
    """Columns of which only the category differs between the classes, and the classes, so much of them 1."""
    random = np.random.default_rng([seed, n])
    y = (np.arange(n) < share * n).astype(int)
    place = random.choice(3, n, p=[0.75, 0.15, 0.1])  # the class's own color, green, the other's
    color = np.array(["blue", "green", "red"])[np.where(y == 1, 2 - place, place)]
    return {"size": random.normal(size=n), "color": color, "new": random.random(n) < 0.3}, y


@each_mixed_model
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_category_alone_tells_the_classes_apart(model, share):
    X, y = mixed(0, 120, 0.5)
    new, _ = mixed(1, 300, share)
    alone = fitted({"color": X["color"]}, y, model=model).estimate({"color": new["color"]})
    assert alone.priors[1] == pytest.approx(share, abs=0.06)
    assert alone.intervals[1, 0] <= share <= alone.intervals[1, 1]
    if model is None:  # E6 shrinks beside columns that tell nothing, as with numbers
        assert fitted(X, y).predict(new)[1] == pytest.approx(share, abs=0.06)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("order", [["color", "new", "size"], ["new", "size", "color"]])
def test_neither_library_nor_order_of_mixed_columns_matters(kind, order):
    (X, y), (new, _) = mixed(2, 60, 0.5), mixed(3, 80, 0.3)
    expected = fitted(pd.DataFrame(X), y).predict(pd.DataFrame(new))
    turned = {name: new[name] for name in order}
    np.testing.assert_array_equal(fitted(TABLES[kind](X), y).predict(TABLES[kind](turned)), expected)
    found = fitted(TABLES[kind]({name: X[name] for name in order}), y).predict(TABLES["polars"](new))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_types_of_a_category_do_not_matter():
    (X, y), (new, _) = mixed(4, 60, 0.5), mixed(5, 80, 0.3)
    expected = fitted(X, y).predict(new)
    typed = pd.DataFrame(X).astype({"color": pd.CategoricalDtype(["red", "green", "blue", "black"])})
    np.testing.assert_array_equal(fitted(typed, y).predict(new), expected)
    np.testing.assert_array_equal(fitted(X, y).predict(pl.DataFrame(new).cast({"color": pl.Categorical})), expected)


@given(st.integers(0, 2**32 - 1))
def test_two_levels_are_as_far_apart_as_a_standardized_0_and_1(seed):
    random = np.random.default_rng(seed)
    rows, new = (np.column_stack([random.normal(size=n), random.integers(0, 2, n)]) for n in (12, 7))
    omega = random.uniform(0.5, 2, 12)
    omega /= omega.sum()
    expected = np.concatenate(pooled_scaling(rows, new, omega, np.full(7, 1 / 7), True)[1:])
    found = encoded(rows, new, omega, [0, 2], True)
    np.testing.assert_allclose(pdist(found), pdist(expected), rtol=1e-9, atol=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_levels_are_so_far_apart_that_rows_differ_as_much_as_in_a_column_of_numbers(seed, k):
    random = np.random.default_rng(seed)
    rows, new = (np.concatenate([np.arange(k), random.integers(0, k, n)])[:, None] * 1.0 for n in (12, 7))
    found = encoded(rows, new, np.full(len(rows), 1 / len(rows)), [k], True)
    assert found.shape == (len(rows) + len(new), k)
    assert np.square(cdist(found, found)).mean() == pytest.approx(2)


def test_an_lsdd_gets_encoded_columns_as_they_are():
    (X, y), (new, _) = mixed(6, 60, 0.5), mixed(7, 80, 0.3)
    tables = [np.column_stack([t["size"], np.searchsorted(["blue", "green", "red"], t["color"])]) for t in (X, new)]
    rows, rows_new = np.split(encoded(*tables, np.full(60, 1 / 60), [0, 3], True), [60])
    expected = fitted(rows, y, model=dd.LSDD(1.0, 0.1, solver="pairs", standardize=False)).predict(rows_new)
    balance = fitted({name: X[name] for name in ("size", "color")}, y, model=dd.LSDD(1.0, 0.1, solver="pairs"))
    np.testing.assert_allclose(balance.predict({name: new[name] for name in ("size", "color")}), expected, atol=1e-9)


def test_levels_that_occur_equally_often_are_no_copies():
    X, y = {"c": np.tile([f"level {i}" for i in range(12)], 10)}, np.arange(120) % 12 >= 6
    found = fitted(X, y).estimate({"c": np.repeat([f"level {i}" for i in range(4, 12)], 5)})
    assert (found.n_x, found.n_y, found.warnings) == (120, 40, ())
    assert found.priors[1] == pytest.approx(0.75, abs=0.06)


def test_weights_of_mixed_rows_are_copies():
    (X, y), (new, _) = mixed(8, 60, 0.5), mixed(9, 80, 0.3)
    weights, model = np.where(np.arange(60) < 20, 2, 1), dd.LSDD(1.0, 0.1, solver="centers")
    copies = {name: np.repeat(values, weights) for name, values in X.items()}
    expected = fitted(copies, np.repeat(y, weights), model=model).predict(new)
    found = fitted(X, y, weights, model=model).predict(new)
    np.testing.assert_allclose(found, expected, atol=0.01)  # scales are pooled by rows, so copies weigh more there


@each_mixed_model
def test_a_level_that_fit_never_saw_is_told(model):
    (X, y), (new, _) = mixed(10, 60, 0.5), mixed(11, 80, 0.3)
    balance = fitted(X, y, model=model)
    changed = new | {"color": np.where(np.arange(80) % 20 == 3, "violet", new["color"])}
    with pytest.warns(dd.DensDiffWarning) as caught:
        found = balance.estimate(changed)
    told = "column 'color' of X_new holds 'violet' in 4 of 80 rows, which the fit never saw"
    assert [str(w.message).startswith(told) for w in caught] == [True]
    assert str(caught[0].message) in found.warnings
    assert found.priors.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(found.priors, balance.predict(new), atol=0.1)
    with pytest.warns(dd.DensDiffWarning, match=r"holds 'amber', 'violet' in 80 of 80 rows"):
        assert np.isfinite(balance.predict(new | {"color": np.array(["amber", "violet"] * 40)})).all()


@pytest.mark.parametrize(
    ("color", "message"),
    [
        (["red", None] * 40, "column 'color' of X_new: 40 missing values, first at row 1; drop or fill those rows"),
        ([None] * 80, "column 'color' of X_new: 80 missing values, first at row 0"),
        (np.arange(80), "holds numbers .in X: categories., first 0 at row 0; the fit knows 'blue', 'green', 'red'$"),
    ],
)
def test_new_categories_that_cannot_be_used_are_refused(color, message):
    (X, y), (new, _) = mixed(12, 60, 0.5), mixed(13, 80, 0.3)
    with pytest.raises(dd.InputError, match=message):
        fitted(X, y).predict(pd.DataFrame(new | {"color": color}))


def test_missing_categories_are_refused_by_fit():
    X, y = mixed(14, 60, 0.5)
    with pytest.raises(dd.InputError, match="column 'color' of X: 1 missing value, at row 0; drop or fill those rows"):
        fitted(pd.DataFrame(X | {"color": [None, *X["color"][1:]]}), y)


def test_constant_categories_change_nothing_and_names_of_rows_are_left_out():
    (X, y), (new, _) = mixed(15, 60, 0.5), mixed(16, 80, 0.3)
    expected = fitted(X, y).predict(new)
    constant = [table | {"unit": ["cm"] * len(table["size"])} for table in (X, new)]
    np.testing.assert_allclose(fitted(constant[0], y).predict(constant[1]), expected, atol=1e-9)
    with pytest.warns(dd.DensDiffWarning, match="almost every row has a level of its own.*'id'"):
        balance = fitted(X | {"id": [f"r{i}" for i in range(60)]}, y)
    assert balance.feature_names_ == ("size", "color", "new")
    np.testing.assert_array_equal(balance.predict(new), expected)


@pytest.mark.usefixtures("few_rows_used")
def test_mixed_rows_beyond_the_ceiling_are_thinned_too():
    (X, y), (new, _) = mixed(17, 3000, 0.5), mixed(18, 300, 0.2)
    found = fitted(X, y).estimate(new)
    assert any("200 of 3000 labelled rows were drawn" in note for note in found.warnings)
    assert found.intervals[1, 0] < 0.2 < found.intervals[1, 1] < 0.5


def test_a_classifier_gets_its_mixed_columns_as_they_are():
    (X, y), (new, _) = mixed(19, 120, 0.5), mixed(20, 300, 0.9)
    encoder = make_column_transformer((OneHotEncoder(), ["color"]), remainder="passthrough")
    classifier = make_pipeline(encoder, LogisticRegression())
    model = dd.PriorShiftClassifier(classifier, dd.ClassBalance(random_state=0))
    model.fit(pd.DataFrame(X), y, X_unlabeled=pd.DataFrame(new))
    assert model.balance_.priors[1] == pytest.approx(0.9, abs=0.06)
    assert (
        model.predict(pd.DataFrame(new)).mean()
        > clone(classifier).fit(pd.DataFrame(X), y).predict(pd.DataFrame(new)).mean()
    )


# --- classifiers for the new balance ----------------------------------------------------------------------------------


CLASSIFIERS = {
    "logistic": LogisticRegression(),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "SVC": SVC(),
    "least squares": dd.LeastSquaresClassifier(random_state=0),
}
each_classifier = pytest.mark.parametrize("classifier", CLASSIFIERS.values(), ids=CLASSIFIERS)


def _shifted(seed=50, new_share=0.9):
    """Balanced labelled rows of two overlapping classes, and 400 new rows of which most are of class 1."""
    random = np.random.default_rng(seed)
    y, of_new = np.arange(100) % 2, (np.arange(400) < 400 * new_share).astype(int)
    X, new = (random.normal(size=(len(codes), 2)) + 1.2 * codes[:, None] for codes in (y, of_new))
    return X, y, new, of_new


@each_classifier
def test_a_classifier_for_the_new_balance_is_right_more_often(classifier):
    X, y, new, of_new = _shifted()
    plain = clone(classifier).fit(X, y).score(new, of_new)
    model = dd.PriorShiftClassifier(classifier, dd.ClassBalance(random_state=0)).fit(X, y, X_unlabeled=new)
    assert model.balance_.priors[1] > 0.8
    assert model.score(new, of_new) > plain + 0.04
    assert not hasattr(classifier, "classes_")


@each_classifier
def test_without_new_rows_it_is_the_plain_classifier(classifier):
    X, y, new, _ = _shifted()
    model = dd.PriorShiftClassifier(classifier).fit(X, y)
    assert model.balance_ is None
    np.testing.assert_array_equal(model.predict(new), clone(classifier).fit(X, y).predict(new))


@each_classifier
def test_weights_are_new_over_old_shares_of_each_rows_class(classifier):
    X, y, new, _ = _shifted()
    X, y = X[10:], np.array(["no", "yes"])[y[10:]]
    model = dd.PriorShiftClassifier(classifier, dd.ClassBalance(random_state=0)).fit(X, y, new)
    weight = dd.ClassBalance(random_state=0).fit(X, y).class_weight(new)
    weights = np.array([weight[label] for label in y])
    name = "logisticregression__sample_weight" if hasattr(classifier, "steps") else "sample_weight"
    twin = clone(classifier).fit(X, y, **{name: weights})
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.predict(new), twin.predict(new))
    if hasattr(twin, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(new), twin.predict_proba(new), atol=1e-9)


def test_a_pipeline_may_end_in_a_pipeline():
    X, y, new, of_new = _shifted()
    classifier = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LogisticRegression()))
    model = dd.PriorShiftClassifier(classifier, dd.ClassBalance(random_state=0)).fit(X, y, new)
    assert model.score(new, of_new) > classifier.fit(X, y).score(new, of_new)


@each_classifier
def test_a_class_that_is_gone_does_not_break_the_classifier(classifier):
    X, y, new = classes(51, (1.0, 0.0), m=200, apart=8.0)
    new = new - np.array([2.0, 0.0])
    model = dd.PriorShiftClassifier(classifier, dd.ClassBalance(random_state=0)).fit(X, y, new)
    assert model.balance_.priors.tolist() == [1.0, 0.0]
    assert (model.predict(new) == 0).all()


def test_frames_and_series_are_taken():
    X, y, new, _ = _shifted()
    frame, labels = FRAMES["pandas"](X), pd.Series(np.array(["no", "yes"])[y], index=np.arange(len(y))[::-1])
    balance = dd.ClassBalance(random_state=0)
    model = dd.PriorShiftClassifier(LogisticRegression(), balance).fit(
        frame, labels, FRAMES["pandas"](new)[NAMES[::-1]]
    )
    expected = dd.PriorShiftClassifier(LogisticRegression(), balance).fit(X, labels.to_numpy(), new)
    np.testing.assert_array_equal(model.predict(FRAMES["pandas"](new)), expected.predict(new))
    assert model.n_features_in_ == 2


def test_three_classes_are_taken():
    X, y, new = classes(52, (0.1, 0.1, 0.8), n=30, m=200)
    model = dd.PriorShiftClassifier(LogisticRegression(), dd.ClassBalance(random_state=0)).fit(X, y, new)
    assert model.predict_proba(new).shape == (200, 3)
    assert model.balance_.priors.argmax() == 2


def test_a_classifier_without_weights_is_refused():
    X, y, new, _ = _shifted()
    with pytest.raises(
        dd.InputError, match=r"KNeighborsClassifier takes no sample_weight.*; choose a classifier that does"
    ):
        dd.PriorShiftClassifier(KNeighborsClassifier()).fit(X, y, new)
    assert dd.PriorShiftClassifier(KNeighborsClassifier()).fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((LogisticRegression,), "estimator must be a classifier object"),
        (("logistic",), "estimator must be a classifier object; got 'logistic'"),
        ((None,), "estimator must be a classifier object; got None"),
        ((LogisticRegression(), "balance"), "balance must be a ClassBalance object; got 'balance'"),
        ((LogisticRegression(), dd.ClassBalance), "balance must be a ClassBalance object"),
    ],
)
def test_parts_that_do_not_fit_are_refused(arguments, message):
    X, y, new, _ = _shifted()
    with pytest.raises(dd.InputError, match=message):
        dd.PriorShiftClassifier(*arguments).fit(X, y, new)


def test_before_fit_there_is_no_prediction():
    for method in ("predict", "predict_proba"):
        with pytest.raises(dd.NotFittedError, match="call fit"):
            getattr(dd.PriorShiftClassifier(LogisticRegression()), method)([[0.0]])


def test_the_classifier_clones_and_is_searched():
    X, y, _, _ = _shifted()
    model = dd.PriorShiftClassifier(LogisticRegression(C=3.0), dd.ClassBalance(random_state=2))
    copy = clone(model)
    assert copy.get_params()["estimator__C"] == 3.0
    assert copy.get_params()["balance__random_state"] == 2
    search = GridSearchCV(copy, {"estimator__C": [0.1, 1.0]}, cv=2).fit(X, y)
    assert search.best_estimator_.balance_ is None


def test_methods_are_those_of_the_classifier():
    model = dd.PriorShiftClassifier(SVC())
    assert hasattr(model, "predict_proba") == hasattr(SVC(), "predict_proba")
    assert hasattr(model, "decision_function")


def test_labels_that_are_numbers_of_rows_are_asked_about():
    with pytest.raises(
        dd.InputError, match=r"each class needs at least 2; y holds 30 distinct values in 30 rows: are they"
    ):
        dd.ClassBalance().fit(np.random.default_rng(0).normal(size=(30, 2)), np.arange(30))
