"""Changes in a series: answers a person can rely on, whatever the series."""

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.signal import lfilter

import densdiff as dd
from densdiff import DensDiffWarning, InputError, detect_changes


def noise(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def stepped(seed=0, length=300, size=2.0, at=150):
    """White noise with a shift, on a lattice on which adding 2^k and scaling by 2^k are exact."""
    rows = np.round(noise(seed, length) * 2.0**20) / 2.0**20
    rows[at:] += size
    return rows


def test_an_automatic_window_covers_more_than_half_a_season():
    """Half of the series alarmed with a window of 17; at 5 %, four and more of 20 come once in 60 tables."""
    alarms = 0
    for seed in range(20):
        rows = noise(seed, 500) + np.sqrt(2) * np.sin(2 * np.pi * np.arange(500) / 50 + seed)
        found = detect_changes(rows, random_state=seed)
        assert found.window == 30
        alarms += found.changes.size > 0
    assert alarms <= 3


# --- detect_changes: finds what is there


@pytest.mark.parametrize(("size", "within"), [(1.0, 25), (2.0, 6), (-2.0, 6)])
def test_a_shift_is_found_near_its_place(size, within):
    for seed in range(5):
        found = detect_changes(stepped(seed, size=size, at=140), random_state=seed)
        assert len(found.changes) == 1
        assert abs(found.changes[0] - 140) <= within
        assert found.pvalues[0] <= found.alpha


def test_a_change_of_scale_is_found():
    for seed in range(5):
        rows = noise(seed, 400)
        rows[210:] *= 3
        found = detect_changes(rows, random_state=seed).changes
        assert len(found) == 1
        assert abs(found[0] - 210) <= 15


@pytest.mark.parametrize("calm", [0.0, 0.05])
def test_a_calm_part_does_not_make_the_noise_of_the_other_significant(calm):
    """At 5 %, three and more of 8 come about once in 170 tables; with one noise for all it was every third series."""
    more = 0
    for seed in range(8):
        rows = noise(seed, 800)
        rows[:400] *= calm
        found = detect_changes(rows, random_state=seed).changes
        assert np.abs(found - 400).min() <= 15
        more += len(found) > 1
    assert more <= 2


def correlated_halves(seed, length):
    """Both columns keep their normal distribution; only their joint one changes."""
    rows = noise(seed, length, 2)
    half = length // 2
    rows[half:, 1] = 0.95 * rows[half:, 0] + np.sqrt(1 - 0.95**2) * rows[half:, 1]
    return rows


def test_a_change_of_correlation_alone_is_found():
    for seed in range(3):
        found = detect_changes(correlated_halves(seed, 600), lag=1, random_state=seed).changes
        assert np.abs(found - 300).min(initial=600) <= 10


def test_a_change_of_correlation_alone_is_found_with_the_default_lag():
    found = detect_changes(correlated_halves(0, 2000), random_state=0).changes
    assert np.abs(found - 1000).min(initial=2000) <= 20


def test_a_change_of_dependence_alone_is_found_by_subsequences():
    """Each sample stays normal; only samples in a row tell, hence lag."""
    rows = noise(0, 1600)
    rows[800:] = lfilter([np.sqrt(1 - 0.9**2)], [1.0, 0.9], noise(1, 1300))[500:]
    found = detect_changes(rows, window=80, lag=5, random_state=0).changes
    assert np.abs(found - 800).min(initial=1600) <= 40


def test_several_changes_are_found_and_no_more():
    rows = noise(0, 600)
    for change in (120, 250, 400):
        rows[change:] += 3.0 * (-1) ** (change == 250)
    found = detect_changes(rows, random_state=0)
    assert len(found.changes) == len(found.pvalues) == 3
    np.testing.assert_allclose(found.changes, [120, 250, 400], atol=6)


def test_no_change_is_an_empty_array_of_integers():
    found = detect_changes(noise(0, 300), random_state=0)
    assert found.changes.shape == found.pvalues.shape == (0,)
    assert found.changes.dtype.kind == "i"
    assert np.isfinite(found.threshold)
    assert np.nanmax(found.scores) < found.threshold


@pytest.mark.parametrize(("length", "lag", "window"), [(300, 1, "auto"), (301, 5, 40), (97, 3, 24), (1234, 5, "auto")])
def test_scores_have_the_length_of_the_series_and_nan_at_the_ends_only(length, lag, window):
    found = detect_changes(noise(0, length), lag=lag, window=window, random_state=0)
    known = np.flatnonzero(~np.isnan(found.scores))
    assert found.scores.shape == (length,)
    assert np.isfinite(found.scores[known]).all()
    np.testing.assert_array_equal(known, np.arange(known[0], known[-1] + 1))
    # half a window, and what does not fill a block or a subsequence
    most = found.window / 2 + 2 * found.window // 8 + found.lag + 1
    assert known[0] <= most
    assert length - 1 - known[-1] <= most
    assert known[0] >= found.window // 2 - found.window // 8


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 5])
def test_a_change_is_the_first_sample_of_the_new_regime_whatever_the_lag(lag):
    """A shift of 3 sd is placed with an error of about 0.6, so 30 runs tell a shift of (5 - 1) / 2 from none."""
    errors = []
    for seed in range(30):
        at = 180 + seed
        found = detect_changes(stepped(seed, 400, 3.0, at), window=40, lag=lag, n_changes=1, random_state=seed)
        assert found.lag == lag
        errors.append(found.changes[0] - at)
    assert abs(np.mean(errors)) <= 0.7
    assert abs(np.median(errors)) <= 0.5


