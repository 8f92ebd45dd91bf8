"""LSDD of categories beside numbers without centers: the solver, the words about it, what must not matter."""

import numpy as np
import pytest
from sklearn.base import clone

import densdiff as dd
from densdiff.solvers import base
from densdiff.solvers.uncertainty import band_model
from tests.categories import SIGMA, mass_and_norm, mixed, taken


@pytest.fixture(scope="module")
def pair():
    return mixed(12, 36), mixed(13, 30, (0.2, 0.3, 0.5), 0.4)


def test_categories_are_compared_by_pairs_unless_centers_are_asked_for(pair):
    X, Y = pair
    for parameters in ({}, {"solver": "pairs"}, {"sigma": 0.8}, {"lam": [0.1, 0.01], "solver": "pairs"}):
        model = dd.LSDD(random_state=0, **parameters).fit(X, Y)
        assert model.solver_ == "pairs"
        assert not hasattr(model, "centers_")
        assert model.l2_distance().n_centers is None
        assert len(set(model.cv_results_["smoothing"])) == 6
    for parameters in ({"solver": "centers"}, {"centers": taken(X, slice(0, 9))}):
        assert dd.LSDD(random_state=0, **parameters).fit(X, Y).solver_ == "centers"
    alone = [{name: table[name] for name in ("letter", "flag")} for table in pair]
    assert dd.LSDD(random_state=0).fit(*alone).solver_ == "pairs"


@pytest.mark.parametrize(
    ("smoothing", "text"),
    [
        (0, ", categories not smoothed"),
        (1, ", categories smoothed (two levels count as 36.6 % alike)"),
        (4, ", categories smoothed (two levels count as 91.13 % alike)"),
    ],
)
def test_the_result_says_how_categories_were_smoothed(pair, monkeypatch, smoothing, text):
    monkeypatch.setattr(base, "_SMOOTHINGS", (smoothing,))
    assert dd.l2_distance(*pair, random_state=0).tuning.endswith(text)


@pytest.mark.parametrize("names", [["size", "letter", "flag"], ["letter", "flag"], ["flag"]])
def test_pairs_depend_neither_on_the_order_of_columns_nor_on_names_of_levels(pair, names):
    X, Y = ({name: table[name] for name in names} for table in pair)
    renamed = {"a": "zebra", "b": "apple", "c": "mouse"}

    def other(table):
        turned = {name: table[name] for name in reversed(names)}
        if "letter" in turned:
            turned["letter"] = np.array([renamed[letter] for letter in turned["letter"]])
        return turned

    model, again = dd.LSDD(random_state=0).fit(X, Y), dd.LSDD(random_state=0).fit(other(X), other(Y))
    f = model.predict(Y)
    size = 1e-10 * np.abs(f).max()
    np.testing.assert_allclose(again.predict(other(Y)), f, rtol=0, atol=size)
    for found, expected in zip(again.densities(other(Y)), model.densities(Y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    band, expected = again.confidence_band(other(taken(Y, slice(0, 6)))), model.confidence_band(taken(Y, slice(0, 6)))
    np.testing.assert_allclose(band.upper, expected.upper, rtol=1e-8)


def test_pairs_of_swapped_samples_flip_the_sign(pair):
    X, Y = pair
    there, back = dd.LSDD(random_state=0).fit(X, Y), dd.LSDD(random_state=0).fit(Y, X)
    np.testing.assert_allclose(there.predict(X), -back.predict(X), rtol=1e-9, atol=1e-14)


def test_weights_count_as_copies_in_pairs(pair, monkeypatch):
    monkeypatch.setattr(base, "_SMOOTHINGS", (2,))  # copies in other folds may choose another one
    X, Y = pair
    weights = np.where(np.arange(36) % 3 == 0, 3, 1)
    model = dd.LSDD(0.8, 0.02, solver="pairs", standardize=False, random_state=0)
    weighted = clone(model).fit(X, Y, weights_x=weights)
    copies = clone(model).fit(taken(X, np.repeat(np.arange(36), weights)), Y)
    np.testing.assert_allclose(weighted.predict(Y), copies.predict(Y), rtol=1e-9, atol=1e-14)
    found, expected = weighted.l2_distance().estimates, copies.l2_distance().estimates
    for name in ("h_theta", "theta_H_theta", "regularization_corrected"):
        assert found[name] == pytest.approx(expected[name], rel=1e-9)


def test_f_by_pairs_sums_to_zero_over_levels_and_its_square_to_e5(monkeypatch):
    monkeypatch.setattr(base, "_SMOOTHINGS", (1,))
    X, Y = mixed(3, 30), mixed(4, 24, (0.1, 0.3, 0.6), 0.5)
    model = dd.LSDD(SIGMA, 0.01, solver="pairs", random_state=0).fit(X, Y)
    mass, norm = mass_and_norm(model, X, Y)
    assert mass == pytest.approx(0.0, abs=1e-9)
    assert norm == pytest.approx(model.l2_distance().estimates["theta_H_theta"], rel=1e-6)


def test_a_band_smooths_categories_no_more_than_the_densities():
    X, Y = (mixed(seed, 300, (0.9, 0.08, 0.02), flag=0.1) for seed in (20, 21))  # alike, so that f is smooth
    fit = dd.LSDD(random_state=0).fit(X, Y).fit_
    of_densities = min(choice.best.smoothing for choice in fit.densities.choices)
    assert fit.choice.best.smoothing > of_densities
    assert band_model(fit).smoothing == of_densities
