"""f averaged over models: what must not change, and inputs at the edge."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from densdiff.solvers import curve as curves
from densdiff.solvers import drawn_rows
from tests.curves import prepared

CASES = st.tuples(
    st.integers(0, 1000),
    st.sampled_from([10, 11, 35, 120]),
    st.sampled_from([9, 27, 90]),
    st.sampled_from([1, 2, 3, 5]),
    st.sampled_from(["normal", "correlated", "rounded", "weights", "levels"]),
)
# Sums in another order round differently: 1e-15 of each term, which the weights multiply by the terms of a score over
# the noise in the best curve, some hundreds. 1e-14 was seen.
ROUNDING = 1e-11


def two_samples(seed, n, m, d, kind):
    """Rows on a lattice of 2^-20, see conftest, some levels, and weights."""
    random = np.random.default_rng([seed, n, m, d])
    x, y = random.normal(size=(n, d)), 0.8 * random.normal(size=(m, d)) + 0.6
    if kind == "correlated":
        x[:, -1] += 3 * x[:, 0]
        y[:, -1] += 3 * y[:, 0]
    lattice = 2.0 if kind == "rounded" else 2.0**20
    samples = [np.round(rows * lattice) / lattice for rows in (x, y)]
    levels = [random.integers(0, 3, n), random.integers(0, 4, m) % 3] if kind == "levels" else [None, None]
    weights = [random.random(len(rows)) + 0.1 if kind == "weights" else None for rows in samples]
    return [Sample(*parts) for parts in zip(samples, levels, weights, strict=True)]


class Sample:
    def __init__(self, numbers, levels=None, weights=None):
        self.numbers, self.levels, self.weights = numbers, levels, weights

    def table(self, names):
        frame = pd.DataFrame(self.numbers, columns=[f"number {j}" for j in range(self.numbers.shape[1])])
        if self.levels is not None:
            frame["level"] = [names[code] for code in self.levels]
        return frame

    def moved(self, numbers):
        return Sample(numbers, self.levels, self.weights)

    def reordered(self, order):
        return Sample(*(None if part is None else part[order] for part in (self.numbers, self.levels, self.weights)))

    def weighted(self, factor):
        weights = np.ones(len(self.numbers)) if self.weights is None else self.weights
        return Sample(self.numbers, self.levels, factor * weights)


def f_at(points, x, y, names="abc"):
    """f at the points, (k,), with names of the levels."""
    samples = [sample.table(names) for sample in (x, y)]
    data = prepared(*samples, (x.weights, y.weights))
    inner = points.numbers
    if points.levels is not None:
        codes = [sorted(names[:3]).index(names[code]) for code in points.levels]
        inner = np.column_stack([inner, codes])
    return curves.find_curve(data).at(data.scaling.apply(inner))


def points_of(x, y):
    return x.reordered(slice(0, 10)), y.reordered(slice(0, 10))


def assert_same(found, expected, rounding=ROUNDING):
    np.testing.assert_allclose(found, expected, rtol=0, atol=rounding * np.abs(expected).max())


@given(CASES)
def test_swapping_the_samples_flips_the_sign(case):
    x, y = two_samples(*case)
    for points in points_of(x, y):
        assert_same(f_at(points, y, x), -f_at(points, x, y))


@given(case=CASES, offset=st.sampled_from([-3.0, 2.0**20]))
def test_shifting_changes_nothing(case, offset):
    x, y = two_samples(*case)
    points, _ = points_of(x, y)
    moved = [sample.moved(sample.numbers + offset) for sample in (points, x, y)]
    # a mean near 2^20 rounds to 2^-32, 2e-10
    assert_same(f_at(*moved), f_at(points, x, y), 1e-7 if offset > 3 else ROUNDING)


@given(case=CASES, factors=st.lists(st.sampled_from([3.0, 0.37, 1e6, 1e-9, 2.0**-40]), min_size=5, max_size=5))
def test_units_of_columns_change_f_by_their_volume_alone(case, factors):
    x, y = two_samples(*case)
    points, _ = points_of(x, y)
    factors = np.array(factors[: x.numbers.shape[1]])
    scaled = [sample.moved(sample.numbers * factors) for sample in (points, x, y)]
    assert_same(f_at(*scaled) * factors.prod(), f_at(points, x, y))


@given(CASES)
def test_the_order_of_columns_changes_nothing(case):
    x, y = two_samples(*case)
    points, _ = points_of(x, y)
    turned = [sample.moved(sample.numbers[:, ::-1]) for sample in (points, x, y)]
    # on a grid of two columns the lengths of the axes that are padded to a fast transform change places
    assert_same(f_at(*turned), f_at(points, x, y), 1.5e-4 if x.numbers.shape[1] == 2 else ROUNDING)


@given(case=CASES, seed=st.integers(0, 1000))
def test_the_order_of_rows_changes_nothing(case, seed):
    x, y = two_samples(*case)
    random = np.random.default_rng(seed)
    points, _ = points_of(x, y)
    mixed = [sample.reordered(random.permutation(len(sample.numbers))) for sample in (x, y)]
    assert_same(f_at(points, *mixed), f_at(points, x, y), 1e-9)


@given(case=CASES, factor=st.sampled_from([2.0, 0.3, 1e6]))
def test_a_constant_times_all_weights_changes_nothing(case, factor):
    x, y = two_samples(*case)
    points, _ = points_of(x, y)
    assert_same(f_at(points, x.weighted(factor), y.weighted(1 / factor)), f_at(points, x, y))


@settings(max_examples=8)
@given(seed=st.integers(0, 1000), names=st.permutations("abc"), d=st.integers(0, 2))
def test_names_of_levels_change_nothing(seed, names, d):
    x, y = two_samples(seed, 60, 41, d, "levels")
    points, _ = points_of(x, y)
    assert_same(f_at(points, x, y, "".join(names)), f_at(points, x, y))


def normal(seed, n, d=1):
    return np.random.default_rng([seed, n, d]).normal(size=(n, d))


def cauchy(seed, n, d):
    return np.random.default_rng([seed, n, d]).standard_cauchy(size=(n, d))


def spanning(seed, n, d):
    """Numbers between 1e-300 and 1e300."""
    return 10.0 ** np.random.default_rng([seed, n, d]).uniform(-300, 300, (n, d))


HOSTILE = {
    "two rows": (normal(1, 2), normal(2, 2)),
    "two and three rows of three columns": (normal(1, 2, 3), normal(2, 3, 3)),
    "three rows of two columns": (normal(1, 3, 2), normal(2, 3, 2)),
    "ties alone": (np.zeros((30, 1)), np.ones((20, 1))),
    "ties alone in three columns": (np.zeros((30, 3)), np.ones((20, 3))),
    "two values": (np.round(np.abs(normal(1, 40)) % 1), np.round(np.abs(normal(2, 30)) % 1)),
    "constant in one sample": (normal(1, 50), np.zeros((40, 1))),
    "one column constant in one sample": (normal(1, 50, 3), normal(2, 40, 3) * [1, 1, 0]),
    "whole numbers": (np.round(normal(1, 200)), np.round(normal(2, 150) + 1)),
    "tenths in three columns": (np.round(normal(1, 200, 3), 1), np.round(normal(2, 150, 3) + 1, 1)),
    "Cauchy": (cauchy(1, 300, 1), cauchy(2, 200, 1) + 0.5),
    "Cauchy in two columns": (cauchy(1, 300, 2), cauchy(2, 200, 2) + 0.5),
    "Cauchy in three columns": (cauchy(1, 300, 3), cauchy(2, 200, 3) + 0.5),
    "1e-300 to 1e300": (spanning(1, 80, 1), spanning(2, 60, 1)),
    "1e-300 to 1e300 in two columns": (spanning(1, 80, 2), spanning(2, 60, 2)),
    "1e-300 to 1e300 in three columns": (spanning(1, 80, 3), spanning(2, 60, 3)),
    "columns of 1e-200 and 1e200": (normal(1, 80, 2) * [1e-200, 1e200], normal(2, 60, 2) * [1e-200, 1e200]),
    "200 columns": (normal(1, 60, 200), normal(2, 50, 200) + 0.1),
    "500 columns": (normal(1, 40, 500), normal(2, 30, 500) + 0.1),
    "an outlier of 1e15": (np.vstack([normal(1, 80, 3), [[1e15] * 3]]), normal(2, 60, 3)),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.filterwarnings("ignore::densdiff.DensDiffWarning")
def test_f_of_hostile_rows_is_finite_without_warnings(name):
    x, y = HOSTILE[name]
    data = prepared(x, y)
    found = curves.find_curve(data)
    points = np.concatenate([x[:5], y[:5], (x[:2] + y[:2]) / 2, np.full((1, x.shape[1]), 1e308)])
    f = found.at(data.scaling.apply(points))
    assert np.isfinite(f).all()
    assert f[-1] == 0.0 or name.startswith("1e-300")
    assert found.curve.models.weights.sum() == pytest.approx(1.0)


def width(x, y):
    """The width that a single column is divided by, in the user's units."""
    data = prepared(x, y)
    rows = drawn_rows.smooth_widths(drawn_rows.common_widths(drawn_rows.rows_of(data)))
    np.testing.assert_allclose(rows.place(data.scaling.apply(x)), rows.numbers[: len(x)], rtol=1e-12, atol=1e-12)
    return np.exp(rows.log_volume + data.scaling.log_volume)