def test_a_score_peaks_at_the_change():
    found = detect_changes(stepped(0, 400, 4.0, 200), window=40, lag=5, random_state=0)
    assert abs(np.nanargmax(found.scores) - 200) <= 5


# --- number, level, window, lag


@pytest.mark.parametrize("wanted", [0, 1, 2, 5])
def test_n_changes_is_the_number_reported(wanted):
    found = detect_changes(stepped(), n_changes=wanted, random_state=0)
    assert len(found.changes) == len(found.pvalues) == wanted
    assert (np.diff(found.changes) > 0).all()
    assert not wanted or abs(found.changes[found.pvalues.argmin()] - 150) <= 6


def test_more_changes_than_fit_are_reported_as_such():
    with pytest.warns(DensDiffWarning, match="100 changes were asked for, but"):
        found = detect_changes(stepped(), n_changes=100, random_state=0)
    assert 1 < len(found.changes) < 100
    assert any("100 changes" in note for note in found.warnings)


def test_n_changes_and_alpha_agree_on_the_first_change():
    for seed in range(8):
        rows = stepped(seed, 120, 1.2, 60)
        first = detect_changes(rows, n_changes=1, random_state=seed)
        tested = detect_changes(rows, random_state=seed)
        assert (len(tested.changes) > 0) == (first.pvalues[0] <= 0.05)


def test_pvalues_of_a_small_alpha_are_fine_enough_to_reach_it():
    found = detect_changes(stepped(), alpha=0.001, random_state=0)
    assert len(found.changes) == 1
    assert found.pvalues[0] <= 0.001
    assert found.threshold > detect_changes(stepped(), random_state=0).threshold


