"""A line with logarithmic tails keeps the order of values, the distances of its core, and finds its way back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densdiff.core.log_axis import LogAxis

AXIS = LogAxis(low=-1e6, high=1e9, middle=3.0, core=8.0)


@given(st.lists(st.floats(-1e6, 1e9), min_size=2, max_size=20))
def test_values_keep_their_order_and_come_back(values):
    values = np.sort(values)
    places = AXIS.apply(values)
    assert (np.diff(places) >= 0).all()
    assert places[0] >= 0
    assert places[-1] <= AXIS.length
    # a place carries the rounding of the whole line, which a tail stretches by its slope
    slope = np.maximum(1.0, np.abs(values - AXIS.middle) / 2.0)
    assert (np.abs(AXIS.values_at(places) - values) <= 1e-12 * slope * (1.0 + AXIS.length)).all()


def test_distances_in_the_core_stay_as_they_are():
    values = np.linspace(-5.0, 11.0, 33)
    np.testing.assert_allclose(np.diff(AXIS.apply(values)), 0.5, rtol=1e-12)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_beyond_the_core_a_distance_e_times_as_long_adds_a_quarter_of_the_core(side):
    far = AXIS.apply(AXIS.middle + side * np.array([1e4, np.e * 1e4, np.e**2 * 1e4]))
    np.testing.assert_allclose(side * np.diff(far), 2.0, rtol=1e-3)


@pytest.mark.parametrize("edge", [-5.0, 11.0])
def test_slopes_meet_where_the_core_ends(edge):
    steps = np.diff(AXIS.apply(edge + 1e-6 * np.array([-1.0, 0.0, 1.0])))
    assert steps[0] == pytest.approx(steps[1], rel=1e-5)


@pytest.mark.parametrize("far", [1e3, 1e9, 1e300])
def test_a_line_of_any_number_of_decades_is_short(far):
    axis = LogAxis(low=-far, high=far, middle=0.0, core=1.0)
    # a tail takes 5 + (5 / L) ln(L / 5) cores at most, L the logarithm of how far it goes: largest for L = 5 e
    assert axis.length <= 2 * (1 + 5 + np.exp(-1))
    places = axis.apply(np.array([-far, -1e3, 0.0, 1e3, far]))
    assert places[0] == 0
    assert (np.diff(places[[0, 2, 3]]) > 0.5).all()
    np.testing.assert_allclose(axis.values_at(places), [-far, -1e3, 0.0, 1e3, far], rtol=1e-9, atol=1e-9)
