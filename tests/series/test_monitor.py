"""The monitor of a stream: the same however rows are cut, parameters that are checked, alarms as promised."""

import itertools
import json
import pickle
import re
import tracemalloc
import warnings
from html import escape

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import densdiff as dd
from densdiff import ChangeMonitor, DensDiffWarning, InputError
from densdiff.core import run_length
from tests.monitors import (
    FRAMED,
    PLAIN,
    REFERENCE,
    ROWS,
    SINGLE,
    STEPS,
    W,
    first_alarm,
    made,
    named,
    renewed,
    saving,
)

plain = renewed(PLAIN)
framed = renewed(FRAMED)
single = renewed(SINGLE)
state = pytest.fixture(saving)


# --- steps


def test_no_score_and_no_alarm_until_the_window_is_full():
    assert [step.index for step in STEPS] == list(range(len(ROWS)))
    assert all(step.score is None and step.strength is None and step.alarm is False for step in STEPS[: W - 1])
    assert all(isinstance(step.score, float) for step in STEPS[W - 1 :])


def test_an_alarm_begins_above_the_threshold_and_lasts_until_the_score_has_fallen_far_enough():
    monitor = made()
    steps = monitor.update_many(np.vstack([ROWS, 3 * ROWS, ROWS, ROWS]))
    assert 0 < monitor.release_ < monitor.threshold_
    assert {step.threshold for step in steps} == {monitor.threshold_}
    lasts = False
    for step in steps[W - 1 :]:
        lasts = step.score > (monitor.release_ if lasts else monitor.threshold_)
        assert step.alarm is lasts
    assert {step.alarm for step in steps} == {True, False}
    assert any(step.alarm and step.score < step.threshold for step in steps)
    assert all(step.strength == step.score / step.threshold for step in steps[W - 1 :])


def test_memory_does_not_grow_with_the_rows():
    monitor, blocks = made(), np.random.default_rng(0).normal(size=(80, 100, 2)) * [1.0, 50.0]
    monitor.update_many(blocks[0])
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for block in blocks[1:]:
            monitor.update_many(block)
            monitor.update(block[0])
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert monitor.n_seen_ == 100 + 79 * 101
    assert grown < blocks.nbytes / 4  # a monitor that kept its rows would grow by all of them


@given(sizes=st.lists(st.integers(0, 25), max_size=6), single=st.booleans())
def test_steps_have_the_same_bits_however_the_rows_are_cut(sizes, single):
    monitor, found = PLAIN.reset(), []
    for part in np.split(ROWS, np.minimum(np.cumsum(sizes), len(ROWS)).astype(int)):
        found += [monitor.update(row) for row in part] if single and len(part) < 9 else monitor.update_many(part)
    assert found == STEPS
    assert monitor.n_seen_ == len(ROWS)


def test_thousands_of_rows_at_once_are_as_many_single_calls(plain):
    rows = np.random.default_rng(2).normal(size=(9000, 2))
    at_once = plain.update_many(rows)
    plain.reset()
    in_parts = [step for part in np.split(rows, [7, 4095, 4096, 8200]) for step in plain.update_many(part)]
    assert at_once == in_parts


def test_no_rows_are_no_steps(plain, single):
    assert plain.update_many(np.empty((0, 2))) == plain.update_many([]) == single.update_many([]) == []
    assert plain.n_seen_ == 0


def test_a_step_is_plain_values():
    step = STEPS[10]
    assert json.loads(json.dumps(step.to_dict())) == {
        "index": 10,
        "score": step.score,
        "threshold": step.threshold,
        "alarm": step.alarm,
        "since": None,
        "columns": None,
        "new_levels": None,
    }


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (dd.MonitorStep(3, None, 0.5, False), "row 3: the window is not full yet"),
        (dd.MonitorStep(70, 0.125, 0.5, False), "row 70: score 0.125, 0.25 of the threshold"),
        (dd.MonitorStep(71, 1.0, 0.5, True), "row 71: ALARM, score 1, 2.00 of the threshold"),
        (
            dd.MonitorStep(71, 1.0, 0.5, True, 64, {"b": 0.8, "a": 0.2}),
            "row 71: ALARM, score 1, 2.00 of the threshold, since row 64, 'b' 80 %, 'a' 20 %",
        ),
        (
            dd.MonitorStep(3, None, 0.5, False, new_levels={"a": "red"}),
            "row 3: the window is not full yet, new level 'red' of 'a'",
        ),
    ],
)
def test_a_step_says_what_it_is(step, text):
    assert str(step) == text
    assert f"{'<b>' if step.alarm else '<p>'}{escape(text)}<" in step._repr_html_()


