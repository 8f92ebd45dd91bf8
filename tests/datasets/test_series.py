"""Toy series have the changes, means, scales and dependence that are attached to them."""

import numpy as np
import pytest

from densdiff.datasets import piecewise_series
from densdiff.errors import InputError


def regimes(data):
    """The rows of each regime."""
    return np.split(data.series, data.changes)


def slow_autoregression(white, phi):
    """e[t] = phi e[t-1] + sqrt(1 - phi^2) w[t], one step at a time."""
    rows = [white[0]]
    for row in white[1:]:
        rows.append(phi * rows[-1] + np.sqrt(1 - phi**2) * row)
    return np.array(rows)


@pytest.mark.parametrize("phi", [-0.7, 0.0, 0.3, 0.999])
def test_autoregressive_noise_follows_its_recursion(phi):
    white = piecewise_series(0, length=333, d=2, random_state=4).series
    series = piecewise_series(0, length=333, d=2, phi=phi, random_state=4).series
    np.testing.assert_allclose(series, slow_autoregression(white, phi), rtol=0, atol=1e-12)


@pytest.mark.parametrize("phi", [0.0, 0.6])
@pytest.mark.parametrize("df", [None, 10.0])
def test_regimes_have_the_attached_means_and_scales(phi, df):
    kinds = ["mean", "scale", "mean", "scale"]
    data = piecewise_series(4, kinds, 1.5, length=60_000, d=2, phi=phi, df=df, random_state=1)
    np.testing.assert_array_equal(data.means, [0.0, 1.5, 1.5, 0.0, 0.0])
    np.testing.assert_array_equal(data.scales, [1.0, 1.0, 2.5, 2.5, 1.0])
    for rows, mean, scale in zip(regimes(data), data.means, data.scales, strict=True):
        effective = len(rows) * (1 - phi) / (1 + phi)
        assert np.all(np.abs(rows.mean(axis=0) - mean) < 5 * scale / np.sqrt(effective))
        # The variance of a square is at most 3 (kurtosis 6 / (10 - 4) + 2) for these tails.
        assert np.all(np.abs((rows.std(axis=0) / scale) ** 2 - 1) < 5 * np.sqrt(3 / effective))


def test_a_change_of_correlation_leaves_every_column_as_it_is():
    data = piecewise_series([20_000], "correlation", 2.0, length=40_000, d=3, random_state=2)
    np.testing.assert_allclose(data.correlations, [0.0, 2 / 3])
    for rows, rho in zip(regimes(data), data.correlations, strict=True):
        expected = np.full((3, 3), rho) + (1 - rho) * np.eye(3)
        np.testing.assert_allclose(np.cov(rows.T), expected, atol=5 * np.sqrt(2 / 20_000))


def test_a_change_of_frequency_moves_the_peak_of_the_spectrum_and_nothing_else():
    data = piecewise_series([4000], "frequency", 1.0, length=8000, random_state=3)
    np.testing.assert_allclose(data.frequencies, [0.05, 0.1])
    for rows, frequency in zip(regimes(data), data.frequencies, strict=True):
        power = np.abs(np.fft.rfft(rows[:, 0])) ** 2
        assert np.fft.rfftfreq(4000)[np.argmax(power[1:]) + 1] == pytest.approx(frequency, abs=1 / 4000)
        assert abs(rows.mean()) < 5 * np.sqrt(2 / 4000)
        assert abs(rows.var() - 2) < 5 * np.sqrt(8 / 4000)


def test_noise_of_few_degrees_of_freedom_has_heavy_tails():
    heavy, normal = (piecewise_series(0, length=20_000, df=df, random_state=6).series for df in (3.0, None))
    assert np.abs(heavy).max() > 2 * np.abs(normal).max()


@pytest.mark.parametrize(("k", "length"), [(0, 5), (1, 2), (3, 1000), (7, 8), (20, 100)])
def test_random_changes_leave_every_regime_a_quarter_of_the_mean_length(k, length):
    for seed in range(30):
        data = piecewise_series(k, length=length, random_state=seed)
        sizes = [len(rows) for rows in regimes(data)]
        assert len(sizes) == k + 1
        assert min(sizes) >= max(1, length // (4 * (k + 1)))


def test_given_changes_are_kept_and_none_may_be_given():
    data = piecewise_series([5, 6, 90], ["mean", "scale", "scale"], length=100, random_state=0)
    np.testing.assert_array_equal(data.changes, [5, 6, 90])
    assert data.kinds == ("mean", "scale", "scale")
    empty = piecewise_series([], length=10, random_state=0)
    assert empty.changes.shape == (0,)
    assert empty.series.shape == (10, 1)


def test_a_change_is_the_first_sample_of_the_new_regime():
    still, moved = (piecewise_series(cuts, size=3.0, length=20, d=2, random_state=7) for cuts in ([], [5, 12]))
    step = np.repeat([0.0, 3.0, 0.0], [5, 7, 8])
    np.testing.assert_allclose(moved.series - still.series, np.column_stack([step, step]), atol=1e-14)


def test_series_depend_on_the_seed_alone_and_a_generator_moves_on():
    first, again = (piecewise_series(2, d=2, phi=0.5, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(first.series, again.series)
    np.testing.assert_array_equal(first.changes, again.changes)
    rng = np.random.default_rng(5)
    one, two = (piecewise_series(2, d=2, phi=0.5, random_state=rng) for _ in range(2))
    np.testing.assert_array_equal(one.series, first.series)
    assert not np.array_equal(two.series, one.series)


@pytest.mark.parametrize(
    "call",
    [
        lambda: piecewise_series(length=0),
        lambda: piecewise_series(d=1.5),
        lambda: piecewise_series(-1),
        lambda: piecewise_series(10, length=10),
        lambda: piecewise_series(2.5),
        lambda: piecewise_series([10, 1000]),
        lambda: piecewise_series([0, 10]),
        lambda: piecewise_series([20, 10]),
        lambda: piecewise_series([[10, 20]]),
        lambda: piecewise_series(size=0.0),
        lambda: piecewise_series(size=float("nan")),
        lambda: piecewise_series(phi=1.0),
        lambda: piecewise_series(df=2.0),
        lambda: piecewise_series(kind="median"),
        lambda: piecewise_series(0, kind="median"),
        lambda: piecewise_series(kind=["mean", "scale"]),
        lambda: piecewise_series(2, kind=["mean", 3]),
        lambda: piecewise_series(kind="correlation"),
        lambda: piecewise_series(random_state="seed"),
    ],
)
def test_impossible_series_are_input_errors(call):
    with pytest.raises(InputError, match=r"must|need"):
        call()
