"""What must not change the answer: order of samples, rows, columns; offsets and units; copies of rows."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import densdiff as dd
from densdiff.core.grid import WRAP_TOLERANCE
from tests.lsdd_solvers import SOLVERS, columns, each_solver

# Hypothesis also tries fewer rows than folds, where the warning is right and tested elsewhere.
few_rows_allowed = pytest.mark.filterwarnings("ignore:folds reduced:densdiff.DensDiffWarning")
SCALED = {solver: dd.LSDD(solver=solver, random_state=1) for solver in SOLVERS} | {
    "kde": dd.KDEDifference(random_state=1)
}
ESTIMATORS = SCALED | {
    f"{solver} unscaled": dd.LSDD(solver=solver, standardize=False, random_state=1) for solver in SOLVERS[:3]
}
each_estimator = pytest.mark.parametrize("model", ESTIMATORS.values(), ids=ESTIMATORS)
each_scaled = pytest.mark.parametrize("model", SCALED.values(), ids=SCALED)


# Few samples, so that each is fitted once for many offsets, factors and copies of it.
seeds = st.integers(0, 11)


def some(draw, model, seed, n, m, d):
    """Two samples with as many columns as the model's solver does in little time."""
    return draw(seed, n, m, columns(getattr(model, "solver", None), d, seed))


@cache
def untouched(draw, model, seed, n=40, m=27, d=2):
    """Two samples, read-only as several tests get them, and f at Y and the distance of the model fitted to them."""
    x, y = draw(seed, n, m, d)
    x.flags.writeable = y.flags.writeable = False
    return x, y, both(model, x, y, y)


def both(model, x, y, points):
    """f at the points and the distance."""
    fitted = clone(model).fit(x, y)
    return fitted.predict(points), fitted.l2_distance()


def assert_same(found, expected, rtol, factor=1.0):
    """The same f and distance, both up to one known factor, and the same normalized distance."""
    f, distance = found
    f0, distance0 = expected
    names = [name for name, value in distance0.estimates.items() if value is not None and _stable(name)]
    size = factor * max(abs(distance0.estimates[name]) for name in names)
    np.testing.assert_allclose(f, factor * f0, rtol=rtol, atol=rtol * factor * np.abs(f0).max())
    assert distance.squared == pytest.approx(factor * distance0.squared, rel=rtol, abs=0)
    assert distance.normalized == pytest.approx(distance0.normalized, rel=rtol)
    for name in names:
        expected_value = factor * distance0.estimates[name]
        assert distance.estimates[name] == pytest.approx(expected_value, rel=rtol, abs=rtol * size), name


def _stable(name):
    return name not in ("bias_corrected", "positive_part")  # E8 inverts an ill-conditioned H, as the paper says


@few_rows_allowed
@each_estimator
@given(seed=st.integers(0, 10_000), n=st.integers(2, 40), m=st.integers(2, 40), d=st.integers(1, 3))
def test_swapping_samples_flips_f_and_keeps_the_distance(draw, model, seed, n, m, d):
    x, y = some(draw, model, seed, n, m, d)
    f, here = both(model, x, y, np.concatenate([x, y]))
    g, there = both(model, y, x, np.concatenate([x, y]))
    np.testing.assert_allclose(g, -f, rtol=1e-10, atol=1e-12 * np.abs(f).max())
    assert there.squared == pytest.approx(here.squared, rel=1e-10)
    assert there.normalized == pytest.approx(here.normalized, rel=1e-10)
    assert there.sigma == (here.sigma[::-1] if isinstance(here.sigma, tuple) else here.sigma)
    assert (there.n_x, there.n_y, there.lam) == (here.n_y, here.n_x, here.lam)


def test_swapping_keeps_the_draw_of_few_centers(draw):
    x, y = draw(1, 70, 45)
    model = dd.LSDD(solver="centers", n_centers=30, random_state=2)
    models = [clone(model).fit(*pair) for pair in ((x, y), (y, x))]
    np.testing.assert_array_equal(models[0].centers_, models[1].centers_)
    np.testing.assert_allclose(models[0].theta_, -models[1].theta_, rtol=1e-12)