def test_a_p_value_is_no_smaller_than_that_of_the_change_it_was_found_after():
    """Once the series is cut at a change, a contrast beside it may be larger than any was before."""
    for seed in range(15):
        rows = noise(seed, 120)
        first = detect_changes(rows, n_changes=1, random_state=seed)
        found = detect_changes(rows, n_changes=4, random_state=seed)
        assert found.pvalues.min() >= first.pvalues[0]  # an echo that was removed may have had the smaller one
        assert (found.pvalues <= 1).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"alpha": 0}, "alpha must lie strictly between 0 and 1; got 0"),
        ({"alpha": 5}, r"got 5 \(did you mean 0.05\?\)"),
        ({"alpha": float("nan")}, "alpha must lie"),
        ({"n_changes": -1}, "n_changes must be a whole number, at least 0; got -1"),
        ({"n_changes": 2.0}, "n_changes must be a whole number"),
        ({"n_changes": True}, "n_changes must be a whole number"),
        ({"lag": 0}, "lag must be a whole number, at least 1; got 0"),
        ({"lag": "5"}, "lag must be a whole number"),
        ({"tuning": "serie"}, r"did you mean 'series'\?"),
        ({"tuning": None}, "tuning must be one of"),
        ({"model": dd.LSDD}, "model must be an LSDD"),
        ({"model": "LSDD"}, "model must be an LSDD"),
        ({"model": dd.LSDD(sigma=-1.0)}, "sigma must be positive"),
        ({"model": dd.LSDD(n_centers=0)}, "n_centers must be a whole number, at least 1"),
        ({"model": dd.LSDD(standardize="yes")}, "standardize must be True or False"),
        ({"window": 1}, "window must be a whole number, at least 2; got 1"),
        ({"window": 20.0}, "window must be a whole number"),
        ({"window": None}, "window must be"),
        ({"window": 151}, "takes 151 samples on each side, but series has only 300 in all"),
        ({"random_state": -1}, "random_state must be a whole number"),
        ({"random_state": "a"}, "random_state must be None, a whole number"),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(settings, words):
    with pytest.raises(InputError, match=words) as caught:
        detect_changes(stepped(), **settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("window", [148, 149, 150])
@pytest.mark.hostile(37)
def test_an_explicit_window_that_does_not_fit_is_refused(window):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DensDiffWarning)
        with pytest.raises(InputError, match=f"window={window}"):
            detect_changes(stepped(), window=window)


def test_a_lag_that_is_cut_is_told():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DensDiffWarning)
        found = detect_changes(stepped(), lag=50, window=40, random_state=0)
    assert found.lag == 50 or any("lag" in note for note in found.warnings)


@pytest.mark.parametrize("length", [*range(2, 31), 45])
def test_window_auto_never_fails_for_length(length):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = detect_changes(noise(length, length), random_state=0)
        detect_changes(noise(length, length, 3), n_changes=0, random_state=0)
    assert found.scores.shape == (length,)
    assert len(found.changes) == len(found.pvalues)
    if 2 * found.window + found.lag > length:
        assert len(found.changes) == 0
        assert f"{length} samples are too few" in str(caught[0].message)
        assert any("too few" in note for note in found.warnings)
    else:
        assert not caught


def test_one_sample_is_too_few():
    with pytest.warns(DensDiffWarning, match="1 sample"):
        detect_changes([3.0], random_state=0)


def test_fifteen_samples_are_enough_for_a_plain_change():
    rows = noise(0, 15) / 10
    rows[8:] += 5
    assert detect_changes(rows, random_state=0).changes.tolist() == [8]


# --- hostile series


def test_a_constant_series_has_no_change_and_says_so():
    found = detect_changes(np.full((100, 2), 7.5), random_state=0)
    assert found.changes.size == 0
    assert np.isnan(found.scores).all()
    assert any("constant" in note for note in found.warnings)


@pytest.mark.parametrize("value", [0.0, 7.0, 1e200])
def test_a_constant_column_changes_nothing(value):
    rows = stepped()
    alone = detect_changes(rows, random_state=0)
    found = detect_changes(np.column_stack([rows, np.full(300, value)]), random_state=0)
    np.testing.assert_array_equal(found.changes, alone.changes)
    np.testing.assert_allclose(found.scores, alone.scores, rtol=1e-6)


@pytest.mark.parametrize("half", [100, 60])
def test_a_step_without_noise_is_one_change(half):
    found = detect_changes(np.repeat([0.0, 1.0], half), random_state=0)
    assert found.changes.tolist() == [half]


@pytest.mark.parametrize("size", [1e-9, 1e-3])
def test_steps_with_hardly_any_noise_are_found_exactly(size):
    for seed in range(5):
        rows = np.repeat([0.0, 1.0], 100) + size * noise(seed, 200)
        assert 100 in detect_changes(rows, random_state=seed).changes