def test_a_monitor_says_what_it_is(single):
    single.update_many(ROWS[:7, 0])
    lines = str(single).splitlines()
    assert lines[0] == "Monitor of 1 column, 7 rows seen"
    assert lines[1].split() == ["window", "5", "rows", "against", "a", "reference", "of", "240"]
    assert f"{single.threshold_:.4g}, exceeded by chance once in 60 rows" in lines[2]
    assert f"sigma {single.sigma_:.3g}, lam {single.lam_:.3g}; seed 0" in lines[3]
    assert len(lines) == 4
    assert repr(single) == "ChangeMonitor(window=5, run_length=60)"


@pytest.mark.hostile(38)
def test_nothing_grows_with_the_number_of_rows(plain, state):
    rows = np.random.default_rng(0).normal(size=(9999, 2))
    plain.update_many(rows[:1000])
    saved, pickled = len(state(plain)), len(pickle.dumps(plain))
    plain.update_many(rows[1000:])
    assert plain.n_seen_ == 9999  # as many digits as before
    assert abs(len(state(plain)) - saved) <= 8  # digits of the alarm that lasts
    assert abs(len(pickle.dumps(plain)) - pickled) <= 8


# --- parameters and reference


@pytest.mark.parametrize("window", [1, 0, -3, 2.0, True, None, "5", np.nan])
def test_a_window_is_a_whole_number_from_two(window):
    with pytest.raises(InputError, match=re.escape(f"window must be a whole number, at least 2; got {window!r}")):
        made(window=window)


@pytest.mark.parametrize("run_length", [W, 1, 0, -3, True, None, "500", np.nan, -np.inf])
def test_a_run_length_is_longer_than_the_window(run_length):
    wanted = f"run_length must be a number of rows above the window of 5; got {run_length!r}"
    with pytest.raises(InputError, match=re.escape(wanted)):
        made(run_length=run_length)


@pytest.mark.parametrize("run_length", [np.inf, 1.001e12, pytest.param(10**400, id="10**400")])
def test_a_run_length_is_no_longer_than_any_stream(run_length):
    with pytest.raises(InputError, match=re.escape("run_length must be at most 1e+12 rows; got ")):
        made(run_length=run_length)


@pytest.mark.parametrize("run_length", [5.001, np.int64(6), np.float32(7.5), 1e12])
def test_a_run_length_just_within_its_limits_will_do(run_length):
    monitor = made(run_length=run_length)
    assert monitor.run_length == float(run_length)
    assert monitor.threshold_ > 0


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("LSDD", "model must be an LSDD object; got 'LSDD'"),
        (3, "model must be an LSDD object; got 3"),
        (dd.KLIEP(), "model must be an LSDD object; got an object of type KLIEP"),
        (dd.LSDD, "model must be an LSDD object; got "),
        (dd.LSDD(centers=[[0.0, 0.0]]), "model must not have centers of its own"),
        (dd.LSDD(sigma=-1.0), "sigma must be positive and finite; got -1.0"),
        (dd.LSDD(lam=np.nan, solver="centers"), "lam must be positive and finite; got nan"),
        (dd.LSDD(n_centers=0), "n_centers must be a whole number, at least 1; got 0"),
        (dd.LSDD(standardize="yes"), "standardize must be True or False; got 'yes'"),
        (dd.LSDD(solver="center"), "did you mean 'centers'?"),
    ],
)
def test_a_model_that_will_not_do_is_refused(model, message):
    with pytest.raises(InputError, match=re.escape(message)):
        made(model=model)