@each_estimator
@given(
    seed=seeds,
    d=st.integers(1, 3),
    offsets=st.lists(st.integers(-(10**6), 10**6), min_size=3, max_size=3),
)
def test_translation_changes_nothing(draw, model, seed, d, offsets):
    x, y, expected = untouched(draw, model, seed, 25, 18, columns(getattr(model, "solver", None), d, seed))
    shift = np.array(offsets[: x.shape[1]], dtype=float)
    assert_same(both(model, x + shift, y + shift, y + shift), expected, rtol=1e-8)


@pytest.mark.parametrize("offset", [1e8, 1.7e9])
@pytest.mark.parametrize("d", [1, 5])
@each_estimator
def test_offsets_of_1e8_and_unix_seconds_keep_six_digits(draw, model, offset, d):
    x, y, expected = untouched(draw, model, 3, 60, 50, columns(getattr(model, "solver", None), d))
    assert_same(both(model, x + offset, y + offset, y + offset), expected, rtol=1e-6)


@each_estimator
@given(seed=seeds, d=st.integers(1, 3), factor=st.floats(1e-3, 1e3))
def test_common_scaling_obeys_the_units(draw, model, seed, d, factor):
    x, y, expected = untouched(draw, model, seed, 25, 18, columns(getattr(model, "solver", None), d, seed))
    found = both(model, factor * x, factor * y, factor * y)
    assert_same(found, expected, rtol=1e-8, factor=factor ** -x.shape[1])
    sigma, sigma0 = np.array(found[1].sigma), np.array(expected[1].sigma)
    np.testing.assert_allclose(sigma, sigma0 * (1.0 if model.standardize else factor), rtol=1e-10)


@pytest.mark.parametrize("scales", [(1e-12, 1e12), (1e200, 1e-200), (1e150, 1e100), (3.0, 0.01)])
@each_scaled
def test_scales_of_single_columns_obey_the_units(draw, model, scales):
    x, y, expected = untouched(draw, model, 4)
    c = np.array(scales)
    assert_same(both(model, c * x, c * y, c * y), expected, rtol=1e-8, factor=1 / c.prod())


@pytest.mark.parametrize("c", [1e200, 1e-200])
@each_estimator
def test_values_of_any_size_are_ordinary(draw, model, c):
    x, y, expected = untouched(draw, model, 5, d=1)
    assert_same(both(model, c * x, c * y, c * y), expected, rtol=1e-8, factor=1 / c)


@pytest.mark.parametrize("c", [1e200, 1e-200])
@each_estimator
def test_distances_beyond_doubles_saturate_with_a_warning_and_an_exact_log(draw, model, c):
    x, y, (_, expected) = untouched(draw, model, 6)
    fitted = clone(model).fit(c * x, c * y)
    with pytest.warns(dd.DensDiffWarning, match="log_squared"):
        found = fitted.l2_distance()
    assert 0 < found.squared < np.inf
    assert found.log_squared == pytest.approx(expected.log_squared - 2 * np.log(c), rel=1e-10)
    assert found.normalized == pytest.approx(expected.normalized, rel=1e-8)
    assert any("log_squared" in note for note in found.warnings)
    assert np.isfinite(fitted.predict(c * y)).all()


@pytest.mark.parametrize("points", [[[1e200]], [[-1.7e308]], [[1e5]]])
@each_estimator
def test_f_is_zero_far_away(draw, model, points):
    assert clone(model).fit(*draw(7, d=1)).predict(points) == [0.0]


@pytest.mark.parametrize(
    ("solver", "d"), [("centers", 2), ("centers", 6), ("spectral", 2), ("pairs", 2), ("pairs", 6), ("auto", 2)]
)
def test_f_is_zero_far_away_in_more_columns(draw, solver, d):
    assert dd.LSDD(solver=solver, random_state=0).fit(*draw(7, d=d)).predict(np.full((1, d), 1e300)) == [0.0]


@each_estimator
def test_column_order_changes_nothing(draw, model):
    on_grid = getattr(model, "solver", None) == "spectral"
    x, y = draw(8, d=2 if on_grid else 4)
    order = [1, 0] if on_grid else [2, 0, 3, 1]
    # the axes of a grid are padded to lengths good for the FFT, the last axis to others than the first: what wraps
    # around changes, by up to 1e-5 of a kernel's peak
    rtol = 1e-4 if on_grid else 1e-9
    assert_same(both(model, x[:, order], y[:, order], y[:, order]), both(model, x, y, y), rtol=rtol)


each_named_solver = pytest.mark.parametrize("solver", SOLVERS[:3])


