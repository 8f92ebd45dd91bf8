"""Columns of categories beside numbers: kernels against sums over levels, LSDD against loops, what must not matter."""

import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import densdiff as dd
from densdiff.solvers import prepared
from densdiff.solvers.centers import CenterKernel
from tests.categories import (
    LETTERS,
    SIGMA,
    Twin,
    all_levels,
    asked,
    categories,
    codes_of,
    fixed,
    mass_and_norm,
    mixed,
    slow_factor,
    slow_ratios,
    taken,
)

TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table, "dict": dict}


@given(categories(), st.integers(0, 2**32 - 1))
def test_h_is_the_integral_over_numbers_and_the_sum_over_levels(drawn, seed):
    of, sigma = drawn
    random = np.random.default_rng(seed)
    numbers, codes = random.normal(size=(5, 1)), codes_of(random, of.levels, 5)
    solver = CenterKernel(np.hstack([numbers, codes]), 4.0, sigma, of)
    grid = np.linspace(-4 - 12 * sigma, 4 + 12 * sigma, 4001)
    waves = np.exp(-((grid - numbers) ** 2) / (2 * sigma**2))  # (5, grid)
    integrals = waves @ waves.T * (grid[1] - grid[0])
    at_levels = slow_factor(codes, all_levels(of.levels), slow_ratios(of, sigma))
    G, s = next(solver.grams(np.array([sigma]))), np.exp(solver.log_scale(sigma))
    np.testing.assert_allclose(s * G, integrals * (at_levels @ at_levels.T), rtol=1e-9, atol=1e-12 * s)  # E2
    np.testing.assert_array_equal(np.diag(G), 1.0)


def smoothed(t):
    return lambda k: min(0.9, t / ((1 - t) * (k - 1)))


@pytest.fixture(params=[0.0, 0.3, 0.85], ids=lambda t: f"t={t}")
def smoothing(request, monkeypatch):
    """One t in place of the search."""
    monkeypatch.setattr(prepared, "SMOOTHINGS", (request.param,))
    return request.param


def two_tables():
    X, Y = mixed(1, 30), mixed(2, 24, (0.2, 0.3, 0.5), 0.5)
    X["width"], Y["width"] = 50 + 20 * X["size"] ** 2, 40 + 9 * Y["size"]
    return X, Y


@pytest.mark.parametrize(
    "names", [["size", "letter", "flag", "width"], ["letter"], ["flag"], ["flag", "letter"], ["width", "flag"]]
)
def test_the_fit_is_that_of_loops(smoothing, names):
    X, Y = ({name: table[name] for name in names} for table in two_tables())
    centers = taken(X, slice(0, 6)) if {"size", "width"} & {*names} else _each_cell(X, Y)
    model = fixed(centers).fit(X, Y)
    twin = Twin(X, Y, centers, smoothed(smoothing))
    np.testing.assert_allclose(model.theta_, twin.theta, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict(Y), twin.psi(Y) @ twin.theta, rtol=1e-9, atol=1e-13)
    found = model.l2_distance().estimates
    assert list(found) == list(twin.estimates)
    for name, value in twin.estimates.items():
        assert found[name] == pytest.approx(value, rel=1e-7, abs=1e-12), name
    assert found["regularization_corrected"] >= found["h_theta"] >= found["theta_H_theta"]


def _each_cell(X, Y):
    cells = sorted({tuple(row) for table in (X, Y) for row in zip(*table.values(), strict=True)})
    return {name: np.array(values) for name, values in zip(X, zip(*cells, strict=True), strict=True)}


def test_sums_and_integrals_of_f_are_those_of_theta(smoothing):
    X, Y = mixed(3, 30), mixed(4, 24, (0.1, 0.3, 0.6), 0.5)
    model = fixed(taken(X, slice(0, 9))).fit(X, Y)
    mass, norm = mass_and_norm(model, X, Y)
    deviation = np.concatenate([X["size"], Y["size"]]).std()
    each = np.sqrt(2 * np.pi) * SIGMA * deviation * (1 + 2 * smoothed(smoothing)(3)) * (1 + smoothed(smoothing)(2))
    assert mass == pytest.approx(model.theta_.sum() * each, rel=1e-9, abs=1e-12)
    assert abs(mass) < 1
    assert norm == pytest.approx(model.l2_distance().estimates["theta_H_theta"], rel=1e-9)


