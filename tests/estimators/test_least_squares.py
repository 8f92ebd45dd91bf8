"""The least-squares classifier: classes as given, scores that agree, weights, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score

import densdiff as dd
from densdiff.core.class_scores import KernelRidge


def blobs(seed, k=2, n=20, d=2, apart=2.0):
    random = np.random.default_rng([seed, k, n, d])
    y = np.repeat(np.arange(k), n)
    return np.round((random.normal(size=(k * n, d)) + apart * y[:, None]) * 2.0**20) / 2.0**20, y


@pytest.mark.parametrize("labels", [list("ab"), list("abc"), [False, True], [10, 20, 30], ["é\n", "ü", "😀"]])
def test_classes_come_back_as_they_were_given(labels):
    X, y = blobs(0, len(labels))
    names = np.array(labels)
    model = dd.LeastSquaresClassifier(random_state=0).fit(X, names[y])
    assert model.classes_.tolist() == sorted(names.tolist())
    assert model.predict(X).dtype == names.dtype
    assert (model.predict(X) == names[y]).mean() > 0.85


@pytest.mark.parametrize("k", [2, 3])
def test_scores_probabilities_and_classes_agree(k):
    X, y = blobs(1, k)
    model = dd.LeastSquaresClassifier(random_state=0).fit(X, y)
    decisions, shares = model.decision_function(X), model.predict_proba(X)
    assert decisions.shape == ((len(X),) if k == 2 else (len(X), k))
    assert shares.shape == (len(X), k)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-14)
    assert shares.min() > 0
    chosen = (decisions > 0).astype(int) if k == 2 else decisions.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), chosen)
    np.testing.assert_array_equal(model.predict(X), shares.argmax(axis=1))
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("sigma", ["cv", 0.7, [0.5, 1.0, 2.0]])
@pytest.mark.parametrize("lam", ["cv", 0.1, np.array([1.0, 0.01])])
def test_sigma_and_lam_may_be_searched_given_or_listed(sigma, lam):
    X, y = blobs(2)
    model = dd.LeastSquaresClassifier(sigma, lam, random_state=0).fit(X, y)
    for value, given_value in ((model.sigma_, sigma), (model.lam_, lam)):
        assert isinstance(value, float)
        if not isinstance(given_value, str):
            assert value in np.atleast_1d(given_value)
    assert model.score(X, y) > 0.85


def test_given_sigma_and_lam_are_the_plain_formula():
    X, y = blobs(3, k=3)
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    model = dd.LeastSquaresClassifier(0.8, 0.1, standardize=False, random_state=0).fit(X, y, weights)
    gram = rbf_kernel(X, gamma=1 / (2 * 0.8**2))
    ridge = KernelRidge(gram, np.eye(3)[y], weights / weights.sum(), np.array([0.1]))
    np.testing.assert_allclose(model.decision_function(X), ridge.scores(gram)[0], atol=1e-9)


@pytest.mark.parametrize("factor", [2.0**-600, 2.0**600, [2.0**300, 2.0**-300]])
def test_units_of_columns_do_not_matter(factor):
    X, y = blobs(4)
    plain = dd.LeastSquaresClassifier(random_state=0).fit(X, y)
    other = dd.LeastSquaresClassifier(random_state=0).fit(X * factor, y)
    np.testing.assert_allclose(other.decision_function(X * factor), plain.decision_function(X), atol=1e-9)
    assert other.lam_ == plain.lam_


def test_rows_without_weight_are_no_rows_and_the_unit_of_weights_is_free():
    X, y = blobs(5)
    weights = (np.arange(len(X)) % 4 != 0) * np.linspace(1, 2, len(X))
    kept = weights > 0
    models = [
        dd.LeastSquaresClassifier(random_state=0).fit(*data)
        for data in ((X, y, weights), (X[kept], y[kept], weights[kept]), (X, y, 2.0**90 * weights))
    ]
    for other in models[1:]:
        np.testing.assert_allclose(other.decision_function(X), models[0].decision_function(X), atol=1e-12)


def test_a_class_of_more_weight_is_predicted_more_often():
    X, y = blobs(6, apart=0.5)
    new = np.random.default_rng(0).normal(0.25, 1, size=(500, 2))
    shares = [
        dd.LeastSquaresClassifier(random_state=0).fit(X, y, np.where(y == 1, w, 1.0)).predict(new).mean()
        for w in (0.2, 1.0, 5.0)
    ]
    assert shares[0] < 0.2 < shares[1] < 0.8 < shares[2]


def test_a_class_of_no_weight_is_never_predicted():
    X, y = blobs(7, k=3)
    model = dd.LeastSquaresClassifier(random_state=0).fit(X, y, np.where(y == 1, 0.0, 1.0))
    assert model.classes_.tolist() == [0, 1, 2]
    assert set(model.predict(X)) == {0, 2}


def test_frames_are_matched_by_name():
    X, y = blobs(8)
    frame = pd.DataFrame(X, columns=["u", "v"])
    model = dd.LeastSquaresClassifier(random_state=0).fit(frame, pd.Series(y, name="label"))
    assert model.feature_names_ == ("u", "v")
    np.testing.assert_array_equal(model.decision_function(frame[["v", "u"]]), model.decision_function(X))
    with pytest.raises(dd.InputError, match="lacks columns"):
        model.predict(frame[["u"]])


def test_it_is_a_scikit_learn_classifier():
    X, y = blobs(9)
    model = dd.LeastSquaresClassifier(sigma=[0.5, 1.0], folds=3, random_state=np.random.default_rng(0))
    copy = clone(model)
    assert repr(copy).startswith("LeastSquaresClassifier(")
    assert copy.get_params()["sigma"] == [0.5, 1.0]
    assert cross_val_score(dd.LeastSquaresClassifier(random_state=0), X, y, cv=3).mean() > 0.8
    search = GridSearchCV(dd.LeastSquaresClassifier(lam=0.1, random_state=0), {"sigma": [0.3, 1.0]}, cv=3)
    assert search.fit(X, y).best_params_["sigma"] in (0.3, 1.0)


def test_a_generator_moves_on():
    X, y = blobs(10)
    random = np.random.default_rng(0)
    model = dd.LeastSquaresClassifier(random_state=random)
    assert model.fit(X, y).seed_ != model.fit(X, y).seed_


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({"sigma": 0.0}, {}, "sigma must be positive"),
        ({"lam": -1.0}, {}, "lam must be positive"),
        ({"sigma": "auto"}, {}, "sigma must be 'cv'"),
        ({"folds": 1}, {}, "folds must be a whole number, at least 2"),
        ({"standardize": "yes"}, {}, "standardize must be True or False"),
        ({}, {"y": None}, "y is None"),
        ({}, {"y": np.zeros(40)}, "y holds 1 class, 0.0; at least 2 are needed"),
        ({}, {"y": np.zeros(39)}, "y has 39 labels, but X has 40 rows"),
        ({}, {"sample_weight": -np.ones(40)}, "sample_weight must not be negative"),
        ({}, {"X": np.full((40, 2), np.nan)}, "column 'x0' of X: 40 missing values, first at row 0"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_one_sentence(parameters, data, message):
    X, y = blobs(12)
    with pytest.raises(dd.InputError, match=message):
        dd.LeastSquaresClassifier(**parameters).fit(**({"X": X, "y": y} | data))


def test_before_fit_there_is_nothing_to_predict():
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(dd.NotFittedError, match="call fit"):
            getattr(dd.LeastSquaresClassifier(), method)([[0.0]])


@pytest.mark.parametrize(
    "rows", [[[0.0, 0.0]] * 6, [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]]
)
def test_ties_and_constants_are_ordinary_rows(rows):
    y = [0, 0, 0, 1, 1, 1]
    found = dd.LeastSquaresClassifier(random_state=0).fit(rows, y).predict_proba(rows)
    assert np.isfinite(found).all()
    if rows[0] == rows[-1]:
        np.testing.assert_allclose(found, 0.5, atol=1e-6)
    else:
        np.testing.assert_array_equal(found.argmax(axis=1), y)
