"""Columns of categories beside numbers: kernels against sums over levels, LSDD against loops, what must not matter."""

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import densdiff as dd
from densdiff.core.kernel import Categories
from densdiff.solvers import prepared
from densdiff.solvers.centers import CenterKernel

SIGMA, LAM = 0.7, 0.05
LETTERS = np.array(list("abcde"))
TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table, "dict": dict}
each_tuning = pytest.mark.parametrize("tuning", ["aggregate", "pooled", "refit"])


def mixed(seed, n=40, shares=(0.5, 0.3, 0.2), shift=0.0, flag=0.4):
    random = np.random.default_rng([seed, n])
    return {
        "size": random.normal(size=n) + shift,
        "letter": random.choice(LETTERS[: len(shares)], n, p=shares),
        "flag": random.random(n) < flag,
    }


def taken(table, rows):
    return {name: np.asarray(values)[rows] for name, values in table.items()}


def asked(X, Y, **parameters):
    return dd.two_sample_test(X, Y, **{"n_permutations": 99, "random_state": 0} | parameters)


# --- the kernel of categories -----------------------------------------------------------------------------------------


@st.composite
def categories(draw):
    """Some columns of 2 to 5 levels with either kind of kernel, and a sigma."""
    levels = np.array(draw(st.lists(st.integers(2, 5), min_size=1, max_size=3)))
    sigma = draw(st.sampled_from([0.1, 0.7, 3.0]))
    if draw(st.booleans()):
        return Categories(levels, draw(st.floats(0, 0.85))), sigma
    apart = draw(st.lists(st.floats(0.5, 9), min_size=len(levels), max_size=len(levels)))
    return Categories(levels, apart=np.array(apart)), sigma


def codes_of(random, levels, n):
    return np.column_stack([random.integers(0, k, n) for k in levels]).astype(float)


def slow_ratios(of, sigma):
    """r of each column, from the definition."""
    if of.apart is not None:
        return [np.exp(-a / (2 * sigma**2)) for a in of.apart]
    t = of.smoothing
    return [min(0.9, t / ((1 - t) * (k - 1))) for k in of.levels]


def slow_factor(a, b, ratios):
    return np.array(
        [[np.prod([1 if u == v else r for u, v, r in zip(x, y, ratios, strict=True)]) for y in b] for x in a]
    )


def all_levels(levels):
    return np.array(list(itertools.product(*map(range, levels))), dtype=float)


@given(categories(), st.integers(0, 2**32 - 1))
def test_factors_are_products_and_sums_over_levels(drawn, seed):
    of, sigma = drawn
    random = np.random.default_rng(seed)
    a, b = codes_of(random, of.levels, 6), codes_of(random, of.levels, 4)
    ratios = slow_ratios(of, sigma)
    np.testing.assert_allclose(of.factor(sigma, a, b), slow_factor(a, b, ratios), rtol=1e-13, atol=0)
    at_levels = slow_factor(a, all_levels(of.levels), ratios)  # (6, product of K)
    sums = at_levels @ at_levels.T
    scale = np.exp(of.log_scale(sigma))
    np.testing.assert_allclose(np.diag(sums), scale, rtol=1e-12)
    wide, own = of.gram_factors(np.array([2 * sigma, sigma]), a)
    np.testing.assert_allclose(scale * own, sums, rtol=1e-12)
    wider = slow_factor(a, all_levels(of.levels), slow_ratios(of, 2 * sigma))
    np.testing.assert_allclose(np.exp(of.log_scale(2 * sigma)) * wide, wider @ wider.T, rtol=1e-12)


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


@given(st.integers(0, 2**32 - 1))
def test_embedded_rows_are_apart_as_the_kernel_says(seed):
    random = np.random.default_rng(seed)
    of = Categories(np.array([2, 4]), apart=np.array([1.5, 3.0]))
    rows = np.hstack([random.normal(size=(8, 2)), codes_of(random, of.levels, 8)])
    placed = of.embedded(rows)
    squared = np.square(placed[:, None] - placed).sum(axis=2)
    own = np.square(rows[:, None, :2] - rows[:, :2]).sum(axis=2)
    expected = own + (rows[:, None, 2:] != rows[:, 2:]) @ of.apart
    np.testing.assert_allclose(squared, expected, atol=1e-12)


# --- LSDD against loops -----------------------------------------------------------------------------------------------