def test_a_class_in_place_of_a_model_is_to_be_called():
    with pytest.raises(InputError, match=re.escape("got the class LSDD, pass LSDD()")):
        made(model=dd.LSDD)


@pytest.mark.parametrize("model", ["LSDD", 3, dd.LSDD, dd.ClassBalance()], ids=str)
def test_every_question_refuses_a_wrong_model_in_the_same_words(model):
    asked = (
        lambda: made(model=model),
        lambda: dd.detect_changes(REFERENCE, model=model),
        lambda: dd.two_sample_test(REFERENCE, ROWS, model=model),
    )
    said = []
    for ask in asked:
        with pytest.raises(InputError, match=r"^model must be an LSDD.* object; got ") as caught:
            ask()
        said.append(str(caught.value).split("; ")[1])
    assert len(set(said)) == 1


@pytest.mark.parametrize("sigma", [1e-200, 1e200])
def test_a_sigma_out_of_all_proportion_is_refused(sigma):
    with pytest.raises(InputError, match=re.escape(f"sigma is {sigma:g}, far from the scale of the data")):
        made(model=dd.LSDD(sigma=sigma, solver="centers"))


@pytest.mark.parametrize("sigma", [10.0, 100.0, 1e4, 1e20])
def test_a_large_sigma_is_refused_or_still_sees_a_large_shift(sigma):
    try:
        monitor = made(model=dd.LSDD(sigma=sigma, solver="centers"))
    except InputError:
        return
    assert monitor.update_many(ROWS[:W] + np.array([10.0, 500.0]))[-1].alarm


BAD_REFERENCES = {
    "constant": (np.tile([1.0, 0.1], (60, 1)), "all rows of reference are the same, so no change can be measured"),
    "too short": (REFERENCE[:9], "reference has 9 rows; at least 10 are needed, two windows of 5"),
    "no rows": (REFERENCE[:0], "reference has 0 rows; at least 10 are needed, two windows of 5"),
    "no value": (
        np.where([True, False], np.nan, REFERENCE),
        "column 'x0' of reference has no value; leave it out",
    ),
    "infinite value": (
        np.where(np.isin(REFERENCE, REFERENCE[5]), np.inf, REFERENCE),
        "column 'x0' of reference: 1 infinite value, inf at row 5",
    ),
    "one level": (pd.DataFrame({"a": ["x"] * 60}), "all rows of reference are the same"),
    "numbers as text": (pd.DataFrame({"a": ["1", "2"] * 30}), "column 'a' of reference holds numbers stored as text"),
    "dates": (
        pd.DataFrame({"a": pd.date_range("2024", periods=60)}),
        "column 'a' of reference holds dates or durations",
    ),
    "None": (None, "reference must be an array, a list of rows or a data frame; got None"),
    "a number": (3.0, "reference must be an array, a list of rows or a data frame; got 3.0"),
    "a cube": (np.ones((9, 9, 9)), "reference has shape (9, 9, 9); pass rows by columns (2-D)"),
    "same name twice": (
        pd.DataFrame(REFERENCE, columns=["a", "a"]),
        "reference has more than one column named 'a'; rename or drop the others",
    ),
    "lazy": (pl.LazyFrame({"a": [1.0]}), "reference is lazy (LazyFrame); collect it first"),
}


@pytest.mark.parametrize(("reference", "message"), BAD_REFERENCES.values(), ids=list(BAD_REFERENCES))
def test_a_reference_that_will_not_do_is_refused(reference, message):
    with pytest.raises(InputError, match=re.escape(message)):
        made(reference)


BAD_RESETS = {name: case for name, case in BAD_REFERENCES.items() if name != "None"}


@pytest.mark.parametrize(("reference", "message"), BAD_RESETS.values(), ids=list(BAD_RESETS))
def test_a_refused_new_reference_changes_nothing(reference, message, framed, state):
    framed.update_many(ROWS[:13])
    before = state(framed)
    with pytest.raises(InputError, match=re.escape(message)):
        framed.reset(reference)
    assert state(framed) == before
    assert framed.update_many(ROWS[13:]) == STEPS[13:]


