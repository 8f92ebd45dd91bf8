"""Class scores by a classifier of the user's own, and whether the classes themselves have changed."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import densdiff as dd
from tests.classes import classes, fitted

CLASSIFIERS = [
    LogisticRegression(),
    GaussianNB(),
    SVC(),
    RandomForestClassifier(20, random_state=0),
    KNeighborsClassifier(),
]


@pytest.mark.filterwarnings("ignore:the new rows are no mixture")  # as in one of 25 samples by chance
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("shares", [(0.2, 0.8), (0.1, 0.3, 0.6)])
def test_shares_by_any_classifier_are_near_the_truth(classifier, shares):
    X, y, new = classes(3, shares, n=40, m=100, apart=5.0)
    found = fitted(X, y, classifier=classifier).estimate(new)
    np.testing.assert_allclose(found.priors, shares, atol=0.05)
    assert (found.intervals[:, 0] <= np.array(shares) + 1e-9).all()
    assert (np.array(shares) <= found.intervals[:, 1] + 1e-9).all()
    assert not hasattr(classifier, "classes_")


@pytest.mark.parametrize("unit", [1e-6, 1.0])
def test_decision_values_have_any_unit(unit):
    class Scaled(RidgeClassifier):
        def decision_function(self, X):
            return unit * super().decision_function(X)

    X, y, new = classes(3, n=40, m=100, apart=5.0)
    assert fitted(X, y, classifier=Scaled()).predict(new)[0] == pytest.approx(0.2, abs=0.05)


def test_a_classifier_of_an_uneven_sample_is_calibrated_for_equal_shares():
    """Nine in ten labelled rows are of class 0, and half of the new ones."""
    random = np.random.default_rng(0)
    y, of_new = (np.arange(1000) % 10 == 0).astype(int), np.arange(400) % 2
    X, new = (random.normal(size=(len(codes), 2)) + 2.0 * codes[:, None] for codes in (y, of_new))
    assert fitted(X, y, classifier=GaussianNB()).predict(new)[1] == pytest.approx(0.5, abs=0.06)


def test_weights_reach_the_classifier_or_it_is_refused():
    X, y, new = classes(4, n=40, m=100)
    weights = np.linspace(1, 2, len(X))
    weighted = fitted(X, y, weights, classifier=LogisticRegression()).predict(new)
    assert not np.allclose(weighted, fitted(X, y, classifier=LogisticRegression()).predict(new), atol=1e-6)
    with pytest.raises(dd.InputError, match="KNeighborsClassifier takes no sample_weight in fit; pass another"):
        fitted(X, y, weights, classifier=KNeighborsClassifier()).predict(new)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"classifier": "logistic"}, "classifier must be a classifier object with predict_proba or .*; got 'logistic'"),
        ({"classifier": LogisticRegression}, "classifier must be a classifier object"),
        ({"classifier": LogisticRegression(), "model": dd.LSDD()}, r"model=LSDD\(\) has no use for; leave one of them"),
    ],
)
def test_classifiers_that_cannot_give_scores_are_refused(parameters, message):
    X, y, _ = classes(5)
    with pytest.raises(dd.InputError, match=message):
        fitted(X, y, **parameters)


def changed(seed, shift, model=None):
    """p-value where class 0, three in ten of the new rows, has moved away from the other by so many deviations."""
    random = np.random.default_rng(seed)
    y, of_new = np.arange(400) % 2, (np.arange(500) % 10 >= 3).astype(int)
    X, new = (random.normal(size=(len(codes), 3)) + np.outer(2.0 * codes, [1, 0, 0]) for codes in (y, of_new))
    new[of_new == 0, 0] -= shift
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = fitted(X, y, model=model, random_state=seed).estimate(new)
    told = [text for text in map(str, (w.message for w in caught)) if "no mixture of the labelled classes" in text]
    assert bool(told) == (found.mixture_pvalue < 0.04)
    assert told == [text for text in found.warnings if "no mixture" in text]
    assert f"mixture of these classes: p = {found.mixture_pvalue:.3g}" in str(found)
    return found.mixture_pvalue


def test_a_changed_class_is_told_and_an_unchanged_one_is_not():
    assert [changed(seed, 1.0) < 0.05 for seed in range(2)] == [True] * 2
    assert sum(changed(seed, 0.0) < 0.05 for seed in range(3)) <= 1
    assert changed(0, 1.0, dd.LSDD(1.0, 0.1, solver="pairs")) < 0.05


def test_a_class_without_labels_is_told():
    X, y, new = classes(6, n=100, m=200, apart=4.0)
    with pytest.warns(dd.DensDiffWarning, match="a class has changed, or one has no labels"):
        found = fitted(X, y).estimate(np.concatenate([new, new[:60] + np.array([0.0, 6.0])]))
    assert found.to_dict()["mixture_pvalue"] == found.mixture_pvalue < 0.04