class Twin:
    """E1 to E8 of two tables by loops, from the definition of psi, with H summed over levels."""

    def __init__(self, X, Y, centers, ratios, sigma=SIGMA, lam=LAM):
        self.names = [name for name in X if np.asarray(X[name]).dtype.kind not in "f"]
        self.levels = {name: sorted({str(v) for table in (X, Y) for v in table[name]}) for name in self.names}
        self.ratios = [ratios(len(self.levels[name])) for name in self.names]
        self.numeric = [name for name in X if name not in self.names]
        pooled = np.empty((len(self.numeric), len(X[next(iter(X))]) + len(Y[next(iter(Y))])))
        for row, name in zip(pooled, self.numeric, strict=True):
            row[:] = np.concatenate([X[name], Y[name]])
        self.mean, self.deviation, self.sigma = pooled.mean(axis=1), pooled.std(axis=1), sigma
        self.centers = self.inner(centers)
        d = len(self.numeric)
        at_levels = slow_factor(self.centers[1], all_levels([len(of) for of in self.levels.values()]), self.ratios)
        s = (np.pi * sigma**2) ** (d / 2) * np.prod(
            [1 + (len(of) - 1) * r**2 for of, r in zip(self.levels.values(), self.ratios, strict=True)]
        )
        b = len(self.centers[0])
        H = np.empty((b, b))
        for i, j in itertools.product(range(b), repeat=2):
            gap = np.square(self.centers[0][i] - self.centers[0][j]).sum()
            H[i, j] = (np.pi * sigma**2) ** (d / 2) * np.exp(-gap / (4 * sigma**2)) * (at_levels[i] @ at_levels[j])
        psi_x, psi_y = self.psi(X), self.psi(Y)
        h = psi_x.mean(axis=0) - psi_y.mean(axis=0)
        inverse = np.linalg.inv(H + lam * s * np.eye(b))
        theta = inverse @ h
        S = np.cov(psi_x.T) / len(psi_x) + np.cov(psi_y.T) / len(psi_y)
        V = np.cov(psi_x.T, ddof=0) / len(psi_x) + np.cov(psi_y.T, ddof=0) / len(psi_y)
        volume = np.prod(self.deviation)
        corrected = 2 * h @ theta - theta @ H @ theta
        M = inverse + lam * s * inverse @ inverse
        bias_corrected = corrected - np.trace(np.linalg.inv(H) @ V)
        self.theta = theta / volume
        found = {
            "h_theta": h @ theta,
            "theta_H_theta": theta @ H @ theta,
            "regularization_corrected": corrected,
            "debiased": corrected - np.trace(M @ S),
            "bias_corrected": bias_corrected,
            "positive_part": max(0.0, bias_corrected),
        }
        self.estimates = {name: value / volume for name, value in found.items()}

    def inner(self, table):
        codes = np.array([[self.levels[name].index(str(v)) for v in table[name]] for name in self.names], dtype=float).T
        numbers = np.empty((len(codes), len(self.numeric)))
        for column, name in zip(numbers.T, self.numeric, strict=True):
            column[:] = table[name]
        return (numbers - self.mean) / self.deviation, codes

    def psi(self, table):
        numbers, codes = self.inner(table)
        gaps = np.square(numbers[:, None] - self.centers[0]).sum(axis=2)
        return np.exp(-gaps / (2 * self.sigma**2)) * slow_factor(codes, self.centers[1], self.ratios)


def smoothed(t):
    return lambda k: min(0.9, t / ((1 - t) * (k - 1)))


@pytest.fixture(params=[0.0, 0.3, 0.85], ids=lambda t: f"t={t}")
def smoothing(request, monkeypatch):
    """One t in place of the search."""
    monkeypatch.setattr(prepared, "SMOOTHINGS", (request.param,))
    return request.param


def fixed(centers=None, **parameters):
    return dd.LSDD(SIGMA, LAM, **{"solver": "centers", "centers": centers, "random_state": 0} | parameters)


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
    reach = np.abs(np.concatenate([X["size"], Y["size"]])).max() + 14 * SIGMA
    grid = np.linspace(-reach, reach, 3001)
    mass = norm = 0.0
    for letter, flag in itertools.product("abc", [False, True]):
        f = model.predict({"size": grid, "letter": [letter] * len(grid), "flag": [flag] * len(grid)})
        mass += f.sum() * (grid[1] - grid[0])
        norm += (f**2).sum() * (grid[1] - grid[0])
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


@each_tuning
def test_swapping_keeps_the_statistic(pair, tuning):
    there, back = asked(*pair, tuning=tuning), asked(*pair[::-1], tuning=tuning)
    assert there.statistic == pytest.approx(back.statistic, rel=1e-8)
    assert (there.sigma, there.lam) == pytest.approx((back.sigma, back.lam))
    assert abs(there.pvalue - back.pvalue) < 0.15  # other relabellings: three standard errors of their difference


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
@pytest.mark.parametrize("solver", ["pairs", "spectral"])
def test_solvers_of_numbers_refuse_categories(pair, ask, solver):
    message = f"solver='{solver}' takes columns of numbers only; use solver='centers' or 'auto'"
    with pytest.raises(dd.InputError, match=message):
        ask(*pair, model=dd.LSDD(solver=solver))


@pytest.mark.parametrize("method", ["predict", "confidence_band"])
def test_a_level_that_fit_never_saw_is_refused(pair, method):
    model = fixed().fit(*pair)
    points = taken(pair[0], slice(0, 4)) | {"letter": ["a", "b", "z", "a"]}
    message = r"^column 'letter' of points holds 'z' at row 2; the fit knows 'a', 'b', 'c'$"
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
    with pytest.raises(dd.InputError, match="no column is left; almost every row has a level of its own"):
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