# --- categories alone -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shares", [(0.2, 0.3, 0.5), (0.5, 0.3, 0.1, 0.1), (0.4, 0.4, 0.2)])
def test_the_distance_of_categories_is_that_of_their_shares(shares):
    X, Y = ({"letter": mixed(5, 2000, given)["letter"]} for given in ((0.6, 0.2, 0.1, 0.1), shares))
    p, q = (np.array([(table["letter"] == level).mean() for level in LETTERS]) for table in (X, Y))
    unbiased = np.square(p - q).sum() - (1 - p @ p) / 1999 - (1 - q @ q) / 1999
    found = dd.l2_distance(X, Y, random_state=0)
    assert found.squared == pytest.approx(unbiased, rel=0.02)
    assert found.normalized == pytest.approx(unbiased / (p @ p + q @ q), rel=0.03)
    assert found.interval[0] < unbiased < found.interval[1]
    f = dd.LSDD(random_state=0).fit(X, Y).predict({"letter": LETTERS[:3]})
    np.testing.assert_allclose(f, (p - q)[:3], atol=0.02)


def test_two_booleans_are_categories_of_two_levels():
    X, Y = {"flag": mixed(6, 400, flag=0.2)["flag"]}, {"flag": mixed(7, 300, flag=0.7)["flag"]}
    found = dd.l2_distance(X, Y, random_state=0)
    gap = X["flag"].mean() - Y["flag"].mean()
    assert found.squared == pytest.approx(2 * gap**2, rel=0.05)
    words = [{"flag": np.where(table["flag"], "yes", "no")} for table in (X, Y)]
    assert dd.l2_distance(*words, random_state=0).squared == found.squared
    assert asked(X, Y).pvalue == 0.01


def test_levels_seen_in_one_sample_only():
    X, Y = {"c": ["u"] * 60}, {"c": ["v"] * 50}
    found = dd.l2_distance(X, Y, random_state=0)
    assert found.squared == pytest.approx(2, rel=1e-3)
    assert found.normalized == pytest.approx(1, rel=1e-3)
    assert asked(X, Y).pvalue == 0.01
    X, Y = mixed(8, 60), mixed(9, 50) | {"letter": np.array(["e", "a"] * 25)}
    model = dd.LSDD(random_state=0).fit(X, Y)
    assert model.predict(taken(Y, slice(0, 8, 2))).max() < 0
    assert model.l2_distance().interval[0] > 0


def test_levels_that_occur_equally_often_are_no_copies():
    levels = np.array([f"level {i}" for i in range(18)])
    X, Y = {"c": np.repeat(levels[:12], 5)}, {"c": np.repeat(levels[6:], 5)}
    found = dd.l2_distance(X, Y, random_state=0)
    assert found.squared == pytest.approx(12 / 144 - 2 * (11 / 12) / 59, rel=0.1)
    assert found.warnings == ()
    assert asked(X, Y).pvalue == 0.01


def test_constant_categories_contribute_nothing():
    X, Y = mixed(10), mixed(11, 30, (0.2, 0.3, 0.5))
    more = [table | {"unit": ["cm"] * len(table["size"])} for table in (X, Y)]
    plain, found = dd.l2_distance(X, Y, random_state=0), dd.l2_distance(*more, random_state=0)
    assert found.squared == plain.squared
    assert "column 'unit' is constant and equal in both samples; it contributes nothing" in found.warnings
    assert asked(*more).pvalue == asked(X, Y).pvalue
    alone = [{"unit": table["unit"]} for table in more]
    assert dd.l2_distance(*alone, random_state=0).squared == 0
    assert asked(*alone).pvalue == 1


# --- what must not matter ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair():
    return mixed(12, 36), mixed(13, 30, (0.2, 0.3, 0.5), 0.4)


@pytest.fixture(scope="module")
def answer(pair):
    return dd.l2_distance(*pair, random_state=0)