def test_a_reference_below_forty_windows_is_a_warning_and_a_note():
    assert made(REFERENCE[: 40 * W]).warnings_ == ()
    text = "reference has 199 rows, fewer than 40 windows of 5: the run length may be anywhere from "
    with pytest.warns(DensDiffWarning, match=text):
        monitor = made(REFERENCE[: 40 * W - 1])
    assert [note.startswith(text) for note in monitor.warnings_] == [True]
    assert str(monitor).endswith(f"\n  note: {monitor.warnings_[0]}")


def test_two_windows_are_enough_of_a_reference():
    with pytest.warns(DensDiffWarning, match="fewer than 40 windows"):
        monitor = made(REFERENCE[: 2 * W])
    assert monitor.update_many(ROWS)[-1].score > 0


def test_an_extrapolated_threshold_is_noted(monkeypatch):
    simulated = made(run_length=300)
    monkeypatch.setattr(run_length, "MOST_STEPS", 150)
    monitor = made(run_length=300)
    assert simulated.warnings_ == ()
    assert monitor.warnings_ == ("the threshold for a run length of 300 is extrapolated from those for shorter ones",)
    assert monitor.threshold_ > 0


def test_one_seed_gives_one_threshold():
    assert made(random_state=7).threshold_ == made(random_state=7).threshold_
    of_generators = [made(random_state=np.random.default_rng(7)) for _ in range(2)]
    assert of_generators[0].update_many(ROWS) == of_generators[1].update_many(ROWS)
    own = dd.LSDD(solver="centers", n_centers=12, random_state=7)
    assert made(model=own, random_state=3).threshold_ == made(random_state=7).threshold_


def test_another_seed_gives_a_threshold_nearby():
    reference = np.random.default_rng(3).normal(size=(2000, 2))
    model = dd.LSDD(solver="centers", n_centers=60)
    found = [made(reference, window=20, run_length=200, model=model, random_state=seed).threshold_ for seed in range(5)]
    assert len(set(found)) == 5
    np.testing.assert_allclose(found, np.mean(found), rtol=0.15)


def test_without_a_seed_each_monitor_draws_its_own():
    assert made(random_state=None).seed_ != made(random_state=None).seed_


@pytest.mark.parametrize("random_state", [-1, 1.5, "0", True])
def test_a_seed_that_will_not_do_is_refused(random_state):
    with pytest.raises(InputError, match="random_state must be"):
        made(random_state=random_state)


@pytest.mark.parametrize("powers", [(1, 1), (-3, 7), (500, -500), (-800, 800)])
def test_units_of_the_columns_do_not_matter(powers):
    unit = 2.0 ** np.array(powers)
    monitor = made(REFERENCE * unit)
    assert monitor.threshold_ == made().threshold_
    assert monitor.update_many(ROWS * unit) == STEPS


@pytest.mark.parametrize("powers", [(-900, 900), (1000, -1000)])
@pytest.mark.hostile(18)
def test_extreme_units_of_the_columns_change_no_more_than_the_last_bits(powers):
    unit = 2.0 ** np.array(powers)
    monitor = made(REFERENCE * unit)
    assert monitor.threshold_ == pytest.approx(made().threshold_, rel=1e-6)  # simulated in single precision
    found = [step.score for step in monitor.update_many(ROWS * unit)[W - 1 :]]
    np.testing.assert_allclose(found, [step.score for step in STEPS[W - 1 :]], rtol=1e-12)


@pytest.mark.hostile(16)
def test_an_offset_of_the_columns_does_not_matter():
    lattice = [np.round(rows * 2.0**20) / 2.0**20 for rows in (REFERENCE, ROWS)]
    here, there = made(lattice[0]), made(lattice[0] + 2.0**30)
    found = [[step.score for step in m.update_many(lattice[1] + s)[W:]] for m, s in ((here, 0.0), (there, 2.0**30))]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


@pytest.mark.hostile(5)
def test_a_constant_column_of_the_reference_takes_no_part():
    text = "columns that are constant in the reference are ignored in the stream: 'x1'"
    with pytest.warns(DensDiffWarning, match=text):
        monitor = made(np.insert(REFERENCE, 1, 7.0, axis=1))
    assert monitor.warnings_ == (text,)
    assert monitor.names_ == ("x0", "x1", "x2")
    assert monitor.update_many(np.insert(ROWS, 1, 7.0, axis=1)) == STEPS
    assert monitor.reset().update_many(np.insert(ROWS, 1, ROWS[:, 0], axis=1)) == STEPS


