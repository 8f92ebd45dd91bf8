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
    even = [np.ones(60)] * 2
    return mixture_picture([rows * unit for rows in samples], even, new * unit, priors, ("noise", "signal"))


@pytest.mark.parametrize("unit", [1.0, 1e200, 1e-200])
def test_densities_of_the_best_column_have_the_shares_as_their_integrals(unit):
    found = drawn(unit)
    assert found.column == "signal"
    step = (found.points[1] - found.points[0]) / unit
    np.testing.assert_allclose(found.classes.sum(axis=1) * unit * step, [0.25, 0.75], atol=0.02)
    assert found.new.sum() * unit * step == pytest.approx(1.0, abs=0.05)


def test_densities_beyond_the_largest_double_are_not_drawn():
    assert drawn(1e-310) is None


def test_classes_in_their_true_shares_add_up_to_the_new_rows():
    """Of classes of very different widths, each with a bandwidth of its own, a quarter of the area disagreed."""
    random = np.random.default_rng(0)

    def rows(counts):
        parts = [random.normal(mean, width, n) for n, mean, width in zip(counts, (0, 3, 4), (1, 0.1, 3), strict=True)]
        return np.concatenate(parts)[:, None]

    priors = np.array([0.3, 0.4, 0.3])
    samples = [rows(counts) for counts in ((3000, 0, 0), (0, 3000, 0), (0, 0, 3000))]
    even = [np.ones(3000)] * 3
    found = mixture_picture(samples, even, rows((1500, 2000, 1500)), priors, ("x",))
    step = found.points[1] - found.points[0]
    assert 0.5 * np.abs(found.classes.sum(axis=0) - found.new).sum() * step < 0.04
    wrong = mixture_picture(samples, even, rows((3000, 500, 1500)), priors, ("x",))
    assert 0.5 * np.abs(wrong.classes.sum(axis=0) - wrong.new).sum() * step > 0.15


def test_rows_weigh_in_the_picture_as_they_do_in_the_shares():
    random = np.random.default_rng(1)
    samples = [random.normal(shift, size=(60, 1)) for shift in (0.0, 3.0)]
    counts, new, priors = random.integers(1, 4, size=60), random.normal(size=(40, 1)), np.array([0.3, 0.7])
    weighted = mixture_picture(samples, [counts / counts.sum(), np.ones(60)], new, priors, ("x",))
    doubled = mixture_picture(samples, [2.0 * counts, np.ones(60)], new, priors, ("x",))
    np.testing.assert_allclose(weighted.classes, doubled.classes, rtol=1e-12)
    even = mixture_picture(samples, [np.ones(60)] * 2, new, priors, ("x",))
    mean = np.trapezoid(weighted.points * weighted.classes[0], weighted.points) / 0.3
    assert mean == pytest.approx(np.average(samples[0][:, 0], weights=counts), abs=0.05)
    assert not np.allclose(weighted.classes[0], even.classes[0], rtol=1e-3)