@pytest.mark.parametrize("order", list(itertools.permutations(["size", "letter", "flag"])))
def test_the_order_of_columns_does_not_matter(pair, answer, order):
    X, Y = pair
    turned = {name: X[name] for name in order}
    assert dd.l2_distance(X, {name: Y[name] for name in order}, random_state=0).squared == answer.squared
    given = taken(X, slice(0, 12))
    expected = fixed(given).fit(X, Y).predict(Y)
    np.testing.assert_allclose(fixed(given).fit(turned, Y).predict(Y), expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(dd.l2_distance(turned, Y, random_state=0).squared, answer.squared, rtol=1e-8)


@pytest.mark.parametrize("kind_y", TABLES)
@pytest.mark.parametrize("kind_x", TABLES)
def test_every_library_gives_the_same_answer(pair, answer, kind_x, kind_y):
    X, Y = TABLES[kind_x](pair[0]), TABLES[kind_y](pair[1])
    assert dd.l2_distance(X, Y, random_state=0).to_dict() == answer.to_dict()
    assert asked(X, Y).pvalue == asked(*pair).pvalue


@pytest.mark.parametrize(
    "typed",
    [
        lambda table: pd.DataFrame(table).astype({"letter": "category"}),
        lambda table: pd.DataFrame(table).astype({"letter": pd.CategoricalDtype(["e", "c", "b", "a"])}),
        lambda table: pd.DataFrame(table).astype({"letter": "string", "flag": "boolean"}),
        lambda table: pd.DataFrame(table).astype({"letter": object}),
        lambda table: pl.DataFrame(table).cast({"letter": pl.Categorical}),
        lambda table: pl.DataFrame(table).cast({"letter": pl.Enum(["c", "b", "a"])}),
        lambda table: pa.table(table | {"letter": pa.array(table["letter"]).dictionary_encode()}),
        lambda table: {name: values.tolist() for name, values in table.items()},
    ],
    ids=["category", "ordered otherwise", "nullable", "object", "polars", "enum", "dictionary", "lists"],
)
def test_the_type_of_a_category_does_not_matter(pair, answer, typed):
    assert dd.l2_distance(typed(pair[0]), pair[1], random_state=0).squared == answer.squared
    model = fixed().fit(pair[0], typed(pair[1]))
    np.testing.assert_array_equal(model.predict(typed(pair[0])), fixed().fit(*pair).predict(pair[0]))


def test_swapping_the_samples_flips_f_and_keeps_the_distance(pair, answer):
    X, Y = pair
    swapped = dd.l2_distance(Y, X, random_state=0)
    assert swapped.squared == pytest.approx(answer.squared, rel=1e-9)
    assert swapped.normalized == pytest.approx(answer.normalized, rel=1e-9)
    there, back = fixed().fit(X, Y).predict(X), fixed().fit(Y, X).predict(X)
    np.testing.assert_allclose(there, -back, rtol=1e-10, atol=1e-14)


def test_the_order_of_rows_does_not_matter_at_given_centers(pair):
    X, Y = pair
    random = np.random.default_rng(0)
    centers = taken(X, slice(0, 12))
    plain = fixed(centers).fit(X, Y)
    moved = fixed(centers).fit(taken(X, random.permutation(36)), taken(Y, random.permutation(30)))
    np.testing.assert_allclose(moved.theta_, plain.theta_, rtol=1e-9)
    found, expected = moved.l2_distance().estimates, plain.l2_distance().estimates
    assert found == pytest.approx(expected, rel=1e-7)


def test_weights_count_as_copies(pair, smoothing):
    X, Y = pair
    weights = np.where(np.arange(36) % 3 == 0, 3, 1)
    centers = taken(X, slice(0, 12))
    model = fixed(centers, standardize=False).fit(X, Y, weights_x=weights)
    copies = fixed(centers, standardize=False).fit(taken(X, np.repeat(np.arange(36), weights)), Y)
    np.testing.assert_allclose(model.theta_, copies.theta_, rtol=1e-9, atol=1e-14)
    without = fixed(centers, standardize=False).fit(X, Y, weights_x=weights * (np.arange(36) != 5))
    left_out = fixed(centers, standardize=False).fit(taken(X, np.arange(36) != 5), Y, np.delete(weights, 5))
    np.testing.assert_array_equal(without.theta_, left_out.theta_)


def test_refit_clone_and_pickle(pair):
    X, Y = pair
    fresh = dd.LSDD(random_state=0).fit(X, Y)
    numbers = {"size": X["size"]}, {"size": Y["size"]}
    used = dd.LSDD(random_state=0).fit(*numbers).fit(X, Y)
    expected = fresh.l2_distance().to_dict()
    assert used.l2_distance().to_dict() == expected
    assert clone(used).fit(X, Y).l2_distance().to_dict() == expected
    again = pickle.loads(pickle.dumps(fresh))
    np.testing.assert_array_equal(again.predict(Y), fresh.predict(Y))
    plain = dd.LSDD(random_state=0).fit(*numbers)
    used.fit(*numbers)
    assert used.solver_ == plain.solver_ == "spectral"
    assert not hasattr(used, "centers_")
    np.testing.assert_array_equal(used.predict(X["size"]), plain.predict(X["size"]))


def test_a_band_of_mixed_points_holds_the_estimate(pair):
    X, Y = pair
    model = dd.LSDD(random_state=0).fit(X, Y)
    band = model.confidence_band(taken(X, slice(0, 5)))
    assert (band.lower <= band.estimate).all()
    assert (band.estimate <= band.upper).all()
    np.testing.assert_array_equal(band.estimate, model.predict(taken(X, slice(0, 5))))


# --- what is refused --------------------------------------------------------------------------------------------------


ASK = {"distance": dd.l2_distance, "test": asked}
each_question = pytest.mark.parametrize("ask", ASK.values(), ids=ASK)


@each_question
def test_a_grid_refuses_categories(pair, ask):
    with pytest.raises(dd.InputError, match="'spectral' takes columns of numbers only; use solver='pairs' or 'auto'"):
        ask(*pair, model=dd.LSDD(solver="spectral"))


def test_a_test_by_pairs_refuses_categories(pair):
    with pytest.raises(dd.InputError, match="'pairs' tests columns of numbers only; use solver='centers' or 'auto'"):
        asked(*pair, model=dd.LSDD(solver="pairs"))


@pytest.mark.parametrize("method", ["predict", "confidence_band"])
def test_a_level_that_fit_never_saw_is_refused(pair, method):
    model = fixed().fit(*pair)
    points = taken(pair[0], slice(0, 4)) | {"letter": ["a", "b", "z", "a"]}
    message = r"^column 'letter' of points holds 'z' at row 2; the model was fitted on 'a', 'b', 'c'$"
    with pytest.raises(dd.InputError, match=message):
        getattr(model, method)(points)


@each_question
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"letter": ["1", "2"] * 15}, "column 'letter' of Y holds numbers stored as text, first '1' at row 0"),
        (
            {"letter": [*"123456789", "x", *"12345123451234512345"]},
            "column 'letter' of Y holds text: 'x' at row 9 is not a number; numeric columns are needed",
        ),
        ({"letter": np.arange(30.0)}, "column 'letter' of X holds text .in Y: numbers., first '.' at row 0"),
        ({"size": ["tall", "small"] * 15}, "column 'size' of Y holds text .in X: numbers., first 'tall' at row 0"),
        ({"letter": [None, *"ab" * 14, None]}, "column 'letter' of Y: 2 missing values, first at row 0"),
        ({"flag": [None, *[True, False] * 14, True]}, "column 'flag' of Y: 1 missing value, at row 0"),
    ],
    ids=["row 21", "row 21, nearly", "row 26", "row 26, other way", "missing", "missing boolean"],
)
def test_columns_that_cannot_be_used_are_refused(pair, ask, change, message):
    with pytest.raises(dd.InputError, match=message):
        ask(pair[0], pl.DataFrame(pair[1] | change, strict=False))