def test_of_many_constant_columns_a_few_are_named():
    with pytest.warns(DensDiffWarning, match="constant in the reference") as caught:
        made(np.hstack([REFERENCE, np.ones((len(REFERENCE), 50))]))
    assert len(str(caught[0].message)) < 200


# --- behaviour


@pytest.fixture(scope="module")
def pairs():
    """A monitor of two independent columns with a window of 100."""
    reference = np.random.default_rng(0).normal(size=(4000, 2))
    return made(reference, window=100, run_length=500, model=dd.LSDD(solver="centers", n_centers=60))


@pytest.mark.parametrize("seed", range(5))
def test_a_large_shift_is_found_at_once_and_forgotten_when_it_is_over(seed):
    random = np.random.default_rng(seed)
    monitor = made(random.normal(size=1000), window=20, run_length=1000, random_state=seed)
    calm = monitor.update_many(random.normal(size=60))
    steps = monitor.update_many(random.normal(4.0, 1.0, size=20))
    after = monitor.update_many(random.normal(size=200))
    assert first_alarm(calm) is None
    assert 60 <= first_alarm(steps) < 65
    assert steps[-1].strength > 2
    alarm = next(step for step in steps if step.alarm)
    assert abs(alarm.since - 60) <= 2
    assert alarm.columns == {"x0": 1.0}
    assert after[0].alarm
    assert after[0].since == alarm.since  # it is one alarm
    assert not after[-1].alarm
    assert after[-1].since is None


@pytest.mark.parametrize("change", [lambda z: z + 1.0, lambda z: z - 5.0, lambda z: 3.0 * z, lambda z: 0.3 * z])
def test_a_change_is_forgotten_as_soon_however_long_it_lasted(change):
    random = np.random.default_rng(0)
    monitor = made(random.normal(size=2000), window=20, run_length=1000)
    ends = []
    for rows in (60, 600, 6000):
        monitor.reset().update_many(random.normal(size=40))
        assert monitor.update_many(change(random.normal(size=rows)))[-1].alarm
        alarms = [step.alarm for step in monitor.update_many(random.normal(size=300))]
        ends.append(alarms.index(False))
    assert max(ends) <= 6 * 20


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "change",
    [lambda z: 2 * z, lambda z: 0.5 * z, lambda z: z @ [[1.0, 0.9], [0.0, 0.19**0.5]]],
    ids=["twice the scale", "half the scale", "correlation of 0.9"],
)
def test_a_change_of_scale_or_correlation_is_found(change, seed, pairs):
    random = np.random.default_rng(seed)
    pairs.reset().update_many(random.normal(size=(100, 2)))
    steps = pairs.update_many(change(random.normal(size=(200, 2))))
    assert max(step.strength for step in steps[100:]) > 1.1


def test_reset_forgets_the_stream(plain):
    threshold = plain.threshold_
    plain.update_many(ROWS + 1000)
    assert plain.reset() is plain
    assert (plain.n_seen_, plain.threshold_) == (0, threshold)
    assert plain.update_many(ROWS) == STEPS


def test_reset_learns_a_new_reference(state):
    monitor = made()
    assert monitor.update_many(ROWS + 1000)[-1].alarm
    monitor.reset(named(REFERENCE + 1000))
    assert (monitor.n_seen_, monitor.names_) == (0, ("a", "b"))
    assert not monitor.update_many(ROWS[:W] + 1000)[-1].alarm
    assert state(monitor.reset()) == state(made(named(REFERENCE + 1000)))


def test_the_caller_may_reuse_the_arrays_passed(plain):
    reference, rows = REFERENCE.copy(), ROWS.copy()
    monitor = made(reference)
    reference[:] = 0.0
    steps = monitor.update_many(rows[:30])
    rows[:30] = 0.0
    assert steps + monitor.update_many(rows[30:]) == STEPS
    np.testing.assert_array_equal(rows[30:], ROWS[30:])


