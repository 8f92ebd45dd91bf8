"""Class balance of tables with categories: what tells classes apart, what must not matter, what is refused."""

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
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import densdiff as dd
from densdiff.balance.labelled import encode_columns
from densdiff.core.scaling import pooled_scaling
from tests.classes import fitted


@pytest.fixture
def few_rows_used(monkeypatch):
    """The cut at 2000 rows takes seconds; the same code at 200 does not."""
    monkeypatch.setattr("densdiff.balance.class_balance.MOST_ROWS", 200)


@pytest.fixture
def one_smoothing(monkeypatch):
    """Cross-validation would choose other smoothings of the categories for other folds."""
    monkeypatch.setattr("densdiff.solvers.base._SMOOTHINGS", (2,))


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
    found = encode_columns(rows, new, omega, [0, 2])
    np.testing.assert_allclose(pdist(found), pdist(expected), rtol=1e-9, atol=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_levels_are_so_far_apart_that_rows_differ_as_much_as_in_a_column_of_numbers(seed, k):
    random = np.random.default_rng(seed)
    rows, new = (np.concatenate([np.arange(k), random.integers(0, k, n)])[:, None] * 1.0 for n in (12, 7))
    found = encode_columns(rows, new, np.full(len(rows), 1 / len(rows)), [k])
    assert found.shape == (len(rows) + len(new), k)
    assert np.square(cdist(found, found)).mean() == pytest.approx(2)


@pytest.mark.usefixtures("one_smoothing")
@pytest.mark.parametrize("true_share", [0.1, 0.7])
def test_an_lsdd_gives_the_minimum_of_e6_over_shares_of_mixed_rows(true_share):
    """Against the distance of an LSDD of the same tables with the shares as weights, a parabola in the share."""
    (X, y), (new, _) = mixed(6, 60, 0.5), mixed(7, 80, true_share)
    model = dd.LSDD(1.0, 0.1, solver="pairs", standardize=False, random_state=0)

    def statistic(share):
        weights = np.where(y == 1, share / y.sum(), (1 - share) / (1 - y).sum())
        fit = dd.LSDD(1.0, 0.1, solver="pairs", standardize=False, random_state=0).fit(X, new, weights_x=weights)
        return fit.l2_distance().estimates["regularization_corrected"]

    grid = np.array([0.05, 0.5, 0.95])
    curve = np.polynomial.Polynomial.fit(grid, [statistic(share) for share in grid], 2)
    least = np.clip(curve.deriv().roots()[0], 0, 1)
    assert fitted(X, y, model=model).predict(new)[1] == pytest.approx(least, abs=1e-6)


@pytest.mark.filterwarnings("ignore:the new rows are no mixture")  # one time in a hundred
@pytest.mark.parametrize("k", [2, 3])
def test_an_lsdd_sees_categories_and_counts_classes_by_them(k):
    random = np.random.default_rng(k)
    y, of_new = np.arange(40 * k) % k, random.choice(k, 200, p=np.arange(1, k + 1) / np.arange(1, k + 1).sum())
    colors = np.array(["blue", "green", "red"])

    def table(codes):
        color = np.where(random.random(len(codes)) < 0.8, codes, random.integers(0, 3, len(codes)))
        return {"size": random.normal(size=len(codes)), "color": colors[color]}

    found = fitted(table(y), y, model=dd.LSDD()).estimate(table(of_new))
    np.testing.assert_allclose(found.priors, np.bincount(of_new) / 200, atol=0.12)
    assert (found.intervals[:, 0] <= np.bincount(of_new) / 200).all()


def test_levels_that_occur_equally_often_are_no_copies():
    X, y = {"c": np.tile([f"level {i}" for i in range(12)], 10)}, np.arange(120) % 12 >= 6
    with pytest.warns(dd.DensDiffWarning, match="no mixture of the labelled classes"):  # two of six levels are left
        found = fitted(X, y).estimate({"c": np.repeat([f"level {i}" for i in range(4, 12)], 5)})
    assert (found.n_x, found.n_y) == (120, 40)
    assert found.priors[1] == pytest.approx(0.75, abs=0.06)


@pytest.mark.usefixtures("one_smoothing")
def test_weights_of_mixed_rows_are_copies():
    (X, y), (new, _) = mixed(8, 60, 0.5), mixed(9, 80, 0.3)
    weights, model = np.where(np.arange(60) < 20, 2, 1), dd.LSDD(1.0, 0.1, solver="pairs", standardize=False)
    copies = {name: np.repeat(values, weights) for name, values in X.items()}
    expected = fitted(copies, np.repeat(y, weights), model=model).predict(new)
    found = fitted(X, y, weights, model=model).predict(new)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@each_mixed_model
def test_a_level_that_fit_never_saw_is_told(model):
    (X, y), (new, _) = mixed(10, 60, 0.5), mixed(11, 80, 0.3)
    balance = fitted(X, y, model=model)
    changed = new | {"color": np.where(np.arange(80) % 20 == 3, "violet", new["color"])}
    with pytest.warns(dd.DensDiffWarning) as caught:
        found = balance.estimate(changed)
    told = "column 'color' of X_new: 4 of 80 rows hold 'violet', which the model was not fitted on"
    assert [str(w.message).startswith(told) for w in caught] == [True]
    assert str(caught[0].message) in found.warnings
    assert found.priors.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(found.priors, balance.predict(new), atol=0.1)
    with pytest.warns(dd.DensDiffWarning, match=r"80 of 80 rows hold 'amber', 'violet'"):
        assert np.isfinite(balance.predict(new | {"color": np.array(["amber", "violet"] * 40)})).all()


@pytest.mark.parametrize(
    ("color", "message"),
    [
        (["red", None] * 40, "column 'color' of X_new: 40 missing values, first at row 1; drop or fill those rows"),
        ([None] * 80, "column 'color' of X_new: 80 missing values, first at row 0"),
        (
            np.arange(80),
            "holds numbers .in X: categories., first 0 at row 0; the model was fitted on 'blue', 'green', 'red'$",
        ),
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
    assert any("200 of the 3000 labelled rows were used" in note for note in found.warnings)
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
