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
