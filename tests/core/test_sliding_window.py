"""The core of the monitor: window sums without drift, run lengths by a slow loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist

import densdiff as dd
from densdiff.core import selection, sliding_window
from densdiff.core.sliding_window import Records, SlidingSum, run_length_threshold, simulate_records

EPS = np.finfo(float).eps
FEATURES = np.random.default_rng(0).normal(size=(300, 2)) ** 2


def windows(rows, window):
    """The rows of every full window, (T - window + 1, window, width)."""
    return np.array([rows[end - window : end] for end in range(window, len(rows) + 1)])


# --- sums over a window


@given(
    seed=st.integers(0, 99),
    window=st.integers(1, 8),
    width=st.integers(1, 3),
    sizes=st.lists(st.integers(0, 19), max_size=8),
    power=st.sampled_from([-300, -8, 0, 8, 300]),
)
def test_any_chunks_of_the_same_rows_give_the_same_bits(seed, window, width, sizes, power):
    rows = np.random.default_rng(seed).normal(size=(sum(sizes), width)) * 10.0**power
    one_by_one, chunked = SlidingSum(window, width), SlidingSum(window, width)
    single = [one_by_one.push(row[None]) for row in rows]
    parts = [chunked.push(part) for part in np.split(rows, np.cumsum(sizes))]
    np.testing.assert_array_equal(np.concatenate([np.empty((0, width)), *single]), np.concatenate(parts))
    assert one_by_one.seen == chunked.seen == len(rows)
    for name in ("block", "tail_sums", "sum"):
        np.testing.assert_array_equal(getattr(one_by_one, name), getattr(chunked, name))


@given(seed=st.integers(0, 99), window=st.integers(1, 12), count=st.integers(1, 60))
def test_sums_are_those_of_slices(seed, window, count):
    rows = np.random.default_rng(seed).normal(size=(count, 2))
    found = SlidingSum(window, 2).push(rows)[window - 1 :]
    slices = windows(rows, window).reshape(-1, window, 2)
    room = window * EPS * np.abs(slices).sum(axis=1)  # of so many additions in any order
    assert room.max(initial=0) < 1e-12
    assert (np.abs(found - slices.sum(axis=1)) <= room).all()


def test_huge_rows_leave_no_trace_once_they_are_out_of_the_window():
    window = 7
    random = np.random.default_rng(0)
    small = random.normal(size=(40, 3)) * 1e-8
    huge = random.choice([-1e8, 1e8], size=(1003, 3)) * random.random((1003, 3))
    sums = SlidingSum(window, 3)
    sums.push(huge)
    found = sums.push(small)[window - 1 :]
    np.testing.assert_allclose(found, windows(small, window).sum(axis=1), rtol=0, atol=window**2 * EPS * 1e-7)


def test_many_rows_bring_no_drift():
    rows = np.tile([[1e8], [0.1], [-1e8], [0.2]], (2500, 1))
    found = SlidingSum(8, 1).push(rows)[8:]
    assert len(np.unique(found[-4:])) == len(np.unique(found)) <= 8  # the same few sums from first to last
    np.testing.assert_allclose(found, 0.6, atol=8 * EPS * 4e8)


def test_a_window_of_sums_takes_no_more_room_after_many_rows():
    sums = SlidingSum(5, 2)
    before = {name: np.shape(value) for name, value in vars(sums).items()}
    for _ in range(100):
        sums.push(np.ones((77, 2)))
    assert {name: np.shape(value) for name, value in vars(sums).items()} == before
    assert sums.seen == 7700


# --- run lengths


def slow_records(scores):
    found = [
        (i, t + 1, score)
        for i, row in enumerate(scores)
        for t, score in enumerate(row)
        if t == 0 or score > row[:t].max()
    ]
    stream, step, height = (np.array(values) for values in zip(*found, strict=True))
    return Records(stream, step, height.astype(float), *scores.shape)


def slow_mean_run(scores, threshold):
    runs, alarms = 0, 0
    for row in scores:
        above = [t for t, score in enumerate(row, start=1) if score > threshold]
        runs += above[0] if above else len(row)
        alarms += bool(above)
    return runs / alarms if alarms else np.inf


def explicit_scores(seed, streams, length, whole):
    scores = np.random.default_rng(seed).gamma(0.7, size=(streams, length))
    return np.floor(3 * scores) if whole else scores


SCORES = {
    "seed": st.integers(0, 999),
    "streams": st.integers(1, 6),
    "length": st.integers(1, 12),
    "whole": st.booleans(),
}


@given(**SCORES)
def test_mean_run_is_that_of_a_slow_loop(seed, streams, length, whole):
    scores = explicit_scores(seed, streams, length, whole)
    records = slow_records(scores)
    for threshold in [-1.0, *np.unique(scores), 0.5, 99.0]:
        assert records.mean_run(threshold) == slow_mean_run(scores, threshold)


@given(run=st.floats(0.5, 40), **SCORES)
def test_threshold_is_the_lowest_height_with_so_long_a_run(run, seed, streams, length, whole):
    scores = explicit_scores(seed, streams, length, whole)
    heights = np.unique(slow_records(scores).height)
    wanted = next(height for height in heights if slow_mean_run(scores, height) >= run)
    assert slow_records(scores).threshold(run) == wanted


def simulated_by_hand(features, window, length, streams, seed, per_chunk):
    """Scores (streams, length) in double precision from the same draws."""
    random, n, scores = np.random.default_rng(seed), len(features), []
    for first in range(0, streams, per_chunk):
        count = min(per_chunk, streams - first)
        shares = random.multinomial(n, np.full(n, 1 / n), count) / n
        drawn = features[random.integers(0, n, (count, length + window - 1))]
        gaps = [
            windows(rows, window).mean(axis=1) - share @ features for rows, share in zip(drawn, shares, strict=True)
        ]
        scores += [np.square(gap).sum(axis=1) for gap in gaps]
    return np.array(scores)


@pytest.mark.parametrize("per_chunk", [1, 3, 10])
def test_simulated_records_are_those_of_plain_means(per_chunk, monkeypatch):
    window, length, streams = 5, 40, 10
    monkeypatch.setattr(sliding_window, "_CHUNK", per_chunk * max(len(FEATURES), (length + window) * FEATURES.shape[1]))
    found = simulate_records(FEATURES, window, length, streams, np.random.default_rng(1))
    scores = simulated_by_hand(FEATURES, window, length, streams, 1, per_chunk)
    # single precision: sums of 44 rows of features up to 12, gaps of the order of 1; ties may fall either way
    close = 45 * 12 * 2**-23
    np.testing.assert_allclose(found.height, scores[found.stream, found.step - 1], atol=close)
    for k in range(streams):
        own = found.stream == k
        for step in range(1, length + 1):
            reached = found.height[own & (found.step <= step)].max()
            assert reached == pytest.approx(scores[k, :step].max(), abs=close)
    assert (found.streams, found.length) == (streams, length)


def test_an_offset_of_the_features_changes_no_threshold():
    wanted, _ = run_length_threshold(FEATURES, 5, 30, np.random.default_rng(0))
    found, _ = run_length_threshold(FEATURES + 2.0**24, 5, 30, np.random.default_rng(0))
    assert found == pytest.approx(wanted, rel=1e-3)


def test_each_simulated_stream_starts_with_a_record_and_rises():
    found = simulate_records(FEATURES, 5, 60, 30, np.random.default_rng(0))
    assert len(found.stream) == len(found.step) == len(found.height)
    for i in range(30):
        step, height = found.step[found.stream == i], found.height[found.stream == i]
        assert step[0] == 1
        assert step[-1] <= 60
        assert (np.diff(step) > 0).all()
        assert (np.diff(height) > 0).all()


def test_simulated_records_come_from_the_generator_alone():
    first, again, other = (simulate_records(FEATURES, 5, 60, 30, np.random.default_rng(seed)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.height, again.height)
    np.testing.assert_array_equal(first.step, again.step)
    assert not np.isin(other.height, first.height).any()


def test_features_without_spread_have_one_record_of_no_height():
    found = simulate_records(np.zeros((20, 3)), 4, 30, 7, np.random.default_rng(0))
    np.testing.assert_array_equal(found.stream, np.arange(7))
    np.testing.assert_array_equal(found.height, np.zeros(7))


def test_a_longer_run_has_a_higher_threshold():
    found = [run_length_threshold(FEATURES, 5, run, np.random.default_rng(0)) for run in (6, 12, 25, 50, 100, 200, 400)]
    thresholds, beyond = zip(*found, strict=True)
    assert (np.diff(thresholds) > 0).all()
    assert not any(beyond)


def test_run_length_counts_from_the_first_row(monkeypatch):
    asked = []
    monkeypatch.setattr(Records, "threshold", lambda self, run: asked.append((run, self.length)) or 1.0)
    assert run_length_threshold(FEATURES, 30, 60, np.random.default_rng(0)) == (1.0 + sliding_window._TIES, False)
    assert asked == [(31, 4 * 31)]  # the first score comes with row 30


def test_a_threshold_is_just_above_the_height_that_was_simulated():
    heights = simulate_records(FEATURES, 5, 4 * 26, sliding_window.STREAMS, np.random.default_rng(0)).height
    threshold, _ = run_length_threshold(FEATURES, 5, 30, np.random.default_rng(0))
    below = heights[heights < threshold].max()  # a tie of it, in double precision, must be no alarm
    assert below * (1 + 2**-22) < threshold < below * (1 + 1e-4)


def test_a_threshold_beyond_the_simulation_is_near_the_simulated_one(monkeypatch):
    features, ratios = np.random.default_rng(5).normal(size=(1000, 3)), []
    simulated = [run_length_threshold(features, 10, 1000, np.random.default_rng(seed)) for seed in range(3)]
    monkeypatch.setattr(sliding_window, "MOST_STEPS", 120 * sliding_window.STREAMS * sliding_window.REACH)
    for seed, (threshold, beyond) in enumerate(simulated):
        found, extrapolated = run_length_threshold(features, 10, 1000, np.random.default_rng(seed + 10))
        assert (beyond, extrapolated) == (False, True)
        ratios.append(found / threshold)
    # over seeds the simulated threshold has a deviation of 0.6 %, the one continued over a factor of 8 one of 2.5 %
    assert max(np.abs(np.array(ratios) - 1)) < 0.08
    assert np.mean(ratios) == pytest.approx(1, abs=0.05)


def test_heights_that_bend_are_continued_along_their_line(monkeypatch):
    heights = {7.5: 1.0, 15.0: 3.0, 30.0: 4.0, 60.0: 4.5}
    monkeypatch.setattr(Records, "threshold", lambda self, run: heights[run])
    monkeypatch.setattr(sliding_window, "MOST_STEPS", 60 * sliding_window.STREAMS * sliding_window.REACH)
    found, _ = run_length_threshold(np.zeros((20, 1)), 10, 240 + 9, np.random.default_rng(0))
    # a straight line through the four rises by 1.15 when runs double, and is at 3.125 + 1.5 * 1.15 at the last
    assert found == pytest.approx((4.85 + 2 * 1.15) * (1 + sliding_window._TIES))


def test_the_last_run_length_that_is_simulated_is_not_extrapolated(monkeypatch):
    features = np.random.default_rng(5).normal(size=(1000, 3))
    monkeypatch.setattr(sliding_window, "MOST_STEPS", 120 * sliding_window.STREAMS * sliding_window.REACH)
    found = [run_length_threshold(features, 10, run, np.random.default_rng(0)) for run in (129, 130)]
    assert [beyond for _, beyond in found] == [False, True]
    assert found[1][0] == pytest.approx(found[0][0], rel=0.05)  # the line is one through four simulated heights


RARE = np.zeros((500, 1))
RARE[0] = 1.0
CONTINUED = {
    "normal": np.random.default_rng(5).normal(size=(400, 3)),
    "heavy tails": np.random.default_rng(5).standard_t(2, size=(400, 2)),
    "two values": np.arange(400.0)[:, None] % 2,
    "one rare value": RARE,
    "constant": np.ones((400, 2)),
}


@pytest.mark.parametrize("kind", CONTINUED)
@pytest.mark.parametrize("seed", range(5))
def test_thresholds_beyond_the_simulation_rise_from_the_last_simulated_one(kind, seed, monkeypatch):
    features, most, window = CONTINUED[kind], 60, 10
    monkeypatch.setattr(sliding_window, "MOST_STEPS", most * sliding_window.STREAMS * sliding_window.REACH)
    last = most + window - 1
    runs = [last, last + 1e-6, last + 1, 2 * last, 1e4, 1e8, 1e12]
    found = [run_length_threshold(features, window, run, np.random.default_rng(seed)) for run in runs]
    thresholds, beyond = (np.array(values) for values in zip(*found, strict=True))
    assert beyond.tolist() == [False] + [True] * 6
    assert (np.diff(thresholds) >= 0).all()
    random = np.random.default_rng(seed)
    records = simulate_records(features, window, sliding_window.REACH * most, sliding_window.STREAMS, random)
    heights = [records.threshold(most / part) for part in (8, 4, 2, 1)]
    floor = max(heights[-1], sliding_window._median_window_score(features, window, random))
    assert (thresholds >= floor * (1 + sliding_window._TIES)).all()
    if len(set(heights)) > 1:  # otherwise nothing says how fast to rise
        assert (np.diff(thresholds[1:]) > 0).all()
        decade = np.diff(thresholds)[-1] / 4  # steps grow by 1e4
        slope = np.polyfit(np.log10([most / 8, most / 4, most / 2, most]), heights, 1)[0]
        assert decade == pytest.approx(slope * (1 + sliding_window._TIES), rel=1e-6)


def test_what_is_ordinary_beside_a_rare_value_is_no_alarm_at_any_run_length(monkeypatch):
    """A simulated reference without the rare value has scores of 0 beside a window without it: not so the real one."""
    features, window = np.zeros((50, 1)), 10
    features[0] = 1.0
    monkeypatch.setattr(Records, "threshold", lambda self, run: 0.0)
    monkeypatch.setattr(sliding_window, "MOST_STEPS", 60 * sliding_window.STREAMS * sliding_window.REACH)
    calm = features.mean() ** 2  # of a window without it
    for run in (40, 69, 70, 1e6):
        threshold, _ = run_length_threshold(features, window, run, np.random.default_rng(0))
        assert threshold == pytest.approx(calm * (1 + sliding_window._TIES), rel=1e-12)
        assert threshold > calm


def test_without_a_model_sigma_is_a_median_and_lam_a_tenth_of_a_mean_row_sum():
    reference = np.random.default_rng(0).normal(size=(400, 2)) * [1, 9]
    monitor = dd.ChangeMonitor(reference, window=5, run_length=20, random_state=3)
    z = (reference - reference.mean(axis=0)) / reference.std(axis=0)
    centers = z[selection.draw_rows(3, 400, 150)]
    assert monitor.sigma_ == pytest.approx(np.median(pdist(centers)), rel=1e-13)
    gram = np.exp(-cdist(centers, centers, "sqeuclidean") / (4 * monitor.sigma_**2))
    assert monitor.lam_ == pytest.approx(0.1 * gram.sum() / 150, rel=1e-12)
