"""Tables of radial kernels against quadrature, and looking values up in them."""

import mpmath as mp
import numpy as np
import pytest

from densdiff.core import radial
from densdiff.solvers.base import FILTER_LAMS

RADII = (0.0, 0.37, 1.3, 4.1, 11.0)


def look_up(table, row, r):
    return radial.interpolate(radial.plain_and_squared(table, row), r)


def quadrature(d, lams, radii):
    """The kernels of F and F^2 at sigma = 1 times (2 pi)^(d/2), two (L, R): their radial integral in d dimensions.

    Bessel factors have 25 digits; panels of 40 Gauss nodes are shorter than 3 and F's poles are 0.7 off the axis.
    """
    low, high = max(0.0, np.sqrt(d - 1) - 10), max(np.sqrt(d - 1), np.sqrt(2 * max(0.0, np.log(1 / lams.min())))) + 10
    edges = np.linspace(low, high, 13)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    w = (edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2).ravel()
    measure = (np.diff(edges)[:, None] * weights / 2).ravel()
    with mp.workdps(25):
        sphere = mp.mpf(2) ** (1 - mp.mpf(d) / 2) / mp.gamma(mp.mpf(d) / 2)
        bessel = np.array(
            [
                [
                    float(
                        sphere
                        * mp.mpf(v) ** (d - 1)
                        * mp.exp(-(mp.mpf(v) ** 2) / 2)
                        * mp.hyp0f1(d / 2, -((v * r) ** 2) / 4)
                    )
                    for v in w
                ]
                for r in map(float, radii)
            ]
        )  # (R, W), with the Gaussian that F brings: it keeps doubles in range for d = 200
    filters = 1 / (1 + np.outer(lams, np.exp(w**2 / 2)))
    lifted = filters * np.exp(w**2 / 2)  # F exp(w^2 / 2) is bounded by 1/lam
    return (lifted * measure) @ bessel.T, (lifted * filters * measure) @ bessel.T


@pytest.mark.parametrize("d", [1, 2, 3, 10, 50, 200])
def test_tables_equal_the_bessel_integral(d):
    table = radial.radial_table(d, FILTER_LAMS)
    expected = quadrature(d, FILTER_LAMS, RADII)
    for row in range(len(FILTER_LAMS)):
        for found, kernel in zip(look_up(table, row, np.array(RADII)), expected, strict=True):
            np.testing.assert_allclose(found, kernel[row], rtol=0, atol=1e-11 * kernel[row, 0])


@pytest.mark.parametrize("lam", [1e-6, 1e-2, 10.0])
def test_tables_of_any_one_lam_equal_the_bessel_integral(lam):
    lams = np.array([lam])
    for found, kernel in zip(
        look_up(radial.radial_table(4, lams), 0, np.array(RADII)), quadrature(4, lams, RADII), strict=True
    ):
        np.testing.assert_allclose(found, kernel[0], rtol=0, atol=1e-11 * kernel[0, 0])


@pytest.mark.parametrize("d", [1, 7])
def test_look_up_has_no_jumps_and_is_zero_beyond_reach(d):
    table = radial.radial_table(d, FILTER_LAMS)
    nodes = table.step * np.arange(1, table.plain.shape[1] - 1, 97)
    for row in (0, len(FILTER_LAMS) - 1):
        before, after = (look_up(table, row, nodes * (1 + e)) for e in (-1e-13, 1e-13))
        beyond = look_up(table, row, table.reach * np.array([1.0 + 1e-9, 1.5, 1e6, 1e200]))
        for kind in range(2):
            np.testing.assert_allclose(before[kind], after[kind], rtol=0, atol=1e-11 * before[kind][0])
            np.testing.assert_array_equal(beyond[kind], 0.0)


def test_look_up_keeps_the_shape_of_its_distances():
    table = radial.radial_table(2, FILTER_LAMS)
    r = np.random.default_rng(0).random((3, 4))
    np.testing.assert_array_equal(look_up(table, 2, r)[0].ravel(), look_up(table, 2, r.ravel())[0])


@pytest.mark.parametrize("sigma", [0.3, 2.0])
def test_binned_kernels_are_right_on_average_over_the_distances(sigma):
    sigmas, d = np.array([2.0, 0.3]), 3
    table = radial.radial_table(d, FILTER_LAMS)
    bins = radial.make_bins(sigmas, 6.0, table.reach)
    r = np.linspace(0, 6, 100_001)
    density = r**2 * np.exp(-(r**2) / 2)  # distances of normal rows
    position = np.sqrt(r) * bins.per_root
    cell = position.astype(int)
    fraction = position - cell
    counts = np.bincount(cell, density * (1 - fraction), bins.count + 1)[: bins.count]
    counts += np.bincount(cell + 1, density * fraction, bins.count + 1)[: bins.count]
    kernels = radial.binned_kernels(table, bins, sigma)
    for row in range(len(FILTER_LAMS)):
        for kind, exact in enumerate(look_up(table, row, r / sigma)):
            assert counts @ kernels[kind][row] == pytest.approx(
                density @ exact, rel=0, abs=1e-5 * density @ np.abs(exact)
            )
    assert all((kernel[:, -1] == 0).all() for kernel in kernels)