def fixed(solver, x):
    return dd.LSDD(0.8, 0.3, solver=solver, centers=x[:12] if solver == "centers" else None, random_state=0)


@each_named_solver
def test_row_order_changes_nothing_at_a_fixed_model(draw, solver):
    x, y = draw(9)
    random = np.random.default_rng(0)
    expected = both(fixed(solver, x), x, y, y)
    f, distance = both(fixed(solver, x), random.permutation(x), random.permutation(y), y)
    np.testing.assert_allclose(f, expected[0], rtol=1e-11, atol=1e-13)
    for name, value in expected[1].estimates.items():
        assert distance.estimates[name] == (None if value is None else pytest.approx(value, rel=1e-9)), name
    assert distance.squared == pytest.approx(expected[1].squared, rel=1e-9)


@pytest.mark.filterwarnings("ignore:every row occurs 2 times:densdiff.DensDiffWarning")
@each_named_solver
def test_duplicating_every_row_changes_nothing_at_a_fixed_model(draw, solver):
    x, y = draw(10)
    f, distance = both(fixed(solver, x), x, y, y)
    g, doubled = both(fixed(solver, x), np.tile(x, (2, 1)), np.repeat(y, 2, axis=0), y)
    np.testing.assert_allclose(g, f, rtol=1e-11, atol=1e-13)
    for name in ("h_theta", "theta_H_theta", "regularization_corrected"):
        assert doubled.estimates[name] == pytest.approx(distance.estimates[name], rel=1e-10)


@pytest.mark.parametrize("copy", [lambda rows: np.repeat(rows, 10, axis=0), lambda rows: np.tile(rows, (10, 1))])
@each_estimator
def test_every_row_ten_times_gives_the_same_f_and_a_warning(draw, model, copy):
    x, y, (f, distance) = untouched(draw, model, 11, 50, 35)
    with pytest.warns(dd.DensDiffWarning, match="every row occurs 10 times"):
        found = clone(model).fit(copy(x), copy(y))
    assert found.sigma_ == pytest.approx(distance.sigma, rel=1e-12)
    np.testing.assert_allclose(found.predict(y), f, rtol=1e-9)
    assert any("10 times" in note for note in found.l2_distance().warnings)


def gap_pair(draw, gap, d):
    x, y = draw(12, 40, 30, d)
    y = y.copy()
    y[:, 0] += gap
    return x, y


@pytest.mark.parametrize(
    ("solver", "d"), [*[(s, d) for s in ("centers", "pairs") for d in (1, 2, 5)], ("spectral", 1), ("spectral", 2)]
)
def test_clusters_1e9_apart_are_as_right_as_clusters_1e4_apart(draw, solver, d):
    rtol = WRAP_TOLERANCE[d] if solver == "spectral" else 1e-6  # on a grid kernels wrap around, elsewhere each time
    found = {}
    for gap in (1e4, 1e9):
        x, y = gap_pair(draw, gap, d)
        model = dd.LSDD(1.0, 0.2, solver=solver, standardize=False, random_state=0).fit(x, y)
        found[gap] = model.l2_distance(), model.predict(x), model.predict(y)
    near, far = found[1e4], found[1e9]
    assert near[0].estimates["regularization_corrected"] > 0
    for name, value in near[0].estimates.items():
        if value is not None and _stable(name):
            assert far[0].estimates[name] == pytest.approx(value, rel=rtol), name
    assert far[0].squared == pytest.approx(near[0].squared, rel=rtol)
    for a, b in zip(far[1:], near[1:], strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max())


@each_solver
def test_clusters_1e9_apart_have_the_sum_of_their_norms_with_default_settings(solver):
    random = np.random.default_rng(0)
    x, y = random.normal(size=(200, 1)), random.normal(size=(200, 1)) + 1e9
    result = dd.l2_distance(x, y, model=dd.LSDD(solver=solver, random_state=0))
    # |N(0,1)|^2 = 1/(2 sqrt(pi)); 4 standard errors at the efficiency bound 4 var_p(p)/n + 4 var_q(q)/m
    variance = 1 / (2 * np.pi * np.sqrt(3)) - 1 / (4 * np.pi)
    assert result.squared == pytest.approx(1 / np.sqrt(np.pi), abs=4 * np.sqrt(8 * variance / 200))
    assert result.normalized > 0.95