def test_levels_do_not_make_noise_around_one_of_them_significant():
    """At 5 %, four and more of 12 come about once in 500 tables."""
    more = 0
    for seed in range(12):
        found = detect_changes(np.repeat([0.0, 1.0, 0.5], 80) + 0.05 * noise(seed, 240), random_state=seed).changes
        assert {80, 160} <= set(found.tolist())
        more += len(found) > 2
    assert more <= 3


@pytest.mark.hostile(8)
def test_series_of_ties_have_few_false_alarms():
    """Nine of ten samples are 0; at 5 %, four and more of 20 series come once in 60 tables."""
    alarms = sum(
        len(detect_changes(np.random.default_rng(s).random(300) < 0.1, random_state=s).changes) > 0 for s in range(20)
    )
    assert alarms <= 4


@pytest.mark.parametrize("factor", [2.0**-660, 2.0**660, 2.0**-20, 2.0**1000], ids=str)
@pytest.mark.hostile(18)
def test_units_do_not_matter(factor):
    expected = detect_changes(stepped(), random_state=0)
    found = detect_changes(stepped() * factor, random_state=0)
    np.testing.assert_array_equal(found.changes, expected.changes)
    np.testing.assert_array_equal(found.pvalues, expected.pvalues)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-6)


@pytest.mark.parametrize("offset", [-3.0, 2.0**27])
@pytest.mark.hostile(16)
def test_an_offset_does_not_matter(offset):
    expected = detect_changes(stepped(), random_state=0)
    found = detect_changes(stepped() + offset, random_state=0)
    np.testing.assert_array_equal(found.changes, expected.changes)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-5)


def test_columns_of_any_unit_in_any_order_give_the_same_changes():
    rows = np.column_stack([stepped(), noise(1, 300), noise(2, 300)])
    expected = detect_changes(rows, random_state=0)
    found = detect_changes(rows[:, [2, 0, 1]] * [2.0**40, 2.0**-40, 1.0], random_state=0)
    np.testing.assert_array_equal(found.changes, expected.changes)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-5)


@pytest.mark.hostile(36)
def test_a_ramp_is_no_change():
    assert detect_changes(np.arange(300.0), random_state=0).changes.size == 0


def test_one_wild_sample_breaks_nothing():
    rows = stepped()
    rows[20] = 1e200
    found = detect_changes(rows, random_state=0)
    assert np.isfinite(found.scores[~np.isnan(found.scores)]).all()
    assert ((found.pvalues > 0) & (found.pvalues <= 1)).all()


def test_more_columns_than_samples_are_answered():
    found = detect_changes(noise(0, 40, 120), random_state=0)
    assert found.scores.shape == (40,)
    assert len(found.names) == 120


# --- frames, models, seeds


def test_a_result_has_the_names_of_the_columns():
    columns = {"a": stepped(), "b": noise(1, 300)}
    assert detect_changes(np.column_stack(list(columns.values())), random_state=0).names == ("x0", "x1")
    for data in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        assert detect_changes(data, random_state=0).names == ("a", "b")


def test_one_column_may_come_as_a_series_or_1_d():
    expected = detect_changes(stepped()[:, None], random_state=0)
    for data in (stepped(), stepped().tolist(), pd.Series(stepped(), name="temp"), pl.Series("temp", stepped())):
        found = detect_changes(data, random_state=0)
        np.testing.assert_array_equal(found.scores, expected.scores)
        assert found.names == (("temp",) if hasattr(data, "name") else ("x0",))


def test_numbers_of_the_model_are_used():
    model = dd.LSDD(0.7, 2.5, solver="centers", n_centers=40)
    before = model.get_params()
    found = detect_changes(stepped(), model=model, random_state=0)
    assert (found.sigma, found.lam, found.n_centers) == (pytest.approx(0.7), 2.5, 40)
    assert model.get_params() == before
    assert not hasattr(model, "sigma_")
    assert abs(found.changes[0] - 150) <= 6
    assert detect_changes(stepped(), model=dd.LSDD(random_state=5), random_state=0).seed == 5