LARGE_LAMS = np.array([4.5, 30.0, 1e3, 1e8, 1e30])
FARTHER_RADII = (0.0, 0.37, 4.1, 8.5, 12.0)  # the Gaussians of F^2 are wider than those of F


@pytest.mark.parametrize("d", [1, 2, 3, 10, 200])
def test_tables_of_large_lams_equal_the_bessel_integral(d):
    expected = quadrature(d, LARGE_LAMS, FARTHER_RADII)
    shared = radial.radial_table(d, np.concatenate([FILTER_LAMS, LARGE_LAMS]))  # one reach for all of them
    for i, lam in enumerate(LARGE_LAMS):
        alone = radial.radial_table(d, np.array([lam]))
        for table, row in ((alone, 0), (shared, len(FILTER_LAMS) + i)):
            for found, kernel in zip(look_up(table, row, np.array(FARTHER_RADII)), expected, strict=True):
                np.testing.assert_allclose(found, kernel[i], rtol=0, atol=1e-11 * kernel[i, 0])


@pytest.mark.parametrize("d", [1, 4, 50])
def test_transform_and_series_agree_on_both_sides_of_the_switch(monkeypatch, d):
    lams = np.array([1.5, 3.9, 4.1, 10.0])
    r = np.linspace(0.0, 14.0, 300)
    tables = []
    for switch in (1.0, 100.0):  # all by the series, all by the transform
        monkeypatch.setattr(radial, "_SERIES_FROM", switch)
        tables.append(radial._make_table(d, tuple(lams)))
    for row in range(len(lams)):
        for series, transform in zip(*(look_up(table, row, r) for table in tables), strict=True):
            np.testing.assert_allclose(series, transform, rtol=0, atol=1e-11 * series[0])


@pytest.mark.parametrize("lam", [1.3, 7.0, 1e25])
def test_series_equals_fifty_digits(lam):
    r, d = np.array([0.0, 0.8, 3.0]), 3
    with mp.workdps(50):
        x = 1 / mp.mpf(lam)
        terms = range(1, int(120 / mp.log(lam)) + 4)
        gaussians = [[mp.mpf(k) ** (-mp.mpf(d) / 2) * mp.exp(-(mp.mpf(v) ** 2) / (2 * k)) for k in terms] for v in r]
        plain = [-mp.fsum((-x) ** k * g for k, g in zip(terms, row, strict=True)) for row in gaussians]
        squared = [mp.fsum((k - 1) * (-x) ** k * g for k, g in zip(terms, row, strict=True)) for row in gaussians]
    found = radial.gaussian_series(d, np.array([lam]), r)
    for values, expected in zip(found, (plain, squared), strict=True):
        np.testing.assert_allclose(
            values[0], np.array(expected, dtype=float), rtol=1e-14 * lam / (lam - 1) ** 2 + 1e-14
        )


def test_tables_of_the_same_lams_are_made_once():
    for lams in (FILTER_LAMS, np.logspace(-4, 12, 40)):
        assert radial.radial_table(2, lams) is radial.radial_table(2, lams.copy())


def test_without_columns_the_kernels_are_the_numbers_of_the_filter():
    lams = np.array([1e-5, 0.3, 1.0, 7.0, 1e30])
    table = radial.radial_table(0, lams)
    bins = radial.make_bins(np.ones(1), 0.0, table.reach)
    binned = radial.binned_kernels(table, bins, 1.0)
    for row, lam in enumerate(lams):
        for kind, power in enumerate((1, 2)):
            expected = (1 / (1 + lam)) ** power
            assert look_up(table, row, np.zeros(2))[kind] == pytest.approx(np.full(2, expected), rel=1e-15)
            assert binned[kind][row, 0] == pytest.approx(expected, rel=1e-15)
    assert radial.log_scale(2.0, 0) == 0.0


def test_the_cubic_is_that_of_lagrange_through_four_entries_of_an_even_table():
    random = np.random.default_rng(0)
    table = np.append(random.normal(size=9), [0.0, 0.0])
    r = np.concatenate([[0.0, 0.3, 1.0, 1.7, 7.2, 8.0, 8.6, 9.0, 40.0], random.uniform(0.0, 9.0, 50)])
    inside = np.minimum(r, 9.0)
    first = np.floor(inside).astype(int)
    extended = np.append(table, 0.0)  # beyond the last entry all is 0
    nodes = first[:, None] + np.arange(-1, 3)  # (k, 4)
    shares = np.ones((len(r), 4))
    for i, j in ((i, j) for i in range(4) for j in range(4) if i != j):
        shares[:, i] *= (inside - nodes[:, j]) / (i - j)
    expected = (shares * extended[np.abs(nodes)]).sum(axis=1)
    (found,) = radial.interpolate(radial.Radial(0.1, (table,)), 0.1 * r)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    assert found[-51] == 0.0
    behind = radial.cubic_places(0.1, len(table), 0.1 * r).moved(np.full(len(r), 5, dtype=np.intp))
    np.testing.assert_array_equal(radial.cubic_at(np.concatenate([np.ones(5), table, np.ones(2)]), behind), found)
