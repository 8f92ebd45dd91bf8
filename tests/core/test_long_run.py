"""The long-run variance of dependent samples."""

import numpy as np
import pytest
from scipy.signal import lfilter

from densdiff.core.long_run import long_run_variances


@pytest.mark.parametrize(("phi", "expected"), [(0.0, 1.0), (0.5, 3.0), (0.8, 9.0)])
def test_an_autoregression_has_the_variance_of_its_mean(phi, expected):
    """Four standard errors of the ratio over 40 columns of 4000 samples are below 15 %."""
    shocks = np.random.default_rng(0).standard_normal((4500, 40))
    columns = lfilter([np.sqrt(1 - phi**2)], [1.0, -phi], shocks, axis=0)[500:]
    assert long_run_variances(columns).mean() == pytest.approx(expected, rel=0.15)


def test_alternating_noise_counts_as_independent():
    columns = np.tile([1.0, -1.0], 100)[:, None] + np.random.default_rng(0).normal(0, 0.01, (200, 1))
    np.testing.assert_allclose(long_run_variances(columns), columns.var(axis=0, ddof=1))


def test_a_shift_changes_nothing_and_a_factor_its_square():
    columns = np.cumsum(np.random.default_rng(0).normal(size=(60, 3)), axis=0)
    np.testing.assert_allclose(long_run_variances(4.0 * columns + 3.0), 16.0 * long_run_variances(columns))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_samples_and_constant_columns_have_finite_variances(n):
    assert np.isfinite(long_run_variances(np.arange(2.0 * n).reshape(n, 2))).all()
    np.testing.assert_array_equal(long_run_variances(np.ones((n, 2))), 0.0)