@each_question
def test_row_22_a_column_that_names_rows_is_left_out_aloud(pair, ask):
    X, Y = (table | {"id": [f"r{i}" for i in range(len(table["size"]))]} for table in pair)
    Y["id"] = [f"s{i}" for i in range(30)]
    with pytest.warns(dd.DensDiffWarning, match="almost every row has a level of its own.*: 'id'"):
        found = ask(X, Y, random_state=0)
    assert found.to_dict() == ask(*pair, random_state=0).to_dict() | {"warnings": list(found.warnings)}
    with pytest.raises(
        dd.InputError, match="no column is left to use, because almost every row has a level of its own"
    ):
        ask({"id": X["id"]}, {"id": Y["id"]})


@each_question
def test_row_24_columns_are_matched_by_name(pair, ask):
    X, Y = pair
    with pytest.warns(
        dd.DensDiffWarning, match="columns left out: 'extra' only in X; compared: 'size', 'letter', 'flag'"
    ):
        found = ask(X | {"extra": ["u", "v"] * 18}, Y, random_state=0)
    assert found.to_dict() == ask(X, Y, random_state=0).to_dict() | {"warnings": list(found.warnings)}
    with pytest.raises(dd.InputError, match="no column in common: X has 'letter'; Y has 'flag'"):
        ask({"letter": X["letter"]}, {"flag": Y["flag"]})


@each_question
def test_row_25_columns_of_one_name_are_refused(pair, ask):
    frame = pd.DataFrame(pair[0])
    frame.columns = ["size", "letter", "letter"]
    with pytest.raises(dd.InputError, match="X has more than one column named 'letter'"):
        ask(frame, pair[1])


@pytest.mark.parametrize("model", [dd.KDEDifference(), dd.KLIEP()], ids=["KDE", "KLIEP"])
def test_estimators_of_numbers_refuse_categories(pair, model):
    with pytest.raises(dd.InputError, match="column 'letter' of X holds text, first"):
        asked(*pair, model=model)
