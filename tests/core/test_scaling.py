"""Units: pooled standardization, blind to the labels, and factors that stay in logs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core import scaling


def equal(rows):
    return np.full(len(rows), 1 / len(rows))


def pooled(x, y, standardize=True):
    """The scaling; the rows that come with it must be the rows it gives."""
    found, inner_x, inner_y = scaling.pooled_scaling(x, y, equal(x), equal(y), standardize)
    np.testing.assert_array_equal(inner_x, found.apply(x))
    np.testing.assert_array_equal(inner_y, found.apply(y))
    return found


def test_standardization_is_by_pooled_mean_and_deviation(draw):
    x, y = draw(0, n=30, m=50, d=3)
    both = np.concatenate([x, y])
    found = pooled(x, y)
    np.testing.assert_allclose(found.apply(x), (x - both.mean(axis=0)) / both.std(axis=0), atol=1e-13)
    assert found.log_volume == pytest.approx(np.log(both.std(axis=0)).sum(), abs=1e-12)
    assert found.sigma_unit == 1.0


def test_without_standardization_distances_keep_their_unit(draw):
    x, y = draw(1, d=2)
    x[:, 1] *= 1e3
    found = pooled(x, y, standardize=False)
    inner_x, inner_y = found.apply(x), found.apply(y)
    np.testing.assert_allclose(
        np.linalg.norm(inner_x[0] - inner_y[0]) * found.sigma_unit, np.linalg.norm(x[0] - y[0]), rtol=1e-12
    )
    assert found.log_volume == pytest.approx(2 * np.log(found.sigma_unit), abs=1e-12)


def test_scaling_is_blind_to_the_labels(draw):
    x, y = draw(2, n=21, m=34)
    here, there = pooled(x, y), pooled(y, x)
    for name in ("shift", "exponent", "mean", "deviation"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name))
    both = np.random.default_rng(0).permutation(np.concatenate([x, y]))
    shuffled = pooled(both[:21], both[21:])
    np.testing.assert_allclose(shuffled.deviation, here.deviation, rtol=1e-13)


@given(
    exponents=st.tuples(st.integers(-900, 900), st.integers(-900, 900)),
    offset=st.integers(-(2**20), 2**20),
)
def test_inner_rows_do_not_depend_on_units_and_offsets(draw, exponents, offset):
    x, y = draw(3)
    expected = pooled(x, y).apply(x)
    moved_x, moved_y = (np.ldexp(rows + offset, exponents) for rows in (x, y))
    found = pooled(moved_x, moved_y)
    np.testing.assert_allclose(found.apply(moved_x), expected, atol=1e-13)
    assert found.log_volume == pytest.approx(pooled(x, y).log_volume + np.log(2) * sum(exponents), rel=1e-12, abs=1e-12)


def test_values_at_the_edge_of_doubles_are_ordinary():
    x = np.array([[-1.7e308], [1.7e308], [0.0]])
    y = np.array([[1.0e308], [-1.0e308]])
    inner = pooled(x, y).apply(x)
    assert np.isfinite(inner).all()
    both = np.concatenate([x, y]) / 1e308
    np.testing.assert_allclose(inner, (x / 1e308 - both.mean()) / both.std(), rtol=1e-12, atol=1e-15)


def test_equal_constants_are_left_out_and_others_kept(draw):
    x, y = draw(4, d=3)
    x[:, 1] = y[:, 1] = 7.5
    np.testing.assert_array_equal(pooled(x, y).keep, [0, 2])
    y[:, 1] = 8.5
    np.testing.assert_array_equal(pooled(x, y).keep, [0, 1, 2])


@pytest.mark.parametrize("value", [0.0, 7.5, 1e300])
def test_nothing_but_one_constant_still_has_a_scale(value):
    rows = np.full((4, 2), value)
    found = pooled(rows, rows)
    np.testing.assert_array_equal(found.apply(rows), 0.0)
    assert np.isfinite(found.log_volume)


@given(sigma=st.floats(1e-3, 1e3), d=st.integers(1, 20))
def test_log_kernel_volume_is_the_log_of_s(sigma, d):
    expected = np.log(np.pi * sigma**2) * d / 2
    assert scaling.log_kernel_volume(sigma, d) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_from_log_multiplies_and_keeps_sign_and_zero():
    values = np.array([-2.0, 0.0, 3.0, 1e-300])
    np.testing.assert_allclose(scaling.from_log(values, np.log(5.0)), 5 * values, rtol=1e-14 * 700)


@pytest.mark.parametrize(("log_factor", "size"), [(2000.0, np.finfo(float).max), (-2000.0, np.finfo(float).tiny)])
def test_from_log_saturates_and_says_so(log_factor, size):
    np.testing.assert_allclose(scaling.from_log([-1.0, 0.0, 1.0], log_factor), [-size, 0.0, size], rtol=1e-12)
    assert scaling.saturates(1.0, log_factor)
    assert scaling.saturates(-1.0, log_factor)
    assert not scaling.saturates(0.0, log_factor)
    assert not scaling.saturates(1.0, log_factor / 10)


def test_one_column_that_varies_is_kept_alone_and_constants_alone_are_all_kept():
    x, y = np.array([[1.0, 2.0, 3.0], [1.0, 4.0, 3.0]]), np.array([[1.0, 5.0, 3.0]])
    np.testing.assert_array_equal(pooled(x, y).keep, [1])
    np.testing.assert_array_equal(pooled(x[:1], x[:1]).keep, [0, 1, 2])


@pytest.mark.parametrize("standardize", [True, False])
def test_the_frame_takes_off_the_middle_and_a_power_of_two_above_half_the_range(standardize):
    x = np.array([[-1.0, 1e9 - 4.0], [9.0, 1e9 + 60.0]])
    found = pooled(x, x[::-1] - [0.0, 3.0], standardize)
    framed = np.ldexp(x - found.shift, -found.exponent)
    assert (np.abs(framed) <= 1.0).all()
    assert (np.abs(framed).max(axis=0) >= [0.5 if standardize else 0.0, 0.5]).all()
    assert (np.abs(found.mean) <= 1.0).all()  # an offset of 1e9 is gone before anything is summed


def test_one_weight_for_all_rows_is_the_same_as_equal_weights(draw):
    x, y = draw(5, n=31, m=20, d=3)
    even = [np.broadcast_to(1 / len(rows), len(rows)) for rows in (x, y)]
    found, inner_x, _ = scaling.pooled_scaling(x, y, *even, True)
    np.testing.assert_allclose(inner_x, pooled(x, y).apply(x), atol=1e-14)
    np.testing.assert_allclose(found.deviation, pooled(x, y).deviation, rtol=1e-14)


def test_whole_weights_are_repeated_rows(draw):
    """Each sample counts with its number of rows, so both are weighted and both have as many rows again."""
    x, y = draw(7, n=12, m=12, d=2)
    counts = np.array([1, 2, 3, 1, 1, 4, 1, 2, 1, 3, 2, 3])
    found, inner_x, _ = scaling.pooled_scaling(x, y, counts / 24, counts[::-1] / 24, True)
    repeated = pooled(np.repeat(x, counts, axis=0), np.repeat(y, counts[::-1], axis=0))
    np.testing.assert_allclose(found.deviation, repeated.deviation, rtol=1e-13)
    np.testing.assert_allclose(inner_x, repeated.apply(x), atol=1e-13)


def test_codes_come_last_and_stay_as_they_are(draw):
    x, y = draw(8, d=3)
    x[:, 1], y[:, 1] = np.arange(len(x)) % 3, np.arange(len(y)) % 5
    codes = np.array([False, True, False])
    for standardize in (True, False):
        found, inner_x, inner_y = scaling.pooled_scaling(x, y, equal(x), equal(y), standardize, codes)
        np.testing.assert_array_equal(found.keep, [0, 2, 1])
        np.testing.assert_array_equal(inner_x[:, 2], x[:, 1])
        np.testing.assert_array_equal(inner_y[:, 2], y[:, 1])


def moments(rows, shift, exponent):
    """What is known of a sample after a pass over its rows, in a frame of its own."""
    framed = np.ldexp(rows - shift, -exponent)
    ends = rows.min(axis=0), rows.max(axis=0)
    return scaling.Moments(len(rows), *ends, shift, exponent, framed.mean(axis=0), framed.var(axis=0))


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("codes", [None, np.array([False, True, False])])
def test_the_scaling_of_moments_is_that_of_the_rows(draw, standardize, codes):
    x, y = draw(6, n=33, m=50, d=3)
    x[:, 1], y[:, 1] = np.arange(33) % 3, np.arange(50) % 4
    x, y = x * [1.0, 1.0, 1e3] + [5.0, 0.0, -70.0], y * [1.0, 1.0, 1e3] + [5.0, 0.0, -70.0]
    expected = scaling.pooled_scaling(x, y, equal(x), equal(y), standardize, codes)[0]
    frames = (np.array([4.0, 0.5, 9.0]), np.array([1, 0, 5])), (np.array([7.0, 0.0, -3.0]), np.array([-2, 3, 12]))
    known = [moments(rows, *frame) for rows, frame in zip((x, y), frames, strict=True)]
    found = scaling.scaling_of_moments(*known, standardize, codes)
    for name in ("keep", "shift", "exponent", "sigma_unit"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-13)
    np.testing.assert_allclose(found.deviation, expected.deviation, rtol=1e-12)
    single = [each.only([2]) for each in known]
    alone = scaling.scaling_of_moments(*single, True)
    np.testing.assert_allclose(alone.deviation, pooled(x[:, 2:], y[:, 2:]).deviation, rtol=1e-12)


def test_moments_of_rows_are_those_of_their_values():
    random = np.random.default_rng(0)
    x, y = (random.exponential(size=(n, 3)) * [1.0, 1e-3, 1e5] + [0.0, 5.0, -1e3] for n in (40, 27))
    found = scaling.moments_of(x)
    level, spread = found.level_and_spread()
    assert found.n == 40
    np.testing.assert_array_equal([found.low, found.high], [x.min(axis=0), x.max(axis=0)])
    np.testing.assert_allclose(level, x.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(spread, x.std(axis=0), rtol=1e-10)
    half_range = np.ldexp(np.ptp(x, axis=0) / 2, -found.exponent)
    assert ((half_range >= 0.5) & (half_range < 1.0)).all()
    np.testing.assert_allclose(found.gap(scaling.moments_of(y)), y.mean(axis=0) - x.mean(axis=0), rtol=1e-9)


def test_the_gap_of_means_is_not_rounded_to_a_large_offset():
    """As multiples of 2^-20 the rows are exact at an offset of 2^30, where a mean of them is rounded to 2^-23."""
    x, y = (np.round(np.random.default_rng(n).exponential(size=(n, 1)) * 2.0**20) / 2.0**20 for n in (40, 27))
    here, there = (scaling.moments_of(x + by).gap(scaling.moments_of(y + by)) for by in (0.0, 2.0**30))
    np.testing.assert_allclose(there, here, rtol=1e-13)


def test_one_row_with_a_weight_that_is_broadcast_is_its_own_mean():
    rows, omega = np.array([[3.0, -2.0]]), np.broadcast_to(1.0, 1)
    assert scaling._mean(rows, omega).tolist() == [3.0, -2.0]


def test_moments_of_one_constant_have_a_scale():
    known = moments(np.full((3, 2), 0.1), np.zeros(2), np.zeros(2, dtype=int))
    found = scaling.scaling_of_moments(known, known, True)
    np.testing.assert_array_equal(found.deviation, 1.0)  # rounding must not become a scale


@pytest.mark.parametrize("value", [5e-324, 1.5e-323, 1e-310, 1 / 3, -1e308])
@pytest.mark.parametrize("standardize", [True, False])
def test_constants_are_exactly_0_also_where_half_of_them_is_rounded(value, standardize):
    omega = np.full(10, 0.1)
    _, x, y = scaling.pooled_scaling(np.full((10, 2), value), np.full((10, 2), value), omega, omega, standardize)
    assert not x.any()
    assert not y.any()


def test_points_beyond_all_doubles_are_infinite_without_a_warning():
    found = pooled(np.zeros((3, 1)), np.ones((2, 1)))
    assert found.deviation[0] < 1
    np.testing.assert_array_equal(found.apply(np.array([[1.7e308], [-1.7e308]])), [[np.inf], [-np.inf]])