# --- the test ---------------------------------------------------------------------------------------------------------


def rejections(runs, draw, **parameters):
    found = [asked(draw(2 * seed), draw(2 * seed + 1), random_state=seed, **parameters) for seed in range(runs)]
    assert all(np.isfinite(result.statistic) and result.statistic >= 0 for result in found)
    return sum(result.pvalue <= 0.05 for result in found)


def test_under_the_null_five_in_a_hundred_are_rejected():
    count = rejections(200, mixed)
    assert abs(count - 10) <= 3 * np.sqrt(200 * 0.05 * 0.95)


@pytest.mark.parametrize("tuning", ["pooled", "refit"])
def test_under_the_null_categories_are_not_rejected_too_often(tuning):
    """Ties between relabellings of few levels only make the test more careful."""
    count = rejections(200, lambda seed: {"letter": mixed(seed)["letter"]}, tuning=tuning)
    assert count <= 10 + 3 * np.sqrt(200 * 0.05 * 0.95)


@each_tuning
@pytest.mark.parametrize(
    "change", [{"shares": (0.1, 0.2, 0.7)}, {"shift": 1.5}, {"flag": 0.95}], ids=["category", "number", "boolean"]
)
def test_changes_are_found(tuning, change):
    # cross-validation anew within relabellings takes wide and narrow kernels, whose statistics do not compare
    model = dd.LSDD(sigma=1.0, solver="centers") if tuning == "refit" else None
    found = [asked(mixed(seed, 60), mixed(seed + 50, 50, **change), tuning=tuning, model=model) for seed in range(4)]
    assert sum(result.pvalue <= 0.05 for result in found) >= 3
    assert all(result.solver == "centers" and np.isfinite(result.null_distribution).all() for result in found)
    assert all(result.null_distribution.min() >= 0 for result in found)


def tied(k, shares):
    """r of unequal levels that are as far apart as two rows differ in a standardized column."""
    return np.exp(-1 / ((1 - np.square(shares).sum()) * SIGMA**2))


def brute_force_share(X, Y, labellings):
    """Share of relabellings whose E6, by loops, is at least that of the first."""
    pooled = {name: np.concatenate([X[name], Y[name]]) for name in X}
    ratio = {
        len(of): tied(len(of), [np.mean(pooled[name].astype(str) == level) for level in of])
        for name in ("letter", "flag")
        for of in [sorted(set(pooled[name].astype(str)))]
    }
    assert len(ratio) == 2
    values = []
    for chosen in labellings:
        twin = Twin(taken(pooled, chosen), taken(pooled, ~chosen), pooled, ratio.get)
        values.append(twin.estimates["regularization_corrected"])
    return values[0], np.mean(np.array(values) >= values[0] * (1 - 1e-9))


TINY = {"size": np.array([0.1, 0.5, 1.2]), "letter": np.array(["a", "b", "c"]), "flag": np.array([True, False, True])}
OTHER = {"size": np.array([0.7, 2.0, 1.9]), "letter": np.array(["c", "c", "a"]), "flag": np.array([False, False, True])}


@pytest.mark.parametrize("blocks", [None, [0, 1, 2, 0, 1, 2]], ids=["all", "in pairs"])
def test_all_partitions_of_tiny_samples_give_the_exact_p(blocks):
    labellings = [np.isin(np.arange(6), chosen) for chosen in itertools.combinations(range(6), 3)]
    if blocks is not None:
        labellings = [chosen for chosen in labellings if all(np.bincount(blocks, chosen) == 1)]
    statistic, share = brute_force_share(TINY, OTHER, labellings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dd.DensDiffWarning)  # few rows
        found = asked(TINY, OTHER, model=fixed(), blocks=blocks)
    assert found.null == "all partitions"
    assert found.n_permutations == len(labellings) - 1
    assert found.statistic == pytest.approx(statistic, rel=1e-8)
    assert found.pvalue == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize("tuning", ["aggregate", "pooled"])
def test_the_limit_of_the_null_is_near_the_permutations(tuning):
    X, Y = mixed(20, 150), mixed(21, 120, (0.4, 0.35, 0.25), 0.1)
    limit, exact = (asked(X, Y, tuning=tuning, null=null, n_permutations=499) for null in ("asymptotic", "permutation"))
    assert limit.statistic == pytest.approx(exact.statistic, rel=1e-12)
    assert limit.pvalue == pytest.approx(exact.pvalue, abs=0.06)


def test_blocks_keep_a_difference_between_groups_out():
    """Letters differ by site alone, and X and Y hold the sites in other shares: nothing differs within a site."""
    X, Y = ({"letter": np.array(["a"] * k + ["b"] * (60 - k)), "size": mixed(22 + k, 60)["size"]} for k in (15, 45))
    sites = np.concatenate([table["letter"] for table in (X, Y)])
    assert asked(X, Y).pvalue == 0.01
    assert asked(X, Y, blocks=sites).pvalue > 0.05
    with pytest.raises(dd.InputError, match="null='asymptotic' is not known for blocks"):
        asked(X, Y, blocks=sites, null="asymptotic")
