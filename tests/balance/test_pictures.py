"""The data of the picture of a mixture: the column that tells classes apart, and when there is none to draw."""

import numpy as np
import pytest

from densdiff.balance.pictures import mixture_picture


def drawn(unit):
    """A picture of two classes in two columns, of which the second tells them apart."""
    random = np.random.default_rng(0)
    samples = [random.normal([0.0, shift], size=(60, 2)) for shift in (0.0, 4.0)]
    new = np.concatenate([samples[0][:15], samples[1][:45]])
    priors = np.array([0.25, 0.75])
    return mixture_picture([rows * unit for rows in samples], new * unit, priors, ("noise", "signal"))


@pytest.mark.parametrize("unit", [1.0, 1e200, 1e-200])
def test_densities_of_the_best_column_have_the_shares_as_their_integrals(unit):
    found = drawn(unit)
    assert found.column == "signal"
    step = (found.points[1] - found.points[0]) / unit
    np.testing.assert_allclose(found.classes.sum(axis=1) * unit * step, [0.25, 0.75], atol=0.02)
    assert found.new.sum() * unit * step == pytest.approx(1.0, abs=0.05)


def test_densities_beyond_the_largest_double_are_not_drawn():
    assert drawn(1e-310) is None