def test_a_lam_without_a_solver_is_refused():
    with pytest.raises(InputError, match="lam means something different to each solver"):
        detect_changes(stepped(), model=dd.LSDD(1.0, 0.1))


def test_the_same_seed_gives_the_same_answer():
    first, again = (detect_changes(stepped(), n_changes=4, random_state=3) for _ in range(2))
    assert first.to_json() == again.to_json()
    assert detect_changes(stepped(), random_state=4).threshold != first.threshold
    one, two = (detect_changes(stepped(), random_state=np.random.default_rng(3)) for _ in range(2))
    assert one.to_json() == two.to_json()
    old = detect_changes(stepped(), random_state=np.random.RandomState(3))
    assert detect_changes(stepped(), random_state=old.seed).to_json() == old.to_json()


def test_inputs_are_left_as_they_were():
    rows, clock = stepped()[:, None], np.arange(300.0)
    copies = rows.copy(), clock.copy()
    rows.setflags(write=False)
    clock.setflags(write=False)
    found = detect_changes(rows, time=clock, random_state=0)
    np.testing.assert_array_equal(rows, copies[0])
    np.testing.assert_array_equal(clock, copies[1])
    assert not np.shares_memory(found.series, rows)


# --- results


def test_a_result_is_plain_json_without_the_series():
    found = detect_changes(stepped(), time=pd.date_range("2024-03-01", periods=300, freq="D"), random_state=0)
    plain = json.loads(found.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert plain == found.to_dict()
    assert plain["changes"] == found.changes.tolist()
    assert len(plain["scores"]) == 300
    assert plain["scores"][0] is None
    assert plain["times"] == [str(found.times[found.changes[0]])]
    assert "series" not in plain
    assert {"sigma", "lam", "seed", "version", "threshold", "window", "lag", "alpha", "dependence"} <= set(plain)


@pytest.mark.parametrize("rows", [np.ones(50), np.ones(50) * 3], ids=["ones", "threes"])
def test_a_result_without_a_threshold_is_json_too(rows):
    text = detect_changes(rows, random_state=0).to_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_a_result_survives_pickling():
    found = detect_changes(stepped(), time=pd.date_range("2024-03-01", periods=300, freq="D"), random_state=0)
    again = pickle.loads(pickle.dumps(found))
    assert again.to_json() == found.to_json()
    np.testing.assert_array_equal(again.series, found.series)


def test_a_result_reads_as_a_few_lines():
    found = detect_changes(stepped(), time=pd.date_range("2024-03-01", periods=300, freq="D"), random_state=0)
    text = str(found)
    change = found.changes[0]
    assert text.startswith("1 change in 300 samples\n")
    assert f"at {change}  ({found.times[change]})" in text
    assert f"p {found.pvalues[0]:.3g}" in text
    assert f"correlation of neighbouring samples at most {found.dependence:.3g}" in text
    assert str(detect_changes(noise(0, 300), random_state=0)).startswith("No changes in 300 samples\n")


def test_dependence_that_was_assumed_is_told():
    assert 0.5 <= detect_changes(noise(0, 200), random_state=0).dependence < 1
    wide = detect_changes(noise(0, 2000), window=100, random_state=0)
    assert wide.dependence >= 0.9  # the promise of docs/calibration reaches that far


@pytest.mark.hostile(18)
def test_the_largest_doubles_are_ordinary_samples():
    """Their range is beyond doubles; a warning of NumPy would be an error here."""
    rows = np.tile([1.7e308, -1.7e308], 60)
    assert detect_changes(rows, random_state=0).changes.tolist() == []


@pytest.mark.parametrize("model", [dd.KDEDifference(), dd.KLIEP()])
def test_searching_a_model_in_every_window_is_for_lsdd(model):
    with pytest.raises(InputError, match=f"tuning='window' is for LSDD; {type(model).__name__} has one width"):
        dd.detect_changes(np.random.default_rng(0).normal(size=200), window=20, tuning="window", model=model)
