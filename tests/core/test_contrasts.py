"""Sums behind the changes of a series: contrasts, lines, seasons, cuts and null series against slow twins."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from densdiff.core import contrasts as scan

seeds = st.integers(0, 10_000)


def noise(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


# --- core: contrasts, lines and cuts against loops


def slow_contrast(u, t, scale):
    """Of the blocks before and after t, at most `scale` on each side."""
    left, right = u[max(0, t - scale) : t], u[t : t + scale]
    gap = left.mean(axis=0) - right.mean(axis=0)
    return len(left) * len(right) / (len(left) + len(right)) * (gap @ gap)


def slow_contrasts(u, scales):
    n, shortest = len(u), max(1, -(-scales[0] // 2))
    return np.array(
        [
            [slow_contrast(u, t, scale) if shortest <= t <= n - shortest else -np.inf for t in range(n + 1)]
            for scale in scales
        ]
    )


@given(seeds, st.integers(1, 40), st.integers(1, 3), st.integers(1, 9), st.data())
def test_contrasts_are_those_of_loops(seed, n, p, scale, data):
    u = noise(seed, n, p)
    low = data.draw(st.integers(0, n - 1))
    high = data.draw(st.integers(low + 1, n))
    scales = scan.window_scales(scale, n)
    found = scan.contrasts(scan.running_sums(u), scales, low, high)
    slow = slow_contrasts(u[low:high], scales)
    assert found.shape == slow.shape
    computed = np.isfinite(found)
    np.testing.assert_allclose(found[computed], slow[computed], rtol=1e-9, atol=1e-12)
    # scales left out are those that see no more than the one before
    np.testing.assert_allclose(found.max(axis=0), slow.max(axis=0), rtol=1e-9, atol=1e-12)


def test_a_long_series_is_looked_at_half_as_often_at_twice_the_scale(monkeypatch):
    monkeypatch.setattr(scan, "_PLACES", 10)
    u = noise(2, 60, 3)
    scales = scan.window_scales(4, 60)
    found, slow = scan.contrasts(scan.running_sums(u), scales, 0, 60), slow_contrasts(u, scales)
    for level, stride in enumerate((1, 2, 4, 6)):  # no sparser than ten places in all
        places = np.arange(2, 59, stride)
        np.testing.assert_allclose(found[level, places], slow[level, places], rtol=1e-9)
        assert np.isfinite(found[level]).sum() == len(places)


def test_contrasts_of_a_batch_are_those_of_each_series():
    u = noise(0, 3, 2, 30, 4)
    found = scan.contrasts(scan.running_sums(u), [3, 6], 2, 29)
    assert found.shape == (2, 3, 2, 28)
    for i, j in np.ndindex(3, 2):
        alone = scan.contrasts(scan.running_sums(u[i, j]), [3, 6], 2, 29)
        np.testing.assert_allclose(found[:, i, j], alone, rtol=1e-12)


@pytest.mark.parametrize(("n", "scale", "finite"), [(1, 1, 0), (2, 1, 1), (5, 6, 0), (6, 6, 1), (7, 6, 2), (9, 3, 6)])
def test_contrasts_need_half_a_window_on_both_sides(n, scale, finite):
    found = scan.contrasts(scan.running_sums(noise(1, n, 2)), [scale], 0, n)[0]
    assert np.isfinite(found).sum() == finite
    assert (found[~np.isfinite(found)] == -np.inf).all()


def test_scales_double_until_two_windows_fill_the_series():
    assert scan.window_scales(5, 12) == [5, 10]
    assert scan.window_scales(5, 10) == [5]
    assert scan.window_scales(5, 3) == [5]
    assert scan.window_scales(1, 9) == [1, 2, 4, 8]


@given(seeds, st.integers(1, 30), st.integers(1, 3), st.integers(0, 5))
def test_line_and_step_explain_what_regression_explains(seed, n, p, before):
    u = noise(seed, before + n, p) + 3.0
    line, step = scan.line_and_step(scan.running_sums(u)[before:])
    part = u[before:]
    middle = part - part.mean(axis=0)
    x = np.arange(n) - (n - 1) / 2
    for j in range(p):
        explained = (x @ middle[:, j]) ** 2 / (x @ x) if n > 1 else 0.0
        assert line[j] == pytest.approx(explained, rel=1e-8, abs=1e-10)
        steps = [slow_contrast(part[:, j : j + 1], t, n) for t in range(1, n)]
        assert step[j] == pytest.approx(max(steps, default=0.0), rel=1e-8, abs=1e-10)


def test_line_and_step_of_a_batch_are_those_of_each_series():
    sums = scan.running_sums(noise(1, 4, 20, 2))
    line, step = scan.line_and_step(sums)
    for i in range(4):
        alone = scan.line_and_step(sums[i])
        np.testing.assert_allclose(line[i], alone[0], rtol=1e-12)
        np.testing.assert_allclose(step[i], alone[1], rtol=1e-12)


@given(seeds, st.integers(4, 40), st.integers(1, 3))
def test_straightened_sums_are_those_of_residuals_around_a_parabola(seed, n, p):
    u = noise(seed, n, p)
    t = np.arange(n)
    fit = np.column_stack([np.polyval(np.polyfit(t, column, 2), t) for column in u.T])
    found = scan.detrended_sums(scan.running_sums(u) + 5.0)
    np.testing.assert_allclose(found, scan.running_sums(u - fit), atol=1e-8)


@pytest.mark.parametrize(("length", "period"), [(500, 50), (1000, 12.5), (96, 12)])
@pytest.mark.parametrize("factor", [1.0, 1e200, 1e-200])
def test_a_season_is_seen_beside_noise_and_a_trend(length, period, factor):
    for seed in range(5):
        rows = noise(seed, length, 2) + np.linspace(0, 3, length)[:, None]
        rows[:, 1] += np.sqrt(2) * np.sin(2 * np.pi * np.arange(length) / period + seed)
        rows[seed] = 0.0  # columns are divided by their largest value, whatever the smallest is
        assert scan.longest_period(rows * factor) == pytest.approx(period, rel=0.07)


@pytest.mark.parametrize(("share", "period"), [(0.23, 0.0), (0.28, 40.0)])
def test_a_season_has_a_quarter_of_the_variance(share, period):
    """Waves of whole numbers of cycles, ten and others that weigh less, whose squares are the power spectrum."""
    powers = np.array([share, *np.full(10, (1 - share) / 10)])
    cycles = np.array([10, *range(50, 150, 10)])
    waves = np.cos(2 * np.pi * np.outer(np.arange(400), cycles) / 400)  # (400, 11)
    assert scan.longest_period((waves @ np.sqrt(powers))[:, None]) == period


def test_neither_noise_nor_levels_nor_constants_are_a_season():
    for seed in range(10):
        assert scan.longest_period(noise(seed, 300, 2)) == 0
        assert scan.longest_period(np.cumsum(noise(seed, 300, 1), axis=0)) == 0
        assert scan.longest_period(np.repeat([0.0, 3.0, 0.0, 3.0], 75)[:, None] + 0.3 * noise(seed, 300, 1)) == 0
    for length in (1, 2, 3, 15):
        assert scan.longest_period(np.zeros((length, 1))) == 0
        assert scan.longest_period(np.ones((length, 2))) == 0


@given(seeds, st.integers(1, 3), st.integers(1, 25), st.integers(1, 3))
def test_running_sums_start_with_nothing(seed, batch, n, p):
    u = noise(seed, batch, n, p)
    found = scan.running_sums(u)
    assert found.shape == (batch, n + 1, p)
    for t in range(n + 1):
        np.testing.assert_allclose(found[:, t], u[:, :t].sum(axis=1), rtol=1e-12, atol=1e-12)


@given(seeds, st.integers(6, 40), st.integers(1, 5))
def test_residuals_are_taken_around_means_between_cuts(seed, n, window):
    u = noise(seed, 3, n, 2)
    left, starts = scan.residuals(u, window)
    for series, rest, marks in zip(u, left, starts, strict=True):
        score = scan.contrasts(scan.running_sums(series), [window], 0, n)[0]
        for t in range(n):
            near = score[max(0, t - window) : t + window + 1]
            assert marks[t] == (t == 0 or (np.isfinite(score[t]) and score[t] == near.max()))
        cuts = [*np.flatnonzero(marks), n]
        for start, stop in itertools.pairwise(cuts):
            part = series[start:stop]
            np.testing.assert_allclose(rest[start:stop], part - part.mean(axis=0), atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(12, 60), st.integers(2, 5))
def test_local_noise_is_that_of_the_residuals_of_a_stretch(seed, n, window):
    random = np.random.default_rng(seed)
    white = random.standard_normal((n, 2)) * np.exp(random.standard_normal((n, 1)))
    noise = scan.LocalNoise(white, window)
    squares = np.square(scan.residuals(white[None], window)[0][0]).sum(axis=1)
    low, high = sorted(random.choice(n + 1, 2, replace=False))
    expected = squares[low:high].mean() / squares.mean() / 1.1
    assert noise.between(low, high) == pytest.approx(max(1.0, expected))
    assert noise.between(0, n) == 1.0


def test_a_series_without_noise_has_no_noisier_stretch():
    assert scan.LocalNoise(np.zeros((20, 1)), 3).between(5, 9) == 1.0


def test_a_change_leaves_no_trace_in_the_residuals():
    u = noise(3, 1, 80, 1)
    u[:, 40:] += 1e6
    left, starts = scan.residuals(u, 10)
    assert starts[0, 40]
    assert np.abs(left).max() < 10


@given(seeds)
def test_dependence_counts_no_pair_across_a_cut(seed):
    u = noise(seed, 2, 30, 3)
    left, starts = scan.residuals(u, 4)
    found = scan.estimate_dependence(u, 4)
    for b in range(2):
        pairs = sum(left[b, t] * left[b, t - 1] for t in range(1, 30) if not starts[b, t])
        squares = np.square(left[b]).sum(axis=0)
        np.testing.assert_allclose(found.correlation[b], pairs / squares, rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(found.variance[b], squares / (30 - starts[b].sum()), rtol=1e-12)


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_dependence_of_an_autoregression_is_found(phi):
    """Standard error 0.01 and less at 8000 samples; cutting takes (1 + 3 phi) times the share of cuts away at most."""
    u = lfilter([np.sqrt(1 - phi**2)], [1.0, -phi], noise(0, 2, 8500, 2), axis=1)[:, 500:]
    u *= [1.0, 3.0]
    found = scan.estimate_dependence(u, 200)
    share = found.pieces.max() / 8000
    assert share < 0.005
    np.testing.assert_allclose(found.correlation, phi, atol=0.04 + 4 * share)
    np.testing.assert_allclose(found.variance, np.broadcast_to([1.0, 9.0], (2, 2)), rtol=0.3 if phi == 0.9 else 0.1)


def test_weights_fall_with_dependence_and_know_no_negative_one():
    def of(r):
        return scan.Dependence(np.ones(2), np.array([r, 0.0]), np.array(1)).weights(0.8)

    assert of(0.5)[0] < of(0.2)[0] < of(0.0)[0]
    np.testing.assert_array_equal(of(-0.6), of(0.0))
    np.testing.assert_array_equal(of(0.99), of(0.8))
    assert np.isfinite(scan.Dependence(np.zeros(2), np.zeros(2), np.array(1)).weights(0.8)).all()


def test_slow_axes_are_orthogonal_and_ordered_by_the_noise_along_them():
    u = noise(0, 200, 5) @ noise(1, 5, 5)
    axes = scan.slow_axes(u, 8, 3)
    np.testing.assert_allclose(axes.T @ axes, np.eye(5), atol=1e-12)
    sums = scan.running_sums(scan.residuals(u[None], 8)[0][0])
    slow = (sums[3:] - sums[:-3]) @ axes
    gram = slow.T @ slow
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-9 * gram.max())
    assert (np.diff(np.diag(gram)) <= 0).all()


def null(seed, phi=0.4, n=120, count=60):
    u = lfilter([1.0], [1.0, -phi], noise(5, 1, n, 3), axis=1)
    found = scan.estimate_dependence(u, 8)
    fitted = scan.Dependence(found.variance[0], found.correlation[0], found.pieces[0])
    return fitted, np.concatenate(list(scan.null_series(fitted, n, 8, 0.8, count, np.random.default_rng(seed))))


def test_null_series_come_from_the_seed_alone_in_batches_of_any_size(monkeypatch):
    _, found = null(0)
    assert found.shape == (60, 121, 3)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found, null(0)[1])
    assert not np.array_equal(found, null(1)[1])
    monkeypatch.setattr(scan, "_CHUNK", 7 * 120 * 3)
    np.testing.assert_allclose(null(0)[1], found, rtol=1e-12)


def test_null_series_show_the_dependence_that_was_seen():
    """The weights divide by a long-run variance, so correlations are compared; they are raised by three errors."""
    fitted, found = null(0, count=200)
    refit = scan.estimate_dependence(np.diff(found, axis=1), 8)
    gap = np.median(refit.correlation, axis=0) - fitted.correlation
    assert (gap > -0.06).all()
    assert (gap < 0.06 + 3 / np.sqrt(120)).all()


def test_correlations_of_null_series_are_raised_by_no_more_than_three_errors():
    """0.095 of 1000 blocks; the median over 40 series has an error of 0.01, the fit of two rounds a few times that."""
    fitted, found = null(0, phi=0.2, n=1000, count=40)
    refit = scan.estimate_dependence(np.diff(found, axis=1), 8)
    gap = np.median(refit.correlation, axis=0) - fitted.correlation
    assert (np.abs(gap - 3 / np.sqrt(1000)) < 0.05).all()


@given(seeds, st.integers(1, 6))
def test_peaks_are_the_largest_within_reach_and_one_of_each_plateau(seed, reach):
    score = np.round(noise(seed, 40), 1)
    score[:3], score[20], score[-1] = np.nan, np.nan, -np.inf
    known = np.where(np.isfinite(score), score, 0.0)
    slow = []
    for t in range(40):
        highest = known[t] > 0 and known[t] == known[max(0, t - reach) : t + reach + 1].max()
        if highest and (not slow or t - slow[-1] > reach):
            slow.append(t)
    assert scan.peaks(score, reach).tolist() == slow
    assert scan.peaks(np.full(9, np.nan), reach).size == 0


def slowly_refined(u, changes, reach, side, least):
    """By loops over slices."""
    ends, kept = [0, *changes, len(u)], list(range(len(changes)))
    while kept:
        for _ in range(2):
            for j in range(1, len(ends) - 1):
                low, high = ends[j - 1], ends[j + 1]
                near = range(max(low + 1, ends[j] - reach), min(high - 1, ends[j] + reach) + 1)
                ends[j] = max(near, key=lambda t: slow_contrast(u[low:high], t - low, 40))
        inner = range(1, len(ends) - 1)
        heights = {j: slow_contrast(u[ends[j - 1] : ends[j + 1]], ends[j] - ends[j - 1], 40) for j in inner}
        echoes = [
            j for j in inner if heights[j] < least or any(i != j and abs(ends[i] - ends[j]) < side for i in inner)
        ]
        if not echoes:
            break
        out = min(echoes, key=heights.get)
        del ends[out], kept[out - 1]
    return ends[1:-1], kept


@given(
    seeds,
    st.sets(st.integers(1, 39), max_size=5),
    st.integers(1, 12),
    st.integers(1, 9),
    st.sampled_from([0.0, 1.0, 4.0]),
)
def test_refined_changes_are_those_of_loops(seed, places, reach, side, least):
    u = noise(seed, 40, 2)
    found, kept = scan.refine_changes(scan.running_sums(u), np.array(sorted(places), dtype=np.intp), reach, side, least)
    slow, slow_kept = slowly_refined(u, sorted(places), reach, side, least)
    assert found.tolist() == slow
    assert kept.tolist() == slow_kept
    assert (np.diff(found) >= side).all()


def test_an_echo_of_a_change_goes_and_the_change_stays():
    u = np.repeat([0.0, 5.0], 50)[:, None] + 0.1 * noise(0, 100, 1)
    found, kept = scan.refine_changes(scan.running_sums(u), np.array([46, 60]), 8, 5, 1.0)
    assert found.tolist() == [50]
    assert len(kept) == 1


def test_a_split_between_two_changes_and_on_neither_is_dropped():
    """Steps at 40 and 60 of 100 blocks; the split at 50 means nothing once both are known."""
    values = np.repeat([0.0, 3.0, 0.0], [40, 20, 40])[:, None] + 0.1 * noise(0, 100, 1)
    sums = scan.running_sums(values)

    def between(low, high):
        return scan.contrasts(sums[low : high + 1], [5], 0, high - low).max(axis=0)

    def pvalue(contrast):
        return 0.01 if contrast > 1.0 else 0.5

    found = [(40, 0.01), (50, 0.01), (60, 0.01)]
    assert scan.prune_splits(between, 100, pvalue, 0.05, found, 2) == [(40, 0.01), (60, 0.01)]
    assert scan.prune_splits(between, 100, pvalue, 0.05, [(40, 0.01), (60, 0.01)], 2) == [(40, 0.01), (60, 0.01)]
    assert scan.prune_splits(between, 100, lambda contrast: 1.0, 0.05, found, 2) == []