def test_the_width_of_a_normal_column_is_its_deviation():
    # the pairs within a blur of half a width are many: 2 % of noise at this size
    for deviation in (1.0, 1e-9):
        assert width(deviation * normal(1, 2000), deviation * normal(2, 1500)) == pytest.approx(deviation, rel=0.06)


@pytest.mark.parametrize("gap", [40.0, 1e3, 1e9])
def test_two_modes_far_apart_have_the_width_of_one(gap):
    x, y = normal(1, 2000), normal(2, 1500)
    x[::2] += gap
    y[::3] += gap
    assert width(x, y) == pytest.approx(1.0, rel=0.08)


def test_outliers_hardly_change_a_width():
    x, y = normal(1, 2000), normal(2, 1500)
    clean = width(x, y)
    x[:20] *= 1e6
    assert width(x, y) == pytest.approx(clean, rel=0.03)


@pytest.mark.parametrize("step", [0.01, 0.1, 0.3])
def test_rounding_hardly_changes_a_width(step):
    x, y = normal(1, 2000), normal(2, 1500)
    rounded = [step * np.round(rows / step) for rows in (x, y)]
    assert width(*rounded) == pytest.approx(width(x, y), rel=0.06)


def test_a_column_rounded_coarsely_keeps_the_width_as_concentrated():
    data = prepared(np.round(normal(1, 2000)), np.round(normal(2, 1500)))
    rows = drawn_rows.common_widths(drawn_rows.rows_of(data))
    np.testing.assert_array_equal(drawn_rows.smooth_widths(rows).numbers, rows.numbers)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_f_is_0_at_points_beyond_all_doubles_of_whitened_rows(d, unit):
    x, y = normal(1, 300, d), normal(2, 200, d) + 0.5
    x[:, 1] += 5 * x[:, 0]
    y[:, 1] += 5 * y[:, 0]
    data = prepared(unit * x, unit * y)
    found = curves.find_curve(data)
    assert found.curve.rows.matrix is not None
    far = 1e308 * np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0], [1e-8, -1.0, 0.0]])[:, :d]
    np.testing.assert_array_equal(found.at(data.scaling.apply(far)), 0.0)
