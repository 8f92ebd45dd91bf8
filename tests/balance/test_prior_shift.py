"""A classifier for another class balance: right more often, weighted by new over old shares, with any classifier."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import densdiff as dd
from tests.classes import FRAMES, NAMES, classes

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
    with pytest.warns(dd.DensDiffWarning, match="no mixture of the labelled classes"):  # their rows were moved
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
        dd.InputError, match=r"KNeighborsClassifier takes no sample_weight.*; choose a classifier that accepts it"
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