@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_a_rare_value_in_the_reference_is_no_cause_for_alarm_forever(count):
    reference = np.zeros(1000)
    reference[5 : 5 + count] = 1.0
    with warnings.catch_warnings():  # in a row they are taken for dependence
        warnings.simplefilter("ignore", DensDiffWarning)
        monitor = ChangeMonitor(reference, window=20, run_length=200, random_state=0)
    steps = monitor.update_many(np.zeros(100))
    assert not all(step.alarm for step in steps[19:])


def test_the_sums_begin_anew_after_an_alarm_if_asked(tmp_path):
    random = np.random.default_rng(0)
    reference, rows = random.normal(size=(400, 2)), random.normal([0.0, 1.5], size=(120, 2))
    monitor = made(reference, after_alarm="reset")
    steps = monitor.update_many(rows)
    alarms = [step.index for step in steps if step.alarm]
    assert len(alarms) > 3
    assert all(later - earlier >= W for earlier, later in itertools.pairwise(alarms))
    fresh, start = made(reference), 0
    for alarm in alarms[:3]:  # each stretch is that of a monitor that has seen nothing else
        own = fresh.reset().update_many(rows[start : alarm + 1])
        assert [step.score for step in own] == [step.score for step in steps[start : alarm + 1]]
        assert own[-1].alarm
        assert own[-1].since + start == steps[alarm].since
        start = alarm + 1
    monitor.reset().update_many(rows[: alarms[0] + 1])
    assert monitor.alarm_
    monitor.save(tmp_path / "state")
    again = ChangeMonitor.load(tmp_path / "state")
    assert (again.after_alarm, again.alarm_, repr(again)) == ("reset", True, repr(monitor))
    assert again.update_many(rows[alarms[0] + 1 :]) == steps[alarms[0] + 1 :]


@pytest.mark.parametrize("after_alarm", ["stop", None, True])
def test_what_follows_an_alarm_is_one_of_two(after_alarm):
    with pytest.raises(InputError, match="after_alarm must be one of 'continue', 'reset'; got "):
        made(after_alarm=after_alarm)


@pytest.mark.parametrize("seed", range(3))
def test_an_alarm_names_the_column_and_the_row_of_the_change(seed):
    random = np.random.default_rng(seed)
    monitor = made(random.normal(size=(1000, 6)), window=20, run_length=500, random_state=seed)
    monitor.update_many(random.normal(size=(100, 6)))
    rows = random.normal(size=(60, 6))
    rows[:, 4] += 1.5
    alarm = next(step for step in monitor.update_many(rows) if step.alarm)
    assert max(alarm.columns, key=alarm.columns.get) == "x4"
    assert alarm.columns["x4"] > 0.5
    assert sum(alarm.columns.values()) == pytest.approx(1.0)
    assert list(alarm.columns.values()) == sorted(alarm.columns.values(), reverse=True)
    assert abs(alarm.since - 100) <= 8


def test_a_correlation_is_blamed_on_both_of_its_columns():
    random = np.random.default_rng(0)
    monitor = made(random.normal(size=(1000, 4)), window=20, run_length=500)
    rows = random.normal(size=(200, 4))
    rows[:, 3] = 0.9 * rows[:, 1] + 0.19**0.5 * rows[:, 3]
    alarm = next(step for step in monitor.update_many(rows) if step.alarm)
    assert set(list(alarm.columns)[:2]) == {"x1", "x3"}


def test_the_alarm_of_the_last_row_is_known_at_any_time(tmp_path):
    random = np.random.default_rng(0)
    monitor = dd.ChangeMonitor(random.normal(size=400), window=10, run_length=100, random_state=0)
    assert monitor.alarm_ is False
    for k, row in enumerate(np.concatenate([random.normal(size=37), random.normal(3.0, 1.0, 30)])):
        step = monitor.update(row)
        assert monitor.alarm_ is step.alarm, k
    assert monitor.alarm_
    monitor.save(tmp_path / "state")
    assert dd.ChangeMonitor.load(tmp_path / "state").alarm_
    assert not monitor.reset().alarm_
